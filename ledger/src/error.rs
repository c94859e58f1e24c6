//! How a ledger fails.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// What SQLite said.
#[derive(Debug)]
pub struct SqliteError {
    inner: rusqlite::Error,
}

impl fmt::Display for SqliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl std::error::Error for SqliteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source()
    }
}

/// Why a ledger was not opened. None of them changes a ledger that is there.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another handle writes it.
    #[error("{} is being written by {}", path.display(), by.map_or_else(|| "another program".to_owned(), |pid| format!("process {pid}")))]
    Held {
        /// The ledger.
        path: PathBuf,
        /// Whose it is, where that could be read.
        by: Option<u32>,
    },
    /// A later version of this program made it.
    #[error("{} is a ledger of version {found}; this program knows versions up to {known}", path.display())]
    Newer {
        /// The ledger.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program knows.
        known: u32,
    },
    /// An earlier version made it, and who only reads does not bring it up to date.
    #[error("{} is a ledger of version {found}, which is brought to version {known} when it is next written", path.display())]
    Older {
        /// The ledger.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// It is something else.
    #[error("{} is no ledger: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is.
        why: &'static str,
    },
    /// A file or its folder cannot be used.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was to be done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it cannot.
        source: io::Error,
    },
    /// It is a ledger, and cannot be read or brought up to date.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Why a ledger was not read or written. A write that failed changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Another program holds it for longer than a write takes.
    #[error("{} is held by another program, so that this could not be done: {doing}", path.display())]
    Busy {
        /// The ledger.
        path: PathBuf,
        /// What was to be done.
        doing: &'static str,
        /// What SQLite said.
        source: SqliteError,
    },
    /// The disk is full, or a limit on the size of files is reached.
    #[error("no space left for {} while {doing}", path.display())]
    Full {
        /// The ledger.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: SqliteError,
    },
    /// The file cannot be read or written.
    #[error("cannot use {} while {doing}", path.display())]
    Io {
        /// The ledger.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: SqliteError,
    },
    /// The file is damaged.
    #[error("{} is damaged, seen while {doing}", path.display())]
    Damaged {
        /// The ledger.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: SqliteError,
    },
    /// SQLite refused what was asked, as it does when another program changed the tables.
    #[error("{} does not take what was asked while {doing}", path.display())]
    Refused {
        /// The ledger.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What SQLite said.
        source: SqliteError,
    },
    /// A row holds something that this program did not write.
    #[error("{} holds {value:?} as {column}, which cannot be read: {why}", path.display())]
    Strange {
        /// The ledger.
        path: PathBuf,
        /// The column, `table.column`.
        column: &'static str,
        /// The beginning of what it holds.
        value: String,
        /// Why that cannot be read.
        why: String,
    },
    /// A transition was to be recorded for a pull request of which no evidence is recorded.
    #[error("no evidence of {of} is recorded beside its transition")]
    NoEvidence {
        /// Which pull request.
        of: String,
    },
    /// The two tables of states are retired, and are made again when the ledger is next opened for writing.
    #[error("the states in {} are retired", path.display())]
    Retired {
        /// The ledger.
        path: PathBuf,
    },
    /// The ledger is not what it was when it was opened.
    #[error("{} is not the ledger any more that was opened: {why}", path.display())]
    Gone {
        /// The ledger.
        path: PathBuf,
        /// What it is now.
        why: String,
    },
    /// The file was replaced again and again while it was read.
    #[error("{} does not stand still for a reading", path.display())]
    Restless {
        /// The ledger.
        path: PathBuf,
    },
}

impl LedgerError {
    /// Whether trying again later may help though nobody changes the program or the ledger.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Busy { .. } | Self::Full { .. } | Self::Io { .. } | Self::Restless { .. } => true,
            Self::Damaged { .. }
            | Self::Refused { .. }
            | Self::Strange { .. }
            | Self::NoEvidence { .. }
            | Self::Gone { .. }
            | Self::Retired { .. } => false,
        }
    }
}

/// What goes wrong inside, before the ledger's path is beside it.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Strange {
        column: &'static str,
        value: String,
        why: String,
    },
    NoEvidence(String),
    Retired,
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// As much of a value as an error shows.
const SHOWN: usize = 80;

impl Fault {
    pub(crate) fn strange(column: &'static str, value: &str, why: impl fmt::Display) -> Self {
        Self::Strange {
            column,
            value: value.chars().take(SHOWN).collect(),
            why: why.to_string(),
        }
    }

    /// The same, of the ledger at `path`.
    pub(crate) fn of(self, path: &Path, doing: &'static str) -> LedgerError {
        let path = path.to_owned();
        match self {
            Self::Sql(error) => classify(error, path, doing),
            Self::Strange { column, value, why } => LedgerError::Strange {
                path,
                column,
                value,
                why,
            },
            Self::NoEvidence(of) => LedgerError::NoEvidence { of },
            Self::Retired => LedgerError::Retired { path },
        }
    }
}

fn classify(inner: rusqlite::Error, path: PathBuf, doing: &'static str) -> LedgerError {
    let code = inner.sqlite_error_code();
    let source = SqliteError { inner };
    match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            LedgerError::Busy { path, doing, source }
        }
        Some(ErrorCode::DiskFull) => LedgerError::Full { path, doing, source },
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::NoLargeFileSupport,
        ) => LedgerError::Io { path, doing, source },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            LedgerError::Damaged { path, doing, source }
        }
        _ => LedgerError::Refused { path, doing, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sqlite_says_is_told_apart() {
        for (code, says, may_pass) in [
            (
                rusqlite::ffi::SQLITE_FULL,
                "no space left for /h/ledger.db while recording a batch: what it said",
                true,
            ),
            (
                rusqlite::ffi::SQLITE_BUSY,
                "/h/ledger.db is held by another program, so that this could not be done: recording a batch: what it said",
                true,
            ),
            (
                rusqlite::ffi::SQLITE_IOERR,
                "cannot use /h/ledger.db while recording a batch: what it said",
                true,
            ),
            (
                rusqlite::ffi::SQLITE_READONLY,
                "cannot use /h/ledger.db while recording a batch: what it said",
                true,
            ),
            (
                rusqlite::ffi::SQLITE_CORRUPT,
                "/h/ledger.db is damaged, seen while recording a batch: what it said",
                false,
            ),
            (
                rusqlite::ffi::SQLITE_CONSTRAINT,
                "/h/ledger.db does not take what was asked while recording a batch: what it said",
                false,
            ),
        ] {
            let said = Some("what it said".to_owned());
            let inner = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), said);
            let error = classify(inner, PathBuf::from("/h/ledger.db"), "recording a batch");
            let cause = std::error::Error::source(&error).unwrap();
            assert_eq!(
                (format!("{error}: {cause}").as_str(), error.may_pass()),
                (says, may_pass)
            );
        }
    }
}
