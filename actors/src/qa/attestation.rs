//! What is written when gates were run: the gate file, the logs and the words of the outcome. Pure.

use std::time::Duration;

use child::{Captured, CommandError, Exit, Finished};
use chrono::SecondsFormat;
use pulls::facts::Time;
use pulls::{PrNumber, RepoName, Sha, escape};
use serde::Serialize;

/// The version of a gate file.
const VERSION: u32 = 1;

/// How many of the first useful lines of a failed gate its outcome shows.
const USEFUL_LINES: usize = 3;

/// How long a line of them may be, in characters.
const USEFUL_WIDTH: usize = 160;

/// What a line has in it that says why something failed, in lower case.
const TELLING: [&str; 8] = [
    "error",
    "fail",
    "panicked",
    "assert",
    "fatal",
    "not found",
    "denied",
    "refused",
];

/// How one gate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Passed,
    Failed,
    TimedOut,
}

/// One gate that was run.
#[derive(Debug, Clone)]
pub(super) struct Ran {
    pub(super) name: String,
    pub(super) verdict: Verdict,
    /// How it ended, in words: `exit code 1`.
    pub(super) end: String,
    pub(super) took: Duration,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    /// Where its log lies, below the home.
    pub(super) log: String,
}

impl Ran {
    /// What running a gate came to. An error that says nothing of the gate, such as a machine out of processes, is
    /// handed back.
    pub(super) fn of(
        name: &str,
        log: String,
        ended: Result<Finished, CommandError>,
    ) -> Result<Self, CommandError> {
        let (verdict, end, took, stdout, stderr) = match ended {
            Ok(finished) => {
                let verdict = match finished.status {
                    Exit::Code(0) => Verdict::Passed,
                    Exit::Code(_) | Exit::Signal(_) => Verdict::Failed,
                };
                let end = finished.status.to_string();
                (verdict, end, finished.took, finished.stdout, finished.stderr)
            }
            Err(CommandError::Deadline { after, said, .. }) => {
                let end = format!("ended after {} s, its limit", after.as_secs_f64());
                (Verdict::TimedOut, end, after, said.stdout, said.stderr)
            }
            Err(error @ (CommandError::NotFound { .. } | CommandError::Empty)) => {
                let nothing = Captured::default();
                let end = error.to_string();
                (Verdict::Failed, end, Duration::ZERO, nothing.clone(), nothing)
            }
            Err(error) => return Err(error),
        };
        Ok(Self {
            name: name.to_owned(),
            verdict,
            end,
            took,
            stdout,
            stderr,
            log,
        })
    }

    /// The log: what was run, how it ended, and what it said.
    pub(super) fn log_text(&self, about: &About<'_>) -> String {
        format!(
            "$ {}\n# {}#{} at {}, {}, {:.1} s\n\n--- stdout ---\n{}\n--- stderr ---\n{}\n",
            escape::line(&self.name),
            about.repo,
            about.pr,
            about.head,
            self.end,
            self.took.as_secs_f64(),
            self.stdout.text(),
            self.stderr.text(),
        )
    }

    /// `failed: <command>` with the first useful lines of its output (contract, section 5, `qa`).
    pub(super) fn failure(&self) -> String {
        let mut words = format!("failed: {}", escape::line(&self.name));
        match self.verdict {
            Verdict::TimedOut => words.push_str(&format!(" ({})", self.end)),
            Verdict::Failed | Verdict::Passed => {}
        }
        let useful = useful(&self.stderr.text(), &self.stdout.text());
        if useful.is_empty() && self.verdict == Verdict::Failed {
            words.push_str(&format!(" ({})", self.end));
        } else if !useful.is_empty() {
            words.push_str(&format!(": {}", useful.join(" / ")));
        }
        words
    }
}

/// What the gates were run on.
#[derive(Debug, Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) repo: &'a RepoName,
    pub(super) pr: PrNumber,
    pub(super) head: &'a Sha,
}

/// The first lines that say why something failed; where none says so, the last ones that say anything. A program
/// says it on standard error or, as test runners do, on standard output.
fn useful(stderr: &str, stdout: &str) -> Vec<String> {
    let lines = || {
        stderr
            .lines()
            .chain(stdout.lines())
            .map(escape::line)
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
    };
    let telling = |line: &String| {
        let folded = line.to_lowercase();
        TELLING.iter().any(|word| folded.contains(word))
    };
    let mut useful: Vec<String> = lines().filter(telling).take(USEFUL_LINES).collect();
    if useful.is_empty() {
        useful = lines().collect();
        useful.drain(..useful.len().saturating_sub(USEFUL_LINES));
    }
    useful
        .iter()
        .map(|line| escape::clamp(line, USEFUL_WIDTH))
        .collect()
}

/// The gate file of a head on which every gate passed.
#[derive(Debug, Serialize)]
struct Attestation<'a> {
    v: u32,
    repo: &'a RepoName,
    pr: PrNumber,
    head: &'a Sha,
    attested_at: String,
    commands: Vec<Line<'a>>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    command: &'a str,
    result: Verdict,
    seconds: f64,
    log: &'a str,
}

/// The gate file's text: head, commands, results, times.
pub(super) fn text(about: &About<'_>, ran: &[Ran], now: Time) -> String {
    let attestation = Attestation {
        v: VERSION,
        repo: about.repo,
        pr: about.pr,
        head: about.head,
        attested_at: now.to_rfc3339_opts(SecondsFormat::Secs, true),
        commands: ran
            .iter()
            .map(|ran| Line {
                command: &ran.name,
                result: ran.verdict,
                seconds: (ran.took.as_secs_f64() * 10.0).round() / 10.0,
                log: &ran.log,
            })
            .collect(),
    };
    let text = serde_json::to_string_pretty(&attestation)
        .expect("an attestation has string keys only, and no failing serializer");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_useful_lines_say_why() {
        let stdout =
            "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nthread 'b' panicked at src/lib.rs:3\n";
        assert_eq!(
            useful("   Compiling x v0.1.0\n", stdout),
            ["test b ... FAILED", "thread 'b' panicked at src/lib.rs:3"]
        );
        assert_eq!(
            useful("warning: x\nerror[E0425]: cannot find value\n", ""),
            ["error[E0425]: cannot find value"]
        );
        assert_eq!(useful("", "one\ntwo\nthree\nfour\n\n"), ["two", "three", "four"]);
        assert!(useful("", " \n").is_empty());
    }

    #[test]
    fn lines_that_steer_a_terminal_are_shown_without() {
        let shown = useful("\u{1b}[31merror\u{1b}[0m: no\n", "");
        assert!(!shown[0].contains('\u{1b}'), "{shown:?}");
        let long = useful(&format!("error {}", "x".repeat(1_000)), "");
        assert!(long[0].chars().count() <= USEFUL_WIDTH + 1, "{long:?}");
    }
}
