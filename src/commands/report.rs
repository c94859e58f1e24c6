//! `sweep report`: the pipeline's own numbers over a range of time (contract, section 2).

use std::io::{self, Write as _};
use std::path::{Path, absolute};

use board::records::{Audited, StateLine};
use board::story::{AUDIT_FILE, STATE_FILE};
use board::{Fold, Range};
use chrono::{DateTime, TimeDelta, Utc};
use mailbox::SystemClock;
use runtime::Overview;

use super::Context;
use crate::cli;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::home::Home;
use crate::lines;
use crate::print;
use crate::progress::Progress;
use crate::replace::Replacement;
use crate::wiring::PostMortem;

/// The range where none is named.
const WEEK: TimeDelta = TimeDelta::days(7);

/// Prints it, or writes its page.
pub async fn run(context: &Context, choice: &cli::Report) -> Result<(), Failure> {
    let config = context.config()?;
    refuse_no_home(&context.home)?;
    let range = range(choice, context.now_or(&SystemClock::start()))?;
    let mut fold = Fold::over(range);
    let progress = Progress::start("reading records");
    files(&context.home, &mut fold, &progress)?;
    let present = mailboxes(&context.home, &config, &mut fold, &progress).await?;
    progress.end();
    let report = fold.finish(&present);
    match &choice.html {
        Some(path) => {
            write(path, &report.html())?;
            let whole = absolute(path).unwrap_or_else(|_| path.clone());
            print::text(&print::shown(&whole.display().to_string()))
        }
        None if choice.json => print::json(&report),
        None => print::text(&report.text()),
    }
}

/// Refuses a home that is not there: a report on nothing would look like one on a home where nothing happened.
pub(super) fn refuse_no_home(home: &Home) -> Result<(), Failure> {
    if home.is_there()? {
        return Ok(());
    }
    let headline = format!("there is no home at {}", home.path.display());
    Err(Failure::new(Exit::Other, headline).mend("Name one with --home; `sweep pr-state` makes one."))
}

fn range(choice: &cli::Report, now: DateTime<Utc>) -> Result<Range, Failure> {
    let until = choice.until.map_or(now, |until| until.at(now));
    let since = match choice.since {
        Some(since) => since.at(now),
        None => until.checked_sub_signed(WEEK).unwrap_or(DateTime::<Utc>::MIN_UTC),
    };
    Range::new(since, until).map_err(|empty| {
        Failure::of(Exit::Usage, empty).mend("A span counts back from now; --since must be before --until.")
    })
}

/// What lies in the files of the home.
fn files(home: &Home, fold: &mut Fold, progress: &Progress) -> Result<(), Failure> {
    let mut read = 0;
    let mut take = |file: &str, line: lines::Line<'_>, is_taken: bool, fold: &mut Fold| {
        read += 1;
        progress.count(read);
        // The last line may be being written.
        if !is_taken && line.is_ended {
            fold.unreadable(file);
        }
    };
    lines::each(&home.path.join(STATE_FILE), |line| {
        let parsed = StateLine::parse(line.text);
        take(STATE_FILE, line, parsed.is_some(), fold);
        if let Some(state) = parsed {
            fold.state(&state);
        }
    })?;
    lines::each(&home.path.join(AUDIT_FILE), |line| {
        let parsed = Audited::parse(line.text);
        take(AUDIT_FILE, line, parsed.is_some(), fold);
        if let Some(audited) = parsed {
            fold.audited(&audited);
        }
    })
}

/// What the mailboxes hold, and how the actors fare.
async fn mailboxes(
    home: &Home,
    config: &Config,
    fold: &mut Fold,
    progress: &Progress,
) -> Result<Overview, Failure> {
    let Some(opened) = PostMortem::of(home, config).await? else {
        return Ok(Overview::default());
    };
    for mailbox in opened
        .mailboxes
        .status()
        .await
        .map_err(|error| opened.failed(error))?
    {
        fold.actor(&mailbox.name);
    }
    let mut read = 0;
    opened
        .each(|message| {
            read += 1;
            progress.count(read);
            fold.message(message);
        })
        .await?;
    let present = opened.overview(config).await;
    opened.close().await;
    present
}

/// Writes a page, whole or not at all.
fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let written = || -> io::Result<()> {
        let mut file = Replacement::of(path)?;
        file.write_all(page.as_bytes())?;
        file.put()
    };
    written().map_err(|error| {
        Failure::new(Exit::Other, format!("cannot write {}", path.display()))
            .because(error)
            .mend_what_was_refused("name another file with --html")
    })
}
