//! The tables and how they became what they are.

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};

/// Marks a SQLite database as one of ours: `swep` in letters.
pub(crate) const APPLICATION: u32 = 0x7377_6570;

/// From version 0 on, each to the next. One that is released is never changed. One that changes `pr_state` or
/// `pr_state_transitions` looks first whether they are there: they may be retired.
const MIGRATIONS: [&str; 1] = [include_str!("../migrations/0001.sql")];

/// Makes the two tables of states and raises the epoch.
const STATES: &str = include_str!("../migrations/states.sql");

/// Drops them. The epoch stays.
const RETIRE: &str = "DROP TABLE pr_state_transitions; DROP TABLE pr_state;";

/// The version that this program writes.
pub(crate) const VERSION: u32 = MIGRATIONS.len() as u32;

/// The version that a ledger has.
pub(crate) fn version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Brings a ledger to today's version, each step in a transaction of its own, and makes the tables of states where
/// they are not there.
pub(crate) fn bring_up(conn: &mut Connection) -> rusqlite::Result<()> {
    migrate(conn, &MIGRATIONS)?;
    let transaction = begin(conn)?;
    if !has_states(&transaction)? {
        transaction.execute_batch(STATES)?;
    }
    transaction.commit()
}

/// A transaction that waits for its turn at the beginning, not in the middle.
pub(crate) fn begin(conn: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    conn.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn migrate(conn: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let mut found = version(conn)?;
    for sql in migrations.iter().skip(found as usize) {
        found += 1;
        let transaction = begin(conn)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", found)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Whether the two tables of states are there.
pub(crate) fn has_states(conn: &Connection) -> rusqlite::Result<bool> {
    let mut look = conn.prepare_cached("SELECT 1 FROM sqlite_schema WHERE name = 'pr_state'")?;
    Ok(look.query_row([], |_| Ok(())).optional()?.is_some())
}

/// Drops the two tables of states.
pub(crate) fn retire(conn: &mut Connection) -> rusqlite::Result<()> {
    let transaction = begin(conn)?;
    if has_states(&transaction)? {
        transaction.execute_batch(RETIRE)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEXT: &str = "ALTER TABLE turns ADD COLUMN actor TEXT; UPDATE turns SET actor = 'reconciler';";

    fn tables(conn: &Connection) -> Vec<String> {
        let mut all = conn
            .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            .unwrap();
        let rows = all.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    fn ledger() -> Connection {
        let mut conn = Connection::open_in_memory().unwrap();
        bring_up(&mut conn).unwrap();
        conn.execute("INSERT INTO turns VALUES ('a/1', 'done', '2026')", [])
            .unwrap();
        conn
    }

    #[test]
    fn a_migration_is_applied_once() {
        let mut conn = ledger();
        assert_eq!(version(&conn).unwrap(), VERSION);
        let migrations = [MIGRATIONS[0], NEXT];
        migrate(&mut conn, &migrations).unwrap();
        migrate(&mut conn, &migrations).unwrap();
        assert_eq!(version(&conn).unwrap(), 2);
        let actor: String = conn
            .query_row("SELECT actor FROM turns", [], |row| row.get(0))
            .unwrap();
        assert_eq!(actor, "reconciler");
    }

    #[test]
    fn a_migration_that_fails_leaves_nothing_of_itself() {
        let mut conn = ledger();
        let before = tables(&conn);
        let failing = [MIGRATIONS[0], &format!("{NEXT} SELECT nothing FROM nowhere;")];
        assert!(migrate(&mut conn, &failing).is_err());
        assert_eq!((version(&conn).unwrap(), tables(&conn)), (1, before));
        // The mended one goes on from there.
        migrate(&mut conn, &[MIGRATIONS[0], NEXT]).unwrap();
        assert_eq!(version(&conn).unwrap(), 2);
    }
}
