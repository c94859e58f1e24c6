//! Group commit for everybody: the peers get what the mailbox has, one writer thread that takes what is
//! queued, makes it durable with one commit, and then answers all who wait for it.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use crate::Item;

/// Requests in one group, the same as in the mailbox.
const GROUP: usize = 512;

/// Makes a group durable, and refuses ids that it has.
pub trait Engine: Send + 'static {
    /// All of it is synced to the disk when this returns.
    fn commit(&mut self, group: &[Item]);
}

/// Appends durably, from many tasks at once.
pub trait Log: Clone + Send + 'static {
    /// What one append takes; made before the clock runs.
    type Request: Send + 'static;

    fn request(&self, items: Vec<Item>) -> Self::Request;

    /// All of it is synced to the disk when this returns.
    fn append(&self, request: Self::Request) -> impl Future<Output = ()> + Send;
}

/// An engine behind group commit.
#[derive(Clone)]
pub struct Grouped {
    queue: mpsc::Sender<(Vec<Item>, oneshot::Sender<()>)>,
}

impl Grouped {
    pub fn start(mut engine: impl Engine) -> Self {
        let (queue, mut waiting) = mpsc::channel::<(Vec<Item>, oneshot::Sender<()>)>(GROUP);
        std::thread::spawn(move || {
            let mut taken = Vec::new();
            let mut group = Vec::new();
            while waiting.blocking_recv_many(&mut taken, GROUP) > 0 {
                let mut senders = Vec::with_capacity(taken.len());
                for (items, sender) in taken.drain(..) {
                    group.extend(items);
                    senders.push(sender);
                }
                engine.commit(&group);
                group.clear();
                for sender in senders {
                    // Whoever asked waits for it.
                    let _ = sender.send(());
                }
            }
        });
        Self { queue }
    }
}

impl Log for Grouped {
    type Request = Vec<Item>;

    fn request(&self, items: Vec<Item>) -> Vec<Item> {
        items
    }

    async fn append(&self, items: Vec<Item>) {
        let (done, synced) = oneshot::channel();
        self.queue.send((items, done)).await.ok();
        synced.await.expect("the engine answers after its commit");
    }
}

/// How many senders append how much.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub senders: usize,
    /// Appends of each sender, each waiting for the one before.
    pub appends: usize,
    /// Messages in one append.
    pub messages: usize,
}

impl Load {
    pub fn total(&self) -> usize {
        self.senders * self.appends * self.messages
    }

    /// Appends all of it and says how long that took; making the messages does not count. `round` keeps the
    /// ids of several runs on one log apart.
    pub async fn drive(self, log: impl Log, round: usize) -> Duration {
        let requests = (0..self.senders).map(|sender| {
            let name = format!("r{round}s{sender}");
            let batch = |number| log.request(Item::many(&name, number * self.messages, self.messages));
            (0..self.appends).map(batch).collect::<Vec<_>>()
        });
        let requests: Vec<_> = requests.collect();
        let start = Instant::now();
        let tasks: Vec<_> = requests
            .into_iter()
            .map(|requests| {
                let log = log.clone();
                tokio::spawn(async move {
                    for request in requests {
                        log.append(request).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("a sender does not panic");
        }
        start.elapsed()
    }
}
