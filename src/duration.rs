//! Spans of time as people write them: `10m`, `1h30m`, `48h`, `90d`.

use std::fmt;
use std::ops::RangeInclusive;
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

/// The longest span that is taken, in days: a hundred years. Added to a moment of ours it stays in range.
const LONGEST_DAYS: u64 = 36_500;
const LONGEST: u64 = LONGEST_DAYS * 24 * 3_600_000;

/// A span of time, in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

/// Why a span was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// It is none.
    #[error("{0:?} is not a span of time; write it like \"90s\", \"10m\", \"1h30m\" or \"90d\"")]
    Malformed(String),
    /// It is one, and longer than is taken.
    #[error("{0} is longer than {LONGEST_DAYS}d, the longest span of time")]
    TooLong(String),
}

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

    /// Reads a span that has bounds.
    pub fn within(text: &str, bounds: &RangeInclusive<Self>) -> Result<Self, String> {
        let outside = |text: &str| format!("{text} is not between {} and {}", bounds.start(), bounds.end());
        match text.parse() {
            Ok(span) if bounds.contains(&span) => Ok(span),
            Ok(span) => Err(outside(&span.to_string())),
            Err(SpanError::TooLong(text)) => Err(outside(&text)),
            Err(error @ SpanError::Malformed(_)) => Err(error.to_string()),
        }
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let refuse = || SpanError::Malformed(text.to_owned());
        let mut rest = text.trim();
        if rest == "0" {
            return Ok(Self(Duration::ZERO));
        }
        if rest.is_empty() {
            return Err(refuse());
        }
        // More than is taken is said as such only where the whole of it is a span.
        let mut total = Some(0_u64);
        // Each unit at most once, largest first: "30m1h" is more often a slip than meant.
        let mut units = UNITS.iter();
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, tail) = rest.split_at(digits);
            let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
            let (unit, tail) = tail.split_at(letters);
            let (_, millis) = units
                .find(|(name, _)| *name == unit && !number.is_empty())
                .ok_or_else(refuse)?;
            // Digits alone that are no number are too many of them.
            let part = number
                .parse::<u64>()
                .ok()
                .and_then(|number| number.checked_mul(*millis));
            total = total
                .zip(part)
                .and_then(|(total, part)| total.checked_add(part))
                .filter(|total| *total <= LONGEST);
            rest = tail;
        }
        match total {
            Some(millis) => Ok(Self(Duration::from_millis(millis))),
            None => Err(SpanError::TooLong(text.trim().to_owned())),
        }
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
    fn what_is_too_long_or_out_of_bounds_is_told_the_bounds() {
        for text in ["36501d", "99999999999999999999s", "36500d1ms"] {
            let said = text.parse::<Span>().unwrap_err().to_string();
            assert_eq!(
                said,
                format!("{text} is longer than 36500d, the longest span of time")
            );
        }
        let bounds = Span::seconds(1)..=Span::days(30);
        let within =
            |text| Span::within(text, &bounds).map_err(|said| said.replace(" between 1s and 30d", " …"));
        assert_eq!(within("720h"), Ok(Span::days(30)));
        for (text, said) in [
            ("0", "0s is not …"),
            ("999ms", "999ms is not …"),
            ("31d", "31d is not …"),
            ("40000d", "40000d is not …"),
        ] {
            assert_eq!(within(text), Err(said.to_owned()));
        }
        assert!(within("-5m").is_err_and(|said| said.contains("is not a span of time")));
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
