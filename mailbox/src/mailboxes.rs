//! The handle on the mailboxes.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tokio::sync::{mpsc, oneshot};

use crate::changes::{Announcer, Changes};
use crate::clock::{Clock, Moment};
use crate::command::{Appended, Claim, Command, Done, Lessee, Nack, Nacked, Reply};
use crate::envelope::{Ack, Envelope, Filter, MailboxStatus};
use crate::event::{AckedBy, StampedEvent};
use crate::lease::{Delivery, Lease, Leasing, Transit};
use crate::message::Draft;
use crate::names::{LeaseId, MailboxName, MsgId, Seq};
use crate::past::Past;
use crate::policy::Policy;
use crate::store::{DiskStore, MemoryStore, Store};
use crate::writer::{QUEUE, Request, Shares, Tally, Writer};

mod error;

pub use error::{MailboxError, OpenError};

/// What the writer did since it started, for benchmarks and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Groups that were committed.
    pub groups: u64,
    /// Records in them.
    pub records: u64,
    /// Times that the store synced its log to the disk; 0 for one without a disk.
    pub syncs: u64,
}

/// A handle on the one writer of all mailboxes, in this process or over a connection in another
/// ([`Mailboxes::over`]). Cheap to clone; the writer, or the connection, ends when it is closed or the
/// last handle is gone.
///
/// Every request waits in a bounded queue. All futures are cancel-safe: a request that was sent is
/// carried out though nobody waits for its answer, except for a waiting lease, which is given up,
/// its message handed back.
#[derive(Debug, Clone)]
pub struct Mailboxes {
    pub(crate) requests: mpsc::Sender<Request>,
    pub(crate) announcer: Announcer,
    pub(crate) tally: Arc<Tally>,
    pub(crate) syncs: Arc<AtomicU64>,
}

impl Mailboxes {
    /// Opens the mailboxes in `dir`, which is made if it is not there. Blocks until they are loaded.
    ///
    /// # Errors
    /// When another process holds them, the folder cannot be written, or what is there does not
    /// load; each error says what to do.
    pub fn open_sled(dir: &Path, clock: Arc<dyn Clock>) -> Result<Mailboxes, OpenError> {
        let store = DiskStore::open(dir)?;
        let syncs = store.syncs();
        Mailboxes::start(store, clock, syncs)
    }

    /// Mailboxes that live as long as this process.
    ///
    /// # Panics
    /// When the system refuses to start a thread.
    pub fn open_memory(clock: Arc<dyn Clock>) -> Mailboxes {
        Mailboxes::open(MemoryStore::default(), clock).expect("an empty store in memory loads")
    }

    /// Mailboxes over a store of one's own.
    ///
    /// # Errors
    /// When the store does not load.
    pub fn open(store: impl Store, clock: Arc<dyn Clock>) -> Result<Mailboxes, OpenError> {
        Mailboxes::start(store, clock, Arc::default())
    }

    fn start(
        store: impl Store,
        clock: Arc<dyn Clock>,
        syncs: Arc<AtomicU64>,
    ) -> Result<Mailboxes, OpenError> {
        let (requests, receiver) = mpsc::channel(QUEUE);
        let announcer = Announcer::default();
        let tally = Arc::new(Tally::default());
        let shares = Shares {
            clock,
            requests: receiver,
            announcer: announcer.clone(),
            tally: Arc::clone(&tally),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(OpenError::Thread)?;
        let (ready, loaded) = std::sync::mpsc::sync_channel(1);
        let work = move || {
            runtime.block_on(async move {
                let mut writer = Writer::new(store, shares);
                let outcome = writer.load().await;
                let good = outcome.is_ok();
                // Whoever opens waits for this.
                let _ = ready.send(outcome);
                if good {
                    writer.run().await;
                }
            });
        };
        thread::Builder::new()
            .name("mailbox-writer".to_owned())
            .spawn(work)
            .map_err(OpenError::Thread)?;
        match loaded.recv() {
            Ok(outcome) => outcome?,
            Err(_) => {
                return Err(OpenError::Thread(io::Error::other(
                    "it ended while it was loading",
                )));
            }
        }
        Ok(Mailboxes {
            requests,
            announcer,
            tally,
            syncs,
        })
    }

    /// Finishes what was asked before, closes the store and waits for that. Leases of this process
    /// are void from here on.
    pub async fn close(self) {
        let (done, closed) = oneshot::channel();
        if self.requests.send(Request::Close(done)).await.is_ok() {
            // An error means that the writer has ended, which is what is waited for.
            let _ = closed.await;
        }
    }

    async fn ask<T>(&self, ask: impl FnOnce(Answer<T>) -> Request) -> Result<T, MailboxError> {
        let (answer, answered) = oneshot::channel();
        self.requests
            .send(ask(answer))
            .await
            .map_err(|_| MailboxError::Closed)?;
        answered.await.map_err(|_| MailboxError::Closed)?
    }

    /// Carries out one command. The other methods are this one with types.
    ///
    /// # Errors
    /// When the command is refused or the store fails.
    pub async fn command(&self, command: Command) -> Result<Reply, MailboxError> {
        self.ask(|answer| Request::Command(command, answer)).await
    }

    /// From now on the mailbox `name` is treated as `policy` says. Not stored: a program declares
    /// its mailboxes when it starts.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn declare(&self, name: MailboxName, policy: Policy) -> Result<(), MailboxError> {
        self.command(Command::Declare {
            mailbox: name,
            policy,
        })
        .await
        .map(drop)
    }

