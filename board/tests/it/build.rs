//! Records, valid by default.

use std::time::Duration;

use board::records::{Audited, StateLine};
use board::{Fold, Range};
use chrono::{DateTime, TimeDelta, Utc};
use mailbox::{
    AckedBy, DeliveryEvent, Envelope, EnvelopeState, FailureKind, Holder, Incarnation, LeaseId, Message,
    QuarantineCause, Replayed, Seq, StampedEvent,
};
use serde_json::json;

/// The end of every range of these tests.
pub const UNTIL: &str = "2026-05-14T18:00:00Z";

pub fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// So many minutes before the end.
pub fn ago(minutes: i64) -> DateTime<Utc> {
    at(UNTIL) - TimeDelta::minutes(minutes)
}

pub const HOUR: i64 = 60;
pub const DAY: i64 = 24 * HOUR;

pub fn week() -> Range {
    Range::new(ago(7 * DAY), at(UNTIL)).unwrap()
}

/// A message and its events, in time order.
pub struct Sent {
    replayed: Replayed,
}

impl Sent {
    /// Appended so many minutes before the end.
    pub fn to(mailbox: &str, seq: u64, minutes_ago: i64) -> Self {
        Self::with(mailbox, seq, minutes_ago, json!({"repo": "o/r", "pr": 7}))
    }

    pub fn with(mailbox: &str, seq: u64, minutes_ago: i64, body: serde_json::Value) -> Self {
        let id = format!("{mailbox}-{seq}").parse().unwrap();
        let body = body.as_object().unwrap().clone();
        let message = Message::build(ago(minutes_ago), "pr-state", "reattest", &id, body).unwrap();
        Self {
            replayed: Replayed {
                envelope: Envelope {
                    mailbox: mailbox.parse().unwrap(),
                    seq: Seq(seq),
                    message,
                    subject: None,
                    evidence: None,
                    cause: None,
                    appended_at: ago(minutes_ago).into(),
                    attempts: 0,
                    state: EnvelopeState::Unread { not_before: None },
                },
                events: Vec::new(),
            },
        }
    }

    fn then(mut self, minutes_ago: i64, event: DeliveryEvent) -> Self {
        self.replayed.events.push(StampedEvent {
            seq: self.replayed.envelope.seq,
            at: ago(minutes_ago).into(),
            event,
        });
        self
    }

    pub fn taken(self, minutes_ago: i64, attempt: u32) -> Self {
        let event = DeliveryEvent::Leased {
            lease: lease(),
            holder: Holder::Process(Incarnation::from_u128(1)),
            attempt,
            until: None,
        };
        self.then(minutes_ago, event)
    }

    pub fn acked(self, minutes_ago: i64, outcome: &str) -> Self {
        self.ended(minutes_ago, outcome, AckedBy::Actor)
    }

    pub fn passed_over(self, minutes_ago: i64, outcome: &str) -> Self {
        self.ended(minutes_ago, outcome, AckedBy::Policy)
    }

    fn ended(self, minutes_ago: i64, outcome: &str, by: AckedBy) -> Self {
        let event = DeliveryEvent::Acked {
            lease: None,
            outcome: outcome.into(),
            by,
            read: None,
        };
        self.then(minutes_ago, event)
    }

    pub fn failed(self, minutes_ago: i64, kind: FailureKind) -> Self {
        let event = DeliveryEvent::Failed {
            lease: lease(),
            reason: "no \u{1b}[31mroute".into(),
            kind,
            rest: Duration::from_secs(60),
        };
        self.then(minutes_ago, event)
    }

    pub fn handed_back(self, minutes_ago: i64) -> Self {
        let event = DeliveryEvent::HandedBack {
            lease: lease(),
            reason: "stopping".into(),
            until: None,
        };
        self.then(minutes_ago, event)
    }

    pub fn voided(self, minutes_ago: i64) -> Self {
        self.then(minutes_ago, DeliveryEvent::Voided { lease: lease() })
    }

    pub fn expired(self, minutes_ago: i64) -> Self {
        self.then(minutes_ago, DeliveryEvent::Expired { lease: lease() })
    }

    pub fn quarantined(self, minutes_ago: i64, cause: QuarantineCause) -> Self {
        let event = DeliveryEvent::Quarantined {
            cause,
            reason: "too often".into(),
        };
        self.then(minutes_ago, event)
    }

    pub fn retried(self, minutes_ago: i64) -> Self {
        self.then(minutes_ago, DeliveryEvent::Retried)
    }

    pub fn dropped(self, minutes_ago: i64) -> Self {
        let reason = "the branch is gone".into();
        self.then(minutes_ago, DeliveryEvent::Dropped { reason })
    }

    pub fn done(self) -> Replayed {
        self.replayed
    }
}

fn lease() -> LeaseId {
    LeaseId::from_u128(7)
}

/// A line of `pr-state.jsonl`.
pub fn seen(minutes_ago: i64, repo: &str, pr: u32, bucket: &str) -> StateLine {
    let line = json!({
        "v": 1,
        "ts": ago(minutes_ago),
        "repo": repo,
        "pr": pr,
        "title": "Mend it",
        "bucket": bucket,
        "rule": format!("{bucket}.rule"),
        "reason": format!("it is in {bucket}"),
        "signals": {"ci": "green", "review": "APPROVED", "mergeable": "MERGEABLE"},
        "head_sha": "a".repeat(40),
        "branch": "topic",
        "url": format!("https://github.example/{repo}/pull/{pr}"),
    });
    StateLine::parse(&line.to_string()).unwrap()
}

/// The line of a run that found nothing.
pub fn nothing(minutes_ago: i64) -> StateLine {
    StateLine::parse(&json!({"v": 1, "ts": ago(minutes_ago), "prs": 0}).to_string()).unwrap()
}

/// A line of `retro.jsonl`.
pub fn audited(minutes_ago: i64, pr: u32, reason: &str) -> Audited {
    let line = json!({
        "v": 1, "ts": ago(minutes_ago), "repo": "o/r", "pr": pr, "msg_id": format!("m-{pr}"), "reason": reason,
        "rule": "wait.default",
    });
    Audited::parse(&line.to_string()).unwrap()
}

/// A fold over the week.
pub fn fold(messages: impl IntoIterator<Item = Sent>, lines: &[StateLine]) -> Fold {
    let mut fold = Fold::over(week());
    for message in messages {
        fold.message(&message.done());
    }
    for line in lines {
        fold.state(line);
    }
    fold
}
