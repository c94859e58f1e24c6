//! What a killed process and a power cut leave behind: everything that was acknowledged, once.
//!
//! The writer is this same program in a process of its own. It says on its standard output what was
//! acknowledged to it, after it was, and is killed at a random moment, often while it opens the
//! store. `SWEEP_LONG=1` runs 500 kills and 100 power cuts instead of 20 and 10.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mailbox::store::DiskStore;
use mailbox::{
    Clock, Done, Draft, Envelope, EnvelopeState, Filter, Lessee, Mailboxes, Moment, Policy, Seq, Sleep,
    SystemClock,
};

use crate::{draft_of, name};

/// Tells the child what to write to.
const DIR: &str = "MAILBOX_CRASH_DIR";
/// And with which number its ids begin.
const FIRST: &str = "MAILBOX_CRASH_FIRST";
/// And that it prunes: its value is the moment at which its clock starts, in milliseconds.
const PRUNES: &str = "MAILBOX_CRASH_PRUNES";
/// How much faster than real time the clock of a writer that prunes is, so that it looks for something to
/// prune every few milliseconds.
const HASTE: u32 = 200_000;
/// By how much each of its lives begins later: longer than any lasts at that haste.
const LIFE: Duration = Duration::from_secs(2 * 365 * 24 * 60 * 60);
/// How long the writer may take to open the store on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a disk may be copied until a copy is of one moment.
const COPIES: u32 = 50;
/// Ids of one child.
const IDS: u64 = 1_000_000;

fn rounds(short: u64, long: u64) -> u64 {
    if std::env::var_os("SWEEP_LONG").is_some() {
        long
    } else {
        short
    }
}

/// The message with this number: most are small, some need a file of their own.
fn numbered(number: u64) -> Draft {
    let padding = match number % 50 {
        7 => 10_000,
        23 => 200_000,
        _ => usize::try_from(number % 400).unwrap(),
    };
    draft_of(&format!("m-{number}"), padding)
}

/// Time in haste.
struct Hasty {
    start: Moment,
    since: Instant,
}

impl Clock for Hasty {
    fn now(&self) -> Moment {
        self.start.after(self.since.elapsed() * HASTE)
    }

    fn sleep_until(&self, until: Moment) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(until.since(self.now()) / HASTE))
    }
}

/// The clock that the writer was told to have.
fn clock() -> Arc<dyn Clock> {
    match std::env::var(PRUNES) {
        Ok(start) => Arc::new(Hasty {
            start: Moment::from_millis(start.parse().unwrap()),
            since: Instant::now(),
        }),
        Err(_) => Arc::new(SystemClock::start()),
    }
}

/// Not a test: the process that is killed.
#[test]
#[ignore = "the writer that the other tests of this file start"]
fn the_writer() {
    let (Ok(dir), Ok(first)) = (std::env::var(DIR), std::env::var(FIRST)) else {
        return;
    };
    let next = Arc::new(AtomicU64::new(first.parse().unwrap()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        // Small enough that what is written goes on to the database many times in one life.
        let store = DiskStore::with_tail(Path::new(&dir), 16 * 1024).unwrap();
        let mailboxes = Mailboxes::open(store, clock()).unwrap();
        if std::env::var_os(PRUNES).is_some() {
            let hour = Duration::from_secs(60 * 60);
            let policy = Policy {
                keep: hour,
                unchanged_for: hour,
                dedupe_horizon: 3 * hour,
                ..Policy::default()
            };
            mailboxes.declare(name(), policy).await.unwrap();
        }
        say("opened");
        for sender in 0..8 {
            let (mailboxes, next) = (mailboxes.clone(), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let batch: Vec<u64> = (0..=sender % 3)
                        .map(|_| next.fetch_add(1, Ordering::Relaxed))
                        .collect();
                    mailboxes
                        .append(batch.iter().copied().map(numbered).collect())
                        .await
                        .unwrap();
                    batch.iter().for_each(|number| say(&format!("appended {number}")));
                }
            });
        }
        let mut delivery = mailboxes.lease(&name(), Lessee::Process).await.unwrap();
        loop {
            let number = number_of(&delivery.envelope);
            let done = Done::new("handled");
            let (acked, next) = mailboxes
                .ack_then_lease(delivery.lease, done, Lessee::Process)
                .await;
            acked.unwrap();
            say(&format!("handled {number}"));
            delivery = next.delivery().await.unwrap();
        }
    });
}

/// The number that the id of a message holds.
fn number_of(envelope: &Envelope) -> u64 {
    let id = envelope.message.msg_id().as_str();
    id.strip_prefix("m-").unwrap().parse().unwrap()
}

/// One line with one write, so that a kill does not leave half of it in a buffer.
fn say(line: &str) {
    std::io::stdout()
        .write_all(format!("\n@{line}\n").as_bytes())
        .unwrap();
}

