//! How a number is spread, in little memory.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From here on a value is kept to three significant digits, so that a million different values need no more
/// than a few thousand counters.
const EXACT_BELOW: u64 = 1_000;

/// The middle and the far end of a set of values. A quantile is the smallest value that at least that share of
/// the values does not exceed, so that it is one of them; above 1,000 it is rounded to three significant digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// How many values there were; at least one.
    pub count: u64,
    /// Half of them are no larger.
    pub median: u64,
    /// Nine of ten are no larger.
    pub p90: u64,
    /// The largest, unrounded.
    pub max: u64,
}

/// Values as they come.
#[derive(Debug, Clone, Default)]
pub struct Values {
    counts: BTreeMap<u64, u64>,
    count: u64,
    max: u64,
}

impl Values {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        *self.counts.entry(rounded(value)).or_default() += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    /// How they are spread; `None` where there are none.
    ///
    /// ```
    /// use board::{Spread, Values};
    /// let mut values = Values::default();
    /// for value in [1, 2, 3, 4, 100] {
    ///     values.add(value);
    /// }
    /// assert_eq!(values.spread(), Some(Spread { count: 5, median: 3, p90: 100, max: 100 }));
    /// assert_eq!(Values::default().spread(), None);
    /// ```
    pub fn spread(&self) -> Option<Spread> {
        (self.count > 0).then(|| Spread {
            count: self.count,
            median: self.quantile(50),
            p90: self.quantile(90),
            max: self.max,
        })
    }

    fn quantile(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100);
        let mut seen: u128 = 0;
        let found = self.counts.iter().find(|(_, count)| {
            seen += u128::from(**count);
            seen >= rank
        });
        // Rounding may have lifted a value above the largest.
        found.map_or(self.max, |(value, _)| *value).min(self.max)
    }
}

fn rounded(value: u64) -> u64 {
    let mut unit = 1;
    while value / unit >= EXACT_BELOW {
        unit *= 10;
    }
    (value.saturating_add(unit / 2) / unit).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_keep_three_digits() {
        for (value, kept) in [
            (0, 0),
            (999, 999),
            (1_000, 1_000),
            (1_234, 1_230),
            (1_235, 1_240),
            (9_999, 10_000),
            (86_412_345, 86_400_000),
        ] {
            assert_eq!(rounded(value), kept, "{value}");
        }
        // Near the end of its type a value must not overflow.
        let mut values = Values::default();
        values.add(u64::MAX);
        assert_eq!(values.spread().unwrap().max, u64::MAX);
    }

    #[test]
    fn quantiles_are_values_that_were_there() {
        for (values, median, p90) in [
            (&[7][..], 7, 7),
            (&[1, 2], 1, 2),
            (&[3, 1, 2], 2, 3),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 5, 9),
        ] {
            let mut of = Values::default();
            values.iter().for_each(|value| of.add(*value));
            let spread = of.spread().unwrap();
            assert_eq!((spread.median, spread.p90), (median, p90), "{values:?}");
        }
    }

    #[test]
    fn memory_does_not_follow_the_number_of_values() {
        let mut values = Values::default();
        for value in 0..200_000_u64 {
            values.add(value * 7);
        }
        assert!(values.counts.len() < 5_000, "{}", values.counts.len());
    }
}
