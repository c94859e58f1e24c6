//! The three boundaries, and the time of the nightly sweep in zones whose clocks jump.

use chrono::{NaiveTime, TimeDelta, Timelike as _};
use chrono_tz::Tz;
use lifecycle::maintain::build::{evidence, ready};
use lifecycle::maintain::{AutoReview, Deadline, DeadlineKind, Rung, Settings, State, deadlines, project};
use proptest::prelude::*;
use pulls::build::{at, now};
use pulls::facts::Time;

use super::hours;

fn sweep(zone: Tz, hour: u32, minute: u32) -> AutoReview {
    AutoReview {
        is_on: true,
        at: NaiveTime::from_hms_opt(hour, minute, 0).expect("a time of day"),
        zone,
        window: hours(6),
    }
}

#[test]
fn a_boundary_is_passed_at_its_very_second_and_a_day_is_24_hours() {
    let settings = Settings::default();
    let idle = |span: TimeDelta| ready("o/r#7").with(|it| it.activity.at = it.now - span).done();
    let second = TimeDelta::seconds(1);
    for (days, before, after, rung) in [
        (7, State::ReadyForMaintainer, State::Stale, Rung::Stale),
        (14, State::Stale, State::Parked, Rung::Park),
        (30, State::Parked, State::Parked, Rung::Close),
    ] {
        let span = TimeDelta::seconds(days * 86_400);
        assert_eq!(
            project(&idle(span - second), &settings).state,
            before,
            "day {days} less a second"
        );
        assert_eq!(project(&idle(span), &settings).state, after, "day {days}");
        assert_eq!(idle(span).rung(&settings), Some(rung));
        assert_eq!(
            idle(span - second).next_rung(&settings),
            Some((rung, now() + second))
        );
    }
    assert_eq!(idle(TimeDelta::days(30)).next_rung(&settings), None);
    assert_eq!(idle(TimeDelta::days(6)).rung(&settings), None);
}

#[test]
fn a_day_is_24_hours_also_where_the_local_clock_jumps() {
    // Between these two the clocks of most of Europe went forward: seven local days are an hour less.
    let (last, reached) = (at("2026-03-26T12:00:00Z"), at("2026-04-02T12:00:00Z"));
    let settings = Settings::default();
    let seen = |when: Time| {
        let it = ready("o/r#7")
            .with(|it| (it.activity.at, it.now) = (last, when))
            .done();
        project(&it, &settings).state
    };
    assert_eq!(seen(reached - TimeDelta::seconds(1)), State::ReadyForMaintainer);
    assert_eq!(seen(reached), State::Stale);
}

#[test]
fn what_a_person_does_in_the_future_of_this_clock_is_no_idleness() {
    let it = ready("o/r#7")
        .with(|it| it.activity.at = it.now + hours(5))
        .done();
    assert_eq!(it.idle(), TimeDelta::zero());
    assert_eq!(
        project(&it, &Settings::default()).state,
        State::ReadyForMaintainer
    );
}

#[test]
fn an_exempt_label_stops_the_clock_whatever_its_case_and_goes_without_a_trace() {
    let settings = Settings {
        exempt_labels: ["Keep-Open".to_owned()].into(),
        ..Settings::default()
    };
    let parked = || ready("o/r#7").idle_days(14);
    assert_eq!(project(&parked().done(), &settings).state, State::Parked);
    let exempt = parked()
        .with(|it| it.labels = vec!["bug".to_owned(), "keep-open".to_owned()])
        .done();
    assert_eq!(project(&exempt, &settings).state, State::ReadyForMaintainer);
    assert_eq!(deadlines(&exempt, exempt.now, &settings), []);
}

#[test]
fn the_boundaries_can_be_configured() {
    let settings = Settings {
        stale_after: TimeDelta::days(1),
        park_after: TimeDelta::days(2),
        close_after: TimeDelta::days(3),
        ..Settings::default()
    };
    let state = |days| project(&ready("o/r#7").idle_days(days).done(), &settings).state;
    assert_eq!(
        [state(0), state(1), state(2)],
        [State::ReadyForMaintainer, State::Stale, State::Parked]
    );
}

