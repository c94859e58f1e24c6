//! A turn: one run of a handler on one message or takt, and every effect that it can have.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use child::{Command, Finished};
use chrono::{DateTime, SecondsFormat, Utc};
use mailbox::{Clock, Digest, Draft, Envelope, MailboxName, MessageError, Moment, MsgId};
use tokio::sync::watch;

use crate::attention::Attention;
use crate::effects::{EffectError, Effects};
use crate::files::{Entry, KeyedLine};
use crate::message::{About, Consumes};
use crate::registry::{Registry, Routed};
use crate::status::Overview;
use crate::{Actor, Fault, HomePath, Intent};

/// The longest key that is spelled out in the ids of what a turn sends; a longer one is replaced by its digest.
/// An id has at most 256 bytes, and `/` and a number follow.
const MAX_KEY: usize = 240;

/// What every turn of a process has in common.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) registry: Arc<Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) evaluate_at: Option<DateTime<Utc>>,
    pub(crate) overview: watch::Receiver<Arc<Overview>>,
}

impl Surroundings {
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.evaluate_at.unwrap_or_else(|| self.clock.now().into())
    }
}

/// Until when a turn may run. Progress moves it; whoever watches the turn reads it.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: AtomicU64,
    each: Duration,
}

impl Deadline {
    pub(crate) fn new(now: Moment, each: Duration) -> Arc<Self> {
        Arc::new(Self {
            at: AtomicU64::new(now.after(each).as_millis()),
            each,
        })
    }

    pub(crate) fn at(&self) -> Moment {
        Moment::from_millis(self.at.load(Ordering::Relaxed))
    }

    pub(crate) fn each(&self) -> Duration {
        self.each
    }

    fn move_on(&self, now: Moment) {
        self.at
            .fetch_max(now.after(self.each).as_millis(), Ordering::Relaxed);
    }

    /// Completes when the deadline has come and was not moved meanwhile.
    pub(crate) async fn missed(&self, clock: &dyn Clock) {
        while clock.now() < self.at() {
            clock.sleep_until(self.at()).await;
        }
    }
}

/// What a turn is about.
pub(crate) enum Occasion {
    Message { envelope: Envelope, attempt: u32 },
    Takt { due: DateTime<Utc> },
}

/// One run of a handler, with the effects that it has (design: "A turn").
///
/// Reads are live, and the digest of what was read is kept with the ack. Messages are held back until the turn is
/// done and committed in one group with its ack: a turn that fails has sent none. Files change at once, in a way
/// that is safe to repeat.
pub struct Turn {
    actor: MailboxName,
    key: String,
    occasion: Occasion,
    surroundings: Surroundings,
    effects: Box<dyn Effects>,
    deadline: Arc<Deadline>,
    outbox: Vec<Draft>,
    /// Messages numbered so far; one that goes to several mailboxes is one.
    numbered: u32,
    read: Option<Digest>,
}

/// The header of a message whose id and time its sender chooses itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The message's id; a mailbox takes it once.
    pub msg_id: MsgId,
    /// The message's time.
    pub ts: DateTime<Utc>,
    /// Who says it.
    pub from: String,
}

impl Turn {
    pub(crate) fn new(
        actor: MailboxName,
        occasion: Occasion,
        surroundings: Surroundings,
        effects: Box<dyn Effects>,
        deadline: Arc<Deadline>,
    ) -> Self {
        let about = match &occasion {
            Occasion::Message { envelope, .. } => envelope.message.msg_id().to_string(),
            Occasion::Takt { due } => due.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        };
        let mut key = format!("{actor}/{about}");
        if key.len() > MAX_KEY {
            key = format!("{actor}/{}", Digest::of(about.as_bytes()));
        }
        Self {
            actor,
            key,
            occasion,
            surroundings,
            effects,
            deadline,
            outbox: Vec::new(),
            numbered: 0,
            read: None,
        }
    }

    /// The name of the actor whose turn it is.
    pub fn actor(&self) -> &MailboxName {
        &self.actor
    }

    /// What tells this turn apart, the same each time that it is run: `<actor>/<msg_id>`, of a takt
    /// `<actor>/<instant>`. It is the key of whatever the turn does once.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The moment as of which the turn evaluates: `--now` pins it.
    pub fn now(&self) -> DateTime<Utc> {
        self.surroundings.now()
    }

