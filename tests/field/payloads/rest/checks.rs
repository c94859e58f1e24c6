//! Check runs, suites, statuses, workflow runs, and what is required of them.

use pulls::facts::CheckStatus;
use serde_json::Value;
use world::{CheckSpec, CommitSpec, PullSpec, SuiteSpec};

use super::{between, capitals, tells};
use crate::payloads::Payload;
use crate::payloads::convert::{list, text, who};
use crate::payloads::gh::judged_at;

pub async fn branch_protection(payload: Payload) {
    // GraphQL shows a required check that nobody reported yet as one that is expected.
    let required = payload.body["required_status_checks"]["checks"]
        .as_array()
        .unwrap();
    let url = text(&payload.body, "url").unwrap();
    let repo = between(url, "/repos/", "/branches/");
    let expected = required
        .iter()
        .map(|check| CheckSpec::status(text(check, "context").unwrap()).conclusion("EXPECTED"));
    let pull = PullSpec::new(repo, 1)
        .decision("APPROVED")
        .merge_state("BLOCKED")
        .checks(expected);
    let (_, judged) = judged_at(pull, "2026-05-14T17:45:00Z").await;
    // That is pending and never green; it has expected them for more than a day.
    judged.waits("CI pending: context (stuck for more than 24 h), context2 (stuck for more than 24 h)");
    assert_eq!(judged.ci(), "pending");
}

pub async fn check_runs(payload: Payload) {
    let now = "2020-08-28T05:00:00Z";
    let checks = list(&payload.body, "check_runs").map(|run| {
        CheckSpec::run(text(run, "name").unwrap())
            .app(text(&run["app"], "slug").unwrap())
            .id(run["id"].as_u64().unwrap())
            .state(&capitals(run, "status").unwrap())
            .conclusion(&capitals(run, "conclusion").unwrap())
            .started(text(run, "started_at").unwrap())
            .completed(text(run, "completed_at").unwrap())
    });
    let sha = text(&payload.body["check_runs"][0], "head_sha").unwrap();
    let pull = PullSpec::new("PyGithub/PyGithub", 1682)
        .created("2020-08-28T04:19:00Z")
        .head(CommitSpec::at("2020-08-28T04:19:30Z").oid(sha))
        .checks(checks);
    let (_, judged) = judged_at(pull, now).await;
    judged.is("qa", "qa.ci", "CI failure: test (Python 3.6)");
    assert_eq!(judged.facts.checks.contexts.as_ref().map(Vec::len), Some(4));
    assert_eq!(judged.superseded_runs(now), 0, "four checks of one app");
    tells(&payload.head.unwrap(), None, "2020-10-23T03:05:09Z").await;
}

pub async fn suites_that_never_ran(payload: Payload) {
    let now = "2020-08-04T06:00:00Z";
    let mut pull = PullSpec::new("wrecker/PySample", 7)
        .created("2020-08-04T05:06:55Z")
        .head(
            CommitSpec::at("2020-08-04T05:06:50Z")
                .oid(text(&payload.body["check_suites"][0], "head_sha").unwrap()),
        );
    for suite in list(&payload.body, "check_suites") {
        let app = text(&suite["app"], "slug").unwrap();
        let runs = suite["latest_check_runs_count"].as_u64().unwrap();
        if runs == 0 {
            assert_eq!(text(suite, "status"), Some("queued"));
            pull = pull.suite(SuiteSpec::never_ran(app));
        }
        for run in 0..runs {
            let check = CheckSpec::run(&format!("run {run} of suite {}", suite["id"])).app(app);
            pull = pull.check(check.conclusion(&capitals(suite, "conclusion").unwrap()));
        }
    }
    let (_, judged) = judged_at(pull, now).await;
    judged.waits("no review required and none given");
    assert_eq!(
        judged.ci(),
        "green",
        "what never ran is no check, however long it is queued"
    );
    let suites = &judged.facts.checks.suites;
    let queued = suites
        .iter()
        .filter(|suite| suite.status == CheckStatus::Queued && suite.runs == 0);
    assert_eq!(queued.count(), 3);
    assert_eq!(judged.facts.checks.contexts.as_ref().map(Vec::len), Some(6));
}

pub async fn rules(payload: Payload) {
    // What a ruleset asks for shows in GraphQL as the decision and the button.
    let rules = payload.body.as_array().unwrap();
    let asks = |rule: &&Value| rule["parameters"]["required_approving_review_count"].as_u64() > Some(0);
    let rule = rules.iter().find(asks).unwrap();
    let repo = text(rule, "ruleset_source").unwrap();
    let pull = PullSpec::new(repo, 1)
        .decision("REVIEW_REQUIRED")
        .merge_state("BLOCKED");
    let (_, judged) = judged_at(pull.check(CheckSpec::run("test")), "2026-05-14T17:45:00Z").await;
    judged.waits("review required");
}

pub async fn statuses(payload: Payload) {
    let now = "2018-01-01T03:00:00Z";
    let history: Vec<&Value> = payload.body.as_array().unwrap().iter().collect();
    let sha = text(history[0], "url").unwrap().rsplit('/').next().unwrap();
    let statuses = history.iter().map(|status| {
        CheckSpec::status(text(status, "context").unwrap())
            .conclusion(&capitals(status, "state").unwrap())
            .started(text(status, "created_at").unwrap())
            .by(who(&status["creator"]))
    });
    let pull = PullSpec::new("PyCQA/flake8", 7)
        .created("2018-01-01T01:00:00Z")
        .head(CommitSpec::at("2018-01-01T01:00:00Z").oid(sha))
        .checks(statuses);
    let (_, judged) = judged_at(pull, now).await;
    judged.waits("no review required and none given");
    // The newest of each of two contexts counts; what was pending before is history.
    assert_eq!((judged.ci(), judged.superseded_runs(now)), ("green", 4));
}

pub async fn awaiting_approval(payload: Payload) {
    let runs: Vec<&Value> = list(&payload.body, "workflow_runs").collect();
    let mut pull = PullSpec::new("hub4j-test-org/GHWorkflowRunTest", 1)
        .author("person-32")
        .created("2022-08-17T10:55:30Z")
        .from_fork_of("person-32")
        .head(CommitSpec::at("2022-08-17T10:55:13Z").oid(text(runs[0], "head_sha").unwrap()));
    for run in runs {
        assert_eq!(
            (text(run, "status"), text(run, "conclusion")),
            (Some("completed"), Some("action_required"))
        );
        pull = pull.suite(SuiteSpec::action_required(text(run, "name").unwrap()));
    }
    // Hours later there is still no rollup: no job exists before the approval.
    let (_, judged) = judged_at(pull, "2022-08-17T20:00:00Z").await;
    judged.waits(
        "no review required and none given; waiting for a maintainer to approve its workflows: Artifacts \
         workflow, Slow workflow",
    );
    assert_eq!((judged.ci(), judged.facts.checks.contexts), ("pending", None));
    assert!(judged.verdict.signals.awaiting_approval);
}
