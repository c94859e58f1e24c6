//! What happened to a message, as it stands in an export: under the names that `replay --json` shows, with all that
//! is needed to take it in again.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use mailbox::{
    AckedBy, DeliveryEvent, Digest, FailureKind, Holder, Incarnation, LeaseId, MAX_TEXT, Moment,
    QuarantineCause, Seq, StampedEvent,
};
use serde::{Deserialize, Serialize};

/// The longest name of whoever wrote an ack line, in bytes: what the mirror takes.
const MAX_FROM: usize = 256;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Happened {
    /// Somebody took it.
    Taken {
        at: DateTime<Utc>,
        attempt: u32,
        lease: LeaseId,
        by: Taker,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<DateTime<Utc>>,
    },
    /// Whoever had it keeps it longer.
    Extended {
        at: DateTime<Utc>,
        lease: LeaseId,
        until: DateTime<Utc>,
    },
    /// It was handled for good.
    Acked {
        at: DateTime<Utc>,
        outcome: String,
        by: Acker,
        /// Who wrote the line, where `by` is `line`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<LeaseId>,
        /// The digest of what the handler read, in hexadecimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        read: Option<String>,
    },
    /// The attempt failed.
    Failed {
        at: DateTime<Utc>,
        reason: String,
        kind: Kind,
        /// It rests until then.
        until: DateTime<Utc>,
        lease: LeaseId,
    },
    /// It was given back unhandled.
    HandedBack {
        at: DateTime<Utc>,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<DateTime<Utc>>,
        lease: LeaseId,
    },
    /// The lease ran out.
    Expired { at: DateTime<Utc>, lease: LeaseId },
    /// The process that had it ended.
    Voided { at: DateTime<Utc>, lease: LeaseId },
    /// It was set aside.
    Quarantined {
        at: DateTime<Utc>,
        reason: String,
        kind: Cause,
    },
    /// It was taken out of quarantine, to be tried again.
    Retried { at: DateTime<Utc> },
    /// It was taken out of quarantine for good.
    Dropped { at: DateTime<Utc>, reason: String },
}

/// Who took a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taker {
    /// The process that hosts the actor.
    Actor,
    /// Somebody outside.
    Pull,
}

/// Who acknowledged a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acker {
    /// The handler.
    Actor,
    /// Somebody outside, under a pull lease.
    Pull,
    /// Another program's line.
    Line,
    /// The mailbox itself: `superseded` or `unchanged`.
    Mailbox,
    /// Whoever looks after the quarantine.
    Operator,
}

/// How an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The handler said why.
    Explained,
    /// It panicked.
    Panic,
    /// It ended with an error.
    Error,
    /// It missed its deadline.
    Deadline,
    /// It was killed.
    Killed,
}

/// Why a message was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It spent its attempts.
    Attempts,
    /// It was rejected.
    Rejected,
}

/// Why an event cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// A text that no mailbox would have kept.
    #[error("a text of {bytes} bytes, of which {MAX_TEXT} are kept")]
    Text {
        /// How long it is.
        bytes: usize,
    },
    /// An ack of another program's line that does not say whose.
    #[error("an ack by a line needs `from`, of 1 to {MAX_FROM} bytes")]
    From,
    /// A digest that is none.
    #[error("{0:?} is no digest of 64 hexadecimal digits")]
    Digest(String),
}

impl From<&StampedEvent> for Happened {
    fn from(stamped: &StampedEvent) -> Self {
        let at = DateTime::from(stamped.at);
        let time = |moment: &Option<Moment>| moment.map(DateTime::from);
        let text = |text: &Arc<str>| text.to_string();
        match &stamped.event {
            DeliveryEvent::Leased {
                lease,
                holder,
                attempt,
                until,
            } => Self::Taken {
                at,
                attempt: *attempt,
                lease: *lease,
                by: match holder {
                    Holder::Process(_) => Taker::Actor,
                    Holder::Pull => Taker::Pull,
                },
                until: time(until),
            },
            DeliveryEvent::Extended { lease, until } => Self::Extended {
                at,
                lease: *lease,
                until: (*until).into(),
            },
            DeliveryEvent::Acked {
                lease,
                outcome,
                by,
                read,
            } => Self::Acked {
                at,
                outcome: text(outcome),
                by: match by {
                    AckedBy::Actor => Acker::Actor,
                    AckedBy::Pull => Acker::Pull,
                    AckedBy::Line { .. } => Acker::Line,
                    AckedBy::Policy => Acker::Mailbox,
                    AckedBy::Operator => Acker::Operator,
                },
                from: match by {
                    AckedBy::Line { from } => Some(text(from)),
                    _ => None,
                },
                lease: *lease,
                read: read.map(|read| read.to_string()),
            },
            DeliveryEvent::Failed {
                lease,
                reason,
                kind,
                rest,
            } => Self::Failed {
                at,
                reason: text(reason),
                kind: (*kind).into(),
                until: stamped.at.after(*rest).into(),
                lease: *lease,
            },
            DeliveryEvent::HandedBack { lease, reason, until } => Self::HandedBack {
                at,
                reason: text(reason),
                until: time(until),
                lease: *lease,
            },
            DeliveryEvent::Expired { lease } => Self::Expired { at, lease: *lease },
            DeliveryEvent::Voided { lease } => Self::Voided { at, lease: *lease },
            DeliveryEvent::Quarantined { cause, reason } => Self::Quarantined {
                at,
                reason: text(reason),
                kind: match cause {
                    QuarantineCause::Attempts => Cause::Attempts,
                    QuarantineCause::Rejected => Cause::Rejected,
                },
            },
            DeliveryEvent::Retried => Self::Retried { at },
            DeliveryEvent::Dropped { reason } => Self::Dropped {
                at,
                reason: text(reason),
            },
        }
    }
}

