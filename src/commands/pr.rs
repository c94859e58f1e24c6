//! `sweep pr o/r#n`: one pull request's story, both halves in time order (contract, section 2).

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use board::records::{Audited, StateLine};
use board::story::{AUDIT_FILE, DECISIONS_FILE, STATE_FILE, Telling};
use chrono::{DateTime, Utc};
use pulls::PrRef;
use serde_json::Value;

use super::Context;
use super::report::refuse_no_home;
use crate::cli;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::home::Home;
use crate::lines;
use crate::print;
use crate::progress::Progress;
use crate::wiring::{PostMortem, ledger, present};

/// How much of a gate file or of a brief is read, in bytes: the first lines say all that a story tells.
const BEGINNING: u64 = 256 * 1024;

/// Prints it.
pub async fn run(context: &Context, choice: &cli::Pr) -> Result<(), Failure> {
    let config = context.config()?;
    let home = &context.home;
    refuse_no_home(home)?;
    let mut telling = Telling::about(choice.at.clone());
    let progress = Progress::start("reading records");
    grown(home, &mut telling)?;
    whole(home, choice, &mut telling)?;
    maintained(home, &choice.at, &mut telling)?;
    mailboxes(home, &config, &mut telling, &progress).await?;
    progress.end();
    let Some(story) = telling.finish() else {
        let mend = format!(
            "`sweep pr-state --repo {}` reads your pull requests there; PR_STATE.md lists those of the last run.",
            choice.at.repo
        );
        return Err(Failure::new(Exit::Other, format!("nothing is known of {}", choice.at)).mend(mend));
    };
    if choice.json {
        print::json(&story)
    } else {
        print::text(&story.text())
    }
}

/// Files that only grow.
fn grown(home: &Home, telling: &mut Telling) -> Result<(), Failure> {
    lines::each(&home.path.join(STATE_FILE), |line| {
        if telling.can_be_in(line.text)
            && let Some(state) = StateLine::parse(line.text)
        {
            telling.state(&state);
        }
    })?;
    lines::each(&home.path.join(AUDIT_FILE), |line| {
        if telling.can_be_in(line.text)
            && let Some(audited) = Audited::parse(line.text)
        {
            telling.audited(&audited);
        }
    })?;
    lines::each(&home.path.join(DECISIONS_FILE), |line| {
        telling.decision(line.text)
    })?;
    for name in names(&home.path.join("drip-queue"), ".jsonl")? {
        let source = format!("drip-queue/{name}");
        lines::each(&home.path.join(&source), |line| {
            telling.queued(&source, line.number, line.text);
        })?;
    }
    Ok(())
}

/// Files that are written as a whole.
fn whole(home: &Home, choice: &cli::Pr, telling: &mut Telling) -> Result<(), Failure> {
    for name in names(&home.path.join("gates"), ".gate")? {
        let source = format!("gates/{name}");
        if let Some((text, written)) = beginning(&home.path.join(&source))? {
            telling.gate(&source, &text, written);
        }
    }
    // Two repositories can share a name; whose a brief is, it says itself.
    let brief = format!("{}-{}", choice.at.repo.slug(), choice.at.number).to_ascii_lowercase();
    for name in names(&home.path.join("investigations"), ".md")? {
        let rest = name.to_ascii_lowercase();
        if !rest
            .strip_prefix(&brief)
            .is_some_and(|rest| rest.starts_with(['.', '~']))
        {
            continue;
        }
        let source = format!("investigations/{name}");
        if let Some((text, written)) = beginning(&home.path.join(&source))? {
            telling.investigation(&source, &text, written);
        }
    }
    Ok(())
}

/// The maintainer's half, under whatever name the ledger has it.
fn maintained(home: &Home, at: &PrRef, telling: &mut Telling) -> Result<(), Failure> {
    let Some(ledger) = ledger(home)? else {
        return Ok(());
    };
    let named = present(&ledger, at)?;
    for mut logged in ledger.transitions(&named)? {
        logged.transition.at = at.clone();
        let said = keys(&logged.actions);
        telling.transition(&logged.transition, logged.evidence.as_ref(), &said);
    }
    if let Some(mut row) = ledger.row(&named)? {
        row.at = at.clone();
        let card = ledger.card(&named)?;
        telling.row(&row, card.as_ref().map(|card| card.title.as_str()));
    }
    Ok(())
}

/// The keys of what was said on GitHub, as the log has them.
fn keys(actions: &Value) -> Vec<String> {
    let actions = actions.as_array().into_iter().flatten();
    actions
        .filter_map(|action| action.as_str().or_else(|| action.get("key")?.as_str()))
        .map(str::to_owned)
        .collect()
}

async fn mailboxes(
    home: &Home,
    config: &Config,
    telling: &mut Telling,
    progress: &Progress,
) -> Result<(), Failure> {
    let Some(opened) = PostMortem::of(home, config).await? else {
        return Ok(());
    };
    let mut read = 0;
    opened
        .each(|message| {
            read += 1;
            progress.count(read);
            telling.message(message);
        })
        .await?;
    opened.close().await;
    Ok(())
}

/// The names of a folder's files with an ending, in order; none where there is no such folder.
fn names(folder: &Path, ending: &str) -> Result<Vec<String>, Failure> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unread(folder, error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| unread(folder, error))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if let Ok(name) = entry.file_name().into_string()
            && is_file
            && name.ends_with(ending)
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The beginning of a file and when it was last written; nothing where it has gone.
fn beginning(path: &Path) -> Result<Option<(String, DateTime<Utc>)>, Failure> {
    let read = || -> io::Result<(String, DateTime<Utc>)> {
        let file = File::open(path)?;
        let written = file.metadata()?.modified()?.into();
        let mut bytes = Vec::new();
        file.take(BEGINNING).read_to_end(&mut bytes)?;
        Ok((String::from_utf8_lossy(&bytes).into_owned(), written))
    };
    match read() {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unread(path, error)),
    }
}

fn unread(path: &Path, error: io::Error) -> Failure {
    Failure::new(Exit::Other, format!("cannot read {}", path.display()))
        .because(error)
        .mend("Make it readable for you, or move it away.")
}
