//! Opening: one writer, and readers that write nothing.

use std::fs::{File, TryLockError};
use std::ops::Deref;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{LedgerError, OpenError};
use crate::schema;

/// How long a reader waits for a writer that is about to end its transaction, and the other way round.
const BUSY: Duration = Duration::from_secs(5);

/// Statements that a connection keeps prepared: all that there are.
const STATEMENTS: usize = 64;

/// A ledger that may be read.
#[derive(Debug)]
pub struct Reader {
    pub(crate) db: Connection,
}

/// The ledger for its one writer. It may be read as well.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) reader: Reader,
    /// Held as long as the ledger is: whoever has it is the writer. It ends with the process, however that ends.
    _lock: File,
}

impl Deref for Ledger {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

impl Ledger {
    /// Opens a ledger to write it, and makes it where there is none.
    ///
    /// # Errors
    /// When another process writes it, when a later program made it, when it is no ledger, or when a file cannot be
    /// reached. None of these touches the ledger.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let lock_path = beside(path, "lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock_path)
            .map_err(OpenError::io(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Held {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(OpenError::io(&lock_path)(error)),
        }
        if path.exists() {
            refuse_newer(path)?;
        }
        // SQLite gives its own files the mode that the database has.
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path)
            .map_err(OpenError::io(path))?;
        let refuse = OpenError::sqlite(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut db = Connection::open_with_flags(path, flags).map_err(&refuse)?;
        let set_up = |db: &Connection| {
            db.busy_timeout(BUSY)?;
            db.set_prepared_statement_cache_capacity(STATEMENTS);
            db.pragma_update(None, "journal_mode", "WAL")?;
            db.pragma_update(None, "synchronous", "FULL")?;
            db.pragma_update(None, "foreign_keys", true)
        };
        set_up(&db).map_err(&refuse)?;
        schema::migrate(&mut db).map_err(&refuse)?;
        Ok(Self {
            reader: Reader { db },
            _lock: lock,
        })
    }

    /// Drops the two tables of the RFC with all their rows. What is beside them stays, above all the epoch: when the
    /// ledger is opened again they are made anew, under the next one (RFC, "Rollback").
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn retire(&mut self) -> Result<(), LedgerError> {
        let drop = self.reader.db.transaction()?;
        drop.execute_batch("DROP TABLE IF EXISTS pr_state; DROP TABLE IF EXISTS pr_state_transitions;")?;
        Ok(drop.commit()?)
    }
}

impl Reader {
    /// Opens a ledger to read it; `None` where there is none. Works beside a writer in another process, and writes
    /// nothing: where no process has it open, no file is made beside it either.
    ///
    /// # Errors
    /// When a later program made it, when it is no ledger, or when it cannot be reached.
    pub fn open(path: &Path) -> Result<Option<Self>, OpenError> {
        match path.metadata() {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenError::io(path)(error)),
        }
        refuse_newer(path)?;
        let db = connect(path)?;
        let has_states = schema::has_states(&db).map_err(OpenError::sqlite(path))?;
        if !has_states {
            return Ok(None);
        }
        Ok(Some(Self { db }))
    }

    /// A ledger in memory with nothing in it, for whoever looks where there is none.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn empty() -> Result<Self, OpenError> {
        let refuse = OpenError::sqlite(Path::new(":memory:"));
        let mut db = Connection::open_in_memory().map_err(&refuse)?;
        schema::migrate(&mut db).map_err(&refuse)?;
        Ok(Self { db })
    }
}

/// A connection that only reads. Where nobody has the ledger open it has no `-wal` beside it, and SQLite need make
/// none: what is in the file is all there is.
fn connect(path: &Path) -> Result<Connection, OpenError> {
    let refuse = OpenError::sqlite(path);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let immutable = match beside(path, "wal").exists() {
        true => "",
        false => "?immutable=1",
    };
    let db =
        Connection::open_with_flags(format!("file:{}{immutable}", encoded(path)), flags).map_err(&refuse)?;
    db.busy_timeout(BUSY).map_err(&refuse)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}

/// Refuses what a later program made, and what is no ledger, without touching it.
fn refuse_newer(path: &Path) -> Result<(), OpenError> {
    if path.metadata().is_ok_and(|file| file.len() == 0) {
        return Ok(());
    }
    let refuse = OpenError::sqlite(path);
    let db = connect(path)?;
    let found = schema::version(&db).map_err(&refuse)?;
    let tables: i64 = db
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .map_err(&refuse)?;
    if found > schema::VERSION {
        return Err(OpenError::Newer {
            path: path.to_owned(),
            found,
            known: schema::VERSION,
        });
    }
    if found == 0 && tables > 0 {
        return Err(OpenError::Foreign {
            path: path.to_owned(),
            why: "it is the database of another program".to_owned(),
        });
    }
    Ok(())
}

/// The file that lies beside the ledger under its name and one more word.
fn beside(path: &Path, word: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(match word {
        "wal" => "-wal".to_owned(),
        word => format!(".{word}"),
    });
    PathBuf::from(name)
}

/// A path as it stands in an address.
fn encoded(path: &Path) -> String {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut text = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                text.push(char::from(*byte))
            }
            byte => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}
