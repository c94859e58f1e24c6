//! Files below the home, written so that a crash at any line leaves either the old or the new.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use crate::HomePath;

/// The largest file that is read whole, in bytes: what an actor keeps in one file is rotated long before.
pub const MAX_READ: u64 = 64 * 1024 * 1024;

/// How far from its end a file is searched for lines that are there already, in bytes. A line is appended twice
/// only when its turn runs again, which is soon: some ten thousand lines later at the most.
pub const KEYS_SEARCHED: u64 = 4 * 1024 * 1024;

/// What a directory holds under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, without the directory. A name that is not UTF-8 is not listed.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Bytes, for a file.
    pub len: u64,
    /// When it was last written.
    pub modified: DateTime<Utc>,
}

/// A line to append, with the key by which it is known again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedLine {
    /// What tells the line apart. It stands in the line, not as a part of a longer word.
    pub key: String,
    /// The line, without a line break.
    pub line: String,
}

/// What went wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("cannot {doing} {path}")]
    Io {
        /// The verb.
        doing: &'static str,
        /// The path below the home.
        path: HomePath,
        /// What the system said.
        source: io::Error,
    },
    /// The file is over [`MAX_READ`].
    #[error("{path} has {bytes} bytes, more than are read at once")]
    TooLarge {
        /// The path below the home.
        path: HomePath,
        /// Its size.
        bytes: u64,
    },
    /// A line to append holds a line break, or does not hold its key.
    #[error("a line for {path} {why}")]
    Line {
        /// The path below the home.
        path: HomePath,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// The home directory. Writes of one process follow one another.
#[derive(Debug)]
pub(crate) struct Home {
    root: PathBuf,
    writing: Mutex<()>,
}

impl Home {
    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            writing: Mutex::new(()),
        }
    }

    pub(crate) fn read(&self, path: &HomePath) -> Result<Option<Vec<u8>>, FileError> {
        let bounded = || -> io::Result<Result<Vec<u8>, u64>> {
            let file = open_regular(&path.below(&self.root))?;
            let mut bytes = Vec::new();
            file.take(MAX_READ + 1).read_to_end(&mut bytes)?;
            let len = bytes.len() as u64;
            Ok(if len > MAX_READ { Err(len) } else { Ok(bytes) })
        };
        match bounded() {
            Ok(Ok(bytes)) => Ok(Some(bytes)),
            Ok(Err(bytes)) => Err(FileError::TooLarge {
                path: path.clone(),
                bytes,
            }),
            Err(error) if is_absent(&error) => Ok(None),
            Err(source) => Err(FileError::Io {
                doing: "read",
                path: path.clone(),
                source,
            }),
        }
    }

    /// The last lines of a file that fit into `most` bytes, whole ones; `None` where there is no file.
    pub(crate) fn tail(&self, path: &HomePath, most: u64) -> Result<Option<Vec<u8>>, FileError> {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = open_regular(&path.below(&self.root))?;
            let skipped = file.metadata()?.len().saturating_sub(most);
            // One byte more tells whether the first line is whole.
            file.seek(SeekFrom::Start(skipped.saturating_sub(1)))?;
            let mut bytes = Vec::new();
            file.take(most + 1).read_to_end(&mut bytes)?;
            if skipped > 0 {
                let begin = bytes
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(bytes.len(), |at| at + 1);
                bytes.drain(..begin);
            }
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(source) => Err(FileError::Io {
                doing: "read",
                path: path.clone(),
                source,
            }),
        }
    }

    /// What is in a directory, by name; nothing where there is no such directory.
    pub(crate) fn list(&self, path: &HomePath) -> Result<Vec<Entry>, FileError> {
        let read = || -> io::Result<Vec<Entry>> {
            let mut entries = Vec::new();
            for entry in fs::read_dir(path.below(&self.root))? {
                let entry = entry?;
                // What a listed file is may change, or end, while the directory is read.
                let (Ok(name), Ok(about)) = (entry.file_name().into_string(), fs::metadata(entry.path()))
                else {
                    continue;
                };
                let modified = about.modified().map_or(DateTime::UNIX_EPOCH, DateTime::from);
                entries.push(Entry {
                    name,
                    is_dir: about.is_dir(),
                    len: about.len(),
                    modified,
                });
            }
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(entries)
        };
        match read() {
            Ok(entries) => Ok(entries),
            Err(error) if is_absent(&error) => Ok(Vec::new()),
            Err(source) => Err(FileError::Io {
                doing: "list",
                path: path.clone(),
                source,
            }),
        }
    }

    /// Writes a file whole: beside it, synced, renamed over it, the directory synced.
    pub(crate) fn write(&self, path: &HomePath, bytes: &[u8]) -> Result<(), FileError> {
        let _writing = self.turn_to_write();
        let write = || -> io::Result<()> {
            let target = path.below(&self.root);
            let directory = make_parent(&target)?;
            // One name is enough: writes follow one another, and what a crash leaves is written over.
            let beside = beside(&target);
            let mut file = options().write(true).create(true).truncate(true).open(&beside)?;
            let written = file.write_all(bytes).and_then(|()| file.sync_all());
            if let Err(error) = written {
                let _ = fs::remove_file(&beside);
                return Err(error);
            }
            fs::rename(&beside, &target)?;
            File::open(directory)?.sync_all()
        };
        write().map_err(|source| FileError::Io {
            doing: "write",
            path: path.clone(),
            source,
        })
    }

    /// Appends the lines that are not there yet, in one write and one sync; the number that were appended.
    pub(crate) fn append(&self, path: &HomePath, lines: &[KeyedLine]) -> Result<usize, FileError> {
        for KeyedLine { key, line } in lines {
            let why = match () {
                () if line.contains(['\n', '\r']) => "has a line break",
                () if !holds(line, key) => "does not hold its key",
                () => continue,
            };
            return Err(FileError::Line {
                path: path.clone(),
                why,
            });
        }
        let _writing = self.turn_to_write();
        let append = || -> io::Result<usize> {
            let target = path.below(&self.root);
            let directory = make_parent(&target)?;
            let mut file = options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&target)?;
            let len = file.metadata()?.len();
            let tail = read_tail(&mut file, len)?;
            let (end, text, appended) = continued(len, &tail, lines);
            if text.is_empty() {
                return Ok(0);
            }
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            if let Err(error) = file.write_all(text.as_bytes()).and_then(|()| file.sync_data()) {
                // Half a line is worse than none, and a full disk takes a file that shrinks.
                let _ = file.set_len(end);
                return Err(error);
            }
            if len == 0 {
                File::open(directory)?.sync_all()?;
            }
            Ok(appended)
        };
        append().map_err(|source| FileError::Io {
            doing: "append to",
            path: path.clone(),
            source,
        })
    }

    fn turn_to_write(&self) -> MutexGuard<'_, ()> {
        // Nothing is guarded but the order, so a panic under the lock has spoilt nothing.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to append to a file that ends in `tail`: where to, which text, and how many of the lines it holds.
