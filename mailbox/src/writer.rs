//! The one thread that writes.
//!
//! It takes what is queued, folds it with [`apply`], makes the group durable with one commit, and
//! only then answers everybody. A lease that waits is a queued command like any other, so it rides
//! in the group of the append that it waited for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tracing::{debug, warn};

use crate::changes::Announcer;
use crate::clock::{Clock, Moment};
use crate::command::{Claim, Command, Granted, Lessee, Nack, Reply};
use crate::envelope::{Ack, Envelope, EnvelopeState, Filter, MailboxStatus};
use crate::event::StampedEvent;
use crate::index::{Backlog, Index, Pass, prune};
use crate::lease::{Delivery, Lease, Transit, Unreceived};
use crate::mailboxes::MailboxError;
use crate::names::{Incarnation, LeaseId, MailboxName, Seq};
use crate::policy::Policy;
use crate::store::{Store, StoreError, Stored, Write, Wrote};
use crate::transition::{apply, begin, mailbox_of};

/// Requests that may wait for the writer; whoever asks beyond that waits to ask.
pub(crate) const QUEUE: usize = 1024;
/// Requests in one group: enough that a sync is shared by all who could be waiting, few enough that
/// the first of them does not wait for long.
const GROUP: usize = 512;
/// Records in one group, since one request may append many.
const GROUP_RECORDS: usize = 4096;

/// How often it is looked whether there is something to prune.
const LOOK: Duration = Duration::from_secs(10 * 60);
/// How long after the start it is first looked, where the clock is far ahead of the last record: it may
/// be wrong, and this leaves a day to see it and put it right before anything is pruned by it.
const AFTER_A_GAP: Duration = Duration::from_secs(24 * 60 * 60);
/// What counts as far ahead.
const GAP: Duration = Duration::from_secs(2 * 24 * 60 * 60);
/// A pass reads the whole log. It is worth it when one in so many messages would go, or after a day.
const WORTH: u64 = 16;
/// And at the latest so long after the last one.
const DAILY: Duration = Duration::from_secs(24 * 60 * 60);
/// While there is no pause between requests, one step of pruning is made after so many batches.
const BATCHES_A_STEP: u32 = 16;

/// How long after a failed write the store is loaded again for those who wait; a request does it at
/// once.
const RELOAD_AFTER: Duration = Duration::from_secs(1);

type Answer<T> = oneshot::Sender<Result<T, MailboxError>>;

/// What the handle sends.
pub(crate) enum Request {
    Command(Command, Answer<Reply>),
    /// A command and a lease that waits, in one group where there is something to take.
    CommandThenLease {
        command: Command,
        replied: Answer<Reply>,
        of: MailboxName,
        lessee: Lessee,
        answer: Answer<Option<Transit>>,
    },
    Lease {
        of: MailboxName,
        lessee: Lessee,
        wait: bool,
        answer: Answer<Option<Transit>>,
    },
    Envelopes {
        of: MailboxName,
        filter: Filter,
        answer: Answer<Vec<Envelope>>,
    },
    History {
        of: MailboxName,
        seqs: RangeInclusive<Seq>,
        answer: Answer<Vec<(Envelope, Vec<StampedEvent>)>>,
    },
    Acks {
        of: MailboxName,
        after: u64,
        limit: usize,
        answer: Answer<Vec<Ack>>,
    },
    Status(Answer<Vec<MailboxStatus>>),
    Close(oneshot::Sender<()>),
}

/// What the writer did so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) groups: AtomicU64,
    pub(crate) records: AtomicU64,
}

/// A lease that waits for a message.
struct Waiter {
    lessee: Lessee,
    answer: Answer<Option<Transit>>,
}

/// An answer that waits for its group to be durable.
enum Due {
    Reply(Answer<Reply>, Reply),
    Grant(MailboxName, Granted, Answer<Option<Transit>>),
    Nothing(Answer<Option<Transit>>),
}

#[derive(Default)]
struct Group {
    writes: Vec<Write>,
    due: Vec<Due>,
    /// How many messages it appends to each mailbox that it changes.
    changed: BTreeMap<MailboxName, u64>,
    /// Mailboxes that it may have made deliverable since those who wait were last served.
    touched: BTreeSet<MailboxName>,
    /// When all of it happens.
    at: Option<Moment>,
}

