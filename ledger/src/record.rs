//! Writing a batch. A row that is there as it is to be is left alone.

use lifecycle::maintain::{Assignment, Evidence, Owner, StateRow, Transition, VERSION};
use pulls::facts::Time;
use pulls::upkeep::BranchFacts;
use pulls::{PrRef, RepoName};
use rusqlite::{OptionalExtension as _, Transaction, params};

use crate::columns::{json, number, text};
use crate::error::Fault;
use crate::reader::newest_evidence;
use crate::records::{Batch, Card, Changes, ClosedPull, Pruned, RepositoryBook, Visit};
use crate::schema::has_states;
use crate::writer::needs_states;

/// Writes a batch; `None` where its turn was written before.
pub(crate) fn batch(transaction: &Transaction<'_>, batch: &Batch) -> Result<Option<Changes>, Fault> {
    let mut wrote = Changes::default();
    if let Some(turn) = &batch.turn {
        let mut insert = transaction
            .prepare_cached("INSERT OR IGNORE INTO turns (key, outcome, at) VALUES (?1, ?2, ?3)")?;
        if insert.execute(params![turn.key, turn.outcome, text(turn.at)])? == 0 {
            return Ok(None);
        }
        wrote.others += 1;
    }
    if batch
        .visits
        .iter()
        .any(|visit| visit.row.is_some() || !visit.transitions.is_empty())
    {
        needs_states(transaction)?;
    }
    let at = batch.turn.as_ref().map(|turn| turn.at);
    for one in &batch.visits {
        wrote += visit(transaction, one, at)?;
    }
    for book in &batch.repositories {
        wrote.others += repository(transaction, book)?;
    }
    for (repo, facts, read_at) in &batch.branches {
        wrote.others += branch(transaction, repo, facts, *read_at)?;
    }
    if let Some(waiting) = &batch.waiting {
        wrote.others += queue(transaction, waiting)?;
    }
    for event in &batch.events {
        let mut insert =
            transaction.prepare_cached("INSERT INTO events (kind, detail_json, at) VALUES (?1, ?2, ?3)")?;
        wrote.others += insert.execute(params![event.kind, json(&event.detail), text(event.at)])? as u64;
    }
    Ok(Some(wrote))
}

fn visit(transaction: &Transaction<'_>, visit: &Visit, turn_at: Option<Time>) -> Result<Changes, Fault> {
    let mut wrote = Changes::default();
    if let Some(new) = &visit.evidence {
        wrote += evidence(transaction, &visit.at, new)?;
    }
    for transition in &visit.transitions {
        self::transition(transaction, &visit.at, transition, visit.evidence.as_ref())?;
        wrote.transitions += 1;
    }
    if let Some(row) = &visit.row {
        let changed = state(transaction, row)?;
        wrote.states += changed;
        if changed > 0 {
            wrote.others += labels(transaction, row)?;
        }
    }
    if let Some(assignment) = &visit.assignment {
        let seen = visit.evidence.as_ref().map(|evidence| evidence.now);
        let read = visit.card.as_ref().map(|card| card.read_at);
        let at = seen.or(read).or(turn_at);
        wrote.others += self::assignment(transaction, &visit.at, assignment, at)?;
    }
    if let Some(card) = &visit.card {
        wrote.others += self::card(transaction, card)?;
    }
    if let Some(closed) = &visit.closed {
        wrote.others += self::closed(transaction, closed)?;
    }
    Ok(wrote)
}

