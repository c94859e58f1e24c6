use std::time::Duration;

use super::*;
use crate::event::{AckedBy, DeliveryEvent, FailureKind, Holder, QuarantineCause};
use crate::message::{Draft, Message};
use crate::names::{LeaseId, MailboxName, Seq};
use crate::store::Stored;

/// A value with its parts unpacked.
struct Plain {
    heads: Vec<u8>,
    lines: String,
}

impl Plain {
    fn of(value: &[u8]) -> Result<Plain, ChunkError> {
        let packed = Packed::open(value)?;
        let heads = match packed.heads()? {
            PlainHeads::Present(heads) => heads.into_owned(),
            PlainHeads::Old(_) => panic!("it is of the present layout"),
        };
        let lines = packed.lines()?.into_owned();
        Ok(Plain { heads, lines })
    }

    fn chunk(&self) -> Result<Chunk<'_>, ChunkError> {
        let heads: Heads<'_> = postcard::from_bytes(&self.heads).map_err(ChunkError::Decode)?;
        heads.with(&self.lines)
    }
}

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
    assert_eq!(chunks[0].heads.mailboxes, ["qa", "drip"]);
    assert_eq!(chunks[0].lines, [Some(message.message.line()), None, None]);
    let value = chunks[0].encode();
    assert_eq!(Plain::of(&value).unwrap().chunk().unwrap(), chunks[0]);
}

#[test]
fn chunks_are_cut_by_count_and_by_size() {
    let qa: MailboxName = "qa".parse().unwrap();
    let check = |padding: usize, count: u64, expected: &[usize]| {
        let message = stored("m-1", padding);
        let mut chunker = Chunker::default();
        (0..count).for_each(|seq| chunker.message(&qa, seq, &message, None));
        let chunks = chunker.finish();
        let sizes: Vec<usize> = chunks.iter().map(|chunk| chunk.heads.records.len()).collect();
        assert_eq!(sizes, expected, "{count} of {padding} bytes");
        // 17 of these, the most in a leaf, are less than a quarter of a segment: no leaf becomes a blob.
        let most = 2 * 1024 * 1024 / 17;
        assert!(chunks.iter().all(|chunk| chunk.encode().len() < most / 2));
    };
    check(10, 325, &[160, 160, 5]);
    check(4_600, 11, &[10, 1]);
    check(5_600, 9, &[8, 1]);
}

/// Many messages with texts that repeat no more than `alphabet` lets them.
fn many(alphabet: u32) -> Vec<Stored> {
    let mut seed = 7_u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from_u32(u32::from('0') + (seed >> 16) % alphabet).unwrap()
    };
    (0..90)
        .map(|number| {
            let text: String = (0..300).map(|_| next()).collect();
            let ts = "2026-05-14T17:45:00Z".parse().unwrap();
            let id = format!("m-{number}").parse().unwrap();
            let message = Message::build(ts, "lab", "greet", &id, serde_json::json!({"text": text})).unwrap();
            Stored::new(
                Draft::new("qa".parse().unwrap(), message),
                Moment::from_millis(number),
            )
        })
        .collect()
}

#[test]
fn what_repeats_is_packed_and_what_does_not_is_left_as_it_is() {
    let qa: MailboxName = "qa".parse().unwrap();
    let check = |alphabet: u32, most: f64, least: f64| {
        let messages = many(alphabet);
        let mut chunker = Chunker::default();
        (1..)
            .zip(&messages)
            .for_each(|(seq, message)| chunker.message(&qa, seq, message, None));
        let chunks = chunker.finish();
        let value = chunks[0].encode();
        let lines: usize = chunks[0].lines.iter().flatten().map(|line| line.len()).sum();
        let share = value.len() as f64 / lines as f64;
        assert!(share < most && share > least, "{alphabet}: {share}");
        assert_eq!(Plain::of(&value).unwrap().chunk().unwrap(), chunks[0]);
        // What is written first holds the same, and becomes the same when it moves.
        let plain = chunks[0].encode_plain();
        assert_eq!(Plain::of(&plain).unwrap().chunk().unwrap(), chunks[0]);
        assert_eq!(packed(&plain).unwrap(), value);
        assert_eq!((packed(&value), packed(b"no chunk")), (None, None));
    };
    check(1, 0.1, 0.0);
    check(4, 0.8, 0.3);
    check(70, 1.1, 0.8);
}

#[test]
fn damage_is_seen() {
    let qa: MailboxName = "qa".parse().unwrap();
    let check = |messages: &[Stored]| {
        let mut chunker = Chunker::default();
        (1..)
            .zip(messages)
            .for_each(|(seq, message)| chunker.message(&qa, seq, message, None));
        let value = chunker.finish()[0].encode();
        for at in 0..value.len() {
            let mut damaged = value.clone();
            damaged[at] ^= 0x10;
            assert!(Packed::open(&damaged).is_err(), "byte {at}");
        }
        assert_eq!(Packed::open(&value[..3]).unwrap_err(), ChunkError::Short(3));
        assert!(Packed::open(&value[..value.len() - 1]).is_err());
        // Damage that fits its checksum is an error too, wherever it is, and asks for no more memory.
        for at in PREFIX..value.len() {
            let mut damaged = value.clone();
            damaged[at] ^= 0xff;
            let checksum = crc32fast::hash(&damaged[PREFIX..]).to_le_bytes();
            damaged[1..PREFIX].copy_from_slice(&checksum);
            if let Ok(plain) = Plain::of(&damaged) {
                assert!(plain.lines.len() <= PART && plain.heads.len() <= PART);
                let _ = plain.chunk();
            }
        }
    };
    check(&[stored("m-1", 10)]);
    check(&many(4)[..20]);
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
    chunker.record("qa", tombstone, None);
    let gone = Rec::Gone {
        of: 0,
        first: 3,
        last: 9,
    };
    chunker.record("qa", gone, None);
    chunker.finish()[0].encode()
}

/// The first layouts as they were first stored. When this fails, mailboxes of before no longer read.
#[test]
fn the_layouts_of_before_still_read() {
    let check = |stored_then: &[u8], records: usize| {
        let now = Plain::of(&every_kind()).unwrap();
        let mut now = now.chunk().unwrap();
        now.heads.records.truncate(records);
        now.lines.truncate(records);
        let then = Packed::open(stored_then).unwrap();
        let (heads, lines) = (then.heads().unwrap().into_owned(), then.lines().unwrap());
        assert_eq!(heads.decode().unwrap().with(&lines).unwrap(), now);
    };
    check(include_bytes!("../fixtures/chunk-v1.bin"), 9);
    check(include_bytes!("../fixtures/chunk-v2.bin"), 13);
}

/// Version 3 as it was first stored. When this fails, raise the version and keep reading this one.
#[test]
fn version_3_is_stored_as_ever() {
    let stored_then: &[u8] = include_bytes!("../fixtures/chunk-v3.bin");
    // How well it is packed may change.
    let (then, now) = (Plain::of(stored_then).unwrap(), Plain::of(&every_kind()).unwrap());
    assert_eq!(then.heads, now.heads);
    assert_eq!(then.lines, now.lines);
    assert_eq!(stored_then[0], every_kind()[0]);
}
