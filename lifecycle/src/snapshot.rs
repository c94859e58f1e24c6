//! What a run of the dispatcher shows a person: `PR_STATE.md`, and a line a bucket on stdout.
//!
//! Both are courtesy: the mailboxes are the contract.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pulls::facts::Time;
use pulls::{PrNumber, PrRef, RepoName, escape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, RuleId};
use crate::classify::Verdict;
use crate::signals::Signals;

/// One classified pull request, as `--json` prints it and `pr-state.jsonl` keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The repository under the name that GitHub gives now.
    pub repo: RepoName,
    /// The number.
    pub pr: PrNumber,
    /// The title as its author wrote it.
    pub title: String,
    /// The bucket.
    pub bucket: Bucket,
    /// The rule that decided.
    pub rule: RuleId,
    /// The mailbox that the message goes to; several are parted by commas.
    pub inbox: String,
    /// The message's intent.
    pub intent: String,
    /// Why, for a person.
    pub reason: String,
    /// Everything that was looked at.
    pub signals: Signals,
    /// The message's id.
    pub msg_id: String,
}

impl Row {
    /// The row of a verdict, with the id of its message and the mailbox that it goes to.
    pub fn of(verdict: &Verdict, msg_id: String, inbox: String) -> Self {
        Self {
            repo: verdict.at.repo.clone(),
            pr: verdict.at.number,
            title: verdict.title.clone(),
            bucket: verdict.bucket,
            rule: verdict.rule,
            inbox,
            intent: verdict.bucket.intent().to_owned(),
            reason: verdict.reason.clone(),
            signals: verdict.signals.clone(),
            msg_id,
        }
    }

    /// The pull request.
    pub fn at(&self) -> PrRef {
        PrRef {
            repo: self.repo.clone(),
            number: self.pr,
        }
    }
}

/// A pull request that could not be read and was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedRow {
    /// The repository.
    pub repo: RepoName,
    /// The number.
    pub pr: PrNumber,
    /// What went wrong, for a person.
    pub error: String,
}

/// One run of the dispatcher.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// When it ran.
    pub at: Time,
    /// What was classified, in any order.
    pub rows: Vec<Row>,
    /// What was left out.
    pub skipped: Vec<SkippedRow>,
    /// What a person must look at, one line each.
    pub attention: Vec<String>,
    /// The mailboxes that each bucket goes to, several parted by commas; a bucket that is not named here
    /// goes where the built-in declarations send it.
    pub inboxes: BTreeMap<Bucket, String>,
}

impl Snapshot {
    /// How many pull requests each bucket holds, every bucket named.
    pub fn counts(&self) -> BTreeMap<Bucket, usize> {
        let mut counts: BTreeMap<Bucket, usize> = Bucket::ALL.into_iter().map(|bucket| (bucket, 0)).collect();
        for row in &self.rows {
            *counts.entry(row.bucket).or_default() += 1;
        }
        counts
    }

    /// The rows of a bucket, the one that changed last first.
    pub fn bucket(&self, bucket: Bucket) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().filter(|row| row.bucket == bucket).collect();
        rows.sort_by_key(|row| (row.signals.activity_h, row.at()));
        rows
    }

    /// `PR_STATE.md`. A pull request's own words are shown and never act.
    pub fn markdown(&self) -> String {
        let mut out = format!("# PR State — {}\n", self.at.format("%Y-%m-%d %H:%M UTC"));
        if !self.attention.is_empty() {
            section(&mut out, &format!("attention ({})", self.attention.len()));
            for text in &self.attention {
                item(&mut out, &escape::markdown(text));
            }
        }
        if self.rows.is_empty() && self.skipped.is_empty() {
            out.push_str("\nNo open pull request matches.\n");
        }
        for (bucket, count) in self.counts() {
            section(
                &mut out,
                &format!("{bucket} ({count}) → {}{}", self.inbox(bucket), note(bucket)),
            );
            for row in self.bucket(bucket) {
                item(
                    &mut out,
                    &format!("{} — {}", row.at(), escape::markdown(&row.reason)),
                );
            }
        }
        if !self.skipped.is_empty() {
            section(&mut out, &format!("skipped ({})", self.skipped.len()));
            let mut skipped: Vec<&SkippedRow> = self.skipped.iter().collect();
            skipped.sort_by_key(|row| (&row.repo, row.pr));
            for row in skipped {
                item(
                    &mut out,
                    &format!("{}#{} — {}", row.repo, row.pr, escape::markdown(&row.error)),
                );
            }
        }
        out
    }

    /// One line a bucket, with its count and where it goes; then what was left out.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        for (bucket, count) in self.counts() {
            line(
                &mut out,
                &format!("{bucket:<12}{count:>4} → {}{}", self.inbox(bucket), note(bucket)),
            );
        }
        if !self.skipped.is_empty() {
            line(
                &mut out,
                &format!("{:<12}{:>4} → pr-state-errors.log", "skipped", self.skipped.len()),
            );
        }
        out
    }

    /// Every pull request of one bucket, a line each.
    pub fn list(&self, bucket: Bucket) -> String {
        let mut out = String::new();
        for row in self.bucket(bucket) {
            let title = escape::line(&row.title);
            line(
                &mut out,
                &format!("{} — {} — {title}", row.at(), escape::line(&row.reason)),
            );
        }
        out
    }

    fn inbox(&self, bucket: Bucket) -> &str {
        self.inboxes.get(&bucket).map_or(bucket.inbox(), String::as_str)
    }
}

fn note(bucket: Bucket) -> &'static str {
    match bucket {
        Bucket::Wait => " (audit only)",
        _ => "",
    }
}

fn section(out: &mut String, heading: &str) {
    writeln!(out, "\n## {heading}").expect("writing to a string cannot fail");
}

fn item(out: &mut String, text: &str) {
    writeln!(out, "- {text}").expect("writing to a string cannot fail");
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a string cannot fail");
}
