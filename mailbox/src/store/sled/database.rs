//! The database, with the guards that it needs.
//!
//! sled 0.34.7 is fast and keeps what it has synced, but:
//! - its `flush` does not reach the disk on Linux: the file is synced here after it;
//! - a snapshot that was being written when the process was killed keeps it from opening: such files
//!   are deleted first;
//! - it may panic on damaged pages: every call is made under `catch_unwind`;
//! - after a failed write it fails until it is opened again: the caller does that.

use std::fs::{self, File};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sled::{Batch, Db, IVec, Tree};

use crate::store::StoreError;
use crate::store::sled::chunk::packed;
use crate::store::sled::journal::EachChunk;
use crate::store::sled::{damaged, failed};

/// The tree of chunks, by their number.
const TREE: &str = "journal";
/// Pages kept in memory: recent chunks are read again soon, old ones rarely.
const CACHE: u64 = 32 * 1024 * 1024;
/// Values above a share of a segment go to files that are never synced; this keeps ours well below.
const SEGMENT: usize = 8 * 1024 * 1024;
/// How often the database's own thread tidies up. Our syncs do not wait for it.
const TIDY_EVERY_MS: u64 = 1_000;
/// How long a database that was just closed may keep its file locked.
const RELEASE: Duration = Duration::from_secs(5);
/// How often to look in that time.
const RELEASE_STEP: Duration = Duration::from_millis(5);

/// Every clone is the same database, which closes with the last of them.
#[derive(Clone)]
pub(super) struct Database {
    dir: PathBuf,
    db: Db,
    tree: Tree,
    /// The database's file, to sync it.
    file: Arc<File>,
}

impl Database {
    pub(super) fn open(dir: &Path) -> Result<Database, StoreError> {
        remove_unfinished_snapshots(dir)?;
        let config = sled::Config::new()
            .path(dir)
            .cache_capacity(CACHE)
            .segment_size(SEGMENT)
            .flush_every_ms(Some(TIDY_EVERY_MS));
        let give_up = Instant::now() + RELEASE;
        let (db, tree) = loop {
            let opened = guarded(dir, || {
                let db = config.open()?;
                let tree = db.open_tree(TREE)?;
                Ok((db, tree))
            });
            match opened {
                // Our own lock is held, so this can only be our own database on its way out.
                Err(StoreError::Io { source, .. }) if is_locked(&source) && Instant::now() < give_up => {
                    thread::sleep(RELEASE_STEP);
                }
                other => break other.map_err(when_opening)?,
            }
        };
        let path = dir.join("db");
        let file = File::open(&path).map_err(failed("open", &path))?;
        Ok(Database {
            dir: dir.to_owned(),
            db,
            tree,
            file: Arc::new(file),
        })
    }

