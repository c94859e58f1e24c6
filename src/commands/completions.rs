//! `sweep completions SHELL`.

use clap::CommandFactory as _;

use crate::cli::{Cli, Completions};
use crate::failure::Failure;
use crate::print;

/// Prints the script.
pub fn run(choice: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(choice.shell, &mut Cli::command(), "sweep", &mut script);
    print::text(&String::from_utf8(script).expect("scripts are made of our own ASCII words"))
}
