//! What a person sees when a command fails: one line that says what failed and on what, one that says
//! what to do next, and an exit code (contract, section 1). Never a panic, never a backtrace.

mod explain;
mod system;

use std::error::Error;
use std::fmt;
use std::io;
use std::panic::{self, UnwindSafe};
use std::path::Path;
use std::process::ExitCode;

use crate::print::hides;

/// The longest line of an error, in characters: a few lines of a narrow terminal. What is cut off is
/// in the log.
const LINE_LIMIT: usize = 600;

/// How a command ends when it does not end well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The reader of our output went away. Nothing is said, and the exit code is 0.
    ClosedPipe,
    /// Any other failure.
    Other,
    /// The command line or the configuration is wrong.
    Usage,
    /// GitHub refused the credentials, or there are none.
    Credentials,
    /// GitHub is unreachable, or rate-limited beyond the retry.
    GitHub,
    /// Another process holds the home.
    Held,
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Other => 1,
            Self::Usage => 2,
            Self::Credentials => 3,
            Self::GitHub => 4,
            Self::Held => 5,
        }
    }
}

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    headline: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    mend: Option<String>,
}

impl Failure {
    /// A failure with its headline: what failed, on what, as a fragment in lower case.
    pub fn new(exit: Exit, headline: impl Into<String>) -> Self {
        Self {
            exit,
            headline: headline.into(),
            cause: None,
            mend: None,
        }
    }

    /// A failure whose headline is the error's own.
    pub fn of(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(exit, String::new()).because(error)
    }

    /// The error that led to it. It and what led to it stand after the headline, on the same line.
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The same with words before its headline: what it kept from being done.
    pub fn on(mut self, what: impl Into<String>) -> Self {
        let what = what.into();
        self.headline = match self.headline.is_empty() {
            true => what,
            false => format!("{what}: {}", self.headline),
        };
        self
    }

    /// What to do next, as a whole sentence.
    pub fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }

    /// A failure to write to standard output. A closed pipe ends a listing quietly.
    pub fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::new(Exit::ClosedPipe, "standard output was closed")
        } else {
            Self::new(Exit::Other, "cannot write to standard output").because(error)
        }
    }

    /// The same, by what the system said of the error that led to it: make room where there is none, and so on; or
    /// `instead`, another way out, as a part of a sentence.
    pub fn mend_what_was_refused(self, instead: &str) -> Self {
        let mend = self.cause.as_deref().map(|cause| system::mend(cause, instead));
        Self { mend, ..self }
    }

    /// The same with `of` said wherever it names `instead`: of what a copy was read, say.
    pub fn naming(self, of: &Path, instead: &Path) -> Self {
        let (of, instead) = (of.display().to_string(), instead.display().to_string());
        let named = |text: String| text.replace(&instead, &of);
        Self {
            exit: self.exit,
            headline: named(self.first_line()),
            cause: None,
            mend: self.mend.map(named),
        }
    }

    /// The headline and the chain of causes. A cause that its parent's text already ends with is left
    /// out, since some libraries print their source themselves.
    fn first_line(&self) -> String {
        let cause = self.cause.as_deref().map(|cause| cause as &dyn Error);
        with_causes(self.headline.clone(), cause)
    }
}

/// A text followed by an error's and by that of every error behind it, once each.
pub fn with_causes(mut line: String, mut cause: Option<&dyn Error>) -> String {
    while let Some(error) = cause {
        let text = error.to_string();
        if !text.is_empty() && !line.ends_with(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

/// One line, or two where there is a mend.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sweep: {}", one_line(&self.first_line()))?;
        if let Some(mend) = &self.mend {
            write!(f, "\n  {}", one_line(mend))?;
        }
        Ok(())
    }
}

/// `text` on one line of at most [`LINE_LIMIT`] characters: runs of blanks become one blank, what could
/// steer a terminal is shown instead of sent.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        for char in word.chars() {
            if hides(char) {
                line.extend(char.escape_default());
            } else {
                line.push(char);
            }
        }
    }
    if let Some((end, _)) = line.char_indices().nth(LINE_LIMIT) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Runs a command and turns how it ended into the exit code, with what there is to say on stderr. A panic is
/// an event in the log; one that got here is a fault of this program, and said like any other failure.
pub fn run(command: impl FnOnce() -> Result<(), Failure> + UnwindSafe) -> ExitCode {
    runtime::log_panics();
    let ended = panic::catch_unwind(command).unwrap_or_else(|_| {
        Err(Failure::new(Exit::Other, "an internal error, which the log has with its place").mend(
            "This is a fault in sweep. What was acknowledged is on the disk; run the command again, and report it.",
        ))
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if failure.exit != Exit::ClosedPipe {
                say(&failure.to_string());
            }
            ExitCode::from(failure.exit.code())
        }
    }
}

/// Writes a line to stderr. Where that fails there is nobody left to tell.
pub fn say(line: &str) {
    use io::Write as _;
    let _nobody_to_tell = writeln!(io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open the store")]
    struct Outer(#[source] io::Error);

    fn shown(failure: &Failure) -> String {
        failure.to_string()
    }

    #[test]
    fn a_failure_is_its_headline_its_causes_and_its_mend() {
        let failure = Failure::new(Exit::Other, "cannot send to qa")
            .because(Outer(io::Error::other("disk on fire")))
            .mend("Put it out.");
        assert_eq!(
            shown(&failure),
            "sweep: cannot send to qa: cannot open the store: disk on fire\n  Put it out."
        );
    }

    #[test]
    fn a_cause_that_is_already_said_is_not_said_twice() {
        let failure =
            Failure::new(Exit::Other, "cannot read: disk on fire").because(io::Error::other("disk on fire"));
        assert_eq!(shown(&failure), "sweep: cannot read: disk on fire");
    }

    #[test]
    fn an_error_may_be_its_own_headline() {
        let failure = Failure::of(Exit::Other, Outer(io::Error::other("disk on fire")));
        assert_eq!(shown(&failure), "sweep: cannot open the store: disk on fire");
    }

    #[test]
    fn however_long_and_however_written_it_is_two_lines() {
        let failure =
            Failure::new(Exit::Usage, format!("a\nb\u{1b}[31m{}", "x".repeat(5_000))).mend("c\n\nd");
        let text = shown(&failure);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.starts_with("sweep: a b\\u{1b}[31mxxx"), "{text}");
        assert!(text.ends_with("…\n  c d"), "{text}");
    }

    #[test]
    fn a_closed_pipe_is_no_failure_and_a_full_disk_is() {
        assert_eq!(
            Failure::output(io::ErrorKind::BrokenPipe.into()).exit,
            Exit::ClosedPipe
        );
        assert_eq!(
            Failure::output(io::ErrorKind::StorageFull.into()).exit,
            Exit::Other
        );
    }

    #[test]
    fn every_ending_has_the_code_of_the_contract() {
        let codes: Vec<u8> = [
            Exit::ClosedPipe,
            Exit::Other,
            Exit::Usage,
            Exit::Credentials,
            Exit::GitHub,
            Exit::Held,
        ]
        .map(Exit::code)
        .to_vec();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5]);
    }
}
