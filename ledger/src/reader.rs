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
    /// None where it must be looked for anew.
    link: RefCell<Option<Link>>,
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
            link: RefCell::new(Some(link).filter(Link::lasts)),
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
            link: RefCell::new(Some(link)),
            is_own: true,
        }
    }

    /// The ledger's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The writer's own connection.
    pub(crate) fn connection(&mut self) -> &mut Connection {
        let link = self.link.get_mut().as_mut();
        &mut link.expect("a writer keeps its connection").conn
    }

    /// Reads, and reads again where the file changed meanwhile in a way that SQLite was told not to look for.
    pub(crate) fn read<T>(
        &self,
        doing: &'static str,
        read: impl Fn(&Connection) -> Result<T, Fault>,
    ) -> Result<T, LedgerError> {
        let mut kept = self.link.borrow_mut();
        for _ in 0..TRIES {
            let known = kept.take().filter(|link| self.is_own || link.holds(&self.path));
            let is_known = known.is_some();
            let link = match known {
                Some(link) => link,
                None => self.look_again()?,
            };
            let found = read(&link.conn);
            let is_whole = self.is_own || link.holds(&self.path);
            // The files that were there when it was opened may be others by now.
            let is_doubtful = found.is_err() && is_known && !self.is_own;
            *kept = Some(link).filter(|link| link.lasts() && is_whole && !is_doubtful);
            if is_whole && !is_doubtful {
                return found.map_err(|fault| fault.of(&self.path, doing));
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
