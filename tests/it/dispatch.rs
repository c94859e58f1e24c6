//! `sweep pr-state` against the embedded GitHub, and what it says when GitHub does not play along.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};
use world::{DEMO_NOW, Fault, PullSpec, World};

use crate::support::{Desk, Ended, Hosted, files};

/// The contract's moment of the demo.
const AT: [&str; 2] = ["--now", DEMO_NOW];

/// Three pull requests: one to rebase, one to ship, one that waits.
fn three() -> World {
    World::builder(DEMO_NOW)
        .pull(PullSpec::new("o/one", 1).conflicting())
        .pull(PullSpec::new("o/two", 2).decision("APPROVED"))
        .pull(PullSpec::new("p/three", 3).decision("REVIEW_REQUIRED"))
        .build()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn refused(run: &Ended, code: i32, said: &[&str]) {
    assert_eq!(run.code, Some(code), "{run:?}");
    let error: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| !line.contains(" WARN "))
        .collect();
    assert!(
        (1..=2).contains(&error.len()) && error[0].starts_with("sweep: "),
        "{run:?}"
    );
    for word in said {
        assert!(run.stderr.contains(word), "{word:?} is not said: {run:?}");
    }
    assert!(!run.stderr.contains("world-token"), "{run:?}");
}

#[test]
fn a_dry_run_prints_the_messages_and_writes_nothing_at_all() {
    let hosted = Hosted::new(three());
    let desk = hosted.desk();
    let messages = lines(&desk.good(&[&["pr-state", "--dry-run"], &AT[..]].concat()));
    let ids: BTreeSet<&str> = messages
        .iter()
        .map(|message| message["msg_id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        BTreeSet::from([
            "pr-state-2026-05-14T17:45:00Z-o-one-1",
            "pr-state-2026-05-14T17:45:00Z-o-two-2",
            "pr-state-2026-05-14T17:45:00Z-p-three-3",
        ])
    );
    let rebase = messages.iter().find(|message| message["pr"] == 1).unwrap();
    assert_eq!(
        (&rebase["intent"], &rebase["rule"], &rebase["from"], &rebase["ts"]),
        (
            &json!("rebase"),
            &json!("rebase.conflict"),
            &json!("pr-state"),
            &json!("2026-05-14T17:45:00Z")
        )
    );
    assert!(!desk.home().exists(), "{:?}", files(&desk.home()));

    // Whatever else is asked, and one bucket alone where one is asked for.
    let ship = desk.good(&[&["pr-state", "--dry-run", "--json", "--bucket", "ship"], &AT[..]].concat());
    assert_eq!(
        lines(&ship)
            .iter()
            .map(|message| &message["pr"])
            .collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn a_run_delivers_one_message_a_pull_request_and_says_so() {
    let hosted = Hosted::new(three());
    let desk = hosted.desk();
    let document = desk.json(&[&["pr-state", "--json"], &AT[..]].concat());
    assert_eq!(document["ts"], "2026-05-14T17:45:00Z");
    assert_eq!(
        document["counts"],
        json!({"close": 0, "investigate": 0, "rebase": 1, "qa": 0, "ship": 1, "wait": 1})
    );
    let pr = document["prs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|pr| pr["pr"] == 1)
        .unwrap();
    assert_eq!(
        (
            &pr["repo"],
            &pr["bucket"],
            &pr["rule"],
            &pr["inbox"],
            &pr["intent"]
        ),
        (
            &json!("o/one"),
            &json!("rebase"),
            &json!("rebase.conflict"),
            &json!("drip"),
            &json!("rebase")
        )
    );
    for signal in [
        "review",
        "mergeable",
        "ci",
        "activity_h",
        "maintainer_question",
        "behind_by",
        "gate_stale_h",
    ] {
        assert!(pr["signals"].get(signal).is_some(), "{signal}: {pr}");
    }
    assert_eq!(
        (&document["skipped"], &document["attention"]),
        (&json!([]), &json!([]))
    );

    let unread = |mailbox: &str| {
        let inbox = desk.json(&["inbox", mailbox, "--unread", "--json"]);
        inbox["messages"].as_array().unwrap().len()
    };
    assert_eq!((unread("drip"), unread("retro"), unread("qa")), (2, 1, 0));
    // The mirror holds the same, a line each.
    assert_eq!(lines(&desk.read("inbox/drip.jsonl")).len(), 2);
    assert_eq!(lines(&desk.read("pr-state.jsonl")).len(), 3);
    assert!(
        desk.read("PR_STATE.md")
            .starts_with("# PR State — 2026-05-14 17:45 UTC\n")
    );
}

#[test]
fn a_second_run_within_the_minute_delivers_nothing_new() {
    let hosted = Hosted::new(three());
    let desk = hosted.desk();
    let run = || desk.good(&[&["pr-state"], &AT[..]].concat());
    let first = run();
    assert_eq!(first, run());
    assert_eq!(lines(&desk.read("inbox/drip.jsonl")).len(), 2);
    let counts = desk.json(&["inbox", "--json"]);
    let total: u64 = counts["mailboxes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mailbox| mailbox["total"].as_u64().unwrap())
        .sum();
    assert_eq!(total, 3);
}

#[test]
fn a_bucket_filters_what_is_printed_and_nothing_else() {
    let hosted = Hosted::new(three());
    let desk = hosted.desk();
    let printed = desk.good(&[&["pr-state", "--bucket", "ship"], &AT[..]].concat());
    assert_eq!(printed.lines().count(), 1);
    assert!(printed.starts_with("o/two#2 "), "{printed}");
    assert_eq!(lines(&desk.read("pr-state.jsonl")).len(), 3);
}

/// What the demo's world is there to show is what the demo's dispatch finds.
#[test]
fn the_demo_shows_what_it_is_there_to_show() {
    let desk = Desk::new();
    desk.good(&["run", "--demo", "--once"]);
    let found: BTreeMap<(String, u64), String> = lines(&desk.read("pr-state.jsonl"))
        .iter()
        .map(|line| {
            (
                (
                    line["repo"].as_str().unwrap().to_owned(),
                    line["pr"].as_u64().unwrap(),
                ),
                line["rule"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let expected: BTreeMap<(String, u64), String> = world::demo_answers()
        .into_iter()
        .map(|answer| {
            (
                (answer.at.repo, u64::from(answer.at.number)),
                answer.rule.to_owned(),
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn an_empty_run_says_so() {
    let hosted = Hosted::new(World::builder(DEMO_NOW).build());
    let desk = hosted.desk();
    let document = desk.json(&[&["pr-state", "--json"], &AT[..]].concat());
    assert_eq!(document["prs"], json!([]));
    assert_eq!(lines(&desk.read("pr-state.jsonl")).len(), 1);
    assert!(desk.home().join("PR_STATE.md").exists());
}

#[test]
fn a_repository_that_is_not_there_is_named() {
    let hosted = Hosted::new(three());
    let run = hosted.desk().run(&["pr-state", "--repo", "o/nowhere"]);
    refused(&run, 1, &["o/nowhere"]);
}

#[test]
fn no_token_and_a_refused_token_are_told_apart_from_the_rest() {
    let hosted = Hosted::new(three());
    let none = Desk::new().with("GITHUB_API_URL", &hosted.served().api_url());
    refused(&none.run(&["pr-state"]), 3, &["no token", "GITHUB_TOKEN"]);
    refused(&none.run(&["run"]), 3, &["no token", "GITHUB_TOKEN"]);
    let bad = Desk::new()
        .with("GITHUB_API_URL", &hosted.served().api_url())
        .with("GITHUB_TOKEN", "not-the-one");
    for words in [
        &["pr-state"][..],
        &["pr-state", "--dry-run"],
        &["run", "--once"],
        &["run"],
    ] {
        let run = bad.run(words);
        assert_eq!(run.code, Some(3), "{words:?}: {run:?}");
        assert!(run.stderr.contains("refused the credentials"), "{run:?}");
        assert!(!run.stderr.contains("not-the-one"), "{run:?}");
    }
    // GH_TOKEN stands in where GITHUB_TOKEN is not set, or empty.
    let second = Desk::new()
        .with("GITHUB_API_URL", &hosted.served().api_url())
        .with("GITHUB_TOKEN", "")
        .with("GH_TOKEN", hosted.served().token());
    second.good(&["pr-state", "--dry-run"]);
}

#[test]
fn a_token_without_the_scopes_is_refused_and_told_which() {
    let hosted = Hosted::new(three());
    let said = "Your token has not been granted the required scopes to execute this query. The 'login' field \
                requires one of the following scopes: ['read:org'].";
    for operation in ["Viewer", "OpenPulls"] {
        hosted.served().faults().clear();
        let field = if operation == "Viewer" {
            "Query.viewer"
        } else {
            "Query.search"
        };
        let fault = Fault::field_error(field, Some("INSUFFICIENT_SCOPES"), said).on_operation(operation);
        hosted.served().faults().add(fault);
        let desk = hosted.desk();
        for words in [&["pr-state"][..], &["run", "--once"]] {
            let run = desk.run(words);
            assert_eq!(run.code, Some(3), "{operation}, {words:?}: {run:?}");
            let error: Vec<&str> = run
                .stderr
                .lines()
                .filter(|line| !line.contains(" WARN "))
                .collect();
            assert!(error.concat().contains("['read:org']"), "{run:?}");
            assert!(error.concat().contains("scope that is named"), "{run:?}");
        }
    }
    hosted.served().faults().clear();
}

/// Some that are skipped are no failure of the run; all are, since nothing came of it.
#[test]
fn a_run_that_skipped_every_pull_request_is_a_failure_and_one_that_skipped_some_is_none() {
    let hosted = Hosted::new(three());
    let protect = |repo, number| {
        let fault = Fault::saml("Repository.pullRequest").on_pull((repo, number));
        hosted.served().faults().add(fault);
    };
    protect("o/one", 1);
    let some = hosted.desk().json(&[&["pr-state", "--json"], &AT[..]].concat());
    assert_eq!(
        (
            some["prs"].as_array().unwrap().len(),
            some["skipped"].as_array().unwrap().len()
        ),
        (2, 1)
    );

    protect("o/two", 2);
    protect("p/three", 3);
    let desk = hosted.desk();
    let run = desk.run(&[&["pr-state", "--json"], &AT[..]].concat());
    refused(
        &run,
        1,
        &["every pull request was skipped, 3 in all", "pr-state-errors.log"],
    );
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["skipped"].as_array().unwrap().len(), 3);
    assert_eq!(desk.read("pr-state-errors.log").lines().count(), 3);
    for words in [&["pr-state", "--dry-run"][..], &["run", "--once"]] {
        let run = desk.run(&[words, &AT[..]].concat());
        refused(&run, 1, &["every pull request was skipped, 3 in all"]);
    }
    hosted.served().faults().clear();
}

#[test]
fn what_is_no_github_is_said_to_be_none() {
    // Nobody listens on a port that was just given back.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let down = Desk::new()
        .with("GITHUB_API_URL", &format!("http://{closed}"))
        .with("GITHUB_TOKEN", "t");
    refused(
        &down.run(&["pr-state", "--retry-wait", "0s"]),
        4,
        &["cannot reach"],
    );

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _read = stream.read(&mut request);
            let page = "<html>Sign in</html>";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
            let _sent = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len());
        }
    });
    let portal = Desk::new()
        .with("GITHUB_API_URL", &format!("http://{address}"))
        .with("GITHUB_TOKEN", "t");
    refused(&portal.run(&["pr-state"]), 1, &["not JSON", "text/html"]);

    let plain = Desk::new()
        .with("GITHUB_API_URL", "http://github.example.org")
        .with("GITHUB_TOKEN", "t");
    refused(&plain.run(&["pr-state"]), 2, &["not encrypted"]);
}

#[test]
fn a_queue_line_that_is_not_json_is_skipped_and_reported() {
    let hosted = Hosted::new(three());
    let desk = hosted.desk();
    desk.write(
        "drip-queue/a.jsonl",
        "not json\n{\"repo\":\"o/two\",\"pr_number\":2,\"branch\":\"b\",\"status\":\"open\"}\n",
    );
    let document = desk.json(&[&["pr-state", "--from-queue", "--json"], &AT[..]].concat());
    assert_eq!(document["prs"].as_array().unwrap().len(), 1);
    assert_eq!(document["prs"][0]["repo"], "o/two");
    let log = desk.read("pr-state-errors.log");
    assert!(log.contains("drip-queue/a.jsonl:1"), "{log}");
}
