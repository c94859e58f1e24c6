//! The projection: which one of the eleven states the evidence gives (RFC, "Projection order").

use pulls::escape;
use pulls::facts::PullState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{self, Checked, push_name};
use super::clocks::Rung;
use super::evidence::{Evidence, HeadReview, Owner};
use super::gate::{self, GateId, push_day};
use super::settings::Settings;
use super::state::{Projected, State, SubStatus};

/// A rule of the projection. The first that holds decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Merged or closed on GitHub.
    Closed,
    /// A draft on GitHub.
    Draft,
    /// Managed, and no person did anything for `PARK_DAYS`.
    Parked,
    /// Managed, and no person did anything for `STALE_PR_DAYS`.
    Stale,
    /// Nobody looked for its owner yet.
    New,
    /// No review on any head, not claimed by the sweep, no owner.
    NeedsOwner,
    /// No review on any head, not claimed by the sweep, an owner.
    OwnerRouted,
    /// A required or watched check is red.
    CiFailing,
    /// Reviewed with an open blocker or major, or in conflict.
    ChangesRequested,
    /// Its head is not reviewed, or its checks are not complete.
    UnderReview,
    /// The ready gate passed.
    ReadyForMaintainer,
    /// Reviewed and green, and the gate does not pass.
    GateBlocked,
    /// Nothing else holds: counted, and nothing is done.
    Fallback,
}

impl Rule {
    /// All of them in order.
    pub const ALL: [Self; 13] = [
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
        Self::GateBlocked,
        Self::Fallback,
    ];

    /// The state that it gives.
    pub fn state(self) -> State {
        match self {
            Self::Closed => State::Closed,
            Self::Draft => State::Draft,
            Self::Parked => State::Parked,
            Self::Stale => State::Stale,
            Self::New => State::New,
            Self::NeedsOwner => State::NeedsOwner,
            Self::OwnerRouted => State::OwnerRouted,
            Self::CiFailing => State::CiFailing,
            Self::ChangesRequested => State::ChangesRequested,
            Self::UnderReview | Self::GateBlocked | Self::Fallback => State::UnderReview,
            Self::ReadyForMaintainer => State::ReadyForMaintainer,
        }
    }
}

/// The one state of a pull request. Total and deterministic; the order of lists in the evidence changes nothing.
///
/// ```
/// use lifecycle::maintain::{Settings, State, build, project};
/// let evidence = build::ready("o/r#7").idle_days(8).done();
/// let projected = project(&evidence, &Settings::default());
/// assert_eq!(projected.state, State::Stale); // stale goes before ready
/// assert_eq!(projected.reason, "no person did anything since 2026-05-06");
/// ```
pub fn project(evidence: &Evidence, settings: &Settings) -> Projected {
    let rule = decide(evidence, settings);
    Projected {
        state: rule.state(),
        sub_status: beside(rule, evidence, settings),
        reason: reason(rule, evidence, settings),
    }
}

/// The first rule that holds.
pub(super) fn decide(evidence: &Evidence, settings: &Settings) -> Rule {
    Rule::ALL
        .into_iter()
        .find(|rule| holds(*rule, evidence, settings))
        // The last one always holds.
        .unwrap_or(Rule::Fallback)
}

/// Whether no review was tried on any head and the sweep has not claimed this one.
pub(super) fn is_undiscovered(evidence: &Evidence) -> bool {
    let reviews = &evidence.reviews;
    reviews.attempts == 0 && !reviews.is_claimed && reviews.of_head == HeadReview::None
}

fn is_reviewed(evidence: &Evidence) -> bool {
    matches!(evidence.reviews.of_head, HeadReview::Completed { .. })
}

/// Whether a rule holds by itself, whatever came before it.
pub(super) fn holds(rule: Rule, evidence: &Evidence, settings: &Settings) -> bool {
    let is_open = evidence.state == PullState::Open;
    let owner = evidence.assignment.as_ref().map(|assignment| &assignment.owner);
    let idle_for = |rung: Rung| evidence.is_managed(settings) && evidence.idle() >= rung.after(settings);
    match rule {
        Rule::Closed => matches!(evidence.state, PullState::Closed | PullState::Merged),
        // A state that GitHub does not know today is none of ours.
        Rule::Fallback => true,
        _ if !is_open => false,
        Rule::Draft => evidence.is_draft,
        Rule::Parked => idle_for(Rung::Park),
        Rule::Stale => idle_for(Rung::Stale),
        Rule::New => owner.is_none(),
        Rule::NeedsOwner => is_undiscovered(evidence) && matches!(owner, Some(None)),
        Rule::OwnerRouted => is_undiscovered(evidence) && matches!(owner, Some(Some(_))),
        Rule::CiFailing => checks::verdict(evidence, settings).is_red(),
        Rule::ChangesRequested => {
            is_reviewed(evidence) && evidence.findings.open > 0 || gate::is_conflicting(evidence)
        }
        Rule::UnderReview => {
            !is_reviewed(evidence) || checks::verdict(evidence, settings) == Checked::Pending
        }
        Rule::ReadyForMaintainer => gate::first_failure(evidence, settings).is_none(),
        Rule::GateBlocked => is_reviewed(evidence) && gate::first_failure(evidence, settings).is_some(),
    }
}

