//! The file of a ledger: made whole or not at all, locked by its writer, read without a trace.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Fault, LedgerError, OpenError};
use crate::schema::{self, APPLICATION, VERSION};

/// How long one waits for another program's lock, such as that of a shell that looks into the tables.
const BUSY: Duration = Duration::from_secs(5);

/// Prepared statements that a connection keeps: more than there are.
const STATEMENTS: usize = 128;

/// A change of the file within this time of another may leave it the same time of change: what is read of it that
/// early is not known to be whole.
const SETTLED: Duration = Duration::from_millis(50);

/// How often a file that changes under the reader is looked at again.
pub(crate) const TRIES: usize = 20;

/// How long one waits for what is over in less.
const MOMENT: Duration = Duration::from_millis(5);

/// The connection of a handle.
pub(crate) struct Link {
    pub(crate) conn: Connection,
    kind: Kind,
}

/// What a connection goes by.
enum Kind {
    /// SQLite's own locks: it writes, or somebody else does.
    Locked,
    /// Nobody writes, and the file holds everything. SQLite takes it for one that never changes and looks for no other
    /// file, so whether it changed is for us to see.
    Frozen(Stamp),
    /// Nobody writes, and a writer that was killed left its log. It is read as it lies. The connection is not kept: a
    /// writer of this process could not write the index of the log beside it.
    LeftOver,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    file: u64,
    length: u64,
    changed: (i64, i64),
}

impl Link {
    fn locked(conn: Connection) -> Self {
        Self {
            conn,
            kind: Kind::Locked,
        }
    }

    /// Whether what is read through it now is what the ledger holds.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        match &self.kind {
            Kind::Frozen(stamp) => is_quiet(path) && Stamp::of(path).is_ok_and(|now| now == *stamp),
            Kind::Locked | Kind::LeftOver => true,
        }
    }

    /// Whether it is good for more than one look.
    pub(crate) fn lasts(&self) -> bool {
        !matches!(self.kind, Kind::LeftOver)
    }
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self {
            file: found.ino(),
            length: found.len(),
            changed: (found.mtime(), found.mtime_nsec()),
        })
    }
}

/// The file beside it with this ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// How long a log is that holds nothing yet.
const EMPTY_LOG: u64 = 32;

/// Whether the file alone holds everything. A writer writes to the log beside it before it changes anything in it, and
/// removes the log when it has moved everything over.
fn is_quiet(path: &Path) -> bool {
    if beside(path, "-journal").exists() {
        return false;
    }
    match fs::metadata(beside(path, "-wal")) {
        Ok(log) => log.len() <= EMPTY_LOG,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Whether there is anything. Only SQLite opens the file itself: one that this process opens and closes by other means
/// takes with it every lock that SQLite holds on it in this process.
fn is_there(path: &Path) -> Result<bool, OpenError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(foreign(path, "it is a folder")),
        Ok(found) => Ok(found.len() > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(cannot_open(path, source)),
    }
}

fn foreign(path: &Path, why: &'static str) -> OpenError {
    OpenError::Foreign {
        path: path.to_owned(),
        why,
    }
}

fn cannot_open(path: &Path, source: io::Error) -> OpenError {
    OpenError::Io {
        doing: "open",
        path: path.to_owned(),
        source,
    }
}

/// Why a connection could not be opened, in our words.
fn judge<T>(path: &Path, opened: Result<T, Fault>) -> Result<T, OpenError> {
    opened.map_err(|fault| match fault {
        Fault::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            foreign(path, "it is not a SQLite database")
        }
        Fault::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
            match File::open(path) {
                Err(source) => cannot_open(path, source),
                Ok(_) => Fault::Sql(error).of(path, "opening it").into(),
            }
        }
        fault => fault.of(path, "opening it").into(),
    })
}

/// Refuses what this program does not write.
fn refuse_others(path: &Path, marks: Marks) -> Result<(), OpenError> {
    if marks.application != APPLICATION {
        return Err(foreign(path, "it is a SQLite database of something else"));
    }
    refuse_newer(path, marks.version)
}

/// What a database says of itself.
#[derive(Debug, Clone, Copy)]
struct Marks {
    application: u32,
    version: u32,
}

