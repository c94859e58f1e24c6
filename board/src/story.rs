//! One pull request's story: both halves, in time order, each part with its time and its source.
//!
//! [`Telling`] takes records of any pull request, keeps those of its own, and of the dispatcher's lines only those at
//! which something changed. Repository names fold case, as GitHub folds them.

mod files;
mod maintained;
mod text;

use std::collections::VecDeque;

use chrono::{DateTime, Utc};
use lifecycle::Bucket;
use lifecycle::maintain::State;
use mailbox::{AckedBy, DeliveryEvent, Envelope, Holder, QuarantineCause, Replayed, StampedEvent};
use pulls::{PrNumber, PrRef, RepoName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::records::{Audited, Classified, StateLine};

pub use maintained::{Held, LEDGER_FILE, Saw};

/// The version of the document that `--json` prints.
pub const VERSION: u32 = 1;

/// How many parts of a story are kept, the newest ones: more than a person reads, and a bound where something
/// repeats itself for months.
pub const MAX_ENTRIES: usize = 20_000;

/// Where the dispatcher's lines lie within the home.
pub const STATE_FILE: &str = "pr-state.jsonl";
/// Where the audit trail lies within the home.
pub const AUDIT_FILE: &str = "retro.jsonl";
/// Where decisions for a person lie within the home.
pub const DECISIONS_FILE: &str = "DECISIONS.md";

/// One pull request's story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Story {
    /// The version of this document, [`VERSION`].
    pub v: u32,
    /// The repository, as it was last named.
    pub repo: RepoName,
    /// The number.
    pub pr: PrNumber,
    /// Its title, where it was seen.
    pub title: Option<String>,
    /// Its page, where the dispatcher saw it.
    pub url: Option<String>,
    /// What the dispatcher last found it to be.
    pub now: Option<Standing>,
    /// The state that the ledger has, where it is maintained.
    pub state: Option<Held>,
    /// What happened, in time order. What has no time stands at the end.
    pub entries: Vec<Entry>,
    /// How many earlier entries were left out, beyond [`MAX_ENTRIES`].
    pub left_out: u64,
}

/// What the dispatcher last found a pull request to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// What it needs next.
    pub bucket: Bucket,
    /// The rule that decided.
    pub rule: String,
    /// Why, for people.
    pub reason: String,
    /// Since when it is in this bucket.
    pub since: DateTime<Utc>,
    /// When it was last looked at.
    pub seen: DateTime<Utc>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// When; null where the source does not say.
    pub at: Option<DateTime<Utc>>,
    /// Where that is known from: a file within the home, or `mailbox/qa`.
    pub source: String,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// The dispatcher found something changed.
    Classified {
        /// What it needs next.
        bucket: Bucket,
        /// The rule that decided.
        rule: String,
        /// Why, for people.
        reason: String,
        /// The head commit, where it was recorded.
        head: Option<String>,
        /// What the checks said.
        ci: Option<String>,
        /// The verdict of the reviews.
        review: Option<String>,
        /// Whether it could be merged.
        mergeable: Option<String>,
        /// What differs from the last time; empty for the first.
        changed: Vec<Changed>,
    },
    /// A message was put into a mailbox.
    Appended {
        /// Its number there.
        seq: u64,
        /// What its receiver is asked to do.
        intent: String,
        /// Its id.
        msg_id: String,
        /// Who sent it.
        from: String,
        /// The message that led to it.
        cause: Option<String>,
    },
    /// Something happened to a message.
    Delivery(Box<Delivery>),
    /// A person is asked to decide or to do something.
    Decision {
        /// What: `close`, `rebase`.
        asked: String,
        /// Whether the person has ticked it off.
        done: bool,
        /// The entry.
        text: String,
    },
    /// The gates passed on a head of it.
    Gate {
        /// The head.
        head: String,
        /// The commands and their results.
        commands: Vec<String>,
    },
    /// A brief was written for whoever answers a reviewer.
    Investigation {
        /// Why, as the brief says.
        why: Option<String>,
    },
    /// It went into another state; or something was done about it, in the same state.
    Moved {
        /// The state before; null for the first.
        from: Option<State>,
        /// The state after.
        to: State,
        /// Why, for people.
        reason: String,
        /// The head.
        head: String,
        /// What the decision saw, in few words; null where it is not at hand.
        saw: Option<Saw>,
        /// The keys of what was said on GitHub for it.
        said: Vec<String>,
    },
    /// It needed nothing, for the record.
    Audited {
        /// The message that it is the record of.
        msg_id: String,
        /// The rule that decided.
        rule: String,
        /// Why, for people.
        reason: String,
    },
    /// The drip queue has a line about it.
    Queued {
        /// The line's number within its file, from 1.
        line: u64,
        /// The status that it gives.
        status: Option<String>,
        /// The branch that it names.
        branch: Option<String>,
    },
}

