//! The tables, and how a ledger of an earlier version becomes one of this.

use rusqlite::Connection;

/// The newest version that this program knows.
pub(crate) const VERSION: i64 = 1;

/// The two tables of the RFC, under its names and columns. They are made, retired and made again; the epoch in `meta`
/// counts how often they were made, and outlives them.
pub(crate) const STATES: &str = "
CREATE TABLE pr_state (
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  state TEXT NOT NULL,
  sub_status TEXT,
  head_sha TEXT NOT NULL,
  since_at TEXT NOT NULL,
  reason TEXT NOT NULL,
  pager_login TEXT,
  last_human_activity_at TEXT,
  next_deadline_at TEXT,
  parked_at TEXT,
  state_label TEXT,
  content_labels_json TEXT,
  open_findings INTEGER NOT NULL DEFAULT 0,
  disputed_findings INTEGER NOT NULL DEFAULT 0,
  ready_entry_seq INTEGER NOT NULL DEFAULT 0,
  ready_paged_seq INTEGER NOT NULL DEFAULT 0,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (repo, pr_number)
);
CREATE INDEX pr_state_deadlines ON pr_state (repo, next_deadline_at) WHERE next_deadline_at IS NOT NULL;
CREATE TABLE pr_state_transitions (
  id INTEGER PRIMARY KEY,
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  from_state TEXT,
  to_state TEXT NOT NULL,
  head_sha TEXT NOT NULL,
  reason TEXT NOT NULL,
  evidence_json TEXT NOT NULL,
  actions_json TEXT NOT NULL,
  created_at TEXT NOT NULL
);
CREATE INDEX pr_state_transitions_pr ON pr_state_transitions (repo, pr_number, id);
CREATE INDEX pr_state_transitions_at ON pr_state_transitions (created_at);
";

/// Raises the epoch: done whenever the two tables are made.
pub(crate) const NEXT_EPOCH: &str = "
INSERT INTO meta (key, value) VALUES ('pr_state_epoch', 1)
ON CONFLICT (key) DO UPDATE SET value = value + 1;
";

/// What is there beside the two tables.
const BESIDE: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE turns (key TEXT PRIMARY KEY, outcome TEXT NOT NULL, at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pr_evidence (
  id INTEGER PRIMARY KEY,
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  version INTEGER NOT NULL,
  evidence_json TEXT NOT NULL,
  recorded_at TEXT NOT NULL
);
CREATE INDEX pr_evidence_pr ON pr_evidence (repo, pr_number, id);
CREATE INDEX pr_evidence_at ON pr_evidence (recorded_at);
CREATE TABLE pr_cards (
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  title TEXT NOT NULL,
  url TEXT NOT NULL,
  author TEXT,
  updated_at TEXT NOT NULL,
  read_at TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  pending_since TEXT,
  PRIMARY KEY (repo, pr_number)
) WITHOUT ROWID;
CREATE INDEX pr_cards_read ON pr_cards (repo, read_at) WHERE is_open;
CREATE INDEX pr_cards_pending ON pr_cards (repo, pr_number) WHERE pending_since IS NOT NULL;
CREATE TABLE pr_assignments (
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  assignment_json TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (repo, pr_number)
) WITHOUT ROWID;
CREATE TABLE inferred_labels (
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  label TEXT NOT NULL,
  at TEXT NOT NULL,
  PRIMARY KEY (repo, pr_number, label)
) WITHOUT ROWID;
CREATE TABLE closed_pulls (
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  merged INTEGER NOT NULL,
  closed_at TEXT NOT NULL,
  by_login TEXT,
  human_comments INTEGER NOT NULL,
  human_reviews INTEGER NOT NULL,
  opened_at TEXT NOT NULL,
  PRIMARY KEY (repo, pr_number)
) WITHOUT ROWID;
CREATE INDEX closed_pulls_at ON closed_pulls (closed_at);
CREATE TABLE review_attempts (
  id INTEGER PRIMARY KEY,
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  head_sha TEXT NOT NULL,
  state TEXT NOT NULL,
  at TEXT NOT NULL,
  quality TEXT
);
CREATE INDEX review_attempts_pr ON review_attempts (repo, pr_number, id);
CREATE TABLE findings (
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  finding_id TEXT NOT NULL,
  severity TEXT NOT NULL,
  head_sha TEXT NOT NULL,
  is_fixed INTEGER NOT NULL,
  is_disputed INTEGER NOT NULL,
  PRIMARY KEY (repo, pr_number, finding_id)
) WITHOUT ROWID;
CREATE TABLE repositories (
  repo TEXT PRIMARY KEY COLLATE NOCASE,
  facts_json TEXT NOT NULL,
  read_at TEXT NOT NULL,
  feed_cursor TEXT,
  full_pass_at TEXT
) WITHOUT ROWID;
CREATE TABLE former_names (
  former TEXT PRIMARY KEY COLLATE NOCASE,
  repo TEXT NOT NULL COLLATE NOCASE
) WITHOUT ROWID;
CREATE TABLE branches (
  repo TEXT NOT NULL COLLATE NOCASE,
  branch TEXT NOT NULL,
  facts_json TEXT NOT NULL,
  read_at TEXT NOT NULL,
  PRIMARY KEY (repo, branch)
) WITHOUT ROWID;
CREATE TABLE waiting_visits (
  repo TEXT NOT NULL COLLATE NOCASE,
  pr_number INTEGER NOT NULL,
  since TEXT NOT NULL,
  PRIMARY KEY (repo, pr_number)
) WITHOUT ROWID;
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  detail_json TEXT NOT NULL,
  at TEXT NOT NULL
);
CREATE INDEX events_at ON events (at);
";

/// The tables that hold rows of one pull request each, which follow a repository to its new name.
pub(crate) const OF_A_PULL: [&str; 10] = [
    "pr_state",
    "pr_state_transitions",
    "pr_evidence",
    "pr_cards",
    "pr_assignments",
    "inferred_labels",
    "closed_pulls",
    "review_attempts",
    "findings",
    "waiting_visits",
];

/// One step from a version to the next, forward only.
struct Migration {
    to: i64,
    sql: &'static [&'static str],
}

const MIGRATIONS: [Migration; 1] = [Migration {
    to: 1,
    sql: &[BESIDE, STATES, NEXT_EPOCH],
}];

/// The version of a database; 0 for an empty one.
pub(crate) fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether the two tables are there.
pub(crate) fn has_states(db: &Connection) -> rusqlite::Result<bool> {
    db.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'pr_state')",
        [],
        |row| row.get(0),
    )
}

/// Brings a database to [`VERSION`], each step in a transaction of its own, and makes the two tables where they were
/// retired.
pub(crate) fn migrate(db: &mut Connection) -> rusqlite::Result<()> {
    let from = version(db)?;
    for migration in MIGRATIONS.iter().filter(|migration| migration.to > from) {
        let step = db.transaction()?;
        for sql in migration.sql {
            step.execute_batch(sql)?;
        }
        step.pragma_update(None, "user_version", migration.to)?;
        step.commit()?;
    }
    if !has_states(db)? {
        let anew = db.transaction()?;
        anew.execute_batch(STATES)?;
        anew.execute_batch(NEXT_EPOCH)?;
        anew.commit()?;
    }
    Ok(())
}
