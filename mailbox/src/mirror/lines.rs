//! Lines of the mirror, without files: cutting bytes into lines, and saying what a line is. Pure.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use crate::message::{MAX_MESSAGE, Message, MessageError};
use crate::names::{Digest, MsgId, NameError};

/// The longest sender of an acknowledgement, in bytes: it is kept with the message.
const MAX_SENDER: usize = 256;
/// The intent of an acknowledgement.
const ACK: &str = "ack";

/// An acknowledgement as a line of `_acks.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckLine {
    /// When.
    pub ts: DateTime<Utc>,
    /// The actor that acknowledges.
    pub from: String,
    /// The message.
    pub msg_id: MsgId,
    /// What came of it.
    pub outcome: String,
}

#[derive(Serialize, Deserialize)]
struct RawAck<'a> {
    ts: std::borrow::Cow<'a, str>,
    from: std::borrow::Cow<'a, str>,
    intent: std::borrow::Cow<'a, str>,
    msg_id: std::borrow::Cow<'a, str>,
    #[serde(default)]
    outcome: std::borrow::Cow<'a, str>,
}

/// Why a line was not taken in.
#[derive(Debug, thiserror::Error)]
pub enum LineFault {
    /// Longer than a message may be.
    #[error("longer than {MAX_MESSAGE} bytes")]
    TooLong,
    /// Not a message.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// Not JSON of the shape of an acknowledgement.
    #[error("not an acknowledgement with ts, from, intent and msg_id: {0}")]
    NotAnAck(#[source] serde_json::Error),
    /// Its intent is another one.
    #[error("intent {0:?} is not \"ack\"")]
    OtherIntent(String),
    /// Its time is none.
    #[error("ts {0:?} is not a time")]
    Time(String),
    /// Its sender is empty or too long.
    #[error("from is empty or longer than {MAX_SENDER} bytes")]
    Sender,
    /// Its id is none.
    #[error(transparent)]
    Id(#[from] NameError),
}

impl AckLine {
    /// Reads one line.
    pub(super) fn parse(line: &[u8]) -> Result<AckLine, LineFault> {
        let raw: RawAck<'_> = serde_json::from_slice(line).map_err(LineFault::NotAnAck)?;
        if raw.intent != ACK {
            return Err(LineFault::OtherIntent(raw.intent.into_owned()));
        }
        let ts = raw
            .ts
            .parse()
            .map_err(|_| LineFault::Time(raw.ts.clone().into_owned()))?;
        if raw.from.is_empty() || raw.from.len() > MAX_SENDER {
            return Err(LineFault::Sender);
        }
        let msg_id = raw.msg_id.parse()?;
        Ok(AckLine {
            ts,
            from: raw.from.into_owned(),
            msg_id,
            outcome: raw.outcome.into_owned(),
        })
    }

    /// The line, without a line break.
    pub(super) fn line(&self) -> String {
        let raw = RawAck {
            ts: self.ts.to_rfc3339_opts(SecondsFormat::Secs, true).into(),
            from: self.from.as_str().into(),
            intent: ACK.into(),
            msg_id: self.msg_id.as_str().into(),
            outcome: self.outcome.as_str().into(),
        };
        serde_json::to_string(&raw).expect("texts serialize")
    }
}

/// One line, as it was cut.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut<'a> {
    /// A whole line, without its line break.
    Line(&'a [u8]),
    /// A line that was too long to keep.
    TooLong,
}

/// Cuts bytes that arrive in pieces into lines. It keeps an unfinished line until its line break
/// comes, and at most [`MAX_MESSAGE`] bytes of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Cutter {
    /// Lines seen.
    lines: u64,
    partial: Vec<u8>,
    too_long: bool,
    /// Bytes since the last line break.
    unfinished: u64,
}

impl Cutter {
    /// One that begins after so many lines.
    pub(super) fn after(lines: u64) -> Cutter {
        Cutter {
            lines,
            ..Cutter::default()
        }
    }