/// What of a classification can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// The bucket.
    Bucket,
    /// The rule within the bucket.
    Rule,
    /// The head commit.
    Head,
    /// What the checks say.
    Ci,
    /// The verdict of the reviews.
    Review,
    /// Whether it can be merged.
    Mergeable,
}

/// Something that happened to a message. What does not apply is null.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// The message's number in its mailbox.
    pub seq: u64,
    /// What, as `sweep replay` calls it: `taken`, `extended`, `acked`, `failed`, `handed_back`, `expired`,
    /// `voided`, `quarantined`, `retried`, `dropped`.
    pub event: String,
    /// Which attempt began.
    pub attempt: Option<u32>,
    /// Who took or acked it.
    pub by: Option<String>,
    /// How it ended.
    pub outcome: Option<String>,
    /// How an attempt failed, or why the message was set aside.
    pub how: Option<String>,
    /// Why, in words.
    pub reason: Option<String>,
    /// Until when it is held, or rests.
    pub until: Option<DateTime<Utc>>,
    /// Whether nothing was done: the message gave way to a newer one, or its evidence had been handled.
    pub idle: bool,
}

/// A story as it is told, record by record.
#[derive(Debug)]
pub struct Telling {
    at: PrRef,
    named: Option<RepoName>,
    entries: VecDeque<Entry>,
    left_out: u64,
    last: Option<Classified>,
    since: Option<DateTime<Utc>>,
    heads: Vec<String>,
    gates: Vec<files::Gate>,
    /// What the ledger says of it.
    held: Option<Held>,
    title: Option<String>,
}

impl Telling {
    /// The story of this pull request, with nothing told yet.
    pub fn about(at: PrRef) -> Self {
        Self {
            at,
            named: None,
            entries: VecDeque::new(),
            left_out: 0,
            last: None,
            since: None,
            heads: Vec::new(),
            gates: Vec::new(),
            held: None,
            title: None,
        }
    }

    /// Whether a line of a file can be about it, judged by a glance: one that cannot need not be read.
    pub fn can_be_in(&self, line: &str) -> bool {
        line.contains(&self.at.number.to_string())
    }

    /// A line of `pr-state.jsonl`. Lines come in the order of the file, older files first.
    pub fn state(&mut self, line: &StateLine) {
        let StateLine::Classified(line) = line else {
            return;
        };
        if line.at() != self.at {
            return;
        }
        self.named = Some(line.repo.clone());
        let changed = self.last.as_ref().map(|last| changes(last, line));
        let is_new = changed.as_ref().is_none_or(|changed| !changed.is_empty());
        let changed = changed.unwrap_or_default();
        if self.since.is_none() || changed.contains(&Changed::Bucket) {
            self.since = Some(line.ts);
        }
        if is_new {
            self.head(&line.head_sha);
            let what = What::Classified {
                bucket: line.bucket,
                rule: line.rule.clone(),
                reason: line.reason.clone(),
                head: some(&line.head_sha),
                ci: word(&line.signals.ci),
                review: word(&line.signals.review),
                mergeable: word(&line.signals.mergeable),
                changed,
            };
            self.push(Some(line.ts), STATE_FILE, what);
        }
        self.last = Some((**line).clone());
    }

    /// A message with what happened to it, where it names this pull request.
    pub fn message(&mut self, message: &Replayed) {
        let envelope = &message.envelope;
        if !self.can_be_in(envelope.message.line()) || about(envelope).as_ref() != Some(&self.at) {
            return;
        }
        if let Some(head) = envelope
            .message
            .body()
            .get("head_sha")
            .and_then(|head| head.as_str())
        {
            self.head(head);
        }
        let source = format!("mailbox/{}", envelope.mailbox);
        let what = What::Appended {
            seq: envelope.seq.0,
            intent: envelope.message.intent().to_owned(),
            msg_id: envelope.message.msg_id().to_string(),
            from: envelope.message.from().to_owned(),
            cause: envelope.cause.as_ref().map(ToString::to_string),
        };
        self.push(Some(envelope.appended_at.into()), &source, what);
        for event in &message.events {
            let what = What::Delivery(Box::new(delivery(event)));
            self.push(Some(event.at.into()), &source, what);
        }
    }

    /// A line of `retro.jsonl`.
    pub fn audited(&mut self, line: &Audited) {
        if line.at() == self.at {
            let what = What::Audited {
                msg_id: line.msg_id.clone(),
                rule: line.rule.clone(),
                reason: line.reason.clone(),
            };
            self.push(Some(line.ts), AUDIT_FILE, what);
        }
    }

