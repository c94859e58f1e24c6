//! Pruning the journal: chunk by chunk what is no longer kept is taken out, and what is left of small
//! chunks is packed together.
//!
//! A step reads a few chunks in the order of their keys and writes what is left of them under the
//! lowest of these keys, in one batch with the removal of the others. So the order of records never
//! changes, a step is there as a whole or not at all, and the newest chunk, by which the mark knows the
//! end of the journal, stays where it is. Numbers of which nothing is left are kept as ranges, since a
//! journal in which numbers are missing without a word is damaged.

use std::borrow::Cow;
use std::collections::HashMap;

use sled::IVec;

use super::DiskStore;
use super::chunk::{BYTES, Chunk, ChunkError, Chunker, Heads, Line, Packed, PlainHeads, Rec};
use super::journal::Journal;
use super::load::{Names, shown};
use crate::names::{Digest, MailboxName, Seq};
use crate::store::{Cursor, Fate, Record, StoreError};

/// Chunks looked at in one step: some hundred kilobytes, a few milliseconds.
const STEP: usize = 64;
/// A smaller chunk is packed together with its neighbours.
const SMALL: usize = BYTES / 4;

/// Bytes of an outcome that a tombstone keeps: a line, and less than most messages that it replaces.
const OUTCOME: usize = 256;

/// A journal is written anew when its file is larger than this: less is not worth it,
const SLIM_ABOVE: u64 = 64 * 1024 * 1024;
/// when it is so many times what it holds, for which the database alone needs up to three,
const SLIM_FROM: u64 = 6;
/// and when it holds no more than this, since the writer waits for it: about half a second.
const SLIM_AT_MOST: u64 = 32 * 1024 * 1024;

/// Says what is to become of a record.
pub(super) type Judge<'a> = &'a mut (dyn FnMut(&MailboxName, &Record<'_>) -> Fate + Send);

/// A chunk that is looked at, unpacked.
struct Looked<'a> {
    key: u64,
    /// Bytes of it as it is stored.
    size: usize,
    heads: PlainHeads<'a>,
    lines: Cow<'a, str>,
}

impl<'a> Looked<'a> {
    fn at((key, value): &'a (u64, IVec)) -> Result<Looked<'a>, (u64, ChunkError)> {
        let open = || {
            let packed = Packed::open(value)?;
            Ok((packed.heads()?, packed.lines()?))
        };
        let (heads, lines) = open().map_err(|error| (*key, error))?;
        Ok(Looked {
            key: *key,
            size: value.len(),
            heads,
            lines,
        })
    }

    /// Bytes of it before it was packed, by which it counts as small.
    fn plain(&self) -> usize {
        self.heads.len() + self.lines.len()
    }

    fn chunk(&self) -> Result<Chunk<'_>, ChunkError> {
        self.heads.decode()?.with(&self.lines)
    }
}

/// Neighbouring chunks that are written anew.
#[derive(Default)]
struct Run<'a> {
    keys: Vec<u64>,
    /// Bytes of them.
    size: u64,
    /// Whether any of them lost something.
    lost: bool,
    left: Vec<(&'a str, Rec<'a>, Option<&'a str>)>,
    /// Of each mailbox, the place in `left` of the last range of numbers of which nothing is left, as
    /// long as no message of it follows.
    gone: HashMap<&'a str, usize>,
    /// Which events were in which chunk.
    events: Vec<(&'a str, Seq, u64)>,
    bodies: Vec<Digest>,
}

impl DiskStore {
    pub(super) fn prune_step(
        &mut self,
        from: Option<Cursor>,
        judge: Judge<'_>,
    ) -> Result<Option<Cursor>, StoreError> {
        let from = from.map_or(0, |Cursor(at)| at);
        if from == 0 {
            self.live = 0;
            self.journal_mut()?.settle()?;
        }
        let newest = self.journal_mut()?.settled()?;
        let values = self.journal()?.some(from, newest, STEP)?;
        let Some((last, _)) = values.last() else {
            return Ok(None);
        };
        let next = last + 1;
        self.live += values.iter().map(|(_, value)| value.len() as u64).sum::<u64>();
        let looked = values.iter().map(Looked::at).collect::<Result<Vec<_>, _>>();
        let looked = looked.map_err(|(key, error)| self.damaged_chunk(key, &error))?;
        for run in self.judged(&looked, judge)? {
            self.rewrite(run)?;
        }
        if next < newest {
            return Ok(Some(Cursor(next)));
        }
        self.slim()?;
        Ok(None)
    }

    /// What is left of these chunks, as far as they are to be written anew.
    fn judged<'a>(&self, chunks: &'a [Looked<'a>], judge: Judge<'_>) -> Result<Vec<Run<'a>>, StoreError> {
        let mut names = Names::default();
        let mut runs = vec![Run::default()];
        for looked in chunks {
            let key = looked.key;
            let chunk = looked.chunk().map_err(|error| self.damaged_chunk(key, &error))?;
            let Chunk { heads, lines } = chunk;
            let known = names
                .of(&heads)
                .map_err(|error| self.damaged_chunk(key, &error))?;
            let Heads { mailboxes, records } = heads;
            let mut judged = Vec::with_capacity(records.len());
            let mut lost = false;
            for (record, line) in records.into_iter().zip(lines) {
                let at = usize::try_from(record.of()).ok();
                let (Some(of), Some(name)) = (
                    at.and_then(|at| known.get(at)),
                    at.and_then(|at| mailboxes.get(at)),
                ) else {
                    return Err(self.damaged_chunk(key, &"a record of no mailbox"));
                };
                let fate = judge(of, &shown(&record));
                lost |= fate != Fate::Stays;
                judged.push((*name, record, line, fate));
            }
            if !lost && looked.plain() >= SMALL {
                runs.push(Run::default());
            } else if let Some(run) = runs.last_mut() {
                run.keys.push(key);
                run.size += looked.size as u64;
                run.lost |= lost;
                judged
                    .into_iter()
                    .for_each(|(of, record, line, fate)| run.take(key, of, record, line, fate));
            }
        }
        // One small chunk alone is no better for being written again.
        runs.retain(|run| run.lost || run.keys.len() > 1);
        Ok(runs)
    }

    /// Writes the journal anew where most of its file is empty: the database uses freed parts of it
    /// again, but never gives them back.
    fn slim(&mut self) -> Result<(), StoreError> {
        let size = self.journal()?.database().size()?;
        if size < SLIM_ABOVE || self.live > SLIM_AT_MOST || size / SLIM_FROM < self.live {
            return Ok(());
        }
        self.home.copy_journal(self.journal()?.database())?;
        // From here on the journal is closed, and opened again by its name.
        self.journal = None;
        self.home.swap_journal()?;
        self.journal = Some(Journal::open(&self.home, self.tail)?);
        Ok(())
    }

    fn rewrite(&mut self, run: Run<'_>) -> Result<(), StoreError> {
        let Run {
            keys,
            size,
            lost,
            left,
            events,
            bodies,
            ..
        } = run;
        // Texts of tombstones may want more room than there was; the last chunk is larger then.
        let mut chunker = Chunker::of_at_most(keys.len());
        for (of, record, line) in left {
            chunker.record(of, record, line);
        }
        let chunks = chunker.finish();
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
            return Ok(());
        };
        if !lost && chunks.len() == keys.len() {
            return Ok(());
        }
        let values: Vec<(u64, Vec<u8>)> = keys
            .iter()
            .copied()
            .zip(chunks.iter().map(Chunk::encode))
            .collect();
        let written: u64 = values.iter().map(|(_, value)| value.len() as u64).sum();
        self.recent = None;
        self.journal()?.rewrite(&keys, values)?;
        self.live = (self.live + written).saturating_sub(size);
        self.count_sync();
        for (of, seq, key) in events {
            if let Some(places) = self.places.get_mut(of) {
                places.forget_event(seq, key);
            }
        }
        let mut messages: HashMap<&str, Vec<(Seq, u64)>> = HashMap::new();
        for (key, chunk) in keys.iter().zip(&chunks) {
            let Heads { mailboxes, records } = &chunk.heads;
            for name in mailboxes {
                messages.entry(*name).or_default();
            }
            for record in records {
                let name = mailboxes[record.of() as usize];
                match record {
                    Rec::Message { seq, .. } => messages.entry(name).or_default().push((Seq(*seq), *key)),
                    Rec::Event { event, .. } => {
                        if let Some(places) = self.places.get_mut(name) {
                            places.event(event.seq, *key);
                        }
                    }
                    Rec::Tombstone { .. } | Rec::Gone { .. } => {}
                }
            }
        }
        for (name, places) in &mut self.places {
            let messages = messages.get(name.as_str()).map_or(&[][..], Vec::as_slice);
            places.replace(*first..=*last, messages);
        }
        bodies
            .into_iter()
            .try_for_each(|digest| self.bodies.unused(digest))
    }
}

