//! A file of the mirror with the earlier pieces of it: read on from where we were, appended to at its end, cut.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::folder::failed;
use super::lines::Cut;
use super::piece::{End, FileId, Piece, Position};
use super::rebuild::REPLACED;
use super::{Found, MirrorError};
use crate::rotation::{Rotation, earlier, named};

/// Bytes appended with one write at most, beyond one line.
const BATCH: usize = 256 * 1024;
/// How long somebody who wrote a part of a line is waited for. Programs write a line at once, or in two writes that
/// follow one another.
const PATIENCE: Duration = Duration::from_secs(2);

/// Positions by file name.
pub(super) type Positions = BTreeMap<String, Position>;

/// A file that several programs append to. What another file takes the place of is read to its end: the last one is
/// kept open, since a program may still write to it, and the ones before it are looked at now and then.
#[derive(Debug)]
pub(super) struct Series {
    path: PathBuf,
    /// What has the name now.
    live: Option<Piece>,
    /// What had it before.
    last: Option<Former>,
    /// What had it before that, and how far each was read.
    others: BTreeMap<PathBuf, Position>,
    /// Whether the others are still to be looked at.
    look_back: bool,
    /// What an earlier life of the process knew, until the first look.
    remembered: Option<Positions>,
    /// Whether it is to be seen which pieces are no longer to be kept.
    untidy: bool,
    /// Whether something was appended and not synced.
    unsynced: bool,
}

/// A piece that lost its name.
#[derive(Debug)]
struct Former {
    /// The name that it has, where it has one by which it is found again.
    path: Option<PathBuf>,
    piece: Piece,
}

/// How lines are shown: the file, the line's number, how it was found, and the line.
pub(super) type Each<'e> = dyn FnMut(&Path, u64, Found, Cut<'_>) + 'e;

