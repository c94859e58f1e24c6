//! `sweep torture`: proves the mailbox's promises on this machine and disk. Writers, which are this same program in
//! processes of their own, say what was acknowledged to them and are killed at random moments; what they said is then
//! looked for in what they left. It all happens in a scratch folder beside the home.

mod full;
mod report;
mod said;
mod writer;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Context, wait};
use crate::cli::{Full, Torture};
use crate::failure::{Exit, Failure};
use crate::home::Home;
use crate::progress::Progress;
use crate::signals::Signals;
use full::Fullness;
use report::Report;
use said::{Said, Tally};

/// Rounds of a kill where nothing is said of it: half a minute.
const KILLS: u32 = 20;

/// Rounds of a full disk where nothing is said of it.
const FULL_DISKS: u32 = 5;

/// Rounds after which new mailboxes are begun: later rounds are to find old ones, and still be over soon.
const LIVES: u32 = 25;

/// Rounds after which the mailboxes are looked through. Most kills meet what the kill before left, not what a clean
/// opening made of it.
const LOOK_AFTER: u32 = 5;

/// A writer is killed within this time of its start in every other round, so that it is often still opening.
const OPENING: Duration = Duration::from_millis(80);

/// And within this time of having opened, or of having found room again, in the others.
const WRITING: Duration = Duration::from_millis(200);

/// How long a writer may take to open, or to fill a disk, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a wait looks whether it was interrupted.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Numbers of the messages of one writer.
const NUMBERS: u64 = 1_000_000;

/// Carries it out: the torture, or one of its writers.
pub fn run(context: &Context, choice: &Torture) -> Result<(), Failure> {
    let seed = choice.seed.unwrap_or_else(|| fastrand::u64(..));
    if let Some(dir) = &choice.writer {
        return wait(writer::run(dir, choice.first, seed, choice.full));
    }
    let plan = Plan {
        kill: choice.kill.or(choice.rounds).unwrap_or(KILLS),
        full_disk: choice.full_disk.or(choice.rounds).unwrap_or(FULL_DISKS),
        seed,
    };
    let scratch = Scratch::beside(&context.home)?;
    let path = scratch.path().to_owned();
    let report = wait(supervised(plan, path))?;
    let broken = !report.tally.is_clean();
    // What was broken is worth looking at.
    let kept = broken.then(|| scratch.keep());
    report.print(choice.json)?;
    report.verdict(kept.as_deref())
}

/// How many rounds of what.
#[derive(Debug, Clone, Copy)]
struct Plan {
    kill: u32,
    full_disk: u32,
    seed: u64,
}

/// Goes through the rounds on a thread of their own, until they are over or a signal comes.
async fn supervised(plan: Plan, scratch: PathBuf) -> Result<Report, Failure> {
    let mut signals = Signals::listen()?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let mut rounds = tokio::task::spawn_blocking(move || Rounds::new(plan, scratch, stopped).go());
    let done = tokio::select! {
        done = &mut rounds => done,
        () = signals.next() => {
            stop.store(true, Ordering::Relaxed);
            rounds.await
        }
    };
    done.map_err(|error| Failure::new(Exit::Other, "the rounds ended early").because(error))?
}

/// A folder that is gone afterwards.
struct Scratch(TempDir);

impl Scratch {
    /// Beside the home, if that is its disk; else within it. A home that is not there yet is not made for this.
    fn beside(home: &Home) -> Result<Self, Failure> {
        let make = |within: &Path| {
            tempfile::Builder::new()
                .prefix(".sweep-torture-")
                .tempdir_in(within)
        };
        let disk = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
        let there = home.is_there()?;
        let mut above = home.path.ancestors().skip(1);
        let made = if there {
            let beside = above.next().filter(|parent| disk(parent) == disk(&home.path));
            beside
                .and_then(|parent| make(parent).ok())
                .map_or_else(|| make(&home.path), Ok)
        } else {
            make(above.find(|parent| parent.is_dir()).unwrap_or(Path::new(".")))
        };
        let failed = |error| {
            Failure::new(
                Exit::Other,
                format!("cannot make a folder beside {}", home.path.display()),
            )
            .because(error)
            .mend_what_was_refused("name another home with --home")
        };
        Ok(Self(made.map_err(failed)?))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn keep(self) -> PathBuf {
        self.0.keep()
    }
}

/// The rounds, one after the other.
struct Rounds {
    plan: Plan,
    scratch: PathBuf,
    stop: Arc<AtomicBool>,
    tally: Tally,
    progress: Progress,
    done: u32,
}

impl Rounds {
    fn new(plan: Plan, scratch: PathBuf, stop: Arc<AtomicBool>) -> Self {
        Self {
            plan,
            scratch,
            stop,
            tally: Tally::default(),
            progress: Progress::start("rounds"),
            done: 0,
        }
    }

    fn go(mut self) -> Result<Report, Failure> {
        let began = Instant::now();
        self.kills()?;
        let by = self.full_disks()?;
        self.progress.end();
        Ok(Report {
            seed: self.plan.seed,
            kill: self.plan.kill,
            full_disk: self.plan.full_disk,
            full_by: by,
            done: self.done,
            took: began.elapsed(),
            tally: self.tally,
        })
    }

    /// Whether there is no more to be done.
    fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || !self.tally.is_clean()
    }

