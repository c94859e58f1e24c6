//! What a projection sees: facts of GitHub, rows of the ledger, the clock, and nothing else.

use std::fmt;

use pulls::activity::Activity;
use pulls::checks::{Ci, Standing};
use pulls::facts::{Account, Base, MergeState, Mergeable, PullState, ReviewDecision, Time};
use pulls::upkeep::{Closing, RequiredCheck};
use pulls::{Login, PrRef, Sha};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the stored form of [`Evidence`].
pub const VERSION: u32 = 1;

/// Everything that decides the state of one pull request (RFC, "Projection order"). The same evidence gives the
/// same state, reason and keys, whatever the order of its lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The version of this form, [`VERSION`].
    pub version: u32,
    /// Which pull request.
    pub at: PrRef,
    /// The moment as of which it is looked at.
    pub now: Time,
    /// Open, closed or merged.
    pub state: PullState,
    /// How it ended, where it is not open.
    pub closing: Option<Closing>,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// Whether its repository is read-only.
    pub is_archived: bool,
    /// Whether its conversation is locked.
    pub is_locked: bool,
    /// Who opened it; `None` for a deleted account.
    pub author: Option<Account>,
    /// When it was opened.
    pub created_at: Time,
    /// Its head.
    pub head: HeadSeen,
    /// What it would be merged into.
    pub base: Base,
    /// Its labels on GitHub.
    pub labels: Vec<String>,
    /// The last thing that a person did about it: the clock.
    pub activity: Activity,
    /// Whether it can be merged.
    pub mergeability: Mergeability,
    /// Its place in a merge queue.
    pub merge_queue_position: Option<u64>,
    /// GitHub's verdict over all reviews by people.
    pub review_decision: Option<ReviewDecision>,
    /// Review threads that nobody resolved; `None` where not all could be counted (field case B061).
    pub unresolved_threads: Option<u64>,
    /// What all checks of the head say together.
    pub ci: Ci,
    /// The newest run of every check of the head.
    pub checks: Vec<CheckSeen>,
    /// The checks that its base requires, each with what it comes to on this head.
    pub required: Required,
    /// Checks that are red on this head and on the head of the base too (field case B027).
    pub base_red: Vec<String>,
    /// Who owns what it changes; `None` until that was looked for.
    pub assignment: Option<Assignment>,
    /// The program's own reviews.
    pub reviews: Reviews,
    /// Unresolved findings of weight, on whatever head they were made.
    pub findings: FindingCounts,
    /// Whether it was open before automatic reviews were turned on.
    pub is_legacy: bool,
    /// What could not be read whole, for a person. Where there is any, the state does not move.
    pub partial: Vec<String>,
}

/// A head and when this program first saw it (field case B074).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeadSeen {
    /// Its id.
    pub sha: Sha,
    /// When it was first seen.
    pub first_seen_at: Time,
}

/// Whether it can be merged, as last known (field cases B030 and B031).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mergeability {
    /// GitHub's answer; where that is not known now, the last that was known.
    pub mergeable: Mergeable,
    /// GitHub's word for the merge button, of the same reading.
    pub merge_state: MergeState,
    /// The head that the answer is about; `None` where there never was one.
    pub seen_on: Option<Sha>,
    /// The base that it is about.
    pub seen_against: Option<Sha>,
    /// Whether GitHub did not know when it was last asked, so that it is an earlier answer.
    pub is_stale: bool,
}

/// The newest run of one check.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CheckSeen {
    /// The name of the check run or the context of the status.
    pub name: String,
    /// The name by which a person tells it from others: with its workflow and event where two share one.
    pub shown: String,
    /// The app that it comes from, as far as that is known.
    pub app: Option<u64>,
    /// The suite of runs that it belongs to (field case B009).
    pub suite: Option<u64>,
    /// What it comes to.
    pub standing: Standing,
    /// GitHub's word for it.
    pub word: String,
    /// Since when.
    pub since: Option<Time>,
    /// Its page.
    pub url: Option<String>,
}

/// The checks that the base requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Required {
    /// These, perhaps none.
    Known(Vec<RequiredSeen>),
    /// They could not be read, so that nothing counts as passed.
    Unknown {
        /// Why, for a person.
        why: String,
    },
}

/// A required check and what it comes to on this head.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RequiredSeen {
    /// Which.
    pub check: RequiredCheck,
    /// What it comes to.
    pub outcome: RequiredOutcome,
}

/// What a required check comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequiredOutcome {
    /// It passed, or was skipped, which counts (field case B008).
    Passed,
    /// It was skipped while another check of its suite failed, which does not (field case B009).
    SkippedBesideFailure,
    /// It has no result yet.
    Pending,
    /// Nothing of that name was reported.
    Missing,
    /// Only another app reported it (field cases B024 and B025).
    OtherApp,
    /// It says something that this program does not know.
    Unknown,
    /// It was cancelled (field case B010).
    Cancelled,
    /// It failed.
    Failed,
}

/// Who owns what a pull request changes (contract, section 6, "Owner routing").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Assignment {
    /// The owner; `None` where there is none.
    pub owner: Option<Owner>,
    /// How the owner was found, for a person.
    pub reason: String,
    /// Tells one routing from another: the owner is mentioned once for each.
    pub digest: String,
}

/// An owner of code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// A person.
    User(Login),
    /// A team, `organisation/team`.
    Team(String),
}

impl fmt::Display for Owner {
    /// As it is mentioned: `@login` or `@organisation/team`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(login) => write!(f, "@{login}"),
            Self::Team(team) => write!(f, "@{team}"),
        }
    }
}

/// The program's own reviews of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reviews {
    /// Attempts on any head.
    pub attempts: u32,
    /// Whether the sweep has claimed the current head.
    pub is_claimed: bool,
    /// The review of the current head.
    pub of_head: HeadReview,
}

/// How the review of one head stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeadReview {
    /// There is none.
    #[default]
    None,
    /// It waits for its turn.
    Queued,
    /// It is running.
    Running,
    /// Its last attempt failed.
    Failed,
    /// It is complete.
    Completed {
        /// Since when.
        at: Time,
        /// The quality verdict, shown as a badge and never a condition.
        quality: Option<String>,
    },
}

/// Unresolved blockers and majors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingCounts {
    /// Those that nobody disputes.
    pub open: u32,
    /// Those that the author disputes: they do not hold the gate.
    pub disputed: u32,
}
