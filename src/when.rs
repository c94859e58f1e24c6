//! A moment as people write it: `2026-05-14T17:45:00Z`, `2026-05-14`, or a span before now, `7d`.

use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};

use crate::duration::Span;

/// A moment, by itself or by how long ago it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// This moment.
    At(DateTime<Utc>),
    /// So long before now.
    Ago(Span),
}

/// Why a moment was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no moment; write it like \"7d\", \"2026-05-14\" or \"2026-05-14T17:45:00Z\"")]
pub struct WhenError(String);

impl When {
    /// The moment itself.
    pub fn at(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::At(moment) => moment,
            Self::Ago(span) => TimeDelta::from_std(span.get())
                .ok()
                .and_then(|span| now.checked_sub_signed(span))
                .unwrap_or(DateTime::<Utc>::MIN_UTC),
        }
    }
}

impl FromStr for When {
    type Err = WhenError;

    fn from_str(text: &str) -> Result<Self, WhenError> {
        if let Ok(span) = text.parse() {
            return Ok(Self::Ago(span));
        }
        if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
            return Ok(Self::At(moment.with_timezone(&Utc)));
        }
        match NaiveDate::parse_from_str(text, "%Y-%m-%d") {
            Ok(day) => Ok(Self::At(day.and_time(NaiveTime::MIN).and_utc())),
            Err(_) => Err(WhenError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        let now = "2026-05-14T17:45:00Z".parse().unwrap();
        for (text, moment) in [
            ("7d", "2026-05-07T17:45:00Z"),
            ("0", "2026-05-14T17:45:00Z"),
            ("2026-05-01", "2026-05-01T00:00:00Z"),
            ("2026-05-01T12:00:00+02:00", "2026-05-01T10:00:00Z"),
        ] {
            let expected: DateTime<Utc> = moment.parse().unwrap();
            assert_eq!(text.parse::<When>().unwrap().at(now), expected, "{text}");
        }
        let long_ago = "36500d".parse::<When>().unwrap();
        assert_eq!(long_ago.at(DateTime::<Utc>::MIN_UTC), DateTime::<Utc>::MIN_UTC);
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-13-01",
            "2026-05-14 17:45",
            "-7d",
            "14.5.2026",
        ] {
            assert!(text.parse::<When>().is_err(), "{text:?}");
        }
    }
}
