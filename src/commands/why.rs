//! `sweep why o/r#n`: every rule of both halves with its evidence (contract, section 2), from what is recorded.

use std::collections::BTreeSet;

use board::reasons::{Authored, Maintained, Reasons, Standing, VERSION};
use board::records::{Classified, StateLine};
use board::story::STATE_FILE;
use chrono::{DateTime, Utc};
use ledger::{LedgerError, Reader};
use lifecycle::maintain::{Before, Settings, step, why};
use lifecycle::{Row, recall};
use mailbox::SystemClock;
use pulls::PrRef;

use super::Context;
use super::report::refuse_no_home;
use crate::cli;
use crate::failure::{Exit, Failure};
use crate::home::Home;
use crate::lines;
use crate::print;
use crate::wiring::{ledger, present};

/// Prints it. GitHub is not asked: the evidence is the recorded one, and the clock is now, or `--now`.
pub fn run(context: &Context, choice: &cli::Why) -> Result<(), Failure> {
    let config = context.config()?;
    refuse_no_home(&context.home)?;
    let now = context.now_or(&SystemClock::start());
    let (mut title, mut repo, mut maintainer) = (None, None, None);
    if let Some(ledger) = ledger(&context.home)? {
        let at = present(&ledger, &choice.at)?;
        title = ledger.card(&at)?.map(|card| card.title);
        maintainer = maintained(&ledger, &at, &config.lifecycle.settings, now)?;
        repo = maintainer.is_some().then_some(at.repo);
    }
    let author = authored(&context.home, &choice.at, now)?;
    let author = author.map(|(line, half)| {
        title.get_or_insert(line.title);
        repo.get_or_insert(line.repo);
        half
    });
    if maintainer.is_none() && author.is_none() {
        let headline = format!("nothing is known of {}", choice.at);
        return Err(Failure::new(Exit::Other, headline).mend(format!(
            "`sweep pr-state --repo {}` reads your pull requests there; those of the repositories in LIFECYCLE_REPOS \
             are read by `sweep run`.",
            choice.at.repo
        )));
    }
    let reasons = Reasons {
        v: VERSION,
        ts: now,
        repo: repo.unwrap_or_else(|| choice.at.repo.clone()),
        pr: choice.at.number,
        title: title.filter(|title| !title.is_empty()),
        maintainer,
        author,
    };
    match choice.json {
        true => print::json(&reasons),
        false => print::text(&reasons.text()),
    }
}

/// The maintainer's half, on the evidence that was recorded by then.
fn maintained(
    ledger: &Reader,
    at: &PrRef,
    settings: &Settings,
    now: DateTime<Utc>,
) -> Result<Option<Maintained>, LedgerError> {
    let known = ledger.evidence_of(at)?;
    let Some(recorded) = known.into_iter().rfind(|recorded| recorded.recorded_at <= now) else {
        return Ok(None);
    };
    let mut evidence = recorded.evidence.clone();
    evidence.now = now;
    let row = ledger.row(at)?.filter(|row| row.updated_at <= now);
    let before = Before {
        row: row.as_ref(),
        evidence: Some(&recorded.evidence),
    };
    let labels = row.as_ref().map_or(&[][..], |row| &row.content_labels);
    let next = step(
        before,
        &evidence,
        labels,
        &BTreeSet::new(),
        ledger.epoch()?,
        settings,
    );
    let standing = match &row {
        Some(row) => Some(Standing {
            state: row.state,
            sub_status: row.sub_status,
            reason: row.reason.clone(),
            since_at: row.since_at,
            head: row.head_sha.clone(),
        }),
        // The row is of a later moment; the log has what was so then.
        None => stood(ledger, at, now)?,
    };
    let why = why(&evidence, recorded.recorded_at, settings);
    Ok(Some(Maintained::new(
        standing,
        recorded.recorded_at,
        why,
        next.wanted,
    )))
}

/// What the log says that it was at a moment.
fn stood(ledger: &Reader, at: &PrRef, now: DateTime<Utc>) -> Result<Option<Standing>, LedgerError> {
    let log = ledger.transitions(at)?;
    let moved = log
        .into_iter()
        .map(|logged| logged.transition)
        .rfind(|row| row.created_at <= now && row.from_state != Some(row.to_state));
    Ok(moved.map(|row| Standing {
        state: row.to_state,
        sub_status: None,
        reason: row.reason,
        since_at: row.created_at,
        head: row.head_sha,
    }))
}

/// The author's half, as the dispatcher last found it by then.
fn authored(home: &Home, at: &PrRef, now: DateTime<Utc>) -> Result<Option<(Classified, Authored)>, Failure> {
    let mut found = None;
    let number = at.number.to_string();
    lines::each(&home.path.join(STATE_FILE), |line| {
        if line.text.contains(&number)
            && let Some(StateLine::Classified(classified)) = StateLine::parse(line.text)
            && classified.at() == *at
            && classified.ts <= now
        {
            // A line of an earlier version may lack what the rules are recalled from.
            let row: Option<Row> = serde_json::from_str(line.text).ok();
            found = Some((*classified, row));
        }
    })?;
    Ok(found.map(|(line, row)| {
        let half = Authored {
            seen: line.ts,
            bucket: line.bucket,
            rule: line.rule.clone(),
            reason: line.reason.clone(),
            rules: row.as_ref().map(recall).unwrap_or_default(),
        };
        (line, half)
    }))
}
