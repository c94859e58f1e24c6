//! One mailbox's part of the index: its messages and the queues that they are in.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::entries::{Ending, Entries, Entry, SetAside};
use super::runs::Runs;
use super::{ByKey, Key};
use crate::clock::Moment;
use crate::envelope::{EnvelopeState, MailboxStatus};
use crate::event::{AckedBy, Holder, QuarantineCause};
use crate::names::{Digest, LeaseId, MailboxName, Seq};
use crate::policy::Policy;
use crate::store::Epoch;

/// One mailbox.
#[derive(Debug, Clone, Default)]
pub(crate) struct MailboxIndex {
    pub(crate) policy: Policy,
    pub(crate) epoch: Option<Epoch>,
    pub(super) entries: Entries,
    pub(super) ids: ByKey<Seq>,
    /// What is neither acked nor in quarantine.
    pub(super) unread: Runs,
    /// Of the unread: those to which something happened.
    pub(super) touched: BTreeMap<Seq, Touched>,
    /// Unread, not leased, and not known to have to wait.
    pub(crate) ready: Runs,
    /// Unread, not leased, resting.
    pub(super) resting: BTreeSet<(Moment, Seq)>,
    /// Unread, not leased, waiting until nothing of their subject is in hand.
    pub(super) parked: ByKey<BTreeSet<Seq>>,
    /// Leases that expire by themselves.
    pub(super) expiring: BTreeSet<(Moment, Seq)>,
    pub(super) leased: u64,
    /// Of the leased: pulled from outside.
    pub(super) pulled: u64,
    /// Subjects in hand.
    pub(super) busy: HashSet<Key>,
    /// Unread messages by intent and subject.
    pub(super) kin: ByKey<Kin>,
    /// What was last finished, by intent and subject.
    pub(super) finished: ByKey<Finished>,
    /// In the order in which they were acked, each with its place in it.
    pub(super) acks: Vec<(u64, Seq)>,
    pub(super) last_ack: u64,
    pub(super) quarantined: BTreeSet<Seq>,
    /// Messages that are no longer kept.
    pub(super) pruned: u64,
    /// Events in the log whose message is no longer kept: pruning was cut short before them.
    pub(super) dangling: u64,
}

/// An unread message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open<'a> {
    pub(crate) appended_at: Moment,
    pub(crate) attempts: u32,
    pub(crate) not_before: Option<Moment>,
    pub(crate) lease: Option<Held>,
    pub(crate) about: Option<&'a About>,
}

/// An unread message to which something happened.
#[derive(Debug, Clone)]
pub(super) struct Touched {
    appended_at: Moment,
    attempts: u32,
    not_before: Option<Moment>,
    /// When it began to rest or was leased or extended.
    since: Moment,
    pub(super) lease: Option<Held>,
    about: Option<Box<About>>,
}

impl Touched {
    fn open(&self) -> Open<'_> {
        Open {
            appended_at: self.appended_at,
            attempts: self.attempts,
            not_before: self.not_before,
            lease: self.lease,
            about: self.about.as_deref(),
        }
    }

    fn fresh(appended_at: Moment, about: Option<Box<About>>) -> Touched {
        Touched {
            appended_at,
            attempts: 0,
            not_before: None,
            since: appended_at,
            lease: None,
            about,
        }
    }
}

/// Unread messages of one intent and subject; most often it is one.
#[derive(Debug, Clone)]
pub(super) enum Kin {
    One(Seq),
    Many(BTreeSet<Seq>),
}

impl Kin {
    fn insert(&mut self, seq: Seq) {
        match self {
            Kin::One(one) => *self = Kin::Many(BTreeSet::from([*one, seq])),
            Kin::Many(many) => drop(many.insert(seq)),
        }
    }

    /// Takes one out, and says whether none is left.
    fn remove(&mut self, seq: Seq) -> bool {
        match self {
            Kin::One(one) => *one == seq,
            Kin::Many(many) => {
                many.remove(&seq);
                many.is_empty()
            }
        }
    }

