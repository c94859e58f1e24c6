//! What a killed process leaves behind: every batch whole or not at all, and all that were acknowledged.
//!
//! The writer is this same program in a process of its own. It says on its standard output which batch was
//! written, after it was, and is killed at a random moment, in every other round while it opens the ledger.
//! `SWEEP_LONG=1` runs 300 kills over 15 ledgers instead of 20 over one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chrono::TimeDelta;
use ledger::{Event, Ledger, Reader};
use lifecycle::maintain::build;

use crate::support::{Home, batch, first, listing, record, turn};

/// Tells the child what to write to.
const FILE: &str = "LEDGER_CRASH_FILE";
/// How many pull requests are in a batch.
const SIZE: u64 = 20;
/// How long the writer may take to open the ledger on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Batch after batch: new pull requests, one that every batch moves, and an event.
fn write(ledger: &mut Ledger, number: u64) {
    let visits = (0..SIZE).map(|n| first(&build::ready(&format!("o/r#{}", number * SIZE + n + 1)).done()));
    let mut shared = first(
        &build::ready("o/shared#1")
            .later(TimeDelta::seconds(i64::try_from(number).unwrap()))
            .with(|evidence| evidence.labels = vec![format!("batch {number}")])
            .done(),
    );
    shared.row.as_mut().unwrap().reason = number.to_string();
    let mut batch = batch(visits.chain([shared]));
    batch.turn = turn(&format!("writer/{number}"));
    batch.events.push(Event {
        kind: "WRITTEN".to_owned(),
        detail: serde_json::json!(number),
        at: pulls::build::now(),
    });
    record(ledger, &batch);
}

/// Every batch that the ledger holds is there whole, one after another. Returns how many there are.
fn check(ledger: &Reader) -> u64 {
    let mut count = 0;
    while ledger.outcome(&format!("writer/{count}")).unwrap().is_some() {
        count += 1;
    }
    let rows = ledger.rows(Some(&"o/r".parse().unwrap())).unwrap();
    let numbers: Vec<u64> = rows.iter().map(|row| u64::from(row.at.number)).collect();
    let expected: Vec<u64> = (1..=count * SIZE).collect();
    assert_eq!(numbers, expected);
    let log = ledger.transitions_since(chrono::DateTime::UNIX_EPOCH).unwrap();
    assert_eq!(log.len() as u64, count * (SIZE + 1));
    let cards = ledger.cards(Some(&"o/r".parse().unwrap())).unwrap();
    assert_eq!(cards.len() as u64, count * SIZE);
    let shared = "o/shared#1".parse().unwrap();
    let reason = ledger.row(&shared).unwrap().map(|row| row.reason);
    assert_eq!(reason, count.checked_sub(1).map(|last| last.to_string()));
    assert_eq!(ledger.evidence_of(&shared).unwrap().len() as u64, count);
    let events = ledger.events_since(chrono::DateTime::UNIX_EPOCH).unwrap();
    assert_eq!(events.len() as u64, count);
    count
}

/// Not a test: the process that is killed.
#[test]
#[ignore = "the writer that the other tests of this file start"]
fn the_writer() {
    let Ok(file) = std::env::var(FILE) else { return };
    let mut ledger = Ledger::open(Path::new(&file)).unwrap();
    let mut next = check(&ledger);
    say("opened");
    loop {
        write(&mut ledger, next);
        next += 1;
        say(&next.to_string());
    }
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
    last: JoinHandle<u64>,
}

impl Writer {
    fn start(file: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::the_writer", "--ignored", "--nocapture"])
            .env(FILE, file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, opened) = channel();
        let last = thread::spawn(move || {
            let mut last = 0;
            for line in output.lines().map_while(Result::ok) {
                match line.strip_prefix('@') {
                    // Nobody may be waiting for it.
                    Some("opened") => _ = tell.send(()),
                    Some(number) => last = number.parse().unwrap(),
                    None => {}
                }
            }
            last
        });
        Self { child, opened, last }
    }

    fn is_open(&self) {
        let opened = self.opened.recv_timeout(PATIENCE);
        opened.expect("the writer opens the ledger");
    }

