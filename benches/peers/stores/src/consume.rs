//! Lease, handle nothing, acknowledge durably, with a backlog.
//!
//! Everybody counts the attempt durably before the handler starts and acknowledges durably after it. By hand
//! this is two transactions a message; whoever takes the next message in the transaction that acknowledges the
//! last one needs but one, and so does the mailbox when both are asked at once. The plain file's record says
//! both.

use std::path::Path;
use std::time::{Duration, Instant};

use mailbox::{Delivery, Done, Lessee, Mailboxes};
use rig::plain::PlainFile;
use rig::{Item, Rounds, Size, disk};
use runtime::{ChildSpec, Host};
use rusqlite::Connection;
use tokio::sync::mpsc;

use crate::engines::synced_sqlite;
use crate::ours::{Ours, Receiver, name};
use crate::tokio_runtime;

/// Messages in hand at once, where it is more than one.
const WIP: usize = 64;

pub fn run(size: Size) {
    let backlog = size.of(100_000, 10_000);
    one_at_a_time(size, backlog);
    many_at_a_time(size, backlog);
}

fn one_at_a_time(size: Size, backlog: usize) {
    let count = size.of(1_000, 200);
    let runtime = tokio_runtime();
    let dir = disk::folder();
    let folder = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir(&path).expect("a folder can be made");
        path
    };
    let filled = |name: &str| {
        let ours = runtime.block_on(Ours::open(&folder(name)));
        runtime.block_on(ours.fill(backlog));
        ours
    };
    let mut plain = PlainFile::open(&folder("plain"));
    let (apart, together, hosted) = (filled("apart"), filled("together"), filled("hosted"));
    let mut by_hand = ByHand::filled(&folder("by-hand"), backlog);
    let mut joined = ByHand::filled(&folder("joined"), backlog);

    let mut rounds = Rounds::new("consume", "one at a time", count, "messages");
    rounds.run(
        size.rounds(),
        &mut [
            ("plain file", &mut || {
                timed(|| (0..count).for_each(|_| plain.record(b"acked 1, leased 2")))
            }),
            ("runtime's host", &mut || {
                runtime.block_on(host(&hosted, count, 1))
            }),
            ("mailbox, ack with the next lease", &mut || {
                runtime.block_on(lease_with_ack(&together.mailboxes, count))
            }),
            ("mailbox, ack, then lease", &mut || {
                runtime.block_on(lease_then_ack(&apart.mailboxes, count))
            }),
            ("SQLite by hand, ack with the next claim", &mut || {
                timed(|| joined.claim_with_ack(count))
            }),
            ("SQLite by hand, claim, then ack", &mut || {
                timed(|| by_hand.claim_then_ack(count))
            }),
        ],
    );
    rounds.tell();
    for ours in [apart, together, hosted] {
        runtime.block_on(ours.mailboxes.close());
    }
}

