//! The lines of an export: one that says what follows, one a message, one that says that it was all.

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat, Utc};
use mailbox::{
    Envelope, MailboxName, Message, MessageError, Moment, NameError, Past, PastError, StampedEvent,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::event::{self, EventError, Happened};

/// The version of the lines. An export of another one is refused.
pub const VERSION: u32 = 1;

/// A line of an export.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// An export begins.
    Head,
    /// A message with what happened to it, and whose it is.
    Message(MailboxName, Box<Past>),
    /// An export ends, after so many messages.
    End(u64),
}

/// Why a line is none of an export.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not JSON, or not of the shape.
    #[error("not a line of an export: {0}")]
    Shape(#[source] serde_json::Error),
    /// A message without its mailbox, as it stands in the mirror.
    #[error("a message that does not say whose mailbox it is for")]
    Plain,
    /// Neither a beginning, nor a message, nor an end.
    #[error("neither `export` nor `mailbox` and `message` nor `end` is in it")]
    Neither,
    /// A version that is not known.
    #[error("an export of version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// The mailbox has no name, or an id is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The message is none.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// An event, or the digest of the evidence, is none.
    #[error(transparent)]
    Event(#[from] EventError),
    /// Its events do not follow from each other.
    #[error(transparent)]
    Past(#[from] PastError),
}

/// Everything that may stand on a line.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    export: Option<u32>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    mailbox: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    appended_at: Option<DateTime<Utc>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    cause: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    subject: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    evidence: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<Happened>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<End>,
    /// When an export began.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    ts: Option<Cow<'a, str>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    messages: u64,
}

fn written(raw: &Raw<'_>) -> String {
    let mut line = serde_json::to_string(raw).expect("a line has string keys and finite numbers");
    line.push('\n');
    line
}

/// The line that an export begins with.
pub fn head(now: DateTime<Utc>) -> String {
    written(&Raw {
        export: Some(VERSION),
        ts: Some(now.to_rfc3339_opts(SecondsFormat::Secs, true).into()),
        ..Raw::default()
    })
}

/// The line of a message.
pub fn message(envelope: &Envelope, events: &[StampedEvent]) -> String {
    written(&Raw {
        mailbox: Some(envelope.mailbox.as_str().into()),
        seq: Some(envelope.seq.0),
        appended_at: Some(envelope.appended_at.into()),
        cause: envelope.cause.as_ref().map(|cause| cause.as_str().into()),
        subject: envelope.subject.as_ref().map(|subject| subject.as_str().into()),
        evidence: envelope.evidence.map(|digest| digest.to_string().into()),
        message: Some(serde_json::from_str(envelope.message.line()).expect("a message is a JSON object")),
        events: events.iter().map(Happened::from).collect(),
        ..Raw::default()
    })
}

/// The line that an export ends with.
pub fn end(messages: u64) -> String {
    written(&Raw {
        end: Some(End { messages }),
        ..Raw::default()
    })
}

/// Reads one line. A message that does not say when it was appended is appended `now`.
///
/// # Errors
///
/// When it is no line of an export, or of a version that is not known, or its history does not hold together.
pub fn parse(line: &[u8], now: Moment) -> Result<Line, LineError> {
    let raw: Raw<'_> = serde_json::from_slice(line).map_err(|error| match Message::parse(line) {
        Ok(_) => LineError::Plain,
        Err(_) => LineError::Shape(error),
    })?;
    match raw {
        Raw {
            export: Some(VERSION),
            mailbox: None,
            message: None,
            end: None,
            ..
        } => Ok(Line::Head),
        Raw {
            export: Some(other), ..
        } if other != VERSION => Err(LineError::Version(other)),
        Raw {
            end: Some(End { messages }),
            export: None,
            mailbox: None,
            message: None,
            ..
        } => Ok(Line::End(messages)),
        Raw {
            mailbox: Some(mailbox),
            message: Some(message),
            export: None,
            end: None,
            appended_at,
            cause,
            subject,
            evidence,
            events,
            ..
        } => {
            let events = events.into_iter().map(StampedEvent::try_from);
            let past = Past {
                message: Message::parse(message.get().as_bytes())?,
                subject: subject.map(|subject| subject.parse()).transpose()?,
                evidence: evidence.map(|digits| event::digest(&digits)).transpose()?,
                cause: cause.map(|cause| cause.parse()).transpose()?,
                appended_at: appended_at.map_or(now, Moment::from),
                events: events.collect::<Result<_, _>>()?,
            };
            past.check()?;
            Ok(Line::Message(mailbox.parse()?, Box::new(past)))
        }
        _ => Err(LineError::Neither),
    }
}