    fn iter(&self) -> impl Iterator<Item = Seq> {
        let (one, many) = match self {
            Kin::One(one) => (Some(*one), None),
            Kin::Many(many) => (None, Some(many)),
        };
        one.into_iter().chain(many.into_iter().flatten().copied())
    }
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
pub(super) struct Finished {
    evidence: Digest,
    at: Moment,
}

impl MailboxIndex {
    pub(crate) fn next_seq(&self) -> Seq {
        Seq(self.entries.count() + 1)
    }

    /// A message that was appended and has no events.
    pub(super) fn append(&mut self, seq: Seq, appended_at: Moment, about: Option<Box<About>>) {
        self.among_kin(seq, about.as_deref());
        self.entries.push(Entry::Fresh { appended_at, about });
        self.unread.insert(seq);
        self.ready.insert(seq);
    }

    /// Numbers of which nothing is left. Others than the next ones are not of this log and left out.
    pub(super) fn absorb_gone(&mut self, first: Seq, last: Seq) {
        if first == self.next_seq() && last >= first {
            let count = last.0 - first.0 + 1;
            self.entries.push_gone(count);
            self.pruned += count;
        }
    }

    /// Whether there is a message with this number, and it is kept.
    pub(super) fn is_kept(&self, seq: Seq) -> bool {
        self.entries.get(seq).and_then(Entry::stands).is_some()
    }

    /// Notes an unread message under its intent and subject.
    fn among_kin(&mut self, seq: Seq, about: Option<&About>) {
        if let Some(about) = about {
            let kin = self.kin.entry(about.kin);
            kin.and_modify(|kin| kin.insert(seq)).or_insert(Kin::One(seq));
        }
    }

    /// An unread message.
    pub(crate) fn open(&self, seq: Seq) -> Option<Open<'_>> {
        match self.entries.get(seq)? {
            Entry::Fresh { appended_at, about } => Some(Open {
                appended_at: *appended_at,
                attempts: 0,
                not_before: None,
                lease: None,
                about: about.as_deref(),
            }),
            Entry::Touched => self.touched.get(&seq).map(Touched::open),
            Entry::Acked { .. } | Entry::Quarantined(_) | Entry::Pruned { .. } | Entry::Gone => None,
        }
    }

    /// The unread messages to which something happened: all that were ever tried are among them.
    pub(crate) fn touched(&self) -> impl Iterator<Item = (Seq, Open<'_>)> {
        self.touched.iter().map(|(seq, touched)| (*seq, touched.open()))
    }

    /// An unread message to which something happens now.
    fn touch(&mut self, seq: Seq) -> Option<&mut Touched> {
        if let Some(Entry::Fresh { .. }) = self.entries.get(seq)
            && let Some(Entry::Fresh { appended_at, about }) = self.entries.replace(seq, Entry::Touched)
        {
            self.touched.insert(seq, Touched::fresh(appended_at, about));
        }
        self.touched.get_mut(&seq)
    }

