//! The mirror of a home, as other programs see it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;
use world::{Lists, World};

use crate::support::{Desk, Hosted, Running, files, wait_for};

/// A message for `qa` as another program writes it.
fn line(id: &str) -> String {
    format!(
        "{{\"ts\":\"{}\",\"from\":\"cron\",\"intent\":\"reattest\",\"msg_id\":\"{id}\",\"repo\":\"a/b\",\"pr\":7}}\n",
        chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
    )
}

fn append(desk: &Desk, file: &str, text: &str) {
    let path = desk.home().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = File::options().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// How often each id is in the mailbox.
fn in_mailbox(desk: &Desk, of: &str) -> BTreeMap<String, u32> {
    let mut ids = BTreeMap::new();
    for message in desk.json(&["inbox", of, "--json"])["messages"]
        .as_array()
        .unwrap()
    {
        let id = message["message"]["msg_id"].as_str().unwrap().to_owned();
        *ids.entry(id).or_default() += 1;
    }
    ids
}

/// A file of the mirror and its earlier pieces.
fn pieces(desk: &Desk, file: &str) -> Vec<PathBuf> {
    let home = desk.home();
    files(&home)
        .into_iter()
        .filter(|path| path == file || path.starts_with(&format!("{file}.")))
        .map(|path| home.join(path))
        .collect()
}

/// How often each id is in a file of the mirror and its earlier pieces.
fn in_mirror(desk: &Desk, file: &str) -> BTreeMap<String, u32> {
    let mut ids = BTreeMap::new();
    for piece in pieces(desk, file) {
        for line in fs::read_to_string(piece)
            .unwrap()
            .lines()
            .filter(|line| !line.is_empty())
        {
            let line: Value = serde_json::from_str(line).unwrap();
            *ids.entry(line["msg_id"].as_str().unwrap().to_owned())
                .or_default() += 1;
        }
    }
    ids
}

fn once(ids: impl IntoIterator<Item = String>) -> BTreeMap<String, u32> {
    ids.into_iter().map(|id| (id, 1)).collect()
}

/// Whoever holds the mailboxes keeps the mirror, and nobody else: commands beside a `sweep run` leave it to that.
#[test]
fn beside_a_run_exactly_one_process_keeps_the_mirror() {
    let hosted = Hosted::new(World::many(20, Lists::Medium));
    let desk = hosted.desk();
    append(&desk, "inbox/qa.jsonl", &line("theirs-before"));
    let running = Running::start(&desk);
    let sends: Vec<Child> = (0..12)
        .map(|n| {
            append(&desk, "inbox/qa.jsonl", &line(&format!("theirs-{n}")));
            desk.command(&[
                "send",
                "qa",
                "reattest",
                "--repo",
                "a/b",
                "--pr",
                "7",
                "--msg-id",
                &format!("sent-{n}"),
            ])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
        })
        .collect();
    desk.good(&["pr-state", "--limit", "20"]);
    for mut send in sends {
        assert!(send.wait().unwrap().success());
    }
    let mut expected = once((0..12).flat_map(|n| [format!("sent-{n}"), format!("theirs-{n}")]));
    expected.insert("theirs-before".to_owned(), 1);
    let ours = |ids: BTreeMap<String, u32>| -> BTreeMap<String, u32> {
        ids.into_iter()
            .filter(|(id, _)| !id.starts_with("pr-state-"))
            .collect()
    };
    wait_for("in the mirror", || {
        ours(in_mailbox(&desk, "qa")) == expected
            && in_mirror(&desk, "inbox/qa.jsonl") == in_mailbox(&desk, "qa")
    });
    drop(running);
    // The next command holds the home itself, and finds everything as it is.
    for mailbox in ["qa", "drip", "retro", "investigate"] {
        let ids = in_mailbox(&desk, mailbox);
        let file = format!("inbox/{mailbox}.jsonl");
        assert!(ids.values().all(|count| *count == 1), "{ids:?}");
        assert_eq!(in_mirror(&desk, &file), ids, "{mailbox}");
    }
    assert!(!desk.home().join("mirror-errors.log").exists());
}

/// Another program writes all the while, the files are cut all the while, and `sweep run` is killed again and again.
#[test]
fn a_run_that_is_killed_while_it_mirrors_loses_no_line_and_doubles_none() {
    const ROUNDS: usize = 4;
    const LINES: usize = 40;
    let desk = Desk::new();
    append(&desk, "config.toml", "[files]\nrotate_at = \"1 KiB\"\n");
    for round in 0..ROUNDS {
        let running = Running::start(&desk);
        // It keeps its file open, also when that is cut.
        let mut open = File::options()
            .append(true)
            .create(true)
            .open(desk.home().join("inbox/qa.jsonl"))
            .unwrap();
        for n in 0..LINES {
            open.write_all(line(&format!("theirs-{round}-{n}")).as_bytes())
                .unwrap();
            if n % 10 == 0 {
                let id = format!("sent-{round}-{n}");
                desk.good(&[
                    "send", "qa", "reattest", "--repo", "a/b", "--pr", "7", "--msg-id", &id,
                ]);
            }
        }
        drop(running);
    }
    let expected = once((0..ROUNDS).flat_map(|round| {
        (0..LINES).flat_map(move |n| {
            let sent = (n % 10 == 0).then(|| format!("sent-{round}-{n}"));
            sent.into_iter().chain([format!("theirs-{round}-{n}")])
        })
    }));
    assert_eq!(in_mailbox(&desk, "qa"), expected);
    assert_eq!(in_mirror(&desk, "inbox/qa.jsonl"), expected);
    assert!(pieces(&desk, "inbox/qa.jsonl").len() > 2);
    assert!(!desk.home().join("mirror-errors.log").exists());
}

#[test]
fn a_malformed_line_is_reported_once_in_the_life_of_the_home() {
    let desk = Desk::new();
    append(&desk, "inbox/qa.jsonl", &format!("{}nonsense\n", line("theirs")));
    let first = desk.run(&["inbox"]);
    assert!(
        first.stderr.contains("qa.jsonl:2: skipped, not a JSON object"),
        "{first:?}"
    );
    for _ in 0..2 {
        let next = desk.run(&["inbox"]);
        assert!(!next.stderr.contains("skipped"), "{next:?}");
    }
    assert_eq!(desk.read("mirror-errors.log").lines().count(), 1);
    // Another line that comes to stand at the same place is another one.
    fs::write(
        desk.home().join("inbox/qa.jsonl"),
        format!("{}other nonsense\n", line("theirs")),
    )
    .unwrap();
    let replaced = desk.run(&["inbox"]);
    assert!(
        replaced.stderr.contains("qa.jsonl:2: skipped, not a JSON object"),
        "{replaced:?}"
    );
    assert_eq!(desk.read("mirror-errors.log").lines().count(), 2);
    assert_eq!(in_mailbox(&desk, "qa"), once(["theirs".to_owned()]));
}

/// A mirror that cannot be kept is said, and stops nobody; when it can be, it is made up for.
#[test]
fn what_stands_in_the_way_of_the_mirror_stops_no_command() {
    let desk = Desk::new();
    fs::create_dir_all(desk.home().join("inbox/qa.jsonl")).unwrap();
    let send = |id: &str| {
        desk.run(&[
            "send", "qa", "reattest", "--repo", "a/b", "--pr", "7", "--msg-id", id,
        ])
    };
    let sent = send("m-1");
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert_eq!(sent.stderr.matches("the mirror is behind").count(), 1, "{sent:?}");
    assert!(
        sent.stderr.contains("inbox/qa.jsonl: it is no regular file"),
        "{sent:?}"
    );
    fs::remove_dir(desk.home().join("inbox/qa.jsonl")).unwrap();
    assert_eq!(send("m-2").stderr, "");
    assert_eq!(
        in_mirror(&desk, "inbox/qa.jsonl"),
        once(["m-1".to_owned(), "m-2".to_owned()])
    );
    // The whole folder is a file.
    fs::remove_dir_all(desk.home().join("inbox")).unwrap();
    fs::write(desk.home().join("inbox"), "").unwrap();
    let sent = send("m-3");
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(
        sent.stderr.contains("the mirror is behind: cannot make"),
        "{sent:?}"
    );
    fs::remove_file(desk.home().join("inbox")).unwrap();
    assert_eq!(send("m-4").code, Some(0));
    let missing = in_mirror(&desk, "inbox/qa.jsonl");
    assert!(
        missing.contains_key("m-3") && missing.contains_key("m-4"),
        "{missing:?}"
    );
}
