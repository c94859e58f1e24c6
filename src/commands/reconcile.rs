//! `sweep reconcile --once`: one cycle of the maintainer's half (contract, section 2).

use std::sync::Arc;
use std::time::Duration;

use actors::reconciler::{CycleError, Reconcile, Reconciler, Report, WantedFor};
use board::cycle::{Budget, Cycle, Moved, Noted, Skipped, Wish};
use mailbox::{EnvelopeState, Filter, MailboxName, Mailboxes, Message, MsgId, SystemClock};
use pulls::PrRef;
use runtime::{Actor, Intent, OneShotError, TurnFailure};

use super::Context;
use super::pr_state::one_shot;
use crate::cli;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::print;
use crate::progress::Progress;
use crate::wiring::{self, Opened};

/// Who asks a running process for a cycle.
const FROM: &str = "reconcile";

/// How often it is looked whether a running process is done with it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs one cycle here, or has a running process do it.
pub async fn run(context: &Context, choice: &cli::Reconcile) -> Result<(), Failure> {
    let config = context.config()?;
    if !wiring::reconciles(&config) {
        return Err(nothing_to_do(&config));
    }
    let progress = Arc::new(Progress::start("reading pull requests"));
    let report = if choice.dry_run {
        rehearse(context, choice, &config, &progress).await
    } else {
        reconcile(context, choice, &config, &progress).await
    };
    progress.end();
    let report = report?;
    let unreadable = report
        .attention
        .iter()
        .filter(|noted| noted.key.starts_with("repository/"))
        .map(|noted| noted.text.clone())
        .collect::<Vec<_>>();
    show(report, choice)?;
    match unreadable.first() {
        // One of several is attention; where it is all of them nothing was reconciled.
        Some(first) if unreadable.len() == config.lifecycle.repos.len() => {
            Err(Failure::new(Exit::Other, first.clone())
                .mend("Mend LIFECYCLE_REPOS, or give a token that may see it."))
        }
        _ => Ok(()),
    }
}

fn nothing_to_do(config: &Config) -> Failure {
    let (headline, mend) = match config.lifecycle.is_on {
        true => (
            "no repository is maintained",
            "Name them: `lifecycle_repos = [\"owner/name\"]` under [lifecycle] in config.toml, or LIFECYCLE_REPOS.",
        ),
        false => (
            "the maintainer's half is off",
            "Turn it on: `pr_state_enabled = true` under [lifecycle] in config.toml, or PR_STATE_ENABLED.",
        ),
    };
    Failure::new(Exit::Usage, headline).mend(mend)
}

/// A reconciler of this process's own.
fn reconciler(
    choice: &cli::Reconcile,
    config: &Config,
    books: actors::reconciler::Books,
    progress: &Arc<Progress>,
) -> Result<Reconciler, Failure> {
    let told = Arc::clone(progress);
    Ok(Reconciler::new(
        wiring::github(choice.retry_wait.get())?,
        books,
        wiring::reconciling(config),
    )
    .on_progress(Arc::new(move |at| told.at(at.done, at.of))))
}

/// A cycle that touches no file.
async fn rehearse(
    context: &Context,
    choice: &cli::Reconcile,
    config: &Config,
    progress: &Arc<Progress>,
) -> Result<Report, Failure> {
    let mut reconciler = reconciler(choice, config, wiring::books_seen(&context.home)?, progress)?;
    let turn = one_shot(
        context,
        Arc::new(wiring::registry(config)?),
        Arc::new(SystemClock::start()),
    );
    turn.rehearse_takt(&mut reconciler).await.map_err(explain)?;
    ran(&reconciler)
}

async fn reconcile(
    context: &Context,
    choice: &cli::Reconcile,
    config: &Config,
    progress: &Arc<Progress>,
) -> Result<Report, Failure> {
    let opened = Opened::open(&context.home, config).await?;
    let report = async {
        if opened.is_elsewhere() {
            if context.now.is_some() {
                return Err(
                    Failure::new(Exit::Usage, "a running process reconciles as of its own now")
                        .mend("Leave --now out, add --dry-run, or end the `sweep run` first."),
                );
            }
            return ask(context, &opened).await;
        }
        let mut reconciler = reconciler(choice, config, wiring::books(&context.home)?, progress)?;
        let turn = one_shot(context, Arc::clone(&opened.registry), Arc::clone(&opened.clock));
        turn.takt(&mut reconciler, &opened.mailboxes)
            .await
            .map_err(explain)?;
        ran(&reconciler)
    }
    .await;
    opened.close().await;
    report
}

fn ran(reconciler: &Reconciler) -> Result<Report, Failure> {
    let report = reconciler.report().cloned();
    report.ok_or_else(|| Failure::new(Exit::Other, "the cycle left no report"))
}

