//! Files of lines: each line is appended once by its key, and what is full or old is cut into pieces.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::time::SystemTime;

use mailbox::rotation::{Rotation, earlier};

use super::{KEYS_SEARCHED, KeyedLine, make_parent, open_regular, options};

/// The endings of the names of files that are cut: those that programs read line by line. What people read is theirs.
const CUT: [&str; 2] = ["jsonl", "log"];

/// Appends the lines that are not there yet, in one write and one sync; how many were appended. Processes that append to
/// one file follow one another; a program that appends without asking finds its lines whole.
pub(super) fn append(target: &Path, lines: &[KeyedLine], rotation: &Rotation) -> io::Result<usize> {
    let directory = make_parent(target)?;
    let file = open_to_append(target, rotation)?;
    let appended = append_to(&file, target, directory, lines);
    // Not left to the closing of the file: a child that is being started has it open for a moment.
    let unlocked = file.unlock();
    appended.and_then(|appended| unlocked.map(|()| appended))
}

fn append_to(mut file: &File, target: &Path, directory: &Path, lines: &[KeyedLine]) -> io::Result<usize> {
    let len = file.metadata()?.len();
    let tail = text(tail_of(file, KEYS_SEARCHED)?);
    let before = text(tails_before(target, KEYS_SEARCHED.saturating_sub(len))?);
    let (added, appended) = continued(&before, &tail, lines);
    if added.is_empty() {
        return Ok(0);
    }
    if let Err(error) = file.write_all(added.as_bytes()).and_then(|()| file.sync_data()) {
        take_back(file, len, added.as_bytes())?;
        return Err(error);
    }
    if len == 0 {
        File::open(directory)?.sync_all()?;
    }
    Ok(appended)
}

/// The last lines of a file that fit into `most` bytes, whole ones, those of its earlier pieces included.
pub(super) fn tail(target: &Path, most: u64) -> io::Result<Vec<u8>> {
    let live = match open_regular(target) {
        Ok(live) => Some(live),
        // Where it was cut just now, and nothing was appended since.
        Err(error) if error.kind() == ErrorKind::NotFound && !earlier(target)?.is_empty() => None,
        Err(error) => return Err(error),
    };
    let last = live.map_or(Ok(Vec::new()), |live| whole_lines(&live, most))?;
    let mut lines = tails_before(target, most.saturating_sub(last.len() as u64))?;
    lines.extend_from_slice(&last);
    Ok(lines)
}

/// Opens the file under its name and locks it, after cutting it where that is due.
fn open_to_append(target: &Path, rotation: &Rotation) -> io::Result<File> {
    let is_cut = target
        .extension()
        .is_some_and(|ending| CUT.iter().any(|cut| ending == *cut));
    loop {
        let file = options().read(true).append(true).create(true).open(target)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        file.lock()?;
        // Another process may have cut it in between.
        let is_same =
            fs::metadata(target).is_ok_and(|named| (named.dev(), named.ino()) == (found.dev(), found.ino()));
        if !is_same {
            continue;
        }
        let now = SystemTime::now();
        if !is_cut || rotation.rotate(target, now)?.is_none() {
            return Ok(file);
        }
        // Under the lock of the piece that is full: nobody else has cut it.
        rotation.remove_old(target, now)?;
    }
}

/// The last whole lines of the earlier pieces that fit into `most` bytes.
fn tails_before(target: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut tails: Vec<Vec<u8>> = Vec::new();
    let mut left = most;
    if left > 0 {
        for piece in earlier(target)?.into_iter().rev() {
            let mut lines = whole_lines(&open_regular(&piece)?, left)?;
            if lines.last().is_some_and(|last| *last != b'\n') {
                lines.push(b'\n');
            }
            left = left.saturating_sub(lines.len() as u64);
            tails.push(lines);
            if left == 0 {
                break;
            }
        }
    }
    Ok(tails.into_iter().rev().flatten().collect())
}

/// The last lines of a file that fit into `most` bytes, without one that is cut off in front.
fn whole_lines(file: &File, most: u64) -> io::Result<Vec<u8>> {
    // One byte more tells whether the first line is whole.
    let mut bytes = tail_of(file, most.saturating_add(1))?;
    if bytes.len() as u64 > most {
        let begin = bytes.iter().position(|byte| *byte == b'\n');
        bytes.drain(..begin.map_or(bytes.len(), |at| at + 1));
    }
    Ok(bytes)
}

/// The last `most` bytes of a file, or all of it.
fn tail_of(mut file: &File, most: u64) -> io::Result<Vec<u8>> {
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Bytes as text of the same meaning: what is no text is nothing that a key or one of our lines holds.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let mut text = String::new();
        for chunk in error.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| '\u{1a}'));
        }
        text
    })
}

/// Takes a part of `added` away that a failed write left behind `len`: half a line is worse than none, and a full disk
/// takes a file that shrinks. What somebody else wrote there stays.
fn take_back(file: &File, len: u64, added: &[u8]) -> io::Result<()> {
    let written = file.metadata()?.len().saturating_sub(len);
    let Some(ours) = usize::try_from(written)
        .ok()
        .and_then(|written| added.get(..written))
    else {
        return Ok(());
    };
    let mut there = vec![0; ours.len()];
    file.read_exact_at(&mut there, len)?;
    if there == ours { file.set_len(len) } else { Ok(()) }
}

/// What to append to a file that ends in `tail`, the text of its earlier pieces before that, and how many of the lines it
/// completes.
///
/// A last line without a line break is either the beginning of one of these lines, torn by a crash, which is completed;
/// or somebody else's, which is ended.
fn continued(before: &str, tail: &str, lines: &[KeyedLine]) -> (String, usize) {
    let begin = tail.rfind('\n').map_or(0, |at| at + 1);
    let (whole, torn) = tail.split_at(begin);
    let is_there = |text: &str, key: &str| text.lines().any(|line| holds(line, key));
    let completed = lines.iter().find(|new| {
        !torn.is_empty()
            && new.line.starts_with(torn)
            && new.line != torn
            && !is_there(before, &new.key)
            && !is_there(whole, &new.key)
    });
    let mut text = String::new();
    let mut appended = 0;
    let tail = match completed {
        Some(new) => {
            text = format!("{}\n", new.line);
            appended = 1;
            whole
        }
        None => tail,
    };
    for KeyedLine { key, line } in lines {
        if !is_there(before, key) && !is_there(tail, key) && !is_there(&text, key) {
            text.push_str(line);
            text.push('\n');
            appended += 1;
        }
    }
    match completed {
        Some(_) => text.replace_range(..torn.len(), ""),
        None if torn.is_empty() => {}
        None => text.insert(0, '\n'),
    }
    (text, appended)
}

/// Whether a line holds a key as a word of its own: what stands before and after it, past the marks that keys are
/// made of (`-_./:#`), is no letter or digit.
pub(super) fn holds(line: &str, key: &str) -> bool {
    let is_mark = |c: &char| "-_./:#".contains(*c);
    !key.is_empty()
        && line.match_indices(key).any(|(at, _)| {
            let before = line[..at].chars().rev().find(|c| !is_mark(c));
            let after = line[at + key.len()..].chars().find(|c| !is_mark(c));
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
}