fn many_at_a_time(size: Size, backlog: usize) {
    let count = size.of(10_000, 500);
    let runtime = tokio_runtime();
    let dir = disk::folder();
    let ours = runtime.block_on(Ours::open(dir.path()));
    runtime.block_on(ours.fill(backlog));
    let mut plain = PlainFile::open(dir.path());
    let mut rounds = Rounds::new("consume", format!("{WIP} in hand at once"), count, "messages");
    rounds.run(
        size.rounds(),
        &mut [
            // A group commit of as many as are in hand.
            ("plain file", &mut || {
                timed(|| (0..count / WIP).for_each(|_| plain.record(&[0; WIP * 2 * 17])))
            }),
            ("runtime's host", &mut || {
                runtime.block_on(host(&ours, count, WIP))
            }),
        ],
    );
    rounds.tell();
    runtime.block_on(ours.mailboxes.close());
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

async fn leased(mailboxes: &Mailboxes) -> Delivery {
    mailboxes
        .lease(&name(), Lessee::Process)
        .await
        .expect("there is a backlog")
}

async fn lease_then_ack(mailboxes: &Mailboxes, count: usize) -> Duration {
    let start = Instant::now();
    for _ in 0..count {
        let delivery = leased(mailboxes).await;
        mailboxes
            .ack(delivery.lease, Done::new("done"))
            .await
            .expect("the lease is current");
    }
    start.elapsed()
}

async fn lease_with_ack(mailboxes: &Mailboxes, count: usize) -> Duration {
    let start = Instant::now();
    let mut delivery = leased(mailboxes).await;
    for _ in 1..count {
        let (acked, next) = tokio::join!(
            mailboxes.ack(delivery.lease, Done::new("done")),
            leased(mailboxes)
        );
        acked.expect("the lease is current");
        delivery = next;
    }
    mailboxes
        .ack(delivery.lease, Done::new("done"))
        .await
        .expect("the lease is current");
    start.elapsed()
}

/// Measures from the first handler's start to the one after so many.
async fn host(ours: &Ours, count: usize, wip: usize) -> Duration {
    let home = disk::folder();
    let (called, mut calls) = mpsc::unbounded_channel();
    let receiver = move |_: &_| {
        Ok(Receiver {
            called: called.clone(),
        })
    };
    let running = Host::builder(ours.mailboxes.clone(), ours.clock.clone(), home.path())
        .child(ChildSpec::default().wip(wip), receiver)
        .start()
        .await
        .expect("the host starts");
    let first = calls.recv().await.expect("the actor runs");
    let mut last = first;
    for _ in 0..count {
        last = calls.recv().await.expect("the actor runs");
    }
    running.drain(Duration::from_secs(5)).await;
    last - first
}

/// A table of jobs as one would write it.
struct ByHand {
    connection: Connection,
}

impl ByHand {
    const CLAIM: &str = "UPDATE job SET state = 1, attempts = attempts + 1, leased_at = unixepoch()
        WHERE seq = (SELECT seq FROM job WHERE state = 0 ORDER BY seq LIMIT 1) RETURNING seq, line";
    const ACK: &str = "UPDATE job SET state = 2, outcome = 'done', acked_at = unixepoch()
        WHERE seq = ?1 AND state = 1";

    fn filled(dir: &Path, count: usize) -> Self {
        let connection = synced_sqlite(dir);
        let tables = "CREATE TABLE job (
                seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, line TEXT NOT NULL,
                state INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
                leased_at INTEGER, outcome TEXT, acked_at INTEGER);
            CREATE INDEX job_unread ON job (seq) WHERE state = 0;";
        connection.execute_batch(tables).expect("a table is made");
        let mut filled = Self { connection };
        let transaction = filled.connection.transaction().expect("one at a time");
        for item in Item::many("fill", 0, count) {
            transaction
                .prepare_cached("INSERT INTO job (id, line) VALUES (?1, ?2)")
                .and_then(|mut insert| insert.execute((&item.id, &item.line)))
                .expect("the disk takes it");
        }
        transaction.commit().expect("the disk syncs it");
        filled
    }

    /// The next message's number, when its attempt is durable.
    fn claim(connection: &Connection) -> i64 {
        let mut claim = connection.prepare_cached(Self::CLAIM).expect("it is SQL");
        let (seq, _line) = claim
            .query_one([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .expect("there is a backlog");
        seq
    }

    fn ack(connection: &Connection, seq: i64) {
        let mut ack = connection.prepare_cached(Self::ACK).expect("it is SQL");
        assert_eq!(
            ack.execute([seq]).expect("the disk takes it"),
            1,
            "the lease is current"
        );
    }

    fn claim_then_ack(&mut self, count: usize) {
        for _ in 0..count {
            let seq = Self::claim(&self.connection);
            Self::ack(&self.connection, seq);
        }
    }

    fn claim_with_ack(&mut self, count: usize) {
        let mut seq = Self::claim(&self.connection);
        for _ in 1..count {
            let transaction = self.connection.transaction().expect("one at a time");
            Self::ack(&transaction, seq);
            seq = Self::claim(&transaction);
            transaction.commit().expect("the disk syncs it");
        }
        Self::ack(&self.connection, seq);
    }
}
