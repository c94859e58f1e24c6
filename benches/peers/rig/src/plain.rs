//! The limit: a plain file, each group appended with one write and synced.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::Item;
use crate::group::Engine;

/// Bytes before each line: a checksum and a length.
const PREFIX: usize = 8;

/// Lines with their checksums in a file, their ids in memory.
pub struct PlainFile {
    file: File,
    path: PathBuf,
    ids: HashSet<String>,
    buffer: Vec<u8>,
}

impl PlainFile {
    pub fn open(dir: &Path) -> Self {
        let path = dir.join("plain.log");
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .expect("a file can be made");
        Self {
            file,
            path,
            ids: HashSet::new(),
            buffer: Vec::new(),
        }
    }

    /// Appends one record and syncs: one durable transition, whatever it says.
    pub fn record(&mut self, record: &[u8]) {
        self.buffer.clear();
        frame(&mut self.buffer, record);
        self.write();
    }

    fn write(&mut self) {
        self.file.write_all(&self.buffer).expect("the disk takes it");
        self.file.sync_data().expect("the disk syncs it");
    }

    /// Reads every line from the beginning, each checked.
    pub fn replay(&self, mut each: impl FnMut(&str)) {
        let mut reader = BufReader::with_capacity(64 * 1024, File::open(&self.path).expect("it was made"));
        let mut prefix = [0; PREFIX];
        let mut line = Vec::new();
        while reader.read_exact(&mut prefix).is_ok() {
            let [a, b, c, d, length @ ..] = prefix;
            line.resize(u32::from_le_bytes(length) as usize, 0);
            reader
                .read_exact(&mut line)
                .expect("a length is followed by its line");
            assert_eq!(
                crc32fast::hash(&line),
                u32::from_le_bytes([a, b, c, d]),
                "a checksum does not match"
            );
            each(std::str::from_utf8(&line).expect("lines are text"));
        }
    }
}

fn frame(buffer: &mut Vec<u8>, line: &[u8]) {
    buffer.extend_from_slice(&crc32fast::hash(line).to_le_bytes());
    buffer.extend_from_slice(&u32::try_from(line.len()).expect("lines are short").to_le_bytes());
    buffer.extend_from_slice(line);
}

impl Engine for PlainFile {
    fn commit(&mut self, group: &[Item]) {
        self.buffer.clear();
        for item in group {
            if self.ids.insert(item.id.clone()) {
                frame(&mut self.buffer, item.line.as_bytes());
            }
        }
        self.write();
    }
}
