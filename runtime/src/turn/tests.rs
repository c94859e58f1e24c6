//! What a turn does, seen from inside.

use std::path::Path;
use std::time::Duration;

use mailbox::ManualClock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::effects::{Real, Recording};
use crate::{Actor, Fault, Intent, Recorded, message};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Note {
    text: String,
}
impl Intent for Note {
    const NAME: &'static str = "note";
}
message! {
    #[expect(dead_code, reason = "the keeper is declared, and handles nothing")]
    enum NoteMessage { Note(Note) }
}
struct Keeper;
impl Actor for Keeper {
    const NAME: &'static str = "keeper";
    type Message = NoteMessage;
    async fn handle(&mut self, _: NoteMessage, _: &mut Turn) -> Result<crate::Done, Fault> {
        Ok(crate::Done::new("kept"))
    }
}

const DUE: &str = "2026-05-14T17:45:00Z";

fn surroundings(declare: impl FnOnce(&mut Registry)) -> Surroundings {
    let mut registry = Registry::new();
    declare(&mut registry);
    Surroundings {
        registry: Arc::new(registry),
        clock: Arc::new(ManualClock::at(Moment::from_millis(1_000))),
        evaluate_at: Some("2020-01-01T00:00:00Z".parse().unwrap()),
        overview: watch::Sender::new(Arc::default()).subscribe(),
        told: Arc::default(),
    }
}

fn takt(surroundings: Surroundings, effects: Box<dyn Effects>) -> Turn {
    let deadline = Deadline::new(surroundings.clock.now(), Duration::from_secs(1));
    let due = DUE.parse().unwrap();
    Turn::new(
        "clerk".parse().unwrap(),
        Occasion::Takt { due },
        surroundings,
        effects,
        deadline,
    )
}

fn sent(turn: Turn) -> Vec<mailbox::Draft> {
    turn.finish(crate::Done::new("done")).1
}

fn read(turn: Turn) -> Option<Digest> {
    turn.finish(crate::Done::new("done")).2
}

fn note(text: &str) -> Note {
    Note { text: text.into() }
}

#[test]
fn what_is_sent_waits_in_the_turn_under_the_turns_key() {
    let declared = surroundings(|registry| {
        registry.declare::<Keeper>().unwrap();
        registry.external("audit".parse().unwrap(), ["note"]).unwrap();
    });
    let mut turn = takt(declared, Box::new(Real::on("/nowhere")));
    assert_eq!(turn.key(), "clerk/2026-05-14T17:45:00Z");
    assert_eq!(turn.send(note("a")).unwrap().len(), 2);
    assert_eq!(turn.tell::<Keeper, _>(note("b")).unwrap().as_str(), "keeper");
    let sent: Vec<_> = sent(turn)
        .into_iter()
        .map(|d| format!("{} {}", d.to, d.message.line()))
        .collect();
    let line = |n, text| {
        format!(
            r#"{{"ts":"2020-01-01T00:00:00Z","from":"clerk","intent":"note","msg_id":"clerk/{DUE}/{n}","text":"{text}"}}"#
        )
    };
    let expected = [
        format!("audit {}", line(1, "a")),
        format!("keeper {}", line(1, "a")),
        format!("keeper {}", line(2, "b")),
    ];
    assert_eq!(sent, expected);
}

#[test]
fn an_intent_that_nobody_declares_is_a_dead_letter() {
    let mut turn = takt(surroundings(|_| ()), Box::new(Real::on("/nowhere")));
    assert_eq!(turn.send(note("a")).unwrap(), [MailboxName::dead_letter()]);
    assert_eq!(
        turn.tell::<Keeper, _>(note("a")).unwrap(),
        MailboxName::dead_letter()
    );
}

#[test]
fn a_takt_sends_nothing_to_a_full_mailbox_and_says_so() {
    let full = Attention {
        key: "full/audit".to_owned(),
        since: Moment::EPOCH,
        text: String::new(),
        mend: String::new(),
    };
    let overview = Overview {
        attention: vec![full],
        ..Overview::default()
    };
    let surroundings = Surroundings {
        overview: watch::Sender::new(Arc::new(overview)).subscribe(),
        ..surroundings(|registry| {
            registry.declare::<Keeper>().unwrap();
            registry.external("audit".parse().unwrap(), ["note"]).unwrap();
        })
    };
    let keeper: MailboxName = "keeper".parse().unwrap();
    let mut turn = takt(surroundings.clone(), Box::new(Real::on("/nowhere")));
    assert_eq!(turn.send(note("a")).unwrap(), std::slice::from_ref(&keeper));
    assert_eq!(turn.send(note("b")).unwrap(), [keeper]);
    let (done, sent, _) = turn.finish(crate::Done::new("dispatched 2"));
    assert_eq!(
        done.outcome(),
        "dispatched 2; not sent, the mailbox being full: 2 to audit"
    );
    assert_eq!(sent.len(), 2);

    // What a message leads to is committed with its ack, and passes.
    let mut turn = message_turn(surroundings, "m-1");
    assert_eq!(turn.send(note("a")).unwrap().len(), 2);
    let (done, sent, _) = turn.finish(crate::Done::new("done"));
    assert_eq!((done.outcome(), sent.len()), ("done", 2));
}

