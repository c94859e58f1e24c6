//! The folder that a durable store lives in: who holds it, which format it has, and whether it was
//! ever finished.
//!
//! ```text
//! lock       locked by the process that has the store open; holds its number
//! format     what wrote it
//! journal/   the database; journal.new/ while it is being made, journal.next/ while a smaller copy
//!            takes its place and it is journal.old/
//! tail-0/1   the newest of it, before it goes to the database
//! reserve    room that is given away when the disk is full
//! mark       how far the journal reached
//! bodies/    large messages
//! ```
//!
//! A database that is killed while it is made does not open again. So it is made under another name,
//! synced, closed and renamed: what is called `journal` was finished once.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::mailboxes::OpenError;
use crate::store::StoreError;
use crate::store::sled::bodies::sync_dir;
use crate::store::sled::database::Database;
use crate::store::sled::failed;

/// What `format` holds.
const FORMAT: &str = "mailbox 3";
/// What it held before there was a tail and chunks were packed, and before anything was pruned. They are
/// read, and made the present one.
const EARLIER: [&str; 2] = ["mailbox 2", "mailbox 1"];

/// How long a lock of this same process is waited for: a child that is being started holds every open
/// file until it has become another program, also those that are closed here meanwhile.
const RELEASE: Duration = Duration::from_millis(500);
/// How often to look in that time.
const RELEASE_STEP: Duration = Duration::from_millis(5);