/// What is said beside the state that a rule gives.
fn beside(rule: Rule, evidence: &Evidence, settings: &Settings) -> Option<SubStatus> {
    match rule {
        Rule::ChangesRequested if gate::is_conflicting(evidence) => Some(SubStatus::Conflict),
        Rule::UnderReview => match evidence.reviews.of_head {
            HeadReview::Completed { .. } => Some(SubStatus::CiPending),
            HeadReview::Queued => Some(SubStatus::Queued),
            HeadReview::Running => Some(SubStatus::Running),
            HeadReview::None | HeadReview::Failed => awaiting(evidence, settings),
        },
        // Nobody to page comes before the rest (contract, section 6, "The projection").
        Rule::NeedsOwner => Some(SubStatus::Unrouted),
        Rule::OwnerRouted => awaiting(evidence, settings),
        Rule::ReadyForMaintainer if !is_routed(evidence) => Some(SubStatus::Unrouted),
        Rule::ReadyForMaintainer if evidence.merge_queue_position.is_some() => Some(SubStatus::InMergeQueue),
        Rule::GateBlocked => Some(SubStatus::GateBlocked),
        Rule::Fallback => Some(SubStatus::Unclassified),
        _ => None,
    }
}

/// What an unreviewed head waits for.
fn awaiting(evidence: &Evidence, settings: &Settings) -> Option<SubStatus> {
    match (evidence.is_legacy, settings.auto_review.is_on) {
        (true, _) => Some(SubStatus::Legacy),
        (false, true) => Some(SubStatus::AwaitingSweep),
        (false, false) => None,
    }
}

fn is_routed(evidence: &Evidence) -> bool {
    evidence
        .assignment
        .as_ref()
        .is_some_and(|assignment| assignment.owner.is_some())
}

/// Why a rule decided, in one line.
pub(super) fn reason(rule: Rule, evidence: &Evidence, settings: &Settings) -> String {
    let mut out = String::with_capacity(USUAL_REASON);
    say(&mut out, rule, evidence, settings);
    out
}

/// Nearly every reason fits, so that a projection allocates once.
const USUAL_REASON: usize = 96;

/// The most characters of a branch in a sentence.
const LONGEST_BRANCH: usize = 100;

fn say(out: &mut String, rule: Rule, evidence: &Evidence, settings: &Settings) {
    match rule {
        Rule::Closed => say_closed(out, evidence),
        Rule::Draft => out.push_str("it is a draft"),
        // Not for how long: the same evidence gives the same words tomorrow.
        Rule::Parked | Rule::Stale => {
            out.push_str("no person did anything since ");
            push_day(out, evidence.activity.at);
        }
        Rule::New => out.push_str("seen; its owner is looked for in the next cycle"),
        Rule::NeedsOwner | Rule::OwnerRouted => {
            let assignment = evidence.assignment.as_ref();
            match assignment.and_then(|assignment| assignment.owner.as_ref()) {
                Some(owner) => push_owner(out, owner),
                None => out.push_str("no owner"),
            }
            if let Some(assignment) = assignment {
                out.push_str(": ");
                escape::push_line(out, &assignment.reason);
            }
        }
        Rule::CiFailing => checks::say(out, evidence, settings),
        Rule::ChangesRequested => {
            let is_conflicting = gate::is_conflicting(evidence);
            let has_findings = is_reviewed(evidence) && evidence.findings.open > 0;
            if is_conflicting {
                say_conflict(out, evidence);
            }
            if is_conflicting && has_findings {
                out.push_str("; ");
            }
            if has_findings || !is_conflicting {
                out.push_str(&gate::because(GateId::Findings, evidence, settings));
            }
        }
        Rule::UnderReview if is_reviewed(evidence) => checks::say(out, evidence, settings),
        Rule::UnderReview => out.push_str(&gate::because(GateId::Reviewed, evidence, settings)),
        Rule::ReadyForMaintainer => match evidence.merge_queue_position {
            Some(position) => out.push_str(&format!("ready, and at place {position} of the merge queue")),
            None => say_ready(out, evidence, settings),
        },
        Rule::GateBlocked => match gate::first_failure(evidence, settings) {
            Some(GateId::Mergeable) => gate::say_mergeable(out, evidence, settings),
            Some(id) => out.push_str(&gate::because(id, evidence, settings)),
            None => out.push_str("every condition of the gate is met"),
        },
        Rule::Fallback => {
            out.push_str("no rule knows this evidence; GitHub says ");
            escape::push_line(out, evidence.state.as_str());
        }
    }
}

fn say_closed(out: &mut String, evidence: &Evidence) {
    out.push_str(match evidence.state {
        PullState::Merged => "merged",
        _ => "closed",
    });
    let Some(closing) = &evidence.closing else { return };
    out.push_str(" on ");
    push_day(out, closing.at);
    if let Some(by) = &closing.by {
        out.push_str(" by ");
        out.push_str(by.login.as_str());
    }
}

fn say_conflict(out: &mut String, evidence: &Evidence) {
    out.push_str("in conflict with ");
    push_name(out, &evidence.base.branch, LONGEST_BRANCH);
    if evidence.mergeability.is_stale {
        out.push_str(", as last known");
    }
}

fn say_ready(out: &mut String, evidence: &Evidence, settings: &Settings) {
    out.push_str("reviewed");
    if evidence.findings.disputed > 0 {
        out.push_str(&format!(", {} disputed", evidence.findings.disputed));
    }
    out.push_str("; ");
    checks::say(out, evidence, settings);
    out.push_str("; ");
    gate::say_mergeable(out, evidence, settings);
}

fn push_owner(out: &mut String, owner: &Owner) {
    match owner {
        Owner::User(login) => out.push_str(login.as_str()),
        Owner::Team(team) => escape::push_line(out, team),
    }
}

/// An owner by name.
pub(super) fn owner(owner: Option<&Owner>) -> String {
    let mut out = String::new();
    match owner {
        Some(owner) => push_owner(&mut out, owner),
        None => out.push_str("nobody"),
    }
    out
}
