//! How records are laid out in a value of the journal. Pure.
//!
//! Many small keys are what costs most in a tree, so a value holds a chunk of records: about twenty
//! small messages, or more events. A value begins with the version of this layout and a checksum.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::event::{DeliveryEvent, StampedEvent};
use crate::names::{Digest, MailboxName};
use crate::store::Stored;

/// The layout that this file writes.
const VERSION: u8 = 2;
/// The first layout: the same without tombstones, gone numbers and messages out of quarantine.
const VERSION_1: u8 = 1;
/// Version and checksum.
const PREFIX: usize = 5;
/// Messages in one chunk: a group of so many is one value, which is whole by itself, where several need a
/// batch that is written and waited for twice. More bring little, and a chunk is rewritten whole when one of
/// them is pruned.
const MESSAGES: usize = 160;
/// Bytes of records in one chunk. A leaf holds up to 17 of them, and one of more than a quarter of a segment
/// (2 MiB of 8) would be written to a file that the database never syncs: 17 chunks are half of that.
pub(super) const BYTES: usize = 48 * 1024;
/// A larger message has a file of its own, so that reading its neighbours does not read it too.
pub(super) const INLINE: usize = 6 * 1024;
/// What a record costs beside its texts, about: only used to decide where a chunk ends.
const RECORD: usize = 64;

/// One value of the journal.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Chunk<'a> {
    /// The mailboxes in it; records name them by their place here.
    #[serde(borrow)]
    pub(super) mailboxes: Vec<&'a str>,
    pub(super) records: Vec<Rec<'a>>,
}

/// One record.
///
/// A stored format: variants are only ever added at the end, fields with a new [`VERSION`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Rec<'a> {
    Message {
        of: u32,
        seq: u64,
        appended_at: Moment,
        #[serde(borrow)]
        id: &'a str,
        intent: &'a str,
        subject: Option<&'a str>,
        evidence: Option<Digest>,
        cause: Option<&'a str>,
        #[serde(borrow)]
        line: Line<'a>,
    },
    Event {
        of: u32,
        event: StampedEvent,
    },
    /// A message that was pruned and whose id is known.
    Tombstone {
        of: u32,
        seq: u64,
        appended_at: Moment,
        id: &'a str,
        outcome: Cow<'a, str>,
    },
    /// Messages that were pruned, by their first and last number.
    Gone {
        of: u32,
        first: u64,
        last: u64,
    },
}

impl Rec<'_> {
    /// The place of its mailbox in the chunk.
    pub(super) fn of(&self) -> u32 {
        match self {
            Rec::Message { of, .. }
            | Rec::Event { of, .. }
            | Rec::Tombstone { of, .. }
            | Rec::Gone { of, .. } => *of,
        }
    }

    fn of_mut(&mut self) -> &mut u32 {
        match self {
            Rec::Message { of, .. }
            | Rec::Event { of, .. }
            | Rec::Tombstone { of, .. }
            | Rec::Gone { of, .. } => of,
        }
    }

    /// The bytes that it takes, about.
    fn size(&self) -> usize {
        let texts = match self {
            Rec::Message { id, line, .. } => {
                let line = match line {
                    Line::Here(line) => line.len(),
                    Line::File(_) | Line::Gone => 0,
                };
                id.len() + line
            }
            Rec::Event { event, .. } => texts(&event.event),
            Rec::Tombstone { id, outcome, .. } => id.len() + outcome.len(),
            Rec::Gone { .. } => 0,
        };
        texts + RECORD
    }
}

/// How many bytes of text an event holds.
fn texts(event: &DeliveryEvent) -> usize {
    match event {
        DeliveryEvent::Acked { outcome: text, .. }
        | DeliveryEvent::Failed { reason: text, .. }
        | DeliveryEvent::HandedBack { reason: text, .. }
        | DeliveryEvent::Quarantined { reason: text, .. }
        | DeliveryEvent::Dropped { reason: text } => text.len(),
        DeliveryEvent::Leased { .. }
        | DeliveryEvent::Extended { .. }
        | DeliveryEvent::Expired { .. }
        | DeliveryEvent::Voided { .. }
        | DeliveryEvent::Retried => 0,
    }
}

/// Where a message's line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Line<'a> {
    /// Here.
    Here(#[serde(borrow)] &'a str),
    /// In the file that is named by the digest of its content.
    File(Digest),
    /// It was pruned. No longer written.
    Gone,
}

/// Why a value is no chunk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ChunkError {
    #[error("a value of {0} bytes is too short")]
    Short(usize),
    #[error("layout {0} is not known to this version")]
    Version(u8),
    #[error("a checksum does not match")]
    Checksum,
    #[error("a record does not decode: {0}")]
    Decode(#[source] postcard::Error),
}

impl Chunk<'_> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let prefix = vec![0; PREFIX];
        let mut value = postcard::to_extend(self, prefix).expect("plain data serializes into memory");
        let checksum = crc32fast::hash(&value[PREFIX..]);
        value[0] = VERSION;
        value[1..PREFIX].copy_from_slice(&checksum.to_le_bytes());
        value
    }
}

