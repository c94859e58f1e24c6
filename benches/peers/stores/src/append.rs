//! Durable appends.

use rig::group::{Grouped, Load, Log};
use rig::plain::PlainFile;
use rig::{Item, Rounds, Size, disk};

use crate::engines::{Fjall, Redb, Sqlite};
use crate::ours::Ours;
use crate::tokio_runtime;

pub fn run(size: Size) {
    let lone = Load {
        senders: 1,
        appends: size.of(500, 50),
        messages: 1,
    };
    case("one lone sender", lone, size);
    let groups = Load {
        senders: 1,
        appends: size.of(200, 10),
        messages: 100,
    };
    case("one sender, 100 messages an append", groups, size);
    case(
        "64 senders",
        Load {
            senders: 64,
            appends: size.of(100, 5),
            messages: 1,
        },
        size,
    );
    case(
        "256 senders",
        Load {
            senders: 256,
            appends: size.of(50, 2),
            messages: 1,
        },
        size,
    );
}

fn case(name: &str, load: Load, size: Size) {
    let runtime = tokio_runtime();
    let dir = disk::folder();
    let path = dir.path();
    let ours = runtime.block_on(Ours::open(path));
    let plain = Grouped::start(PlainFile::open(path));
    let sqlite = Grouped::start(Sqlite::open(path));
    let redb = Grouped::start(Redb::open(path));
    let fjall = Grouped::start(Fjall::open(path));

    let drive = |log: &Grouped, round: &mut usize| {
        *round += 1;
        runtime.block_on(load.drive(log.clone(), *round))
    };
    let (mut of_plain, mut of_ours, mut of_sqlite, mut of_redb, mut of_fjall) = (0, 0, 0, 0, 0);
    let before = ours.mailboxes.counters();
    let mut rounds = Rounds::new("append", name, load.total(), "messages");
    rounds.run(
        size.rounds(),
        &mut [
            ("plain file", &mut || drive(&plain, &mut of_plain)),
            ("mailbox", &mut || {
                of_ours += 1;
                runtime.block_on(load.drive(ours.clone(), of_ours))
            }),
            ("SQLite", &mut || drive(&sqlite, &mut of_sqlite)),
            ("redb", &mut || drive(&redb, &mut of_redb)),
            ("fjall", &mut || drive(&fjall, &mut of_fjall)),
        ],
    );
    let after = ours.mailboxes.counters();
    let syncs = (after.syncs - before.syncs) as f64 / (load.total() * size.rounds()) as f64;
    rounds.note("mailbox", format!("{syncs:.3} syncs a message"));
    rounds.tell();
    runtime.block_on(ours.mailboxes.close());
}

/// Messages that an engine appends alone.
const ALONE: usize = 100;

/// Appends alone, one message at a time.
pub fn alone(engine: &str) {
    let runtime = tokio_runtime();
    let dir = disk::folder();
    let path = dir.path();
    match engine {
        "mailbox" => {
            let ours = runtime.block_on(Ours::open(path));
            runtime.block_on(append_all(&ours));
        }
        "plain" => runtime.block_on(append_all(&Grouped::start(PlainFile::open(path)))),
        "sqlite" => runtime.block_on(append_all(&Grouped::start(Sqlite::open(path)))),
        "redb" => runtime.block_on(append_all(&Grouped::start(Redb::open(path)))),
        "fjall" => runtime.block_on(append_all(&Grouped::start(Fjall::open(path)))),
        other => panic!("{other} is none of mailbox, plain, sqlite, redb and fjall"),
    }
}

async fn append_all(log: &impl Log) {
    for item in Item::many("alone", 0, ALONE) {
        log.append(log.request(vec![item])).await;
    }
}
