//! Why a pull request is in its state: every rule with its evidence (contract, section 2: `sweep why`).

use pulls::escape;
use pulls::facts::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deadline::{Deadline, deadlines};
use super::evidence::Evidence;
use super::gate::{self, GateCondition, GateId, days, gate};
use super::projection::{Rule, decide, holds, is_undiscovered, owner, project, reason};
use super::settings::Settings;
use super::state::Projected;

/// One rule and whether it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleLine {
    /// Which.
    pub rule: Rule,
    /// Whether it holds by itself. The first that does decides.
    pub held: bool,
    /// Whether it is the one that decides.
    pub decides: bool,
    /// The evidence, for a person: one line, safe for a terminal.
    pub because: String,
    /// What would make it otherwise.
    pub would_change: String,
}

/// Everything that the state of a pull request comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// The moment as of which it is so.
    pub now: Time,
    /// The state.
    pub projected: Projected,
    /// What of the evidence could not be read whole. Where there is any, the recorded state stays as it is.
    pub partial: Vec<String>,
    /// Every rule in order.
    pub rules: Vec<RuleLine>,
    /// Every condition of the ready gate.
    pub gate: Vec<GateCondition>,
    /// When it is looked at again though nothing changed, the earliest first.
    pub deadlines: Vec<Deadline>,
}

/// Why this evidence gives its state. `first_seen` is when it was recorded.
pub fn why(evidence: &Evidence, first_seen: Time, settings: &Settings) -> Why {
    let decides = decide(evidence, settings);
    let rules = Rule::ALL
        .into_iter()
        .map(|rule| {
            let held = holds(rule, evidence, settings) && (rule != Rule::Fallback || decides == rule);
            RuleLine {
                rule,
                held,
                decides: rule == decides,
                because: match held {
                    true => reason(rule, evidence, settings),
                    false => not(rule, evidence, settings),
                },
                would_change: would_change(rule, held, evidence, settings),
            }
        })
        .collect();
    Why {
        now: evidence.now,
        projected: project(evidence, settings),
        partial: evidence.partial.iter().map(|what| escape::line(what)).collect(),
        rules,
        gate: gate(evidence, settings),
        deadlines: deadlines(evidence, first_seen, settings),
    }
}

/// Why a rule does not hold.
fn not(rule: Rule, evidence: &Evidence, settings: &Settings) -> String {
    let says = |id| gate::because(id, evidence, settings);
    let state = || says(GateId::Open);
    match rule {
        Rule::Closed => state(),
        Rule::Draft => "it is no draft".to_owned(),
        Rule::Parked | Rule::Stale if !evidence.is_managed(settings) => {
            "a label exempts it from the clock".to_owned()
        }
        Rule::Parked | Rule::Stale => format!("a person did something {} ago", days(evidence.idle())),
        Rule::New => "its owner was looked for".to_owned(),
        Rule::NeedsOwner | Rule::OwnerRouted => match &evidence.assignment {
            None => "its owner was not looked for yet".to_owned(),
            Some(_) if !is_undiscovered(evidence) => "a review was tried, or the sweep has it".to_owned(),
            Some(assignment) => format!("its owner: {}", owner(assignment.owner.as_ref())),
        },
        Rule::CiFailing => says(GateId::Checks),
        Rule::ChangesRequested => format!("{}; {}", says(GateId::Findings), says(GateId::Mergeable)),
        Rule::UnderReview => format!("{}; {}", says(GateId::Reviewed), says(GateId::Checks)),
        Rule::ReadyForMaintainer => match gate::first_failure(evidence, settings) {
            Some(id) => says(id),
            None => state(),
        },
        Rule::GateBlocked if gate::first_failure(evidence, settings).is_none() => {
            "every condition of the gate is met".to_owned()
        }
        Rule::GateBlocked => says(GateId::Reviewed),
        Rule::Fallback => "a rule before it holds".to_owned(),
    }
}

/// What would make a rule hold, or not hold any more.
fn would_change(rule: Rule, held: bool, evidence: &Evidence, settings: &Settings) -> String {
    let text = match (rule, held) {
        (Rule::Closed, true) => "a person reopens it",
        (Rule::Closed, false) => "a person merges or closes it",
        (Rule::Draft, true) => "its author marks it ready for review",
        (Rule::Draft, false) => "a person converts it to a draft",
        (Rule::Parked | Rule::Stale, true) => {
            "a person pushes, comments or reviews, or an exempt label is added"
        }
        (Rule::Parked | Rule::Stale, false) => {
            let after = match rule {
                Rule::Parked => settings.park_after,
                _ => settings.stale_after,
            };
            return match evidence.activity.at.checked_add_signed(after) {
                Some(at) if evidence.is_managed(settings) => {
                    format!("nobody does anything until {}", at.format("%Y-%m-%d %H:%M UTC"))
                }
                _ => "the exempt label is taken away".to_owned(),
            };
        }
        (Rule::New, true) => "the next cycle looks for its owner",
        (Rule::New, false) => "nothing",
        (Rule::NeedsOwner, true) => "CODEOWNERS or [[lifecycle.owners]] name an owner, or a review begins",
        (Rule::NeedsOwner | Rule::OwnerRouted, false) if !is_undiscovered(evidence) => "nothing",
        (Rule::NeedsOwner, false) => "nobody owns what it changes, and no review was tried",
        (Rule::OwnerRouted, true) => "a review begins",
        (Rule::OwnerRouted, false) => "somebody owns what it changes, and no review was tried",
        (Rule::CiFailing, true) => "the checks pass, or a push",
        (Rule::CiFailing, false) => "a required or watched check fails",
        (Rule::ChangesRequested, true) => {
            "the conflict is resolved, and every finding of weight fixed or disputed"
        }
        (Rule::ChangesRequested, false) => "a review finds a blocker or major, or a conflict",
        (Rule::UnderReview, true) => "its head is reviewed and its checks are complete",
        (Rule::UnderReview, false) => "a push, or a check that runs again",
        (Rule::ReadyForMaintainer, true) => "any condition of the gate fails",
        (Rule::ReadyForMaintainer, false) => "every condition of the gate is met",
        (Rule::GateBlocked, true) => "the condition is met",
        (Rule::GateBlocked, false) => "its head is reviewed, and a condition of the gate fails",
        (Rule::Fallback, _) => "nothing that is known today",
    };
    text.to_owned()
}
