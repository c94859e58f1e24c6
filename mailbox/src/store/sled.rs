//! The durable store: one journal for all mailboxes on this machine's disk.
//!
//! The journal is a list of chunks in the order in which groups were committed, shared by all
//! mailboxes so that groups fill. In memory there is, for each mailbox, which chunk each message is
//! in; ids and states are the index's matter.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::StampedEvent;
use crate::mailboxes::OpenError;
use crate::message::Message;
use crate::names::{Digest, Incarnation, MailboxName, Seq};
use crate::store::{Cursor, Epoch, Fate, Head, Record, Store, StoreError, Stored, Write, Wrote};

mod bodies;
mod chunk;
mod database;
mod home;
mod journal;
mod mark;
mod places;
mod prune;
mod reserve;
mod tail;

use bodies::Bodies;
use chunk::{Chunk, Chunker, INLINE, Line, Rec};
use home::Home;
use journal::Journal;
use mark::Mark;
use places::Places;
use reserve::Reserve;

/// Mailboxes on the disk, in a folder of their own that one process has open at a time.
///
/// Every group is synced before it is acknowledged, with one sync for its journal records; a group
/// with messages of more than about 6 KiB syncs their files before. After any failed write the
/// store answers nothing until it is loaded again, which opens it anew.
pub struct DiskStore {
    home: Home,
    /// `None` after an error, until it is loaded again.
    journal: Option<Journal>,
    bodies: Bodies,
    mark: Mark,
    reserve: Reserve,
    /// The most bytes in each file of the journal's tail.
    tail: u64,
    places: HashMap<MailboxName, Places>,
    epochs: HashMap<MailboxName, Epoch>,
    /// The key of the next chunk.
    next: u64,
    /// Bytes of the chunks that the present pass of pruning left.
    live: u64,
    /// Whether files that no record names were swept away since the store was opened.
    swept: bool,
    syncs: Arc<AtomicU64>,
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskStore")
            .field("home", &self.home)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl DiskStore {
    /// Opens the store in `dir`, which is made if it is not there, with mode 0700.
    ///
    /// # Errors
    /// When another process holds it, the folder cannot be written, or what is there does not open.
    pub fn open(dir: &Path) -> Result<DiskStore, OpenError> {
        DiskStore::with_tail(dir, tail::BYTES)
    }

    /// The same with another bound on what is kept in front of the database: groups are written to one of two
    /// files of so many bytes first, and go to the database when it is full. A small one has a test see that
    /// often.
    ///
    /// # Errors
    /// As for [`DiskStore::open`].
    pub fn with_tail(dir: &Path, tail: u64) -> Result<DiskStore, OpenError> {
        let home = Home::open(dir)?;
        let bodies = Bodies::open(home.bodies())?;
        let mark = Mark::open(home.dir())?;
        let mut reserve = Reserve::open(home.dir());
        let journal = match Journal::open(&home, tail) {
            // Opening writes too.
            Err(StoreError::Full { .. }) if reserve.release() => Journal::open(&home, tail)?,
            opened => opened?,
        };
        Ok(DiskStore {
            home,
            journal: Some(journal),
            bodies,
            mark,
            reserve,
            tail,
            places: HashMap::new(),
            epochs: HashMap::new(),
            next: 0,
            live: 0,
            swept: false,
            syncs: Arc::default(),
        })
    }

    /// Counts the syncs of the journal, from opening on.
    pub fn syncs(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.syncs)
    }

    fn damaged(&self, what: impl fmt::Display) -> StoreError {
        StoreError::Damaged {
            path: self.home.journal(),
            what: what.to_string(),
        }
    }

    fn journal(&self) -> Result<&Journal, StoreError> {
        self.journal.as_ref().ok_or_else(|| stopped(&self.home))
    }

    fn journal_mut(&mut self) -> Result<&mut Journal, StoreError> {
        self.journal.as_mut().ok_or_else(|| stopped(&self.home))
    }

