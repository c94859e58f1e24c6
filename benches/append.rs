//! Durable appends against a plain file and SQLite, everyone really synced, in one run.
//!
//! `cargo bench --bench append` prints a markdown table. Engines take turns within each round, since
//! the disk is shared and noisy; the ratio is taken within a round and the median over the rounds is
//! shown. The peers get the same group commit that the mailbox has: one writer thread, up to
//! [`GROUP`] messages a group, one sync a group, and every sender waits for the sync that covers its
//! message.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark reports on stdout and may stop"
)]

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailbox::{Draft, MailboxName, Mailboxes, Message, SystemClock};
use tokio::sync::{mpsc, oneshot};

/// The most messages that a peer's group holds; the same bound as the mailbox's own writer.
const GROUP: usize = 512;
/// Rounds, of which the median counts.
const ROUNDS: usize = 7;

/// One message as a peer sees it: an id that must be unique and the bytes.
struct Item {
    id: String,
    line: String,
}

/// A peer: makes a group durable, and refuses ids that it has.
trait Engine: Send + 'static {
    fn commit(&mut self, group: &[Item]);
}

struct PlainFile {
    file: File,
    ids: HashSet<String>,
    buffer: Vec<u8>,
}

impl PlainFile {
    fn open(dir: &Path) -> Self {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join("plain.log"))
            .unwrap();
        Self {
            file,
            ids: HashSet::new(),
            buffer: Vec::new(),
        }
    }
}

impl Engine for PlainFile {
    fn commit(&mut self, group: &[Item]) {
        self.buffer.clear();
        for item in group {
            if self.ids.insert(item.id.clone()) {
                let sum = crc32fast::hash(item.line.as_bytes());
                self.buffer.extend_from_slice(&sum.to_le_bytes());
                self.buffer
                    .extend_from_slice(&u32::try_from(item.line.len()).unwrap().to_le_bytes());
                self.buffer.extend_from_slice(item.line.as_bytes());
            }
        }
        self.file.write_all(&self.buffer).unwrap();
        self.file.sync_data().unwrap();
    }
}

struct Sqlite {
    connection: rusqlite::Connection,
}

impl Sqlite {
    fn open(dir: &Path) -> Self {
        let connection = rusqlite::Connection::open(dir.join("peer.sqlite")).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection.pragma_update(None, "synchronous", "FULL").unwrap();
        connection
            .execute(
                "CREATE TABLE message (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, line TEXT NOT NULL)",
                [],
            )
            .unwrap();
        Self { connection }
    }
}

impl Engine for Sqlite {
    fn commit(&mut self, group: &[Item]) {
        let transaction = self.connection.transaction().unwrap();
        {
            let mut insert = transaction
                .prepare_cached("INSERT OR IGNORE INTO message (id, line) VALUES (?1, ?2)")
                .unwrap();
            for item in group {
                insert.execute((&item.id, &item.line)).unwrap();
            }
        }
        transaction.commit().unwrap();
    }
}

/// A peer behind the group commit that the mailbox has.
#[derive(Clone)]
struct Peer {
    queue: mpsc::Sender<(Item, oneshot::Sender<()>)>,
}

impl Peer {
    fn start(mut engine: impl Engine) -> Self {
        let (queue, mut waiting) = mpsc::channel::<(Item, oneshot::Sender<()>)>(GROUP);
        std::thread::spawn(move || {
            let mut taken = Vec::new();
            while waiting.blocking_recv_many(&mut taken, GROUP) > 0 {
                let (group, senders): (Vec<_>, Vec<_>) = taken.drain(..).unzip();
                engine.commit(&group);
                for sender in senders {
                    sender.send(()).ok();
                }
            }
        });
        Self { queue }
    }

    async fn append(&self, item: Item) {
        let (done, synced) = oneshot::channel();
        self.queue.send((item, done)).await.ok();
        synced.await.unwrap();
    }
}

/// A message of the size of the dispatcher's own, about 300 bytes.
fn item(sender: usize, number: usize) -> Item {
    let id = format!("bench-{sender}-{number}");
    let line = format!(
        r#"{{"ts":"2026-05-14T17:45:00Z","from":"bench","intent":"reattest","msg_id":"{id}","repo":"owner/name","pr":{number},"branch":"zsh-color-never","signals":{{"ci":"failing","check":"Test stable on windows-latest","mergeable":"MERGEABLE"}},"reason":"CI failure on windows"}}"#
    );
    Item { id, line }
}

/// Runs `senders` tasks of `each` appends and returns how long it took. What is appended is made ready
/// before: making it is the sender's work and not the engine's.
async fn drive<T, F, Fut>(senders: usize, each: usize, ready: impl Fn(Item) -> T, append: F) -> Duration
where
    T: Send + 'static,
    F: Fn(T) -> Fut + Clone + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    let work: Vec<Vec<T>> = (0..senders)
        .map(|sender| (0..each).map(|number| ready(item(sender, number))).collect())
        .collect();
    let start = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for items in work {
        let append = append.clone();
        tasks.spawn(async move {
            for item in items {
                append(item).await;
            }
        });
    }
    while tasks.join_next().await.is_some() {}
    start.elapsed()
}

async fn drive_peer(engine: impl Engine, senders: usize, each: usize) -> Duration {
    let peer = Peer::start(engine);
    let append = move |item| {
        let peer = peer.clone();
        async move { peer.append(item).await }
    };
    drive(senders, each, |item| item, append).await
}

async fn drive_mailbox(dir: &Path, senders: usize, each: usize) -> (Duration, u64) {
    let mailboxes = Mailboxes::open_sled(&dir.join("mailbox"), Arc::new(SystemClock::start())).unwrap();
    let before = mailboxes.counters().syncs;
    let handle = mailboxes.clone();
    let to: MailboxName = "bench".parse().unwrap();
    let ready = |item: Item| Draft::new(to.clone(), Message::parse(item.line.as_bytes()).unwrap());
    let append = move |draft| {
        let mailboxes = handle.clone();
        async move {
            mailboxes.append(vec![draft]).await.unwrap();
        }
    };
    let took = drive(senders, each, ready, append).await;
    let syncs = mailboxes.counters().syncs - before;
    mailboxes.close().await;
    (took, syncs)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    println!(
        "| senders | messages | plain file, messages/s | of the plain file: mailbox | SQLite | syncs a message, mailbox |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (senders, each) in [(1, 400), (64, 100), (256, 40)] {
        let total = (senders * each) as f64;
        let (mut plain, mut ours, mut sqlite, mut syncs) = (vec![], vec![], vec![], vec![]);
        for round in 0..ROUNDS {
            let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let (mut file, mut lite, mut mail) = (0.0, 0.0, 0.0);
            for turn in 0..3 {
                match (turn + round) % 3 {
                    0 => {
                        file = runtime
                            .block_on(drive_peer(PlainFile::open(dir.path()), senders, each))
                            .as_secs_f64()
                    }
                    1 => {
                        lite = runtime
                            .block_on(drive_peer(Sqlite::open(dir.path()), senders, each))
                            .as_secs_f64()
                    }
                    _ => {
                        let (took, count) = runtime.block_on(drive_mailbox(dir.path(), senders, each));
                        mail = took.as_secs_f64();
                        syncs.push(count as f64 / total);
                    }
                }
            }
            plain.push(total / file);
            ours.push(file / mail);
            sqlite.push(file / lite);
        }
        println!(
            "| {senders} | {total} | {:.0} | {:.2} | {:.2} | {:.3} |",
            median(plain),
            median(ours),
            median(sqlite),
            median(syncs)
        );
    }
}
