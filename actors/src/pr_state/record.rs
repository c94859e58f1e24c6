//! What a dispatch leaves beside its messages: `pr-state.jsonl`, `PR_STATE.md`, `pr-state-errors.log`, and
//! what it tells its caller.

use std::collections::BTreeMap;

use chrono::SecondsFormat;
use lifecycle::{Bucket, Row, SkippedRow, Snapshot, Verdict, msg_id};
use pulls::escape;
use pulls::facts::Time;
use pulls::{PrRef, RepoName, Sha};
use runtime::{Attention, EffectError, HomePath, KeyedLine, Turn};
use serde::{Deserialize, Serialize};

use super::DispatchError;

/// The version of a line of `pr-state.jsonl`.
const LINE_VERSION: u32 = 1;

/// How far from its end `pr-state.jsonl` is searched for the ids of this minute, in bytes: some thousands of
/// lines, where a run has at most 200.
const TAIL: u64 = 4 * 1024 * 1024;

/// What one dispatch did.
#[derive(Debug, Clone)]
pub struct Report {
    /// Every pull request in its bucket, and what was left out.
    pub snapshot: Snapshot,
    /// What a person must look at.
    pub attention: Vec<Attention>,
    /// What was wrong with a hint or a part of an answer, a line each; nothing else suffered from it.
    pub problems: Vec<String>,
    /// How many pull requests there are, beyond the limit too.
    pub found: u64,
}

/// The document that `sweep pr-state --json` prints (contract, section 4).
#[derive(Debug, Serialize)]
struct Document<'a> {
    ts: String,
    counts: BTreeMap<Bucket, usize>,
    prs: Vec<&'a Row>,
    skipped: &'a [SkippedRow],
    attention: &'a [Attention],
}

impl Report {
    /// One line a bucket.
    pub fn summary(&self) -> String {
        self.snapshot.summary()
    }

    /// A few words for the record.
    pub fn outcome(&self) -> String {
        let counts = self.snapshot.counts();
        let named: Vec<_> = counts
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| format!("{bucket} {count}"))
            .collect();
        let mut outcome = if named.is_empty() {
            nothing(&self.snapshot).to_owned()
        } else {
            named.join(", ")
        };
        if !self.snapshot.skipped.is_empty() {
            outcome.push_str(&format!(", skipped {}", self.snapshot.skipped.len()));
        }
        outcome
    }

    /// Why a dispatch that found pull requests came to nothing: each of them was skipped.
    pub(super) fn all_skipped(&self) -> Option<DispatchError> {
        let Snapshot { rows, skipped, .. } = &self.snapshot;
        let first = skipped.first().filter(|_| rows.is_empty())?;
        Some(DispatchError::AllSkipped {
            count: skipped.len(),
            at: PrRef {
                repo: first.repo.clone(),
                number: first.pr,
            },
            why: first.error.clone(),
        })
    }

    /// The document of `--json`: `prs` of one bucket where one is asked for, `counts` of all.
    pub fn document(&self, only: Option<Bucket>) -> serde_json::Value {
        let rows = &self.snapshot.rows;
        let document = Document {
            ts: timestamp(self.snapshot.at),
            counts: self.snapshot.counts(),
            prs: rows
                .iter()
                .filter(|row| only.is_none_or(|only| only == row.bucket))
                .collect(),
            skipped: &self.snapshot.skipped,
            attention: &self.attention,
        };
        serde_json::to_value(document).expect("a report has string keys only, and no failing serializer")
    }
}

/// One line of `pr-state.jsonl`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    v: u32,
    ts: String,
    #[serde(flatten)]
    row: &'a Row,
    head_sha: &'a Sha,
    branch: &'a str,
    url: &'a str,
}

/// The line of a run that found nothing.
#[derive(Debug, Serialize)]
struct EmptyLine<'a> {
    v: u32,
    ts: String,
    msg_id: &'a str,
    prs: usize,
    skipped: usize,
    note: &'static str,
}

