//! The maintainer's half: `sweep project`.

use clap::Args;

/// `sweep project`.
#[derive(Debug, Args)]
pub struct Project {
    /// Print the JSON Schema of the evidence, and read nothing
    #[arg(long)]
    pub schema: bool,
}
