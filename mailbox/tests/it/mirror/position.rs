//! How far the mirror is, kept from one life of the process to the next.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::PathBuf;

use std::time::Duration;

use mailbox::mirror::{Found, Intake};
use mailbox::{Mailboxes, Policy};

use super::{FOREIGN, Lab, ids, sync, take_in, write};
use crate::name;

impl Lab {
    fn kept(&self) -> PathBuf {
        self.dir.path().join(".position.json")
    }

    /// A life of the mirror from its start to its end. What it said of what others wrote.
    async fn life(&self) -> Vec<String> {
        let (mirror, said) = self.settled().await;
        mirror.close().await.unwrap();
        said
    }
}

/// A message of somebody else's with this id.
fn foreign(id: &str) -> String {
    format!("{}\n", FOREIGN.replace("foreign-1", id))
}

/// Enough lines that the beginning of the file is none of what it is known again by.
fn some_lines(lab: &Lab) -> Vec<String> {
    let ids: Vec<String> = (0..20).map(|n| format!("early-{n}")).collect();
    for id in &ids {
        write(&lab.file(), &foreign(id));
    }
    ids
}

#[tokio::test]
async fn a_start_reads_what_is_new_and_nothing_else() {
    let lab = Lab::new().await;
    write(&lab.file(), "nonsense\n");
    let mut there = some_lines(&lab);
    let said = lab.life().await;
    assert_eq!(said.len(), 21);
    assert!(said[0].starts_with("1 not a JSON object"), "{said:?}");
    // A line that was reported is not reported by the next process, nor by the one after it.
    assert!(lab.life().await.is_empty());
    // What lies before the position is not read: nobody sees what is written over it.
    let file = fs::OpenOptions::new().write(true).open(lab.file()).unwrap();
    file.write_all_at(b"#", 20).unwrap();
    write(&lab.file(), &foreign("late"));
    assert_eq!(lab.life().await, ["22 message late"]);
    there.push("late".to_owned());
    assert_eq!(lab.ids().await, there);
    assert_eq!(
        fs::metadata(lab.kept()).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[tokio::test]
async fn a_process_that_is_killed_is_found_a_little_behind_and_nothing_is_there_twice() {
    let lab = Lab::new().await;
    lab.send("a").await;
    lab.life().await;
    let (mut mirror, _) = lab.settled().await;
    lab.send("b").await;
    lab.handle_one("greeted").await;
    write(&lab.file(), &foreign("theirs"));
    lab.settle(&mut mirror).await;
    assert_eq!(ids(&lab.file()), ["a", "theirs", "b"]);
    // It is killed: how far it was is not kept.
    drop(mirror);
    assert!(lab.life().await.is_empty());
    lab.send("c").await;
    lab.life().await;
    assert_eq!(ids(&lab.file()), ["a", "theirs", "b", "c"]);
    assert_eq!(ids(&lab.acks()), ["a"]);
    assert_eq!(lab.ids().await, ["a", "b", "theirs", "c"]);
}

#[tokio::test]
async fn it_is_kept_every_now_and_then() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.settled().await;
    write(&lab.file(), &foreign("theirs"));
    lab.settle(&mut mirror).await;
    assert!(!lab.kept().exists());
    lab.clock.advance(Duration::from_secs(10));
    sync(&mut mirror).await;
    drop(mirror);
    let other = Lab::beside(&lab).await;
    // Another mailbox that has the same: it does not see the line again.
    assert_eq!(other.life().await, Vec::<String>::new());
}

#[tokio::test]
async fn what_was_handed_out_and_not_taken_in_is_handed_out_again() {
    let lab = Lab::new().await;
    lab.life().await;
    write(&lab.file(), &foreign("theirs"));
    let (mut mirror, intake) = lab.open().await;
    assert_eq!(intake.len(), 1);
    // Killed before it was taken in.
    drop(intake);
    lab.clock.advance(Duration::from_secs(1));
    drop(mirror);
    (mirror, _) = lab.open().await;
    drop(mirror);
    assert_eq!(lab.life().await, ["1 message theirs"]);
}

#[tokio::test]
async fn whatever_became_of_the_files_meanwhile_nothing_is_lost_and_nothing_is_there_twice() {
    type Meddling = fn(&Lab);
    let cases: [(&str, Meddling); 8] = [
        ("rotated", |lab| {
            write(&lab.file(), &foreign("tail"));
            fs::rename(lab.file(), lab.dir.path().join("greeter.jsonl.1")).unwrap();
            write(&lab.file(), &foreign("news"));
        }),
        ("rotated and nothing new", |lab| {
            write(&lab.file(), &foreign("tail"));
            fs::rename(lab.file(), lab.dir.path().join("greeter.jsonl-old")).unwrap();
            // A name of which nobody knows that it is a piece of this file: its tail is copied, as a person would.
            let all = fs::read_to_string(lab.dir.path().join("greeter.jsonl-old")).unwrap();
            write(&lab.file(), &all);
            write(&lab.file(), &foreign("news"));
        }),
        ("cut short", |lab| {
            fs::write(lab.file(), foreign("news") + &foreign("tail")).unwrap();
        }),
        ("cut short and grown again", |lab| {
            let all = fs::read_to_string(lab.file()).unwrap();
            fs::write(lab.file(), "").unwrap();
            let text: String = foreign("news")
                + &foreign("tail")
                + &all
                + &all.replace("early", "later").replace("ours", "later");
            fs::write(lab.file(), text).unwrap();
        }),
        ("cut within a line", |lab| {
            let all = fs::read_to_string(lab.file()).unwrap();
            fs::write(lab.file(), &all[..all.len() - 10]).unwrap();
            write(&lab.file(), &format!("\n{}{}", foreign("news"), foreign("tail")));
        }),
        ("replaced by a copy", |lab| {
            let copy = lab.dir.path().join("copy");
            fs::copy(lab.file(), &copy).unwrap();
            fs::rename(copy, lab.file()).unwrap();
            write(&lab.file(), &(foreign("news") + &foreign("tail")));
        }),
        ("removed", |lab| {
            fs::remove_file(lab.file()).unwrap();
            write(&lab.file(), &(foreign("news") + &foreign("tail")));
        }),
        ("the position spoilt", |lab| {
            fs::write(lab.kept(), "{\"version\":1,\"fil").unwrap();
            write(&lab.file(), &(foreign("news") + &foreign("tail")));
        }),
    ];
    for (what, meddle) in cases {
        let lab = Lab::new().await;
        some_lines(&lab);
        lab.send("ours").await;
        lab.life().await;
        let before = lab.ids().await;
        meddle(&lab);
        lab.life().await;
        let mut after = lab.ids().await;
        after.retain(|id| !before.contains(id) && !id.starts_with("later"));
        after.sort();
        assert_eq!(after, ["news", "tail"], "{what}");
        // The next start is quiet again, and the next message follows.
        assert!(lab.life().await.is_empty(), "{what}");
        lab.send("next").await;
        lab.life().await;
        let there: Vec<String> = fs::read_to_string(lab.file())
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        let times = |id: &str| {
            there
                .iter()
                .filter(|line| line.contains(&format!("\"{id}\"")))
                .count()
        };
        assert_eq!(times("next"), 1, "{what}");
        assert!(times("ours") <= 1, "{what}");
    }
}

impl Lab {
    /// The same folder beside mailboxes that have the same messages in the same order.
    async fn beside(other: &Lab) -> Lab {
        let lab = Lab::without_mail(other).await;
        for id in other.ids().await {
            take_in(&lab.mailboxes, vec![message(&id)]).await;
        }
        lab
    }

    /// The same folder beside mailboxes that have nothing.
    async fn without_mail(other: &Lab) -> Lab {
        let lab = Lab::new().await;
        for entry in fs::read_dir(other.dir.path()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), lab.dir.path().join(entry.file_name())).unwrap();
        }
        lab
    }
}

