//! What is kept and what is pruned (contract, section 3, rules 2 and 8).
//!
//! An acked message is kept for [`Policy::keep`](crate::Policy::keep), or `keep_brief`; then its
//! message and events go, and until the dedupe horizon a tombstone keeps its id and outcome. What is
//! unread or in quarantine stays for ever. A [`Pass`] goes through the log once, a step at a time, and
//! can be given up after any step: the log is whole in between.

use std::collections::{HashMap, HashSet};

use super::{Entry, Index, Key, MailboxIndex};
use crate::clock::Moment;
use crate::event::AckedBy;
use crate::names::{MailboxName, Seq};
use crate::store::{Cursor, Fate, Record, Store, StoreError};

/// One going through the log, from its beginning to its end.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    now: Moment,
    from: Option<Cursor>,
    pruned: u64,
}

impl Pass {
    /// Prunes what is no longer to be kept as of `now`.
    pub fn new(now: Moment) -> Pass {
        Pass {
            now,
            from: None,
            pruned: 0,
        }
    }

    /// How many messages it has pruned so far.
    pub fn pruned(&self) -> u64 {
        self.pruned
    }
}

/// What pruning would find, over all mailboxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Records that could go.
    pub due: u64,
    /// Messages that are kept.
    pub kept: u64,
}

/// One step of a pass: some records of the log are looked at, and those that are due are taken out of
/// it and, once that is durable, out of the index. Says whether there is more to do.
///
/// # Errors
/// When the store fails. The index is to be loaded again then, like after any failed write.
pub async fn prune<S: Store>(store: &mut S, index: &mut Index, pass: &mut Pass) -> Result<bool, StoreError> {
    let mut step = Step {
        index,
        now: pass.now,
        buried: Vec::new(),
        gone: Vec::new(),
        doomed: HashMap::new(),
    };
    let next = store
        .prune(pass.from, &mut |of, record| step.fate(of, record))
        .await?;
    let Step { buried, gone, .. } = step;
    let before = index.pruned();
    for (of, seq, appended_at) in buried {
        index.mailbox_mut(&of).buried(seq, appended_at);
    }
    for (of, seq, id) in gone {
        index.mailbox_mut(&of).gone(seq, id);
    }
    pass.pruned += index.pruned() - before;
    pass.from = next;
    if next.is_none() {
        for mailbox in index.boxes.values_mut() {
            mailbox.tidy(pass.now);
        }
        index.endings.tidy();
    }
    Ok(next.is_some())
}

/// What one step decides. The index moves on only when the store has.
struct Step<'a> {
    index: &'a Index,
    now: Moment,
    buried: Vec<(MailboxName, Seq, Moment)>,
    gone: Vec<(MailboxName, Seq, Key)>,
    /// The messages that this step takes away.
    doomed: HashMap<MailboxName, HashSet<Seq>>,
}

impl Step<'_> {
    fn fate(&mut self, of: &MailboxName, record: &Record<'_>) -> Fate {
        let Some(mailbox) = self.index.mailbox(of) else {
            return Fate::Stays;
        };
        match record {
            Record::Message { seq, head } => {
                let fate = mailbox.fate(*seq, head.appended_at, self.now);
                match fate {
                    Fate::Stays => return fate,
                    Fate::Tombstone { .. } => self.buried.push((of.clone(), *seq, head.appended_at)),
                    Fate::Goes => self.gone.push((of.clone(), *seq, self.index.keys.of(&[head.id]))),
                }
                match self.doomed.get_mut(of) {
                    Some(doomed) => doomed.insert(*seq),
                    None => self.doomed.entry(of.clone()).or_default().insert(*seq),
                };
                fate
            }
            Record::Tombstone {
                seq, id, appended_at, ..
            } => {
                if self.now.since(*appended_at) < mailbox.policy.dedupe_horizon {
                    return Fate::Stays;
                }
                self.gone.push((of.clone(), *seq, self.index.keys.of(&[id])));
                Fate::Goes
            }
            // An event goes with its message or after it, and never before: without its ack a message
            // would be unread again.
            Record::Event(event) => {
                let doomed = self.doomed.get(of).is_some_and(|seqs| seqs.contains(&event.seq));
                if doomed || !mailbox.is_kept(event.seq) {
                    Fate::Goes
                } else {
                    Fate::Stays
                }
            }
            Record::Gone { .. } => Fate::Stays,
        }
    }
}

impl Index {
    /// How many messages are no longer kept.
    fn pruned(&self) -> u64 {
        self.boxes.values().map(|mailbox| mailbox.pruned).sum()
    }

    /// What pruning would find as of `now`. It looks at every entry once.
    pub fn backlog(&self, now: Moment) -> Backlog {
        let mut backlog = Backlog::default();
        for mailbox in self.boxes.values() {
            backlog.due += mailbox.dangling;
            for (_, entry) in mailbox.entries.from(Seq::FIRST) {
                backlog.kept += u64::from(entry.stands().is_some());
                backlog.due += u64::from(mailbox.is_due(entry, now));
            }
        }
        backlog
    }

    /// The latest time in the log.
    pub fn latest(&self) -> Moment {
        self.latest
    }
}

impl MailboxIndex {
    fn fate(&self, seq: Seq, appended_at: Moment, now: Moment) -> Fate {
        match self.entries.get(seq) {
            Some(entry @ Entry::Acked { ending, .. }) if self.is_due(entry, now) => {
                if now.since(appended_at) < self.policy.dedupe_horizon {
                    let outcome = ending.outcome.clone();
                    Fate::Tombstone { outcome }
                } else {
                    Fate::Goes
                }
            }
            _ => Fate::Stays,
        }
    }

    fn is_due(&self, entry: &Entry, now: Moment) -> bool {
        match entry {
            Entry::Acked { ending, at, .. } => {
                let keep = match ending.by {
                    AckedBy::Policy => self.policy.keep_brief,
                    // What was finished is compared with what comes later for that long.
                    _ => self.policy.keep.max(self.policy.unchanged_for),
                };
                now.since(*at) >= keep
            }
            Entry::Pruned { appended_at, .. } => now.since(*appended_at) >= self.policy.dedupe_horizon,
            Entry::Fresh { .. } | Entry::Touched | Entry::Quarantined(_) | Entry::Gone => false,
        }
    }
}
