//! Which gates a repository has.

use std::collections::BTreeMap;
use std::time::Duration;

use child::{Command, CommandError};
use pulls::RepoName;

/// How much of each output stream of a gate is kept for its log, in bytes: the beginning and the end of it. A
/// gate may print without end, and its log is for a person.
const LOGGED: usize = 4 * 1024 * 1024;

/// One command that must succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The command as the configuration writes it, which is what the outcome names.
    pub name: String,
    /// How long it may run.
    pub timeout: Duration,
    /// What its environment holds beyond what every child gets.
    pub environment: BTreeMap<String, String>,
}

impl Gate {
    /// The command, to be run in a directory.
    pub(super) fn command(&self, directory: &std::path::Path) -> Result<Command, CommandError> {
        let command = Command::new(&self.argv)?
            .directory(directory)
            .deadline(self.timeout)
            .output_cap(LOGGED)
            // A git in it asks nobody, and takes no repository above the work tree for its own.
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap_or(directory))
            .env("NO_COLOR", "1");
        Ok(self
            .environment
            .iter()
            .fold(command, |command, (name, value)| command.env(name, value)))
    }
}

/// The gates of every repository that has some, in the order in which they are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates(BTreeMap<RepoName, Vec<Gate>>);

impl Gates {
    /// Adds a gate after those that the repository has.
    pub fn add(&mut self, repo: RepoName, gate: Gate) {
        self.0.entry(repo).or_default().push(gate);
    }

    /// The gates of a repository; none where none is configured.
    pub fn of(&self, repo: &RepoName) -> &[Gate] {
        self.0.get(repo).map_or(&[], Vec::as_slice)
    }

    /// The repositories that have gates.
    pub fn repositories(&self) -> impl Iterator<Item = &RepoName> {
        self.0.keys()
    }

    /// Whether no repository has any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The longest that one gate may take.
    pub fn longest(&self) -> Duration {
        let timeouts = self.0.values().flatten().map(|gate| gate.timeout);
        timeouts.max().unwrap_or_default()
    }
}
