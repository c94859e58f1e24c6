//! Prepares an answer (contract, section 5, `investigate`): reads the pull request again and writes
//! `<home>/investigations/<owner>-<repo>-<pr>.md`, with what changed in the commented file since; a program of
//! the user's may read it and leave a draft answer beside it. It posts nothing.

mod brief;
mod changes;

use std::path::PathBuf;
use std::time::Duration;

use child::Command;
use github::Reader;
use pulls::{PrRef, escape};
use runtime::{Actor, Done, EffectError, Fault, HomePath, Turn, message};

use crate::again;
use crate::intents::{AboutPull as _, Respond};
use crate::places;
use crate::trees::Trees;

/// The most bytes of a draft answer that are kept: more than GitHub takes in a comment.
const LONGEST_DRAFT: usize = 256 * 1024;

message! {
    /// What the investigator consumes.
    pub enum InvestigateMessage {
        /// A reviewer waits for an answer.
        Respond(Respond),
    }
}

/// A program that gets the brief and may leave a draft answer: an agent, a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answering {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// How long it may run.
    pub timeout: Duration,
}

/// The investigator.
pub struct Investigate {
    github: Reader,
    trees: Trees,
    /// With the home, in which it runs.
    answering: Option<(Answering, PathBuf)>,
}

impl Investigate {
    /// An investigator that reads with `github` and compares in `trees`.
    pub fn new(github: Reader, trees: Trees) -> Self {
        Self {
            github,
            trees,
            answering: None,
        }
    }

    /// Has a draft answer written by a program that runs in this home.
    pub fn answering(mut self, answering: Answering, home: impl Into<PathBuf>) -> Self {
        self.answering = Some((answering, home.into()));
        self
    }

    /// Runs the program on the brief; what came of it, for the outcome.
    async fn draft(
        &self,
        (answering, home): &(Answering, PathBuf),
        (at, path, page): (&PrRef, &HomePath, String),
        turn: &mut Turn,
    ) -> Result<String, Fault> {
        let command = Command::new(&answering.argv)
            .map_err(|error| Fault::reject(error.to_string()))?
            .directory(home)
            .deadline(answering.timeout)
            .output_cap(LONGEST_DRAFT)
            .env("SWEEP_REPO", at.repo.as_str())
            .env("SWEEP_PR", at.number.to_string())
            .env("SWEEP_BRIEF", path.as_str())
            .stdin(page);
        let finished = match turn.run(command).await {
            Ok(finished) => finished,
            // The brief is there: that nobody drafted an answer loses nothing of it.
            Err(EffectError::Command(error)) => return Ok(format!("no draft: {error}")),
            Err(other) => return Err(other.into()),
        };
        turn.progress();
        let text = finished.stdout.text();
        if !finished.succeeded() {
            let said = finished.stderr.last_line().map(|line| format!(": {line}"));
            let said = escape::clamp(&escape::line(&said.unwrap_or_default()), 200);
            return Ok(format!(
                "no draft: {} ended with {}{said}",
                finished.program, finished.status
            ));
        }
        if text.trim().is_empty() {
            return Ok("no draft: the program printed nothing".to_owned());
        }
        let draft = format!("{}.draft.md", path.as_str().trim_end_matches(".md"));
        let draft: HomePath = draft.parse()?;
        turn.write_file(&draft, escape::lines(&text)).await?;
        Ok(format!("draft: {draft}"))
    }
}

impl Actor for Investigate {
    const NAME: &'static str = "investigate";
    type Message = InvestigateMessage;

    async fn handle(&mut self, message: InvestigateMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let InvestigateMessage::Respond(asked) = message;
        let pull = again::read(&self.github, &asked.at(), turn).await?;
        if let Some(why) = again::closed(&pull) {
            return Ok(Done::new(format!("moot: {why}")));
        }
        let changes = match brief::commented(&pull, &asked) {
            Some(place) => Some(changes::since(&self.trees, &pull, place, turn).await?),
            None => None,
        };
        let page = brief::render(&pull, &asked, changes.as_ref(), turn.now());
        let path = place(turn, &pull.at).await?;
        turn.write_file(&path, page.clone()).await?;
        let outcome = format!("briefed: {path}");
        let Some(answering) = &self.answering else {
            return Ok(Done::new(outcome));
        };
        let draft = self.draft(answering, (&pull.at, &path, page), turn).await?;
        Ok(Done::new(format!("{outcome}; {draft}")))
    }
}

/// Where the brief of a pull request lies; the length of the owner's name tells apart what shares a name, as it does
/// in message ids.
async fn place(turn: &mut Turn, at: &PrRef) -> Result<HomePath, Fault> {
    let name = format!("{}-{}", at.repo.slug(), at.number);
    let names = [
        format!("{name}.md"),
        format!("{name}~{}.md", at.repo.owner().len()),
    ];
    let first_words = brief::first_words(at);
    places::told_apart(turn, "investigations", names, |page| {
        page.starts_with(first_words.as_bytes())
    })
    .await
}