/// One row each time the evidence changed, whatever the time of the look.
fn evidence(transaction: &Transaction<'_>, at: &PrRef, new: &Evidence) -> Result<Changes, Fault> {
    let mut wrote = Changes::default();
    let mut known = transaction.prepare_cached(
        "SELECT evidence_json, recorded_at FROM pr_evidence WHERE repo = ?1 AND pr_number = ?2 \
         ORDER BY id DESC LIMIT 1",
    )?;
    let known: Option<(String, String)> = known
        .query_row(params![at.repo.as_str(), at.number.get()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    if let Some((known, recorded_at)) = known
        && let Ok(now) = recorded_at.parse()
        && json(&Evidence { now, ..new.clone() }) == known
    {
        return Ok(wrote);
    }
    let mut insert = transaction.prepare_cached(
        "INSERT INTO pr_evidence (repo, pr_number, version, evidence_json, recorded_at) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    insert.execute(params![
        at.repo.as_str(),
        at.number.get(),
        VERSION,
        json(new),
        text(new.now),
    ])?;
    wrote.evidence += 1;
    let mut head = transaction.prepare_cached(
        "INSERT OR IGNORE INTO pr_heads (repo, pr_number, head_sha, first_seen_at) VALUES (?1, ?2, ?3, ?4)",
    )?;
    wrote.others += head.execute(params![
        at.repo.as_str(),
        at.number.get(),
        new.head.sha.as_str(),
        text(new.head.first_seen_at),
    ])? as u64;
    Ok(wrote)
}

/// A transition with the evidence that the projection saw: what came with it, else what is recorded as of its
/// moment, for only the clock has moved since then.
fn transition(
    transaction: &Transaction<'_>,
    at: &PrRef,
    row: &Transition,
    evidence: Option<&Evidence>,
) -> Result<(), Fault> {
    let seen = match evidence {
        Some(evidence) => json(evidence),
        None => {
            let key = params![at.repo.as_str(), at.number.get()];
            let known = newest_evidence(transaction, key)?;
            let known = known.ok_or_else(|| Fault::NoEvidence(at.to_string()))?;
            json(&Evidence {
                now: row.created_at,
                ..known.evidence
            })
        }
    };
    let mut insert = transaction.prepare_cached(
        "INSERT INTO pr_state_transitions \
         (repo, pr_number, from_state, to_state, head_sha, reason, evidence_json, actions_json, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, '[]', ?8)",
    )?;
    insert.execute(params![
        at.repo.as_str(),
        at.number.get(),
        row.from_state.map(|state| state.as_str()),
        row.to_state.as_str(),
        row.head_sha.as_str(),
        row.reason,
        seen,
        text(row.created_at),
    ])?;
    Ok(())
}

fn state(transaction: &Transaction<'_>, row: &StateRow) -> Result<u64, Fault> {
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO pr_state (repo, pr_number, state, sub_status, head_sha, since_at, reason, pager_login, \
         last_human_activity_at, next_deadline_at, parked_at, state_label, content_labels_json, open_findings, \
         disputed_findings, ready_entry_seq, ready_paged_seq, updated_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) \
         ON CONFLICT (repo, pr_number) DO UPDATE SET \
         state = excluded.state, sub_status = excluded.sub_status, head_sha = excluded.head_sha, \
         since_at = excluded.since_at, reason = excluded.reason, pager_login = excluded.pager_login, \
         last_human_activity_at = excluded.last_human_activity_at, \
         next_deadline_at = excluded.next_deadline_at, parked_at = excluded.parked_at, \
         state_label = excluded.state_label, content_labels_json = excluded.content_labels_json, \
         open_findings = excluded.open_findings, disputed_findings = excluded.disputed_findings, \
         ready_entry_seq = excluded.ready_entry_seq, ready_paged_seq = excluded.ready_paged_seq, \
         updated_at = excluded.updated_at \
         WHERE (state, sub_status, head_sha, since_at, reason, pager_login, last_human_activity_at, \
         next_deadline_at, parked_at, state_label, content_labels_json, open_findings, disputed_findings, \
         ready_entry_seq, ready_paged_seq) IS NOT (excluded.state, excluded.sub_status, excluded.head_sha, \
         excluded.since_at, excluded.reason, excluded.pager_login, excluded.last_human_activity_at, \
         excluded.next_deadline_at, excluded.parked_at, excluded.state_label, excluded.content_labels_json, \
         excluded.open_findings, excluded.disputed_findings, excluded.ready_entry_seq, \
         excluded.ready_paged_seq)",
    )?;
    Ok(upsert.execute(params![
        row.at.repo.as_str(),
        row.at.number.get(),
        row.state.as_str(),
        row.sub_status.map(|sub| sub.as_str()),
        row.head_sha.as_str(),
        text(row.since_at),
        row.reason,
        row.pager_login.as_ref().map(|login| login.as_str()),
        row.last_human_activity_at.map(text),
        row.next_deadline_at.map(text),
        row.parked_at.map(text),
        row.state_label,
        json(&row.content_labels),
        row.open_findings,
        row.disputed_findings,
        number(row.ready_entry_seq),
        number(row.ready_paged_seq),
        text(row.updated_at),
    ])? as u64)
}

