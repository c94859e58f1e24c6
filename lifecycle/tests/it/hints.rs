//! The drip queue and the gate files.

use lifecycle::{DripQueue, GateFile, GateHint, Malformed, Why};
use pulls::build::{self, hours_ago, repo};

use crate::pull;

fn status(files: &[(&str, &str)]) -> Option<String> {
    let (queue, malformed) = DripQueue::read(files.iter().copied());
    assert_eq!(malformed, []);
    queue
        .entry(&pull().build())
        .and_then(|entry| entry.status.clone())
}

fn line(branch: &str, number: u32, status: &str) -> String {
    format!(r#"{{"repo":"o/r","pr_number":{number},"branch":"{branch}","status":"{status}"}}"#)
}

#[test]
fn the_last_line_over_all_files_in_name_order_counts() {
    let (open, superseded) = (line("topic", 7, "open"), line("topic", 7, "superseded"));
    assert_eq!(status(&[]), None);
    assert_eq!(status(&[("a", &open)]).as_deref(), Some("open"));
    let two = format!("{open}\n{superseded}\n");
    assert_eq!(status(&[("a", &two)]).as_deref(), Some("superseded"));
    assert_eq!(
        status(&[("b", &open), ("a", &superseded)]).as_deref(),
        Some("open"),
        "by name, not by position"
    );
    assert_eq!(
        status(&[("10", &open), ("9", &superseded)]).as_deref(),
        Some("superseded"),
        "as names sort"
    );
}

#[test]
fn a_branch_is_the_key_and_the_number_where_there_is_none() {
    let reused = format!("{}\n{}", line("topic", 7, "superseded"), line("topic", 9, "open"));
    assert_eq!(
        status(&[("a", &reused)]),
        None,
        "the branch belongs to another pull request now"
    );
    let without = r#"{"repo":"o/r","pr_number":7,"status":"superseded"}"#;
    assert_eq!(status(&[("a", without)]).as_deref(), Some("superseded"));
    let empty = r#"{"repo":"o/r","pr_number":7,"branch":"","status":"superseded"}"#;
    assert_eq!(
        status(&[("a", empty)]).as_deref(),
        Some("superseded"),
        "an empty branch is none"
    );
    let both = format!("{without}\n{}", line("topic", 7, "open"));
    assert_eq!(
        status(&[("a", &both)]).as_deref(),
        Some("open"),
        "the later of two keys"
    );
    let other_case = r#"{"repo":"O/R","pr_number":7,"status":"Superseded"}"#;
    let (queue, _) = DripQueue::read([("a", other_case)]);
    assert!(queue.entry(&pull().build()).unwrap().is_superseded());
}

#[test]
fn an_old_name_of_the_repository_counts() {
    let (queue, _) = DripQueue::read([("a", line("topic", 7, "superseded"))]);
    let renamed = build::pull("o/new", 7)
        .with(|pull| pull.asked_as = repo("o/r"))
        .build();
    assert!(queue.entry(&renamed).unwrap().is_superseded());
    assert!(queue.entry(&build::pull("o/new", 7).build()).is_none());
    let names = [repo("o/new"), repo("o/older"), repo("O/R")];
    assert!(
        queue
            .entry_under(&names, renamed.at.number)
            .unwrap()
            .is_superseded()
    );
}

#[test]
fn malformed_lines_are_reported_and_skipped() {
    let text = [
        "not json",
        "",
        "[1]",
        r#"{"repo":"o/r"}"#,
        r#"{"pr_number":7,"branch":"topic"}"#,
        r#"{"repo":"../r","pr_number":7}"#,
        r#"{"repo":"o/r","pr_number":"7"}"#,
        r#"{"repo":"o/r","pr_number":0}"#,
        r#"{"repo":"o/r","pr_number":7,"status":3}"#,
        r#"{"repo":"o/r","pr_number":7,"status":"superseded","extra":{"a":1}}"#,
        r#"{"repo":"o/r","pr_number":7,"st"#,
    ]
    .join("\r\n");
    let (queue, malformed) = DripQueue::read([("q.jsonl", format!("\u{FEFF}{text}"))]);
    assert!(queue.entry(&pull().build()).unwrap().is_superseded());
    let shown: Vec<String> = malformed
        .iter()
        .map(|Malformed { file, line, why }| format!("{file}:{line}: {why}"))
        .collect();
    assert_eq!(
        shown,
        [
            "q.jsonl:1: not JSON",
            "q.jsonl:3: not a JSON object",
            "q.jsonl:4: no pr_number",
            "q.jsonl:5: no repo",
            "q.jsonl:6: repo is not valid",
            "q.jsonl:7: pr_number is not valid",
            "q.jsonl:8: pr_number is not valid",
            "q.jsonl:9: status is not valid",
            "q.jsonl:11: not JSON",
        ]
    );
    assert_eq!(malformed[0].why, Why::NotJson);
}

#[test]
fn from_queue_takes_what_is_open_last() {
    let text = [
        line("a", 1, "open"),
        line("b", 2, "open"),
        line("b", 2, "merged"),
        line("c", 3, "open"),
        line("d", 3, "open"),
    ];
    let (queue, _) = DripQueue::read([("a", text.join("\n"))]);
    let open: Vec<String> = queue.open().iter().map(ToString::to_string).collect();
    assert_eq!(open, ["o/r#1", "o/r#3"]);
}

#[test]
fn the_repository_in_a_gate_file_decides() {
    let here = [repo("a/b-c")];
    let there = [repo("a-b/c")];
    assert_eq!(GateFile::name(&here[0]), GateFile::name(&there[0]));
    let named = GateFile::parse(r#"{"repo":"A-B/c","head":"x"}"#, hours_ago(1));
    assert_eq!(GateHint::find([&named], &here, true).attested_at, None);
    assert_eq!(
        GateHint::find([&named], &there, true).attested_at,
        Some(hours_ago(1))
    );
    for text in ["", "passed", "{}", r#"{"repo":7}"#, r#"{"repo":"not a name"}"#] {
        let unnamed = GateFile::parse(text, hours_ago(1));
        assert!(unnamed.is_about(&here) && unnamed.is_about(&there), "{text}");
    }
}

#[test]
fn the_newest_gate_under_any_name_counts() {
    let names = [repo("o/new"), repo("o/old")];
    let old = GateFile::parse(r#"{"repo":"o/old"}"#, hours_ago(30));
    let new = GateFile::parse(r#"{"repo":"o/new"}"#, hours_ago(2));
    assert_eq!(
        GateHint::find([&new, &old], &names, false).attested_at,
        Some(hours_ago(2))
    );
    assert_eq!(
        GateHint::find([&old], &names, false).attested_at,
        Some(hours_ago(30))
    );
}
