//! The cases from the field that are decided here, each under its number. Those about the reading of checks, people and
//! heads are tested beside [`gather`](lifecycle::maintain::gather) and in `pulls`.

use chrono::TimeDelta;
use lifecycle::maintain::build::{EvidenceBuilder, evidence, ready};
use lifecycle::maintain::{
    Artifact, DeadlineKind, Evidence, GateId, REREAD, Required, RequiredOutcome, Settings, State, SubStatus,
    deadlines, gate, project,
};
use pulls::build::now;
use pulls::checks::{Ci, Standing};
use pulls::facts::{MergeState, Mergeable, ReviewDecision};

use super::{Visited, check, every_switch_on, hours};

/// What a first visit with every switch on wants, beside the mention of the owner.
fn wanted(it: EvidenceBuilder) -> Vec<Artifact> {
    let step = Visited::new(every_switch_on()).visit(&it.done());
    let all = step.wanted.into_iter().map(|one| one.artifact);
    all.filter(|artifact| *artifact != Artifact::OwnerMention)
        .collect()
}

fn unmet(it: &Evidence) -> Vec<(GateId, String)> {
    let all = gate(it, &Settings::default()).into_iter();
    all.filter(|condition| !condition.held)
        .map(|condition| (condition.id, condition.because))
        .collect()
}

#[test]
fn b008_a_skipped_required_check_passes() {
    let it = ready("o/r#7").check("build", Standing::Skipped);
    check(
        "skipped",
        it,
        State::ReadyForMaintainer,
        None,
        "reviewed; every required check passed; GitHub would merge it",
    );
}

#[test]
fn b009_a_required_check_skipped_beside_a_failure_blocks_the_gate() {
    let it = ready("o/r#7").required("Tests", RequiredOutcome::SkippedBesideFailure);
    assert_eq!(wanted(it.clone()), []);
    check(
        "no page, no note",
        it,
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        "skipped beside a failure of the same run: Tests",
    );
}

#[test]
fn b010_a_lone_cancelled_check_is_red_and_earns_no_note() {
    let it = ready("o/r#7").check("build", Standing::Cancelled);
    assert_eq!(wanted(it.clone()), []);
    check(
        "red",
        it,
        State::CiFailing,
        None,
        "red: build (cancelled, needs a re-run)",
    );
    let beside_a_failure = ready("o/r#7")
        .check("build", Standing::Cancelled)
        .check("test", Standing::Failed);
    assert_eq!(wanted(beside_a_failure.clone()), [Artifact::CiNote]);
    check(
        "a failure goes first",
        beside_a_failure,
        State::CiFailing,
        None,
        "red: test",
    );
}

#[test]
fn b011_a_stale_check_is_pending_and_says_that_it_needs_a_re_run() {
    check(
        "stale",
        ready("o/r#7").check("build", Standing::Stale),
        State::UnderReview,
        Some(SubStatus::CiPending),
        "waiting for: build (went stale, needs a re-run)",
    );
}

#[test]
fn b013_workflows_that_wait_for_an_approval_are_never_green_and_no_nudge() {
    let waits = |it: &mut Evidence| {
        let mut suite = it.checks[0].clone();
        suite.name = "CI".to_owned();
        suite.shown = "CI".to_owned();
        suite.standing = Standing::AwaitsApproval;
        it.checks.push(suite);
        it.ci = Ci::Pending;
    };
    check(
        "what is required passed already",
        ready("o/r#7").with(waits),
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        "waiting for a maintainer to approve its workflows",
    );
    let missing = ready("o/r#7")
        .required("e2e", RequiredOutcome::Missing)
        .with(waits);
    assert_eq!(wanted(missing.clone()), []);
    check(
        "what is required cannot report yet, however long it takes",
        missing,
        State::UnderReview,
        Some(SubStatus::CiPending),
        "waiting for a maintainer to approve its workflows, and for: e2e (not reported yet)",
    );
}

#[test]
fn b014_a_required_check_that_never_reported_is_named_after_an_hour() {
    let seen_for = |minutes| {
        ready("o/r#7")
            .required("e2e", RequiredOutcome::Missing)
            .with(|it| it.head.first_seen_at = it.now - TimeDelta::minutes(minutes))
    };
    let never = "required and never reported: e2e";
    let pending = Some(SubStatus::CiPending);
    check(
        "before",
        seen_for(59),
        State::UnderReview,
        pending,
        "waiting for: e2e (not reported yet)",
    );
    check(
        "after",
        seen_for(60),
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        never,
    );
    assert_eq!(wanted(seen_for(60)), [], "it is not the author's to mend");
    let it = seen_for(59).done();
    let at = deadlines(&it, it.now, &Settings::default());
    assert_eq!(
        (at[0].what, at[0].at),
        (DeadlineKind::NeverReported, now() + TimeDelta::minutes(1))
    );
    let leads_on = seen_for(600)
        .check("build", Standing::Running)
        .with(|it| it.checks[0].since = Some(it.now - hours(9)));
    check(
        "a job that waits for another reports when that is done",
        leads_on,
        State::UnderReview,
        pending,
        "waiting for: build, e2e (not reported yet)",
    );
    let stuck = seen_for(6_000)
        .check("build", Standing::Running)
        .with(|it| it.checks[0].since = Some(it.now - hours(25)));
    check(
        "one that is stuck leads nowhere",
        stuck,
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        never,
    );
}

