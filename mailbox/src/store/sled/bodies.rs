//! Large messages, each in a file that is named by the digest of its content.
//!
//! A file is synced, and its folder too, before the record that names it is written; so a record
//! never names a file that a power cut took. A file that no record names is left over from a cut in
//! between and swept away when the store is loaded.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::names::Digest;
use crate::store::StoreError;
use crate::store::sled::{damaged, failed};

/// The ending of a file that is being written.
const UNFINISHED: &str = "part";

#[derive(Debug)]
pub(super) struct Bodies {
    dir: PathBuf,
    /// How many messages name each file.
    uses: HashMap<Digest, u64>,
}

impl Bodies {
    pub(super) fn open(dir: PathBuf) -> Result<Bodies, StoreError> {
        fs::create_dir_all(&dir).map_err(failed("make", &dir))?;
        Ok(Bodies {
            dir,
            uses: HashMap::new(),
        })
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.dir.join(digest.to_string())
    }

    /// Writes what is not there yet, and syncs it.
    pub(super) fn keep(&self, bodies: &[(Digest, &str)]) -> Result<(), StoreError> {
        let mut wrote = false;
        for (digest, text) in bodies {
            if self.uses.contains_key(digest) {
                continue;
            }
            let path = self.path(*digest);
            let unfinished = path.with_extension(UNFINISHED);
            let write = || -> io::Result<()> {
                let mut file = File::create(&unfinished)?;
                file.write_all(text.as_bytes())?;
                file.sync_data()?;
                fs::rename(&unfinished, &path)
            };
            write().map_err(failed("write", &path))?;
            wrote = true;
        }
        if wrote { sync_dir(&self.dir) } else { Ok(()) }
    }

    pub(super) fn read(&self, digest: Digest) -> Result<String, StoreError> {
        let path = self.path(digest);
        let bytes = fs::read(&path).map_err(failed("read", &path))?;
        let spoilt = |what: &str| damaged(&self.dir, format_args!("{digest}: {what}"));
        if Digest::of(&bytes) != digest {
            return Err(spoilt("its content is not what its name says"));
        }
        String::from_utf8(bytes).map_err(|_| spoilt("it is not text"))
    }

    /// A message that is in the log names this file.
    pub(super) fn used(&mut self, digest: Digest) {
        *self.uses.entry(digest).or_default() += 1;
    }

    /// One message fewer names this file; the last one takes it along.
    pub(super) fn unused(&mut self, digest: Digest) -> Result<(), StoreError> {
        let Some(uses) = self.uses.get_mut(&digest) else {
            return Ok(());
        };
        *uses -= 1;
        if *uses > 0 {
            return Ok(());
        }
        self.uses.remove(&digest);
        let path = self.path(digest);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", &path)(error)),
            // One that is gone already is no less removed.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Forgets which files are named, before the log is read anew.
    pub(super) fn reset(&mut self) {
        self.uses.clear();
    }

    /// Removes the files that no message names.
    pub(super) fn sweep(&self) -> Result<(), StoreError> {
        let entries = fs::read_dir(&self.dir).map_err(failed("read", &self.dir))?;
        let named: Vec<String> = self.uses.keys().map(Digest::to_string).collect();
        let named: std::collections::HashSet<&str> = named.iter().map(String::as_str).collect();
        for entry in entries {
            let entry = entry.map_err(failed("read", &self.dir))?;
            let name = entry.file_name();
            if !name.to_str().is_some_and(|name| named.contains(name)) {
                let path = entry.path();
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }
}

/// Whether a file is gone or is not what was written, which no repetition mends.
pub(super) fn is_lost(error: &StoreError) -> bool {
    match error {
        StoreError::Damaged { .. } => true,
        StoreError::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(failed("sync", dir))
}
