//! How far the journal reached, outside of it.
//!
//! To the database a damaged record looks like the torn end of its log: it opens without a word, and
//! everything from there on is gone. So after every group that is durable the mark notes which chunk
//! comes next. It is not synced, which would cost as much as the group: a killed process leaves it
//! exact, a power cut may leave it behind, and nothing lets it run ahead. A journal that ends before
//! its mark has lost what was acknowledged.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::store::StoreError;
use crate::store::sled::failed;

/// A number and its checksum.
const LEN: usize = 12;

#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    file: File,
}

impl Mark {
    pub(super) fn open(dir: &Path) -> Result<Mark, StoreError> {
        let path = dir.join("mark");
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        Ok(Mark {
            file: file.map_err(failed("open", &path))?,
            path,
        })
    }

    /// The chunk that was to come next. One that does not read, torn by a power cut, says nothing.
    pub(super) fn read(&self) -> Result<u64, StoreError> {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = &self.file;
            file.seek(SeekFrom::Start(0))?;
            let mut bytes = Vec::with_capacity(LEN);
            file.take(LEN as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(failed("read", &self.path))?;
        let Some((number, checksum)) = bytes.split_first_chunk::<8>() else {
            return Ok(0);
        };
        let good = crc32fast::hash(number).to_le_bytes() == checksum;
        Ok(if good { u64::from_le_bytes(*number) } else { 0 })
    }

    pub(super) fn write(&self, next: u64) -> Result<(), StoreError> {
        let number = next.to_le_bytes();
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&number);
        bytes[8..].copy_from_slice(&crc32fast::hash(&number).to_le_bytes());
        self.file
            .write_all_at(&bytes, 0)
            .map_err(failed("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_a_torn_one_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mark = Mark::open(dir.path()).unwrap();
        assert_eq!(mark.read().unwrap(), 0);
        mark.write(7).unwrap();
        mark.write(1_000_000_007).unwrap();
        assert_eq!(Mark::open(dir.path()).unwrap().read().unwrap(), 1_000_000_007);
        std::fs::write(dir.path().join("mark"), b"\x07\0\0\0\0\0\0\0abcd").unwrap();
        assert_eq!(mark.read().unwrap(), 0);
    }
}
