//! Actors without Rust: a program that is run for each message, or the pull side (contract, section 3, "An actor
//! is declared in one of two ways").

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use child::{Captured, Command, CommandError, Exit, Finished};
use mailbox::MailboxName;

use crate::effects::EffectError;
use crate::message::{Body, DecodeError};
use crate::unit::{Factory, Handled, Unit};
use crate::{BoxError, Done, Fault, Turn};

/// The exit code that asks for the message again later: `EX_TEMPFAIL` of `sysexits.h`.
pub const TRY_AGAIN: i32 = 75;

/// The variables that a program finds beside [`child::PASSED_ON`], and what is in them.
pub const VARIABLES: [(&str, &str); 5] = [
    ("SWEEP_HOME", "the home, where the program runs"),
    ("SWEEP_ACTOR", "the actor's name"),
    ("SWEEP_MSG_ID", "the id of the message"),
    ("SWEEP_ATTEMPT", "which delivery of the message this is, from 1"),
    (
        "SWEEP_OWNER",
        "a mark by which it is found and ended with its message, whatever group it is in",
    ),
];

/// The most characters of an outcome: it is a few words for a person.
const OUTCOME: usize = 500;

/// The most characters that are kept of what a failed program wrote to standard error, its end: below what a
/// mailbox keeps of a reason, so that it cuts nothing off.
const SAID: usize = 1_000;

/// The outcome of a program that printed nothing.
const SILENT: &str = "done";

/// What a turn has beyond its program's deadline: ending a process group and reading what it said last takes a
/// moment, and the program's own deadline tells more than the turn's.
const SETTLING: Duration = Duration::from_secs(5);

/// An actor that is no Rust type.
///
/// ```
/// use runtime::External;
/// // Whoever takes its messages comes for them: a script, a person, another process.
/// let desk = External::pulled("desk".parse()?, ["remember"]);
/// // A program is run for each message.
/// let notes = External::program("notes".parse()?, ["remember"], ["/usr/local/bin/note", "--append"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A program gets the message as one JSON line on standard input. It runs in the home, in a process group of its own
/// that ends with it, with [`VARIABLES`] and [`child::PASSED_ON`] as its whole environment. Exit code 0 acks, with
/// the last line of standard output as outcome; [`TRY_AGAIN`] asks for the message again later; anything else, and a
/// missed deadline, is a failure that keeps the end of standard error. It may be run more than once for one message,
/// as any handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    pub(crate) name: MailboxName,
    pub(crate) consumes: Vec<String>,
    pub(crate) argv: Option<Vec<OsString>>,
}

impl External {
    /// An actor whose messages are taken from outside, under a lease.
    pub fn pulled<I: Into<String>>(name: MailboxName, consumes: impl IntoIterator<Item = I>) -> Self {
        Self {
            name,
            consumes: consumes.into_iter().map(Into::into).collect(),
            argv: None,
        }
    }

    /// An actor that is a program: its name or path, then its arguments. No shell reads them.
    pub fn program<I: Into<String>, A: Into<OsString>>(
        name: MailboxName,
        consumes: impl IntoIterator<Item = I>,
        argv: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            argv: Some(argv.into_iter().map(Into::into).collect()),
            ..Self::pulled(name, consumes)
        }
    }

    /// Its name.
    pub fn name(&self) -> &MailboxName {
        &self.name
    }

    /// The intents that it consumes.
    pub fn consumes(&self) -> &[String] {
        &self.consumes
    }

    /// Whether its messages are taken from outside.
    pub fn is_pulled(&self) -> bool {
        self.argv.is_none()
    }
}

/// How long a turn may run whose program may run this long.
pub(crate) fn turn_deadline(of_program: Duration) -> Duration {
    of_program.saturating_add(SETTLING)
}

/// Builds the unit that runs a program, where the program is there.
pub(crate) fn program_factory(argv: Vec<OsString>, home: PathBuf, deadline: Duration) -> Factory {
    let program = Arc::new(Program { argv, home, deadline });
    Box::new(move |_| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        program.find(&path)?;
        Ok(Box::new(Runner(Arc::clone(&program))) as Box<dyn Unit>)
    })
}

#[derive(Debug)]
struct Program {
    argv: Vec<OsString>,
    home: PathBuf,
    deadline: Duration,
}

impl Program {
    /// Looks for the program before the first message pays for one that is not there.
    fn find(&self, path: &OsStr) -> Result<(), BoxError> {
        let name = self.argv.first().ok_or(CommandError::Empty)?;
        let found = match name.as_encoded_bytes().contains(&b'/') {
            true => is_program(&self.home.join(name)),
            false => std::env::split_paths(path).any(|folder| is_program(&folder.join(name))),
        };
        match found {
            true => Ok(()),
            false => Err(ProgramError::NotThere {
                program: name.to_string_lossy().into_owned(),
            }
            .into()),
        }
    }

