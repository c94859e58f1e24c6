//! A store that forgets everything with the process: for tests and for one-shot runs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::event::StampedEvent;
use crate::names::{Incarnation, MailboxName, Seq};
use crate::store::{Cursor, Epoch, Record, Store, StoreError, Stored, Write, Wrote};

/// Mailboxes in memory. The same log as a durable store's, with no file behind it. What is forgotten
/// is no longer read; its memory goes with the store.
#[derive(Debug, Default)]
pub struct MemoryStore {
    log: Vec<Entry>,
    /// Of each mailbox, the place in the log of each message.
    messages: BTreeMap<MailboxName, Vec<usize>>,
    epochs: BTreeMap<MailboxName, Epoch>,
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
        forgotten: bool,
    },
    Event(StampedEvent),
}

impl Entry {
    fn record(&self) -> Record<'_> {
        match &self.what {
            What::Message {
                seq,
                stored,
                forgotten: _,
            } => Record::Message {
                seq: *seq,
                head: stored.head(),
            },
            What::Event(event) => Record::Event(event.clone()),
        }
    }
}

impl Store for MemoryStore {
    async fn load(
        &mut self,
        after: Option<Cursor>,
        each: &mut (dyn FnMut(&MailboxName, Record<'_>) + Send),
    ) -> Result<Cursor, StoreError> {
        let from = after.map_or(0, |Cursor(at)| usize::try_from(at).unwrap_or(usize::MAX));
        for entry in self.log.iter().skip(from) {
            each(&entry.of, entry.record());
        }
        Ok(Cursor(self.log.len() as u64))
    }

    async fn commit(&mut self, group: &[Write]) -> Result<Vec<Wrote>, StoreError> {
        Ok(group.iter().map(|write| self.write(write)).collect())
    }

    async fn read(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<Vec<(Seq, Stored)>, StoreError> {
        let places = self.messages.get(of).map_or(&[][..], Vec::as_slice);
        let skip = usize::try_from(seqs.start().0.saturating_sub(1)).unwrap_or(usize::MAX);
        let found = places
            .iter()
            .skip(skip)
            .filter_map(|place| match &self.log[*place].what {
                What::Message {
                    seq,
                    stored,
                    forgotten: false,
                } => Some((*seq, Stored::clone(stored))),
                What::Message { .. } | What::Event(_) => None,
            })
            .take_while(|(seq, _)| seqs.contains(seq))
            .collect();
        Ok(found)
    }

    async fn forget(&mut self, of: &MailboxName, seqs: &[Seq]) -> Result<(), StoreError> {
        let places = self.messages.get(of).map_or(&[][..], Vec::as_slice);
        for seq in seqs {
            let Some(place) = seq
                .0
                .checked_sub(1)
                .and_then(|at| places.get(usize::try_from(at).ok()?))
            else {
                continue;
            };
            if let What::Message { forgotten, .. } = &mut self.log[*place].what {
                *forgotten = true;
            }
        }
        Ok(())
    }

    async fn own(&mut self, of: &MailboxName, _by: Incarnation) -> Result<Epoch, StoreError> {
        let epoch = self.epochs.entry(of.clone()).or_insert(Epoch(0));
        epoch.0 += 1;
        Ok(*epoch)
    }
}

impl MemoryStore {
    fn write(&mut self, write: &Write) -> Wrote {
        match write {
            Write::Message { to, stored } => {
                let places = self.messages.entry(to.clone()).or_default();
                places.push(self.log.len());
                let seq = Seq(places.len() as u64);
                let what = What::Message {
                    seq,
                    stored: Box::new(stored.clone()),
                    forgotten: false,
                };
                self.log.push(Entry { of: to.clone(), what });
                Wrote::Placed(seq)
            }
            Write::Event { of, under, event } => {
                if self.epochs.get(of) != Some(under) {
                    return Wrote::Fenced;
                }
                self.log.push(Entry {
                    of: of.clone(),
                    what: What::Event(event.clone()),
                });
                Wrote::Placed(event.seq)
            }
        }
    }
}
