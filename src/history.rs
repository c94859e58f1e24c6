//! What happened to a message, for people and for programs.

use chrono::{DateTime, Utc};
use mailbox::{DeliveryEvent, Envelope, Holder, Moment, QuarantineCause, StampedEvent};
use serde::Serialize;

use crate::commands::inbox::{Shown, about, state};
use crate::print;

/// A message with everything that happened to it, as `--json` shows it.
#[derive(Debug, Serialize)]
pub struct History<'a> {
    #[serde(flatten)]
    message: Shown<'a>,
    events: Vec<Happened<'a>>,
}

/// One thing that happened. A field with nothing to say is left out.
#[derive(Debug, Default, Serialize)]
struct Happened<'a> {
    at: DateTime<Utc>,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<DateTime<Utc>>,
}

impl<'a> History<'a> {
    /// The history of a message.
    pub fn of(envelope: &'a Envelope, events: &'a [StampedEvent]) -> Self {
        Self {
            message: Shown::from(envelope),
            events: events.iter().map(happened).collect(),
        }
    }
}

fn happened(stamped: &StampedEvent) -> Happened<'_> {
    let at = stamped.at.into();
    let moment = |moment: Option<Moment>| moment.map(DateTime::from);
    let of = |event| Happened {
        at,
        event,
        ..Happened::default()
    };
    match &stamped.event {
        DeliveryEvent::Leased {
            lease,
            holder,
            attempt,
            until,
        } => Happened {
            attempt: Some(*attempt),
            lease: Some(lease.to_string()),
            by: Some(taker(holder).to_owned()),
            until: moment(*until),
            ..of("taken")
        },
        DeliveryEvent::Extended { lease, until } => Happened {
            lease: Some(lease.to_string()),
            until: moment(Some(*until)),
            ..of("extended")
        },
        DeliveryEvent::Acked { outcome, by, .. } => Happened {
            outcome: Some(outcome),
            by: Some(by.to_string()),
            ..of("acked")
        },
        DeliveryEvent::Failed {
            reason, kind, rest, ..
        } => Happened {
            reason: Some(reason),
            kind: Some(kind.to_string()),
            until: moment(Some(stamped.at.after(*rest))),
            ..of("failed")
        },
        DeliveryEvent::HandedBack { reason, until, .. } => Happened {
            reason: Some(reason),
            until: moment(*until),
            ..of("handed_back")
        },
        DeliveryEvent::Expired { lease } => Happened {
            lease: Some(lease.to_string()),
            ..of("expired")
        },
        DeliveryEvent::Voided { lease } => Happened {
            lease: Some(lease.to_string()),
            ..of("voided")
        },
        DeliveryEvent::Quarantined { cause, reason } => Happened {
            reason: Some(reason),
            kind: Some(set_aside_for(*cause).to_owned()),
            ..of("quarantined")
        },
        DeliveryEvent::Retried => of("retried"),
        DeliveryEvent::Dropped { reason } => Happened {
            reason: Some(reason),
            ..of("dropped")
        },
    }
}

fn taker(holder: &Holder) -> &'static str {
    match holder {
        Holder::Process(_) => "actor",
        Holder::Pull => "pull",
    }
}

fn set_aside_for(cause: QuarantineCause) -> &'static str {
    match cause {
        QuarantineCause::Attempts => "attempts",
        QuarantineCause::Rejected => "rejected",
    }
}

/// What a message is, on a line.
pub fn title(envelope: &Envelope) -> String {
    let message = &envelope.message;
    let subject = about(envelope).map(|pr| format!(" {pr}")).unwrap_or_default();
    format!(
        "{} {}{subject} {}\n",
        envelope.seq,
        print::shown(message.intent()),
        print::shown(message.msg_id().as_str())
    )
}

/// A message's history as lines: what it is and where it stands, then one line for each thing that happened.
pub fn text(envelope: &Envelope, events: &[StampedEvent]) -> String {
    let message = &envelope.message;
    let mut out = title(envelope);
    let mut line = |at: Moment, text: String| {
        out.push_str(&format!(
            "  {}  {}\n",
            print::moment(at.into()),
            print::shown(&text)
        ));
    };
    line(envelope.appended_at, format!("appended, from {}", message.from()));
    for stamped in events {
        line(stamped.at, words(stamped));
    }
    out.push_str(&format!("  now: {}\n", print::shown(&state(envelope))));
    out
}

fn words(stamped: &StampedEvent) -> String {
    match &stamped.event {
        DeliveryEvent::Leased {
            holder,
            attempt,
            until,
            ..
        } => {
            let until = until
                .map(|until| format!(", until {}", print::moment(until.into())))
                .unwrap_or_default();
            format!("taken by the {} side, attempt {attempt}{until}", taker(holder))
        }
        DeliveryEvent::Extended { until, .. } => {
            format!("the lease lasts until {}", print::moment((*until).into()))
        }
        DeliveryEvent::Acked { outcome, by, .. } => format!("acked by {by}: {outcome}"),
        DeliveryEvent::Failed {
            reason, kind, rest, ..
        } => {
            format!("failed ({kind}), rests for {:.1} s: {reason}", rest.as_secs_f64())
        }
        DeliveryEvent::HandedBack { reason, .. } => {
            format!("handed back, the attempt does not count: {reason}")
        }
        DeliveryEvent::Expired { .. } => "the lease expired".to_owned(),
        DeliveryEvent::Voided { .. } => "the process that had it ended".to_owned(),
        DeliveryEvent::Quarantined { cause, reason } => {
            format!("to quarantine ({}): {reason}", set_aside_for(*cause))
        }
        DeliveryEvent::Retried => "out of quarantine, to be tried again".to_owned(),
        DeliveryEvent::Dropped { reason } => format!("out of quarantine, dropped: {reason}"),
    }
}
