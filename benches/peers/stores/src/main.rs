//! The mailbox and the runtime against embedded databases and the plain file.
//!
//! `stores [--quick] [SCENARIO...]` measures and prints figures as JSON lines; `stores table` reads such lines
//! and prints them as markdown. `stores sync-check ENGINE` appends alone, for whoever counts its syncs.

mod append;
mod child;
mod consume;
mod engines;
mod hop;
mod idle;
mod open;
mod ours;
mod replay;

use rig::Asked;

fn main() {
    let mut args = std::env::args().skip(1).peekable();
    match args.peek().map(String::as_str) {
        Some("table") => rig::table::print(std::io::stdin().lock()),
        Some("sync-check") => append::alone(&args.nth(1).expect("sync-check is followed by an engine")),
        Some(child::ARGUMENT) => child::run(args.skip(1)),
        _ => measure(&Asked::from_args(args)),
    }
}

fn measure(asked: &Asked) {
    for (name, run) in [
        ("append", append::run as fn(rig::Size)),
        ("consume", consume::run),
        ("hop", hop::run),
        ("replay", replay::run),
        ("open", open::run),
        ("idle", idle::run),
    ] {
        if asked.wants(name) {
            run(asked.size);
        }
    }
}

/// The runtime that senders and receivers run on, as a program would have it.
fn tokio_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads can be started")
}