    /// The present on the clock that leases, deadlines and waits run on, which nothing pins.
    pub fn moment(&self) -> Moment {
        self.surroundings.clock.now()
    }

    /// The message with its number, cause and times; `None` in a takt.
    pub fn envelope(&self) -> Option<&Envelope> {
        match &self.occasion {
            Occasion::Message { envelope, .. } => Some(envelope),
            Occasion::Takt { .. } => None,
        }
    }

    /// Which delivery of its message this is, from 1; always 1 in a takt.
    pub fn attempt(&self) -> u32 {
        match self.occasion {
            Occasion::Message { attempt, .. } => attempt,
            Occasion::Takt { .. } => 1,
        }
    }

    /// Shows that the turn gets on: its deadline counts from now.
    pub fn progress(&self) {
        self.deadline.move_on(self.surroundings.clock.now());
    }

    /// What a person must look at, as last derived.
    pub fn attention(&self) -> Vec<Attention> {
        self.surroundings.overview.borrow().attention.clone()
    }

    /// Sends a message to every actor that declares the intent, when the turn is done; to the dead-letter mailbox
    /// where none does. Its id is the turn's key and a number. Returns the mailboxes.
    ///
    /// # Errors
    ///
    /// When the payload is no JSON object or the message is larger than 768 KiB.
    pub fn send<I: Intent>(&mut self, intent: I) -> Result<Vec<MailboxName>, SendError> {
        let stamp = self.next_stamp();
        self.send_as(stamp, intent)
    }

