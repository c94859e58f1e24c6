//! The process that is killed. It says on its standard output what was acknowledged to it, after it was, each with one
//! write, so that a kill leaves no half of it.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

use mailbox::{Appended, Done, Draft, Lessee, MailboxError, MailboxName, Mailboxes, Message, SystemClock};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::full::{FILLER, LARGEST, filler};
use crate::cli::Full;
use crate::failure::{Exit, Failure};

/// The mailboxes are open, after so many microseconds.
pub const OPENED: &str = "opened";
/// A message with this number is in the mailbox, under that number of its own.
pub const APPENDED: &str = "appended";
/// It was there before, under that number.
pub const KNOWN: &str = "known";
/// It is acknowledged.
pub const HANDLED: &str = "handled";
/// An append was refused, for want of room.
pub const FULL: &str = "full";
/// There is room again.
pub const ROOM: &str = "room";
/// Something did not work that must, in words.
pub const FAILED: &str = "failed";

/// How many append at the same time, so that groups have several.
const SENDERS: u64 = 8;

/// One in so many appends is of a message that is there already.
const REPEATED: u8 = 16;

/// More messages than a disk that is to be full has room for.
const TOO_MANY: u64 = 200_000;

/// Messages of one append that fills a disk, and the bytes of each.
const FILLING: (u64, usize) = (20, 5_000);

/// Attempts at a disk that is full.
const KNOCKS: u64 = 20;

/// How long there may be no room though there is: the mailboxes are opened anew meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is tried again.
const AGAIN: Duration = Duration::from_millis(20);

/// The mailbox that is written to.
pub fn name() -> MailboxName {
    "tortured".parse().expect("it is a mailbox name")
}

/// The message with this number: most are small, some need a file of their own.
pub fn numbered(number: u64) -> Message {
    let padding = match number % 50 {
        7 => 10_000,
        23 => 200_000,
        _ => usize::try_from(number % 400).unwrap_or_default(),
    };
    sized(number, padding)
}

/// A message that fills a disk.
pub fn filling(number: u64) -> Message {
    sized(number, FILLING.1)
}

fn sized(number: u64, padding: usize) -> Message {
    let ts = chrono::DateTime::from_timestamp(1_778_780_700, 0).unwrap_or_default();
    let id = format!("m-{number}").parse().expect("it is an id");
    // What repeats would be packed and fill no disk.
    let mut dice = fastrand::Rng::with_seed(number);
    let text: String = (0..padding).map(|_| dice.alphanumeric()).collect();
    let body = json!({ "number": number, "text": text });
    Message::build(ts, "torture", "endure", &id, body).expect("it is a message")
}

/// Writes until it is killed.
pub async fn run(dir: &Path, first: u64, seed: u64, full: Option<Full>) -> Result<(), Failure> {
    let began = Instant::now();
    let mailboxes = match Mailboxes::open_sled(dir, Arc::new(SystemClock::start())) {
        Ok(mailboxes) => mailboxes,
        Err(error) => {
            say(&format!("{FAILED} cannot open the mailboxes: {error}"));
            return Err(error.into());
        }
    };
    say(&format!("{OPENED} {}", began.elapsed().as_micros()));
    let next = Arc::new(AtomicU64::new(first));
    if let Some(full) = full {
        fill(&mailboxes, dir, &next, full).await?;
    }
    for sender in 0..SENDERS {
        let dice = fastrand::Rng::with_seed(seed.wrapping_add(sender));
        tokio::spawn(send(mailboxes.clone(), Arc::clone(&next), dice));
    }
    loop {
        handle(&mailboxes).await.map_err(give_up)?;
    }
}

/// Ends where what must work does not. Whoever reads the lines ends the process too.
fn give_up(error: MailboxError) -> Failure {
    say(&format!("{FAILED} {error}"));
    error.into()
}

async fn send(mailboxes: Mailboxes, next: Arc<AtomicU64>, mut dice: fastrand::Rng) {
    loop {
        let batch: Vec<u64> = (0..dice.u64(1..=3))
            .map(|_| next.fetch_add(1, Ordering::Relaxed))
            .collect();
        append(&mailboxes, &batch, numbered).await;
        if dice.u8(0..REPEATED) == 0 {
            append(&mailboxes, &batch[..1], numbered).await;
        }
    }
}

/// Appends the messages with these numbers, and says so.
async fn append(mailboxes: &Mailboxes, batch: &[u64], message: fn(u64) -> Message) {
    match try_append(mailboxes, batch, message).await {
        Ok(()) => {}
        Err(error) => {
            say(&format!("{FAILED} {error}"));
            std::process::exit(i32::from(Exit::Other.code()));
        }
    }
}

