//! The one handle that writes.

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use pulls::RepoName;
use pulls::facts::Time;
use rusqlite::{Transaction, params};

use crate::columns::{json, text};
use crate::error::{Fault, LedgerError, OpenError};
use crate::file::{self, Lock};
use crate::reader::Reader;
use crate::records::{Batch, Changes, Finding, Pruned, ReviewAttempt};
use crate::{record, rename, schema};

/// What came of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// All of it is on the disk.
    Written,
    /// Its turn had been written before: nothing was.
    Known,
}

/// The handle that writes a ledger. There is one at a time, over all processes; it reads as a [`Reader`] does.
///
/// Every write is one transaction, synced when it returns.
pub struct Ledger {
    // The connection ends before the lock does.
    reader: Reader,
    changes: Changes,
    #[expect(dead_code, reason = "it is held, not used")]
    lock: Lock,
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("path", &self.reader.path())
            .finish_non_exhaustive()
    }
}

impl Deref for Ledger {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

impl Ledger {
    /// Opens the ledger in the file `path` to write it: makes it where there is none, with its folder, and brings an
    /// earlier version up to date.
    ///
    /// # Errors
    /// Another handle writes it; or it is something else, of a newer version, or cannot be used: then it is left as
    /// it is.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let (link, lock) = file::write(path)?;
        Ok(Self {
            reader: Reader::of_writer(path, link),
            changes: Changes::default(),
            lock,
        })
    }

    /// Writes a batch: all of it, or nothing where its turn was written before. It is on the disk when this returns.
    ///
    /// # Errors
    /// Nothing of it is written.
    pub fn record(&mut self, batch: &Batch) -> Result<Wrote, LedgerError> {
        let written = self.write("recording a batch", |transaction| {
            record::batch(transaction, batch)
        })?;
        let Some(changes) = written else {
            return Ok(Wrote::Known);
        };
        self.changes += changes;
        Ok(Wrote::Written)
    }

    /// Carries everything that is known of a repository over to its new name (field case B108), which may be the old
    /// one in other letters.
    ///
    /// Where something is known under both names, the later of the two stays. Of pages it stays known that they
    /// were sent.
    ///
    /// # Errors
    /// Nothing is carried over.
    pub fn rename(&mut self, old: &RepoName, new: &RepoName) -> Result<(), LedgerError> {
        self.write("renaming a repository", |transaction| {
            rename::carry(transaction, old, new)
        })
    }

    /// Fills in what was said on GitHub because of a transition (RFC, "Transition, then act"): an array. `id` is
    /// [`Logged::id`](crate::Logged).
    ///
    /// # Errors
    /// Nothing is written.
    pub fn set_actions(&mut self, id: i64, actions: &serde_json::Value) -> Result<(), LedgerError> {
        let written = self.write("recording what was said", |transaction| {
            needs_states(transaction)?;
            let mut update = transaction
                .prepare_cached("UPDATE pr_state_transitions SET actions_json = ?2 WHERE id = ?1")?;
            Ok(update.execute(params![id, json(actions)])?)
        })?;
        self.changes.transitions += written as u64;
        Ok(())
    }

    /// Adds an attempt to review a head.
    ///
    /// # Errors
    /// Nothing is written.
    pub fn put_review(&mut self, attempt: &ReviewAttempt) -> Result<(), LedgerError> {
        self.write("recording a review", |transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO review_attempts (repo, pr_number, head_sha, state, quality, at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            insert.execute(params![
                attempt.at.repo.as_str(),
                attempt.at.number.get(),
                attempt.head.as_str(),
                attempt.state.as_str(),
                attempt.quality,
                text(attempt.time),
            ])?;
            Ok(())
        })
    }

    /// Adds a finding, or says how the one of its id stands now.
    ///
    /// # Errors
    /// Nothing is written.
    pub fn put_finding(&mut self, finding: &Finding) -> Result<(), LedgerError> {
        self.write("recording a finding", |transaction| {
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO findings \
                 (repo, pr_number, finding_id, severity, head_sha, is_fixed, is_disputed) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            insert.execute(params![
                finding.at.repo.as_str(),
                finding.at.number.get(),
                finding.finding_id,
                finding.severity,
                finding.head.as_str(),
                finding.is_fixed,
                finding.is_disputed,
            ])?;
            Ok(())
        })
    }

    /// Forgets evidence, turns and events from before a moment. The newest evidence of a pull request stays as long
    /// as its row says that it is open.
    ///
    /// # Errors
    /// Nothing is forgotten.
    pub fn prune(&mut self, before: Time) -> Result<Pruned, LedgerError> {
        self.write("forgetting what is old", |transaction| {
            record::prune(transaction, before)
        })
    }

    /// Drops `pr_state` and `pr_state_transitions` (RFC, "Rollback"). Reading them gives nothing from then on and
    /// writing them is refused, until the ledger is opened for writing again, which makes them anew and raises the
    /// epoch.
    ///
    /// # Errors
    /// They are as they were.
    pub fn retire(&mut self) -> Result<(), LedgerError> {
        let path = self.reader.path().to_owned();
        schema::retire(self.reader.connection())
            .map_err(|error| Fault::from(error).of(&path, "retiring the states"))
    }

    /// How many rows this handle has written so far.
    pub fn changes(&self) -> Changes {
        self.changes
    }

    fn write<T>(
        &mut self,
        doing: &'static str,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, LedgerError> {
        let path = self.reader.path().to_owned();
        let conn = self.reader.connection();
        let whole = || -> Result<T, Fault> {
            let transaction = schema::begin(conn)?;
            let written = write(&transaction)?;
            transaction.commit()?;
            Ok(written)
        };
        whole().map_err(|fault| fault.of(&path, doing))
    }
}

/// Refuses where the tables of states are retired.
pub(crate) fn needs_states(transaction: &Transaction<'_>) -> Result<(), Fault> {
    match schema::has_states(transaction)? {
        true => Ok(()),
        false => Err(Fault::Retired),
    }
}
