//! Pruning through the handle: what goes, what stays, and that disk and memory follow.
//!
//! `SWEEP_LONG=1` takes, acks and prunes a million messages instead of a few thousand.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mailbox::{
    Appended, DeliveryEvent, Done, Draft, EnvelopeState, Filter, Lessee, MailboxError, MailboxStatus,
    Mailboxes, ManualClock, Moment, Nack, Policy, Refusal, Replay, Seq,
};

use crate::{draft, draft_of, name};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const START: Moment = Moment::from_millis(1_778_780_700_000);

fn on_disk(dir: &Path, clock: &Arc<ManualClock>) -> Mailboxes {
    Mailboxes::open_sled(dir, Arc::clone(clock) as Arc<_>).unwrap()
}

async fn status(mailboxes: &Mailboxes) -> MailboxStatus {
    mailboxes.status().await.unwrap().remove(0)
}

/// Waits until so many messages are pruned.
async fn until_pruned(mailboxes: &Mailboxes, count: u64) {
    while status(mailboxes).await.pruned < count {
        tokio::task::yield_now().await;
    }
}

async fn handle(mailboxes: &Mailboxes, outcome: &str) -> Seq {
    let delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
    let seq = delivery.envelope.seq;
    mailboxes.ack(delivery.lease, Done::new(outcome)).await.unwrap();
    seq
}

/// Appends so many messages and acks them all, many at a time.
async fn take_and_ack(mailboxes: &Mailboxes, round: u64, count: u64) {
    const BATCH: u64 = 500;
    for batch in 0..count.div_ceil(BATCH) {
        let drafts = (0..BATCH).map(|n| draft_of(&format!("m-{round}-{batch}-{n}"), 200));
        mailboxes.append(drafts.collect()).await.unwrap();
        let mut hands = tokio::task::JoinSet::new();
        for _ in 0..BATCH {
            let mailboxes = mailboxes.clone();
            hands.spawn(async move { handle(&mailboxes, "handled").await });
        }
        hands.join_all().await;
    }
}

/// What the files of a folder take of the disk, in bytes.
fn on_the_disk(dir: &Path) -> u64 {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        bytes += if metadata.is_dir() {
            on_the_disk(&entry.path())
        } else {
            metadata.blocks() * 512
        };
    }
    bytes
}

#[tokio::test]
async fn disk_use_follows_what_is_kept() {
    let long = std::env::var_os("SWEEP_LONG").is_some();
    let (rounds, count) = if long { (5, 200_000) } else { (5, 3_000) };
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(START));
    let mut mailboxes = on_disk(dir.path(), &clock);
    mailboxes.append(vec![draft("unread")]).await.unwrap();
    // Longer than all of this: the same message waits through every round.
    let lessee = Lessee::Pull { for_: 10_000 * DAY };
    let waits = mailboxes.lease(&name(), lessee).await.unwrap();
    let mut sizes = Vec::new();
    for round in 0..rounds {
        take_and_ack(&mailboxes, round, count).await;
        let full = on_the_disk(dir.path());
        clock.advance(91 * DAY);
        until_pruned(&mailboxes, (round + 1) * count).await;
        mailboxes.close().await;
        mailboxes = on_disk(dir.path(), &clock);
        sizes.push((full / 1024, on_the_disk(dir.path()) / 1024));
    }
    println!("KiB after acking and after pruning: {sizes:?}");
    drop(waits);
    let status = status(&mailboxes).await;
    assert_eq!((status.total, status.unread), (rounds * count + 1, 1));
    assert_eq!((status.acked, status.pruned), (rounds * count, rounds * count));
    let page = mailboxes.envelopes(&name(), Filter::all()).await.unwrap();
    assert_eq!(page.len(), 1, "what is unread stays");
    assert_eq!(page[0].seq, Seq(1));
    mailboxes.close().await;
    let (full, _) = sizes[0];
    let (last, left) = sizes[sizes.len() - 1];
    assert!(last < 2 * full, "it does not grow: {sizes:?}");
    assert!(left < 2 * full, "it does not grow: {sizes:?}");
}

#[tokio::test]
async fn an_id_is_known_until_the_horizon_though_its_message_is_pruned() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(START));
    let mailboxes = on_disk(dir.path(), &clock);
    let policy = Policy {
        keep: 10 * DAY,
        ..Policy::default()
    };
    mailboxes.declare(name(), policy.clone()).await.unwrap();
    mailboxes
        .append(vec![draft_of("a", 10_000), draft("b"), draft("newest")])
        .await
        .unwrap();
    handle(&mailboxes, "handled").await;
    clock.advance(11 * DAY);
    until_pruned(&mailboxes, 1).await;
    assert_eq!(std::fs::read_dir(dir.path().join("bodies")).unwrap().count(), 0);
    let known = [Appended::Known {
        seq: Seq(1),
        outcome: Some("handled".to_owned()),
    }];
    assert_eq!(mailboxes.append(vec![draft("a")]).await.unwrap(), known);
    assert_eq!(mailboxes.history(&name(), Seq(1)..=Seq(1)).await.unwrap(), []);
    mailboxes.close().await;

    let mailboxes = on_disk(dir.path(), &clock);
    mailboxes.declare(name(), policy).await.unwrap();
    assert_eq!(mailboxes.append(vec![draft("a")]).await.unwrap(), known);
    handle(&mailboxes, "handled").await;
    clock.advance(80 * DAY);
    until_pruned(&mailboxes, 2).await;
    let appended = mailboxes.append(vec![draft("a")]).await.unwrap();
    assert_eq!(
        appended,
        [Appended::Placed(Seq(4))],
        "and its number is not given again"
    );
    mailboxes.close().await;
}

