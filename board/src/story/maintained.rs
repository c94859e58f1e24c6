//! The maintainer's half of a story: what the ledger has of the pull request.

use chrono::{DateTime, Utc};
use lifecycle::maintain::{Evidence, Owner, State, StateRow, SubStatus, Transition};
use pulls::checks::Ci;
use pulls::facts::Mergeable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Telling, What, some};

/// Where the maintainer's half lies within the home.
pub const LEDGER_FILE: &str = "ledger.db";

/// The state that is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// The state.
    pub state: State,
    /// What is said beside it.
    pub sub_status: Option<SubStatus>,
    /// Why, for people.
    pub reason: String,
    /// Since when.
    pub since: DateTime<Utc>,
    /// When it is looked at again though nothing changed.
    pub next: Option<DateTime<Utc>>,
}

/// Of the evidence of a transition, what a story tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Saw {
    /// What the checks said together.
    pub ci: Ci,
    /// Whether it could be merged.
    pub mergeable: Mergeable,
    /// When a person last did something.
    pub active: DateTime<Utc>,
    /// Who owned what it changes: `@login` or `@organisation/team`.
    pub owner: Option<String>,
    /// Blockers and majors that nobody disputed.
    pub open_findings: u32,
    /// Those that the author disputed.
    pub disputed_findings: u32,
}

impl From<&Evidence> for Saw {
    fn from(evidence: &Evidence) -> Self {
        let assignment = evidence.assignment.as_ref();
        let owner = assignment.and_then(|assignment| assignment.owner.as_ref());
        Self {
            ci: evidence.ci,
            mergeable: evidence.mergeability.mergeable.clone(),
            active: evidence.activity.at,
            owner: owner.map(|owner| match owner {
                Owner::User(login) => format!("@{login}"),
                Owner::Team(team) => format!("@{team}"),
            }),
            open_findings: evidence.findings.open,
            disputed_findings: evidence.findings.disputed,
        }
    }
}

impl Telling {
    /// Its row in the ledger, with the title where that is known.
    pub fn row(&mut self, row: &StateRow, title: Option<&str>) {
        if row.at != self.at {
            return;
        }
        self.named.get_or_insert_with(|| row.at.repo.clone());
        self.head(row.head_sha.as_str());
        self.title = title.and_then(some);
        self.held = Some(Held {
            state: row.state,
            sub_status: row.sub_status,
            reason: row.reason.clone(),
            since: row.since_at,
            next: row.next_deadline_at,
        });
    }

    /// A row of the log of transitions with its evidence, and with the keys of what was said for it.
    pub fn transition(&mut self, row: &Transition, evidence: Option<&Evidence>, said: &[String]) {
        if row.at != self.at {
            return;
        }
        self.head(row.head_sha.as_str());
        let what = What::Moved {
            from: row.from_state,
            to: row.to_state,
            reason: row.reason.clone(),
            head: row.head_sha.as_str().to_owned(),
            saw: evidence.map(Saw::from),
            said: said.to_vec(),
        };
        self.push(Some(row.created_at), LEDGER_FILE, what);
    }
}