    fn damaged_chunk(&self, key: u64, what: &dyn fmt::Display) -> StoreError {
        self.damaged(format!("chunk {key}: {what}"))
    }

    fn chunk_value(&self, key: u64) -> Result<::sled::IVec, StoreError> {
        let value = self.journal()?.get(key)?;
        value.ok_or_else(|| self.damaged(format!("chunk {key} is gone")))
    }

    fn count_sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// Passes a result on; an error closes the journal, and a full disk gets what was set aside for it.
    fn watched<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &result {
            self.journal = None;
            if matches!(error, StoreError::Full { .. }) {
                self.reserve.release();
            }
        }
        result
    }

    fn load_all(
        &mut self,
        after: Option<Cursor>,
        each: &mut (dyn FnMut(&MailboxName, Record<'_>) + Send),
    ) -> Result<Cursor, StoreError> {
        let journal = match self.journal.take() {
            Some(journal) => journal,
            None => Journal::open(&self.home, self.tail)?,
        };
        if after.is_none() {
            self.places.clear();
            self.bodies.reset();
            self.next = 0;
        }
        let mut names = Names::default();
        // A cursor is the key that follows the last one seen.
        let seen = after.and_then(|Cursor(next)| next.checked_sub(1));
        let path = self.home.journal();
        let damaged = |key: u64, what: &dyn fmt::Display| StoreError::Damaged {
            path: path.clone(),
            what: format!("chunk {key}: {what}"),
        };
        journal.scan(seen, &mut |key, value| {
            let chunk = Chunk::decode(value).map_err(|error| damaged(key, &error))?;
            let known = names.of(&chunk).map_err(|error| damaged(key, &error))?;
            let fresh = key >= self.next;
            for record in &chunk.records {
                let at = usize::try_from(record.of()).ok();
                let of = at.and_then(|at| known.get(at));
                let of = of.ok_or_else(|| damaged(key, &"a record of no mailbox"))?;
                if fresh {
                    let places = match self.places.get_mut(of) {
                        Some(places) => places,
                        None => self.places.entry(of.clone()).or_default(),
                    };
                    if let Some(number) = number(record)
                        && places.next() != number
                    {
                        let what = format!("message {number} of {of} where {} follows", places.next());
                        return Err(damaged(key, &what));
                    }
                    note(places, key, record);
                    if let Some(digest) = body(record) {
                        self.bodies.used(digest);
                    }
                }
                each(of, shown(record));
            }
            self.next = self.next.max(key + 1);
            Ok(())
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

    fn write(&mut self, group: &[Write]) -> Result<Vec<Wrote>, StoreError> {
        let mut wrote = Vec::with_capacity(group.len());
        let mut chunker = Chunker::default();
        let mut numbers: HashMap<&MailboxName, u64> = HashMap::new();
        let mut files = Vec::new();
        for write in group {
            match write {
                Write::Message { to, stored } => {
                    let count = numbers
                        .entry(to)
                        .or_insert_with(|| self.places.get(to).map_or(0, Places::count));
                    *count += 1;
                    let line = stored.message.line();
                    let file = (line.len() > INLINE).then(|| Digest::of(line.as_bytes()));
                    files.extend(file.map(|digest| (digest, line)));
                    chunker.message(to, *count, stored, file);
                    wrote.push(Wrote::Placed(Seq(*count)));
                }
                Write::Event { of, under, event } => {
                    if self.epochs.get(of) != Some(under) {
                        wrote.push(Wrote::Fenced);
                        continue;
                    }
                    chunker.event(of, event);
                    wrote.push(Wrote::Placed(event.seq));
                }
            }
        }
        let chunks = chunker.finish();
        if chunks.is_empty() {
            return Ok(wrote);
        }
        self.bodies.keep(&files)?;
        let first = self.next;
        let values = chunks.iter().map(Chunk::encode).collect();
        self.journal_mut()?.write(first, values)?;
        self.count_sync();
        for (key, chunk) in (first..).zip(&chunks) {
            self.note(key, chunk);
        }
        self.mark.write(self.next)?;
        Ok(wrote)
    }

    /// Tries again to bring the tail of the journal to the database, where a full disk was in the way. The
    /// database takes nothing after that until it is opened anew.
    fn unstuck(&mut self) -> Result<(), StoreError> {
        if !self.journal_mut()?.is_stuck()? {
            return Ok(());
        }
        self.reserve.release();
        let settled = self.reopened()?.settle();
        if let Err(StoreError::Full { .. }) = settled {
            // What is acked goes on in the tail.
            self.reopened()?;
        }
        settled
    }

    fn reopened(&mut self) -> Result<&mut Journal, StoreError> {
        // It is closed before it is opened.
        self.journal = None;
        Ok(self.journal.insert(Journal::open(&self.home, self.tail)?))
    }

    /// Remembers what is in a written chunk.
    fn note(&mut self, key: u64, chunk: &Chunk<'_>) {
        for record in &chunk.records {
            let of = chunk.mailboxes[record.of() as usize];
            let places = match self.places.get_mut(of) {
                Some(places) => places,
                None => {
                    let name = of.parse().expect("it was a mailbox's name when it was written");
                    self.places.entry(name).or_default()
                }
            };
            note(places, key, record);
            if let Some(digest) = body(record) {
                self.bodies.used(digest);
            }
        }
        self.next = self.next.max(key + 1);
    }

    fn read_all(
        &self,
        of: &MailboxName,
        seqs: &RangeInclusive<Seq>,
    ) -> Result<Vec<(Seq, Stored)>, StoreError> {
        let mut found = Vec::new();
        let Some(places) = self.places.get(of) else {
            return Ok(found);
        };
        for key in places.chunks(seqs) {
            let value = self.chunk_value(key)?;
            let chunk = Chunk::decode(&value).map_err(|error| self.damaged_chunk(key, &error))?;
            for record in &chunk.records {
                let Rec::Message {
                    of: at, seq, line, ..
                } = record
                else {
                    continue;
                };
                if chunk.mailboxes.get(*at as usize) != Some(&of.as_str()) || !seqs.contains(&Seq(*seq)) {
                    continue;
                }
                let text;
                let line = match line {
                    Line::Here(line) => line,
                    Line::File(digest) => match self.bodies.read(*digest) {
                        Ok(read) => {
                            text = read;
                            text.as_str()
                        }
                        // One lost file is one lost message, and no reason to withhold the others.
                        Err(error) if bodies::is_lost(&error) => {
                            tracing::warn!(%error, "the text of message {seq} of {of} is lost");
                            continue;
                        }
                        Err(error) => return Err(error),
                    },
                    Line::Gone => continue,
                };
                let stored = stored(record, line)
                    .ok_or_else(|| self.damaged(format!("chunk {key}: message {seq} does not read back")))?;
                found.push((Seq(*seq), stored));
            }
        }
        Ok(found)
    }

    fn events_of(
        &self,
        of: &MailboxName,
        seqs: &RangeInclusive<Seq>,
    ) -> Result<Vec<StampedEvent>, StoreError> {
        let mut found = Vec::new();
        let Some(places) = self.places.get(of) else {
            return Ok(found);
        };
        for key in places.event_chunks(seqs) {
            let value = self.chunk_value(key)?;
            let chunk = Chunk::decode(&value).map_err(|error| self.damaged_chunk(key, &error))?;
            let at = chunk.mailboxes.iter().position(|name| *name == of.as_str());
            found.extend(chunk.records.into_iter().filter_map(|record| match record {
                Rec::Event { of, event } if Some(of as usize) == at && seqs.contains(&event.seq) => {
                    Some(event)
                }
                _ => None,
            }));
        }
        Ok(found)
    }
}

impl Store for DiskStore {
    async fn load(
        &mut self,
        after: Option<Cursor>,
        each: &mut (dyn FnMut(&MailboxName, Record<'_>) + Send),
    ) -> Result<Cursor, StoreError> {
        let loaded = self.load_all(after, each);
        self.watched(loaded)
    }

    async fn commit(&mut self, group: &[Write]) -> Result<Vec<Wrote>, StoreError> {
        let written = self.write(group);
        self.watched(written)
    }

    async fn read(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<Vec<(Seq, Stored)>, StoreError> {
        let found = self.read_all(of, &seqs);
        self.watched(found)
    }

    async fn events(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<Vec<StampedEvent>, StoreError> {
        let found = self.events_of(of, &seqs);
        self.watched(found)
    }

    async fn prune(
        &mut self,
        from: Option<Cursor>,
        fate: &mut (dyn FnMut(&MailboxName, &Record<'_>) -> Fate + Send),
    ) -> Result<Option<Cursor>, StoreError> {
        let next = self.prune_step(from, fate);
        self.watched(next)
    }

    fn room(&mut self) -> Result<(), StoreError> {
        self.unstuck()?;
        self.reserve.room()
    }

    /// The folder is locked, so nobody outside this store can own anything: a count is enough.
    async fn own(&mut self, of: &MailboxName, _by: Incarnation) -> Result<Epoch, StoreError> {
        let epoch = self.epochs.entry(of.clone()).or_insert(Epoch(0));
        epoch.0 += 1;
        Ok(*epoch)
    }
}

/// The mailboxes' names, each made once.
#[derive(Default)]
struct Names {
    known: HashMap<String, MailboxName>,
    /// Those of the last chunk, which the next one most often repeats.
    last: Vec<MailboxName>,
}

impl Names {
    fn of(&mut self, chunk: &Chunk<'_>) -> Result<Vec<MailboxName>, crate::names::NameError> {
        let same = self.last.len() == chunk.mailboxes.len()
            && self
                .last
                .iter()
                .zip(&chunk.mailboxes)
                .all(|(known, name)| known.as_str() == *name);
        if !same {
            let mut names = Vec::with_capacity(chunk.mailboxes.len());
            for name in &chunk.mailboxes {
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

fn stopped(home: &Home) -> StoreError {
    StoreError::Stopped {
        path: home.journal(),
        what: "it failed before and was not loaded since".to_owned(),
    }
}

/// A message as it was appended, or `None` where it is none.
fn stored(record: &Rec<'_>, line: &str) -> Option<Stored> {
    let Rec::Message {
        appended_at,
        subject,
        evidence,
        cause,
        ..
    } = record
    else {
        return None;
    };
    Some(Stored {
        appended_at: *appended_at,
        message: Message::parse(line.as_bytes()).ok()?,
        subject: subject.map(str::parse).transpose().ok()?,
        evidence: *evidence,
        cause: cause.map(str::parse).transpose().ok()?,
    })
}

/// A record as a load shows it.
fn shown<'a>(record: &'a Rec<'a>) -> Record<'a> {
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
fn body(record: &Rec<'_>) -> Option<Digest> {
    match record {
        Rec::Message {
            line: Line::File(digest),
            ..
        } => Some(*digest),
        _ => None,
    }
}

/// Remembers where a record is.
fn note(places: &mut Places, key: u64, record: &Rec<'_>) {
    match record {
        Rec::Message { .. } => places.message(key),
        Rec::Event { event, .. } => places.event(event.seq, key),
        Rec::Tombstone { .. } => places.skip(1),
        Rec::Gone { first, last, .. } => places.skip((last + 1).saturating_sub(*first)),
    }
}

/// Says what failed on which file, and tells a full disk from the rest.
fn failed(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path: PathBuf = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            StoreError::Full {
                path: path.clone(),
                source,
            }
        }
        _ => StoreError::Io {
            doing,
            path: path.clone(),
            source,
        },
    }
}
