//! The lines of a file that only grows, those of its earlier pieces first (contract, section 3, rule 8).

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use mailbox::rotation;

use crate::failure::{Exit, Failure};

/// The longest line that is read, in bytes: more than a message may have. Of a longer one the beginning is given,
/// which is no whole line of anybody's.
const LONGEST: u64 = 2 * 1024 * 1024;

/// A line without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The text. Bytes that are no UTF-8 are replaced.
    pub text: &'a str,
    /// Its number within its piece, from 1.
    pub number: u64,
    /// Whether its end is there: the last line of a file may be being written.
    pub is_ended: bool,
}

/// Reads a file's lines in order, blank ones left out; nothing where there is no such file.
pub fn each(path: &Path, mut each: impl FnMut(Line<'_>)) -> Result<(), Failure> {
    let failed = |error| {
        Failure::new(Exit::Other, format!("cannot read {}", path.display()))
            .because(error)
            .mend("Make it readable for you, or move it away.")
    };
    // The newest piece is opened before the earlier ones are looked for: one that is cut off meanwhile is then found
    // twice, which its number on the disk tells, and not missed.
    let newest = open(path).map_err(failed)?;
    let mut read = HashSet::new();
    if let Some(file) = &newest {
        read.insert(identity(file).map_err(failed)?);
    }
    for piece in rotation::earlier(path).map_err(failed)? {
        // One that is not there any more was old enough to go.
        let Some(file) = open(&piece).map_err(failed)? else {
            continue;
        };
        if read.insert(identity(&file).map_err(failed)?) {
            each_of(file, &mut each).map_err(failed)?;
        }
    }
    match newest {
        Some(file) => each_of(file, &mut each).map_err(failed),
        None => Ok(()),
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What tells a file apart, whatever its name.
fn identity(file: &File) -> io::Result<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

fn each_of(file: File, each: &mut impl FnMut(Line<'_>)) -> io::Result<()> {
    let mut file = BufReader::new(file);
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        if file.by_ref().take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(());
        }
        number += 1;
        let is_ended = bytes.ends_with(b"\n") || (bytes.len() as u64 == LONGEST && skip_line(&mut file)?);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if !text.is_empty() {
            each(Line {
                text,
                number,
                is_ended,
            });
        }
    }
}

/// Passes over the rest of a line, and says whether its end is there.
fn skip_line(file: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let buffer = file.fill_buf()?;
        if buffer.is_empty() {
            return Ok(false);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let passed = end.map_or(buffer.len(), |end| end + 1);
        file.consume(passed);
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> Vec<(String, u64, bool)> {
        let mut found = Vec::new();
        each(path, |line| {
            let shown = line.text.chars().take(20).collect();
            found.push((shown, line.number, line.is_ended));
        })
        .unwrap();
        found
    }

    #[test]
    fn earlier_pieces_come_first_and_the_last_line_may_be_half_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("retro.jsonl");
        assert_eq!(read(&path), []);
        std::fs::write(dir.path().join("retro.jsonl.20260514T174500.000Z"), "one\n\ntwo").unwrap();
        std::fs::write(dir.path().join("retro.jsonl.old"), "not a piece\n").unwrap();
        std::fs::write(&path, b"\xff three\n{\"ts\":").unwrap();
        let line = |text: &str, number, is_ended| (text.to_owned(), number, is_ended);
        assert_eq!(
            read(&path),
            [
                line("one", 1, true),
                line("two", 3, false),
                line("\u{fffd} three", 1, true),
                line("{\"ts\":", 2, false)
            ]
        );
    }

    #[test]
    fn one_piece_under_two_names_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("retro.jsonl");
        std::fs::write(&path, "one\n").unwrap();
        std::fs::hard_link(&path, dir.path().join("retro.jsonl.20260514T174500.000Z")).unwrap();
        assert_eq!(read(&path).len(), 1);
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("retro.jsonl");
        let long = "x".repeat(usize::try_from(LONGEST).unwrap() + 10);
        std::fs::write(&path, format!("{long}\nnext\n{long}")).unwrap();
        let lines = read(&path);
        assert_eq!(
            lines
                .iter()
                .map(|(_, number, ended)| (*number, *ended))
                .collect::<Vec<_>>(),
            [(1, true), (2, true), (3, false)]
        );
        assert_eq!(lines[1].0, "next");
    }
}