pub(crate) struct Writer<S> {
    store: S,
    clock: Arc<dyn Clock>,
    requests: mpsc::Receiver<Request>,
    unreceived: mpsc::UnboundedReceiver<Unreceived>,
    back: mpsc::UnboundedSender<Unreceived>,
    announcer: Announcer,
    tally: Arc<Tally>,
    incarnation: Incarnation,
    /// `None` after an error of the store, until it is loaded again.
    index: Option<Index>,
    policies: BTreeMap<MailboxName, Policy>,
    waiting: BTreeMap<MailboxName, VecDeque<Waiter>>,
    /// When time may make something deliverable for those who wait.
    alarms: BTreeMap<MailboxName, Moment>,
    /// The pruning that is going on.
    pass: Option<Pass>,
    /// When to look whether there is something to prune.
    look: Moment,
    /// When the last pass began.
    passed: Option<Moment>,
    /// Batches since the last step of a pass.
    batches: u32,
    /// Leases of a group that failed: they may be in the log, and nobody holds them.
    doubtful: Vec<Unreceived>,
}

/// What the writer shares with its handles.
pub(crate) struct Shares {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) announcer: Announcer,
    pub(crate) tally: Arc<Tally>,
}

impl<S: Store> Writer<S> {
    pub(crate) fn new(store: S, shares: Shares) -> Writer<S> {
        let Shares {
            clock,
            requests,
            announcer,
            tally,
        } = shares;
        let (back, unreceived) = mpsc::unbounded_channel();
        Writer {
            store,
            clock,
            requests,
            unreceived,
            back,
            announcer,
            tally,
            incarnation: Incarnation::fresh(),
            index: None,
            policies: BTreeMap::new(),
            waiting: BTreeMap::new(),
            alarms: BTreeMap::new(),
            doubtful: Vec::new(),
            pass: None,
            look: Moment::EPOCH,
            passed: None,
            batches: 0,
        }
    }

    /// Loads the store, and voids what earlier lives of the process had in hand.
    pub(crate) async fn load(&mut self) -> Result<(), StoreError> {
        let mut index = Index::new(self.incarnation, fastrand::u64(..));
        self.store
            .load(None, &mut |of, record| index.absorb(of, record))
            .await?;
        for (name, policy) in &self.policies {
            index.mailbox_mut(name).policy = policy.clone();
        }
        let now = self.clock.now();
        if self.look == Moment::EPOCH {
            let ahead = index.latest() > Moment::EPOCH && now.since(index.latest()) > GAP;
            self.look = now.after(if ahead { AFTER_A_GAP } else { LOOK });
        }
        let mut owners: BTreeSet<MailboxName> = index.orphans().into_iter().map(|(of, ..)| of).collect();
        owners.extend(self.doubtful.iter().map(|lease| lease.of.clone()));
        for name in &owners {
            let epoch = self.store.own(name, self.incarnation).await?;
            index.owned(name, epoch);
        }
        let mut writes = begin(&mut index, now);
        for Unreceived { of, seq, lease } in &self.doubtful {
            let command = hand_back(of.clone(), *seq, *lease);
            writes.extend(apply(&mut index, command, now).0);
        }
        if !writes.is_empty() {
            self.store.commit(&writes).await?;
            self.count(writes.len());
        }
        self.doubtful.clear();
        self.index = Some(index);
        // Whoever waits looks again: what was handed back may be theirs.
        self.alarms = self.waiting.keys().map(|name| (name.clone(), now)).collect();
        Ok(())
    }

    /// Works until it is closed or nobody is left to ask.
    pub(crate) async fn run(mut self) {
        let mut closing = None;
        while closing.is_none() {
            let mut batch = Vec::new();
            let mut returned = Vec::new();
            let pruning = self.pass.is_some();
            let alarm = self.alarms.values().copied().chain([self.look]).min();
            let clock = Arc::clone(&self.clock);
            tokio::select! {
                biased;
                lease = self.unreceived.recv() => returned.extend(lease),
                taken = self.requests.recv_many(&mut batch, GROUP) => {
                    if taken == 0 {
                        return;
                    }
                }
                () = async { clock.sleep_until(alarm.unwrap_or(Moment::EPOCH)).await } => {}
                () = std::future::ready(()), if pruning => {}
            }
            let idle = batch.is_empty() && returned.is_empty();
            while let Ok(lease) = self.unreceived.try_recv() {
                returned.push(lease);
            }
            closing = self.work(batch, returned).await;
            self.batches += 1;
            if closing.is_none() && (idle || self.batches >= BATCHES_A_STEP) {
                self.batches = 0;
                self.tend().await;
            }
        }
        let Writer { store, .. } = self;
        drop(store);
        if let Some(done) = closing {
            // Whoever closed may have stopped waiting.
            let _ = done.send(());
        }
    }

