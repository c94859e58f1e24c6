//! What is known of maintained pull requests, durable, in SQLite: states, transitions, evidence, turns (RFC, "Storage").
//!
//! **It promises:**
//!
//! - A [`Batch`] is written whole or not at all, and is on the disk when [`Ledger::record`] returns, also after a power
//!   cut (`synchronous = FULL`).
//! - There is one writer. A second is refused at [`Ledger::open`]; everybody else reads, beside it, with
//!   [`Reader::open`], which writes nothing.
//! - `pr_state` and `pr_state_transitions` stand under the RFC's names and columns, for whoever looks with SQL.
//! - The epoch counts how often these two were made, and never goes back ([`Ledger::retire`]).
//! - A ledger of an earlier version is brought forward, a step a transaction; one of a later version is refused and
//!   not touched.
//! - Repository names are one whatever their case, and a renamed repository keeps its rows ([`Ledger::rename`]).
//! - A turn that is written twice is written once: its key is unique.
//!
//! **It does not** decide anything, and knows neither GitHub nor actors. It keeps what it is given.
//!
//! **It fails** with an [`OpenError`] or a [`LedgerError`]; nothing of the batch is written then.
//!
//! | table | holds |
//! | --- | --- |
//! | `pr_state` | one row a pull request: its state and what goes with it |
//! | `pr_state_transitions` | every change of state, with its evidence and what was done about it |
//! | `pr_evidence` | every different evidence, with when it was first seen |
//! | `pr_cards` | title, page, author, when it was read, whether a head is to be looked at again |
//! | `pr_assignments`, `inferred_labels` | whose it is, and what it is about |
//! | `closed_pulls` | how pull requests ended, and what people said before |
//! | `review_attempts`, `findings` | the program's own reviews |
//! | `repositories`, `former_names`, `branches` | what is known of them, and how far they were followed |
//! | `waiting_visits` | whom a spent budget did not reach |
//! | `turns`, `events`, `meta` | what turns came to, what happened to the reconciler, the epoch |
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
