//! The newest run of every check.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{CheckLine, STUCK_AFTER, Standing};
use crate::escape;
use crate::facts::{
    AccountKind, Check, CheckRun, CheckStatus, Checks, CommitStatus, Conclusion, StatusState, Suite, Time,
};

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

/// How new a run is: one that has not started is newer than one that has, then by start, then by id.
type Newness = (bool, Option<Time>, u64);

/// One run of an identity.
struct Seen {
    newness: Newness,
    line: CheckLine,
    /// The name that is used where the line's is not the only one of its kind.
    full_name: String,
}

impl Seen {
    /// Orders by newness; what follows only makes the choice between equals independent of their order.
    fn rank(&self) -> (Newness, Standing, &CheckLine) {
        (self.newness, self.line.standing, &self.line)
    }
}

/// The newest run of every identity, by name, and how many were left out.
pub(super) fn newest(checks: &Checks, now: Time) -> (Vec<CheckLine>, usize) {
    let suites = newest_suites(&checks.suites);
    let mut newest: BTreeMap<Identity<'_>, Seen> = BTreeMap::new();
    let mut superseded = 0;
    let contexts = checks.contexts.iter().flatten().map(|check| match check {
        Check::Run(run) => (run_identity(run), see_run(run, &suites)),
        Check::Status(status) => (status_identity(status), see_status(status)),
        Check::Unknown { typename } => (Identity::Unknown(typename), see_unknown(typename)),
    });
    for (identity, seen) in contexts {
        match newest.entry(identity) {
            Entry::Vacant(place) => {
                place.insert(seen);
            }
            Entry::Occupied(mut place) => {
                superseded += 1;
                if seen.rank() > place.get().rank() {
                    place.insert(seen);
                }
            }
        }
    }
    for (identity, suite) in suites {
        if awaits_approval(suite) {
            newest.insert(identity, see_suite(suite));
        }
    }
    let mut lines = name_apart(newest.into_values().collect());
    for line in &mut lines {
        let pending_for = line
            .since
            .filter(|_| line.standing.is_pending())
            .map(|since| now - since);
        line.stuck = pending_for.is_some_and(|span| span > STUCK_AFTER);
    }
    (lines, superseded)
}

/// GitHub's clients write an empty string where GitHub means none.
fn filled(word: &Option<String>) -> Option<&str> {
    word.as_deref().filter(|word| !word.is_empty())
}

fn run_identity(run: &CheckRun) -> Identity<'_> {
    Identity::Run {
        app: run.app,
        workflow: filled(&run.workflow),
        event: filled(&run.event),
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
    let workflow = filled(&suite.workflow);
    Identity::Suite {
        app: suite.app,
        workflow,
        event: filled(&suite.event),
        alone: workflow.is_none().then_some(suite.id),
    }
}

