//! One file that is read on from where we were.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Found;
use super::lines::{Cut, Cutter};
use crate::names::Digest;

/// Bytes read at a time.
const STEP: usize = 64 * 1024;
/// How many of the bytes before a position it is known again by: more than the beginning of a line, where its time and
/// its id stand, and little to read.
const TAIL: usize = 1024;

/// Which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl From<&Metadata> for FileId {
    fn from(found: &Metadata) -> FileId {
        FileId {
            device: found.dev(),
            inode: found.ino(),
        }
    }
}

/// How far a file was read. It fits a file that has the same bytes there, whatever its name and wherever it came from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Position {
    /// So many bytes were read.
    offset: u64,
    /// So many of them are of a line without its end.
    unfinished: u64,
    /// So many lines were finished.
    lines: u64,
    /// The digest of the last bytes that were read.
    tail: String,
}

impl Position {
    /// Whether it says that something was read. One that does not fits every file.
    pub(super) fn is_somewhere(&self) -> bool {
        self.offset > 0
    }
}

/// How the end of a file looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// After a line break, or empty.
    Clean,
    /// In a line, of which these bytes are kept.
    Partial(Vec<u8>),
}

/// A file that is open to be read.
#[derive(Debug)]
pub(super) struct Piece {
    file: File,
    id: FileId,
    offset: u64,
    cutter: Cutter,
    /// The last bytes that were read.
    tail: Vec<u8>,
    found: Found,
}

impl Piece {
    /// Opens a file to read it from its beginning.
    pub(super) fn open(path: &Path, found: Found) -> io::Result<Piece> {
        // A pipe or a device in its place would be waited for, or read without end.
        regular(&std::fs::metadata(path)?)?;
        let file = File::open(path)?;
        let about = file.metadata()?;
        regular(&about)?;
        Ok(Piece {
            id: FileId::from(&about),
            file,
            offset: 0,
            cutter: Cutter::default(),
            tail: Vec::new(),
            found,
        })
    }

    /// Goes on from there, if that fits this file.
    pub(super) fn resume(&mut self, from: &Position) -> io::Result<bool> {
        if !from.is_somewhere() {
            return Ok(true);
        }
        let Position {
            offset,
            unfinished,
            lines,
            ref tail,
        } = *from;
        if unfinished > offset || self.file.metadata()?.len() < offset {
            return Ok(false);
        }
        let read = self.before(offset)?;
        if Digest::of(&read).to_string() != *tail {
            return Ok(false);
        }
        let kept = usize::try_from(unfinished).map_or(0, |unfinished| read.len().saturating_sub(unfinished));
        self.tail = read;
        self.tail.truncate(kept);
        self.offset = offset - unfinished;
        self.cutter = Cutter::after(lines);
        self.found = Found::New;
        Ok(true)
    }

    /// How far it was read.
    pub(super) fn position(&self) -> Position {
        Position {
            offset: self.offset,
            unfinished: self.cutter.unfinished(),
            lines: self.cutter.lines(),
            tail: Digest::of(&self.tail).to_string(),
        }
    }

    /// The last bytes before an offset.
    fn before(&self, offset: u64) -> io::Result<Vec<u8>> {
        let most = usize::try_from(offset).map_or(TAIL, |offset| offset.min(TAIL));
        let mut bytes = vec![0; most];
        match self.file.read_exact_at(&mut bytes, offset - most as u64) {
            // It was cut short in between.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Vec::new()),
            read => read.map(|()| bytes),
        }
    }

    /// Looks whether what was read is still there. A file that was cut short, or written over, is read from its
    /// beginning.
    pub(super) fn check(&mut self) -> io::Result<()> {
        let len = self.file.metadata()?.len();
        let kept = len >= self.offset && (len == self.offset || self.is_unchanged()?);
        if !kept {
            self.offset = 0;
            self.cutter = Cutter::default();
            self.tail.clear();
            self.found = Found::Reread;
        }
        Ok(())
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        let mut there = vec![0; self.tail.len()];
        match self
            .file
            .read_exact_at(&mut there, self.offset - self.tail.len() as u64)
        {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            read => read.map(|()| there == self.tail),
        }
    }

    /// Whether there is something that may have been seen before.
    pub(super) fn is_reread(&self) -> io::Result<bool> {
        Ok(self.found == Found::Reread && self.file.metadata()?.len() > self.offset)
    }

    /// Reads some bytes, and shows the lines that they finish, each with its number and how it was found. Whether
    /// there may be more.
    pub(super) fn read_some(&mut self, each: &mut dyn FnMut(u64, Found, Cut<'_>)) -> io::Result<bool> {
        let mut bytes = vec![0; STEP];
        let read = loop {
            match self.file.read_at(&mut bytes, self.offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        let bytes = &bytes[..read];
        let found = self.found;
        self.offset += read as u64;
        self.cutter.feed(bytes, &mut |line, cut| each(line, found, cut));
        self.tail.extend_from_slice(&bytes[read.saturating_sub(TAIL)..]);
        let spare = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..spare);
        if read == 0 {
            // What comes from here on is written while we look.
            self.found = Found::New;
        }
        Ok(read > 0)
    }

    pub(super) fn id(&self) -> FileId {
        self.id
    }

    /// How many bytes of it were read.
    pub(super) fn len(&self) -> u64 {
        self.offset
    }

    /// How it ended when it was last read.
    pub(super) fn end(&self) -> End {
        if self.cutter.is_partial() {
            End::Partial(self.cutter.partial().to_vec())
        } else {
            End::Clean
        }
    }

    /// What is known of the file now.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Makes what was written to it durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn regular(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        Ok(())
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}
