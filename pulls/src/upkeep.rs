//! What the maintainer's half reads beside the facts of a pull request, and of the repository and branch that it
//! goes to (contract, section 6; RFC, "Evidence").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::{Account, Checks, MergeState, Mergeable, PullState, Time, words};
use crate::ids::{PrRef, RepoName, Sha};

words! {
    /// What happened to a pull request, beside commits, comments and reviews.
    EventKind {
        AddedToMergeQueue = "ADDED_TO_MERGE_QUEUE", Assigned = "ASSIGNED", BaseChanged = "BASE_REF_CHANGED",
        Closed = "CLOSED", ConvertedToDraft = "CONVERT_TO_DRAFT", ForcePushed = "HEAD_REF_FORCE_PUSHED",
        Labeled = "LABELED", Merged = "MERGED", ReadyForReview = "READY_FOR_REVIEW",
        RemovedFromMergeQueue = "REMOVED_FROM_MERGE_QUEUE", Renamed = "RENAMED_TITLE", Reopened = "REOPENED",
        ReviewRequested = "REVIEW_REQUESTED", Unlabeled = "UNLABELED",
    }
}

/// What only the maintainer's half reads of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Upkeep {
    /// Its labels.
    pub labels: Vec<String>,
    /// The files that it changes; `None` where not all of them could be read.
    pub files: Option<Vec<ChangedFile>>,
    /// Its newest events, oldest first.
    pub events: Vec<Event>,
    /// When comments and reviews were last edited, and by whom: what explains a bump of `updated_at` (field case
    /// B070).
    pub edits: Vec<Edit>,
    /// Its newest commits, oldest first.
    #[serde(default)]
    pub commits: Vec<CommitMade>,
    /// How it ended, where it is not open.
    pub closing: Option<Closing>,
}

/// A commit and who made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitMade {
    /// Its committer date, which whoever made it chose.
    pub at: Time,
    /// Whose account its author is, as far as GitHub knows.
    pub by: Option<Account>,
}

/// One file of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Its path from the root of the repository, `/` between segments.
    pub path: String,
    /// Lines that are new.
    pub additions: u64,
    /// Lines that are gone.
    pub deletions: u64,
}

/// Something that happened to a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// When.
    pub at: Time,
    /// By whom; `None` for a deleted account, or where GitHub does not say.
    pub by: Option<Account>,
}

/// The last edit of a comment or a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// When.
    pub at: Time,
    /// Who edited it, else who wrote it.
    pub by: Option<Account>,
}

/// How a pull request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Closing {
    /// When it was merged or closed.
    pub at: Time,
    /// Who did it, as far as GitHub says.
    pub by: Option<Account>,
}

/// A repository that is maintained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryFacts {
    /// Its name as GitHub gives it now.
    pub repo: RepoName,
    /// The name under which it was asked for; another one after a rename (field case B108).
    pub asked_as: RepoName,
    /// Whether it is read-only (field case B080).
    pub is_archived: bool,
    /// The branch that pull requests usually go to.
    pub default_branch: Option<String>,
    /// The `CODEOWNERS` file that GitHub goes by.
    pub codeowners: Option<CodeownersFile>,
}

/// A `CODEOWNERS` file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeownersFile {
    /// Where it lies: `.github/CODEOWNERS`, `CODEOWNERS` or `docs/CODEOWNERS`.
    pub path: String,
    /// What it says.
    pub text: String,
}

/// A branch that pull requests go to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BranchFacts {
    /// Its name.
    pub branch: String,
    /// Its head; `None` where there is no such branch.
    pub sha: Option<Sha>,
    /// The checks that a pull request onto it must pass.
    pub required: RequiredChecks,
    /// The checks of its own head (field case B027).
    pub checks: Checks,
}

/// The checks that a branch requires, joined from branch protection, rulesets and the branch's own summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequiredChecks {
    /// These, perhaps none.
    Known(Vec<RequiredCheck>),
    /// None of the three answered.
    Unknown {
        /// Why, for a person.
        why: String,
    },
}

/// One check that a branch requires.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct RequiredCheck {
    /// The name of a check run or the context of a status.
    pub context: String,
    /// The app that it must come from; `None` for any (field cases B024 and B025).
    pub app: Option<u64>,
}

/// A pull request that changed, as a repository's list by time of update shows it. What it is must be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Touched {
    /// Which.
    pub at: PrRef,
    /// When it last changed.
    pub updated_at: Time,
    /// Whether it is open.
    pub state: PullState,
}

/// What of a head can change without a trace in the list of pull requests: checks and mergeability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeadFacts {
    /// Which pull request.
    pub at: PrRef,
    /// Whether it is open.
    pub state: PullState,
    /// Its head now.
    pub head: Sha,
    /// When it was opened.
    pub created_at: Time,
    /// Whether it can be merged.
    pub mergeable: Mergeable,
    /// GitHub's word for the merge button.
    pub merge_state: MergeState,
    /// Its place in the merge queue.
    pub merge_queue_position: Option<u64>,
    /// Every check and suite of the head.
    pub checks: Checks,
}
