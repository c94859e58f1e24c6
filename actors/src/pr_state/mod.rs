//! The dispatcher: reads every open pull request that one wrote, puts each into one bucket and sends one
//! message a pull request to whoever declares the bucket's intent (contract, section 4; `pr-state.md`).
//!
//! It has no mailbox. Its input is GitHub and the hints in the home, its output are other mailboxes; the
//! files that it writes beside them are a courtesy.

mod plan;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use github::{ErrorClass, Progress, ReadError, Reader, Scope};
use lifecycle::{Outcome, Row, SkippedRow, Snapshot, classify, msg_id};
use pulls::{PrRef, RepoName};
use runtime::{Actor, Done, EffectError, Fault, Reason, SendError, Turn, message};

use crate::again::evidence_of;
use crate::hints::{self, Renames};

pub use record::Report;

/// The most pull requests of one run (contract, section 4).
pub const MAX_LIMIT: usize = 200;

/// How long the dispatcher rests when GitHub is not there and names no time itself.
const UNAVAILABLE_REST: Duration = Duration::from_secs(60);

/// How long it rests when GitHub refused the credentials: a person has to act, and is told by attention.
const REFUSED_REST: Duration = Duration::from_secs(10 * 60);

message! {
    /// The dispatcher consumes nothing: it has a takt.
    pub enum PrStateMessage {}
}

/// What the configuration says of dispatching.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Who is a bot and who a maintainer beyond what GitHub says.
    pub settings: lifecycle::Settings,
    /// The repositories that gates are configured for.
    pub gated: BTreeSet<RepoName>,
}

/// Which pull requests one dispatch is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Where they are found.
    pub from: WorkingSet,
    /// At most this many, 1 to [`MAX_LIMIT`].
    pub limit: usize,
}

/// Where the pull requests of a dispatch are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkingSet {
    /// All that one wrote and that are open.
    Everywhere,
    /// Those of one repository.
    Repo(RepoName),
    /// Those that the drip queue names as open, whoever wrote them.
    Queue,
}

