//! What the log of the mailboxes comes to.

use board::report::ActorNumbers;
use board::{Fold, Range, Report, Spread};
use mailbox::{FailureKind, QuarantineCause};
use runtime::Overview;

use crate::build::{DAY, HOUR, Sent, UNTIL, ago, at, audited, fold, week};

fn report(messages: impl IntoIterator<Item = Sent>) -> Report {
    fold(messages, &[]).finish(&Overview::default())
}

fn only(messages: impl IntoIterator<Item = Sent>) -> ActorNumbers {
    let mut report = report(messages);
    assert_eq!(report.actors.len(), 1);
    report.actors.remove(0)
}

const MINUTE: u64 = 60_000;

#[test]
fn a_message_is_counted_by_how_it_ended() {
    let actor = only([
        Sent::to("qa", 1, 100).taken(99, 1).acked(98, "passed"),
        Sent::to("qa", 2, 90).passed_over(80, "superseded"),
        Sent::to("qa", 3, 85).passed_over(80, "unchanged"),
        // An actor may call its own outcome so; it handled the message all the same.
        Sent::to("qa", 4, 60).taken(60, 1).acked(56, "unchanged"),
        Sent::to("qa", 5, 50)
            .taken(50, 1)
            .quarantined(50, QuarantineCause::Rejected),
        Sent::to("qa", 6, 45)
            .taken(45, 1)
            .quarantined(44, QuarantineCause::Rejected)
            .dropped(40),
        Sent::to("qa", 7, 30),
    ]);
    assert_eq!(
        (actor.appended, actor.acked, actor.superseded, actor.unchanged),
        (7, 2, 1, 1)
    );
    assert_eq!((actor.quarantined, actor.dropped, actor.in_quarantine), (2, 1, 1));
    assert_eq!((actor.unread, actor.oldest_unread_ms), (1, Some(30 * MINUTE)));
    // What gave way says nothing of how fast the actor is.
    let expected = Spread {
        count: 2,
        median: 2 * MINUTE,
        p90: 4 * MINUTE,
        max: 4 * MINUTE,
    };
    assert_eq!(actor.ack_latency_ms, Some(expected));
    assert_eq!(actor.failures.rejected, 2);
}

#[test]
fn failures_have_kinds_and_those_that_restart_are_counted() {
    let actor = only([
        Sent::to("qa", 1, 100)
            .taken(99, 1)
            .failed(98, FailureKind::Explained)
            .taken(90, 2)
            .failed(89, FailureKind::Panic)
            .taken(80, 3)
            .voided(70)
            .taken(60, 4)
            .handed_back(50)
            .taken(40, 4)
            .acked(30, "passed"),
        Sent::to("qa", 2, 100)
            .taken(99, 1)
            .failed(98, FailureKind::Deadline)
            .taken(90, 2)
            .failed(89, FailureKind::Error)
            .taken(80, 3)
            .failed(79, FailureKind::Killed)
            .taken(70, 4)
            .expired(60)
            .quarantined(60, QuarantineCause::Attempts),
    ]);
    let kinds = actor.failures.kinds().map(|(_, number)| number);
    assert_eq!(kinds, [1, 1, 1, 1, 1, 0, 1, 1]);
    assert_eq!(actor.restarts, 4);
    // What was handed back is no attempt.
    let attempts = actor.attempts.unwrap();
    assert_eq!((attempts.count, attempts.max), (2, 4));
}

#[test]
fn only_what_lies_in_the_range_counts() {
    let actor = only([
        // Appended before it, acked within it: the ack counts, with the whole wait.
        Sent::to("qa", 1, 8 * DAY)
            .taken(6 * DAY, 1)
            .acked(6 * DAY, "passed"),
        // Over before it began.
        Sent::to("qa", 2, 9 * DAY)
            .taken(8 * DAY, 1)
            .acked(8 * DAY, "passed"),
        // Acked after its end: at the end it was unread.
        Sent::to("qa", 3, 10).taken(5, 1).acked(-5, "passed"),
        // Not there yet.
        Sent::to("qa", 4, -10),
    ]);
    assert_eq!((actor.appended, actor.acked, actor.unread), (1, 1, 1));
    assert_eq!(actor.ack_latency_ms.unwrap().max, 2 * 24 * 60 * MINUTE);
    assert_eq!(actor.oldest_unread_ms, Some(10 * MINUTE));
}

