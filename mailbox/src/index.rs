//! What is known of every mailbox without reading its messages: the fold of the log.
//!
//! [`Index::message`] and [`Index::event`] are the only ways in, both when a log is loaded and when
//! the transition decides something new. So a restart cannot come to another state than the run.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;
use std::sync::Arc;

use crate::clock::Moment;
use crate::envelope::{EnvelopeState, MailboxStatus, Standing};
use crate::event::{AckedBy, DeliveryEvent, Holder, StampedEvent};
use crate::names::{Incarnation, LeaseId, MailboxName, MsgId, Seq};
use crate::store::{Epoch, Head, Record};

mod mailbox;

use mailbox::Entry;
pub(crate) use mailbox::{About, Held, MailboxIndex, Open};

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
        let skip = usize::try_from(from.0.saturating_sub(1)).unwrap_or(usize::MAX);
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
        (after.saturating_add(1)..)
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
