//! Telling others that a mailbox changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::names::MailboxName;

/// The writer's side.
#[derive(Debug, Clone, Default)]
pub(crate) struct Announcer(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    revision: watch::Sender<u64>,
    /// When each mailbox changed last, by revision.
    changed: Mutex<BTreeMap<MailboxName, u64>>,
}

impl Announcer {
    pub(crate) fn announce<'a>(&self, names: impl Iterator<Item = &'a MailboxName>) {
        let mut names = names.peekable();
        if names.peek().is_none() {
            return;
        }
        let next = *self.0.revision.borrow() + 1;
        {
            let mut changed = self.0.changed.lock().unwrap_or_else(PoisonError::into_inner);
            for name in names {
                match changed.get_mut(name) {
                    Some(revision) => *revision = next,
                    None => {
                        changed.insert(name.clone(), next);
                    }
                }
            }
        }
        self.0.revision.send_replace(next);
    }

    pub(crate) fn subscribe(&self) -> Changes {
        let revision = self.0.revision.subscribe();
        let seen = *revision.borrow();
        Changes {
            shared: Arc::clone(&self.0),
            revision,
            seen,
        }
    }
}

/// A subscription to changes. Nothing is lost while nobody looks: changes of one mailbox merge into
/// one.
#[derive(Debug)]
pub struct Changes {
    shared: Arc<Shared>,
    revision: watch::Receiver<u64>,
    seen: u64,
}

impl Changes {
    /// Waits until something changed since the last call, or since the subscription, and names the
    /// mailboxes. Cancel-safe.
    pub async fn changed(&mut self) -> Vec<MailboxName> {
        let seen = self.seen;
        // The sender lives in `shared`, which this value keeps: the channel cannot close.
        let observed = self
            .revision
            .wait_for(|revision| *revision > seen)
            .await
            .map(|revision| *revision);
        let changed = self.shared.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let names = changed
            .iter()
            .filter(|(_, at)| **at > seen)
            .map(|(name, _)| name.clone())
            .collect();
        // What came after the revision that was seen is named now, and once more then.
        self.seen = observed.unwrap_or(seen);
        names
    }
}
