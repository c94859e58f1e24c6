//! Actors without Rust: a file in `<home>/actors/`, and a program or the pull side.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Desk, Running, wait_for};

/// A desk on which programs are found.
fn desk() -> Desk {
    Desk::new().with("PATH", "/usr/local/bin:/usr/bin:/bin")
}

/// A desk with one actor, `notes`, that runs a script for each `remember`.
fn with_script(script: &str, more: &str) -> Desk {
    let desk = desk();
    let command = "command = [\"./notes.sh\"]";
    desk.write(
        "actors/notes.toml",
        &format!("consumes = [\"remember\"]\n{command}\n{more}"),
    );
    desk.write("actors/notes.sh", &format!("#!/bin/sh\n{script}\n"));
    let executable = fs::Permissions::from_mode(0o700);
    fs::set_permissions(desk.home().join("actors/notes.sh"), executable).unwrap();
    desk
}

fn send(desk: &Desk, id: &str) {
    desk.good(&[
        "send",
        "notes",
        "remember",
        "--msg-id",
        id,
        "--payload",
        "{\"what\":\"milk\"}",
    ]);
}

fn round(desk: &Desk) {
    desk.good(&["run", "--once", "--actors", "notes"]);
}

fn first(desk: &Desk) -> Value {
    desk.json(&["inbox", "notes", "--json"])["messages"][0].clone()
}

fn actor(desk: &Desk, name: &str) -> Value {
    let actors = desk.json(&["actors", "--json"])["actors"]
        .as_array()
        .unwrap()
        .clone();
    actors.into_iter().find(|actor| actor["name"] == name).unwrap()
}

fn is_running(pid: &str) -> bool {
    // A process that has ended and was not waited for yet is a zombie, state Z.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn is_there(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.len() > 0)
}

