//! `sweep export`: mailboxes as JSONL, each message with what happened to it (docs/decisions/export-and-import.md).

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use chrono::Utc;
use mailbox::mirror::Rebuilt;
use mailbox::{MailboxName, Seq};
use serde_json::json;

use super::{Context, mailbox_name};
use crate::cli;
use crate::failure::{Exit, Failure};
use crate::mirroring::MIRROR;
use crate::print;
use crate::progress::Progress;
use crate::replace::Replacement;
use crate::transfer::line;
use crate::wiring::Opened;

/// What `--out` calls standard output.
const STANDARD_OUTPUT: &str = "-";

/// Messages read at a time: few enough to be in memory whatever their size, many enough to make little of a round
/// trip to the process that holds the home.
const PAGE: u64 = 256;

/// Exports.
pub async fn run(context: &Context, choice: &cli::Export) -> Result<(), Failure> {
    let to_file = choice.out.as_os_str() != STANDARD_OUTPUT;
    if choice.json && !to_file && !choice.mirror {
        return Err(Failure::new(
            Exit::Usage,
            "--json says what was written, and the messages go the same way",
        )
        .mend("Add --out FILE, or leave --json out: an export is JSON, a line a message."));
    }
    let named = choice.actors.iter().map(|actor| mailbox_name(actor));
    let named: Vec<MailboxName> = named.collect::<Result<_, _>>()?;
    let opened = Opened::open(&context.home, &context.config()?).await?;
    if choice.mirror {
        let rebuilt = mailbox::mirror::rebuild(&context.home.path.join(MIRROR), &opened.mailboxes).await;
        opened.close().await;
        return rewritten(choice, rebuilt?);
    }
    let exported = async {
        let of = mailboxes(&opened, named).await?;
        if to_file {
            into_file(&opened, &of, &choice.out).await
        } else {
            let mut out = BufWriter::new(io::stdout().lock());
            let counts = into(&opened, &of, &mut out, Failure::output).await?;
            out.flush().map_err(Failure::output)?;
            Ok(counts)
        }
    }
    .await;
    opened.close().await;
    let counts = exported?;
    if choice.json {
        return print::json(&json!({
            "out": choice.out.display().to_string(),
            "messages": counts.values().sum::<u64>(), "mailboxes": counts,
        }));
    }
    if to_file {
        return print::text(&told(&counts));
    }
    Ok(())
}

/// Says what the mirror holds now.
fn rewritten(choice: &cli::Export, rebuilt: Rebuilt) -> Result<(), Failure> {
    let Rebuilt { messages, acks } = rebuilt;
    if choice.json {
        return print::json(&json!({ "messages": messages, "acks": acks }));
    }
    print::text(&format!(
        "{MIRROR}/*.jsonl: written anew, messages {messages}, acks {acks}; what was there is kept beside as *.jsonl.replaced"
    ))
}

/// How many messages of each mailbox were written.
type Counts = BTreeMap<String, u64>;

fn told(counts: &Counts) -> String {
    let mut table = print::Table::new(["mailbox", "messages"]);
    for (name, count) in counts {
        table.row([name.clone(), count.to_string()]);
    }
    table.render()
}

/// The mailboxes that are meant, in order; all where none is named.
async fn mailboxes(opened: &Opened, named: Vec<MailboxName>) -> Result<Vec<(MailboxName, u64)>, Failure> {
    let status = opened.mailboxes.status().await?;
    let there: BTreeMap<_, _> = status
        .into_iter()
        .map(|status| (status.name, status.total))
        .collect();
    if named.is_empty() {
        return Ok(there.into_iter().collect());
    }
    let mut of = BTreeMap::new();
    for name in named {
        // The mailbox of an actor that is no longer declared is there all the same.
        match there.get(&name) {
            Some(total) => of.insert(name, *total),
            None => {
                opened.known(&name)?;
                of.insert(name, 0)
            }
        };
    }
    Ok(of.into_iter().collect())
}

/// Writes an export into a file, whole or not at all, for its owner alone.
async fn into_file(opened: &Opened, of: &[(MailboxName, u64)], path: &Path) -> Result<Counts, Failure> {
    let failed = |error: io::Error| {
        Failure::new(Exit::Other, format!("cannot write {}", path.display()))
            .because(error)
            .mend("What was there is there. Make room on its disk, or name another file with --out.")
    };
    let mut out = BufWriter::new(Replacement::of(path).map_err(failed)?);
    let counts = into(opened, of, &mut out, failed).await?;
    let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
    file.put().map_err(failed)?;
    Ok(counts)
}

/// Writes an export. What arrives meanwhile is not in it.
async fn into(
    opened: &Opened,
    of: &[(MailboxName, u64)],
    out: &mut impl Write,
    failed: impl Fn(io::Error) -> Failure,
) -> Result<Counts, Failure> {
    let whole: u64 = of.iter().map(|(_, total)| total).sum();
    let progress = Progress::start("exporting messages");
    let mut done = 0;
    let mut counts = Counts::new();
    let mut write = |line: String| out.write_all(line.as_bytes()).map_err(&failed);
    write(line::head(Utc::now()))?;
    for (name, total) in of {
        let mut count = 0;
        let mut first = 1;
        while first <= *total {
            let last = total.min(&(first + PAGE - 1)).to_owned();
            for (envelope, events) in opened.mailboxes.history(name, Seq(first)..=Seq(last)).await? {
                write(line::message(&envelope, &events))?;
                count += 1;
            }
            done += last + 1 - first;
            progress.at(
                usize::try_from(done).unwrap_or(usize::MAX),
                usize::try_from(whole).unwrap_or(usize::MAX),
            );
            first = last + 1;
        }
        counts.insert(name.to_string(), count);
    }
    write(line::end(counts.values().sum()))?;
    Ok(counts)
}
