use super::*;
use crate::build::{self, at, hours_ago, now, run, status};
use crate::facts::{Check, Suite};

fn judged(contexts: Vec<Check>) -> ChecksVerdict {
    let checks = Checks {
        contexts: Some(contexts),
        suites: Vec::new(),
    };
    verdict(&checks, hours_ago(48), now())
}

fn ci(contexts: Vec<Check>) -> Ci {
    judged(contexts).ci
}

fn with_suites(contexts: Option<Vec<Check>>, suites: Vec<Suite>) -> ChecksVerdict {
    verdict(&Checks { contexts, suites }, hours_ago(48), now())
}

/// Both orders must give one answer.
fn either_order(a: impl Into<Check>, b: impl Into<Check>) -> ChecksVerdict {
    let (a, b) = (a.into(), b.into());
    let one = judged(vec![a.clone(), b.clone()]);
    assert_eq!(one, judged(vec![b, a]));
    one
}

#[test]
fn b001_newest_run_of_one_identity_counts() {
    for word in ["CANCELLED", "FAILURE"] {
        let old = run("build")
            .concluded(word)
            .started(at("2026-05-13T08:54:00Z"))
            .id(1);
        let new = run("build").started(at("2026-05-13T09:02:00Z")).id(2);
        let verdict = either_order(old, new);
        assert_eq!(verdict.ci, Ci::Green);
        assert_eq!((verdict.checks.len(), verdict.superseded), (1, 1));
    }
    // Also when the newer one is worse.
    let old = run("build").started(at("2026-05-13T08:54:00Z"));
    let new = run("build").failed().started(at("2026-05-13T09:02:00Z"));
    assert_eq!(either_order(old, new).ci, Ci::Failing);
}

#[test]
fn b002_the_verdict_comes_from_the_contexts_alone() {
    // Nothing in the facts holds the rollup's own state.
    assert_eq!(
        ci(vec![run("a").into(), status("b", "SUCCESS").into()]),
        Ci::Green
    );
}

#[test]
fn b003_newest_by_start_then_by_id_and_not_started_is_newest() {
    let same = at("2026-05-13T08:54:00Z");
    let verdict = either_order(
        run("a").failed().started(same).id(1),
        run("a").started(same).id(2),
    );
    assert_eq!(verdict.ci, Ci::Green, "the larger id is newer");
    let verdict = either_order(run("a").started(same).id(9), run("a").queued().id(2));
    assert_eq!(
        verdict.ci,
        Ci::Pending,
        "one that has not started is newer than one that has"
    );
    let verdict = either_order(run("a").queued().id(9), run("a").running().started(same).id(10));
    assert_eq!(verdict.pending().next().unwrap().word, "QUEUED");
    // A run that ended without a start is no run that has not started.
    let skipped = run("a").concluded("SKIPPED").with(|run| {
        run.started_at = None;
        run.completed_at = Some(at("2026-05-13T08:00:00Z"));
    });
    assert_eq!(
        either_order(skipped, run("a").failed().started(same)).ci,
        Ci::Failing
    );
    // Equals differ in nothing but their result: the worse counts, in any order.
    assert_eq!(either_order(run("a"), run("a").failed()).ci, Ci::Failing);
}

#[test]
fn b004_identity_is_app_workflow_event_and_name() {
    let other_workflow = run("build").failed().workflow("Other").started(hours_ago(90));
    let verdict = either_order(run("build"), other_workflow);
    assert_eq!(verdict.ci, Ci::Failing);
    assert_eq!(
        verdict.failing().next().unwrap().name,
        "Other / build (pull_request)"
    );
    let other_event = run("build")
        .failed()
        .with(|run| run.event = Some("push".into()))
        .started(hours_ago(90));
    assert_eq!(either_order(run("build"), other_event).ci, Ci::Failing);
    let other_app = run("build").failed().app(7).started(hours_ago(90));
    assert_eq!(either_order(run("build"), other_app).ci, Ci::Failing);
    // An empty name is none: gh writes `workflowName:""` for a run that no workflow made.
    let none = run("build")
        .failed()
        .with(|run| run.workflow = None)
        .started(hours_ago(90));
    assert_eq!(either_order(run("build").workflow(""), none).ci, Ci::Green);
    // One context has one newest status, whoever made it.
    let old = CommitStatusAt(status("ci", "FAILURE"), 40).into();
    assert_eq!(ci(vec![status("ci", "SUCCESS").into(), old]), Ci::Green);
}

struct CommitStatusAt(crate::facts::CommitStatus, i64);

impl From<CommitStatusAt> for Check {
    fn from(CommitStatusAt(mut status, hours): CommitStatusAt) -> Self {
        status.created_at = hours_ago(hours);
        status.into()
    }
}

#[test]
fn b005_kinds_and_apps_are_never_merged() {
    assert_eq!(
        either_order(run("x").failed(), status("x", "SUCCESS")).ci,
        Ci::Failing
    );
    assert_eq!(either_order(run("x"), status("x", "FAILURE")).ci, Ci::Failing);
    let mut one = status("x", "FAILURE");
    one.created_at = hours_ago(80);
    one.creator = Some(build::account("one[bot]"));
    let mut two = status("x", "SUCCESS");
    two.creator = Some(build::account("two[bot]"));
    assert_eq!(either_order(one, two).ci, Ci::Failing);
}

