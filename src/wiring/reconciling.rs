//! The reconciler put together: the ledger that it keeps, and what it goes by.

use actors::reconciler::{Books, Rules};
use chrono::TimeDelta;
use ledger::{Ledger, Reader};

use super::maintained::LEDGER;
use crate::config::Config;
use crate::failure::Failure;
use crate::home::Home;

/// Whether there is anything to reconcile.
pub fn reconciles(config: &Config) -> bool {
    config.lifecycle.is_on && !config.lifecycle.repos.is_empty()
}

/// The ledger, made where there is none, for the one process that writes it.
pub fn books(home: &Home) -> Result<Books, Failure> {
    Ok(Books::kept(Ledger::open(&home.path.join(LEDGER))?))
}

/// The ledger as others see it: nothing is written, and where there is none it is empty.
pub fn books_seen(home: &Home) -> Result<Books, Failure> {
    let reader = match super::ledger(home)? {
        Some(reader) => reader,
        None => Reader::empty()?,
    };
    Ok(Books::seen(reader))
}

/// What the reconciler goes by.
pub fn reconciling(config: &Config) -> Rules {
    Rules {
        repos: config.lifecycle.repos.iter().cloned().collect(),
        settings: config.lifecycle.settings.clone(),
        request_budget: config.lifecycle.request_budget,
        keep: TimeDelta::from_std(config.mailbox.keep.get()).unwrap_or(TimeDelta::MAX),
    }
}
