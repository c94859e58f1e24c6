//! The dispatcher from the search to the mailboxes and files.

use std::collections::{BTreeMap, BTreeSet};

use actors::pr_state::{DispatchError, WorkingSet};
use github::ReadError;
use lifecycle::Bucket;
use mailbox::Appended;
use runtime::{OneShot, OneShotError, Recorded, TurnFailure};
use serde_json::Value;
use world::{Fault, PullSpec, RepoSpec, World, hours_ago};

use crate::stage::{Stage, now, registry};

#[tokio::test(flavor = "multi_thread")]
async fn every_pull_request_of_the_demo_goes_where_it_is_expected() {
    let stage = Stage::demo().await;
    let (report, ran) = stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    let expected: BTreeMap<String, &str> = world::demo_answers()
        .into_iter()
        .map(|answer| (format!("{}#{}", answer.at.repo, answer.at.number), answer.rule))
        .collect();
    let found: BTreeMap<String, &str> = report
        .snapshot
        .rows
        .iter()
        .map(|row| (row.at().to_string(), row.rule.as_str()))
        .collect();
    for (at, rule) in &expected {
        assert_eq!(found.get(at), Some(rule), "{at}");
    }
    assert_eq!(found.len(), expected.len());
    assert_eq!(report.snapshot.skipped, []);
    assert_eq!(ran.sent.len(), expected.len());
    assert!(
        ran.sent
            .iter()
            .all(|(_, appended)| matches!(appended, Appended::Placed(_)))
    );

    let lines = stage.read("pr-state.jsonl");
    assert_eq!(lines.lines().count(), expected.len());
    for bucket in Bucket::ALL {
        let count = report.snapshot.counts()[&bucket];
        assert!(count > 0, "the demo shows every bucket, {bucket} too");
        assert!(
            stage
                .read("PR_STATE.md")
                .contains(&format!("## {bucket} ({count})"))
        );
    }
    stage.assert_nothing_said();
}

/// The author's half, "Idempotence": within a minute a repeat has the same ids, and first delivery wins.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_within_the_minute_delivers_nothing_new() {
    let stage = Stage::demo().await;
    let (first, _) = stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    let (second, ran) = stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    assert_eq!(first.snapshot.rows, second.snapshot.rows);
    assert!(
        ran.sent
            .iter()
            .all(|(_, appended)| matches!(appended, Appended::Known { .. }))
    );
    assert_eq!(
        stage.read("pr-state.jsonl").lines().count(),
        first.snapshot.rows.len()
    );
}

/// A message is the flat line of the specification.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_the_fields_of_the_specification() {
    let stage = Stage::of(
        World::builder(world::DEMO_NOW)
            .viewer("ada")
            .pull(
                PullSpec::new("sharkdp/bat", 3734)
                    .branch("zsh-color-never")
                    .updated(hours_ago(2))
                    .check(world::CheckSpec::run("Test stable on windows-latest").failure()),
            )
            .build(),
    )
    .await;
    let (_, ran) = stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    let (draft, _) = &ran.sent[0];
    assert_eq!(draft.to.as_str(), "qa");
    let line: Value = serde_json::from_str(draft.message.line()).unwrap();
    for (field, value) in [
        ("ts", "2026-05-14T17:45:00Z"),
        ("from", "pr-state"),
        ("intent", "reattest"),
        ("msg_id", "pr-state-2026-05-14T17:45:00Z-sharkdp-bat-3734"),
        ("repo", "sharkdp/bat"),
        ("branch", "zsh-color-never"),
        ("rule", "qa.ci"),
        ("check", "Test stable on windows-latest"),
    ] {
        assert_eq!(line[field], value, "{field}");
    }
    assert_eq!(line["pr"], 3734);
    assert_eq!(line["signals"]["ci"], "failing");
    assert_eq!(line["signals"]["activity_h"], 2.0);
    assert_eq!(line["head_sha"].as_str().unwrap().len(), 40);
}