impl<'a> Chunk<'a> {
    pub(super) fn decode(value: &'a [u8]) -> Result<Chunk<'a>, ChunkError> {
        let Some((prefix, body)) = value.split_first_chunk::<PREFIX>() else {
            return Err(ChunkError::Short(value.len()));
        };
        let [version, checksum @ ..] = *prefix;
        if ![VERSION_1, VERSION].contains(&version) {
            return Err(ChunkError::Version(version));
        }
        if crc32fast::hash(body) != u32::from_le_bytes(checksum) {
            return Err(ChunkError::Checksum);
        }
        postcard::from_bytes(body).map_err(ChunkError::Decode)
    }
}

/// Cuts a group of records into chunks.
pub(super) struct Chunker<'a> {
    /// At most so many chunks; what does not fit in them makes the last one larger.
    most: usize,
    done: Vec<Chunk<'a>>,
    current: Option<Current<'a>>,
}

struct Current<'a> {
    chunk: Chunk<'a>,
    places: HashMap<&'a str, u32>,
    messages: usize,
    bytes: usize,
}

impl Default for Chunker<'_> {
    fn default() -> Self {
        Chunker::of_at_most(usize::MAX)
    }
}

impl<'a> Chunker<'a> {
    pub(super) fn of_at_most(chunks: usize) -> Chunker<'a> {
        Chunker {
            most: chunks,
            done: Vec::new(),
            current: None,
        }
    }

    pub(super) fn message(
        &mut self,
        of: &'a MailboxName,
        seq: u64,
        stored: &'a Stored,
        file: Option<Digest>,
    ) {
        let line = stored.message.line();
        let record = Rec::Message {
            of: 0,
            seq,
            appended_at: stored.appended_at,
            id: stored.message.msg_id().as_str(),
            intent: stored.message.intent(),
            subject: stored.subject.as_ref().map(AsRef::as_ref),
            evidence: stored.evidence,
            cause: stored.cause.as_ref().map(AsRef::as_ref),
            line: file.map_or(Line::Here(line), Line::File),
        };
        self.record(of.as_str(), record);
    }

    pub(super) fn event(&mut self, of: &'a MailboxName, event: &StampedEvent) {
        let event = event.clone();
        self.record(of.as_str(), Rec::Event { of: 0, event });
    }

    /// A record of this mailbox, wherever it says that its mailbox is.
    pub(super) fn record(&mut self, of: &'a str, mut record: Rec<'a>) {
        let messages = usize::from(matches!(record, Rec::Message { .. }));
        let current = self.room(record.size(), messages);
        *record.of_mut() = current.place(of);
        current.chunk.records.push(record);
    }

    /// The chunk that has room for so many bytes and messages more.
    fn room(&mut self, bytes: usize, messages: usize) -> &mut Current<'a> {
        let full = self
            .current
            .as_ref()
            .is_some_and(|current| current.bytes + bytes > BYTES || current.messages + messages > MESSAGES);
        if full && self.done.len() + 1 < self.most {
            self.done.extend(self.current.take().map(|current| current.chunk));
        }
        let current = self.current.get_or_insert_with(|| Current {
            chunk: Chunk {
                mailboxes: Vec::new(),
                records: Vec::new(),
            },
            places: HashMap::new(),
            messages: 0,
            bytes: 0,
        });
        current.bytes += bytes;
        current.messages += messages;
        current
    }

    pub(super) fn finish(mut self) -> Vec<Chunk<'a>> {
        self.done.extend(self.current.map(|current| current.chunk));
        self.done
    }
}

