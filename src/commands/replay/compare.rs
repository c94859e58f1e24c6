//! What was recorded of a message, held against what its handler does with it now. Pure.

use mailbox::{AckedBy, DeliveryEvent, Digest, EnvelopeState, MAX_TEXT, Moment, Replayed};
use serde::Serialize;

/// What is on record of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// The handler was done with it.
    Done {
        /// Its outcome.
        outcome: String,
        /// The digest of what it read, where one is kept.
        read: Option<Digest>,
    },
    /// The handler failed, and why the last time.
    Failed {
        /// In its words.
        reason: String,
    },
    /// It was not handled yet.
    Nothing,
    /// Its handler never ran on it, and who settled it.
    NotHandled {
        /// In words.
        why: String,
    },
}

/// What is on record of a message.
pub fn recorded(message: &Replayed) -> Recorded {
    let failed = message
        .events
        .iter()
        .rev()
        .find_map(|stamped| match &stamped.event {
            DeliveryEvent::Failed { reason, .. } | DeliveryEvent::Quarantined { reason, .. } => {
                Some(reason.to_string())
            }
            _ => None,
        });
    let read = message
        .events
        .iter()
        .rev()
        .find_map(|stamped| match &stamped.event {
            DeliveryEvent::Acked { read, .. } => Some(*read),
            _ => None,
        });
    match &message.envelope.state {
        EnvelopeState::Acked {
            outcome,
            by: AckedBy::Actor,
            ..
        } => Recorded::Done {
            outcome: outcome.to_string(),
            read: read.flatten(),
        },
        EnvelopeState::Acked { outcome, by, .. } => match (by, failed) {
            (AckedBy::Operator, Some(reason)) => Recorded::Failed { reason },
            _ => Recorded::NotHandled {
                why: format!("acked by {by}: {outcome}"),
            },
        },
        EnvelopeState::Quarantined { .. } | EnvelopeState::Unread { .. } | EnvelopeState::Leased { .. } => {
            failed.map_or(Recorded::Nothing, |reason| Recorded::Failed { reason })
        }
    }
}

/// As of when a message was handled the last time.
pub fn handled_at(message: &Replayed) -> Option<Moment> {
    message
        .events
        .iter()
        .rev()
        .find_map(|stamped| match stamped.event {
            DeliveryEvent::Leased { .. } => Some(stamped.at),
            _ => None,
        })
}

/// How running a handler again ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With this outcome.
    Done(String),
    /// It failed, in these words.
    Failed(String),
    /// At an act whose end nobody can tell without doing it.
    Stopped(String),
}

/// What was read now, beside what was read then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// The same, or nothing both times.
    Same,
    /// Something else.
    Other,
    /// No digest of what was read then is kept, or not all of it was read now.
    Unknown,
}

/// How an effect stands to what there is of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stands {
    /// It is there already, as it would be.
    Same,
    /// Something else is there.
    Other,
    /// Nothing is there.
    Absent,
    /// It leaves nothing by which one could tell.
    Unknown,
}

/// What comes of holding one against the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing differs.
    Same,
    /// The same was read, and something else came of it: the code moved.
    CodeMoved,
    /// Something else was read, and something else came of it: the world moved.
    WorldMoved,
    /// Something else came of it, and what was read then is not kept.
    Differs,
    /// There is nothing to hold it against.
    New,
    /// It would act on the world, and what would come of that is not known.
    Stopped,
    /// The handler was not run.
    NotRun,
}

/// Whether what was read is the same. A failure keeps no digest.
pub fn reads(then: &Recorded, now: Option<Digest>) -> Reads {
    match then {
        Recorded::Done { read, .. } if *read == now => Reads::Same,
        Recorded::Done { read: Some(_), .. } => Reads::Other,
        Recorded::Done { read: None, .. }
        | Recorded::Failed { .. }
        | Recorded::Nothing
        | Recorded::NotHandled { .. } => Reads::Unknown,
    }
}

/// Holds what came of a message now against what came of it then. `sent` is how each message that was sent, then or
/// now, stands to the other time.
pub fn verdict(then: &Recorded, now: &Ended, reads: Reads, sent: &[Stands]) -> Verdict {
    let same = match (then, now) {
        (Recorded::NotHandled { .. }, _) => return Verdict::NotRun,
        (_, Ended::Stopped(_)) => return Verdict::Stopped,
        (Recorded::Nothing, _) => return Verdict::New,
        (Recorded::Done { outcome, .. }, Ended::Done(now)) => {
            outcome == kept(now) && sent.iter().all(|stands| *stands == Stands::Same)
        }
        (Recorded::Failed { reason }, Ended::Failed(now)) => reason == kept(now),
        (Recorded::Done { .. }, Ended::Failed(_)) | (Recorded::Failed { .. }, Ended::Done(_)) => false,
    };
    match (same, reads) {
        (true, _) => Verdict::Same,
        (false, Reads::Same) => Verdict::CodeMoved,
        (false, Reads::Other) => Verdict::WorldMoved,
        (false, Reads::Unknown) => Verdict::Differs,
    }
}