/// What an earlier line of this minute is read for.
#[derive(Debug, Deserialize)]
struct Given {
    msg_id: String,
    repo: RepoName,
}

/// The ids that were given earlier in this minute, each with the repository it was given to.
pub(super) async fn ids_of_this_minute(
    turn: &mut Turn,
    now: Time,
) -> Result<BTreeMap<String, RepoName>, EffectError> {
    let tail = turn.read_tail(&snapshot_lines(), TAIL).await?.unwrap_or_default();
    let prefix = format!("pr-state-{}-", timestamp(msg_id::minute(now)));
    Ok(String::from_utf8_lossy(&tail)
        .lines()
        .filter(|line| line.contains(&prefix))
        .filter_map(|line| serde_json::from_str::<Given>(line).ok())
        .filter(|given| given.msg_id.starts_with(&prefix) && !given.msg_id.contains('~'))
        .map(|given| (given.msg_id, given.repo))
        .collect())
}

/// Writes everything that a dispatch leaves beside its messages.
pub(super) async fn write(
    turn: &mut Turn,
    report: &Report,
    rows: &[(Row, &Verdict)],
) -> Result<(), EffectError> {
    let now = report.snapshot.at;
    let ts = timestamp(now);
    let mut lines: Vec<KeyedLine> = rows
        .iter()
        .map(|(row, verdict)| KeyedLine {
            key: key_of(&row.msg_id),
            line: json_line(&Line {
                v: LINE_VERSION,
                ts: ts.clone(),
                row,
                head_sha: &verdict.head,
                branch: &verdict.branch,
                url: &verdict.url,
            }),
        })
        .collect();
    if lines.is_empty() {
        let id = format!("pr-state-{}", timestamp(msg_id::minute(now)));
        let note = nothing(&report.snapshot);
        let line = EmptyLine {
            v: LINE_VERSION,
            ts: ts.clone(),
            msg_id: &id,
            prs: 0,
            skipped: report.snapshot.skipped.len(),
            note,
        };
        lines.push(KeyedLine {
            line: json_line(&line),
            key: key_of(&id),
        });
    }
    turn.append_lines(&snapshot_lines(), lines).await?;

    let mut errors: Vec<KeyedLine> = Vec::new();
    for skipped in &report.snapshot.skipped {
        let key = format!("{ts} {}#{}", skipped.repo, skipped.pr);
        errors.push(KeyedLine {
            line: format!("{key} {}", escape::line(&skipped.error)),
            key,
        });
    }
    for problem in &report.problems {
        // A hint that stays wrong is logged once and not once a run; the reader of the log sees when.
        let key = escape::line(problem);
        tracing::warn!("{key}");
        errors.push(KeyedLine {
            line: format!("{ts} {key}"),
            key,
        });
    }
    if !errors.is_empty() {
        turn.append_lines(&HomePath::fixed("pr-state-errors.log"), errors)
            .await?;
    }
    turn.write_file(&HomePath::fixed("PR_STATE.md"), report.snapshot.markdown())
        .await
}

/// Why a snapshot shows no pull request.
fn nothing(snapshot: &Snapshot) -> &'static str {
    match snapshot.skipped.is_empty() {
        true => "no open pull requests",
        false => "no pull request could be read",
    }
}

/// One attention as it stands in `PR_STATE.md`.
pub(super) fn attention_line(attention: &Attention) -> String {
    format!("{}; {}", attention.text, attention.mend)
}

fn snapshot_lines() -> HomePath {
    HomePath::fixed("pr-state.jsonl")
}

/// The key of a line: its whole `msg_id` field, since one id can be the beginning of another.
fn key_of(msg_id: &str) -> String {
    format!("\"msg_id\":\"{msg_id}\"")
}

fn json_line<T: Serialize>(line: &T) -> String {
    serde_json::to_string(line).expect("a line has string keys only, and no failing serializer")
}

fn timestamp(at: Time) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}