    /// Kills it, and says how many batches it had said were written.
    fn kill(mut self) -> u64 {
        assert!(
            self.child.try_wait().unwrap().is_none(),
            "the writer ended by itself"
        );
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.last.join().unwrap()
    }
}

#[test]
fn a_killed_writer_leaves_every_batch_whole_and_all_that_it_was_told_of() {
    let ledgers = if std::env::var_os("SWEEP_LONG").is_some() {
        15
    } else {
        1
    };
    for _ in 0..ledgers {
        println!("{}", killed_twenty_times());
    }
}

/// Says what it saw.
fn killed_twenty_times() -> String {
    let home = Home::new();
    let (mut said, mut after_opening) = (0, 0);
    for round in 0_u64..20 {
        let writer = Writer::start(&home.file());
        // That it is no particular moment is the point, so there is nothing else to wait for.
        let most = match round.is_multiple_of(2) {
            true => 40_000,
            false => {
                writer.is_open();
                after_opening += 1;
                150_000
            }
        };
        thread::sleep(Duration::from_micros(seed(round) % most));
        said = writer.kill().max(said);
        // Who only looks sees the same, and leaves the mess as it is.
        let before = listing(home.dir.path());
        if let Some(reader) = Reader::open(&home.file()).unwrap() {
            assert!(check(&reader) >= said);
        }
        assert_eq!(listing(home.dir.path()), before, "after round {round}");
        if round % 5 == 4 {
            assert!(check(&home.open()) >= said);
        }
    }
    let held = check(&home.open());
    assert!(held >= said && said > 0, "{held} are there, {said} were said");
    format!("20 kills, {after_opening} after opening: {said} batches said, {held} held")
}

/// A number that looks like no other.
fn seed(round: u64) -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    (u64::from(now.unwrap().subsec_nanos()) ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

#[test]
fn beside_a_writer_in_another_process_one_may_read_and_not_write() {
    let home = Home::new();
    let writer = Writer::start(&home.file());
    writer.is_open();
    let reader = home.reader();
    let seen = check_beside(&reader);
    let refused = Ledger::open(&home.file()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "{} is being written by process {}",
            home.file().display(),
            writer.child.id()
        )
    );
    let said = writer.kill();
    let held = check(&reader);
    assert!(held >= said && held >= seen);
    assert_eq!(check(&home.open()), held, "the lock ended with its process");
    assert_eq!(check(&reader), held);
}

/// Not a test: a shell that looks into the tables, as whoever may write.
#[test]
#[ignore = "the shell that another test of this file starts"]
fn the_shell() {
    let Ok(file) = std::env::var(FILE) else { return };
    let shell = rusqlite::Connection::open(file).unwrap();
    let count = shell.query_row("SELECT count(*) FROM pr_state", [], |row| row.get::<_, i64>(0));
    assert!(count.unwrap() > 0);
    shell.close().unwrap();
}

#[test]
fn a_look_beside_the_writer_in_its_own_process_gives_away_none_of_its_locks() {
    let home = Home::new();
    let mut ledger = home.open();
    write(&mut ledger, 0);
    drop(home.reader());
    assert!(Ledger::open(&home.file()).is_err());
    // The last one to close a ledger removes its log: the shell is not the last.
    let shell = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::the_shell", "--ignored"])
        .env(FILE, home.file())
        .output()
        .unwrap();
    assert!(
        shell.status.success(),
        "{}",
        String::from_utf8_lossy(&shell.stdout)
    );
    assert!(home.dir.path().join("ledger.db-wal").exists());
    write(&mut ledger, 1);
    assert_eq!(check(&home.reader()), 2);
    drop(ledger);
    assert_eq!(check(&home.open()), 2);
}

/// While it is written two questions are two moments, so only what one answer holds is compared.
fn check_beside(reader: &Reader) -> u64 {
    let mut seen = 0;
    for _ in 0..50 {
        let rows = reader.rows(Some(&"o/r".parse().unwrap())).unwrap().len() as u64;
        assert!(rows.is_multiple_of(SIZE) && rows >= seen, "{rows} after {seen}");
        seen = rows;
    }
    seen / SIZE
}
