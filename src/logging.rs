//! The log, on stderr, through `tracing`.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// How much is logged where `RUST_LOG` says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volume {
    /// What a person should look at.
    Warnings,
    /// That, and what a program that runs for days is doing.
    Progress,
}

/// Starts the log. Libraries only emit events; who listens is decided here, once.
pub fn start(format: LogFormat, volume: Volume) {
    let default = match volume {
        Volume::Warnings => "warn",
        Volume::Progress => "warn,sweep=info,runtime=info,actors=info",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Told of a failed write, it would panic where stderr is full or gone.
        .log_internal_errors(false)
        .with_writer(io::stderr);
    match format {
        LogFormat::Text => builder
            .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
            .with_target(false)
            .init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
