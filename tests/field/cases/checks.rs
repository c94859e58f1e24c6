//! What the checks say together.

use serde_json::{Value, json};
use world::{CheckSpec, CommitSpec, Fault, SuiteSpec, minutes_ago};

use crate::support::{
    AT, NOW, approved, at, judge, judged, pr, quiet, read, read_one, reader, ready, serve_one, skipped,
};

const EARLY: &str = "2026-05-14T08:54:00Z";
const LATE: &str = "2026-05-14T09:02:00Z";

pub async fn b001_the_newest_run_of_a_check_counts() {
    for word in ["CANCELLED", "FAILURE"] {
        let old = || CheckSpec::run("build").conclusion(word).started(EARLY).suite(1);
        let new = || CheckSpec::run("build").success().started(LATE).suite(2);
        for checks in [[old(), new()], [new(), old()]] {
            let it = judged(approved().checks(checks)).await;
            it.ships();
            // The run that was replaced stays in the evidence.
            let contexts = it.facts.checks.contexts.as_ref().map(Vec::len);
            assert_eq!((contexts, it.superseded_runs(NOW)), (Some(2), 1), "{word}");
        }
    }
    // Also when the newer run is the worse one.
    let good = CheckSpec::run("build").started(EARLY);
    let bad = CheckSpec::run("build").failure().started(LATE).suite(2);
    let it = judged(approved().check(bad).check(good)).await;
    it.is("qa", "qa.ci", "CI failure: build");
}

pub async fn b002_the_rollups_own_state_decides_nothing() {
    let old = CheckSpec::run("build").failure().started(EARLY);
    let new = CheckSpec::run("build").started(LATE).suite(2);
    let served = serve_one(approved().check(old).check(new)).await;
    let state = served.look(|world| {
        world.ask(
            "{ repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) {
                commits(last: 1) { nodes { commit { statusCheckRollup { state } } } } } } }",
        )
    });
    let path = "/data/repository/pullRequest/commits/nodes/0/commit/statusCheckRollup/state";
    assert_eq!(state.pointer(path), Some(&json!("FAILURE")));
    judge(read_one(&served, AT).await, at(NOW)).ships();

    // Nor does a state that is better than its contexts.
    let says_success = approved()
        .check(CheckSpec::run("build").failure())
        .raw_head(|head| {
            let rollup = head.get_mut("statusCheckRollup").and_then(Value::as_object_mut);
            rollup.unwrap().insert("state".into(), "SUCCESS".into());
        });
    judged(says_success).await.is("qa", "qa.ci", "CI failure: build");
}

pub async fn b003_newest_by_start_then_id_and_not_started_is_newest() {
    let run = |name: &str, id| CheckSpec::run(name).id(id).started(EARLY);
    // Two names, the newer run once first and once last.
    let both_orders = [
        run("a", 1).failure(),
        run("a", 2).started(LATE),
        run("b", 4).started(LATE),
        run("b", 3).failure(),
    ];
    judged(approved().checks(both_orders)).await.ships();
    // Of two that began at once the larger id is newer, in either order.
    judged(approved().checks([run("a", 1).failure(), run("a", 2)]))
        .await
        .ships();
    judged(approved().checks([run("a", 2), run("a", 1).failure()]))
        .await
        .ships();
    // One that has not begun is newer than one that has, whatever its id.
    let queued = || CheckSpec::run("a").id(1).queued();
    for checks in [[queued(), run("a", 2)], [run("a", 2), queued()]] {
        judged(approved().checks(checks))
            .await
            .waits("CI pending: a (stuck for more than 24 h)");
    }
}

pub async fn b004_one_name_in_two_workflows_is_two_checks() {
    let fails = || CheckSpec::run("build").failure().started(EARLY);
    let passes = || CheckSpec::run("build").started(LATE);
    let in_a = [fails().workflow("A"), passes().workflow("B")];
    let it = judged(approved().checks(in_a)).await;
    it.is("qa", "qa.ci", "CI failure: A / build (pull_request)");
    assert_eq!(it.superseded_runs(NOW), 0);
    let by_event = [fails().event("push"), passes()];
    let it = judged(approved().checks(by_event)).await;
    it.is("qa", "qa.ci", "CI failure: CI / build (push)");
    // A status is its context: one context has one newest status.
    let statuses = [
        CheckSpec::status("ci/x").failure().started(EARLY).by("mia"),
        CheckSpec::status("ci/x").started(LATE).by("mia"),
    ];
    judged(approved().checks(statuses)).await.ships();
}

