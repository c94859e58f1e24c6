//! The whole program from outside, and the shape of its source.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where what it takes for granted is not so"
)]

mod architecture;
mod attention;
mod bad_input;
mod control;
mod disk;
mod dispatch;
mod documents;
mod examples;
mod external;
mod hosting;
mod jobs;
mod kills;
mod maintain_config;
mod maintain_views;
mod mirror;
mod post_mortem;
mod pull_side;
mod reconcile;
mod report;
mod rerun;
mod story;
mod support;
mod torture;
mod transfer;
