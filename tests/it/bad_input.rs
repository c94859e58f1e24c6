//! What the program says to input that it cannot use: one or two lines, the exit code of the contract, and
//! nothing half done.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use mailbox::{Mailboxes, SystemClock};
use world::{DEMO_NOW, World};

use crate::support::{Desk, Ended, Hosted, ended, files};

/// Asserts an exit code and the form of the contract, and that each of these words is said.
fn refused(run: &Ended, code: i32, words: &[&str]) {
    assert_eq!(run.code, Some(code), "{run:?}");
    let lines = run.stderr.lines().count();
    assert!((1..=2).contains(&lines), "{run:?}");
    assert!(run.stderr.starts_with("sweep: "), "{run:?}");
    for word in words {
        assert!(run.stderr.contains(word), "{word:?} is not said: {run:?}");
    }
    for word in ["panicked", "RUST_BACKTRACE", "src/"] {
        assert!(!run.stderr.contains(word), "{run:?}");
    }
}

#[test]
fn a_wrong_command_line_is_usage() {
    let desk = Desk::new();
    for (words, said) in [
        (&[][..], "no command given"),
        (&["inbx"], "'inbox'"),
        (&["run", "--onec"], "'--once'"),
        (&["pr-state", "--limit", "201"], "1..=200"),
        (&["pr-state", "--limit", "0"], "1..=200"),
        (&["pr-state", "--limit", "-1"], "1..=200"),
        (&["next", "qa", "--lease", "0"], "0s is not between 1s and 30d"),
        (&["next", "qa", "--lease", "-5m"], "\"-5m\" is not a span of time"),
        (&["next", "qa", "--lease", "31d"], "31d is not between 1s and 30d"),
        (
            &["next", "qa", "--lease", "99999999999999999999d"],
            "is not between 1s and 30d",
        ),
        (
            &["nack", "qa", "m", "--reason", "x", "--retry-after", "40000d"],
            "40000d is longer than 36500d",
        ),
        (
            &["send", "qa", "reattest", "--repo", "a/b", "--pr", "0"],
            "\"0\" is not the number of a pull request, which is a whole number from 1 on",
        ),
        (
            &["send", "qa", "reattest", "--repo", "a/b", "--pr", "-1"],
            "\"-1\" is not the number of a pull request",
        ),
        (&["pr-state", "--repo", "../../etc"], "owner/name"),
        (&["pr-state", "--repo", "a/b;rm"], "owner/name"),
        (&["send", "../qa", "reattest"], "is not a mailbox name"),
        (
            &["ack", "qa", "m", "--outcome", "x", "--lease", "7"],
            "is not a lease",
        ),
    ] {
        refused(&desk.run(words), 2, &[said]);
    }
    assert!(!desk.home().exists(), "a wrong command line made a home");
}

