//! What is known of every mailbox without reading its messages: the fold of the log.
//!
//! [`Index::message`] and [`Index::event`] are the only ways in, both when a log is loaded and when
//! the transition decides something new. So a restart cannot come to another state than the run.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use crate::clock::Moment;
use crate::envelope::{EnvelopeState, MailboxStatus, Standing};
use crate::event::{AckedBy, DeliveryEvent, Holder, StampedEvent};
use crate::names::{Incarnation, LeaseId, MailboxName, MsgId, Seq};
use crate::store::{Epoch, Head, Record};
use crate::transition::DROPPED;

mod entries;
mod keeping;
mod mailbox;
mod runs;

use entries::{Ending, Entry};
pub use keeping::{Backlog, Pass, prune};
pub(crate) use mailbox::{About, Held, MailboxIndex};

/// 128 bits of keyed hash in place of a text. The keys are drawn when the index is made and never
/// leave it, so nobody can prepare two texts that meet; that two meet by chance is less likely than
/// that the memory errs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key([u64; 2]);

impl Hash for Key {
    /// Half of it is hash enough for a table.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0[0]);
    }
}

/// A table by [`Key`], which is a hash already.
pub(crate) type ByKey<T> = HashMap<Key, T, BuildHasherDefault<AsItIs>>;

/// Passes a [`Key`]'s hash on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// A [`Key`] hashes to one number; whatever else came would still be told apart.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

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
    endings: Endings,
    /// The latest time in the log.
    latest: Moment,
    boxes: BTreeMap<MailboxName, MailboxIndex>,
}

/// Endings that repeat a million times, kept once.
#[derive(Debug, Clone, Default)]
struct Endings {
    known: HashSet<Arc<Ending>>,
    /// The latest, which the next one most often repeats.
    last: Option<Arc<Ending>>,
}

impl Endings {
    fn keep(&mut self, ending: Ending) -> Arc<Ending> {
        if let Some(last) = self.last.as_ref().filter(|last| ***last == ending) {
            return Arc::clone(last);
        }
        let kept = match self.known.get(&ending) {
            Some(kept) => Arc::clone(kept),
            None => {
                let kept = Arc::new(ending);
                self.known.insert(Arc::clone(&kept));
                kept
            }
        };
        self.last = Some(Arc::clone(&kept));
        kept
    }

    /// Lets go of those that no message has any more.
    fn tidy(&mut self) {
        self.last = None;
        self.known.retain(|ending| Arc::strong_count(ending) > 1);
        if self.known.len() < self.known.capacity() / 4 {
            self.known.shrink_to_fit();
        }
    }
}

impl Index {
    /// An empty index for one life of the process. `seed` decides the jitter of every backoff.
    pub fn new(incarnation: Incarnation, seed: u64) -> Index {
        Index {
            incarnation,
            seed,
            keys: Keys::default(),
            endings: Endings::default(),
            latest: Moment::EPOCH,
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
            Record::Tombstone {
                seq,
                id,
                appended_at,
                outcome,
            } => self.tombstone(of, seq, id, appended_at, outcome),
            Record::Gone { first, last } => self.mailbox_mut(of).absorb_gone(first, last),
        }
    }

    fn tombstone(&mut self, of: &MailboxName, seq: Seq, id: &str, appended_at: Moment, outcome: &str) {
        let id = self.keys.of(&[id]);
        let ending = self.endings.keep(Ending {
            outcome: outcome.into(),
            by: AckedBy::Policy,
        });
        let mailbox = self.mailbox_mut(of);
        if seq == mailbox.next_seq() {
            mailbox.entries.push(Entry::Pruned { ending, appended_at });
            mailbox.ids.entry(id).or_insert(seq);
            mailbox.pruned += 1;
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
        self.latest = self.latest.max(head.appended_at);
        let mailbox = self.mailbox_mut(of);
        if seq != mailbox.next_seq() {
            return;
        }
        mailbox.ids.entry(id).or_insert(seq);
        mailbox.append(seq, head.appended_at, about);
    }

    /// Something happened to a message. Events of messages that are acked or not kept change nothing.
    pub fn event(&mut self, of: &MailboxName, stamped: &StampedEvent) {
        let StampedEvent { seq, at, event } = stamped;
        self.latest = self.latest.max(*at);
        let endings = &mut self.endings;
        let Some(mailbox) = self.boxes.get_mut(of) else {
            return;
        };
        if !mailbox.is_kept(*seq) {
            mailbox.dangling += 1;
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
                let (outcome, by) = (Arc::clone(outcome), by.clone());
                mailbox.acked(*seq, *at, endings.keep(Ending { outcome, by }));
            }
            DeliveryEvent::Failed { rest, .. } => mailbox.release(*seq, *at, Some(at.after(*rest)), 0),
            DeliveryEvent::HandedBack { until, .. } => mailbox.release(*seq, *at, *until, 1),
            DeliveryEvent::Expired { .. } | DeliveryEvent::Voided { .. } => {
                mailbox.release(*seq, *at, None, 0)
            }
            DeliveryEvent::Quarantined { cause, reason } => {
                mailbox.set_aside(*seq, *at, *cause, Arc::clone(reason));
            }
            DeliveryEvent::Retried => mailbox.retried(*seq, *at),
            DeliveryEvent::Dropped { .. } => {
                let outcome = DROPPED.into();
                let by = AckedBy::Operator;
                mailbox.dropped(*seq, *at, endings.keep(Ending { outcome, by }));
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

    /// The outcome of an acked message, also when it is no longer kept but its id is still known.
    pub fn outcome(&self, of: &MailboxName, seq: Seq) -> Option<Arc<str>> {
        match self.boxes.get(of)?.entries.get(seq)? {
            Entry::Acked { ending, .. } | Entry::Pruned { ending, .. } => Some(Arc::clone(&ending.outcome)),
            Entry::Fresh { .. } | Entry::Touched | Entry::Quarantined(_) | Entry::Gone => None,
        }
    }

    /// Where a message stands and how often it was tried.
    pub fn state(&self, of: &MailboxName, seq: Seq) -> Option<(EnvelopeState, u32)> {
        self.boxes.get(of)?.state(seq)
    }

    /// How a message stands.
    pub fn stands(&self, of: &MailboxName, seq: Seq) -> Option<Standing> {
        self.boxes.get(of)?.entries.get(seq)?.stands()
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
        match standing {
            Some(Standing::Unread) => mailbox.unread.from(from).take(limit).collect(),
            Some(Standing::Quarantined) => {
                let quarantined = mailbox.quarantined.range(from..).copied();
                quarantined.take(limit).collect()
            }
            Some(Standing::Acked) | None => mailbox
                .entries
                .from(from)
                .filter(|(_, entry)| {
                    let stands = entry.stands();
                    stands.is_some() && (standing.is_none() || stands == standing)
                })
                .map(|(seq, _)| seq)
                .take(limit)
                .collect(),
        }
    }

    /// At most `limit` acks after this place, in the order in which they were made.
    pub fn acks(&self, of: &MailboxName, after: u64, limit: usize) -> Vec<(u64, Seq)> {
        let Some(mailbox) = self.boxes.get(of) else {
            return Vec::new();
        };
        let from = mailbox.acks.partition_point(|(place, _)| *place <= after);
        let acks = mailbox.acks[from..].iter().copied();
        acks.take(limit).collect()
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
            for (seq, open) in &mailbox.touched {
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
