//! The maintainer's half: `sweep board`, `sweep why`, `sweep project`.

use clap::Args;
use pulls::PrRef;

use super::looking::pull_request;

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
