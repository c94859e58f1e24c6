//! The ledger as the reconciler uses it: kept by this process, or only looked into.

use std::sync::{Arc, Mutex, PoisonError};

use ledger::{Batch, Finding, Ledger, LedgerError, Reader, ReviewAttempt};
use pulls::facts::Time;

/// The ledger that a reconciler goes by. Clones share it.
#[derive(Clone)]
pub struct Books(Arc<Mutex<Kept>>);

enum Kept {
    Written(Ledger),
    Seen(Reader),
}

impl Books {
    /// A ledger that is written.
    pub fn kept(ledger: Ledger) -> Self {
        Self(Arc::new(Mutex::new(Kept::Written(ledger))))
    }

    /// One that is looked into: every cycle over it is a rehearsal.
    pub fn seen(reader: Reader) -> Self {
        Self(Arc::new(Mutex::new(Kept::Seen(reader))))
    }

    /// Writes an attempt at a review, as whoever reviews does.
    ///
    /// # Errors
    /// When the ledger does not take it. Where it is only looked into nothing is written.
    pub fn put_review(&self, attempt: &ReviewAttempt) -> Result<(), LedgerError> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Kept::Written(ledger) => ledger.put_review(attempt),
            Kept::Seen(_) => Ok(()),
        }
    }

    /// Writes a finding of a review.
    ///
    /// # Errors
    /// As for [`Books::put_review`].
    pub fn put_finding(&self, finding: &Finding) -> Result<(), LedgerError> {
        match &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Kept::Written(ledger) => ledger.put_finding(finding),
            Kept::Seen(_) => Ok(()),
        }
    }

    /// Whether nothing was ever written down.
    ///
    /// # Errors
    /// When the ledger does not answer.
    pub async fn is_new(&self) -> Result<bool, LedgerError> {
        self.read(|ledger| Ok(ledger.cards(None)?.is_empty())).await
    }

    /// Reads, off the runtime's threads.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.off_the_runtime(move |kept| match kept {
            Kept::Written(ledger) => read(ledger),
            Kept::Seen(reader) => read(reader),
        })
        .await
    }

    /// Writes a batch whole; nothing where the ledger is only looked into.
    pub(super) async fn record(&self, batch: Batch) -> Result<(), LedgerError> {
        self.off_the_runtime(move |kept| match kept {
            Kept::Written(ledger) => ledger.record(&batch).map(drop),
            Kept::Seen(_) => Ok(()),
        })
        .await
    }

    /// Forgets what is older than a moment and was replaced since.
    pub(super) async fn prune(&self, before: Time) -> Result<(), LedgerError> {
        self.off_the_runtime(move |kept| match kept {
            Kept::Written(ledger) => ledger.prune(before).map(drop),
            Kept::Seen(_) => Ok(()),
        })
        .await
    }

    /// Carries the rows of a renamed repository over.
    pub(super) async fn rename(&self, old: pulls::RepoName, new: pulls::RepoName) -> Result<(), LedgerError> {
        self.off_the_runtime(move |kept| match kept {
            Kept::Written(ledger) => ledger.rename(&old, &new),
            Kept::Seen(_) => Ok(()),
        })
        .await
    }

    /// What a turn came to that ran before.
    pub(super) async fn outcome(&self, key: &str) -> Result<Option<String>, LedgerError> {
        let key = key.to_owned();
        self.read(move |ledger| ledger.outcome(&key)).await
    }

    async fn off_the_runtime<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Kept) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let kept = Arc::clone(&self.0);
        let work = move || work(&mut kept.lock().unwrap_or_else(PoisonError::into_inner));
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            // The work neither panics nor is cancelled before it began, but for a runtime that ends.
            Err(ended) => std::panic::resume_unwind(match ended.try_into_panic() {
                Ok(panic) => panic,
                Err(cancelled) => Box::new(cancelled.to_string()),
            }),
        }
    }
}
