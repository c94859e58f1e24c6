//! Why a ledger cannot be opened, read or written.

use std::io;
use std::path::{Path, PathBuf};

/// Why a ledger was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process writes it.
    #[error("the ledger {} is written by another process", path.display())]
    Held {
        /// The ledger.
        path: PathBuf,
    },
    /// A later program made it. It was not touched.
    #[error("the ledger {} is of version {found}, and this program knows up to {known}", path.display())]
    Newer {
        /// The ledger.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// It is no ledger.
    #[error("{} is no ledger: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// A file could not be reached.
    #[error("cannot open {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// SQLite refused.
    #[error("cannot open the ledger {}: {why}", path.display())]
    Sqlite {
        /// The ledger.
        path: PathBuf,
        /// Its words.
        why: String,
    },
}

impl OpenError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self + '_ {
        move |error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Self::Foreign {
                path: path.to_owned(),
                why: "it is no SQLite database".to_owned(),
            },
            Some(rusqlite::ErrorCode::DatabaseBusy) => Self::Held {
                path: path.to_owned(),
            },
            _ => Self::Sqlite {
                path: path.to_owned(),
                why: error.to_string(),
            },
        }
    }
}

/// Why a ledger was not read or written. Nothing of the batch is written then.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The disk is full, or a limit on the size of files was reached.
    #[error("the ledger cannot grow: {why}")]
    Full {
        /// SQLite's words.
        why: String,
    },
    /// A stored value is none that this program writes.
    #[error("the ledger's {table} holds {what} that cannot be read: {why}")]
    Damaged {
        /// The table.
        table: &'static str,
        /// Which value.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// SQLite refused.
    #[error("the ledger does not answer: {why}")]
    Sqlite {
        /// Its words.
        why: String,
    },
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        let why = error.to_string();
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::Full { why },
            _ => Self::Sqlite { why },
        }
    }
}

/// A stored value that cannot be read.
pub(crate) fn damaged<E: std::fmt::Display>(
    table: &'static str,
    what: &'static str,
) -> impl FnOnce(E) -> LedgerError {
    move |error| LedgerError::Damaged {
        table,
        what,
        why: error.to_string(),
    }
}
