//! apalis with SQLite, the job runner that one would pick instead, against the plain file.
//!
//! `jobs [--quick] [SCENARIO...]` measures `append` and `consume` and prints figures as JSON lines.
//!
//! apalis sets `synchronous=OFF` on the connections that set up its tables; the ones that are measured have
//! `FULL`, so that every transaction is synced. It promises less than the mailbox even so: a task's attempt is written with its
//! result, after the handler, and the result some time later, with those of other tasks.

use std::path::Path;
use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_sqlite::{SqliteConnectOptions, SqlitePool, SqliteStorage};
use sqlx::sqlite::SqliteSynchronous;
use futures_util::stream;
use rig::plain::PlainFile;
use rig::{Asked, Item, Rounds, Size, disk};
use tokio::sync::mpsc;

/// Tasks pushed at a time when the queue is filled.
const FILL: usize = 1_000;

fn main() {
    let asked = Asked::from_args(std::env::args().skip(1));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads can be started");
    if asked.wants("append") {
        append(&runtime, "one lone sender", asked.size.of(500, 50), 1, asked.size);
        append(
            &runtime,
            "one sender, 100 messages an append",
            asked.size.of(50, 5),
            100,
            asked.size,
        );
    }
    if asked.wants("consume") {
        consume(&runtime, "one at a time", Some(1), asked.size);
        consume(&runtime, "as many in hand as apalis likes", None, asked.size);
    }
}

/// A queue on the disk whose every transaction is synced: what the set-up does to its connections ends with them.
async fn open(dir: &Path) -> SqliteStorage<String> {
    let options = SqliteConnectOptions::new()
        .filename(dir.join("apalis.sqlite"))
        .create_if_missing(true)
        .synchronous(SqliteSynchronous::Full);
    let pool = SqlitePool::connect_with(options.clone()).await.expect("it opens");
    SqliteStorage::setup(&pool).await.expect("its tables are made");
    pool.close().await;
    let pool = SqlitePool::connect_with(options).await.expect("it opens");
    let answer = |pragma: &'static str| sqlx::query_scalar(pragma).fetch_one(&pool);
    let synchronous: i64 = answer("PRAGMA synchronous").await.expect("it answers");
    assert_eq!(synchronous, 2, "every transaction is synced");
    SqliteStorage::new(&pool)
}

async fn push(storage: &mut SqliteStorage<String>, items: Vec<Item>) {
    let task = |item: Item| TaskBuilder::new(item.line).idempotency_key(item.id).build();
    let mut tasks = stream::iter(items.into_iter().map(task));
    storage.push_all(&mut tasks).await.expect("the disk takes it");
}

fn append(runtime: &tokio::runtime::Runtime, case: &str, appends: usize, messages: usize, size: Size) {
    let dir = disk::folder();
    let mut plain = PlainFile::open(dir.path());
    let mut storage = runtime.block_on(open(dir.path()));
    let (mut of_plain, mut of_apalis) = (0, 0);
    let batches = |round: &mut usize| {
        *round += 1;
        let sender = format!("r{round}");
        (0..appends)
            .map(|number| Item::many(&sender, number * messages, messages))
            .collect::<Vec<_>>()
    };
    let mut rounds = Rounds::new("append", case, appends * messages, "messages");
    rounds.run(
        size.rounds(),
        &mut [
            ("plain file", &mut || {
                let batches = batches(&mut of_plain);
                let start = Instant::now();
                batches
                    .iter()
                    .for_each(|batch| rig::group::Engine::commit(&mut plain, batch));
                start.elapsed()
            }),
            ("apalis", &mut || {
                let batches = batches(&mut of_apalis);
                runtime.block_on(async {
                    let start = Instant::now();
                    for batch in batches {
                        push(&mut storage, batch).await;
                    }
                    start.elapsed()
                })
            }),
        ],
    );
    rounds.tell();
}

fn consume(runtime: &tokio::runtime::Runtime, case: &str, in_hand: Option<usize>, size: Size) {
    let (backlog, count) = (size.of(100_000, 10_000), size.of(500, 200));
    let dir = disk::folder();
    let mut plain = PlainFile::open(dir.path());
    let storage = runtime.block_on(async {
        let mut storage = open(dir.path()).await;
        for from in (0..backlog).step_by(FILL) {
            push(&mut storage, Item::many("fill", from, FILL.min(backlog - from))).await;
        }
        storage
    });
    let mut round = 0;
    let mut rounds = Rounds::new("consume", case, count, "messages");
    rounds.run(
        size.rounds(),
        &mut [
            ("plain file", &mut || {
                let start = Instant::now();
                (0..count).for_each(|_| plain.record(b"acked 1, leased 2"));
                start.elapsed()
            }),
            ("apalis", &mut || {
                round += 1;
                runtime.block_on(work(&storage, &format!("worker-{round}"), count, in_hand))
            }),
        ],
    );
    rounds.note("apalis", "attempts are not counted before the handler starts");
    rounds.tell();
}

/// Measures from the first handler's start to the one after so many.
async fn work(storage: &SqliteStorage<String>, name: &str, count: usize, in_hand: Option<usize>) -> Duration {
    let (called, mut calls) = mpsc::unbounded_channel();
    let handle = move |_: String| {
        // Nobody listens any more when the measurement is over.
        let _ = called.send(Instant::now());
        std::future::ready(())
    };
    let worker = WorkerBuilder::new(name)
        .backend(storage.clone())
        .concurrency(in_hand.unwrap_or(usize::MAX >> 4))
        .build(handle);
    let working = tokio::spawn(worker.run());
    let first = calls.recv().await.expect("the worker runs");
    let mut last = first;
    for _ in 0..count {
        last = calls.recv().await.expect("the worker runs");
    }
    working.abort();
    last - first
}