impl Marks {
    fn of(conn: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            application: conn.query_row("PRAGMA application_id", [], |row| row.get(0))?,
            version: schema::version(conn)?,
        })
    }
}

fn refuse_newer(path: &Path, found: u32) -> Result<(), OpenError> {
    if found > VERSION {
        return Err(OpenError::Newer {
            path: path.to_owned(),
            found,
            known: VERSION,
        });
    }
    Ok(())
}

/// Opens a ledger to look into it. `None` where there is none.
pub(crate) fn look(path: &Path) -> Result<Option<Link>, OpenError> {
    let mut last = LedgerError::Restless {
        path: path.to_owned(),
    };
    for _ in 0..TRIES {
        if !is_there(path)? {
            return Ok(None);
        }
        let looked = match is_quiet(path) {
            true => frozen(path),
            false if !is_written(path) => left_over(path).or_else(|_| live(path)),
            false => live(path),
        };
        match judge(path, looked) {
            // What changed meanwhile may be another one now.
            Ok((link, _)) if !link.holds(path) => {}
            Ok((link, marks)) => {
                refuse_others(path, marks)?;
                if marks.version < VERSION {
                    return Err(OpenError::Older {
                        path: path.to_owned(),
                        found: marks.version,
                        known: VERSION,
                    });
                }
                return Ok(Some(link));
            }
            // One that is busy was waited for.
            Err(OpenError::Ledger(error)) if !matches!(error, LedgerError::Busy { .. }) => last = error,
            Err(refused) => return Err(refused),
        }
    }
    Err(last.into())
}

/// A ledger in memory with nothing in it.
pub(crate) fn empty() -> Result<Link, OpenError> {
    let make = || -> rusqlite::Result<Connection> {
        let mut conn = Connection::open_in_memory()?;
        settle(&conn)?;
        schema::bring_up(&mut conn)?;
        Ok(conn)
    };
    let failed = |error: rusqlite::Error| Fault::from(error).of(Path::new(":memory:"), "making it");
    let conn = make().map_err(failed)?;
    Ok(Link::locked(conn))
}

/// A ledger that nobody writes.
fn frozen(path: &Path) -> Result<(Link, Marks), Fault> {
    let found = fs::metadata(path).and_then(|found| found.modified());
    let age = found.map(|changed| SystemTime::now().duration_since(changed).unwrap_or_default());
    if let Some(left) = SETTLED.checked_sub(age.unwrap_or_default()) {
        std::thread::sleep(left);
    }
    // Where it is gone by now, opening it says so.
    let stamp = Stamp::of(path).ok();
    let conn = read_only(path, "?immutable=1")?;
    let marks = Marks::of(&conn)?;
    let kind = stamp.map_or(Kind::Locked, Kind::Frozen);
    Ok((Link { conn, kind }, marks))
}

/// A ledger that somebody writes.
fn live(path: &Path) -> Result<(Link, Marks), Fault> {
    let conn = read_only(path, "?mode=ro")?;
    let marks = Marks::of(&conn)?;
    Ok((Link::locked(conn), marks))
}

/// A ledger with the log that a killed writer left.
fn left_over(path: &Path) -> Result<(Link, Marks), Fault> {
    let conn = read_only(path, "?mode=ro&readonly_shm=1")?;
    let marks = Marks::of(&conn)?;
    let kind = Kind::LeftOver;
    Ok((Link { conn, kind }, marks))
}

/// Whether a writer lives. Where that cannot be known, one may.
fn is_written(path: &Path) -> bool {
    match File::open(path.with_extension("lock")) {
        Ok(lock) => {
            let is_free = lock.try_lock_shared().is_ok();
            drop(Lock(lock));
            !is_free
        }
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

fn read_only(path: &Path, how: &str) -> Result<Connection, Fault> {
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str(how);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(uri, flags)?;
    settle(&conn)?;
    Ok(conn)
}

fn settle(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.pragma_update(None, "trusted_schema", false)
}

/// The right to write a ledger. It ends with the process.
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // A child that was being started has it too until it runs its own program. What fails here ends with the file.
        let _ = self.0.unlock();
    }
}

