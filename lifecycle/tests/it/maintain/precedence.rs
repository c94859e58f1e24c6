//! Where two rules hold, the earlier decides: one fixture a pair.

use lifecycle::maintain::build::{EvidenceBuilder, evidence, ready};
use lifecycle::maintain::{HeadReview, RequiredOutcome, State, SubStatus};
use pulls::build::at;
use pulls::checks::Standing;
use pulls::facts::PullState;

use super::check;

/// One pull request of each state below the clock.
fn of_each_state() -> Vec<(&'static str, State, EvidenceBuilder)> {
    let attempted = || evidence("o/r#7").with(|it| it.reviews.attempts = 1);
    vec![
        ("new", State::New, evidence("o/r#7").unrouted()),
        ("needs owner", State::NeedsOwner, evidence("o/r#7").ownerless()),
        ("owner routed", State::OwnerRouted, evidence("o/r#7")),
        (
            "red",
            State::CiFailing,
            attempted().check("build", Standing::Failed),
        ),
        (
            "cancelled",
            State::CiFailing,
            ready("o/r#7").check("build", Standing::Cancelled),
        ),
        ("findings", State::ChangesRequested, ready("o/r#7").findings(2, 0)),
        ("conflict", State::ChangesRequested, ready("o/r#7").conflicting()),
        ("not reviewed", State::UnderReview, attempted()),
        (
            "checks pending",
            State::UnderReview,
            ready("o/r#7").check("build", Standing::Running),
        ),
        (
            "gate blocked",
            State::UnderReview,
            ready("o/r#7").with(|it| it.unresolved_threads = None),
        ),
        ("ready", State::ReadyForMaintainer, ready("o/r#7")),
    ]
}

fn state(it: EvidenceBuilder) -> State {
    lifecycle::maintain::project(&it.done(), &lifecycle::maintain::Settings::default()).state
}

#[test]
fn each_fixture_has_its_state() {
    for (case, expected, it) in of_each_state() {
        assert_eq!(state(it), expected, "{case}");
    }
}

#[test]
fn closed_draft_parked_and_stale_win_over_everything_below_them() {
    type Change = fn(EvidenceBuilder) -> EvidenceBuilder;
    let above: [(State, Change); 5] = [
        (State::Closed, |it| {
            it.ended(PullState::Merged, at("2026-05-14T10:00:00Z"))
        }),
        (State::Closed, |it| {
            it.ended(PullState::Closed, at("2026-05-14T10:00:00Z"))
        }),
        (State::Draft, |it| it.with(|it| it.is_draft = true)),
        (State::Parked, |it| it.idle_days(14)),
        (State::Stale, |it| it.idle_days(7)),
    ];
    for (nth, (winner, change)) in above.iter().enumerate() {
        for (case, _, it) in of_each_state() {
            assert_eq!(state(change(it)), *winner, "{winner} over {case}");
        }
        for (loser, below) in &above[nth..] {
            let both = change(below(ready("o/r#7")));
            assert_eq!(state(both), *winner, "{winner} over {loser}");
        }
    }
}

#[test]
fn new_wins_over_everything_that_is_about_the_head() {
    for (case, _, it) in of_each_state() {
        assert_eq!(state(it.unrouted()), State::New, "{case}");
    }
}

#[test]
fn a_pull_request_that_is_red_or_in_conflict_before_its_first_review_is_with_its_owner() {
    let red = || evidence("o/r#7").check("build", Standing::Failed).conflicting();
    check(
        "an owner",
        red(),
        State::OwnerRouted,
        None,
        "olive: CODEOWNERS line 3",
    );
    check(
        "none",
        red().ownerless(),
        State::NeedsOwner,
        Some(SubStatus::Unrouted),
        "no owner: no rule matches its files",
    );
}