struct Writer {
    child: Child,
    opened: Receiver<()>,
    lines: JoinHandle<Vec<String>>,
}

impl Writer {
    fn start(dir: &Path, first: u64) -> Writer {
        Writer::with(dir, first, None)
    }

    /// One that prunes, if it is told when its clock starts.
    fn with(dir: &Path, first: u64, prunes: Option<Moment>) -> Writer {
        let prunes = prunes.map(|start| (PRUNES, start.as_millis().to_string()));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .envs(prunes)
            .args(["--exact", "crash::the_writer", "--ignored", "--nocapture"])
            .env(DIR, dir)
            .env(FIRST, first.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, opened) = channel();
        let lines = thread::spawn(move || {
            let mut lines = Vec::new();
            for line in output.lines().map_while(Result::ok) {
                let Some(line) = line.strip_prefix('@') else {
                    continue;
                };
                if line == "opened" {
                    // Nobody may be waiting for it.
                    let _ = tell.send(());
                }
                lines.push(line.to_owned());
            }
            lines
        });
        Writer { child, opened, lines }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Kills it, and says what it had said.
    fn kill(mut self) -> Vec<String> {
        assert!(
            self.child.try_wait().unwrap().is_none(),
            "the writer ended by itself"
        );
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.lines.join().unwrap()
    }
}

/// What was acknowledged so far.
#[derive(Default)]
struct Said {
    appended: BTreeSet<u64>,
    handled: BTreeSet<u64>,
    opened: u64,
}

impl Said {
    fn add(&mut self, lines: &[String]) {
        for line in lines {
            match line.split_once(' ') {
                Some(("appended", number)) => assert!(self.appended.insert(number.parse().unwrap())),
                Some(("handled", number)) => {
                    assert!(
                        self.handled.insert(number.parse().unwrap()),
                        "{number} was handled twice"
                    );
                }
                _ => self.opened += 1,
            }
        }
    }

    /// Everything that was acknowledged is in the store, once, whole, without a hole before it.
    fn check(&self, dir: &Path) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mailboxes = Mailboxes::open_sled(dir, Arc::new(SystemClock::start())).unwrap();
            let mut found = BTreeMap::new();
            let mut last = Seq(0);
            loop {
                let page = mailboxes
                    .envelopes(&name(), Filter::all().after(last))
                    .await
                    .unwrap();
                if page.is_empty() {
                    break;
                }
                for envelope in page {
                    assert_eq!(envelope.seq, last.next(), "a hole");
                    last = envelope.seq;
                    let number = number_of(&envelope);
                    assert_eq!(envelope.message, numbered(number).message);
                    assert!(
                        found.insert(number, envelope.seq).is_none(),
                        "{number} is there twice"
                    );
                    if self.handled.contains(&number) {
                        assert!(
                            matches!(envelope.state, EnvelopeState::Acked { .. }),
                            "{}",
                            envelope.seq
                        );
                    }
                }
            }
            for number in &self.appended {
                assert!(
                    found.contains_key(number),
                    "{number} was acknowledged and is gone"
                );
            }
            mailboxes.close().await;
        });
    }
}

impl Said {
    /// The same of a store that was pruned: what was not handled is there, what was handled is not unread
    /// again. Returns how many messages were pruned.
    fn check_pruned(&self, dir: &Path, lives: u64) -> u64 {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mailboxes = Mailboxes::open_sled(dir, Arc::new(SystemClock::start())).unwrap();
            let mut found = BTreeSet::new();
            let mut last = Seq(0);
            loop {
                let page = mailboxes
                    .envelopes(&name(), Filter::all().after(last))
                    .await
                    .unwrap();
                let Some(end) = page.last() else { break };
                last = end.seq;
                for envelope in page {
                    let number = number_of(&envelope);
                    assert_eq!(envelope.message, numbered(number).message);
                    assert!(found.insert(number), "{number} is there twice");
                    let acked = matches!(envelope.state, EnvelopeState::Acked { .. });
                    assert!(
                        acked || !self.handled.contains(&number),
                        "{number} is unread again"
                    );
                }
            }
            let status = mailboxes.status().await.unwrap().remove(0);
            assert!(status.total >= self.appended.len() as u64);
            assert_eq!(status.total, found.len() as u64 + status.pruned);
            // A killed writer may have handled one more than it could say.
            let gone = self.appended.difference(&self.handled);
            let lost = gone.filter(|number| !found.contains(number)).count() as u64;
            assert!(lost <= lives, "{lost} are gone that were never handled");
            mailboxes.close().await;
            status.pruned
        })
    }
}

