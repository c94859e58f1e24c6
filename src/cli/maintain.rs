//! The maintainer's half: `sweep board`, `sweep why`, `sweep project`.

use clap::Args;
use pulls::PrRef;

use super::looking::pull_request;

use crate::duration::Span;

/// `sweep board`.
#[derive(Debug, Args)]
pub struct Board {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `sweep why`.
#[derive(Debug, Args)]
pub struct Why {
    /// The pull request: OWNER/NAME#N, or its address
    #[arg(value_name = "PULL REQUEST", value_parser = pull_request)]
    pub at: PrRef,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `sweep project`.
#[derive(Debug, Args)]
pub struct Project {
    /// Print the JSON Schema of the evidence, and read nothing
    #[arg(long)]
    pub schema: bool,
}

/// `sweep reconcile`.
#[derive(Debug, Args)]
pub struct Reconcile {
    /// One cycle, then the end; the takt of `sweep run` is what repeats it
    #[arg(long, required = true)]
    pub once: bool,
    /// Show what would be written and said, and touch no file
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// How long to wait before the one retry when GitHub limits the rate and names no longer time
    #[arg(long, value_name = "SPAN", default_value = "30s", allow_hyphen_values = true)]
    pub retry_wait: Span,
}