#[test]
fn help_and_version_go_to_standard_output() {
    let desk = Desk::new();
    for words in [
        &["--help"][..],
        &["help", "send"],
        &["--version"],
        &["pr-state", "-h"],
    ] {
        let run = desk.run(words);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{words:?}");
        assert!(run.stdout.contains("sweep"), "{words:?}");
    }
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_nearest() {
    let desk = Desk::new();
    desk.write("config.toml", "[pr_state]\nevery = \"5m\"\nlimt = 10\n");
    for words in [&["config"][..], &["inbox"], &["actors", "--json"]] {
        refused(
            &desk.run(words),
            2,
            &["config.toml:3", "`pr_state.limt`", "`pr_state.limit`"],
        );
    }
    assert_eq!(files(&desk.home()), ["config.toml"]);
}

#[test]
fn a_wrong_value_is_named_with_its_line() {
    let desk = Desk::new();
    for (text, said) in [
        (
            "[drip]\npush = 1\n",
            "config.toml:2: `drip.push` wants true or false, not a whole number",
        ),
        ("[mailbox]\nbackend = \"nats\"\n", "not available in this version"),
        ("[pr_state\n", "config.toml:1: not TOML"),
        ("[[qa.gates]]\nrepo = \"../x\"\n", "is not a repository name"),
    ] {
        desk.write("config.toml", text);
        refused(&desk.run(&["config"]), 2, &[said]);
    }
}

#[test]
fn a_built_in_actor_that_there_is_none_of_is_named_with_its_line() {
    let desk = Desk::new();
    desk.write("config.toml", "# mine\n[actors]\ndisable = [\"nope\"]\n");
    let file = desk.home().join("config.toml").display().to_string();
    refused(
        &desk.run(&["inbox"]),
        2,
        &[&format!("{file}:3: `actors.disable`"), "\"nope\"", "They are: "],
    );
}

#[test]
fn a_home_that_cannot_be_used_is_named() {
    let desk = Desk::new();
    let file = desk.beside("file");
    std::fs::write(&file, "").unwrap();
    let file = file.display().to_string();
    refused(
        &desk.run(&["inbox", "--home", &file]),
        1,
        &[&file, "is not a directory", "--home"],
    );
    let under = format!("{file}/under");
    refused(
        &desk.run(&["inbox", "--home", &under]),
        1,
        &["cannot make", &under],
    );
    // Not even root can write there.
    refused(
        &desk.run(&["inbox", "--home", "/proc"]),
        1,
        &["cannot write in /proc"],
    );
}

#[test]
fn one_line_says_who_holds_the_home() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.home()).unwrap();
    let held = Mailboxes::open_sled(&desk.home().join("mailbox"), Arc::new(SystemClock::start())).unwrap();
    for words in [
        &["inbox"][..],
        &["actors"],
        &["next", "qa"],
        &["ack", "qa", "m", "--outcome", "x"],
        &["nack", "qa", "m", "--reason", "x"],
        &["send", "qa", "reattest", "--repo", "a/b", "--pr", "1"],
    ] {
        let run = desk.run(words);
        refused(&run, 5, &["is held by", &std::process::id().to_string()]);
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    }
    drop(held);
}

