//! The mailboxes as JSONL files, both ways (contract, section 1, "JSONL mirror").
//!
//! The mailbox is the authority. Its files are written after it, and what is missing from them when
//! the program starts is appended then, each id once. A well-formed line that another program
//! appends is handed out as an [`Intake`], for the owner to put into the mailbox.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::envelope::{Ack, Filter, PAGE};
use crate::event::AckedBy;
use crate::mailboxes::{MailboxError, Mailboxes};
use crate::message::Message;
use crate::names::{Digest, MailboxName, MsgId, Seq};

mod file;
mod folder;
mod lines;
mod rebuild;

use file::{Appended, End};
use folder::Folder;
use lines::Cut;
pub use lines::{AckLine, LineFault};
pub use rebuild::{Rebuilt, rebuild};

/// The file of acknowledgements. No mailbox has this name.
const ACKS: &str = "_acks.jsonl";
/// Bytes appended with one write at most, beyond one line.
const BATCH: usize = 256 * 1024;

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
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
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
    },
    /// A line that is neither. It is reported here once and skipped.
    Malformed {
        /// Where.
        at: Place,
        /// Why.
        fault: LineFault,
    },
}

/// The mirror of all mailboxes in one folder. It does small blocking file work inside its async
/// functions; keep it on a task of its own.
#[derive(Debug)]
pub struct Mirror {
    folder: Folder,
    mailboxes: Mailboxes,
    files: BTreeMap<MailboxName, MailboxFile>,
    acks: AcksFile,
}

#[derive(Debug)]
struct MailboxFile {
    file: Appended,
    /// The last message that is in the file.
    through: Seq,
    /// How many of the mailbox's acks are in the acks file.
    acked: u64,
    /// Ids that we wrote and did not read back yet: such a line is ours.
    ours: HashSet<MsgId>,
    /// Ids that others wrote: when the message comes out of the mailbox it is in the file already.
    theirs: HashSet<MsgId>,
    /// Whether a line of somebody else was seen unfinished; the next time it gets a line break.
    patience_spent: bool,
}

#[derive(Debug)]
struct AcksFile {
    file: Appended,
    ours: HashSet<(String, MsgId)>,
    theirs: HashSet<(String, MsgId)>,
    patience_spent: bool,
}

impl Mirror {
    /// Opens the mirror in `dir`, which is made if it is not there, and brings its files up to the
    /// mailboxes: declare those before. What others wrote meanwhile is returned.
    ///
    /// # Errors
    /// When a file or the mailboxes cannot be read or written.
    pub async fn open(dir: &Path, mailboxes: Mailboxes) -> Result<(Mirror, Vec<Intake>), MirrorError> {
        let folder = Folder::make(dir)?;
        let acks = AcksFile {
            file: Appended::new(folder.file(ACKS)),
            ours: HashSet::new(),
            theirs: HashSet::new(),
            // At the start nobody is waited for.
            patience_spent: true,
        };
        let mut mirror = Mirror {
            folder,
            mailboxes,
            files: BTreeMap::new(),
            acks,
        };
        let mut intake = Vec::new();
        let turn = mirror.folder.turn().await?;
        mirror.catch_up(&mut intake).await?;
        mirror.sync_into(&mut intake).await?;
        drop(turn);
        Ok((mirror, intake))
    }

    /// Appends to the files what is new in the mailboxes, and returns what others wrote. Call it when
    /// a mailbox changed, and every now and then for the files.
    ///
    /// # Errors
    /// When a file or the mailboxes cannot be read or written. Calling it again goes on where it
    /// stopped.
    pub async fn sync(&mut self) -> Result<Vec<Intake>, MirrorError> {
        let mut intake = Vec::new();
        // Where the files are being built anew, the next time finds the new ones.
        if let Some(_turn) = self.folder.try_turn()? {
            self.sync_into(&mut intake).await?;
        }
        Ok(intake)
    }

