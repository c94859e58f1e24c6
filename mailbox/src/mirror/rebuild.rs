//! Building the files of the mirror anew.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::folder::{Folder, failed, remove};
use super::lines::{self, Cut, Cutter, IdKey, ack_key, id_key};
use super::{ACKS, MirrorError, ack_line};
use crate::envelope::{Filter, PAGE};
use crate::mailboxes::Mailboxes;
use crate::names::Seq;
use crate::rotation::{earlier, named};

/// Behind the name of a file of which another one took the place.
pub(super) const REPLACED: &str = "replaced";

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rebuilt {
    /// Lines of messages.
    pub messages: u64,
    /// Lines of acknowledgements.
    pub acks: u64,
}

/// Builds the files of the mirror in `dir` anew from the mailboxes (contract, section 1): each then holds, in order, a
/// line for every message and ack that is kept and is not in an earlier piece of it. This is what `sweep export` calls
/// to mend a mirror of which something was lost or spoilt. `mailboxes` may be a handle on another process, whose own
/// [`Mirror`](super::Mirror) of that folder waits meanwhile and goes on with the new files.
///
/// Each file is written beside the old one, synced, and takes its place with one rename, so that whoever reads it finds
/// the old one or the new. Nothing that another program wrote is lost, also when it writes at that very moment: the old
/// file stays beside the new one as `<name>.jsonl.replaced` until the next time, and what is in it and was not taken in
/// yet is taken in from there, as is what is still appended to it.
///
/// # Errors
/// When a file or the mailboxes cannot be read or written; the files that were not reached are as they were. With
/// [`MirrorError::Busy`] where somebody else is at it.
pub async fn rebuild(dir: &Path, mailboxes: &Mailboxes) -> Result<Rebuilt, MirrorError> {
    let folder = Folder::at(dir);
    folder.make()?;
    let _turn = folder.turn().await?;
    let mut rebuilt = Rebuilt::default();
    let statuses = mailboxes.status().await?;
    for status in &statuses {
        let name = &status.name;
        let mut fresh = Fresh::beside(folder.file(&format!("{name}.jsonl")))?;
        let there = fresh.earlier(|line| Some(lines::message(line).ok()?.0))?;
        let mut after = Seq(0);
        loop {
            let page = mailboxes.envelopes(name, Filter::all().after(after)).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for envelope in &page {
                if !there.contains(&id_key(envelope.message.msg_id())) {
                    fresh.line(envelope.message.line())?;
                    rebuilt.messages += 1;
                }
            }
        }
        fresh.take_place(&folder)?;
    }
    let mut fresh = Fresh::beside(folder.file(ACKS))?;
    let there = fresh.earlier(|line| Some(lines::ack(line).ok()?.0))?;
    for status in &statuses {
        let mut after = 0;
        loop {
            let page = mailboxes.acks(&status.name, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.place;
            for ack in page {
                let ack = ack_line(&status.name, &ack);
                if !there.contains(&ack_key(&ack.from, &ack.msg_id)) {
                    fresh.line(&ack.line())?;
                    rebuilt.acks += 1;
                }
            }
        }
    }
    fresh.take_place(&folder)?;
    Ok(rebuilt)
}

/// A file that is about to take another one's place.
struct Fresh {
    path: PathBuf,
    beside: PathBuf,
    text: BufWriter<File>,
}

impl Fresh {
    fn beside(path: PathBuf) -> Result<Fresh, MirrorError> {
        let beside = hidden(&path, "new");
        // What a process left that was killed is of no use, and may be anything.
        remove(&beside)?;
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)
            .map_err(failed("make", &beside))?;
        Ok(Fresh {
            path,
            beside,
            text: BufWriter::new(file),
        })
    }

    /// What the lines of its earlier pieces are known by.
    fn earlier(&self, key: impl Fn(&[u8]) -> Option<IdKey>) -> Result<HashSet<IdKey>, MirrorError> {
        let mut keys = HashSet::new();
        for piece in earlier(&self.path).map_err(failed("list the pieces of", &self.path))? {
            let mut reader = BufReader::new(File::open(&piece).map_err(failed("read", &piece))?);
            let mut cutter = Cutter::default();
            loop {
                let bytes = reader.fill_buf().map_err(failed("read", &piece))?;
                if bytes.is_empty() {
                    break;
                }
                cutter.feed(bytes, &mut |_, cut| {
                    if let Cut::Line(line) = cut {
                        keys.extend(key(line));
                    }
                });
                let read = bytes.len();
                reader.consume(read);
            }
        }
        Ok(keys)
    }

    fn line(&mut self, line: &str) -> Result<(), MirrorError> {
        self.text
            .write_all(line.as_bytes())
            .and_then(|()| self.text.write_all(b"\n"))
            .map_err(failed("write", &self.beside))
    }

    /// Takes the place of the file, which stays beside it.
    fn take_place(mut self, folder: &Folder) -> Result<(), MirrorError> {
        let write = failed("write", &self.beside);
        self.text.flush().map_err(&write)?;
        self.text.get_ref().sync_all().map_err(&write)?;
        let replace = failed("replace", &self.path);
        if fs::symlink_metadata(&self.path).is_ok() {
            // A second name first, so that there is a file at every moment.
            let aside = hidden(&self.path, "old");
            remove(&aside)?;
            fs::hard_link(&self.path, &aside).map_err(&replace)?;
            fs::rename(&aside, named(&self.path, REPLACED)).map_err(&replace)?;
            // Where both were one file already, after a kill, renaming has left the second name.
            remove(&aside)?;
        }
        fs::rename(&self.beside, &self.path).map_err(&replace)?;
        folder.sync()
    }
}

/// A name beside the file's that no pattern of its readers matches.
fn hidden(path: &Path, what: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(named(path, what).file_name().unwrap_or_default());
    path.with_file_name(name)
}
