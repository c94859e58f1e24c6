//! Restart intensity, as in OTP: how often an actor may be restarted before it is down. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use mailbox::Moment;

/// The limits of one actor's restarts (contract, section 3, "Supervision").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// More charged failures than these within the window take the actor down.
    pub max_restarts: u32,
    /// The window. Time spent in backoff is not counted, or a backoff longer than the window would hide a loop.
    pub restart_window: Duration,
    /// How long the first restart in a row waits; each one after it waits twice as long.
    pub backoff_base: Duration,
    /// The longest wait before a restart.
    pub backoff_cap: Duration,
    /// How long an actor is down before it is tried again: once, until a turn succeeds (see [`Intensity`]).
    pub cool_off: Duration,
}

impl Default for Limits {
    /// 5 in 60 s, backing off from 100 ms to 30 s, down for 10 min.
    fn default() -> Self {
        Self {
            max_restarts: 5,
            restart_window: Duration::from_secs(60),
            backoff_base: Duration::from_millis(100),
            backoff_cap: Duration::from_secs(30),
            cool_off: Duration::from_secs(600),
        }
    }
}

/// What ended an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It could not be built.
    Start,
    /// Its turn failed without explanation, on the message's first delivery or on a takt.
    FirstDelivery,
    /// Its turn failed without explanation on a later delivery, which the message's attempts pay for.
    LaterDelivery,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Build it anew after this long.
    Restart {
        /// The backoff, jitter included.
        after: Duration,
    },
    /// Leave it down, and try again then.
    Down {
        /// When.
        until: Moment,
    },
}

/// One actor's restarts.
///
/// After its cool-off an actor is on trial: until a turn succeeds, one charged failure takes it down again, where at
/// first it took several. Each of those would cost another message an attempt, and has shown before what it would
/// show (`docs/decisions/cool-off.md`).
///
/// ```
/// use runtime::{Decision, Exit, Intensity, Limits};
/// let now = mailbox::Moment::from_millis(1_000_000);
/// let mut intensity = Intensity::new(Limits { max_restarts: 1, ..Limits::default() });
/// let goes_down = |decision| matches!(decision, Decision::Down { .. });
/// assert!(!goes_down(intensity.ended(Exit::Start, false, now, 0.0)));
/// assert!(goes_down(intensity.ended(Exit::Start, false, now, 0.0)));
/// // Cooled off, it is tried once.
/// assert!(goes_down(intensity.ended(Exit::Start, false, now, 0.0)));
/// ```
#[derive(Clone, Debug)]
pub struct Intensity {
    limits: Limits,
    /// It was down, and no turn succeeded since.
    on_trial: bool,
    /// The charged failures, in the actor's own time: the clock less what it spent in backoff.
    charged: VecDeque<Moment>,
    backed_off: Duration,
    /// Restarts since a turn last succeeded.
    in_a_row: u32,
}