#[test]
fn a_script_gets_the_message_and_its_last_line_is_the_outcome() {
    let desk = with_script("cat > \"$SWEEP_HOME/got\"; echo looking; echo noted milk", "");
    send(&desk, "m-1");
    assert_eq!(actor(&desk, "notes")["state"], "stopped");
    assert_eq!(actor(&desk, "notes")["intents"], json!(["remember"]));
    round(&desk);
    let got = desk.read("got");
    assert_eq!(got.lines().count(), 1);
    let got: Value = serde_json::from_str(&got).unwrap();
    assert_eq!(
        (&got["intent"], &got["msg_id"], &got["what"]),
        (&json!("remember"), &json!("m-1"), &json!("milk"))
    );
    let message = first(&desk);
    assert_eq!(
        (&message["state"], &message["outcome"], &message["attempts"]),
        (&json!("acked"), &json!("noted milk"), &json!(1))
    );
    let acks: Value = serde_json::from_str(desk.read("inbox/_acks.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!((&acks["from"], &acks["msg_id"]), (&json!("notes"), &json!("m-1")));
}

#[test]
fn a_script_that_asks_for_it_again_gets_it_again_and_one_that_fails_spends_its_attempts() {
    let desk = with_script("echo no milk >&2; exit 75", "");
    send(&desk, "m-1");
    round(&desk);
    assert_eq!(
        (&first(&desk)["state"], &first(&desk)["attempts"]),
        (&json!("unread"), &json!(1))
    );
    let desk = with_script("echo no cow >&2; exit 3", "max_attempts = 1\n");
    send(&desk, "m-1");
    round(&desk);
    let message = first(&desk);
    assert_eq!(message["state"], "quarantined");
    let reason = message["reason"].as_str().unwrap();
    assert!(
        reason.ends_with("notes.sh ended with exit code 3: no cow"),
        "{reason}"
    );
    assert_eq!(
        desk.json(&["actors", "--json"])["attention"][0]["key"],
        "quarantine/notes"
    );
}

#[test]
fn a_script_finds_its_variables_and_no_secret() {
    let desk = with_script("env > \"$SWEEP_HOME/env\"; pwd > \"$SWEEP_HOME/pwd\"", "")
        .with("GITHUB_TOKEN", "ghp_never")
        .with("GH_TOKEN", "ghp_never")
        .with("AWS_SECRET_ACCESS_KEY", "never")
        .with("SWEEP_PRIVATE", "never");
    send(&desk, "m-1");
    round(&desk);
    let environment = desk.read("env");
    let home = desk.home();
    for line in [
        format!("SWEEP_HOME={}", home.display()),
        "SWEEP_ACTOR=notes".to_owned(),
        "SWEEP_MSG_ID=m-1".to_owned(),
        "SWEEP_ATTEMPT=1".to_owned(),
    ] {
        assert!(
            environment.lines().any(|found| found == line),
            "{line} in {environment}"
        );
    }
    let given = runtime::VARIABLES.map(|(name, _)| name);
    for name in environment.lines().filter_map(|line| line.split('=').next()) {
        // The shell itself sets these.
        let shell = ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name);
        assert!(
            shell || given.contains(&name) || child::PASSED_ON.contains(&name),
            "{name} reached the script"
        );
    }
    assert_eq!(desk.read("pwd").trim(), home.display().to_string());
}

#[test]
fn a_script_that_runs_too_long_is_ended_with_what_it_started() {
    let desk = with_script(
        "sleep 600 & echo $! > \"$SWEEP_HOME/pid\"; echo waiting >&2; wait",
        "timeout = \"1s\"\nmax_attempts = 1\n",
    );
    send(&desk, "m-1");
    round(&desk);
    let message = first(&desk);
    assert_eq!(message["state"], "quarantined", "{message}");
    let reason = message["reason"].as_str().unwrap();
    assert!(
        reason.ends_with("ran longer than 1 s and was ended: waiting"),
        "{reason}"
    );
    let pid = desk.read("pid");
    wait_for("ended", || !is_running(pid.trim()));
}

#[test]
fn a_script_that_outlives_the_grace_is_ended_and_its_message_is_unread_again() {
    let desk = with_script("echo $$ > \"$SWEEP_HOME/pid\"; sleep 600", "");
    desk.write("config.toml", "[actors]\nshutdown_grace = \"0s\"\n");
    send(&desk, "m-1");
    let running = Running::of(desk.command(&["run", "--actors", "notes"]));
    let file = desk.home().join("pid");
    wait_for("started", || is_there(&file));
    running.stop();
    let pid = desk.read("pid");
    wait_for("ended", || !is_running(pid.trim()));
    assert_eq!(
        (&first(&desk)["state"], &first(&desk)["attempts"]),
        (&json!("unread"), &json!(0))
    );
}

/// `kill -9` ends nobody else: the script runs on until the home is hosted again.
#[test]
fn a_script_that_outlives_a_killed_run_is_ended_by_the_next_one() {
    let desk = with_script(
        "test -e \"$SWEEP_HOME/pid\" && echo second && exit; echo $$ > \"$SWEEP_HOME/pid\"; sleep 600",
        "",
    );
    send(&desk, "m-1");
    let running = Running::of(desk.command(&["run", "--actors", "notes"]));
    let file = desk.home().join("pid");
    wait_for("started", || is_there(&file));
    running.kill();
    let pid = desk.read("pid");
    assert!(is_running(pid.trim()), "it outlives the run");
    desk.good(&["run", "--once", "--actors", "notes"]);
    assert!(!is_running(pid.trim()));
    assert_eq!(first(&desk)["outcome"], "second");
}

#[test]
fn a_program_that_is_not_there_costs_no_message_an_attempt() {
    let desk = desk();
    desk.write(
        "actors/notes.toml",
        "consumes = [\"remember\"]\ncommand = [\"./not-there\"]\n",
    );
    desk.write("config.toml", "[actors]\nmax_restarts = 0\n");
    send(&desk, "m-1");
    let run = desk.run(&["run", "--once", "--actors", "notes"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(
        run.stderr.contains("not-there is not there, or not executable"),
        "{run:?}"
    );
    assert_eq!(
        (&first(&desk)["state"], &first(&desk)["attempts"]),
        (&json!("unread"), &json!(0))
    );
}

#[test]
fn without_a_command_messages_wait_for_the_pull_side() {
    let desk = desk();
    desk.write("actors/desk.toml", "consumes = [\"audit\"]\n");
    assert_eq!(actor(&desk, "desk")["state"], "elsewhere");
    // Sent by intent, it is in the mailbox of everyone who declares it.
    desk.good(&[
        "send", "desk", "audit", "--repo", "a/b", "--pr", "1", "--msg-id", "m-1",
    ]);
    desk.good(&["run", "--once", "--actors", "desk,retro"]);
    let state = || desk.json(&["inbox", "desk", "--json"])["messages"][0]["state"].clone();
    assert_eq!(state(), "unread");
    let taken: Value = serde_json::from_str(&desk.good(&["next", "desk"])).unwrap();
    assert_eq!(state(), "leased");
    // The lease outlives a round of the program that holds the home.
    desk.good(&["run", "--once", "--actors", "desk,retro"]);
    let lease = taken["lease"].as_str().unwrap();
    desk.good(&["ack", "desk", "m-1", "--lease", lease, "--outcome", "filed"]);
    assert_eq!(state(), "acked");
}

#[test]
fn what_is_wrong_with_a_declaration_is_named_with_its_file_its_line_and_a_mend() {
    for (file, text, said, mend) in [
        (
            "notes.toml",
            "consumes = [\"a\"]\n\nwhip = 2\n",
            "notes.toml:3: unknown key `whip`",
            "`wip`",
        ),
        (
            "notes.toml",
            "consumes = [",
            "notes.toml:1: not TOML",
            "examples/actors/notes.toml",
        ),
        (
            "notes.toml",
            "wip = 2\n",
            "notes.toml:1: `consumes` is missing",
            "examples/actors/notes.toml",
        ),
        (
            "No.toml",
            "consumes = [\"a\"]\n",
            "No.toml: the file's name is not the name of an actor",
            "notes.toml",
        ),
        (
            "qa.toml",
            "consumes = [\"a\"]\n",
            "qa.toml: the name qa is taken",
            "disable = [\"qa\"]",
        ),
    ] {
        let desk = desk();
        desk.write(&format!("actors/{file}"), text);
        for command in [&["actors"][..], &["run", "--once", "--actors", "retro"]] {
            let run = desk.run(command);
            assert_eq!(run.code, Some(2), "{file}: {run:?}");
            assert!(run.stderr.contains(said) && run.stderr.contains(mend), "{run:?}");
            assert_eq!(run.stderr.lines().count(), 2, "{run:?}");
        }
    }
}

#[test]
fn a_built_in_that_is_taken_out_leaves_its_name_to_another() {
    let desk = desk();
    desk.write("config.toml", "[actors]\ndisable = [\"qa\"]\n");
    desk.write(
        "actors/qa.toml",
        "consumes = [\"reattest\"]\ncommand = \"echo looked at\"\n",
    );
    desk.good(&["send", "qa", "reattest", "--repo", "a/b", "--pr", "1"]);
    desk.good(&["run", "--once", "--actors", "qa"]);
    assert_eq!(
        desk.json(&["inbox", "qa", "--json"])["messages"][0]["outcome"],
        "looked at"
    );
}

#[test]
fn the_example_notes_each_message_once() {
    let desk = desk();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/actors");
    fs::create_dir_all(desk.home().join("actors")).unwrap();
    for file in ["notes.toml", "notes.sh"] {
        fs::copy(examples.join(file), desk.home().join("actors").join(file)).unwrap();
    }
    let payload = "{\"head\":\"0123456789abcdef0123456789abcdef01234567\"}";
    let about = ["--repo", "a/b", "--pr", "1", "--msg-id", "m-1"];
    desk.good(&[&["send", "notes", "close", "--payload", payload], &about[..]].concat());
    round(&desk);
    assert_eq!(first(&desk)["outcome"], "noted");
    assert!(desk.read("notes.txt").starts_with("m-1 {\"ts\":"));
    assert_eq!(desk.read("notes.txt").lines().count(), 1);
}
