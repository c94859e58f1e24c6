//! Opening a million messages after `kill -9`: the time until the next message could be taken, and memory.

use std::path::Path;
use std::time::Instant;

use mailbox::{Done, Lessee};
use rig::group::Engine as _;
use rig::{Figure, Item, Size, disk};
use serde::{Deserialize, Serialize};

use crate::child::{self, start};
use crate::engines::Sqlite;
use crate::ours::{Ours, draft, name};
use crate::tokio_runtime;

/// Messages in hand at once while a store is filled.
const HANDS: usize = 256;

/// What opening took.
#[derive(Debug, Serialize, Deserialize)]
struct Opened {
    seconds: f64,
    resident_mb: f64,
    most_resident_mb: f64,
    messages: u64,
}

pub fn run(size: Size) {
    let count = size.of(1_000_000, 20_000);
    for (case, engine, fill, open) in [
        ("unread", "mailbox", "fill", "open"),
        ("acked", "mailbox", "fill-and-ack", "open"),
        ("unread", "SQLite", "fill-sqlite", "open-sqlite"),
    ] {
        let dir = disk::folder();
        let mut filling = start(fill, dir.path(), count);
        let bytes: u64 = filling.report();
        filling.kill();
        let used = disk::usage(dir.path()) as f64;
        let mut opening = start(open, dir.path(), 0);
        let first: Opened = opening.report();
        opening.end();
        let mut opening = start(open, dir.path(), 0);
        let second: Opened = opening.report();
        opening.end();
        assert!(
            first.messages >= count as u64,
            "{} of {count} messages are there",
            first.messages
        );

        let case = format!("{count} {case} messages, after kill -9");
        Figure::new("open", &case, engine, first.seconds, "s")
            .note(format!("again: {:.3} s", second.seconds))
            .tell();
        Figure::new("open", &case, engine, first.resident_mb, "MB resident")
            .note(format!(
                "at most {:.0} MB; again: {:.0} MB",
                first.most_resident_mb, second.most_resident_mb
            ))
            .tell();
        Figure::new("open", &case, engine, used / 1e6, "MB on the disk")
            .note(format!("{:.2} times the messages' bytes", used / bytes as f64))
            .tell();
    }
}

/// Fills a mailbox, says how many bytes that was, and goes on appending until it is killed.
pub fn fill(dir: &Path, count: usize) {
    let runtime = tokio_runtime();
    runtime.block_on(async {
        let ours = Ours::open(dir).await;
        ours.fill(count).await;
        until_killed(&ours, count).await;
    });
}

/// The same, with every message acked.
pub fn fill_and_ack(dir: &Path, count: usize) {
    let runtime = tokio_runtime();
    runtime.block_on(async {
        let ours = Ours::open(dir).await;
        ours.fill(count).await;
        let hands: Vec<_> = (0..HANDS)
            .map(|_| {
                let mailboxes = ours.mailboxes.clone();
                tokio::spawn(async move {
                    while let Some(delivery) = mailboxes
                        .try_lease(&name(), Lessee::Process)
                        .await
                        .expect("they answer")
                    {
                        mailboxes
                            .ack(delivery.lease, Done::new("done"))
                            .await
                            .expect("the lease is current");
                    }
                })
            })
            .collect();
        for hand in hands {
            hand.await.expect("a task does not panic");
        }
        until_killed(&ours, count).await;
    });
}

async fn until_killed(ours: &Ours, count: usize) {
    child::tell(&bytes(count));
    for number in 0.. {
        let item = Item::new("more", number);
        ours.mailboxes
            .append(vec![draft(&item)])
            .await
            .expect("an append is taken");
    }
}

fn bytes(count: usize) -> usize {
    (0..count)
        .map(|number| Item::new("fill", number).line.len())
        .sum()
}

/// Opens a mailbox and says what that took.
pub fn open(dir: &Path) {
    let runtime = tokio_runtime();
    runtime.block_on(async {
        let start = Instant::now();
        let ours = Ours::open(dir).await;
        let statuses = ours.mailboxes.status().await.expect("they answer");
        let seconds = start.elapsed().as_secs_f64();
        let messages = statuses.iter().map(|status| status.total).sum();
        tell(seconds, messages);
        ours.mailboxes.close().await;
    });
}

/// Fills the peer, says how many bytes that was, and goes on until it is killed.
pub fn fill_sqlite(dir: &Path, count: usize) {
    let mut sqlite = Sqlite::open(dir);
    for from in (0..count).step_by(1_000) {
        sqlite.commit(&Item::many("fill", from, 1_000));
    }
    child::tell(&bytes(count));
    for number in 0.. {
        sqlite.commit(&[Item::new("more", number)]);
    }
}

/// Opens the peer and says what that took.
pub fn open_sqlite(dir: &Path) {
    let start = Instant::now();
    let sqlite = Sqlite::open(dir);
    let last = sqlite.last();
    tell(start.elapsed().as_secs_f64(), last);
}

fn tell(seconds: f64, messages: u64) {
    let (resident_mb, most_resident_mb) = disk::resident_mb();
    child::tell(&Opened {
        seconds,
        resident_mb,
        most_resident_mb,
        messages,
    });
}
