//! From the call of append to the start of the handler, through an empty mailbox, in units of one sync.

use std::time::{Duration, Instant};

use mailbox::Lessee;
use rig::plain::PlainFile;
use rig::{Figure, Item, Size, disk, median};
use runtime::Host;
use tokio::sync::mpsc;

use crate::ours::{Ours, Receiver, draft, name};
use crate::tokio_runtime;

/// How long everybody may rest between two hops, so that the receiver waits again.
const REST: Duration = Duration::from_millis(2);

pub fn run(size: Size) {
    let hops = size.of(1_000, 50);
    let runtime = tokio_runtime();
    runtime.block_on(through_the_host(hops));
    runtime.block_on(through_the_mailbox(hops));
}

async fn through_the_host(hops: usize) {
    let dir = disk::folder();
    let ours = Ours::open(dir.path()).await;
    let (called, mut calls) = mpsc::unbounded_channel();
    let running = Host::builder(
        ours.mailboxes.clone(),
        ours.clock.clone(),
        dir.path().join("home"),
    )
    .actor(move |_| {
        Ok(Receiver {
            called: called.clone(),
        })
    })
    .start()
    .await
    .expect("the host starts");
    let mut measured = Measured::new(PlainFile::open(dir.path()));
    for (number, item) in Item::many("hop", 0, hops).into_iter().enumerate() {
        let drafts = vec![draft(&item)];
        measured.sync(&item.line);
        let start = Instant::now();
        ours.mailboxes.append(drafts).await.expect("an append is taken");
        let started = calls.recv().await.expect("the actor runs");
        measured.hops.push(started - start);
        while ours.acked().await <= number as u64 {
            tokio::time::sleep(REST).await;
        }
        tokio::time::sleep(REST).await;
    }
    measured.tell("append to the handler's start", "runtime's host");
    running.drain(Duration::from_secs(1)).await;
    ours.mailboxes.close().await;
}

async fn through_the_mailbox(hops: usize) {
    let dir = disk::folder();
    let ours = Ours::open(dir.path()).await;
    let mut measured = Measured::new(PlainFile::open(dir.path()));
    for item in Item::many("hop", 0, hops) {
        let drafts = vec![draft(&item)];
        let mailboxes = ours.mailboxes.clone();
        let waiting = tokio::spawn(async move {
            let delivery = mailboxes
                .lease(&name(), Lessee::Process)
                .await
                .expect("a lease is given");
            (Instant::now(), delivery)
        });
        tokio::time::sleep(REST).await;
        measured.sync(&item.line);
        let start = Instant::now();
        ours.mailboxes.append(drafts).await.expect("an append is taken");
        let (started, delivery) = waiting.await.expect("the task does not panic");
        measured.hops.push(started - start);
        ours.mailboxes
            .ack(delivery.lease, mailbox::Done::new("done"))
            .await
            .expect("the lease is current");
    }
    measured.tell("append to a waiting lease", "mailbox");
    ours.mailboxes.close().await;
}

impl Ours {
    async fn acked(&self) -> u64 {
        let statuses = self.mailboxes.status().await.expect("they answer");
        statuses
            .iter()
            .find(|status| status.name == name())
            .map_or(0, |status| status.acked)
    }
}

/// Hops, and syncs of a small append to a plain file between them.
struct Measured {
    plain: PlainFile,
    syncs: Vec<Duration>,
    hops: Vec<Duration>,
}

impl Measured {
    fn new(plain: PlainFile) -> Self {
        Self {
            plain,
            syncs: Vec::new(),
            hops: Vec::new(),
        }
    }

    fn sync(&mut self, line: &str) {
        let start = Instant::now();
        self.plain.record(line.as_bytes());
        self.syncs.push(start.elapsed());
    }

    fn tell(self, case: &str, engine: &str) {
        let middle = |times: &[Duration]| median(times.iter().map(Duration::as_secs_f64).collect());
        let (sync, hop) = (middle(&self.syncs), middle(&self.hops));
        Figure::new("hop", case, engine, hop / sync, "syncs")
            .note(format!(
                "{:.0} µs; one sync of the plain file takes {:.0} µs",
                hop * 1e6,
                sync * 1e6
            ))
            .tell();
    }
}
