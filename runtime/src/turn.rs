//! A turn: one run of a handler on one message or takt, and every effect that it can have.

mod deadline;
mod sending;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use child::{Command, Finished};
use chrono::{DateTime, SecondsFormat, Utc};
use mailbox::{Clock, Digest, Envelope, MailboxName, Moment};
use tokio::sync::watch;

use crate::HomePath;
use crate::attention::Attention;
use crate::effects::{EffectError, Effects};
use crate::files::{Entry, KeyedLine};
use crate::registry::Registry;
use crate::status::Overview;

pub(crate) use deadline::Deadline;
use sending::Outbox;
pub use sending::{SendError, Stamp};

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
    pub(crate) told: Arc<Told>,
}

/// What actors want a person to look at, each its own list.
#[derive(Default)]
pub(crate) struct Told(Mutex<BTreeMap<MailboxName, Vec<Attention>>>);

impl Told {
    pub(crate) fn all(&self) -> Vec<Attention> {
        self.lock().values().flatten().cloned().collect()
    }

    fn put(&self, actor: &MailboxName, list: Vec<Attention>) {
        self.lock().insert(actor.clone(), list);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<MailboxName, Vec<Attention>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Surroundings {
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.evaluate_at.unwrap_or_else(|| self.clock.now().into())
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
    outbox: Outbox,
    read: Option<Digest>,
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
            outbox: Outbox::default(),
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

    /// Says what a person must look at about this actor's work, in place of what it said before: it is shown where
    /// the supervisor's own attention is, until the actor says otherwise or the process ends. An empty list says
    /// that all is well.
    pub fn attend(&mut self, list: Vec<Attention>) {
        self.surroundings.told.put(&self.actor, list);
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

    /// Acts on the world in a way that no other effect has, such as a push: `what` says it to a person, beginning with
    /// a verb (`push topic to o/r`). The work must be safe to repeat, since the turn may run again.
    ///
    /// A rehearsal notes `what` down, and the turn ends there: what the handler would do next depends on how
    /// the work ends.
    ///
    /// # Errors
    ///
    /// [`EffectError::Withheld`] in a rehearsal, which the handler passes on.
    ///
    /// ```
    /// # use runtime::{Done, Fault, Turn};
    /// # async fn push() -> Result<&'static str, std::io::Error> { Ok("pushed") }
    /// async fn publish(turn: &mut Turn) -> Result<Done, Fault> {
    ///     match turn.act("push topic to o/r", push()).await? {
    ///         Ok(outcome) => Ok(Done::new(outcome)),
    ///         Err(error) => Err(Fault::retry(error.to_string())),
    ///     }
    /// }
    /// ```
    pub async fn act<T>(
        &mut self,
        what: impl Into<String>,
        work: impl Future<Output = T> + Send,
    ) -> Result<T, EffectError> {
        self.effects.allow(what.into())?;
        Ok(work.await)
    }

    /// Counts something that the handler read elsewhere into the digest that is kept with the ack, so that a
    /// replay can say whether the world moved.
    pub fn saw(&mut self, what: &str, bytes: &[u8]) {
        let mut folded = self.read.map(|read| read.as_bytes().to_vec()).unwrap_or_default();
        folded.extend_from_slice(Digest::of(what.as_bytes()).as_bytes());
        folded.extend_from_slice(Digest::of(bytes).as_bytes());
        self.read = Some(Digest::of(&folded));
    }
}

#[cfg(test)]
mod tests;