    /// Writes these chunks as a whole and syncs them to the disk.
    ///
    /// One chunk is whole by itself; a batch costs a record of its own, written and waited for apart.
    pub(super) fn write(&self, chunks: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError> {
        guarded(&self.dir, || {
            match <[_; 1]>::try_from(chunks) {
                Ok([(key, value)]) => drop(self.tree.insert(key.to_be_bytes(), small(value))?),
                Err(chunks) => {
                    let mut batch = Batch::default();
                    for (key, value) in chunks {
                        batch.insert(&key.to_be_bytes(), small(value));
                    }
                    self.tree.apply_batch(batch)?;
                }
            }
            self.db.flush()
        })?;
        let path = self.dir.join("db");
        self.file.sync_data().map_err(failed("sync", &path))
    }

    /// Writes these chunks one after the other and syncs them all: cut short, the first of them are there and
    /// the others are not.
    pub(super) fn write_in_order(&self, chunks: &[(u64, IVec)]) -> Result<(), StoreError> {
        guarded(&self.dir, || {
            for (key, value) in chunks {
                match packed(value) {
                    Some(packed) => self.tree.insert(key.to_be_bytes(), packed)?,
                    None => self.tree.insert(key.to_be_bytes(), value)?,
                };
            }
            self.db.flush()
        })?;
        let path = self.dir.join("db");
        self.file.sync_data().map_err(failed("sync", &path))
    }

    /// The key of the last chunk.
    pub(super) fn last(&self) -> Result<Option<u64>, StoreError> {
        let last = guarded(&self.dir, || self.tree.last())?;
        last.map(|(key, _)| self.number(&key)).transpose()
    }

    /// Puts these chunks in the place of those with the keys in `old`, as a whole, and syncs that.
    pub(super) fn rewrite(&self, old: &[u64], chunks: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        for key in old {
            batch.remove(&key.to_be_bytes());
        }
        for (key, value) in chunks {
            batch.insert(&key.to_be_bytes(), value);
        }
        guarded(&self.dir, || {
            self.tree.apply_batch(batch)?;
            self.db.flush()
        })?;
        let path = self.dir.join("db");
        self.file.sync_data().map_err(failed("sync", &path))
    }

    /// At most so many chunks from `first` on and before `end`, in order.
    pub(super) fn some(&self, first: u64, end: u64, count: usize) -> Result<Vec<(u64, IVec)>, StoreError> {
        let range = first.to_be_bytes()..end.max(first).to_be_bytes();
        let found = guarded(&self.dir, || {
            let chunks = self.tree.range(range);
            chunks.take(count).collect::<sled::Result<Vec<_>>>()
        })?;
        let numbered = |(key, value): (IVec, IVec)| Ok((self.number(&key)?, value));
        found.into_iter().map(numbered).collect()
    }

    fn number(&self, key: &[u8]) -> Result<u64, StoreError> {
        let key = <[u8; 8]>::try_from(key)
            .map_err(|_| damaged(&self.dir, format_args!("a key of {} bytes", key.len())))?;
        Ok(u64::from_be_bytes(key))
    }

    pub(super) fn get(&self, key: u64) -> Result<Option<IVec>, StoreError> {
        guarded(&self.dir, || self.tree.get(key.to_be_bytes()))
    }

    /// Shows every chunk after `after`, in order.
    pub(super) fn scan(&self, after: Option<u64>, each: EachChunk<'_>) -> Result<(), StoreError> {
        let from = after.map_or(0, |after| after + 1);
        let mut chunks = guarded(&self.dir, || Ok(self.tree.range(from.to_be_bytes()..)))?;
        while let Some((key, value)) = guarded(&self.dir, || chunks.next().transpose())? {
            each(self.number(&key)?, &value)?;
        }
        Ok(())
    }

    /// Bytes of the database's file.
    pub(super) fn size(&self) -> Result<u64, StoreError> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(failed("read", &self.dir.join("db")))?.len())
    }

    /// Syncs and closes it.
    pub(super) fn close(self) -> Result<(), StoreError> {
        guarded(&self.dir, || self.db.flush())?;
        let path = self.dir.join("db");
        self.file.sync_all().map_err(failed("sync", &path))
    }
}

/// A chunk as it stays.
fn small(chunk: Vec<u8>) -> Vec<u8> {
    packed(&chunk).unwrap_or(chunk)
}

/// A snapshot's temporary name, which its reader does not expect.
fn remove_unfinished_snapshots(dir: &Path) -> Result<(), StoreError> {
    if !dir.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(dir).map_err(failed("read", dir))? {
        let path = entry.map_err(failed("read", dir))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy());
        if name.is_some_and(|name| name.starts_with("snap.") && name.ends_with(".generating")) {
            fs::remove_file(&path).map_err(failed("remove", &path))?;
        }
    }
    Ok(())
}

fn is_locked(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::WouldBlock || error.to_string().contains("could not acquire lock")
}

/// A database that stops while it is opened is damaged; one that stops later is opened again.
fn when_opening(error: StoreError) -> StoreError {
    match error {
        StoreError::Stopped { path, what } => damaged(&path, what),
        error => error,
    }
}

/// Calls into the database, and turns what it may do into an error.
fn guarded<T>(dir: &Path, call: impl FnOnce() -> sled::Result<T>) -> Result<T, StoreError> {
    match panic::catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(translate(dir, error)),
        Err(panic) => Err(StoreError::Stopped {
            path: dir.to_owned(),
            what: words(panic.as_ref()),
        }),
    }
}

fn translate(dir: &Path, error: sled::Error) -> StoreError {
    match error {
        sled::Error::Io(source) => failed("read or write", dir)(source),
        sled::Error::Corruption { at, .. } => {
            let what = at.map_or_else(|| "a page".to_owned(), |at| format!("a page at {at:?}"));
            damaged(dir, what)
        }
        sled::Error::CollectionNotFound(_) => damaged(dir, "a tree is gone"),
        sled::Error::Unsupported(what) | sled::Error::ReportableBug(what) => damaged(dir, first_line(&what)),
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a reason");
    first_line(text)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
