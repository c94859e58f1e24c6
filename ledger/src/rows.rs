//! Values of ours and what they are in columns.

use chrono::{DateTime, SecondsFormat, Utc};
use pulls::facts::Time;
use pulls::{PrNumber, PrRef, RepoName};
use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{LedgerError, damaged};

/// A moment as it stands in a column: always as long, so that text sorts as time does. Below a millisecond it is
/// cut.
pub(crate) fn stamp(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A moment of a column.
pub(crate) fn moment(table: &'static str, what: &'static str, text: &str) -> Result<Time, LedgerError> {
    DateTime::parse_from_rfc3339(text)
        .map(|time| time.with_timezone(&Utc))
        .map_err(damaged(table, what))
}

pub(crate) fn moment_or_none(
    table: &'static str,
    what: &'static str,
    text: Option<String>,
) -> Result<Option<Time>, LedgerError> {
    text.map(|text| moment(table, what, &text)).transpose()
}

/// The pull request of a row whose first two columns name it.
pub(crate) fn at(table: &'static str, row: &Row<'_>) -> Result<PrRef, LedgerError> {
    let (repo, number): (String, i64) = (row.get(0)?, row.get(1)?);
    named(table, &repo, number)
}

pub(crate) fn named(table: &'static str, repo: &str, number: i64) -> Result<PrRef, LedgerError> {
    let number = u64::try_from(number).map_err(damaged(table, "pr_number"))?;
    Ok(PrRef {
        repo: repo_named(table, repo)?,
        number: PrNumber::try_from(number).map_err(damaged(table, "pr_number"))?,
    })
}

pub(crate) fn repo_named(table: &'static str, repo: &str) -> Result<RepoName, LedgerError> {
    repo.parse().map_err(damaged(table, "repo"))
}

/// A value of ours as text.
pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value)
        .expect("none of our values has a map without text keys or a failing serializer")
}

pub(crate) fn from_json<T: DeserializeOwned>(
    table: &'static str,
    what: &'static str,
    text: &str,
) -> Result<T, LedgerError> {
    serde_json::from_str(text).map_err(damaged(table, what))
}

/// A count of a column.
pub(crate) fn count<T: TryFrom<i64>>(
    table: &'static str,
    what: &'static str,
    value: i64,
) -> Result<T, LedgerError>
where
    T::Error: std::fmt::Display,
{
    T::try_from(value).map_err(damaged(table, what))
}
