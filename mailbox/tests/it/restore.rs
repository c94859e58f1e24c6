//! Messages that are taken in with what happened to them elsewhere.

use std::sync::Arc;
use std::time::Duration;

use mailbox::{
    AckedBy, Appended, Done, EnvelopeState, FailureKind, Filter, Lessee, MailboxError, Mailboxes, Nack, Past,
    Policy, Refusal, Replay, Replayed, Seq, SystemClock,
};

use crate::{draft, draft_of, name};

fn clock() -> Arc<SystemClock> {
    Arc::new(SystemClock::start())
}

async fn all(mailboxes: &Mailboxes) -> Vec<Replayed> {
    let mut replay = Replay::new(mailboxes.clone(), name());
    let mut all = Vec::new();
    while let Some(page) = replay.next_page().await.unwrap() {
        all.extend(page);
    }
    all
}

fn failed(reason: &str) -> Nack {
    Nack::Failed {
        reason: reason.to_owned(),
        retry_after: Some(Duration::ZERO),
        kind: FailureKind::Panic,
    }
}

/// Mailboxes with a message of every kind of past, but for one that a process has in hand.
async fn lived_in() -> Mailboxes {
    let mailboxes = Mailboxes::open_memory(clock());
    let policy = Policy {
        max_attempts: 2,
        ..Policy::default()
    };
    mailboxes.declare(name(), policy).await.unwrap();
    let ids = ["acked", "spent", "dropped", "retried", "handed-back"];
    mailboxes
        .append(ids.iter().map(|id| draft(id)).collect())
        .await
        .unwrap();
    let take = async || mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    let delivery = take().await;
    mailboxes.ack(delivery.lease, Done::new("greeted")).await.unwrap();
    for reason in ["once", "twice"] {
        let delivery = take().await;
        assert_eq!(delivery.envelope.message.msg_id().as_str(), "spent");
        mailboxes.nack(delivery.lease, failed(reason)).await.unwrap();
    }
    for id in ["dropped", "retried"] {
        let delivery = take().await;
        assert_eq!(delivery.envelope.message.msg_id().as_str(), id);
        let reject = Nack::Reject {
            reason: "never".to_owned(),
        };
        mailboxes.nack(delivery.lease, reject).await.unwrap();
    }
    let id = |id: &str| id.parse().unwrap();
    mailboxes
        .drop_quarantined(&name(), &id("dropped"), "no use")
        .await
        .unwrap();
    mailboxes
        .retry_quarantined(&name(), &id("retried"))
        .await
        .unwrap();
    let line = AckedBy::Line { from: "other".into() };
    mailboxes
        .ack_by_id(&name(), &id("retried"), None, line, Done::new("elsewhere"))
        .await
        .unwrap();
    let delivery = take().await;
    let back = Nack::HandBack {
        reason: "not now".to_owned(),
        until: None,
    };
    mailboxes.nack(delivery.lease, back).await.unwrap();
    let pull = Lessee::Pull {
        for_: Duration::from_secs(3600),
    };
    mailboxes.lease(&name(), pull).await.unwrap();
    mailboxes
        .append(vec![draft("unread"), draft_of("large", 100_000)])
        .await
        .unwrap();
    mailboxes
}

#[tokio::test]
async fn what_is_restored_stands_as_it_stood_there() {
    let there = lived_in().await;
    let past: Vec<Past> = all(&there).await.into_iter().map(Past::from).collect();
    let dir = tempfile::tempdir().unwrap();
    let here = Mailboxes::open_sled(dir.path(), clock()).unwrap();
    // Over a connection, as an import does while another process holds the home.
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(mailbox::remote::serve(here.clone(), far));
    let remote = Mailboxes::over(near);
    let placed = remote.restore(&name(), past.clone()).await.unwrap();
    assert_eq!(
        placed,
        (1..=7).map(|n| Appended::Placed(Seq(n))).collect::<Vec<_>>()
    );
    remote.close().await;
    assert_eq!(all(&here).await, all(&there).await);
    assert_eq!(here.status().await.unwrap(), there.status().await.unwrap());

    // Once more changes nothing, and says what is known.
    let again = here.restore(&name(), past).await.unwrap();
    let greeted = Some("greeted".to_owned());
    assert_eq!(
        again[0],
        Appended::Known {
            seq: Seq(1),
            outcome: greeted
        }
    );
    here.close().await;
    let here = Mailboxes::open_sled(dir.path(), clock()).unwrap();
    assert_eq!(all(&here).await, all(&there).await);
    here.close().await;
}

#[tokio::test]
async fn what_a_process_elsewhere_had_in_hand_is_unread_and_its_attempt_counts() {
    let there = Mailboxes::open_memory(clock());
    there.append(vec![draft("m")]).await.unwrap();
    let _in_hand = there.lease(&name(), Lessee::Process).await.unwrap();
    let past = all(&there).await.into_iter().map(Past::from).collect();
    let here = Mailboxes::open_memory(clock());
    here.restore(&name(), past).await.unwrap();
    let delivery = here.lease(&name(), Lessee::Process).await.unwrap();
    assert_eq!(delivery.attempt, 2);
}

#[tokio::test]
async fn a_history_that_does_not_hold_together_is_refused_with_all_that_came_with_it() {
    let there = lived_in().await;
    let mut past: Vec<Past> = all(&there).await.into_iter().map(Past::from).collect();
    past[1].events.remove(0);
    let here = Mailboxes::open_memory(clock());
    let refused = here.restore(&name(), past).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the history of message spent does not hold together: event 1 cannot happen to a message that is unread"
    );
    assert!(matches!(
        refused,
        MailboxError::Refused(Refusal::NoHistory { .. })
    ));
    assert!(here.envelopes(&name(), Filter::all()).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_a_history_claims_of_the_future_happened_now() {
    let there = lived_in().await;
    let mut past: Vec<Past> = all(&there).await.into_iter().map(Past::from).collect();
    let year = Duration::from_secs(365 * 24 * 60 * 60);
    for one in &mut past {
        one.appended_at = one.appended_at.after(year);
        for event in &mut one.events {
            event.at = event.at.after(year);
        }
    }
    let here = Mailboxes::open_memory(clock());
    here.restore(&name(), past).await.unwrap();
    let first = here
        .envelopes(&name(), Filter::all())
        .await
        .unwrap()
        .swap_remove(0);
    let EnvelopeState::Acked { at, .. } = first.state else {
        panic!("{first:?}");
    };
    let now = SystemClock::start();
    let now = mailbox::Clock::now(&now);
    assert!(first.appended_at <= now && at <= now);
}