/// Asks the process that hosts the reconciler: its report lies in the ledger under the key of the turn.
async fn ask(context: &Context, opened: &Opened) -> Result<Report, Failure> {
    let to: MailboxName = Reconciler::NAME.parse().expect("the name is a constant");
    let id: MsgId = format!("reconcile-{}", uuid::Uuid::new_v4().simple())
        .parse()
        .expect("letters, digits and dashes");
    let ts = chrono::Utc::now();
    let message = Message::build(ts, FROM, Reconcile::NAME, &id, Reconcile::default())?;
    let draft = opened.registry.accept(&to, message)?;
    opened.mailboxes.append(vec![draft]).await?;
    settled(&opened.mailboxes, &to, &id).await?;
    let outcome = match wiring::ledger(&context.home)? {
        Some(reader) => reader.outcome(&format!("{to}/{id}"))?,
        None => None,
    };
    let report = outcome.and_then(|outcome| serde_json::from_str(&outcome).ok());
    report.ok_or_else(|| {
        Failure::new(
            Exit::Other,
            "the running process reconciled and left no report that can be read",
        )
        .mend("It may be of another version: end it and start it again.")
    })
}

/// Waits until the message is handled, or set aside.
async fn settled(mailboxes: &Mailboxes, of: &MailboxName, id: &MsgId) -> Result<(), Failure> {
    loop {
        let filter = Filter {
            id: Some(id.clone()),
            limit: 1,
            ..Filter::all()
        };
        let found = mailboxes.envelopes(of, filter).await?;
        match found.first().map(|envelope| &envelope.state) {
            Some(EnvelopeState::Acked { .. }) | None => return Ok(()),
            Some(EnvelopeState::Quarantined { .. }) => {
                return Err(
                    Failure::new(Exit::Other, "the running process could not reconcile")
                        .mend(format!("`sweep quarantine show {of} {id}` has each failure.")),
                );
            }
            Some(EnvelopeState::Unread { .. } | EnvelopeState::Leased { .. }) => {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }
}

fn show(report: Report, choice: &cli::Reconcile) -> Result<(), Failure> {
    let cycle = view(report);
    if choice.json {
        return print::json(&cycle);
    }
    let mut text = cycle.text();
    if choice.dry_run {
        text.push_str("\nnothing was written, and nothing was said\n");
    }
    print::raw(&text)
}

/// What a person, or a program, is shown of a cycle.
fn view(report: Report) -> Cycle {
    let wish = |one: WantedFor| {
        let at = PrRef {
            repo: one.repo,
            number: one.pr,
        };
        Wish::from((&at, &one.artifact))
    };
    Cycle {
        ts: report.ts,
        visited: report.visited as u64,
        transitions: report
            .transitions
            .into_iter()
            .map(|row| Moved {
                repo: row.repo,
                pr: row.pr,
                from: row.from,
                to: row.to,
                head: row.head,
                reason: row.reason,
            })
            .collect(),
        wanted: report.wanted.into_iter().map(wish).collect(),
        said: report.said.into_iter().map(wish).collect(),
        withdrawn: report.withdrawn.into_iter().map(wish).collect(),
        skipped: report
            .skipped
            .into_iter()
            .map(|one| Skipped {
                repo: one.repo,
                pr: one.pr,
                error: one.error,
            })
            .collect(),
        attention: report
            .attention
            .into_iter()
            .map(|one| Noted {
                key: one.key,
                since: one.since,
                text: one.text,
                mend: one.mend,
            })
            .collect(),
        budget: Budget {
            requests: report.budget.requests.into(),
            request_budget: report.budget.of.into(),
            points: report.budget.points,
            exhausted: report.budget.exhausted,
            left_over: report.budget.left as u64,
            writes: 0,
        },
    }
}

/// Why one cycle failed.
pub fn explain(error: OneShotError) -> Failure {
    match error {
        OneShotError::Turn(failure) => of_turn(&failure),
        OneShotError::Mailbox(error) => error.into(),
        OneShotError::Name(error) => {
            Failure::new(Exit::Other, "the reconciler has no mailbox").because(error)
        }
    }
}

/// Why a cycle came to nothing, with the exit code that its cause has.
pub fn of_turn(failure: &TurnFailure) -> Failure {
    let cause = match failure {
        TurnFailure::Fault(fault) => fault.cause().and_then(|cause| cause.downcast_ref::<CycleError>()),
        _ => None,
    };
    match cause {
        Some(CycleError::Read(error)) => error.clone().into(),
        Some(CycleError::Ledger(_) | CycleError::Effect(_) | CycleError::Glob(_)) | None => Failure::new(
            Exit::Other,
            "nothing was reconciled",
        )
        .because(failure.to_string())
        .mend("Each chunk was written whole or not at all. Run it again; RUST_LOG=debug shows each step."),
    }
}
