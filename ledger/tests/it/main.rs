//! The ledger through its public surface, and through plain SQL.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod files;
mod states;
mod support;
