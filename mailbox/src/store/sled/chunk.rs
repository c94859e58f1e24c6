//! How records are laid out in a value of the journal. Pure.
//!
//! Many small keys are what costs most in a tree, so a value holds a chunk of records: a group of
//! messages, or more events. What an index is built from comes first, apart from the messages' lines,
//! so that opening and looking for events do not touch those; each of the two parts is compressed where
//! that makes it smaller.
//!
//! ```text
//! 1  version of this layout
//! 4  CRC-32 of everything after it
//! 4  bytes of the heads     4  of them as they are stored     4  bytes of the lines
//! …  the heads: mailboxes and records, by postcard
//! …  the lines of the messages that are here, in the order of their records
//! ```
//!
//! Numbers are little-endian. A part whose two lengths are the same is stored as it is, another one as
//! an LZ4 block.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::event::{DeliveryEvent, StampedEvent};
use crate::names::Digest;

mod cut;
mod old;

pub(super) use cut::Chunker;

/// The layout that this file writes.
const VERSION: u8 = 3;
/// Version and checksum.
const PREFIX: usize = 5;
/// The lengths of the parts.
const LENGTHS: usize = 12;
/// A smaller part is not worth compressing: a lone message is no smaller for it.
const PACK_FROM: usize = 1024;
/// The largest part that is unpacked, far beyond what is written: a length that is damaged in spite of its
/// checksum asks for no more memory than this.
const PART: usize = 64 * 1024 * 1024;
/// Messages in one chunk: a group of so many is one value, which is whole by itself, where several need a
/// batch that is written and waited for twice. More bring little, and a chunk is rewritten whole when one of
/// them is pruned.
const MESSAGES: usize = 160;
/// Bytes of records in one chunk, before they are compressed. A leaf holds up to 17 of them, and one of more
/// than a quarter of a segment (2 MiB of 8) would be written to a file that the database never syncs: 17
/// chunks are half of that.
pub(super) const BYTES: usize = 48 * 1024;
/// A larger message has a file of its own, so that reading its neighbours does not read it too.
pub(super) const INLINE: usize = 6 * 1024;
/// What a record costs beside its texts, about: only used to decide where a chunk ends.
const RECORD: usize = 64;

/// What a value of the journal holds but for the messages' lines.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Heads<'a> {
    /// The mailboxes in it; records name them by their place here.
    #[serde(borrow)]
    pub(super) mailboxes: Vec<&'a str>,
    pub(super) records: Vec<Rec<'a>>,
}

/// What a value of the journal holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chunk<'a> {
    pub(super) heads: Heads<'a>,
    /// For each record the line of its message, as far as it is here.
    pub(super) lines: Vec<Option<&'a str>>,
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
        line: Line,
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
            Rec::Message { id, line, .. } => id.len() + line.here(),
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
pub(super) enum Line {
    /// Among the chunk's lines, which it has so many bytes of.
    Here(u32),
    /// In the file that is named by the digest of its content.
    File(Digest),
    /// It was pruned. No longer written.
    Gone,
}

impl Line {
    /// How many bytes of the chunk's lines are its own.
    fn here(self) -> usize {
        match self {
            Line::Here(bytes) => bytes as usize,
            Line::File(_) | Line::Gone => 0,
        }
    }
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
    #[error("a part of {0} bytes is larger than any that is written")]
    Large(u32),
    #[error("a part does not unpack to the {0} bytes that it had")]
    Unpack(usize),
    #[error("a record does not decode: {0}")]
    Decode(#[source] postcard::Error),
    #[error("its lines are not those of its messages")]
    Lines,
}

impl Chunk<'_> {
    /// The value that stays: its parts compressed.
    pub(super) fn encode(&self) -> Vec<u8> {
        self.assemble(pack)
    }

    /// The value that somebody waits for: nothing is compressed until it moves ([`packed`]).
    pub(super) fn encode_plain(&self) -> Vec<u8> {
        self.assemble(|plain, value| {
            value.extend_from_slice(plain);
            plain.len()
        })
    }

