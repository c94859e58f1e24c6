//! Spans of time as people write them: `10m`, `1h30m`, `48h`, `90d`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The units, largest first, in milliseconds.
const UNITS: [(&str, u64); 6] = [
    ("w", 7 * 24 * 3_600_000),
    ("d", 24 * 3_600_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// The longest span that is taken: a hundred years. Added to a moment of ours it stays in range.
const LONGEST: u64 = 36_500 * 24 * 3_600_000;

/// A span of time, in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

/// Why a span was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a span of time; write it like \"90s\", \"10m\", \"1h30m\" or \"90d\"")]
pub struct SpanError(String);

impl Span {
    /// A number of seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// A number of minutes.
    pub const fn minutes(minutes: u64) -> Self {
        Self::seconds(60 * minutes)
    }

    /// A number of hours.
    pub const fn hours(hours: u64) -> Self {
        Self::minutes(60 * hours)
    }

    /// A number of days of 24 hours.
    pub const fn days(days: u64) -> Self {
        Self::hours(24 * days)
    }

    /// The same for the standard library.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let refuse = || SpanError(text.to_owned());
        let mut rest = text.trim();
        if rest == "0" {
            return Ok(Self(Duration::ZERO));
        }
        if rest.is_empty() {
            return Err(refuse());
        }
        let mut total: u64 = 0;
        // Each unit at most once, largest first: "30m1h" is more often a slip than meant.
        let mut units = UNITS.iter();
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, tail) = rest.split_at(digits);
            let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (unit, tail) = tail.split_at(letters);
            let number: u64 = number.parse().map_err(|_| refuse())?;
            let (_, millis) = units.find(|(name, _)| *name == unit).ok_or_else(refuse)?;
            total = number
                .checked_mul(*millis)
                .and_then(|part| total.checked_add(part))
                .filter(|total| *total <= LONGEST)
                .ok_or_else(refuse)?;
            rest = tail;
        }
        Ok(Self(Duration::from_millis(total)))
    }
}

/// The shortest way to write it: `90s` comes back as `1m30s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if rest == 0 {
            return f.write_str("0s");
        }
        // Weeks are read, and never written: "90d" says more than "12w6d".
        for (name, millis) in UNITS.iter().skip(1) {
            let count = rest / millis;
            // Whole days are few in number; 48 hours stay hours, as people say them.
            if count > 0 && !(*name == "d" && count < 3) {
                write!(f, "{count}{name}")?;
                rest -= count * millis;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read() {
        for (text, millis) in [
            ("0", 0),
            ("0s", 0),
            ("250ms", 250),
            ("1s", 1_000),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            (" 48h ", 172_800_000),
            ("90d", 7_776_000_000),
            ("1w", 604_800_000),
            ("1d2h3m4s5ms", 93_784_005),
        ] {
            assert_eq!(
                text.parse::<Span>().unwrap().get(),
                Duration::from_millis(millis),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for text in [
            "",
            " ",
            "10",
            "m",
            "-1s",
            "1.5h",
            "10 m",
            "10min",
            "1s1s",
            "1m1h",
            "99999999999999999999s",
            "40000d",
            "٣s",
            "1µs",
            "1é",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_span_is_written_as_it_would_be_said_and_read_back() {
        for (span, text) in [
            (Span::seconds(0), "0s"),
            (Span::seconds(30), "30s"),
            (Span::seconds(90), "1m30s"),
            (Span::minutes(10), "10m"),
            (Span::hours(24), "24h"),
            (Span::hours(48), "48h"),
            (Span::days(90), "90d"),
        ] {
            assert_eq!(span.to_string(), text);
            assert_eq!(text.parse::<Span>().unwrap(), span);
        }
    }
}
