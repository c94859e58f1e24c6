-- Version 1. All but the two tables of states, which are made by states.sql.
-- Repository names are compared without regard to case (NOCASE), as GitHub does.
-- Times are UTC with nine digits after the point, so that the order of their text is the order of time.

CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('pr_state_epoch', 0);

CREATE TABLE turns (
  key TEXT PRIMARY KEY,
  outcome TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX turns_at ON turns (at);

CREATE TABLE pr_evidence (
  id INTEGER PRIMARY KEY,
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  version INTEGER NOT NULL,
  evidence_json TEXT NOT NULL,
  recorded_at TEXT NOT NULL
) STRICT;
CREATE INDEX pr_evidence_pr ON pr_evidence (repo, pr_number, id);
CREATE INDEX pr_evidence_at ON pr_evidence (recorded_at);

CREATE TABLE pr_heads (
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  head_sha TEXT NOT NULL,
  first_seen_at TEXT NOT NULL,
  PRIMARY KEY (repo, pr_number, head_sha)
) STRICT, WITHOUT ROWID;

CREATE TABLE pr_assignments (
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  outcome TEXT NOT NULL,            -- user | team | no_owner
  owner TEXT,
  reason TEXT NOT NULL,
  digest TEXT NOT NULL,
  at TEXT,
  PRIMARY KEY (repo, pr_number)
) STRICT;

CREATE TABLE inferred_labels (
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  kind TEXT NOT NULL,               -- state | content
  label TEXT NOT NULL,
  since_at TEXT NOT NULL,
  PRIMARY KEY (repo, pr_number, kind, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE pr_cards (
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  title TEXT NOT NULL,
  url TEXT NOT NULL,
  author TEXT,
  updated_at TEXT NOT NULL,
  read_at TEXT NOT NULL,
  is_open INTEGER NOT NULL,
  pending_since TEXT,
  PRIMARY KEY (repo, pr_number)
) STRICT;
CREATE INDEX pr_cards_read ON pr_cards (repo, read_at) WHERE is_open;
CREATE INDEX pr_cards_pending ON pr_cards (repo, pending_since) WHERE is_open AND pending_since IS NOT NULL;

CREATE TABLE closed_pulls (
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  merged INTEGER NOT NULL,
  opened_at TEXT NOT NULL,
  closed_at TEXT NOT NULL,
  by_login TEXT,
  human_comments INTEGER NOT NULL,
  human_reviews INTEGER NOT NULL,
  PRIMARY KEY (repo, pr_number)
) STRICT;
CREATE INDEX closed_pulls_at ON closed_pulls (closed_at);

CREATE TABLE waiting_visits (
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  since TEXT NOT NULL,
  PRIMARY KEY (repo, pr_number)
) STRICT, WITHOUT ROWID;

CREATE TABLE repositories (
  repo TEXT PRIMARY KEY COLLATE NOCASE,
  facts_json TEXT NOT NULL,
  read_at TEXT NOT NULL,
  feed_cursor TEXT,
  full_pass_at TEXT
) STRICT;

CREATE TABLE former_names (
  former TEXT PRIMARY KEY COLLATE NOCASE,
  repo TEXT NOT NULL COLLATE NOCASE
) STRICT;

CREATE TABLE branches (
  repo TEXT NOT NULL COLLATE NOCASE, branch TEXT NOT NULL,
  facts_json TEXT NOT NULL,
  read_at TEXT NOT NULL,
  PRIMARY KEY (repo, branch)
) STRICT;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  detail_json TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX events_at ON events (at);

CREATE TABLE review_attempts (
  id INTEGER PRIMARY KEY,
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  head_sha TEXT NOT NULL,
  state TEXT NOT NULL,              -- queued | running | failed | completed
  quality TEXT,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX review_attempts_pr ON review_attempts (repo, pr_number, head_sha, id);

CREATE TABLE findings (
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  finding_id TEXT NOT NULL,
  severity TEXT NOT NULL,           -- blocker | major | minor | note
  head_sha TEXT NOT NULL,
  is_fixed INTEGER NOT NULL,
  is_disputed INTEGER NOT NULL,
  PRIMARY KEY (repo, pr_number, finding_id)
) STRICT;
