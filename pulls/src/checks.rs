//! What the checks of a pull request's head say together (contract, section 4, "Checks").
//!
//! GitHub's own rollup state decides nothing: it still counts runs that a newer one replaced (field case
//! B002). The verdict comes from the newest run of every identity.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::escape;
use crate::facts::{
    AccountKind, Check, CheckRun, CheckStatus, Checks, CommitStatus, Conclusion, StatusState,
};
use crate::facts::{Suite, Time};

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
    /// Its name; for a run of a workflow that shares its name with another, with the workflow's in front.
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

impl ChecksVerdict {
    /// Whether this counts as green: all checks pass, or there is none. A value that this program does not
    /// know is never green.
    pub fn counts_as_green(&self) -> bool {
        self.ci == Ci::Green || self.ci == Ci::Unknown && self.checks.is_empty()
    }

    /// The checks that fail, cancelled ones too.
    pub fn failing(&self) -> impl Iterator<Item = &CheckLine> {
        self.with(|standing| matches!(standing, Standing::Failed | Standing::Cancelled))
    }

    /// The checks without a result.
    pub fn pending(&self) -> impl Iterator<Item = &CheckLine> {
        self.with(|standing| {
            matches!(
                standing,
                Standing::Running | Standing::Stale | Standing::AwaitsApproval
            )
        })
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

/// What makes two runs runs of one check. Kinds, apps, workflows and events are never merged (field cases
/// B004, B005). A status names no app; where a bot made it, the bot is its app, and people who make the
/// same context replace each other, as GitHub sees it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity<'a> {
    Run {
        app: Option<u64>,
        workflow: Option<&'a str>,
        event: Option<&'a str>,
        name: &'a str,
    },
    Status {
        app: Option<String>,
        context: &'a str,
    },
    /// A suite without runs; one that no workflow made stands for itself.
    Suite {
        app: Option<u64>,
        workflow: Option<&'a str>,
        event: Option<&'a str>,
        alone: Option<u64>,
    },
    Unknown(&'a str),
}

/// How new a run is: one that has not started is newer than one that has, then by start, then by id. The
/// rest only makes the choice between equals independent of their order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Newness {
    not_started: bool,
    started: Option<Time>,
    id: u64,
    standing: Standing,
    word: String,
    url: Option<String>,
}

/// One candidate of an identity.
struct Seen {
    newness: Newness,
    line: CheckLine,
}

/// What the checks say of a pull request that was opened at one moment, as of another.
///
/// The answer does not depend on the order of the checks.
pub fn verdict(checks: &Checks, opened_at: Time, now: Time) -> ChecksVerdict {
    let suites = newest_suites(&checks.suites);
    let mut newest: BTreeMap<Identity<'_>, Seen> = BTreeMap::new();
    let mut superseded = 0;
    let mut keep = |identity, seen: Seen| match newest.entry(identity) {
        std::collections::btree_map::Entry::Vacant(place) => {
            place.insert(seen);
        }
        std::collections::btree_map::Entry::Occupied(mut place) => {
            superseded += 1;
            if seen.newness > place.get().newness {
                place.insert(seen);
            }
        }
    };
    for check in checks.contexts.iter().flatten() {
        match check {
            Check::Run(run) => keep(run_identity(run), see_run(run, &suites, now)),
            Check::Status(status) => keep(status_identity(status), see_status(status, now)),
            Check::Unknown { typename } => keep(Identity::Unknown(typename), see_unknown(typename)),
        }
    }
    for (identity, suite) in suites {
        if awaits_approval(suite) {
            keep(identity, see_suite(suite, now));
        }
    }
    let lines = name_apart(newest);
    let is_new = checks.contexts.is_none() && now - opened_at < NEW_FOR;
    let (ci, why) = conclude(&lines, is_new);
    ChecksVerdict {
        ci,
        checks: lines,
        superseded,
        why,
    }
}

fn run_identity(run: &CheckRun) -> Identity<'_> {
    Identity::Run {
        app: run.app,
        workflow: none_if_empty(run.workflow.as_deref()),
        event: none_if_empty(run.event.as_deref()),
        name: &run.name,
    }
}