    /// Appends these messages, all or none, in this order. When it returns they would survive a
    /// power cut (contract, section 3, rule 1). A message whose id its mailbox knows is not appended
    /// again; it is answered with the first one's number and outcome (rule 2).
    ///
    /// # Errors
    /// When the store fails. Asking again is safe.
    pub async fn append(&self, drafts: Vec<Draft>) -> Result<Vec<Appended>, MailboxError> {
        match self.command(Command::Append { drafts }).await? {
            Reply::Appended(appended) => Ok(appended),
            reply => unreachable!("an append is answered as one, not with {reply:?}"),
        }
    }

    /// Takes the next message of a mailbox, and waits until there is one. The attempt is durable
    /// before this returns (contract, section 3, rule 4). Cancel-safe: a message that was taken for
    /// somebody who no longer waits is handed back, with its attempt.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn lease(&self, of: &MailboxName, lessee: Lessee) -> Result<Delivery, MailboxError> {
        loop {
            if let Some(delivery) = self.take(of, lessee, true).await? {
                return Ok(delivery);
            }
        }
    }

    /// Takes the next message of a mailbox if one is deliverable now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn try_lease(
        &self,
        of: &MailboxName,
        lessee: Lessee,
    ) -> Result<Option<Delivery>, MailboxError> {
        self.take(of, lessee, false).await
    }

    async fn take(
        &self,
        of: &MailboxName,
        lessee: Lessee,
        wait: bool,
    ) -> Result<Option<Delivery>, MailboxError> {
        let of = of.clone();
        let taken = self
            .ask(|answer| Request::Lease {
                of,
                lessee,
                wait,
                answer,
            })
            .await?;
        Ok(taken.and_then(Transit::receive))
    }

    /// Holds a message until `until`, for a handler that shows progress.
    ///
    /// # Errors
    /// When the lease is no longer current or the store fails.
    pub async fn extend(&self, lease: &Lease, until: Moment) -> Result<(), MailboxError> {
        let command = Command::Extend {
            of: lease.mailbox.clone(),
            seq: lease.seq,
            lease: lease.id,
            until,
        };
        self.command(command).await.map(drop)
    }

    /// The message is handled for good; what it led to is appended in one group with that. Returns
    /// what became of the emitted messages, in their order.
    ///
    /// # Errors
    /// When the lease is no longer current or the store fails. After an error of the store the
    /// right is lost with the lease; the message is delivered again if the ack was not written.
    pub async fn ack(&self, lease: Lease, done: Done) -> Result<Vec<Appended>, MailboxError> {
        let Lease {
            id,
            mailbox: of,
            seq,
            until: _,
        } = lease;
        self.acked(Command::Ack {
            of,
            claim: Claim::Lease { seq, lease: id },
            by: AckedBy::Actor,
            done,
        })
        .await
    }

    /// [`Mailboxes::ack`], and asks for the next message of the same mailbox. Where one is deliverable both
    /// are one group: they share one sync, and after a crash either both are found or neither. The ack is
    /// answered when it is durable, also while the lease waits.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use mailbox::{Done, Draft, Lessee, Mailboxes, Message, SystemClock};
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # let mailboxes = Mailboxes::open_memory(Arc::new(SystemClock::start()));
    /// # let draft = |id: &str| {
    /// #     let line = format!(r#"{{"ts":"2026-05-14T17:45:00Z","from":"lab","intent":"greet","msg_id":"{id}"}}"#);
    /// #     Draft::new("greeter".parse().unwrap(), Message::parse(line.as_bytes()).unwrap())
    /// # };
    /// # mailboxes.append(vec![draft("m-1"), draft("m-2")]).await.unwrap();
    /// let first = mailboxes.lease(&"greeter".parse().unwrap(), Lessee::Process).await.unwrap();
    /// let (acked, next) = mailboxes.ack_then_lease(first.lease, Done::new("greeted"), Lessee::Process).await;
    /// acked.unwrap();
    /// let second = next.delivery().await.unwrap();
    /// assert_eq!(second.envelope.message.msg_id().as_str(), "m-2");
    /// # });
    /// ```
    ///
    /// # Errors
    /// Of the ack as for [`Mailboxes::ack`]; the lease is asked for all the same.
    pub async fn ack_then_lease(
        &self,
        lease: Lease,
        done: Done,
        lessee: Lessee,
    ) -> (Result<Vec<Appended>, MailboxError>, Leasing) {
        let Lease {
            id,
            mailbox: of,
            seq,
            until: _,
        } = lease;
        let command = Command::Ack {
            of: of.clone(),
            claim: Claim::Lease { seq, lease: id },
            by: AckedBy::Actor,
            done,
        };
        let (reply, leasing) = self.command_then_lease(command, &of, lessee).await;
        let acked = reply.map(|reply| match reply {
            Reply::Acked(emitted) => emitted,
            reply => unreachable!("an ack is answered as one, not with {reply:?}"),
        });
        (acked, leasing)
    }

    /// Carries out one command and asks for the next message of a mailbox, as
    /// [`Mailboxes::ack_then_lease`] does with an ack.
    ///
    /// # Errors
    /// When the command is refused or the store fails; the lease is asked for all the same.
    pub async fn command_then_lease(
        &self,
        command: Command,
        of: &MailboxName,
        lessee: Lessee,
    ) -> (Result<Reply, MailboxError>, Leasing) {
        let (replied, reply) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let request = Request::CommandThenLease {
            command,
            replied,
            of: of.clone(),
            lessee,
            answer,
        };
        // Where it was not sent, nobody answers.
        let _ = self.requests.send(request).await;
        let leasing = Leasing {
            mailboxes: self.clone(),
            of: of.clone(),
            lessee,
            answer: answered,
        };
        (reply.await.unwrap_or(Err(MailboxError::Closed)), leasing)
    }

    /// Acknowledges by id, for whoever is outside the process (contract, section 3, rule 4): under a
    /// named lease, without one under the current pull lease, and for [`AckedBy::Line`] under none.
    ///
    /// # Errors
    /// When there is no such message, the lease is not current, or the store fails.
    pub async fn ack_by_id(
        &self,
        of: &MailboxName,
        id: &MsgId,
        lease: Option<LeaseId>,
        by: AckedBy,
        done: Done,
    ) -> Result<Vec<Appended>, MailboxError> {
        let claim = Claim::Id {
            id: id.clone(),
            lease,
        };
        self.acked(Command::Ack {
            of: of.clone(),
            claim,
            by,
            done,
        })
        .await
    }

    async fn acked(&self, command: Command) -> Result<Vec<Appended>, MailboxError> {
        match self.command(command).await? {
            Reply::Acked(emitted) => Ok(emitted),
            reply => unreachable!("an ack is answered as one, not with {reply:?}"),
        }
    }

    /// Gives a message back, and says what becomes of it.
    ///
    /// # Errors
    /// When the lease is no longer current or the store fails.
    pub async fn nack(&self, lease: Lease, nack: Nack) -> Result<Nacked, MailboxError> {
        let Lease {
            id,
            mailbox: of,
            seq,
            until: _,
        } = lease;
        self.nacked(Command::Nack {
            of,
            claim: Claim::Lease { seq, lease: id },
            nack,
        })
        .await
    }

    /// Gives a message back by id, under a named lease or the current pull lease.
    ///
    /// # Errors
    /// When there is no such message, the lease is not current, or the store fails.
    pub async fn nack_by_id(
        &self,
        of: &MailboxName,
        id: &MsgId,
        lease: Option<LeaseId>,
        nack: Nack,
    ) -> Result<Nacked, MailboxError> {
        let claim = Claim::Id {
            id: id.clone(),
            lease,
        };
        self.nacked(Command::Nack {
            of: of.clone(),
            claim,
            nack,
        })
        .await
    }

    async fn nacked(&self, command: Command) -> Result<Nacked, MailboxError> {
        match self.command(command).await? {
            Reply::Nacked(nacked) => Ok(nacked),
            reply => unreachable!("a nack is answered as one, not with {reply:?}"),
        }
    }

    /// Takes a message out of quarantine: it is unread again, its attempts counted anew. What happened
    /// to it before stays in its history.
    ///
    /// # Errors
    /// When there is no such message, it is not in quarantine, or the store fails.
    pub async fn retry_quarantined(&self, of: &MailboxName, id: &MsgId) -> Result<(), MailboxError> {
        let (of, id) = (of.clone(), id.clone());
        self.command(Command::RetryQuarantined { of, id }).await.map(drop)
    }

    /// Takes a message out of quarantine for good: it is acked with the outcome
    /// [`DROPPED`](crate::DROPPED), and `reason` is kept in its history.
    ///
    /// # Errors
    /// When there is no such message, it is not in quarantine, or the store fails.
    pub async fn drop_quarantined(
        &self,
        of: &MailboxName,
        id: &MsgId,
        reason: &str,
    ) -> Result<(), MailboxError> {
        let command = Command::DropQuarantined {
            of: of.clone(),
            id: id.clone(),
            reason: reason.to_owned(),
        };
        self.command(command).await.map(drop)
    }

    /// Takes messages in with what happened to them elsewhere, all or none, in this order: the way back of what
    /// [`Replay`](crate::Replay) reads. Each gets the next number here and keeps its times, its events and its
    /// state; what a process elsewhere had in hand is unread. A message whose id is known stays as it is here,
    /// and what a history claims of the future happened now.
    ///
    /// # Errors
    /// When a history does not hold together ([`Past::check`]) or the store fails. Asking again is safe.
    pub async fn restore(&self, of: &MailboxName, past: Vec<Past>) -> Result<Vec<Appended>, MailboxError> {
        let of = of.clone();
        match self.command(Command::Restore { of, past }).await? {
            Reply::Appended(appended) => Ok(appended),
            reply => unreachable!("a restoring is answered as an append, not with {reply:?}"),
        }
    }

    /// One page of a mailbox's messages, in order. Pages are cut by [`Filter::limit`]; the next one
    /// begins after the last number of this one. Messages whose bytes were pruned are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn envelopes(&self, of: &MailboxName, filter: Filter) -> Result<Vec<Envelope>, MailboxError> {
        let of = of.clone();
        self.ask(|answer| Request::Envelopes { of, filter, answer }).await
    }

    /// Messages with every event of each, in order: as many at a time as may be in memory. Those that
    /// were pruned are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn history(
        &self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<Vec<(Envelope, Vec<StampedEvent>)>, MailboxError> {
        let answer = self.ask_history(of, seqs).await?;
        answer.await.map_err(|_| MailboxError::Closed)?
    }

    /// Asks the same, and leaves it to the caller when to take the answer.
    pub(crate) async fn ask_history(
        &self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<HistoryAnswer, MailboxError> {
        let of = of.clone();
        let (answer, answered) = oneshot::channel();
        let asked = self.requests.send(Request::History { of, seqs, answer }).await;
        asked.map_err(|_| MailboxError::Closed)?;
        Ok(answered)
    }

    /// At most `limit` acks of a mailbox after the first `after` of them, in the order in which they
    /// were made.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn acks(&self, of: &MailboxName, after: u64, limit: usize) -> Result<Vec<Ack>, MailboxError> {
        let of = of.clone();
        self.ask(|answer| Request::Acks {
            of,
            after,
            limit,
            answer,
        })
        .await
    }

    /// Every mailbox in numbers, by name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn status(&self) -> Result<Vec<MailboxStatus>, MailboxError> {
        self.ask(Request::Status).await
    }

    /// Is told of every change from here on.
    pub fn subscribe(&self) -> Changes {
        self.announcer.subscribe()
    }

    /// What the writer did since it started; nothing where it is in another process.
    pub fn counters(&self) -> Counters {
        Counters {
            groups: self.tally.groups.load(Ordering::Relaxed),
            records: self.tally.records.load(Ordering::Relaxed),
            syncs: self.syncs.load(Ordering::Relaxed),
        }
    }
}

type Answer<T> = oneshot::Sender<Result<T, MailboxError>>;
/// The answer to [`Mailboxes::history`], on its way.
pub(crate) type HistoryAnswer = oneshot::Receiver<Result<Vec<(Envelope, Vec<StampedEvent>)>, MailboxError>>;
