//! GraphQL answers.

use github::{ReadError, Scope};
use pulls::facts::{MergeState, Mergeable, PullState};
use serde_json::{Value, json};
use world::{Canned, CheckSpec, Fault, PullSpec, Served, SuiteSpec, World};

use super::Payload;
use super::convert::{About, list, named_workflow, text, workflow_by_job, workflow_by_run};
use super::gh::judged_at;
use crate::support::{at, judge, pr, quiet, read, read_one, reader, serve, serve_one};

fn pull_of(payload: &Payload) -> &Value {
    &payload.body["data"]["repository"]["pullRequest"]
}

fn about<'a>(repo: &'a str, number: u32, author: &'a str, opened: &'a str) -> About<'a> {
    About {
        repo,
        number,
        author,
        opened,
        workflow: named_workflow,
    }
}

/// Serves a pull request that is closed and reads it: it is not classified. Gives what it would be if it
/// were open.
async fn closed(pull: PullSpec, state: PullState, now: &str) -> (Served, crate::support::Judged) {
    let name = pull.address().clone();
    let served = serve(World::builder(now).pull(pull)).await;
    let facts = read_one(&served, &name.to_string()).await;
    assert_eq!(facts.state, state);
    let outcome = lifecycle::classify(&facts, &Default::default(), &Default::default(), at(now));
    assert_eq!(outcome, lifecycle::Outcome::NotOpen(state));
    served.edit(|world| {
        let pull = world.pull_json(&name).unwrap();
        pull.insert("state".into(), "OPEN".into());
    });
    let judged = judge(read_one(&served, &name.to_string()).await, at(now));
    (served, judged)
}

pub async fn commit_rollups(payload: Payload) {
    let about = About {
        workflow: workflow_by_run,
        ..about("leanprover-community/mathlib4", 10023, "", "2024-01-26T06:00:00Z")
    };
    let pull = about.pull(pull_of(&payload));
    let (_, judged) = closed(pull, PullState::Closed, "2024-01-26T15:00:00Z").await;
    // Two jobs of one name in two workflows are two checks; a cancelled one fails.
    judged.is(
        "qa",
        "qa.ci",
        "CI failure: Build (cancelled, needs a re-run), Post-CI job (cancelled, needs a re-run)",
    );
    let contexts = judged.facts.checks.contexts.as_ref().map(Vec::len);
    assert_eq!(
        (contexts, judged.superseded_runs("2024-01-26T15:00:00Z")),
        (Some(20), 0)
    );
    assert_eq!(judged.verdict.signals.skipped, 8);
    assert_eq!(
        judged.facts.head.sha.as_str(),
        "d4d30af6b7551d5e71af1928284990bcb5c039b1"
    );
}

pub async fn force_push(payload: Payload) {
    let now = "2025-11-11T09:00:00Z";
    let about = About {
        workflow: workflow_by_job,
        ..about("leanprover-community/mathlib4", 28793, "", "2025-10-08T01:55:00Z")
    };
    let (_, judged) = judged_at(about.pull(pull_of(&payload)), now).await;
    judged.waits("no review required and none given");
    // Of eight runs the newest of each of three checks counts.
    assert_eq!((judged.ci(), judged.superseded_runs(now)), ("green", 5));
    let head = &judged.facts.head;
    assert_eq!(head.sha.as_str(), "e301e06206248556cdf893334b74a6b96e6483d1");
    assert_eq!(head.last_force_push_at, Some(at("2025-10-09T03:08:25Z")));
    assert_eq!(head.repo.as_ref().unwrap().to_string(), "person-16/mathlib4");
    assert_eq!(judged.verdict.signals.activity_h.to_string(), "0.8");
}

