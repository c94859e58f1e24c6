//! A message that comes with its past: out of one mailbox and into another.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::event::{DeliveryEvent, StampedEvent};
use crate::message::Message;
use crate::names::{Digest, LeaseId, MsgId, Subject};
use crate::replay::Replayed;

/// A message with everything that happened to it elsewhere.
///
/// ```
/// # use std::sync::Arc;
/// # use mailbox::{Done, Draft, EnvelopeState, Filter, Lessee, Mailboxes, Message, SystemClock};
/// use mailbox::{Past, Replay};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let open = || Mailboxes::open_memory(Arc::new(SystemClock::start()));
/// # let (here, there) = (open(), open());
/// # let of: mailbox::MailboxName = "greeter".parse().unwrap();
/// # let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"lab","intent":"greet","msg_id":"m-1"}"#;
/// # here.append(vec![Draft::new(of.clone(), Message::parse(line).unwrap())]).await.unwrap();
/// # let delivery = here.lease(&of, Lessee::Process).await.unwrap();
/// # here.ack(delivery.lease, Done::new("greeted")).await.unwrap();
/// let mut replay = Replay::new(here.clone(), of.clone());
/// while let Some(page) = replay.next_page().await.unwrap() {
///     there.restore(&of, page.into_iter().map(Past::from).collect()).await.unwrap();
/// }
/// let copy = there.envelopes(&of, Filter::all()).await.unwrap();
/// assert_eq!(copy, here.envelopes(&of, Filter::all()).await.unwrap());
/// # });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The message.
    pub message: Message,
    /// What it is about.
    pub subject: Option<Subject>,
    /// The digest of its evidence.
    pub evidence: Option<Digest>,
    /// The message that led to it.
    pub cause: Option<MsgId>,
    /// When it was appended there.
    pub appended_at: Moment,
    /// What happened to it, in order. The numbers in them are those of there, and mean nothing here.
    pub events: Vec<StampedEvent>,
}

impl From<Replayed> for Past {
    fn from(replayed: Replayed) -> Past {
        let Replayed { envelope, events } = replayed;
        Past {
            message: envelope.message,
            subject: envelope.subject,
            evidence: envelope.evidence,
            cause: envelope.cause,
            appended_at: envelope.appended_at,
            events,
        }
    }
}

/// An event that cannot have happened when it is said to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("event {number} cannot happen to a message that is {was}")]
pub struct PastError {
    /// Which of the events, from 1.
    pub number: usize,
    /// Where the message stood before it.
    pub was: String,
}

/// Where a message stands while its history is walked through.
enum Stands {
    Unread,
    Leased(LeaseId),
    Acked,
    Quarantined,
}

impl Stands {
    fn word(&self) -> &'static str {
        match self {
            Stands::Unread => "unread",
            Stands::Leased(_) => "in somebody's hand",
            Stands::Acked => "acked",
            Stands::Quarantined => "in quarantine",
        }
    }

    /// Where it stands after an event; `None` where that cannot happen to it.
    fn after(&self, attempts: &mut u32, event: &DeliveryEvent) -> Option<Stands> {
        let is_held = |lease: &LeaseId| matches!(self, Stands::Leased(held) if held == lease);
        let is_open = matches!(self, Stands::Unread | Stands::Leased(_));
        match event {
            DeliveryEvent::Leased { lease, attempt, .. } => {
                let next = matches!(self, Stands::Unread) && *attempt == attempts.saturating_add(1);
                next.then(|| {
                    *attempts = *attempt;
                    Stands::Leased(*lease)
                })
            }
            DeliveryEvent::Extended { lease, .. } => is_held(lease).then_some(Stands::Leased(*lease)),
            DeliveryEvent::Acked { lease: None, .. } => is_open.then_some(Stands::Acked),
            DeliveryEvent::Acked {
                lease: Some(lease), ..
            } => is_held(lease).then_some(Stands::Acked),
            DeliveryEvent::Failed { lease, .. }
            | DeliveryEvent::Expired { lease }
            | DeliveryEvent::Voided { lease } => is_held(lease).then_some(Stands::Unread),
            DeliveryEvent::HandedBack { lease, .. } => is_held(lease).then(|| {
                *attempts = attempts.saturating_sub(1);
                Stands::Unread
            }),
            DeliveryEvent::Quarantined { .. } => is_open.then_some(Stands::Quarantined),
            DeliveryEvent::Retried => matches!(self, Stands::Quarantined).then(|| {
                *attempts = 0;
                Stands::Unread
            }),
            DeliveryEvent::Dropped { .. } => matches!(self, Stands::Quarantined).then_some(Stands::Acked),
        }
    }
}