#[cfg(test)]
mod tests {
    use mailbox::{EnvelopeState, Seq};

    use super::*;

    const MESSAGE: &str =
        r#"{"ts":"2026-05-14T17:45:00Z", "from":"lab","intent":"greet","msg_id":"m-1","n":1e400}"#;

    fn now() -> Moment {
        Moment::from_millis(1_778_780_700_000)
    }

    fn parsed(line: &str) -> Result<Line, String> {
        parse(line.as_bytes(), now()).map_err(|error| error.to_string())
    }

    fn envelope() -> Envelope {
        Envelope {
            mailbox: "greeter".parse().unwrap(),
            seq: Seq(7),
            message: Message::parse(MESSAGE.as_bytes()).unwrap(),
            subject: Some("o/r#1".parse().unwrap()),
            evidence: Some(mailbox::Digest::of(b"head")),
            cause: Some("m-0".parse().unwrap()),
            appended_at: Moment::from_millis(1_778_780_600_007),
            attempts: 0,
            state: EnvelopeState::Unread { not_before: None },
        }
    }

    #[test]
    fn a_message_reads_back_byte_for_byte() {
        let line = message(&envelope(), &[]);
        let Ok(Line::Message(mailbox, past)) = parsed(&line) else {
            panic!("{line}");
        };
        assert_eq!(mailbox.as_str(), "greeter");
        let expected = mailbox::Replayed {
            envelope: envelope(),
            events: Vec::new(),
        };
        assert_eq!(*past, Past::from(expected));
        assert_eq!(past.message.line(), MESSAGE);
    }

    #[test]
    fn the_form_is_fixed() {
        let digest = mailbox::Digest::of(b"head");
        assert_eq!(
            message(&envelope(), &[]),
            format!(
                r#"{{"mailbox":"greeter","seq":7,"appended_at":"2026-05-14T17:43:20.007Z","cause":"m-0","subject":"o/r#1","evidence":"{digest}","message":{MESSAGE}}}{}"#,
                "\n"
            )
        );
        assert_eq!(
            head(now().into()),
            "{\"export\":1,\"ts\":\"2026-05-14T17:45:00Z\"}\n"
        );
        assert_eq!(end(3), "{\"end\":{\"messages\":3}}\n");
    }

    #[test]
    fn what_is_a_line_and_what_is_not() {
        assert_eq!(parsed(&head(now().into())), Ok(Line::Head));
        assert_eq!(parsed(&end(3)), Ok(Line::End(3)));
        // What a person writes by hand needs no more than this.
        let by_hand = parsed(&format!(r#"{{"mailbox":"greeter","message":{MESSAGE}}}"#)).unwrap();
        assert!(matches!(by_hand, Line::Message(_, past) if past.appended_at == now()));
        for (line, why) in [
            ("{", "EOF while parsing"),
            ("{}", "neither `export`"),
            (r#"{"export":2}"#, "version 2; this program reads version 1"),
            (MESSAGE.replace("1e400", "1").as_str(), "does not say whose"),
            (r#"{"mailbox":"greeter","massage":{}}"#, "unknown field `massage`"),
            (
                &format!(r#"{{"mailbox":"../x","message":{MESSAGE}}}"#),
                "mailbox name",
            ),
            (
                r#"{"mailbox":"greeter","message":{"ts":1}}"#,
                "not a JSON object with ts",
            ),
            (
                &format!(
                    r#"{{"mailbox":"greeter","message":{MESSAGE},"events":[{{"event":"retried","at":"2026-05-14T17:45:00Z"}}]}}"#
                ),
                "event 1 cannot happen",
            ),
        ] {
            let said = parsed(line).unwrap_err();
            assert!(said.contains(why), "{line}: {said}");
        }
    }
}
