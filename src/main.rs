//! The command line of `sweep`: parse, wire, print. What a library could hold is in the crates beside it.

mod cli;
mod commands;
mod config;
mod demo;
mod duration;
mod failure;
mod history;
mod home;
mod lines;
mod logging;
mod mirroring;
mod print;
mod progress;
mod replace;
mod signals;
mod token;
mod transfer;
mod views;
mod when;
mod wiring;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::run(|| match cli::parse(std::env::args_os())? {
        cli::Parsed::Text(text) => print::text(&text),
        cli::Parsed::Command(cli) => {
            let volume = match cli.command {
                cli::Command::Run(_) => logging::Volume::Progress,
                _ => logging::Volume::Warnings,
            };
            logging::start(cli.global.log_format, volume);
            commands::run(*cli)
        }
    })
}
