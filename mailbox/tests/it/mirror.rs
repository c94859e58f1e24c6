//! The JSONL mirror, both ways.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mailbox::mirror::{Intake, Mirror, Rules};
use mailbox::{
    AckedBy, Clock, Done, Draft, Filter, Lessee, MAX_MESSAGE, Mailboxes, ManualClock, Message, Moment,
    Policy, Seq,
};

use crate::{draft, name};

mod position;
mod rebuild;
mod rotated;
mod stress;

const FOREIGN: &str =
    r#"{"ts":"2026-05-14T17:45:00Z","from":"cron","intent":"greet","msg_id":"foreign-1","name":"Ada"}"#;

struct Lab {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    mailboxes: Mailboxes,
    rules: Rules,
}

impl Lab {
    async fn new() -> Lab {
        let clock = Arc::new(ManualClock::at(Moment::from_millis(1_778_780_700_000)));
        let mailboxes = Mailboxes::open_memory(Arc::clone(&clock) as Arc<dyn Clock>);
        mailboxes.declare(name(), Policy::default()).await.unwrap();
        Lab {
            dir: tempfile::tempdir().unwrap(),
            clock,
            mailboxes,
            rules: Rules::default(),
        }
    }

    /// A mirror after its first round, and what that found.
    async fn open(&self) -> (Mirror, Vec<Intake>) {
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let mut mirror = Mirror::new(self.dir.path(), self.mailboxes.clone(), clock, self.rules);
        let intake = sync(&mut mirror).await;
        (mirror, intake)
    }

    /// The same until nothing is found any more, what was found taken in.
    async fn settled(&self) -> (Mirror, Vec<String>) {
        let (mut mirror, intake) = self.open().await;
        let mut said = take_in(&self.mailboxes, intake).await;
        said.extend(self.settle(&mut mirror).await);
        (mirror, said)
    }

    async fn settle(&self, mirror: &mut Mirror) -> Vec<String> {
        let mut said = Vec::new();
        loop {
            let found = take_in(&self.mailboxes, sync(mirror).await).await;
            if found.is_empty() {
                return said;
            }
            said.extend(found);
        }
    }

    /// The ids in the mailbox, in their order.
    async fn ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        let mut after = Seq(0);
        loop {
            let page = self
                .mailboxes
                .envelopes(&name(), Filter::all().after(after))
                .await
                .unwrap();
            let Some(last) = page.last() else { return ids };
            after = last.seq;
            ids.extend(page.iter().map(|envelope| envelope.message.msg_id().to_string()));
        }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("greeter.jsonl")
    }

    fn acks(&self) -> PathBuf {
        self.dir.path().join("_acks.jsonl")
    }

    /// Has the file be written at the moment that the clock shows.
    fn written_now(&self, path: &Path) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(self.clock.now().as_millis());
        let file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.set_modified(now).unwrap();
    }

    async fn send(&self, id: &str) {
        self.mailboxes.append(vec![draft(id)]).await.unwrap();
    }

    async fn handle_one(&self, outcome: &str) {
        let delivery = self.mailboxes.lease(&name(), Lessee::Process).await.unwrap();
        self.mailboxes
            .ack(delivery.lease, Done::new(outcome))
            .await
            .unwrap();
    }
}

/// One round in which nothing stands in the way.
async fn sync(mirror: &mut Mirror) -> Vec<Intake> {
    let synced = mirror.sync().await.unwrap();
    assert!(synced.behind.is_empty(), "{:?}", synced.behind);
    synced.intake
}

fn ids(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    text.lines()
        .map(|line| Message::parse(line.as_bytes()).unwrap().msg_id().to_string())
        .collect()
}

