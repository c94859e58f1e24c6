//! Commands while `sweep run` holds the home: asked over its control socket.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Desk, Running};

fn send(desk: &Desk, id: &str) -> Value {
    desk.json(&[
        "send", "qa", "reattest", "--repo", "a/b", "--pr", "7", "--msg-id", id, "--json",
    ])
}

#[test]
fn while_it_runs_every_command_works_over_its_socket() {
    let desk = Desk::new();
    let running = Running::start(&desk);
    assert!(desk.home().join("control.sock").exists());

    assert_eq!(send(&desk, "m-1")["seq"], 1);
    assert_eq!(send(&desk, "m-1")["known"], true);
    let taken: Value = serde_json::from_str(&desk.good(&["next", "qa"])).unwrap();
    assert_eq!(taken["msg_id"], "m-1");
    assert_eq!(desk.good(&["next", "qa"]), "");
    desk.good(&["nack", "qa", "m-1", "--reason", "not now", "--retry-after", "0s"]);
    let taken: Value = serde_json::from_str(&desk.good(&["next", "qa"])).unwrap();
    let lease = taken["lease"].as_str().unwrap();
    desk.good(&["ack", "qa", "m-1", "--outcome", "passed", "--lease", lease]);
    let again = desk.run(&["ack", "qa", "m-1", "--outcome", "passed"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("acknowledged already: passed"), "{again:?}");

    let inbox = desk.json(&["inbox", "qa", "--json"]);
    assert_eq!(inbox["messages"][0]["outcome"], "passed");
    let counts = desk.json(&["inbox", "--json"]);
    let qa = counts["mailboxes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|mailbox| mailbox["name"] == "qa");
    assert_eq!(qa.unwrap()["acked"], 1);

    // `retro` lives in the other process, and is alive there; `qa` is declared and not hosted.
    let actors = desk.json(&["actors", "--json"]);
    let state = |name: &str| {
        let actors = actors["actors"].as_array().unwrap();
        actors.iter().find(|actor| actor["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!((state("retro"), state("qa")), (json!("idle"), json!("elsewhere")));
    let refused = desk.run(&["send", "qa", "dance", "--repo", "a/b", "--pr", "7"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");

    running.stop();
    assert!(!desk.home().join("control.sock").exists());
    let inbox = desk.json(&["inbox", "qa", "--json"]);
    assert_eq!(inbox["messages"][0]["outcome"], "passed");
    let mirror = desk.read("inbox/qa.jsonl");
    assert_eq!(mirror.lines().count(), 1, "{mirror}");
}

#[test]
fn a_killed_one_leaves_a_socket_that_stops_nobody() {
    let desk = Desk::new();
    let running = Running::start(&desk);
    send(&desk, "m-1");
    let taken: Value = serde_json::from_str(&desk.good(&["next", "qa"])).unwrap();
    running.kill();
    assert!(desk.home().join("control.sock").exists());
    // Nobody listens there: the command holds the home itself. The pull lease has outlived the process.
    let inbox = desk.json(&["inbox", "qa", "--json"]);
    assert_eq!(inbox["messages"][0]["lease"], taken["lease"]);
    let running = Running::start(&desk);
    desk.good(&["ack", "qa", "m-1", "--outcome", "passed"]);
    running.stop();
    assert_eq!(
        desk.json(&["inbox", "qa", "--json"])["messages"][0]["state"],
        "acked"
    );
}

#[test]
fn many_commands_at_once_wait_for_each_other_or_are_served_together() {
    let desk = Desk::new();
    for round in ["without", "with"] {
        let running = (round == "with").then(|| Running::start(&desk));
        let sends: Vec<_> = (0..8)
            .map(|at| {
                let id = format!("{round}-{at}");
                let mut command = desk.command(&[
                    "send", "qa", "reattest", "--repo", "a/b", "--pr", "7", "--msg-id", &id,
                ]);
                command
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for send in sends {
            let ended = send.wait_with_output().unwrap();
            assert!(ended.status.success(), "{ended:?}");
        }
        if let Some(running) = running {
            running.stop();
        }
    }
    let inbox = desk.json(&["inbox", "qa", "--json"]);
    assert_eq!(inbox["messages"].as_array().unwrap().len(), 16);
}

#[test]
fn another_version_and_one_that_does_not_answer_are_named_with_the_mend() {
    let desk = Desk::new();
    fs::create_dir_all(desk.home()).unwrap();
    for (words, line) in [
        (
            "sweep-control 2\n",
            "sweep: the home is in use: process {pid} speaks \"sweep-control 2\", this program speaks \
             \"sweep-control 1\"\n  Use the version of sweep that it was started with, or stop it and start this one.\n",
        ),
        (
            "hello\n",
            "sweep: the home is in use: process {pid} speaks \"hello\", this program speaks \"sweep-control 1\"\n  Use \
             the version of sweep that it was started with, or stop it and start this one.\n",
        ),
        (
            "",
            "sweep: the home is in use: process {pid} does not answer\n  See what that process does; ended, it leaves \
             the home to others.\n",
        ),
    ] {
        let socket = desk.home().join("control.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let holder = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(words.as_bytes()).unwrap();
        });
        let run = desk.run(&["inbox"]);
        holder.join().unwrap();
        assert_eq!(run.code, Some(5), "{run:?}");
        assert_eq!(run.stderr, line.replace("{pid}", &std::process::id().to_string()));
        fs::remove_file(socket).unwrap();
    }
}
