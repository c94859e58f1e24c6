//! What a person is shown of a run.

use std::collections::BTreeMap;

use lifecycle::{Bucket, Row, SkippedRow, Snapshot, msg_id};
use pulls::build::{self, PullBuilder, at, comment, hours_ago, now, run};

use crate::verdict;

fn row(pull: PullBuilder) -> Row {
    let verdict = verdict(pull);
    let id = msg_id::plain(now(), &verdict.at);
    let inbox = verdict.bucket.inbox().to_owned();
    Row::of(&verdict, id, inbox)
}

fn snapshot(rows: Vec<Row>) -> Snapshot {
    Snapshot {
        at: now(),
        rows,
        skipped: Vec::new(),
        attention: Vec::new(),
        inboxes: BTreeMap::new(),
    }
}

fn a_run() -> Snapshot {
    let merged = Some(at("2026-05-13T09:00:00Z"));
    let mut run = snapshot(vec![
        row(build::pull("hyperium/hyper", 4002).closed_by_other(3990, 4067, merged)),
        row(build::pull("sharkdp/bat", 3734)
            .title("zsh: \"color=never\" <b>@all</b>")
            .comment(comment(
                "maint",
                "What about *`color=never`* with [explicit](https://x.example) decorations? @you",
            ))),
        row(build::pull("o/late", 2)
            .check(run("windows_latest").failed())
            .updated_at(hours_ago(90))),
        row(build::pull("o/early", 3)
            .check(run("a").failed())
            .updated_at(hours_ago(2))),
        row(build::pull("o/r", 7).approved()),
        row(build::pull("o/r", 8)),
    ]);
    run.skipped.push(SkippedRow {
        repo: build::repo("o/gone"),
        pr: 1u64.try_into().expect("a valid number"),
        error: "answered with HTML: <title>Unicorn!</title>".into(),
    });
    run.attention
        .push("qa: oldest unread for 45 min; is its actor running?".into());
    run
}

#[test]
fn pr_state_md() {
    insta::assert_snapshot!(a_run().markdown());
}

#[test]
fn an_empty_run() {
    insta::assert_snapshot!(snapshot(Vec::new()).markdown());
}

#[test]
fn stdout_summary() {
    let mut run = a_run();
    run.inboxes.insert(Bucket::Qa, "qa, second-qa".into());
    insta::assert_snapshot!(run.summary());
}

#[test]
fn the_list_of_one_bucket() {
    insta::assert_snapshot!(format!(
        "{}{}",
        a_run().list(Bucket::Investigate),
        a_run().list(Bucket::Qa)
    ));
}

#[test]
fn a_row_as_json() {
    let facts = build::pull("sharkdp/bat", 3734)
        .check(run("Test stable on windows-latest").failed())
        .behind(3);
    insta::assert_json_snapshot!(row(facts));
}

#[test]
fn a_row_comes_back_from_its_json() {
    let row = row(build::pull("sharkdp/bat", 3734).updated_at(hours_ago(5) - chrono::TimeDelta::minutes(20)));
    let text = serde_json::to_string(&row).unwrap();
    assert!(text.contains(r#""activity_h":5.3"#), "{text}");
    assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
}
