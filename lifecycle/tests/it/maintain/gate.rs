//! The ready gate: one case a condition and a side.

use std::collections::BTreeSet;

use lifecycle::maintain::build::{EvidenceBuilder, evidence, ready};
use lifecycle::maintain::{GateId, HeadReview, Required, RequiredOutcome, Settings, State, gate, project};
use pulls::checks::Standing;
use pulls::facts::{MergeState, Mergeable, PullState, ReviewDecision};

/// The conditions that are not met, each with what it says.
fn failed(it: EvidenceBuilder) -> Vec<(GateId, String)> {
    failed_with(it, &Settings::default())
}

fn failed_with(it: EvidenceBuilder, settings: &Settings) -> Vec<(GateId, String)> {
    gate(&it.done(), settings)
        .into_iter()
        .filter(|condition| !condition.held)
        .map(|condition| (condition.id, condition.because))
        .collect()
}

#[track_caller]
fn check(case: &str, it: EvidenceBuilder, expected: &[(GateId, &str)]) {
    let failed = failed(it);
    let failed: Vec<(GateId, &str)> = failed
        .iter()
        .map(|(id, because)| (*id, because.as_str()))
        .collect();
    assert_eq!(failed, expected, "{case}");
}

#[test]
fn each_condition_fails_alone_and_says_why() {
    check("all met", ready("o/r#7"), &[]);
    check(
        "a draft",
        ready("o/r#7").with(|it| it.is_draft = true),
        &[(GateId::Open, "it is a draft")],
    );
    check(
        "closed",
        ready("o/r#7").with(|it| it.state = PullState::Closed),
        &[(GateId::Open, "it is closed")],
    );
    check(
        "idle",
        ready("o/r#7").idle_days(8),
        &[(GateId::Active, "no person did anything for 8 days")],
    );
    for (of_head, because) in [
        (HeadReview::None, "its head was not reviewed"),
        (HeadReview::Queued, "the review of its head is queued"),
        (HeadReview::Running, "the review of its head is running"),
        (HeadReview::Failed, "the review of its head failed"),
    ] {
        let it = ready("o/r#7").with(|it| it.reviews.of_head = of_head);
        check("not reviewed", it, &[(GateId::Reviewed, because)]);
    }
    check(
        "a finding",
        ready("o/r#7").findings(1, 4),
        &[(GateId::Findings, "1 blocker or major finding is open")],
    );
    check("only disputed findings", ready("o/r#7").findings(0, 4), &[]);
    let unknown = |it: &mut lifecycle::maintain::Evidence| {
        it.required = Required::Unknown {
            why: "none of the three places answers".to_owned(),
        };
    };
    check(
        "the required set, without which no check passed",
        ready("o/r#7").with(unknown),
        &[
            (
                GateId::RequiredKnown,
                "the required checks are not known: none of the three places answers",
            ),
            (GateId::Checks, "the required checks are not known"),
        ],
    );
    check(
        "a check",
        ready("o/r#7").check("build", Standing::Failed),
        &[(GateId::Checks, "red: build")],
    );
    check(
        "threads",
        ready("o/r#7").with(|it| it.unresolved_threads = None),
        &[(
            GateId::Threads,
            "it is not known how many review threads are unresolved",
        )],
    );
    check(
        "threads that are unresolved hold nothing where GitHub would merge",
        ready("o/r#7").with(|it| it.unresolved_threads = Some(3)),
        &[],
    );
    check(
        "conflict",
        ready("o/r#7").conflicting(),
        &[(GateId::Mergeable, "in conflict with its base")],
    );
}

#[test]
fn each_word_of_the_merge_button() {
    let with = |word: MergeState| ready("o/r#7").with(|it| it.mergeability.merge_state = word);
    for (word, because) in [
        (MergeState::Clean, None),
        (MergeState::HasHooks, None),
        (MergeState::Behind, Some("its base must be merged into it first")),
        (
            MergeState::Unstable,
            Some("a check that is not required fails or is pending"),
        ),
        (
            MergeState::Unknown,
            Some("GitHub has not said yet whether it can be merged"),
        ),
        (MergeState::Dirty, Some("in conflict with its base")),
        (MergeState::Draft, Some("GitHub says DRAFT")),
        (
            MergeState::Blocked,
            Some("blocked by GitHub, cause not visible to this token"),
        ),
        (MergeState::Other("ODD".to_owned()), Some("GitHub says ODD")),
    ] {
        let expected: Vec<(GateId, &str)> = because
            .map(|because| (GateId::Mergeable, because))
            .into_iter()
            .collect();
        check(word.as_str(), with(word.clone()), &expected);
    }
}

