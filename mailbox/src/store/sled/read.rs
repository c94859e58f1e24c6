//! Reading: messages by their numbers, and their events.

use std::ops::RangeInclusive;

use super::DiskStore;
use super::bodies::is_lost;
use super::chunk::{ChunkError, Line, Packed, Rec};
use crate::clock::Moment;
use crate::event::StampedEvent;
use crate::message::Message;
use crate::names::{Digest, MailboxName, MsgId, Seq, Subject};
use crate::store::{StoreError, Stored};

/// The messages of one chunk. The one that was read last is kept: whoever takes messages one by one
/// takes the next one from it.
#[derive(Debug)]
pub(super) struct Page {
    key: u64,
    mailboxes: Vec<String>,
    /// By mailbox and number.
    messages: Vec<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// The place of its mailbox in the page.
    of: u32,
    seq: Seq,
    appended_at: Moment,
    subject: Option<Subject>,
    evidence: Option<Digest>,
    cause: Option<MsgId>,
    text: Text,
}

#[derive(Debug)]
enum Text {
    Here(Message),
    File(Digest),
}

/// Why a chunk cannot be read.
enum Unreadable {
    Chunk(ChunkError),
    Message(u64),
}

impl Page {
    fn of(key: u64, value: &[u8]) -> Result<Page, Unreadable> {
        let packed = Packed::open(value).map_err(Unreadable::Chunk)?;
        let heads = packed.heads().map_err(Unreadable::Chunk)?;
        let lines = packed.lines().map_err(Unreadable::Chunk)?;
        let heads = heads.decode().map_err(Unreadable::Chunk)?;
        let chunk = heads.with(&lines).map_err(Unreadable::Chunk)?;
        let mut messages = Vec::with_capacity(chunk.lines.len());
        for (record, line) in chunk.heads.records.iter().zip(&chunk.lines) {
            if let Rec::Message { seq, .. } = record {
                let kept = Kept::of(record, *line).ok_or(Unreadable::Message(*seq))?;
                messages.extend(kept);
            }
        }
        messages.sort_unstable_by_key(|kept| (kept.of, kept.seq));
        Ok(Page {
            key,
            mailboxes: chunk.heads.mailboxes.into_iter().map(str::to_owned).collect(),
            messages,
        })
    }

    /// The messages of this mailbox with these numbers, in order.
    fn messages(&self, of: &MailboxName, seqs: &RangeInclusive<Seq>) -> &[Kept] {
        let at = self.mailboxes.iter().position(|name| name == of.as_str());
        let Some(at) = at.and_then(|at| u32::try_from(at).ok()) else {
            return &[];
        };
        let from = |seq: &Seq| {
            self.messages
                .partition_point(|kept| (kept.of, kept.seq) < (at, *seq))
        };
        let to = |seq: &Seq| {
            self.messages
                .partition_point(|kept| (kept.of, kept.seq) <= (at, *seq))
        };
        self.messages
            .get(from(seqs.start())..to(seqs.end()))
            .unwrap_or_default()
    }
}

impl Kept {
    /// `None` where what is stored does not read back, and where there is no text any more.
    fn of(record: &Rec<'_>, line: Option<&str>) -> Option<Option<Kept>> {
        let Rec::Message {
            of,
            seq,
            appended_at,
            subject,
            evidence,
            cause,
            line: place,
            ..
        } = record
        else {
            return Some(None);
        };
        let text = match (place, line) {
            (Line::Here(_), Some(line)) => Text::Here(Message::stored(line)),
            (Line::File(digest), _) => Text::File(*digest),
            (Line::Here(_), None) | (Line::Gone, _) => return Some(None),
        };
        Some(Some(Kept {
            of: *of,
            seq: Seq(*seq),
            appended_at: *appended_at,
            subject: subject.map(str::parse).transpose().ok()?,
            evidence: *evidence,
            cause: cause.map(str::parse).transpose().ok()?,
            text,
        }))
    }

    fn with(&self, message: Message) -> (Seq, Stored) {
        let stored = Stored {
            appended_at: self.appended_at,
            message,
            subject: self.subject.clone(),
            evidence: self.evidence,
            cause: self.cause.clone(),
        };
        (self.seq, stored)
    }
}

impl DiskStore {
    pub(super) fn read_all(
        &mut self,
        of: &MailboxName,
        seqs: &RangeInclusive<Seq>,
    ) -> Result<Vec<(Seq, Stored)>, StoreError> {
        let mut found = Vec::new();
        let Some(places) = self.places.get(of) else {
            return Ok(found);
        };
        let keys: Vec<u64> = places.chunks(seqs).collect();
        for key in keys {
            let page = match self.recent.take() {
                Some(page) if page.key == key => page,
                _ => self.page(key)?,
            };
            self.add(&mut found, of, page.messages(of, seqs))?;
            self.recent = Some(page);
        }
        Ok(found)
    }

    fn page(&self, key: u64) -> Result<Page, StoreError> {
        let value = self.chunk_value(key)?;
        Page::of(key, &value).map_err(|unreadable| match unreadable {
            Unreadable::Chunk(error) => self.damaged_chunk(key, &error),
            Unreadable::Message(seq) => {
                self.damaged_chunk(key, &format_args!("message {seq} does not read back"))
            }
        })
    }

    fn add(&self, found: &mut Vec<(Seq, Stored)>, of: &MailboxName, kept: &[Kept]) -> Result<(), StoreError> {
        for kept in kept {
            let message = match &kept.text {
                Text::Here(message) => message.clone(),
                Text::File(digest) => match self.bodies.read(*digest) {
                    Ok(line) => Message::stored(&line),
                    // One lost file is one lost message, and no reason to withhold the others.
                    Err(error) if is_lost(&error) => {
                        tracing::warn!(%error, "the text of message {} of {of} is lost", kept.seq);
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            found.push(kept.with(message));
        }
        Ok(())
    }

    pub(super) fn events_of(
        &self,
        of: &MailboxName,
        seqs: &RangeInclusive<Seq>,
    ) -> Result<Vec<StampedEvent>, StoreError> {
        let mut found = Vec::new();
        let Some(places) = self.places.get(of) else {
            return Ok(found);
        };
        for key in places.event_chunks(seqs) {
            let value = self.chunk_value(key)?;
            let damaged = |error| self.damaged_chunk(key, &error);
            let heads = Packed::open(&value)
                .and_then(|packed| packed.heads())
                .map_err(damaged)?;
            let heads = heads.decode().map_err(damaged)?;
            let at = heads.mailboxes.iter().position(|name| *name == of.as_str());
            found.extend(heads.records.into_iter().filter_map(|record| match record {
                Rec::Event { of, event } if Some(of as usize) == at && seqs.contains(&event.seq) => {
                    Some(event)
                }
                _ => None,
            }));
        }
        Ok(found)
    }
}