fn write(path: &Path, text: &str) {
    fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

/// Takes in what a mirror handed out, as the owner of the mailboxes does, and says what it was.
async fn take_in(mailboxes: &Mailboxes, intake: Vec<Intake>) -> Vec<String> {
    let mut said = Vec::new();
    for intake in intake {
        match intake {
            Intake::Message { mailbox, message, at } => {
                said.push(format!("{} message {}", at.line, message.msg_id()));
                mailboxes
                    .append(vec![Draft::new(mailbox, message)])
                    .await
                    .unwrap();
            }
            Intake::Ack { ack, at, .. } => {
                said.push(format!("{} ack {} {}", at.line, ack.msg_id, ack.outcome));
                let by = AckedBy::Line {
                    from: ack.from.as_str().into(),
                };
                let of = ack.from.parse().unwrap();
                mailboxes
                    .ack_by_id(&of, &ack.msg_id, None, by, Done::new(ack.outcome))
                    .await
                    .unwrap();
            }
            Intake::History { at, count } => said.push(format!("{} history, {count} in all", at.line)),
            Intake::Malformed { at, fault } => said.push(format!("{} {fault}", at.line)),
        }
    }
    said
}

#[tokio::test]
async fn messages_and_acks_are_written_in_order_once() {
    let lab = Lab::new().await;
    lab.send("a").await;
    let (mut mirror, intake) = lab.open().await;
    assert!(intake.is_empty());
    lab.send("b").await;
    lab.handle_one("greeted").await;
    sync(&mut mirror).await;
    assert!(sync(&mut mirror).await.is_empty());
    assert_eq!(ids(&lab.file()), ["a", "b"]);
    assert_eq!(
        fs::read_to_string(lab.acks()).unwrap(),
        "{\"ts\":\"2026-05-14T17:45:00Z\",\"from\":\"greeter\",\"intent\":\"ack\",\"msg_id\":\"a\",\"outcome\":\"greeted\"}\n"
    );
    // Opened again, nothing is written twice.
    drop(mirror);
    lab.send("c").await;
    let (_, intake) = lab.open().await;
    assert!(intake.is_empty());
    assert_eq!(ids(&lab.file()), ["a", "b", "c"]);
    assert_eq!(ids(&lab.acks()), ["a"]);
}

#[tokio::test]
async fn a_foreign_message_is_taken_in_once_and_not_written_again() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    write(&lab.file(), &format!("{FOREIGN}\n"));
    let intake = sync(&mut mirror).await;
    assert_eq!(take_in(&lab.mailboxes, intake).await, ["1 message foreign-1"]);
    lab.send("a").await;
    assert!(sync(&mut mirror).await.is_empty());
    assert!(sync(&mut mirror).await.is_empty());
    assert_eq!(ids(&lab.file()), ["foreign-1", "a"]);
    let (_, intake) = lab.open().await;
    assert!(intake.is_empty());
    assert_eq!(ids(&lab.file()), ["foreign-1", "a"]);
}

#[tokio::test]
async fn a_foreign_ack_is_taken_in_and_needs_no_lease() {
    let lab = Lab::new().await;
    lab.send("a").await;
    let (mut mirror, _) = lab.open().await;
    let line =
        r#"{"ts":"2026-05-14T17:46:00Z","from":"greeter","intent":"ack","msg_id":"a","outcome":"by hand"}"#;
    write(&lab.acks(), &format!("{line}\n"));
    let intake = sync(&mut mirror).await;
    assert_eq!(take_in(&lab.mailboxes, intake).await, ["1 ack a by hand"]);
    assert!(sync(&mut mirror).await.is_empty());
    assert_eq!(ids(&lab.acks()), ["a"]);
    let (_, intake) = lab.open().await;
    assert!(intake.is_empty());
    assert_eq!(ids(&lab.acks()), ["a"]);
    assert_eq!(lab.mailboxes.status().await.unwrap()[0].acked, 1);
}

#[tokio::test]
async fn what_was_written_while_nobody_looked_is_taken_in_at_the_start() {
    let lab = Lab::new().await;
    lab.send("a").await;
    drop(lab.open().await);
    write(&lab.file(), &format!("{FOREIGN}\nnonsense\n"));
    let (_, intake) = lab.open().await;
    let said = take_in(&lab.mailboxes, intake).await;
    assert_eq!(said.len(), 2);
    assert_eq!(said[0], "2 message foreign-1");
    assert!(said[1].starts_with("3 not a JSON object"), "{said:?}");
}

#[tokio::test]
async fn a_partial_line_waits_and_a_malformed_one_is_reported_once() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    write(&lab.file(), &FOREIGN[..20]);
    assert!(sync(&mut mirror).await.is_empty());
    write(&lab.file(), &FOREIGN[20..]);
    assert!(sync(&mut mirror).await.is_empty());
    write(&lab.file(), "\n[1]\n");
    let intake = sync(&mut mirror).await;
    let said = take_in(&lab.mailboxes, intake).await;
    assert_eq!(said[0], "1 message foreign-1");
    assert!(said[1].starts_with("2 not a JSON object"), "{said:?}");
    assert!(sync(&mut mirror).await.is_empty());
}

