//! The home: where it is, that it is there, and that it can be written (contract, section 1).

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::config::Source;

/// The variable that names the home.
pub const VARIABLE: &str = "SWEEP_HOME";

/// Where the home is and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// An absolute path. Nothing need be there yet.
    pub path: PathBuf,
    /// Who named it.
    pub source: Source,
}

/// Why a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Nobody names a home, and the user has no home directory.
    #[error("there is no home: neither --home nor {VARIABLE} nor HOME names a directory")]
    Nowhere,
    /// The current directory, which a relative path starts from, is gone.
    #[error("cannot make {} an absolute path", path.display())]
    Relative {
        /// As it was given.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Something else is there.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// What is there.
        path: PathBuf,
    },
    /// It is not there and cannot be made.
    #[error("cannot make {}", path.display())]
    Make {
        /// The home.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is there and cannot be written.
    #[error("cannot write in {}", path.display())]
    Write {
        /// The home.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Home {
    /// Finds the home: `--home`, else `SWEEP_HOME`, else `~/.sweep`. An empty variable names nothing.
    pub fn locate(
        flag: Option<&Path>,
        variable: Option<OsString>,
        user_home: Option<OsString>,
    ) -> Result<Self, HomeError> {
        let named = |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
        let (path, source) = if let Some(flag) = flag {
            (flag.to_owned(), Source::Flag { flag: "--home" })
        } else if let Some(path) = named(variable) {
            (
                path,
                Source::Environment {
                    variable: VARIABLE.into(),
                },
            )
        } else if let Some(user_home) = named(user_home) {
            (user_home.join(".sweep"), Source::Default)
        } else {
            return Err(HomeError::Nowhere);
        };
        match std::path::absolute(&path) {
            Ok(path) => Ok(Self { path, source }),
            Err(source) => Err(HomeError::Relative { path, source }),
        }
    }

    /// Whether the home is there. What is in its place, or in its way, is an error.
    pub fn is_there(&self) -> Result<bool, HomeError> {
        let path = &self.path;
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Ok(true),
            Ok(_) => Err(HomeError::NotADirectory { path: path.clone() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(HomeError::Make {
                path: path.clone(),
                source,
            }),
        }
    }

    /// The mode of a home that is open to others than its owner. One that was there before is left as it is, since
    /// somebody made it so: it may be more than a home.
    pub fn seen_by_others(&self) -> Option<u32> {
        let found = std::fs::metadata(&self.path).ok()?;
        let mode = found.permissions().mode() & 0o7777;
        (mode & 0o077 != 0).then_some(mode)
    }

    /// Makes the home where it is not there yet, for its owner alone, and sees that it can be written.
    pub fn make(&self) -> Result<(), HomeError> {
        let path = &self.path;
        if !self.is_there()? {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(|source| HomeError::Make {
                    path: path.clone(),
                    source,
                })?;
        }
        // Whether a directory can be written depends on more than its mode: mounts, quotas, user ids.
        let probe = path.join(format!(".probe-{}", std::process::id()));
        File::create(&probe)
            .and_then(|_| std::fs::remove_file(&probe))
            .map_err(|source| HomeError::Write {
                path: path.clone(),
                source,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_goes_before_the_variable_and_that_before_the_default() {
        let locate = |flag: Option<&str>, variable: &str, user: &str| {
            Home::locate(
                flag.map(Path::new),
                Some(OsString::from(variable)),
                Some(OsString::from(user)),
            )
            .map(|home| (home.path.display().to_string(), home.source.to_string()))
            .map_err(|error| error.to_string())
        };
        let found = |path: &str, source: &str| Ok((path.to_owned(), source.to_owned()));
        assert_eq!(locate(Some("/a"), "/b", "/c"), found("/a", "--home"));
        assert_eq!(locate(None, "/b", "/c"), found("/b", "environment SWEEP_HOME"));
        assert_eq!(locate(None, "", "/c"), found("/c/.sweep", "default"));
        assert_eq!(
            locate(None, "", ""),
            Err("there is no home: neither --home nor SWEEP_HOME nor HOME names a directory".to_owned())
        );
    }

    #[test]
    fn it_is_made_for_its_owner_alone_and_left_clean() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home {
            path: dir.path().join("a/b"),
            source: Source::Default,
        };
        home.make().unwrap();
        home.make().unwrap();
        assert_eq!(
            std::fs::metadata(&home.path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        assert_eq!(std::fs::read_dir(&home.path).unwrap().count(), 0);
        assert_eq!(home.seen_by_others(), None);
        std::fs::set_permissions(&home.path, std::fs::Permissions::from_mode(0o750)).unwrap();
        assert_eq!(home.seen_by_others(), Some(0o750));
    }

    #[test]
    fn a_file_in_its_place_or_in_its_path_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let make = |path: PathBuf| {
            let home = Home {
                path,
                source: Source::Default,
            };
            home.make().unwrap_err()
        };
        assert!(matches!(make(file.clone()), HomeError::NotADirectory { path } if path == file));
        assert!(matches!(make(file.join("under")), HomeError::Make { .. }));
    }
}
