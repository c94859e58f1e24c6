//! What the log of the mailboxes says, in numbers.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mailbox::{
    AckedBy, DeliveryEvent, FailureKind, MailboxName, QuarantineCause, Replayed, SUPERSEDED, StampedEvent,
    UNCHANGED,
};
use runtime::Overview;

use super::{ActorNumbers, Failures, Series, milliseconds};
use crate::range::Range;
use crate::spread::Values;

/// Every actor's numbers, as they come.
#[derive(Debug, Default)]
pub(super) struct Messages {
    actors: BTreeMap<MailboxName, Numbers>,
}

#[derive(Debug, Default)]
struct Numbers {
    appended: u64,
    acked: u64,
    superseded: u64,
    unchanged: u64,
    quarantined: u64,
    dropped: u64,
    ack_latency: Values,
    attempts: Values,
    failures: Failures,
    unread: u64,
    oldest_unread: Option<DateTime<Utc>>,
    in_quarantine: u64,
}

/// Where a message stands between two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Unread,
    Acked,
    Quarantined,
}

/// How an ack ended a message.
enum Ended {
    Handled,
    Superseded,
    Unchanged,
}

impl Messages {
    pub(super) fn actor(&mut self, name: &MailboxName) {
        self.actors.entry(name.clone()).or_default();
    }

    /// A message with its events, in their order. Events at or after the end of the range have not happened yet.
    pub(super) fn take(&mut self, message: &Replayed, range: &Range, series: &mut Series) {
        let envelope = &message.envelope;
        let appended: DateTime<Utc> = envelope.appended_at.into();
        if appended >= range.until() {
            return;
        }
        let numbers = self.actors.entry(envelope.mailbox.clone()).or_default();
        if range.has(appended) {
            numbers.appended += 1;
            if let Some(day) = series.day(appended) {
                day.appended += 1;
            }
        }
        let mut standing = Standing::Unread;
        let mut unread_since = appended;
        let mut attempts = 0;
        let past = |event: &&StampedEvent| DateTime::from(event.at) < range.until();
        for event in message.events.iter().filter(past) {
            attempts = match event.event {
                DeliveryEvent::Leased { .. } => attempts + 1,
                DeliveryEvent::HandedBack { .. } => u64::saturating_sub(attempts, 1),
                _ => attempts,
            };
            numbers.count(event, appended, attempts, range, series);
            let next = match event.event {
                DeliveryEvent::Acked { .. } | DeliveryEvent::Dropped { .. } => Standing::Acked,
                DeliveryEvent::Quarantined { .. } => Standing::Quarantined,
                DeliveryEvent::Retried => Standing::Unread,
                _ => standing,
            };
            let at = event.at.into();
            match (standing, next) {
                (Standing::Unread, Standing::Acked | Standing::Quarantined) => {
                    series.unread(appended, unread_since, Some(at));
                }
                (Standing::Acked | Standing::Quarantined, Standing::Unread) => unread_since = at,
                _ => {}
            }
            standing = next;
        }
        match standing {
            Standing::Unread => {
                series.unread(appended, unread_since, None);
                numbers.unread += 1;
                let oldest = numbers.oldest_unread.get_or_insert(appended);
                *oldest = appended.min(*oldest);
            }
            Standing::Quarantined => numbers.in_quarantine += 1,
            Standing::Acked => {}
        }
    }

    /// Every actor, by name, with its state where it is known.
    pub(super) fn finish(self, range: &Range, present: &Overview) -> Vec<ActorNumbers> {
        let until = range.until();
        let actors = self.actors.into_iter().map(|(name, numbers)| {
            let failures = numbers.failures;
            ActorNumbers {
                state: present
                    .actor(name.as_str())
                    .map(|actor| actor.state.word().to_owned()),
                name: name.to_string(),
                appended: numbers.appended,
                acked: numbers.acked,
                superseded: numbers.superseded,
                unchanged: numbers.unchanged,
                quarantined: numbers.quarantined,
                dropped: numbers.dropped,
                ack_latency_ms: numbers.ack_latency.spread(),
                attempts: numbers.attempts.spread(),
                failures,
                restarts: failures.panic + failures.error + failures.deadline + failures.killed,
                unread: numbers.unread,
                oldest_unread_ms: numbers.oldest_unread.map(|oldest| milliseconds(oldest, until)),
                in_quarantine: numbers.in_quarantine,
            }
        });
        actors.collect()
    }
}

impl Numbers {
    /// Counts an event that lies in the range.
    fn count(
        &mut self,
        event: &StampedEvent,
        appended: DateTime<Utc>,
        attempts: u64,
        range: &Range,
        series: &mut Series,
    ) {
        if !range.has_moment(event.at) {
            return;
        }
        let at: DateTime<Utc> = event.at.into();
        let failures = &mut self.failures;
        let failed = match &event.event {
            DeliveryEvent::Acked { outcome, by, .. } => {
                match ended(outcome, by) {
                    Ended::Superseded => self.superseded += 1,
                    Ended::Unchanged => self.unchanged += 1,
                    Ended::Handled => {
                        let latency = milliseconds(appended, at);
                        self.acked += 1;
                        self.ack_latency.add(latency);
                        // Who acked by a line or without taking it made no attempt.
                        if attempts > 0 {
                            self.attempts.add(attempts);
                        }
                        if let Some(day) = series.day(at) {
                            day.acked += 1;
                            day.ack_latency.add(latency);
                        }
                    }
                }
                return;
            }
            DeliveryEvent::Dropped { .. } => {
                self.dropped += 1;
                return;
            }
            DeliveryEvent::Quarantined { cause, .. } => {
                self.quarantined += 1;
                self.attempts.add(attempts);
                match cause {
                    QuarantineCause::Rejected => &mut failures.rejected,
                    QuarantineCause::Attempts => return,
                }
            }
            DeliveryEvent::Failed { kind, .. } => match kind {
                FailureKind::Explained => &mut failures.explained,
                FailureKind::Panic => &mut failures.panic,
                FailureKind::Error => &mut failures.error,
                FailureKind::Deadline => &mut failures.deadline,
                FailureKind::Killed => &mut failures.killed,
            },
            DeliveryEvent::Expired { .. } => &mut failures.expired,
            DeliveryEvent::Voided { .. } => &mut failures.process_ended,
            DeliveryEvent::Leased { .. }
            | DeliveryEvent::Extended { .. }
            | DeliveryEvent::HandedBack { .. }
            | DeliveryEvent::Retried => return,
        };
        *failed += 1;
        if let Some(day) = series.day(at) {
            day.failed += 1;
        }
    }
}

fn ended(outcome: &str, by: &AckedBy) -> Ended {
    match (by, outcome) {
        (AckedBy::Policy, SUPERSEDED) => Ended::Superseded,
        (AckedBy::Policy, UNCHANGED) => Ended::Unchanged,
        _ => Ended::Handled,
    }
}
