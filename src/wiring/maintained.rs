//! The ledger for those who only look: beside the process that writes it, or in a copied home.

use std::collections::HashMap;

use board::kanban::Recorded;
use ledger::{LedgerError, Reader};
use pulls::PrRef;

use crate::failure::Failure;
use crate::home::Home;

/// The ledger within the home.
pub const LEDGER: &str = "ledger.db";

/// The home's ledger, to be read; `None` where nothing was maintained yet. Nothing is made or written.
pub fn ledger(home: &Home) -> Result<Option<Reader>, Failure> {
    Ok(Reader::open(&home.path.join(LEDGER))?)
}

/// Every maintained pull request with what a person knows it by and its newest evidence.
pub fn maintained(ledger: &Reader) -> Result<impl Iterator<Item = Recorded>, LedgerError> {
    let mut titles: HashMap<PrRef, String> = ledger
        .cards(None)?
        .into_iter()
        .map(|card| (card.at, card.title))
        .collect();
    let mut evidence: HashMap<PrRef, ledger::Recorded> = ledger
        .evidence_since(None)?
        .into_iter()
        .map(|recorded| (recorded.evidence.at.clone(), recorded))
        .collect();
    Ok(ledger.rows(None)?.into_iter().map(move |row| Recorded {
        title: titles.remove(&row.at),
        evidence: evidence
            .remove(&row.at)
            .map(|recorded| (recorded.evidence, recorded.recorded_at)),
        row,
    }))
}

/// The name under which the ledger has a pull request: its repository may have had another.
pub fn present(ledger: &Reader, at: &PrRef) -> Result<PrRef, LedgerError> {
    let renamed = ledger.present_name(&at.repo)?;
    Ok(PrRef {
        repo: renamed.unwrap_or_else(|| at.repo.clone()),
        number: at.number,
    })
}