    /// Learns which ids and acks the mailboxes have, so that the first reading of the files can tell
    /// what is known from what is new.
    async fn catch_up(&mut self, intake: &mut Vec<Intake>) -> Result<(), MirrorError> {
        for status in self.mailboxes.status().await? {
            let name = status.name;
            let mut known = HashSet::new();
            let mut after = Seq(0);
            loop {
                let page = self
                    .mailboxes
                    .envelopes(&name, Filter::all().after(after))
                    .await?;
                let Some(last) = page.last() else { break };
                after = last.seq;
                known.extend(page.into_iter().map(|envelope| envelope.message.msg_id().clone()));
            }
            let file = self.watch(&name);
            // A line that the mailbox knows is taken for one of ours; what we find of them is in the
            // file, and the rest is missing.
            file.ours = known;
            let before = file.ours.clone();
            file.read(&name, intake)?;
            let missing = std::mem::take(&mut file.ours);
            file.theirs
                .extend(before.into_iter().filter(|id| !missing.contains(id)));

            let mut place = 0;
            loop {
                let page = self.mailboxes.acks(&name, place, PAGE).await?;
                let Some(last) = page.last() else { break };
                place = last.place;
                self.acks
                    .ours
                    .extend(page.into_iter().map(|ack| (sender(&name, &ack.by), ack.msg_id)));
            }
        }
        let before = self.acks.ours.clone();
        self.acks.read(intake)?;
        let missing = std::mem::take(&mut self.acks.ours);
        self.acks
            .theirs
            .extend(before.into_iter().filter(|key| !missing.contains(key)));
        Ok(())
    }

    fn watch(&mut self, name: &MailboxName) -> &mut MailboxFile {
        let folder = &self.folder;
        self.files.entry(name.clone()).or_insert_with(|| MailboxFile {
            file: Appended::new(folder.file(&format!("{name}.jsonl"))),
            through: Seq(0),
            acked: 0,
            ours: HashSet::new(),
            theirs: HashSet::new(),
            patience_spent: true,
        })
    }

    async fn sync_into(&mut self, intake: &mut Vec<Intake>) -> Result<(), MirrorError> {
        let statuses = self.mailboxes.status().await?;
        let mailboxes = self.mailboxes.clone();
        for status in &statuses {
            let file = self.watch(&status.name);
            file.read(&status.name, intake)?;
            if status.total > file.through.0 {
                file.write(&status.name, &mailboxes).await?;
                // A file that is new is open from here on, so that a rotation loses none of it.
                file.read(&status.name, intake)?;
            }
        }
        self.acks.read(intake)?;
        let mut wrote = false;
        for status in &statuses {
            let acked = self.watch(&status.name).acked;
            if status.last_ack > acked {
                let through = self.acks.write(&status.name, acked, &mailboxes).await?;
                self.watch(&status.name).acked = through;
                wrote = true;
            }
        }
        if wrote { self.acks.read(intake) } else { Ok(()) }
    }
}

impl MailboxFile {
    /// Reads what is new in the file; what is not ours goes to `intake`.
    fn read(&mut self, name: &MailboxName, intake: &mut Vec<Intake>) -> Result<(), MirrorError> {
        let MailboxFile {
            file, ours, theirs, ..
        } = self;
        let path = file.path().to_owned();
        file.read_on(&mut |line, cut| {
            let at = Place {
                file: path.clone(),
                line,
            };
            let parsed = match cut {
                Cut::TooLong => Err(LineFault::TooLong),
                Cut::Line(bytes) => lines::message(bytes),
            };
            match parsed {
                Err(fault) => intake.push(Intake::Malformed { at, fault }),
                Ok(message) => {
                    if !ours.remove(message.msg_id()) && theirs.insert(message.msg_id().clone()) {
                        intake.push(Intake::Message {
                            mailbox: name.clone(),
                            message,
                            at,
                        });
                    }
                }
            }
        })
    }

    /// Appends the messages that are not in the file.
    async fn write(&mut self, name: &MailboxName, mailboxes: &Mailboxes) -> Result<(), MirrorError> {
        loop {
            let page = mailboxes
                .envelopes(name, Filter::all().after(self.through))
                .await?;
            let Some(last) = page.last().map(|envelope| envelope.seq) else {
                return Ok(());
            };
            let mut fresh = Vec::new();
            for envelope in &page {
                if !self.theirs.contains(envelope.message.msg_id()) {
                    fresh.push(&envelope.message);
                }
            }
            let texts: Vec<&str> = fresh.iter().map(|message| message.line()).collect();
            if !append(&self.file, &texts, &mut self.patience_spent)? {
                return Ok(());
            }
            self.ours
                .extend(fresh.into_iter().map(|message| message.msg_id().clone()));
            for envelope in &page {
                self.theirs.remove(envelope.message.msg_id());
            }
            self.through = last;
        }
    }
}

