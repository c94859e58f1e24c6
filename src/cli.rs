//! The command line, as `sweep --help` tells it. What a command does is in `commands/`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, Parser, Subcommand, ValueEnum};
use pulls::{PrNumber, PrRef, RepoName};

use crate::duration::Span;
use crate::failure::{Exit, Failure};

mod looking;
mod maintain;
mod replay;
mod torture;
mod transfer;

pub use looking::{Pr, Report};
pub use maintain::{Board, Project, Reconcile, Why};
pub use replay::Replay;
pub use torture::{Full, Torture};
pub use transfer::{Export, Import};

/// Moves your open pull requests along with supervised actors, each with a durable mailbox.
///
/// `sweep run --demo` shows all of it on an embedded GitHub, without a token.
#[derive(Debug, Parser)]
#[command(name = "sweep", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done; 1 any other failure; 2 usage or configuration; 3 GitHub refused the \
    credentials; 4 GitHub unreachable or rate-limited; 5 another process holds the home."
)]
pub struct Cli {
    /// What holds for every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What holds for every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Where mailboxes, configuration and snapshots lie [default: $SWEEP_HOME, else ~/.sweep]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Evaluate a one-shot command as of this moment; leases and backoff stay on the real clock
    #[arg(long, global = true, value_name = "RFC3339", value_parser = moment)]
    pub now: Option<DateTime<Utc>>,
    /// The form of the log on stderr, text or json; RUST_LOG says how much of it
    #[arg(
        long,
        global = true,
        value_name = "FORM",
        default_value = "text",
        hide_possible_values = true
    )]
    pub log_format: LogFormat,
}

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Host all actors until SIGINT or SIGTERM, then drain
    Run(Run),
    /// Read your open pull requests, classify them and send one message each
    PrState(PrState),
    /// One cycle over the maintained repositories: what changed is read, and every state is written down
    Reconcile(Reconcile),
    /// Every declared actor: what it consumes, its state, what is unread
    Actors(Listing),
    /// The mailboxes with counts, or one actor's messages with attempts and acks
    Inbox(Inbox),
    /// Put one message in an actor's mailbox
    Send(Send),
    /// Take one message under a lease, for an actor that lives outside this process
    Next(Next),
    /// Acknowledge a message: it is handled for good
    Ack(Ack),
    /// Hand a message back: it failed, or can never be handled
    Nack(Nack),
    /// Messages that spent their attempts or were rejected, with each failure; retry or drop them
    #[command(args_conflicts_with_subcommands = true)]
    Quarantine {
        /// Print one JSON document, where nothing else is said
        #[arg(long)]
        json: bool,
        /// What to do with them; lists them where nothing is said
        #[command(subcommand)]
        verb: Option<Quarantine>,
    },
    /// The post-mortem: a mailbox in order, each message with everything that happened to it
    Replay(Replay),
    /// The pipeline's own numbers over a range of time, as text, JSON or a page with plots
    Report(Report),
    /// One pull request's story in time order: what it was found to be, every message, what came of it
    Pr(Pr),
    /// Every pull request in its column: the maintainer's states, and your own buckets
    ///
    /// It is printed as it is recorded; GitHub is not asked. The page that updates by itself comes in a later version.
    Board(Board),
    /// Why a pull request is where it is: every rule of both halves, and what would change it
    ///
    /// It is told from what is recorded, as of now or of --now; GitHub is not asked.
    Why(Why),
    /// Evidence about a pull request on stdin, its one state on stdout
    Project(Project),
    /// Mailboxes as JSONL: every message with what happened to it
    Export(Export),
    /// Take in what `sweep export` wrote; what is known by its id stays as it is
    Import(Import),
    /// Prove the mailbox's promises on this machine and disk: kills and full disks against a scratch home
    Torture(Torture),
    /// The effective configuration, each value with its source
    Config(Listing),
    /// A completion script for your shell
    Completions(Completions),
    /// What git runs to ask for the token: not for people
    #[command(name = GIT_CREDENTIAL, hide = true)]
    GitCredential {
        /// The socket of the process that keeps the work trees
        socket: PathBuf,
        /// What git wants: get, store or erase
        operation: String,
    },
}

/// The mode in which this program is git's credential helper.
pub const GIT_CREDENTIAL: &str = "git-credential";

/// A listing without further choices.
#[derive(Debug, Args)]
pub struct Listing {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `sweep run`.
#[derive(Debug, Args)]
pub struct Run {
    /// One dispatch, then until nothing is deliverable now; what backs off stays unread
    #[arg(long)]
    pub once: bool,
    /// An embedded GitHub instead of the real one: no token, nothing leaves this machine
    #[arg(long)]
    pub demo: bool,
    /// Host only these actors; credentials are asked for only if one of them needs them
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub actors: Vec<String>,
}

/// `sweep pr-state`.
#[derive(Debug, Args)]
pub struct PrState {
    /// Only pull requests of this repository
    #[arg(long, value_name = "OWNER/NAME", conflicts_with = "from_queue")]
    pub repo: Option<RepoName>,
    /// Only pull requests that the drip queue names as open
    #[arg(long)]
    pub from_queue: bool,
    /// At most this many pull requests, 1 to 200 [default: `[pr_state] limit`, else 50]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_LIMIT)),
        allow_hyphen_values = true
    )]
    pub limit: Option<u16>,
    /// Print only this bucket; everything is delivered and counted all the same
    #[arg(long, value_name = "NAME")]
    pub bucket: Option<BucketName>,
    /// Print the messages, one JSON line each, and write nothing at all
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// How long to wait before the one retry when GitHub limits the rate and names no longer time
    #[arg(long, value_name = "SPAN", default_value = "30s", allow_hyphen_values = true)]
    pub retry_wait: Span,
}

