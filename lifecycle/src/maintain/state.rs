//! The eleven states and what is said beside them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The one state of a maintained pull request (RFC, "States").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Seen; its owner is not looked for yet.
    New,
    /// Nobody owns what it changes, and it was not reviewed yet.
    NeedsOwner,
    /// Somebody owns what it changes; it waits for its first review.
    OwnerRouted,
    /// Its head is not reviewed, or checks are pending on a reviewed head.
    UnderReview,
    /// A reviewed head has an open blocker or major finding, or it is in conflict with its base.
    ChangesRequested,
    /// A required or watched check is red.
    CiFailing,
    /// The ready gate passed: a maintainer is wanted.
    ReadyForMaintainer,
    /// No person did anything for 7 days.
    Stale,
    /// No person did anything for 14 days.
    Parked,
    /// A draft, which nobody is reminded of.
    Draft,
    /// Merged or closed, by a person.
    Closed,
}

impl State {
    /// All of them in projection order, which is the order of the board's columns (RFC, "Projection order").
    pub const ALL: [Self; 11] = [
        Self::Closed,
        Self::Draft,
        Self::Parked,
        Self::Stale,
        Self::New,
        Self::NeedsOwner,
        Self::OwnerRouted,
        Self::CiFailing,
        Self::ChangesRequested,
        Self::UnderReview,
        Self::ReadyForMaintainer,
    ];

    /// Its name in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::NeedsOwner => "needs_owner",
            Self::OwnerRouted => "owner_routed",
            Self::UnderReview => "under_review",
            Self::ChangesRequested => "changes_requested",
            Self::CiFailing => "ci_failing",
            Self::ReadyForMaintainer => "ready_for_maintainer",
            Self::Stale => "stale",
            Self::Parked => "parked",
            Self::Draft => "draft",
            Self::Closed => "closed",
        }
    }

    /// The label that it has in the ledger, and nowhere else (RFC, "States").
    pub fn label(self) -> Option<&'static str> {
        match self {
            Self::NeedsOwner => Some("bot:needs-owner"),
            Self::OwnerRouted | Self::UnderReview => Some("bot:under-review"),
            Self::ChangesRequested => Some("bot:changes-requested"),
            Self::CiFailing => Some("bot:ci-failing"),
            Self::ReadyForMaintainer => Some("bot:ready-for-maintainer"),
            Self::Stale => Some("bot:stale"),
            Self::Parked => Some("bot:parked"),
            Self::New | Self::Draft | Self::Closed => None,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names none of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no {1}")]
pub struct UnknownWord(String, &'static str);

impl FromStr for State {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == word)
            .ok_or_else(|| UnknownWord(word.to_owned(), "state"))
    }
}

/// What is said beside a state (RFC, "Storage"; contract, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubStatus {
    /// The next nightly sweep takes it.
    AwaitingSweep,
    /// A review of its head is queued.
    Queued,
    /// A review of its head is running.
    Running,
    /// Its reviewed head waits for checks.
    CiPending,
    /// Nobody owns what it changes; a page goes down the fallback chain.
    Unrouted,
    /// It was open before automatic reviews were turned on.
    Legacy,
    /// It is in conflict with its base.
    Conflict,
    /// Something that it wants said is not said yet.
    ActionPending,
    /// What it wanted said has been said.
    ActionDone,
    /// No rule matched its evidence, which is counted (RFC, "Projection order").
    Unclassified,
    /// Reviewed and green, and the ready gate does not pass; the reason names the condition.
    GateBlocked,
    /// It is in a merge queue: nobody is paged (field case B040).
    InMergeQueue,
}

impl SubStatus {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::AwaitingSweep,
        Self::Queued,
        Self::Running,
        Self::CiPending,
        Self::Unrouted,
        Self::Legacy,
        Self::Conflict,
        Self::ActionPending,
        Self::ActionDone,
        Self::Unclassified,
        Self::GateBlocked,
        Self::InMergeQueue,
    ];

    /// Its name in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AwaitingSweep => "awaiting_sweep",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::CiPending => "ci_pending",
            Self::Unrouted => "unrouted",
            Self::Legacy => "legacy",
            Self::Conflict => "conflict",
            Self::ActionPending => "action_pending",
            Self::ActionDone => "action_done",
            Self::Unclassified => "unclassified",
            Self::GateBlocked => "gate_blocked",
            Self::InMergeQueue => "in_merge_queue",
        }
    }
}

impl fmt::Display for SubStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SubStatus {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|sub| sub.as_str() == word)
            .ok_or_else(|| UnknownWord(word.to_owned(), "sub-status"))
    }
}

/// What evidence is projected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Projected {
    /// The one state.
    pub state: State,
    /// What is said beside it.
    pub sub_status: Option<SubStatus>,
    /// Why, for a person: one line, safe for a terminal; markdown in it is not escaped.
    pub reason: String,
}