/// What a tombstone keeps of an outcome.
fn cut(outcome: &str) -> &str {
    let end = outcome.len().min(OUTCOME);
    let end = (0..=end).rev().find(|at| outcome.is_char_boundary(*at));
    &outcome[..end.unwrap_or(0)]
}

impl<'a> Run<'a> {
    fn take(&mut self, key: u64, of: &'a str, record: Rec<'a>, line: Option<&'a str>, fate: Fate) {
        if let Rec::Event { event, .. } = &record {
            self.events.push((of, event.seq, key));
        }
        if fate != Fate::Stays
            && let Rec::Message {
                line: Line::File(digest),
                ..
            } = &record
        {
            self.bodies.push(*digest);
        }
        match (record, fate) {
            (record @ Rec::Event { .. }, Fate::Stays) => self.left.push((of, record, None)),
            (Rec::Event { .. }, _) => {}
            (
                Rec::Message {
                    seq, appended_at, id, ..
                },
                Fate::Tombstone { outcome },
            ) => {
                let tombstone = Rec::Tombstone {
                    of: 0,
                    seq,
                    appended_at,
                    id,
                    outcome: cut(&outcome).to_owned().into(),
                };
                self.keep(of, tombstone, None);
            }
            (Rec::Message { seq, .. } | Rec::Tombstone { seq, .. }, Fate::Goes) => {
                self.gone(of, seq, seq);
            }
            (Rec::Gone { first, last, .. }, _) => self.gone(of, first, last),
            (record, _) => self.keep(of, record, line),
        }
    }

    /// A record with a number stays, and ends a range of numbers before it.
    fn keep(&mut self, of: &'a str, record: Rec<'a>, line: Option<&'a str>) {
        self.gone.remove(of);
        self.left.push((of, record, line));
    }

    fn gone(&mut self, of: &'a str, first: u64, last: u64) {
        if let Some(at) = self.gone.get(of)
            && let Some((_, Rec::Gone { last: before, .. }, _)) = self.left.get_mut(*at)
            && *before + 1 == first
        {
            *before = last;
            return;
        }
        self.gone.insert(of, self.left.len());
        self.left.push((of, Rec::Gone { of: 0, first, last }, None));
    }
}