    /// The story, or `None` where nothing of the pull request is known.
    pub fn finish(mut self) -> Option<Story> {
        for gate in std::mem::take(&mut self.gates) {
            let is_its = self.heads.iter().any(|head| gate.is_of(head));
            if is_its {
                self.push(gate.at, &gate.source, gate.what);
            }
        }
        if self.entries.is_empty() && self.held.is_none() {
            return None;
        }
        let mut entries: Vec<Entry> = self.entries.into();
        // Stable: what one source says of one moment stays in its order. What has no time comes last.
        entries.sort_by_key(|entry| (entry.at.is_none(), entry.at));
        let last = self.last.as_ref();
        let now = last.zip(self.since).map(|(last, since)| Standing {
            bucket: last.bucket,
            rule: last.rule.clone(),
            reason: last.reason.clone(),
            since,
            seen: last.ts,
        });
        Some(Story {
            v: VERSION,
            repo: self.named.unwrap_or(self.at.repo),
            pr: self.at.number,
            title: last.and_then(|last| some(&last.title)).or(self.title),
            url: last.and_then(|last| some(&last.url)),
            now,
            state: self.held,
            entries,
            left_out: self.left_out,
        })
    }

    fn push(&mut self, at: Option<DateTime<Utc>>, source: &str, what: What) {
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
            self.left_out += 1;
        }
        self.entries.push_back(Entry {
            at,
            source: source.to_owned(),
            what,
        });
    }

    fn head(&mut self, head: &str) {
        if !head.is_empty() && !self.heads.iter().any(|known| known == head) {
            self.heads.push(head.to_owned());
        }
    }
}

/// The pull request that a message says it is about.
fn about(envelope: &Envelope) -> Option<PrRef> {
    let body = envelope.message.body();
    Some(PrRef {
        repo: body.get("repo")?.as_str()?.parse().ok()?,
        number: body.get("pr")?.as_u64()?.try_into().ok()?,
    })
}

fn changes(last: &Classified, line: &Classified) -> Vec<Changed> {
    [
        (Changed::Bucket, last.bucket != line.bucket),
        (
            Changed::Rule,
            last.bucket == line.bucket && last.rule != line.rule,
        ),
        (Changed::Head, last.head_sha != line.head_sha),
        (Changed::Ci, last.signals.ci != line.signals.ci),
        (Changed::Review, last.signals.review != line.signals.review),
        // GitHub computes it anew now and then; not to know it for a while is no change.
        (
            Changed::Mergeable,
            [&last.signals.mergeable, &line.signals.mergeable]
                .iter()
                .all(|known| known.as_str() != Some("UNKNOWN"))
                && last.signals.mergeable != line.signals.mergeable,
        ),
    ]
    .into_iter()
    .filter_map(|(what, differs)| differs.then_some(what))
    .collect()
}

fn delivery(stamped: &StampedEvent) -> Delivery {
    let of = |event: &str| Delivery {
        seq: stamped.seq.0,
        event: event.to_owned(),
        ..Delivery::default()
    };
    let text = |text: &str| Some(text.to_owned());
    match &stamped.event {
        DeliveryEvent::Leased {
            holder,
            attempt,
            until,
            ..
        } => Delivery {
            attempt: Some(*attempt),
            by: text(match holder {
                Holder::Process(_) => "actor",
                Holder::Pull => "pull",
            }),
            until: until.map(Into::into),
            ..of("taken")
        },
        DeliveryEvent::Extended { until, .. } => Delivery {
            until: Some((*until).into()),
            ..of("extended")
        },
        DeliveryEvent::Acked { outcome, by, .. } => Delivery {
            outcome: text(outcome),
            by: Some(by.to_string()),
            idle: *by == AckedBy::Policy,
            ..of("acked")
        },
        DeliveryEvent::Failed {
            reason, kind, rest, ..
        } => Delivery {
            how: Some(kind.to_string()),
            reason: text(reason),
            until: Some(stamped.at.after(*rest).into()),
            ..of("failed")
        },
        DeliveryEvent::HandedBack { reason, until, .. } => Delivery {
            reason: text(reason),
            until: until.map(Into::into),
            ..of("handed_back")
        },
        DeliveryEvent::Expired { .. } => of("expired"),
        DeliveryEvent::Voided { .. } => of("voided"),
        DeliveryEvent::Quarantined { cause, reason } => Delivery {
            how: text(match cause {
                QuarantineCause::Attempts => "attempts",
                QuarantineCause::Rejected => "rejected",
            }),
            reason: text(reason),
            ..of("quarantined")
        },
        DeliveryEvent::Retried => of("retried"),
        DeliveryEvent::Dropped { reason } => Delivery {
            reason: text(reason),
            ..of("dropped")
        },
    }
}

/// A text that is there.
fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// A signal in one word.
fn word(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(word) => Some(word.clone()),
        other => Some(other.to_string()),
    }
}
