//! What is kept beside the rows of the two tables.

use std::ops::AddAssign;

use lifecycle::maintain::{Assignment, Evidence, StateRow, Transition};
use pulls::facts::Time;
use pulls::upkeep::{BranchFacts, RepositoryFacts};
use pulls::{Login, PrRef, RepoName, Sha};
use serde_json::Value;

/// What a person needs to recognise a pull request, and when it was last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Which.
    pub at: PrRef,
    /// Its title as its author wrote it: data.
    pub title: String,
    /// Its page.
    pub url: String,
    /// Who opened it; `None` for a deleted account.
    pub author: Option<Login>,
    /// When GitHub last changed it, as it was read.
    pub updated_at: Time,
    /// When it was last read in whole.
    pub read_at: Time,
    /// Whether it was open then.
    pub is_open: bool,
    /// Since when its checks or its mergeability are not final.
    pub pending_since: Option<Time>,
}

/// A head whose checks or mergeability are not final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Whose.
    pub at: PrRef,
    /// Since when.
    pub since: Time,
}

/// Evidence as it is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// What was seen.
    pub evidence: Evidence,
    /// When it was first seen so.
    pub recorded_at: Time,
}

/// One row of `pr_state_transitions`.
#[derive(Debug, Clone, PartialEq)]
pub struct Logged {
    /// Its number.
    pub id: i64,
    /// What moved.
    pub transition: Transition,
    /// What the projection saw; `None` where it is of a form that this program does not read.
    pub evidence: Option<Evidence>,
    /// What was done about it on GitHub.
    pub actions: Value,
}

/// How a pull request ended, for the metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedPull {
    /// Which.
    pub at: PrRef,
    /// Whether it was merged.
    pub merged: bool,
    /// When.
    pub closed_at: Time,
    /// By whom, as far as GitHub says.
    pub by: Option<Login>,
    /// Comments by people other than its author before that.
    pub human_comments: u64,
    /// Reviews by people other than its author before that.
    pub human_reviews: u64,
    /// When it was opened.
    pub opened_at: Time,
}

/// What is known of a maintained repository, and how far it was followed.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositoryBook {
    /// What was read of it.
    pub facts: RepositoryFacts,
    /// When.
    pub read_at: Time,
    /// The newest update that was seen in its list.
    pub feed_cursor: Option<Time>,
    /// When all of its open pull requests were last listed.
    pub full_pass_at: Option<Time>,
}

/// Something that happened to the reconciler itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What, such as `PR_STATE_BUDGET_EXHAUSTED`.
    pub kind: String,
    /// More of it.
    pub detail: Value,
    /// When.
    pub at: Time,
}

/// What a turn came to: written with what it did, so that it is done once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOutcome {
    /// The turn's key.
    pub key: String,
    /// What it came to.
    pub outcome: String,
    /// When.
    pub at: Time,
}

/// What one look at a pull request writes; what is `None` or empty stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// Which.
    pub at: PrRef,
    /// Its row.
    pub row: Option<StateRow>,
    /// New rows of the log.
    pub transitions: Vec<Transition>,
    /// What was seen: new evidence, which goes into the log's new rows too.
    pub evidence: Option<Evidence>,
    /// Whose it is.
    pub assignment: Option<Assignment>,
    /// What a person recognises it by, and when it was read.
    pub card: Option<Card>,
    /// How it ended.
    pub closed: Option<ClosedPull>,
}

/// What is written together, whole or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The turn whose batch it is. Where its key is known already nothing is written.
    pub turn: Option<TurnOutcome>,
    /// Pull requests that were looked at.
    pub visits: Vec<Visit>,
    /// Repositories that were followed.
    pub repositories: Vec<RepositoryBook>,
    /// Branches that were read, and when.
    pub branches: Vec<(RepoName, BranchFacts, Time)>,
    /// Who waits for a later cycle, and since when, in place of those who waited before.
    pub waiting: Option<Vec<(PrRef, Time)>>,
    /// What happened to the reconciler itself.
    pub events: Vec<Event>,
}

/// How far one attempt at a review has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptState {
    /// It waits for its turn.
    Queued,
    /// It is running.
    Running,
    /// It failed.
    Failed,
    /// It is complete.
    Completed,
}

impl AttemptState {
    /// Its word in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Completed => "completed",
        }
    }

    pub(crate) fn of(word: &str) -> Option<Self> {
        [Self::Queued, Self::Running, Self::Failed, Self::Completed]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

/// One attempt at a review of one head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewAttempt {
    /// The pull request.
    pub at: PrRef,
    /// The head.
    pub head: Sha,
    /// How far it has come.
    pub state: AttemptState,
    /// Since when.
    pub time: Time,
    /// The quality verdict.
    pub quality: Option<String>,
}

/// A finding of a review, which lives on across heads until it is fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The pull request.
    pub at: PrRef,
    /// What tells it apart.
    pub finding_id: String,
    /// `blocker`, `major`, `minor` or `note`; the first two have weight.
    pub severity: String,
    /// The head that it was made on.
    pub head: Sha,
    /// Whether it was found to be fixed.
    pub is_fixed: bool,
    /// Whether the author disputes it.
    pub is_disputed: bool,
}

/// How many rows were written, table by table. A row that is there as it is to be is neither written nor counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Rows of `pr_state`.
    pub states: u64,
    /// Rows of `pr_state_transitions`.
    pub transitions: u64,
    /// Rows of `pr_evidence`.
    pub evidence: u64,
    /// Rows that a batch wrote to other tables.
    pub others: u64,
}

impl AddAssign for Changes {
    fn add_assign(&mut self, more: Self) {
        self.states += more.states;
        self.transitions += more.transitions;
        self.evidence += more.evidence;
        self.others += more.others;
    }
}

/// How many rows were forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Rows of `pr_evidence`.
    pub evidence: u64,
    /// Rows of `turns`.
    pub turns: u64,
    /// Rows of `events`.
    pub events: u64,
}