impl TryFrom<Happened> for StampedEvent {
    type Error = EventError;

    fn try_from(happened: Happened) -> Result<Self, EventError> {
        let time = |time: Option<DateTime<Utc>>| time.map(Moment::from);
        let (at, event) = match happened {
            Happened::Taken {
                at,
                attempt,
                lease,
                by,
                until,
            } => {
                let holder = match by {
                    // Which life of which process it was means nothing elsewhere.
                    Taker::Actor => Holder::Process(Incarnation::from_u128(0)),
                    Taker::Pull => Holder::Pull,
                };
                let until = time(until);
                (
                    at,
                    DeliveryEvent::Leased {
                        lease,
                        holder,
                        attempt,
                        until,
                    },
                )
            }
            Happened::Extended { at, lease, until } => (
                at,
                DeliveryEvent::Extended {
                    lease,
                    until: until.into(),
                },
            ),
            Happened::Acked {
                at,
                outcome,
                by,
                from,
                lease,
                read,
            } => {
                let by = match by {
                    Acker::Actor => AckedBy::Actor,
                    Acker::Pull => AckedBy::Pull,
                    Acker::Line => AckedBy::Line {
                        from: from
                            .filter(|from| (1..=MAX_FROM).contains(&from.len()))
                            .ok_or(EventError::From)?
                            .into(),
                    },
                    Acker::Mailbox => AckedBy::Policy,
                    Acker::Operator => AckedBy::Operator,
                };
                let (outcome, read) = (text(outcome)?, read.as_deref().map(digest).transpose()?);
                (
                    at,
                    DeliveryEvent::Acked {
                        lease,
                        outcome,
                        by,
                        read,
                    },
                )
            }
            Happened::Failed {
                at,
                reason,
                kind,
                until,
                lease,
            } => {
                let rest = Moment::from(until).since(at.into());
                let (reason, kind) = (text(reason)?, kind.into());
                (
                    at,
                    DeliveryEvent::Failed {
                        lease,
                        reason,
                        kind,
                        rest,
                    },
                )
            }
            Happened::HandedBack {
                at,
                reason,
                until,
                lease,
            } => {
                let (reason, until) = (text(reason)?, time(until));
                (at, DeliveryEvent::HandedBack { lease, reason, until })
            }
            Happened::Expired { at, lease } => (at, DeliveryEvent::Expired { lease }),
            Happened::Voided { at, lease } => (at, DeliveryEvent::Voided { lease }),
            Happened::Quarantined { at, reason, kind } => {
                let cause = match kind {
                    Cause::Attempts => QuarantineCause::Attempts,
                    Cause::Rejected => QuarantineCause::Rejected,
                };
                let reason = text(reason)?;
                (at, DeliveryEvent::Quarantined { cause, reason })
            }
            Happened::Retried { at } => (at, DeliveryEvent::Retried),
            Happened::Dropped { at, reason } => (
                at,
                DeliveryEvent::Dropped {
                    reason: text(reason)?,
                },
            ),
        };
        Ok(StampedEvent {
            seq: Seq::FIRST,
            at: at.into(),
            event,
        })
    }
}

impl From<FailureKind> for Kind {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Explained => Self::Explained,
            FailureKind::Panic => Self::Panic,
            FailureKind::Error => Self::Error,
            FailureKind::Deadline => Self::Deadline,
            FailureKind::Killed => Self::Killed,
        }
    }
}

impl From<Kind> for FailureKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Explained => Self::Explained,
            Kind::Panic => Self::Panic,
            Kind::Error => Self::Error,
            Kind::Deadline => Self::Deadline,
            Kind::Killed => Self::Killed,
        }
    }
}

fn text(text: String) -> Result<Arc<str>, EventError> {
    match text.len() {
        bytes if bytes > MAX_TEXT => Err(EventError::Text { bytes }),
        _ => Ok(text.into()),
    }
}

