//! Reports and stories over records that are made here, with pinned clock and ids.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where what it takes for granted is not so"
)]

mod build;
mod numbers;
mod pages;
mod properties;
mod stays;
mod story;
