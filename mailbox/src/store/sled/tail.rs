//! The tail of the journal: the newest groups, before they go to the database.
//!
//! The database is slow at what a mailbox does most: it hands each write to threads of its own, waits for
//! the disk to take it, and only then can the file be synced. So a group is first appended to a plain file,
//! with one write and one sync, and many groups go to the database together, in the background. There are
//! two such files: while what is in one moves, the other is written.
//!
//! ```text
//! group   length u32, checksum u32, key of its first chunk u64, then its chunks
//! chunk   length u32, then its bytes
//! ```
//!
//! A file is never truncated. It is written again from its beginning once all that was in it is in the
//! database, so that a sync has no new size to write, and what follows the last group in it are older
//! groups. The keys of chunks increase for ever: a group counts if it follows the one before it, and if the
//! database does not end after it. A group that the machine's end cut short does not match its checksum, and
//! nor does one that was damaged; the mark tells them apart.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use sled::IVec;
use tracing::warn;

use super::bodies::sync_dir;
use super::database::Database;
use super::{damaged, failed};
use crate::store::StoreError;

/// Bytes of one of the files. Moving so many to the database takes some ten milliseconds in the background,
/// and what they need there, at most three times as much, fits in what is set aside for a full disk.
pub(super) const BYTES: u64 = 2 * 1024 * 1024;
/// A file that is too short becomes so much longer at once.
const STEP: u64 = 256 * 1024;
/// Length, checksum and key.
const HEAD: usize = 16;
/// The length of a chunk.
const LENGTH: usize = 4;

/// A chunk with its key.
pub(super) type Keyed = (u64, IVec);

pub(super) struct Tail {
    /// The one that is written comes first.
    files: [TailFile; 2],
    /// The most bytes in each.
    bytes: u64,
    /// The chunks in the file that is written.
    newest: VecDeque<Keyed>,
    /// Those in the other one, until they are in the database.
    older: Option<Older>,
    /// Whether the disk was full when they were to go there.
    stuck: bool,
    /// A group on its way to the file.
    buffer: Vec<u8>,
}