#[tokio::test]
async fn our_own_torn_tail_is_completed_at_every_length() {
    let lab = Lab::new().await;
    lab.send("a").await;
    drop(lab.open().await);
    let whole = fs::read_to_string(lab.file()).unwrap();
    lab.send("b").await;
    lab.send("c").await;
    drop(lab.open().await);
    let all = fs::read_to_string(lab.file()).unwrap();
    for end in whole.len()..all.len() {
        fs::write(lab.file(), &all[..end]).unwrap();
        let (mut mirror, intake) = lab.open().await;
        assert!(intake.is_empty(), "{end}: {intake:?}");
        assert!(sync(&mut mirror).await.is_empty(), "{end}");
        assert_eq!(fs::read_to_string(lab.file()).unwrap(), all, "{end}");
    }
}

#[tokio::test]
async fn a_torn_tail_of_somebody_else_gets_its_line_break_and_is_reported() {
    let lab = Lab::new().await;
    lab.send("a").await;
    write(&lab.file(), "{\"ts\":\"2026");
    write(&lab.acks(), "half");
    let (mut mirror, intake) = lab.open().await;
    let mut said = take_in(&lab.mailboxes, intake).await;
    let intake = sync(&mut mirror).await;
    said.extend(take_in(&lab.mailboxes, intake).await);
    // `{"ts":"2026` is how our own line begins: it is completed. The acks file waits for its first ack.
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(ids(&lab.file()), ["a"]);
    lab.handle_one("greeted").await;
    let intake = sync(&mut mirror).await;
    let said = take_in(&lab.mailboxes, intake).await;
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("1 not an acknowledgement"), "{said:?}");
}

#[tokio::test]
async fn somebody_who_is_about_to_finish_a_line_is_waited_for_once() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    lab.send("a").await;
    sync(&mut mirror).await;
    write(&lab.file(), &FOREIGN[..40]);
    lab.send("b").await;
    lab.written_now(&lab.file());
    assert!(sync(&mut mirror).await.is_empty());
    write(&lab.file(), &format!("{}\n", &FOREIGN[40..]));
    let intake = sync(&mut mirror).await;
    assert_eq!(take_in(&lab.mailboxes, intake).await, ["2 message foreign-1"]);
    assert_eq!(ids(&lab.file()), ["a", "foreign-1", "b"]);
}

#[tokio::test]
async fn rotated_and_truncated_files_do_no_harm() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    lab.send("a").await;
    sync(&mut mirror).await;
    // A last line goes into the old file just before it is rotated.
    write(&lab.file(), &format!("{FOREIGN}\n"));
    fs::rename(lab.file(), lab.dir.path().join("greeter.jsonl.1")).unwrap();
    let intake = sync(&mut mirror).await;
    assert_eq!(take_in(&lab.mailboxes, intake).await, ["2 message foreign-1"]);
    lab.send("b").await;
    assert!(sync(&mut mirror).await.is_empty());
    assert_eq!(ids(&lab.file()), ["b"]);
    fs::write(lab.file(), "").unwrap();
    lab.send("c").await;
    assert!(sync(&mut mirror).await.is_empty());
    assert!(sync(&mut mirror).await.is_empty());
    assert_eq!(ids(&lab.file()), ["c"]);
    fs::remove_file(lab.file()).unwrap();
    lab.send("d").await;
    sync(&mut mirror).await;
    assert_eq!(ids(&lab.file()), ["d"]);
}

#[tokio::test]
async fn a_line_of_ten_megabytes_is_refused_by_name() {
    let lab = Lab::new().await;
    let (mut mirror, _) = lab.open().await;
    write(&lab.file(), &"x".repeat(10 * 1024 * 1024));
    assert!(sync(&mut mirror).await.is_empty());
    write(&lab.file(), &format!("\n{FOREIGN}\n"));
    let intake = sync(&mut mirror).await;
    let said = take_in(&lab.mailboxes, intake).await;
    assert_eq!(
        said,
        [
            format!("1 longer than {MAX_MESSAGE} bytes"),
            "2 message foreign-1".to_owned()
        ]
    );
}
