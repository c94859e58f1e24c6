//! Cuts a group of records into chunks. Pure.

use std::collections::HashMap;

use super::{BYTES, Chunk, Heads, Line, MESSAGES, Rec};
use crate::event::StampedEvent;
use crate::names::{Digest, MailboxName};
use crate::store::Stored;

/// Cuts a group of records into chunks.
pub(in crate::store::sled) struct Chunker<'a> {
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
    pub(in crate::store::sled) fn of_at_most(chunks: usize) -> Chunker<'a> {
        Chunker {
            most: chunks,
            done: Vec::new(),
            current: None,
        }
    }

    pub(in crate::store::sled) fn message(
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
            line: match file {
                Some(digest) => Line::File(digest),
                None => Line::Here(u32::try_from(line.len()).expect("a message is less than a megabyte")),
            },
        };
        self.record(of.as_str(), record, file.is_none().then_some(line));
    }

    pub(in crate::store::sled) fn event(&mut self, of: &'a MailboxName, event: &StampedEvent) {
        let event = event.clone();
        self.record(of.as_str(), Rec::Event { of: 0, event }, None);
    }

    /// A record of this mailbox, wherever it says that its mailbox is, with its message's line if that is to
    /// be in the chunk.
    pub(in crate::store::sled) fn record(&mut self, of: &'a str, mut record: Rec<'a>, line: Option<&'a str>) {
        let messages = usize::from(matches!(record, Rec::Message { .. }));
        let current = self.room(record.size(), messages);
        *record.of_mut() = current.place(of);
        current.chunk.heads.records.push(record);
        current.chunk.lines.push(line);
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
                heads: Heads {
                    mailboxes: Vec::new(),
                    records: Vec::new(),
                },
                lines: Vec::new(),
            },
            places: HashMap::new(),
            messages: 0,
            bytes: 0,
        });
        current.bytes += bytes;
        current.messages += messages;
        current
    }

    pub(in crate::store::sled) fn finish(mut self) -> Vec<Chunk<'a>> {
        self.done.extend(self.current.map(|current| current.chunk));
        self.done
    }
}

impl<'a> Current<'a> {
    fn place(&mut self, of: &'a str) -> u32 {
        let Current { chunk, places, .. } = self;
        *places.entry(of).or_insert_with(|| {
            chunk.heads.mailboxes.push(of);
            u32::try_from(chunk.heads.mailboxes.len() - 1).expect("a chunk holds far fewer records")
        })
    }
}
