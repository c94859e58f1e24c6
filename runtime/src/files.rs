//! Files below the home, written so that a crash at any line leaves either the old or the new.

mod lines;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use mailbox::rotation::Rotation;

use crate::HomePath;
use lines::holds;

/// The largest file that is read whole, in bytes: what an actor keeps in one file is rotated long before.
pub const MAX_READ: u64 = 64 * 1024 * 1024;

/// How far from its end a file, with its earlier pieces, is searched for lines that are there already, in bytes. A line is appended twice
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
    rotation: Rotation,
    writing: Mutex<()>,
}

impl Home {
    pub(crate) fn at(root: impl Into<PathBuf>, rotation: Rotation) -> Self {
        Self {
            root: root.into(),
            rotation,
            writing: Mutex::new(()),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
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

    /// The last lines of a file that fit into `most` bytes, whole ones, those of its earlier pieces included; `None`
    /// where there is no file.
    pub(crate) fn tail(&self, path: &HomePath, most: u64) -> Result<Option<Vec<u8>>, FileError> {
        match lines::tail(&path.below(&self.root), most) {
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

    /// Appends the lines that are not there yet, in one write and one sync; the number that were appended. A file that is
    /// full or old is cut first.
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
        lines::append(&path.below(&self.root), lines, &self.rotation).map_err(|source| FileError::Io {
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
        let (home, path) = (
            Home::at(directory.path(), Rotation::default()),
            "log/lines.jsonl".parse().unwrap(),
        );
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
        let home = Home::at(directory.path(), Rotation::default());
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
        let (home, path) = (
            Home::at(directory.path(), Rotation::default()),
            "x".parse().unwrap(),
        );
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
        let (home, path) = (
            Home::at(directory.path(), Rotation::default()),
            "x".parse().unwrap(),
        );
        let check = |given: KeyedLine, text: &str| {
            assert_eq!(home.append(&path, &[given]).unwrap_err().to_string(), text);
        };
        check(line("k", "k\nl"), "a line for x has a line break");
        check(line("k", "other"), "a line for x does not hold its key");
        check(line("", "other"), "a line for x does not hold its key");
    }

    fn small() -> Rotation {
        Rotation {
            size: 200,
            ..Rotation::default()
        }
    }

    /// Every line of a file and its earlier pieces, in their order.
    fn all_lines(path: &Path) -> Vec<String> {
        let mut pieces = mailbox::rotation::earlier(path).unwrap();
        pieces.push(path.to_owned());
        let text: String = pieces
            .iter()
            .filter_map(|piece| fs::read_to_string(piece).ok())
            .collect();
        assert!(text.ends_with('\n'), "{text:?}");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_full_file_is_cut_and_its_lines_are_known_from_the_earlier_pieces() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path(), small());
        let path: HomePath = "retro.jsonl".parse().unwrap();
        let lines: Vec<KeyedLine> = (0..40)
            .map(|n| {
                line(
                    &format!("\"m-{n}\""),
                    &format!("{{\"msg_id\":\"m-{n}\",\"text\":\"........\"}}"),
                )
            })
            .collect();
        for line in &lines {
            assert_eq!(home.append(&path, std::slice::from_ref(line)).unwrap(), 1);
        }
        let file = directory.path().join("retro.jsonl");
        let pieces = mailbox::rotation::earlier(&file).unwrap();
        assert!(pieces.len() > 4, "{pieces:?}");
        // A turn that runs again finds its line in whichever piece it is.
        assert_eq!(home.append(&path, &lines).unwrap(), 0);
        let texts: Vec<String> = lines.iter().map(|line| line.line.clone()).collect();
        assert_eq!(all_lines(&file), texts);
        // The tail goes over the cuts, and ends where whole lines do.
        let tail = home.tail(&path, 100).unwrap().unwrap();
        assert_eq!(
            String::from_utf8(tail).unwrap(),
            format!("{}\n{}\n", texts[38], texts[39])
        );
        let whole = home.tail(&path, 1 << 20).unwrap().unwrap();
        assert_eq!(String::from_utf8(whole).unwrap().lines().count(), 40);
        // Cut and nothing appended since: the tail is there all the same.
        fs::rename(&file, directory.path().join("retro.jsonl.20991231T235959.999Z")).unwrap();
        assert!(home.tail(&path, 100).unwrap().is_some());
        assert_eq!(home.tail(&"other.jsonl".parse().unwrap(), 100).unwrap(), None);
    }

    #[test]
    fn what_people_read_is_not_cut() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path(), small());
        let path: HomePath = "DECISIONS.md".parse().unwrap();
        for n in 0..40 {
            home.append(
                &path,
                &[line(&format!("({n})"), &format!("- to be decided ({n})"))],
            )
            .unwrap();
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn pieces_go_when_nothing_in_them_is_to_be_kept() {
        let directory = tempfile::tempdir().unwrap();
        let (home, path) = (Home::at(directory.path(), small()), "x.jsonl".parse().unwrap());
        let old = directory.path().join("x.jsonl.20200101T000000.000Z");
        fs::write(&old, "old\n").unwrap();
        let file = File::options().append(true).open(&old).unwrap();
        file.set_modified(std::time::SystemTime::now() - 2 * Rotation::default().keep)
            .unwrap();
        for n in 0..40 {
            home.append(&path, &[line(&format!("k{n}"), &format!("k{n} ........"))])
                .unwrap();
        }
        assert!(!old.exists());
        assert_eq!(all_lines(&directory.path().join("x.jsonl")).len(), 40);
    }

    /// Processes share no lock of ours in memory: two homes stand for them. The third writes as any program does.
    #[test]
    fn several_that_append_at_once_tear_and_lose_no_line() {
        const EACH: usize = 300;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.jsonl");
        // The one that does not ask keeps its file open, also when it is cut.
        let mut open = File::options().append(true).create(true).open(&file).unwrap();
        std::thread::scope(|scope| {
            for name in ["a", "b"] {
                let root = directory.path();
                scope.spawn(move || {
                    let rotation = Rotation {
                        size: 4_000,
                        ..Rotation::default()
                    };
                    let (home, path) = (Home::at(root, rotation), "x.jsonl".parse().unwrap());
                    for n in 0..EACH {
                        let key = format!("{name}{n}");
                        let appended = home.append(&path, &[line(&key, &format!("{key} ................"))]);
                        assert_eq!(appended.unwrap(), 1);
                    }
                });
            }
            scope.spawn(|| {
                for n in 0..EACH {
                    open.write_all(format!("c{n} ................\n").as_bytes())
                        .unwrap();
                }
            });
        });
        let mut found = all_lines(&file);
        found.sort();
        let mut expected: Vec<String> = ["a", "b", "c"]
            .iter()
            .flat_map(|name| (0..EACH).map(move |n| format!("{name}{n} ................")))
            .collect();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path(), Rotation::default());
        fs::create_dir(directory.path().join("folder.jsonl")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(directory.path().join("pipe.jsonl"))
            .status();
        assert!(made.unwrap().success());
        for name in ["folder.jsonl", "pipe.jsonl"] {
            let path = name.parse().unwrap();
            let error = home.append(&path, &[line("k", "k")]).unwrap_err();
            assert_eq!(error.to_string(), format!("cannot append to {name}"));
            assert!(home.read(&path).is_err());
            assert!(home.tail(&path, 10).is_err());
        }
    }
}
