//! The ledger through its public surface, and through plain SQL.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod books;
mod crash;
mod files;
mod full;
mod old;
mod rename;
mod round_trip;
mod states;
mod support;
