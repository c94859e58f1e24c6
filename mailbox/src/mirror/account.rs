//! The lines of one file against what the mailbox has: which line is news, and which record has no line yet.

use std::collections::HashSet;
use std::time::SystemTime;

use super::lines::{Cut, IdKey, LineFault};
use super::series::Series;
use super::{Found, Intake, MirrorError, Place};

/// How many bytes of lines are handed out at once. What is over stays in the file for the next time.
const HANDED_OUT: usize = 1024 * 1024;

/// One file of the mirror, in balance with the mailbox.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) series: Series,
    /// What the mailbox has, as far as it was asked, and what we wrote and did not read back yet: a line of these is
    /// no news.
    known: HashSet<IdKey>,
    /// Lines that were read before whatever was handed out last was taken in. When one of them comes out of the
    /// mailbox it is in the file already.
    there: HashSet<IdKey>,
    /// Those that were read since.
    fresh: HashSet<IdKey>,
    /// Whether the mailbox was asked what it has beyond what is in the file.
    pub(super) caught_up: bool,
    /// Whether lines wait for somebody who is writing there.
    pub(super) waits: bool,
}

/// A line that was read: what it is known by, and what it is.
pub(super) type Parsed<T> = Result<(IdKey, T), LineFault>;

impl Account {
    pub(super) fn of(series: Series) -> Account {
        Account {
            series,
            known: HashSet::new(),
            there: HashSet::new(),
            fresh: HashSet::new(),
            caught_up: false,
            waits: false,
        }
    }

    /// What was handed out has been taken in: it is in the mailbox, or will never be.
    pub(super) fn settle(&mut self) {
        self.waits = false;
        self.there.extend(self.fresh.drain());
    }

    /// The mailbox has these.
    pub(super) fn has(&mut self, keys: impl IntoIterator<Item = IdKey>) {
        self.known.extend(keys);
    }

    /// Reads what is new in the file; what is news goes to `intake`, as `news` makes it, and what is malformed. Whether
    /// all was read.
    pub(super) fn read<T>(
        &mut self,
        intake: &mut Vec<Intake>,
        parse: impl Fn(&[u8]) -> Parsed<T>,
        mut news: impl FnMut(T, Place, Found) -> Option<Intake>,
    ) -> Result<bool, MirrorError> {
        let Account {
            series,
            known,
            there,
            fresh,
            ..
        } = self;
        let handed_out = std::cell::Cell::new(0);
        series.read_on(
            &|| handed_out.get() < HANDED_OUT,
            &mut |file, line, found, cut| {
                let (parsed, text) = match cut {
                    Cut::TooLong => (Err(LineFault::TooLong), &[][..]),
                    Cut::Line(text) => (parse(text), text),
                };
                let place = || Place {
                    file: file.to_owned(),
                    line,
                    text: crc32fast::hash(text),
                };
                let new = match parsed {
                    Err(fault) => Some(Intake::Malformed { at: place(), fault }),
                    Ok((key, _)) if there.contains(&key) || !fresh.insert(key) || known.contains(&key) => {
                        None
                    }
                    Ok((_, it)) => news(it, place(), found),
                };
                if let Some(new) = new {
                    handed_out.set(handed_out.get() + text.len() + size_of::<Intake>());
                    intake.push(new);
                }
            },
        )
    }

    /// Appends the lines that are not in the file. `false` when they wait for somebody who is writing there.
    pub(super) fn write(&mut self, lines: &[(IdKey, &str)], now: SystemTime) -> Result<bool, MirrorError> {
        let missing: Vec<(IdKey, &str)> = lines
            .iter()
            .filter(|(key, _)| !self.there.contains(key) && !self.fresh.contains(key))
            .copied()
            .collect();
        if missing.is_empty() {
            return Ok(true);
        }
        // Before they are written: of a batch that fails a part may be in the file.
        self.known.extend(missing.iter().map(|(key, _)| *key));
        let texts: Vec<&str> = missing.iter().map(|(_, text)| *text).collect();
        let written = self.series.append(&texts, now)?;
        self.waits = !written;
        Ok(written)
    }

    /// Everything that the mailbox had is in the file, and all of it was read back.
    pub(super) fn balanced(&mut self) {
        self.known = HashSet::new();
        self.there = HashSet::new();
    }
}