fn status_identity(status: &CommitStatus) -> Identity<'_> {
    let bot = status
        .creator
        .as_ref()
        .filter(|creator| creator.kind == AccountKind::Bot);
    Identity::Status {
        app: bot.map(|bot| bot.login.as_str().to_ascii_lowercase()),
        context: &status.context,
    }
}

fn suite_identity(suite: &Suite) -> Identity<'_> {
    let workflow = none_if_empty(suite.workflow.as_deref());
    Identity::Suite {
        app: suite.app,
        workflow,
        event: none_if_empty(suite.event.as_deref()),
        alone: workflow.is_none().then_some(suite.id),
    }
}

/// GitHub's clients write an empty string where GitHub means none.
fn none_if_empty(word: Option<&str>) -> Option<&str> {
    word.filter(|word| !word.is_empty())
}

/// The newest suite of every app, workflow and event, by when it was made, then by id.
fn newest_suites(suites: &[Suite]) -> BTreeMap<Identity<'_>, &Suite> {
    let mut newest: BTreeMap<Identity<'_>, &Suite> = BTreeMap::new();
    for suite in suites {
        let place = newest.entry(suite_identity(suite)).or_insert(suite);
        let rank = |suite: &Suite| (suite.created_at, suite.id, awaits_approval(suite));
        if rank(suite) > rank(place) {
            *place = suite;
        }
    }
    newest
}

/// Whether a suite waits for a maintainer to approve its workflow: it has ended with the demand for an
/// action and without a run, since no job exists before the approval. A suite without runs that says
/// nothing of the kind belongs to an app that never ran, and is no check.
fn awaits_approval(suite: &Suite) -> bool {
    suite.runs == 0 && suite.conclusion == Some(Conclusion::ActionRequired)
}

fn run_standing(run: &CheckRun) -> (Standing, &str) {
    // A run with a conclusion is finished, whatever its status says.
    match &run.conclusion {
        Some(Conclusion::Other(word)) if !word.is_empty() => return (Standing::Unknown, word),
        Some(Conclusion::Other(_)) | None => {}
        Some(conclusion) => {
            let standing = match conclusion {
                Conclusion::Success => Standing::Passed,
                Conclusion::Neutral | Conclusion::Skipped => Standing::Skipped,
                Conclusion::Stale => Standing::Stale,
                Conclusion::ActionRequired => Standing::AwaitsApproval,
                Conclusion::Cancelled => Standing::Cancelled,
                Conclusion::Failure | Conclusion::TimedOut | Conclusion::StartupFailure => Standing::Failed,
                Conclusion::Other(_) => Standing::Unknown,
            };
            return (standing, conclusion.as_str());
        }
    }
    match &run.status {
        CheckStatus::Other(word) => (Standing::Unknown, word),
        // Completed without a conclusion is a state that GitHub passes through, and no result.
        status => (Standing::Running, status.as_str()),
    }
}

fn see_run(run: &CheckRun, suites: &BTreeMap<Identity<'_>, &Suite>, now: Time) -> Seen {
    let (standing, word) = run_standing(run);
    let finished = !matches!(standing, Standing::Running);
    // A run may end without having started, as a skipped one does.
    let started = run.started_at.or(if finished { run.completed_at } else { None });
    let suite = Identity::Suite {
        app: run.app,
        workflow: none_if_empty(run.workflow.as_deref()),
        event: none_if_empty(run.event.as_deref()),
        alone: None,
    };
    let since = match standing {
        Standing::Running => run
            .started_at
            .or_else(|| suites.get(&suite).map(|suite| suite.created_at)),
        _ => run.completed_at.or(run.started_at),
    };
    let label = match none_if_empty(run.workflow.as_deref()) {
        Some(workflow) => format!("{workflow} / {}", run.name),
        None => run.name.clone(),
    };
    see(
        label,
        standing,
        word,
        since,
        run.url.clone(),
        started,
        run.id,
        now,
    )
}

