//! `sweep import`: what `sweep export` wrote, back into mailboxes (docs/decisions/export-and-import.md). The lines are
//! read twice: once to see that all of them can be taken, and only then to take them.

mod check;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal as _, Seek as _};
use std::mem;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use mailbox::{Appended, MailboxName, Past};
use serde::Serialize;
use serde_json::json;

use super::{Context, mailbox_name};
use crate::cli;
use crate::failure::{Exit, Failure, say};
use crate::home::Home;
use crate::print;
use crate::progress::Progress;
use crate::transfer::reader::Lines;
use crate::wiring::{self, Opened};
use check::{Checked, Checker, Refusal};

/// What standard input is called.
const STANDARD_INPUT: &str = "-";

/// Messages taken in at a time: a group of the mailbox, so that they share a sync.
const BATCH: usize = 512;

/// Bytes of their lines, which is what counts where they are large.
const BATCH_BYTES: usize = 1024 * 1024;

/// Refused lines that are told; the others are counted.
const TOLD: usize = 20;

/// Imports.
pub async fn run(context: &Context, choice: &cli::Import) -> Result<(), Failure> {
    let to = choice.to.as_deref().map(mailbox_name).transpose()?;
    let config = context.config()?;
    let registry = wiring::registry(&config)?;
    if let Some(to) = &to
        && *to != MailboxName::dead_letter()
    {
        wiring::declared(&registry, to)?;
    }
    let checker = Checker::new(registry, to);
    let mut source = Source::open(&context.home, choice.file.as_deref())?;
    let progress = Progress::start("checking lines");
    let found = check(&mut source, &checker, &progress)?;
    progress.end();
    if !found.refused.is_empty() && !choice.skip_refused {
        return refuse(choice, &found);
    }
    source.rewind()?;
    let opened = Opened::open(&context.home, &config).await?;
    let taken = take(&mut source, &checker, &opened, found.messages).await;
    opened.close().await;
    let (counts, failed) = match taken {
        Ok(counts) => (counts, None),
        Err((counts, failure)) => (counts, Some(failure)),
    };
    tell(choice, &counts, &found)?;
    match failed {
        Some(failure) => Err(failure),
        None if found.refused.is_empty() => Ok(()),
        None => Err(some_refused(&found)),
    }
}

/// What there is to import, to be read twice.
struct Source {
    file: File,
    name: String,
}

impl Source {
    /// Opens a file; what comes over standard input, or out of a pipe, is put down in the home first, on the disk
    /// that it is for.
    fn open(home: &Home, file: Option<&Path>) -> Result<Self, Failure> {
        let named = file.filter(|file| file.as_os_str() != STANDARD_INPUT);
        let Some(path) = named else {
            if file.is_none() && io::stdin().is_terminal() {
                return Err(Failure::new(Exit::Usage, "nothing to import")
                    .mend("Name a file that `sweep export` wrote, or `-` for standard input."));
            }
            let name = "standard input".to_owned();
            return Ok(Self {
                file: put_down(home, io::stdin().lock(), &name)?,
                name,
            });
        };
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| cannot_read(&name, error))?;
        let kind = file
            .metadata()
            .map_err(|error| cannot_read(&name, error))?
            .file_type();
        let file = if kind.is_dir() {
            return Err(cannot_read(&name, io::ErrorKind::IsADirectory.into()));
        } else if kind.is_file() {
            file
        } else if kind.is_char_device() || kind.is_block_device() {
            let device = io::Error::new(io::ErrorKind::InvalidInput, "it is a device");
            return Err(cannot_read(&name, device));
        } else {
            put_down(home, file, &name)?
        };
        Ok(Self { file, name })
    }

    fn lines(&mut self) -> Lines<BufReader<&mut File>> {
        Lines::of(BufReader::new(&mut self.file))
    }

    fn rewind(&mut self) -> Result<(), Failure> {
        self.file.rewind().map_err(|error| cannot_read(&self.name, error))
    }
}

fn cannot_read(name: &str, error: io::Error) -> Failure {
    Failure::new(Exit::Other, format!("cannot read {name}"))
        .because(error)
        .mend("Nothing was imported. Name a file that you may read.")
}

/// A copy without a name, at its beginning.
fn put_down(home: &Home, mut from: impl io::Read, name: &str) -> Result<File, Failure> {
    home.make()?;
    let mut copy = || -> io::Result<File> {
        let mut file = tempfile::tempfile_in(&home.path)?;
        io::copy(&mut from, &mut file)?;
        file.rewind()?;
        Ok(file)
    };
    copy().map_err(|error| {
        Failure::new(
            Exit::Other,
            format!("cannot keep {name} in {}", home.path.display()),
        )
        .because(error)
        .mend("Nothing was imported. Make room on the disk, or name a file: it is read where it is.")
    })
}

/// What the first reading found.
#[derive(Debug, Default)]
struct Found {
    messages: u64,
    refused: Vec<Refusal>,
    /// Refused lines, with those that are not told.
    count: u64,
}

