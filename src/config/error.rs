//! Why a configuration was refused.

use std::io;
use std::path::PathBuf;

use super::actors::ActorFileError;

/// Why a configuration was refused. Each names the file, and the line where there is one.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("cannot read {}", file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file is larger than any configuration.
    #[error("{} has more than {limit} bytes, too many for a configuration", file.display())]
    TooLarge {
        /// Which file.
        file: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// The file is not TOML.
    #[error("{}:{line}: not TOML: {message}", file.display())]
    Syntax {
        /// Which file.
        file: PathBuf,
        /// Where in it, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A key that nobody reads.
    #[error("{}:{line}: unknown key `{key}`", file.display())]
    UnknownKey {
        /// Which file.
        file: PathBuf,
        /// Where in it, from 1.
        line: usize,
        /// The key with the tables it stands in.
        key: String,
        /// The known key that is most like it.
        nearest: String,
    },
    /// A key that every entry of its table needs.
    #[error("{}:{line}: `{key}` is missing", file.display())]
    Missing {
        /// Which file.
        file: PathBuf,
        /// Where the table begins, from 1.
        line: usize,
        /// The key with the tables it stands in.
        key: String,
    },
    /// A value of another type.
    #[error("{}:{line}: `{key}` wants {wanted}, not {found}", file.display())]
    Type {
        /// Which file.
        file: PathBuf,
        /// Where in it, from 1.
        line: usize,
        /// The key with the tables it stands in.
        key: String,
        /// What it should be, with an article.
        wanted: &'static str,
        /// What it is, with an article.
        found: &'static str,
    },
    /// A value of the right type that makes no sense.
    #[error("{}:{line}: `{key}`: {reason}", file.display())]
    Value {
        /// Which file.
        file: PathBuf,
        /// Where in it, from 1.
        line: usize,
        /// The key with the tables it stands in.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A variable whose value makes no sense.
    #[error("environment variable {variable}: {reason}")]
    Variable {
        /// Which.
        variable: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The declaration of an actor.
    #[error(transparent)]
    Actor(#[from] Box<ActorFileError>),
}
