//! What is written down of a maintained pull request, and what it wants said (RFC, "Storage", "Actions").

use std::fmt;

use pulls::facts::Time;
use pulls::{Login, PrRef, Sha};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::Owner;
use super::state::{State, SubStatus};

/// Which life of the two tables it is. It never goes back, so that a page of one life is not taken for one of
/// another (RFC, "Storage").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// One row of `pr_state`, column by column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateRow {
    /// `repo`, `pr_number`.
    pub at: PrRef,
    /// `state`.
    pub state: State,
    /// `sub_status`.
    pub sub_status: Option<SubStatus>,
    /// `head_sha`.
    pub head_sha: Sha,
    /// When the state was entered.
    pub since_at: Time,
    /// One line for a person.
    pub reason: String,
    /// Who was paged for `ready_for_maintainer`.
    pub pager_login: Option<Login>,
    /// The clock.
    pub last_human_activity_at: Option<Time>,
    /// When it is looked at again though nothing changed. It may have passed: then it is due.
    pub next_deadline_at: Option<Time>,
    /// When it was said that it should be parked.
    pub parked_at: Option<Time>,
    /// Our label for its state, which GitHub never sees.
    pub state_label: Option<String>,
    /// Our labels for its content, in the order of the alphabet.
    pub content_labels: Vec<String>,
    /// Unresolved blockers and majors that nobody disputes.
    pub open_findings: u32,
    /// Those that the author disputes.
    pub disputed_findings: u32,
    /// How often `ready_for_maintainer` was entered.
    pub ready_entry_seq: u64,
    /// The last entry of which the page was delivered or cancelled.
    pub ready_paged_seq: u64,
    /// When the row last changed.
    pub updated_at: Time,
}

/// One row of `pr_state_transitions` beside its evidence. A row about an act that changed no state has the same state twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transition {
    /// `repo`, `pr_number`.
    pub at: PrRef,
    /// The state before; `None` for the first row of a pull request.
    pub from_state: Option<State>,
    /// The state after.
    pub to_state: State,
    /// The head.
    pub head_sha: Sha,
    /// One line for a person.
    pub reason: String,
    /// When.
    pub created_at: Time,
}

/// What can be wanted: what the program would say, or have reviewed (RFC, "Actions").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Artifact {
    /// The owner is mentioned.
    OwnerMention,
    /// The author is asked for a rebase.
    ConflictNote,
    /// The author is told of a red check.
    CiNote,
    /// A maintainer is paged.
    ReadyPage,
    /// The reminder of day 7.
    StaleReminder,
    /// The notice of day 14.
    ParkNotice,
    /// The notice of day 30.
    CloseNotice,
    /// A review of the head.
    Review,
}

/// The setting that lets an artifact out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Switch {
    /// `OWNER_MENTION_ENABLED`.
    OwnerMentionEnabled,
    /// `CONFLICT_NOTE_ENABLED`.
    ConflictNoteEnabled,
    /// `CI_NOTE_ENABLED`.
    CiNoteEnabled,
    /// `READY_PAGE_ENABLED`.
    ReadyPageEnabled,
    /// `STALE_PR_ENABLED`.
    StalePrEnabled,
    /// `IDLE_LADDER_ENABLED`.
    IdleLadderEnabled,
    /// `AUTO_REVIEW_ENABLED`.
    AutoReviewEnabled,
}

/// One artifact that the evidence wants, whether or not its switch lets it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wanted {
    /// What.
    pub artifact: Artifact,
    /// What tells it apart: an artifact of one key is said once.
    pub key: String,
    /// Whom it speaks to; nobody where nobody is configured.
    pub to: Vec<Owner>,
    /// The setting that lets it out.
    pub switch: Switch,
    /// Whether that setting is on.
    pub is_on: bool,
    /// Why it is wanted, for a person.
    pub why: String,
}

impl fmt::Display for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OwnerMention => "owner mention",
            Self::ConflictNote => "conflict note",
            Self::CiNote => "CI note",
            Self::ReadyPage => "ready page",
            Self::StaleReminder => "day-7 reminder",
            Self::ParkNotice => "day-14 notice",
            Self::CloseNotice => "day-30 notice",
            Self::Review => "review",
        })
    }
}
