//! A disk that is full, read-only or damaged, and a clock that jumped: an error that names the mend, and what was
//! acknowledged is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use mailbox::{Done, Draft, FailureKind, Lessee, MailboxName, Mailboxes, ManualClock, Message, Nack, Policy};
use serde_json::{Value, json};

use crate::support::{Desk, Ended, ended};

/// A file system in memory, of the size that a home needs and little more.
struct Small(PathBuf);

impl Small {
    /// Mounts it where the desk's home is; `None` where that is not allowed.
    fn under(desk: &Desk) -> Option<Self> {
        fs::create_dir_all(desk.home()).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=40m,mode=0700", "tmpfs"])
            .arg(desk.home())
            .output();
        let mounted = mounted.is_ok_and(|output| output.status.success());
        mounted.then(|| Self(desk.home()))
    }

    fn remount(&self, how: &str) {
        let done = Command::new("mount")
            .args(["-o", &format!("remount,{how}")])
            .arg(&self.0)
            .status();
        assert!(done.unwrap().success());
    }

    /// Takes what is left of it, to the last byte.
    fn fill(&self) -> PathBuf {
        let filler = self.0.join("filler");
        let mut file = fs::File::create(&filler).unwrap();
        let mut piece = 1024 * 1024;
        while piece > 0 {
            if std::io::Write::write_all(&mut file, &vec![1; piece]).is_err() {
                piece /= 2;
            }
        }
        filler
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

/// What sends a message, but for its id.
const SEND: [&str; 8] = ["send", "qa", "reattest", "--repo", "a/b", "--pr", "7", "--msg-id"];

fn send(desk: &Desk, id: &str) -> Ended {
    desk.run(&[&SEND[..], &[id]].concat())
}

/// Sends one that has this many bytes to say.
fn send_of(desk: &Desk, id: &str, bytes: usize) -> Ended {
    let payload = format!("{{\"reason\":\"{}\"}}", "x".repeat(bytes));
    let words = [&SEND[..], &[id, "--payload", &payload]].concat();
    desk.run(&words)
}

/// Sends one that is larger than what the mailboxes have set aside.
fn send_large(desk: &Desk, id: &str) -> Ended {
    send_of(desk, id, 100_000)
}

fn ids(desk: &Desk) -> Vec<String> {
    let inbox = desk.json(&["inbox", "qa", "--json"]);
    let messages = inbox["messages"].as_array().unwrap();
    let id = |message: &Value| message["message"]["msg_id"].as_str().unwrap().to_owned();
    messages.iter().map(id).collect()
}

/// Asserts exit code 1, two lines, and each of these words.
fn refused(run: &Ended, words: &[&str]) {
    assert_eq!(run.code, Some(1), "{run:?}");
    let lines: Vec<_> = run
        .stderr
        .lines()
        .filter(|line| !line.contains(" WARN "))
        .collect();
    assert!(lines.len() == 2 && lines[0].starts_with("sweep: "), "{run:?}");
    for word in words {
        assert!(lines.concat().contains(word), "{word:?} is not said: {run:?}");
    }
    assert!(!run.stderr.contains("panicked"), "{run:?}");
}

#[test]
fn on_a_full_disk_the_mend_is_named_and_what_was_acknowledged_is_there() {
    let desk = Desk::new();
    let Some(small) = Small::under(&desk) else {
        println!("skipped: no small file system can be mounted here");
        return;
    };
    assert_eq!(send(&desk, "before").code, Some(0));
    let filler = small.fill();
    for id in ["during-1", "during-2"] {
        refused(&send_large(&desk, id), &["room on"]);
    }
    fs::remove_file(filler).unwrap();
    assert_eq!(send(&desk, "after").code, Some(0));
    let ids = ids(&desk);
    // What was refused may be there: it was not acknowledged, and not denied for good either.
    let known: Vec<_> = ids.iter().filter(|id| !id.starts_with("during")).collect();
    assert_eq!(known, ["before", "after"], "{ids:?}");
    assert_eq!(desk.good(&["next", "qa"]).lines().count(), 1);
    desk.good(&["ack", "qa", "after", "--outcome", "passed"]);
}

#[test]
fn a_home_that_is_read_only_is_named_with_the_mend_and_is_whole_afterwards() {
    let desk = Desk::new();
    let Some(small) = Small::under(&desk) else {
        println!("skipped: no small file system can be mounted here");
        return;
    };
    assert_eq!(send(&desk, "before").code, Some(0));
    small.remount("ro");
    let home = desk.home().display().to_string();
    for words in [
        &["inbox"][..],
        &["next", "qa"],
        &["run", "--once", "--actors", "retro"],
    ] {
        refused(&desk.run(words), &["cannot write in", &home, "Make it writable"]);
    }
    refused(&send(&desk, "during"), &["cannot write in", &home]);
    // A post-mortem reads a copy: it needs to write nothing there.
    assert!(desk.good(&["replay", "qa"]).contains("before"));
    small.remount("rw");
    assert_eq!(send(&desk, "after").code, Some(0));
    assert_eq!(ids(&desk), ["before", "after"]);
}

/// Turns bits in the largest file of the mailboxes, in the middle of what is used of it.
fn damage(mailbox: &Path) {
    let mut files: Vec<PathBuf> = vec![mailbox.to_owned()];
    let mut largest = (0, PathBuf::new());
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let used = fs::read(&path).unwrap().iter().filter(|byte| **byte != 0).count();
            largest = largest.max((used, path));
        }
    }
    let mut bytes = fs::read(&largest.1).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let middle = used / 2;
    bytes[middle..middle + 64]
        .iter_mut()
        .for_each(|byte| *byte ^= 0xa5);
    fs::write(&largest.1, bytes).unwrap();
}

