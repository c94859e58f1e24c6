//! The rules, each with the evidence that made it hold or fail.
//!
//! [`rules`] evaluates every rule in order; the first that held decides. All are functions of their
//! arguments alone.

use chrono::TimeDelta;
use pulls::checks::Ci;
use pulls::facts::{Mergeable, PullFacts, ReviewDecision, Time};
use pulls::{PrRef, escape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bucket::RuleId;
use crate::classify::Settings;
use crate::evidence::Evidence;
use crate::hints::Hints;
use crate::signals::Hours;

/// A pull request with more commits than this on its base since the merge base needs a rebase.
pub const BEHIND_LIMIT: u64 = 50;
/// A gate attestation that is older than this is stale.
pub const GATE_MAX_AGE: TimeDelta = TimeDelta::hours(24);
/// How many characters of a branch name or a login a reason shows.
const SHOWN: usize = 100;

/// One rule and whether it held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleCheck {
    /// Which.
    pub rule: RuleId,
    /// Whether it held. The first that did decides.
    pub held: bool,
    /// The evidence that made it hold or fail, for a person. One line, safe for a terminal; markdown in it
    /// is not escaped.
    pub because: String,
}

/// Every rule in order with the evidence that made it hold or fail, also those after the one that decides.
/// `wait.default` holds where no other does; in an archived repository it comes first and holds.
pub fn rules(pull: &PullFacts, hints: &Hints, settings: &Settings, now: Time) -> Vec<RuleCheck> {
    evaluate(&Evidence::gather(pull, hints, settings, now))
}

pub(crate) fn evaluate(evidence: &Evidence<'_>) -> Vec<RuleCheck> {
    let mut rules: Vec<RuleCheck> = RuleId::ALL
        .into_iter()
        .filter_map(|rule| {
            let (held, because) = look(rule, evidence)?;
            Some(RuleCheck { rule, held, because })
        })
        .collect();
    let default = |held, because| RuleCheck {
        rule: RuleId::WaitDefault,
        held,
        because,
    };
    if evidence.pull.is_archived {
        rules.insert(0, default(true, why_wait(evidence)));
    } else if rules.iter().any(|check| check.held) {
        rules.push(default(false, "a rule before it held".to_owned()));
    } else {
        rules.push(default(true, why_wait(evidence)));
    }
    rules
}

/// One rule; `None` for the default, which has its own place.
fn look(rule: RuleId, evidence: &Evidence<'_>) -> Option<(bool, String)> {
    let pull = evidence.pull;
    Some(match rule {
        RuleId::CloseSuperseded => match &evidence.superseded {
            Some(by) => {
                let other = named(&by.by, &pull.at);
                (
                    true,
                    format!(
                        "superseded by {other} (merged {})",
                        by.merged_at.format("%Y-%m-%d")
                    ),
                )
            }
            None => (
                false,
                "no other merged pull request closed an issue that this one closes".to_owned(),
            ),
        },
        RuleId::CloseAsked => match &evidence.asked {
            Some(asked) => (true, format!("{} asked to close it: {}", asked.by, asked.words)),
            None => (
                false,
                "the latest review that says anything does not ask to close it".to_owned(),
            ),
        },
        RuleId::CloseQueue => match &evidence.hints.queue {
            Some(entry) if entry.is_superseded() => (true, "superseded, says the drip queue".to_owned()),
            Some(entry) => {
                let status =
                    escape::clamp(&escape::line(entry.status.as_deref().unwrap_or("nothing")), SHOWN);
                (false, format!("the drip queue says {status}"))
            }
            None => (false, "not in the drip queue".to_owned()),
        },
        RuleId::InvestigateChangesRequested => match &pull.review_decision {
            Some(ReviewDecision::ChangesRequested) => {
                let by = evidence
                    .changes_requested_by()
                    .map(|(login, _)| format!(" by {login}"));
                (true, format!("changes requested{}", by.unwrap_or_default()))
            }
            decision => (
                false,
                format!("review decision: {}", decision_word(decision.as_ref())),
            ),
        },
        RuleId::InvestigateQuestion => match evidence.questions.last() {
            Some(question) => (
                true,
                format!("{} asked a question: {}", question.by, question.excerpt),
            ),
            None => (false, "no maintainer waits for an answer".to_owned()),
        },
        RuleId::RebaseConflict => {
            let base = escape::clamp(&escape::line(&pull.base.branch), SHOWN);
            match &evidence.mergeable {
                Mergeable::Conflicting => (true, format!("conflicts with {base}")),
                Mergeable::Mergeable => (false, format!("merges into {base} without a conflict")),
                Mergeable::Unknown => (
                    false,
                    "GitHub has not computed yet whether it can be merged".to_owned(),
                ),
                Mergeable::Other(word) => (
                    false,
                    format!("mergeable says {}, unknown here", escape::line(word)),
                ),
            }
        }
        RuleId::RebaseBehind => match pull.behind_by {
            Some(commits) => {
                let base = escape::clamp(&escape::line(&pull.base.branch), SHOWN);
                let because = format!("{base} has {commits} commits that it lacks (limit {BEHIND_LIMIT})");
                (commits > BEHIND_LIMIT, because)
            }
            None => (
                false,
                "GitHub gives no number of commits that it is behind".to_owned(),
            ),
        },
        RuleId::QaCi => (evidence.checks.ci == Ci::Failing, evidence.checks.why.clone()),
        RuleId::QaGate => look_at_gate(evidence),
        RuleId::ShipReady => look_at_ship(evidence),
        RuleId::WaitDefault => return None,
    })
}