/// So much of a text as a mailbox keeps.
fn kept(text: &str) -> &str {
    let end = (0..=MAX_TEXT.min(text.len())).rfind(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use mailbox::{Envelope, FailureKind, LeaseId, Message, QuarantineCause, Seq, StampedEvent};

    use super::*;

    fn done(outcome: &str, read: Option<&[u8]>) -> Recorded {
        Recorded::Done {
            outcome: outcome.to_owned(),
            read: read.map(Digest::of),
        }
    }

    fn failed(reason: &str) -> Recorded {
        Recorded::Failed {
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn a_difference_says_whether_the_code_or_the_world_moved() {
        let check = |then: Recorded, now: Ended, read: Option<&[u8]>, sent: &[Stands], expected: Verdict| {
            let reads = reads(&then, read.map(Digest::of));
            assert_eq!(verdict(&then, &now, reads, sent), expected, "{then:?} {now:?}");
        };
        let passed = || Ended::Done("passed".to_owned());
        let broke = || Ended::Failed("broke".to_owned());
        let (a, b): (Option<&[u8]>, Option<&[u8]>) = (Some(b"a"), Some(b"b"));
        check(done("passed", a), passed(), a, &[], Verdict::Same);
        check(done("passed", a), passed(), b, &[], Verdict::Same);
        check(done("moot", a), passed(), a, &[], Verdict::CodeMoved);
        check(done("moot", a), passed(), b, &[], Verdict::WorldMoved);
        check(done("moot", None), passed(), None, &[], Verdict::CodeMoved);
        check(done("moot", None), passed(), b, &[], Verdict::Differs);
        check(done("passed", a), broke(), a, &[], Verdict::CodeMoved);
        check(failed("broke"), broke(), b, &[], Verdict::Same);
        check(failed("broke"), passed(), b, &[], Verdict::Differs);
        check(Recorded::Nothing, passed(), b, &[], Verdict::New);
        let long = "x".repeat(MAX_TEXT);
        let longer = Ended::Done(format!("{long}é"));
        check(done(&long, a), longer, a, &[], Verdict::Same);

        check(done("passed", a), passed(), a, &[Stands::Same], Verdict::Same);
        check(
            done("passed", a),
            passed(),
            a,
            &[Stands::Same, Stands::Absent],
            Verdict::CodeMoved,
        );
        let push = Ended::Stopped("push".to_owned());
        check(done("pushed", a), push, a, &[], Verdict::Stopped);
        let by_hand = Recorded::NotHandled { why: String::new() };
        check(by_hand, passed(), a, &[], Verdict::NotRun);
    }

    fn message(state: EnvelopeState, events: Vec<DeliveryEvent>) -> Replayed {
        let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"a","intent":"b","msg_id":"c"}"#;
        let stamped = (1..).zip(events).map(|(at, event)| StampedEvent {
            seq: Seq(1),
            at: Moment::from_millis(at),
            event,
        });
        Replayed {
            envelope: Envelope {
                mailbox: "qa".parse().unwrap(),
                seq: Seq(1),
                message: Message::parse(line).unwrap(),
                subject: None,
                evidence: None,
                cause: None,
                appended_at: Moment::EPOCH,
                attempts: 0,
                state,
            },
            events: stamped.collect(),
        }
    }

    #[test]
    fn what_is_on_record_is_the_handlers_own_last_word() {
        let lease = LeaseId::from_u128(1);
        let taken = || DeliveryEvent::Leased {
            lease,
            holder: mailbox::Holder::Pull,
            attempt: 1,
            until: None,
        };
        let broke = || DeliveryEvent::Failed {
            lease,
            reason: "broke".into(),
            kind: FailureKind::Error,
            rest: std::time::Duration::ZERO,
        };
        let acked = |by: AckedBy| EnvelopeState::Acked {
            outcome: "passed".into(),
            at: Moment::EPOCH,
            by,
        };
        let ack = |by: AckedBy, read| DeliveryEvent::Acked {
            lease: Some(lease),
            outcome: "passed".into(),
            by,
            read,
        };
        let unread = EnvelopeState::Unread { not_before: None };
        assert_eq!(recorded(&message(unread.clone(), vec![])), Recorded::Nothing);
        assert_eq!(
            recorded(&message(unread, vec![taken(), broke()])),
            failed("broke")
        );
        let read = Some(Digest::of(b"page"));
        let handled = message(
            acked(AckedBy::Actor),
            vec![taken(), broke(), taken(), ack(AckedBy::Actor, read)],
        );
        assert_eq!(recorded(&handled), done("passed", Some(b"page")));
        assert_eq!(handled_at(&handled), Some(Moment::from_millis(3)));
        let by_policy = message(acked(AckedBy::Policy), vec![ack(AckedBy::Policy, None)]);
        assert_eq!(
            recorded(&by_policy),
            Recorded::NotHandled {
                why: "acked by mailbox: passed".to_owned()
            }
        );
        assert_eq!(handled_at(&by_policy), None);
        let set_aside = EnvelopeState::Quarantined {
            at: Moment::EPOCH,
            cause: QuarantineCause::Attempts,
            reason: "broke".into(),
        };
        assert_eq!(
            recorded(&message(set_aside, vec![taken(), broke()])),
            failed("broke")
        );
        let dropped = DeliveryEvent::Dropped { reason: "old".into() };
        assert_eq!(
            recorded(&message(
                acked(AckedBy::Operator),
                vec![taken(), broke(), dropped]
            )),
            failed("broke")
        );
    }
}