///
/// A last line without a line break is either the beginning of one of these lines, torn by a crash, which is
/// written over; or somebody else's, which is ended.
fn continued(len: u64, tail: &str, lines: &[KeyedLine]) -> (u64, String, usize) {
    let torn = &tail[tail.rfind('\n').map_or(0, |at| at + 1)..];
    let ours = !torn.is_empty()
        && lines
            .iter()
            .any(|new| new.line.starts_with(torn) && new.line != torn);
    let (end, whole) = if ours {
        (len - torn.len() as u64, &tail[..tail.len() - torn.len()])
    } else {
        (len, tail)
    };

    let mut text = String::new();
    let mut appended = 0;
    for KeyedLine { key, line } in lines {
        if !whole.lines().chain(text.lines()).any(|there| holds(there, key)) {
            text.push_str(line);
            text.push('\n');
            appended += 1;
        }
    }
    if !ours && !torn.is_empty() {
        text.insert(0, '\n');
    }
    (end, text, appended)
}

/// Whether a line holds a key as a word of its own: what stands before and after it, past the marks that keys are
/// made of (`-_./:#`), is no letter or digit.
fn holds(line: &str, key: &str) -> bool {
    let is_mark = |c: &char| "-_./:#".contains(*c);
    !key.is_empty()
        && line.match_indices(key).any(|(at, _)| {
            let before = line[..at].chars().rev().find(|c| !is_mark(c));
            let after = line[at + key.len()..].chars().find(|c| !is_mark(c));
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
}

fn read_tail(file: &mut File, len: u64) -> io::Result<String> {
    file.seek(SeekFrom::Start(len.saturating_sub(KEYS_SEARCHED)))?;
    let mut bytes = Vec::new();
    file.take(KEYS_SEARCHED).read_to_end(&mut bytes)?;
    // A cut at both ends of a character, or bytes that are no text, must not change the length: `continued`
    // counts from the end.
    Ok(bytes.utf8_chunks().fold(String::new(), |mut text, chunk| {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '\u{1a}'));
        text
    }))
}