impl Past {
    /// Whether its events can have happened in this order. Times are not looked at, since clocks are set back.
    ///
    /// # Errors
    /// The first event that cannot.
    pub fn check(&self) -> Result<(), PastError> {
        let mut attempts = 0;
        let mut stands = Stands::Unread;
        for (number, stamped) in (1..).zip(&self.events) {
            stands = stands
                .after(&mut attempts, &stamped.event)
                .ok_or_else(|| PastError {
                    number,
                    was: stands.word().to_owned(),
                })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::event::{AckedBy, FailureKind, Holder, QuarantineCause};
    use crate::names::Seq;

    fn lease(number: u128) -> LeaseId {
        LeaseId::from_u128(number)
    }

    fn taken(number: u128, attempt: u32) -> DeliveryEvent {
        DeliveryEvent::Leased {
            lease: lease(number),
            holder: Holder::Pull,
            attempt,
            until: None,
        }
    }

    fn failed(number: u128) -> DeliveryEvent {
        DeliveryEvent::Failed {
            lease: lease(number),
            reason: "no".into(),
            kind: FailureKind::Explained,
            rest: Duration::ZERO,
        }
    }

    fn acked(under: Option<u128>) -> DeliveryEvent {
        DeliveryEvent::Acked {
            lease: under.map(lease),
            outcome: "done".into(),
            by: AckedBy::Actor,
            read: None,
        }
    }

    fn set_aside() -> DeliveryEvent {
        DeliveryEvent::Quarantined {
            cause: QuarantineCause::Rejected,
            reason: "no".into(),
        }
    }

    fn handed_back(number: u128) -> DeliveryEvent {
        DeliveryEvent::HandedBack {
            lease: lease(number),
            reason: "later".into(),
            until: None,
        }
    }

    fn check(events: Vec<DeliveryEvent>, broken: Option<(usize, &str)>) {
        let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"a","intent":"b","msg_id":"c"}"#;
        let past = Past {
            message: Message::parse(line).unwrap(),
            subject: None,
            evidence: None,
            cause: None,
            appended_at: Moment::EPOCH,
            events: events
                .into_iter()
                .map(|event| StampedEvent {
                    seq: Seq(1),
                    at: Moment::EPOCH,
                    event,
                })
                .collect(),
        };
        let expected = broken.map_or(Ok(()), |(number, was)| {
            Err(PastError {
                number,
                was: was.to_owned(),
            })
        });
        assert_eq!(past.check(), expected, "{:?}", past.events);
    }

    #[test]
    fn what_can_have_happened_and_what_cannot() {
        check(vec![], None);
        check(vec![taken(1, 1), failed(1), taken(2, 2), acked(Some(2))], None);
        check(vec![taken(1, 1), handed_back(1), taken(2, 1)], None);
        check(
            vec![taken(1, 1), set_aside(), DeliveryEvent::Retried, taken(2, 1)],
            None,
        );
        check(
            vec![set_aside(), DeliveryEvent::Dropped { reason: "old".into() }],
            None,
        );
        check(vec![taken(1, 1), acked(None)], None);

        check(vec![failed(1)], Some((1, "unread")));
        check(vec![taken(1, 2)], Some((1, "unread")));
        check(vec![taken(1, 1), acked(Some(2))], Some((2, "in somebody's hand")));
        check(vec![acked(None), taken(1, 1)], Some((2, "acked")));
        check(vec![acked(None), acked(None)], Some((2, "acked")));
        check(vec![set_aside(), acked(None)], Some((2, "in quarantine")));
        check(vec![DeliveryEvent::Retried], Some((1, "unread")));
    }
}
