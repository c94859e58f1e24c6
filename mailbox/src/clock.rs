//! Time as the mailboxes count it.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A moment, in milliseconds since the Unix epoch as the process counts them: the wall clock when
/// the clock was made, plus the monotonic time since. A jump of the wall clock during a run moves
/// no lease and no backoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(u64);

impl Moment {
    /// The Unix epoch.
    pub const EPOCH: Moment = Moment(0);

    /// The moment this many milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Moment {
        Moment(millis)
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The moment `by` later; the end of time instead of an overflow.
    pub fn after(self, by: Duration) -> Moment {
        Moment(
            self.0
                .saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero when it is not.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl From<DateTime<Utc>> for Moment {
    /// A time before the epoch is the epoch.
    fn from(time: DateTime<Utc>) -> Moment {
        Moment(u64::try_from(time.timestamp_millis()).unwrap_or(0))
    }
}

impl From<Moment> for DateTime<Utc> {
    /// A moment beyond the calendar is the calendar's last.
    fn from(moment: Moment) -> DateTime<Utc> {
        i64::try_from(moment.0)
            .ok()
            .and_then(DateTime::from_timestamp_millis)
            .unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

/// A future that a [`Clock`] hands out.
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What time it is, and waiting for a later one.
pub trait Clock: Send + Sync + 'static {
    /// The present moment. Never goes back.
    fn now(&self) -> Moment;

    /// Completes when [`Clock::now`] is at or after `until`.
    fn sleep_until(&self, until: Moment) -> Sleep<'_>;
}

/// The real clock: wall time at its making, monotonic from there on.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    wall: Moment,
    start: Instant,
}

impl SystemClock {
    /// A clock that reads the wall clock now and never again.
    pub fn start() -> SystemClock {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        SystemClock {
            wall: Moment::EPOCH.after(wall),
            start: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::start()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        self.wall.after(self.start.elapsed())
    }

    fn sleep_until(&self, until: Moment) -> Sleep<'_> {
        Box::pin(async move {
            loop {
                let left = until.since(self.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left).await;
            }
        })
    }
}

/// A clock that stands still until it is told to move: for tests and pinned runs.
///
/// ```
/// use std::time::Duration;
/// use mailbox::{Clock, ManualClock, Moment};
/// let clock = ManualClock::at(Moment::from_millis(1_000));
/// clock.advance(Duration::from_secs(2));
/// assert_eq!(clock.now(), Moment::from_millis(3_000));
/// ```
#[derive(Debug)]
pub struct ManualClock {
    now: watch::Sender<Moment>,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn at(now: Moment) -> ManualClock {
        ManualClock {
            now: watch::Sender::new(now),
        }
    }

    /// Moves the clock forward and wakes whoever waited for that.
    pub fn advance(&self, by: Duration) {
        self.now.send_modify(|now| *now = now.after(by));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        *self.now.borrow()
    }

    fn sleep_until(&self, until: Moment) -> Sleep<'_> {
        let mut now = self.now.subscribe();
        Box::pin(async move {
            // The sender lives in `self`, which the future borrows: the channel cannot close.
            let _ = now.wait_for(|now| *now >= until).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_calendar_times_convert() {
        let time: DateTime<Utc> = "2026-05-14T17:45:00.250Z".parse().unwrap();
        let moment = Moment::from(time);
        assert_eq!(moment.as_millis(), 1_778_780_700_250);
        assert_eq!(DateTime::<Utc>::from(moment), time);
        assert_eq!(
            DateTime::<Utc>::from(Moment::from_millis(u64::MAX)),
            DateTime::<Utc>::MAX_UTC
        );
        assert_eq!(Moment::from(DateTime::<Utc>::MIN_UTC), Moment::EPOCH);
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(
            Moment::from_millis(u64::MAX).after(Duration::MAX),
            Moment::from_millis(u64::MAX)
        );
        assert_eq!(Moment::EPOCH.since(Moment::from_millis(5)), Duration::ZERO);
    }

    #[tokio::test]
    async fn a_manual_clock_wakes_its_sleepers() {
        let clock = ManualClock::at(Moment::from_millis(10));
        clock.sleep_until(Moment::from_millis(10)).await;
        let later = clock.sleep_until(Moment::from_millis(20));
        tokio::join!(later, async { clock.advance(Duration::from_millis(10)) });
        assert_eq!(clock.now(), Moment::from_millis(20));
    }
}
