//! What is written to a ledger, by its one writer.

use lifecycle::maintain::{Evidence, StateRow, Transition};
use pulls::facts::Time;
use pulls::{PrRef, RepoName};
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::records::{Batch, Card, ClosedPull, Finding, RepositoryBook, ReviewAttempt, Visit};
use crate::rows::{json, stamp};
use crate::schema::OF_A_PULL;

/// What came of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrote {
    /// All of it is on the disk.
    Written,
    /// Its turn had been written before: nothing was.
    Known,
}

impl Ledger {
    /// Writes a batch, whole or not at all. It is on the disk when this returns.
    ///
    /// # Errors
    /// When the ledger does not take it; then nothing of it is written.
    pub fn record(&mut self, batch: &Batch) -> Result<Wrote, LedgerError> {
        let write = self.reader.db.transaction()?;
        if let Some(turn) = &batch.turn {
            let sql = "INSERT INTO turns (key, outcome, at) VALUES (?1, ?2, ?3) ON CONFLICT (key) DO NOTHING";
            let is_new =
                write
                    .prepare_cached(sql)?
                    .execute(params![turn.key, turn.outcome, stamp(turn.at)])?;
            if is_new == 0 {
                return Ok(Wrote::Known);
            }
        }
        for visit in &batch.visits {
            put_visit(&write, visit)?;
        }
        for book in &batch.repositories {
            put_repository(&write, book)?;
        }
        for (repo, facts, read_at) in &batch.branches {
            let sql = "INSERT INTO branches (repo, branch, facts_json, read_at) VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT (repo, branch) DO UPDATE SET facts_json = excluded.facts_json, \
                       read_at = excluded.read_at";
            write.prepare_cached(sql)?.execute(params![
                repo.as_str(),
                facts.branch,
                json(facts),
                stamp(*read_at)
            ])?;
        }
        if let Some(waiting) = &batch.waiting {
            put_waiting(&write, waiting)?;
        }
        for event in &batch.events {
            write
                .prepare_cached("INSERT INTO events (kind, detail_json, at) VALUES (?1, ?2, ?3)")?
                .execute(params![event.kind, json(&event.detail), stamp(event.at)])?;
        }
        write.commit()?;
        Ok(Wrote::Written)
    }

    /// Carries every row of a repository over to its new name. Where a pull request has rows under both, those under the
    /// new name stay, and the log of both is one (field case B108).
    ///
    /// # Errors
    /// When the ledger does not take it; then nothing is renamed.
    pub fn rename(&mut self, old: &RepoName, new: &RepoName) -> Result<(), LedgerError> {
        let write = self.reader.db.transaction()?;
        // Under a name that differs in case alone the rows are found either way; the spelling follows GitHub's.
        for table in OF_A_PULL {
            let mut update = write.prepare_cached(&format!(
                "UPDATE OR IGNORE {table} SET repo = ?2 WHERE repo = ?1 AND repo <> ?2 COLLATE BINARY"
            ))?;
            update.execute(params![old.as_str(), new.as_str()])?;
            if old != new {
                write
                    .prepare_cached(&format!("DELETE FROM {table} WHERE repo = ?1"))?
                    .execute(params![old.as_str()])?;
            }
        }
        if old != new {
            let facts = "UPDATE OR IGNORE repositories SET repo = ?2 WHERE repo = ?1";
            write.execute(facts, params![old.as_str(), new.as_str()])?;
            write.execute("DELETE FROM repositories WHERE repo = ?1", params![old.as_str()])?;
            write.execute(
                "UPDATE OR IGNORE branches SET repo = ?2 WHERE repo = ?1",
                params![old.as_str(), new.as_str()],
            )?;
            write.execute("DELETE FROM branches WHERE repo = ?1", params![old.as_str()])?;
            write.execute(
                "UPDATE former_names SET repo = ?2 WHERE repo = ?1",
                params![old.as_str(), new.as_str()],
            )?;
            write.execute(
                "DELETE FROM former_names WHERE former = ?1",
                params![new.as_str()],
            )?;
            write.execute(
                "INSERT OR REPLACE INTO former_names (former, repo) VALUES (?1, ?2)",
                params![old.as_str(), new.as_str()],
            )?;
        }
        Ok(write.commit()?)
    }