#[test]
fn damaged_mailboxes_are_refused_untouched_and_the_mends_that_are_named_work() {
    let desk = Desk::new();
    let all: Vec<String> = (0..40).map(|n| format!("m-{n:02}")).collect();
    for id in &all {
        let sent = send_of(&desk, id, 2_000);
        assert_eq!(sent.code, Some(0), "{sent:?}");
    }
    let mailbox = desk.home().join("mailbox");
    let copy = desk.beside("copy");
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(&mailbox)
            .arg(&copy)
            .status()
            .unwrap()
            .success()
    );
    damage(&mailbox);
    for words in [
        &["inbox", "qa"][..],
        &["run", "--once", "--actors", "retro"],
        &["replay", "qa"],
    ] {
        // Both lines say the same, and of the home: no copy that was read, no file within it.
        let run = desk.run(words);
        let whole = mailbox.display();
        let (what, mend) = (
            format!("in {whole} are damaged"),
            format!("copy of all of {whole}, "),
        );
        refused(&run, &[&what, &mend, "inbox/*.jsonl"]);
        for word in ["sweep-replay", "room"] {
            assert!(!run.stderr.contains(word), "{run:?}");
        }
    }
    // From a copy all of it is there again.
    fs::remove_dir_all(&mailbox).unwrap();
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(&copy)
            .arg(&mailbox)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(ids(&desk), all);
    // Without a copy the lines of the mirror are taken in.
    fs::remove_dir_all(&mailbox).unwrap();
    assert_eq!(ids(&desk), all);
}

#[test]
fn mailboxes_of_another_version_are_refused_by_their_own_name() {
    let desk = Desk::new();
    send(&desk, "m-1");
    let mailbox = desk.home().join("mailbox");
    fs::write(mailbox.join("format"), "mailbox 99\n").unwrap();
    let holds = format!("{} holds mailboxes of format", mailbox.display());
    for words in [&["inbox"][..], &["replay", "qa"], &["report"], &["pr", "a/b#7"]] {
        refused(&desk.run(words), &[&holds, "Use the version of sweep"]);
    }
}

#[test]
fn room_is_asked_for_only_where_there_is_none() {
    let desk = Desk::new();
    send(&desk, "m-1");
    // So few files that the mailboxes cannot be opened.
    for words in [&["inbox"][..], &["replay", "qa"]] {
        let plain = desk.command(words);
        let mut few = Command::new("/bin/sh");
        few.args(["-c", "ulimit -n 12; exec \"$0\" \"$@\""])
            .arg(plain.get_program())
            .args(plain.get_args())
            .env_clear()
            .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let run = ended(few);
        refused(&run, &["Too many open files", "ulimit -n"]);
        assert!(!run.stderr.contains("room"), "{run:?}");
    }
    let page = desk.beside("nowhere").join("page.html");
    let page = page.to_str().unwrap();
    let run = desk.run(&["report", "--html", page]);
    refused(&run, &["Make the folder that is not there", "--html"]);
    assert!(!run.stderr.contains("room"), "{run:?}");
}

fn qa() -> MailboxName {
    "qa".parse().unwrap()
}

