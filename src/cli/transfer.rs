//! `sweep export` and `sweep import`.

use std::path::PathBuf;

use clap::Args;

/// `sweep export`.
#[derive(Debug, Args)]
pub struct Export {
    /// Whose mailboxes; without a name, all of them
    pub actors: Vec<String>,
    /// Where to: a file, which is written whole or not at all, or `-` for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// Write the JSONL mirror in the home anew instead: `inbox/*.jsonl`, as the mailboxes have it
    #[arg(long, conflicts_with_all = ["out", "actors"])]
    pub mirror: bool,
    /// Print what was written as one JSON document; the messages need --out FILE then
    #[arg(long)]
    pub json: bool,
}

/// `sweep import`.
#[derive(Debug, Args)]
pub struct Import {
    /// What `sweep export` wrote: a file, or `-` for standard input
    pub file: Option<PathBuf>,
    /// The lines are plain messages, as in `inbox/*.jsonl`, for this actor's mailbox: each is unread
    #[arg(long, value_name = "ACTOR")]
    pub to: Option<String>,
    /// Take what can be taken though some lines are refused; without it, nothing is then
    #[arg(long)]
    pub skip_refused: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
