//! The log, on stderr, through `tracing`.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// What is logged where `RUST_LOG` says nothing: what a person should know, and nothing of the routine.
const DEFAULT: &str = "warn,sweep=info,runtime=info,actors=info";

/// Starts the log. Libraries only emit events; who listens is decided here, once.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(DEFAULT));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    match format {
        LogFormat::Text => builder
            .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
            .with_target(false)
            .init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}
