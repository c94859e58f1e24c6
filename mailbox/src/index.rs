//! What is known of every mailbox without reading its messages: the fold of the log.
//!
//! [`Index::message`] and [`Index::event`] are the only ways in, both when a log is loaded and when
//! the transition decides something new. So a restart cannot come to another state than the run.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::clock::Moment;
use crate::envelope::{EnvelopeState, MailboxStatus, Standing};
use crate::event::{AckedBy, DeliveryEvent, Holder, QuarantineCause, StampedEvent};
use crate::names::{Digest, Incarnation, LeaseId, MailboxName, MsgId, Seq};
use crate::policy::Policy;
use crate::store::{Epoch, Head, Record};

/// 128 bits of keyed hash in place of a text. The keys are drawn when the index is made and never
/// leave it, so nobody can prepare two texts that meet; that two meet by chance is less likely than
/// that the memory errs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key([u64; 2]);

#[derive(Debug, Clone, Default)]
struct Keys([RandomState; 2]);

impl Keys {
    fn of(&self, parts: &[&str]) -> Key {
        Key([self.0[0].hash_one(parts), self.0[1].hash_one(parts)])
    }
}

/// Everything that the mailboxes know, but for the messages' bytes.
#[derive(Debug, Clone)]
pub struct Index {
    incarnation: Incarnation,
    seed: u64,
    keys: Keys,
    words: Words,
    boxes: BTreeMap<MailboxName, MailboxIndex>,
}

/// Texts that repeat a million times, kept once.
#[derive(Debug, Clone, Default)]
struct Words {
    texts: HashSet<Arc<str>>,
}

impl Words {
    fn keep(&mut self, text: &Arc<str>) -> Arc<str> {
        match self.texts.get(text) {
            Some(kept) => Arc::clone(kept),
            None => {
                self.texts.insert(Arc::clone(text));
                Arc::clone(text)
            }
        }
    }
}

/// One mailbox.
#[derive(Debug, Clone, Default)]
pub(crate) struct MailboxIndex {
    pub(crate) policy: Policy,
    pub(crate) epoch: Option<Epoch>,
    /// By number, from 1.
    entries: Vec<Entry>,
    ids: HashMap<Key, Seq>,
    open: BTreeMap<Seq, Open>,
    /// Open, not leased, and not known to have to wait.
    pub(crate) ready: BTreeSet<Seq>,
    /// Open, not leased, resting.
    resting: BTreeSet<(Moment, Seq)>,
    /// Open, not leased, waiting until nothing of their subject is in hand.
    parked: HashMap<Key, BTreeSet<Seq>>,
    /// Leases that expire by themselves.
    expiring: BTreeSet<(Moment, Seq)>,
    leased: u64,
    /// Subjects in hand.
    busy: HashSet<Key>,
    /// Open messages by intent and subject.
    kin: HashMap<Key, BTreeSet<Seq>>,
    /// What was last finished, by intent and subject.
    finished: HashMap<Key, Finished>,
    /// In the order in which they were acked.
    acks: Vec<Seq>,
    quarantined: u64,
}

#[derive(Debug, Clone)]
enum Entry {
    Open,
    Acked {
        outcome: Arc<str>,
        by: AckedBy,
        at: Moment,
        attempts: u32,
    },
    Quarantined {
        reason: Arc<str>,
        cause: QuarantineCause,
        at: Moment,
        attempts: u32,
    },
}

/// An unread message.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) appended_at: Moment,
    pub(crate) attempts: u32,
    pub(crate) not_before: Option<Moment>,
    /// When it began to rest or was leased or extended.
    since: Moment,
    pub(crate) lease: Option<Held>,
    pub(crate) about: Option<Box<About>>,
}

/// Who has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) lease: LeaseId,
    pub(crate) holder: Holder,
    pub(crate) until: Option<Moment>,
}

/// What a message with a subject is about.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// The subject alone: two of them are never in hand together.
    pub(crate) subject: Key,
    /// Intent and subject: only the newest of them is handled.
    pub(crate) kin: Key,
    pub(crate) evidence: Option<Digest>,
}

#[derive(Debug, Clone)]
struct Finished {
    evidence: Digest,
    at: Moment,
}

impl Index {
    /// An empty index for one life of the process. `seed` decides the jitter of every backoff.
    pub fn new(incarnation: Incarnation, seed: u64) -> Index {
        Index {
            incarnation,
            seed,
            keys: Keys::default(),
            words: Words::default(),
            boxes: BTreeMap::new(),
        }
    }

