//! What is known of each message by its number, in pages: a page of which nothing is left is dropped,
//! so that the memory follows what is kept and not what ever was.

use std::sync::Arc;

use crate::clock::Moment;
use crate::envelope::Standing;
use crate::event::{AckedBy, QuarantineCause};
use crate::names::Seq;

use super::mailbox::About;

/// Entries of one page: few pages for a million messages, and little lost where one entry of a page
/// outlives the others.
const PAGE: usize = 512;

/// How a message ended. Kept once for all messages that ended so.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ending {
    pub(crate) outcome: Arc<str>,
    pub(crate) by: AckedBy,
}

#[derive(Debug, Clone)]
pub(super) enum Entry {
    /// Unread, and nothing ever happened to it.
    Fresh {
        appended_at: Moment,
        about: Option<Box<About>>,
    },
    /// Unread; what happened to it is in [`MailboxIndex::touched`](super::MailboxIndex).
    Touched,
    Acked {
        ending: Arc<Ending>,
        at: Moment,
        attempts: u32,
    },
    Quarantined(Box<SetAside>),
    /// Its message and events are gone; its id is known, and what came of it.
    Pruned {
        ending: Arc<Ending>,
        appended_at: Moment,
    },
    /// Nothing of it is left but that its number was given.
    Gone,
}

impl Entry {
    /// How the message stands, if it is kept.
    pub(super) fn stands(&self) -> Option<Standing> {
        match self {
            Entry::Fresh { .. } | Entry::Touched => Some(Standing::Unread),
            Entry::Acked { .. } => Some(Standing::Acked),
            Entry::Quarantined(_) => Some(Standing::Quarantined),
            Entry::Pruned { .. } | Entry::Gone => None,
        }
    }
}

/// A message in quarantine, with what is needed to take it out again.
#[derive(Debug, Clone)]
pub(super) struct SetAside {
    pub(super) reason: Arc<str>,
    pub(super) cause: QuarantineCause,
    pub(super) at: Moment,
    pub(super) attempts: u32,
    pub(super) appended_at: Moment,
    pub(super) about: Option<Box<About>>,
}

/// The entries of one mailbox, by number from 1.
#[derive(Debug, Clone, Default)]
pub(super) struct Entries {
    count: u64,
    pages: Vec<Option<Page>>,
}

#[derive(Debug, Clone)]
struct Page {
    /// Those that are not gone.
    left: usize,
    entries: Vec<Entry>,
}

/// The page and the place in it.
fn place(seq: Seq) -> Option<(usize, usize)> {
    let at = usize::try_from(seq.0.checked_sub(1)?).ok()?;
    Some((at / PAGE, at % PAGE))
}

impl Entries {
    /// How many numbers were given.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn push(&mut self, entry: Entry) {
        if self.count.is_multiple_of(PAGE as u64) {
            // A small mailbox is kept small; one that is not will fill its pages.
            let room = if self.pages.is_empty() { 0 } else { PAGE };
            self.pages.push(Some(Page {
                left: 0,
                entries: Vec::with_capacity(room),
            }));
        }
        self.count += 1;
        let Some(page) = self.pages.last_mut() else { return };
        let Some(open) = page else { return };
        open.left += usize::from(!matches!(entry, Entry::Gone));
        open.entries.push(entry);
        if open.is_spent() {
            *page = None;
        }
    }

    /// The next so many numbers are gone.
    pub(super) fn push_gone(&mut self, count: u64) {
        let mut left = count;
        while left > 0 {
            if left >= PAGE as u64 && self.count.is_multiple_of(PAGE as u64) {
                self.pages.push(None);
                self.count += PAGE as u64;
                left -= PAGE as u64;
            } else {
                self.push(Entry::Gone);
                left -= 1;
            }
        }
    }

    /// `None` for a number that was not given or whose message is gone.
    pub(super) fn get(&self, seq: Seq) -> Option<&Entry> {
        let (page, within) = place(seq)?;
        let entry = self.pages.get(page)?.as_ref()?.entries.get(within)?;
        (!matches!(entry, Entry::Gone)).then_some(entry)
    }

    /// Puts another entry in the place of one that is not gone, and says which was there.
    pub(super) fn replace(&mut self, seq: Seq, entry: Entry) -> Option<Entry> {
        let (at, within) = place(seq)?;
        let slot = self.pages.get_mut(at)?;
        let page = slot.as_mut()?;
        let there = page.entries.get_mut(within)?;
        if matches!(there, Entry::Gone) {
            return None;
        }
        page.left -= usize::from(matches!(entry, Entry::Gone));
        let before = std::mem::replace(there, entry);
        if page.is_spent() {
            *slot = None;
        }
        Some(before)
    }

    /// What is not gone, from this number on, in order.
    pub(super) fn from(&self, seq: Seq) -> impl Iterator<Item = (Seq, &Entry)> {
        let (first, within) = place(seq).unwrap_or_default();
        let pages = self.pages.iter().enumerate().skip(first);
        pages.flat_map(move |(at, page)| {
            let skip = if at == first { within } else { 0 };
            let numbers = (at * PAGE) as u64 + 1..;
            let entries = page.iter().flat_map(|page| &page.entries);
            numbers
                .zip(entries)
                .skip(skip)
                .filter(|(_, entry)| !matches!(entry, Entry::Gone))
                .map(|(seq, entry)| (Seq(seq), entry))
        })
    }
}

impl Page {
    /// Nothing is left in it, and nothing will be added.
    fn is_spent(&self) -> bool {
        self.left == 0 && self.entries.len() == PAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_small() {
        assert!(size_of::<Entry>() <= 24, "{}", size_of::<Entry>());
    }

    #[test]
    fn pages_go_with_their_last_entry() {
        let mut entries = Entries::default();
        entries.push_gone(3);
        (0..2 * PAGE).for_each(|_| entries.push(Entry::Touched));
        entries.push_gone(5 * PAGE as u64);
        entries.push(Entry::Touched);
        assert_eq!(entries.count(), 7 * PAGE as u64 + 4);
        let kept = |entries: &Entries| entries.pages.iter().flatten().count();
        assert_eq!(kept(&entries), 4, "two, the ends of a third, and the last");

        let open: Vec<u64> = entries.from(Seq(2)).map(|(seq, _)| seq.0).collect();
        let expected: Vec<u64> = (4..2 * PAGE as u64 + 4).chain([7 * PAGE as u64 + 4]).collect();
        assert_eq!(open, expected);

        for seq in 4..2 * PAGE as u64 {
            assert!(entries.replace(Seq(seq), Entry::Gone).is_some());
            assert!(entries.replace(Seq(seq), Entry::Gone).is_none());
            assert!(entries.get(Seq(seq)).is_none());
        }
        assert_eq!(
            kept(&entries),
            3,
            "the first is gone, of the second one entry is left"
        );
        assert!(entries.get(Seq(2 * PAGE as u64)).is_some());
        assert!(entries.get(Seq(0)).is_none());
        assert!(entries.get(Seq::MAX).is_none());
    }
}
