//! The folder that a durable store lives in: who holds it, which format it has, and whether it was
//! ever finished.
//!
//! ```text
//! lock       locked by the process that has the store open; holds its number
//! format     what wrote it
//! journal/   the database; journal.new/ while it is being made
//! mark       how far the journal reached
//! bodies/    large messages
//! ```
//!
//! A database that is killed while it is made does not open again. So it is made under another name,
//! synced, closed and renamed: what is called `journal` was finished once.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use crate::mailboxes::OpenError;
use crate::store::StoreError;
use crate::store::sled::bodies::sync_dir;
use crate::store::sled::failed;
use crate::store::sled::journal::Journal;

/// What `format` holds.
const FORMAT: &str = "mailbox 2";
/// What it held before anything was pruned. It is read, and made the present one.
const FORMAT_1: &str = "mailbox 1";

/// The folder, locked.
#[derive(Debug)]
pub(super) struct Home {
    dir: PathBuf,
    /// Unlocked when it is dropped, or when the process dies.
    _lock: File,
}

impl Home {
    /// Locks the folder, and makes or checks what is in it.
    pub(super) fn open(dir: &Path) -> Result<Home, OpenError> {
        let unwritable = |source: io::Error| OpenError::Unwritable {
            dir: dir.to_owned(),
            source,
        };
        make_private(dir).map_err(unwritable)?;
        let home = Home {
            dir: dir.to_owned(),
            _lock: lock(dir, unwritable)?,
        };
        home.check_format()?;
        if !home.journal().exists() {
            home.create()?;
        }
        home.write_format()?;
        Ok(home)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.dir.join("journal")
    }

    pub(super) fn bodies(&self) -> PathBuf {
        self.dir.join("bodies")
    }

    fn check_format(&self) -> Result<(), OpenError> {
        let path = self.dir.join("format");
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(OpenError::Store(failed("read", &path)(error))),
            Ok(found) if ![FORMAT_1, FORMAT].contains(&found.trim_end()) => Err(OpenError::Version {
                dir: self.dir.clone(),
                found: found.trim_end().to_owned(),
                known: FORMAT.to_owned(),
            }),
            Ok(_) if !self.journal().exists() => Err(OpenError::Store(StoreError::Damaged {
                path: self.dir.clone(),
                what: "its folder journal is gone".to_owned(),
            })),
            Ok(_) => Ok(()),
        }
    }

    fn create(&self) -> Result<(), OpenError> {
        let unfinished = self.dir.join("journal.new");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(failed("remove", &unfinished))?;
        }
        Journal::open(&unfinished)?.close()?;
        for entry in fs::read_dir(&unfinished).map_err(failed("read", &unfinished))? {
            let path = entry.map_err(failed("read", &unfinished))?.path();
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(failed("sync", &path))?;
        }
        sync_dir(&unfinished)?;
        fs::rename(&unfinished, self.journal()).map_err(failed("rename", &unfinished))?;
        sync_dir(&self.dir)?;
        Ok(())
    }

    fn write_format(&self) -> Result<(), StoreError> {
        let path = self.dir.join("format");
        if fs::read_to_string(&path).is_ok_and(|found| found.trim_end() == FORMAT) {
            return Ok(());
        }
        let unfinished = self.dir.join("format.new");
        let write = || -> io::Result<()> {
            let mut file = File::create(&unfinished)?;
            writeln!(file, "{FORMAT}")?;
            file.sync_data()?;
            fs::rename(&unfinished, &path)
        };
        write().map_err(failed("write", &path))?;
        sync_dir(&self.dir)
    }
}

fn make_private(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

fn lock(dir: &Path, unwritable: impl Fn(io::Error) -> OpenError) -> Result<File, OpenError> {
    let path = dir.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(&unwritable)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let read = file.take(16).read_to_string(&mut text);
            let pid = read.ok().and_then(|_| text.trim().parse().ok());
            return Err(OpenError::Held { lock: path, pid });
        }
        Err(TryLockError::Error(error)) => return Err(unwritable(error)),
    }
    let note = |file: &mut File| -> io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    note(&mut file).map_err(unwritable)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Seq;
    use crate::store::sled::DiskStore;
    use crate::store::{Record, Store as _};

    #[tokio::test]
    async fn a_folder_of_format_1_is_read_and_becomes_the_present_one() {
        let dir = tempfile::tempdir().unwrap();
        drop(DiskStore::open(dir.path()).unwrap());
        let journal = Journal::open(&dir.path().join("journal")).unwrap();
        let then = include_bytes!("fixtures/chunk-v1.bin").to_vec();
        journal.write(vec![(0, then)]).unwrap();
        journal.close().unwrap();
        fs::write(dir.path().join("format"), "mailbox 1\n").unwrap();

        let mut store = DiskStore::open(dir.path()).unwrap();
        let (mut messages, mut events) = (0, 0);
        let mut each = |_: &_, record: Record<'_>| match record {
            Record::Message { seq, .. } => {
                assert_eq!(seq, Seq(1));
                messages += 1;
            }
            Record::Event(_) => events += 1,
            Record::Tombstone { .. } | Record::Gone { .. } => panic!("format 1 has none"),
        };
        store.load(None, &mut each).await.unwrap();
        assert_eq!((messages, events), (1, 8));
        let format = fs::read_to_string(dir.path().join("format")).unwrap();
        assert_eq!(format, "mailbox 2\n");
    }
}
