//! Some room that is set aside for a disk that is full.
//!
//! A full disk must not keep acks and pruning from being written, since they are the way out of it. So
//! a file of a few megabytes stands ready, and when a write finds no space it is removed. From then on
//! there is no room for messages until the file could be made again.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::store::StoreError;
use crate::store::sled::failed;

/// Bytes set aside: thousands of acks, with what the database writes when it is opened.
const BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    stands: bool,
}

impl Reserve {
    /// Makes the file, if the disk has room for it.
    pub(super) fn open(dir: &Path) -> Reserve {
        let path = dir.join("reserve");
        let mut reserve = Reserve {
            stands: fs::metadata(&path).is_ok_and(|file| file.len() == BYTES as u64),
            path,
        };
        if !reserve.stands {
            // A disk that is full now is told so by the first append.
            let _ = reserve.make();
        }
        reserve
    }

    /// Gives the room away; `false` when it was given away before.
    pub(super) fn release(&mut self) -> bool {
        let stood = std::mem::replace(&mut self.stands, false);
        // One that cannot be removed is of no use, but no further harm either.
        fs::remove_file(&self.path).is_ok() && stood
    }

    /// Whether there is room for messages.
    pub(super) fn room(&mut self) -> Result<(), StoreError> {
        if self.stands {
            return Ok(());
        }
        self.make().map_err(failed("write", &self.path))
    }

    fn make(&mut self) -> io::Result<()> {
        let made = self.fill();
        self.stands = made.is_ok();
        if !self.stands {
            self.release();
        }
        made
    }

    fn fill(&self) -> io::Result<()> {
        let mut file = File::create(&self.path)?;
        let zeros = vec![0; 64 * 1024];
        for _ in 0..BYTES / zeros.len() {
            file.write_all(&zeros)?;
        }
        // Only a sync finds out whether a disk that allocates late has the blocks.
        file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_away_is_made_again_before_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let mut reserve = Reserve::open(dir.path());
        assert!(reserve.room().is_ok());
        assert_eq!(
            fs::metadata(dir.path().join("reserve")).unwrap().len(),
            BYTES as u64
        );
        assert!(reserve.release());
        assert!(!reserve.release());
        assert!(!dir.path().join("reserve").exists());
        assert!(reserve.room().is_ok());
        assert!(dir.path().join("reserve").exists());
    }
}
