//! A range of time, and the days and moments in it that a series has values for.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use mailbox::Moment;

/// The most days that a series shows, the latest ones: more than anything is kept by default (90 days), and as
/// many as a plot can tell apart.
pub const MAX_DAYS: i64 = 400;

/// The most moments that a series has values for: as many as a plot can tell apart.
const MAX_SAMPLES: i64 = 200;

/// The steps between such moments, in hours.
const STEPS: [i64; 8] = [1, 2, 3, 6, 12, 24, 36, 48];

/// From one moment on, up to another and without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    since: DateTime<Utc>,
    until: DateTime<Utc>,
}

/// Why there is no such range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing lies between {since} and {until}")]
pub struct EmptyRange {
    since: DateTime<Utc>,
    until: DateTime<Utc>,
}

impl Range {
    /// The range from `since` on, before `until`.
    ///
    /// # Errors
    /// When `until` is not later.
    pub fn new(since: DateTime<Utc>, until: DateTime<Utc>) -> Result<Self, EmptyRange> {
        if since < until {
            Ok(Self { since, until })
        } else {
            Err(EmptyRange { since, until })
        }
    }

    /// Its first moment.
    pub fn since(&self) -> DateTime<Utc> {
        self.since
    }

    /// The first moment after it.
    pub fn until(&self) -> DateTime<Utc> {
        self.until
    }

    /// Whether a moment lies in it.
    pub fn has(&self, at: DateTime<Utc>) -> bool {
        self.since <= at && at < self.until
    }

    /// Whether a moment of the mailboxes lies in it.
    pub(crate) fn has_moment(&self, at: Moment) -> bool {
        self.has(at.into())
    }

    /// Its days in UTC, the last [`MAX_DAYS`] of them, in order.
    pub(crate) fn days(&self) -> Vec<NaiveDate> {
        let last = (self.until - TimeDelta::milliseconds(1)).date_naive();
        let earliest = last.checked_sub_signed(TimeDelta::days(MAX_DAYS - 1));
        let first = self.since.date_naive().max(earliest.unwrap_or(NaiveDate::MIN));
        first.iter_days().take_while(|day| *day <= last).collect()
    }

    /// Moments at equal distances, the last one being its end.
    pub(crate) fn samples(&self) -> Samples {
        let span = self.until - self.series_from();
        let wanted = STEPS.iter().find(|step| span.num_hours() / **step < MAX_SAMPLES);
        let step = TimeDelta::hours(*wanted.unwrap_or(&48));
        let count = span.num_milliseconds() / step.num_milliseconds() + 1;
        Samples {
            first: self.until - step * i32::try_from(count - 1).expect("at most MAX_SAMPLES"),
            step,
            count: usize::try_from(count).expect("at least one"),
        }
    }

    fn series_from(&self) -> DateTime<Utc> {
        let earliest = self
            .until
            .checked_sub_signed(TimeDelta::days(MAX_DAYS - 1))
            .unwrap_or(self.since);
        self.since.max(earliest)
    }
}

/// Moments at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Samples {
    first: DateTime<Utc>,
    step: TimeDelta,
    count: usize,
}

impl Samples {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn at(&self, index: usize) -> DateTime<Utc> {
        self.first + self.step * i32::try_from(index).unwrap_or(i32::MAX)
    }

    /// The moments from `from` on and before `to`, by their places.
    pub(crate) fn between(&self, from: DateTime<Utc>, to: Option<DateTime<Utc>>) -> std::ops::Range<usize> {
        let begin = self.first_from(from);
        let end = to.map_or(self.count, |to| self.first_from(to));
        begin..end.max(begin)
    }

    /// The moments whose step, which ends with them, has something of the time from `from` on and before `to`.
    pub(crate) fn touched(&self, from: DateTime<Utc>, to: Option<DateTime<Utc>>) -> std::ops::Range<usize> {
        // A step has its end and not its beginning; what ends with its beginning is not in it.
        let last = to.map_or(self.count, |to| {
            match (to - self.first + self.step).num_milliseconds() {
                ..=0 => 0,
                _ => (self.first_from(to) + 1).min(self.count),
            }
        });
        let begin = self.first_from(from);
        begin..last.max(begin)
    }

