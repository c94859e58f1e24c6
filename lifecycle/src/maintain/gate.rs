//! The ready gate: whether a maintainer is wanted now, and which condition fails (RFC, "Ready gate").

use std::borrow::Cow;

use chrono::{Datelike as _, TimeDelta};
use pulls::escape;
use pulls::facts::{MergeState, Mergeable, PullState, ReviewDecision, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{self, Checked};
use super::evidence::{Evidence, HeadReview, Required};
use super::settings::Settings;

/// A condition of the ready gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateId {
    /// It is open and no draft.
    Open,
    /// A person did something lately.
    Active,
    /// Its head was reviewed.
    Reviewed,
    /// No finding of weight is open.
    Findings,
    /// It is known which checks are required.
    RequiredKnown,
    /// No workflow waits for a maintainer's approval: until then its checks do not begin.
    Approval,
    /// Every required and watched check passed.
    Checks,
    /// GitHub would merge it.
    Mergeable,
    /// It is known how many review threads are unresolved.
    Threads,
}

impl GateId {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 9] = [
        Self::Open,
        Self::Active,
        Self::Reviewed,
        Self::Findings,
        Self::RequiredKnown,
        Self::Approval,
        Self::Checks,
        Self::Mergeable,
        Self::Threads,
    ];
}

/// One condition and whether it is met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateCondition {
    /// Which.
    pub id: GateId,
    /// Whether it is met. The gate passes when all are.
    pub held: bool,
    /// The evidence, for a person: one line, safe for a terminal.
    pub because: String,
}

/// Every condition of the gate with its evidence.
///
/// ```
/// use lifecycle::maintain::{Settings, build, gate};
/// let conditions = gate(&build::ready("o/r#7").done(), &Settings::default());
/// assert!(conditions.iter().all(|condition| condition.held));
/// ```
pub fn gate(evidence: &Evidence, settings: &Settings) -> Vec<GateCondition> {
    GateId::ALL
        .into_iter()
        .map(|id| GateCondition {
            id,
            held: holds(id, evidence, settings),
            because: because(id, evidence, settings),
        })
        .collect()
}

/// The first condition that is not met; `None` where the gate passes.
pub(super) fn first_failure(evidence: &Evidence, settings: &Settings) -> Option<GateId> {
    GateId::ALL.into_iter().find(|id| !holds(*id, evidence, settings))
}

fn holds(id: GateId, evidence: &Evidence, settings: &Settings) -> bool {
    match id {
        GateId::Open => evidence.state == PullState::Open && !evidence.is_draft,
        GateId::Active => !evidence.is_managed(settings) || evidence.idle() < settings.stale_after,
        GateId::Reviewed => matches!(evidence.reviews.of_head, HeadReview::Completed { .. }),
        GateId::Findings => evidence.findings.open == 0,
        GateId::RequiredKnown => matches!(evidence.required, Required::Known(_)),
        GateId::Checks => {
            let is_known = matches!(evidence.required, Required::Known(_));
            is_known && checks::verdict(evidence, settings) == Checked::Passed
        }
        GateId::Approval => !checks::awaits_approval(evidence),
        GateId::Mergeable => is_mergeable(evidence),
        GateId::Threads => evidence.unresolved_threads.is_some(),
    }
}

/// Whether it is in conflict with its base, as last known.
pub(super) fn is_conflicting(evidence: &Evidence) -> bool {
    let known = &evidence.mergeability;
    known.mergeable == Mergeable::Conflicting || known.merge_state == MergeState::Dirty
}

/// Whether GitHub would merge this head, but for the reviews that it requires.
fn is_mergeable(evidence: &Evidence) -> bool {
    let known = &evidence.mergeability;
    known.seen_on.as_ref() == Some(&evidence.head.sha)
        && !is_conflicting(evidence)
        && match known.merge_state {
            MergeState::Clean | MergeState::HasHooks => true,
            MergeState::Blocked => is_blocked_by_review_alone(evidence),
            _ => false,
        }
}

/// Whether nothing that can be read keeps it from being merged but a missing review (field case B037).
fn is_blocked_by_review_alone(evidence: &Evidence) -> bool {
    evidence.review_decision == Some(ReviewDecision::ReviewRequired) && evidence.unresolved_threads == Some(0)
}

