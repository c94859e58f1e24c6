//! The ready gate: whether a maintainer is wanted now, and which condition fails (RFC, "Ready gate").

use chrono::TimeDelta;
use pulls::checks::Standing;
use pulls::escape;
use pulls::facts::{MergeState, Mergeable, PullState, ReviewDecision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::{CheckSeen, Evidence, HeadReview, Required, RequiredOutcome, RequiredSeen};
use super::settings::Settings;

/// So long after its head was first seen a required check that reported nothing is named as the one that never did
/// (field case B014).
pub const NEVER_REPORTED_AFTER: TimeDelta = TimeDelta::minutes(60);

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
    /// Every required and watched check passed.
    Checks,
    /// No workflow waits for a maintainer's approval.
    Approval,
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
        Self::Checks,
        Self::Approval,
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
        GateId::Checks => verdict(evidence, settings) == Checked::Passed,
        GateId::Approval => !awaits_approval(evidence),
        GateId::Mergeable => is_mergeable(evidence),
        GateId::Threads => evidence.unresolved_threads.is_some(),
    }
}

/// What the required and the watched checks come to together, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Checked {
    /// One failed.
    Failed,
    /// None failed, and one was cancelled.
    Cancelled,
    /// A required one was skipped beside a failure (field case B009).
    Skipped,
    /// One reported nothing for [`NEVER_REPORTED_AFTER`], or only another app did.
    Missing,
    /// One has no result yet, or one that this program does not know.
    Pending,
    /// All passed.
    Passed,
}

impl Checked {
    /// Whether a check is red.
    pub(super) fn is_red(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled)
    }
}

/// What the required and the watched checks come to. Where the required set is not known, the watched ones alone.
pub(super) fn verdict(evidence: &Evidence, settings: &Settings) -> Checked {
    let required = required(evidence).iter().map(|seen| of_required(seen, evidence));
    let watched = settings
        .watched_checks
        .iter()
        .map(|name| of_watched(name, evidence));
    required.chain(watched).min().unwrap_or(Checked::Passed)
}

fn required(evidence: &Evidence) -> &[RequiredSeen] {
    match &evidence.required {
        Required::Known(required) => required,
        Required::Unknown { .. } => &[],
    }
}

fn of_required(seen: &RequiredSeen, evidence: &Evidence) -> Checked {
    match seen.outcome {
        RequiredOutcome::Passed => Checked::Passed,
        RequiredOutcome::SkippedBesideFailure => Checked::Skipped,
        RequiredOutcome::Pending | RequiredOutcome::Unknown => Checked::Pending,
        RequiredOutcome::Missing => missing(evidence),
        RequiredOutcome::OtherApp => Checked::Missing,
        RequiredOutcome::Cancelled => Checked::Cancelled,
        RequiredOutcome::Failed => Checked::Failed,
    }
}

/// Nothing was reported: not yet, or never.
fn missing(evidence: &Evidence) -> Checked {
    match evidence.now - evidence.head.first_seen_at < NEVER_REPORTED_AFTER {
        true => Checked::Pending,
        false => Checked::Missing,
    }
}

fn of_watched(name: &str, evidence: &Evidence) -> Checked {
    let reported = evidence.checks.iter().filter(|check| check.name == name);
    reported
        .map(|check| match check.standing {
            Standing::Passed | Standing::Skipped => Checked::Passed,
            Standing::Failed => Checked::Failed,
            Standing::Cancelled => Checked::Cancelled,
            Standing::Running
            | Standing::Stale
            | Standing::NeedsAction
            | Standing::AwaitsApproval
            | Standing::Unknown => Checked::Pending,
        })
        .min()
        .unwrap_or_else(|| missing(evidence))
}

/// The required and watched checks that are of one kind, by the names that a person knows.
pub(super) fn named(evidence: &Evidence, settings: &Settings, kind: Checked) -> Vec<String> {
    let required = required(evidence)
        .iter()
        .filter(|seen| of_required(seen, evidence) == kind)
        .map(|seen| match seen.outcome {
            RequiredOutcome::OtherApp => format!("{} (reported by another app)", seen.check.context),
            RequiredOutcome::Cancelled => format!("{} (cancelled, needs a re-run)", seen.check.context),
            _ => seen.check.context.clone(),
        });
    let watched = settings
        .watched_checks
        .iter()
        .filter(|name| of_watched(name, evidence) == kind)
        .cloned();
    let mut names: Vec<String> = required.chain(watched).map(|name| escape::line(&name)).collect();
    names.sort();
    names.dedup();
    names
}