pub async fn b005_kinds_and_apps_are_never_merged() {
    let run_fails = [
        CheckSpec::run("X").failure().started(EARLY),
        CheckSpec::status("X").started(LATE),
    ];
    let it = judged(approved().checks(run_fails)).await;
    it.is("qa", "qa.ci", "CI failure: CI / X (pull_request)");
    let status_fails = [
        CheckSpec::status("X").failure().started(EARLY),
        CheckSpec::run("X").started(LATE),
    ];
    judged(approved().checks(status_fails))
        .await
        .is("qa", "qa.ci", "CI failure: X");
    let two_apps = [
        CheckSpec::run("X").app("one").failure().started(EARLY),
        CheckSpec::run("X").app("two").started(LATE),
    ];
    let it = judged(approved().checks(two_apps)).await;
    assert_eq!((it.verdict.rule.as_str(), it.superseded_runs(NOW)), ("qa.ci", 0));
}

pub async fn b008_skipped_and_neutral_pass_and_are_shown_apart() {
    let it = judged(approved().checks([
        CheckSpec::run("a").conclusion("SKIPPED"),
        CheckSpec::run("b").conclusion("NEUTRAL"),
        CheckSpec::run("c"),
    ]))
    .await;
    it.ships();
    assert_eq!((it.ci(), it.verdict.signals.skipped), ("green", 2));
    // Also where nothing else ran.
    judged(approved().check(CheckSpec::run("a").conclusion("SKIPPED")))
        .await
        .ships();
}

pub async fn b010_a_lone_cancelled_run_fails() {
    let cancelled = || CheckSpec::run("build").conclusion("CANCELLED").started(EARLY);
    judged(
        approved()
            .check(cancelled())
            .check(CheckSpec::run("build").started(LATE)),
    )
    .await
    .ships();
    let it = judged(ready().check(cancelled())).await;
    it.is("qa", "qa.ci", "CI failure: build (cancelled, needs a re-run)");
    assert_eq!(it.verdict.signals.failing, ["build"]);
}

pub async fn b011_a_stale_check_is_pending() {
    let it = judged(ready().check(CheckSpec::run("build").conclusion("STALE"))).await;
    it.waits("CI pending: build (went stale, needs a re-run)");
    assert_eq!(it.ci(), "pending");
}

pub async fn b013_workflows_that_wait_for_approval() {
    let waits = "waiting for a maintainer to approve its workflows: CI";
    let suite = || SuiteSpec::action_required("CI");
    let docs = || CheckSpec::run("docs").workflow("Docs");
    let status = || CheckSpec::status("cla");
    for pull in [
        approved().suite(suite()),
        approved().suite(suite()).check(docs()).check(status()),
        approved().suite(suite()).created(minutes_ago(10)),
    ] {
        let it = judged(pull).await;
        it.waits(waits);
        assert_eq!(it.ci(), "pending", "never green");
        assert!(it.verdict.signals.awaiting_approval);
        assert_eq!(it.who_waits(), (None, None), "it is not the author's turn");
    }
    // The suite of an app that never ran is another thing, and no check.
    judged(ready().suite(SuiteSpec::never_ran("dependabot")))
        .await
        .ships();
}

pub async fn b015_no_statuses_are_no_signal() {
    // With no status at all, the old API's combined status says "pending"; GraphQL shows 20 runs.
    let runs = (1..=20).map(|n| CheckSpec::run(&format!("job {n}")));
    let it = judged(approved().checks(runs)).await;
    it.ships();
    assert_eq!((it.ci(), it.verdict.signals.pending.len()), ("green", 0));
}

pub async fn b016_no_checks_at_all() {
    for pull in [approved().empty_rollup(), approved().no_rollup()] {
        let it = judged(pull).await;
        it.is("ship", "ship.ready", "approved + no checks");
        assert_eq!(it.ci(), "unknown");
    }
    // Only on a new pull request none may still become some.
    let new = judged(approved().no_rollup().created(minutes_ago(59))).await;
    new.waits("no checks have been reported yet");
    let old = judged(approved().no_rollup().created(minutes_ago(60))).await;
    old.is("ship", "ship.ready", "approved + no checks");
    let empty = judged(approved().empty_rollup().created(minutes_ago(5))).await;
    empty.is("ship", "ship.ready", "approved + no checks");
}