/// The chunks of a file that is full.
struct Older {
    chunks: Arc<[Keyed]>,
    /// Where they are on their way. They are not right after opening, nor when the disk was full.
    moving: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Tail {
    /// Opens the files in `dir`, which are made if they are not there, and finds what is in them and not yet
    /// in the database.
    pub(super) fn open(dir: &Path, bytes: u64, database: &Database) -> Result<Tail, StoreError> {
        let mut files = [TailFile::open(dir, "tail-0")?, TailFile::open(dir, "tail-1")?];
        let moved = database.last()?.map_or(0, |last| last + 1);
        let mut found = [files[0].read()?, files[1].read()?];
        for chunks in &mut found {
            chunks.retain(|(key, _)| *key >= moved);
        }
        let first = |chunks: &[Keyed]| chunks.first().map_or(u64::MAX, |(key, _)| *key);
        if first(&found[1]) < first(&found[0]) {
            found.swap(0, 1);
            files.swap(0, 1);
        }
        for (next, (key, _)) in (moved..).zip(found.iter().flatten()) {
            if *key != next {
                let what = format_args!("chunk {key} where {next} follows");
                return Err(damaged(&files[0].path, what));
            }
        }
        let [older, newer] = found;
        let mut tail = Tail {
            files,
            bytes,
            newest: VecDeque::new(),
            older: None,
            stuck: false,
            buffer: Vec::new(),
        };
        if newer.is_empty() {
            tail.newest = older.into();
        } else {
            // Opening asks no room of a disk that may be full: it moves when the newer one is full too.
            tail.files.swap(0, 1);
            tail.newest = newer.into();
            tail.older = Some(Older {
                chunks: older.into(),
                moving: None,
            });
        }
        if tail.newest.is_empty() {
            tail.files[0].end = 0;
        }
        Ok(tail)
    }

    /// Whether a group fits into a file.
    pub(super) fn fits(&self, chunks: &[Vec<u8>]) -> bool {
        size(chunks) as u64 <= self.bytes
    }

    /// Appends a group that fits, with keys from `first` on, and syncs it.
    pub(super) fn append(
        &mut self,
        first: u64,
        chunks: Vec<Vec<u8>>,
        database: &Database,
    ) -> Result<(), StoreError> {
        self.look()?;
        let size = size(&chunks);
        if self.files[0].end + size as u64 > self.bytes {
            self.turn(database)?;
        }
        self.buffer.clear();
        self.buffer.resize(HEAD, 0);
        for chunk in &chunks {
            self.buffer.extend_from_slice(&length(chunk.len()));
            self.buffer.extend_from_slice(chunk);
        }
        self.buffer[8..HEAD].copy_from_slice(&first.to_le_bytes());
        self.buffer[..4].copy_from_slice(&length(size - HEAD));
        let checksum = crc32fast::hash(&self.buffer[8..]).to_le_bytes();
        self.buffer[4..8].copy_from_slice(&checksum);
        self.files[0].append(&self.buffer, self.bytes)?;
        let chunks = chunks.into_iter().map(IVec::from);
        self.newest.extend((first..).zip(chunks));
        Ok(())
    }

    /// The chunk with this key, if it is not in the database yet.
    pub(super) fn get(&self, key: u64) -> Option<&IVec> {
        let at = |first: Option<&Keyed>| usize::try_from(key.checked_sub(first?.0)?).ok();
        if let Some(at) = at(self.newest.front()) {
            return self.newest.get(at).map(|(_, value)| value);
        }
        let older = &self.older.as_ref()?.chunks;
        older.get(at(older.first())?).map(|(_, value)| value)
    }

    /// The chunks that are in the files, in order. The first of them may be in the database by now.
    pub(super) fn chunks(&self) -> impl Iterator<Item = &Keyed> {
        let older = self.older.iter().flat_map(|older| older.chunks.iter());
        older.chain(&self.newest)
    }

    /// Whether the disk was full when something was to go to the database, which is to be opened anew then.
    pub(super) fn is_stuck(&mut self) -> Result<bool, StoreError> {
        self.look()?;
        Ok(self.stuck)
    }

    /// Has everything in the database.
    pub(super) fn empty(&mut self, database: &Database) -> Result<(), StoreError> {
        if !self.newest.is_empty() {
            self.turn(database)?;
        }
        self.settle(database)
    }

    /// Writes the other file from here on, and moves what is in this one.
    fn turn(&mut self, database: &Database) -> Result<(), StoreError> {
        self.settle(database)?;
        let chunks: Arc<[Keyed]> = self.newest.drain(..).collect();
        let (there, moved) = (database.clone(), Arc::clone(&chunks));
        let moving = thread::Builder::new()
            .name("mailbox-tail".to_owned())
            .spawn(move || there.write_in_order(&moved))
            // What is not moved now is moved when the other file is full.
            .ok();
        self.older = Some(Older { chunks, moving });
        self.files.swap(0, 1);
        self.files[0].end = 0;
        Ok(())
    }

    /// Lets go of what has arrived. That the disk is full is no error yet: it is one when the other file is
    /// too.
    fn look(&mut self) -> Result<(), StoreError> {
        let Some(older) = &mut self.older else {
            return Ok(());
        };
        if !older.moving.as_ref().is_some_and(JoinHandle::is_finished) {
            return Ok(());
        }
        match older.arrive() {
            Ok(()) => self.older = None,
            Err(error @ StoreError::Full { .. }) => {
                warn!(%error, "the tail of the journal stays where it is");
                self.stuck = true;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Has what is in the other file in the database.
    pub(super) fn settle(&mut self, database: &Database) -> Result<(), StoreError> {
        let Some(older) = &mut self.older else {
            return Ok(());
        };
        match older.moving {
            Some(_) => older.arrive()?,
            None => database.write_in_order(&older.chunks)?,
        }
        self.older = None;
        Ok(())
    }
}

impl Older {
    /// Waits until they have arrived.
    fn arrive(&mut self) -> Result<(), StoreError> {
        let Some(moving) = self.moving.take() else {
            return Ok(());
        };
        moving.join().unwrap_or_else(|_| {
            Err(StoreError::Stopped {
                path: PathBuf::from("mailbox-tail"),
                what: "its thread ended early".to_owned(),
            })
        })
    }
}

impl Drop for Tail {
    /// The database is closed when its journal is, and not when a thread is done with it.
    fn drop(&mut self) {
        if let Some(Err(error)) = self.older.as_mut().map(Older::arrive) {
            warn!(%error, "the tail of the journal stays where it is");
        }
    }
}

/// The bytes that a group takes in a file.
fn size(chunks: &[Vec<u8>]) -> usize {
    chunks.iter().map(|chunk| LENGTH + chunk.len()).sum::<usize>() + HEAD
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes)
        .expect("a group is no longer than a file")
        .to_le_bytes()
}

/// One of the files.
struct TailFile {
    path: PathBuf,
    file: File,
    /// Where the next group goes.
    end: u64,
    /// The bytes that the file has.
    size: u64,
}

impl TailFile {
    fn open(dir: &Path, name: &str) -> Result<TailFile, StoreError> {
        let path = dir.join(name);
        let fresh = !path.exists();
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = opened.map_err(failed("open", &path))?;
        let size = file.metadata().map_err(failed("read", &path))?.len();
        if fresh {
            file.sync_all().map_err(failed("sync", &path))?;
            sync_dir(dir)?;
        }
        Ok(TailFile {
            path,
            file,
            end: 0,
            size,
        })
    }

    /// The groups from the beginning on that follow one another.
    fn read(&mut self) -> Result<Vec<Keyed>, StoreError> {
        let mut content = vec![0; usize::try_from(self.size).unwrap_or(usize::MAX)];
        let mut filled = 0;
        while filled < content.len() {
            match self.file.read_at(&mut content[filled..], filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("read", &self.path)(error)),
            }
        }
        let mut left = &content[..filled];
        let mut found: Vec<Keyed> = Vec::new();
        while let Some((first, chunks, rest)) = group(left) {
            if found.last().is_some_and(|(last, _)| last + 1 != first) {
                break;
            }
            found.extend((first..).zip(chunks));
            self.end += (left.len() - rest.len()) as u64;
            left = rest;
        }
        Ok(found)
    }

    /// Writes and syncs. The file becomes longer than it must, with zeros, so that most syncs have no new
    /// size to write.
    fn append(&mut self, bytes: &[u8], most: u64) -> Result<(), StoreError> {
        let end = self.end + bytes.len() as u64;
        let write = || -> io::Result<u64> {
            let mut size = self.size;
            if end > size {
                size = end.next_multiple_of(STEP).min(most).max(end);
                let zeros = vec![0; usize::try_from(size - end).unwrap_or_default()];
                self.file.write_all_at(&zeros, end)?;
            }
            self.file.write_all_at(bytes, self.end)?;
            self.file.sync_data()?;
            Ok(size)
        };
        self.size = write().map_err(failed("write", &self.path))?;
        self.end = end;
        Ok(())
    }
}

/// The group at the beginning of these bytes, if there is a whole one: the key of its first chunk, its
/// chunks, and what follows it.
fn group(bytes: &[u8]) -> Option<(u64, Vec<IVec>, &[u8])> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (checksum, rest) = rest.split_first_chunk()?;
    let size = usize::try_from(u32::from_le_bytes(*size)).ok()?;
    let (checked, after) = rest.split_at_checked(size.checked_add(8)?)?;
    if size == 0 || crc32fast::hash(checked) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (key, mut left) = checked.split_first_chunk()?;
    let mut chunks = Vec::new();
    while let Some((length, rest)) = left.split_first_chunk() {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (chunk, rest) = rest.split_at_checked(length)?;
        chunks.push(IVec::from(chunk));
        left = rest;
    }
    Some((u64::from_le_bytes(*key), chunks, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: u64 = 1_000;

    fn chunk(key: u64) -> Vec<u8> {
        vec![u8::try_from(key % 250).unwrap(); usize::try_from(key % 90).unwrap()]
    }

    fn open(dir: &Path) -> (Database, Tail) {
        let database = Database::open(&dir.join("journal")).unwrap();
        let tail = Tail::open(dir, SMALL, &database).unwrap();
        (database, tail)
    }

    /// Appends groups of one to three chunks up to this key.
    fn fill(tail: &mut Tail, database: &Database, from: u64, to: u64) {
        let mut next = from;
        while next < to {
            let end = to.min(next + 1 + next % 3);
            tail.append(next, (next..end).map(chunk).collect(), database)
                .unwrap();
            next = end;
        }
    }

    fn check(tail: &mut Tail, database: &Database, end: u64) {
        for key in 0..end {
            let found = tail.get(key).cloned().or_else(|| database.get(key).unwrap());
            assert_eq!(found.as_deref(), Some(&chunk(key)[..]), "{key}");
        }
        assert_eq!(tail.get(end), None);
        tail.look().unwrap();
        let moved = database.last().unwrap().map_or(0, |last| last + 1);
        let keys = tail.chunks().map(|(key, _)| *key).filter(|key| *key >= moved);
        assert_eq!(keys.collect::<Vec<_>>(), (moved..end).collect::<Vec<_>>());
    }

    #[test]
    fn every_chunk_is_found_while_files_turn_and_after_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let mut end = 0;
        for to in [1, 3, 20, 21, 70, 140, 141] {
            let (database, mut tail) = open(dir.path());
            check(&mut tail, &database, end);
            fill(&mut tail, &database, end, to);
            end = to;
            check(&mut tail, &database, end);
        }
        let (database, mut tail) = open(dir.path());
        assert!(tail.fits(&[vec![1; 980]]));
        assert!(!tail.fits(&[vec![1; 981]]));
        tail.empty(&database).unwrap();
        assert_eq!(database.last().unwrap(), Some(end - 1));
        fill(&mut tail, &database, end, end + 2);
        check(&mut tail, &database, end + 2);
    }

    #[test]
    fn a_group_that_was_cut_short_is_as_if_it_was_never_written() {
        let dir = tempfile::tempdir().unwrap();
        let (database, mut tail) = open(dir.path());
        fill(&mut tail, &database, 0, 7);
        // Groups of one lap are over those of the lap before.
        tail.empty(&database).unwrap();
        fill(&mut tail, &database, 7, 10);
        tail.empty(&database).unwrap();
        fill(&mut tail, &database, 10, 11);
        let whole = tail.files[0].end;
        tail.append(11, vec![chunk(11), chunk(12)], &database).unwrap();
        let (path, end) = (tail.files[0].path.clone(), tail.files[0].end);
        drop((tail, database));
        let bytes = std::fs::read(&path).unwrap();
        for at in whole..end {
            let mut torn = bytes.clone();
            torn[usize::try_from(at).unwrap()] ^= 0x20;
            std::fs::write(&path, torn).unwrap();
            let (database, mut tail) = open(dir.path());
            check(&mut tail, &database, 11);
        }
        let (database, mut tail) = open(dir.path());
        fill(&mut tail, &database, 11, 13);
        check(&mut tail, &database, 13);
    }

    #[test]
    fn a_file_of_which_a_part_is_missing_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let (database, mut tail) = open(dir.path());
        fill(&mut tail, &database, 0, 4);
        let older = tail.files[0].path.clone();
        // As if the machine had stopped while it was moved.
        tail.files.swap(0, 1);
        fill(&mut tail, &database, 4, 6);
        drop(tail);
        let mut tail = Tail::open(dir.path(), SMALL, &database).unwrap();
        check(&mut tail, &database, 6);
        assert_eq!(database.last().unwrap(), None, "opening writes nothing");
        drop(tail);

        let mut bytes = std::fs::read(&older).unwrap();
        bytes[30] ^= 1;
        std::fs::write(&older, bytes).unwrap();
        let damaged = Tail::open(dir.path(), SMALL, &database).err().unwrap();
        assert!(matches!(damaged, StoreError::Damaged { .. }), "{damaged}");
    }
}
