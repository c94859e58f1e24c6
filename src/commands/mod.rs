//! One module a command: what it reads, what it asks of the crates, what it prints.

mod ack;
mod actors;
mod board;
mod completions;
mod config;
mod export;
mod import;
pub mod inbox;
mod next;
mod pr;
mod pr_state;
mod project;
mod quarantine;
pub mod reconcile;
mod replay;
mod report;
mod run;
mod send;
mod torture;
mod why;

use std::env;
use std::path::Path;

use chrono::{DateTime, Utc};
use mailbox::{Clock, MailboxName};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Cli, Command, Global, Listing, Quarantine};
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::home::{self, Home};

/// What every command starts from.
#[derive(Debug)]
pub struct Context {
    /// Where things lie.
    pub home: Home,
    /// The moment that a one-shot command is evaluated as of; `None` is now.
    pub now: Option<DateTime<Utc>>,
}

impl Context {
    fn new(global: &Global) -> Result<Self, Failure> {
        Ok(Self {
            home: Home::locate(
                global.home.as_deref(),
                env::var_os(home::VARIABLE),
                env::var_os("HOME"),
            )?,
            now: global.now,
        })
    }

    /// The moment that ages are counted to.
    pub fn now_or(&self, clock: &dyn Clock) -> DateTime<Utc> {
        self.now.unwrap_or_else(|| clock.now().into())
    }

    /// The configuration of this home.
    pub fn config(&self) -> Result<Config, Failure> {
        self.home.is_there()?;
        Ok(Config::load(&self.home.path)?)
    }
}

/// Carries out a command.
pub fn run(cli: Cli) -> Result<(), Failure> {
    let Cli { global, command } = cli;
    match &command {
        // Needs no home: it is run before there is one.
        Command::Completions(choice) => return completions::run(choice),
        Command::GitCredential { socket, operation } => return git_credential(socket, operation),
        _ => {}
    }
    let context = Context::new(&global)?;
    match command {
        Command::Actors(listing) => wait(actors::run(&context, &listing)),
        Command::Inbox(choice) => wait(inbox::run(&context, &choice)),
        Command::Send(choice) => wait(send::run(&context, &choice)),
        Command::Next(choice) => wait(next::run(&context, &choice)),
        Command::Ack(choice) => wait(ack::ack(&context, &choice)),
        Command::Nack(choice) => wait(ack::nack(&context, &choice)),
        Command::Quarantine { json, verb } => {
            let verb = verb.unwrap_or(Quarantine::List(Listing { json }));
            wait(quarantine::run(&context, verb))
        }
        Command::Replay(choice) if choice.projection => replay::projection(&context, &choice),
        Command::Replay(choice) => wait(replay::run(&context, &choice)),
        Command::Report(choice) => wait(report::run(&context, &choice)),
        Command::Pr(choice) => wait(pr::run(&context, &choice)),
        Command::Board(choice) => board::run(&context, &choice),
        Command::Why(choice) => why::run(&context, &choice),
        Command::Project(choice) => project::run(&context, &choice),
        Command::Export(choice) => wait(export::run(&context, &choice)),
        Command::Import(choice) => wait(import::run(&context, &choice)),
        Command::Torture(choice) => torture::run(&context, &choice),
        Command::Config(listing) => config::run(&context, &listing),
        Command::Completions(_) | Command::GitCredential { .. } => Ok(()),
        Command::Run(choice) => wait(run::run(&context, &choice)),
        Command::Reconcile(choice) => wait(reconcile::run(&context, &choice)),
        Command::PrState(choice) => wait(pr_state::run(&context, &choice)),
    }
}

/// Answers git, which asks for the token of whoever keeps the work trees.
fn git_credential(socket: &Path, operation: &str) -> Result<(), Failure> {
    child::git::answer_git(socket, operation, std::io::stdin(), std::io::stdout())
        .map_err(|error| Failure::new(Exit::Other, "cannot pass git's question on").because(error))
}

/// Carries out a one-shot command on a runtime of one thread.
fn wait<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Other, "cannot start the runtime").because(error))?
        .block_on(async {
            // A limit on the size of files is then an error of whoever writes, and not this process's end.
            let xfsz = SignalKind::from_raw(Signal::XFSZ.as_raw());
            let _heard = signal(xfsz).inspect_err(|error| {
                tracing::warn!("a limit on the size of files would end this process: {error}")
            });
            command.await
        })
}

/// The name of an actor as it stands on the command line.
fn mailbox_name(text: &str) -> Result<MailboxName, Failure> {
    text.parse()
        .map_err(|error: mailbox::NameError| Failure::new(Exit::Usage, "ACTOR").because(error))
}