#[test]
fn a_message_over_the_limit_is_refused_by_its_sender() {
    let mut turn = takt(surroundings(|_| ()), Box::new(Real::on("/nowhere")));
    let error = turn.send(note(&"x".repeat(1 << 20))).unwrap_err();
    assert!(matches!(Fault::from(error), Fault::Reject(_)));
}

/// The turn of a message with this id, as its first delivery.
fn message_turn(surroundings: Surroundings, id: &str) -> Turn {
    let line = format!(r#"{{"ts":"{DUE}","from":"t","intent":"note","msg_id":"{id}","text":""}}"#);
    let envelope = Envelope {
        mailbox: "clerk".parse().unwrap(),
        seq: mailbox::Seq::FIRST,
        message: mailbox::Message::parse(line.as_bytes()).unwrap(),
        subject: None,
        evidence: None,
        cause: None,
        appended_at: Moment::EPOCH,
        attempts: 1,
        state: mailbox::EnvelopeState::Unread { not_before: None },
    };
    Turn::new(
        "clerk".parse().unwrap(),
        Occasion::Message { envelope, attempt: 1 },
        surroundings,
        Box::new(Real::on("/nowhere")),
        Deadline::new(Moment::EPOCH, Duration::from_secs(1)),
    )
}

#[test]
fn a_key_too_long_for_an_id_becomes_its_digest() {
    let id = "x".repeat(256);
    let mut turn = message_turn(surroundings(|_| ()), &id);
    assert_eq!(turn.key(), format!("clerk/{}", Digest::of(id.as_bytes())));
    turn.send(note("fits")).unwrap();
    assert_eq!(sent(turn)[0].cause.as_ref().unwrap().as_str(), id);
}

async fn digest_of_reading(home: &Path) -> Option<Digest> {
    let mut turn = takt(surroundings(|_| ()), Box::new(Real::on(home)));
    turn.read_file(&"a".parse().unwrap()).await.unwrap();
    turn.list_dir(&HomePath::home()).await.unwrap();
    read(turn)
}

#[tokio::test]
async fn the_digest_says_whether_the_world_moved() {
    let home = tempfile::tempdir().unwrap();
    let empty = digest_of_reading(home.path()).await;
    assert!(empty.is_some());
    assert_eq!(digest_of_reading(home.path()).await, empty);
    std::fs::write(home.path().join("a"), "x").unwrap();
    assert_ne!(digest_of_reading(home.path()).await, empty);
    let nothing = read(takt(surroundings(|_| ()), Box::new(Real::on(home.path()))));
    assert_eq!(nothing, None);
}

#[tokio::test]
async fn recorded_effects_change_nothing_and_read_as_if_they_had() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::over(home.path());
    let mut turn = takt(surroundings(|_| ()), Box::new(recording.clone()));
    let path: HomePath = "brief.md".parse().unwrap();
    turn.write_file(&path, "brief").await.unwrap();
    assert_eq!(turn.read_file(&path).await.unwrap().unwrap(), b"brief");
    assert!(turn.append_line(&"log".parse().unwrap(), "k", "k").await.unwrap());
    let command = Command::new(["touch", home.path().join("touched").to_str().unwrap()]).unwrap();
    assert!(turn.run(command).await.unwrap().succeeded());
    let pushed = turn
        .act("push topic to o/r", async { panic!("it was done") })
        .await;
    assert!(matches!(pushed, Err(EffectError::Withheld { what }) if what == "push topic to o/r"));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    let kinds: Vec<_> = recording
        .take()
        .into_iter()
        .map(|effect| match effect {
            Recorded::WriteFile { path, .. } => format!("write {path}"),
            Recorded::AppendLines { path, .. } => format!("append {path}"),
            Recorded::Run { command } => format!("run {}", command.program()),
            Recorded::Act { what } => what.clone(),
        })
        .collect();
    assert_eq!(
        kinds,
        ["write brief.md", "append log", "run touch", "push topic to o/r"]
    );
}

#[test]
fn progress_moves_the_deadline() {
    let clock = Arc::new(ManualClock::at(Moment::EPOCH));
    let surroundings = Surroundings {
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..surroundings(|_| ())
    };
    let turn = takt(surroundings, Box::new(Real::on("/nowhere")));
    clock.advance(Duration::from_millis(900));
    turn.progress();
    assert_eq!(turn.deadline.at(), Moment::from_millis(1_900));
}