    /// The life of the process that this index belongs to.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Takes in one record of the log.
    pub fn absorb(&mut self, of: &MailboxName, record: Record<'_>) {
        match record {
            Record::Message { seq, head } => self.message(of, seq, head),
            Record::Event(event) => self.event(of, &event),
        }
    }

    /// A message was appended. One whose number is not the next is not of this log and left out;
    /// a store that gives numbers with holes does not pass the conformance suite.
    pub fn message(&mut self, of: &MailboxName, seq: Seq, head: Head<'_>) {
        let id = self.keys.of(&[head.id]);
        let about = head.subject.map(|subject| {
            Box::new(About {
                subject: self.keys.of(&[subject]),
                kin: self.keys.of(&[head.intent, subject]),
                evidence: head.evidence,
            })
        });
        let mailbox = self.mailbox_mut(of);
        if seq != mailbox.next_seq() {
            return;
        }
        mailbox.entries.push(Entry::Open);
        mailbox.ids.entry(id).or_insert(seq);
        if let Some(about) = &about {
            mailbox.kin.entry(about.kin).or_default().insert(seq);
        }
        let open = Open {
            appended_at: head.appended_at,
            attempts: 0,
            not_before: None,
            since: head.appended_at,
            lease: None,
            about,
        };
        mailbox.open.insert(seq, open);
        mailbox.ready.insert(seq);
    }

    /// Something happened to a message. Events of messages that are not open change nothing.
    pub fn event(&mut self, of: &MailboxName, stamped: &StampedEvent) {
        let StampedEvent { seq, at, event } = stamped;
        let words = &mut self.words;
        let Some(mailbox) = self.boxes.get_mut(of) else {
            return;
        };
        if !mailbox.open.contains_key(seq) {
            return;
        }
        match event {
            DeliveryEvent::Leased {
                lease,
                holder,
                attempt,
                until,
            } => {
                mailbox.take(
                    *seq,
                    *at,
                    Held {
                        lease: *lease,
                        holder: *holder,
                        until: *until,
                    },
                    *attempt,
                );
            }
            DeliveryEvent::Extended { until, .. } => mailbox.extend(*seq, *at, *until),
            DeliveryEvent::Acked { outcome, by, .. } => {
                let outcome = words.keep(outcome);
                let by = match by {
                    AckedBy::Line { from } => AckedBy::Line {
                        from: words.keep(from),
                    },
                    by => by.clone(),
                };
                mailbox.acked(*seq, *at, outcome, by);
            }
            DeliveryEvent::Failed { rest, .. } => mailbox.release(*seq, *at, Some(at.after(*rest)), 0),
            DeliveryEvent::HandedBack { until, .. } => mailbox.release(*seq, *at, *until, 1),
            DeliveryEvent::Expired { .. } | DeliveryEvent::Voided { .. } => {
                mailbox.release(*seq, *at, None, 0)
            }
            DeliveryEvent::Quarantined { cause, reason } => {
                mailbox.set_aside(*seq, *at, *cause, Arc::clone(reason));
            }
        }
    }

    pub(crate) fn mailbox(&self, of: &MailboxName) -> Option<&MailboxIndex> {
        self.boxes.get(of)
    }

    pub(crate) fn mailbox_mut(&mut self, of: &MailboxName) -> &mut MailboxIndex {
        if !self.boxes.contains_key(of) {
            self.boxes.insert(of.clone(), MailboxIndex::default());
        }
        self.boxes.get_mut(of).expect("it was just put in")
    }

    /// The mailboxes that there are, by name.
    pub fn names(&self) -> impl Iterator<Item = &MailboxName> {
        self.boxes.keys()
    }

    /// Notes the right under which this process writes a mailbox's events.
    pub fn owned(&mut self, of: &MailboxName, epoch: Epoch) {
        self.mailbox_mut(of).epoch = Some(epoch);
    }

    /// Whether this process has the right to write a mailbox's events.
    pub fn owns(&self, of: &MailboxName) -> bool {
        self.boxes.get(of).is_some_and(|mailbox| mailbox.epoch.is_some())
    }

    /// The number of the message with this id.
    pub fn seq_of(&self, of: &MailboxName, id: &MsgId) -> Option<Seq> {
        self.boxes
            .get(of)?
            .ids
            .get(&self.keys.of(&[id.as_str()]))
            .copied()
    }

