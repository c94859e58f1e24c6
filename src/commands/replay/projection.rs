//! `sweep replay --projection`: today's projection over the recorded evidence (contract, section 2).

use std::collections::{BTreeMap, BTreeSet};

use board::differences::{Comparing, Decided};
use chrono::{DateTime, Utc};
use ledger::{LedgerError, Reader};
use mailbox::SystemClock;
use pulls::PrRef;

use super::super::Context;
use super::super::report::refuse_no_home;
use crate::cli;
use crate::failure::Failure;
use crate::print;
use crate::progress::Progress;
use crate::wiring::ledger;

/// Prints what would be otherwise. Nothing is changed.
pub fn run(context: &Context, choice: &cli::Replay) -> Result<(), Failure> {
    let settings = context.config()?.lifecycle.settings;
    refuse_no_home(&context.home)?;
    let mut comparing = Comparing::new(&settings, context.now_or(&SystemClock::start()), choice.since);
    let progress = Progress::start("projecting again");
    if let Some(ledger) = ledger(&context.home)? {
        present(&ledger, &mut comparing, &progress)?;
        if let Some(since) = choice.since {
            past(&ledger, since, &mut comparing, &progress)?;
        }
    }
    progress.end();
    let found = comparing.finish();
    match choice.json {
        true => print::json(&found),
        false => print::text(&found.text()),
    }
}

/// The state of every pull request, as of the moment that it was last written for.
fn present(ledger: &Reader, comparing: &mut Comparing<'_>, progress: &Progress) -> Result<(), LedgerError> {
    let rows: BTreeMap<PrRef, _> = ledger
        .rows(None)?
        .into_iter()
        .map(|row| (row.at.clone(), row))
        .collect();
    for (read, recorded) in ledger.evidence_since(None)?.into_iter().enumerate() {
        progress.count(read as u64);
        let Some(row) = rows.get(&recorded.evidence.at) else {
            continue;
        };
        let decided = Decided {
            state: row.state,
            sub_status: row.sub_status,
            reason: &row.reason,
            at: row.updated_at.max(recorded.recorded_at),
        };
        comparing.present(decided, &recorded.evidence);
    }
    Ok(())
}

/// The decisions in the log, each on the evidence that it was made on.
fn past(
    ledger: &Reader,
    since: DateTime<Utc>,
    comparing: &mut Comparing<'_>,
    progress: &Progress,
) -> Result<(), LedgerError> {
    let log = ledger.transitions_since(since)?;
    let moved: BTreeSet<PrRef> = log.into_iter().map(|row| row.at).collect();
    for (read, at) in moved.iter().enumerate() {
        progress.count(read as u64);
        for logged in ledger.transitions(at)? {
            let row = &logged.transition;
            let is_decision = row.created_at >= since && row.from_state != Some(row.to_state);
            if let Some(evidence) = logged.evidence.as_ref().filter(|_| is_decision) {
                let decided = Decided {
                    state: row.to_state,
                    sub_status: None,
                    reason: &row.reason,
                    at: row.created_at,
                };
                comparing.past(decided, evidence);
            }
        }
    }
    Ok(())
}
