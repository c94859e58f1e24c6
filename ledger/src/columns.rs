//! Between columns and values.

use std::fmt::Display;
use std::str::FromStr;

use chrono::{DateTime, SecondsFormat, Utc};
use pulls::facts::Time;
use pulls::{PrNumber, PrRef};
use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Fault;

/// The earliest and the latest moment that a column holds, in seconds since 1970: the years 0 to 9999, beyond which
/// the order of texts is not the order of times.
const SECONDS: (i64, i64) = (-62_167_219_200, 253_402_300_799);

/// A moment as a column holds it: UTC, nine digits after the point, so that the order of texts is the order of times
/// and nothing is rounded. What lies outside the years 0 to 9999 is put at their end.
pub(crate) fn text(time: Time) -> String {
    let time = match time.timestamp() {
        seconds if seconds < SECONDS.0 => DateTime::from_timestamp(SECONDS.0, 0).unwrap_or(time),
        seconds if seconds > SECONDS.1 => DateTime::from_timestamp(SECONDS.1, 999_999_999).unwrap_or(time),
        _ => time,
    };
    time.to_rfc3339_opts(SecondsFormat::Nanos, true)
}

/// The JSON of a value that was made by this program.
pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("the types of the ledger have no maps with keys that are no strings")
}

/// A text column read as something.
pub(crate) fn parsed<T>(row: &Row<'_>, index: usize, column: &'static str) -> Result<T, Fault>
where
    T: FromStr<Err: Display>,
{
    let text = row
        .get_ref(index)?
        .as_str()
        .map_err(|why| Fault::strange(column, "", why))?;
    text.parse().map_err(|why| Fault::strange(column, text, why))
}

/// A text column that may be NULL.
pub(crate) fn maybe<T>(row: &Row<'_>, index: usize, column: &'static str) -> Result<Option<T>, Fault>
where
    T: FromStr<Err: Display>,
{
    match row.get_ref(index)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => parsed(row, index, column).map(Some),
    }
}

/// A moment.
pub(crate) fn time(row: &Row<'_>, index: usize, column: &'static str) -> Result<Time, Fault> {
    parsed::<DateTime<Utc>>(row, index, column)
}

/// A moment that may be NULL.
pub(crate) fn maybe_time(row: &Row<'_>, index: usize, column: &'static str) -> Result<Option<Time>, Fault> {
    maybe::<DateTime<Utc>>(row, index, column)
}

/// A column of JSON.
pub(crate) fn from_json<T: DeserializeOwned>(
    row: &Row<'_>,
    index: usize,
    column: &'static str,
) -> Result<T, Fault> {
    let text = row
        .get_ref(index)?
        .as_str()
        .map_err(|why| Fault::strange(column, "", why))?;
    serde_json::from_str(text).map_err(|why| Fault::strange(column, text, why))
}

/// A number that is never negative.
pub(crate) fn count<T: TryFrom<i64, Error: Display>>(
    row: &Row<'_>,
    index: usize,
    column: &'static str,
) -> Result<T, Fault> {
    let number: i64 = row.get(index)?;
    T::try_from(number).map_err(|why| Fault::strange(column, &number.to_string(), why))
}

/// The same number as SQLite takes it, which has one bit less.
pub(crate) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A pull request from two columns, `repo` and `pr_number`.
pub(crate) fn pull(row: &Row<'_>, index: usize) -> Result<PrRef, Fault> {
    Ok(PrRef {
        repo: parsed(row, index, "repo")?,
        number: pull_number(row, index + 1)?,
    })
}

fn pull_number(row: &Row<'_>, index: usize) -> Result<PrNumber, Fault> {
    let number: i64 = row.get(index)?;
    let strange = |why: &dyn Display| Fault::strange("pr_number", &number.to_string(), why);
    let whole = u64::try_from(number).map_err(|why| strange(&why))?;
    PrNumber::try_from(whole).map_err(|why| strange(&why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_texts_is_the_order_of_times() {
        let times = [
            "0000-01-01T00:00:00Z",
            "1969-12-31T23:59:59.999999999Z",
            "2026-05-14T17:45:00Z",
            "2026-05-14T17:45:00.000000001Z",
            "2026-05-14T17:45:00.5Z",
            "2026-05-14T17:45:01Z",
            "9999-12-31T23:59:59.999999999Z",
        ]
        .map(|text| text.parse::<Time>().unwrap());
        let texts = times.map(text);
        assert!(texts.is_sorted());
        assert_eq!(texts[2], "2026-05-14T17:45:00.000000000Z");
        assert!(texts.iter().all(|text| text.len() == 30));
        assert_eq!(texts.map(|text| text.parse::<Time>().unwrap()), times);
    }

    #[test]
    fn what_is_out_of_all_calendars_is_put_at_their_end() {
        assert_eq!(text(Time::MAX_UTC), "9999-12-31T23:59:59.999999999Z");
        assert_eq!(text(Time::MIN_UTC), "0000-01-01T00:00:00.000000000Z");
    }
}
