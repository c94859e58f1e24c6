//! The handlers of the built-in actors apart from a host: to run one again on a message that it had.

use std::collections::BTreeSet;
use std::time::Duration;

use actors::drip::Drip;
use actors::investigate::Investigate;
use actors::qa::Qa;
use actors::retro::Retro;
use github::Reader;
use mailbox::{Envelope, MailboxName, NameError};
use pulls::RepoName;
use runtime::{Actor, OneShot, Rerun};

use crate::config::Config;
use crate::failure::Failure;

/// The wait before the one retry after a rate limit: a person sits before it.
const RETRY_WAIT: Duration = Duration::from_secs(5);

/// The handler of a built-in actor, with what it is built of. Each message gets an actor of its own, as after a start.
#[derive(Debug)]
pub enum Handler {
    /// The record keeper.
    Retro,
    /// Who moves pull requests along.
    Drip,
    /// The gate keeper of these repositories.
    Qa(BTreeSet<RepoName>),
    /// The investigator, which reads GitHub.
    Investigate(Reader),
}

impl Handler {
    /// The handler of a built-in actor; `None` for any other.
    ///
    /// # Errors
    ///
    /// When it reads GitHub, and GitHub refuses the credentials, there are none, or it cannot be reached.
    pub async fn of(name: &MailboxName, config: &Config) -> Result<Option<Self>, Failure> {
        Ok(Some(match name.as_str() {
            Retro::NAME => Self::Retro,
            Drip::NAME => Self::Drip,
            Qa::NAME => Self::Qa(config.gated.clone()),
            Investigate::NAME => Self::Investigate(reader_for(name).await?),
            _ => return Ok(None),
        }))
    }

    /// Runs it on a message, with every effect noted down instead of done.
    ///
    /// # Errors
    ///
    /// When the actor's name is no mailbox name.
    pub async fn rerun(&self, turn: &OneShot, envelope: Envelope) -> Result<Rerun, NameError> {
        match self {
            Self::Retro => turn.rerun(&mut Retro, envelope).await,
            Self::Drip => turn.rerun(&mut Drip, envelope).await,
            Self::Qa(gated) => turn.rerun(&mut Qa::new(gated.clone()), envelope).await,
            Self::Investigate(github) => turn.rerun(&mut Investigate::new(github.clone()), envelope).await,
        }
    }
}

/// A GitHub that answers: without it every message would only say that it does not.
async fn reader_for(name: &MailboxName) -> Result<Reader, Failure> {
    let github = super::github(RETRY_WAIT)?;
    match github.viewer().await {
        Ok(_) => Ok(github),
        Err(error) => Err(Failure::from(error).on(format!(
            "{name} reads GitHub, and its messages cannot be run again"
        ))),
    }
}
