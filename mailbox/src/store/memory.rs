//! A store that forgets everything with the process: for tests and for one-shot runs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::clock::Moment;
use crate::event::StampedEvent;
use crate::names::{Incarnation, MailboxName, MsgId, Seq};
use crate::store::{Cursor, Epoch, Fate, Record, Store, StoreError, Stored, Write, Wrote};

/// Records looked at in one step of pruning.
const STEP: usize = 256;

/// Mailboxes in memory. The same log as a durable store's, with no file behind it.
#[derive(Debug, Default)]
pub struct MemoryStore {
    /// By the place in the log, from 0.
    log: BTreeMap<u64, Entry>,
    next: u64,
    boxes: BTreeMap<MailboxName, Places>,
}

/// Where a mailbox's messages are in the log.
#[derive(Debug, Default)]
struct Places {
    count: u64,
    messages: BTreeMap<Seq, u64>,
    epoch: Option<Epoch>,
}

#[derive(Debug)]
struct Entry {
    of: MailboxName,
    what: What,
}

#[derive(Debug)]
enum What {
    Message {
        seq: Seq,
        stored: Box<Stored>,
    },
    Event(StampedEvent),
    Tombstone {
        seq: Seq,
        id: MsgId,
        appended_at: Moment,
        outcome: Arc<str>,
    },
    Gone {
        first: Seq,
        last: Seq,
    },
}

impl Entry {
    fn record(&self) -> Record<'_> {
        match &self.what {
            What::Message { seq, stored } => Record::Message {
                seq: *seq,
                head: stored.head(),
            },
            What::Event(event) => Record::Event(event.clone()),
            What::Tombstone {
                seq,
                id,
                appended_at,
                outcome,
            } => Record::Tombstone {
                seq: *seq,
                id: id.as_str(),
                appended_at: *appended_at,
                outcome,
            },
            What::Gone { first, last } => Record::Gone {
                first: *first,
                last: *last,
            },
        }
    }
}

impl Store for MemoryStore {
    async fn load(
        &mut self,
        after: Option<Cursor>,
        each: &mut (dyn FnMut(&MailboxName, Record<'_>) + Send),
    ) -> Result<Cursor, StoreError> {
        let from = after.map_or(0, |Cursor(at)| at);
        for entry in self.log.range(from..).map(|(_, entry)| entry) {
            each(&entry.of, entry.record());
        }
        Ok(Cursor(self.next))
    }

    async fn commit(&mut self, group: &[Write]) -> Result<Vec<Wrote>, StoreError> {
        Ok(group.iter().map(|write| self.write(write)).collect())
    }

    async fn read(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<Vec<(Seq, Stored)>, StoreError> {
        let Some(places) = self.boxes.get(of) else {
            return Ok(Vec::new());
        };
        let message = |(seq, place): (&Seq, &u64)| match &self.log.get(place)?.what {
            What::Message { stored, .. } => Some((*seq, Stored::clone(stored))),
            What::Event(_) | What::Tombstone { .. } | What::Gone { .. } => None,
        };
        Ok(places.messages.range(seqs).filter_map(message).collect())
    }

    async fn events(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<Vec<StampedEvent>, StoreError> {
        let event = |entry: &Entry| match &entry.what {
            What::Event(event) if entry.of == *of && seqs.contains(&event.seq) => Some(event.clone()),
            _ => None,
        };
        Ok(self.log.values().filter_map(event).collect())
    }

    async fn prune(
        &mut self,
        from: Option<Cursor>,
        fate: &mut (dyn FnMut(&MailboxName, &Record<'_>) -> Fate + Send),
    ) -> Result<Option<Cursor>, StoreError> {
        let from = from.map_or(0, |Cursor(at)| at);
        let mut changes = Vec::new();
        let mut last = None;
        for (place, entry) in self.log.range(from..).take(STEP) {
            last = Some(*place);
            match fate(&entry.of, &entry.record()) {
                Fate::Stays => {}
                fate => changes.push((*place, fate)),
            }
        }
        for (place, fate) in changes {
            self.change(place, fate);
        }
        let next = last.map(|last| last + 1).filter(|next| *next < self.next);
        Ok(next.map(Cursor))
    }

    async fn own(&mut self, of: &MailboxName, _by: Incarnation) -> Result<Epoch, StoreError> {
        let places = self.boxes.entry(of.clone()).or_default();
        let epoch = Epoch(places.epoch.map_or(1, |Epoch(epoch)| epoch + 1));
        places.epoch = Some(epoch);
        Ok(epoch)
    }
}

impl MemoryStore {
    fn write(&mut self, write: &Write) -> Wrote {
        match write {
            Write::Message { to, stored } => {
                let places = self.boxes.entry(to.clone()).or_default();
                places.count += 1;
                let seq = Seq(places.count);
                places.messages.insert(seq, self.next);
                let what = What::Message {
                    seq,
                    stored: Box::new(stored.clone()),
                };
                self.push(to, what);
                Wrote::Placed(seq)
            }
            Write::Event { of, under, event } => {
                if self.boxes.get(of).and_then(|places| places.epoch) != Some(*under) {
                    return Wrote::Fenced;
                }
                self.push(of, What::Event(event.clone()));
                Wrote::Placed(event.seq)
            }
        }
    }

    fn push(&mut self, of: &MailboxName, what: What) {
        self.log.insert(self.next, Entry { of: of.clone(), what });
        self.next += 1;
    }

    fn change(&mut self, place: u64, fate: Fate) {
        let Some(entry) = self.log.get_mut(&place) else {
            return;
        };
        let what = match (&entry.what, fate) {
            (What::Message { seq, stored }, Fate::Tombstone { outcome }) => What::Tombstone {
                seq: *seq,
                id: stored.message.msg_id().clone(),
                appended_at: stored.appended_at,
                outcome,
            },
            (What::Message { seq, .. } | What::Tombstone { seq, .. }, Fate::Goes) => What::Gone {
                first: *seq,
                last: *seq,
            },
            (What::Event(_), Fate::Goes) => {
                self.log.remove(&place);
                return;
            }
            _ => return,
        };
        if let What::Message { seq, .. } = &entry.what
            && let Some(places) = self.boxes.get_mut(&entry.of)
        {
            places.messages.remove(seq);
        }
        entry.what = what;
        self.merge(place);
    }

    /// Joins numbers of which nothing is left with those right before them, if nothing lies between.
    fn merge(&mut self, place: u64) {
        let Some((before, Entry { of, what })) = self.log.range(..place).next_back() else {
            return;
        };
        let Some(entry) = self.log.get(&place) else {
            return;
        };
        if let (
            What::Gone { first, last },
            What::Gone {
                first: next,
                last: end,
            },
        ) = (what, &entry.what)
            && *of == entry.of
            && last.next() == *next
        {
            let (before, what) = (
                *before,
                What::Gone {
                    first: *first,
                    last: *end,
                },
            );
            self.log.remove(&before);
            if let Some(entry) = self.log.get_mut(&place) {
                entry.what = what;
            }
        }
    }
}