    fn assemble(&self, add: impl Fn(&[u8], &mut Vec<u8>) -> usize) -> Vec<u8> {
        let heads = postcard::to_stdvec(&self.heads).expect("plain data serializes into memory");
        let lines: String = self.lines.iter().flatten().copied().collect();
        assemble(&heads, lines.as_bytes(), add)
    }
}

/// The same value with its parts compressed; `None` where that is done already, or it is no chunk of this layout.
pub(super) fn packed(value: &[u8]) -> Option<Vec<u8>> {
    let Ok(Packed {
        layout:
            Layout::Present {
                heads,
                plain_heads,
                lines,
                plain_lines,
            },
    }) = Packed::open(value)
    else {
        return None;
    };
    let is_plain = heads.len() == plain_heads && lines.len() == plain_lines;
    (is_plain && value.len() >= PACK_FROM).then(|| assemble(heads, lines, pack))
}

/// A value of these parts, each added as it is to be stored; `add` says how long it is there.
fn assemble(heads: &[u8], lines: &[u8], add: impl Fn(&[u8], &mut Vec<u8>) -> usize) -> Vec<u8> {
    let mut value = Vec::with_capacity(PREFIX + LENGTHS + heads.len() + lines.len());
    value.resize(PREFIX + LENGTHS, 0);
    let stored = add(heads, &mut value);
    add(lines, &mut value);
    for (at, length) in [heads.len(), stored, lines.len()].into_iter().enumerate() {
        let length = u32::try_from(length).expect("a chunk is some kilobytes");
        let at = PREFIX + 4 * at;
        value[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
    let checksum = crc32fast::hash(&value[PREFIX..]);
    value[0] = VERSION;
    value[1..PREFIX].copy_from_slice(&checksum.to_le_bytes());
    value
}

/// Adds a part to a value, compressed where that makes it smaller, and says how long it is there.
fn pack(plain: &[u8], value: &mut Vec<u8>) -> usize {
    let at = value.len();
    if plain.len() >= PACK_FROM {
        value.resize(at + lz4_flex::block::get_maximum_output_size(plain.len()), 0);
        let packed = lz4_flex::block::compress_into(plain, &mut value[at..]);
        match packed {
            Ok(packed) if packed < plain.len() => {
                value.truncate(at + packed);
                return packed;
            }
            Ok(_) | Err(_) => value.truncate(at),
        }
    }
    value.extend_from_slice(plain);
    plain.len()
}

fn unpack(stored: &[u8], plain: usize) -> Result<Cow<'_, [u8]>, ChunkError> {
    if stored.len() == plain {
        return Ok(Cow::Borrowed(stored));
    }
    let mut unpacked = vec![0; plain];
    match lz4_flex::block::decompress_into(stored, &mut unpacked) {
        Ok(bytes) if bytes == plain => Ok(Cow::Owned(unpacked)),
        Ok(_) | Err(_) => Err(ChunkError::Unpack(plain)),
    }
}

/// A value whose checksum matches.
#[derive(Debug)]
pub(super) struct Packed<'a> {
    layout: Layout<'a>,
}

#[derive(Debug)]
enum Layout<'a> {
    Old(&'a [u8]),
    Present {
        heads: &'a [u8],
        plain_heads: usize,
        lines: &'a [u8],
        plain_lines: usize,
    },
}