impl Intensity {
    /// No restarts yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            on_trial: false,
            charged: VecDeque::new(),
            backed_off: Duration::ZERO,
            in_a_row: 0,
        }
    }

    /// A turn succeeded.
    pub fn succeeded(&mut self) {
        self.in_a_row = 0;
        self.on_trial = false;
    }

    /// Another unit of the actor's WIP has had a turn that succeeded since the actor was down: it is no longer on
    /// trial.
    pub fn stood_its_trial(&mut self) {
        self.on_trial = false;
    }

    /// The actor ended at `now`, with or without a turn that `succeeded` since it was last started. `jitter` in
    /// [0, 1) spreads restarts that would else fall together.
    ///
    /// Charged is a failure to start, always, and a first delivery after which nothing succeeded: an actor that
    /// gets work done between failures is not in a loop.
    pub fn ended(&mut self, exit: Exit, succeeded: bool, now: Moment, jitter: f64) -> Decision {
        let charge = match exit {
            Exit::Start => true,
            Exit::FirstDelivery => !succeeded,
            Exit::LaterDelivery => false,
        };
        if charge {
            let own_time = Moment::from_millis(
                now.as_millis()
                    .saturating_sub(u64::try_from(self.backed_off.as_millis()).unwrap_or(u64::MAX)),
            );
            self.charged.push_back(own_time);
            while self
                .charged
                .front()
                .is_some_and(|at| own_time.since(*at) > self.limits.restart_window)
            {
                self.charged.pop_front();
            }
            if self.on_trial || self.charged.len() > self.limits.max_restarts as usize {
                *self = Self {
                    on_trial: true,
                    ..Self::new(self.limits)
                };
                return Decision::Down {
                    until: now.after(self.limits.cool_off),
                };
            }
        }
        let after = self.backoff(jitter);
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.backed_off += after;
        Decision::Restart { after }
    }

    /// Half of the doubled base is certain, the other half is jitter.
    fn backoff(&self, jitter: f64) -> Duration {
        let doubled = self
            .limits
            .backoff_base
            .saturating_mul(2_u32.saturating_pow(self.in_a_row));
        doubled
            .min(self.limits.backoff_cap)
            .mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u64) -> Moment {
        Moment::from_millis(seconds * 1000)
    }

    /// Feeds (exit, succeeded since the last start, second) and returns which of them took the actor down.
    fn downs(exits: &[(Exit, bool, u64)]) -> Vec<usize> {
        let limits = Limits {
            backoff_base: Duration::ZERO,
            ..Limits::default()
        };
        let mut intensity = Intensity::new(limits);
        let mut down = |(exit, succeeded, second): (Exit, bool, u64)| {
            if succeeded {
                intensity.succeeded();
            }
            matches!(
                intensity.ended(exit, succeeded, at(second), 0.0),
                Decision::Down { .. }
            )
        };
        exits
            .iter()
            .enumerate()
            .filter_map(|(n, exit)| down(*exit).then_some(n))
            .collect()
    }

    #[test]
    fn more_than_five_charged_within_the_window_is_down() {
        let check = |exits: Vec<(Exit, bool, u64)>, expected: &[usize]| {
            assert_eq!(downs(&exits), expected, "{exits:?}");
        };
        check(vec![(Exit::FirstDelivery, false, 0); 5], &[]);
        check(vec![(Exit::FirstDelivery, false, 0); 6], &[5]);
        check(vec![(Exit::Start, false, 0); 6], &[5]);
        check(vec![(Exit::Start, true, 0); 6], &[5]);
        check(vec![(Exit::FirstDelivery, true, 0); 100], &[]);
        check(vec![(Exit::LaterDelivery, false, 0); 100], &[]);
        // At the very edge of the window a failure counts, beyond it no more.
        check((0..6).map(|n| (Exit::Start, false, n * 12)).collect(), &[5]);
        check((0..60).map(|n| (Exit::Start, false, n * 13)).collect(), &[]);
    }

    #[test]
    fn after_its_cool_off_an_actor_is_tried_once_until_a_turn_succeeds() {
        let check = |after: &[(Exit, bool)], expected: &[usize]| {
            let mut exits = vec![(Exit::Start, false, 0); 6];
            exits.extend(after.iter().map(|(exit, succeeded)| (*exit, *succeeded, 600)));
            assert_eq!(downs(&exits), expected, "{after:?}");
        };
        check(&[(Exit::Start, false); 3], &[5, 6, 7, 8]);
        check(&[(Exit::FirstDelivery, false)], &[5, 6]);
        // What the message's attempts pay for is no trial that failed.
        check(
            &[(Exit::LaterDelivery, false), (Exit::FirstDelivery, false)],
            &[5, 7],
        );
        // A success in between, and the count begins anew.
        check(&[(Exit::FirstDelivery, true); 3], &[5]);
        let mut anew = vec![(Exit::LaterDelivery, true)];
        anew.extend([(Exit::FirstDelivery, false); 6]);
        check(&anew, &[5, 12]);
    }

    #[test]
    fn a_clock_that_stands_still_or_a_message_that_kills_changes_nothing_of_that() {
        let mut mixed = vec![(Exit::LaterDelivery, false, 0); 50];
        mixed.extend(vec![(Exit::FirstDelivery, false, 0); 6]);
        assert_eq!(downs(&mixed), [55]);
    }

    #[test]
    fn the_time_in_backoff_does_not_count() {
        // Waits of 30 s and more would else put every failure into a window of its own.
        let limits = Limits {
            backoff_base: 40 * SECOND,
            backoff_cap: 40 * SECOND,
            ..Limits::default()
        };
        let mut intensity = Intensity::new(limits);
        let mut now = at(0);
        let mut restarts = 0;
        let until = loop {
            match intensity.ended(Exit::Start, false, now, 0.5) {
                Decision::Restart { after } => now = now.after(after),
                Decision::Down { until } => break until,
            }
            restarts += 1;
        };
        assert_eq!(restarts, 5);
        assert_eq!(until, now.after(600 * SECOND));
    }

    #[test]
    fn backoff_doubles_up_to_its_cap_and_starts_over_after_a_success() {
        let mut intensity = Intensity::new(Limits::default());
        let wait = |intensity: &mut Intensity, jitter| match intensity.ended(
            Exit::LaterDelivery,
            false,
            at(0),
            jitter,
        ) {
            Decision::Restart { after } => after.as_millis(),
            Decision::Down { .. } => unreachable!("later deliveries are not charged"),
        };
        let waits: Vec<_> = (0..10).map(|_| wait(&mut intensity, 1.0)).collect();
        assert_eq!(
            waits,
            [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000]
        );
        intensity.succeeded();
        assert_eq!(wait(&mut intensity, 0.0), 50);
        assert_eq!(wait(&mut intensity, 0.5), 150);
    }
}