#[test]
fn b008_skipped_and_neutral_pass_and_are_shown_apart() {
    let verdict = judged(vec![
        run("a").into(),
        run("b").concluded("SKIPPED").into(),
        run("c").concluded("NEUTRAL").into(),
    ]);
    assert_eq!(verdict.ci, Ci::Green);
    assert_eq!(verdict.why, "1 of 3 checks passed, 2 skipped");
}

#[test]
fn b010_a_lone_cancelled_check_fails_and_needs_a_re_run() {
    let verdict = judged(vec![
        run("build").concluded("CANCELLED").into(),
        run("test").into(),
    ]);
    assert_eq!(verdict.ci, Ci::Failing);
    assert_eq!(verdict.why, "CI failure: build (cancelled, needs a re-run)");
    let newer = run("build").started(hours_ago(1));
    assert_eq!(
        either_order(run("build").concluded("CANCELLED"), newer).ci,
        Ci::Green
    );
}

#[test]
fn b011_a_stale_check_is_pending_and_needs_a_re_run() {
    let verdict = judged(vec![run("build").concluded("STALE").into(), run("test").into()]);
    assert_eq!(verdict.ci, Ci::Pending);
    assert_eq!(verdict.why, "CI pending: build (went stale, needs a re-run)");
}

#[test]
fn b013_a_suite_that_awaits_approval_is_pending() {
    for contexts in [
        None,
        Some(Vec::new()),
        Some(vec![run("docs").workflow("Docs").into()]),
    ] {
        let verdict = with_suites(contexts, vec![build::suite_awaiting_approval()]);
        assert_eq!(verdict.ci, Ci::Pending);
        assert_eq!(
            verdict.why,
            "waiting for a maintainer to approve its workflows: CI"
        );
        assert!(!verdict.counts_as_green());
    }
    // Once it is approved, its runs count and the suite says nothing.
    let approved = Suite {
        runs: 1,
        ..build::suite_awaiting_approval()
    };
    assert_eq!(
        with_suites(Some(vec![run("build").into()]), vec![approved]).ci,
        Ci::Green
    );
    // So does a newer suite of the same workflow.
    let newer = Suite {
        id: 3,
        runs: 1,
        conclusion: None,
        created_at: hours_ago(1),
        ..build::suite_awaiting_approval()
    };
    let verdict = with_suites(
        Some(vec![run("build").into()]),
        vec![newer, build::suite_awaiting_approval()],
    );
    assert_eq!(verdict.ci, Ci::Green);
}

#[test]
fn action_required_is_pending_and_says_what_is_asked() {
    let verdict = judged(vec![run("build").concluded("ACTION_REQUIRED").into()]);
    assert_eq!(
        verdict.why,
        "waiting for a maintainer to approve its workflows: build"
    );
    let app = run("cla")
        .concluded("ACTION_REQUIRED")
        .with(|run| run.workflow = None);
    let verdict = judged(vec![app.into()]);
    assert_eq!(
        (verdict.ci, verdict.why.as_str()),
        (Ci::Pending, "CI pending: cla (asks for an action)")
    );
}

#[test]
fn b015_b016_suites_that_never_ran_and_empty_rollups_are_no_checks() {
    let verdict = with_suites(Some(Vec::new()), vec![build::suite_that_never_ran()]);
    assert_eq!(verdict.ci, Ci::Unknown);
    assert!(verdict.counts_as_green());
    let verdict = with_suites(Some(vec![run("a").into()]), vec![build::suite_that_never_ran()]);
    assert_eq!(verdict.ci, Ci::Green);
}

#[test]
fn no_rollup_on_a_new_pull_request_is_pending() {
    let none = Checks {
        contexts: None,
        suites: Vec::new(),
    };
    let opened = |minutes| now() - TimeDelta::minutes(minutes);
    assert_eq!(verdict(&none, opened(59), now()).ci, Ci::Pending);
    assert!(!verdict(&none, opened(59), now()).counts_as_green());
    assert_eq!(verdict(&none, opened(60), now()).ci, Ci::Unknown);
    assert!(verdict(&none, opened(60), now()).counts_as_green());
    let empty = Checks {
        contexts: Some(Vec::new()),
        suites: Vec::new(),
    };
    assert_eq!(
        verdict(&empty, opened(1), now()).ci,
        Ci::Unknown,
        "a rollup without checks is a rollup"
    );
}

