//! Layouts of before, which are still read: a record held its message's line, and nothing was compressed.
//! The first was the second without tombstones, gone numbers and messages out of quarantine.

use std::borrow::Cow;

use serde::Deserialize;

use super::{ChunkError, Heads, Rec};
use crate::clock::Moment;
use crate::event::StampedEvent;
use crate::names::Digest;

/// The layouts that this file reads.
pub(super) const VERSIONS: [u8; 2] = [1, 2];

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    mailboxes: Vec<&'a str>,
    records: Vec<Record<'a>>,
}

#[derive(Deserialize)]
enum Record<'a> {
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
    Tombstone {
        of: u32,
        seq: u64,
        appended_at: Moment,
        id: &'a str,
        outcome: Cow<'a, str>,
    },
    Gone {
        of: u32,
        first: u64,
        last: u64,
    },
}

#[derive(Deserialize)]
enum Line<'a> {
    Here(#[serde(borrow)] &'a str),
    File(Digest),
    Gone,
}

/// A value's records as the present layout has them, and its lines, one after the other.
pub(super) fn decode(body: &[u8]) -> Result<(Heads<'_>, String), ChunkError> {
    let Chunk { mailboxes, records } = postcard::from_bytes(body).map_err(ChunkError::Decode)?;
    let mut lines = String::new();
    let records = records.into_iter().map(|record| present(record, &mut lines));
    let records = records.collect::<Result<_, _>>()?;
    Ok((Heads { mailboxes, records }, lines))
}

fn present<'a>(record: Record<'a>, lines: &mut String) -> Result<Rec<'a>, ChunkError> {
    Ok(match record {
        Record::Message {
            of,
            seq,
            appended_at,
            id,
            intent,
            subject,
            evidence,
            cause,
            line,
        } => {
            let line = match line {
                Line::Here(line) => {
                    lines.push_str(line);
                    super::Line::Here(u32::try_from(line.len()).map_err(|_| ChunkError::Lines)?)
                }
                Line::File(digest) => super::Line::File(digest),
                Line::Gone => super::Line::Gone,
            };
            Rec::Message {
                of,
                seq,
                appended_at,
                id,
                intent,
                subject,
                evidence,
                cause,
                line,
            }
        }
        Record::Event { of, event } => Rec::Event { of, event },
        Record::Tombstone {
            of,
            seq,
            appended_at,
            id,
            outcome,
        } => Rec::Tombstone {
            of,
            seq,
            appended_at,
            id,
            outcome,
        },
        Record::Gone { of, first, last } => Rec::Gone { of, first, last },
    })
}