#[test]
fn the_sweep_is_at_its_local_time_in_every_zone() {
    let shanghai = AutoReview::default();
    for (case, sweep, after, next) in [
        (
            "four in Shanghai",
            shanghai,
            "2026-05-14T17:45:00Z",
            "2026-05-14T20:00:00Z",
        ),
        (
            "strictly after",
            shanghai,
            "2026-05-14T20:00:00Z",
            "2026-05-15T20:00:00Z",
        ),
        (
            "a second before",
            shanghai,
            "2026-05-14T19:59:59Z",
            "2026-05-14T20:00:00Z",
        ),
        (
            "over the turn of the year",
            shanghai,
            "2026-12-31T20:00:00Z",
            "2027-01-01T20:00:00Z",
        ),
        (
            "before the clocks go forward",
            sweep(Tz::Europe__Berlin, 4, 0),
            "2026-03-28T01:00:00Z",
            "2026-03-28T03:00:00Z",
        ),
        (
            "after they did: an hour less",
            sweep(Tz::Europe__Berlin, 4, 0),
            "2026-03-28T03:00:00Z",
            "2026-03-29T02:00:00Z",
        ),
        (
            "in the hour that is not there",
            sweep(Tz::Europe__Berlin, 2, 30),
            "2026-03-29T00:00:00Z",
            "2026-03-29T01:00:00Z",
        ),
        (
            "and the night after",
            sweep(Tz::Europe__Berlin, 2, 30),
            "2026-03-29T01:00:00Z",
            "2026-03-30T00:30:00Z",
        ),
        (
            "the first of two",
            sweep(Tz::Europe__Berlin, 2, 30),
            "2026-10-24T12:00:00Z",
            "2026-10-25T00:30:00Z",
        ),
        (
            "never twice in one night",
            sweep(Tz::Europe__Berlin, 2, 30),
            "2026-10-25T00:30:00Z",
            "2026-10-26T01:30:00Z",
        ),
        (
            "between the two",
            sweep(Tz::Europe__Berlin, 2, 30),
            "2026-10-25T01:00:00Z",
            "2026-10-26T01:30:00Z",
        ),
        (
            "west of Greenwich",
            sweep(Tz::America__New_York, 2, 15),
            "2026-03-08T05:00:00Z",
            "2026-03-08T07:00:00Z",
        ),
        (
            "a jump of half an hour",
            sweep(Tz::Australia__Lord_Howe, 2, 10),
            "2026-10-03T12:00:00Z",
            "2026-10-03T15:30:00Z",
        ),
        (
            "a day that is not there",
            sweep(Tz::Pacific__Apia, 4, 0),
            "2011-12-29T20:00:00Z",
            "2011-12-30T10:00:00Z",
        ),
        (
            "an offset of 45 minutes",
            sweep(Tz::Asia__Kathmandu, 4, 0),
            "2026-05-14T17:45:00Z",
            "2026-05-14T22:15:00Z",
        ),
    ] {
        assert_eq!(sweep.next(at(after)), at(next), "{case}");
    }
}

#[test]
fn the_window_is_six_hours_of_real_time_and_its_end_is_out() {
    let sweep = sweep(Tz::Europe__Berlin, 1, 0);
    let began = at("2026-03-29T00:00:00Z");
    for (case, when, expected) in [
        ("a second before", began - TimeDelta::seconds(1), None),
        ("its first second", began, Some(began)),
        ("after the jump", began + hours(3), Some(began)),
        (
            "its last second",
            began + hours(6) - TimeDelta::seconds(1),
            Some(began),
        ),
        ("its end", began + hours(6), None),
    ] {
        assert_eq!(sweep.window_at(when), expected, "{case}");
    }
}

