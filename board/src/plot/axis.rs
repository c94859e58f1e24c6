//! Axes whose ticks stand at values that people would choose.

use std::ops::Range;

use chrono::{DateTime, TimeDelta, Utc};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use crate::words::span;

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithmic,
}

/// At most so many names have room side by side.
const NAMED: usize = 12;

/// An axis: its ends and its ticks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis with a named place for each of some things, from 0 on.
    pub(crate) fn names(names: &[&str]) -> Self {
        let places = (0..).map(f64::from);
        Self {
            scale: Scale::Linear,
            from: -0.5,
            to: names.len() as f64 - 0.5,
            ticks: places.zip(names.iter().map(|&name| name.to_owned())).collect(),
        }
    }

    /// The same where there can be many of them: every so many-th is named, the last one always.
    pub(crate) fn some_names(names: &[String]) -> Self {
        let each = names.len().div_ceil(NAMED).max(1);
        let mut axis = Self::names(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let mut place = names.len();
        axis.ticks.retain(|_| {
            place -= 1;
            place.is_multiple_of(each)
        });
        axis
    }

    /// The text of a tick.
    pub(super) fn label(&self, value: f64) -> String {
        let found = self.ticks.iter().find(|(tick, _)| *tick == value);
        found.map(|(_, label)| label.clone()).unwrap_or_default()
    }

    /// How many ticks there are.
    pub(super) fn ticks(&self) -> usize {
        self.ticks.len()
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (begin, end): (i32, i32)) -> i32 {
        let of = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.max(f64::MIN_POSITIVE).ln(),
        };
        let share = (of(*value) - of(self.from)) / (of(self.to) - of(self.from));
        begin + (f64::from(end - begin) * share.clamp(0.0, 1.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(tick, _)| *tick).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

/// From zero to a number that is not below `most`, with whole numbers as ticks, at most six.
pub(crate) fn whole_numbers(most: u64) -> Axis {
    let most = most.max(1);
    let round = (0..20_u32)
        .flat_map(|power| [1, 2, 5].map(|digit: u64| digit.saturating_mul(10_u64.pow(power.min(19)))));
    let step = round
        .into_iter()
        .find(|step| most.div_ceil(*step) <= 5)
        .unwrap_or(u64::MAX);
    let steps = most.div_ceil(step);
    let ticks = (0..=steps).map(|at| at.saturating_mul(step));
    Axis {
        scale: Scale::Linear,
        from: 0.0,
        to: steps.saturating_mul(step) as f64,
        ticks: ticks.map(|tick| (tick as f64, tick.to_string())).collect(),
    }
}

/// The spans that a logarithmic axis has ticks at, in milliseconds.
const SPANS: [u64; 16] = [
    1,
    10,
    100,
    1_000,
    10_000,
    60_000,
    600_000,
    3_600_000,
    6 * 3_600_000,
    24 * 3_600_000,
    3 * 24 * 3_600_000,
    7 * 24 * 3_600_000,
    30 * 24 * 3_600_000,
    90 * 24 * 3_600_000,
    365 * 24 * 3_600_000,
    3_650 * 24 * 3_600_000,
];

/// Spans of time in milliseconds, on a logarithmic scale that reaches beyond both of these where it can.
pub(crate) fn log_spans(least: u64, most: u64) -> Axis {
    let last = SPANS.len() - 1;
    let below = SPANS
        .iter()
        .rposition(|span| *span < least)
        .unwrap_or(0)
        .min(last - 1);
    let above = SPANS.iter().position(|span| *span > most).unwrap_or(last);
    let ticks = &SPANS[below..=above.max(below + 1)];
    Axis {
        scale: Scale::Logarithmic,
        from: ticks[0] as f64,
        to: ticks[ticks.len() - 1] as f64,
        ticks: ticks.iter().map(|&ms| (ms as f64, span(ms))).collect(),
    }
}

/// At most so many steps between ticks has an axis of time.
const TIME_STEPS: i64 = 8;

/// The steps between such ticks, in hours.
const STEPS: [i64; 12] = [1, 2, 3, 6, 12, 24, 48, 72, 7 * 24, 14 * 24, 30 * 24, 60 * 24];

/// A moment as a value of an axis of time: milliseconds since the epoch.
pub(crate) fn value_of(at: DateTime<Utc>) -> f64 {
    at.timestamp_millis() as f64
}

/// Time, with ticks at the beginning of days, or of hours where there are few days.
pub(crate) fn time_axis(from: DateTime<Utc>, to: DateTime<Utc>) -> Axis {
    let to = to.max(from + TimeDelta::milliseconds(1));
    let hours = (to - from).num_hours();
    let step = STEPS.into_iter().find(|step| hours / step <= TIME_STEPS);
    let step = step.unwrap_or(STEPS[STEPS.len() - 1]) * 3_600_000;
    let form = if step < 24 * 3_600_000 {
        "%b %-d %H:%M"
    } else {
        "%b %-d"
    };
    let begin = from.timestamp_millis();
    let first = begin.div_euclid(step) * step + if begin.rem_euclid(step) == 0 { 0 } else { step };
    let ticks = (0..).map(|at| first.saturating_add(step.saturating_mul(at)));
    let ticks = ticks
        .take_while(|at| *at <= to.timestamp_millis())
        .filter_map(|at| {
            Some((
                at as f64,
                DateTime::from_timestamp_millis(at)?.format(form).to_string(),
            ))
        });
    Axis {
        scale: Scale::Linear,
        from: value_of(from),
        to: value_of(to),
        ticks: ticks.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn whole_numbers_have_round_ticks() {
        for (most, expected) in [
            (0, &["0", "1"][..]),
            (3, &["0", "1", "2", "3"]),
            (7, &["0", "2", "4", "6", "8"]),
            (23, &["0", "5", "10", "15", "20", "25"]),
            (50, &["0", "10", "20", "30", "40", "50"]),
            (99, &["0", "20", "40", "60", "80", "100"]),
            (1_001, &["0", "500", "1000", "1500"]),
        ] {
            assert_eq!(labels(&whole_numbers(most)), expected, "{most}");
        }
        assert!(whole_numbers(u64::MAX).to > 1e19);
    }

    #[test]
    fn spans_have_ticks_that_people_say() {
        for (least, most, expected) in [
            (5, 4_000, &["1ms", "10ms", "100ms", "1s", "10s"][..]),
            (60_000, 60_000, &["10s", "1m", "10m"]),
            (0, 0, &["1ms", "10ms"]),
            (u64::MAX, u64::MAX, &["365d", "3650d"]),
        ] {
            assert_eq!(labels(&log_spans(least, most)), expected, "{least} {most}");
        }
    }

    #[test]
    fn time_has_ticks_at_days_or_hours() {
        let axis = |from: &str, to: &str| time_axis(from.parse().unwrap(), to.parse().unwrap());
        for (from, to, expected) in [
            (
                "2026-05-01T23:00:00Z",
                "2026-05-04T12:00:00Z",
                &[
                    "May 2 00:00",
                    "May 2 12:00",
                    "May 3 00:00",
                    "May 3 12:00",
                    "May 4 00:00",
                    "May 4 12:00",
                ][..],
            ),
            ("2026-05-01T00:00:00Z", "2026-05-01T00:00:00Z", &["May 1 00:00"]),
            (
                "2026-05-01T12:00:00Z",
                "2026-05-08T12:00:00Z",
                &["May 2", "May 3", "May 4", "May 5", "May 6", "May 7", "May 8"],
            ),
            (
                "1969-12-31T12:30:00Z",
                "1970-01-01T04:00:00Z",
                &[
                    "Dec 31 14:00",
                    "Dec 31 16:00",
                    "Dec 31 18:00",
                    "Dec 31 20:00",
                    "Dec 31 22:00",
                    "Jan 1 00:00",
                    "Jan 1 02:00",
                    "Jan 1 04:00",
                ],
            ),
        ] {
            assert_eq!(labels(&axis(from, to)), expected, "{from} {to}");
        }
        let year = axis("2025-05-01T00:00:00Z", "2026-05-01T00:00:00Z");
        assert!((4..=9).contains(&year.ticks.len()), "{:?}", labels(&year));
    }

    #[test]
    fn values_beyond_the_ends_stand_at_the_ends() {
        let axis = log_spans(1_000, 60_000);
        assert_eq!(axis.map(&0.0, (0, 100)), 0);
        assert_eq!(axis.map(&f64::INFINITY, (0, 100)), 100);
        assert_eq!(axis.map(&100.0, (100, 0)), 100);
    }
}