    /// The outcome of an acked message.
    pub fn outcome(&self, of: &MailboxName, seq: Seq) -> Option<Arc<str>> {
        match self.boxes.get(of)?.entry(seq)? {
            Entry::Acked { outcome, .. } => Some(Arc::clone(outcome)),
            Entry::Open | Entry::Quarantined { .. } => None,
        }
    }

    /// Where a message stands and how often it was tried.
    pub fn state(&self, of: &MailboxName, seq: Seq) -> Option<(EnvelopeState, u32)> {
        self.boxes.get(of)?.state(seq)
    }

    /// How a message stands.
    pub fn stands(&self, of: &MailboxName, seq: Seq) -> Option<Standing> {
        Some(match self.boxes.get(of)?.entry(seq)? {
            Entry::Open => Standing::Unread,
            Entry::Acked { .. } => Standing::Acked,
            Entry::Quarantined { .. } => Standing::Quarantined,
        })
    }

    /// At most `limit` numbers greater than `after` of messages that stand so.
    pub fn select(
        &self,
        of: &MailboxName,
        after: Option<Seq>,
        standing: Option<Standing>,
        limit: usize,
    ) -> Vec<Seq> {
        let Some(mailbox) = self.boxes.get(of) else {
            return Vec::new();
        };
        let from = after.map_or(Seq::FIRST, Seq::next);
        if standing == Some(Standing::Unread) {
            return mailbox
                .open
                .range(from..)
                .map(|(seq, _)| *seq)
                .take(limit)
                .collect();
        }
        let skip = usize::try_from(from.0 - 1).unwrap_or(usize::MAX);
        let stands = |entry: &Entry| match standing {
            None => true,
            Some(Standing::Unread) => matches!(entry, Entry::Open),
            Some(Standing::Acked) => matches!(entry, Entry::Acked { .. }),
            Some(Standing::Quarantined) => matches!(entry, Entry::Quarantined { .. }),
        };
        (from.0..)
            .zip(mailbox.entries.iter().skip(skip))
            .filter(|(_, entry)| stands(entry))
            .map(|(seq, _)| Seq(seq))
            .take(limit)
            .collect()
    }

    /// At most `limit` acks after this many, in the order in which they were made.
    pub fn acks(&self, of: &MailboxName, after: u64, limit: usize) -> Vec<(u64, Seq)> {
        let Some(mailbox) = self.boxes.get(of) else {
            return Vec::new();
        };
        let skip = usize::try_from(after).unwrap_or(usize::MAX);
        (after + 1..)
            .zip(mailbox.acks.iter().skip(skip).copied())
            .take(limit)
            .collect()
    }

    /// Every mailbox in numbers, as of `now`, by name.
    pub fn status(&self, now: Moment) -> Vec<MailboxStatus> {
        self.boxes
            .iter()
            .map(|(name, mailbox)| mailbox.status(name, now))
            .collect()
    }

    /// Moves what lies ahead only because the clock of an earlier life was ahead: a rest or lease that
    /// began after `now` begins now.
    pub(crate) fn rebase(&mut self, now: Moment) {
        for mailbox in self.boxes.values_mut() {
            mailbox.rebase(now);
        }
    }

    /// Leases of earlier lives of the process.
    pub(crate) fn orphans(&self) -> Vec<(MailboxName, Seq, LeaseId)> {
        let mut orphans = Vec::new();
        for (name, mailbox) in &self.boxes {
            for (seq, open) in &mailbox.open {
                if let Some(Held {
                    lease,
                    holder: Holder::Process(of),
                    ..
                }) = open.lease
                    && of != self.incarnation
                {
                    orphans.push((name.clone(), *seq, lease));
                }
            }
        }
        orphans
    }

    /// A number to draw the jitter of this attempt with.
    pub(crate) fn dice(&self, seq: Seq, attempt: u32) -> u64 {
        self.seed ^ seq.0.rotate_left(32) ^ u64::from(attempt).rotate_left(17)
    }
}

impl MailboxIndex {
    pub(crate) fn next_seq(&self) -> Seq {
        Seq(self.entries.len() as u64 + 1)
    }

    fn entry(&self, seq: Seq) -> Option<&Entry> {
        self.entries.get(usize::try_from(seq.0.checked_sub(1)?).ok()?)
    }