#[test]
fn blocked_passes_where_a_missing_review_is_all_that_can_be_read() {
    let blocked = |decision: Option<ReviewDecision>| {
        ready("o/r#7").with(|it| {
            it.mergeability.merge_state = MergeState::Blocked;
            it.review_decision = decision;
        })
    };
    let required = || blocked(Some(ReviewDecision::ReviewRequired));
    let mergeable = |because| [(GateId::Mergeable, because)];
    check("a review is required", required(), &[]);
    check(
        "and a thread is unresolved",
        required().with(|it| it.unresolved_threads = Some(1)),
        &mergeable("a review is missing, and 1 review thread is unresolved"),
    );
    check(
        "and who knows how many threads are",
        required().with(|it| it.unresolved_threads = None),
        &[
            (
                GateId::Mergeable,
                "a review is missing, and it is not known how many review threads are unresolved",
            ),
            (
                GateId::Threads,
                "it is not known how many review threads are unresolved",
            ),
        ],
    );
    check(
        "and a check is pending, which is the cause",
        required().check("build", Standing::Running),
        &[(GateId::Checks, "waiting for: build")],
    );
    check(
        "a reviewer requests changes",
        blocked(Some(ReviewDecision::ChangesRequested)),
        &mergeable("a reviewer requests changes"),
    );
    for decision in [
        None,
        Some(ReviewDecision::Approved),
        Some(ReviewDecision::Other("X".to_owned())),
    ] {
        check(
            "nothing tells",
            blocked(decision),
            &mergeable("blocked by GitHub, cause not visible to this token"),
        );
    }
    check(
        "the checks tell",
        blocked(Some(ReviewDecision::Approved)).check("build", Standing::Failed),
        &[
            (GateId::Checks, "red: build"),
            (
                GateId::Mergeable,
                "blocked by GitHub, and not every required check passed",
            ),
        ],
    );
}

#[test]
fn a_pull_request_without_any_check_passes_where_none_is_required() {
    let bare = || {
        ready("o/r#7").with(|it| {
            it.checks.clear();
            it.required = Required::Known(Vec::new());
            it.ci = pulls::checks::Ci::Unknown;
        })
    };
    check("none required", bare(), &[]);
    let watched = Settings {
        watched_checks: BTreeSet::from(["e2e".to_owned()]),
        ..Settings::default()
    };
    assert_eq!(
        failed_with(bare(), &watched),
        [(GateId::Checks, "required and never reported: e2e".to_owned())]
    );
}

#[test]
fn a_watched_check_counts_as_a_required_one() {
    let watched = Settings {
        watched_checks: BTreeSet::from(["e2e".to_owned()]),
        ..Settings::default()
    };
    let with = |standing| {
        ready("o/r#7")
            .check("e2e", standing)
            .with(|it| it.required = Required::Known(Vec::new()))
            .done()
    };
    for (standing, state, reason) in [
        (
            Standing::Passed,
            State::ReadyForMaintainer,
            "reviewed; every required check passed; GitHub would merge it",
        ),
        (
            Standing::Skipped,
            State::ReadyForMaintainer,
            "reviewed; every required check passed; GitHub would merge it",
        ),
        (Standing::Failed, State::CiFailing, "red: e2e"),
        (
            Standing::Cancelled,
            State::CiFailing,
            "red: e2e (cancelled, needs a re-run)",
        ),
        (
            Standing::Stale,
            State::UnderReview,
            "waiting for: e2e (went stale, needs a re-run)",
        ),
        (
            Standing::Unknown,
            State::UnderReview,
            "waiting for: e2e (its result is not known to this program)",
        ),
    ] {
        let projected = project(&with(standing), &watched);
        assert_eq!(
            (projected.state, projected.reason.as_str()),
            (state, reason),
            "{standing:?}"
        );
        if standing == Standing::Failed {
            let unwatched = project(&with(standing), &Settings::default());
            assert_eq!(
                unwatched.state,
                State::ReadyForMaintainer,
                "a check that nobody asks for holds nothing"
            );
        }
    }
}

#[test]
fn of_two_runs_of_one_name_the_worse_counts() {
    let watched = Settings {
        watched_checks: BTreeSet::from(["build".to_owned()]),
        ..Settings::default()
    };
    let it = ready("o/r#7").with(|it| {
        let mut other = it.checks[0].clone();
        other.standing = Standing::Failed;
        other.shown = "Other / build".to_owned();
        it.checks.push(other);
        it.required = Required::Known(Vec::new());
    });
    assert_eq!(
        failed_with(it, &watched),
        [(GateId::Checks, "red: Other / build".to_owned())]
    );
}

#[test]
fn many_names_are_counted() {
    let it = ["a", "b", "c", "d", "e"].iter().fold(ready("o/r#7"), |it, name| {
        it.required(name, RequiredOutcome::Failed)
    });
    assert_eq!(
        failed(it),
        [(GateId::Checks, "red: a, b, c and 2 more".to_owned())]
    );
}

#[test]
fn what_was_known_of_this_head_stays_so_while_github_does_not_know() {
    let it = ready("o/r#7").with(|it| it.mergeability.is_stale = true).done();
    let settings = Settings::default();
    assert_eq!(project(&it, &settings).state, State::ReadyForMaintainer);
    let says: Vec<String> = gate(&it, &settings)
        .into_iter()
        .filter(|condition| condition.id == GateId::Mergeable)
        .map(|condition| condition.because)
        .collect();
    assert_eq!(says, ["GitHub would merge it, as last known"]);
    let in_conflict = evidence("o/r#7")
        .reviewed()
        .conflicting()
        .with(|it| it.mergeability.is_stale = true)
        .done();
    assert_eq!(
        project(&in_conflict, &settings).reason,
        "in conflict with main, as last known"
    );
    assert_eq!(in_conflict.mergeability.mergeable, Mergeable::Conflicting);
}
