//! The rules again, from what was recorded of a pull request instead of from GitHub.

use pulls::checks::Ci;
use pulls::escape;
use pulls::facts::Mergeable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bucket::RuleId;
use crate::rules::{BEHIND_LIMIT, decision_word};
use crate::signals::Signals;
use crate::snapshot::Row;

/// One rule, as it was found when the pull request was last looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recalled {
    /// Which.
    pub rule: RuleId,
    /// Whether it held.
    pub held: bool,
    /// Whether it is the one that decided: the first that held.
    pub decides: bool,
    /// The evidence, for a person: one line, safe for a terminal; markdown in it is not escaped.
    pub because: String,
    /// What would make it otherwise.
    pub would_change: String,
}

/// Every rule in order, with what the recorded signals say of it (contract, section 2: `sweep why`).
///
/// [`rules`](crate::rules) knows more: it sees the facts themselves. What was recorded tells of each rule whether it
/// held, and of the one that decided why.
pub fn recall(row: &Row) -> Vec<Recalled> {
    let mut order = RuleId::ALL.to_vec();
    if row.signals.archived {
        // It is looked at before every rule.
        order.rotate_right(1);
    }
    order
        .into_iter()
        .map(|rule| {
            let decides = rule == row.rule;
            let held = decides || row.signals.also.contains(&rule);
            Recalled {
                rule,
                held,
                decides,
                because: match decides {
                    true => escape::line(&row.reason),
                    false => because(rule, held, &row.signals),
                },
                would_change: would_change(rule, held).to_owned(),
            }
        })
        .collect()
}

/// What the signals say of a rule that did not decide.
fn because(rule: RuleId, held: bool, signals: &Signals) -> String {
    match (rule, held) {
        (RuleId::CloseSuperseded, true) => "another merged pull request closed its issue".to_owned(),
        (RuleId::CloseSuperseded, false) => {
            "no other merged pull request closed an issue that this one closes".to_owned()
        }
        (RuleId::CloseAsked, true) => "a maintainer asked to close it".to_owned(),
        (RuleId::CloseAsked, false) => {
            "the latest review that says anything does not ask to close it".to_owned()
        }
        (RuleId::CloseQueue, true) => "superseded, says the drip queue".to_owned(),
        (RuleId::CloseQueue, false) => "the drip queue does not say that it is superseded".to_owned(),
        (RuleId::InvestigateChangesRequested, _) => {
            format!("review decision: {}", decision_word(signals.review.as_ref()))
        }
        (RuleId::InvestigateQuestion, _) => match signals.maintainer_question {
            true => "a maintainer asked something and has no answer".to_owned(),
            false => "no maintainer waits for an answer".to_owned(),
        },
        (RuleId::RebaseConflict, _) => mergeable(&signals.mergeable),
        (RuleId::RebaseBehind, _) => match signals.behind_by {
            Some(commits) => format!("its base has {commits} commits that it lacks (limit {BEHIND_LIMIT})"),
            None => "GitHub gives no number of commits that it is behind".to_owned(),
        },
        (RuleId::QaCi, _) => checks(signals),
        (RuleId::QaGate, held) => match signals.gate_stale_h {
            Some(hours) => format!("the gate attestation was {hours} h old"),
            None if held => "no gate attestation".to_owned(),
            None => "no gate is configured and none was attested".to_owned(),
        },
        (RuleId::ShipReady, true) => "approved, and nothing stands in the way".to_owned(),
        (RuleId::ShipReady, false) => missing(signals),
        (RuleId::WaitDefault, _) => "a rule before it held".to_owned(),
    }
}

fn mergeable(mergeable: &Mergeable) -> String {
    match mergeable {
        Mergeable::Conflicting => "conflicts with its base".to_owned(),
        Mergeable::Mergeable => "merges without a conflict".to_owned(),
        Mergeable::Unknown => "GitHub had not computed yet whether it can be merged".to_owned(),
        Mergeable::Other(word) => format!("mergeable says {}, unknown here", escape::line(word)),
    }
}

fn checks(signals: &Signals) -> String {
    let check = signals.check.as_deref().map(escape::line);
    match (&signals.ci, check) {
        (Ci::Failing, Some(check)) => format!("{check} fails"),
        (Ci::Failing, None) => "a check fails".to_owned(),
        (Ci::Pending, Some(check)) => format!("{check} has no result yet"),
        (Ci::Pending, None) => "checks have no result yet".to_owned(),
        (Ci::Green, _) => "the checks are green".to_owned(),
        (Ci::Unknown, Some(check)) => format!("{check} says what this program does not know"),
        (Ci::Unknown, None) => "there are no checks".to_owned(),
    }
}

