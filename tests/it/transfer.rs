//! `sweep export` and `sweep import`: mailboxes as JSONL, and back.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Desk, Running, ended};

/// A home with a message of `qa` in each state, and a dead letter's worth of history: acked by hand, in quarantine, taken
/// out of it and dropped, in somebody's hand, unread.
fn lived_in() -> Desk {
    let desk = Desk::new();
    for (number, id) in (1..).zip(["acked", "rejected", "dropped", "held", "unread"]) {
        let number = number.to_string();
        desk.good(&[
            "send", "qa", "reattest", "--repo", "o/r", "--pr", &number, "--msg-id", id,
        ]);
    }
    desk.good(&["next", "qa"]);
    desk.good(&["ack", "qa", "acked", "--outcome", "looked at \"it\""]);
    for id in ["rejected", "dropped"] {
        desk.good(&["next", "qa"]);
        desk.good(&["nack", "qa", id, "--reason", "no such head", "--reject"]);
    }
    desk.good(&["quarantine", "drop", "qa", "dropped"]);
    desk.good(&["next", "qa", "--lease", "10h"]);
    desk.good(&[
        "send", "retro", "audit", "--repo", "o/r", "--pr", "9", "--msg-id", "r",
    ]);
    desk
}

fn states(desk: &Desk) -> [Value; 4] {
    [
        desk.json(&["inbox", "qa", "--json"]),
        desk.json(&["replay", "qa", "--json"]),
        desk.json(&["inbox", "retro", "--json"]),
        desk.json(&["replay", "retro", "--json"]),
    ]
}

/// An import of these lines over standard input.
fn import(desk: &Desk, lines: &str, more: &[&str]) -> crate::support::Ended {
    let file = desk.beside("lines.jsonl");
    std::fs::write(&file, lines).unwrap();
    let mut command = desk.command(&[&["import", "-"], more].concat());
    command.stdin(Stdio::from(std::fs::File::open(&file).unwrap()));
    ended(command)
}

#[test]
fn an_export_gives_another_home_the_same_states() {
    let from = lived_in();
    let file = from.beside("all.jsonl");
    let path = file.to_str().unwrap();
    let told = from.json(&["export", "--out", path, "--json"]);
    assert_eq!(
        (&told["messages"], &told["mailboxes"]["qa"]),
        (&json!(6), &json!(5))
    );
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let text = std::fs::read_to_string(&file).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(first["export"], 1);
    assert!(text.ends_with("{\"end\":{\"messages\":6}}\n"), "{text}");

    let to = Desk::new();
    let taken = to.json(&["import", path, "--json"]);
    assert_eq!((&taken["new"], &taken["known"]), (&json!(6), &json!(0)));
    assert_eq!(states(&to), states(&from));
    // What comes out of there is what came in, but for when.
    let again = to.good(&["export"]);
    assert_eq!(
        again.lines().skip(1).collect::<Vec<_>>(),
        text.lines().skip(1).collect::<Vec<_>>()
    );
    let once_more = to.good(&["import", path]);
    assert_eq!(
        once_more,
        "mailbox  new  known before\nqa       0    5\nretro    0    1\n"
    );
    assert_eq!(states(&to), states(&from));
    // A pull lease outlives the home that it was given in.
    to.good(&["ack", "qa", "held", "--outcome", "done elsewhere"]);

    let one = from.good(&["export", "retro"]);
    assert_eq!(one.lines().count(), 3, "{one}");
    assert_eq!(from.run(&["export", "nobody"]).code, Some(2));
}

