//! What the checks of a pull request's head say together (contract, section 4, "Checks").
//!
//! GitHub's own rollup state decides nothing: it still counts runs that a newer one replaced (field case
//! B002). The verdict comes from the newest run of every identity.

mod newest;
#[cfg(test)]
mod tests;

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::{Checks, Time};

/// A pull request that is opened this recently and has no rollup yet is waiting for its checks.
pub const NEW_FOR: TimeDelta = TimeDelta::minutes(60);
/// A check that is pending for longer than this is shown as stuck (field case B020). It stays pending.
pub const STUCK_AFTER: TimeDelta = TimeDelta::hours(24);
/// How many names a sentence lists before it counts the rest.
const NAMED: usize = 3;

/// The signal `ci`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ci {
    /// At least one check fails.
    Failing,
    /// None fails and at least one has no result yet.
    Pending,
    /// There is at least one check and all of them pass.
    Green,
    /// There is no check, or one says something that this program does not know.
    Unknown,
}

impl Ci {
    /// The word in a message.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Pending => "pending",
            Self::Green => "green",
            Self::Unknown => "unknown",
        }
    }
}

/// What one check comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// `SUCCESS`.
    Passed,
    /// `SKIPPED` or `NEUTRAL`: satisfied, and shown apart (field case B008).
    Skipped,
    /// It has no result yet.
    Running,
    /// GitHub gave up on it after 14 days; it needs a re-run (field case B011).
    Stale,
    /// Its app asks for something on its page (`ACTION_REQUIRED`).
    NeedsAction,
    /// A maintainer must approve its workflow before it runs (field case B013).
    AwaitsApproval,
    /// It says something that this program does not know (field case B029).
    Unknown,
    /// It was cancelled and needs a re-run (field case B010).
    Cancelled,
    /// `FAILURE`, `ERROR`, `TIMED_OUT` or `STARTUP_FAILURE`.
    Failed,
}

/// The newest run of one identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CheckLine {
    /// Its name; where two checks share it, with the workflow in front and the event behind.
    pub name: String,
    /// What it comes to.
    pub standing: Standing,
    /// GitHub's word for it.
    pub word: String,
    /// Since when it is so: when it ended, else when it began; `None` where nothing tells.
    pub since: Option<Time>,
    /// Whether it has been pending for more than [`STUCK_AFTER`].
    pub stuck: bool,
    /// Its page.
    pub url: Option<String>,
    /// Its name as GitHub has it, which a branch requires it by: data.
    pub context: String,
    /// The app that it comes from, as far as that is known.
    pub app: Option<u64>,
    /// The suite that it belongs to.
    pub suite: Option<u64>,
}

/// What all checks say together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChecksVerdict {
    /// The one word.
    pub ci: Ci,
    /// The newest run of every identity, by name.
    pub checks: Vec<CheckLine>,
    /// How many runs were left out because a newer one of the same identity counts.
    pub superseded: usize,
    /// One sentence for a person: what the word comes from.
    pub why: String,
}

impl Standing {
    /// Whether it is neither a pass nor a failure yet.
    pub fn is_pending(self) -> bool {
        matches!(
            self,
            Self::Running | Self::Stale | Self::NeedsAction | Self::AwaitsApproval
        )
    }
}

impl ChecksVerdict {
    /// Whether this counts as green: all checks pass, or there is none. A value that this program does not
    /// know is never green.
    pub fn counts_as_green(&self) -> bool {
        self.ci == Ci::Green || self.ci == Ci::Unknown && self.checks.is_empty()
    }

    /// The checks that fail: those that failed, then those that were cancelled.
    pub fn failing(&self) -> impl Iterator<Item = &CheckLine> {
        self.with(|standing| standing == Standing::Failed)
            .chain(self.with(|standing| standing == Standing::Cancelled))
    }

    /// The checks without a result.
    pub fn pending(&self) -> impl Iterator<Item = &CheckLine> {
        self.with(Standing::is_pending)
    }

    /// The checks that wait for a maintainer's approval.
    pub fn awaiting_approval(&self) -> impl Iterator<Item = &CheckLine> {
        self.with(|standing| standing == Standing::AwaitsApproval)
    }

    /// The checks that have been pending for more than a day.
    pub fn stuck(&self) -> impl Iterator<Item = &CheckLine> {
        self.checks.iter().filter(|check| check.stuck)
    }

    fn with(&self, wanted: impl Fn(Standing) -> bool) -> impl Iterator<Item = &CheckLine> {
        self.checks.iter().filter(move |check| wanted(check.standing))
    }
}

/// What the checks say of a pull request that was opened at one moment, as of another.
///
/// The answer does not depend on the order of the checks.
pub fn verdict(checks: &Checks, opened_at: Time, now: Time) -> ChecksVerdict {
    let (lines, superseded) = newest::newest(checks, now);
    let is_new = checks.contexts.is_none() && now - opened_at < NEW_FOR;
    let (ci, why) = conclude(&lines, is_new);
    ChecksVerdict {
        ci,
        checks: lines,
        superseded,
        why,
    }
}

fn conclude(lines: &[CheckLine], is_new: bool) -> (Ci, String) {
    let having = |wanted: &[Standing]| -> Vec<&CheckLine> {
        lines
            .iter()
            .filter(|line| wanted.contains(&line.standing))
            .collect()
    };
    let mut failing = having(&[Standing::Failed]);
    failing.extend(having(&[Standing::Cancelled]));
    if !failing.is_empty() {
        return (Ci::Failing, format!("CI failure: {}", listed(&failing)));
    }
    let unknown = having(&[Standing::Unknown]);
    if let Some(line) = unknown.first() {
        let why = format!(
            "{} says {}, which this program does not know",
            line.name, line.word
        );
        return (Ci::Unknown, why);
    }
    let awaiting = having(&[Standing::AwaitsApproval]);
    if !awaiting.is_empty() {
        let why = format!(
            "waiting for a maintainer to approve its workflows: {}",
            listed(&awaiting)
        );
        return (Ci::Pending, why);
    }
    let pending = having(&[Standing::Running, Standing::Stale, Standing::NeedsAction]);
    if !pending.is_empty() {
        return (Ci::Pending, format!("CI pending: {}", listed(&pending)));
    }
    if is_new {
        return (Ci::Pending, "no checks have been reported yet".to_owned());
    }
    if lines.is_empty() {
        return (Ci::Unknown, "no checks".to_owned());
    }
    let skipped = having(&[Standing::Skipped]).len();
    let why = match skipped {
        0 => format!("{} of {} checks passed", lines.len(), lines.len()),
        _ => format!(
            "{} of {} checks passed, {skipped} skipped",
            lines.len() - skipped,
            lines.len()
        ),
    };
    (Ci::Green, why)
}

fn listed(lines: &[&CheckLine]) -> String {
    let mut out = String::new();
    for (index, line) in lines.iter().take(NAMED).enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(&line.name);
        out.push_str(match line.standing {
            Standing::Cancelled => " (cancelled, needs a re-run)",
            Standing::Stale => " (went stale, needs a re-run)",
            Standing::NeedsAction => " (asks for an action)",
            Standing::Running if line.stuck => " (stuck for more than 24 h)",
            _ => "",
        });
    }
    if lines.len() > NAMED {
        out.push_str(&format!(" and {} more", lines.len() - NAMED));
    }
    out
}
