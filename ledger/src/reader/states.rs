//! Reading states, transitions and evidence.

use lifecycle::maintain::{Epoch, Evidence, StateRow, SubStatus, Transition, VERSION};
use pulls::facts::Time;
use pulls::{PrRef, RepoName};
use rusqlite::{Connection, Row, params};

use super::{Reader, all, one};
use crate::columns::{count, from_json, maybe, maybe_time, parsed, pull, text, time};
use crate::error::{Fault, LedgerError};
use crate::records::{Logged, Recorded};
use crate::schema::has_states;

/// Columns of a row, in the order in which [`state_row`] takes them.
macro_rules! select_states {
    ($rest:literal) => {
        concat!(
            "SELECT repo, pr_number, state, sub_status, head_sha, since_at, reason, pager_login, \
             last_human_activity_at, next_deadline_at, parked_at, state_label, content_labels_json, \
             open_findings, disputed_findings, ready_entry_seq, ready_paged_seq, updated_at FROM pr_state ",
            $rest
        )
    };
}

/// Columns of a transition, in the order in which [`transition`] and [`logged`] take them.
macro_rules! select_transitions {
    ($rest:literal) => {
        concat!(
            "SELECT repo, pr_number, from_state, to_state, head_sha, reason, created_at, id, evidence_json, actions_json \
             FROM pr_state_transitions ",
            $rest
        )
    };
}

/// Columns of evidence, in the order in which [`recorded`] takes them.
macro_rules! select_evidence {
    ($rest:literal) => {
        concat!(
            "SELECT repo, pr_number, version, evidence_json, recorded_at FROM pr_evidence ",
            $rest
        )
    };
}

impl Reader {
    /// The life of the two tables of states.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn epoch(&self) -> Result<Epoch, LedgerError> {
        let sql = "SELECT value FROM meta WHERE key = 'pr_state_epoch'";
        let found = self.one("reading the epoch", sql, [], |row| count(row, 0, "meta.value"))?;
        Ok(Epoch(found.unwrap_or_default()))
    }

    /// Every row of `pr_state`, of one repository or of all, by repository and number.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn rows(&self, repo: Option<&RepoName>) -> Result<Vec<StateRow>, LedgerError> {
        self.states("reading states", |conn| match repo {
            Some(repo) => {
                let sql = select_states!("WHERE repo = ?1 ORDER BY pr_number");
                all(conn, sql, [repo.as_str()], state_row)
            }
            None => all(conn, select_states!("ORDER BY repo, pr_number"), [], state_row),
        })
    }

    /// The row of one pull request.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn row(&self, at: &PrRef) -> Result<Option<StateRow>, LedgerError> {
        let key = params![at.repo.as_str(), at.number.get()];
        self.states("reading a state", |conn| {
            let sql = select_states!("WHERE repo = ?1 AND pr_number = ?2");
            Ok(one(conn, sql, key, state_row)?.into_iter().collect())
        })
        .map(|found: Vec<StateRow>| found.into_iter().next())
    }

    /// The pull requests of a repository whose deadline has passed at `now`, the longest overdue first, at most
    /// `limit` of them.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn due(&self, repo: &RepoName, now: Time, limit: usize) -> Result<Vec<PrRef>, LedgerError> {
        self.states("reading deadlines", |conn| {
            let sql = "SELECT repo, pr_number FROM pr_state \
                       WHERE repo = ?1 AND next_deadline_at <= ?2 AND state <> 'closed' \
                       ORDER BY next_deadline_at, pr_number LIMIT ?3";
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            all(conn, sql, params![repo.as_str(), text(now), limit], |row| {
                pull(row, 0)
            })
        })
    }

    /// The log of transitions of one pull request, the oldest first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn transitions(&self, at: &PrRef) -> Result<Vec<Logged>, LedgerError> {
        let key = params![at.repo.as_str(), at.number.get()];
        self.states("reading transitions", |conn| {
            let sql = select_transitions!("WHERE repo = ?1 AND pr_number = ?2 ORDER BY id");
            all(conn, sql, key, logged)
        })
    }

    /// The log of transitions of all pull requests from a moment on, the oldest first, without their evidence.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn transitions_since(&self, since: Time) -> Result<Vec<Transition>, LedgerError> {
        self.states("reading transitions", |conn| {
            let sql = select_transitions!("WHERE created_at >= ?1 ORDER BY id");
            all(conn, sql, [text(since)], transition)
        })
    }

    /// The newest evidence of a pull request.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn evidence(&self, at: &PrRef) -> Result<Option<Recorded>, LedgerError> {
        let key = params![at.repo.as_str(), at.number.get()];
        self.read("reading evidence", |conn| newest_evidence(conn, key))
    }

    /// The newest evidence of every pull request, or of those of which evidence was recorded since a moment, by
    /// repository and number.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn evidence_since(&self, since: Option<Time>) -> Result<Vec<Recorded>, LedgerError> {
        let sql = select_evidence!(
            "WHERE id IN (SELECT max(id) FROM pr_evidence GROUP BY repo, pr_number) AND recorded_at >= ?1 \
             ORDER BY repo, pr_number"
        );
        let since = since.map(text).unwrap_or_default();
        self.all("reading evidence", sql, [since], recorded)
    }

    /// Every different evidence of a pull request, the oldest first.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn evidence_of(&self, at: &PrRef) -> Result<Vec<Recorded>, LedgerError> {
        let key = params![at.repo.as_str(), at.number.get()];
        let sql = select_evidence!("WHERE repo = ?1 AND pr_number = ?2 ORDER BY id");
        self.all("reading the history of evidence", sql, key, recorded)
    }

    /// When a head was first seen.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn head_first_seen(&self, at: &PrRef, head: &pulls::Sha) -> Result<Option<Time>, LedgerError> {
        let sql = "SELECT first_seen_at FROM pr_heads WHERE repo = ?1 AND pr_number = ?2 AND head_sha = ?3";
        let key = params![at.repo.as_str(), at.number.get(), head.as_str()];
        self.one("reading when a head was first seen", sql, key, |row| {
            time(row, 0, "pr_heads.first_seen_at")
        })
    }

    /// Reads the tables of states; nothing while they are retired.
    fn states<T>(
        &self,
        doing: &'static str,
        read: impl Fn(&Connection) -> Result<Vec<T>, Fault>,
    ) -> Result<Vec<T>, LedgerError> {
        self.read(doing, |conn| match has_states(conn)? {
            true => read(conn),
            false => Ok(Vec::new()),
        })
    }
}

