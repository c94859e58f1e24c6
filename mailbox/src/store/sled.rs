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

use crate::event::DeliveryEvent;
use crate::mailboxes::OpenError;
use crate::message::Message;
use crate::names::{Digest, Incarnation, MailboxName, Seq};
use crate::store::{Cursor, Epoch, Head, Record, Store, StoreError, Stored, Write, Wrote};

mod bodies;
mod chunk;
mod home;
mod journal;
mod mark;

use bodies::Bodies;
use chunk::{Chunk, Chunker, INLINE, Line, Rec};
use home::Home;
use journal::Journal;
use mark::Mark;

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
    places: HashMap<MailboxName, Places>,
    epochs: HashMap<MailboxName, Epoch>,
    /// The key of the next chunk.
    next: u64,
    /// Whether files that no record names were swept away since the store was opened.
    swept: bool,
    syncs: Arc<AtomicU64>,
}

/// Where a mailbox's messages are.
#[derive(Debug, Clone, Default)]
struct Places {
    count: u64,
    /// The first of the messages in each chunk that has any, and the chunk's key.
    chunks: Vec<(Seq, u64)>,
}

impl Places {
    fn next(&self) -> Seq {
        Seq(self.count + 1)
    }

    fn add(&mut self, key: u64) {
        if self.chunks.last().is_none_or(|(_, last)| *last != key) {
            self.chunks.push((self.next(), key));
        }
        self.count += 1;
    }