#[tokio::test]
async fn what_was_superseded_goes_earlier() {
    let clock = Arc::new(ManualClock::at(START));
    let mailboxes = Mailboxes::open_memory(Arc::clone(&clock) as Arc<_>);
    let about = |id: &str| Draft {
        subject: Some("lab/greeter#1".parse().unwrap()),
        ..draft(id)
    };
    mailboxes.append(vec![about("old"), about("new")]).await.unwrap();
    assert_eq!(handle(&mailboxes, "handled").await, Seq(2));
    clock.advance(3 * DAY);
    until_pruned(&mailboxes, 1).await;
    let page = mailboxes.envelopes(&name(), Filter::all()).await.unwrap();
    assert_eq!(page.iter().map(|one| one.seq).collect::<Vec<_>>(), [Seq(2)]);
}

#[tokio::test]
async fn out_of_quarantine_with_the_whole_history() {
    let clock = Arc::new(ManualClock::at(START));
    let mailboxes = Mailboxes::open_memory(Arc::clone(&clock) as Arc<_>);
    let id = "a".parse().unwrap();
    mailboxes.append(vec![draft("a")]).await.unwrap();
    let error = mailboxes.retry_quarantined(&name(), &id).await.unwrap_err();
    assert!(matches!(
        error,
        MailboxError::Refused(Refusal::NotQuarantined { seq: Seq(1), .. })
    ));
    let reject = async || {
        let delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
        assert_eq!(delivery.attempt, 1, "attempts are counted anew");
        let reason = "cannot be greeted".to_owned();
        mailboxes
            .nack(delivery.lease, Nack::Reject { reason })
            .await
            .unwrap();
    };
    reject().await;
    // However long it lies there.
    clock.advance(400 * DAY);
    for _ in 0..64 {
        assert_eq!(status(&mailboxes).await.quarantined, 1);
    }
    for _ in 0..2 {
        mailboxes.retry_quarantined(&name(), &id).await.unwrap();
        reject().await;
    }
    mailboxes
        .drop_quarantined(&name(), &id, "hopeless")
        .await
        .unwrap();

    let (envelope, events) = mailboxes
        .history(&name(), Seq(1)..=Seq(1))
        .await
        .unwrap()
        .remove(0);
    assert!(matches!(&envelope.state, EnvelopeState::Acked { outcome, .. } if &**outcome == "dropped"));
    let count = |what: fn(&DeliveryEvent) -> bool| events.iter().filter(|event| what(&event.event)).count();
    assert_eq!(
        count(|event| matches!(event, DeliveryEvent::Quarantined { .. })),
        3
    );
    assert_eq!(count(|event| matches!(event, DeliveryEvent::Retried)), 2);
    assert_eq!(count(|event| matches!(event, DeliveryEvent::Dropped { .. })), 1);
    let acks = mailboxes.acks(&name(), 0, 10).await.unwrap();
    assert_eq!(acks.len(), 1);
    assert_eq!(
        (&*acks[0].outcome, acks[0].by.to_string()),
        ("dropped", "operator".to_owned())
    );
}

#[tokio::test]
async fn a_clock_that_is_a_year_ahead_gets_a_day_before_it_prunes() {
    let dir = tempfile::tempdir().unwrap();
    let mailboxes = on_disk(dir.path(), &Arc::new(ManualClock::at(START)));
    mailboxes.append(vec![draft("a"), draft("b")]).await.unwrap();
    handle(&mailboxes, "handled").await;
    mailboxes.close().await;

    let ahead = Arc::new(ManualClock::at(START.after(365 * DAY)));
    let mailboxes = on_disk(dir.path(), &ahead);
    ahead.advance(DAY / 2);
    for _ in 0..64 {
        assert_eq!(status(&mailboxes).await.pruned, 0);
    }
    handle(&mailboxes, "handled in the future").await;
    mailboxes.close().await;

    // It was put right, and stands even an hour before.
    let clock = Arc::new(ManualClock::at(Moment::from_millis(
        START.as_millis() - 3_600_000,
    )));
    let mailboxes = on_disk(dir.path(), &clock);
    let page = mailboxes.envelopes(&name(), Filter::all()).await.unwrap();
    assert_eq!(page.len(), 2);
    assert!(
        page.iter()
            .all(|one| matches!(one.state, EnvelopeState::Acked { .. }))
    );
    mailboxes.append(vec![draft("c")]).await.unwrap();
    assert_eq!(handle(&mailboxes, "handled").await, Seq(3));
    mailboxes.close().await;

    let mailboxes = on_disk(dir.path(), &ahead);
    ahead.advance(DAY);
    mailboxes.append(vec![draft("later")]).await.unwrap();
    until_pruned(&mailboxes, 1).await;
    mailboxes.close().await;
}

#[tokio::test]
async fn replay_goes_on_over_what_was_pruned() {
    let clock = Arc::new(ManualClock::at(START));
    let mailboxes = Mailboxes::open_memory(Arc::clone(&clock) as Arc<_>);
    for n in 0..5 {
        mailboxes.append(vec![draft(&format!("m-{n}"))]).await.unwrap();
    }
    for _ in 0..3 {
        handle(&mailboxes, "handled").await;
    }
    clock.advance(91 * DAY);
    until_pruned(&mailboxes, 3).await;
    let mut replay = Replay::new(mailboxes.clone(), name());
    let mut seen = Vec::new();
    while let Some(page) = replay.next_page().await.unwrap() {
        seen.extend(page.into_iter().map(|one| (one.envelope.seq, one.events.len())));
    }
    assert_eq!(seen, [(Seq(4), 0), (Seq(5), 0)]);
}
