//! The drip queue: `<home>/drip-queue/*.jsonl`, written by other programs.

use std::collections::{BTreeMap, BTreeSet};

use pulls::facts::PullFacts;
use pulls::{PrNumber, PrRef, RepoName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a line says of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueEntry {
    /// The repository as the line names it, perhaps under an old name.
    pub repo: RepoName,
    /// The number.
    pub pr_number: PrNumber,
    /// The branch, where the line names one.
    pub branch: Option<String>,
    /// The status, where the line names one.
    pub status: Option<String>,
}

impl QueueEntry {
    /// Whether the status is `superseded`.
    pub fn is_superseded(&self) -> bool {
        self.has_status("superseded")
    }

    /// Whether the status is `open`.
    pub fn is_open(&self) -> bool {
        self.has_status("open")
    }

    fn has_status(&self, wanted: &str) -> bool {
        self.status
            .as_deref()
            .is_some_and(|status| status.trim().eq_ignore_ascii_case(wanted))
    }
}

/// A line that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Malformed {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: Why,
}

/// What is wrong with a line of the drip queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It is not JSON.
    #[error("not JSON")]
    NotJson,
    /// It is JSON, but no object.
    #[error("not a JSON object")]
    NotAnObject,
    /// A field that it cannot do without is not there.
    #[error("no {0}")]
    Missing(String),
    /// A field is not what it should be.
    #[error("{0} is not valid")]
    Invalid(String),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Branch(RepoName, String),
    Number(RepoName, PrNumber),
}

/// A line as it stands in the queue, with what this program does not read of it: what is appended about the same
/// pull request keeps that.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueLine {
    /// The file's name.
    pub file: String,
    /// The line's fields.
    pub fields: serde_json::Map<String, Value>,
}

#[derive(Debug, Clone)]
struct Last {
    position: usize,
    entry: QueueEntry,
    line: QueueLine,
}

/// What all files of the drip queue say together: the last line of every (repository, branch), or of every
/// (repository, number) where a line names no branch.
#[derive(Debug, Clone, Default)]
pub struct DripQueue {
    last: BTreeMap<Key, Last>,
}

impl DripQueue {
    /// Reads files, each a name and its text, in the order of their names, and reports the lines that
    /// were skipped. Blank lines are none.
    ///
    /// ```
    /// use lifecycle::DripQueue;
    /// let files = [
    ///     ("b.jsonl", r#"{"repo":"o/r","pr_number":7,"branch":"topic","status":"superseded"}"#),
    ///     ("a.jsonl", r#"{"repo":"o/r","pr_number":7,"branch":"topic","status":"open"}"#),
    /// ];
    /// let (queue, malformed) = DripQueue::read(files);
    /// assert!(malformed.is_empty());
    /// let pull = pulls::build::pull("o/r", 7).build();
    /// assert!(queue.entry(&pull).unwrap().is_superseded());
    /// ```
    pub fn read<N: AsRef<str>, T: AsRef<str>>(
        files: impl IntoIterator<Item = (N, T)>,
    ) -> (Self, Vec<Malformed>) {
        let mut files: Vec<(N, T)> = files.into_iter().collect();
        files.sort_by(|(a, _), (b, _)| a.as_ref().cmp(b.as_ref()));
        let mut queue = Self::default();
        let mut malformed = Vec::new();
        let mut position = 0;
        for (name, text) in &files {
            let text = text.as_ref();
            for (index, line) in text.strip_prefix('\u{FEFF}').unwrap_or(text).lines().enumerate() {
                if line.trim().is_empty() {
                    continue;
                }
                position += 1;
                match parse(line) {
                    Ok((entry, fields)) => {
                        let file = name.as_ref().to_owned();
                        let last = Last {
                            position,
                            line: QueueLine { file, fields },
                            entry,
                        };
                        queue.last.insert(key(&last.entry), last);
                    }
                    Err(why) => {
                        malformed.push(Malformed {
                            file: name.as_ref().to_owned(),
                            line: index + 1,
                            why,
                        });
                    }
                }
            }
        }
        (queue, malformed)
    }

    /// What the queue says last about a pull request, under its name now or the one it was asked for by.
    pub fn entry(&self, pull: &PullFacts) -> Option<&QueueEntry> {
        let is_its = |entry: &QueueEntry| {
            entry.pr_number == pull.at.number && (entry.repo == pull.at.repo || entry.repo == pull.asked_as)
        };
        self.newest(|entry| is_its(entry)).map(|last| &last.entry)
    }

    /// What the queue says last about a pull request under any of these names of its repository.
    pub fn entry_under(&self, names: &[RepoName], number: PrNumber) -> Option<&QueueEntry> {
        self.newest_under(names, number).map(|last| &last.entry)
    }

    /// The line that [`DripQueue::entry_under`] is read from.
    pub fn line_under(&self, names: &[RepoName], number: PrNumber) -> Option<&QueueLine> {
        self.newest_under(names, number).map(|last| &last.line)
    }

    /// Every pull request that the queue names, under the name that its repository has there.
    pub fn refs(&self) -> BTreeSet<PrRef> {
        self.last
            .values()
            .map(|last| PrRef {
                repo: last.entry.repo.clone(),
                number: last.entry.pr_number,
            })
            .collect()
    }

    /// The pull requests whose last line says `open`, for `--from-queue`.
    pub fn open(&self) -> BTreeSet<PrRef> {
        self.last
            .values()
            .filter(|last| last.entry.is_open())
            .map(|last| PrRef {
                repo: last.entry.repo.clone(),
                number: last.entry.pr_number,
            })
            .collect()
    }

    fn newest_under(&self, names: &[RepoName], number: PrNumber) -> Option<&Last> {
        self.newest(|entry| entry.pr_number == number && names.contains(&entry.repo))
    }

    fn newest(&self, wanted: impl Fn(&QueueEntry) -> bool) -> Option<&Last> {
        self.last
            .values()
            .filter(|last| wanted(&last.entry))
            .max_by_key(|last| last.position)
    }
}

fn key(entry: &QueueEntry) -> Key {
    match &entry.branch {
        Some(branch) => Key::Branch(entry.repo.clone(), branch.clone()),
        None => Key::Number(entry.repo.clone(), entry.pr_number),
    }
}

fn parse(line: &str) -> Result<(QueueEntry, serde_json::Map<String, Value>), Why> {
    let value: Value = serde_json::from_str(line).map_err(|_| Why::NotJson)?;
    let Value::Object(fields) = value else {
        return Err(Why::NotAnObject);
    };
    let missing = |name: &str| Why::Missing(name.to_owned());
    let invalid = |name: &str| Why::Invalid(name.to_owned());
    // An empty string, like null, means that the field is not there.
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(name)),
    };
    let repo = text("repo")?.ok_or_else(|| missing("repo"))?;
    let repo = repo.parse().map_err(|_| invalid("repo"))?;
    let pr_number = match fields.get("pr_number") {
        None | Some(Value::Null) => return Err(missing("pr_number")),
        Some(value) => value.as_u64().and_then(|number| PrNumber::try_from(number).ok()),
    };
    let entry = QueueEntry {
        repo,
        pr_number: pr_number.ok_or_else(|| invalid("pr_number"))?,
        branch: text("branch")?,
        status: text("status")?,
    };
    Ok((entry, fields))
}
