//! Mailboxes whose store does not answer: a disk that is full, or gone for a while.

use std::io;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mailbox::store::{Cursor, Epoch, Fate, MemoryStore, Record, Store, StoreError, Stored, Write, Wrote};
use mailbox::{Incarnation, MailboxError, MailboxName, Mailboxes, Message, MsgId, Policy, Seq, StampedEvent};
use runtime::Overview;

use crate::support::{Bench, Clerk, Deed, SECOND, Worker, endless, keys, state};

/// How the disk fares.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Disk {
    Well,
    /// There is room for what happens to messages, and for no more messages.
    Full,
    /// Nothing can be written.
    ReadOnly,
    /// Nothing can be written or read.
    Gone,
}

/// A store on such a disk, and how often it was asked in vain.
struct Ailing {
    inner: MemoryStore,
    disk: Arc<Mutex<Disk>>,
    refused: Arc<AtomicUsize>,
}

impl Ailing {
    fn refuse_if(&self, refuse: impl FnOnce(Disk) -> bool) -> Result<(), StoreError> {
        if !refuse(*self.disk.lock().unwrap()) {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::SeqCst);
        Err(StoreError::Io {
            doing: "write",
            path: "disk".into(),
            source: io::ErrorKind::StorageFull.into(),
        })
    }
}

