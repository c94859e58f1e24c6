//! Where in the journal a mailbox's messages and their events are. Pure.

use std::ops::RangeInclusive;

use crate::names::Seq;

/// Messages whose events are looked for together.
const BLOCK: u64 = 64;

/// The places of one mailbox.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    count: u64,
    /// The first of the messages in each chunk that has any, and the chunk's key. Both increase.
    chunks: Vec<(Seq, u64)>,
    /// For each block of numbers, the chunks with events of its messages, in order.
    events: Vec<Vec<u64>>,
}

fn block(seq: Seq) -> usize {
    usize::try_from(seq.0.saturating_sub(1) / BLOCK).unwrap_or(usize::MAX)
}

impl Places {
    /// How many numbers were given.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn next(&self) -> Seq {
        Seq(self.count + 1)
    }

    /// The next message is in this chunk.
    pub(super) fn message(&mut self, key: u64) {
        if self.chunks.last().is_none_or(|(_, last)| *last != key) {
            self.chunks.push((self.next(), key));
        }
        self.count += 1;
    }

    /// The next so many numbers have no message any more.
    pub(super) fn skip(&mut self, count: u64) {
        self.count += count;
    }

    /// An event of this message is in this chunk.
    pub(super) fn event(&mut self, seq: Seq, key: u64) {
        // A number that was never given is none of this log's.
        if seq.0 == 0 || seq.0 > self.count {
            return;
        }
        let block = block(seq);
        if self.events.len() <= block {
            self.events.resize_with(block + 1, Vec::new);
        }
        let keys = &mut self.events[block];
        if keys.last().is_none_or(|last| *last < key) {
            keys.push(key);
        } else if let Err(at) = keys.binary_search(&key) {
            keys.insert(at, key);
        }
    }

    /// No event of this message's block is in this chunk any more.
    pub(super) fn forget_event(&mut self, seq: Seq, key: u64) {
        if let Some(keys) = self.events.get_mut(block(seq))
            && let Ok(at) = keys.binary_search(&key)
        {
            keys.remove(at);
            if keys.is_empty() {
                *keys = Vec::new();
            }
        }
    }

    /// In place of the messages in the chunks with these keys, these are there now.
    pub(super) fn replace(&mut self, keys: RangeInclusive<u64>, messages: &[(Seq, u64)]) {
        let from = self.chunks.partition_point(|(_, key)| key < keys.start());
        let to = self.chunks.partition_point(|(_, key)| key <= keys.end());
        let mut first_of_each = Vec::new();
        for (seq, key) in messages {
            if first_of_each.last().is_none_or(|(_, last)| last != key) {
                first_of_each.push((*seq, *key));
            }
        }
        self.chunks.splice(from..to, first_of_each);
        if self.chunks.len() < self.chunks.capacity() / 4 {
            self.chunks.shrink_to_fit();
        }
    }

    /// The chunks that may hold messages with these numbers.
    pub(super) fn chunks(&self, seqs: &RangeInclusive<Seq>) -> impl Iterator<Item = u64> {
        let from = self.chunks.partition_point(|(start, _)| start <= seqs.start());
        let last = *seqs.end();
        self.chunks[from.saturating_sub(1)..]
            .iter()
            .take_while(move |(start, _)| *start <= last)
            .map(|(_, key)| *key)
    }

    /// The chunks that may hold events of messages with these numbers, in order.
    pub(super) fn event_chunks(&self, seqs: &RangeInclusive<Seq>) -> Vec<u64> {
        let from = block(*seqs.start()).min(self.events.len());
        let to = block(*seqs.end())
            .saturating_add(1)
            .clamp(from, self.events.len());
        let mut keys: Vec<u64> = self.events[from..to].iter().flatten().copied().collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_events_are_found_where_they_are() {
        let mut places = Places::default();
        for seq in 1..=100_u64 {
            places.message(seq / 10);
            places.event(Seq(seq), 100 + seq / 50);
        }
        places.event(Seq(3), 200);
        places.event(Seq(101), 300);
        let chunks =
            |places: &Places, from, to| -> Vec<u64> { places.chunks(&(Seq(from)..=Seq(to))).collect() };
        assert_eq!(chunks(&places, 1, 1), [0]);
        assert_eq!(chunks(&places, 9, 20), [0, 1, 2]);
        assert_eq!(chunks(&places, 95, u64::MAX), [9, 10]);
        assert_eq!(places.event_chunks(&(Seq(1)..=Seq(1))), [100, 101, 200]);
        assert_eq!(places.event_chunks(&(Seq(70)..=Seq::MAX)), [101, 102]);
        assert_eq!(places.event_chunks(&(Seq(900)..=Seq(901))), [0; 0]);

        // Chunks 1 to 3 were packed into chunk 1, with the last message only.
        places.replace(1..=3, &[(Seq(39), 1)]);
        places.forget_event(Seq(3), 200);
        assert_eq!(chunks(&places, 9, 39), [0, 1]);
        assert_eq!(chunks(&places, 45, 45), [4]);
        assert_eq!(places.event_chunks(&(Seq(1)..=Seq(1))), [100, 101]);
    }
}
