//! `sweep pr-state`: the dispatcher alone, once.

use std::collections::BTreeSet;
use std::sync::Arc;

use actors::pr_state::{DispatchError, PrState, Report, Selection, WorkingSet};
use lifecycle::Bucket;
use mailbox::SystemClock;
use runtime::{OneShot, OneShotError, TurnFailure};
use serde_json::json;

use super::Context;
use crate::cli::{self, BucketName};
use crate::config::Config;
use crate::failure::{Exit, Failure, with_causes};
use crate::print;
use crate::progress::Progress;
use crate::views::AttentionView;
use crate::wiring::{self, Opened};

/// Dispatches once, or shows what would be sent.
pub async fn run(context: &Context, choice: &cli::PrState) -> Result<(), Failure> {
    let config = context.config()?;
    let progress = Arc::new(Progress::start("reading pull requests"));
    let told = Arc::clone(&progress);
    let dispatcher = PrState::new(
        wiring::github(choice.retry_wait.get())?,
        wiring::rules(&config),
        selection(choice, &config),
    )
    .on_progress(Arc::new(move |at| told.at(at.done, at.of)));
    if choice.dry_run {
        rehearse(context, choice, &config, dispatcher, &progress).await
    } else {
        deliver(context, choice, &config, dispatcher, &progress).await
    }
}

fn selection(choice: &cli::PrState, config: &Config) -> Selection {
    let from = match (&choice.repo, choice.from_queue) {
        (Some(repo), _) => WorkingSet::Repo(repo.clone()),
        (None, true) => WorkingSet::Queue,
        (None, false) => WorkingSet::Everywhere,
    };
    let limit = choice.limit.unwrap_or(config.pr_state.limit);
    Selection {
        from,
        limit: usize::from(limit),
    }
}

/// Prints the messages, one JSON line each. The mailboxes are not opened: opening writes.
async fn rehearse(
    context: &Context,
    choice: &cli::PrState,
    config: &Config,
    mut dispatcher: PrState,
    progress: &Progress,
) -> Result<(), Failure> {
    let registry = Arc::new(wiring::registry(config)?);
    let turn = one_shot(context, registry, Arc::new(SystemClock::start()));
    let rehearsed = turn.rehearse_takt(&mut dispatcher).await;
    progress.end();
    let rehearsed = rehearsed.map_err(explain)?;
    let wanted = choice.bucket.map(|name| Bucket::from(name).intent());
    let mut seen = BTreeSet::new();
    let mut lines = String::new();
    for draft in &rehearsed.messages {
        let message = &draft.message;
        // Several actors may get one message; it is one message all the same.
        if wanted.is_none_or(|intent| intent == message.intent()) && seen.insert(message.msg_id().clone()) {
            lines.push_str(message.line());
            lines.push('\n');
        }
    }
    print::raw(&lines)
}

async fn deliver(
    context: &Context,
    choice: &cli::PrState,
    config: &Config,
    mut dispatcher: PrState,
    progress: &Progress,
) -> Result<(), Failure> {
    let opened = Opened::open(&context.home, config).await?;
    let turn = one_shot(context, Arc::clone(&opened.registry), Arc::clone(&opened.clock))
        .rotation(config.rotation());
    let ran = async {
        let turn = turn.attention(opened.overview(config).await?.attention);
        turn.takt(&mut dispatcher, &opened.mailboxes)
            .await
            .map_err(explain)
    }
    .await;
    progress.end();
    opened.close().await;
    // One that skipped everything is shown too, and is a failure all the same.
    let report = dispatcher
        .report()
        .filter(|report| ran.is_ok() || report.snapshot.rows.is_empty());
    if let Some(report) = report {
        show(report, choice)?;
    }
    ran.map(drop)
}

fn show(report: &Report, choice: &cli::PrState) -> Result<(), Failure> {
    let bucket = choice.bucket.map(Bucket::from);
    if choice.json {
        let mut document = report.document(bucket);
        let attention: Vec<_> = report.attention.iter().map(AttentionView::from).collect();
        document["attention"] = json!(attention);
        return print::json(&document);
    }
    print::raw(&match bucket {
        Some(bucket) => report.snapshot.list(bucket),
        None => report.summary(),
    })
}

/// One turn of this process, evaluated as of `--now` where that is given.
pub fn one_shot(
    context: &Context,
    registry: Arc<runtime::Registry>,
    clock: Arc<dyn mailbox::Clock>,
) -> OneShot {
    let turn = OneShot::new(registry, clock, &context.home.path);
    match context.now {
        Some(now) => turn.evaluate_at(now),
        None => turn,
    }
}

impl From<BucketName> for Bucket {
    fn from(name: BucketName) -> Self {
        match name {
            BucketName::Close => Self::Close,
            BucketName::Investigate => Self::Investigate,
            BucketName::Rebase => Self::Rebase,
            BucketName::Qa => Self::Qa,
            BucketName::Ship => Self::Ship,
            BucketName::Wait => Self::Wait,
        }
    }
}

/// Why a dispatch came to nothing, with the exit code that its cause has.
fn explain(error: OneShotError) -> Failure {
    match error {
        OneShotError::Turn(failure) => of_turn(&failure),
        OneShotError::Mailbox(error) => error.into(),
        OneShotError::Name(error) => {
            Failure::new(Exit::Other, "the dispatcher has no mailbox").because(error)
        }
    }
}

/// Why the dispatcher's turn failed. A fault keeps the error that it was made of.
pub fn of_turn(failure: &TurnFailure) -> Failure {
    let cause = match failure {
        TurnFailure::Fault(fault) => fault
            .cause()
            .and_then(|cause| cause.downcast_ref::<DispatchError>()),
        _ => None,
    };
    match cause {
        Some(DispatchError::Read(error)) => error.clone().into(),
        Some(error @ DispatchError::Home(_)) => Failure::new(Exit::Other, "nothing was dispatched")
            .because(with_causes(String::new(), Some(error)))
            .mend("Mend the file or its folder, or make room on the disk, and run it again."),
        Some(error @ DispatchError::AllSkipped { .. }) => Failure::new(Exit::Other, "nothing was dispatched")
            .because(error.to_string())
            .mend("pr-state-errors.log in the home has each with its reason; mend what it names, and run it again."),
        Some(DispatchError::Message(_)) | None => Failure::new(Exit::Other, "nothing was dispatched")
            .because(failure.to_string())
            .mend("Nothing was sent. Run it again; RUST_LOG=debug shows each step."),
    }
}
