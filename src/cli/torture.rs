//! `sweep torture`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The most rounds of a kind: days of them.
const MAX_ROUNDS: i64 = 1_000_000;

/// `sweep torture`.
#[derive(Debug, Args)]
pub struct Torture {
    /// So many rounds of each kind, where nothing else is said of it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MAX_ROUNDS))]
    pub rounds: Option<u32>,
    /// Kill so many writers with SIGKILL at random moments, every other one while it opens the mailboxes [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MAX_ROUNDS))]
    pub kill: Option<u32>,
    /// Let so many writers find the disk full and free again, before they are killed [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MAX_ROUNDS))]
    pub full_disk: Option<u32>,
    /// What the random moments and sizes come from: the same ones again [default: a new one]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Not for people: the process that is killed, and where it writes
    #[arg(long, hide = true, value_name = "DIR")]
    pub writer: Option<PathBuf>,
    /// Not for people: with which number the writer's messages begin
    #[arg(long, hide = true, value_name = "N", default_value_t = 0)]
    pub first: u64,
    /// Not for people: what the writer finds full
    #[arg(long, hide = true, value_name = "WHAT")]
    pub full: Option<Full>,
}

/// What a writer finds full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Full {
    /// The file system, by a file beside the mailboxes.
    Disk,
    /// Its files, which may grow no further.
    Files,
}