/// Why nothing was dispatched.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// GitHub could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file of the home could not be read or written.
    #[error(transparent)]
    Home(#[from] EffectError),
    /// A message could not be written.
    #[error(transparent)]
    Message(#[from] SendError),
    /// There were pull requests, and none of them could be read.
    #[error("every pull request was skipped, {count} in all; {at}: {why}")]
    AllSkipped {
        /// How many.
        count: usize,
        /// The first of them.
        at: PrRef,
        /// Why that one was skipped.
        why: String,
    },
}

/// Who is told how far the reading has come.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// The dispatcher.
pub struct PrState {
    github: Reader,
    rules: Rules,
    selection: Selection,
    progress: OnProgress,
    renames: Renames,
    report: Option<Report>,
}

impl PrState {
    /// A dispatcher that reads with `github` and whose takt dispatches `selection`.
    pub fn new(github: Reader, rules: Rules, selection: Selection) -> Self {
        Self {
            github,
            rules,
            selection,
            progress: Arc::new(|_| ()),
            renames: Renames::default(),
            report: None,
        }
    }

    /// Tells somebody how far the reading has come.
    pub fn on_progress(mut self, progress: OnProgress) -> Self {
        self.progress = progress;
        self
    }

    /// What the last takt did.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// One dispatch as of the turn's moment: find, read, classify, record, send. What fails for one pull
    /// request is in the report. The messages are sent when the turn is done.
    async fn dispatch(&mut self, turn: &mut Turn) -> Result<Report, DispatchError> {
        let selection = self.selection.clone();
        let now = turn.now();
        let mut problems = Vec::new();
        let queue = hints::read_queue(turn, &mut problems).await?;
        let found = self.find(&selection, &queue, &mut problems).await?;
        let read = self.github.pulls(&found.refs, &*self.progress).await;
        turn.progress();
        if let Some(stopped) = read.stopped {
            if read.found.is_empty() {
                return Err(stopped.into());
            }
            problems.push(format!("GitHub was not read to the end: {stopped}"));
        }
        let gates = hints::read_gates(turn, &mut problems).await?;
        if let Err(error) = self
            .renames
            .learn(&self.github, &queue, &gates, &read.found)
            .await
        {
            problems.push(format!("former names of repositories are not known: {error}"));
        }

        let mut verdicts = Vec::new();
        for pull in &read.found {
            turn.saw(&pull.at.to_string(), &evidence_of(pull));
            let names = self.renames.names(pull);
            let about = hints::about((&queue, &gates), &names, pull.at.number, &self.rules.gated);
            match classify(pull, &about, &self.rules.settings, now) {
                Outcome::Classified(verdict) => verdicts.push(*verdict),
                Outcome::NotOpen(state) => {
                    tracing::info!(pull = %pull.at, state = state.as_str(), "not open any more: left out");
                }
            }
        }
        verdicts.sort_by(|a, b| {
            (a.bucket, a.signals.activity_h, &a.at).cmp(&(b.bucket, b.signals.activity_h, &b.at))
        });

        let taken = record::ids_of_this_minute(turn, now).await?;
        let ids = msg_id::assign(now, verdicts.iter().map(|verdict| &verdict.at), &taken);
        let mut rows = Vec::new();
        for verdict in &verdicts {
            let id = &ids[&verdict.at];
            let inboxes = plan::send(turn, id, now, verdict)?;
            rows.push((Row::of(verdict, id.clone(), inboxes), verdict));
        }
        let skipped = read
            .skipped
            .iter()
            .map(|skipped| SkippedRow {
                repo: skipped.at.repo.clone(),
                pr: skipped.at.number,
                error: skipped.error.to_string(),
            })
            .collect();
        let report = Report {
            snapshot: Snapshot {
                at: now,
                attention: turn.attention().iter().map(record::attention_line).collect(),
                inboxes: rows
                    .iter()
                    .map(|(row, _)| (row.bucket, row.inbox.clone()))
                    .collect::<BTreeMap<_, _>>(),
                rows: rows.iter().map(|(row, _)| row.clone()).collect(),
                skipped,
            },
            attention: turn.attention(),
            problems,
            found: found.total,
        };
        record::write(turn, &report, &rows).await?;
        Ok(report)
    }

    async fn find(
        &self,
        selection: &Selection,
        queue: &lifecycle::DripQueue,
        problems: &mut Vec<String>,
    ) -> Result<Working, ReadError> {
        let scope = match &selection.from {
            WorkingSet::Everywhere => Scope::Everywhere,
            WorkingSet::Repo(repo) => Scope::Repo(repo.clone()),
            WorkingSet::Queue => {
                let open = queue.open();
                let total = open.len() as u64;
                return Ok(Working {
                    refs: open.into_iter().take(selection.limit).collect(),
                    total,
                });
            }
        };
        let viewer = self.github.viewer().await?;
        let found = self
            .github
            .open_pulls(&viewer.login, &scope, selection.limit)
            .await?;
        problems.extend(
            found
                .partial
                .iter()
                .map(|error| format!("the search left something out: {error}")),
        );
        Ok(Working {
            refs: found.refs,
            total: found.total,
        })
    }
}

/// The pull requests to read, and how many there are beyond the limit.
struct Working {
    refs: Vec<PrRef>,
    total: u64,
}

impl Actor for PrState {
    const NAME: &'static str = "pr-state";
    type Message = PrStateMessage;

    async fn handle(&mut self, message: PrStateMessage, _turn: &mut Turn) -> Result<Done, Fault> {
        match message {}
    }

    async fn takt(&mut self, turn: &mut Turn) -> Result<Done, Fault> {
        self.report = None;
        let report = self.dispatch(turn).await.map_err(|error| fault(error, turn))?;
        let outcome = report.outcome();
        let all_skipped = report.all_skipped();
        self.report = Some(report);
        if let Some(error) = all_skipped {
            return Err(fault(error, turn));
        }
        tracing::info!(%outcome, "dispatched");
        Ok(Done::new(outcome))
    }
}

/// What becomes of a takt that dispatched nothing: nobody is restarted because GitHub is not there.
fn fault(error: DispatchError, turn: &Turn) -> Fault {
    let rest = match &error {
        DispatchError::Read(ReadError::RateLimited { until: Some(until) }) => {
            let rest = (*until - chrono::DateTime::<chrono::Utc>::from(turn.moment()))
                .to_std()
                .unwrap_or_default();
            rest.max(UNAVAILABLE_REST)
        }
        DispatchError::Read(read) if read.class() == ErrorClass::Credentials => REFUSED_REST,
        DispatchError::Read(_) => UNAVAILABLE_REST,
        // A full disk or a file in the way: the same again later.
        DispatchError::Home(_) => UNAVAILABLE_REST,
        DispatchError::Message(_) => return Fault::crash(error),
        // GitHub was read, and there is nobody to wait for: the next takt looks again.
        DispatchError::AllSkipped { .. } => {
            return Fault::retry(Reason::because("nothing was dispatched", error));
        }
    };
    Fault::wait(
        turn.moment().after(rest),
        Reason::because("nothing was dispatched", error),
    )
}
