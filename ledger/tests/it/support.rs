//! What the tests write, and the ledger as plain SQL sees it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use chrono::TimeDelta;
use ledger::{Batch, Card, Changes, Ledger, TurnOutcome, Visit, Wrote};
use lifecycle::maintain::{Before, Epoch, Evidence, Settings, StateRow, build, step};
use pulls::facts::{Checks, PullState, Time};
use pulls::{PrRef, RepoName};
use rusqlite::Connection;
use tempfile::TempDir;

/// A folder and the ledger in it.
pub(crate) struct Home {
    pub(crate) dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join(ledger::FILE)
    }

    pub(crate) fn open(&self) -> Ledger {
        Ledger::open(&self.file()).unwrap()
    }

    pub(crate) fn reader(&self) -> ledger::Reader {
        ledger::Reader::open(&self.file()).unwrap().unwrap()
    }

    /// What any other program sees.
    pub(crate) fn sql(&self) -> Connection {
        Connection::open(self.file()).unwrap()
    }
}

pub(crate) fn at(text: &str) -> Time {
    text.parse().unwrap()
}

pub(crate) fn pull(text: &str) -> PrRef {
    text.parse().unwrap()
}

pub(crate) fn repo(text: &str) -> RepoName {
    text.parse().unwrap()
}

/// What a first visit of this evidence writes.
pub(crate) fn first(evidence: &Evidence) -> Visit {
    after(None, None, evidence)
}

/// What a visit writes of a pull request that is known.
pub(crate) fn after(row: Option<&StateRow>, known: Option<&Evidence>, evidence: &Evidence) -> Visit {
    let before = Before { row, evidence: known };
    let labels = ["diffusion".to_owned(), "omni".to_owned()];
    let step = step(
        before,
        evidence,
        &labels,
        &[].into(),
        Epoch(1),
        &Settings::default(),
    );
    Visit {
        row: step.row.filter(|_| !step.is_unchanged),
        transitions: step.rows,
        evidence: step.is_new_evidence.then(|| evidence.clone()),
        assignment: evidence.assignment.clone(),
        card: Some(card(evidence)),
        closed: None,
        at: evidence.at.clone(),
    }
}

pub(crate) fn card(evidence: &Evidence) -> Card {
    Card {
        at: evidence.at.clone(),
        title: format!("Mend {}", evidence.at.number),
        url: format!(
            "https://github.com/{}/pull/{}",
            evidence.at.repo, evidence.at.number
        ),
        author: evidence.author.as_ref().map(|author| author.login.clone()),
        updated_at: evidence.now - TimeDelta::hours(1),
        read_at: evidence.now,
        is_open: evidence.state == PullState::Open,
        pending_since: evidence.is_pending().then_some(evidence.now),
    }
}

pub(crate) fn turn(key: &str) -> Option<TurnOutcome> {
    Some(TurnOutcome {
        key: key.to_owned(),
        outcome: format!("outcome of {key}"),
        at: pulls::build::now(),
    })
}

pub(crate) fn batch(visits: impl IntoIterator<Item = Visit>) -> Batch {
    Batch {
        visits: visits.into_iter().collect(),
        ..Batch::default()
    }
}

/// Records a batch that was not recorded before, and says what it changed.
pub(crate) fn record(ledger: &mut Ledger, batch: &Batch) -> Changes {
    let before = ledger.changes();
    assert_eq!(ledger.record(batch).unwrap(), Wrote::Written);
    let after = ledger.changes();
    Changes {
        states: after.states - before.states,
        transitions: after.transitions - before.transitions,
        evidence: after.evidence - before.evidence,
        others: after.others - before.others,
    }
}

/// Of a head that nothing looked at.
pub(crate) fn no_checks() -> Checks {
    Checks {
        contexts: None,
        suites: Vec::new(),
    }
}

/// So many ready pull requests of `o/r`.
pub(crate) fn many(count: u32) -> Vec<Evidence> {
    (1..=count)
        .map(|number| build::ready(&format!("o/r#{number}")).done())
        .collect()
}

/// The rows of tables as SQL that writes them.
pub(crate) fn dump(conn: &Connection, tables: &[&str]) -> String {
    let mut all = String::new();
    for table in tables {
        let columns: Vec<String> = texts(conn, &format!("SELECT name FROM pragma_table_info('{table}')"));
        let quoted: Vec<String> = columns.iter().map(|column| format!("quote({column})")).collect();
        let columns = columns.join(", ");
        let rows = format!(
            "SELECT {} FROM {table} ORDER BY {columns}",
            quoted.join(" || ', ' || ")
        );
        for row in texts(conn, &rows) {
            writeln!(all, "INSERT INTO {table} ({columns})\n  VALUES ({row});").unwrap();
        }
    }
    all
}

/// The rows of a statement that gives one text each.
pub(crate) fn texts(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// The two tables of states, row by row.
pub(crate) fn states(conn: &Connection) -> String {
    dump(conn, &["pr_state", "pr_state_transitions"])
}

/// Every file of a folder with its length and the time of its last change.
pub(crate) fn listing(dir: &Path) -> Vec<(String, u64, std::time::SystemTime)> {
    let mut all: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let found = entry.metadata().unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, found.len(), found.modified().unwrap())
        })
        .collect();
    all.sort();
    all
}
