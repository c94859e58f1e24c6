//! Files that only grow, cut into pieces: the piece that is written keeps the file's name, earlier ones have the time
//! of their end behind it (`retro.jsonl.20260514T174500.000Z`), and go when nothing in them is to be kept any more
//! (contract, section 3, rule 8).
//!
//! A rotation is one rename, so a process that is killed leaves the file whole under one name or the other. Who has the
//! file open goes on writing to the earlier piece; whoever reads such files reads that piece to its end, until it is
//! removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

/// How the time of its end stands in the name of an earlier piece: the names of one file sort by it.
const ENDED: &str = "%Y%m%dT%H%M%S%.3fZ";

/// A piece that is not full takes lines for this part of the time that lines are kept. So a line is there for `keep`,
/// and for a third of it longer at most.
const PIECES: u32 = 3;

/// When a file is cut, and how long its pieces are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// A piece that has this many bytes gets no more.
    pub size: u64,
    /// How long a line is kept after it was written.
    pub keep: Duration,
}

impl Default for Rotation {
    /// 64 MiB, some two hundred thousand lines; 90 days.
    fn default() -> Rotation {
        Rotation {
            size: 64 * 1024 * 1024,
            keep: Duration::from_secs(90 * 24 * 60 * 60),
        }
    }
}

impl Rotation {
    /// Whether a piece of `len` bytes that was begun `age` ago, where that is known, gets no more lines.
    pub fn is_due(&self, len: u64, age: Option<Duration>) -> bool {
        len > 0 && (len >= self.size || age.is_some_and(|age| age >= self.keep / PIECES))
    }

    /// Whether a piece that was last written then holds nothing that is to be kept.
    pub fn is_over(&self, written: SystemTime, now: SystemTime) -> bool {
        now.duration_since(written).is_ok_and(|since| since >= self.keep)
    }

    /// Cuts the file where that is due, and says under which name the earlier piece lies. What is not there, is no
    /// regular file or stands behind a symbolic link is left as it is.
    ///
    /// Only one process at a time may do so for one file.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn rotate(&self, path: &Path, now: SystemTime) -> io::Result<Option<PathBuf>> {
        let found = match fs::symlink_metadata(path) {
            Ok(found) if found.is_file() => found,
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // Not every file system knows when a file was made; there its size decides alone.
        let age = found
            .created()
            .ok()
            .and_then(|made| now.duration_since(made).ok());
        if !self.is_due(found.len(), age) {
            return Ok(None);
        }
        let mut ended = DateTime::<Utc>::from(now);
        // The names stand in the order of the pieces, also where a clock was set back or two are cut at once.
        if let Some(last) = earlier(path)?
            .last()
            .and_then(|last| ended_at(path, last.file_name()?.to_str()?))
        {
            ended = ended.max(last + TimeDelta::milliseconds(1));
        }
        let piece = named(path, &ended.format(ENDED).to_string());
        fs::rename(path, &piece)?;
        Ok(Some(piece))
    }

    /// Removes the earlier pieces whose last line is no longer to be kept, and says which they were.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove_old(&self, path: &Path, now: SystemTime) -> io::Result<Vec<PathBuf>> {
        let mut removed = Vec::new();
        for piece in earlier(path)? {
            if self.is_over(fs::symlink_metadata(&piece)?.modified()?, now) {
                fs::remove_file(&piece)?;
                removed.push(piece);
            }
        }
        Ok(removed)
    }
}

/// The earlier pieces of a file, the oldest first; none where there is no such folder.
///
/// # Errors
/// When the folder cannot be read.
pub fn earlier(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(folder) = path.parent() else {
        return Ok(Vec::new());
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut pieces = Vec::new();
    for entry in entries {
        let entry = entry?.file_name();
        if entry.to_str().and_then(|entry| ended_at(path, entry)).is_some() {
            pieces.push(folder.join(entry));
        }
    }
    pieces.sort_unstable();
    Ok(pieces)
}

/// When the piece with this name ended, if it is one of the file's.
fn ended_at(path: &Path, piece: &str) -> Option<DateTime<Utc>> {
    let ended = piece
        .strip_prefix(path.file_name()?.to_str()?)?
        .strip_prefix('.')?;
    Some(NaiveDateTime::parse_from_str(ended, ENDED).ok()?.and_utc())
}

/// The file's name with something behind it.
pub(crate) fn named(path: &Path, behind: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(behind);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn a_piece_is_cut_when_it_is_full_or_old() {
        let rotation = Rotation {
            size: 100,
            keep: 90 * DAY,
        };
        let check = |len: u64, age: Option<Duration>, due: bool| {
            assert_eq!(rotation.is_due(len, age), due, "{len} {age:?}");
        };
        check(99, None, false);
        check(100, None, true);
        check(99, Some(30 * DAY - DAY / 2), false);
        check(99, Some(30 * DAY), true);
        check(0, Some(30 * DAY), false);
    }

    #[test]
    fn pieces_are_named_by_their_end_and_go_when_their_last_line_does() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("retro.jsonl");
        let rotation = Rotation {
            size: 1,
            keep: 90 * DAY,
        };
        let now = SystemTime::now();
        assert_eq!(rotation.rotate(&path, now).unwrap(), None);
        let mut cut = Vec::new();
        for text in ["one\n", "two\n", "three\n"] {
            fs::write(&path, text).unwrap();
            cut.push(rotation.rotate(&path, now).unwrap().unwrap());
        }
        for name in [
            "retro.jsonl.1",
            "retro.jsonl.gz",
            "other.jsonl.20260514T174500.000Z",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(earlier(&path).unwrap(), cut);
        assert_eq!(fs::read_to_string(&cut[2]).unwrap(), "three\n");
        let file = fs::File::options().append(true).open(&cut[1]).unwrap();
        file.set_modified(now - 91 * DAY).unwrap();
        assert_eq!(rotation.remove_old(&path, now).unwrap(), [cut[1].clone()]);
        assert_eq!(earlier(&path).unwrap(), [cut[0].clone(), cut[2].clone()]);
    }

    #[test]
    fn what_is_no_regular_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let rotation = Rotation {
            size: 1,
            keep: 90 * DAY,
        };
        let (link, target) = (dir.path().join("link"), dir.path().join("target"));
        fs::write(&target, "text").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert_eq!(rotation.rotate(&link, SystemTime::now()).unwrap(), None);
        assert_eq!(rotation.rotate(dir.path(), SystemTime::now()).unwrap(), None);
        assert!(earlier(&dir.path().join("nowhere/file")).unwrap().is_empty());
    }
}