    fn dice(&self, round: u64) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.plan.seed.wrapping_add(round))
    }

    fn next_round(&mut self) {
        self.done += 1;
        let all = self.plan.kill + self.plan.full_disk;
        self.progress.at(self.done as usize, all as usize);
    }

    fn kills(&mut self) -> Result<(), Failure> {
        let mut said = Said::default();
        let mut store = PathBuf::new();
        for round in 0..self.plan.kill {
            if self.over() {
                return Ok(());
            }
            if round.is_multiple_of(LIVES) {
                discard(&store);
                store = self.scratch.join(format!("mailbox-{}", round / LIVES));
                said = Said::default();
            }
            let mut dice = self.dice(round.into());
            let mut writer = Writer::start(&store, u64::from(round) * NUMBERS, dice.u64(..), None)?;
            let most = if round.is_multiple_of(2) {
                OPENING
            } else {
                if !writer.wait_for(Word::Opened, &self.stop) && !self.over() {
                    writer.explain(&mut self.tally, "did not open the mailboxes");
                }
                WRITING
            };
            // That it is no particular moment is the point, so there is nothing to wait for.
            thread::sleep(most.mul_f64(dice.f64()));
            said.add(writer.kill(&mut self.tally), &mut self.tally);
            let last = (round + 1).is_multiple_of(LIVES) || round + 1 == self.plan.kill;
            if (round + 1).is_multiple_of(LOOK_AFTER) || last {
                said.check(&store, &mut self.tally)?;
            }
            self.next_round();
        }
        discard(&store);
        Ok(())
    }

    /// Says how a disk was made full, if it was.
    fn full_disks(&mut self) -> Result<Option<Full>, Failure> {
        let mut by = None;
        for round in 0..self.plan.full_disk {
            if self.over() {
                break;
            }
            let number = u64::from(self.plan.kill) + u64::from(round);
            let mut dice = self.dice(number);
            let fullness = Fullness::prepare(&self.scratch.join(format!("full-{round}")))?;
            by = Some(fullness.kind());
            let store = fullness.store();
            let mut said = Said::default();
            let mut writer = Writer::start(&store, number * NUMBERS, dice.u64(..), Some(fullness.kind()))?;
            for (word, missing) in [
                (Word::Opened, "did not open the mailboxes"),
                (Word::Full, "did not find the disk full"),
                (Word::Room, "found no room though there was some again"),
            ] {
                if !writer.wait_for(word, &self.stop) && !self.over() {
                    writer.explain(&mut self.tally, missing);
                }
            }
            thread::sleep(WRITING.mul_f64(dice.f64()));
            said.add(writer.kill(&mut self.tally), &mut self.tally);
            said.check(&store, &mut self.tally)?;
            if self.tally.is_clean() {
                fullness.discard();
            }
            self.next_round();
        }
        Ok(by)
    }
}

/// Removes mailboxes that were looked through. What stays is gone with the scratch folder.
fn discard(store: &Path) {
    let _gone_later = fs::remove_dir_all(store);
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// The mailboxes are open.
    Opened,
    /// An append was refused.
    Full,
    /// One was taken again.
    Room,
}

/// A writer that is killed when this is dropped.
struct Writer {
    child: Child,
    heard: Receiver<Word>,
    lines: Option<JoinHandle<Vec<String>>>,
    explained: bool,
}

impl Writer {
    fn start(store: &Path, first: u64, seed: u64, full: Option<Full>) -> Result<Self, Failure> {
        let failed = |error| Failure::new(Exit::Other, "cannot start a writer").because(error);
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg("torture").arg("--writer").arg(store);
        command
            .arg(format!("--first={first}"))
            .arg(format!("--seed={seed}"));
        match full {
            Some(Full::Disk) => command.arg("--full=disk"),
            Some(Full::Files) => command.arg("--full=files"),
            None => &mut command,
        };
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A Ctrl-C is for this process, which then ends it.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let output = child.stdout.take().map(BufReader::new);
        let (tell, heard) = channel();
        let lines = thread::spawn(move || {
            let mut kept = Vec::new();
            for line in output
                .into_iter()
                .flat_map(|output| output.lines())
                .map_while(Result::ok)
            {
                hear(&line, &tell);
                kept.push(line);
            }
            kept
        });
        Ok(Self {
            child,
            heard,
            lines: Some(lines),
            explained: false,
        })
    }

    /// Waits until it says this; `false` where it ends before, is interrupted, or takes too long.
    fn wait_for(&mut self, word: Word, stop: &AtomicBool) -> bool {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && !stop.load(Ordering::Relaxed) {
            match self.heard.recv_timeout(LOOK_EVERY) {
                Ok(heard) if heard == word => return true,
                Ok(_) | Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return false,
            }
        }
        false
    }

    /// It did not do what it was waited for.
    fn explain(&mut self, tally: &mut Tally, missing: &str) {
        if !self.explained {
            tally.failed(format!("a writer {missing}"));
            self.explained = true;
        }
    }

    /// Kills it, and says what it had said. One that ended by itself has failed.
    fn kill(mut self, tally: &mut Tally) -> Vec<String> {
        let ended: Option<ExitStatus> = self.child.try_wait().ok().flatten();
        self.end();
        let lines = self
            .lines
            .take()
            .and_then(|lines| lines.join().ok())
            .unwrap_or_default();
        if let Some(status) = ended
            && !self.explained
            && !lines.iter().any(|line| line.starts_with(writer::FAILED))
        {
            tally.failed(format!("a writer ended by itself: {status}"));
        }
        lines
    }

    fn end(&mut self) {
        // One that has ended cannot be killed, and one that was killed ends.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

fn hear(line: &str, tell: &Sender<Word>) {
    let word = match line.split(' ').next() {
        Some(writer::OPENED) => Word::Opened,
        Some(writer::FULL) => Word::Full,
        Some(writer::ROOM) => Word::Room,
        _ => return,
    };
    // Nobody may be waiting for it.
    let _ = tell.send(word);
}
