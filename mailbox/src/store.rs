//! Where mailboxes are kept: a log of messages and delivery events, and nothing more.
//!
//! A store knows no lease, attempt, backoff or supersession. It numbers messages, makes a group of
//! writes durable as a whole, and reads back what it was given. All policy is in the pure
//! transition, so that a further store has none to get wrong.

use std::future::Future;
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::event::StampedEvent;
use crate::message::{Draft, Message};
use crate::names::{Digest, Incarnation, MailboxName, MsgId, Seq, Subject};

mod memory;
mod sled;

pub use memory::MemoryStore;
pub use sled::DiskStore;

/// A message as it is kept: with what was declared about it and when it was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// When it was appended.
    pub appended_at: Moment,
    /// The message.
    pub message: Message,
    /// What it is about.
    pub subject: Option<Subject>,
    /// The digest of its evidence.
    pub evidence: Option<Digest>,
    /// The message that led to it.
    pub cause: Option<MsgId>,
}

impl Stored {
    pub(crate) fn new(draft: Draft, appended_at: Moment) -> Stored {
        let Draft {
            to: _,
            message,
            subject,
            evidence,
            cause,
        } = draft;
        Stored {
            appended_at,
            message,
            subject,
            evidence,
            cause,
        }
    }

    /// The part of it that an index is built from.
    pub fn head(&self) -> Head<'_> {
        Head {
            id: self.message.msg_id().as_str(),
            intent: self.message.intent(),
            appended_at: self.appended_at,
            subject: self.subject.as_ref().map(Subject::as_str),
            evidence: self.evidence,
        }
    }
}

/// What an index needs to know of a message; its bytes stay in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// The message's id.
    pub id: &'a str,
    /// Its intent.
    pub intent: &'a str,
    /// When it was appended.
    pub appended_at: Moment,
    /// What it is about.
    pub subject: Option<&'a str>,
    /// The digest of its evidence.
    pub evidence: Option<Digest>,
}

/// One record of the log, as [`Store::load`] shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    /// A message was appended.
    Message {
        /// Its number.
        seq: Seq,
        /// What is to be known of it.
        head: Head<'a>,
    },
    /// Something happened to one.
    Event(StampedEvent),
    /// A message was pruned, and its id is still known.
    Tombstone {
        /// Its number.
        seq: Seq,
        /// Its id.
        id: &'a str,
        /// When it was appended.
        appended_at: Moment,
        /// What came of it.
        outcome: &'a str,
    },
    /// Messages were pruned, and nothing of them is known but their numbers.
    Gone {
        /// The first of the numbers.
        first: Seq,
        /// The last.
        last: Seq,
    },
}

/// What is to become of a record that [`Store::prune`] shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It stays as it is.
    Stays,
    /// Of a message: a [`Record::Tombstone`] takes its place.
    Tombstone {
        /// What came of it.
        outcome: Arc<str>,
    },
    /// Of a message or tombstone: a [`Record::Gone`] takes its place. An event goes without a trace.
    Goes,
}

/// One thing to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Append a message.
    Message {
        /// To which mailbox.
        to: MailboxName,
        /// The message.
        stored: Stored,
    },
    /// Record what happened to a message.
    Event {
        /// Of which mailbox.
        of: MailboxName,
        /// The right under which this is written.
        under: Epoch,
        /// What happened.
        event: StampedEvent,
    },
}

/// What became of a [`Write`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// A message got this number, or an event was recorded for it.
    Placed(Seq),
    /// A message with this id was there already, under this number. Only a store to which others
    /// append as well answers this: the index has asked before.
    Known(Seq),
    /// Somebody else owns the mailbox now: the event was not written.
    Fenced,
}

/// A right to write events of a mailbox, given by [`Store::own`]. A later one ends the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// A place in the log. Only the store that gave it out knows what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(pub u64);

/// A durable log of messages and delivery events.
pub trait Store: Send + 'static {
    /// Shows every record after `after`, from the beginning where there is none, in the order of
    /// the log, and returns where it ended. After an error of any operation the store is loaded
    /// from the beginning before anything else is asked of it; that is where it mends itself.
    fn load(
        &mut self,
        after: Option<Cursor>,
        each: &mut (dyn FnMut(&MailboxName, Record<'_>) + Send),
    ) -> impl Future<Output = Result<Cursor, StoreError>> + Send;

    /// Writes a group as a whole: when this returns, all of it would survive a power cut; when it
    /// fails, all of it or nothing may be found by the next [`Store::load`]. The answers are in the
    /// order of the writes. Messages of a mailbox are numbered from 1 without holes, in order.
    fn commit(&mut self, group: &[Write]) -> impl Future<Output = Result<Vec<Wrote>, StoreError>> + Send;

    /// The messages with these numbers, in order; what was forgotten or never existed is left out.
    fn read(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> impl Future<Output = Result<Vec<(Seq, Stored)>, StoreError>> + Send;

    /// Every event of the messages with these numbers, in the order of the log.
    fn events(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> impl Future<Output = Result<Vec<StampedEvent>, StoreError>> + Send;

    /// One small step of pruning, on from `from` or the beginning: shows some records and does with
    /// each what `fate` says. Where to go on, or `None` at the end; the newest records need not be
    /// shown. The whole step is durable on return; when it fails, all of it or nothing may be found.
    /// What was pruned is no longer read; its numbers are never given again, and the order of what
    /// stays is the same.
    fn prune(
        &mut self,
        from: Option<Cursor>,
        fate: &mut (dyn FnMut(&MailboxName, &Record<'_>) -> Fate + Send),
    ) -> impl Future<Output = Result<Option<Cursor>, StoreError>> + Send;

    /// Whether there is room for further messages. Asked before each append, so that a store whose
    /// disk is full can keep the last room for acks, nacks and pruning.
    ///
    /// # Errors
    /// [`StoreError::Full`] where there is none. Nothing else is wrong with the store then.
    fn room(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Takes the right to write the events of a mailbox. Every earlier one is fenced from here on.
    fn own(
        &mut self,
        of: &MailboxName,
        by: Incarnation,
    ) -> impl Future<Output = Result<Epoch, StoreError>> + Send;
}

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk, or a limit on it, is full.
    #[error("no space left to write {}: free some, then go on; nothing acknowledged is lost", .path.display())]
    Full {
        /// What was written.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system refused to read or write.
    #[error("cannot {doing} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// What is stored does not read back.
    #[error(
        "the mailboxes in {} are damaged ({what})",
        .path.display()
    )]
    Damaged {
        /// The folder that is all of it.
        path: PathBuf,
        /// What was found, and in which part.
        what: String,
    },
    /// What is underneath stopped in the middle of a call. Nothing acknowledged is lost.
    #[error("the mailbox in {} stopped ({what}); the next request opens it again", .path.display())]
    Stopped {
        /// Where it is.
        path: PathBuf,
        /// What it said.
        what: String,
    },
}
