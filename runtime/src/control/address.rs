//! Where the socket is, in few enough bytes.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::SOCKET;

/// The longest path of a socket: the system keeps 108 bytes, the last of them 0.
const LONGEST: usize = 107;

/// A path of the socket in a folder that the system takes. A long one is shortened by way of the open folder,
/// which this value keeps open.
#[derive(Debug)]
pub(super) struct Address {
    path: PathBuf,
    _folder: Option<File>,
}

impl Address {
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let path = folder.join(SOCKET);
        if path.as_os_str().as_bytes().len() <= LONGEST {
            return Ok(Self { path, _folder: None });
        }
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd")
            .join(folder.as_raw_fd().to_string())
            .join(SOCKET);
        Ok(Self {
            path,
            _folder: Some(folder),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