pub async fn review_threads(payload: Payload) {
    let pull =
        about("example-team/Harmony", 528, "person-01", "2026-04-28T23:00:00Z").pull(pull_of(&payload));
    let (_, judged) = judged_at(pull, "2026-04-29T01:00:00Z").await;
    // An outdated thread is as open as the others, and an app's question waits for nobody.
    judged.waits("no review required and none given; 5 unresolved review threads");
    let outdated = judged.facts.threads.iter().filter(|thread| thread.is_outdated);
    assert_eq!((outdated.count(), judged.is_asked()), (4, false));
    assert_eq!(
        judged.facts.threads[0].path,
        "harmony-backend/src/routes/public.router.ts"
    );
    assert_eq!(
        judged.facts.head.sha.as_str(),
        "7485dbfb737fa9ddc1afc522bf0035ed4d91d148"
    );
}

pub async fn beyond_every_page(payload: Payload) {
    let now = "2024-04-05T03:00:00Z";
    let pull =
        about("leanprover-community/mathlib4", 6057, "", "2023-07-22T21:23:06Z").pull(pull_of(&payload));
    let (served, judged) = closed(pull, PullState::Closed, now).await;
    judged.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by person-12",
    );
    let facts = &judged.facts;
    assert_eq!(
        (facts.reviews.len(), facts.threads.len()),
        (100, 100),
        "read whole"
    );
    assert_eq!((facts.comments.len(), facts.threads[0].comments.len()), (19, 2));
    assert_eq!(
        (&facts.mergeable, &facts.merge_state),
        (&Mergeable::Unknown, &MergeState::Unknown)
    );
    assert_eq!(facts.checks.contexts, None);
    assert_eq!(facts.head.committed_at, at("2024-04-03T19:54:44Z"));
    assert_eq!(
        facts.head.sha.as_str(),
        "86444104f5102ad24d4143a32ac760b4912c2b3c"
    );
    // Each of the two readings took a second page of threads and no other.
    assert_eq!(served.log().len(), 4);
}

pub async fn thread_and_reviews(payload: Payload) {
    let pull =
        about("example-team/Harmony", 613, "person-03", "2026-05-03T20:00:00Z").pull(pull_of(&payload));
    let (_, judged) = judged_at(pull, "2026-05-04T04:00:00Z").await;
    judged.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by person-01",
    );
    let review = "https://github.com/example-team/Harmony/pull/613#pullrequestreview-4217329926";
    assert_eq!(judged.who_waits(), (Some("person-01"), Some(review)));
    assert_eq!(judged.verdict.signals.unresolved_threads, 1);
    let thread = &judged.facts.threads[0];
    assert_eq!((thread.line, thread.comments.len()), (Some(178), 1));
    let comment = &thread.comments[0];
    assert!(comment.diff_hunk.starts_with("@@ -166,7 +176,11 @@\n"));
    assert_eq!(
        comment.comment.url,
        "https://github.com/example-team/Harmony/pull/613#discussion_r3179291305"
    );
}

pub async fn check_suites(payload: Payload) {
    let now = "2022-03-04T12:00:00Z";
    let from = pull_of(&payload);
    let mut pull = about("pytorch/pytorch", 73811, "", "2022-03-04T08:00:00Z").pull(from);
    let commit = &list(from, "commits").next().unwrap()["commit"];
    for suite in list(commit, "checkSuites") {
        let app = text(&suite["app"], "name").unwrap();
        let workflow = text(&suite["workflowRun"]["workflow"], "name");
        let runs: Vec<&Value> = list(suite, "checkRuns").collect();
        for run in &runs {
            let check = CheckSpec::run(text(run, "name").unwrap());
            let check = check.conclusion(text(run, "conclusion").unwrap());
            pull = pull.check(match workflow {
                Some(workflow) => check.workflow(workflow),
                None => check.app(app),
            });
        }
        if runs.is_empty() {
            pull = pull.suite(SuiteSpec::never_ran(app));
        }
    }
    let (_, judged) = closed(pull, PullState::Closed, now).await;
    judged.waits("no review required and none given");
    // An app that never ran is no check, and a neutral run within a skipped suite passes.
    assert_eq!((judged.ci(), judged.verdict.signals.skipped), ("green", 1));
    let checks = &judged.facts.checks;
    assert_eq!(checks.contexts.as_ref().map(Vec::len), Some(22));
    let never_ran = checks.suites.iter().filter(|suite| suite.runs == 0).count();
    assert_eq!((checks.suites.len(), never_ran), (11, 5));
}