    /// Unread messages of one intent and subject that nobody has, in order.
    pub(crate) fn kin(&self, kin: Key) -> Vec<Seq> {
        let free = |seq: &Seq| self.open(*seq).is_some_and(|open| open.lease.is_none());
        let kin = self.kin.get(&kin);
        kin.into_iter().flat_map(Kin::iter).filter(free).collect()
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
            .filter_map(|(_, seq)| Some((*seq, self.touched.get(seq)?.lease?.lease)))
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

    pub(super) fn rebase(&mut self, now: Moment) {
        let MailboxIndex {
            touched,
            resting,
            expiring,
            finished,
            ..
        } = self;
        for (seq, open) in touched.iter_mut().filter(|(_, open)| open.since > now) {
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
        if self.ready.remove(seq) {
            self.parked.entry(subject).or_default().insert(seq);
        }
    }

    /// Whether as many messages are in hand as the policy allows.
    pub(crate) fn is_at_its_wip(&self) -> bool {
        self.policy.wip.is_some_and(|wip| self.leased >= u64::from(wip))
    }

    /// When time alone may make something deliverable.
    pub(crate) fn next_time(&self) -> Option<Moment> {
        let rested = self
            .resting
            .first()
            .map(|(at, _)| *at)
            .filter(|_| !self.is_at_its_wip());
        let expires = self.expiring.first().map(|(at, _)| *at);
        rested.into_iter().chain(expires).min()
    }

    pub(super) fn take(&mut self, seq: Seq, at: Moment, held: Held, attempt: u32) {
        self.unqueue(seq);
        let Some(open) = self.touch(seq) else {
            return;
        };
        // `unqueue` took a lease that there was.
        open.lease = Some(held);
        open.attempts = attempt;
        open.since = at;
        open.not_before = None;
        let subject = open.about.as_ref().map(|about| about.subject);
        self.leased += 1;
        self.pulled += u64::from(held.holder == Holder::Pull);
        if let Some(until) = held.until {
            self.expiring.insert((until, seq));
        }
        self.busy.extend(subject);
    }

    pub(super) fn extend(&mut self, seq: Seq, at: Moment, until: Moment) {
        let Some(open) = self.touched.get_mut(&seq) else {
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
    pub(super) fn release(&mut self, seq: Seq, at: Moment, not_before: Option<Moment>, returned: u32) {
        self.unqueue(seq);
        let Some(open) = self.touch(seq) else {
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

    pub(super) fn acked(&mut self, seq: Seq, at: Moment, ending: Arc<Ending>) {
        let Some(open) = self.close(seq) else { return };
        if let Some(about) = &open.about
            && let Some(evidence) = about.evidence
            && ending.by != AckedBy::Policy
        {
            self.finished.insert(about.kin, Finished { evidence, at });
        }
        self.end(seq, at, ending, open.attempts);
    }

    fn end(&mut self, seq: Seq, at: Moment, ending: Arc<Ending>, attempts: u32) {
        self.last_ack += 1;
        self.acks.push((self.last_ack, seq));
        let acked = Entry::Acked { ending, at, attempts };
        self.entries.replace(seq, acked);
    }

    pub(super) fn set_aside(&mut self, seq: Seq, at: Moment, cause: QuarantineCause, reason: Arc<str>) {
        let Some(open) = self.close(seq) else { return };
        self.quarantined.insert(seq);
        let set_aside = SetAside {
            reason,
            cause,
            at,
            attempts: open.attempts,
            appended_at: open.appended_at,
            about: open.about,
        };
        self.entries.replace(seq, Entry::Quarantined(Box::new(set_aside)));
    }

    /// Out of quarantine, among the unread.
    pub(super) fn retried(&mut self, seq: Seq, at: Moment) {
        if self.quarantined.remove(&seq)
            && let Some(Entry::Quarantined(set_aside)) = self.entries.replace(seq, Entry::Touched)
        {
            let SetAside {
                appended_at, about, ..
            } = *set_aside;
            self.among_kin(seq, about.as_deref());
            let mut touched = Touched::fresh(appended_at, about);
            touched.since = at;
            self.touched.insert(seq, touched);
            self.unread.insert(seq);
            self.ready.insert(seq);
        }
    }

    /// Out of quarantine, for good.
    pub(super) fn dropped(&mut self, seq: Seq, at: Moment, ending: Arc<Ending>) {
        if self.quarantined.remove(&seq)
            && let Some(Entry::Quarantined(set_aside)) = self.entries.get(seq)
        {
            let attempts = set_aside.attempts;
            self.end(seq, at, ending, attempts);
        }
    }

    /// The message is no longer kept; its id is known.
    pub(super) fn buried(&mut self, seq: Seq, appended_at: Moment) {
        if let Some(Entry::Acked { ending, .. }) = self.entries.get(seq) {
            let ending = Arc::clone(ending);
            self.entries.replace(seq, Entry::Pruned { ending, appended_at });
            self.pruned += 1;
        }
    }

    /// The message is no longer kept, and neither is its id.
    pub(super) fn gone(&mut self, seq: Seq, id: Key) {
        if let Some(Entry::Acked { .. }) = self.entries.replace(seq, Entry::Gone) {
            self.pruned += 1;
        }
        if self.ids.get(&id) == Some(&seq) {
            self.ids.remove(&id);
        }
    }

    /// Gives back the memory of what is no longer kept.
    pub(super) fn tidy(&mut self, now: Moment) {
        self.dangling = 0;
        let MailboxIndex {
            entries,
            acks,
            finished,
            policy,
            ids,
            ..
        } = self;
        acks.retain(|(_, seq)| matches!(entries.get(*seq), Some(Entry::Acked { .. })));
        finished.retain(|_, last| now.since(last.at) <= policy.unchanged_for);
        if acks.len() < acks.capacity() / 4 {
            acks.shrink_to_fit();
        }
        if ids.len() < ids.capacity() / 4 {
            ids.shrink_to_fit();
        }
        if finished.len() < finished.capacity() / 4 {
            finished.shrink_to_fit();
        }
    }

    /// An unread message is unread no longer. What it is now, the caller says.
    fn close(&mut self, seq: Seq) -> Option<Touched> {
        self.unqueue(seq);
        if !self.unread.remove(seq) {
            return None;
        }
        let open = match self.touched.remove(&seq) {
            Some(touched) => touched,
            None => match self.entries.replace(seq, Entry::Touched)? {
                Entry::Fresh { appended_at, about } => Touched::fresh(appended_at, about),
                _ => return None,
            },
        };
        if let Some(about) = &open.about
            && let Some(kin) = self.kin.get_mut(&about.kin)
            && kin.remove(seq)
        {
            self.kin.remove(&about.kin);
        }
        Some(open)
    }

    /// Takes a message out of whichever queue or hand it is in.
    fn unqueue(&mut self, seq: Seq) {
        self.ready.remove(seq);
        let Some(open) = self.open(seq) else {
            return;
        };
        let subject = open.about.map(|about| about.subject);
        if let Some(until) = open.not_before {
            self.resting.remove(&(until, seq));
        }
        let touched = self.touched.get_mut(&seq);
        let held = touched.and_then(|touched| touched.lease.take());
        if let Some(held) = held {
            self.leased -= 1;
            self.pulled -= u64::from(held.holder == Holder::Pull);
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

    /// `None` for a message that there is not, or no longer.
    pub(super) fn state(&self, seq: Seq) -> Option<(EnvelopeState, u32)> {
        let state = match self.entries.get(seq)? {
            Entry::Fresh { .. } | Entry::Touched => {
                let open = self.open(seq)?;
                let state = match open.lease {
                    None => EnvelopeState::Unread {
                        not_before: open.not_before,
                    },
                    Some(Held { lease, holder, until }) => EnvelopeState::Leased { lease, holder, until },
                };
                (state, open.attempts)
            }
            Entry::Acked { ending, at, attempts } => (
                EnvelopeState::Acked {
                    outcome: Arc::clone(&ending.outcome),
                    at: *at,
                    by: ending.by.clone(),
                },
                *attempts,
            ),
            Entry::Quarantined(set_aside) => (
                EnvelopeState::Quarantined {
                    at: set_aside.at,
                    cause: set_aside.cause,
                    reason: Arc::clone(&set_aside.reason),
                },
                set_aside.attempts,
            ),
            Entry::Pruned { .. } | Entry::Gone => return None,
        };
        Some(state)
    }

    fn oldest_unread(&self) -> Option<Moment> {
        self.open(self.unread.first()?).map(|open| open.appended_at)
    }

    pub(super) fn status(&self, name: &MailboxName, now: Moment) -> MailboxStatus {
        let backing_off = self.resting.range((now, Seq::MAX)..).count() as u64;
        let rested = self.resting.len() as u64 > backing_off;
        let waits = self.is_at_its_wip() || (self.ready.is_empty() && !rested);
        let next_deliverable = if waits { self.next_time() } else { Some(now) };
        let total = self.entries.count();
        let unread = self.unread.len();
        let quarantined = self.quarantined.len() as u64;
        MailboxStatus {
            name: name.clone(),
            total,
            unread,
            leased: self.leased,
            pulled: self.pulled,
            backing_off,
            acked: total - unread - quarantined,
            pruned: self.pruned,
            quarantined,
            last_ack: self.last_ack,
            oldest_unread: self.oldest_unread(),
            next_deliverable,
        }
    }
}