#[test]
fn every_deadline_of_a_pull_request() {
    let settings = Settings {
        auto_review: AutoReview {
            is_on: true,
            ..AutoReview::default()
        },
        ..Settings::default()
    };
    let kinds = |it: &lifecycle::maintain::Evidence, first_seen| -> Vec<(DeadlineKind, Time)> {
        let all = deadlines(it, first_seen, &settings);
        assert!(all.is_sorted());
        all.into_iter().map(|Deadline { at, what }| (what, at)).collect()
    };
    let (now, day_7) = (now(), now() - hours(1) + TimeDelta::days(7));
    let night = (DeadlineKind::Sweep, at("2026-05-14T20:00:00Z"));
    let stale = (DeadlineKind::Stale, day_7);
    assert_eq!(kinds(&evidence("o/r#7").done(), now), [night, stale]);
    assert_eq!(
        kinds(&ready("o/r#7").done(), now),
        [stale],
        "a reviewed head waits for no sweep"
    );
    let unrouted = evidence("o/r#7").unrouted().done();
    assert_eq!(kinds(&unrouted, now), [(DeadlineKind::Route, now), night, stale]);
    let pending = ready("o/r#7")
        .check("build", pulls::checks::Standing::Running)
        .done();
    let reread = |first_seen| (DeadlineKind::Reread, first_seen + TimeDelta::seconds(120));
    assert_eq!(kinds(&pending, now), [reread(now), stale]);
    let early = now - hours(1);
    assert_eq!(
        kinds(&pending, early),
        [reread(early), stale],
        "it is due and stays due"
    );
    let missing = ready("o/r#7")
        .required("e2e", lifecycle::maintain::RequiredOutcome::Missing)
        .with(|it| it.head.first_seen_at = it.now - TimeDelta::minutes(59))
        .done();
    let never = (DeadlineKind::NeverReported, now + TimeDelta::minutes(1));
    assert_eq!(kinds(&missing, now), [never, reread(now), stale]);
    let disputed = ready("o/r#7").findings(0, 1).done();
    let scan = |at| (DeadlineKind::DisputeScan, at);
    assert_eq!(kinds(&disputed, now), [scan(now + TimeDelta::minutes(15)), stale]);
    let first_seen = now - TimeDelta::minutes(40);
    assert_eq!(
        kinds(&disputed, first_seen),
        [scan(now + TimeDelta::minutes(5)), stale],
        "one that was missed is not made up for, and the distance stays"
    );
    let parked = evidence("o/r#7").idle_days(15).done();
    assert_eq!(
        kinds(&parked, now),
        [(DeadlineKind::Close, now + TimeDelta::days(15))],
        "the sweep passes over it"
    );
    assert_eq!(kinds(&evidence("o/r#7").idle_days(31).done(), now), []);
    let draft = evidence("o/r#7")
        .unrouted()
        .idle_days(9)
        .with(|it| it.is_draft = true)
        .done();
    assert_eq!(kinds(&draft, now), []);
    let ended = evidence("o/r#7")
        .ended(pulls::facts::PullState::Merged, now)
        .done();
    assert_eq!(kinds(&ended, now), []);
}

#[test]
fn moments_at_the_end_of_the_calendar_are_no_panic() {
    let it = ready("o/r#7")
        .findings(1, 0)
        .required("e2e", lifecycle::maintain::RequiredOutcome::Missing)
        .with(|it| {
            it.now = Time::MAX_UTC;
            it.head.first_seen_at = Time::MAX_UTC;
            it.activity.at = Time::MAX_UTC;
        })
        .done();
    let settings = Settings {
        auto_review: AutoReview {
            is_on: true,
            ..AutoReview::default()
        },
        ..Settings::default()
    };
    for first_seen in [Time::MAX_UTC, Time::MIN_UTC] {
        deadlines(&it, first_seen, &settings);
    }
    let mut early = it;
    early.now = Time::MIN_UTC;
    lifecycle::maintain::why(&early, Time::MAX_UTC, &settings);
    assert_eq!(project(&early, &settings).state, State::ChangesRequested);
}

proptest! {
    #[test]
    fn the_next_sweep_is_to_come_within_a_day_and_shows_its_time(
        seconds in 0..4_000_000_000_i64,
        zone in prop::sample::select(vec![
            Tz::UTC, Tz::Asia__Shanghai, Tz::Europe__Berlin, Tz::America__New_York, Tz::Australia__Lord_Howe,
            Tz::America__Sao_Paulo, Tz::Africa__Casablanca, Tz::Pacific__Chatham, Tz::America__Santiago,
        ]),
        hour in 0..24_u32,
        minute in 0..60_u32,
    ) {
        let sweep = sweep(zone, hour, minute);
        let after = Time::from_timestamp(seconds, 0).expect("within the calendar");
        let next = sweep.next(after);
        prop_assert!(next > after);
        prop_assert!(next - after <= hours(26), "{next}");
        let local = next.with_timezone(&zone).time();
        let is_after_gap = local.signed_duration_since(sweep.at) > TimeDelta::zero()
            && local.signed_duration_since(sweep.at) <= hours(1);
        // A gap at midnight ends at one, of the same date.
        prop_assert!(local == sweep.at || is_after_gap && local.minute().is_multiple_of(15), "{local}");
        // It is the same answer from any moment before it.
        prop_assert_eq!(sweep.next(next - TimeDelta::seconds(1)), next);
    }
}
