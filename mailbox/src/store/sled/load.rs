//! Loading: every record of the journal is shown once, in the order of the log.
//!
//! A thread of its own reads the database and unpacks the heads, so that a second processor halves the
//! time that opening takes.

use std::fmt;
use std::panic;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::chunk::{Heads, Line, Packed, PlainHeads, Rec};
use super::journal::Journal;
use super::places::Places;
use super::{DiskStore, damaged, failed};
use crate::names::{Digest, MailboxName, NameError, Seq};
use crate::store::{Cursor, Head, Record, StoreError};

/// Chunks that are handed over at once, since handing over one costs about as much as taking it in.
const BATCH: usize = 64;
/// Batches that may wait to be taken in: a few megabytes.
const AHEAD: usize = 8;

/// Is shown each record.
pub(super) type Each<'a> = &'a mut (dyn FnMut(&MailboxName, Record<'_>) + Send);

/// Heads by the keys of their chunks.
type Batch = Vec<(u64, PlainHeads<'static>)>;

impl DiskStore {
    pub(super) fn load_all(&mut self, after: Option<Cursor>, each: Each<'_>) -> Result<Cursor, StoreError> {
        let journal = match self.journal.take() {
            Some(journal) => journal,
            None => Journal::open(&self.home, self.tail)?,
        };
        if after.is_none() {
            self.places.clear();
            self.bodies.reset();
            self.next = 0;
        }
        self.recent = None;
        // A cursor is the key that follows the last one seen.
        let seen = after.and_then(|Cursor(next)| next.checked_sub(1));
        let path = self.home.journal();
        thread::scope(|scope| {
            let (send, receive) = sync_channel(AHEAD);
            let (journal, path) = (&journal, &path);
            let reader = thread::Builder::new()
                .name("mailbox-load".to_owned())
                .spawn_scoped(scope, move || read_heads(journal, seen, path, &send))
                .map_err(failed("start a thread to read", path))?;
            // Where taking in fails, the reader fails too, having nobody to hand anything to.
            self.take_in(&receive, each)?;
            reader.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
        })?;
        let marked = self.mark.read()?;
        if self.next < marked {
            return Err(self.damaged(format!("it ends at chunk {}, and had {marked}", self.next)));
        }
        if !self.swept {
            self.bodies.sweep()?;
            self.swept = true;
        }
        self.journal = Some(journal);
        Ok(Cursor(self.next))
    }

    /// Takes in what is received until there is no more.
    fn take_in(&mut self, received: &Receiver<Batch>, each: Each<'_>) -> Result<(), StoreError> {
        let mut names = Names::default();
        // An error lets go of the receiver, which ends the reader.
        for (key, heads) in received.iter().flatten() {
            let damaged = |what: &dyn fmt::Display| self.damaged_chunk(key, what);
            let heads = heads.decode().map_err(|error| damaged(&error))?;
            let known = names.of(&heads).map_err(|error| damaged(&error))?;
            let fresh = key >= self.next;
            for records in heads.records.chunk_by(|one, next| one.of() == next.of()) {
                let of = usize::try_from(records[0].of()).ok().and_then(|at| known.get(at));
                let of = of.ok_or_else(|| self.damaged_chunk(key, &"a record of no mailbox"))?;
                if fresh {
                    self.place(key, of, records)?;
                }
                records.iter().for_each(|record| each(of, shown(record)));
            }
            self.next = self.next.max(key + 1);
        }
        Ok(())
    }

    /// Remembers where records of a mailbox are.
    fn place(&mut self, key: u64, of: &MailboxName, records: &[Rec<'_>]) -> Result<(), StoreError> {
        let places = match self.places.get_mut(of) {
            Some(places) => places,
            None => self.places.entry(of.clone()).or_default(),
        };
        for record in records {
            let next = places.next();
            if let Some(number) = number(record)
                && next != number
            {
                let what = format!("message {number} of {of} where {next} follows");
                return Err(self.damaged_chunk(key, &what));
            }
            note(places, key, record);
            if let Some(digest) = body(record) {
                self.bodies.used(digest);
            }
        }
        Ok(())
    }
}

/// Hands over the heads of every chunk after `seen`, until there is no more or nobody takes them.
fn read_heads(
    journal: &Journal,
    seen: Option<u64>,
    path: &Path,
    send: &SyncSender<Batch>,
) -> Result<(), StoreError> {
    let mut batch = Vec::with_capacity(BATCH);
    let given_up = |_| StoreError::Stopped {
        path: path.to_owned(),
        what: "nobody takes what is loaded".to_owned(),
    };
    journal.scan(seen, &mut |key, value| {
        let heads = Packed::open(value).and_then(|packed| packed.heads());
        let heads = heads.map_err(|error| damaged(path, format_args!("chunk {key}: {error}")))?;
        batch.push((key, heads.into_owned()));
        if batch.len() < BATCH {
            return Ok(());
        }
        let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
        send.send(full).map_err(given_up)
    })?;
    send.send(batch).map_err(given_up)
}

/// The mailboxes' names, each made once.
#[derive(Default)]
pub(super) struct Names {
    /// Those of the last chunk, which the next one most often repeats.
    last: Vec<MailboxName>,
    known: std::collections::HashMap<String, MailboxName>,
}

impl Names {
    pub(super) fn of(&mut self, heads: &Heads<'_>) -> Result<Vec<MailboxName>, NameError> {
        let same = self.last.len() == heads.mailboxes.len()
            && self
                .last
                .iter()
                .zip(&heads.mailboxes)
                .all(|(known, name)| known.as_str() == *name);
        if !same {
            let mut names = Vec::with_capacity(heads.mailboxes.len());
            for name in &heads.mailboxes {
                let known = match self.known.get(*name) {
                    Some(known) => known.clone(),
                    None => {
                        let fresh: MailboxName = name.parse()?;
                        self.known.insert((*name).to_owned(), fresh.clone());
                        fresh
                    }
                };
                names.push(known);
            }
            self.last = names;
        }
        Ok(self.last.clone())
    }
}

/// A record as a load shows it.
pub(super) fn shown<'a>(record: &'a Rec<'a>) -> Record<'a> {
    match record {
        Rec::Message {
            seq,
            appended_at,
            id,
            intent,
            subject,
            evidence,
            ..
        } => {
            let head = Head {
                id,
                intent,
                appended_at: *appended_at,
                subject: *subject,
                evidence: *evidence,
            };
            Record::Message { seq: Seq(*seq), head }
        }
        Rec::Event { event, .. } => Record::Event(event.clone()),
        Rec::Tombstone {
            seq,
            appended_at,
            id,
            outcome,
            ..
        } => Record::Tombstone {
            seq: Seq(*seq),
            id,
            appended_at: *appended_at,
            outcome,
        },
        Rec::Gone { first, last, .. } => Record::Gone {
            first: Seq(*first),
            last: Seq(*last),
        },
    }
}

/// The number that must be the next of its mailbox where this record is in the journal.
fn number(record: &Rec<'_>) -> Option<Seq> {
    match record {
        Rec::Message { seq, .. } | Rec::Tombstone { seq, .. } | Rec::Gone { first: seq, .. } => {
            Some(Seq(*seq))
        }
        Rec::Event { .. } => None,
    }
}

/// The file that a message is in.
pub(super) fn body(record: &Rec<'_>) -> Option<Digest> {
    match record {
        Rec::Message {
            line: Line::File(digest),
            ..
        } => Some(*digest),
        _ => None,
    }
}

/// Remembers where a record is.
pub(super) fn note(places: &mut Places, key: u64, record: &Rec<'_>) {
    match record {
        Rec::Message { .. } => places.message(key),
        Rec::Event { event, .. } => places.event(event.seq, key),
        Rec::Tombstone { .. } => places.skip(1),
        Rec::Gone { first, last, .. } => places.skip((last + 1).saturating_sub(*first)),
    }
}