pub(crate) fn newest_evidence(
    conn: &Connection,
    key: &[&dyn rusqlite::ToSql],
) -> Result<Option<Recorded>, Fault> {
    let sql = select_evidence!("WHERE repo = ?1 AND pr_number = ?2 ORDER BY id DESC LIMIT 1");
    one(conn, sql, key, recorded)
}

fn recorded(row: &Row<'_>) -> Result<Recorded, Fault> {
    let version: u32 = count(row, 2, "pr_evidence.version")?;
    if version > VERSION {
        let why = format!("a later version of this program wrote it; this one knows {VERSION}");
        return Err(Fault::strange("pr_evidence.version", &version.to_string(), why));
    }
    let evidence: Evidence = from_json(row, 3, "pr_evidence.evidence_json")?;
    Ok(Recorded {
        // It may have been recorded under an earlier name of the repository.
        evidence: Evidence {
            at: pull(row, 0)?,
            ..evidence
        },
        recorded_at: time(row, 4, "pr_evidence.recorded_at")?,
    })
}

fn state_row(row: &Row<'_>) -> Result<StateRow, Fault> {
    let labels: Option<String> = row.get(12)?;
    Ok(StateRow {
        at: pull(row, 0)?,
        state: parsed(row, 2, "pr_state.state")?,
        sub_status: maybe::<SubStatus>(row, 3, "pr_state.sub_status")?,
        head_sha: parsed(row, 4, "pr_state.head_sha")?,
        since_at: time(row, 5, "pr_state.since_at")?,
        reason: row.get(6)?,
        pager_login: maybe(row, 7, "pr_state.pager_login")?,
        last_human_activity_at: maybe_time(row, 8, "pr_state.last_human_activity_at")?,
        next_deadline_at: maybe_time(row, 9, "pr_state.next_deadline_at")?,
        parked_at: maybe_time(row, 10, "pr_state.parked_at")?,
        state_label: row.get(11)?,
        content_labels: match labels {
            Some(_) => from_json(row, 12, "pr_state.content_labels_json")?,
            None => Vec::new(),
        },
        open_findings: count(row, 13, "pr_state.open_findings")?,
        disputed_findings: count(row, 14, "pr_state.disputed_findings")?,
        ready_entry_seq: count(row, 15, "pr_state.ready_entry_seq")?,
        ready_paged_seq: count(row, 16, "pr_state.ready_paged_seq")?,
        updated_at: time(row, 17, "pr_state.updated_at")?,
    })
}

fn transition(row: &Row<'_>) -> Result<Transition, Fault> {
    Ok(Transition {
        at: pull(row, 0)?,
        from_state: maybe(row, 2, "pr_state_transitions.from_state")?,
        to_state: parsed(row, 3, "pr_state_transitions.to_state")?,
        head_sha: parsed(row, 4, "pr_state_transitions.head_sha")?,
        reason: row.get(5)?,
        created_at: time(row, 6, "pr_state_transitions.created_at")?,
    })
}

fn logged(row: &Row<'_>) -> Result<Logged, Fault> {
    let transition = transition(row)?;
    // Of another form it may be; the row itself counts all the same.
    let evidence = from_json::<Evidence>(row, 8, "pr_state_transitions.evidence_json").ok();
    Ok(Logged {
        id: row.get(7)?,
        evidence: evidence.map(|evidence| Evidence {
            at: transition.at.clone(),
            ..evidence
        }),
        actions: from_json(row, 9, "pr_state_transitions.actions_json")?,
        transition,
    })
}