fn message(id: &str) -> Intake {
    Intake::Message {
        mailbox: name(),
        message: mailbox::Message::parse(foreign(id).as_bytes()).unwrap(),
        at: mailbox::mirror::Place {
            file: PathBuf::new(),
            line: 1,
            text: 0,
        },
    }
}

#[tokio::test]
async fn an_older_mailbox_gets_back_what_the_files_have() {
    let lab = Lab::new().await;
    for id in ["a", "b", "c"] {
        lab.send(id).await;
    }
    lab.handle_one("greeted").await;
    write(&lab.file(), &foreign("theirs"));
    lab.life().await;
    // The mailbox is brought back from a backup that had the first message alone, or is lost altogether.
    for had in [vec!["a"], vec![]] {
        let older = Lab::without_mail(&lab).await;
        for id in &had {
            older.send(id).await;
        }
        older.life().await;
        let mut back = older.ids().await;
        back.sort();
        assert_eq!(back, ["a", "b", "c", "theirs"]);
        assert_eq!(older.mailboxes.status().await.unwrap()[0].acked, 1);
        assert_eq!(ids(&older.file()), ["theirs", "a", "b", "c"]);
    }
    // Or it is another one, of the same length.
    let strange = Lab::without_mail(&lab).await;
    for id in ["k", "l", "m", "n", "o"] {
        strange.send(id).await;
    }
    strange.life().await;
    assert_eq!(
        strange.ids().await,
        ["k", "l", "m", "n", "o", "theirs", "a", "b", "c"]
    );
}