    /// The chunks that hold the messages from `first` to `last`.
    fn chunks(&self, first: Seq, last: Seq) -> impl Iterator<Item = u64> {
        let from = self
            .chunks
            .partition_point(|(start, _)| *start <= first)
            .saturating_sub(1);
        self.chunks[from..]
            .iter()
            .take_while(move |(start, _)| *start <= last)
            .map(|(_, key)| *key)
    }
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
        let home = Home::open(dir)?;
        let bodies = Bodies::open(home.bodies())?;
        let mark = Mark::open(home.dir())?;
        let journal = Journal::open(&home.journal())?;
        Ok(DiskStore {
            home,
            journal: Some(journal),
            bodies,
            mark,
            places: HashMap::new(),
            epochs: HashMap::new(),
            next: 0,
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
        self.journal.as_ref().ok_or_else(|| StoreError::Stopped {
            path: self.home.journal(),
            what: "it failed before and was not loaded since".to_owned(),
        })
    }

    /// Passes a result on; an error closes the journal.
    fn watched<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if result.is_err() {
            self.journal = None;
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
            None => Journal::open(&self.home.journal())?,
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
            for record in chunk.records {
                let of = match &record {
                    Rec::Message { of, .. } | Rec::Event { of, .. } => *of,
                };
                let of = usize::try_from(of).ok().and_then(|of| known.get(of));
                let of = of.ok_or_else(|| damaged(key, &"a record of no mailbox"))?;
                match record {
                    Rec::Message {
                        seq,
                        appended_at,
                        id,
                        intent,
                        subject,
                        evidence,
                        line,
                        ..
                    } => {
                        if fresh {
                            let places = self.places.entry(of.clone()).or_default();
                            if places.next() != Seq(seq) {
                                let what = format!("message {seq} of {of} where {} follows", places.next());
                                return Err(damaged(key, &what));
                            }
                            places.add(key);
                            if let Line::File(digest) = line {
                                self.bodies.used(digest);
                            }
                        }
                        let head = Head {
                            id,
                            intent,
                            appended_at,
                            subject,
                            evidence,
                        };
                        each(of, Record::Message { seq: Seq(seq), head });
                    }
                    Rec::Event { event, .. } => each(of, Record::Event(event)),
                }
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
                        .or_insert_with(|| self.places.get(to).map_or(0, |places| places.count));
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
                    chunker.event(of, event, texts(&event.event));
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
        let values = (first..).zip(chunks.iter().map(Chunk::encode));
        self.journal()?.write(values)?;
        self.syncs.fetch_add(1, Ordering::Relaxed);
        for (key, chunk) in (first..).zip(&chunks) {
            self.note(key, chunk);
        }
        self.mark.write(self.next)?;
        Ok(wrote)
    }

    /// Remembers where the messages of a written chunk are.
    fn note(&mut self, key: u64, chunk: &Chunk<'_>) {
        for record in &chunk.records {
            let Rec::Message { of, line, .. } = record else {
                continue;
            };
            let of = chunk.mailboxes[*of as usize];
            let places = match self.places.get_mut(of) {
                Some(places) => places,
                None => {
                    let name = of.parse().expect("it was a mailbox's name when it was written");
                    self.places.entry(name).or_default()
                }
            };
            places.add(key);
            if let Line::File(digest) = line {
                self.bodies.used(*digest);
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
        for key in places.chunks(*seqs.start(), *seqs.end()) {
            let value = self
                .journal()?
                .get(key)?
                .ok_or_else(|| self.damaged(format!("chunk {key} is gone")))?;
            let chunk =
                Chunk::decode(&value).map_err(|error| self.damaged(format!("chunk {key}: {error}")))?;
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
                    Line::File(digest) => {
                        text = self.bodies.read(*digest)?;
                        text.as_str()
                    }
                    Line::Gone => continue,
                };
                let stored = stored(record, line)
                    .ok_or_else(|| self.damaged(format!("chunk {key}: message {seq} does not read back")))?;
                found.push((Seq(*seq), stored));
            }
        }
        Ok(found)
    }

    fn drop_bytes(&mut self, of: &MailboxName, seqs: &[Seq]) -> Result<(), StoreError> {
        let Some(places) = self.places.get(of) else {
            return Ok(());
        };
        let mut keys: Vec<u64> = seqs.iter().flat_map(|seq| places.chunks(*seq, *seq)).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut values = Vec::new();
        let mut unused = Vec::new();
        for key in keys {
            let value = self
                .journal()?
                .get(key)?
                .ok_or_else(|| self.damaged(format!("chunk {key} is gone")))?;
            let mut chunk =
                Chunk::decode(&value).map_err(|error| self.damaged(format!("chunk {key}: {error}")))?;
            let at = chunk.mailboxes.iter().position(|name| *name == of.as_str());
            for record in &mut chunk.records {
                let Rec::Message { of, seq, line, .. } = record else {
                    continue;
                };
                if Some(*of as usize) != at || !seqs.contains(&Seq(*seq)) {
                    continue;
                }
                if let Line::File(digest) = line {
                    unused.push(*digest);
                }
                *line = Line::Gone;
            }
            values.push((key, chunk.encode()));
        }
        if values.is_empty() {
            return Ok(());
        }
        self.journal()?.write(values)?;
        self.syncs.fetch_add(1, Ordering::Relaxed);
        unused
            .into_iter()
            .try_for_each(|digest| self.bodies.unused(digest))
    }
}

impl Store for DiskStore {
    async fn load(
        &mut self,
        after: Option<Cursor>,
        each: &mut (dyn FnMut(&MailboxName, Record<'_>) + Send),
    ) -> Result<Cursor, StoreError> {
        self.load_all(after, each)
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

    async fn forget(&mut self, of: &MailboxName, seqs: &[Seq]) -> Result<(), StoreError> {
        let dropped = self.drop_bytes(of, seqs);
        self.watched(dropped)
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

/// How many bytes of text an event holds.
fn texts(event: &DeliveryEvent) -> usize {
    match event {
        DeliveryEvent::Acked { outcome: text, .. }
        | DeliveryEvent::Failed { reason: text, .. }
        | DeliveryEvent::HandedBack { reason: text, .. }
        | DeliveryEvent::Quarantined { reason: text, .. } => text.len(),
        DeliveryEvent::Leased { .. }
        | DeliveryEvent::Extended { .. }
        | DeliveryEvent::Expired { .. }
        | DeliveryEvent::Voided { .. } => 0,
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
