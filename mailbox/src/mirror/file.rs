//! One file of the mirror: read on from where we were, append at its end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::MirrorError;
use super::lines::{Cut, Cutter};

/// Bytes read at a time.
const PIECE: usize = 64 * 1024;

/// A file that several programs append to.
#[derive(Debug)]
pub(super) struct Appended {
    path: PathBuf,
    /// The file that is being read; kept when another takes its name, so that its last lines are
    /// not missed.
    reading: Option<Reading>,
}

#[derive(Debug)]
struct Reading {
    file: File,
    offset: u64,
    cutter: Cutter,
}

/// How the end of the file looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// After a line break, or empty.
    Clean,
    /// In a line, of which these bytes are kept.
    Partial(Vec<u8>),
}

impl Appended {
    pub(super) fn new(path: PathBuf) -> Appended {
        Appended { path, reading: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> MirrorError + use<> {
        let path = self.path.clone();
        move |source| MirrorError::Io {
            doing,
            path: path.clone(),
            source,
        }
    }

    /// Shows every line that was finished since the last call, with its number. A file that was
    /// replaced or cut short is read from its beginning.
    pub(super) fn read_on(&mut self, each: &mut dyn FnMut(u64, Cut<'_>)) -> Result<(), MirrorError> {
        let failed = self.failed("read");
        let now = match fs::metadata(&self.path) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(reading) = &mut self.reading {
            let then = reading.file.metadata().map_err(&failed)?;
            if then.len() < reading.offset {
                reading.offset = 0;
                reading.cutter = Cutter::default();
            }
            reading.rest(each).map_err(&failed)?;
            let same = now
                .as_ref()
                .is_some_and(|now| now.ino() == then.ino() && now.dev() == then.dev());
            if same {
                return Ok(());
            }
            self.reading = None;
        }
        match now {
            None => return Ok(()),
            // A pipe or a device in its place would be read without end.
            Some(now) if !now.is_file() => return Err(failed(io::Error::other("it is no regular file"))),
            Some(_) => {}
        }
        let file = File::open(&self.path).map_err(&failed)?;
        let mut reading = Reading {
            file,
            offset: 0,
            cutter: Cutter::default(),
        };
        reading.rest(each).map_err(&failed)?;
        self.reading = Some(reading);
        Ok(())
    }

    /// How the file ended when it was last read.
    pub(super) fn end(&self) -> End {
        match &self.reading {
            Some(reading) if reading.cutter.is_partial() => End::Partial(reading.cutter.partial().to_vec()),
            Some(_) | None => End::Clean,
        }
    }

    /// Appends these bytes with one write, or as few as the system lets.
    pub(super) fn append(&self, bytes: &[u8]) -> Result<(), MirrorError> {
        let failed = self.failed("append to");
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)
            .map_err(&failed)?;
        file.write_all(bytes).map_err(failed)
    }
}

impl Reading {
    fn rest(&mut self, each: &mut dyn FnMut(u64, Cut<'_>)) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut piece = vec![0; PIECE];
        loop {
            let read = match self.file.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.offset += read as u64;
            self.cutter.feed(&piece[..read], each);
        }
    }
}
