//! A store that fails now and then, under the writer.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::Mutex;

use mailbox::store::{Cursor, Epoch, Fate, MemoryStore, Record, Store, StoreError, Stored, Write, Wrote};
use mailbox::{
    Appended, Done, EnvelopeState, Filter, Incarnation, Lessee, MailboxError, MailboxName, Mailboxes,
    ManualClock, Moment, Seq, StampedEvent,
};

use crate::{draft, name};

/// What the next commit does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Next {
    Works,
    /// Nothing is written.
    FailsBefore,
    /// Everything is written, and the answer lost.
    FailsAfter,
}

struct Flaky {
    inner: MemoryStore,
    next: Arc<Mutex<Next>>,
}

fn error() -> StoreError {
    StoreError::Io {
        doing: "write",
        path: "disk".into(),
        source: io::Error::other("it flickered"),
    }
}

impl Store for Flaky {
    async fn load(
        &mut self,
        after: Option<Cursor>,
        each: &mut (dyn FnMut(&MailboxName, Record<'_>) + Send),
    ) -> Result<Cursor, StoreError> {
        self.inner.load(after, each).await
    }

    async fn commit(&mut self, group: &[Write]) -> Result<Vec<Wrote>, StoreError> {
        let next = std::mem::replace(&mut *self.next.lock().unwrap(), Next::Works);
        if next == Next::FailsBefore {
            return Err(error());
        }
        let wrote = self.inner.commit(group).await?;
        if next == Next::FailsAfter {
            Err(error())
        } else {
            Ok(wrote)
        }
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
        self.inner.own(of, by).await
    }
}

fn open() -> (Mailboxes, impl Fn(Next)) {
    let next = Arc::new(Mutex::new(Next::Works));
    let store = Flaky {
        inner: MemoryStore::default(),
        next: Arc::clone(&next),
    };
    let clock = Arc::new(ManualClock::at(Moment::from_millis(1_000_000)));
    let mailboxes = Mailboxes::open(store, clock).unwrap();
    (mailboxes, move |what| *next.lock().unwrap() = what)
}

#[tokio::test]
async fn a_failed_append_is_not_acknowledged_and_can_be_asked_again() {
    for (what, again) in [
        (Next::FailsBefore, Appended::Placed(Seq(1))),
        (
            Next::FailsAfter,
            Appended::Known {
                seq: Seq(1),
                outcome: None,
            },
        ),
    ] {
        let (mailboxes, next) = open();
        next(what);
        let error = mailboxes.append(vec![draft("a")]).await.unwrap_err();
        assert!(matches!(error, MailboxError::Store(_)));
        assert_eq!(
            mailboxes.append(vec![draft("a")]).await.unwrap(),
            [again],
            "{what:?}"
        );
        assert_eq!(
            mailboxes.append(vec![draft("b")]).await.unwrap(),
            [Appended::Placed(Seq(2))]
        );
    }
}

#[tokio::test]
async fn a_lease_that_nobody_heard_of_is_handed_back_with_its_attempt() {
    for what in [Next::FailsBefore, Next::FailsAfter] {
        let (mailboxes, next) = open();
        mailboxes.append(vec![draft("a")]).await.unwrap();
        next(what);
        assert!(mailboxes.lease(&name(), Lessee::Process).await.is_err());
        let delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
        assert_eq!(delivery.attempt, 1, "{what:?}");
    }
}

#[tokio::test]
async fn a_lease_in_hand_outlives_the_failure_of_another_write() {
    let (mailboxes, next) = open();
    mailboxes.append(vec![draft("a")]).await.unwrap();
    let delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    next(Next::FailsBefore);
    mailboxes.append(vec![draft("b")]).await.unwrap_err();
    mailboxes.ack(delivery.lease, Done::new("done")).await.unwrap();
    let page = mailboxes.envelopes(&name(), Filter::all()).await.unwrap();
    assert!(matches!(page[0].state, EnvelopeState::Acked { .. }));
}

#[tokio::test]
async fn whoever_waits_is_served_after_the_store_was_loaded_again() {
    let (mailboxes, next) = open();
    let waiting = tokio::spawn({
        let mailboxes = mailboxes.clone();
        async move { mailboxes.lease(&name(), Lessee::Process).await }
    });
    tokio::task::yield_now().await;
    next(Next::FailsAfter);
    // The group holds the append and the waiting lease; neither is told that it succeeded.
    mailboxes.append(vec![draft("a")]).await.unwrap_err();
    assert!(waiting.await.unwrap().is_err());
    let delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    assert_eq!((delivery.envelope.seq, delivery.attempt), (Seq(1), 1));
}