#[test]
fn where_a_line_is_refused_nothing_is_imported_and_the_rest_if_asked() {
    let message = |id: &str, intent: &str| {
        format!(
            r#"{{"mailbox":"qa","message":{{"ts":"2026-05-14T17:45:00Z","from":"t","intent":"{intent}","msg_id":"{id}","repo":"o/r","pr":7}}}}"#
        )
    };
    let lines = [
        message("a", "reattest"),
        String::new(),
        message("b", "dance"),
        "{\"mailbox\":\"qa\"".to_owned(),
        message("c", "reattest"),
    ]
    .join("\n");
    let desk = Desk::new();
    let refused = import(&desk, &lines, &[]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    let said: Vec<&str> = refused.stderr.lines().collect();
    assert_eq!(
        said[0],
        "line 3: qa does not declare the intent \"dance\"; it declares reattest"
    );
    assert!(
        said[1].starts_with("line 4: not a line of an export: EOF"),
        "{said:?}"
    );
    assert_eq!(said[2], "sweep: nothing was imported: 2 lines are refused");
    assert!(
        desk.json(&["inbox", "qa", "--json"])["messages"]
            .as_array()
            .unwrap()
            .is_empty()
    );

    let skipped = import(&desk, &lines, &["--skip-refused", "--json"]);
    assert_eq!(skipped.code, Some(1), "{skipped:?}");
    let told: Value = serde_json::from_str(&skipped.stdout).unwrap();
    assert_eq!((&told["new"], &told["refused"]), (&json!(2), &json!(2)));
    assert_eq!(told["refusals"][0]["line"], 3);
    let there = desk.json(&["inbox", "qa", "--json"]);
    let ids: Vec<&str> = there["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["message"]["msg_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a", "c"]);
}

#[test]
fn an_export_that_was_cut_short_is_refused_as_such() {
    let from = lived_in();
    let whole = from.good(&["export"]);
    let cut: String = whole.lines().take(4).map(|line| format!("{line}\n")).collect();
    let desk = Desk::new();
    let refused = import(&desk, &cut, &[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .stderr
            .starts_with("line 4: the export has no end after this line"),
        "{refused:?}"
    );
    let within = &whole[..whole.len() / 2];
    assert_eq!(import(&desk, within, &[]).code, Some(1));
    assert!(!desk.home().join("mailbox").exists(), "nothing was opened for it");
    assert_eq!(import(&desk, &whole, &[]).code, Some(0));
}

#[test]
fn while_it_runs_both_go_over_its_socket() {
    let from = lived_in();
    let whole = from.good(&["export", "qa"]);
    let desk = Desk::new();
    let running = Running::start(&desk);
    let taken = import(&desk, &whole, &[]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    assert_eq!(
        desk.json(&["replay", "qa", "--json"]),
        from.json(&["replay", "qa", "--json"])
    );
    let again = desk.good(&["export", "qa"]);
    assert_eq!(
        again.lines().skip(1).collect::<Vec<_>>(),
        whole.lines().skip(1).collect::<Vec<_>>()
    );
    running.stop();
}

#[test]
fn plain_messages_go_to_whom_it_is_said() {
    let from = lived_in();
    let mirror = from.read("inbox/qa.jsonl");
    let desk = Desk::new();
    let unnamed = import(&desk, &mirror, &[]);
    assert_eq!(unnamed.code, Some(1), "{unnamed:?}");
    assert!(unnamed.stderr.contains("--to ACTOR does"), "{unnamed:?}");
    let taken = import(&desk, &mirror, &["--to", "qa"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    let unread = desk.json(&["inbox", "qa", "--unread", "--json"]);
    assert_eq!(unread["messages"].as_array().unwrap().len(), 5);
}

#[test]
fn a_spoilt_mirror_is_written_anew() {
    let desk = lived_in();
    let before = desk.read("inbox/qa.jsonl");
    desk.write("inbox/qa.jsonl", "spoilt\n");
    let told = desk.json(&["export", "--mirror", "--json"]);
    assert_eq!((&told["messages"], &told["acks"]), (&json!(6), &json!(2)));
    assert_eq!(desk.read("inbox/qa.jsonl"), before);
    let acks = desk.read("inbox/_acks.jsonl");
    assert!(
        acks.lines().any(|line| line.contains("\"msg_id\":\"acked\"")),
        "{acks}"
    );

    // While another process keeps it, that one goes on with the new files.
    let running = Running::start(&desk);
    desk.write("inbox/qa.jsonl", "");
    desk.good(&["export", "--mirror"]);
    assert_eq!(desk.read("inbox/qa.jsonl"), before);
    running.stop();
    assert_eq!(desk.read("inbox/qa.jsonl"), before);
}