/// A home as a process left it whose clock went this much after ours: one message acked, one that rests for five
/// minutes after a failure, one that is pulled for ten, one untouched.
fn left_by_a_clock(desk: &Desk, ahead: TimeDelta) {
    fs::create_dir_all(desk.home()).unwrap();
    let clock = Arc::new(ManualClock::at((Utc::now() + ahead).into()));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mailboxes = Mailboxes::open_sled(&desk.home().join("mailbox"), clock).unwrap();
        mailboxes.declare(qa(), Policy::default()).await.unwrap();
        let draft = |id: &str| {
            let body = json!({"repo": "a/b", "pr": 7});
            let message = Message::build(Utc::now() + ahead, "lab", "reattest", &id.parse().unwrap(), &body);
            Draft::new(qa(), message.unwrap())
        };
        let all = ["acked", "rests", "pulled", "unread"].map(draft);
        mailboxes.append(all.into()).await.unwrap();
        let of = qa();
        let take = |lessee| mailboxes.lease(&of, lessee);
        let acked = take(Lessee::Process).await.unwrap();
        mailboxes.ack(acked.lease, Done::new("passed")).await.unwrap();
        let rests = take(Lessee::Process).await.unwrap();
        let failed = Nack::Failed {
            reason: "not now".to_owned(),
            retry_after: Some(Duration::from_secs(5 * 60)),
            kind: FailureKind::Explained,
        };
        mailboxes.nack(rests.lease, failed).await.unwrap();
        let for_ = Duration::from_secs(10 * 60);
        let _outlives_the_process = take(Lessee::Pull { for_ }).await.unwrap();
        mailboxes.close().await;
    });
}

fn message(desk: &Desk, id: &str) -> Value {
    let inbox = desk.json(&["inbox", "qa", "--json"]);
    let messages = inbox["messages"].as_array().unwrap();
    messages
        .iter()
        .find(|message| message["message"]["msg_id"] == id)
        .unwrap_or_else(|| panic!("{id} is not in {inbox}"))
        .clone()
}

fn minutes_ahead(moment: &Value) -> i64 {
    let moment: DateTime<Utc> = moment.as_str().unwrap().parse().unwrap();
    (moment - Utc::now()).num_minutes()
}

#[test]
fn a_clock_that_jumped_back_an_hour_holds_nothing_up_for_it() {
    let desk = Desk::new();
    left_by_a_clock(&desk, TimeDelta::hours(1));
    // They end when they would have: in five and in ten minutes, and not in an hour more.
    assert!(minutes_ahead(&message(&desk, "rests")["not_before"]) <= 5);
    assert!(minutes_ahead(&message(&desk, "pulled")["until"]) <= 10);
    assert_eq!(message(&desk, "acked")["outcome"], "passed");
    assert_eq!(ids(&desk), ["acked", "rests", "pulled", "unread"]);
    // Its id is known though it comes from the future, and nothing is numbered twice.
    let again = desk.json(&[
        "send", "qa", "reattest", "--repo", "a/b", "--pr", "7", "--msg-id", "acked", "--json",
    ]);
    assert_eq!((&again["seq"], &again["known"]), (&json!(1), &json!(true)));
    desk.good(&["ack", "qa", "pulled", "--outcome", "passed"]);
    assert!(desk.good(&["next", "qa"]).contains("\"unread\""));
    desk.good(&["run", "--once", "--actors", "retro"]);
}

#[test]
fn a_clock_that_jumped_forward_a_year_loses_and_forgets_nothing() {
    let desk = Desk::new();
    left_by_a_clock(&desk, TimeDelta::days(-365));
    // Whatever rested or was lent has had its time, and nothing was pruned: it may be the clock that errs.
    desk.good(&["run", "--once", "--actors", "retro"]);
    assert_eq!(ids(&desk), ["acked", "rests", "pulled", "unread"]);
    assert_eq!(message(&desk, "acked")["outcome"], "passed");
    let again = desk.json(&[
        "send", "qa", "reattest", "--repo", "a/b", "--pr", "7", "--msg-id", "acked", "--json",
    ]);
    assert_eq!(
        (&again["known"], &again["outcome"]),
        (&json!(true), &json!("passed"))
    );
    for id in ["rests", "pulled", "unread"] {
        assert!(desk.good(&["next", "qa"]).contains(&format!("\"{id}\"")));
        desk.good(&["ack", "qa", id, "--outcome", "passed"]);
    }
}

/// A limit on the size of files is an error like a full disk, and not the end of the process.
#[test]
fn a_limit_on_the_size_of_files_is_an_error_with_a_mend() {
    let desk = Desk::new();
    desk.good(&["send", "qa", "reattest", "--repo", "a/b", "--pr", "1"]);
    let program = desk.command(&[]).get_program().to_owned();
    let mut limited = desk.command(&[]);
    let shell = std::mem::replace(&mut limited, Command::new("/bin/sh"));
    limited
        .args(["-c", "ulimit -f 20; exec \"$0\" inbox qa"])
        .arg(program)
        .env_clear()
        .envs(shell.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let run = ended(limited);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.lines().count() <= 2, "{run:?}");
    assert!(desk.good(&["inbox", "qa"]).contains("a/b#1"));
}
