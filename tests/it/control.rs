//! Commands while `sweep run` holds the home: asked over its control socket.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};
use world::{DEMO_NOW, PullSpec, World};

use crate::support::{Desk, Hosted, PATIENCE, Running, wait_for};

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

/// `send` and then `nack --reject`: a message in quarantine.
fn reject(desk: &Desk, id: &str) {
    send(desk, id);
    desk.good(&["next", "qa"]);
    desk.good(&["nack", "qa", id, "--reason", "no such branch", "--reject"]);
}

#[test]
fn while_it_runs_what_is_in_quarantine_is_listed_shown_tried_again_and_dropped() {
    let desk = Desk::new();
    let running = Running::start(&desk);
    reject(&desk, "m-1");
    reject(&desk, "m-2");
    let listed = || -> Vec<Value> {
        let listed = desk.json(&["quarantine", "list", "--json"]);
        let all = listed["quarantined"].as_array().unwrap().clone();
        all.iter()
            .map(|one| one["message"]["message"]["msg_id"].clone())
            .collect()
    };
    assert_eq!(listed(), ["m-1", "m-2"]);
    let attention = || -> Vec<Value> {
        let actors = desk.json(&["actors", "--json"]);
        actors["attention"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["key"].clone())
            .collect()
    };
    assert_eq!(attention(), ["quarantine/qa"]);
    let shown = desk.json(&["quarantine", "show", "qa", "m-1", "--json"]);
    assert_eq!(shown["events"][1]["reason"], "no such branch");

    desk.good(&["quarantine", "retry", "qa", "m-1"]);
    desk.good(&[
        "quarantine",
        "drop",
        "qa",
        "m-2",
        "--reason",
        "the branch is gone",
    ]);
    assert_eq!(listed(), Vec::<Value>::new());
    assert_eq!(attention(), Vec::<Value>::new());
    for verb in ["retry", "drop"] {
        let again = desk.run(&["quarantine", verb, "qa", "m-2"]);
        assert_eq!(again.code, Some(1), "{again:?}");
        assert!(again.stderr.contains("is not in quarantine"), "{again:?}");
    }
    assert!(desk.good(&["next", "qa"]).contains("\"m-1\""));
    let replayed = desk.json(&["replay", "qa", "--json"]);
    let events = |at: usize| -> Vec<&str> {
        let events = replayed["messages"][at]["events"].as_array().unwrap();
        events
            .iter()
            .map(|event| event["event"].as_str().unwrap())
            .collect()
    };
    assert_eq!(events(0), ["taken", "quarantined", "retried", "taken"]);
    assert_eq!(events(1), ["taken", "quarantined", "dropped"]);
    running.stop();
    assert_eq!(
        desk.json(&["inbox", "qa", "--json"])["messages"][1]["outcome"],
        "dropped"
    );
}

#[test]
fn while_it_runs_a_dispatch_delivers_over_its_socket_and_its_actors_handle_it() {
    let hosted = Hosted::new(
        World::builder(DEMO_NOW)
            .pull(PullSpec::new("o/one", 1).conflicting())
            .pull(PullSpec::new("p/three", 3).decision("REVIEW_REQUIRED"))
            .build(),
    );
    let desk = hosted.desk();
    let running = Running::start(&desk);
    let document = desk.json(&["pr-state", "--json", "--now", DEMO_NOW]);
    assert_eq!(
        (&document["counts"]["rebase"], &document["counts"]["wait"]),
        (&json!(1), &json!(1))
    );
    let again = desk.json(&["pr-state", "--json", "--now", DEMO_NOW]);
    assert_eq!(again["prs"], document["prs"]);
    let state = |actor: &str| desk.json(&["inbox", actor, "--json"])["messages"].clone();
    // Nobody hosts `drip`; `retro` is hosted, and handles its own.
    assert_eq!(
        (
            state("drip").as_array().unwrap().len(),
            &state("drip")[0]["state"]
        ),
        (1, &json!("unread"))
    );
    wait_for("handled by retro", || state("retro")[0]["state"] == "acked");
    assert_eq!(state("retro").as_array().unwrap().len(), 1);
    running.stop();
    assert!(desk.read("PR_STATE.md").starts_with("# PR State"));
}

