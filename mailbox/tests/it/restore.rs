//! Messages that are taken in with what happened to them elsewhere.

use std::sync::Arc;
use std::time::Duration;

use mailbox::{
    AckedBy, Appended, Clock as _, Delivery, Done, Draft, EnvelopeState, FailureKind, Filter, Lessee,
    MailboxError, Mailboxes, ManualClock, Moment, Nack, Past, Policy, Refusal, Replay, Replayed, Seq,
    SystemClock,
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
    // What can be delivered now can be so since a moment that each of them reads for itself.
    let counts = async |of: &Mailboxes| {
        let mut counts = of.status().await.unwrap();
        for mailbox in &mut counts {
            mailbox.next_deliverable = mailbox.next_deliverable.map(|_| Moment::EPOCH);
        }
        counts
    };
    assert_eq!(counts(&here).await, counts(&there).await);

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

/// Random lives of a mailbox: histories in an import.
const LIVES: u64 = 200;
/// What happens in each.
const STEPS: usize = 60;

/// A message of one of few subjects, so that some are superseded and some unchanged.
fn about(number: usize, dice: &mut fastrand::Rng) -> Draft {
    Draft {
        subject: Some(format!("o/r#{}", dice.u8(0..4)).parse().unwrap()),
        evidence: Some(mailbox::Digest::of(&[dice.u8(0..2)])),
        ..draft(&format!("m-{number}"))
    }
}

/// One step: something is appended, taken, settled in one of all ways, or time passes.
async fn step(
    mailboxes: &Mailboxes,
    clock: &ManualClock,
    held: &mut Vec<Delivery>,
    number: usize,
    dice: &mut fastrand::Rng,
) {
    let id = || format!("m-{}", fastrand::Rng::with_seed(number as u64).usize(0..=number));
    match dice.u8(0..10) {
        0..=2 => drop(mailboxes.append(vec![about(number, dice)]).await.unwrap()),
        3..=4 => {
            let lessee = match dice.bool() {
                true => Lessee::Process,
                false => Lessee::Pull {
                    for_: Duration::from_secs(5),
                },
            };
            held.extend(mailboxes.try_lease(&name(), lessee).await.unwrap());
        }
        5 => clock.advance(Duration::from_millis(dice.u64(0..4_000))),
        // Who is outside may be refused: that is a part of the life.
        6 => {
            let of = &name();
            let id = id().parse().unwrap();
            let _ = match dice.u8(0..3) {
                0 => mailboxes.retry_quarantined(of, &id).await,
                1 => mailboxes.drop_quarantined(of, &id, "old").await,
                _ => {
                    let by = AckedBy::Line { from: "other".into() };
                    let acked = mailboxes.ack_by_id(of, &id, None, by, Done::new("line")).await;
                    acked.map(drop)
                }
            };
        }
        _ if held.is_empty() => {}
        _ => {
            let delivery = held.swap_remove(dice.usize(0..held.len()));
            let reason = "no".to_owned();
            let _ = match dice.u8(0..5) {
                0 | 1 => mailboxes
                    .ack(delivery.lease, Done::new("greeted"))
                    .await
                    .map(drop),
                2 => mailboxes.nack(delivery.lease, failed("no")).await.map(drop),
                3 => mailboxes
                    .nack(delivery.lease, Nack::Reject { reason })
                    .await
                    .map(drop),
                _ => {
                    let until = Some(clock.now().after(Duration::from_secs(2)));
                    let back = Nack::HandBack { reason, until };
                    mailboxes.nack(delivery.lease, back).await.map(drop)
                }
            };
        }
    }
}

#[tokio::test]
async fn whatever_a_mailbox_lived_through_is_restored_as_it_was() {
    let mut settled = 0;
    for life in 0..LIVES {
        let mut dice = fastrand::Rng::with_seed(life);
        let clock = Arc::new(ManualClock::at(Moment::from_millis(1_778_780_700_000)));
        let there = Mailboxes::open_memory(clock.clone());
        let policy = Policy {
            max_attempts: 3,
            ..Policy::default()
        };
        there.declare(name(), policy.clone()).await.unwrap();
        let mut held = Vec::new();
        for number in 0..STEPS {
            step(&there, &clock, &mut held, number, &mut dice).await;
        }
        // What a process has in hand is unread elsewhere; what somebody outside has is still theirs.
        for delivery in held {
            let _ = there.nack(delivery.lease, failed("over")).await;
        }
        let lived = all(&there).await;
        let past: Vec<Past> = lived.iter().cloned().map(Past::from).collect();
        for one in &past {
            assert_eq!(one.check(), Ok(()), "life {life}: {one:?}");
        }
        let here = Mailboxes::open_memory(clock.clone());
        here.declare(name(), policy).await.unwrap();
        here.restore(&name(), past).await.unwrap();
        assert_eq!(all(&here).await, lived, "life {life}");
        let counts = async |mailboxes: &Mailboxes| mailboxes.status().await.unwrap();
        assert_eq!(counts(&here).await, counts(&there).await, "life {life}");
        settled += counts(&here).await[0].acked + counts(&here).await[0].quarantined;
    }
    assert!(settled > 10 * LIVES, "{settled}: hardly anything happened");
}
