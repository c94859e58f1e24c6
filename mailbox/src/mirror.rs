//! The mailboxes as JSONL files, both ways (contract, section 1, "JSONL mirror").
//!
//! The mailbox is the authority. Its files are written after it, each record once. A well-formed line
//! that another program appends is handed out as an [`Intake`], for the owner to put into the mailbox.
//!
//! How far both went is kept in the folder of the mirror, so that a start reads what is new and nothing
//! else. Where that does not fit what is there, because a file or the mailbox was replaced, cut short or
//! brought back from a backup, everything is read: the mailbox knows ids that it had before.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, Moment};
use crate::envelope::Ack;
use crate::event::AckedBy;
use crate::mailboxes::{MailboxError, Mailboxes};
use crate::message::Message;
use crate::names::MailboxName;
use crate::policy::Policy;
use crate::rotation::Rotation;

mod account;
mod folder;
mod history;
mod lines;
mod piece;
mod rebuild;
mod rounds;
mod series;
mod stored;

use account::Account;
use folder::Folder;
use history::Skipped;
pub use lines::{AckLine, LineFault};
pub use rebuild::{Rebuilt, rebuild};
use series::{Positions, Series};
use stored::{Reached, Stored};

/// The file of acknowledgements. No mailbox has this name.
const ACKS: &str = "_acks.jsonl";

/// Why the mirror could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// The system refused.
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
    /// Somebody else is changing its files.
    #[error("somebody else is changing the files in {}", .dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
    },
    /// The mailboxes failed.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// A checksum of its text: another line may come to stand at this place when the file is rotated or replaced.
    pub text: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// How a line was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// After what was read before, or while somebody looked: it was never seen.
    New,
    /// In a file that was read from its beginning: it may have been seen long ago.
    Reread,
}

/// What another program wrote.
#[derive(Debug)]
pub enum Intake {
    /// A message for a mailbox.
    Message {
        /// The mailbox whose file it is in.
        mailbox: MailboxName,
        /// The message.
        message: Message,
        /// Where.
        at: Place,
    },
    /// An acknowledgement, keyed by its sender and message id; it needs no lease.
    Ack {
        /// The acknowledgement.
        ack: AckLine,
        /// Where.
        at: Place,
        /// How. One that was reread may be of a message that the mailbox has long forgotten.
        found: Found,
    },
    /// Messages of a file that was read from its beginning which were not handed out: they say that they are older
    /// than [`Rules::horizon`], so that the mailbox may have had them and forgotten them. No ack of them is in the
    /// files; of the others nothing is said.
    History {
        /// Where the first is.
        at: Place,
        /// How many there are.
        count: u64,
    },
    /// A line that is neither, to be reported and skipped.
    Malformed {
        /// Where.
        at: Place,
        /// Why.
        fault: LineFault,
    },
}

/// What one round of the mirror came to.
#[derive(Debug, Default)]
pub struct Synced {
    /// What others wrote, to be taken in before the next round. Where there is something, there may be more.
    pub intake: Vec<Intake>,
    /// What stood in the way, a file each. The next round tries again.
    pub behind: Vec<MirrorError>,
    /// Whether something is not written yet because somebody is writing a line in that file, which is
    /// over in a few seconds, finished or not; or because the files are being built anew.
    pub waits: bool,
}

/// What a mirror goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// A message that says that it is older than this is history where its file is read from the
    /// beginning: the mailbox may have had it, handled it and forgotten its id. As long as the mailboxes
    /// know ids: [`Policy::dedupe_horizon`]. A mailbox that never had a message has forgotten none: it is
    /// filled with all that its file has.
    pub horizon: Duration,
    /// When files are cut, and how long the pieces are kept.
    pub rotation: Rotation,
}

impl Default for Rules {
    /// The contract's: 90 days for both.
    fn default() -> Rules {
        Rules {
            horizon: Policy::default().dedupe_horizon,
            rotation: Rotation::default(),
        }
    }
}

/// The mirror of all mailboxes in one folder. Only who holds the mailboxes keeps one. It does small
/// blocking file work inside its async functions; keep it on a task of its own.
pub struct Mirror {
    folder: Folder,
    mailboxes: Mailboxes,
    clock: Arc<dyn Clock>,
    rules: Rules,
    files: BTreeMap<MailboxName, Mirrored>,
    acks: Account,
    /// Acks that others wrote, of messages that may still be on their way.
    held: Vec<Intake>,
    /// What an earlier life of the process knew and nobody asked for yet.
    remembered: Stored,
    begun: bool,
    saved: Stored,
    saved_at: Moment,
}

/// One mailbox and its file.
#[derive(Debug)]
struct Mirrored {
    account: Account,
    reached: Reached,
    /// What was too old to be handed out, until the file is read to its end.
    skipped: Skipped,
    /// Whether the file has, or may have, what a mailbox that is not filled anew would not be given.
    needs_anew: bool,
}

impl Mirror {
    /// The mirror in the folder `dir`. Nothing is read or written before the first [`sync`](Mirror::sync).
    pub fn new(dir: &Path, mailboxes: Mailboxes, clock: Arc<dyn Clock>, rules: Rules) -> Mirror {
        let folder = Folder::at(dir);
        Mirror {
            acks: Account::of(Series::new(folder.file(ACKS), Positions::new())),
            folder,
            mailboxes,
            saved_at: clock.now(),
            clock,
            rules,
            files: BTreeMap::new(),
            held: Vec::new(),
            remembered: Stored::default(),
            begun: false,
            saved: Stored::default(),
        }
    }

    /// One round: appends to the files what is new in the mailboxes, and returns what others wrote. To
    /// call it says that everything that it returned before is taken in, or refused for good. Call it
    /// when a mailbox changed, and every now and then for the files; declare the mailboxes before the
    /// first time.
    ///
    /// # Errors
    /// When the mailboxes fail, or the folder cannot be made or read. Calling it again goes on where it
    /// stopped. What stands in the way of one file is no error of the round: [`Synced::behind`].
    pub async fn sync(&mut self) -> Result<Synced, MirrorError> {
        self.folder.make()?;
        // Where the files are being built anew, the next round finds the new ones.
        let Some(_turn) = self.folder.try_turn()? else {
            return Ok(Synced {
                waits: true,
                ..Synced::default()
            });
        };
        self.round().await
    }

    /// Keeps how far the mirror is, so that the next one goes on from here. What was returned before is
    /// taken in, or refused for good. A mirror that is dropped instead, or killed, is found a little
    /// behind, and reads that part again.
    ///
    /// # Errors
    /// When a file cannot be synced or written.
    pub async fn close(mut self) -> Result<(), MirrorError> {
        // Acks that were read and not handed out yet are read again from where it was kept before.
        if !self.begun || !self.held.is_empty() {
            return Ok(());
        }
        let _turn = self.folder.turn().await?;
        self.save()
    }
}

impl fmt::Debug for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mirror")
            .field("folder", &self.folder)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// Who an ack is from, as its line says.
fn sender(name: &MailboxName, by: &AckedBy) -> String {
    match by {
        AckedBy::Line { from } => from.to_string(),
        AckedBy::Actor | AckedBy::Pull | AckedBy::Policy | AckedBy::Operator => name.to_string(),
    }
}

/// The line of an ack.
fn ack_line(name: &MailboxName, ack: &Ack) -> AckLine {
    AckLine {
        ts: ack.at.into(),
        from: sender(name, &ack.by),
        msg_id: ack.msg_id.clone(),
        outcome: ack.outcome.to_string(),
    }
}
