//! The mailbox and the runtime, as they are measured.

use std::path::Path;
use std::sync::Arc;

use mailbox::{Clock, Draft, MailboxName, Mailboxes, Message, Policy, SystemClock};
use rig::Item;
use rig::group::Log;
use runtime::{Actor, Done, Fault, Intent, Turn, message};
use tokio::sync::mpsc;

/// Appended at a time when a store is filled.
const FILL: usize = 1_000;

/// The mailbox of [`Receiver`].
pub fn name() -> MailboxName {
    Receiver::NAME.parse().expect("it is a mailbox's name")
}

pub fn draft(item: &Item) -> Draft {
    Draft::new(
        name(),
        Message::parse(item.line.as_bytes()).expect("it is a message"),
    )
}

/// Mailboxes on the disk.
#[derive(Clone)]
pub struct Ours {
    pub mailboxes: Mailboxes,
    pub clock: Arc<dyn Clock>,
}

impl Ours {
    /// Opens them and declares the mailbox, which is what a program does before it takes anything.
    pub async fn open(dir: &Path) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let mailboxes = Mailboxes::open_sled(&dir.join("mailbox"), Arc::clone(&clock)).expect("they open");
        mailboxes
            .declare(name(), Policy::default())
            .await
            .expect("a declaration is taken");
        Self { mailboxes, clock }
    }

    /// Appends so many messages.
    pub async fn fill(&self, count: usize) {
        for from in (0..count).step_by(FILL) {
            let items = Item::many("fill", from, FILL.min(count - from));
            let drafts = items.iter().map(draft).collect();
            self.mailboxes.append(drafts).await.expect("an append is taken");
        }
    }
}

impl Log for Ours {
    type Request = Vec<Draft>;

    fn request(&self, items: Vec<Item>) -> Vec<Draft> {
        items.iter().map(draft).collect()
    }

    async fn append(&self, drafts: Vec<Draft>) {
        self.mailboxes.append(drafts).await.expect("an append is taken");
    }
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Signals {
    ci: String,
    check: String,
    mergeable: String,
}

/// The payload of the messages that are measured.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Reattest {
    repo: String,
    pr: u64,
    head_sha: String,
    branch: String,
    signals: Signals,
    reason: String,
}

impl Intent for Reattest {
    const NAME: &'static str = rig::message::INTENT;
}

message! {
    pub enum ReceiverMessage { Reattest(Reattest) }
}

/// Does nothing but say that it was called.
pub struct Receiver {
    pub called: mpsc::UnboundedSender<std::time::Instant>,
}

impl Actor for Receiver {
    const NAME: &'static str = "receiver";
    type Message = ReceiverMessage;

    async fn handle(&mut self, _: ReceiverMessage, _: &mut Turn) -> Result<Done, Fault> {
        // Nobody listens any more when the measurement is over.
        let _ = self.called.send(std::time::Instant::now());
        Ok(Done::new("done"))
    }
}
