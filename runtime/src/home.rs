//! Paths below the program's home, checked where they are made.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Fault;

/// The longest part of a path, in bytes: what common file systems take.
const MAX_PART: usize = 255;
/// The longest path, in bytes: far below what systems take, with room for the home in front.
const MAX_PATH: usize = 1024;

/// A path below the home: parts with `/` between, none of which leads out of it. Text from outside (the name of
/// a repository, a branch) may be part of one, since the whole is checked.
///
/// ```
/// use runtime::HomePath;
/// assert!("gates/sharkdp-bat.gate".parse::<HomePath>().is_ok());
/// assert!("gates/../../.ssh/id".parse::<HomePath>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HomePath(String);

impl HomePath {
    /// The home itself, for [`Turn::list_dir`](crate::Turn::list_dir).
    pub fn home() -> Self {
        Self(String::new())
    }

    /// A path that the program itself names.
    ///
    /// # Panics
    ///
    /// When it is no path below the home: a mistake in the program, met at the first run.
    pub fn fixed(path: &'static str) -> Self {
        path.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// A path one part below this one.
    ///
    /// # Errors
    ///
    /// When the part has a `/` or is none.
    pub fn join(&self, part: &str) -> Result<Self, HomePathError> {
        if part.contains('/') {
            return Err(HomePathError {
                path: part.chars().take(MAX_PATH).collect(),
                why: "has a slash in a name",
            });
        }
        if self.0.is_empty() {
            part.parse()
        } else {
            format!("{self}/{part}").parse()
        }
    }

    /// The path as text, relative to the home.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path below this home.
    pub fn below(&self, home: &Path) -> PathBuf {
        home.join(&self.0)
    }
}

impl FromStr for HomePath {
    type Err = HomePathError;

    fn from_str(text: &str) -> Result<Self, HomePathError> {
        let refuse = |why| {
            Err(HomePathError {
                path: text.chars().take(MAX_PATH).collect(),
                why,
            })
        };
        if text.len() > MAX_PATH {
            return refuse("longer than 1024 bytes");
        }
        for part in text.split('/') {
            match part {
                "" => return refuse("has an empty part"),
                "." | ".." => return refuse("has a part that is a step"),
                part if part.len() > MAX_PART => return refuse("has a part longer than 255 bytes"),
                part if part.chars().any(char::is_control) => return refuse("has a control character"),
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for HomePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for HomePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A path that is none below the home.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is no path below the home: it {why}")]
pub struct HomePathError {
    path: String,
    why: &'static str,
}

impl From<HomePathError> for Fault {
    /// The same path would be none the next time either.
    fn from(error: HomePathError) -> Self {
        Self::reject(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_stay_below_the_home_are_taken() {
        let check = |text: &str, why: Option<&str>| {
            let error = text.parse::<HomePath>().err();
            assert_eq!(error.as_ref().map(|error| error.why), why, "{text:?}");
        };
        check("PR_STATE.md", None);
        check("investigations/sharkdp-bat-3734.md", None);
        check("a/.hidden/..twice", None);
        check("", Some("has an empty part"));
        check("/etc/passwd", Some("has an empty part"));
        check("a//b", Some("has an empty part"));
        check("a/", Some("has an empty part"));
        check("..", Some("has a part that is a step"));
        check("a/../b", Some("has a part that is a step"));
        check("./a", Some("has a part that is a step"));
        check("a\0b", Some("has a control character"));
        check("a\nb", Some("has a control character"));
        check(&"x".repeat(255), None);
        check(&"x".repeat(256), Some("has a part longer than 255 bytes"));
        check(&["x"; 600].join("/"), Some("longer than 1024 bytes"));
    }
}