impl AcksFile {
    fn read(&mut self, intake: &mut Vec<Intake>) -> Result<(), MirrorError> {
        let AcksFile {
            file, ours, theirs, ..
        } = self;
        let path = file.path().to_owned();
        file.read_on(&mut |line, cut| {
            let at = Place {
                file: path.clone(),
                line,
            };
            let parsed = match cut {
                Cut::TooLong => Err(LineFault::TooLong),
                Cut::Line(bytes) => AckLine::parse(bytes),
            };
            match parsed {
                Err(fault) => intake.push(Intake::Malformed { at, fault }),
                Ok(ack) => {
                    let key = (ack.from.clone(), ack.msg_id.clone());
                    if !ours.remove(&key) && theirs.insert(key) {
                        intake.push(Intake::Ack { ack, at });
                    }
                }
            }
        })
    }

    /// Appends a mailbox's acks that are not in the file, after the first `after` of them; says how
    /// many are in it now.
    async fn write(
        &mut self,
        name: &MailboxName,
        after: u64,
        mailboxes: &Mailboxes,
    ) -> Result<u64, MirrorError> {
        let mut through = after;
        loop {
            let page = mailboxes.acks(name, through, PAGE).await?;
            let Some(last) = page.last().map(|ack| ack.place) else {
                return Ok(through);
            };
            let mut fresh = Vec::new();
            let mut read_before = Vec::new();
            for ack in page {
                let key = (sender(name, &ack.by), ack.msg_id.clone());
                if self.theirs.contains(&key) {
                    read_before.push(key);
                    continue;
                }
                fresh.push(ack_line(name, ack));
            }
            let lines: Vec<String> = fresh.iter().map(AckLine::line).collect();
            let texts: Vec<&str> = lines.iter().map(String::as_str).collect();
            if !append(&self.file, &texts, &mut self.patience_spent)? {
                return Ok(through);
            }
            self.ours
                .extend(fresh.into_iter().map(|ack| (ack.from, ack.msg_id)));
            for key in read_before {
                self.theirs.remove(&key);
            }
            through = last;
        }
    }
}

/// Who an ack is from, as its line says.
fn sender(name: &MailboxName, by: &AckedBy) -> String {
    match by {
        AckedBy::Line { from } => from.to_string(),
        AckedBy::Actor | AckedBy::Pull | AckedBy::Policy | AckedBy::Operator => name.to_string(),
    }
}

fn ack_line(name: &MailboxName, ack: Ack) -> AckLine {
    AckLine {
        ts: ack.at.into(),
        from: sender(name, &ack.by),
        msg_id: ack.msg_id,
        outcome: ack.outcome.to_string(),
    }
}

/// What an id is known by where there may be a million of them.
type IdKey = u128;

fn id_key(id: &MsgId) -> IdKey {
    key_of(id.as_str())
}

/// The same of an ack: its sender and its id, which hold no line breaks.
fn ack_key(from: &str, id: &MsgId) -> IdKey {
    key_of(&format!("{from}\n{id}"))
}

fn key_of(text: &str) -> IdKey {
    let digest = Digest::of(text.as_bytes());
    let (first, _) = digest.as_bytes().split_at(size_of::<IdKey>());
    first.iter().fold(0, |key, byte| (key << 8) | IdKey::from(*byte))
}

/// Appends lines, after mending the end of the file: an unfinished line that is the beginning of one
/// of ours, torn when the program died, is completed; another one gets a line break, and is then read
/// as the line that it is. `false` when it is left for the next time, because whoever writes there may
/// be about to finish.
fn append(file: &Appended, lines: &[&str], patience_spent: &mut bool) -> Result<bool, MirrorError> {
    if lines.is_empty() {
        return Ok(true);
    }
    let mut bytes = Vec::new();
    let mut torn = None;
    if let End::Partial(partial) = file.end() {
        torn = lines
            .iter()
            .position(|line| !partial.is_empty() && line.as_bytes().starts_with(&partial));
        match torn {
            Some(torn) => bytes.extend_from_slice(&lines[torn].as_bytes()[partial.len()..]),
            None if !*patience_spent => {
                *patience_spent = true;
                return Ok(false);
            }
            None => {}
        }
        bytes.push(b'\n');
    }
    *patience_spent = false;
    for (at, line) in lines.iter().enumerate() {
        if Some(at) == torn {
            continue;
        }
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        if bytes.len() >= BATCH {
            file.append(&bytes)?;
            bytes.clear();
        }
    }
    if !bytes.is_empty() {
        file.append(&bytes)?;
    }
    Ok(true)
}