/// Opens a ledger to write it, and makes it where there is none.
pub(crate) fn write(path: &Path) -> Result<(Link, Lock), OpenError> {
    // What is not ours is refused before anything is made beside it.
    match look(path) {
        Err(error @ (OpenError::Newer { .. } | OpenError::Foreign { .. } | OpenError::Io { .. })) => {
            return Err(error);
        }
        // What else is wrong is mended by a writer, or is said to it again.
        Ok(_) | Err(OpenError::Older { .. } | OpenError::Held { .. } | OpenError::Ledger(_)) => {}
    }
    let folder = folder(path);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| OpenError::Io {
        doing: "make the folder",
        path: folder.to_owned(),
        source,
    })?;
    let lock = lock(path)?;
    if !is_there(path)? {
        make(path)?;
    }
    let mut tries = 0..TRIES;
    let conn = loop {
        match open_to_write(path) {
            Ok(conn) => break conn,
            // A look at what a killed writer left is in the way, in this process, for a moment.
            Err(OpenError::Ledger(LedgerError::Io { .. })) if tries.next().is_some() => {
                std::thread::sleep(MOMENT);
            }
            Err(error) => return Err(error),
        }
    };
    keep_private(path)?;
    Ok((Link::locked(conn), lock))
}

fn open_to_write(path: &Path) -> Result<Connection, OpenError> {
    let failed = |doing| move |fault: rusqlite::Error| Fault::from(fault).of(path, doing);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags).map_err(failed("opening it"))?;
    settle(&conn).map_err(failed("opening it"))?;
    let marks = Marks::of(&conn).map_err(failed("opening it"))?;
    refuse_others(path, marks)?;
    keep_a_log(&conn).map_err(failed("opening it"))?;
    schema::bring_up(&mut conn).map_err(failed("bringing it up to date"))?;
    Ok(conn)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn lock(path: &Path) -> Result<Lock, OpenError> {
    let at = path.with_extension("lock");
    let failed = |doing| {
        let path = at.clone();
        move |source| OpenError::Io { doing, path, source }
    };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&at)
        .map_err(failed("open"))?;
    let mut tries = 0..TRIES;
    let locked = loop {
        match file.try_lock() {
            // Who reads has it for a moment, to see whether somebody writes.
            Err(TryLockError::WouldBlock) if tries.next().is_some() => std::thread::sleep(MOMENT),
            done => break done,
        }
    };
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // Whose it is only helps to find it.
            let _ = file.read_to_string(&mut pid);
            return Err(OpenError::Held {
                path: path.to_owned(),
                by: pid.trim().parse().ok(),
            });
        }
        Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
    }
    file.set_len(0)
        .and_then(|()| file.write_all(format!("{}\n", std::process::id()).as_bytes()))
        .map_err(failed("write"))?;
    Ok(Lock(file))
}

/// What every commit goes through: a log that is synced before the commit returns.
fn keep_a_log(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", "full")
}

/// Makes a ledger under another name and then gives it its own, so that nobody ever sees half of one.
fn make(path: &Path) -> Result<(), OpenError> {
    let new = beside(path, ".new");
    let failed = |doing| {
        move |source| OpenError::Io {
            doing,
            path: path.to_owned(),
            source,
        }
    };
    // What is left of an earlier try, and a log without the ledger that it belonged to.
    for left in ["", "-journal", "-wal", "-shm"].map(|ending| beside(&new, ending)) {
        remove(&left).map_err(failed("clear the way for"))?;
    }
    for left in ["-journal", "-wal", "-shm"].map(|ending| beside(path, ending)) {
        remove(&left).map_err(failed("clear the way for"))?;
    }
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .map_err(failed("make"))?;
    let fill = || -> rusqlite::Result<()> {
        let mut conn = Connection::open_with_flags(&new, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        settle(&conn)?;
        keep_a_log(&conn)?;
        schema::bring_up(&mut conn)?;
        conn.close().map_err(|(_, error)| error)
    };
    fill().map_err(|error| Fault::from(error).of(path, "making it"))?;
    fs::rename(&new, path)
        .and_then(|()| File::open(folder(path)))
        .and_then(|folder| folder.sync_all())
        .map_err(failed("make"))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Titles and words of private repositories are nobody else's.
fn keep_private(path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Io {
        doing: "keep private",
        path: path.to_owned(),
        source,
    };
    let mode = fs::metadata(path).map_err(failed)?.mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    }
    Ok(())
}