#[tokio::test]
async fn history_is_no_news() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let lab = Lab::new().await;
    lab.clock.advance(90 * DAY);
    lab.send("ours").await;
    // A file that is read from its beginning: who knows what became of these messages. Of one it is known.
    let recent = foreign("recent").replace("2026-05-14", "2026-05-15");
    let all = ["old", "acked", "older"].map(foreign).concat() + &recent;
    write(&lab.file(), &all);
    write(&lab.acks(), &acked("acked"));
    let (mut mirror, intake) = lab.open().await;
    // The ack is of a message that is forgotten.
    let (acks, others): (Vec<_>, Vec<_>) = intake
        .into_iter()
        .partition(|it| matches!(it, Intake::Ack { .. }));
    assert_eq!(acks.len(), 1);
    assert_eq!(
        take_in(&lab.mailboxes, others).await,
        ["4 message recent", "1 history, 2 in all"]
    );
    assert!(lab.settle(&mut mirror).await.is_empty());
    mirror.close().await.unwrap();
    // It is said once.
    assert!(lab.life().await.is_empty());
    // What is appended to it is new, whatever it says of its time.
    write(&lab.file(), &foreign("said-to-be-old"));
    assert_eq!(lab.life().await, ["6 message said-to-be-old"]);
}

/// The line of an ack of the mailbox's own.
fn acked(id: &str) -> String {
    format!(
        "{{\"ts\":\"2026-05-14T17:46:00Z\",\"from\":\"{}\",\"intent\":\"ack\",\"msg_id\":\"{id}\",\"outcome\":\"done\"}}\n",
        name()
    )
}

#[tokio::test]
async fn a_mailbox_that_never_had_a_message_has_forgotten_none() {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let lab = Lab::new().await;
    lab.send("ours").await;
    write(&lab.file(), &(foreign("theirs") + &foreign("theirs-acked")));
    write(&lab.acks(), &acked("theirs-acked"));
    lab.life().await;
    // The mailboxes are lost, and a year later there are new ones.
    let mut anew = Lab::without_mail(&lab).await;
    anew.rules.rotation.keep = 10 * YEAR;
    anew.clock.advance(YEAR);
    anew.life().await;
    assert_eq!(anew.ids().await, ["theirs", "theirs-acked", "ours"]);
    let status = &anew.mailboxes.status().await.unwrap()[0];
    assert_eq!((status.unread, status.acked), (2, 1));
    assert!(anew.kept().exists());
    assert!(anew.life().await.is_empty());
    // From here on it is one that may have forgotten.
    fs::remove_file(anew.kept()).unwrap();
    fs::write(anew.file(), foreign("who-knows")).unwrap();
    assert_eq!(anew.life().await[..1], ["1 history, 1 in all"]);
}