/// Contract, section 4: two repositories can give one id, and neither message is dropped, also when they are
/// dispatched one after the other within a minute.
#[tokio::test(flavor = "multi_thread")]
async fn repositories_that_share_an_id_are_told_apart() {
    let world = || {
        World::builder(world::DEMO_NOW)
            .viewer("ada")
            .pull(PullSpec::new("a-b/c", 7))
            .pull(PullSpec::new("a/b-c", 7))
            .build()
    };
    let plain = "pr-state-2026-05-14T17:45:00Z-a-b-c-7";
    let together = Stage::of(world()).await;
    together.dispatch(WorkingSet::Everywhere).await.unwrap();
    let ids: BTreeSet<String> = together.ids("retro").await.into_iter().collect();
    assert_eq!(ids, BTreeSet::from([plain.to_owned(), format!("{plain}~3")]));

    let apart = Stage::of(world()).await;
    for repo in ["a-b/c", "a/b-c", "a-b/c"] {
        apart
            .dispatch(WorkingSet::Repo(repo.parse().unwrap()))
            .await
            .unwrap();
    }
    assert_eq!(apart.ids("retro").await, [plain.to_owned(), format!("{plain}~1")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_run_says_so() {
    let stage = Stage::of(World::empty()).await;
    let (report, ran) = stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    assert!(ran.sent.is_empty());
    assert_eq!(report.outcome(), "no open pull requests");
    let line: Value = serde_json::from_str(stage.read("pr-state.jsonl").trim_end()).unwrap();
    assert_eq!(
        (&line["prs"], &line["note"]),
        (&Value::from(0), &Value::from("no open pull requests"))
    );
    assert!(
        stage
            .read("PR_STATE.md")
            .contains("No open pull request matches.")
    );
}

/// Contract, section 4, "Drip queue": only what the queue says is open, and a bad line is skipped and reported
/// with its place.
#[tokio::test(flavor = "multi_thread")]
async fn the_queue_chooses_and_its_bad_lines_are_reported() {
    let stage = Stage::of(
        World::builder(world::DEMO_NOW)
            .viewer("ada")
            .pulls((1..=3).map(|number| PullSpec::new("o/r", number)))
            .build(),
    )
    .await;
    stage.write(
        "drip-queue/a.jsonl",
        "{\"repo\":\"o/r\",\"pr_number\":1,\"branch\":\"one\",\"status\":\"open\"}\nnot json\n\
         {\"repo\":\"o/r\",\"pr_number\":2,\"branch\":\"two\",\"status\":\"merged\"}\n",
    );
    let (report, _) = stage.dispatch(WorkingSet::Queue).await.unwrap();
    let found: Vec<String> = report
        .snapshot
        .rows
        .iter()
        .map(|row| row.at().to_string())
        .collect();
    assert_eq!(found, ["o/r#1"]);
    assert_eq!(report.problems, ["drip-queue/a.jsonl:2: skipped, not JSON"]);
    let log = stage.read("pr-state-errors.log");
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        ["2026-05-14T17:45:00Z drip-queue/a.jsonl:2: skipped, not JSON"]
    );
}

/// A pull request that cannot be read is skipped alone and logged, the others are delivered.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_skipped_alone() {
    let stage = Stage::of(
        World::builder(world::DEMO_NOW)
            .viewer("ada")
            .pulls((1..=4).map(|number| PullSpec::new("o/r", number)))
            .build(),
    )
    .await;
    stage
        .served
        .faults()
        .add(Fault::saml("PullRequest.comments").on_pull(("o/r", 3)));
    let (report, _) = stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    assert_eq!(report.snapshot.rows.len(), 3);
    let skipped: Vec<String> = report
        .snapshot
        .skipped
        .iter()
        .map(|row| format!("{}#{} {}", row.repo, row.pr, row.error))
        .collect();
    assert_eq!(skipped, ["o/r#3 no access: SSO"]);
    assert_eq!(
        stage.read("pr-state-errors.log"),
        "2026-05-14T17:45:00Z o/r#3 no access: SSO\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_github_that_refuses_the_token_dispatches_nothing() {
    let stage = Stage::of(World::empty()).await;
    stage.served.faults().add(Fault::token_refused());
    let error = stage.dispatch(WorkingSet::Everywhere).await.unwrap_err();
    let OneShotError::Turn(TurnFailure::Fault(fault)) = &error else {
        panic!("{error:?}")
    };
    let cause = fault
        .cause()
        .and_then(|cause| cause.downcast_ref::<DispatchError>());
    assert!(
        matches!(cause, Some(DispatchError::Read(ReadError::Refused { .. }))),
        "{cause:?}"
    );
    assert!(!stage.home().join("PR_STATE.md").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rehearsal_writes_nothing_at_all() {
    let stage = Stage::of(
        World::builder(world::DEMO_NOW)
            .viewer("ada")
            .repo(RepoSpec::new("o/r"))
            .pull(PullSpec::new("o/r", 1))
            .build(),
    )
    .await;
    let listed = || -> BTreeSet<_> {
        std::fs::read_dir(stage.home())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect()
    };
    let before = listed();
    let mut dispatcher = stage.dispatcher(WorkingSet::Everywhere);
    let turn =
        OneShot::new(std::sync::Arc::new(registry()), stage.clock.clone(), stage.home()).evaluate_at(now());
    let rehearsed = turn.rehearse_takt(&mut dispatcher).await.unwrap();
    assert_eq!(rehearsed.messages.len(), 1);
    assert!(
        rehearsed
            .effects
            .iter()
            .any(|effect| matches!(effect, Recorded::WriteFile { .. }))
    );
    assert_eq!(listed(), before);
    assert_eq!(stage.ids("retro").await, [""; 0]);
}
