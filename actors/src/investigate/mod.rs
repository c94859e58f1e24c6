//! Prepares an answer (contract, section 5, `investigate`): reads the pull request again and writes
//! `<home>/investigations/<owner>-<repo>-<pr>.md`. It posts nothing.

mod brief;

use std::time::Duration;

use github::{ErrorClass, ReadError, Reader};
use pulls::facts::PullState;
use pulls::{PrRef, PullFacts};
use runtime::{Actor, Done, Fault, HomePath, Reason, Turn, message};

use crate::intents::{AboutPull as _, Respond};

/// How long the actor rests when GitHub is not there and names no time itself.
const UNAVAILABLE_REST: Duration = Duration::from_secs(60);

message! {
    /// What the investigator consumes.
    pub enum InvestigateMessage {
        /// A reviewer waits for an answer.
        Respond(Respond),
    }
}

/// The investigator.
#[derive(Debug)]
pub struct Investigate {
    github: Reader,
}

impl Investigate {
    /// An investigator that reads with `github`.
    pub fn new(github: Reader) -> Self {
        Self { github }
    }
}

impl Actor for Investigate {
    const NAME: &'static str = "investigate";
    type Message = InvestigateMessage;

    async fn handle(&mut self, message: InvestigateMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let InvestigateMessage::Respond(asked) = message;
        let pull = read_again(&self.github, &asked.at(), turn).await?;
        if pull.state != PullState::Open {
            return Ok(Done::new(format!(
                "moot: the pull request is {}",
                pull.state.as_str().to_lowercase()
            )));
        }
        let page = brief::render(&pull, &asked, turn.now());
        let path = place(turn, &pull.at).await?;
        turn.write_file(&path, page).await?;
        Ok(Done::new(format!("briefed: {path}")))
    }
}

/// Where the brief of a pull request lies. Two repositories can share a slug (`a-b/c` and `a/b-c`); where the
/// file is the other's, the length of the owner's name tells this one apart, as it does in message ids.
async fn place(turn: &mut Turn, at: &PrRef) -> Result<HomePath, Fault> {
    let folder = HomePath::fixed("investigations");
    let name = format!("{}-{}", at.repo.slug(), at.number);
    let refuse = |error: runtime::HomePathError| Fault::reject(error.to_string());
    let plain = folder.join(&format!("{name}.md")).map_err(refuse)?;
    let there = turn.read_file(&plain).await?;
    let is_ours = there.is_none_or(|page| page.starts_with(brief::first_words(at).as_bytes()));
    if is_ours {
        return Ok(plain);
    }
    folder
        .join(&format!("{name}~{}.md", at.repo.owner().len()))
        .map_err(refuse)
}

/// Reads one pull request as it is now; what that fails with says what becomes of the message.
pub(crate) async fn read_again(github: &Reader, at: &PrRef, turn: &mut Turn) -> Result<PullFacts, Fault> {
    let mut read = github.pulls(std::slice::from_ref(at), &|_| ()).await;
    turn.progress();
    if let Some(pull) = read.found.pop() {
        return Ok(pull);
    }
    let skipped = read.skipped.pop().map(|skipped| skipped.error);
    let error = read
        .stopped
        .or(skipped)
        .unwrap_or_else(|| ReadError::NoPull(at.clone()));
    let text = format!("cannot read {at}");
    Err(match (&error, error.class()) {
        (ReadError::NoPull(_) | ReadError::NoRepository(_), _) => Fault::reject(Reason::because(text, error)),
        (_, ErrorClass::Credentials | ErrorClass::Unavailable) => Fault::wait(
            turn.moment().after(UNAVAILABLE_REST),
            Reason::because(text, error),
        ),
        (_, ErrorClass::Other) => Fault::retry(Reason::because(text, error)),
    })
}