    /// Forgets what is older than a moment: evidence but the newest of each pull request, rows of the log of those that
    /// ended, turns and events.
    ///
    /// # Errors
    /// When the ledger does not take it; then nothing is forgotten.
    pub fn prune(&mut self, before: Time) -> Result<(), LedgerError> {
        let write = self.reader.db.transaction()?;
        for sql in [
            "DELETE FROM pr_evidence WHERE recorded_at < ?1 AND id NOT IN \
             (SELECT max(id) FROM pr_evidence GROUP BY repo, pr_number)",
            "DELETE FROM turns WHERE at < ?1",
            "DELETE FROM events WHERE at < ?1",
        ] {
            write.execute(sql, params![stamp(before)])?;
        }
        Ok(write.commit()?)
    }

    /// Adds an attempt at a review.
    ///
    /// # Errors
    /// When the ledger does not take it.
    pub fn put_review(&mut self, attempt: &ReviewAttempt) -> Result<(), LedgerError> {
        let sql = "INSERT INTO review_attempts (repo, pr_number, head_sha, state, at, quality) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.reader.db.prepare_cached(sql)?.execute(params![
            attempt.at.repo.as_str(),
            attempt.at.number.get(),
            attempt.head.as_str(),
            attempt.state.as_str(),
            stamp(attempt.time),
            attempt.quality
        ])?;
        Ok(())
    }

    /// Adds a finding, or changes the one of its id.
    ///
    /// # Errors
    /// When the ledger does not take it.
    pub fn put_finding(&mut self, finding: &Finding) -> Result<(), LedgerError> {
        let sql = "INSERT INTO findings (repo, pr_number, finding_id, severity, head_sha, is_fixed, is_disputed) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (repo, pr_number, finding_id) DO UPDATE SET \
                   severity = excluded.severity, head_sha = excluded.head_sha, is_fixed = excluded.is_fixed, \
                   is_disputed = excluded.is_disputed";
        self.reader.db.prepare_cached(sql)?.execute(params![
            finding.at.repo.as_str(),
            finding.at.number.get(),
            finding.finding_id,
            finding.severity,
            finding.head.as_str(),
            finding.is_fixed,
            finding.is_disputed
        ])?;
        Ok(())
    }

    /// Says what was done on GitHub about a row of the log.
    ///
    /// # Errors
    /// When the ledger does not take it.
    pub fn set_actions(&mut self, id: i64, actions: &Value) -> Result<(), LedgerError> {
        let sql = "UPDATE pr_state_transitions SET actions_json = ?2 WHERE id = ?1";
        self.reader
            .db
            .prepare_cached(sql)?
            .execute(params![id, json(actions)])?;
        Ok(())
    }
}

fn put_visit(write: &Connection, visit: &Visit) -> Result<(), LedgerError> {
    if let Some(row) = &visit.row {
        put_row(write, row)?;
    }
    let evidence = visit.evidence.as_ref();
    let text = evidence.map(json);
    for transition in &visit.transitions {
        put_transition(write, transition, text.as_deref())?;
    }
    if let (Some(evidence), Some(text)) = (evidence, &text) {
        put_evidence(write, evidence, text)?;
    }
    if let Some(assignment) = &visit.assignment {
        let at = visit.card.as_ref().map(|card| card.read_at);
        let sql = "INSERT INTO pr_assignments (repo, pr_number, assignment_json, at) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT (repo, pr_number) DO UPDATE SET assignment_json = excluded.assignment_json, \
                   at = excluded.at";
        write.prepare_cached(sql)?.execute(params![
            visit.at.repo.as_str(),
            visit.at.number.get(),
            json(assignment),
            stamp(at.or(evidence.map(|evidence| evidence.now)).unwrap_or_default())
        ])?;
    }
    if let Some(card) = &visit.card {
        put_card(write, card)?;
    }
    match &visit.closed {
        Some(closed) => put_closed(write, closed),
        None => Ok(()),
    }
}

