//! The maintainer's half from outside: the projection, the gate, the clocks, what is wanted and what a visit writes.

mod clocks;
mod codeowners;
mod field_cases;
mod gate;
mod gather;
mod precedence;
mod properties;
mod readings;
mod states;
mod step;
mod wanted;
mod why;

use std::collections::BTreeSet;

use chrono::TimeDelta;
use lifecycle::maintain::build::EvidenceBuilder;
use lifecycle::maintain::{
    Before, Epoch, Evidence, Settings, State, StateRow, Step, SubStatus, Switches, Wanted, project, step,
};

/// A row of a table: the case, the evidence, the state, what is said beside it, why.
#[track_caller]
fn check(case: &str, evidence: EvidenceBuilder, state: State, sub: Option<SubStatus>, reason: &str) {
    check_with(case, evidence, &Settings::default(), state, sub, reason);
}

#[track_caller]
fn check_with(
    case: &str,
    evidence: EvidenceBuilder,
    settings: &Settings,
    state: State,
    sub: Option<SubStatus>,
    reason: &str,
) {
    let projected = project(&evidence.done(), settings);
    assert_eq!(
        (projected.state, projected.sub_status, projected.reason.as_str()),
        (state, sub, reason),
        "{case}"
    );
}

fn every_switch_on() -> Settings {
    Settings {
        switches: Switches {
            owner_mention: true,
            ci_note: true,
            conflict_note: true,
            ready_page: true,
            stale_reminder: true,
            idle_ladder: true,
        },
        ..Settings::default()
    }
}

/// A pull request that is visited again and again, with everything that a ledger keeps between visits.
struct Visited {
    settings: Settings,
    row: Option<StateRow>,
    evidence: Option<Evidence>,
    said: BTreeSet<String>,
    /// Every row of the log: from, to, why.
    log: Vec<(Option<State>, State, String)>,
}

impl Visited {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            row: None,
            evidence: None,
            said: BTreeSet::new(),
            log: Vec::new(),
        }
    }

    fn visit(&mut self, evidence: &Evidence) -> Step {
        let before = Before {
            row: self.row.as_ref(),
            evidence: self.evidence.as_ref(),
        };
        let step = step(before, evidence, &[], &self.said, Epoch(1), &self.settings);
        self.row.clone_from(&step.row);
        if step.is_new_evidence {
            self.evidence = Some(evidence.clone());
        }
        let rows = step.rows.iter();
        self.log
            .extend(rows.map(|row| (row.from_state, row.to_state, row.reason.clone())));
        step
    }

    fn row(&self) -> &StateRow {
        self.row.as_ref().expect("it was visited")
    }

    /// Says all that is wanted and let out, as a publisher would.
    fn say(&mut self, wanted: &[Wanted]) {
        let out = wanted.iter().filter(|one| one.is_on);
        self.said.extend(out.map(|one| one.key.clone()));
    }
}

fn keys(wanted: &[Wanted]) -> Vec<&str> {
    wanted.iter().map(|one| one.key.as_str()).collect()
}

fn hours(count: i64) -> TimeDelta {
    TimeDelta::hours(count)
}