fn see_status(status: &CommitStatus, now: Time) -> Seen {
    let (standing, word) = match &status.state {
        StatusState::Success => (Standing::Passed, "SUCCESS"),
        StatusState::Failure => (Standing::Failed, "FAILURE"),
        StatusState::Error => (Standing::Failed, "ERROR"),
        StatusState::Pending => (Standing::Running, "PENDING"),
        StatusState::Expected => (Standing::Running, "EXPECTED"),
        StatusState::Other(word) => (Standing::Unknown, word.as_str()),
    };
    let made = Some(status.created_at);
    see(
        status.context.clone(),
        standing,
        word,
        made,
        status.url.clone(),
        made,
        0,
        now,
    )
}

fn see_suite(suite: &Suite, now: Time) -> Seen {
    let name = none_if_empty(suite.workflow.as_deref())
        .unwrap_or("workflows")
        .to_owned();
    let made = Some(suite.created_at);
    see(
        name,
        Standing::AwaitsApproval,
        "ACTION_REQUIRED",
        made,
        None,
        made,
        suite.id,
        now,
    )
}

fn see_unknown(typename: &str) -> Seen {
    let line = CheckLine {
        name: escape::line(typename),
        standing: Standing::Unknown,
        word: escape::line(typename),
        since: None,
        stuck: false,
        url: None,
    };
    Seen {
        newness: newness(&line, None, 0),
        line,
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one call a kind of check, each argument of a type of its own"
)]
fn see(
    name: String,
    standing: Standing,
    word: &str,
    since: Option<Time>,
    url: Option<String>,
    started: Option<Time>,
    id: u64,
    now: Time,
) -> Seen {
    let is_pending = matches!(
        standing,
        Standing::Running | Standing::Stale | Standing::AwaitsApproval
    );
    let line = CheckLine {
        name: escape::line(&name),
        standing,
        word: escape::line(word),
        since,
        stuck: is_pending && since.is_some_and(|since| now - since > STUCK_AFTER),
        url,
    };
    Seen {
        newness: newness(&line, started, id),
        line,
    }
}

fn newness(line: &CheckLine, started: Option<Time>, id: u64) -> Newness {
    Newness {
        not_started: started.is_none(),
        started,
        id,
        standing: line.standing,
        word: line.word.clone(),
        url: line.url.clone(),
    }
}

/// The lines by name; a workflow's name stays in front only where the bare name is not enough.
fn name_apart(newest: BTreeMap<Identity<'_>, Seen>) -> Vec<CheckLine> {
    let mut bare_names: BTreeMap<String, usize> = BTreeMap::new();
    let bare_name = |identity: &Identity<'_>| match identity {
        Identity::Run { name, .. } => Some(escape::line(name)),
        Identity::Status { context, .. } => Some(escape::line(context)),
        Identity::Suite { .. } | Identity::Unknown(_) => None,
    };
    for name in newest.keys().filter_map(bare_name) {
        *bare_names.entry(name).or_default() += 1;
    }
    let mut lines: Vec<CheckLine> = newest
        .into_iter()
        .map(|(identity, Seen { mut line, .. })| {
            match bare_name(&identity) {
                Some(name) if bare_names.get(&name) == Some(&1) => line.name = name,
                _ => {}
            }
            line
        })
        .collect();
    lines.sort();
    lines
}

fn conclude(lines: &[CheckLine], is_new: bool) -> (Ci, String) {
    let having = |wanted: &[Standing]| -> Vec<&CheckLine> {
        lines
            .iter()
            .filter(|line| wanted.contains(&line.standing))
            .collect()
    };
    let failing = having(&[Standing::Failed, Standing::Cancelled]);
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
    let pending = having(&[Standing::Running, Standing::Stale]);
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
            _ if line.stuck => " (stuck for more than 24 h)",
            _ => "",
        });
    }
    if lines.len() > NAMED {
        out.push_str(&format!(" and {} more", lines.len() - NAMED));
    }
    out
}