impl<'a> Current<'a> {
    fn place(&mut self, of: &'a str) -> u32 {
        let Current { chunk, places, .. } = self;
        *places.entry(of).or_insert_with(|| {
            chunk.mailboxes.push(of);
            u32::try_from(chunk.mailboxes.len() - 1).expect("a chunk holds far fewer records")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::event::{AckedBy, DeliveryEvent, FailureKind, Holder, QuarantineCause};
    use crate::message::{Draft, Message};
    use crate::names::{LeaseId, Seq};

    fn stored(id: &str, padding: usize) -> Stored {
        let ts = "2026-05-14T17:45:00Z".parse().unwrap();
        let body = serde_json::json!({"text": "x".repeat(padding)});
        let message = Message::build(ts, "lab", "greet", &id.parse().unwrap(), body).unwrap();
        let draft = Draft {
            subject: Some("a/b#1".parse().unwrap()),
            evidence: Some(Digest::of(b"head")),
            cause: Some("before".parse().unwrap()),
            ..Draft::new("qa".parse().unwrap(), message)
        };
        Stored::new(draft, Moment::from_millis(1_778_780_700_000))
    }

    #[test]
    fn a_chunk_reads_back() {
        let (qa, drip): (MailboxName, MailboxName) = ("qa".parse().unwrap(), "drip".parse().unwrap());
        let message = stored("m-1", 10);
        let event = StampedEvent {
            seq: Seq(7),
            at: Moment::from_millis(5),
            event: DeliveryEvent::Expired {
                lease: LeaseId::from_u128(9),
            },
        };
        let mut chunker = Chunker::default();
        chunker.message(&qa, 3, &message, None);
        chunker.message(&drip, 1, &message, Some(Digest::of(b"big")));
        chunker.event(&qa, &event);
        let chunks = chunker.finish();
        assert_eq!(chunks.len(), 1);
        assert_eq!(chunks[0].mailboxes, ["qa", "drip"]);
        let value = chunks[0].encode();
        assert_eq!(Chunk::decode(&value).unwrap(), chunks[0]);
    }

    #[test]
    fn chunks_are_cut_by_count_and_by_size() {
        let qa: MailboxName = "qa".parse().unwrap();
        let check = |padding: usize, count: u64, expected: &[usize]| {
            let message = stored("m-1", padding);
            let mut chunker = Chunker::default();
            (0..count).for_each(|seq| chunker.message(&qa, seq, &message, None));
            let chunks = chunker.finish();
            let sizes: Vec<usize> = chunks.iter().map(|chunk| chunk.records.len()).collect();
            assert_eq!(sizes, expected, "{count} of {padding} bytes");
            // 17 of these, the most in a leaf, are less than a quarter of a segment: no leaf becomes a blob.
            let most = 2 * 1024 * 1024 / 17;
            assert!(chunks.iter().all(|chunk| chunk.encode().len() < most / 2));
        };
        check(10, 325, &[160, 160, 5]);
        check(4_600, 11, &[10, 1]);
        check(5_600, 9, &[8, 1]);
    }

    #[test]
    fn damage_is_seen() {
        let message = stored("m-1", 10);
        let qa: MailboxName = "qa".parse().unwrap();
        let mut chunker = Chunker::default();
        chunker.message(&qa, 1, &message, None);
        let value = chunker.finish()[0].encode();
        for at in 0..value.len() {
            let mut damaged = value.clone();
            damaged[at] ^= 0x10;
            assert!(Chunk::decode(&damaged).is_err(), "byte {at}");
        }
        assert_eq!(Chunk::decode(&value[..3]), Err(ChunkError::Short(3)));
        assert!(Chunk::decode(&value[..value.len() - 1]).is_err());
    }

    /// One record of each kind.
    fn every_kind() -> Vec<u8> {
        let qa: MailboxName = "qa".parse().unwrap();
        let lease = LeaseId::from_u128(9);
        let reason: std::sync::Arc<str> = "because".into();
        let until = Moment::from_millis(1_778_780_760_000);
        let events = [
            DeliveryEvent::Leased {
                lease,
                holder: Holder::Pull,
                attempt: 1,
                until: Some(until),
            },
            DeliveryEvent::Extended { lease, until },
            DeliveryEvent::Acked {
                lease: Some(lease),
                outcome: "passed".into(),
                by: AckedBy::Line { from: "qa".into() },
                read: Some(Digest::of(b"read")),
            },
            DeliveryEvent::Failed {
                lease,
                reason: reason.clone(),
                kind: FailureKind::Panic,
                rest: Duration::from_millis(1_500),
            },
            DeliveryEvent::HandedBack {
                lease,
                reason: reason.clone(),
                until: None,
            },
            DeliveryEvent::Expired { lease },
            DeliveryEvent::Voided { lease },
            DeliveryEvent::Quarantined {
                cause: QuarantineCause::Attempts,
                reason: reason.clone(),
            },
            DeliveryEvent::Retried,
            DeliveryEvent::Dropped { reason },
        ];
        let message = stored("m-1", 10);
        let mut chunker = Chunker::default();
        chunker.message(&qa, 1, &message, None);
        for event in events {
            let event = StampedEvent {
                seq: Seq(1),
                at: Moment::from_millis(1_778_780_700_001),
                event,
            };
            chunker.event(&qa, &event);
        }
        let tombstone = Rec::Tombstone {
            of: 0,
            seq: 2,
            appended_at: Moment::from_millis(1_778_780_700_002),
            id: "m-2",
            outcome: "superseded".into(),
        };
        chunker.record("qa", tombstone);
        chunker.record(
            "qa",
            Rec::Gone {
                of: 0,
                first: 3,
                last: 9,
            },
        );
        chunker.finish()[0].encode()
    }

    /// Version 1 as it was first stored. When this fails, mailboxes of before no longer read.
    #[test]
    fn version_1_still_reads() {
        let stored_then: &[u8] = include_bytes!("fixtures/chunk-v1.bin");
        let now = every_kind();
        let chunk = Chunk::decode(&now).unwrap();
        let mut then = Chunk::decode(stored_then).unwrap();
        assert_eq!(then.records.len(), 9);
        assert_eq!(then.records[..], chunk.records[..9]);
        then.records
            .extend(Chunk::decode(&now).unwrap().records.into_iter().skip(9));
        assert_eq!(then.encode(), now);
    }

    /// Version 2 as it was first stored. When this fails, raise the version and keep reading this one.
    #[test]
    fn version_2_is_stored_as_ever() {
        let stored_then: &[u8] = include_bytes!("fixtures/chunk-v2.bin");
        assert_eq!(Chunk::decode(stored_then), Chunk::decode(&every_kind()));
        assert_eq!(stored_then, every_kind());
    }
}
