//! Messages that are too old to be taken in from a file that is read from its beginning.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Duration;

use super::account::Account;
use super::folder::Folder;
use super::lines::{self, IdKey, ack_key};
use super::series::{Positions, Series};
use super::{ACKS, Found, MirrorError, Place};
use crate::clock::Moment;
use crate::message::Message;
use crate::names::MailboxName;

/// How far the clock of a sender may be ahead: what a message says of its time is older than it says by no more.
const AHEAD: Duration = Duration::from_secs(60 * 60);

/// Whether the messages of a file are news, by how old they say that they are.
#[derive(Debug)]
pub(super) struct Age<'m> {
    pub(super) name: &'m MailboxName,
    pub(super) folder: &'m Folder,
    pub(super) now: Moment,
    pub(super) horizon: Duration,
    /// Whether the mailbox is filled from the file: it has forgotten none.
    pub(super) anew: bool,
    /// Set where a message is news for that alone.
    pub(super) needs_anew: &'m mut bool,
    pub(super) skipped: &'m mut Skipped,
    /// What is acked in the files, once it was looked up.
    pub(super) acked: Option<HashSet<IdKey>>,
}

impl Age<'_> {
    pub(super) fn is_news(&mut self, message: &Message, at: &Place, found: Found) -> bool {
        let age = self.now.after(AHEAD).since(Moment::from(message.ts()));
        if found == Found::New || age < self.horizon {
            return true;
        }
        if self.anew {
            *self.needs_anew = true;
            return true;
        }
        let folder = self.folder;
        // Where they cannot be read, the round says so by itself.
        let acked = self
            .acked
            .get_or_insert_with(|| acked(folder).unwrap_or_default());
        if !acked.contains(&ack_key(self.name.as_str(), message.msg_id())) {
            self.skipped.add(at);
        }
        false
    }
}

/// Those of one file that nobody acked, as far as the files tell.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    first: Option<Place>,
    count: u64,
}

impl Skipped {
    /// One more.
    pub(super) fn add(&mut self, at: &Place) {
        self.first.get_or_insert_with(|| at.clone());
        self.count += 1;
    }

    /// The first and how many there are, once.
    pub(super) fn take(&mut self) -> Option<(Place, u64)> {
        let Skipped { first, count } = std::mem::take(self);
        first.map(|first| (first, count))
    }
}

/// What is acked in the files of the folder, each ack by what its line is known by.
fn acked(folder: &Folder) -> Result<HashSet<IdKey>, MirrorError> {
    let keys = RefCell::new(HashSet::new());
    let mut account = Account::of(Series::new(folder.file(ACKS), Positions::new()));
    account.series.look()?;
    loop {
        let keep = |line: &[u8]| {
            let parsed = lines::ack(line);
            keys.borrow_mut().extend(parsed.iter().map(|(key, _)| *key));
            parsed
        };
        // Whatever else is in the files is told by whoever reads them to take it in.
        if account.read(&mut Vec::new(), keep, |_, _, _| None)? {
            return Ok(keys.into_inner());
        }
    }
}
