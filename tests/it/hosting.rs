//! `sweep run`: one round, a demo, a drain, and the lines that other programs write.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Desk, Hosted, ended, files};
use world::{DEMO_NOW, Fault, PullSpec, World};

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn one_round_of_the_demo_needs_no_token_and_leaves_nothing_unread() {
    let desk = Desk::new();
    let said = desk.good(&["run", "--demo", "--once"]);
    assert!(
        said.starts_with("demo: an embedded GitHub at http://127.0.0.1:"),
        "{said}"
    );
    assert!(
        said.contains(&format!("{}/PR_STATE.md", desk.home().display())),
        "{said}"
    );
    let counts = desk.json(&["inbox", "--json"]);
    for mailbox in counts["mailboxes"].as_array().unwrap() {
        assert_eq!(
            (&mailbox["unread"], &mailbox["quarantined"]),
            (&json!(0), &json!(0)),
            "{mailbox}"
        );
    }
    for file in ["DECISIONS.md", "PR_STATE.md", "retro.jsonl", "inbox/_acks.jsonl"] {
        assert!(desk.home().join(file).exists(), "{file}");
    }
}

#[test]
fn the_demo_keeps_off_a_home_that_holds_somebodys_work() {
    let desk = Desk::new();
    desk.good(&["send", "qa", "reattest", "--repo", "a/b", "--pr", "1"]);
    let run = desk.run(&["run", "--demo", "--once"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("holds what no demo made"), "{run:?}");

    // Files of one's own are somebody's work too, though no mailbox is there yet.
    let desk = Desk::new();
    desk.write("DECISIONS.md", "- [ ] mine\n");
    assert_eq!(desk.run(&["run", "--demo", "--once"]).code, Some(1));
    assert_eq!(desk.read("DECISIONS.md"), "- [ ] mine\n");
    assert_eq!(files(&desk.home()), ["DECISIONS.md"]);
}

#[test]
fn while_it_runs_it_holds_the_home_and_a_signal_drains_it() {
    let hosted = Hosted::new(World::builder(DEMO_NOW).pull(PullSpec::new("o/r", 1)).build());
    let desk = hosted.desk();
    for name in ["INT", "TERM"] {
        let before = hosted.served().log().len();
        let mut child = desk
            .command(&["run"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It asks who it is, then again at its first dispatch, which follows the opening of the mailboxes.
        hosted.wait_for(|log| log.len() >= before + 2);
        let other = desk.run(&["run", "--actors", "retro"]);
        assert_eq!(other.code, Some(5), "{other:?}");
        assert!(
            other.stderr.contains(&format!("process {}", child.id())),
            "{other:?}"
        );
        desk.good(&["inbox"]);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(0), "SIG{name}");
    }
    desk.good(&["inbox"]);
}

#[test]
fn chosen_actors_alone_need_no_credentials() {
    let desk = Desk::new();
    desk.good(&[
        "send", "retro", "audit", "--repo", "a/b", "--pr", "1", "--msg-id", "m-1",
    ]);
    desk.good(&[
        "send", "qa", "reattest", "--repo", "a/b", "--pr", "1", "--msg-id", "m-2",
    ]);
    desk.good(&["run", "--once", "--actors", "retro"]);
    let state = |actor: &str| desk.json(&["inbox", actor, "--json"])["messages"][0]["state"].clone();
    assert_eq!((state("retro"), state("qa")), (json!("acked"), json!("unread")));
}

#[test]
fn actors_that_are_not_there_and_a_pinned_clock_without_an_end_are_usage() {
    let desk = Desk::new();
    for (words, said) in [
        (&["run", "--actors", "qa,qq"][..], "\"qq\""),
        (&["run", "--now", DEMO_NOW], "--once"),
    ] {
        let run = desk.run(words);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(said), "{run:?}");
    }
    desk.write("config.toml", "[actors]\ndisable = [\"qa\"]\n");
    assert_eq!(desk.run(&["run", "--once", "--actors", "qa"]).code, Some(2));
    assert_eq!(
        desk.run(&["send", "qa", "reattest", "--repo", "a/b", "--pr", "1"])
            .code,
        Some(2)
    );
}

#[test]
fn a_line_that_another_program_wrote_is_taken_in_and_a_malformed_one_is_reported() {
    let desk = Desk::new();
    let ts = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    let line = json!({
        "ts": ts, "from": "script", "intent": "audit", "msg_id": "script-1",
        "repo": "a/b", "pr": 1,
    });
    desk.write("inbox/retro.jsonl", &format!("{line}\nnot json\n"));
    let run = desk.run(&["run", "--once", "--actors", "retro"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.stderr.matches("retro.jsonl:2").count(), 1, "{run:?}");
    let inbox = desk.json(&["inbox", "retro", "--json"]);
    assert_eq!(inbox["messages"][0]["message"]["msg_id"], "script-1");
    assert_eq!(inbox["messages"][0]["outcome"], "recorded");
    let acks: Vec<Value> = desk
        .read("inbox/_acks.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(acks.len(), 1);
    assert_eq!(
        (
            &acks[0]["from"],
            &acks[0]["intent"],
            &acks[0]["msg_id"],
            &acks[0]["outcome"]
        ),
        (
            &json!("retro"),
            &json!("ack"),
            &json!("script-1"),
            &json!("recorded")
        )
    );
}

#[test]
fn an_ack_line_of_another_program_needs_no_lease() {
    let desk = Desk::new();
    desk.good(&[
        "send", "qa", "reattest", "--repo", "a/b", "--pr", "1", "--msg-id", "m-1",
    ]);
    let ack = json!({
        "ts": "2026-05-14T17:45:00Z", "from": "qa", "intent": "ack", "msg_id": "m-1", "outcome": "passed",
    });
    desk.write("inbox/_acks.jsonl", &format!("{ack}\n"));
    let inbox = desk.json(&["inbox", "qa", "--json"]);
    assert_eq!(
        (&inbox["messages"][0]["state"], &inbox["messages"][0]["outcome"]),
        (&json!("acked"), &json!("passed"))
    );
}

/// Whoever waits for a round takes exit code 0 for its end.
#[test]
fn a_round_that_is_interrupted_is_no_success() {
    let hosted = Hosted::new(World::builder(DEMO_NOW).pull(PullSpec::new("o/r", 1)).build());
    // Before it holds the home, and in the middle of its dispatch.
    for (operation, held) in [("Viewer", false), ("OpenPulls", true)] {
        hosted.served().faults().clear();
        hosted
            .served()
            .faults()
            .add(Fault::never_answers().on_operation(operation));
        let desk = hosted.desk();
        let before = hosted.served().log().len();
        let child = desk
            .command(&["run", "--once"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let asked = |log: &[world::Logged]| {
            let mut since = log.iter().skip(before);
            since.any(|request| request.operation.as_deref() == Some(operation))
        };
        hosted.wait_for(asked);
        signal(&child, "INT");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{operation}: {stderr}");
        assert!(
            stderr.contains("interrupted before the round was done"),
            "{stderr}"
        );
        assert_eq!(desk.home().join("mailbox").exists(), held);
    }
    hosted.served().faults().clear();
}

#[test]
fn a_home_that_others_can_look_into_is_said_and_left_as_it_is() {
    let desk = Desk::new();
    let mode = || std::fs::metadata(desk.home()).unwrap().permissions().mode() & 0o777;
    desk.good(&["inbox"]);
    assert_eq!(mode(), 0o700);
    let round = ["run", "--once", "--actors", "retro"];
    assert!(!desk.run(&round).stderr.contains("chmod"));
    std::fs::set_permissions(desk.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = desk.run(&round);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(
        run.stderr.matches("(mode 755): `chmod 700` it").count(),
        1,
        "{run:?}"
    );
    assert_eq!(mode(), 0o755);
}

#[test]
fn with_two_signals_it_ends_at_once() {
    let desk = Desk::new();
    let mut command = desk.command(&["run", "--demo"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The first screen is there: it is up, and at rest.
    let mut first = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    signal(&child, "INT");
    signal(&child, "INT");
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    let again = ended(desk.command(&["inbox"]));
    assert_eq!(again.code, Some(0), "{again:?}");
}