/// The labels of a row, one by one, each since when it has been there without a break.
fn labels(transaction: &Transaction<'_>, row: &StateRow) -> Result<u64, Fault> {
    let key = (row.at.repo.as_str(), row.at.number.get());
    let mut found = transaction
        .prepare_cached("SELECT kind, label FROM inferred_labels WHERE repo = ?1 AND pr_number = ?2")?;
    let found: Vec<(String, String)> = found
        .query_map(key, |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let state = row.state_label.iter().map(|label| ("state", label.as_str()));
    let content = row.content_labels.iter().map(|label| ("content", label.as_str()));
    let wanted: Vec<(&str, &str)> = state.chain(content).collect();
    let mut changed = 0;
    for (kind, label) in &found {
        if !wanted.contains(&(kind.as_str(), label.as_str())) {
            let mut delete = transaction.prepare_cached(
                "DELETE FROM inferred_labels WHERE repo = ?1 AND pr_number = ?2 AND kind = ?3 AND label = ?4",
            )?;
            changed += delete.execute(params![key.0, key.1, kind, label])?;
        }
    }
    for (kind, label) in wanted {
        let mut insert = transaction.prepare_cached(
            "INSERT OR IGNORE INTO inferred_labels (repo, pr_number, kind, label, since_at) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        changed += insert.execute(params![key.0, key.1, kind, label, text(row.updated_at)])?;
    }
    Ok(changed as u64)
}

fn assignment(
    transaction: &Transaction<'_>,
    of: &PrRef,
    assignment: &Assignment,
    at: Option<Time>,
) -> Result<u64, Fault> {
    let (outcome, owner) = match &assignment.owner {
        Some(Owner::User(login)) => ("user", Some(login.as_str())),
        Some(Owner::Team(team)) => ("team", Some(team.as_str())),
        None => ("no_owner", None),
    };
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO pr_assignments (repo, pr_number, outcome, owner, reason, digest, at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
         ON CONFLICT (repo, pr_number) DO UPDATE SET outcome = excluded.outcome, owner = excluded.owner, \
         reason = excluded.reason, digest = excluded.digest, at = excluded.at \
         WHERE (outcome, owner, reason, digest) \
         IS NOT (excluded.outcome, excluded.owner, excluded.reason, excluded.digest)",
    )?;
    Ok(upsert.execute(params![
        of.repo.as_str(),
        of.number.get(),
        outcome,
        owner,
        assignment.reason,
        assignment.digest,
        at.map(text),
    ])? as u64)
}

fn card(transaction: &Transaction<'_>, card: &Card) -> Result<u64, Fault> {
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO pr_cards (repo, pr_number, title, url, author, updated_at, read_at, is_open, pending_since) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
         ON CONFLICT (repo, pr_number) DO UPDATE SET title = excluded.title, url = excluded.url, \
         author = excluded.author, updated_at = excluded.updated_at, read_at = excluded.read_at, \
         is_open = excluded.is_open, pending_since = excluded.pending_since \
         WHERE (title, url, author, updated_at, read_at, is_open, pending_since) \
         IS NOT (excluded.title, excluded.url, excluded.author, excluded.updated_at, excluded.read_at, \
         excluded.is_open, excluded.pending_since)",
    )?;
    Ok(upsert.execute(params![
        card.at.repo.as_str(),
        card.at.number.get(),
        card.title,
        card.url,
        card.author.as_ref().map(|login| login.as_str()),
        text(card.updated_at),
        text(card.read_at),
        card.is_open,
        card.pending_since.map(text),
    ])? as u64)
}

fn closed(transaction: &Transaction<'_>, closed: &ClosedPull) -> Result<u64, Fault> {
    let mut upsert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO closed_pulls (repo, pr_number, merged, opened_at, closed_at, by_login, \
         human_comments, human_reviews) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    Ok(upsert.execute(params![
        closed.at.repo.as_str(),
        closed.at.number.get(),
        closed.merged,
        text(closed.opened_at),
        text(closed.closed_at),
        closed.by.as_ref().map(|login| login.as_str()),
        number(closed.human_comments),
        number(closed.human_reviews),
    ])? as u64)
}

fn repository(transaction: &Transaction<'_>, book: &RepositoryBook) -> Result<u64, Fault> {
    // A name that another repository had before is this one's now.
    let mut taken = transaction.prepare_cached("DELETE FROM former_names WHERE former = ?1")?;
    let freed = taken.execute([book.facts.repo.as_str()])?;
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO repositories (repo, facts_json, read_at, feed_cursor, full_pass_at) \
         VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (repo) DO UPDATE SET repo = excluded.repo, facts_json = excluded.facts_json, \
         read_at = excluded.read_at, feed_cursor = excluded.feed_cursor, full_pass_at = excluded.full_pass_at \
         WHERE (facts_json, read_at, feed_cursor, full_pass_at) \
         IS NOT (excluded.facts_json, excluded.read_at, excluded.feed_cursor, excluded.full_pass_at)",
    )?;
    let written = upsert.execute(params![
        book.facts.repo.as_str(),
        json(&book.facts),
        text(book.read_at),
        book.feed_cursor.map(text),
        book.full_pass_at.map(text),
    ])?;
    Ok((freed + written) as u64)
}