/// Chunks copied with one sync.
const COPIED_AT_ONCE: usize = 4096;

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
        home.mend()?;
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
            Ok(found) if found.trim_end() != FORMAT && !EARLIER.contains(&found.trim_end()) => {
                Err(OpenError::Version {
                    dir: self.dir.clone(),
                    found: found.trim_end().to_owned(),
                    known: FORMAT.to_owned(),
                })
            }
            Ok(_) if !self.journal().exists() => Err(OpenError::Store(StoreError::Damaged {
                path: self.dir.clone(),
                what: "its folder journal is gone".to_owned(),
            })),
            Ok(_) => Ok(()),
        }
    }

    fn create(&self) -> Result<(), StoreError> {
        self.make(|_| Ok(()))?;
        self.rename("journal.new", "journal")
    }

    /// Makes a finished database called `journal.new`, with what `fill` writes to it.
    fn make(&self, fill: impl FnOnce(&Database) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let unfinished = self.dir.join("journal.new");
        remove(&unfinished)?;
        let database = Database::open(&unfinished)?;
        fill(&database)?;
        database.close()?;
        for entry in fs::read_dir(&unfinished).map_err(failed("read", &unfinished))? {
            let path = entry.map_err(failed("read", &unfinished))?.path();
            File::open(&path)
                .and_then(|file| file.sync_all())
                .map_err(failed("sync", &path))?;
        }
        sync_dir(&unfinished)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let from = self.dir.join(from);
        fs::rename(&from, self.dir.join(to)).map_err(failed("rename", &from))?;
        sync_dir(&self.dir)
    }

    /// Makes a copy of the journal called `journal.next`.
    pub(super) fn copy_journal(&self, journal: &Database) -> Result<(), StoreError> {
        self.make(|copy| {
            let mut batch = Vec::new();
            journal.scan(None, &mut |key, value| {
                batch.push((key, value.to_vec()));
                if batch.len() == COPIED_AT_ONCE {
                    copy.write(std::mem::take(&mut batch))?;
                }
                Ok(())
            })?;
            copy.write(batch)
        })?;
        self.rename("journal.new", "journal.next")
    }

    /// Puts the copy in the place of the journal, which is closed. Cut short at any point, it leaves one
    /// of them whole under a name that [`Home::open`] finds.
    pub(super) fn swap_journal(&self) -> Result<(), StoreError> {
        self.rename("journal", "journal.old")?;
        self.rename("journal.next", "journal")?;
        remove(&self.dir.join("journal.old"))
    }

    /// Ends what was cut short.
    fn mend(&self) -> Result<(), StoreError> {
        if !self.journal().exists() && self.dir.join("journal.next").exists() {
            self.rename("journal.next", "journal")?;
        }
        remove(&self.dir.join("journal.next"))?;
        remove(&self.dir.join("journal.old"))
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

/// Removes a folder, if it is there.
fn remove(dir: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", dir)(error)),
        _ => Ok(()),
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
    let give_up = Instant::now() + RELEASE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let read = file
                    .rewind()
                    .and_then(|()| (&file).take(16).read_to_string(&mut text));
                let pid = read.ok().and_then(|_| text.trim().parse().ok());
                if pid != Some(std::process::id()) || Instant::now() >= give_up {
                    return Err(OpenError::Held { lock: path, pid });
                }
                thread::sleep(RELEASE_STEP);
            }
            Err(TryLockError::Error(error)) => return Err(unwritable(error)),
        }
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
    async fn a_folder_of_an_earlier_format_is_read_and_becomes_the_present_one() {
        let check = async |format: &str, chunk: &[u8], expected: [u64; 4]| {
            let dir = tempfile::tempdir().unwrap();
            drop(DiskStore::open(dir.path()).unwrap());
            let database = Database::open(&dir.path().join("journal")).unwrap();
            database.write(vec![(0, chunk.to_vec())]).unwrap();
            database.close().unwrap();
            fs::write(dir.path().join("format"), format).unwrap();

            let mut store = DiskStore::open(dir.path()).unwrap();
            let mut seen = [0; 4];
            let mut each = |_: &_, record: Record<'_>| match record {
                Record::Message { .. } => seen[0] += 1,
                Record::Event(_) => seen[1] += 1,
                Record::Tombstone { .. } => seen[2] += 1,
                Record::Gone { first, last } => seen[3] += last.0 - first.0 + 1,
            };
            store.load(None, &mut each).await.unwrap();
            assert_eq!(seen, expected, "{format}");
            let qa = "qa".parse().unwrap();
            let read = store.read(&qa, Seq(1)..=Seq(9)).await.unwrap();
            assert_eq!(read[0].1.message.msg_id().as_str(), "m-1");
            let events = store.events(&qa, Seq(1)..=Seq(9)).await.unwrap();
            assert_eq!(events.len() as u64, expected[1]);
            let format = fs::read_to_string(dir.path().join("format")).unwrap();
            assert_eq!(format, "mailbox 3\n");
        };
        check(
            "mailbox 1\n",
            include_bytes!("fixtures/chunk-v1.bin"),
            [1, 8, 0, 0],
        )
        .await;
        check(
            "mailbox 2\n",
            include_bytes!("fixtures/chunk-v2.bin"),
            [1, 10, 1, 7],
        )
        .await;
    }

    #[test]
    fn a_copy_takes_the_place_of_the_journal_whenever_it_is_cut_short() {
        let check = |renames: usize| {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::open(dir.path()).unwrap();
            let journal = Database::open(&home.journal()).unwrap();
            journal
                .write(vec![(7, b"seven".to_vec()), (9, vec![1; 5_000])])
                .unwrap();
            home.copy_journal(&journal).unwrap();
            drop(journal);
            match renames {
                0 => {}
                1 => home.rename("journal", "journal.old").unwrap(),
                _ => home.swap_journal().unwrap(),
            }
            drop(home);
            let home = Home::open(dir.path()).unwrap();
            let journal = Database::open(&home.journal()).unwrap();
            let chunks = journal.some(0, 100, 10).unwrap();
            assert_eq!(chunks.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [7, 9]);
            assert_eq!(chunks[0].1, b"seven");
            assert!(!dir.path().join("journal.old").exists());
            assert!(!dir.path().join("journal.next").exists());
        };
        (0..3).for_each(check);
    }
}