    /// How many lines were finished.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// How many bytes there were since the last line break.
    pub(super) fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Takes in some bytes and shows each line that they finish, with its number from 1. Empty lines
    /// are counted and not shown.
    pub(super) fn feed(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(u64, Cut<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = (&bytes[..end], &bytes[end + 1..]);
            bytes = rest;
            self.lines += 1;
            if self.too_long || self.partial.len() + head.len() > MAX_MESSAGE {
                each(self.lines, Cut::TooLong);
            } else if self.partial.is_empty() {
                self.show(head, each);
            } else {
                let mut line = std::mem::take(&mut self.partial);
                line.extend_from_slice(head);
                self.show(&line, each);
            }
            self.partial.clear();
            self.too_long = false;
            self.unfinished = 0;
        }
        self.unfinished += bytes.len() as u64;
        if self.too_long || self.partial.len() + bytes.len() > MAX_MESSAGE {
            self.too_long |= !bytes.is_empty();
            self.partial.clear();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn show(&self, line: &[u8], each: &mut dyn FnMut(u64, Cut<'_>)) {
        if !line.trim_ascii().is_empty() {
            each(self.lines, Cut::Line(line));
        }
    }

    /// Whether the last byte seen was not a line break.
    pub(super) fn is_partial(&self) -> bool {
        self.too_long || !self.partial.is_empty()
    }

    /// The unfinished line, where it is short enough to be kept.
    pub(super) fn partial(&self) -> &[u8] {
        &self.partial
    }
}

/// What a line of a mailbox's file is known by, and the message that it is.
pub(super) fn message(line: &[u8]) -> Result<(IdKey, Message), LineFault> {
    let message = Message::parse(line)?;
    Ok((id_key(message.msg_id()), message))
}

/// What a line of the file of acks is known by, and the ack that it is.
pub(super) fn ack(line: &[u8]) -> Result<(IdKey, AckLine), LineFault> {
    let ack = AckLine::parse(line)?;
    Ok((ack_key(&ack.from, &ack.msg_id), ack))
}

/// What a line is known by where there may be a million of them.
pub(super) type IdKey = u128;

/// What a message is known by.
pub(super) fn id_key(id: &MsgId) -> IdKey {
    key_of(id.as_str())
}

/// What an ack is known by: its sender and its message. An id holds no line break.
pub(super) fn ack_key(from: &str, id: &MsgId) -> IdKey {
    key_of(&format!("{id}\n{from}"))
}

fn key_of(text: &str) -> IdKey {
    let digest = Digest::of(text.as_bytes());
    let (first, _) = digest.as_bytes().split_at(size_of::<IdKey>());
    first.iter().fold(0, |key, byte| (key << 8) | IdKey::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A line with its number; `None` for one that was too long.
    type Seen = (u64, Option<Vec<u8>>);

    fn cut_in(pieces: &[&[u8]]) -> (Vec<Seen>, Cutter) {
        let mut cutter = Cutter::default();
        let mut seen = Vec::new();
        for piece in pieces {
            cutter.feed(piece, &mut |number, cut| {
                seen.push((
                    number,
                    match cut {
                        Cut::Line(line) => Some(line.to_vec()),
                        Cut::TooLong => None,
                    },
                ));
            });
        }
        (seen, cutter)
    }

    #[test]
    fn a_partial_line_waits_for_its_line_break() {
        let (seen, cutter) = cut_in(&[b"one\ntw", b"o", b"\n\nthr"]);
        assert_eq!(seen, [(1, Some(b"one".to_vec())), (2, Some(b"two".to_vec()))]);
        assert_eq!((cutter.partial(), cutter.lines), (&b"thr"[..], 3));
    }

    #[test]
    fn a_line_that_is_too_long_is_reported_once_and_not_kept() {
        let half = vec![b'x'; MAX_MESSAGE / 2 + 1];
        let (seen, cutter) = cut_in(&[&half, &half, &half, b"\nnext\n"]);
        assert_eq!(seen, [(1, None), (2, Some(b"next".to_vec()))]);
        assert!(!cutter.is_partial());
        let (_, cutter) = cut_in(&[&half, &half, &half]);
        assert!(cutter.is_partial());
        assert!(cutter.partial().is_empty());
        let exact = vec![b'x'; MAX_MESSAGE];
        let (seen, _) = cut_in(&[&exact, b"\n"]);
        assert_eq!(seen[0].1.as_ref().map(Vec::len), Some(MAX_MESSAGE));
    }

    proptest! {
        #[test]
        fn where_the_pieces_end_does_not_matter(
            text in "[ab\n]{0,60}",
            cuts in proptest::collection::vec(0_usize..60, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(text.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for at in cuts {
                pieces.push(&text.as_bytes()[from..at]);
                from = at;
            }
            pieces.push(&text.as_bytes()[from..]);
            prop_assert_eq!(cut_in(&pieces), cut_in(&[text.as_bytes()]));
        }
    }

    #[test]
    fn what_is_an_ack_line_and_what_is_not() {
        let good =
            r#"{"ts":"2026-05-14T17:45:00Z","from":"qa","intent":"ack","msg_id":"m-1","outcome":"passed"}"#;
        let ack = AckLine::parse(good.as_bytes()).unwrap();
        assert_eq!(ack.line(), good);
        let check = |line: &str, fault: &str| {
            let error = AckLine::parse(line.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(fault), "{line}: {error}");
        };
        check(
            &good.replace("\"ack\"", "\"reattest\""),
            "intent \"reattest\" is not \"ack\"",
        );
        check(
            &good.replace("2026-05-14T17:45:00Z", "now"),
            "ts \"now\" is not a time",
        );
        check(&good.replace("\"m-1\"", "\"\""), "not a message id");
        check(&good.replace("\"qa\"", "\"\""), "from is empty");
        check(
            &good.replace("\"qa\"", &format!("\"{}\"", "q".repeat(257))),
            "longer than 256",
        );
        check(&good.replace("\"msg_id\":\"m-1\",", ""), "missing field `msg_id`");
        check("{", "not an acknowledgement");
        let without_outcome = good.replace(",\"outcome\":\"passed\"", "");
        assert_eq!(AckLine::parse(without_outcome.as_bytes()).unwrap().outcome, "");
    }
}