#[test]
fn b016_no_checks_pass_only_where_the_required_set_is_known_to_be_empty() {
    let bare = |required| {
        ready("o/r#7").with(|it| {
            it.checks.clear();
            it.ci = Ci::Unknown;
            it.required = required;
        })
    };
    check(
        "known to be empty",
        bare(Required::Known(Vec::new())),
        State::ReadyForMaintainer,
        None,
        "reviewed; no check is required; GitHub would merge it",
    );
    let unknown = Required::Unknown {
        why: "nothing answered".to_owned(),
    };
    check(
        "unknown",
        bare(unknown),
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        "the required checks are not known: nothing answered",
    );
}

#[test]
fn b020_a_check_that_is_pending_for_more_than_a_day_is_shown_as_stuck() {
    let it = ready("o/r#7")
        .check("build", Standing::Running)
        .with(|it| it.checks[0].since = Some(it.now - hours(25)));
    check(
        "stuck",
        it,
        State::UnderReview,
        Some(SubStatus::CiPending),
        "waiting for: build (stuck for more than 24 h)",
    );
}

#[test]
fn b021_every_head_with_pending_evidence_has_a_re_read_deadline() {
    let reread = |it: EvidenceBuilder| {
        let it = it.done();
        let all = deadlines(&it, it.now, &Settings::default());
        all.into_iter()
            .find(|deadline| deadline.what == DeadlineKind::Reread)
            .map(|deadline| deadline.at)
    };
    let soon = Some(now() + REREAD);
    let pending = || evidence("o/r#7").check("build", Standing::Running);
    assert_eq!(reread(pending()), soon, "before its review too");
    assert_eq!(reread(pending().idle_days(20)), soon, "idle as it may be");
    assert_eq!(
        reread(ready("o/r#7").with(|it| it.ci = Ci::Pending)),
        soon,
        "a check that is not required"
    );
    assert_eq!(
        reread(ready("o/r#7").with(|it| it.mergeability.is_stale = true)),
        soon
    );
    assert_eq!(
        reread(ready("o/r#7").required("e2e", RequiredOutcome::Unknown)),
        soon
    );
    assert_eq!(reread(ready("o/r#7")), None, "what is final is not");
    assert_eq!(reread(pending().with(|it| it.is_draft = true)), None);
}

#[test]
fn b024_b025_a_check_of_another_app_does_not_count() {
    let it = |minutes| {
        ready("o/r#7")
            .required("Vercel", RequiredOutcome::OtherApp)
            .with(|it| it.head.first_seen_at = it.now - TimeDelta::minutes(minutes))
    };
    let words = "Vercel (reported by another app)";
    check(
        "its own may still come",
        it(5),
        State::UnderReview,
        Some(SubStatus::CiPending),
        &format!("waiting for: {words}"),
    );
    check(
        "it never came",
        it(61),
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        &format!("required and never reported: {words}"),
    );
}

#[test]
fn b027_the_note_says_that_the_base_is_red_too() {
    let it = ready("o/r#7")
        .check("build", Standing::Failed)
        .check("lint", Standing::Failed)
        .with(|it| it.base_red = vec!["docs".to_owned(), "build".to_owned()]);
    let step = Visited::new(every_switch_on()).visit(&it.clone().done());
    let note = step
        .wanted
        .iter()
        .find(|one| one.artifact == Artifact::CiNote)
        .expect("a note");
    assert_eq!(note.why, "red: build, lint; red on the base too: build");
    check(
        "nothing else changes",
        it,
        State::CiFailing,
        None,
        "red: build, lint; red on the base too: build",
    );
    let by_its_workflow = ready("o/r#7").check("build", Standing::Failed).with(|it| {
        it.checks[0].shown = "CI / build (push)".to_owned();
        it.base_red = vec!["CI / build (push)".to_owned()];
    });
    check(
        "by the name that tells it from others",
        by_its_workflow,
        State::CiFailing,
        None,
        "red: CI / build (push); red on the base too: CI / build (push)",
    );
}

#[test]
fn b030_a_conflict_is_noted_only_where_it_is_known_for_this_head_and_base() {
    let conflict = || ready("o/r#7").conflicting();
    assert_eq!(wanted(conflict()), [Artifact::ConflictNote]);
    let another = "c".repeat(40).parse().expect("forty digits");
    for (case, it) in [
        (
            "an earlier answer",
            conflict().with(|it| it.mergeability.is_stale = true),
        ),
        (
            "another head",
            conflict().with(|it| it.mergeability.seen_on = Some(another)),
        ),
        (
            "another base",
            conflict().with(|it| {
                it.mergeability.seen_against = Some("d".repeat(40).parse().expect("forty digits"))
            }),
        ),
        (
            "not known",
            conflict().with(|it| it.mergeability.mergeable = Mergeable::Unknown),
        ),
    ] {
        assert_eq!(wanted(it.clone()), [], "{case}");
        let projected = project(&it.done(), &Settings::default());
        assert_eq!(
            projected.state,
            State::ChangesRequested,
            "{case}: the state keeps to what was known"
        );
    }
}

