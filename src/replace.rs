//! Puts a file that a person named in its place, whole or not at all.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that is written beside the one that it takes the place of.
pub struct Replacement {
    file: NamedTempFile,
    path: PathBuf,
    folder: PathBuf,
}

impl Replacement {
    /// Begins one. A link is followed, so that what it leads to is replaced.
    ///
    /// # Errors
    ///
    /// A device, a pipe or a folder is in its place, which a rename would put an end to; or its folder is not there.
    pub fn of(path: &Path) -> io::Result<Self> {
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => path.to_owned(),
            Err(error) => return Err(error),
        };
        match path.metadata() {
            Ok(there) if there.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(there) if !there.is_file() => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
            }
            Ok(_) | Err(_) => {}
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let file = NamedTempFile::new_in(&folder)?;
        Ok(Self { file, path, folder })
    }

    /// Puts it in its place, so that a power cut leaves the old one or the new.
    ///
    /// # Errors
    ///
    /// It cannot be written; then what was there is there.
    pub fn put(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path).map_err(|error| error.error)?;
        std::fs::File::open(&self.folder)?.sync_all()
    }
}

impl io::Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(path: &Path, text: &str) -> io::Result<()> {
        let mut replacement = Replacement::of(path)?;
        replacement.write_all(text.as_bytes())?;
        replacement.put()
    }

    #[test]
    fn a_link_is_followed_and_what_is_no_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        put(&at("new"), "1").unwrap();
        symlink(at("new"), at("link")).unwrap();
        put(&at("link"), "2").unwrap();
        assert!(at("link").is_symlink());
        assert_eq!(std::fs::read_to_string(at("new")).unwrap(), "2");

        let status = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status()
            .unwrap();
        assert!(status.success());
        assert!(put(&at("pipe"), "3").is_err());
        assert!(!at("pipe").metadata().unwrap().is_file());
        assert_eq!(put(dir.path(), "3").unwrap_err().kind(), ErrorKind::IsADirectory);
        symlink(at("nowhere/x"), at("dangling")).unwrap();
        assert!(put(&at("dangling"), "3").is_err() && at("dangling").is_symlink());
    }
}