    fn entry_mut(&mut self, seq: Seq) -> Option<&mut Entry> {
        self.entries.get_mut(usize::try_from(seq.0.checked_sub(1)?).ok()?)
    }

    pub(crate) fn open(&self, seq: Seq) -> Option<&Open> {
        self.open.get(&seq)
    }

    pub(crate) fn all_open(&self) -> impl Iterator<Item = (Seq, &Open)> {
        self.open.iter().map(|(seq, open)| (*seq, open))
    }

    /// Unread messages of one intent and subject that nobody has, in order.
    pub(crate) fn kin(&self, kin: Key) -> Vec<Seq> {
        let free = |seq: &&Seq| self.open.get(seq).is_some_and(|open| open.lease.is_none());
        self.kin
            .get(&kin)
            .into_iter()
            .flatten()
            .filter(free)
            .copied()
            .collect()
    }

    pub(crate) fn is_busy(&self, subject: Key) -> bool {
        self.busy.contains(&subject)
    }

    /// Whether the last message finished for this intent and subject had this evidence, no longer
    /// ago than the policy says.
    pub(crate) fn unchanged(&self, about: &About, now: Moment) -> bool {
        match (about.evidence, self.finished.get(&about.kin)) {
            (Some(evidence), Some(last)) => {
                last.evidence == evidence && now.since(last.at) <= self.policy.unchanged_for
            }
            _ => false,
        }
    }

    /// Leases that have expired by `now`.
    pub(crate) fn expired(&self, now: Moment) -> Vec<(Seq, LeaseId)> {
        self.expiring
            .range(..=(now, Seq::MAX))
            .filter_map(|(_, seq)| Some((*seq, self.open.get(seq)?.lease?.lease)))
            .collect()
    }

    /// Makes ready what has rested enough.
    pub(crate) fn wake(&mut self, now: Moment) {
        while let Some((until, seq)) = self.resting.first().copied() {
            if until > now {
                break;
            }
            self.resting.pop_first();
            self.ready.insert(seq);
        }
    }

    fn rebase(&mut self, now: Moment) {
        let MailboxIndex {
            open,
            resting,
            expiring,
            finished,
            ..
        } = self;
        for (seq, open) in open.iter_mut().filter(|(_, open)| open.since > now) {
            let moved = |until: Moment| now.after(until.since(open.since));
            if let Some(until) = open.not_before
                && resting.remove(&(until, *seq))
            {
                resting.insert((moved(until), *seq));
                open.not_before = Some(moved(until));
            }
            if let Some(held) = &mut open.lease
                && let Some(until) = held.until
                && expiring.remove(&(until, *seq))
            {
                expiring.insert((moved(until), *seq));
                held.until = Some(moved(until));
            }
            open.since = now;
        }
        for finished in finished.values_mut() {
            finished.at = finished.at.min(now);
        }
    }

    /// Sets a ready message aside until nothing of its subject is in hand.
    pub(crate) fn park(&mut self, seq: Seq, subject: Key) {
        if self.ready.remove(&seq) {
            self.parked.entry(subject).or_default().insert(seq);
        }
    }

    /// When time alone may make something deliverable.
    pub(crate) fn next_time(&self) -> Option<Moment> {
        let rested = self.resting.first().map(|(at, _)| *at);
        let expires = self.expiring.first().map(|(at, _)| *at);
        rested.into_iter().chain(expires).min()
    }

    fn take(&mut self, seq: Seq, at: Moment, held: Held, attempt: u32) {
        self.unqueue(seq);
        let Some(open) = self.open.get_mut(&seq) else {
            return;
        };
        if open.lease.replace(held).is_none() {
            self.leased += 1;
        }
        open.attempts = attempt;
        open.since = at;
        open.not_before = None;
        if let Some(until) = held.until {
            self.expiring.insert((until, seq));
        }
        if let Some(about) = &open.about {
            self.busy.insert(about.subject);
        }
    }

    fn extend(&mut self, seq: Seq, at: Moment, until: Moment) {
        let Some(open) = self.open.get_mut(&seq) else {
            return;
        };
        let Some(held) = open.lease.as_mut() else { return };
        open.since = at;
        if let Some(before) = held.until.replace(until) {
            self.expiring.remove(&(before, seq));
        }
        self.expiring.insert((until, seq));
    }

