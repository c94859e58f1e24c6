//! The lines that actors leave in the home, as values. A line that is not one of these is nobody's: whoever
//! reads a file counts it and goes on, so that a line that is half written spoils no report.

use chrono::{DateTime, Utc};
use lifecycle::Bucket;
use pulls::{PrNumber, PrRef, RepoName};
use serde::Deserialize;
use serde_json::Value;

/// What the dispatcher found a pull request to be: a line of `pr-state.jsonl`.
///
/// Only what is needed is asked for, so that lines of earlier and later versions are read too.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Classified {
    /// When it was looked at.
    pub ts: DateTime<Utc>,
    /// The repository.
    pub repo: RepoName,
    /// The number.
    pub pr: PrNumber,
    /// What it needs next.
    pub bucket: Bucket,
    /// The rule that decided.
    #[serde(default)]
    pub rule: String,
    /// Why, for people.
    #[serde(default)]
    pub reason: String,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// Its head commit.
    #[serde(default)]
    pub head_sha: String,
    /// Its page.
    #[serde(default)]
    pub url: String,
    /// What was looked at.
    #[serde(default)]
    pub signals: Glance,
}

/// Of what was looked at, the parts that a story tells of.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Glance {
    /// What the checks say together.
    #[serde(default)]
    pub ci: Value,
    /// The verdict of the reviews.
    #[serde(default)]
    pub review: Value,
    /// Whether it can be merged.
    #[serde(default)]
    pub mergeable: Value,
}

/// An entry of the audit trail: a line of `retro.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Audited {
    /// When the dispatcher saw it so.
    pub ts: DateTime<Utc>,
    /// The repository.
    pub repo: RepoName,
    /// The number.
    pub pr: PrNumber,
    /// The message that it is the record of.
    #[serde(default)]
    pub msg_id: String,
    /// The rule that decided.
    #[serde(default)]
    pub rule: String,
    /// Why, for people.
    #[serde(default)]
    pub reason: String,
}

/// What a line of `pr-state.jsonl` says.
#[derive(Debug, Clone, PartialEq)]
pub enum StateLine {
    /// A pull request was classified.
    Classified(Box<Classified>),
    /// A run found none.
    Nothing {
        /// When.
        ts: DateTime<Utc>,
    },
}

impl StateLine {
    /// Reads a line; `None` where it is not one.
    ///
    /// ```
    /// use board::records::StateLine;
    /// let line = r#"{"v":1,"ts":"2026-05-14T17:45:00Z","repo":"o/r","pr":7,"bucket":"qa","rule":"qa.ci"}"#;
    /// assert!(matches!(StateLine::parse(line), Some(StateLine::Classified(line)) if line.rule == "qa.ci"));
    /// assert_eq!(StateLine::parse(&line[..40]), None);
    /// ```
    pub fn parse(line: &str) -> Option<Self> {
        if let Ok(classified) = serde_json::from_str(line) {
            return Some(Self::Classified(Box::new(classified)));
        }
        let value: Value = serde_json::from_str(line).ok()?;
        let found = value.get("prs")?.as_u64()?;
        let ts = value.get("ts")?.as_str()?.parse().ok()?;
        (found == 0).then_some(Self::Nothing { ts })
    }
}

impl Classified {
    /// The pull request.
    pub fn at(&self) -> PrRef {
        PrRef {
            repo: self.repo.clone(),
            number: self.pr,
        }
    }
}

impl Audited {
    /// Reads a line; `None` where it is not one.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// The pull request.
    pub fn at(&self) -> PrRef {
        PrRef {
            repo: self.repo.clone(),
            number: self.pr,
        }
    }
}
