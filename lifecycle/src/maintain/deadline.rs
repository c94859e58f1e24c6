//! When a pull request is looked at again though nothing is known to have changed (RFC, "Per-cycle reconciler").

use chrono::TimeDelta;
use pulls::checks::Ci;
use pulls::facts::{MergeState, Mergeable, PullState, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{Checked, NEVER_REPORTED_AFTER, is_any_missing, verdict};
use super::clocks::Rung;
use super::evidence::{Evidence, HeadReview, Required, RequiredOutcome};
use super::settings::Settings;

/// What is not final is read again after this long (field case B021): one takt.
pub const REREAD: TimeDelta = TimeDelta::seconds(120);

/// Why a pull request is looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeadlineKind {
    /// Its owner is looked for: in the next cycle.
    Route,
    /// Something that it wants said is tried again: in the next cycle.
    Retry,
    /// Its checks or its mergeability are not final.
    Reread,
    /// Its unresolved findings are looked at for a dispute.
    DisputeScan,
    /// A required check counts as never reported.
    NeverReported,
    /// Day 7.
    Stale,
    /// Day 14.
    Park,
    /// Day 30.
    Close,
    /// The next nightly sweep.
    Sweep,
}

/// The next time that a pull request is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Deadline {
    /// When.
    pub at: Time,
    /// Why.
    pub what: DeadlineKind,
}

impl DeadlineKind {
    /// What happens then, for a person.
    pub fn says(self) -> &'static str {
        match self {
            Self::Route => "its owner is looked for",
            Self::Retry => "what it wants said is tried again",
            Self::Reread => "what was not final is read again",
            Self::DisputeScan => "its findings are looked at for a dispute",
            Self::NeverReported => "a required check counts as never reported",
            Self::Stale => "it is stale unless a person does something",
            Self::Park => "it is parked unless a person does something",
            Self::Close => "closing it is suggested unless a person does something",
            Self::Sweep => "the nightly sweep",
        }
    }
}

impl Evidence {
    /// Whether its checks or its mergeability may change without a trace in the list of pull requests. Nothing changes in
    /// a repository that is read-only.
    pub fn is_pending(&self) -> bool {
        let known = &self.mergeability;
        let unknown = known.is_stale
            || known.seen_on.as_ref() != Some(&self.head.sha)
            || known.mergeable == Mergeable::Unknown
            || known.merge_state == MergeState::Unknown;
        let may_change = self.state == PullState::Open && !self.is_draft && !self.is_archived;
        // One that never reported may do so yet, hours later.
        let missing = match &self.required {
            Required::Known(required) => required
                .iter()
                .any(|seen| matches!(seen.outcome, RequiredOutcome::Missing | RequiredOutcome::OtherApp)),
            Required::Unknown { .. } => false,
        };
        may_change && (self.ci == Ci::Pending || unknown || missing)
    }

    /// Whether this is the same evidence, seen at another time.
    pub fn same_but_for_time(&self, other: &Self) -> bool {
        Self {
            now: other.now,
            ..self.clone()
        } == *other
    }
}

/// Every deadline of a pull request, the earliest first. `first_seen` is when this very evidence was first recorded:
/// what is to be read again is due a while after that and then stays due, so that a look that finds nothing new
/// changes no row. The scan for disputes, the boundaries of the clock and the sweep are always still to come.
pub fn deadlines(evidence: &Evidence, first_seen: Time, settings: &Settings) -> Vec<Deadline> {
    if evidence.state != PullState::Open || evidence.is_draft {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut add = |what, at| found.push(Deadline { at, what });
    if evidence.assignment.is_none() {
        add(DeadlineKind::Route, first_seen);
    }
    let waits_for_checks = !evidence.is_archived && verdict(evidence, settings) == Checked::Pending;
    if evidence.is_pending() || waits_for_checks {
        add(DeadlineKind::Reread, later(first_seen, REREAD));
    }
    if evidence.findings.open > 0 || evidence.findings.disputed > 0 {
        let at = next_of_grid(first_seen, settings.dispute_scan_every, evidence.now);
        add(DeadlineKind::DisputeScan, at);
    }
    let never = later(evidence.head.first_seen_at, NEVER_REPORTED_AFTER);
    if never > evidence.now && is_any_missing(evidence, settings) {
        add(DeadlineKind::NeverReported, never);
    }
    let managed = evidence.is_managed(settings);
    if let Some((rung, at)) = evidence.next_rung(settings).filter(|_| managed) {
        let what = match rung {
            Rung::Stale => DeadlineKind::Stale,
            Rung::Park => DeadlineKind::Park,
            Rung::Close => DeadlineKind::Close,
        };
        add(what, at);
    }
    let is_idle = managed && evidence.rung(settings).is_some();
    let is_unreviewed = matches!(evidence.reviews.of_head, HeadReview::None | HeadReview::Failed);
    if settings.auto_review.is_on && is_unreviewed && !is_idle {
        add(DeadlineKind::Sweep, settings.auto_review.next(evidence.now));
    }
    found.sort();
    found
}

/// A moment so much later, or the end of the calendar.
fn later(at: Time, by: TimeDelta) -> Time {
    at.checked_add_signed(by).unwrap_or(Time::MAX_UTC)
}

/// The first moment after `now` that is a whole number of steps, at least one, after `start`.
fn next_of_grid(start: Time, step: TimeDelta, now: Time) -> Time {
    let step = step.num_seconds().max(1);
    let gone = (now - start).num_seconds().max(0) / step;
    let span = (gone + 1).checked_mul(step).and_then(TimeDelta::try_seconds);
    span.map_or(Time::MAX_UTC, |span| later(start, span))
}