pub async fn errors(payload: Payload) {
    let expected = [
        ("rate_limit", ReadError::RateLimited { until: None }),
        (
            "forbidden",
            ReadError::NoAccess {
                path: "resolveReviewThread".to_owned(),
                message: "Resource not accessible by integration".to_owned(),
                sso: false,
            },
        ),
        (
            "unprocessable",
            ReadError::Partial {
                path: "enablePullRequestAutoMerge".to_owned(),
                message: "seate does not have a verified email, which is required to enable auto-merging."
                    .to_owned(),
                kind: Some("UNPROCESSABLE".to_owned()),
            },
        ),
    ];
    let there: Vec<&String> = payload.body.as_object().unwrap().keys().collect();
    assert_eq!(there.len(), expected.len(), "{there:?}");
    for (name, error) in expected {
        let served = serve_one(quiet()).await;
        let answer = Canned::json(200, &payload.body[name]);
        served.faults().add(Fault::answer(answer));
        let reader = reader(&served);
        assert_eq!(reader.viewer().await.unwrap_err(), error, "{name}");
        // A rate limit is waited for once, and the others are final.
        let asked = if name == "rate_limit" { 2 } else { 1 };
        assert_eq!(reader.requests().total, asked, "{name}");
        let got = read(&reader, &[pr("o/r#7")]).await;
        assert_eq!(got.found, [], "{name}");
        assert_eq!(got.skipped.len(), 1, "{name}");
    }
}

pub async fn search(payload: Payload) {
    let now = "2025-09-18T18:00:00Z";
    let found = &payload.body["data"]["search"];
    let pulls = list(found, "nodes").map(|node| {
        let number = node["number"].as_u64().unwrap().try_into().unwrap();
        let pull = about("person-14/gh-dash", number, "", "2025-09-17T19:00:00Z").pull(node);
        // A branch that was deleted since leaves the name of the branch and no branch.
        let branch = node["headRef"].clone();
        pull.raw(move |pull| {
            if branch.is_null() {
                pull.insert("headRef".into(), Value::Null);
            }
        })
    });
    let served = serve(World::builder(now).pulls(pulls)).await;
    served
        .faults()
        .add(Fault::answer(Canned::json(200, &payload.body)).on_operation("OpenPulls"));
    let reader = reader(&served);
    let found = reader
        .open_pulls(&"person-14".parse().unwrap(), &Scope::Everywhere, 4)
        .await
        .unwrap();
    let names: Vec<String> = found.refs.iter().map(ToString::to_string).collect();
    let numbers = [635, 632, 631, 630].map(|number| format!("person-14/gh-dash#{number}"));
    assert_eq!((names.as_slice(), found.total), (numbers.as_slice(), 352));
    // The search says which, and the pull requests themselves say what: all of them are merged.
    let got = read(&reader, &found.refs).await;
    assert_eq!(got.found.len(), 4);
    for facts in got.found {
        assert_eq!(facts.state, PullState::Merged);
        assert_eq!(facts.mergeable, Mergeable::Unknown);
        assert_eq!(
            facts.checks.contexts.as_deref(),
            Some([].as_slice()),
            "a rollup without fields"
        );
        let outcome = lifecycle::classify(&facts, &Default::default(), &Default::default(), at(now));
        assert_eq!(outcome, lifecycle::Outcome::NotOpen(PullState::Merged));
    }
    assert_eq!(found.partial, []);
    assert_eq!(served.log()[0].variables.get("first"), Some(&json!(4)));
}
