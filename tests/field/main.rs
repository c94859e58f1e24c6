//! What GitHub really sends, end to end: from a served world over HTTP through the reader to a bucket, a
//! rule and a reason.
//!
//! `payloads` takes answers that GitHub or `gh` wrote; `cases` takes the shapes of data on which programs
//! of this kind went wrong. Both hold a table, and a test that fails when the folder or the list has an
//! entry that the table lacks. The expectations are written from the contract, section 4.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

mod cases;
mod maintained;
mod payloads;
mod support;
