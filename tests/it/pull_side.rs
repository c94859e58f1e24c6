//! `send`, `inbox`, `next`, `ack` and `nack`: the pull side, one process after the other.

use serde_json::json;

use crate::support::Desk;

const ABOUT: [&str; 4] = ["--repo", "sharkdp/bat", "--pr", "3734"];

fn send(desk: &Desk, id: &str) -> serde_json::Value {
    desk.json(&[&["send", "qa", "reattest", "--json", "--msg-id", id], &ABOUT[..]].concat())
}

#[test]
fn a_message_is_sent_taken_and_acknowledged() {
    let desk = Desk::new();
    assert_eq!(
        send(&desk, "m-1"),
        json!({"mailbox": "qa", "seq": 1, "msg_id": "m-1", "known": false, "outcome": null})
    );

    let taken = desk.good(&["next", "qa"]);
    assert_eq!(taken.lines().count(), 1);
    let taken: serde_json::Value = serde_json::from_str(&taken).unwrap();
    assert_eq!(
        (
            &taken["from"],
            &taken["intent"],
            &taken["msg_id"],
            &taken["repo"],
            &taken["pr"]
        ),
        (
            &json!("send"),
            &json!("reattest"),
            &json!("m-1"),
            &json!("sharkdp/bat"),
            &json!(3734)
        )
    );
    let lease = taken["lease"].as_str().unwrap();

    // It is in hand: there is nothing else to take, and the lease outlives the process that took it.
    assert_eq!(desk.good(&["next", "qa"]), "");
    let inbox = desk.json(&["inbox", "qa", "--json"]);
    assert_eq!(inbox["messages"][0]["state"], "leased");
    assert_eq!(inbox["messages"][0]["attempts"], 1);

    desk.good(&["ack", "qa", "m-1", "--outcome", "passed", "--lease", lease]);
    let inbox = desk.json(&["inbox", "qa", "--json"]);
    assert_eq!(inbox["messages"][0]["state"], "acked");
    assert_eq!(inbox["messages"][0]["outcome"], "passed");
    assert_eq!(inbox["messages"][0]["by"], "pull");

    // First delivery wins: a repeat is told the first one's number and outcome.
    assert_eq!(
        send(&desk, "m-1"),
        json!({"mailbox": "qa", "seq": 1, "msg_id": "m-1", "known": true, "outcome": "passed"})
    );
    let again = desk.run(&["ack", "qa", "m-1", "--outcome", "passed"]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("acknowledged already: passed"), "{again:?}");
}

#[test]
fn a_message_that_is_handed_back_is_taken_again_and_one_that_is_rejected_is_not() {
    let desk = Desk::new();
    send(&desk, "m-1");
    desk.good(&["next", "qa"]);
    desk.good(&["nack", "qa", "m-1", "--reason", "not now", "--retry-after", "0s"]);
    let taken: serde_json::Value = serde_json::from_str(&desk.good(&["next", "qa"])).unwrap();
    assert_eq!(taken["msg_id"], "m-1");
    let said = desk.json(&["nack", "qa", "m-1", "--reason", "never", "--reject", "--json"]);
    assert_eq!(said["quarantined"], true);
    assert_eq!(desk.good(&["next", "qa"]), "");
    let inbox = desk.json(&["inbox", "qa", "--json"]);
    assert_eq!(inbox["messages"][0]["state"], "quarantined");
    assert_eq!(inbox["messages"][0]["reason"], "never");
    let actors = desk.json(&["actors", "--json"]);
    assert_eq!(actors["attention"][0]["key"], "quarantine/qa");
}