fn put_row(write: &Connection, row: &StateRow) -> Result<(), LedgerError> {
    let sql = "INSERT INTO pr_state (repo, pr_number, state, sub_status, head_sha, since_at, reason, pager_login, \
        last_human_activity_at, next_deadline_at, parked_at, state_label, content_labels_json, open_findings, \
        disputed_findings, ready_entry_seq, ready_paged_seq, updated_at) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) \
        ON CONFLICT (repo, pr_number) DO UPDATE SET repo = excluded.repo, state = excluded.state, \
        sub_status = excluded.sub_status, head_sha = excluded.head_sha, since_at = excluded.since_at, \
        reason = excluded.reason, pager_login = excluded.pager_login, \
        last_human_activity_at = excluded.last_human_activity_at, next_deadline_at = excluded.next_deadline_at, \
        parked_at = excluded.parked_at, state_label = excluded.state_label, \
        content_labels_json = excluded.content_labels_json, open_findings = excluded.open_findings, \
        disputed_findings = excluded.disputed_findings, ready_entry_seq = excluded.ready_entry_seq, \
        ready_paged_seq = excluded.ready_paged_seq, updated_at = excluded.updated_at";
    write.prepare_cached(sql)?.execute(params![
        row.at.repo.as_str(),
        row.at.number.get(),
        row.state.as_str(),
        row.sub_status.map(|sub| sub.as_str()),
        row.head_sha.as_str(),
        stamp(row.since_at),
        row.reason,
        row.pager_login.as_ref().map(|login| login.as_str()),
        row.last_human_activity_at.map(stamp),
        row.next_deadline_at.map(stamp),
        row.parked_at.map(stamp),
        row.state_label,
        json(&row.content_labels),
        row.open_findings,
        row.disputed_findings,
        i64::try_from(row.ready_entry_seq).unwrap_or(i64::MAX),
        i64::try_from(row.ready_paged_seq).unwrap_or(i64::MAX),
        stamp(row.updated_at)
    ])?;
    put_labels(write, &row.at, &row.content_labels, row.updated_at)
}

fn put_labels(write: &Connection, at: &PrRef, labels: &[String], time: Time) -> Result<(), LedgerError> {
    let of = params![at.repo.as_str(), at.number.get(), json(&labels)];
    let gone = "DELETE FROM inferred_labels WHERE repo = ?1 AND pr_number = ?2 \
                AND label NOT IN (SELECT value FROM json_each(?3))";
    write.prepare_cached(gone)?.execute(of)?;
    for label in labels {
        let sql = "INSERT INTO inferred_labels (repo, pr_number, label, at) VALUES (?1, ?2, ?3, ?4) \
                   ON CONFLICT (repo, pr_number, label) DO NOTHING";
        write
            .prepare_cached(sql)?
            .execute(params![at.repo.as_str(), at.number.get(), label, stamp(time)])?;
    }
    Ok(())
}

fn put_transition(
    write: &Connection,
    transition: &Transition,
    evidence: Option<&str>,
) -> Result<(), LedgerError> {
    // A row without new evidence was moved by the clock or by a setting: what was seen is what is on record.
    let sql = "INSERT INTO pr_state_transitions (repo, pr_number, from_state, to_state, head_sha, reason, \
        evidence_json, actions_json, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, coalesce(?7, (SELECT evidence_json \
        FROM pr_evidence WHERE repo = ?1 AND pr_number = ?2 ORDER BY id DESC LIMIT 1), '{}'), '[]', ?8)";
    write.prepare_cached(sql)?.execute(params![
        transition.at.repo.as_str(),
        transition.at.number.get(),
        transition.from_state.map(|state| state.as_str()),
        transition.to_state.as_str(),
        transition.head_sha.as_str(),
        transition.reason,
        evidence,
        stamp(transition.created_at)
    ])?;
    Ok(())
}