#[tokio::test]
async fn a_mailbox_that_is_filled_from_its_file_is_filled_to_the_end_whoever_is_killed() {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let lab = Lab::new().await;
    lab.clock.advance(YEAR);
    // More than is handed out at once.
    let many: Vec<String> = (0..5_000).map(|n| format!("m-{n}")).collect();
    write(
        &lab.file(),
        &many.iter().map(|id| foreign(id)).collect::<String>(),
    );
    // The first life ends when one message alone is in the mailbox, the second a little later.
    let (mirror, mut intake) = lab.open().await;
    intake.truncate(1);
    take_in(&lab.mailboxes, intake).await;
    drop(mirror);
    let (mut mirror, intake) = lab.open().await;
    take_in(&lab.mailboxes, intake).await;
    let some = sync(&mut mirror).await;
    assert!(!some.is_empty());
    drop((mirror, some));
    lab.life().await;
    assert_eq!(lab.ids().await, many);
    assert!(lab.life().await.is_empty());
}

#[tokio::test]
async fn a_message_that_was_pruned_and_forgotten_does_not_come_back() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let mut lab = Lab::new().await;
    let policy = Policy {
        keep: HOUR,
        keep_brief: HOUR,
        unchanged_for: HOUR,
        dedupe_horizon: 10 * HOUR,
        ..Policy::default()
    };
    lab.rules.horizon = policy.dedupe_horizon;
    lab.mailboxes.declare(name(), policy).await.unwrap();
    write(&lab.file(), &foreign("theirs"));
    lab.life().await;
    lab.send("ours").await;
    lab.handle_one("greeted").await;
    lab.handle_one("greeted").await;
    lab.life().await;
    lab.clock.advance(20 * HOUR);
    until_pruned(&lab.mailboxes, 2).await;
    lab.clock.advance(20 * HOUR);
    lab.send("last").await;
    fs::remove_file(lab.kept()).unwrap();
    // The whole of both files is read, and nothing in them is news or an error.
    let (_, intake) = lab.open().await;
    assert!(
        intake.iter().all(|it| matches!(
            it,
            Intake::Ack {
                found: Found::Reread,
                ..
            }
        )),
        "{intake:?}"
    );
    assert_eq!(lab.ids().await, ["last"]);
    assert_eq!(ids(&lab.file()), ["theirs", "ours", "last"]);
}

async fn until_pruned(mailboxes: &Mailboxes, count: u64) {
    while mailboxes.status().await.unwrap()[0].pruned < count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_ack_is_handed_out_after_the_message_that_it_is_of() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    // More than is handed out at once, and the acks of all of it.
    let many = 5_000;
    let mut file = fs::File::create(lab.file()).unwrap();
    let mut acks = fs::File::create(lab.acks()).unwrap();
    for n in 0..many {
        file.write_all(foreign(&format!("m-{n}")).as_bytes()).unwrap();
        let ack = format!(
            "{{\"ts\":\"2026-05-14T17:46:00Z\",\"from\":\"greeter\",\"intent\":\"ack\",\"msg_id\":\"m-{n}\",\"outcome\":\"done\"}}\n"
        );
        acks.write_all(ack.as_bytes()).unwrap();
    }
    let first = sync(&mut mirror).await;
    let is_ack = |intake: &Intake| matches!(intake, Intake::Ack { .. });
    assert!(!first.is_empty() && !first.iter().any(is_ack));
    take_in(&lab.mailboxes, first).await;
    // It ends before all of it was handed out; the next one goes on.
    mirror.close().await.unwrap();
    let (mirror, _) = lab.settled().await;
    let status = &lab.mailboxes.status().await.unwrap()[0];
    assert_eq!((status.total, status.acked), (many, many));
    mirror.close().await.unwrap();
    assert!(lab.life().await.is_empty());
    assert_eq!(ids(&lab.acks()).len(), usize::try_from(many).unwrap());
}