impl Store for Ailing {
    async fn load(
        &mut self,
        after: Option<Cursor>,
        each: &mut (dyn FnMut(&MailboxName, Record<'_>) + Send),
    ) -> Result<Cursor, StoreError> {
        self.refuse_if(|disk| disk == Disk::Gone)?;
        self.inner.load(after, each).await
    }

    async fn commit(&mut self, group: &[Write]) -> Result<Vec<Wrote>, StoreError> {
        let appends = group.iter().any(|write| matches!(write, Write::Message { .. }));
        self.refuse_if(|disk| match disk {
            Disk::Well => false,
            Disk::Full => appends,
            Disk::ReadOnly | Disk::Gone => true,
        })?;
        self.inner.commit(group).await
    }

    async fn read(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<Vec<(Seq, Stored)>, StoreError> {
        self.inner.read(of, seqs).await
    }

    async fn events(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<Vec<StampedEvent>, StoreError> {
        self.inner.events(of, seqs).await
    }

    async fn prune(
        &mut self,
        from: Option<Cursor>,
        fate: &mut (dyn FnMut(&MailboxName, &Record<'_>) -> Fate + Send),
    ) -> Result<Option<Cursor>, StoreError> {
        self.inner.prune(from, fate).await
    }

    async fn own(&mut self, of: &MailboxName, by: Incarnation) -> Result<Epoch, StoreError> {
        self.refuse_if(|disk| disk == Disk::Gone)?;
        self.inner.own(of, by).await
    }
}

/// A bench whose disk can be told how it fares.
struct Ward {
    bench: Bench,
    disk: Arc<Mutex<Disk>>,
    refused: Arc<AtomicUsize>,
}

impl Ward {
    fn new() -> Self {
        let disk = Arc::new(Mutex::new(Disk::Well));
        let refused = Arc::new(AtomicUsize::new(0));
        let store = Ailing {
            inner: MemoryStore::default(),
            disk: Arc::clone(&disk),
            refused: Arc::clone(&refused),
        };
        let bench = Bench::on(|clock, _| Mailboxes::open(store, clock).unwrap());
        Self { bench, disk, refused }
    }

    fn is(&self, disk: Disk) {
        *self.disk.lock().unwrap() = disk;
        self.refused.store(0, Ordering::SeqCst);
    }

    /// How often the disk was asked in vain since it was last told how it fares.
    fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }
}

fn says_so(overview: &Overview) -> bool {
    let said = overview.attention.iter().find(|one| one.key == "mailboxes");
    said.is_some_and(|said| said.mend.contains("make room"))
}

fn is_done(overview: &Overview) -> bool {
    overview.actor("worker").unwrap().unread == 0
}

#[tokio::test]
async fn an_ack_that_cannot_be_written_is_written_when_the_disk_is_well_again() {
    for disk in [Disk::ReadOnly, Disk::Gone] {
        let ward = Ward::new();
        let bench = &ward.bench;
        let host = bench.host().child(endless(), Worker::build(&bench.script));
        let running = host.start().await.unwrap();
        bench.tell("worker", "one", Deed::Await).await;
        bench.tell("worker", "two", Deed::Succeed).await;
        bench.until_noted("worker one", 1).await;
        ward.is(disk);
        bench.script.gate.open();
        bench.until(&running, says_so).await;
        // It is asked again, once a second.
        let before = ward.refused();
        bench.clock.advance(SECOND);
        bench.until(&running, |_| ward.refused() > before).await;
        assert_eq!(bench.script.count("worker two"), 0, "one is still in hand");

        ward.is(Disk::Well);
        let overview = bench.moving_until(&running, SECOND, is_done).await;
        assert!(!says_so(&overview), "{disk:?}: {overview:?}");
        for (work, outcome) in [("one", "let through"), ("two", "worked")] {
            assert_eq!(bench.outcome("worker", work).await, outcome);
            assert_eq!(bench.envelope("worker", work).await.attempts, 1);
            assert_eq!(bench.script.count(&format!("worker {work}")), 1, "{disk:?}");
        }
        assert_eq!(overview.actor("worker").unwrap().restarts, 0);
        running.drain(SECOND).await;
    }
}

#[tokio::test]
async fn an_actor_that_can_take_nothing_waits_and_goes_on_in_order_when_the_disk_is_well_again() {
    let ward = Ward::new();
    let bench = &ward.bench;
    for n in 0..3 {
        bench.tell("worker", &format!("m{n}"), Deed::Succeed).await;
    }
    ward.is(Disk::ReadOnly);
    let running = bench.worker().await;
    let waits = |overview: &Overview| state(overview, "worker") == "waiting" && says_so(overview);
    bench.until(&running, waits).await;
    // A round that cannot be done says so, and does not wait for ever.
    let error = running.until_quiet().await.unwrap_err();
    assert!(matches!(error, MailboxError::Store(_)), "{error}");
    let once = ward.refused();
    for _ in 0..20 {
        bench.until(&running, waits).await;
    }
    assert_eq!(ward.refused(), once, "it asks while it rests");

    ward.is(Disk::Well);
    let overview = bench.moving_until(&running, SECOND, is_done).await;
    assert_eq!(keys(&overview), Vec::<&str>::new());
    let worked: Vec<_> = bench
        .script
        .log()
        .into_iter()
        .filter(|line| line.starts_with("worker "))
        .collect();
    assert_eq!(worked, ["worker m0", "worker m1", "worker m2"]);
    for n in 0..3 {
        assert_eq!(bench.envelope("worker", &format!("m{n}")).await.attempts, 1);
    }
    running.drain(SECOND).await;
}

#[tokio::test]
async fn on_a_full_disk_an_ack_waits_with_what_it_sends_and_others_pass() {
    let ward = Ward::new();
    let bench = &ward.bench;
    bench
        .tell("worker", "sends", Deed::Report(Box::new(Deed::Succeed)))
        .await;
    bench.report("clerk", "own").await;
    ward.is(Disk::Full);
    let running = bench
        .host()
        .child(endless(), Worker::build(&bench.script))
        .child(endless(), {
            let script = Arc::clone(&bench.script);
            move |_| Ok(Clerk(Arc::clone(&script)))
        })
        .start()
        .await
        .unwrap();
    bench.until(&running, says_so).await;
    bench.until_noted("clerk own", 1).await;
    let filed = |overview: &Overview| overview.actor("clerk").unwrap().unread == 0;
    // It may have shared its first group with the ack that cannot be written, and come again.
    bench.moving_until(&running, SECOND, filed).await;
    assert_eq!(bench.outcome("clerk", "own").await, "filed");
    assert_eq!(bench.status("worker").await.leased, 1);

    ward.is(Disk::Well);
    let all_done = |overview: &Overview| {
        is_done(overview) && overview.actor("clerk").unwrap().unread == 0 && !says_so(overview)
    };
    bench.moving_until(&running, SECOND, all_done).await;
    assert_eq!(bench.script.count("worker sends"), 1);
    assert_eq!(bench.script.count("clerk worker/sends"), 1);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_takt_whose_messages_are_not_taken_comes_again_after_a_while_and_sends_once() {
    let ward = Ward::new();
    let bench = &ward.bench;
    *bench.script.takts.lock().unwrap() = vec![Deed::Report(Box::new(Deed::Succeed)); 2];
    ward.is(Disk::Full);
    let spec = endless().takt(Duration::from_secs(600));
    let running = bench
        .host()
        .child(spec, Worker::build(&bench.script))
        .child(endless(), {
            let script = Arc::clone(&bench.script);
            move |_| Ok(Clerk(Arc::clone(&script)))
        })
        .start()
        .await
        .unwrap();
    let waits = |overview: &Overview| state(overview, "worker") == "waiting" && says_so(overview);
    bench.until(&running, waits).await;
    let takts = || {
        let log = bench.script.log();
        log.into_iter().filter(|line| line.starts_with("takt ")).count()
    };
    for _ in 0..50 {
        bench.clock.advance(SECOND);
        bench.until(&running, |_| true).await;
    }
    assert_eq!(takts(), 1, "it looks at the world again and again");

    ward.is(Disk::Well);
    let sent = |overview: &Overview| overview.actor("worker").unwrap().takt.as_ref().unwrap().ended == 1;
    let overview = bench.moving_until(&running, SECOND, sent).await;
    assert!(!says_so(&overview), "{overview:?}");
    assert_eq!(takts(), 2);
    running.until_quiet().await.unwrap();
    assert_eq!(bench.envelopes("clerk").await.len(), 1);
    running.drain(SECOND).await;
}

#[tokio::test]
async fn a_delivery_that_was_given_up_is_given_back_when_the_disk_is_well_again() {
    let ward = Ward::new();
    let bench = &ward.bench;
    let spec = endless().deadline(10 * SECOND).policy(Policy {
        max_attempts: 1,
        ..Policy::default()
    });
    let running = bench.worker_as(spec).await;
    bench.tell("worker", "blocks", Deed::Block).await;
    bench.until_noted("worker blocks", 1).await;
    ward.is(Disk::ReadOnly);
    let stalled = |overview: &Overview| state(overview, "worker") == "stalled" && says_so(overview);
    bench.moving_until(&running, SECOND, stalled).await;
    ward.is(Disk::Well);
    bench.moving_until(&running, SECOND, is_done).await;
    assert_eq!(
        bench.outcome("worker", "blocks").await,
        "quarantined: no progress within 10 s"
    );
    bench.script.gate.open();
    running.drain(SECOND).await;
}

/// A message that the mailbox refuses for what it is, and not for lack of room, is no trouble with the disk.
#[tokio::test]
async fn what_is_refused_for_what_it_is_is_no_trouble_of_the_mailboxes() {
    let ward = Ward::new();
    let bench = &ward.bench;
    let running = bench.worker().await;
    let id: MsgId = "old".parse().unwrap();
    let line = r#"{"ts":"2026-05-14T17:45:00Z","from":"old","intent":"work","msg_id":"old","nome":"x"}"#;
    let draft = mailbox::Draft::new(
        "worker".parse().unwrap(),
        Message::parse(line.as_bytes()).unwrap(),
    );
    bench.mailboxes.append(vec![draft]).await.unwrap();
    running.until_quiet().await.unwrap();
    let retried = bench
        .mailboxes
        .retry_quarantined(&"worker".parse().unwrap(), &id)
        .await;
    retried.unwrap();
    running.until_quiet().await.unwrap();
    assert_eq!(keys(&running.overview().await.unwrap()), ["quarantine/worker"]);
    running.drain(SECOND).await;
}