#[test]
fn a_clock_that_went_back_gives_no_negative_wait() {
    let actor = only([Sent::to("qa", 1, 10).taken(20, 1).acked(30, "passed")]);
    assert_eq!(actor.ack_latency_ms.unwrap().max, 0);
    assert_eq!(actor.unread, 0);
}

#[test]
fn what_was_unread_is_known_for_every_moment() {
    let report = report([
        Sent::to("qa", 1, 5 * HOUR)
            .taken(3 * HOUR, 1)
            .acked(3 * HOUR, "passed"),
        Sent::to("drip", 1, 4 * HOUR)
            .taken(4 * HOUR, 1)
            .quarantined(2 * HOUR, QuarantineCause::Attempts)
            .retried(HOUR)
            .taken(30, 1)
            .acked(30, "listed"),
    ]);
    let before_the_end: Vec<(u64, Option<u64>)> = report
        .samples
        .iter()
        .rev()
        .take(7)
        .map(|sample| (sample.unread, sample.longest_wait_ms.map(|ms| ms / (60 * MINUTE))))
        .collect();
    assert_eq!(
        before_the_end,
        [
            // Acked half an hour before the end, after three hours and a half.
            (0, Some(3)),
            (1, Some(3)),
            // In quarantine.
            (0, Some(2)),
            (1, Some(2)),
            (2, Some(1)),
            (1, Some(0)),
            (0, None)
        ]
    );
    assert_eq!(report.samples.last().unwrap().at, at(UNTIL));
}

#[test]
fn days_are_counted_in_utc() {
    let report = report([
        Sent::to("qa", 1, 18 * HOUR + 1)
            .taken(18 * HOUR, 1)
            .acked(18 * HOUR - 1, "passed"),
        Sent::to("qa", 2, 10)
            .taken(9, 1)
            .failed(9, FailureKind::Explained),
    ]);
    let days: Vec<(String, u64, u64, u64)> = report
        .days
        .iter()
        .map(|day| (day.day.to_string(), day.appended, day.acked, day.failed))
        .filter(|(_, appended, acked, failed)| appended + acked + failed > 0)
        .collect();
    assert_eq!(
        days,
        [
            ("2026-05-13".to_owned(), 1, 0, 0),
            ("2026-05-14".to_owned(), 1, 1, 1)
        ]
    );
    assert_eq!(report.days.len(), 8);
}

#[test]
fn an_actor_without_messages_is_named_and_nothing_is_well_defined() {
    let mut fold = Fold::over(week());
    fold.actor(&"qa".parse().unwrap());
    let report = fold.finish(&Overview::default());
    assert_eq!(report.actors.len(), 1);
    assert_eq!(report.actors[0].ack_latency_ms, None);
    assert_eq!(report.last_dispatch, None);
    assert_eq!(report.buckets.len(), 6);
    assert!(
        report
            .buckets
            .iter()
            .all(|bucket| bucket.time_in_bucket_ms.is_none())
    );
    assert!(report.text().contains("pull requests: none were seen"));
    assert!(report.html().contains("Nothing to draw in this range."));
}

#[test]
fn the_audit_trail_keeps_its_newest() {
    let mut fold = Fold::over(week());
    for number in 1..=30 {
        // In no order of time.
        fold.audited(&audited(i64::from(number * 7 % 31), number, "review required"));
    }
    fold.audited(&audited(8 * DAY, 99, "too early"));
    fold.audited(&audited(0, 99, "too late"));
    let audit = fold.finish(&Overview::default()).audit;
    assert_eq!(audit.total, 30);
    let newest: Vec<_> = audit.newest.iter().map(|entry| entry.ts).collect();
    assert_eq!(newest, (1..=10).map(ago).collect::<Vec<_>>());
}

#[test]
fn a_range_of_years_has_bounded_series() {
    let range = Range::new(at("1970-01-01T00:00:00Z"), at(UNTIL)).unwrap();
    let mut fold = Fold::over(range);
    fold.message(
        &Sent::to("qa", 1, 3_000 * DAY)
            .taken(2_999 * DAY, 1)
            .acked(2_999 * DAY, "passed")
            .done(),
    );
    let report = fold.finish(&Overview::default());
    assert_eq!(report.actors[0].acked, 1);
    assert!(report.days.len() <= 400 && report.samples.len() <= 200);
    assert!(report.html().len() < 400_000, "{}", report.html().len());
}