impl<'a> Packed<'a> {
    pub(super) fn open(value: &'a [u8]) -> Result<Packed<'a>, ChunkError> {
        let Some((prefix, body)) = value.split_first_chunk::<PREFIX>() else {
            return Err(ChunkError::Short(value.len()));
        };
        let [version, checksum @ ..] = *prefix;
        if version != VERSION && !old::VERSIONS.contains(&version) {
            return Err(ChunkError::Version(version));
        }
        if crc32fast::hash(body) != u32::from_le_bytes(checksum) {
            return Err(ChunkError::Checksum);
        }
        if version != VERSION {
            let layout = Layout::Old(body);
            return Ok(Packed { layout });
        }
        let Some(([a, b, c, d, e, f, g, h, i, j, k, l], parts)) = body.split_first_chunk::<LENGTHS>() else {
            return Err(ChunkError::Short(value.len()));
        };
        let plain_heads = length([*a, *b, *c, *d])?;
        let stored = length([*e, *f, *g, *h])?;
        let plain_lines = length([*i, *j, *k, *l])?;
        let Some((heads, lines)) = parts.split_at_checked(stored) else {
            return Err(ChunkError::Short(value.len()));
        };
        let layout = Layout::Present {
            heads,
            plain_heads,
            lines,
            plain_lines,
        };
        Ok(Packed { layout })
    }

    /// What is in it but for the lines.
    pub(super) fn heads(&self) -> Result<PlainHeads<'a>, ChunkError> {
        Ok(match self.layout {
            Layout::Old(body) => PlainHeads::Old(Cow::Borrowed(body)),
            Layout::Present {
                heads, plain_heads, ..
            } => PlainHeads::Present(unpack(heads, plain_heads)?),
        })
    }

    /// The lines, one after the other.
    pub(super) fn lines(&self) -> Result<Cow<'a, str>, ChunkError> {
        match self.layout {
            Layout::Old(body) => Ok(Cow::Owned(old::decode(body)?.1)),
            Layout::Present {
                lines, plain_lines, ..
            } => match unpack(lines, plain_lines)? {
                Cow::Borrowed(lines) => std::str::from_utf8(lines).map(Cow::Borrowed),
                Cow::Owned(lines) => String::from_utf8(lines)
                    .map(Cow::Owned)
                    .map_err(|error| error.utf8_error()),
            }
            .map_err(|_| ChunkError::Lines),
        }
    }
}

fn length(bytes: [u8; 4]) -> Result<usize, ChunkError> {
    let length = u32::from_le_bytes(bytes);
    match usize::try_from(length) {
        Ok(fits) if fits <= PART => Ok(fits),
        Ok(_) | Err(_) => Err(ChunkError::Large(length)),
    }
}

/// Heads that are unpacked and not yet decoded.
#[derive(Debug)]
pub(super) enum PlainHeads<'a> {
    Old(Cow<'a, [u8]>),
    Present(Cow<'a, [u8]>),
}

impl PlainHeads<'_> {
    pub(super) fn len(&self) -> usize {
        let (PlainHeads::Old(bytes) | PlainHeads::Present(bytes)) = self;
        bytes.len()
    }

    pub(super) fn decode(&self) -> Result<Heads<'_>, ChunkError> {
        match self {
            PlainHeads::Old(body) => Ok(old::decode(body)?.0),
            PlainHeads::Present(heads) => postcard::from_bytes(heads).map_err(ChunkError::Decode),
        }
    }

    /// The same, of its own.
    pub(super) fn into_owned(self) -> PlainHeads<'static> {
        match self {
            PlainHeads::Old(body) => PlainHeads::Old(Cow::Owned(body.into_owned())),
            PlainHeads::Present(heads) => PlainHeads::Present(Cow::Owned(heads.into_owned())),
        }
    }
}

impl<'a> Heads<'a> {
    /// With each record the line of its message, out of all lines of the chunk.
    pub(super) fn with(self, lines: &'a str) -> Result<Chunk<'a>, ChunkError> {
        let mut rest = lines;
        let mut own = Vec::with_capacity(self.records.len());
        for record in &self.records {
            own.push(match record {
                Rec::Message {
                    line: Line::Here(bytes),
                    ..
                } => {
                    let (line, after) = rest.split_at_checked(*bytes as usize).ok_or(ChunkError::Lines)?;
                    rest = after;
                    Some(line)
                }
                _ => None,
            });
        }
        if !rest.is_empty() {
            return Err(ChunkError::Lines);
        }
        Ok(Chunk {
            heads: self,
            lines: own,
        })
    }
}

#[cfg(test)]
mod tests;