    /// Sends a message to one actor, whose messages include the intent; to the dead-letter mailbox where the actor
    /// is not declared. What the receiver does not declare does not compile:
    ///
    /// ```compile_fail,E0277
    /// # use runtime::{Actor, Done, Fault, Intent, Turn, message};
    /// # use schemars::JsonSchema;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, JsonSchema)]
    /// struct Greet {}
    /// impl Intent for Greet {
    ///     const NAME: &'static str = "greet";
    /// }
    /// #[derive(Serialize, Deserialize, JsonSchema)]
    /// struct Sing {}
    /// impl Intent for Sing {
    ///     const NAME: &'static str = "sing";
    /// }
    /// message! { pub enum GreeterMessage { Greet(Greet) } }
    /// struct Greeter;
    /// impl Actor for Greeter {
    ///     const NAME: &'static str = "greeter";
    ///     type Message = GreeterMessage;
    ///     async fn handle(&mut self, _: GreeterMessage, turn: &mut Turn) -> Result<Done, Fault> {
    ///         turn.tell::<Greeter, _>(Sing {})?; // a greeter does not sing
    ///         Ok(Done::new("sung"))
    ///     }
    /// }
    /// ```
    ///
    /// With `Greet {}` in that place it does:
    ///
    /// ```
    /// # use runtime::{Actor, Done, Fault, Intent, Turn, message};
    /// # use schemars::JsonSchema;
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, JsonSchema)]
    /// # struct Greet {}
    /// # impl Intent for Greet {
    /// #     const NAME: &'static str = "greet";
    /// # }
    /// # message! { pub enum GreeterMessage { Greet(Greet) } }
    /// # struct Greeter;
    /// # impl Actor for Greeter {
    /// #     const NAME: &'static str = "greeter";
    /// #     type Message = GreeterMessage;
    /// #     async fn handle(&mut self, _: GreeterMessage, turn: &mut Turn) -> Result<Done, Fault> {
    /// turn.tell::<Greeter, _>(Greet {})?;
    /// #         Ok(Done::new("told"))
    /// #     }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Turn::send`].
    pub fn tell<A, I>(&mut self, intent: I) -> Result<MailboxName, SendError>
    where
        A: Actor<Message: Consumes<I>>,
        I: Intent,
    {
        let stamp = self.next_stamp();
        let declared = self
            .surroundings
            .registry
            .actors()
            .find(|name| name.as_str() == A::NAME)
            .cloned();
        let to = declared.unwrap_or_else(MailboxName::dead_letter);
        self.post(vec![to.clone()], &stamp, &intent)?;
        Ok(to)
    }

    /// Sends as [`Turn::send`] does, with an id, a time and a sender of one's own: for a dispatcher, whose repeats
    /// are to be recognised.
    ///
    /// # Errors
    ///
    /// As for [`Turn::send`].
    pub fn send_as<I: Intent>(&mut self, stamp: Stamp, intent: I) -> Result<Vec<MailboxName>, SendError> {
        let routed = self.surroundings.registry.route(I::NAME);
        if routed == Routed::Nobody {
            tracing::warn!(actor = %self.actor, intent = I::NAME, "nobody declares the intent: a dead letter");
        }
        let to = routed.mailboxes();
        self.post(to.clone(), &stamp, &intent)?;
        Ok(to)
    }

    fn next_stamp(&mut self) -> Stamp {
        self.numbered += 1;
        let id = format!("{}/{}", self.key, self.numbered);
        let msg_id = id
            .parse()
            .expect("a key is shorter than an id, and its parts hold no control character");
        Stamp {
            msg_id,
            ts: self.now(),
            from: self.actor.to_string(),
        }
    }

    fn post<I: Intent>(&mut self, to: Vec<MailboxName>, stamp: &Stamp, intent: &I) -> Result<(), SendError> {
        let message = mailbox::Message::build(stamp.ts, &stamp.from, I::NAME, &stamp.msg_id, intent)
            .map_err(|source| SendError {
                intent: I::NAME,
                source,
            })?;
        let About { subject, evidence } = About::of(intent);
        let cause = self.envelope().map(|envelope| envelope.message.msg_id().clone());
        self.outbox.extend(to.into_iter().map(|to| Draft {
            to,
            message: message.clone(),
            subject: subject.clone(),
            evidence,
            cause: cause.clone(),
        }));
        Ok(())
    }

    /// Reads a file; `None` where there is none.
    ///
    /// # Errors
    ///
    /// When it cannot be read or is larger than [`MAX_READ`](crate::MAX_READ).
    pub async fn read_file(&mut self, path: &HomePath) -> Result<Option<Vec<u8>>, EffectError> {
        let bytes = self.effects.read_file(path).await?;
        self.saw(path.as_str(), bytes.as_deref().unwrap_or_default());
        Ok(bytes)
    }

    /// Reads the last lines of a file, whole ones, that fit into `most` bytes; `None` where there is no file. For
    /// files that grow without end.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn read_tail(&mut self, path: &HomePath, most: u64) -> Result<Option<Vec<u8>>, EffectError> {
        let bytes = self.effects.read_tail(path, most).await?;
        self.saw(path.as_str(), bytes.as_deref().unwrap_or_default());
        Ok(bytes)
    }

    /// Lists a directory by name; nothing where there is none.
    ///
    /// # Errors
    ///
    /// When it cannot be listed.
    pub async fn list_dir(&mut self, path: &HomePath) -> Result<Vec<Entry>, EffectError> {
        let entries = self.effects.list_dir(path).await?;
        let seen: Vec<_> = entries
            .iter()
            .map(|entry| {
                format!(
                    "{}\n{}\n{}\n",
                    entry.name,
                    entry.len,
                    entry.modified.timestamp_millis()
                )
            })
            .collect();
        self.saw(path.as_str(), seen.concat().as_bytes());
        Ok(entries)
    }

    /// Writes a file whole: whoever reads it sees the old or the new, also after a power cut.
    ///
    /// # Errors
    ///
    /// When it cannot be written; then the old one is there.
    pub async fn write_file(
        &mut self,
        path: &HomePath,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<(), EffectError> {
        self.effects.write_file(path, bytes.into()).await
    }

    /// Appends a line unless a line with its key is there: a turn that runs again adds nothing. The key stands in
    /// the line as a word of its own, and any line that holds it counts, so it must be rare: the turn's own key, or
    /// a message's id. Returns whether the line was appended.
    ///
    /// # Errors
    ///
    /// When the line has a line break or lacks its key, or the file cannot be written.
    pub async fn append_line(
        &mut self,
        path: &HomePath,
        key: impl Into<String>,
        line: impl Into<String>,
    ) -> Result<bool, EffectError> {
        let line = KeyedLine {
            key: key.into(),
            line: line.into(),
        };
        Ok(self.append_lines(path, vec![line]).await? > 0)
    }

    /// Appends lines as [`Turn::append_line`] does, all in one write and one sync. Returns how many were appended.
    ///
    /// # Errors
    ///
    /// As for [`Turn::append_line`].
    pub async fn append_lines(
        &mut self,
        path: &HomePath,
        lines: Vec<KeyedLine>,
    ) -> Result<usize, EffectError> {
        self.effects.append_lines(path, lines).await
    }

    /// Runs a program to its end. Its output is no part of what the turn read: say so with [`Turn::saw`] where a
    /// decision rests on it.
    ///
    /// # Errors
    ///
    /// When it does not run to its end.
    pub async fn run(&mut self, command: Command) -> Result<Finished, EffectError> {
        self.effects.run(command).await
    }

    /// Counts something that the handler read elsewhere into the digest that is kept with the ack, so that a
    /// replay can say whether the world moved.
    pub fn saw(&mut self, what: &str, bytes: &[u8]) {
        let mut folded = self.read.map(|read| read.as_bytes().to_vec()).unwrap_or_default();
        folded.extend_from_slice(Digest::of(what.as_bytes()).as_bytes());
        folded.extend_from_slice(Digest::of(bytes).as_bytes());
        self.read = Some(Digest::of(&folded));
    }

    /// What the turn sends, and the digest of what it read.
    pub(crate) fn into_parts(self) -> (Vec<Draft>, Option<Digest>) {
        (self.outbox, self.read)
    }
}