/// How many names a sentence lists before it counts the rest.
const NAMED: usize = 3;

/// Names in a sentence.
pub(super) fn listed(names: &[String]) -> String {
    match names.len().checked_sub(NAMED) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}

/// What stands in the way of the checks, in words; `None` where nothing does.
pub(super) fn checks_say(evidence: &Evidence, settings: &Settings) -> String {
    let kind = verdict(evidence, settings);
    let names = listed(&named(evidence, settings, kind));
    match kind {
        Checked::Failed | Checked::Cancelled => {
            let too: Vec<String> = evidence
                .base_red
                .iter()
                .filter(|name| named(evidence, settings, kind).contains(name))
                .cloned()
                .collect();
            match too.is_empty() {
                true => format!("red: {names}"),
                false => format!("red: {names}; red on the base too: {}", listed(&too)),
            }
        }
        Checked::Skipped => format!("skipped beside a failure of the same run: {names}"),
        Checked::Missing => format!("required and never reported: {names}"),
        Checked::Pending => format!("waiting for: {names}"),
        Checked::Passed if required(evidence).is_empty() && settings.watched_checks.is_empty() => {
            "no check is required".to_owned()
        }
        Checked::Passed => "every required check passed".to_owned(),
    }
}

pub(super) fn awaits_approval(evidence: &Evidence) -> bool {
    evidence
        .checks
        .iter()
        .any(|check: &CheckSeen| check.standing == Standing::AwaitsApproval)
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
        GateId::Open => format!("it is {}", evidence.state.as_str().to_lowercase()),
        GateId::Active if !evidence.is_managed(settings) => "a label exempts it from the clock".to_owned(),
        GateId::Active => format!("no person did anything for {}", days(evidence.idle())),
        GateId::Reviewed => match &evidence.reviews.of_head {
            HeadReview::Completed { at, .. } => format!("its head was reviewed on {}", at.format("%Y-%m-%d")),
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
        GateId::Checks => checks_say(evidence, settings),
        GateId::Approval if awaits_approval(evidence) => {
            "waiting for a maintainer to approve its workflows".to_owned()
        }
        GateId::Approval => "no workflow waits for an approval".to_owned(),
        GateId::Mergeable => mergeability_says(evidence),
        GateId::Threads => match evidence.unresolved_threads {
            Some(0) => "no review thread is unresolved".to_owned(),
            Some(1) => "1 review thread is unresolved, which holds nothing by itself".to_owned(),
            Some(count) => format!("{count} review threads are unresolved, which holds nothing by itself"),
            None => "it is not known how many review threads are unresolved".to_owned(),
        },
    }
}

fn mergeability_says(evidence: &Evidence) -> String {
    let known = &evidence.mergeability;
    if is_conflicting(evidence) {
        return "in conflict with its base".to_owned();
    }
    if known.seen_on.as_ref() != Some(&evidence.head.sha) {
        return "GitHub has not said yet whether it can be merged".to_owned();
    }
    let said = match &known.merge_state {
        MergeState::Clean | MergeState::HasHooks => "GitHub would merge it".to_owned(),
        MergeState::Blocked if is_blocked_by_review_alone(evidence) => "only a review is missing".to_owned(),
        MergeState::Blocked => blocked_by(evidence),
        MergeState::Behind => "its base must be merged into it first".to_owned(),
        MergeState::Unstable => "a check that is not required fails or is pending".to_owned(),
        MergeState::Unknown => "GitHub has not said yet whether it can be merged".to_owned(),
        other => format!("GitHub says {}", escape::line(other.as_str())),
    };
    match known.is_stale {
        true => format!("{said}, as last known"),
        false => said,
    }
}

/// What of a blocked pull request can be read (field case B036).
fn blocked_by(evidence: &Evidence) -> String {
    match (&evidence.review_decision, evidence.unresolved_threads) {
        (Some(ReviewDecision::ChangesRequested), _) => "a reviewer requests changes".to_owned(),
        (Some(ReviewDecision::ReviewRequired), Some(1)) => {
            "a review is missing, and 1 review thread is unresolved".to_owned()
        }
        (Some(ReviewDecision::ReviewRequired), Some(count)) => {
            format!("a review is missing, and {count} review threads are unresolved")
        }
        _ => "blocked by GitHub, cause not visible to this token".to_owned(),
    }
}

/// A span in whole days.
pub(super) fn days(span: TimeDelta) -> String {
    match span.num_days() {
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}