    /// The place of the first moment that is not before `at`.
    fn first_from(&self, at: DateTime<Utc>) -> usize {
        let (ahead, step) = ((at - self.first).num_milliseconds(), self.step.num_milliseconds());
        let place = ahead.max(0).div_euclid(step) + i64::from(ahead.max(0) % step != 0);
        usize::try_from(place).map_or(self.count, |place| place.min(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn range(since: &str, until: &str) -> Range {
        Range::new(at(since), at(until)).unwrap()
    }

    #[test]
    fn a_range_has_its_first_moment_and_not_its_last() {
        let range = range("2026-05-01T00:00:00Z", "2026-05-08T00:00:00Z");
        assert!(range.has(at("2026-05-01T00:00:00Z")));
        assert!(!range.has(at("2026-05-08T00:00:00Z")));
        assert!(Range::new(range.until, range.until).is_err());
        assert!(Range::new(range.until, range.since).is_err());
    }

    #[test]
    fn days_are_those_of_the_range_and_no_more() {
        for (since, until, count) in [
            ("2026-05-01T00:00:00Z", "2026-05-08T00:00:00Z", 7),
            ("2026-05-01T12:00:00Z", "2026-05-08T12:00:00Z", 8),
            ("2026-05-01T12:00:00Z", "2026-05-01T12:00:01Z", 1),
            ("1970-01-01T00:00:00Z", "2026-05-01T00:00:00Z", 400),
        ] {
            let days = range(since, until).days();
            assert_eq!(days.len(), count, "{since} {until}");
            assert!(days.windows(2).all(|pair| pair[0].succ_opt() == Some(pair[1])));
        }
    }

    #[test]
    fn samples_end_with_the_range() {
        for (since, until, count) in [
            ("2026-05-01T00:00:00Z", "2026-05-08T00:00:00Z", 169),
            ("2026-05-01T00:00:00Z", "2026-05-01T00:20:00Z", 1),
            ("2026-02-01T00:00:00Z", "2026-05-01T00:00:00Z", 179),
            ("1970-01-01T00:00:00Z", "2026-05-01T00:00:00Z", 200),
        ] {
            let range = range(since, until);
            let samples = range.samples();
            assert_eq!(samples.len(), count, "{since} {until}");
            assert_eq!(samples.at(count - 1), range.until);
        }
    }

    #[test]
    fn samples_between_two_moments_are_found_by_place() {
        let samples = range("2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z").samples();
        let between = |from, to: Option<&str>| samples.between(at(from), to.map(at));
        assert_eq!(
            between("2026-05-01T01:00:00Z", Some("2026-05-01T03:00:00Z")),
            1..3
        );
        assert_eq!(
            between("2026-05-01T01:00:01Z", Some("2026-05-01T03:00:01Z")),
            2..4
        );
        assert_eq!(between("2026-04-01T00:00:00Z", None), 0..25);
        assert_eq!(
            between("2026-05-01T05:10:00Z", Some("2026-05-01T05:20:00Z")),
            6..6
        );
        assert_eq!(between("2026-06-01T00:00:00Z", None), 25..25);
        let touched = |from, to: Option<&str>| samples.touched(at(from), to.map(at));
        assert_eq!(
            touched("2026-05-01T01:00:00Z", Some("2026-05-01T01:20:00Z")),
            1..3
        );
        assert_eq!(
            touched("2026-05-01T05:10:00Z", Some("2026-05-01T05:20:00Z")),
            6..7
        );
        assert_eq!(
            touched("2026-05-01T05:10:00Z", Some("2026-05-01T07:00:00Z")),
            6..8
        );
        assert_eq!(
            touched("2026-04-01T00:00:00Z", Some("2026-04-30T23:00:00Z")),
            0..0
        );
        assert_eq!(
            touched("2026-04-01T00:00:00Z", Some("2026-04-30T23:00:01Z")),
            0..1
        );
        assert_eq!(touched("2026-05-01T23:30:00Z", None), 24..25);
    }

    #[test]
    fn the_ends_of_the_calendar_are_in_range() {
        let range = Range::new(
            DateTime::<Utc>::MIN_UTC,
            DateTime::<Utc>::MIN_UTC + TimeDelta::days(1),
        )
        .unwrap();
        assert_eq!(range.samples().len(), 25);
        assert!(!range.days().is_empty());
    }
}