/// Contract, section 3, rule 4: one at a time unless an actor declares more, whoever asks at once.
#[test]
fn of_scripts_that_ask_at_once_as_many_get_a_message_as_the_actor_declares() {
    let desk = Desk::new();
    desk.write("actors/desk.toml", "consumes = [\"remember\"]\n");
    desk.write("actors/counter.toml", "consumes = [\"remember\"]\nwip = 2\n");
    for actor in ["desk", "counter"] {
        for n in 0..6 {
            desk.good(&["send", actor, "remember", "--msg-id", &format!("m-{n}")]);
        }
    }
    for round in ["without", "with"] {
        let running = (round == "with").then(|| Running::start(&desk));
        for (actor, most) in [("desk", 1), ("counter", 2)] {
            let asked: Vec<_> = (0..4)
                .map(|_| {
                    let mut next = desk.command(&["next", actor]);
                    next.stdout(Stdio::piped())
                        .stderr(Stdio::piped())
                        .spawn()
                        .unwrap()
                })
                .collect();
            let mut taken: Vec<Value> = Vec::new();
            for next in asked {
                let output = next.wait_with_output().unwrap();
                assert!(output.status.success(), "{output:?}");
                if !output.stdout.is_empty() {
                    taken.push(serde_json::from_slice(&output.stdout).unwrap());
                }
            }
            assert_eq!(taken.len(), most, "{round}, {actor}: {taken:?}");
            for message in taken {
                let id = message["msg_id"].as_str().unwrap();
                desk.good(&["ack", actor, id, "--outcome", "noted"]);
            }
        }
        if let Some(running) = running {
            running.stop();
        }
    }
}

/// A holder that is stopped after the first words keeps nobody waiting.
#[test]
fn one_that_stops_after_the_first_words_is_named_with_the_mend() {
    let desk = Desk::new();
    fs::create_dir_all(desk.home()).unwrap();
    let listener = UnixListener::bind(desk.home().join("control.sock")).unwrap();
    let pid = std::process::id();
    let stopped = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let hello = format!("sweep-control 1\n{{\"pid\":{pid},\"since\":\"2026-05-14T17:45:00Z\"}}\n");
        client.write_all(hello.as_bytes()).unwrap();
        // It reads what it is asked, until the other side gives up, and says nothing.
        let _ = std::io::copy(&mut client, &mut std::io::sink());
    });
    let began = Instant::now();
    let run = desk.run(&["inbox"]);
    assert!(began.elapsed() < PATIENCE, "{run:?}");
    stopped.join().unwrap();
    assert_eq!(run.code, Some(5), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 2, "{run:?}");
    for word in [&format!("process {pid} has shown no sign of life"), "kill -CONT"] {
        assert!(run.stderr.contains(word), "{run:?}");
    }
}

/// A `sweep run` that is stopped (Ctrl-Z, a debugger) is named, and serves again when it goes on.
#[test]
fn one_that_is_stopped_is_named_and_serves_when_it_goes_on() {
    let desk = Desk::new();
    let running = Running::start(&desk);
    send(&desk, "m-1");
    running.signal("STOP");
    let run = desk.run(&["inbox"]);
    assert_eq!(run.code, Some(5), "{run:?}");
    let pid = running.id();
    assert!(
        run.stderr.contains(&format!("process {pid} does not answer")),
        "{run:?}"
    );
    assert!(run.stderr.contains(&format!("kill -CONT {pid}")), "{run:?}");
    running.signal("CONT");
    assert_eq!(
        desk.json(&["inbox", "qa", "--json"])["messages"][0]["state"],
        "unread"
    );
    running.stop();
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
            "sweep: the home is in use: process {pid} does not answer\n  Stopped, it goes on with `kill -CONT {pid}`; \
             ended, it leaves the home to others.\n",
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