/// Opens a file to read it. A pipe or a device in its place would be waited for without end.
fn open_regular(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        File::open(path)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn make_parent(target: &Path) -> io::Result<&Path> {
    let parent = target.parent().ok_or(ErrorKind::InvalidInput)?;
    DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    Ok(parent)
}

fn beside(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".new");
    target.with_file_name(name)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: &str, line: &str) -> KeyedLine {
        KeyedLine {
            key: key.into(),
            line: line.into(),
        }
    }

    /// A file with this text, these lines appended to it.
    fn appended(before: &str, lines: &[KeyedLine]) -> (String, usize) {
        let directory = tempfile::tempdir().unwrap();
        let (home, path) = (Home::at(directory.path()), "log/lines.jsonl".parse().unwrap());
        if !before.is_empty() {
            home.write(&path, before.as_bytes()).unwrap();
        }
        let count = home.append(&path, lines).unwrap();
        (
            String::from_utf8(home.read(&path).unwrap().unwrap()).unwrap(),
            count,
        )
    }

    #[test]
    fn a_file_is_written_whole_and_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let path = "deep/er/file.md".parse().unwrap();
        assert_eq!(home.read(&path).unwrap(), None);
        home.write(&path, b"one").unwrap();
        home.write(&path, b"two").unwrap();
        assert_eq!(home.read(&path).unwrap().unwrap(), b"two");
        let names: Vec<_> = home
            .list(&"deep/er".parse().unwrap())
            .unwrap()
            .into_iter()
            .map(|e| e.name)
            .collect();
        assert_eq!(names, ["file.md"]);
        assert!(home.list(&"nowhere".parse().unwrap()).unwrap().is_empty());
    }

    #[test]
    fn lines_are_appended_once_by_key() {
        let check = |before: &str, lines: &[KeyedLine], after: &str, count: usize| {
            assert_eq!(appended(before, lines), (after.to_owned(), count), "{before:?}");
        };
        let (one, two) = (line("a/1", r#"{"key":"a/1"}"#), line("a/2", r#"{"key":"a/2"}"#));
        let both = [one.clone(), two.clone()];
        let only_one = std::slice::from_ref(&one);
        check("", &both, "{\"key\":\"a/1\"}\n{\"key\":\"a/2\"}\n", 2);
        check(
            "{\"key\":\"a/1\"}\n",
            &both,
            "{\"key\":\"a/1\"}\n{\"key\":\"a/2\"}\n",
            1,
        );
        check("{\"key\":\"a/1\"}\n", only_one, "{\"key\":\"a/1\"}\n", 0);
        check("", &[one.clone(), one.clone()], "{\"key\":\"a/1\"}\n", 1);
        // A key that is a part of another one is another one.
        check("a/12 x\n", &[line("a/1", "a/1 y")], "a/12 x\na/1 y\n", 1);
        check("a/1/2 x\n", &[line("a/1", "a/1 y")], "a/1/2 x\na/1 y\n", 1);
        // A mark beside it is none of it. A key is as good as it is rare: any line that holds it counts.
        check("2: 4\n", &[line("2", "2: 4"), line("4", "4. 16")], "2: 4\n", 0);
        check(
            "2: x\n",
            &[line("2", "2: x"), line("3", "x (3)")],
            "2: x\nx (3)\n",
            1,
        );
        // A torn line of one's own is written over, another's is ended.
        check("{\"key\":\"a", only_one, "{\"key\":\"a/1\"}\n", 1);
        check(
            "whole\n{\"key\":\"a",
            &both,
            "whole\n{\"key\":\"a/1\"}\n{\"key\":\"a/2\"}\n",
            2,
        );
        check("{\"other", only_one, "{\"other\n{\"key\":\"a/1\"}\n", 1);
        check("{\"key\":\"a/1\"}", only_one, "{\"key\":\"a/1\"}\n", 0);
        check(
            "{\"key\":\"a/1\"}",
            &[two],
            "{\"key\":\"a/1\"}\n{\"key\":\"a/2\"}\n",
            1,
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (home, path) = (Home::at(directory.path()), "x".parse().unwrap());
        home.write(&path, b"\xff\xfe\nhalf \xe2\x82").unwrap();
        home.append(&path, &[line("k", "k")]).unwrap();
        assert_eq!(
            home.read(&path).unwrap().unwrap(),
            b"\xff\xfe\nhalf \xe2\x82\nk\n"
        );
    }

    #[test]
    fn a_line_that_could_not_be_known_again_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (home, path) = (Home::at(directory.path()), "x".parse().unwrap());
        let check = |given: KeyedLine, text: &str| {
            assert_eq!(home.append(&path, &[given]).unwrap_err().to_string(), text);
        };
        check(line("k", "k\nl"), "a line for x has a line break");
        check(line("k", "other"), "a line for x does not hold its key");
        check(line("", "other"), "a line for x does not hold its key");
    }
}