fn check(source: &mut Source, checker: &Checker, progress: &Progress) -> Result<Found, Failure> {
    let name = source.name.clone();
    let mut found = Found::default();
    let mut parts = check::Parts::default();
    let refuse = |found: &mut Found, refusal: Refusal| {
        found.count += 1;
        if found.refused.len() < TOLD {
            found.refused.push(refusal);
        }
    };
    let mut lines = source.lines();
    let mut last = 0;
    while let Some((number, read)) = lines.next().map_err(|error| cannot_read(&name, error))? {
        last = number;
        match checker.check(read) {
            Ok(Checked::Message(..)) => {
                found.messages += 1;
                parts.message();
            }
            Ok(Checked::Head) => {
                if let Err(why) = parts.head() {
                    refuse(&mut found, Refusal { line: number, why });
                }
            }
            Ok(Checked::End(messages)) => {
                if let Err(why) = parts.end(messages) {
                    refuse(&mut found, Refusal { line: number, why });
                }
            }
            Err(why) => {
                // It is there, though it cannot be taken.
                parts.message();
                refuse(&mut found, Refusal { line: number, why });
            }
        }
        if number.is_multiple_of(1024) {
            progress.count(number);
        }
    }
    if let Err(why) = parts.over() {
        refuse(&mut found, Refusal { line: last, why });
    }
    Ok(found)
}

/// What became of the messages of a mailbox.
#[derive(Debug, Default, Serialize)]
struct Count {
    new: u64,
    known: u64,
}

type Counts = BTreeMap<String, Count>;

/// Takes in what can be taken. What was taken before a failure is told with it.
async fn take(
    source: &mut Source,
    checker: &Checker,
    opened: &Opened,
    messages: u64,
) -> Result<Counts, (Counts, Failure)> {
    let whole = usize::try_from(messages).unwrap_or(usize::MAX);
    let progress = Progress::start("importing messages");
    let name = source.name.clone();
    let mut counts = Counts::new();
    let mut done = 0;
    let mut batch = Batch::default();
    let mut lines = source.lines();
    loop {
        let read = match lines.next() {
            Ok(read) => read,
            Err(error) => return Err((counts, cannot_read(&name, error))),
        };
        let over = read.is_none();
        if let Some((_, read)) = read
            && let bytes = read.bytes()
            && let Ok(Checked::Message(of, past)) = checker.check(read)
            && let Some(full) = batch.add(of, *past, bytes)
        {
            done += full.past.len();
            if let Err(failure) = full.take(opened, &mut counts).await {
                return Err((counts, failure));
            }
            progress.at(done, whole);
        }
        if over {
            let taken = mem::take(&mut batch).take(opened, &mut counts).await;
            return match taken {
                Ok(()) => Ok(counts),
                Err(failure) => Err((counts, failure)),
            };
        }
    }
}

/// Messages of one mailbox that are taken in together.
#[derive(Default)]
struct Batch {
    of: Option<MailboxName>,
    past: Vec<Past>,
    bytes: usize,
}

impl Batch {
    /// Adds one, and gives what it does not fit to any more.
    fn add(&mut self, of: MailboxName, past: Past, bytes: usize) -> Option<Self> {
        let fits = self.of.as_ref().is_none_or(|before| *before == of)
            && self.past.len() < BATCH
            && self.bytes < BATCH_BYTES;
        let full = (!fits).then(|| mem::take(self));
        self.of = Some(of);
        self.bytes += bytes;
        self.past.push(past);
        full
    }

    async fn take(self, opened: &Opened, counts: &mut Counts) -> Result<(), Failure> {
        let Some(of) = self.of else { return Ok(()) };
        let appended = opened.mailboxes.restore(&of, self.past).await?;
        let count = counts.entry(of.to_string()).or_default();
        for one in appended {
            match one {
                Appended::Placed(_) => count.new += 1,
                Appended::Known { .. } => count.known += 1,
            }
        }
        Ok(())
    }
}

fn tell(choice: &cli::Import, counts: &Counts, found: &Found) -> Result<(), Failure> {
    let sum = |of: fn(&Count) -> u64| counts.values().map(of).sum::<u64>();
    if choice.json {
        return print::json(&json!({
            "new": sum(|count| count.new), "known": sum(|count| count.known), "mailboxes": counts,
            "refused": found.count, "refusals": found.refused,
        }));
    }
    say_refused(found);
    if counts.is_empty() {
        return print::text("no messages");
    }
    let mut table = print::Table::new(["mailbox", "new", "known before"]);
    for (name, count) in counts {
        table.row([name.clone(), count.new.to_string(), count.known.to_string()]);
    }
    print::text(&table.render())
}

/// Nothing is taken in, since some lines cannot be.
fn refuse(choice: &cli::Import, found: &Found) -> Result<(), Failure> {
    if choice.json {
        tell(choice, &Counts::new(), found)?;
    } else {
        say_refused(found);
    }
    Err(Failure::new(
        Exit::Other,
        format!("nothing was imported: {}", lines_refused(found)),
    )
    .mend("Mend them and import again, or take the rest with --skip-refused."))
}

fn some_refused(found: &Found) -> Failure {
    Failure::new(
        Exit::Other,
        format!("not all was imported: {}", lines_refused(found)),
    )
    .mend("Mend them and import again: what is there is known by its id and stays as it is.")
}

fn lines_refused(found: &Found) -> String {
    match found.count {
        1 => "1 line is refused".to_owned(),
        count => format!("{count} lines are refused"),
    }
}

fn say_refused(found: &Found) {
    for Refusal { line, why } in &found.refused {
        say(&format!("line {line}: {}", print::shown(why)));
    }
    let told = u64::try_from(found.refused.len()).unwrap_or(u64::MAX);
    if found.count > told {
        say(&format!("and {} more", found.count - told));
    }
}