async fn try_append(
    mailboxes: &Mailboxes,
    batch: &[u64],
    message: fn(u64) -> Message,
) -> Result<(), MailboxError> {
    let drafts = batch.iter().map(|number| Draft::new(name(), message(*number)));
    let appended = mailboxes.append(drafts.collect()).await?;
    for (number, appended) in batch.iter().zip(appended) {
        let what = match appended {
            Appended::Placed(_) => APPENDED,
            Appended::Known { .. } => KNOWN,
        };
        say(&format!("{what} {number} {}", appended.seq()));
    }
    Ok(())
}

/// Takes the next message and acknowledges it.
async fn handle(mailboxes: &Mailboxes) -> Result<(), MailboxError> {
    let delivery = mailboxes.lease(&name(), Lessee::Process).await?;
    let number = delivery.envelope.message.body()["number"].as_u64();
    mailboxes.ack(delivery.lease, Done::new("endured")).await?;
    if let Some(number) = number {
        say(&format!("{HANDLED} {number}"));
    }
    Ok(())
}

/// Fills the disk, goes on for a while though it is full, and makes room.
async fn fill(mailboxes: &Mailboxes, dir: &Path, next: &AtomicU64, full: Full) -> Result<(), Failure> {
    let limit = Limit::set(dir, full).map_err(|error| {
        say(&format!("{FAILED} cannot make a disk full: {error}"));
        Failure::new(Exit::Other, "cannot make a disk full").because(error)
    })?;
    let batch = || -> Vec<u64> {
        let first = next.fetch_add(FILLING.0, Ordering::Relaxed);
        (first..first + FILLING.0).collect()
    };
    let before = next.load(Ordering::Relaxed);
    while try_append(mailboxes, &batch(), filling).await.is_ok() {
        if next.load(Ordering::Relaxed) - before > TOO_MANY {
            say(&format!("{FAILED} the disk is never full"));
            return Err(Failure::new(Exit::Other, "the disk is never full"));
        }
    }
    say(FULL);
    for _ in 0..KNOCKS {
        // Whether there is room for an ack is the disk's to say; none is said that is not there.
        let _ = try_append(mailboxes, &batch(), filling).await;
        let _ = tokio::time::timeout(AGAIN, handle(mailboxes)).await;
    }
    limit.lift().map_err(|error| {
        say(&format!("{FAILED} cannot make room: {error}"));
        Failure::new(Exit::Other, "cannot make room").because(error)
    })?;
    let until = Instant::now() + PATIENCE;
    loop {
        match try_append(mailboxes, &batch(), filling).await {
            Ok(()) => {
                say(ROOM);
                return Ok(());
            }
            Err(error) if Instant::now() > until => return Err(give_up(error)),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// What keeps the disk full.
struct Limit<'a> {
    dir: &'a Path,
    kind: Full,
    before: Rlimit,
    /// While it is held, a file that is too large is an error and no signal that ends the process.
    _signal: Option<tokio::signal::unix::Signal>,
}

impl<'a> Limit<'a> {
    fn set(dir: &'a Path, kind: Full) -> io::Result<Self> {
        let before = getrlimit(Resource::Fsize);
        let mut _signal = None;
        match kind {
            Full::Disk => fs::write(filler(dir), vec![1; usize::try_from(FILLER).unwrap_or_default()])?,
            Full::Files => {
                _signal = Some(signal(SignalKind::from_raw(Signal::XFSZ.as_raw()))?);
                let limit = Rlimit {
                    current: Some(LARGEST),
                    maximum: before.maximum,
                };
                setrlimit(Resource::Fsize, limit)?;
            }
        }
        Ok(Self {
            dir,
            kind,
            before,
            _signal,
        })
    }

    fn lift(self) -> io::Result<()> {
        match self.kind {
            Full::Disk => fs::remove_file(filler(self.dir)),
            Full::Files => Ok(setrlimit(Resource::Fsize, self.before)?),
        }
    }
}

/// One line. Where nobody reads it any more, whoever started this process is gone, and it ends.
fn say(line: &str) {
    let line: String = line
        .chars()
        .map(|char| if char == '\n' { ' ' } else { char })
        .collect();
    let mut out = io::stdout().lock();
    if out
        .write_all(format!("{line}\n").as_bytes())
        .and_then(|()| out.flush())
        .is_err()
    {
        std::process::exit(i32::from(Exit::Other.code()));
    }
}
