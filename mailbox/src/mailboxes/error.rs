//! Why mailboxes do not open, or do not do what they are asked.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::command::Refusal;
use crate::names::{MailboxName, Seq};
use crate::store::StoreError;

/// Why the mailboxes could not be opened. Each says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has them open.
    #[error("{} is held by {}", .lock.display(), holder(.pid))]
    Held {
        /// The file that is locked.
        lock: PathBuf,
        /// The process that says it holds it.
        pid: Option<u32>,
    },
    /// The folder cannot be made or written.
    #[error("cannot write in {}: {source}", .dir.display())]
    Unwritable {
        /// The folder.
        dir: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It was written by another version of this program.
    #[error("{} holds mailboxes of format {found:?}, this program reads format {known:?}", .dir.display())]
    Version {
        /// The folder.
        dir: PathBuf,
        /// What it says it is.
        found: String,
        /// What is understood.
        known: String,
    },
    /// What is stored does not open or load.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The writer's thread could not be started.
    #[error("cannot start the mailbox's thread: {0}")]
    Thread(#[source] io::Error),
}

fn holder(pid: &Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

/// Why the mailboxes did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MailboxError {
    /// They were closed.
    #[error("the mailboxes are closed")]
    Closed,
    /// The command does not hold as things stand.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed. What was asked is not acknowledged, though it may be found after the store
    /// is loaded again, which the next request does; asking again is safe, since ids are known.
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// Another process took the mailbox over.
    #[error("mailbox {of} is owned by another process now")]
    Fenced {
        /// Which.
        of: MailboxName,
    },
    /// Another process appended at the same time; asking again is safe.
    #[error("another process wrote to mailbox {of} at the same time; ask again")]
    Contended {
        /// Which.
        of: MailboxName,
    },
    /// The message's bytes are gone though it is unread.
    #[error("message {seq} of mailbox {of} is not in its store")]
    Unreadable {
        /// Which mailbox.
        of: MailboxName,
        /// Which message.
        seq: Seq,
    },
    /// The process that holds the mailboxes could not do it.
    #[error("the process that holds the mailboxes says: {said}")]
    Elsewhere {
        /// In its words.
        said: Arc<str>,
    },
    /// The connection to the process that holds the mailboxes broke. What was asked may have been done;
    /// asking again is safe, since ids are known.
    #[error("the process that holds the mailboxes does not answer any more: {said}")]
    Gone {
        /// How it broke.
        said: Arc<str>,
    },
    /// Only the process that holds the mailboxes may ask this: to declare one, or to take a message for
    /// the process.
    #[error("only the process that holds the mailboxes may do this")]
    OwnersOnly,
    /// More was asked over one connection than it takes at once.
    #[error("more was asked over one connection than it takes at once")]
    TooMany,
    /// What was asked or answered does not fit one line of a connection.
    #[error("{bytes} bytes do not go over a connection at once")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
}
