//! Until when a turn may run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mailbox::{Clock, Moment};

/// Until when a turn may run. Progress moves it; whoever watches the turn reads it.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: AtomicU64,
    each: Duration,
}

impl Deadline {
    pub(crate) fn new(now: Moment, each: Duration) -> Arc<Self> {
        Arc::new(Self {
            at: AtomicU64::new(now.after(each).as_millis()),
            each,
        })
    }

    pub(crate) fn at(&self) -> Moment {
        Moment::from_millis(self.at.load(Ordering::Relaxed))
    }

    pub(crate) fn each(&self) -> Duration {
        self.each
    }

    pub(crate) fn move_on(&self, now: Moment) {
        self.at
            .fetch_max(now.after(self.each).as_millis(), Ordering::Relaxed);
    }

    /// Completes when the deadline has come and was not moved meanwhile.
    pub(crate) async fn missed(&self, clock: &dyn Clock) {
        while clock.now() < self.at() {
            clock.sleep_until(self.at()).await;
        }
    }
}