/// A digest out of its hexadecimal digits.
pub fn digest(digits: &str) -> Result<Digest, EventError> {
    let refuse = || EventError::Digest(digits.chars().take(80).collect());
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(refuse());
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).map_err(|_| refuse())?;
    }
    Ok(Digest::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn event(event: DeliveryEvent) -> StampedEvent {
        StampedEvent {
            seq: Seq::FIRST,
            at: Moment::from_millis(1_778_780_700_123),
            event,
        }
    }

    fn every_kind() -> Vec<StampedEvent> {
        let lease = LeaseId::from_u128(7);
        let until = Moment::from_millis(1_778_780_800_000);
        let acked = |by, lease, read| DeliveryEvent::Acked {
            lease,
            outcome: "passed".into(),
            by,
            read,
        };
        [
            DeliveryEvent::Leased {
                lease,
                holder: Holder::Process(Incarnation::from_u128(0)),
                attempt: 3,
                until: None,
            },
            DeliveryEvent::Leased {
                lease,
                holder: Holder::Pull,
                attempt: 1,
                until: Some(until),
            },
            DeliveryEvent::Extended { lease, until },
            acked(AckedBy::Actor, Some(lease), Some(Digest::of(b"page"))),
            acked(AckedBy::Pull, Some(lease), None),
            acked(AckedBy::Line { from: "qa".into() }, None, None),
            acked(AckedBy::Policy, None, None),
            acked(AckedBy::Operator, None, None),
            DeliveryEvent::Failed {
                lease,
                reason: "no \"net\"\n".into(),
                kind: FailureKind::Deadline,
                rest: Duration::from_millis(1_777),
            },
            DeliveryEvent::HandedBack {
                lease,
                reason: "later".into(),
                until: Some(until),
            },
            DeliveryEvent::Expired { lease },
            DeliveryEvent::Voided { lease },
            DeliveryEvent::Quarantined {
                cause: QuarantineCause::Rejected,
                reason: "never".into(),
            },
            DeliveryEvent::Retried,
            DeliveryEvent::Dropped { reason: "old".into() },
        ]
        .map(event)
        .to_vec()
    }

    #[test]
    fn every_event_reads_back_as_it_was() {
        for stamped in every_kind() {
            let line = serde_json::to_string(&Happened::from(&stamped)).unwrap();
            let read: Happened = serde_json::from_str(&line).unwrap();
            assert_eq!(StampedEvent::try_from(read).unwrap(), stamped, "{line}");
        }
    }

    /// What is written today is read by later versions: the form is fixed.
    #[test]
    fn the_form_is_fixed() {
        let lines: Vec<String> = [3, 5, 8]
            .map(|at| serde_json::to_string(&Happened::from(&every_kind()[at])).unwrap())
            .to_vec();
        let lease = "00000000-0000-0000-0000-000000000007";
        let read = Digest::of(b"page");
        assert_eq!(
            lines,
            [
                format!(
                    r#"{{"event":"acked","at":"2026-05-14T17:45:00.123Z","outcome":"passed","by":"actor","lease":"{lease}","read":"{read}"}}"#
                ),
                r#"{"event":"acked","at":"2026-05-14T17:45:00.123Z","outcome":"passed","by":"line","from":"qa"}"#
                    .to_owned(),
                format!(
                    r#"{{"event":"failed","at":"2026-05-14T17:45:00.123Z","reason":"no \"net\"\n","kind":"deadline","until":"2026-05-14T17:45:01.900Z","lease":"{lease}"}}"#
                ),
            ]
        );
    }

    #[test]
    fn what_no_mailbox_would_hold_is_refused() {
        let refused = |text: &str| {
            let happened: Happened = serde_json::from_str(text).unwrap();
            StampedEvent::try_from(happened).unwrap_err().to_string()
        };
        let at = r#""at":"2026-05-14T17:45:00Z""#;
        let long = "x".repeat(MAX_TEXT + 1);
        for (text, why) in [
            (
                format!(r#"{{"event":"dropped",{at},"reason":"{long}"}}"#),
                "a text of 4097 bytes",
            ),
            (
                format!(r#"{{"event":"acked",{at},"outcome":"x","by":"line"}}"#),
                "needs `from`",
            ),
            (
                format!(r#"{{"event":"acked",{at},"outcome":"x","by":"actor","read":"é1"}}"#),
                "no digest",
            ),
        ] {
            assert!(refused(&text).contains(why), "{}", refused(&text));
        }
        for (text, why) in [
            (
                format!(r#"{{"event":"retried",{at},"more":1}}"#),
                "unknown field `more`",
            ),
            (r#"{"event":"danced"}"#.to_owned(), "unknown variant `danced`"),
            (r#"{"event":"retried"}"#.to_owned(), "missing field `at`"),
        ] {
            let said = serde_json::from_str::<Happened>(&text).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
