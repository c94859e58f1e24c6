//! Attests heads again (contract, section 5, `qa`). Where no gate is configured for a repository there is
//! nothing to run, and that is what the outcome says.

use std::collections::BTreeSet;

use pulls::RepoName;
use runtime::{Actor, Done, Fault, Turn, message};

use crate::intents::Reattest;

message! {
    /// What the gate keeper consumes.
    pub enum QaMessage {
        /// The gates are stale or a check failed: attest the head again.
        Reattest(Reattest),
    }
}

/// The gate keeper.
#[derive(Debug, Default)]
pub struct Qa {
    gated: BTreeSet<RepoName>,
}

impl Qa {
    /// A gate keeper for the repositories that gates are configured for.
    pub fn new(gated: BTreeSet<RepoName>) -> Self {
        Self { gated }
    }
}

impl Actor for Qa {
    const NAME: &'static str = "qa";
    type Message = QaMessage;

    async fn handle(&mut self, message: QaMessage, _turn: &mut Turn) -> Result<Done, Fault> {
        let QaMessage::Reattest(asked) = message;
        if !self.gated.contains(&asked.repo) {
            return Ok(Done::new("no gate configured"));
        }
        // A head that nothing was run on must not look attested, so the message ends in quarantine, where a
        // person sees it.
        Err(Fault::reject(format!(
            "gates are configured for {} and this version cannot run them: run them by hand",
            asked.repo
        )))
    }
}