/// Why a message could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write a message of intent {intent:?}")]
pub struct SendError {
    intent: &'static str,
    source: MessageError,
}

impl From<SendError> for Fault {
    /// The same message would be refused again.
    fn from(error: SendError) -> Self {
        match error.source {
            MessageError::TooLarge { .. } => Self::reject(crate::actor::chain(&error)),
            _ => Self::crash(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mailbox::ManualClock;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::effects::{Real, Recording};
    use crate::{Recorded, message};

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
        let sent: Vec<_> = turn
            .into_parts()
            .0
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
    fn a_message_over_the_limit_is_refused_by_its_sender() {
        let mut turn = takt(surroundings(|_| ()), Box::new(Real::on("/nowhere")));
        let error = turn.send(note(&"x".repeat(1 << 20))).unwrap_err();
        assert!(matches!(Fault::from(error), Fault::Reject(_)));
    }

    #[test]
    fn a_key_too_long_for_an_id_becomes_its_digest() {
        let id = "x".repeat(256);
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
        let surroundings = surroundings(|_| ());
        let deadline = Deadline::new(Moment::EPOCH, Duration::from_secs(1));
        let occasion = Occasion::Message { envelope, attempt: 1 };
        let effects = Box::new(Real::on("/nowhere"));
        let mut turn = Turn::new(
            "clerk".parse().unwrap(),
            occasion,
            surroundings,
            effects,
            deadline,
        );
        assert_eq!(turn.key(), format!("clerk/{}", Digest::of(id.as_bytes())));
        turn.send(note("fits")).unwrap();
        assert_eq!(turn.into_parts().0[0].cause.as_ref().unwrap().as_str(), id);
    }

    async fn digest_of_reading(home: &Path) -> Option<Digest> {
        let mut turn = takt(surroundings(|_| ()), Box::new(Real::on(home)));
        turn.read_file(&"a".parse().unwrap()).await.unwrap();
        turn.list_dir(&HomePath::home()).await.unwrap();
        turn.into_parts().1
    }

    #[tokio::test]
    async fn the_digest_says_whether_the_world_moved() {
        let home = tempfile::tempdir().unwrap();
        let empty = digest_of_reading(home.path()).await;
        assert!(empty.is_some());
        assert_eq!(digest_of_reading(home.path()).await, empty);
        std::fs::write(home.path().join("a"), "x").unwrap();
        assert_ne!(digest_of_reading(home.path()).await, empty);
        let nothing = takt(surroundings(|_| ()), Box::new(Real::on(home.path())))
            .into_parts()
            .1;
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
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        let kinds: Vec<_> = recording
            .take()
            .into_iter()
            .map(|effect| match effect {
                Recorded::WriteFile { path, .. } => format!("write {path}"),
                Recorded::AppendLines { path, .. } => format!("append {path}"),
                Recorded::Run { command } => format!("run {}", command.program()),
            })
            .collect();
        assert_eq!(kinds, ["write brief.md", "append log", "run touch"]);
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
}
