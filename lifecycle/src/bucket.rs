//! The buckets and the rules, by the names that messages give them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a pull request needs next, in the order of the contract: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// A person must decide whether to close it.
    Close,
    /// A reviewer waits for an answer.
    Investigate,
    /// It must be rebased before anything else can happen.
    Rebase,
    /// A check failed or our own gate is stale.
    Qa,
    /// A maintainer can merge it.
    Ship,
    /// Nothing to do.
    Wait,
}

impl Bucket {
    /// Every bucket in order.
    pub const ALL: [Self; 6] = [
        Self::Close,
        Self::Investigate,
        Self::Rebase,
        Self::Qa,
        Self::Ship,
        Self::Wait,
    ];

    /// The word in a message and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Investigate => "investigate",
            Self::Rebase => "rebase",
            Self::Qa => "qa",
            Self::Ship => "ship",
            Self::Wait => "wait",
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A rule, by the identifier that messages record in `rule`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RuleId {
    /// Another, merged pull request closed an issue that this one would close.
    #[serde(rename = "close.superseded")]
    CloseSuperseded,
    /// A maintainer asked in plain words to close it.
    #[serde(rename = "close.asked")]
    CloseAsked,
    /// The drip queue says that it is superseded.
    #[serde(rename = "close.queue")]
    CloseQueue,
    /// The reviews' verdict is that changes are requested.
    #[serde(rename = "investigate.changes_requested")]
    InvestigateChangesRequested,
    /// A maintainer asked something and has no answer.
    #[serde(rename = "investigate.question")]
    InvestigateQuestion,
    /// It conflicts with its base.
    #[serde(rename = "rebase.conflict")]
    RebaseConflict,
    /// It is more than [`BEHIND_LIMIT`](crate::BEHIND_LIMIT) commits behind its base.
    #[serde(rename = "rebase.behind")]
    RebaseBehind,
    /// A check fails.
    #[serde(rename = "qa.ci")]
    QaCi,
    /// Its gate attestation is missing or older than [`GATE_MAX_AGE`](crate::GATE_MAX_AGE).
    #[serde(rename = "qa.gate")]
    QaGate,
    /// Approved, mergeable, green, no draft, no open thread.
    #[serde(rename = "ship.ready")]
    ShipReady,
    /// None of the others.
    #[serde(rename = "wait.default")]
    WaitDefault,
}

impl RuleId {
    /// Every rule in order.
    pub const ALL: [Self; 11] = [
        Self::CloseSuperseded,
        Self::CloseAsked,
        Self::CloseQueue,
        Self::InvestigateChangesRequested,
        Self::InvestigateQuestion,
        Self::RebaseConflict,
        Self::RebaseBehind,
        Self::QaCi,
        Self::QaGate,
        Self::ShipReady,
        Self::WaitDefault,
    ];

    /// The identifier.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CloseSuperseded => "close.superseded",
            Self::CloseAsked => "close.asked",
            Self::CloseQueue => "close.queue",
            Self::InvestigateChangesRequested => "investigate.changes_requested",
            Self::InvestigateQuestion => "investigate.question",
            Self::RebaseConflict => "rebase.conflict",
            Self::RebaseBehind => "rebase.behind",
            Self::QaCi => "qa.ci",
            Self::QaGate => "qa.gate",
            Self::ShipReady => "ship.ready",
            Self::WaitDefault => "wait.default",
        }
    }

    /// The bucket that the rule puts a pull request into.
    pub fn bucket(self) -> Bucket {
        match self {
            Self::CloseSuperseded | Self::CloseAsked | Self::CloseQueue => Bucket::Close,
            Self::InvestigateChangesRequested | Self::InvestigateQuestion => Bucket::Investigate,
            Self::RebaseConflict | Self::RebaseBehind => Bucket::Rebase,
            Self::QaCi | Self::QaGate => Bucket::Qa,
            Self::ShipReady => Bucket::Ship,
            Self::WaitDefault => Bucket::Wait,
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
