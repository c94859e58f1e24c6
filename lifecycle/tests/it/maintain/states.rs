//! One fixture for each state and for each thing that is said beside one.

use lifecycle::maintain::build::{evidence, ready};
use lifecycle::maintain::{
    AutoReview, HeadReview, Mergeability, RequiredOutcome, Rule, Settings, State, SubStatus, project,
};
use pulls::build::at;
use pulls::checks::Standing;
use pulls::facts::{MergeState, Mergeable, PullState};

use super::{check, check_with};

#[test]
fn each_state() {
    let ended = at("2026-05-13T10:00:00Z");
    let none = None;
    check(
        "new",
        evidence("o/r#7").unrouted(),
        State::New,
        none,
        "seen; its owner is looked for in the next cycle",
    );
    check(
        "nobody owns it",
        evidence("o/r#7").ownerless(),
        State::NeedsOwner,
        Some(SubStatus::Unrouted),
        "no owner: no rule matches its files",
    );
    check(
        "somebody owns it",
        evidence("o/r#7"),
        State::OwnerRouted,
        none,
        "olive: CODEOWNERS line 3",
    );
    check(
        "pushed since its review",
        evidence("o/r#7").with(|evidence| evidence.reviews.attempts = 1),
        State::UnderReview,
        none,
        "its head was not reviewed",
    );
    check(
        "a finding of weight",
        ready("o/r#7").findings(1, 0),
        State::ChangesRequested,
        none,
        "1 blocker or major finding is open",
    );
    check(
        "conflict",
        ready("o/r#7").conflicting(),
        State::ChangesRequested,
        Some(SubStatus::Conflict),
        "in conflict with main",
    );
    check(
        "red",
        ready("o/r#7").check("build", Standing::Failed),
        State::CiFailing,
        none,
        "red: build",
    );
    check(
        "ready",
        ready("o/r#7"),
        State::ReadyForMaintainer,
        none,
        "reviewed; every required check passed; GitHub would merge it",
    );
    check(
        "7 days",
        ready("o/r#7").idle_days(7),
        State::Stale,
        none,
        "no person did anything since 2026-05-07",
    );
    check(
        "14 days",
        ready("o/r#7").idle_days(14),
        State::Parked,
        none,
        "no person did anything since 2026-04-30",
    );
    check(
        "draft",
        ready("o/r#7").with(|it| it.is_draft = true),
        State::Draft,
        none,
        "it is a draft",
    );
    check(
        "merged",
        ready("o/r#7").ended(PullState::Merged, ended),
        State::Closed,
        none,
        "merged on 2026-05-13 by grace",
    );
    check(
        "closed",
        ready("o/r#7").ended(PullState::Closed, ended),
        State::Closed,
        none,
        "closed on 2026-05-13 by grace",
    );
    let by_nobody = ready("o/r#7").with(|it| it.state = PullState::Closed);
    check(
        "closed, nobody knows how",
        by_nobody,
        State::Closed,
        none,
        "closed",
    );
}

#[test]
fn what_is_said_beside_a_head_that_is_not_reviewed() {
    let of_head = |of_head: HeadReview| {
        evidence("o/r#7").with(|it| {
            it.reviews.attempts = 1;
            it.reviews.of_head = of_head;
        })
    };
    let on = Settings {
        auto_review: AutoReview {
            is_on: true,
            ..AutoReview::default()
        },
        ..Settings::default()
    };
    let off = Settings::default();
    let reviewing = State::UnderReview;
    for (case, it, settings, sub, reason) in [
        (
            "queued",
            of_head(HeadReview::Queued),
            &off,
            Some(SubStatus::Queued),
            "the review of its head is queued",
        ),
        (
            "running",
            of_head(HeadReview::Running),
            &off,
            Some(SubStatus::Running),
            "the review of its head is running",
        ),
        (
            "failed",
            of_head(HeadReview::Failed),
            &off,
            None,
            "the review of its head failed",
        ),
        (
            "the sweep is on",
            of_head(HeadReview::None),
            &on,
            Some(SubStatus::AwaitingSweep),
            "its head was not reviewed",
        ),
        (
            "it was there before the sweep",
            of_head(HeadReview::None).with(|it| it.is_legacy = true),
            &on,
            Some(SubStatus::Legacy),
            "its head was not reviewed",
        ),
    ] {
        check_with(case, it, settings, reviewing, sub, reason);
    }
    check_with(
        "claimed by the sweep",
        evidence("o/r#7").with(|it| it.reviews.is_claimed = true),
        &on,
        reviewing,
        Some(SubStatus::AwaitingSweep),
        "its head was not reviewed",
    );
    check_with(
        "an owner, and the sweep is on",
        evidence("o/r#7"),
        &on,
        State::OwnerRouted,
        Some(SubStatus::AwaitingSweep),
        "olive: CODEOWNERS line 3",
    );
    check_with(
        "no owner: nobody to page goes before the rest",
        evidence("o/r#7").ownerless().with(|it| it.is_legacy = true),
        &on,
        State::NeedsOwner,
        Some(SubStatus::Unrouted),
        "no owner: no rule matches its files",
    );
}

