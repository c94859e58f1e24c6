//! The reconciler: keeps one state for every open pull request of the maintained repositories, with its evidence
//! (contract, section 6; RFC, "Per-cycle reconciler").
//!
//! A cycle finds which pull requests changed, reads those in whole, and writes down what the pure
//! [`step`](lifecycle::maintain::step) decides. It says nothing on GitHub.
//!
//! | what changed is found by | costs |
//! | --- | --- |
//! | the repository's list by time of update, since the last cycle | 1 request |
//! | a look at the heads whose checks or mergeability are not final | 1 request for 100 |
//! | deadlines that passed | nothing |
//! | a full pass every [`FULL_PASS_EVERY`] | the list, and every pull request once |
//!
//! So a change that one of them misses costs time and nothing else. Evidence that did not change writes nothing;
//! evidence that could not be read whole moves nothing. A budget that does not reach everybody is spent on who waits
//! longest.

mod agenda;
mod attention;
mod books;
mod cycle;
mod report;
mod visit;
mod visits;

use std::sync::Arc;
use std::time::Duration;

use chrono::{SubsecRound as _, TimeDelta};
use github::{ErrorClass, Progress, ReadError, Reader};
use lifecycle::maintain::Settings;
use pulls::RepoName;
use runtime::{Actor, Done, Fault, Intent, Reason, Turn, message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use books::Books;
pub use cycle::CycleError;
use cycle::{Cycle, Memory};
pub use report::{Moved, Noted, Report, SkippedPull, Spent, WantedFor};

/// How often every open pull request is read though nothing says that it changed.
pub const FULL_PASS_EVERY: TimeDelta = TimeDelta::hours(6);

/// How long the reconciler rests when GitHub or its ledger is not there and names no time itself.
const UNAVAILABLE_REST: Duration = Duration::from_secs(60);

/// How long it rests when GitHub refused the credentials: a person has to act, and is told by attention.
const REFUSED_REST: Duration = Duration::from_secs(10 * 60);

/// One cycle is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reconcile {}

impl Intent for Reconcile {
    const NAME: &'static str = "reconcile";
}

message! {
    /// What the reconciler is asked.
    pub enum ReconcilerMessage { Reconcile(Reconcile) }
}

/// How long evidence that something newer replaced is kept where nothing else is configured (contract, section 3, rule 8).
const KEEP: TimeDelta = TimeDelta::days(90);

/// What the configuration says of reconciling.
#[derive(Debug, Clone)]
pub struct Rules {
    /// `LIFECYCLE_REPOS`, in order.
    pub repos: Vec<RepoName>,
    /// What decides about states.
    pub settings: Settings,
    /// `PR_STATE_REQUEST_BUDGET`: requests a cycle.
    pub request_budget: u32,
    /// How long evidence that something newer replaced is kept.
    pub keep: TimeDelta,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            repos: Vec::new(),
            settings: Settings::default(),
            request_budget: 200,
            keep: KEEP,
        }
    }
}

/// Who is told how far the reading has come.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// The reconciler.
pub struct Reconciler {
    github: Reader,
    books: Books,
    rules: Arc<Rules>,
    progress: OnProgress,
    memory: Memory,
    report: Option<Report>,
}

impl Reconciler {
    /// A reconciler that reads with `github` and keeps its `books`.
    pub fn new(github: Reader, books: Books, rules: Rules) -> Self {
        Self {
            github,
            books,
            rules: Arc::new(rules),
            progress: Arc::new(|_| ()),
            memory: Memory::default(),
            report: None,
        }
    }

    /// Tells somebody how far the reading has come.
    pub fn on_progress(mut self, progress: OnProgress) -> Self {
        self.progress = progress;
        self
    }

    /// What the last cycle did.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// One cycle as of the turn's moment.
    async fn cycle(&mut self, turn: &mut Turn) -> Result<Done, Fault> {
        self.report = None;
        let cycle = Cycle::new(
            &self.github,
            &self.books,
            &self.rules,
            &*self.progress,
            &mut self.memory,
            // The ledger keeps milliseconds, and what it gives back must be what it was given.
            turn.now().trunc_subsecs(3),
        );
        let report = cycle.run(turn).await.map_err(|error| fault(error, turn))?;
        turn.attend(report.attention.iter().map(attention::shown).collect());
        let outcome = report.outcome();
        self.report = Some(report);
        Ok(Done::new(outcome))
    }
}

/// What becomes of a cycle that came to nothing: nobody is restarted because GitHub is not there.
fn fault(error: CycleError, turn: &Turn) -> Fault {
    const TEXT: &str = "nothing was reconciled";
    let rest = match &error {
        CycleError::Read(ReadError::RateLimited { until: Some(until) }) => {
            let rest = *until - chrono::DateTime::<chrono::Utc>::from(turn.moment());
            rest.to_std().unwrap_or_default().max(UNAVAILABLE_REST)
        }
        CycleError::Read(read) if read.class() == ErrorClass::Credentials => REFUSED_REST,
        CycleError::Read(_) | CycleError::Ledger(_) | CycleError::Effect(_) => UNAVAILABLE_REST,
        CycleError::Glob(_) => return Fault::reject(Reason::because(TEXT, error)),
    };
    Fault::wait(turn.moment().after(rest), Reason::because(TEXT, error))
}

impl Actor for Reconciler {
    const NAME: &'static str = "reconciler";
    type Message = ReconcilerMessage;

    async fn handle(&mut self, message: ReconcilerMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let ReconcilerMessage::Reconcile(Reconcile {}) = message;
        // A cycle that ran and was not acknowledged is not run again.
        let ran = self.books.outcome(turn.key()).await;
        if let Some(report) = ran.map_err(|error| fault(error.into(), turn))? {
            let outcome = serde_json::from_str::<Report>(&report)
                .map_or_else(|_| "reconciled before".to_owned(), |report| report.outcome());
            return Ok(Done::new(outcome));
        }
        self.cycle(turn).await
    }

    async fn takt(&mut self, turn: &mut Turn) -> Result<Done, Fault> {
        let done = self.cycle(turn).await?;
        tracing::info!(outcome = done.outcome(), "reconciled");
        Ok(done)
    }
}
