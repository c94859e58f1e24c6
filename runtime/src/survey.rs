//! The overview: what every actor does, what the mailboxes hold, and what a person must look at.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mailbox::{MailboxError, MailboxStatus, Mailboxes};
use tokio::sync::watch;

use crate::ailing::Asked;
use crate::attention::{Attention, RefusedByStore, Seen, Watermarks, attention};
use crate::roster::{Guarded, Plant, Roster, supervised};
use crate::status::{self, Overview};

/// How often the overview is derived though nothing was reported: ages grow by themselves.
pub(crate) const OBSERVE_EVERY: Duration = Duration::from_secs(5);

/// Derives the overview, and says what changed in it.
#[derive(Clone)]
pub(crate) struct Surveyor {
    pub(crate) plant: Arc<Plant>,
    pub(crate) roster: Roster,
    pub(crate) overview: Arc<watch::Sender<Arc<Overview>>>,
    pub(crate) unread_limit: Duration,
    pub(crate) watermarks: Watermarks,
    /// What the mailboxes held when they last said so.
    pub(crate) counted: Arc<Guarded<Vec<MailboxStatus>>>,
    /// Of two surveys side by side the one that began last has the last word.
    pub(crate) turns: Arc<Turns>,
}

/// In which order surveys began.
#[derive(Default)]
pub(crate) struct Turns {
    begun: AtomicU64,
    /// The newest that has had its word.
    told: AtomicU64,
}

impl Turns {
    fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether nobody who began later has had their word. Asked under the lock of the overview.
    fn is_newest(&self, turn: u64) -> bool {
        self.told.fetch_max(turn, Ordering::SeqCst) < turn
    }
}

impl Surveyor {
    /// Derives it whenever supervision changes something, and every now and then.
    pub(crate) async fn observe(self) {
        let mut changed = self.plant.changed.subscribe();
        loop {
            if let Err(error) = self.survey().await {
                tracing::debug!("no overview: {}", crate::actor::chain(&error));
            }
            tokio::select! {
                // The sender lives in the plant, which this task keeps: the channel cannot close.
                _ = changed.changed() => {}
                () = self.plant.clock().sleep_until(self.plant.now().after(OBSERVE_EVERY)) => {}
            }
        }
    }

    pub(crate) fn mailboxes(&self) -> &Mailboxes {
        &self.plant.mailboxes
    }

    /// What the mailboxes hold; while they do not answer, what they held.
    async fn count(&self) -> Result<Vec<MailboxStatus>, MailboxError> {
        match self.plant.mailboxes.status().await {
            Ok(counted) => {
                self.plant.did(Asked::Look);
                self.counted.lock().clone_from(&counted);
                Ok(counted)
            }
            Err(error @ MailboxError::Store(_)) => {
                self.plant.refused(Asked::Look, &error);
                Ok(self.counted.lock().clone())
            }
            Err(error) => Err(error),
        }
    }

    /// Derives it now.
    ///
    /// # Errors
    ///
    /// When the mailboxes are closed. While they fail it shows what they last held, and says so.
    pub(crate) async fn survey(&self) -> Result<Arc<Overview>, MailboxError> {
        let turn = self.turns.begin();
        let mailboxes = self.count().await?;
        let now = self.plant.now();
        let refused = self.plant.trouble().map(|trouble| RefusedByStore {
            since: trouble.since,
            why: crate::actor::chain(&trouble.error),
        });
        let registry = &self.plant.surroundings.registry;
        let declared = registry
            .actors()
            .map(|name| (name, registry.intents(name).unwrap_or_default()));
        let actors = status::actors(declared, &supervised(&self.roster, now), &mailboxes);
        let told = self.plant.surroundings.told.all();
        let mut overview = Arc::<Overview>::default();
        self.overview.send_if_modified(|current| {
            if !self.turns.is_newest(turn) {
                overview = Arc::clone(current);
                return false;
            }
            let seen = Seen {
                now,
                actors: &actors,
                mailboxes: &mailboxes,
                unread_limit: self.unread_limit,
                watermarks: self.watermarks,
                refused: refused.as_ref(),
                told: &told,
            };
            let attention = attention(&seen, &current.attention);
            say_changes(&current.attention, &attention);
            *current = Arc::new(Overview { actors, attention });
            overview = Arc::clone(current);
            true
        });
        Ok(overview)
    }
}

/// One log event for each thing that a person must look at from now on, and one for each that is over.
fn say_changes(before: &[Attention], after: &[Attention]) {
    let keys = |list: &[Attention]| list.iter().map(|one| one.key.clone()).collect::<BTreeSet<_>>();
    let (had, has) = (keys(before), keys(after));
    for new in after.iter().filter(|new| !had.contains(&new.key)) {
        tracing::warn!(key = %new.key, mend = %new.mend, "attention: {}", new.text);
    }
    for over in had.difference(&has) {
        tracing::info!(key = %over, "attention is over");
    }
}