#[test]
fn a_reviewed_head_whose_checks_are_not_complete_is_under_review() {
    let pending = Some(SubStatus::CiPending);
    let review = State::UnderReview;
    for (case, standing, reason) in [
        ("running", Standing::Running, "waiting for: build"),
        (
            "stale",
            Standing::Stale,
            "waiting for: build (went stale, needs a re-run)",
        ),
        (
            "an app asks",
            Standing::NeedsAction,
            "waiting for: build (asks for something on its page)",
        ),
        (
            "a new word",
            Standing::Unknown,
            "waiting for: build (its result is not known to this program)",
        ),
    ] {
        let it = ready("o/r#7").check("build", standing).with(|it| {
            it.checks[0].since = Some(it.now - super::hours(3));
        });
        check(case, it, review, pending, reason);
    }
    check(
        "nothing reported yet",
        ready("o/r#7")
            .required("e2e", RequiredOutcome::Missing)
            .with(|it| it.head.first_seen_at = it.now),
        review,
        pending,
        "waiting for: e2e (not reported yet)",
    );
}

#[test]
fn a_reviewed_green_head_whose_gate_fails_names_the_condition() {
    let blocked = Some(SubStatus::GateBlocked);
    let merge_state = |word: MergeState| ready("o/r#7").with(|it| it.mergeability.merge_state = word);
    for (case, it, reason) in [
        (
            "the required set is unknown",
            ready("o/r#7").with(|it| {
                it.required = lifecycle::maintain::Required::Unknown {
                    why: "403".to_owned(),
                };
            }),
            "the required checks are not known: 403",
        ),
        (
            "behind",
            merge_state(MergeState::Behind),
            "its base must be merged into it first",
        ),
        (
            "unstable",
            merge_state(MergeState::Unstable),
            "a check that is not required fails or is pending",
        ),
        (
            "a new word",
            merge_state(MergeState::Other("ODD\u{1b}[2J".to_owned())),
            "GitHub says ODD\\u{1b}[2J",
        ),
        (
            "never known",
            ready("o/r#7").with(|it| {
                it.mergeability = Mergeability {
                    mergeable: Mergeable::Unknown,
                    merge_state: MergeState::Unknown,
                    seen_on: None,
                    seen_against: None,
                    is_stale: false,
                };
            }),
            "GitHub has not said yet whether it can be merged",
        ),
        (
            "known for another head",
            ready("o/r#7").with(|it| {
                it.mergeability.seen_on = Some("c".repeat(40).parse().expect("forty digits"));
                it.mergeability.is_stale = true;
            }),
            "GitHub has not said yet whether it can be merged",
        ),
    ] {
        check(case, it, State::UnderReview, blocked, reason);
    }
}

#[test]
fn a_state_that_github_does_not_know_today_is_counted_and_nothing_follows() {
    check(
        "a new word",
        ready("o/r#7").with(|it| it.state = PullState::Other("LIMBO".to_owned())),
        State::UnderReview,
        Some(SubStatus::Unclassified),
        "no rule knows this evidence; GitHub says LIMBO",
    );
}

#[test]
fn the_words_of_the_ledger_are_read_back() {
    for state in State::ALL {
        assert_eq!(state.as_str().parse(), Ok(state));
        let json = serde_json::to_value(state).expect("a word");
        assert_eq!(json, state.as_str());
    }
    for sub in SubStatus::ALL {
        assert_eq!(sub.as_str().parse(), Ok(sub));
        assert_eq!(serde_json::to_value(sub).expect("a word"), sub.as_str());
    }
    assert_eq!(
        "merged".parse::<State>().expect_err("no state").to_string(),
        "\"merged\" is no state"
    );
}

#[test]
fn the_rules_stand_in_the_order_of_the_board() {
    let mut states: Vec<State> = Rule::ALL.into_iter().map(Rule::state).collect();
    states.truncate(State::ALL.len());
    assert_eq!(states, State::ALL);
}

#[test]
fn hostile_words_do_nothing_in_a_reason() {
    let it = ready("o/r#7")
        .required("a\u{1b}[31m\nb\u{202e}", RequiredOutcome::Failed)
        .with(|it| it.checks.clear());
    let reason = project(&it.done(), &Settings::default()).reason;
    assert_eq!(reason, "red: a\\u{1b}[31m b\\u{202e}");
    let long = ready("o/r#7")
        .required(&"x".repeat(5_000), RequiredOutcome::Failed)
        .done();
    assert!(project(&long, &Settings::default()).reason.len() < 200);
}
