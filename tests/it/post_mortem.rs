//! `sweep quarantine` and `sweep replay`: what happened to messages, and the two ways out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Desk, files};

/// A home with one message of `qa` in quarantine, rejected by hand; the message's id.
fn rejected(desk: &Desk) -> String {
    let sent = desk.json(&["send", "qa", "reattest", "--repo", "o/r", "--pr", "7", "--json"]);
    let id = sent["msg_id"].as_str().unwrap().to_owned();
    desk.good(&["next", "qa"]);
    desk.good(&[
        "nack",
        "qa",
        &id,
        "--reason",
        "no such \u{1b}[31mhead",
        "--reject",
    ]);
    id
}

fn events(message: &Value) -> Vec<&str> {
    message["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

#[test]
fn what_is_in_quarantine_is_listed_shown_and_tried_again() {
    let desk = Desk::new();
    assert_eq!(desk.good(&["quarantine"]), "nothing is in quarantine\n");
    let id = rejected(&desk);
    let listed = desk.json(&["quarantine", "list", "--json"]);
    assert_eq!(listed["quarantined"][0]["mailbox"], "qa");
    assert_eq!(listed["quarantined"][0]["message"]["message"]["msg_id"], id);
    assert!(desk.good(&["quarantine"]).contains("o/r#7"));

    let shown = desk.json(&["quarantine", "show", "qa", &id, "--json"]);
    assert_eq!(events(&shown), ["taken", "quarantined"]);
    assert_eq!(shown["events"][1]["reason"], "no such \u{1b}[31mhead");
    let text = desk.good(&["quarantine", "show", "qa", &id]);
    assert!(
        text.contains("to quarantine (rejected)") && !text.contains('\u{1b}'),
        "{text}"
    );

    desk.good(&["quarantine", "retry", "qa", &id]);
    assert_eq!(desk.good(&["quarantine"]), "nothing is in quarantine\n");
    assert!(desk.good(&["next", "qa"]).contains(&id));
    let again = desk.run(&["quarantine", "retry", "qa", &id]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("is not in quarantine"), "{again:?}");
}

#[test]
fn what_is_dropped_is_over_and_stays_on_record() {
    let desk = Desk::new();
    let id = rejected(&desk);
    let dropped = desk.json(&[
        "quarantine",
        "drop",
        "qa",
        &id,
        "--reason",
        "the branch is gone",
        "--json",
    ]);
    assert_eq!(
        dropped,
        json!({ "mailbox": "qa", "msg_id": id, "now": "dropped" })
    );
    assert_eq!(desk.good(&["next", "qa"]), "");
    let replayed = desk.json(&["replay", "qa", "--json"]);
    assert_eq!(
        events(&replayed["messages"][0]),
        ["taken", "quarantined", "dropped"]
    );
    assert_eq!(
        replayed["messages"][0]["events"][2]["reason"],
        "the branch is gone"
    );
}

/// Contract, section 2: replay never changes a mailbox. A message in somebody's hand stays there.
#[test]
fn a_replay_leaves_the_home_as_it_is() {
    let desk = Desk::new();
    desk.good(&["send", "qa", "reattest", "--repo", "o/r", "--pr", "7"]);
    desk.good(&["send", "qa", "reattest", "--repo", "o/r", "--pr", "8"]);
    desk.good(&["next", "qa"]);
    let contents = || -> BTreeMap<String, Vec<u8>> {
        let home: PathBuf = desk.home();
        files(&home)
            .into_iter()
            .map(|file| (file.clone(), std::fs::read(home.join(file)).unwrap()))
            .collect()
    };
    let before = contents();
    let replayed = desk.json(&["replay", "qa", "--json"]);
    assert!(before == contents(), "a file of the home changed");
    let messages = replayed["messages"].as_array().unwrap();
    assert_eq!(
        messages.iter().map(events).collect::<Vec<_>>(),
        [vec!["taken"], vec![]]
    );
    assert_eq!(messages[0]["state"], "leased");

    let one = desk.json(&["replay", "qa", "--pr", "o/r#8", "--json"]);
    assert_eq!(one["messages"][0]["seq"], 2);
    assert_eq!(one["messages"].as_array().unwrap().len(), 1);
    assert_eq!(
        desk.good(&["replay", "qa", "--until", "2020-01-01T00:00:00Z"]),
        "no messages\n"
    );
    let text = desk.good(&["replay", "qa"]);
    assert!(
        text.contains("taken by the pull side, attempt 1, until"),
        "{text}"
    );
    assert_eq!(desk.run(&["replay", "nobody"]).code, Some(2));
}
