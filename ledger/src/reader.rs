//! Reading a ledger, beside its writer or alone.

mod books;
mod reviews;
mod states;

pub(crate) use states::newest_evidence;

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use crate::error::{Fault, LedgerError, OpenError};
use crate::file::{self, Link, TRIES};

/// A handle that reads a ledger and changes nothing, in any number of processes, whether or not one writes it.
///
/// What it gives is what was committed when it was asked. It touches no file: neither the ledger nor those that
/// SQLite keeps beside it while somebody writes.
pub struct Reader {
    path: PathBuf,
    link: RefCell<Link>,
    /// Whether the link is the writer's own, or to a ledger that nobody else sees.
    is_own: bool,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens the ledger in the file `path`. `None` where there is none yet.
    ///
    /// # Errors
    /// The file is something else, of another version, damaged, or cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>, OpenError> {
        let Some(link) = file::look(path)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            path: path.to_owned(),
            link: RefCell::new(link),
            is_own: false,
        }))
    }

    /// A ledger in memory with nothing in it, for whoever looks where there is none.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn empty() -> Result<Self, OpenError> {
        Ok(Self::of_writer(Path::new(":memory:"), file::empty()?))
    }

    pub(crate) fn of_writer(path: &Path, link: Link) -> Self {
        Self {
            path: path.to_owned(),
            link: RefCell::new(link),
            is_own: true,
        }
    }

    /// The ledger's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.link.get_mut().conn
    }

    /// Reads, and reads again where the file changed meanwhile in a way that SQLite was told not to look for.
    pub(crate) fn read<T>(
        &self,
        doing: &'static str,
        read: impl Fn(&Connection) -> Result<T, Fault>,
    ) -> Result<T, LedgerError> {
        let mut link = self.link.borrow_mut();
        if self.is_own {
            return read(&link.conn).map_err(|fault| fault.of(&self.path, doing));
        }
        let mut is_new = false;
        for _ in 0..TRIES {
            if !link.holds(&self.path) {
                *link = self.look_again()?;
                is_new = true;
            }
            let found = read(&link.conn);
            if !link.holds(&self.path) {
                continue;
            }
            match found {
                Ok(found) => return Ok(found),
                // The files that were there when it was opened may be others by now.
                Err(_) if !is_new && !link.is_frozen() => {
                    *link = self.look_again()?;
                    is_new = true;
                }
                Err(fault) => return Err(fault.of(&self.path, doing)),
            }
        }
        Err(LedgerError::Restless {
            path: self.path.clone(),
        })
    }

    fn look_again(&self) -> Result<Link, LedgerError> {
        let gone = |why: String| LedgerError::Gone {
            path: self.path.clone(),
            why,
        };
        match file::look(&self.path) {
            Ok(Some(link)) => Ok(link),
            Ok(None) => Err(gone("it is not there any more".to_owned())),
            Err(OpenError::Ledger(error)) => Err(error),
            Err(error) => Err(gone(error.to_string())),
        }
    }

    /// Every row of a statement.
    pub(crate) fn all<T>(
        &self,
        doing: &'static str,
        sql: &str,
        params: impl Params + Clone,
        each: impl Fn(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, LedgerError> {
        self.read(doing, |conn| all(conn, sql, params.clone(), &each))
    }

    /// The only row of a statement, if there is one.
    pub(crate) fn one<T>(
        &self,
        doing: &'static str,
        sql: &str,
        params: impl Params + Clone,
        each: impl Fn(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, LedgerError> {
        self.read(doing, |conn| one(conn, sql, params.clone(), &each))
    }
}

pub(crate) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    each: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(each(row)?);
    }
    Ok(found)
}

pub(crate) fn one<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    each: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let mut statement = conn.prepare_cached(sql)?;
    let found = statement.query_row(params, |row| Ok(each(row))).optional()?;
    found.transpose()
}
