//! A narrow client of GitHub: it reads pull requests in whole, and nothing else can leave it.
//!
//! # What it promises
//!
//! - **It only reads.** An allow-list of (method, path, operation) stands right before the network:
//!   a POST goes to the GraphQL path alone, and only with a document whose every operation is a
//!   query; a GET goes to the paths listed. There is no generic request in the public surface, and a
//!   mutation is refused before it leaves (contract, section 6).
//! - **In whole or not at all.** Every check, suite, comment, review, thread and closing issue of a
//!   pull request is read, however many pages. One of which a part was answered with an error, or
//!   ended short, is [skipped](Skipped) with the reason; the others are not (contract, section 4).
//! - **In few requests.** 25 pull requests a document, further pages of many in one, at most five
//!   requests at a time: at most 25 for 200 pull requests with lists of up to 100. What a document
//!   costs is reckoned in `batch.rs`.
//! - **A whole repository within a budget.** [`Reader::maintained`] reads 1,236 open pull requests in 50
//!   requests, [`Reader::touched`] tells in one which of them changed, [`Reader::heads`] looks at 100
//!   heads a request; [`Reader::branch`] joins what is required of a pull request from the three places
//!   that can say so. An [`Allowance`] bounds what is sent, and what it does not reach is told.
//! - **It bears with GitHub.** A request that is too much (502, 504, time-out, a page of HTML, half a
//!   body) is halved down to one pull request; a rate limit is waited for once, one request at a time
//!   after it; errors without a type are tried again. A word or a type that this program does not
//!   know is kept as such.
//! - **The token stays.** It goes to the configured origin only, in a header marked sensitive, and is
//!   in no error, log or `Debug`. After a 401 it is read again, once.
//!
//! # What it does not
//!
//! No writes, no retry of its own below the plan, no redirects of a POST, no cache, no proxies. It
//! does not say what a pull request is *for*: closed and merged ones are returned as they are.
//!
//! # How it fails
//!
//! With a [`ReadError`], whose [class](ReadError::class) says whether a person must act on the
//! credentials, whether waiting may help, or neither.
//!
//! ```no_run
//! use std::sync::Arc;
//! use github::{Endpoints, FixedToken, Limits, Reader, Scope, Token};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let source = Arc::new(FixedToken(Token::new("ghp_…")?));
//! let reader = Reader::connect(Endpoints::new(None, None)?, source, Limits::default())?;
//! let me = reader.viewer().await?;
//! let open = reader.open_pulls(&me.login, &Scope::Everywhere, 50).await?;
//! let read = reader.pulls(&open.refs, &|progress| eprintln!("{}/{}", progress.done, progress.of)).await;
//! for pull in &read.found {
//!     println!("{} {}", pull.at, pull.title);
//! }
//! for skipped in &read.skipped {
//!     println!("{} not read: {}", skipped.at, skipped.error);
//! }
//! # Ok(())
//! # }
//! ```

mod allow;
mod allowance;
mod answer;
mod assembly;
mod batch;
mod branch;
mod document;
mod endpoints;
mod error;
mod limits;
mod maintain;
mod plan;
mod reader;
mod shape;
mod token;
mod wire;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod payloads;
#[cfg(test)]
mod schema;

pub use allowance::Allowance;
pub use endpoints::{EndpointError, Endpoints, PUBLIC_API};
pub use error::{ErrorClass, ReadError};
pub use limits::Limits;
pub use maintain::{HeadsRead, TouchedPulls};
pub use reader::{Budget, Checkup, Found, Progress, PullsRead, Reader, Scope, Skipped, Window};
pub use token::{FixedToken, Token, TokenError, TokenFuture, TokenSource};
pub use wire::RequestCount;