    /// Begins a pass of pruning when it is time and worth it, and goes on with one that began.
    async fn tend(&mut self) {
        let now = self.clock.now();
        let Some(index) = self.index.as_mut() else {
            self.pass = None;
            self.look = self.look.max(now.after(RELOAD_AFTER));
            return;
        };
        if now >= self.look {
            self.look = now.after(LOOK);
            let Backlog { due, kept } = index.backlog(now);
            let overdue = self.passed.is_none_or(|at| now.since(at) >= DAILY);
            if self.pass.is_none() && due > 0 && (overdue || due * WORTH >= kept) {
                self.pass = Some(Pass::new(now));
                self.passed = Some(now);
            }
        }
        let Some(pass) = self.pass.as_mut() else { return };
        match prune(&mut self.store, index, pass).await {
            Ok(true) => {}
            Ok(false) => {
                debug!(messages = pass.pruned(), "pruned");
                self.pass = None;
            }
            Err(error) => {
                warn!(%error, "pruning stopped; it begins anew when it is next looked for");
                self.pass = None;
                self.index = None;
            }
        }
    }

    async fn work(&mut self, batch: Vec<Request>, returned: Vec<Unreceived>) -> Option<oneshot::Sender<()>> {
        let mut closing = None;
        let mut group = Group::default();
        if self.index.is_none()
            && let Err(error) = self.load().await
        {
            self.doubtful.extend(returned);
            return self.refuse_all(batch, error);
        }
        for Unreceived { of, seq, lease } in returned {
            self.fold(&mut group, hand_back(of, seq, lease), None).await;
        }
        for request in batch {
            match request {
                Request::Command(command, answer) => self.fold(&mut group, command, Some(answer)).await,
                Request::CommandThenLease {
                    command,
                    replied,
                    of,
                    lessee,
                    answer,
                } => {
                    self.fold(&mut group, command, Some(replied)).await;
                    self.fold_lease(&mut group, of, Waiter { lessee, answer }, true)
                        .await;
                }
                Request::Lease {
                    of,
                    lessee,
                    wait,
                    answer,
                } => {
                    self.fold_lease(&mut group, of, Waiter { lessee, answer }, wait)
                        .await;
                }
                Request::Close(done) => closing = Some(done),
                query => {
                    // A question sees what was asked before it. Who waits for that is served in its group.
                    self.serve_waiting(&mut group).await;
                    self.commit(mem::take(&mut group)).await;
                    self.answer(query).await;
                }
            }
            if group.writes.len() >= GROUP_RECORDS {
                self.serve_waiting(&mut group).await;
                self.commit(mem::take(&mut group)).await;
            }
        }
        self.serve_waiting(&mut group).await;
        self.commit(group).await;
        closing
    }

    /// Applies one command to the index; its answer waits for the group.
    async fn fold(&mut self, group: &mut Group, command: Command, answer: Option<Answer<Reply>>) {
        if let Err(error) = self.ready_for(mailbox_of(&command)).await {
            self.fail(mem::take(group).due, error.clone());
            refuse(answer, error);
            return;
        }
        if appends(&command)
            && let Err(error) = self.store.room()
        {
            refuse(answer, MailboxError::Store(Arc::new(error)));
            return;
        }
        let Some(index) = self.index.as_mut() else { return };
        if let Command::Declare { mailbox, policy } = &command {
            self.policies.insert(mailbox.clone(), policy.clone());
        }
        let (writes, reply) = apply(index, command, group.at(&*self.clock));
        group.add(writes);
        if let Some(answer) = answer {
            group.due.push(Due::Reply(answer, reply));
        }
    }

    async fn fold_lease(&mut self, group: &mut Group, of: MailboxName, waiter: Waiter, wait: bool) {
        if waiter.answer.is_closed() {
            return;
        }
        if let Err(error) = self.ready_for(Some(&of)).await {
            self.fail(mem::take(group).due, error.clone());
            refuse(Some(waiter.answer), error);
            return;
        }
        // Who came first is served first.
        if wait && let Some(queue) = self.waiting.get_mut(&of) {
            queue.retain(|waiter| !waiter.answer.is_closed());
            if !queue.is_empty() {
                queue.push_back(waiter);
                return;
            }
        }
        match self.try_lease(group, &of, waiter.lessee) {
            Some(granted) => group.due.push(Due::Grant(of, granted, waiter.answer)),
            None if wait => self.waiting.entry(of).or_default().push_back(waiter),
            None => group.due.push(Due::Nothing(waiter.answer)),
        }
    }

