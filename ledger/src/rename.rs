//! Carrying the rows of a repository over to its new name (field case B108).

use pulls::RepoName;
use rusqlite::{Transaction, params};

use crate::error::Fault;
use crate::schema::has_states;

/// Which of two rows with one key stays.
#[derive(Debug, Clone, Copy)]
enum Stays {
    Later,
    Earlier,
}

/// A table with a row for each key within a repository.
struct Keyed {
    table: &'static str,
    key: &'static [&'static str],
    at: &'static str,
    stays: Stays,
}

const fn later(table: &'static str, key: &'static [&'static str], at: &'static str) -> Keyed {
    Keyed {
        table,
        key,
        at,
        stays: Stays::Later,
    }
}

const fn earlier(table: &'static str, key: &'static [&'static str], at: &'static str) -> Keyed {
    Keyed {
        stays: Stays::Earlier,
        ..later(table, key, at)
    }
}

const STATES: Keyed = later("pr_state", &["pr_number"], "updated_at");

const KEYED: [Keyed; 8] = [
    later("pr_assignments", &["pr_number"], "at"),
    later("pr_cards", &["pr_number"], "read_at"),
    later("closed_pulls", &["pr_number"], "closed_at"),
    later("branches", &["branch"], "read_at"),
    later("repositories", &[], "read_at"),
    earlier("pr_heads", &["pr_number", "head_sha"], "first_seen_at"),
    earlier("waiting_visits", &["pr_number"], "since"),
    earlier("inferred_labels", &["pr_number", "kind", "label"], "since_at"),
];

/// Tables that hold any number of rows of one pull request.
const LOGS: [&str; 2] = ["pr_evidence", "review_attempts"];

pub(crate) fn carry(transaction: &Transaction<'_>, old: &RepoName, new: &RepoName) -> Result<(), Fault> {
    let has_states = has_states(transaction)?;
    if old != new {
        if has_states {
            join_states(transaction, old, new)?;
        }
        for keyed in &KEYED {
            keyed.carry(transaction, old, new)?;
        }
        // Whether a finding is fixed is known under the name that it was last seen under.
        transaction.execute(
            "INSERT OR IGNORE INTO findings SELECT ?2, pr_number, finding_id, severity, head_sha, is_fixed, \
             is_disputed FROM findings WHERE repo = ?1",
            params![old.as_str(), new.as_str()],
        )?;
        transaction.execute("DELETE FROM findings WHERE repo = ?1", [old.as_str()])?;
        remember(transaction, old, new)?;
    }
    let keyed = KEYED.iter().map(|keyed| keyed.table);
    let states = ["pr_state", "pr_state_transitions"]
        .into_iter()
        .filter(|_| has_states);
    for table in keyed.chain(LOGS).chain(["findings"]).chain(states) {
        // Also what has the new name already, in other letters.
        transaction.execute(
            &format!("UPDATE {table} SET repo = ?2 WHERE repo IN (?1, ?2) AND repo <> ?2 COLLATE BINARY"),
            params![old.as_str(), new.as_str()],
        )?;
    }
    Ok(())
}

impl Keyed {
    /// Gives every row of the old name the new one. Of two with one key one stays.
    fn carry(&self, transaction: &Transaction<'_>, old: &RepoName, new: &RepoName) -> Result<(), Fault> {
        let Self { table, at, .. } = self;
        let same: String = self
            .key
            .iter()
            .map(|column| format!(" AND other.{column} = {table}.{column}"))
            .collect();
        let beats = match self.stays {
            Stays::Later => format!("ifnull(other.{at}, '') >= ifnull({table}.{at}, '')"),
            Stays::Earlier => format!("other.{at} <= {table}.{at}"),
        };
        let names = params![old.as_str(), new.as_str()];
        transaction.execute(
            &format!(
                "DELETE FROM {table} WHERE repo = ?1 AND EXISTS \
                 (SELECT 1 FROM {table} AS other WHERE other.repo = ?2{same} AND {beats})"
            ),
            names,
        )?;
        transaction.execute(
            &format!(
                "DELETE FROM {table} WHERE repo = ?2 AND EXISTS \
                 (SELECT 1 FROM {table} AS other WHERE other.repo = ?1{same})"
            ),
            names,
        )?;
        transaction.execute(&format!("UPDATE {table} SET repo = ?2 WHERE repo = ?1"), names)?;
        Ok(())
    }
}

/// Where there are states under both names, labels follow the row that stays, and its counters are the higher ones:
/// a page that was sent is not sent again.
fn join_states(transaction: &Transaction<'_>, old: &RepoName, new: &RepoName) -> Result<(), Fault> {
    let names = params![old.as_str(), new.as_str()];
    transaction.execute(
        "DELETE FROM inferred_labels WHERE repo IN (?1, ?2) AND EXISTS \
         (SELECT 1 FROM pr_state AS mine, pr_state AS other \
          WHERE mine.repo = inferred_labels.repo AND mine.pr_number = inferred_labels.pr_number \
          AND other.repo IN (?1, ?2) AND other.repo <> mine.repo AND other.pr_number = mine.pr_number \
          AND (other.updated_at > mine.updated_at OR (other.updated_at = mine.updated_at AND mine.repo = ?1)))",
        names,
    )?;
    for column in ["ready_entry_seq", "ready_paged_seq"] {
        transaction.execute(
            &format!(
                "UPDATE pr_state SET {column} = (SELECT max(one.{column}) FROM pr_state AS one \
                 WHERE one.repo IN (?1, ?2) AND one.pr_number = pr_state.pr_number) WHERE repo IN (?1, ?2)"
            ),
            names,
        )?;
    }
    STATES.carry(transaction, old, new)
}

/// The old name stands for the new one from now on.
fn remember(transaction: &Transaction<'_>, old: &RepoName, new: &RepoName) -> Result<(), Fault> {
    let names = params![old.as_str(), new.as_str()];
    transaction.execute("UPDATE former_names SET repo = ?2 WHERE repo = ?1", names)?;
    transaction.execute(
        "INSERT OR REPLACE INTO former_names (former, repo) VALUES (?1, ?2)",
        names,
    )?;
    transaction.execute("DELETE FROM former_names WHERE former = ?1", [new.as_str()])?;
    Ok(())
}