/// What stood between it and `ship`.
fn missing(signals: &Signals) -> String {
    let mut missing = Vec::new();
    if signals.review != Some(pulls::facts::ReviewDecision::Approved) {
        missing.push(decision_word(signals.review.as_ref()));
    }
    if signals.draft {
        missing.push("draft".to_owned());
    }
    if matches!(signals.mergeable, Mergeable::Conflicting | Mergeable::Other(_)) {
        missing.push(mergeable(&signals.mergeable));
    }
    match signals.unresolved_threads {
        0 => {}
        1 => missing.push("1 unresolved review thread".to_owned()),
        threads => missing.push(format!("{threads} unresolved review threads")),
    }
    // No checks at all count as green.
    if signals.ci != Ci::Green && (signals.ci != Ci::Unknown || signals.check.is_some()) {
        missing.push(checks(signals));
    }
    match missing.is_empty() {
        true => "a rule before it held".to_owned(),
        false => missing.join("; "),
    }
}

fn would_change(rule: RuleId, held: bool) -> &'static str {
    match (rule, held) {
        (RuleId::CloseSuperseded, true) => "the issue is opened again",
        (RuleId::CloseSuperseded, false) => "another pull request that closes the same issue is merged",
        (RuleId::CloseAsked, true) => "a later review that says something else",
        (RuleId::CloseAsked, false) => "a maintainer's review asks to close it",
        (RuleId::CloseQueue, true) => "the drip queue has another last line about it",
        (RuleId::CloseQueue, false) => "the drip queue calls it superseded",
        (RuleId::InvestigateChangesRequested, true) => "the reviewer approves, or the review is dismissed",
        (RuleId::InvestigateChangesRequested, false) => "a reviewer requests changes",
        (RuleId::InvestigateQuestion, true) => "its author answers, or pushes",
        (RuleId::InvestigateQuestion, false) => "a maintainer asks something",
        (RuleId::RebaseConflict, true) => "a rebase without the conflict",
        (RuleId::RebaseConflict, false) => "its base moves in its way",
        (RuleId::RebaseBehind, true) => "a rebase",
        (RuleId::RebaseBehind, false) => "its base moves on by more than the limit",
        (RuleId::QaCi, true) => "the checks pass",
        (RuleId::QaCi, false) => "a check fails",
        (RuleId::QaGate, true) => "the gate passes on its head",
        (RuleId::QaGate, false) => "the attestation grows older than 24 hours, or goes missing",
        (RuleId::ShipReady, true) => "it is merged, or something comes in the way",
        (RuleId::ShipReady, false) => "it is approved, green, mergeable, no draft, and no thread is open",
        (RuleId::WaitDefault, true) => "any other rule holds",
        (RuleId::WaitDefault, false) => "no other rule holds",
    }
}

#[cfg(test)]
mod tests {
    use pulls::build;

    use super::*;
    use crate::{Hints, RuleCheck, Settings, classify, rules};

    /// Whatever the pull request: what is recalled of it holds and fails as it did, in the same order.
    #[test]
    fn what_was_recorded_tells_of_every_rule_whether_it_held() {
        let hints = Hints::default();
        let settings = Settings::default();
        for pull in [
            build::pull("o/r", 7).build(),
            build::pull("o/r", 7).draft().build(),
            build::pull("o/r", 7).approved().build(),
            build::pull("o/r", 7).approved().no_checks().build(),
            build::pull("o/r", 7).check(build::run("lint").failed()).build(),
            build::pull("o/r", 7).changes_requested().conflicting().build(),
            build::pull("o/r", 7).behind(51).build(),
            build::pull("o/r", 7).archived().build(),
            build::pull("o/r", 7)
                .closed_by_other(3, 4, Some(build::at("2026-05-13T09:00:00Z")))
                .behind(900)
                .build(),
        ] {
            let verdict = classify(&pull, &hints, &settings, build::now())
                .verdict()
                .unwrap();
            let row = Row::of(&verdict, "m".to_owned(), "qa".to_owned());
            let recalled = recall(&row);
            let looked: Vec<RuleCheck> = rules(&pull, &hints, &settings, build::now());
            let held = |rule, held| (rule, held);
            assert_eq!(
                recalled
                    .iter()
                    .map(|one| held(one.rule, one.held))
                    .collect::<Vec<_>>(),
                looked
                    .iter()
                    .map(|one| held(one.rule, one.held))
                    .collect::<Vec<_>>(),
            );
            let decides: Vec<_> = recalled.iter().filter(|one| one.decides).collect();
            assert_eq!(decides.len(), 1);
            assert_eq!(decides[0].because, verdict.reason);
            assert!(
                recalled
                    .iter()
                    .all(|one| !one.because.is_empty() && !one.would_change.is_empty())
            );
        }
    }
}