/// Waits for a random moment: in every other round while the store is being opened, else while it is
/// written to. That it is no particular moment is the point, so there is nothing else to wait for.
fn random_moment(round: u64, writer: &Writer) {
    let most = if round.is_multiple_of(2) {
        80_000
    } else {
        writer
            .opened
            .recv_timeout(PATIENCE)
            .expect("the writer opens the store");
        200_000
    };
    thread::sleep(Duration::from_micros(fastrand::u64(0..most)));
}

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("mailbox");
    let mut said = Said::default();
    let rounds = rounds(20, 500);
    for round in 0..rounds {
        let writer = Writer::start(&store, round * IDS);
        random_moment(round, &writer);
        said.add(&writer.kill());
        // Most kills meet what the kill before left, not what a clean opening made of it.
        if round % 5 == 4 {
            said.check(&store);
        }
    }
    said.check(&store);
    println!(
        "{rounds} kills, {} after opening: {} appended, {} handled",
        said.opened,
        said.appended.len(),
        said.handled.len()
    );
}

#[test]
fn a_process_that_is_killed_while_it_prunes_loses_nothing_that_is_unread() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path().join("mailbox");
    let mut said = Said::default();
    let rounds = rounds(12, 300);
    let mut start = Moment::from_millis(1_000_000_000_000);
    let mut pruned = 0;
    for round in 0..rounds {
        start = start.after(LIFE);
        let writer = Writer::with(&store, round * IDS, Some(start));
        random_moment(round + 1 - round % 2, &writer);
        said.add(&writer.kill());
        if round % 4 == 3 {
            pruned = said.check_pruned(&store, round + 1);
        }
    }
    assert!(pruned > 0, "the writers were never at pruning");
    println!(
        "{rounds} kills: {} appended, {} handled, {pruned} pruned",
        said.appended.len(),
        said.handled.len()
    );
}

/// An ext4 file system in a file. What its page cache has not written is not in the file, as it would
/// not be on the disk after a power cut.
struct Disk {
    image: PathBuf,
    mount: PathBuf,
}

impl Disk {
    fn run(program: &str, args: &[&std::ffi::OsStr]) -> Result<(), String> {
        let output = Command::new(program)
            .args(args)
            .output()
            .map_err(|error| format!("{program}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!(
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))
    }

    fn make(dir: &Path) -> Result<Disk, String> {
        let disk = Disk {
            image: dir.join("disk"),
            mount: dir.join("mount"),
        };
        fs::create_dir(&disk.mount).map_err(|error| error.to_string())?;
        let file = fs::File::create(&disk.image).map_err(|error| error.to_string())?;
        file.set_len(512 * 1024 * 1024)
            .map_err(|error| error.to_string())?;
        // Nothing is left for the file system to do in the background.
        let eager = "lazy_itable_init=0,lazy_journal_init=0";
        Disk::run(
            "mkfs.ext4",
            &["-q".as_ref(), "-E".as_ref(), eager.as_ref(), disk.image.as_ref()],
        )?;
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        Disk::run(
            "mount",
            &[
                "-o".as_ref(),
                "loop".as_ref(),
                self.image.as_ref(),
                self.mount.as_ref(),
            ],
        )
    }

    fn unmount(&self) -> Result<(), String> {
        Disk::run("umount", &[self.mount.as_ref()])
    }

    /// What is on the disk at one moment. The file system's own threads go on writing in their order
    /// while the writer is stopped; a copy that they wrote into shows the later of two writes without
    /// the earlier, which no power cut does, so it is taken again.
    fn copy(&self) -> PathBuf {
        let copy = self.image.with_extension("copy");
        for _ in 0..COPIES {
            let files = [self.image.as_ref(), copy.as_ref()];
            Disk::run("cp", &["--sparse=always".as_ref(), files[0], files[1]]).unwrap();
            if Disk::run("cmp", &files).is_ok() {
                return copy;
            }
        }
        panic!("the disk is never at rest");
    }

    /// The disk is what the copy holds from here on.
    fn replace(&self, copy: &Path) {
        self.unmount().unwrap();
        fs::rename(copy, &self.image).unwrap();
        self.mount().unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // It may not be mounted.
        let _ = self.unmount();
    }
}

#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let disk = match Disk::make(dir.path()) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: no file system in a file can be mounted here ({reason})");
            return;
        }
    };
    let store = disk.mount.join("mailbox");
    let mut said = Said::default();
    let rounds = rounds(10, 100);
    for round in 0..rounds {
        let writer = Writer::start(&store, round * IDS);
        random_moment(round + 1, &writer);
        writer.signal("-STOP");
        let copy = disk.copy();
        // What it said before it was stopped was acknowledged before the copy was made.
        said.add(&writer.kill());
        disk.replace(&copy);
        said.check(&store);
    }
    println!(
        "{rounds} power cuts, {} after opening: {} appended, {} handled",
        said.opened,
        said.appended.len(),
        said.handled.len()
    );
}
