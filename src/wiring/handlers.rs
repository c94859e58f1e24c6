//! The handlers of the built-in actors apart from a host: to run one again on a message that it had.

use std::time::Duration;

use actors::drip::{Drip, Pushing};
use actors::investigate::Investigate;
use actors::pr_state::Rules;
use actors::qa::{Gates, Qa};
use actors::retro::Retro;
use actors::trees::Trees;
use github::Reader;
use mailbox::{Envelope, MailboxName, NameError};
use runtime::{Actor, OneShot, Rerun};

use crate::config::Config;
use crate::failure::Failure;

/// The wait before the one retry after a rate limit: a person sits before it.
const RETRY_WAIT: Duration = Duration::from_secs(5);

/// The handler of a built-in actor, with what it is built of. Each message gets an actor of its own, as after a start.
pub enum Handler {
    /// The record keeper.
    Retro,
    /// Who moves pull requests along, which reads GitHub and goes by these rules.
    Drip(Reader, Box<Rules>, Pushing),
    /// The gate keeper of these repositories, which reads GitHub where there are any.
    Qa(Option<(Reader, Gates)>),
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
            Drip::NAME => {
                let rules = Box::new(super::rules(config));
                Self::Drip(reader_for(name).await?, rules, config.work.pushing)
            }
            Qa::NAME => Self::Qa(match config.work.gates.is_empty() {
                true => None,
                false => Some((reader_for(name).await?, config.work.gates.clone())),
            }),
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
            Self::Drip(github, rules, pushing) => {
                let rules = Rules::clone(rules);
                let mut drip = Drip::new(github.clone(), rules, no_trees(), *pushing);
                turn.rerun(&mut drip, envelope).await
            }
            Self::Qa(None) => turn.rerun(&mut Qa::without_gates(), envelope).await,
            Self::Qa(Some((github, gates))) => {
                let mut qa = Qa::new(github.clone(), no_trees(), gates.clone());
                turn.rerun(&mut qa, envelope).await
            }
            Self::Investigate(github) => {
                let mut investigate = Investigate::new(github.clone(), no_trees());
                turn.rerun(&mut investigate, envelope).await
            }
        }
    }
}

/// Nothing is checked out when a handler runs again: its turn ends where it would be.
fn no_trees() -> Trees {
    Trees::none("nothing is checked out in a rehearsal")
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
