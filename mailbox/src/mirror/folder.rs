//! The folder of the mirror, and who may change it.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::MirrorError;

/// How long the folder is waited for. Whoever has it reads and writes what is new, or builds the files anew: a minute
/// for millions of lines.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often it is looked whether it is free.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The right to change the files of the mirror, until it is dropped. It is a lock on the folder, so that it ends with
/// its process and leaves nothing behind.
#[derive(Debug)]
pub(super) struct Turn(File);

impl Drop for Turn {
    /// Said and not left to the closing of the file: a child that is being started has it open for a moment.
    fn drop(&mut self) {
        // Where that fails, closing it is what is left.
        let _ = self.0.unlock();
    }
}

/// The folder.
#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn at(dir: &Path) -> Folder {
        Folder(dir.to_owned())
    }

    /// Makes it where it is not there, for its owner alone.
    pub(super) fn make(&self) -> Result<(), MirrorError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0)
            .map_err(failed("make", &self.0))
    }

    /// The file with this name in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The right to change its files; `None` while somebody else has it.
    pub(super) fn try_turn(&self) -> Result<Option<Turn>, MirrorError> {
        let folder = File::open(&self.0).map_err(failed("open", &self.0))?;
        match folder.try_lock() {
            Ok(()) => Ok(Some(Turn(folder))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed("lock", &self.0)(error)),
        }
    }

    /// The same, after whoever has it.
    pub(super) async fn turn(&self) -> Result<Turn, MirrorError> {
        let wait = async {
            loop {
                if let Some(turn) = self.try_turn()? {
                    return Ok(turn);
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .unwrap_or_else(|_| Err(MirrorError::Busy { dir: self.0.clone() }))
    }

    /// Makes what was renamed in it durable.
    pub(super) fn sync(&self) -> Result<(), MirrorError> {
        File::open(&self.0)
            .and_then(|folder| folder.sync_all())
            .map_err(failed("sync", &self.0))
    }
}

/// An error of the system with what was tried, and on what.
pub(super) fn failed(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> MirrorError + use<> {
    let path = path.to_owned();
    move |source| MirrorError::Io {
        doing,
        path: path.clone(),
        source,
    }
}

/// Removes a file that may not be there.
pub(super) fn remove(path: &Path) -> Result<(), MirrorError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}