fn branch(
    transaction: &Transaction<'_>,
    repo: &RepoName,
    facts: &BranchFacts,
    read_at: Time,
) -> Result<u64, Fault> {
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO branches (repo, branch, facts_json, read_at) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (repo, branch) DO UPDATE SET facts_json = excluded.facts_json, read_at = excluded.read_at \
         WHERE (facts_json, read_at) IS NOT (excluded.facts_json, excluded.read_at)",
    )?;
    Ok(upsert.execute(params![repo.as_str(), facts.branch, json(facts), text(read_at),])? as u64)
}

fn queue(transaction: &Transaction<'_>, waiting: &[(PrRef, Time)]) -> Result<u64, Fault> {
    let mut changed = transaction
        .prepare_cached("DELETE FROM waiting_visits")?
        .execute([])?;
    for (at, since) in waiting {
        let mut insert = transaction.prepare_cached(
            "INSERT OR IGNORE INTO waiting_visits (repo, pr_number, since) VALUES (?1, ?2, ?3)",
        )?;
        changed += insert.execute(params![at.repo.as_str(), at.number.get(), text(*since)])?;
    }
    Ok(changed as u64)
}

pub(crate) fn prune(transaction: &Transaction<'_>, before: Time) -> Result<Pruned, Fault> {
    let before = text(before);
    let is_live = match has_states(transaction)? {
        true => {
            "EXISTS (SELECT 1 FROM pr_state AS row WHERE row.repo = pr_evidence.repo \
             AND row.pr_number = pr_evidence.pr_number AND row.state <> 'closed')"
        }
        false => "FALSE",
    };
    let evidence = transaction.execute(
        &format!(
            "DELETE FROM pr_evidence WHERE recorded_at < ?1 AND NOT (id = (SELECT max(id) FROM pr_evidence AS one \
             WHERE one.repo = pr_evidence.repo AND one.pr_number = pr_evidence.pr_number) AND {is_live})"
        ),
        [&before],
    )?;
    let turns = transaction.execute("DELETE FROM turns WHERE at < ?1", [&before])?;
    let events = transaction.execute("DELETE FROM events WHERE at < ?1", [&before])?;
    Ok(Pruned {
        evidence: evidence as u64,
        turns: turns as u64,
        events: events as u64,
    })
}
