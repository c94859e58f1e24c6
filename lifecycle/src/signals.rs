//! What a classification saw, as it stands in messages, on cards and in `--json`.

use std::fmt;

use chrono::TimeDelta;
use pulls::checks::{CheckLine, Ci};
use pulls::facts::{MergeState, Mergeable, ReviewDecision};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bucket::RuleId;
use crate::evidence::Evidence;

/// How many checks of one standing the signals name. A matrix build can fail a few hundred times at once,
/// and a message has a bound.
pub const MAX_NAMED_CHECKS: usize = 50;

/// A number of hours with one decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "f64")]
pub struct Hours {
    tenths: i64,
}

impl Hours {
    /// The number.
    pub fn get(self) -> f64 {
        // Exact: no span of time that chrono can hold has more than 2^53 tenths of an hour.
        self.tenths as f64 / 10.0
    }
}

impl From<TimeDelta> for Hours {
    /// Rounded to the nearest tenth of an hour, six minutes.
    fn from(span: TimeDelta) -> Self {
        const TENTH_MS: i64 = 6 * 60 * 1000;
        Self {
            tenths: (span.num_milliseconds() + TENTH_MS / 2).div_euclid(TENTH_MS),
        }
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}", self.get())
    }
}

impl Serialize for Hours {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hours = f64::deserialize(deserializer)?;
        // Saturates, which is as good as any answer to a number of hours that no clock can show.
        Ok(Self {
            tenths: (hours * 10.0).round() as i64,
        })
    }
}

/// Everything that a classification looked at, whichever rule decided (field case B054). Absent values are
/// null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Signals {
    /// `reviewDecision`.
    pub review: Option<ReviewDecision>,
    /// `MERGEABLE`, `CONFLICTING` or `UNKNOWN`.
    pub mergeable: Mergeable,
    /// What the checks say together.
    pub ci: Ci,
    /// Hours since GitHub last changed anything of it.
    pub activity_h: Hours,
    /// Whether a maintainer asked something after the head commit and has no answer.
    pub maintainer_question: bool,
    /// Commits on the base since the merge base.
    pub behind_by: Option<u64>,
    /// Age of the gate attestation in hours.
    pub gate_stale_h: Option<Hours>,
    /// The check that decided, or stands in the way: the first that fails.
    pub check: Option<String>,
    /// Checks that fail, at most [`MAX_NAMED_CHECKS`].
    pub failing: Vec<String>,
    /// Checks without a result, at most [`MAX_NAMED_CHECKS`].
    pub pending: Vec<String>,
    /// Checks that have been pending for more than a day (field case B020).
    pub stuck: Vec<String>,
    /// How many checks were skipped or are neutral; they pass and are shown apart (field case B008).
    pub skipped: u64,
    /// Whether workflows wait for a maintainer's approval (field case B013).
    pub awaiting_approval: bool,
    /// Whether the repository is archived.
    pub archived: bool,
    /// Whether it is a draft.
    pub draft: bool,
    /// GitHub's word for the merge button, `BEHIND` among them (field case B039).
    pub merge_state: MergeState,
    /// Its place in the merge queue.
    pub merge_queue_position: Option<u64>,
    /// Review threads that nobody resolved.
    pub unresolved_threads: u64,
    /// Whether the fork of its head was deleted (field case B065).
    pub fork_deleted: bool,
    /// The other rules that held.
    pub also: Vec<RuleId>,
}

impl Signals {
    pub(crate) fn of(evidence: &Evidence<'_>, also: Vec<RuleId>) -> Self {
        let pull = evidence.pull;
        let checks = &evidence.checks;
        let failing = names(checks.failing());
        Self {
            // GitHub's clients write an empty string where it means none (field case B049).
            review: pull
                .review_decision
                .clone()
                .filter(|decision| !decision.as_str().is_empty()),
            mergeable: evidence.mergeable.clone(),
            ci: checks.ci,
            activity_h: evidence.quiet_for.into(),
            maintainer_question: !evidence.questions.is_empty(),
            behind_by: pull.behind_by,
            gate_stale_h: evidence.gate_age.map(Hours::from),
            check: failing.first().cloned(),
            failing,
            pending: names(checks.pending()),
            stuck: names(checks.stuck()),
            skipped: checks
                .checks
                .iter()
                .filter(|check| check.standing == pulls::checks::Standing::Skipped)
                .count() as u64,
            awaiting_approval: checks.awaiting_approval().next().is_some(),
            archived: pull.is_archived,
            draft: pull.is_draft,
            merge_state: pull.merge_state.clone(),
            merge_queue_position: pull.merge_queue_position,
            unresolved_threads: evidence.unresolved as u64,
            fork_deleted: pull.head.repo.is_none(),
            also,
        }
    }
}

fn names<'a>(checks: impl Iterator<Item = &'a CheckLine>) -> Vec<String> {
    checks
        .take(MAX_NAMED_CHECKS)
        .map(|check| check.name.clone())
        .collect()
}
