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
use crate::names::{Digest, Incarnation, MailboxName, Seq};
use crate::store::{Cursor, Epoch, Fate, Record, Store, StoreError, Stored, Write, Wrote};

mod bodies;
mod chunk;
mod database;
mod home;
mod journal;
mod load;
mod mark;
mod places;
mod prune;
mod read;
mod reserve;
mod tail;

use bodies::Bodies;
use chunk::{Chunk, Chunker, INLINE};
use home::Home;
use journal::Journal;
use load::{body, note};
use mark::Mark;
use places::Places;
use read::Page;
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
    /// What was read last.
    recent: Option<Page>,
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
            recent: None,
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
            path: self.home.dir().to_owned(),
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
            self.recent = None;
            if matches!(error, StoreError::Full { .. }) {
                self.reserve.release();
            }
        }
        result
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
        let values = chunks.iter().map(Chunk::encode_plain).collect();
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
        for record in &chunk.heads.records {
            let of = chunk.heads.mailboxes[record.of() as usize];
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

fn stopped(home: &Home) -> StoreError {
    StoreError::Stopped {
        path: home.journal(),
        what: "it failed before and was not loaded since".to_owned(),
    }
}

/// Of a part of the mailboxes, a file or a folder that lies in the folder that is all of them.
fn damaged(part: &Path, what: impl fmt::Display) -> StoreError {
    let name = part.file_name().unwrap_or_default().display();
    StoreError::Damaged {
        path: part.parent().unwrap_or(part).to_owned(),
        what: format!("{name}: {what}"),
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
