//! The reader against the world, over real HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod branch;
mod faults;
mod field;
mod maintain;
mod requests;
mod surface;
mod tokens;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use github::{Endpoints, FixedToken, Limits, Progress, PullsRead, Reader, Token};
use pulls::PrRef;
use world::{Served, World, WorldBuilder};

/// The time in these worlds. Evaluation is nobody's business here, so it need not be today.
const NOW: &str = "2026-05-14T17:45:00Z";

fn world() -> WorldBuilder {
    World::builder(NOW)
}

/// Bounds as in earnest, but for the waits.
fn limits() -> Limits {
    Limits {
        retry_wait: Duration::from_millis(20),
        longest_wait: Duration::from_secs(5),
        request_timeout: Duration::from_secs(20),
        ..Limits::default()
    }
}

fn endpoints(served: &Served) -> Endpoints {
    Endpoints::new(Some(&served.api_url()), Some(&served.graphql_url())).unwrap()
}

fn reader_with(served: &Served, limits: Limits) -> Reader {
    let source = Arc::new(FixedToken(Token::new(served.token()).unwrap()));
    Reader::connect(endpoints(served), source, limits).unwrap()
}

fn reader(served: &Served) -> Reader {
    reader_with(served, limits())
}

fn refs(repo: &str, numbers: impl IntoIterator<Item = u32>) -> Vec<PrRef> {
    numbers
        .into_iter()
        .map(|number| format!("{repo}#{number}").parse().unwrap())
        .collect()
}

async fn read(reader: &Reader, refs: &[PrRef]) -> PullsRead {
    reader.pulls(refs, &|_: Progress| {}).await
}

fn numbers(read: &PullsRead) -> Vec<u32> {
    read.found.iter().map(|facts| facts.at.number.get()).collect()
}

fn skipped(read: &PullsRead) -> Vec<(u32, String)> {
    read.skipped
        .iter()
        .map(|skipped| (skipped.at.number.get(), skipped.error.to_string()))
        .collect()
}