#[test]
fn an_ack_under_a_lease_that_is_not_current_is_refused() {
    let desk = Desk::new();
    send(&desk, "m-1");
    let taken: serde_json::Value = serde_json::from_str(&desk.good(&["next", "qa"])).unwrap();
    let stale = taken["lease"].as_str().unwrap();
    desk.good(&["nack", "qa", "m-1", "--reason", "not now", "--retry-after", "0s"]);
    desk.good(&["next", "qa"]);
    let run = desk.run(&["ack", "qa", "m-1", "--outcome", "late", "--lease", stale]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no longer current"), "{run:?}");
    // Without a lease the current one is meant.
    desk.good(&["ack", "qa", "m-1", "--outcome", "in time"]);
}

#[test]
fn what_nobody_took_is_not_settled_and_the_way_to_take_it_is_said() {
    let desk = Desk::new();
    send(&desk, "m-1");
    for words in [
        &["ack", "qa", "m-1", "--outcome", "done"][..],
        &["nack", "qa", "m-1", "--reason", "no"],
    ] {
        let run = desk.run(words);
        assert_eq!(run.code, Some(1));
        assert!(run.stderr.contains("is not taken"), "{run:?}");
        assert!(run.stderr.contains("`sweep next qa` takes"), "{run:?}");
    }
}

#[test]
fn a_message_that_is_known_is_told_as_it_stands() {
    let desk = Desk::new();
    let again = || {
        desk.good(&[
            "send", "qa", "reattest", "--repo", "o/r", "--pr", "7", "--msg-id", "m-1",
        ])
    };
    again();
    assert!(again().ends_with("was there before, unread\n"));
    desk.good(&["next", "qa"]);
    assert!(again().ends_with("was there before, taken\n"));
    desk.good(&["nack", "qa", "m-1", "--reason", "never", "--reject"]);
    assert!(again().ends_with("was there before, in quarantine\n"));
}

#[test]
fn the_inbox_is_filtered() {
    let desk = Desk::new();
    send(&desk, "m-1");
    desk.good(&[
        "send",
        "qa",
        "reattest",
        "--repo",
        "hyperium/hyper",
        "--pr",
        "7",
        "--msg-id",
        "m-2",
    ]);
    let ids = |words: &[&str]| -> Vec<String> {
        let inbox = desk.json(&[&["inbox", "qa", "--json"], words].concat());
        let messages = inbox["messages"].as_array().unwrap().clone();
        messages
            .iter()
            .map(|message| message["message"]["msg_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&[]), ["m-1", "m-2"]);
    assert_eq!(ids(&["--pr", "Hyperium/Hyper#7"]), ["m-2"]);
    assert_eq!(ids(&["--pr", "hyperium/hyper#8"]), Vec::<String>::new());
    desk.good(&["next", "qa"]);
    desk.good(&["ack", "qa", "m-1", "--outcome", "passed"]);
    assert_eq!(ids(&["--unread"]), ["m-2"]);
    let counts = desk.json(&["inbox", "--json"]);
    let qa = counts["mailboxes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|mailbox| mailbox["name"] == "qa")
        .unwrap()
        .clone();
    assert_eq!(
        (&qa["unread"], &qa["acked"], &qa["total"]),
        (&json!(1), &json!(1), &json!(2))
    );
}

#[test]
fn text_is_for_people() {
    let desk = Desk::new();
    desk.good(&[
        "send", "qa", "reattest", "--repo", "a/b", "--pr", "1", "--msg-id", "m-1",
    ]);
    assert_eq!(
        desk.good(&["inbox", "qa"]),
        "seq  pull request  intent    attempts  state   message id\n\
         1    a/b#1         reattest  0         unread  m-1\n"
    );
    assert_eq!(desk.good(&["inbox", "retro"]), "no messages\n");
    // Ages are as of the moment that is asked for.
    let later = (chrono::Utc::now() + chrono::TimeDelta::minutes(185)).to_rfc3339();
    for listing in ["inbox", "actors"] {
        let listed = desk.good(&[listing, "--now", &later]);
        let qa = listed.lines().find(|line| line.starts_with("qa ")).unwrap();
        assert!(qa.contains("3h 5m") || qa.contains("3h 4m"), "{listed}");
    }
    assert!(desk.good(&["actors"]).starts_with("actor "));
}

/// A message that could not be printed is nobody's: it is unread again and has cost no attempt, also where it is a pipe
/// that was closed.
#[test]
fn a_message_that_nobody_got_is_handed_back() {
    let desk = Desk::new();
    send(&desk, "m-1");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    for out in [std::process::Stdio::from(writer), full.into()] {
        let mut command = desk.command(&["next", "qa"]);
        let run = command.stdout(out).output().unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(1), "{said}");
        assert!(said.contains("nobody took the message"), "{said}");
        let inbox = desk.json(&["inbox", "qa", "--json"]);
        let message = &inbox["messages"][0];
        assert_eq!(
            (&message["state"], &message["attempts"]),
            (&json!("unread"), &json!(0))
        );
    }
}

#[test]
fn the_quarantine_is_one_document_where_nothing_else_is_said() {
    let desk = Desk::new();
    let listed = desk.json(&["quarantine", "--json"]);
    assert_eq!(listed, desk.json(&["quarantine", "list", "--json"]));
}