    /// Back among the unread, with `returned` attempts given back.
    fn release(&mut self, seq: Seq, at: Moment, not_before: Option<Moment>, returned: u32) {
        self.unqueue(seq);
        let Some(open) = self.open.get_mut(&seq) else {
            return;
        };
        open.attempts = open.attempts.saturating_sub(returned);
        open.not_before = not_before;
        open.since = at;
        match not_before {
            Some(until) => self.resting.insert((until, seq)),
            None => self.ready.insert(seq),
        };
    }

    fn acked(&mut self, seq: Seq, at: Moment, outcome: Arc<str>, by: AckedBy) {
        let Some(open) = self.close(seq) else { return };
        if let Some(about) = &open.about
            && let Some(evidence) = about.evidence
            && by != AckedBy::Policy
        {
            self.finished.insert(about.kin, Finished { evidence, at });
        }
        self.acks.push(seq);
        if let Some(entry) = self.entry_mut(seq) {
            *entry = Entry::Acked {
                outcome,
                by,
                at,
                attempts: open.attempts,
            };
        }
    }

    fn set_aside(&mut self, seq: Seq, at: Moment, cause: QuarantineCause, reason: Arc<str>) {
        let Some(open) = self.close(seq) else { return };
        self.quarantined += 1;
        if let Some(entry) = self.entry_mut(seq) {
            *entry = Entry::Quarantined {
                reason,
                cause,
                at,
                attempts: open.attempts,
            };
        }
    }

    fn close(&mut self, seq: Seq) -> Option<Open> {
        self.unqueue(seq);
        let open = self.open.remove(&seq)?;
        if let Some(about) = &open.about
            && let Some(kin) = self.kin.get_mut(&about.kin)
        {
            kin.remove(&seq);
            if kin.is_empty() {
                self.kin.remove(&about.kin);
            }
        }
        Some(open)
    }

    /// Takes a message out of whichever queue or hand it is in.
    fn unqueue(&mut self, seq: Seq) {
        self.ready.remove(&seq);
        let Some(open) = self.open.get_mut(&seq) else {
            return;
        };
        if let Some(until) = open.not_before {
            self.resting.remove(&(until, seq));
        }
        let subject = open.about.as_ref().map(|about| about.subject);
        let held = open.lease.take();
        if let Some(held) = held {
            self.leased -= 1;
            if let Some(until) = held.until {
                self.expiring.remove(&(until, seq));
            }
        }
        let Some(subject) = subject else { return };
        if held.is_some() {
            self.busy.remove(&subject);
            let parked = self.parked.remove(&subject).unwrap_or_default();
            self.ready.extend(parked);
        } else if let Some(parked) = self.parked.get_mut(&subject) {
            parked.remove(&seq);
            if parked.is_empty() {
                self.parked.remove(&subject);
            }
        }
    }

    fn state(&self, seq: Seq) -> Option<(EnvelopeState, u32)> {
        let state = match self.entry(seq)? {
            Entry::Open => {
                let open = self.open.get(&seq)?;
                let state = match open.lease {
                    None => EnvelopeState::Unread {
                        not_before: open.not_before,
                    },
                    Some(Held { lease, holder, until }) => EnvelopeState::Leased { lease, holder, until },
                };
                (state, open.attempts)
            }
            Entry::Acked {
                outcome,
                by,
                at,
                attempts,
            } => (
                EnvelopeState::Acked {
                    outcome: Arc::clone(outcome),
                    at: *at,
                    by: by.clone(),
                },
                *attempts,
            ),
            Entry::Quarantined {
                reason,
                cause,
                at,
                attempts,
            } => {
                let reason = Arc::clone(reason);
                (
                    EnvelopeState::Quarantined {
                        at: *at,
                        cause: *cause,
                        reason,
                    },
                    *attempts,
                )
            }
        };
        Some(state)
    }

    fn status(&self, name: &MailboxName, now: Moment) -> MailboxStatus {
        let backing_off = self.resting.range((now, Seq::MAX)..).count() as u64;
        let rested = self.resting.len() as u64 > backing_off;
        let next_deliverable = if self.ready.is_empty() && !rested {
            self.next_time()
        } else {
            Some(now)
        };
        MailboxStatus {
            name: name.clone(),
            total: self.entries.len() as u64,
            unread: self.open.len() as u64,
            leased: self.leased,
            backing_off,
            acked: self.acks.len() as u64,
            quarantined: self.quarantined,
            oldest_unread: self.open.first_key_value().map(|(_, open)| open.appended_at),
            next_deliverable,
        }
    }
}