pub async fn b017_checks_beyond_a_page() {
    let jobs = |last: CheckSpec| {
        let runs = (1..=101).map(|n| CheckSpec::run(&format!("job {n}")));
        approved().checks(runs).check(last)
    };
    let served = serve_one(jobs(CheckSpec::run("job 102").failure())).await;
    let it = judge(read_one(&served, AT).await, at(NOW));
    it.is("qa", "qa.ci", "CI failure: job 102");
    assert_eq!(it.facts.checks.contexts.as_ref().map(Vec::len), Some(102));

    // A page that fails is read again; one that goes on failing is no verdict of any kind.
    served
        .faults()
        .add(Fault::status(502).on_operation("Pages").first(1));
    judge(read_one(&served, AT).await, at(NOW)).is("qa", "qa.ci", "CI failure: job 102");
    served.faults().add(Fault::status(502).on_operation("Pages"));
    let got = read(&reader(&served), &[pr(AT)]).await;
    assert_eq!(got.found, []);
    assert_eq!(got.skipped.len(), 1, "{:?}", skipped(&got));
}

pub async fn b020_pending_for_more_than_a_day_is_stuck() {
    // A run that is queued in a suite that has ended.
    let ended = |head: &mut serde_json::Map<String, Value>| {
        let suite = json!({
            "__typename": "CheckSuite", "id": "CS_1", "databaseId": 1, "status": "COMPLETED",
            "conclusion": "SUCCESS", "createdAt": "2026-05-13T08:00:00Z", "updatedAt": "2026-05-13T09:00:00Z",
            "app": { "$ref": "app:github-actions" }, "checkRuns": [{ "$ref": "run:500" }],
            "workflowRun": {
                "__typename": "WorkflowRun", "id": "WFR_1", "event": "pull_request",
                "workflow": { "__typename": "Workflow", "id": "W_1", "name": "CI" },
            },
        });
        head.insert("checkSuites".into(), json!([suite]));
    };
    let pull = ready()
        .check(CheckSpec::run("build").id(500).queued())
        .raw_head(ended);
    let it = judged(pull).await;
    it.waits("CI pending: build (stuck for more than 24 h)");
    assert_eq!(
        (it.ci(), &it.verdict.signals.stuck),
        ("pending", &vec!["build".to_owned()])
    );
    // Within a day it is only pending.
    let recent = approved()
        .head(CommitSpec::at(minutes_ago(90)))
        .check(CheckSpec::run("build").queued());
    let it = judged(recent).await;
    it.waits("CI pending: build");
    assert!(it.verdict.signals.stuck.is_empty());
}

pub async fn b029_words_that_are_not_known() {
    // A run that could not start, in either dress; a status in small letters.
    for word in ["STARTUP_FAILURE", "startup_failure"] {
        let it = judged(ready().check(CheckSpec::run("build").conclusion(word))).await;
        it.is("qa", "qa.ci", "CI failure: build");
    }
    let it = judged(ready().check(CheckSpec::run("build").in_progress().state("queued"))).await;
    assert_eq!((it.verdict.rule.as_str(), it.ci()), ("wait.default", "pending"));
    // Words and types of tomorrow are kept, and are neither green nor a crash.
    for (check, reason) in [
        (
            CheckSpec::run("build").conclusion("EXPLODED"),
            "build says EXPLODED, which this program does not know",
        ),
        (
            CheckSpec::run("build").in_progress().state("DREAMING"),
            "build says DREAMING, which this program does not know",
        ),
        (
            CheckSpec::status("build").conclusion("PERHAPS"),
            "build says PERHAPS, which this program does not know",
        ),
        (
            CheckSpec::unknown("QuantumCheck"),
            "QuantumCheck says QuantumCheck, which this program does not know",
        ),
    ] {
        let it = judged(ready().check(check)).await;
        it.waits(reason);
        assert_eq!(it.ci(), "unknown");
    }
    // A failure beside them is a failure still.
    let both = [
        CheckSpec::run("build").conclusion("EXPLODED"),
        CheckSpec::run("test").failure(),
    ];
    judged(approved().checks(both))
        .await
        .is("qa", "qa.ci", "CI failure: test");
    let review = judged(quiet().decision("PONDERING")).await;
    review.waits("review decision PONDERING, unknown here");
}
