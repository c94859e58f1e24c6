//! What a pull request is: ids, facts and the pure questions one can ask of them.
//!
//! Nothing in this crate does I/O, reads a clock or keeps state. The reader in `github` fills in a
//! [`PullFacts`]; `lifecycle` decides from it.

pub mod facts;
pub mod ids;

pub use facts::PullFacts;
pub use ids::{Login, PrNumber, PrRef, RepoName, Sha};
