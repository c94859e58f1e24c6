//! `sweep board`: every pull request in its column (contract, section 7). The page comes in a later version.

use board::kanban::{Columns, LastRun};
use board::records::StateLine;
use board::story::STATE_FILE;
use mailbox::SystemClock;

use super::Context;
use super::report::refuse_no_home;
use crate::cli;
use crate::failure::Failure;
use crate::lines;
use crate::print;
use crate::progress::Progress;
use crate::wiring::{ledger, maintained};

/// Prints it, as it is recorded. GitHub is not asked.
pub fn run(context: &Context, choice: &cli::Board) -> Result<(), Failure> {
    let config = context.config()?;
    refuse_no_home(&context.home)?;
    let now = context.now_or(&SystemClock::start());
    let progress = Progress::start("reading the ledger");
    let mut columns = Columns::new(&config.lifecycle.settings, now);
    if let Some(ledger) = ledger(&context.home)? {
        for recorded in maintained(&ledger)? {
            columns.add(recorded);
        }
    }
    let mut author = LastRun::default();
    lines::each(
        &context.home.path.join(STATE_FILE),
        |line| match StateLine::parse(line.text) {
            Some(StateLine::Classified(line)) => author.classified(&line),
            Some(StateLine::Nothing { ts }) => author.begin(ts),
            None => {}
        },
    )?;
    progress.end();
    let board = columns.finish(author);
    match choice.json {
        true => print::json(&board),
        false => print::text(&board.text()),
    }
}
