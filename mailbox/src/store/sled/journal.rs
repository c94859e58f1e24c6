//! The journal: chunks by their number, the newest in the tail, all others in the database.

use sled::IVec;

use super::database::Database;
use super::home::Home;
use super::tail::Tail;
use crate::store::StoreError;

/// Is shown each chunk with its key.
pub(super) type EachChunk<'a> = &'a mut dyn FnMut(u64, &[u8]) -> Result<(), StoreError>;

pub(super) struct Journal {
    /// Goes before the database, which its thread writes to.
    tail: Tail,
    database: Database,
}

impl Journal {
    pub(super) fn open(home: &Home, tail: u64) -> Result<Journal, StoreError> {
        let database = Database::open(&home.journal())?;
        Ok(Journal {
            tail: Tail::open(home.dir(), tail, &database)?,
            database,
        })
    }

    /// Writes these chunks, with keys from `first` on, as a whole, and syncs them to the disk.
    pub(super) fn write(&mut self, first: u64, chunks: Vec<Vec<u8>>) -> Result<(), StoreError> {
        if self.tail.fits(&chunks) {
            return self.tail.append(first, chunks, &self.database);
        }
        self.tail.empty(&self.database)?;
        self.database.write((first..).zip(chunks).collect())
    }

    /// Puts these chunks in the place of those with the keys in `old`, as a whole, and syncs that. They are
    /// among those that [`Journal::some`] showed.
    pub(super) fn rewrite(&self, old: &[u64], chunks: Vec<(u64, Vec<u8>)>) -> Result<(), StoreError> {
        self.database.rewrite(old, chunks)
    }

    /// Brings everything to where it may be rewritten.
    pub(super) fn settle(&mut self) -> Result<(), StoreError> {
        self.tail.empty(&self.database)
    }

    /// What is before this key may be rewritten; the last chunk of the database stays, since it tells how far
    /// the database reaches.
    pub(super) fn settled(&mut self) -> Result<u64, StoreError> {
        self.tail.settle(&self.database)?;
        Ok(self.database.last()?.unwrap_or_default())
    }

    /// Whether the disk was full when the newest chunks were to go to the database. It is to be opened anew.
    pub(super) fn is_stuck(&mut self) -> Result<bool, StoreError> {
        self.tail.is_stuck()
    }

    /// At most so many chunks from `first` on and before `end`, in order.
    pub(super) fn some(&self, first: u64, end: u64, count: usize) -> Result<Vec<(u64, IVec)>, StoreError> {
        self.database.some(first, end, count)
    }

    pub(super) fn get(&self, key: u64) -> Result<Option<IVec>, StoreError> {
        match self.tail.get(key) {
            Some(value) => Ok(Some(value.clone())),
            None => self.database.get(key),
        }
    }

    /// Shows every chunk after `after`, in order.
    pub(super) fn scan(&self, after: Option<u64>, each: EachChunk<'_>) -> Result<(), StoreError> {
        let mut from = after.map_or(0, |after| after + 1);
        self.database.scan(after, &mut |key, value| {
            from = key + 1;
            each(key, value)
        })?;
        let mut newest = self.tail.chunks().filter(|(key, _)| *key >= from);
        newest.try_for_each(|(key, value)| each(*key, value))
    }

    /// What holds all but the newest chunks.
    pub(super) fn database(&self) -> &Database {
        &self.database
    }
}