#[test]
fn each_of_the_three_ways_out_of_discovery() {
    for (case, it) in [
        (
            "an attempt on any head",
            evidence("o/r#7").with(|it| it.reviews.attempts = 1),
        ),
        (
            "the sweep's claim",
            evidence("o/r#7").with(|it| it.reviews.is_claimed = true),
        ),
        (
            "a review of this head",
            evidence("o/r#7").with(|it| it.reviews.of_head = HeadReview::Queued),
        ),
    ] {
        assert_eq!(state(it.clone()), State::UnderReview, "{case}");
        assert_eq!(state(it.ownerless()), State::UnderReview, "{case}, no owner");
    }
}

#[test]
fn the_pairs_that_the_rfc_names() {
    check(
        "stale but green",
        ready("o/r#7").idle_days(10),
        State::Stale,
        None,
        "no person did anything since 2026-05-04",
    );
    check(
        "conflict and red",
        ready("o/r#7").conflicting().check("build", Standing::Failed),
        State::CiFailing,
        None,
        "red: build",
    );
    check(
        "red with findings",
        ready("o/r#7").findings(1, 0).check("build", Standing::Failed),
        State::CiFailing,
        None,
        "red: build",
    );
    check(
        "conflict with findings",
        ready("o/r#7").findings(2, 0).conflicting(),
        State::ChangesRequested,
        Some(SubStatus::Conflict),
        "in conflict with main; 2 blocker or major findings are open",
    );
    check(
        "findings while checks are pending",
        ready("o/r#7").findings(2, 1).check("build", Standing::Running),
        State::ChangesRequested,
        None,
        "2 blocker or major findings are open",
    );
    check(
        "conflict on a head that is not reviewed",
        evidence("o/r#7").conflicting().with(|it| it.reviews.attempts = 1),
        State::ChangesRequested,
        Some(SubStatus::Conflict),
        "in conflict with main",
    );
    check(
        "carried findings on a head that is not reviewed",
        evidence("o/r#7")
            .findings(3, 0)
            .with(|it| it.reviews.attempts = 1),
        State::UnderReview,
        None,
        "its head was not reviewed",
    );
    check(
        "reviewed, checks pending",
        ready("o/r#7").check("build", Standing::Running),
        State::UnderReview,
        Some(SubStatus::CiPending),
        "waiting for: build",
    );
    check(
        "disputed only",
        ready("o/r#7").findings(0, 2),
        State::ReadyForMaintainer,
        None,
        "reviewed, 2 disputed; every required check passed; GitHub would merge it",
    );
    check(
        "reviewed and green",
        ready("o/r#7"),
        State::ReadyForMaintainer,
        None,
        "reviewed; every required check passed; GitHub would merge it",
    );
    check(
        "a person converts it to a draft, which has no clock",
        ready("o/r#7").idle_days(40).with(|it| it.is_draft = true),
        State::Draft,
        None,
        "it is a draft",
    );
    check(
        "parked at day 30: closing is suggested and nothing moves",
        ready("o/r#7").idle_days(30),
        State::Parked,
        None,
        "no person did anything since 2026-04-14",
    );
}

#[test]
fn of_checks_that_count_the_worst_decides() {
    let it = || {
        ready("o/r#7")
            .required("a", RequiredOutcome::Passed)
            .required("e", RequiredOutcome::Pending)
            .with(|it| it.checks.clear())
    };
    check(
        "pending",
        it(),
        State::UnderReview,
        Some(SubStatus::CiPending),
        "waiting for: e",
    );
    let it = || it().required("d", RequiredOutcome::Missing);
    check(
        "never reported",
        it(),
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        "required and never reported: d",
    );
    let it = || it().required("c", RequiredOutcome::SkippedBesideFailure);
    check(
        "skipped beside a failure",
        it(),
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        "skipped beside a failure of the same run: c",
    );
    let it = || it().required("b", RequiredOutcome::Cancelled);
    check(
        "cancelled",
        it(),
        State::CiFailing,
        None,
        "red: b (cancelled, needs a re-run)",
    );
    let it = || it().required("x", RequiredOutcome::Failed);
    check("failed", it(), State::CiFailing, None, "red: x");
}
