//! What one cycle saw, decided and would say (contract, section 6: `reconcile --once --json`).

use lifecycle::maintain::{State, Transition, Wanted};
use pulls::facts::Time;
use pulls::{PrNumber, PrRef, RepoName, Sha};
use serde::{Deserialize, Serialize};

/// What one cycle did. It is the document that `--json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The moment as of which it evaluated.
    pub ts: Time,
    /// How many pull requests it looked at in whole.
    pub visited: usize,
    /// Every row that it added to the log of transitions.
    pub transitions: Vec<Moved>,
    /// What those that it looked at want said, or reviewed, whether or not a switch lets it out.
    pub wanted: Vec<WantedFor>,
    /// What was said on GitHub.
    pub said: Vec<WantedFor>,
    /// What was withdrawn there.
    pub withdrawn: Vec<WantedFor>,
    /// Pull requests that could not be read; they are where they were.
    pub skipped: Vec<SkippedPull>,
    /// What a person must look at.
    pub attention: Vec<Noted>,
    /// What it cost.
    pub budget: Spent,
}

/// One row of the log of transitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The repository.
    pub repo: RepoName,
    /// The pull request.
    pub pr: PrNumber,
    /// The state before; `None` where it was not known.
    pub from: Option<State>,
    /// The state after.
    pub to: State,
    /// The head.
    pub head: Sha,
    /// Why, for a person.
    pub reason: String,
}

/// Something that a pull request wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedFor {
    /// The repository.
    pub repo: RepoName,
    /// The pull request.
    pub pr: PrNumber,
    /// What, its key, whom it speaks to, and its switch.
    pub artifact: Wanted,
}

/// A pull request that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedPull {
    /// The repository.
    pub repo: RepoName,
    /// The pull request.
    pub pr: PrNumber,
    /// Why.
    pub error: String,
}

/// Something that a person must look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// What it is about, the same as long as it lasts.
    pub key: String,
    /// Since when.
    pub since: Time,
    /// What is the matter.
    pub text: String,
    /// What to do about it.
    pub mend: String,
}

/// What a cycle cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Requests sent.
    pub requests: u32,
    /// `PR_STATE_REQUEST_BUDGET`.
    pub of: u32,
    /// Points that GitHub charged for them, where it said so.
    pub points: u64,
    /// Whether the budget cut the cycle.
    pub exhausted: bool,
    /// How many pull requests wait for the next cycle.
    pub left: usize,
}

impl Report {
    /// An empty one.
    pub(super) fn at(ts: Time, budget: u32) -> Self {
        Self {
            ts,
            visited: 0,
            transitions: Vec::new(),
            wanted: Vec::new(),
            said: Vec::new(),
            withdrawn: Vec::new(),
            skipped: Vec::new(),
            attention: Vec::new(),
            budget: Spent {
                of: budget,
                ..Spent::default()
            },
        }
    }

    /// One line for a person: the outcome of the turn.
    pub fn outcome(&self) -> String {
        let moved = self
            .transitions
            .iter()
            .filter(|row| row.from != Some(row.to))
            .count();
        let mut said = format!("visited {}, moved {moved}", self.visited);
        if !self.skipped.is_empty() {
            said.push_str(&format!(", skipped {}", self.skipped.len()));
        }
        if self.budget.exhausted {
            said.push_str(&format!(", budget spent with {} left", self.budget.left));
        }
        said
    }
}

impl From<&Transition> for Moved {
    fn from(row: &Transition) -> Self {
        Self {
            repo: row.at.repo.clone(),
            pr: row.at.number,
            from: row.from_state,
            to: row.to_state,
            head: row.head_sha.clone(),
            reason: row.reason.clone(),
        }
    }
}

impl WantedFor {
    pub(super) fn of(at: &PrRef, artifact: Wanted) -> Self {
        Self {
            repo: at.repo.clone(),
            pr: at.number,
            artifact,
        }
    }
}
