//! The handle: waiting, cancelling, sharing a group, being told of changes.

use std::sync::Arc;
use std::time::Duration;

use crate::{draft, name};
use mailbox::{
    Appended, Clock, Done, EnvelopeState, FailureKind, Filter, Lessee, Mailboxes, ManualClock, Moment, Nack,
    Policy, Seq,
};

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Moment::from_millis(1_000_000)))
}

#[tokio::test]
async fn a_message_is_appended_leased_and_acked_once() {
    let mailboxes = Mailboxes::open_memory(clock());
    assert_eq!(
        mailboxes.append(vec![draft("a")]).await.unwrap(),
        [Appended::Placed(Seq(1))]
    );
    let known = Appended::Known {
        seq: Seq(1),
        outcome: None,
    };
    assert_eq!(mailboxes.append(vec![draft("a")]).await.unwrap(), [known]);

    let delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    assert_eq!(delivery.attempt, 1);
    assert!(
        mailboxes
            .try_lease(&name(), Lessee::Process)
            .await
            .unwrap()
            .is_none()
    );
    mailboxes.ack(delivery.lease, Done::new("greeted")).await.unwrap();

    let known = Appended::Known {
        seq: Seq(1),
        outcome: Some("greeted".to_owned()),
    };
    assert_eq!(mailboxes.append(vec![draft("a")]).await.unwrap(), [known]);
    let page = mailboxes.envelopes(&name(), Filter::all()).await.unwrap();
    assert!(matches!(&page[0].state, EnvelopeState::Acked { outcome, .. } if &**outcome == "greeted"));
}

#[tokio::test]
async fn a_waiting_lease_rides_in_the_group_of_the_append() {
    let mailboxes = Mailboxes::open_memory(clock());
    let waiting = tokio::spawn({
        let mailboxes = mailboxes.clone();
        async move { mailboxes.lease(&name(), Lessee::Process).await }
    });
    // On one thread the spawned task runs, and so asks, before this one goes on.
    tokio::task::yield_now().await;
    mailboxes.append(vec![draft("a")]).await.unwrap();
    let delivery = waiting.await.unwrap().unwrap();
    assert_eq!(delivery.envelope.message.msg_id().as_str(), "a");
    assert_eq!(mailboxes.counters().groups, 1);
    assert_eq!(mailboxes.counters().records, 2);
}

#[tokio::test]
async fn a_waiter_that_gave_up_leaves_the_message_and_its_attempt() {
    let mailboxes = Mailboxes::open_memory(clock());
    let waiting = tokio::spawn({
        let mailboxes = mailboxes.clone();
        async move { mailboxes.lease(&name(), Lessee::Process).await }
    });
    tokio::task::yield_now().await;
    waiting.abort();
    let _ = waiting.await;
    mailboxes.append(vec![draft("a")]).await.unwrap();
    let delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    assert_eq!(delivery.attempt, 1);
}

#[tokio::test]
async fn a_failed_message_comes_back_when_it_has_rested() {
    let clock = clock();
    let mailboxes = Mailboxes::open_memory(clock.clone());
    mailboxes
        .declare(
            name(),
            Policy {
                max_attempts: 2,
                ..Policy::default()
            },
        )
        .await
        .unwrap();
    mailboxes.append(vec![draft("a")]).await.unwrap();
    let failed = |reason: &str| Nack::Failed {
        reason: reason.to_owned(),
        retry_after: None,
        kind: FailureKind::Error,
    };
    let first = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    let nacked = mailboxes.nack(first.lease, failed("no")).await.unwrap();
    assert!(!nacked.quarantined);
    assert!(nacked.next.unwrap() > clock.now());
    let of = name();
    let again = mailboxes.lease(&of, Lessee::Process);
    let (again, ()) = tokio::join!(again, async { clock.advance(Duration::from_secs(1)) });
    let again = again.unwrap();
    assert_eq!(again.attempt, 2);
    assert!(
        mailboxes
            .nack(again.lease, failed("no again"))
            .await
            .unwrap()
            .quarantined
    );
    let status = mailboxes.status().await.unwrap();
    assert_eq!((status[0].unread, status[0].quarantined), (0, 1));
    let history = mailboxes.history(&name(), Seq::FIRST..=Seq::MAX).await.unwrap();
    assert_eq!(history[0].1.len(), 5);
}

#[tokio::test]
async fn subscribers_are_told_which_mailboxes_changed() {
    let mailboxes = Mailboxes::open_memory(clock());
    let mut changes = mailboxes.subscribe();
    mailboxes.append(vec![draft("a"), draft("b")]).await.unwrap();
    assert_eq!(changes.changed().await, [name()]);
}

#[tokio::test]
async fn closed_mailboxes_say_so() {
    let mailboxes = Mailboxes::open_memory(clock());
    let other = mailboxes.clone();
    mailboxes.close().await;
    let error = other.append(vec![draft("a")]).await.unwrap_err();
    assert_eq!(error.to_string(), "the mailboxes are closed");
}

#[tokio::test]
async fn an_ack_and_the_lease_after_it_are_one_group() {
    let mailboxes = Mailboxes::open_memory(clock());
    mailboxes.append(["a", "b"].map(draft).to_vec()).await.unwrap();
    let first = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    let before = mailboxes.counters().groups;
    let (acked, next) = mailboxes
        .ack_then_lease(first.lease, Done::new("done"), Lessee::Process)
        .await;
    acked.unwrap();
    let second = next.delivery().await.unwrap();
    assert_eq!((second.envelope.seq, second.attempt), (Seq(2), 1));
    assert_eq!(mailboxes.counters().groups, before + 1);

    // Nothing is left: the ack is answered, and the lease waits.
    let (acked, next) = mailboxes
        .ack_then_lease(second.lease, Done::new("done"), Lessee::Process)
        .await;
    acked.unwrap();
    mailboxes.append(vec![draft("c")]).await.unwrap();
    let third = next.delivery().await.unwrap();
    assert_eq!(third.envelope.seq, Seq(3));

    // An ack that is refused changes nothing, and the lease is given all the same; dropped, it is given up.
    mailboxes.append(vec![draft("d")]).await.unwrap();
    let id = third.envelope.message.msg_id().clone();
    let by = mailbox::AckedBy::Line { from: "lab".into() };
    mailboxes
        .ack_by_id(&name(), &id, None, by, Done::new("elsewhere"))
        .await
        .unwrap();
    let (acked, next) = mailboxes
        .ack_then_lease(third.lease, Done::new("late"), Lessee::Process)
        .await;
    assert!(acked.is_err());
    drop(next);
    let fourth = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    assert_eq!((fourth.envelope.seq, fourth.attempt), (Seq(4), 1));
}