/// The newest suite of every app, workflow and event, by when it was made, then by id.
fn newest_suites(suites: &[Suite]) -> BTreeMap<Identity<'_>, &Suite> {
    let rank = |suite: &Suite| (suite.created_at, suite.id, awaits_approval(suite));
    let mut newest: BTreeMap<Identity<'_>, &Suite> = BTreeMap::new();
    for suite in suites {
        let place = newest.entry(suite_identity(suite)).or_insert(suite);
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

/// What a run comes to, and GitHub's word for it. A run with a conclusion is finished, whatever its status
/// says.
fn run_standing(run: &CheckRun) -> (Standing, &str) {
    let conclusion = run
        .conclusion
        .as_ref()
        .filter(|conclusion| !conclusion.as_str().is_empty());
    let Some(conclusion) = conclusion else {
        return match &run.status {
            CheckStatus::Other(word) => (Standing::Unknown, word),
            // Completed without a conclusion is a state that GitHub passes through, and no result.
            status => (Standing::Running, status.as_str()),
        };
    };
    let standing = match conclusion {
        Conclusion::Success => Standing::Passed,
        Conclusion::Neutral | Conclusion::Skipped => Standing::Skipped,
        Conclusion::Stale => Standing::Stale,
        // A workflow waits for a maintainer; an app may want anything.
        Conclusion::ActionRequired if filled(&run.workflow).is_some() => Standing::AwaitsApproval,
        Conclusion::ActionRequired => Standing::NeedsAction,
        Conclusion::Cancelled => Standing::Cancelled,
        Conclusion::Failure | Conclusion::TimedOut | Conclusion::StartupFailure => Standing::Failed,
        Conclusion::Other(_) => Standing::Unknown,
    };
    (standing, conclusion.as_str())
}

fn see_run(run: &CheckRun, suites: &BTreeMap<Identity<'_>, &Suite>) -> Seen {
    let (standing, word) = run_standing(run);
    let workflow = filled(&run.workflow);
    let event = filled(&run.event);
    let is_running = standing == Standing::Running;
    // A run may end without having started, as a skipped one does.
    let started = run
        .started_at
        .or(if is_running { None } else { run.completed_at });
    let since = if is_running {
        // A queued run has no time of its own; its suite has.
        let suite = Identity::Suite {
            app: run.app,
            workflow,
            event,
            alone: None,
        };
        run.started_at
            .or_else(|| suites.get(&suite).map(|suite| suite.created_at))
    } else {
        run.completed_at.or(run.started_at)
    };
    let mut full_name = workflow.map_or_else(
        || run.name.clone(),
        |workflow| format!("{workflow} / {}", run.name),
    );
    if let Some(event) = event {
        full_name.push_str(&format!(" ({event})"));
    }
    Seen {
        newness: (started.is_none(), started, run.id),
        line: CheckLine {
            app: run.app,
            suite: run.suite,
            ..line(&run.name, standing, word, since, run.url.clone())
        },
        full_name: escape::line(&full_name),
    }
}

fn see_status(status: &CommitStatus) -> Seen {
    let (standing, word) = match &status.state {
        StatusState::Success => (Standing::Passed, "SUCCESS"),
        StatusState::Failure => (Standing::Failed, "FAILURE"),
        StatusState::Error => (Standing::Failed, "ERROR"),
        StatusState::Pending => (Standing::Running, "PENDING"),
        StatusState::Expected => (Standing::Running, "EXPECTED"),
        StatusState::Other(word) => (Standing::Unknown, word.as_str()),
    };
    let made = Some(status.created_at);
    Seen {
        newness: (false, made, 0),
        line: CheckLine {
            app: status.app,
            ..line(&status.context, standing, word, made, status.url.clone())
        },
        full_name: escape::line(&status.context),
    }
}

fn see_suite(suite: &Suite) -> Seen {
    let made = Some(suite.created_at);
    let name = filled(&suite.workflow).unwrap_or("workflows");
    Seen {
        newness: (false, made, suite.id),
        line: CheckLine {
            app: suite.app,
            suite: Some(suite.id),
            ..line(name, Standing::AwaitsApproval, "ACTION_REQUIRED", made, None)
        },
        full_name: escape::line(name),
    }
}

fn see_unknown(typename: &str) -> Seen {
    Seen {
        newness: (false, None, 0),
        line: line(typename, Standing::Unknown, typename, None, None),
        full_name: escape::line(typename),
    }
}

fn line(name: &str, standing: Standing, word: &str, since: Option<Time>, url: Option<String>) -> CheckLine {
    CheckLine {
        name: escape::line(name),
        standing,
        word: escape::line(word),
        since,
        stuck: false,
        url,
        context: name.to_owned(),
        app: None,
        suite: None,
    }
}

/// The lines by name; where two share one, each by its full name.
fn name_apart(seen: Vec<Seen>) -> Vec<CheckLine> {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for seen in &seen {
        *uses.entry(seen.line.name.clone()).or_default() += 1;
    }
    let mut lines: Vec<CheckLine> = seen
        .into_iter()
        .map(
            |Seen {
                 mut line, full_name, ..
             }| {
                if uses.get(&line.name).is_some_and(|uses| *uses > 1) {
                    line.name = full_name;
                }
                line
            },
        )
        .collect();
    lines.sort();
    lines
}
