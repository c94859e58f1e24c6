//! What the dispatcher's lines come to.

use board::Report;
use board::records::StateLine;
use lifecycle::Bucket;
use runtime::Overview;

use crate::build::{DAY, HOUR, ago, fold, nothing, seen};

fn report(lines: &[StateLine]) -> Report {
    fold([], lines).finish(&Overview::default())
}

fn now(report: &Report) -> Vec<(Bucket, u64)> {
    let buckets = report.buckets.iter().filter(|bucket| bucket.now > 0);
    buckets.map(|bucket| (bucket.bucket, bucket.now)).collect()
}

const MS: u64 = 60_000;

#[test]
fn a_pull_request_is_where_it_was_last_seen() {
    let report = report(&[
        seen(8 * DAY, "o/r", 7, "wait"),
        seen(2 * DAY, "o/r", 7, "wait"),
        seen(2 * DAY, "o/s", 1, "ship"),
        seen(HOUR, "O/R", 7, "qa"),
        seen(HOUR, "o/s", 1, "ship"),
    ]);
    assert_eq!(now(&report), [(Bucket::Qa, 1), (Bucket::Ship, 1)]);
    assert_eq!(report.last_dispatch, Some(ago(HOUR)));
    let of = |bucket: Bucket| report.buckets.iter().find(|one| one.bucket == bucket).unwrap();
    // It began before the range; the whole of it counts.
    let wait = of(Bucket::Wait);
    assert_eq!(wait.entered, 0);
    assert_eq!(wait.time_in_bucket_ms.unwrap().max, (8 * 24 * 60 - 60) * MS);
    assert_eq!(wait.longest.as_ref().unwrap().since, ago(8 * DAY));
    assert_eq!(of(Bucket::Qa).time_in_bucket_ms.unwrap().max, 60 * MS);
    assert_eq!((of(Bucket::Qa).entered, of(Bucket::Ship).entered), (1, 1));
    let moves: Vec<_> = report
        .moves
        .iter()
        .map(|one| (one.from, one.to, one.count))
        .collect();
    assert_eq!(moves, [(Bucket::Wait, Bucket::Qa, 1)]);
    assert!(report.flapping.is_empty());
}

#[test]
fn one_that_later_runs_do_not_name_has_gone() {
    let both = |minutes| [seen(minutes, "o/r", 7, "wait"), seen(minutes, "o/r", 8, "wait")];
    let mut lines: Vec<StateLine> = both(10 * HOUR).into();
    // One run missed, whatever the reason: still there.
    lines.push(seen(9 * HOUR, "o/r", 8, "wait"));
    assert_eq!(now(&report(&lines)), [(Bucket::Wait, 2)]);
    // Two runs and an hour: gone, as of when it was last seen.
    lines.push(seen(8 * HOUR, "o/r", 8, "wait"));
    let gone = report(&lines);
    assert_eq!(now(&gone), [(Bucket::Wait, 1)]);
    let stays = gone.buckets[5].time_in_bucket_ms.unwrap();
    assert_eq!((stays.count, stays.median, stays.max), (2, 0, 600 * MS));
    // Reopened: a stay of its own.
    lines.push(seen(7 * HOUR, "o/r", 7, "wait"));
    let back = report(&lines);
    assert_eq!(now(&back), [(Bucket::Wait, 2)]);
    assert_eq!(back.buckets[5].entered, 3);
    assert!(back.moves.is_empty());
}

#[test]
fn runs_by_hand_within_a_minute_make_nothing_go() {
    let lines: Vec<StateLine> = [seen(30, "o/r", 7, "wait")]
        .into_iter()
        .chain((1..20).rev().map(|minutes| seen(minutes, "o/s", 1, "qa")))
        .collect();
    assert_eq!(now(&report(&lines)), [(Bucket::Qa, 1), (Bucket::Wait, 1)]);
}

#[test]
fn a_run_that_found_nothing_is_a_run() {
    let lines = [
        seen(5 * HOUR, "o/r", 7, "wait"),
        nothing(4 * HOUR),
        nothing(3 * HOUR),
    ];
    let report = report(&lines);
    assert_eq!(now(&report), []);
    assert_eq!(report.last_dispatch, Some(ago(3 * HOUR)));
}