#[test]
fn b020_pending_for_a_day_is_stuck_and_stays_pending() {
    let verdict = judged(vec![run("a").running().started(hours_ago(25)).into()]);
    assert_eq!(verdict.ci, Ci::Pending);
    assert_eq!(verdict.why, "CI pending: a (stuck for more than 24 h)");
    assert_eq!(verdict.stuck().count(), 1);
    assert_eq!(
        judged(vec![run("a").running().started(hours_ago(24)).into()])
            .stuck()
            .count(),
        0
    );
    assert_eq!(judged(vec![status("a", "PENDING").into()]).stuck().count(), 1);
    // A queued run has no time of its own; its suite has one.
    let suite = Suite {
        runs: 1,
        conclusion: None,
        created_at: hours_ago(30),
        ..build::suite_awaiting_approval()
    };
    let verdict = with_suites(Some(vec![run("a").queued().into()]), vec![suite]);
    assert_eq!((verdict.ci, verdict.stuck().count()), (Ci::Pending, 1));
    assert_eq!(judged(vec![run("a").queued().into()]).stuck().count(), 0);
}

#[test]
fn b029_unknown_words_are_unknown_and_not_green() {
    let verdict = judged(vec![run("a").into(), run("b").concluded("SOMETHING_NEW").into()]);
    assert_eq!(verdict.ci, Ci::Unknown);
    assert!(!verdict.counts_as_green());
    assert_eq!(
        verdict.why,
        "b says SOMETHING_NEW, which this program does not know"
    );
    let status_word = judged(vec![status("a", "ODD").into()]);
    assert_eq!(
        (status_word.ci, status_word.counts_as_green()),
        (Ci::Unknown, false)
    );
    let waiting = run("a").running().with(|run| run.status = "PARKED".into());
    assert_eq!(ci(vec![waiting.into()]), Ci::Unknown);
    assert_eq!(
        ci(vec![Check::Unknown {
            typename: "Deployment".into()
        }]),
        Ci::Unknown
    );
    // A failure is certain whatever else is not.
    assert_eq!(
        ci(vec![run("a").failed().into(), run("b").concluded("NEW").into()]),
        Ci::Failing
    );
    // Startup failures arrive in lower case from REST.
    assert_eq!(
        ci(vec![run("a").concluded("startup_failure").into()]),
        Ci::Failing
    );
}

#[test]
fn every_word_has_its_standing() {
    for (word, expected) in [
        ("SUCCESS", Ci::Green),
        ("NEUTRAL", Ci::Green),
        ("SKIPPED", Ci::Green),
        ("FAILURE", Ci::Failing),
        ("TIMED_OUT", Ci::Failing),
        ("STARTUP_FAILURE", Ci::Failing),
        ("CANCELLED", Ci::Failing),
        ("STALE", Ci::Pending),
        ("ACTION_REQUIRED", Ci::Pending),
    ] {
        assert_eq!(ci(vec![run("a").concluded(word).into()]), expected, "{word}");
    }
    for word in [
        "QUEUED",
        "IN_PROGRESS",
        "WAITING",
        "PENDING",
        "REQUESTED",
        "COMPLETED",
    ] {
        let run = run("a").running().with(|run| run.status = word.into());
        assert_eq!(ci(vec![run.into()]), Ci::Pending, "{word}");
    }
    for (word, expected) in [
        ("SUCCESS", Ci::Green),
        ("FAILURE", Ci::Failing),
        ("ERROR", Ci::Failing),
        ("PENDING", Ci::Pending),
        ("EXPECTED", Ci::Pending),
    ] {
        assert_eq!(ci(vec![status("a", word).into()]), expected, "{word}");
    }
}

#[test]
fn a_run_with_a_conclusion_is_finished_whatever_its_status_says() {
    let run_ = run("a").failed().with(|run| run.status = "QUEUED".into());
    assert_eq!(ci(vec![run_.into()]), Ci::Failing);
    // gh writes an empty conclusion for a run that has none.
    let run_ = run("a").running().with(|run| run.conclusion = Some("".into()));
    assert_eq!(ci(vec![run_.into()]), Ci::Pending);
}

#[test]
fn a_sentence_names_three_and_counts_the_rest() {
    let contexts = ["e", "d", "c", "b", "a"]
        .map(|name| run(name).failed().into())
        .to_vec();
    assert_eq!(judged(contexts).why, "CI failure: a, b, c and 2 more");
    let odd = run("a\u{1b}[31m\nb").failed();
    assert_eq!(judged(vec![odd.into()]).why, "CI failure: a\\u{1b}[31m b");
}

#[test]
fn a_line_keeps_what_a_branch_requires_a_check_by() {
    let mut vercel = status("Vercel", "SUCCESS");
    vercel.app = Some(8329);
    let verdict = judged(vec![
        run("build").into(),
        run("build")
            .id(2)
            .workflow("Nightly")
            .with(|run| run.suite = Some(2))
            .into(),
        vercel.into(),
    ]);
    let kept: Vec<_> = verdict
        .checks
        .iter()
        .map(|line| (line.name.as_str(), line.context.as_str(), line.app, line.suite))
        .collect();
    assert_eq!(
        kept,
        [
            ("CI / build (pull_request)", "build", Some(15_368), Some(1)),
            ("Nightly / build (pull_request)", "build", Some(15_368), Some(2)),
            ("Vercel", "Vercel", Some(8329), None),
        ]
    );
}