#[test]
fn b031_unknown_on_every_pull_request_changes_no_state_and_is_read_again() {
    for it in [
        ready("o/r#7"),
        ready("o/r#7").conflicting(),
        evidence("o/r#7"),
        ready("o/r#7").idle_days(9),
    ] {
        let known = it.clone().done();
        let unknown = it.with(|it| it.mergeability.is_stale = true).done();
        let settings = Settings::default();
        assert_eq!(
            project(&known, &settings).state,
            project(&unknown, &settings).state
        );
        let due = deadlines(&unknown, now(), &settings);
        assert_eq!(due[0].what, DeadlineKind::Reread);
    }
}

#[test]
fn b036_a_block_without_a_visible_cause_is_said_so() {
    let it = ready("o/r#7").with(|it| {
        it.mergeability.merge_state = MergeState::Blocked;
        it.review_decision = Some(ReviewDecision::Approved);
    });
    check(
        "reviews and checks are satisfied",
        it,
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        "blocked by GitHub, cause not visible to this token",
    );
}

#[test]
fn b037_blocked_by_a_missing_review_alone_is_ready() {
    let it = ready("o/r#7").with(|it| {
        it.mergeability.merge_state = MergeState::Blocked;
        it.review_decision = Some(ReviewDecision::ReviewRequired);
    });
    assert_eq!(wanted(it.clone()), [Artifact::ReadyPage]);
    check(
        "ready",
        it,
        State::ReadyForMaintainer,
        None,
        "reviewed; every required check passed; only a review is missing",
    );
}

#[test]
fn b040_in_a_merge_queue_nobody_is_paged() {
    let queued = || ready("o/r#7").with(|it| it.merge_queue_position = Some(2));
    assert_eq!(wanted(queued()), []);
    check(
        "in the queue",
        queued(),
        State::ReadyForMaintainer,
        Some(SubStatus::InMergeQueue),
        "ready, and at place 2 of the merge queue",
    );
    let mut visited = Visited::new(every_switch_on());
    visited.visit(&queued().done());
    let out = visited.visit(&ready("o/r#7").done());
    assert_eq!(out.rows, []);
    assert_eq!(
        out.wanted[0].key, "o/r#7/1/1/ready",
        "it left the queue unmerged: the page is still due"
    );
}

#[test]
fn b047_the_verdict_over_all_reviews_decides() {
    let it = |decision| {
        ready("o/r#7").with(|it| {
            it.mergeability.merge_state = MergeState::Blocked;
            it.review_decision = Some(decision);
        })
    };
    // Somebody without write access requests changes: GitHub's own verdict still only lacks a review.
    assert_eq!(unmet(&it(ReviewDecision::ReviewRequired).done()), []);
    assert_eq!(
        unmet(&it(ReviewDecision::ChangesRequested).done()),
        [(GateId::Mergeable, "a reviewer requests changes".to_owned())]
    );
}

#[test]
fn b061_an_unknown_count_of_unresolved_threads_blocks_ready() {
    check(
        "unknown",
        ready("o/r#7").with(|it| it.unresolved_threads = None),
        State::UnderReview,
        Some(SubStatus::GateBlocked),
        "it is not known how many review threads are unresolved",
    );
}

#[test]
fn b080_of_a_read_only_repository_pull_requests_are_shown_and_nothing_is_said() {
    let it = ready("o/r#7").with(|it| it.is_archived = true);
    let step = Visited::new(every_switch_on()).visit(&it.done());
    assert_eq!(step.wanted, []);
    assert_eq!(step.row.expect("it is shown").state, State::ReadyForMaintainer);
    let pending = ready("o/r#7")
        .check("build", Standing::Running)
        .with(|it| it.is_archived = true)
        .done();
    let due = deadlines(&pending, now(), &Settings::default());
    assert!(
        due.iter().all(|deadline| deadline.what != DeadlineKind::Reread),
        "nothing there will change"
    );
}

#[test]
fn b095_evidence_read_in_part_moves_no_state() {
    let mut visited = Visited::new(Settings::default());
    visited.visit(&ready("o/r#7").done());
    let cut = ready("o/r#7")
        .idle_days(20)
        .with(|it| it.partial.push("not all commits were read".to_owned()));
    for _ in 0..5 {
        visited.visit(&cut.clone().done());
        visited.visit(&ready("o/r#7").done());
    }
    assert_eq!(visited.log.len(), 1);
}

#[test]
fn b108_names_are_folded_for_case_in_every_key() {
    let keys = |name: &str| {
        let step = Visited::new(every_switch_on()).visit(&ready(name).conflicting().idle_days(9).done());
        step.wanted.into_iter().map(|one| one.key).collect::<Vec<_>>()
    };
    assert_eq!(keys("Owner/Repo#7"), keys("owner/repo#7"));
}
