//! The peers. Each keeps messages in order under unique ids, and syncs every group to the disk:
//!
//! - SQLite syncs its log once a transaction with `synchronous=FULL`, by `fsync` in its bundled build;
//! - redb syncs once a transaction with its default, immediate durability;
//! - fjall writes its journal and syncs it where a batch asks for `SyncData`, by `fdatasync`.
//!
//! `run --syncs` counts the calls.

use std::path::Path;

use fjall::{KeyspaceCreateOptions, PersistMode};
use redb::{ReadableDatabase as _, ReadableTable as _, TableDefinition};
use rig::Item;
use rig::group::Engine;
use rig::plain::PlainFile;
use rusqlite::Connection;

/// Reads back what was committed.
pub trait Replay {
    /// Shows every line in order.
    fn replay(&mut self, each: &mut dyn FnMut(&str));
}

impl Replay for PlainFile {
    fn replay(&mut self, each: &mut dyn FnMut(&str)) {
        PlainFile::replay(self, each);
    }
}

/// Opens a database in WAL mode whose every transaction is synced.
pub fn synced_sqlite(dir: &Path) -> Connection {
    let connection = Connection::open(dir.join("peer.sqlite")).expect("it opens");
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .expect("a pragma is taken");
    connection
        .pragma_update(None, "synchronous", "FULL")
        .expect("a pragma is taken");
    connection
}

pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    pub fn open(dir: &Path) -> Self {
        let connection = synced_sqlite(dir);
        let table = "CREATE TABLE IF NOT EXISTS message
            (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, line TEXT NOT NULL)";
        connection.execute(table, []).expect("a table is made");
        Self { connection }
    }
}

impl Sqlite {
    /// The number of the last message.
    pub fn last(&self) -> u64 {
        let last = self
            .connection
            .query_one("SELECT coalesce(max(seq), 0) FROM message", [], |row| row.get(0));
        last.expect("the disk reads")
    }
}

impl Engine for Sqlite {
    fn commit(&mut self, group: &[Item]) {
        let transaction = self.connection.transaction().expect("one at a time");
        {
            let insert = "INSERT OR IGNORE INTO message (id, line) VALUES (?1, ?2)";
            let mut insert = transaction.prepare_cached(insert).expect("it is SQL");
            for item in group {
                insert.execute((&item.id, &item.line)).expect("the disk takes it");
            }
        }
        transaction.commit().expect("the disk syncs it");
    }
}

impl Replay for Sqlite {
    fn replay(&mut self, each: &mut dyn FnMut(&str)) {
        let mut select = self
            .connection
            .prepare_cached("SELECT line FROM message ORDER BY seq")
            .expect("it is SQL");
        let mut rows = select.query([]).expect("the disk reads");
        while let Some(row) = rows.next().expect("the disk reads") {
            each(
                row.get_ref(0)
                    .and_then(|line| Ok(line.as_str()?))
                    .expect("lines are text"),
            );
        }
    }
}

const LINES: TableDefinition<u64, &str> = TableDefinition::new("lines");
const IDS: TableDefinition<&str, u64> = TableDefinition::new("ids");

pub struct Redb {
    database: redb::Database,
    next: u64,
}

impl Redb {
    pub fn open(dir: &Path) -> Self {
        let database = redb::Database::create(dir.join("peer.redb")).expect("it opens");
        Self { database, next: 0 }
    }
}

impl Engine for Redb {
    fn commit(&mut self, group: &[Item]) {
        let transaction = self.database.begin_write().expect("one at a time");
        {
            let mut lines = transaction.open_table(LINES).expect("the table is of this type");
            let mut ids = transaction.open_table(IDS).expect("the table is of this type");
            for item in group {
                if ids.get(item.id.as_str()).expect("the disk reads").is_none() {
                    ids.insert(item.id.as_str(), self.next)
                        .expect("the disk takes it");
                    lines
                        .insert(self.next, item.line.as_str())
                        .expect("the disk takes it");
                    self.next += 1;
                }
            }
        }
        transaction.commit().expect("the disk syncs it");
    }
}

impl Replay for Redb {
    fn replay(&mut self, each: &mut dyn FnMut(&str)) {
        let transaction = self.database.begin_read().expect("the disk reads");
        let lines = transaction.open_table(LINES).expect("it was made");
        for entry in lines.iter().expect("the disk reads") {
            each(entry.expect("the disk reads").1.value());
        }
    }
}

pub struct Fjall {
    database: fjall::Database,
    lines: fjall::Keyspace,
    ids: fjall::Keyspace,
    next: u64,
}

impl Fjall {
    pub fn open(dir: &Path) -> Self {
        let database = fjall::Database::builder(dir.join("peer.fjall"))
            .open()
            .expect("it opens");
        let keyspace = |name| {
            database
                .keyspace(name, KeyspaceCreateOptions::default)
                .expect("it opens")
        };
        let (lines, ids) = (keyspace("lines"), keyspace("ids"));
        Self {
            database,
            lines,
            ids,
            next: 0,
        }
    }
}

impl Engine for Fjall {
    fn commit(&mut self, group: &[Item]) {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for item in group {
            // One group holds no id twice here; a program of one's own would have to look.
            if !self.ids.contains_key(&item.id).expect("the disk reads") {
                batch.insert(&self.ids, item.id.as_str(), self.next.to_be_bytes());
                batch.insert(&self.lines, self.next.to_be_bytes(), item.line.as_str());
                self.next += 1;
            }
        }
        batch.commit().expect("the disk syncs it");
    }
}

impl Replay for Fjall {
    fn replay(&mut self, each: &mut dyn FnMut(&str)) {
        for entry in self.lines.iter() {
            let line = entry.value().expect("the disk reads");
            each(std::str::from_utf8(&line).expect("lines are text"));
        }
    }
}
