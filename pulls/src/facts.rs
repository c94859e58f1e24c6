//! What was read of one pull request, with the time it was read: the evidence of every decision.
//!
//! The reader in `github` fills these in whole or reports the pull request as failed; a field that a
//! rule reads is never quietly missing (contract, section 4, "Read whole"). Every enum that GitHub
//! may extend has an `Other` arm that keeps the word.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{Login, PrNumber, PrRef, RepoName, Sha};
use crate::upkeep::Upkeep;

/// A moment in UTC.
pub type Time = DateTime<Utc>;

/// Writes an enum of words that GitHub uses, with an `Other` arm for words that it does not use yet.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(from = "String", into = "String")]
        #[schemars(with = "String")]
        pub enum $name {
            $(#[doc = concat!("`", $word, "`.")] $(#[$vdoc])* $variant,)+
            /// A word that this program does not know, as GitHub wrote it.
            Other(String),
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.to_ascii_uppercase().as_str() {
                    $($word => Self::$variant,)+
                    _ => Self::Other(word),
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                Self::from(word.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.as_str().to_owned()
            }
        }

        impl $name {
            /// The word, in GraphQL's capitals.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// Whether a pull request is open.
    PullState { Open = "OPEN", Closed = "CLOSED", Merged = "MERGED" }
}
words! {
    /// Whether the head can be merged into the base. `Unknown` is no evidence of anything.
    Mergeable { Mergeable = "MERGEABLE", Conflicting = "CONFLICTING", Unknown = "UNKNOWN" }
}
words! {
    /// GitHub's one word for why a merge button is what it is.
    MergeState {
        Behind = "BEHIND", Blocked = "BLOCKED", Clean = "CLEAN", Dirty = "DIRTY", Draft = "DRAFT",
        HasHooks = "HAS_HOOKS", Unknown = "UNKNOWN", Unstable = "UNSTABLE",
    }
}
words! {
    /// The verdict of all reviews together; absent where the base asks for none.
    ReviewDecision {
        Approved = "APPROVED", ChangesRequested = "CHANGES_REQUESTED", ReviewRequired = "REVIEW_REQUIRED",
    }
}
words! {
    /// What one review says.
    ReviewState {
        Approved = "APPROVED", ChangesRequested = "CHANGES_REQUESTED", Commented = "COMMENTED",
        Dismissed = "DISMISSED", Pending = "PENDING",
    }
}
words! {
    /// How an account stands to the repository.
    Association {
        Collaborator = "COLLABORATOR", Contributor = "CONTRIBUTOR",
        FirstTimer = "FIRST_TIMER", FirstTimeContributor = "FIRST_TIME_CONTRIBUTOR",
        Mannequin = "MANNEQUIN", Member = "MEMBER", None = "NONE", Owner = "OWNER",
    }
}
words! {
    /// Where a check run or suite is.
    CheckStatus {
        Completed = "COMPLETED", InProgress = "IN_PROGRESS", Pending = "PENDING", Queued = "QUEUED",
        Requested = "REQUESTED", Waiting = "WAITING",
    }
}
words! {
    /// How a check run or suite ended.
    Conclusion {
        ActionRequired = "ACTION_REQUIRED", Cancelled = "CANCELLED", Failure = "FAILURE",
        Neutral = "NEUTRAL", Skipped = "SKIPPED", Stale = "STALE", StartupFailure = "STARTUP_FAILURE",
        Success = "SUCCESS", TimedOut = "TIMED_OUT",
    }
}
words! {
    /// What a commit status says.
    StatusState {
        Error = "ERROR", Expected = "EXPECTED", Failure = "FAILURE", Pending = "PENDING",
        Success = "SUCCESS",
    }
}

/// The kind of an account. A bot is known by this and not by its name (field cases B057, B060).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// A person, or a machine user that only a list can tell from one.
    User,
    /// A GitHub App.
    Bot,
    /// Anything else: a mannequin, an organisation, an enterprise user account.
    Other,
}

/// Who did something. A deleted account is `None` where this would stand.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// Its name.
    pub login: Login,
    /// Its kind.
    pub kind: AccountKind,
}

/// One pull request as it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PullFacts {
    /// Its name as GitHub gives it now.
    pub at: PrRef,
    /// The repository name under which it was asked for; another one after a rename.
    pub asked_as: RepoName,
    /// When it was read.
    pub read_at: Time,
    /// Its page.
    pub url: String,
    /// Its title, as its author wrote it.
    pub title: String,
    /// Its description, as its author wrote it.
    pub body: String,
    /// Open, closed or merged, from the pull request itself and never from a search.
    pub state: PullState,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// Whether the repository is archived.
    pub is_archived: bool,
    /// Whether the conversation is locked.
    pub is_locked: bool,
    /// When it was opened.
    pub created_at: Time,
    /// When GitHub last changed anything of it.
    pub updated_at: Time,
    /// Who opened it.
    pub author: Option<Account>,
    /// The commit proposed.
    pub head: Head,
    /// What it would be merged into.
    pub base: Base,
    /// Whether it can be merged.
    pub mergeable: Mergeable,
    /// GitHub's word for the merge button.
    pub merge_state: MergeState,
    /// The verdict of its reviews; `None` also where GitHub writes `""`.
    pub review_decision: Option<ReviewDecision>,
    /// Commits on the base since the merge base; `None` where GitHub gives no number.
    pub behind_by: Option<u64>,
    /// Its place in the merge queue, where it is in one.
    pub merge_queue_position: Option<u64>,
    /// Every check and suite of the head.
    pub checks: Checks,
    /// Every comment of the conversation.
    pub comments: Vec<Comment>,
    /// Every review.
    pub reviews: Vec<Review>,
    /// Every review thread.
    pub threads: Vec<Thread>,
    /// The issues that it would close.
    pub closes: Vec<ClosingIssue>,
    /// What only the maintainer's half reads; `None` in the author's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upkeep: Option<Upkeep>,
}

