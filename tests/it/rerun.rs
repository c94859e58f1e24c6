//! `sweep replay ACTOR --rerun`: handlers on the messages that they had, every effect noted down instead of done.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use world::World;

use crate::support::{Desk, Hosted, Running, files};

fn contents(desk: &Desk) -> BTreeMap<String, Vec<u8>> {
    let home = desk.home();
    files(&home)
        .into_iter()
        .map(|file| (file.clone(), std::fs::read(home.join(file)).unwrap()))
        .collect()
}

fn verdicts(replayed: &Value) -> Vec<&str> {
    replayed["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["rerun"]["verdict"].as_str().unwrap())
        .collect()
}

/// A line of an export: an audit that `retro` took, and what became of it.
fn audit(id: &str, events: &str) -> String {
    format!(
        r#"{{"mailbox":"retro","appended_at":"2026-05-14T17:45:00Z","message":{{"ts":"2026-05-14T17:45:00Z","from":"t","intent":"audit","msg_id":"{id}","repo":"o/r","pr":7}},"events":[{events}]}}"#
    )
}

fn taken() -> &'static str {
    r#"{"event":"taken","at":"2026-05-14T17:46:00Z","attempt":1,"lease":"00000000-0000-0000-0000-000000000001","by":"actor"}"#
}

fn acked(outcome: &str, more: &str) -> String {
    format!(
        r#"{},{{"event":"acked","at":"2026-05-14T17:46:01Z","outcome":"{outcome}","by":"actor","lease":"00000000-0000-0000-0000-000000000001"{more}}}"#,
        taken()
    )
}

/// A home whose `retro` has a message of every kind that can be told apart.
fn with_a_past() -> Desk {
    let desk = Desk::new();
    let read = format!(r#","read":"{}""#, "ab".repeat(32));
    let set_aside = format!(
        r#"{},{{"event":"quarantined","at":"2026-05-14T17:46:01Z","reason":"the disk was full","kind":"rejected"}}"#,
        taken()
    );
    let by_mailbox = r#"{"event":"acked","at":"2026-05-14T17:46:01Z","outcome":"superseded","by":"mailbox"}"#;
    let lines = [
        audit("same", &acked("recorded", "")),
        audit("code", &acked("kept", "")),
        audit("world", &acked("kept", &read)),
        audit("set-aside", &set_aside),
        audit("superseded", by_mailbox),
        audit("unread", ""),
    ];
    let file = desk.beside("past.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    desk.good(&["import", file.to_str().unwrap()]);
    desk
}

const VERDICTS: [&str; 6] = ["same", "code_moved", "world_moved", "differs", "not_run", "new"];

#[test]
fn what_a_handler_does_today_is_held_against_the_record() {
    let desk = with_a_past();
    let before = contents(&desk);
    let replayed = desk.json(&["replay", "retro", "--rerun", "--json"]);
    assert_eq!(verdicts(&replayed), VERDICTS);
    let rerun = |at: usize| &replayed["messages"][at]["rerun"];
    assert_eq!(
        (&rerun(3)["then"], &rerun(3)["now"]),
        (&json!("failed: the disk was full"), &json!("recorded"))
    );
    assert_eq!(rerun(0)["effects"][0]["stands"], "absent");
    assert_eq!(replayed["summary"]["code_moved"], 1);
    // The state and the history stand beside it, as without.
    assert_eq!(replayed["messages"][0]["outcome"], "recorded");

    let text = desk.good(&["replay", "retro", "--rerun"]);
    for said in [
        "  then  kept\n  now   recorded\n  why   the same was read: the code or the configuration moved\n",
        "  would append to retro.jsonl, lines 1; it is not there\n",
        "  not run: acked by mailbox: superseded\n",
    ] {
        assert!(text.contains(said), "{text}");
    }
    let one = desk.json(&["replay", "retro", "--rerun", "--msg-id", "code", "--json"]);
    assert_eq!(verdicts(&one), ["code_moved"]);
    assert!(before == contents(&desk), "a file of the home changed");
}

#[test]
fn while_it_runs_the_mailbox_is_asked_and_stays_as_it_is() {
    let desk = Desk::new();
    let running = Running::start(&desk);
    desk.good(&[
        "send", "retro", "audit", "--repo", "o/r", "--pr", "7", "--msg-id", "m",
    ]);
    while desk.json(&["inbox", "retro", "--json"])["messages"][0]["state"] != "acked" {
        std::thread::yield_now();
    }
    let before = desk.json(&["replay", "retro", "--json"]);
    let record = desk.read("retro.jsonl");
    let replayed = desk.json(&["replay", "retro", "--rerun", "--json"]);
    assert_eq!(verdicts(&replayed), ["same"]);
    // What it would append is there already: the line of the first time.
    assert_eq!(replayed["messages"][0]["rerun"]["effects"][0]["stands"], "same");
    assert_eq!(desk.json(&["replay", "retro", "--json"]), before);
    assert_eq!(desk.read("retro.jsonl"), record);
    running.stop();
}

#[test]
fn what_is_no_handler_is_shown_and_one_without_credentials_is_told() {
    let desk = Desk::new();
    desk.write(
        "actors/notes.toml",
        "consumes = [\"note\"]\ncommand = [\"false\"]\n",
    );
    desk.good(&["send", "notes", "note", "--msg-id", "n"]);
    let text = desk.good(&["replay", "notes", "--rerun"]);
    assert!(
        text.starts_with("notes is a program, which is not run again: its messages are shown\n"),
        "{text}"
    );
    assert!(text.contains("now: unread"), "{text}");
    let replayed = desk.json(&["replay", "notes", "--rerun", "--json"]);
    assert_eq!(verdicts(&replayed), ["not_run"]);

    let refused = desk.run(&["replay", "investigate", "--rerun"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(
        refused
            .stderr
            .starts_with("sweep: investigate reads GitHub, and its messages cannot be run again: no token"),
        "{refused:?}"
    );
}

#[test]
fn a_handler_that_reads_github_reads_it_again() {
    let hosted = Hosted::new(World::demo());
    let desk = hosted.desk();
    desk.good(&["run", "--once"]);
    let replayed = desk.json(&["replay", "investigate", "--rerun", "--json"]);
    let verdicts = verdicts(&replayed);
    assert!(!verdicts.is_empty());
    assert!(verdicts.iter().all(|verdict| *verdict == "same"), "{replayed}");
    let first = &replayed["messages"][0]["rerun"];
    assert!(
        first["effects"][0]["what"]
            .as_str()
            .unwrap()
            .starts_with("write investigations/"),
        "{first}"
    );
}