    fn try_lease(&mut self, group: &mut Group, of: &MailboxName, lessee: Lessee) -> Option<Granted> {
        let index = self.index.as_mut()?;
        let command = Command::Lease {
            of: of.clone(),
            lessee,
            lease: LeaseId::fresh(),
        };
        let (writes, reply) = apply(index, command, group.at(&*self.clock));
        group.add(writes);
        self.alarms.remove(of);
        match reply {
            Reply::Leased(granted) => Some(granted),
            Reply::Nothing { next } => {
                self.alarms.extend(next.map(|next| (of.clone(), next)));
                None
            }
            _ => None,
        }
    }

    /// Tries the leases that wait for a mailbox that changed or whose time has come.
    async fn serve_waiting(&mut self, group: &mut Group) {
        let now = group.at(&*self.clock);
        let mut names = mem::take(&mut group.touched);
        names.extend(
            self.alarms
                .iter()
                .filter(|(_, at)| **at <= now)
                .map(|(name, _)| name.clone()),
        );
        for of in names {
            let Some(mut queue) = self.waiting.remove(&of) else {
                self.alarms.remove(&of);
                continue;
            };
            queue.retain(|waiter| !waiter.answer.is_closed());
            while let Some(waiter) = queue.pop_front() {
                if let Err(error) = self.ready_for(Some(&of)).await {
                    self.fail(mem::take(group).due, error.clone());
                    refuse(Some(waiter.answer), error);
                    continue;
                }
                match self.try_lease(group, &of, waiter.lessee) {
                    Some(granted) => group.due.push(Due::Grant(of.clone(), granted, waiter.answer)),
                    None => {
                        queue.push_front(waiter);
                        break;
                    }
                }
            }
            if queue.is_empty() {
                self.alarms.remove(&of);
            } else {
                self.waiting.insert(of, queue);
            }
        }
    }

    /// Sees to it that there is an index, and the right to write this mailbox's events.
    async fn ready_for(&mut self, of: Option<&MailboxName>) -> Result<(), MailboxError> {
        if self.index.is_none() {
            self.load()
                .await
                .map_err(|error| MailboxError::Store(Arc::new(error)))?;
        }
        let (Some(of), Some(index)) = (of, self.index.as_mut()) else {
            return Ok(());
        };
        if index.owns(of) {
            return Ok(());
        }
        match self.store.own(of, self.incarnation).await {
            Ok(epoch) => {
                index.owned(of, epoch);
                Ok(())
            }
            Err(error) => {
                self.index = None;
                Err(MailboxError::Store(Arc::new(error)))
            }
        }
    }
}

impl Group {
    fn at(&mut self, clock: &dyn Clock) -> Moment {
        *self.at.get_or_insert_with(|| clock.now())
    }

    fn add(&mut self, mut writes: Vec<Write>) {
        for write in &writes {
            let (name, messages) = match write {
                Write::Message { to, .. } => (to, 1),
                Write::Event { of, .. } => (of, 0),
            };
            match self.changed.get_mut(name) {
                Some(count) => *count += messages,
                None => drop(self.changed.insert(name.clone(), messages)),
            }
            if !self.touched.contains(name) {
                self.touched.insert(name.clone());
            }
        }
        self.writes.append(&mut writes);
    }
}

/// Whether a command needs room for messages.
fn appends(command: &Command) -> bool {
    match command {
        Command::Append { .. } | Command::Restore { .. } => true,
        Command::Ack { done, .. } => !done.emits.is_empty(),
        _ => false,
    }
}

pub(crate) fn hand_back(of: MailboxName, seq: Seq, lease: LeaseId) -> Command {
    let nack = Nack::HandBack {
        reason: "nobody received it".to_owned(),
        until: None,
    };
    Command::Nack {
        of,
        claim: Claim::Lease { seq, lease },
        nack,
    }
}

fn refuse<T>(answer: Option<Answer<T>>, error: MailboxError) {
    if let Some(answer) = answer {
        // Whoever asked may be gone.
        let _ = answer.send(Err(error));
    }
}

fn envelope(mailbox: MailboxName, seq: Seq, stored: Stored, state: EnvelopeState, attempts: u32) -> Envelope {
    let Stored {
        appended_at,
        message,
        subject,
        evidence,
        cause,
    } = stored;
    Envelope {
        mailbox,
        seq,
        message,
        subject,
        evidence,
        cause,
        appended_at,
        attempts,
        state,
    }
}

mod commit;
mod query;