fn look_at_gate(evidence: &Evidence<'_>) -> (bool, String) {
    match (evidence.gate_age, evidence.hints.gate.configured) {
        (Some(age), _) => {
            let hours = Hours::from(age);
            (
                age > GATE_MAX_AGE,
                format!("the gate attestation is {hours} h old"),
            )
        }
        (None, true) => (true, "no gate attestation".to_owned()),
        (None, false) => (false, "no gate is configured and none was attested".to_owned()),
    }
}

fn look_at_ship(evidence: &Evidence<'_>) -> (bool, String) {
    let pull = evidence.pull;
    let mut missing = Vec::new();
    if pull.review_decision != Some(ReviewDecision::Approved) {
        missing.push(decision_word(pull.review_decision.as_ref()));
    }
    if pull.is_draft {
        missing.push("draft".to_owned());
    }
    match &evidence.mergeable {
        // Not computed yet counts as mergeable (RFC of the author's half, "Failure modes").
        Mergeable::Mergeable | Mergeable::Unknown => {}
        Mergeable::Conflicting => missing.push("in conflict".to_owned()),
        Mergeable::Other(word) => missing.push(format!("mergeable says {}", escape::line(word))),
    }
    match evidence.unresolved {
        0 => {}
        1 => missing.push("1 unresolved review thread".to_owned()),
        threads => missing.push(format!("{threads} unresolved review threads")),
    }
    if !evidence.checks.counts_as_green() {
        missing.push(evidence.checks.why.clone());
    }
    if !missing.is_empty() {
        return (false, missing.join("; "));
    }
    let ci = if evidence.checks.checks.is_empty() {
        "no checks"
    } else {
        "green CI"
    };
    let queued = pull.merge_queue_position.map(|_| ", in the merge queue");
    let computed = (evidence.mergeable == Mergeable::Unknown).then_some(", mergeability not computed yet");
    let because = format!(
        "approved + {ci}{}{}",
        queued.unwrap_or_default(),
        computed.unwrap_or_default()
    );
    (true, because)
}

/// What stands between it and `ship` is what it waits for.
fn why_wait(evidence: &Evidence<'_>) -> String {
    if evidence.pull.is_archived {
        return "the repository is archived: nothing can be done".to_owned();
    }
    let (_, missing) = look_at_ship(evidence);
    missing
}

/// A pull request as it is named beside another: `#12` within one repository.
fn named(other: &PrRef, own: &PrRef) -> String {
    if other.repo == own.repo {
        format!("#{}", other.number)
    } else {
        other.to_string()
    }
}

pub(crate) fn decision_word(decision: Option<&ReviewDecision>) -> String {
    match decision {
        Some(ReviewDecision::Approved) => "approved".to_owned(),
        Some(ReviewDecision::ChangesRequested) => "changes requested".to_owned(),
        Some(ReviewDecision::ReviewRequired) => "review required".to_owned(),
        Some(ReviewDecision::Other(word)) if !word.is_empty() => {
            format!("review decision {}, unknown here", escape::line(word))
        }
        Some(ReviewDecision::Other(_)) | None => "no review required and none given".to_owned(),
    }
}