/// The most pull requests of one run (contract, section 4).
pub const MAX_LIMIT: u16 = 200;

/// A bucket by name, in the order in which the rules are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BucketName {
    /// Superseded, or a maintainer asked to close it.
    Close,
    /// A reviewer wants an answer.
    Investigate,
    /// In conflict with its base, or far behind it.
    Rebase,
    /// A check fails, or the gate is missing or stale.
    Qa,
    /// Approved and green.
    Ship,
    /// Nothing to do now.
    Wait,
}

/// `sweep inbox`.
#[derive(Debug, Args)]
pub struct Inbox {
    /// Whose mailbox; without it, all of them with counts
    pub actor: Option<String>,
    /// Only messages that are unread
    #[arg(long, requires = "actor")]
    pub unread: bool,
    /// Only messages about this pull request
    #[arg(long, value_name = "OWNER/NAME#N", requires = "actor")]
    pub pr: Option<PrRef>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `sweep send`.
#[derive(Debug, Args)]
pub struct Send {
    /// Whose mailbox
    pub actor: String,
    /// What it is asked to do; refused if it does not declare it
    pub intent: String,
    /// The repository that it is about
    #[arg(long, value_name = "OWNER/NAME")]
    pub repo: Option<RepoName>,
    /// The number of the pull request there
    #[arg(long, value_name = "N", requires = "repo", allow_hyphen_values = true)]
    pub pr: Option<PrNumber>,
    /// What else the intent needs: a JSON object, `@FILE` to read it from there, `-` from stdin
    #[arg(long, value_name = "JSON")]
    pub payload: Option<String>,
    /// The message's id; a second message with the same id is not taken [default: a new one]
    #[arg(long, value_name = "ID")]
    pub msg_id: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `sweep next`.
#[derive(Debug, Args)]
pub struct Next {
    /// Whose mailbox
    pub actor: String,
    /// How long the message is yours; it is unread again afterwards
    #[arg(long, value_name = "SPAN", default_value = "10m", value_parser = lease, allow_hyphen_values = true)]
    pub lease: Span,
}

/// How long a message may be somebody's. A shorter time is over before anything is done; a longer one is a slip,
/// and nobody else gets anything of a mailbox while as much is in hand as its WIP allows.
const LEASES: RangeInclusive<Span> = Span::seconds(1)..=Span::days(30);

fn lease(text: &str) -> Result<Span, String> {
    Span::within(text, &LEASES)
}

/// `sweep ack`.
#[derive(Debug, Args)]
pub struct Ack {
    /// Whose mailbox
    pub actor: String,
    /// The message
    pub msg_id: String,
    /// How it went, in a few words
    #[arg(long, value_name = "TEXT")]
    pub outcome: String,
    /// The lease that `next` gave; without it, the message's current pull lease
    #[arg(long, value_name = "ID")]
    pub lease: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `sweep nack`.
#[derive(Debug, Args)]
pub struct Nack {
    /// Whose mailbox
    pub actor: String,
    /// The message
    pub msg_id: String,
    /// Why, in a few words
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// Deliver it again no sooner than this [default: exponential backoff]
    #[arg(
        long,
        value_name = "SPAN",
        conflicts_with = "reject",
        allow_hyphen_values = true
    )]
    pub retry_after: Option<Span>,
    /// It can never be handled: to quarantine at once
    #[arg(long)]
    pub reject: bool,
    /// The lease that `next` gave; without it, the message's current pull lease
    #[arg(long, value_name = "ID")]
    pub lease: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `sweep quarantine`.
#[derive(Debug, Subcommand)]
pub enum Quarantine {
    /// Every message in quarantine, of all actors
    List(Listing),
    /// One message with everything that happened to it
    Show(Quarantined),
    /// Make it unread again, with fresh attempts; its failures stay on record
    Retry(Quarantined),
    /// Give it up for good; its failures stay on record
    Drop {
        /// Which message
        #[command(flatten)]
        which: Quarantined,
        /// Why, in a few words
        #[arg(long, value_name = "TEXT", default_value = "dropped by hand")]
        reason: String,
    },
}

/// A message in quarantine.
#[derive(Debug, Args)]
pub struct Quarantined {
    /// Whose mailbox
    pub actor: String,
    /// The message
    pub msg_id: String,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `sweep completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    DateTime::parse_from_rfc3339(text)
        .map(|moment| moment.with_timezone(&Utc))
        .map_err(|_| "not a moment of RFC 3339; write it like 2026-05-14T17:45:00Z".to_owned())
}

/// What parsing the command line came to.
#[derive(Debug)]
pub enum Parsed {
    /// A command to carry out.
    Command(Box<Cli>),
    /// Help or the version, to be printed on stdout.
    Text(String),
}

/// Parses a command line, the program's name first.
pub fn parse<I, T>(words: I) -> Result<Parsed, Failure>
where
    I: IntoIterator<Item = T>,
    T: Into<std::ffi::OsString> + Clone,
{
    use clap::error::ErrorKind;
    match Cli::try_parse_from(words) {
        Ok(cli) => Ok(Parsed::Command(Box::new(cli))),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Ok(Parsed::Text(error.render().to_string()))
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Err(Failure::new(Exit::Usage, "no command given").mend("`sweep --help` lists them."))
            }
            _ => Err(usage(&error.render().to_string())),
        },
    }
}

/// Puts clap's message into our form: its first paragraph, and its tip or where the help is.
fn usage(rendered: &str) -> Failure {
    let mut paragraphs = rendered.split("\n\n");
    let said = paragraphs.next().unwrap_or_default();
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let mut mend = None;
    for paragraph in paragraphs {
        let paragraph = paragraph.trim();
        if let Some(tip) = paragraph.strip_prefix("tip: ") {
            mend.get_or_insert_with(|| format!("Tip: {}.", tip.lines().next().unwrap_or(tip)));
        } else if let Some(usage) = paragraph.strip_prefix("Usage: ") {
            // "sweep send [OPTIONS] <ACTOR> <INTENT>" -> "sweep send"
            let command: Vec<&str> = usage
                .split_whitespace()
                .take_while(|word| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
                .filter(|word| !word.starts_with('-'))
                .collect();
            mend.get_or_insert_with(|| format!("`{} --help` tells what it takes.", command.join(" ")));
        }
    }
    Failure::new(Exit::Usage, said)
        .mend(mend.unwrap_or_else(|| "`sweep --help` tells what it takes.".to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn refused(words: &[&str]) -> String {
        match parse([&["sweep"], words].concat()) {
            Err(failure) => {
                assert_eq!(failure.exit, Exit::Usage);
                failure.to_string()
            }
            Ok(parsed) => panic!("{words:?} was taken: {parsed:?}"),
        }
    }

    fn taken(words: &[&str]) -> Command {
        match parse([&["sweep"], words].concat()) {
            Ok(Parsed::Command(cli)) => cli.command,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn usage_errors_are_two_lines() {
        for (words, first, second) in [
            (&[][..], "sweep: no command given", "`sweep --help` lists them."),
            (
                &["inbx"],
                "sweep: unrecognized subcommand 'inbx'",
                "Tip: a similar subcommand exists: 'inbox'.",
            ),
            (
                &["pr-state", "--limit", "201"],
                "sweep: invalid value '201' for '--limit <N>': 201 is not in 1..=200",
                "`sweep --help` tells what it takes.",
            ),
            (
                &["send"],
                "sweep: the following required arguments were not provided: <ACTOR> <INTENT>",
                "`sweep send --help` tells what it takes.",
            ),
            (
                &["pr-state", "--bucket", "shp"],
                "sweep: invalid value 'shp' for '--bucket <NAME>' [possible values: close, investigate, rebase, qa, \
                 ship, wait]",
                "Tip: a similar value exists: 'ship'.",
            ),
            (
                &["--now", "yesterday", "actors"],
                "sweep: invalid value 'yesterday' for '--now <RFC3339>': not a moment of RFC 3339; write it like \
                 2026-05-14T17:45:00Z",
                "`sweep --help` tells what it takes.",
            ),
        ] {
            assert_eq!(refused(words), format!("{first}\n  {second}"));
        }
    }

    #[test]
    fn odd_repository_names_are_refused_as_such() {
        for name in [
            "../../etc",
            "a/b/c",
            "a b/c",
            "owner",
            "/x",
            "x/",
            "o/..",
            "o/\u{202e}x",
            "-o/x",
        ] {
            let said = refused(&["pr-state", &format!("--repo={name}")]);
            assert!(
                said.contains("is not a repository name; write it as owner/name"),
                "{said}"
            );
            assert!(!said.contains('\u{202e}'), "{said}");
        }
    }

    #[test]
    fn choices_that_exclude_each_other_are_refused() {
        refused(&["pr-state", "--repo", "a/b", "--from-queue"]);
        refused(&[
            "nack",
            "qa",
            "m",
            "--reason",
            "r",
            "--reject",
            "--retry-after",
            "1m",
        ]);
        refused(&["inbox", "--unread"]);
        refused(&["send", "qa", "reattest", "--pr", "3"]);
    }

    #[test]
    fn commands_are_read() {
        let Command::Run(run) = taken(&["run", "--once", "--actors", "qa,drip"]) else {
            panic!("not run")
        };
        assert!(run.once && !run.demo);
        assert_eq!(run.actors, ["qa", "drip"]);
        let Command::Next(next) = taken(&["next", "triage", "--lease", "1h"]) else {
            panic!("not next")
        };
        assert_eq!(next.lease, Span::hours(1));
    }
}