/// `docs/report.md`: three changes, or a return, within seven days.
#[test]
fn back_and_forth_is_flapping() {
    let check = |what: &str, steps: &[(i64, &str)], expected: Option<(u64, u64)>| {
        let mut lines = Vec::new();
        for (minutes, bucket) in steps {
            lines.push(seen(*minutes, "o/r", 7, bucket));
        }
        let report = report(&lines);
        let found = report.flapping.first().map(|one| (one.changes, one.returns));
        assert_eq!(found, expected, "{what}");
        assert_eq!(report.flapping_total, u64::from(expected.is_some()), "{what}");
    };
    check("one change", &[(DAY, "wait"), (HOUR, "qa")], None);
    check(
        "two changes",
        &[(DAY, "wait"), (5 * HOUR, "qa"), (HOUR, "ship")],
        None,
    );
    check(
        "a return",
        &[(DAY, "wait"), (5 * HOUR, "qa"), (HOUR, "wait")],
        Some((2, 1)),
    );
    check(
        "three changes",
        &[
            (DAY, "wait"),
            (5 * HOUR, "qa"),
            (3 * HOUR, "rebase"),
            (HOUR, "ship"),
        ],
        Some((3, 0)),
    );
    check(
        "a return after more than seven days",
        &[(20 * DAY, "wait"), (8 * DAY, "qa"), (HOUR, "wait")],
        None,
    );
    check(
        "what was before the range",
        &[
            (20 * DAY, "wait"),
            (19 * DAY, "qa"),
            (18 * DAY, "wait"),
            (17 * DAY, "qa"),
        ],
        None,
    );
}

#[test]
fn the_path_of_one_that_flaps_is_bounded() {
    let lines: Vec<StateLine> = (1..=40)
        .rev()
        .map(|step| seen(step * HOUR, "o/r", 7, if step % 2 == 0 { "qa" } else { "wait" }))
        .collect();
    let report = report(&lines);
    assert_eq!(report.flapping[0].changes, 39);
    assert_eq!(report.flapping[0].path.len(), 12);
    assert_eq!(report.flapping[0].path.last(), Some(&Bucket::Wait));
}

#[test]
fn buckets_are_known_for_every_moment() {
    let report = report(&[seen(4 * HOUR, "o/r", 7, "wait"), seen(2 * HOUR, "o/r", 7, "qa")]);
    let course: Vec<(u64, u64)> = report
        .samples
        .iter()
        .rev()
        .take(6)
        .map(|sample| (sample.buckets[3], sample.buckets[5]))
        .collect();
    assert_eq!(course, [(1, 0), (1, 0), (1, 0), (0, 1), (0, 1), (0, 0)]);
}

#[test]
fn lines_out_of_order_and_of_the_future_do_no_harm() {
    let report = report(&[
        seen(5 * HOUR, "o/r", 7, "wait"),
        // The clock went back a day.
        seen(DAY, "o/r", 7, "qa"),
        seen(2 * HOUR, "o/r", 7, "qa"),
        // Not yet.
        seen(-HOUR, "o/r", 7, "close"),
    ]);
    assert_eq!(now(&report), [(Bucket::Qa, 1)]);
    assert_eq!(report.buckets[3].longest.as_ref().unwrap().since, ago(5 * HOUR));
    assert_eq!(report.last_dispatch, Some(ago(2 * HOUR)));
}

#[test]
fn where_nobody_looks_any_more_nothing_goes_on() {
    let report = report(&[seen(5 * DAY, "o/r", 7, "wait"), seen(3 * DAY, "o/r", 7, "wait")]);
    assert_eq!(now(&report), [(Bucket::Wait, 1)]);
    assert_eq!(report.buckets[5].time_in_bucket_ms.unwrap().max, 2 * 24 * 60 * MS);
    let course: Vec<u64> = report
        .samples
        .iter()
        .rev()
        .step_by(24)
        .map(|sample| sample.buckets[5])
        .collect();
    assert_eq!(course, [0, 0, 0, 0, 1, 1, 0, 0]);
}