pub(super) fn because(id: GateId, evidence: &Evidence, settings: &Settings) -> String {
    match id {
        GateId::Open if evidence.is_draft => "it is a draft".to_owned(),
        GateId::Open => format!("it is {}", escape::line(&evidence.state.as_str().to_lowercase())),
        GateId::Active if !evidence.is_managed(settings) => "a label exempts it from the clock".to_owned(),
        GateId::Active => format!("no person did anything for {}", days(evidence.idle())),
        GateId::Reviewed => match &evidence.reviews.of_head {
            HeadReview::Completed { at, .. } => {
                let mut out = "its head was reviewed on ".to_owned();
                push_day(&mut out, *at);
                out
            }
            HeadReview::None => "its head was not reviewed".to_owned(),
            HeadReview::Queued => "the review of its head is queued".to_owned(),
            HeadReview::Running => "the review of its head is running".to_owned(),
            HeadReview::Failed => "the review of its head failed".to_owned(),
        },
        GateId::Findings => match (evidence.findings.open, evidence.findings.disputed) {
            (0, 0) => "no blocker or major finding is open".to_owned(),
            (0, disputed) => {
                format!("no blocker or major finding is open; {disputed} disputed by the author")
            }
            (1, _) => "1 blocker or major finding is open".to_owned(),
            (open, _) => format!("{open} blocker or major findings are open"),
        },
        GateId::RequiredKnown => match &evidence.required {
            Required::Known(required) if required.is_empty() => "its base requires no check".to_owned(),
            Required::Known(required) if required.len() == 1 => "its base requires 1 check".to_owned(),
            Required::Known(required) => format!("its base requires {} checks", required.len()),
            Required::Unknown { why } => format!("the required checks are not known: {}", escape::line(why)),
        },
        GateId::Checks => checks::in_words(evidence, settings),
        GateId::Approval if checks::awaits_approval(evidence) => {
            "waiting for a maintainer to approve its workflows".to_owned()
        }
        GateId::Approval => "no workflow waits for an approval".to_owned(),
        GateId::Mergeable => {
            let mut out = String::with_capacity(64);
            say_mergeable(&mut out, evidence, settings);
            out
        }
        GateId::Threads => match evidence.unresolved_threads {
            Some(0) => "no review thread is unresolved".to_owned(),
            Some(1) => "1 review thread is unresolved, which holds nothing by itself".to_owned(),
            Some(count) => format!("{count} review threads are unresolved, which holds nothing by itself"),
            None => "it is not known how many review threads are unresolved".to_owned(),
        },
    }
}

/// Adds to a sentence whether it can be merged.
pub(super) fn say_mergeable(out: &mut String, evidence: &Evidence, settings: &Settings) {
    const NOT_SAID: &str = "GitHub has not said yet whether it can be merged";
    let known = &evidence.mergeability;
    if is_conflicting(evidence) {
        out.push_str("in conflict with its base");
        return;
    }
    if known.seen_on.as_ref() != Some(&evidence.head.sha) {
        out.push_str(NOT_SAID);
        return;
    }
    match &known.merge_state {
        MergeState::Clean | MergeState::HasHooks => out.push_str("GitHub would merge it"),
        MergeState::Blocked => out.push_str(&blocked_by(evidence, settings)),
        MergeState::Behind => out.push_str("its base must be merged into it first"),
        MergeState::Unstable => out.push_str("a check that is not required fails or is pending"),
        MergeState::Unknown => out.push_str(NOT_SAID),
        other => {
            out.push_str("GitHub says ");
            escape::push_line(out, other.as_str());
        }
    }
    if known.is_stale {
        out.push_str(", as last known");
    }
}

/// What of a blocked pull request can be read; never a guess (field case B036).
fn blocked_by(evidence: &Evidence, settings: &Settings) -> Cow<'static, str> {
    match (&evidence.review_decision, evidence.unresolved_threads) {
        _ if checks::verdict(evidence, settings) != Checked::Passed => {
            "blocked by GitHub, and not every required check passed".into()
        }
        (Some(ReviewDecision::ChangesRequested), _) => "a reviewer requests changes".into(),
        (Some(ReviewDecision::ReviewRequired), Some(0)) => "only a review is missing".into(),
        (Some(ReviewDecision::ReviewRequired), Some(1)) => {
            "a review is missing, and 1 review thread is unresolved".into()
        }
        (Some(ReviewDecision::ReviewRequired), Some(count)) => {
            format!("a review is missing, and {count} review threads are unresolved").into()
        }
        (Some(ReviewDecision::ReviewRequired), None) => {
            "a review is missing, and it is not known how many review threads are unresolved".into()
        }
        _ => "blocked by GitHub, cause not visible to this token".into(),
    }
}

/// A span in whole days; one of less than a day in hours.
pub(super) fn days(span: TimeDelta) -> String {
    match (span.num_days(), span.num_hours()) {
        (0, 1) => "1 hour".to_owned(),
        (0, hours) => format!("{hours} hours"),
        (1, _) => "1 day".to_owned(),
        (days, _) => format!("{days} days"),
    }
}

/// Adds a date to a sentence, by hand, since a projection does it for every pull request.
pub(super) fn push_day(out: &mut String, at: Time) {
    let date = at.date_naive();
    let Ok(year @ 0..=9_999) = u32::try_from(date.year()) else {
        out.push_str(&date.to_string());
        return;
    };
    for (value, digits, mark) in [(year, 4, ""), (date.month(), 2, "-"), (date.day(), 2, "-")] {
        out.push_str(mark);
        for place in (0..digits).rev() {
            let digit = value / 10_u32.pow(place) % 10;
            out.push(char::from_digit(digit, 10).unwrap_or('0'));
        }
    }
}
