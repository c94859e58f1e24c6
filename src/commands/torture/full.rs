//! A disk that can be made full and free again: a small file system in memory where one can be mounted, else a limit on
//! the size of files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::Full;
use crate::failure::{Exit, Failure};

/// Bytes of the small file system.
const DISK: &str = "size=48m";

/// Of them, what a file takes that is then removed to make room.
pub const FILLER: u64 = 12 * 1024 * 1024;

/// How large the files of a writer may grow until it makes room: beyond what opening writes, and soon reached.
pub const LARGEST: u64 = 20 * 1024 * 1024;

/// A place for the mailboxes of one round.
pub struct Fullness {
    dir: PathBuf,
    kind: Full,
}

impl Fullness {
    /// Makes one, in a folder that is not there yet.
    pub fn prepare(dir: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(dir).map_err(|error| {
            Failure::new(Exit::Other, format!("cannot make {}", dir.display()))
                .because(error)
                .mend_what_was_refused("name another home with --home")
        })?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", DISK, "tmpfs"])
            .arg(dir)
            .stdin(Stdio::null())
            .output()
            .is_ok_and(|output| output.status.success());
        Ok(Self {
            dir: dir.to_owned(),
            kind: if mounted { Full::Disk } else { Full::Files },
        })
    }

    /// What is full.
    pub fn kind(&self) -> Full {
        self.kind
    }

    /// Where the mailboxes go.
    pub fn store(&self) -> PathBuf {
        self.dir.join("mailbox")
    }

    /// Removes what was in it.
    pub fn discard(self) {
        super::discard(&self.store());
    }
}

impl Drop for Fullness {
    fn drop(&mut self) {
        if self.kind == Full::Disk {
            // What is still open is gone with the last file.
            let unmounted = Command::new("umount").arg("--lazy").arg(&self.dir).output();
            if !unmounted.is_ok_and(|output| output.status.success()) {
                tracing::warn!("cannot unmount {}", self.dir.display());
            }
        }
    }
}

/// The file that takes up room beside mailboxes.
pub fn filler(store: &Path) -> PathBuf {
    store.with_file_name("filler")
}