    fn command(&self, turn: &Turn) -> Result<Command, CommandError> {
        let mut command = Command::new(&self.argv)?
            .directory(&self.home)
            .deadline(self.deadline)
            .env("SWEEP_HOME", &self.home)
            .env("SWEEP_ACTOR", turn.actor().as_str())
            .env("SWEEP_ATTEMPT", turn.attempt().to_string());
        if let Some(envelope) = turn.envelope() {
            command = command
                .env("SWEEP_MSG_ID", envelope.message.msg_id().as_str())
                .stdin(format!("{}\n", envelope.message.line()));
        }
        Ok(command)
    }
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

struct Runner(Arc<Program>);

impl Unit for Runner {
    fn handle<'a>(&'a mut self, _: &Body<'_>, turn: &'a mut Turn) -> Result<Handled<'a>, DecodeError> {
        Ok(Box::pin(async move {
            let command = self.0.command(turn).map_err(Fault::crash)?;
            match turn.run(command).await {
                Ok(finished) => came_to(&finished),
                Err(EffectError::Command(CommandError::Deadline { program, after, said })) => {
                    Err(Fault::crash(ProgramError::Deadline {
                        program,
                        after,
                        said: last_words(&said.stderr),
                    }))
                }
                Err(error) => Err(Fault::crash(error)),
            }
        }))
    }

    fn takt<'a>(&'a mut self, _: &'a mut Turn) -> Handled<'a> {
        Box::pin(std::future::ready(Ok(Done::new("nothing to do"))))
    }
}

/// What a program that ran to its end says of its message.
fn came_to(finished: &Finished) -> Result<Done, Fault> {
    match finished.status {
        Exit::Code(0) => {
            let line = finished.stdout.last_line().unwrap_or_default();
            let outcome: String = one_line(&line).chars().take(OUTCOME).collect();
            Ok(Done::new(match outcome.is_empty() {
                true => SILENT.to_owned(),
                false => outcome,
            }))
        }
        Exit::Code(TRY_AGAIN) => Err(Fault::retry(format!(
            "{} asks for it again later{}",
            finished.program,
            last_words(&finished.stderr)
        ))),
        status @ (Exit::Code(_) | Exit::Signal(_)) => Err(Fault::crash(ProgramError::Failed {
            program: finished.program.clone(),
            status,
            said: last_words(&finished.stderr),
        })),
    }
}

/// The end of what a program wrote to standard error, after a colon; nothing where it wrote nothing.
fn last_words(stderr: &Captured) -> String {
    let said = one_line(&stderr.text());
    let cut = said.chars().count().saturating_sub(SAID);
    match (said.is_empty(), cut) {
        (true, _) => String::new(),
        (false, 0) => format!(": {said}"),
        (false, _) => format!(": …{}", said.chars().skip(cut).collect::<String>()),
    }
}

/// The text on one line, without what steers a terminal: it is shown in listings and logs.
fn one_line(text: &str) -> String {
    let words = text
        .split(|char: char| char.is_whitespace() || char.is_control())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Why a program did not handle its message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    /// There is no such program, or it may not be run.
    #[error("{program} is not there, or not executable")]
    NotThere { program: String },
    /// It ended otherwise than with 0 or [`TRY_AGAIN`].
    #[error("{program} ended with {status}{said}")]
    Failed {
        program: String,
        status: Exit,
        said: String,
    },
    /// It ran longer than it may.
    #[error("{program} ran longer than {} s and was ended{said}", after.as_secs_f64())]
    Deadline {
        program: String,
        after: Duration,
        said: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn how_a_program_ends_says_what_becomes_of_its_message() {
        async fn check(script: &str, expected: Result<&str, &str>) {
            let command = Command::new(["sh", "-c", script]).unwrap();
            let ended = came_to(&command.run().await.unwrap());
            let ended = ended
                .map(|done| done.outcome().to_owned())
                .map_err(|fault| match fault {
                    Fault::Retry(why) => format!("retry: {why}"),
                    Fault::Crash(why) => format!("crash: {why}"),
                    other => format!("{other:?}"),
                });
            assert_eq!(ended.as_deref().map_err(String::as_str), expected, "{script}");
        }
        check("echo one; echo two", Ok("two")).await;
        check("echo two; echo '  '", Ok("two")).await;
        check("true", Ok("done")).await;
        check("printf 'a\\033[31mb\\tc'", Ok("a [31mb c")).await;
        check("exit 75", Err("retry: sh asks for it again later")).await;
        check(
            "echo full >&2; exit 75",
            Err("retry: sh asks for it again later: full"),
        )
        .await;
        check(
            "echo out; echo a >&2; echo b >&2; exit 3",
            Err("crash: sh ended with exit code 3: a b"),
        )
        .await;
        check("kill -9 $$", Err("crash: sh ended with signal 9")).await;
    }

    #[tokio::test]
    async fn what_a_program_says_is_bounded_at_its_beginning_and_its_end() {
        let long = "printf 'x%.0s' $(seq 3000)";
        let run = |script: String| Command::new(["sh", "-c", &script]).unwrap().run();
        let done = came_to(&run(long.to_owned()).await.unwrap()).unwrap();
        assert_eq!(done.outcome().chars().count(), OUTCOME);
        let finished = run(format!("{{ {long}; echo why; }} >&2; exit 1")).await.unwrap();
        let fault = came_to(&finished).unwrap_err().to_string();
        assert!(fault.starts_with("sh ended with exit code 1: …xx"), "{fault}");
        assert!(fault.ends_with("xwhy"), "{fault}");
        assert!(fault.len() < mailbox::MAX_TEXT);
    }

    #[test]
    fn a_program_that_is_not_there_is_found_out_at_the_start() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("note");
        std::fs::write(&file, "").unwrap();
        let find = |name: &str| {
            let program = Program {
                argv: vec![name.into()],
                home: home.path().to_owned(),
                deadline: SETTLING,
            };
            program
                .find(home.path().as_os_str())
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            find("note"),
            Err("note is not there, or not executable".to_owned())
        );
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(find("note"), Ok(()));
        assert_eq!(find("./note"), Ok(()));
        assert_eq!(find(file.to_str().unwrap()), Ok(()));
        assert!(find("./other").is_err());
    }
}
