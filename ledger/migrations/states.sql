-- The two tables of states in today's form (RFC, "Storage"). They are made when they are not there, at first and
-- after they were retired, and each time the epoch is raised.

CREATE TABLE pr_state (
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
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
  repo TEXT NOT NULL COLLATE NOCASE, pr_number INTEGER NOT NULL,
  from_state TEXT, to_state TEXT NOT NULL,
  head_sha TEXT NOT NULL,
  reason TEXT NOT NULL,
  evidence_json TEXT NOT NULL,
  actions_json TEXT NOT NULL,
  created_at TEXT NOT NULL
);
CREATE INDEX pr_state_transitions_pr ON pr_state_transitions (repo, pr_number, id);
CREATE INDEX pr_state_transitions_at ON pr_state_transitions (created_at);

UPDATE meta SET value = value + 1 WHERE key = 'pr_state_epoch';