#[test]
fn a_message_of_ten_megabytes_is_refused_by_name() {
    let desk = Desk::new();
    let mut command = desk.command(&["send", "qa", "reattest", "--payload", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let payload = format!("{{\"reason\":\"{}\"}}", "x".repeat(10 * 1024 * 1024));
    // It is refused before all of it is read.
    let _closed = child.stdin.take().unwrap().write_all(payload.as_bytes());
    let output = child.wait_with_output().unwrap();
    let run = Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    };
    refused(&run, 1, &["786432 bytes"]);
    assert_eq!(
        desk.json(&["inbox", "qa", "--json"])["messages"],
        serde_json::json!([])
    );
}

#[test]
fn a_message_that_its_actor_does_not_take_is_refused_by_name() {
    let desk = Desk::new();
    for (words, said) in [
        (
            &["send", "qa", "dance", "--repo", "a/b", "--pr", "1"][..],
            &["\"dance\"", "reattest"][..],
        ),
        (
            &["send", "nobody", "reattest", "--repo", "a/b", "--pr", "1"],
            &["there is no actor nobody"],
        ),
        (&["send", "qa", "reattest"], &["qa cannot read the message"]),
        (
            &["send", "qa", "reattest", "--payload", "[1]"],
            &["--payload is not a JSON object"],
        ),
        (
            &[
                "send",
                "qa",
                "reattest",
                "--repo",
                "a/b",
                "--pr",
                "1",
                "--payload",
                "{\"pr\":2}",
            ],
            &["`pr`"],
        ),
        (
            &["send", "pr-state", "x"],
            &["pr-state consumes no messages", "sweep actors"],
        ),
        (&["next", "pr-state"], &["pr-state consumes no messages"]),
        (&["next", "nobody"], &["there is no actor nobody"]),
        (&["inbox", "nobody"], &["there is no mailbox nobody"]),
    ] {
        refused(&desk.run(words), 2, said);
    }
}

/// Contract, section 3: the header is the header's, and the lease is what `next` adds.
#[test]
fn a_payload_that_says_what_the_header_says_is_refused_by_name() {
    let desk = Desk::new();
    for field in ["ts", "from", "intent", "msg_id", "lease"] {
        let payload = format!("{{\"reason\":\"r\",\"{field}\":\"x\"}}");
        let about = ["--repo", "a/b", "--pr", "1", "--payload", &payload];
        let run = desk.run(&[&["send", "qa", "reattest"], &about[..]].concat());
        refused(
            &run,
            2,
            &[&format!("`{field}`, which is the header's"), "another name"],
        );
    }
    assert!(!desk.home().join("mailbox").exists());
}

/// What is put in the place of a file.
fn in_its_place(kind: &str, file: &Path) {
    match kind {
        "pipe" => {
            let made = Command::new("mkfifo").arg(file).status().unwrap();
            assert!(made.success());
        }
        "device" => std::os::unix::fs::symlink("/dev/zero", file).unwrap(),
        "socket" => drop(UnixListener::bind(file).unwrap()),
        _ => std::fs::create_dir(file).unwrap(),
    }
}

/// A pipe that nobody writes to, a device without an end: none of them is waited for.
#[test]
fn what_is_no_regular_file_is_refused_in_the_place_of_one() {
    let hosted = Hosted::new(World::builder(DEMO_NOW).build());
    for kind in ["pipe", "device", "socket", "folder"] {
        let desk = hosted.desk();
        std::fs::create_dir_all(desk.home().join("actors")).unwrap();
        let config = desk.home().join("config.toml");
        in_its_place(kind, &config);
        refused(
            &desk.run(&["config"]),
            2,
            &["config.toml", "no regular file", "Make it"],
        );
        match kind {
            "folder" => std::fs::remove_dir(&config).unwrap(),
            _ => std::fs::remove_file(&config).unwrap(),
        }

        let payload = desk.beside("payload");
        in_its_place(kind, &payload);
        let at = format!("@{}", payload.display());
        let run = desk.run(&["send", "qa", "reattest", "--payload", &at]);
        refused(&run, 2, &["--payload", "no regular file"]);

        std::fs::create_dir(desk.home().join("drip-queue")).unwrap();
        in_its_place(kind, &desk.home().join("drip-queue/q.jsonl"));
        // A hint that cannot be read is left out, and the rest is dispatched.
        let run = desk.run(&["pr-state", "--from-queue"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        if kind != "folder" {
            let why = "drip-queue/q.jsonl: skipped: cannot read drip-queue/q.jsonl: it is no regular file";
            assert!(run.stderr.contains(why), "{run:?}");
            assert!(desk.read("pr-state-errors.log").contains(why));
        }

        let actor = desk.home().join("actors/desk.toml");
        in_its_place(kind, &actor);
        refused(&desk.run(&["actors"]), 2, &["desk.toml", "no regular file"]);
    }
}

#[test]
fn a_closed_pipe_ends_a_listing_quietly() {
    let desk = Desk::new();
    let mut child = desk
        .command(&["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_full_disk_under_standard_output_is_a_failure() {
    let desk = Desk::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = desk.command(&["completions", "bash"]);
    command.stdout(full).stderr(Stdio::piped());
    refused(&ended(command), 1, &["cannot write to standard output"]);
}

#[test]
fn a_full_disk_under_standard_error_stops_nothing() {
    let desk = Desk::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = desk.command(&["run", "--demo", "--once"]);
    command.stdout(Stdio::piped()).stderr(full);
    assert_eq!(ended(command).code, Some(0));
    assert_eq!(
        desk.json(&["inbox", "qa", "--unread", "--json"])["messages"],
        serde_json::json!([])
    );
}
