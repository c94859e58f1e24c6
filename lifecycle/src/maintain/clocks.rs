//! The clock of a pull request, its three boundaries, and the time of the nightly sweep (RFC, "Clocks").

use chrono::{DateTime, Days, LocalResult, NaiveDateTime, TimeDelta, TimeZone as _};
use chrono_tz::Tz;
use pulls::facts::Time;

use super::evidence::Evidence;
use super::settings::{AutoReview, Settings};

/// A boundary of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Day 7.
    Stale,
    /// Day 14.
    Park,
    /// Day 30.
    Close,
}

impl Rung {
    /// All three, the lowest first.
    pub const ALL: [Self; 3] = [Self::Stale, Self::Park, Self::Close];

    /// How long no person may do anything before it is reached. A day is 24 hours, whatever the local clock does.
    pub fn after(self, settings: &Settings) -> TimeDelta {
        match self {
            Self::Stale => settings.stale_after,
            Self::Park => settings.park_after,
            Self::Close => settings.close_after,
        }
    }
}

impl Evidence {
    /// How long no person did anything; never below zero, also where the clocks of two machines differ.
    pub fn idle(&self) -> TimeDelta {
        (self.now - self.activity.at).max(TimeDelta::zero())
    }

    /// Whether the clock states hold for it: it carries none of `STALE_EXEMPT_LABELS`.
    pub fn is_managed(&self, settings: &Settings) -> bool {
        let is_exempt = |label: &String| {
            settings
                .exempt_labels
                .iter()
                .any(|exempt| exempt.eq_ignore_ascii_case(label))
        };
        settings.exempt_labels.is_empty() || !self.labels.iter().any(is_exempt)
    }

    /// The highest boundary that its clock has passed.
    pub fn rung(&self, settings: &Settings) -> Option<Rung> {
        let idle = self.idle();
        Rung::ALL
            .into_iter()
            .rev()
            .find(|rung| idle >= rung.after(settings))
    }

    /// The next boundary that its clock will pass, and when.
    pub fn next_rung(&self, settings: &Settings) -> Option<(Rung, Time)> {
        let passes = |rung: Rung| self.activity.at.checked_add_signed(rung.after(settings));
        Rung::ALL
            .into_iter()
            .filter_map(|rung| Some((rung, passes(rung)?)))
            .find(|(_, at)| *at > self.now)
    }
}

impl AutoReview {
    /// When the next nightly sweep begins, strictly after a moment.
    ///
    /// The time of day is meant in the named zone. In a night that has no such time, since the clocks go forward,
    /// it is the first moment after the gap; in one that has it twice, the first of the two.
    ///
    /// ```
    /// use lifecycle::maintain::AutoReview;
    /// let sweep = AutoReview::default(); // 04:00 in Shanghai
    /// let next = sweep.next("2026-05-14T17:45:00Z".parse().unwrap());
    /// assert_eq!(next.to_rfc3339(), "2026-05-14T20:00:00+00:00");
    /// ```
    pub fn next(&self, after: Time) -> Time {
        let local = after.with_timezone(&self.zone).date_naive();
        // One day back, for a zone whose time of day is repeated; two ahead, since a date can be skipped whole.
        (-1..=2_i64)
            .filter_map(|days| {
                let date = match u64::try_from(days) {
                    Ok(ahead) => local.checked_add_days(Days::new(ahead)),
                    Err(_) => local.pred_opt(),
                }?;
                begins(self.zone, date.and_time(self.at))
            })
            .find(|at| *at > after)
            // Beyond the calendar there is no next night.
            .unwrap_or(Time::MAX_UTC)
    }

    /// When the sweep began in whose window a moment lies; `None` outside of every window.
    pub fn window_at(&self, now: Time) -> Option<Time> {
        let began = self.next(now.checked_sub_signed(self.window)?);
        (began <= now).then_some(began)
    }
}

/// The first moment at which a zone's clock shows a time or, where a gap swallows it, the end of the gap.
fn begins(zone: Tz, local: NaiveDateTime) -> Option<Time> {
    match zone.from_local_datetime(&local) {
        LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => Some(DateTime::to_utc(&at)),
        LocalResult::None => after_gap(zone, local),
    }
}

/// The end of the gap that a local time lies in, to the second.
fn after_gap(zone: Tz, local: NaiveDateTime) -> Option<Time> {
    /// Farther from Greenwich than any zone's clock, and longer than any gap: that of a zone that crossed the date
    /// line is a day.
    const FAR: TimeDelta = TimeDelta::hours(40);
    let shows = |at: Time| at.with_timezone(&zone).naive_local();
    // The clock shows less than the time before the gap and more after it.
    let mut before = local.and_utc().checked_sub_signed(FAR)?;
    let mut after = local.and_utc().checked_add_signed(FAR)?;
    while after - before > TimeDelta::seconds(1) {
        let middle = before + TimeDelta::seconds((after - before).num_seconds() / 2);
        match shows(middle) < local {
            true => before = middle,
            false => after = middle,
        }
    }
    Some(after)
}