/// The commit proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Head {
    /// Its id.
    pub sha: Sha,
    /// The branch it lies on, as its author named it.
    pub branch: String,
    /// The repository of the branch; `None` when the fork was deleted (field case B065).
    pub repo: Option<RepoName>,
    /// Its committer date, which its author chooses.
    pub committed_at: Time,
    /// When the head was last replaced by a force push.
    pub last_force_push_at: Option<Time>,
    /// The committer dates of the pull request's commits, the head's among them, newest first and each
    /// once: of the last hundred commits, and of all where the head is dated after `read_at`. Which of them
    /// lie in the future is for the moment to say that is evaluated, which need not be the reading's.
    pub commit_dates: Vec<Time>,
}

/// What a pull request would be merged into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Base {
    /// The branch.
    pub branch: String,
    /// Its commit as recorded with the pull request.
    pub sha: Sha,
}

/// The checks of one commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checks {
    /// Every check run and status of the rollup, or `None` where GitHub has no rollup at all.
    pub contexts: Option<Vec<Check>>,
    /// Every check suite, also those without a run.
    pub suites: Vec<Suite>,
}

/// One entry of the rollup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Check {
    /// A check run.
    Run(CheckRun),
    /// A commit status.
    Status(CommitStatus),
    /// An entry of a type that this program does not know.
    Unknown {
        /// The type's name.
        typename: String,
    },
}

/// One run of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRun {
    /// GitHub's number for the run; later runs have larger ones.
    pub id: u64,
    /// The check's name.
    pub name: String,
    /// The app that made it, as GitHub's number for the app.
    pub app: Option<u64>,
    /// The workflow's name, where a workflow made it.
    pub workflow: Option<String>,
    /// The event that started the workflow.
    pub event: Option<String>,
    /// Where it is.
    pub status: CheckStatus,
    /// How it ended; `None` also where a client writes `""`.
    pub conclusion: Option<Conclusion>,
    /// When it started; `None` when it has not.
    pub started_at: Option<Time>,
    /// When it ended.
    pub completed_at: Option<Time>,
    /// Its page.
    pub url: Option<String>,
    /// The suite that it belongs to.
    #[serde(default)]
    pub suite: Option<u64>,
}

/// One commit status: the newest of its context, which is all that the rollup shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitStatus {
    /// Its name.
    pub context: String,
    /// What it says.
    pub state: StatusState,
    /// When it was made.
    pub created_at: Time,
    /// Who made it; told apart from other makers of the same context.
    pub creator: Option<Account>,
    /// Its page.
    pub url: Option<String>,
    /// The app that made it; `None` for a person, and where GitHub does not tell (field case B024).
    #[serde(default)]
    pub app: Option<u64>,
}

/// One check suite: an app's or a workflow's runs on one commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suite {
    /// GitHub's number for the suite.
    pub id: u64,
    /// The app that it belongs to.
    pub app: Option<u64>,
    /// The workflow's name, where it is a workflow's.
    pub workflow: Option<String>,
    /// The event that started the workflow.
    pub event: Option<String>,
    /// Where it is.
    pub status: CheckStatus,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
    /// How many runs it has.
    pub runs: u64,
    /// When it was made.
    pub created_at: Time,
}

/// One comment of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comment {
    /// Its page.
    pub url: String,
    /// Who wrote it.
    pub author: Option<Account>,
    /// How the writer stands to the repository.
    pub association: Association,
    /// When it was written.
    pub created_at: Time,
    /// Its text, in markdown.
    pub body: String,
    /// Whether somebody hid it.
    pub is_minimized: bool,
}

/// One review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// Its page.
    pub url: String,
    /// Who wrote it.
    pub author: Option<Account>,
    /// How the writer stands to the repository.
    pub association: Association,
    /// When it was sent; `None` while it is pending.
    pub submitted_at: Option<Time>,
    /// What it says.
    pub state: ReviewState,
    /// Its text, in markdown.
    pub body: String,
    /// Whether somebody hid it.
    pub is_minimized: bool,
}

/// One review thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Whether somebody resolved it. An outdated thread still counts as open.
    pub is_resolved: bool,
    /// Whether the code it is about has changed since.
    pub is_outdated: bool,
    /// The file it is about.
    pub path: String,
    /// The line it is about, where it still has one.
    pub line: Option<u64>,
    /// Every comment of it, oldest first, each with the diff hunk it is about where GitHub gives one.
    /// Comments of a pending review are left out: nobody but their writer has seen them.
    pub comments: Vec<ThreadComment>,
}

/// One comment of a review thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadComment {
    /// What it has in common with every comment.
    pub comment: Comment,
    /// The diff hunk it was written on.
    pub diff_hunk: String,
    /// The commit it was written on; `None` where GitHub does not have it any more.
    #[serde(default)]
    pub made_on: Option<Sha>,
}

/// An issue that the pull request would close.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClosingIssue {
    /// Where it is.
    pub repo: RepoName,
    /// Its number there.
    pub number: PrNumber,
    /// Whether it is closed now.
    pub is_closed: bool,
    /// The pull request that the last event that closed it names as its closer.
    pub closed_by: Option<Closer>,
}

/// The pull request that closed an issue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Closer {
    /// Which it is.
    pub at: PrRef,
    /// Whether and when it was merged.
    pub merged_at: Option<Time>,
}
