//! A million messages from first to last, decoded, and the disk that they take.

use std::time::{Duration, Instant};

use mailbox::{Filter, Replay as MailboxReplay};
use rig::group::Engine;
use rig::message::decoded;
use rig::plain::PlainFile;
use rig::{Figure, Item, Rounds, Size, disk};

use crate::engines::{Fjall, Redb, Replay, Sqlite};
use crate::ours::{Ours, name};
use crate::tokio_runtime;

/// Messages committed at a time when a store is filled.
const FILL: usize = 1_000;
/// Reading is stopped after so long, and the figure is that of what was read.
const ENOUGH: Duration = Duration::from_secs(20);

pub fn run(size: Size) {
    let count = size.of(1_000_000, 50_000);
    let runtime = tokio_runtime();
    let dir = disk::folder();
    let folder = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir(&path).expect("a folder can be made");
        path
    };
    let mut plain = filled(PlainFile::open(&folder("plain")), count);
    let mut sqlite = filled(Sqlite::open(&folder("sqlite")), count);
    let mut redb = filled(Redb::open(&folder("redb")), count);
    let mut fjall = filled(Fjall::open(&folder("fjall")), count);
    let ours = runtime.block_on(Ours::open(&folder("mailbox")));
    runtime.block_on(ours.fill(count));

    let mut rounds = Rounds::new("replay", format!("{count} messages"), count, "messages");
    rounds.run(
        size.of(5, 3),
        &mut [
            ("plain file", &mut || timed(&mut plain, count)),
            ("mailbox, with events", &mut || {
                runtime.block_on(with_events(&ours, count))
            }),
            ("mailbox, envelopes", &mut || {
                runtime.block_on(envelopes(&ours, count))
            }),
            ("SQLite", &mut || timed(&mut sqlite, count)),
            ("redb", &mut || timed(&mut redb, count)),
            ("fjall", &mut || timed(&mut fjall, count)),
        ],
    );
    rounds.tell();
    runtime.block_on(ours.mailboxes.close());

    let data: usize = (0..count)
        .map(|number| Item::new("fill", number).line.len())
        .sum();
    for (engine, name) in [
        ("plain file", "plain"),
        ("mailbox", "mailbox"),
        ("SQLite", "sqlite"),
        ("redb", "redb"),
        ("fjall", "fjall"),
    ] {
        let used = disk::usage(&dir.path().join(name)) as f64;
        Figure::new("disk", &format!("{count} messages"), engine, used / 1e6, "MB")
            .note(format!("{:.2} times the messages' bytes", used / data as f64))
            .tell();
    }
}

fn filled<E: Engine>(mut engine: E, count: usize) -> E {
    for from in (0..count).step_by(FILL) {
        engine.commit(&Item::many("fill", from, FILL.min(count - from)));
    }
    engine
}

fn timed(engine: &mut impl Replay, count: usize) -> Duration {
    let start = Instant::now();
    let (mut read, mut sum) = (0, 0);
    engine.replay(&mut |line| {
        read += 1;
        sum += decoded(line);
    });
    assert_eq!(read, count);
    std::hint::black_box(sum);
    start.elapsed()
}

/// What a post-mortem reads: every message with all that happened to it.
async fn with_events(ours: &Ours, count: usize) -> Duration {
    let start = Instant::now();
    let mut replay = MailboxReplay::new(ours.mailboxes.clone(), name());
    let (mut read, mut sum) = (0, 0);
    while let Some(page) = replay.next_page().await.expect("the disk reads") {
        for replayed in &page {
            sum += decoded(replayed.envelope.message.line());
        }
        read += page.len();
        if start.elapsed() > ENOUGH {
            break;
        }
    }
    std::hint::black_box(sum);
    scaled(start.elapsed(), read, count)
}

async fn envelopes(ours: &Ours, count: usize) -> Duration {
    let start = Instant::now();
    let mut filter = Filter::default();
    let (mut read, mut sum) = (0, 0);
    loop {
        let page = ours
            .mailboxes
            .envelopes(&name(), filter.clone())
            .await
            .expect("the disk reads");
        let Some(last) = page.last() else { break };
        filter.after = Some(last.seq);
        sum += page
            .iter()
            .map(|envelope| decoded(envelope.message.line()))
            .sum::<u64>();
        read += page.len();
        if start.elapsed() > ENOUGH {
            break;
        }
    }
    std::hint::black_box(sum);
    scaled(start.elapsed(), read, count)
}

/// How long all of it would have taken.
fn scaled(took: Duration, read: usize, count: usize) -> Duration {
    if read < count {
        eprintln!("stopped after {read} of {count} messages");
    }
    took.mul_f64(count as f64 / read.max(1) as f64)
}