fn put_evidence(write: &Connection, evidence: &Evidence, text: &str) -> Result<(), LedgerError> {
    let sql = "INSERT INTO pr_evidence (repo, pr_number, version, evidence_json, recorded_at) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    write.prepare_cached(sql)?.execute(params![
        evidence.at.repo.as_str(),
        evidence.at.number.get(),
        evidence.version,
        text,
        stamp(evidence.now)
    ])?;
    Ok(())
}

fn put_card(write: &Connection, card: &Card) -> Result<(), LedgerError> {
    let sql = "INSERT INTO pr_cards (repo, pr_number, title, url, author, updated_at, read_at, is_open, pending_since) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (repo, pr_number) DO UPDATE SET \
        repo = excluded.repo, title = excluded.title, url = excluded.url, author = excluded.author, \
        updated_at = excluded.updated_at, read_at = excluded.read_at, is_open = excluded.is_open, \
        pending_since = excluded.pending_since";
    write.prepare_cached(sql)?.execute(params![
        card.at.repo.as_str(),
        card.at.number.get(),
        card.title,
        card.url,
        card.author.as_ref().map(|author| author.as_str()),
        stamp(card.updated_at),
        stamp(card.read_at),
        card.is_open,
        card.pending_since.map(stamp)
    ])?;
    Ok(())
}

fn put_closed(write: &Connection, closed: &ClosedPull) -> Result<(), LedgerError> {
    let sql = "INSERT INTO closed_pulls (repo, pr_number, merged, closed_at, by_login, human_comments, human_reviews, \
        opened_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (repo, pr_number) DO UPDATE SET \
        merged = excluded.merged, closed_at = excluded.closed_at, by_login = excluded.by_login, \
        human_comments = excluded.human_comments, human_reviews = excluded.human_reviews";
    write.prepare_cached(sql)?.execute(params![
        closed.at.repo.as_str(),
        closed.at.number.get(),
        closed.merged,
        stamp(closed.closed_at),
        closed.by.as_ref().map(|by| by.as_str()),
        i64::try_from(closed.human_comments).unwrap_or(i64::MAX),
        i64::try_from(closed.human_reviews).unwrap_or(i64::MAX),
        stamp(closed.opened_at)
    ])?;
    Ok(())
}

fn put_repository(write: &Connection, book: &RepositoryBook) -> Result<(), LedgerError> {
    let sql = "INSERT INTO repositories (repo, facts_json, read_at, feed_cursor, full_pass_at) \
        VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (repo) DO UPDATE SET repo = excluded.repo, \
        facts_json = excluded.facts_json, read_at = excluded.read_at, feed_cursor = excluded.feed_cursor, \
        full_pass_at = excluded.full_pass_at";
    write.prepare_cached(sql)?.execute(params![
        book.facts.repo.as_str(),
        json(&book.facts),
        stamp(book.read_at),
        book.feed_cursor.map(stamp),
        book.full_pass_at.map(stamp)
    ])?;
    Ok(())
}

fn put_waiting(write: &Connection, waiting: &[(PrRef, Time)]) -> Result<(), LedgerError> {
    write.prepare_cached("DELETE FROM waiting_visits")?.execute([])?;
    for (at, since) in waiting {
        let sql = "INSERT OR IGNORE INTO waiting_visits (repo, pr_number, since) VALUES (?1, ?2, ?3)";
        write
            .prepare_cached(sql)?
            .execute(params![at.repo.as_str(), at.number.get(), stamp(*since)])?;
    }
    Ok(())
}