impl Series {
    /// The file `path`, with what an earlier life of the process knew of it.
    pub(super) fn new(path: PathBuf, remembered: Positions) -> Series {
        Series {
            path,
            live: None,
            last: None,
            others: BTreeMap::new(),
            look_back: true,
            remembered: Some(remembered),
            untidy: true,
            unsynced: false,
        }
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> MirrorError + use<> {
        failed(doing, &self.path)
    }

    fn file_name(&self) -> String {
        name_of(&self.path)
    }

    /// Looks which file has the name. Whether something is to be read that may have been read before.
    pub(super) fn look(&mut self) -> Result<bool, MirrorError> {
        let failed = self.failed("read");
        let now = match fs::metadata(&self.path) {
            Ok(now) => Some(now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let id = now.as_ref().map(FileId::from);
        if let Some(live) = self.live.take_if(|live| Some(live.id()) != id) {
            let path =
                self.siblings().map_err(&failed)?.into_iter().find(|path| {
                    fs::symlink_metadata(path).is_ok_and(|found| FileId::from(&found) == live.id())
                });
            self.retire(Former { path, piece: live });
        }
        let mut unclaimed = self.remembered.clone().unwrap_or_default();
        if self.live.is_none() && now.is_some() {
            let mut live = Piece::open(&self.path, Found::Reread).map_err(&failed)?;
            if let Some(position) = unclaimed.get(&self.file_name())
                && live.resume(position).map_err(&failed)?
            {
                unclaimed.remove(&self.file_name());
            }
            self.live = Some(live);
        }
        if self.remembered.is_some() {
            self.discover(unclaimed).map_err(&failed)?;
            self.remembered = None;
        }
        let mut reread = false;
        for piece in self
            .last
            .iter_mut()
            .map(|last| &mut last.piece)
            .chain(&mut self.live)
        {
            piece.check().map_err(&failed)?;
            reread |= piece.is_reread().map_err(&failed)?;
        }
        Ok(reread || (self.look_back && self.others.values().any(|position| !position.is_somewhere())))
    }

    /// What has the file's name with something behind it, and is a file of its own.
    fn siblings(&self) -> io::Result<Vec<PathBuf>> {
        let Some(folder) = self.path.parent() else {
            return Ok(Vec::new());
        };
        let name = format!("{}.", self.file_name());
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let is_ours = entry
                .file_name()
                .to_str()
                .is_some_and(|other| other.starts_with(&name));
            if is_ours && entry.file_type()?.is_file() {
                found.push(entry.path());
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Finds the pieces that had the name in an earlier life of the process. One that this program named so is read
    /// from its beginning where no position fits it; what others named is a piece only where one does.
    fn discover(&mut self, mut unclaimed: Positions) -> io::Result<()> {
        let ours = self.former()?;
        let live = self.live.as_ref().map(Piece::id);
        for path in self.siblings()? {
            if Some(FileId::from(&fs::symlink_metadata(&path)?)) == live {
                continue;
            }
            // What cannot be read is somebody else's, or is in trouble that does not concern this file.
            let Ok(mut piece) = Piece::open(&path, Found::Reread) else {
                continue;
            };
            let mut fits = |name: &str| -> io::Result<bool> {
                let position = unclaimed.get(name).filter(|position| position.is_somewhere());
                position.map_or(Ok(false), |position| piece.resume(position))
            };
            let mut claimed = fits(&name_of(&path))?.then(|| name_of(&path));
            for name in unclaimed.keys() {
                if claimed.is_none() && fits(name)? {
                    claimed = Some(name.clone());
                }
            }
            match &claimed {
                Some(name) => unclaimed.remove(name),
                None if ours.contains(&path) => None,
                None => continue,
            };
            self.others.insert(path, piece.position());
        }
        Ok(())
    }

    /// The pieces that this program named.
    fn former(&self) -> io::Result<Vec<PathBuf>> {
        let mut pieces = earlier(&self.path)?;
        let replaced = named(&self.path, REPLACED);
        if fs::symlink_metadata(&replaced).is_ok_and(|found| found.is_file()) {
            pieces.push(replaced);
        }
        Ok(pieces)
    }

    fn retire(&mut self, former: Former) {
        if let Some(Former {
            path: Some(path),
            piece,
        }) = self.last.replace(former)
        {
            self.others.insert(path, piece.position());
        }
        self.look_back = true;
    }

    /// Shows every line that was finished since the last call, while `go_on` says so. Whether all was read.
    pub(super) fn read_on(
        &mut self,
        go_on: &dyn Fn() -> bool,
        each: &mut Each<'_>,
    ) -> Result<bool, MirrorError> {
        if self.look_back {
            let mut behind = Ok(());
            for (path, position) in &mut self.others {
                // One that cannot be read is no reason not to read the rest.
                match read_back(path, position, go_on, each).map_err(failed("read", path)) {
                    Ok(true) => {}
                    Ok(false) => return Ok(false),
                    Err(error) => behind = Err(error),
                }
            }
            self.look_back = false;
            behind?;
        }
        if let Some(Former { path, piece }) = &mut self.last {
            let path = path.as_ref().unwrap_or(&self.path);
            if !read(piece, path, go_on, each).map_err(failed("read", path))? {
                return Ok(false);
            }
        }
        match &mut self.live {
            Some(live) => read(live, &self.path, go_on, each).map_err(failed("read", &self.path)),
            None => Ok(true),
        }
    }

    /// Appends lines at the end that was read last, after mending it: an unfinished line that is the beginning of one
    /// of ours, torn when the program died, is completed; another one gets a line break, and is then read as the line
    /// that it is. `false` when it is left for the next time, because whoever writes there may be about to finish.
    pub(super) fn append(&mut self, lines: &[&str], now: SystemTime) -> Result<bool, MirrorError> {
        let mut bytes = Vec::new();
        let mut torn = None;
        if let Some(live) = &self.live
            && let End::Partial(partial) = live.end()
        {
            // Lines begin alike: what was written just now need not be ours.
            if self.is_being_written(live, now)? {
                return Ok(false);
            }
            torn = lines
                .iter()
                .position(|line| !partial.is_empty() && line.as_bytes().starts_with(&partial));
            if let Some(torn) = torn {
                bytes.extend_from_slice(&lines[torn].as_bytes()[partial.len()..]);
            }
            bytes.push(b'\n');
        }
        let failed = self.failed("append to");
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)
            .map_err(&failed)?;
        self.unsynced = true;
        if self.live.is_none() {
            // It is open from here on, so that a rotation loses none of it. It was made just now: nobody saw it before.
            self.live = Some(Piece::open(&self.path, Found::New).map_err(&failed)?);
        }
        for (at, line) in lines.iter().enumerate() {
            if Some(at) != torn {
                bytes.extend_from_slice(line.as_bytes());
                bytes.push(b'\n');
            }
            if bytes.len() >= BATCH {
                file.write_all(&bytes).map_err(&failed)?;
                bytes.clear();
            }
        }
        file.write_all(&bytes).map_err(&failed)?;
        Ok(true)
    }

    fn is_being_written(&self, live: &Piece, now: SystemTime) -> Result<bool, MirrorError> {
        let written = live
            .metadata()
            .and_then(|found| found.modified())
            .map_err(self.failed("read"))?;
        let since = now
            .duration_since(written)
            .unwrap_or_else(|ahead| ahead.duration());
        Ok(since < PATIENCE)
    }

    /// Makes what was appended durable.
    pub(super) fn sync(&mut self) -> Result<(), MirrorError> {
        if self.unsynced {
            if let Some(live) = &self.live {
                live.sync().map_err(self.failed("sync"))?;
            }
            self.unsynced = false;
        }
        Ok(())
    }

    /// Cuts the file where that is due, and removes the pieces that are no longer to be kept once they were read to
    /// their ends. All of the file itself must have been read.
    pub(super) fn tend(&mut self, rotation: &Rotation, now: SystemTime) -> Result<(), MirrorError> {
        let failed = self.failed("rotate");
        if let Some(live) = &self.live {
            let found = live.metadata().map_err(&failed)?;
            let age = found
                .created()
                .ok()
                .and_then(|made| now.duration_since(made).ok());
            if rotation.is_due(live.len(), age) {
                self.sync()?;
                let path = rotation.rotate(&self.path, now).map_err(&failed)?;
                if path.is_some()
                    && let Some(piece) = self.live.take()
                {
                    self.retire(Former { path, piece });
                    self.untidy = true;
                }
            }
        }
        if self.untidy && !self.look_back {
            self.remove_old(rotation, now).map_err(failed)?;
            self.untidy = false;
        }
        Ok(())
    }

    fn remove_old(&mut self, rotation: &Rotation, now: SystemTime) -> io::Result<()> {
        for path in self.former()? {
            if rotation.is_over(fs::symlink_metadata(&path)?.modified()?, now) {
                fs::remove_file(&path)?;
                self.last.take_if(|last| last.path.as_ref() == Some(&path));
            }
        }
        // What somebody else removed is gone too.
        self.others.retain(|path, _| path.exists());
        Ok(())
    }

    /// How far each piece that will be found again was read.
    pub(super) fn positions(&self, into: &mut Positions) {
        if let Some(remembered) = &self.remembered {
            into.extend(remembered.clone());
        }
        let others = self
            .others
            .iter()
            .map(|(path, position)| (path, position.clone()));
        let last = self
            .last
            .iter()
            .filter_map(|last| Some((last.path.as_ref()?, last.piece.position())));
        let live = self.live.iter().map(|live| (&self.path, live.position()));
        into.extend(
            others
                .chain(last)
                .chain(live)
                .map(|(path, position)| (name_of(path), position)),
        );
    }
}

/// Reads on in a piece; whether to its end.
fn read(piece: &mut Piece, path: &Path, go_on: &dyn Fn() -> bool, each: &mut Each<'_>) -> io::Result<bool> {
    while piece.read_some(&mut |line, found, cut| each(path, line, found, cut))? {
        if !go_on() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads on in a piece that is not open.
fn read_back(
    path: &Path,
    position: &mut Position,
    go_on: &dyn Fn() -> bool,
    each: &mut Each<'_>,
) -> io::Result<bool> {
    let mut piece = match Piece::open(path, Found::Reread) {
        Ok(piece) => piece,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    piece.resume(position)?;
    let read = read(&mut piece, path, go_on, each);
    *position = piece.position();
    read
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
