//! What is known of maintained pull requests, durable, in SQLite: states, transitions, evidence, turns (RFC, "Storage").
//!
//! **It promises:**
//!
//! - A [`Batch`] is written whole or not at all, and is on the disk when [`Ledger::record`] returns, also after a power
//!   cut (`synchronous = FULL`). A turn that is written twice is written once: its key is unique.
//! - There is one writer. A second is refused at [`Ledger::open`], in words. Its right ends with its process.
//! - Everybody else reads, with [`Reader::open`], beside the writer, before it comes and after it is gone, and sees what
//!   was committed when it asked. Where nobody writes a reader touches no file, also beside what a killed writer left.
//! - `pr_state` and `pr_state_transitions` stand under the RFC's names and columns, for whoever looks with SQL. A row
//!   that is there as it is to be is not written ([`Ledger::changes`] counts those that were). Moments are UTC, exact, and
//!   as text in their order.
//! - The epoch counts how often these two were made, and never goes back ([`Ledger::retire`]).
//! - A transition keeps the evidence that it was decided on, as of its own moment.
//! - A ledger of an earlier version is brought forward, a step a transaction; one of a later version, and what is no
//!   ledger, is refused and not touched. A new one is made under another name, so that nobody sees half of it.
//! - Repository names are one whatever their case, and a renamed repository keeps its rows ([`Ledger::rename`]).
//!
//! **It does not** decide anything, and knows neither GitHub nor actors. It keeps what it is given, and forgets only when
//! it is told to ([`Ledger::prune`]). Several questions are several moments. It is for a disk of this machine: the lock of
//! its writer and SQLite's own are not known to hold over a network.
//!
//! **It fails** with an [`OpenError`] or a [`LedgerError`], each with the file's name. What was to be written is not, not
//! even in part; [`LedgerError::may_pass`] says whether trying again may help.
//!
//! | table | holds | a row for each |
//! | --- | --- | --- |
//! | `pr_state` | its state and what goes with it (RFC, "Storage") | pull request |
//! | `pr_state_transitions` | the log: from, to, why, on which evidence, and what was said because of it | change of state, and act |
//! | `pr_evidence` | what was seen, with the version of its form, and when it was first seen so | change of evidence |
//! | `pr_heads` | when it was first seen | head |
//! | `pr_cards` | title, page, author, when it was read in whole, since when its checks are pending | pull request |
//! | `pr_assignments` | owner, how it was found, the digest of the routing | pull request |
//! | `inferred_labels` | our label for its state and those for its content, since when | label |
//! | `closed_pulls` | merged or closed, when, by whom, what people said before | ended pull request |
//! | `review_attempts` | how far it came | attempt to review a head |
//! | `findings` | how much it weighs, whether it is fixed or disputed | finding |
//! | `repositories`, `branches` | what is known of it and when it was read, how far its updates were followed | repository, branch |
//! | `former_names` | the name that it has now | name that was given up |
//! | `waiting_visits` | since when it waits | pull request that a spent budget did not reach |
//! | `turns` | what it came to | turn |
//! | `events` | such as `PR_STATE_BUDGET_EXHAUSTED`, with what there is to say | event |
//! | `meta` | `pr_state_epoch` | key |
//!
//! ```
//! use ledger::{Batch, Ledger, Reader, Visit};
//! use lifecycle::maintain::{Before, Settings, State, build, step};
//!
//! let home = tempfile::tempdir()?;
//! let path = home.path().join("ledger.db");
//! let mut ledger = Ledger::open(&path)?;
//! let evidence = build::evidence("o/r#7").done();
//! let first = step(Before::default(), &evidence, &[], &Default::default(), ledger.epoch()?, &Settings::default());
//! ledger.record(&Batch {
//!     visits: vec![Visit {
//!         at: evidence.at.clone(),
//!         row: first.row,
//!         transitions: first.rows,
//!         evidence: Some(evidence),
//!         assignment: None,
//!         card: None,
//!         closed: None,
//!     }],
//!     ..Batch::default()
//! })?;
//!
//! let reader = Reader::open(&path)?.unwrap();
//! assert_eq!(reader.row(&"O/R#7".parse()?)?.unwrap().state, State::OwnerRouted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod columns;
mod error;
mod file;
mod reader;
mod record;
mod records;
mod rename;
mod schema;
mod writer;

pub use error::{LedgerError, OpenError, SqliteError};
pub use reader::Reader;
pub use records::{
    AttemptState, Batch, Card, Changes, ClosedPull, Event, Finding, Logged, Pending, Pruned, Recorded,
    RepositoryBook, ReviewAttempt, TurnOutcome, Visit,
};
pub use writer::{Ledger, Wrote};

/// The name of the ledger's file in the home of the program.
pub const FILE: &str = "ledger.db";
