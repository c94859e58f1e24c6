//! Why git did not do what was asked, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::names::NameError;
use crate::{CommandError, Exit, Finished};

/// The oldest git that this crate was written for.
pub(super) const OLDEST: (u32, u32) = (2, 30);

/// The most characters that are kept of what git said.
const SAID: usize = 500;

/// The error of somebody else's code: a source of credentials.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why git did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// A name that cannot be given to git.
    #[error("a name was refused")]
    Name(#[from] NameError),
    /// There is no git on this machine.
    #[error("git is not there (or not in PATH)")]
    NoGit,
    /// The git on this machine is too old.
    #[error("{found} is too old: {}.{} or later is needed", OLDEST.0, OLDEST.1)]
    TooOld {
        /// What `git version` printed.
        found: String,
    },
    /// Another process keeps its work trees there.
    #[error("{path} is in use by another process")]
    Held {
        /// The directory.
        path: PathBuf,
    },
    /// A file or directory of the keeper's own could not be read, written or removed.
    #[error("cannot {doing} {path}")]
    Files {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk, or the user's share of it, is full.
    #[error("the disk is full ({doing} {at})")]
    DiskFull {
        /// What was tried.
        doing: &'static str,
        /// The repository or the path.
        at: String,
    },
    /// What is in use now takes all the room that the keeper may use.
    #[error("the work trees in use take {used} bytes of the {limit} allowed")]
    NoRoom {
        /// Bytes in use.
        used: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// One repository is larger than all that the keeper may use.
    #[error("{repo} is larger than the {limit} bytes allowed")]
    TooLarge {
        /// The repository.
        repo: String,
        /// Bytes allowed.
        limit: u64,
    },
    /// The remote could not be reached, or broke off.
    #[error("cannot reach {repo} ({doing}): {said}")]
    Unreachable {
        /// What was tried.
        doing: &'static str,
        /// The repository.
        repo: String,
        /// What git said.
        said: String,
    },
    /// The remote asks who we are, and there is no answer.
    #[error("{repo} asks for credentials and there are none")]
    NoCredentials {
        /// The repository.
        repo: String,
        /// Why the source of credentials gave none.
        source: Option<BoxError>,
    },
    /// The remote refused the credentials, a renewed pair too.
    #[error("{repo} refused the credentials: {said}")]
    CredentialsRefused {
        /// The repository.
        repo: String,
        /// What git said.
        said: String,
    },
    /// The credentials are good and not enough: no right to push, an archived repository, a policy.
    #[error("{repo} does not allow it ({doing}): {said}")]
    Forbidden {
        /// What was tried.
        doing: &'static str,
        /// The repository.
        repo: String,
        /// What git said.
        said: String,
    },
    /// The repository is not there, or not for us to see.
    #[error("there is no repository {repo}, or none that may be seen")]
    Gone {
        /// The repository.
        repo: String,
    },
    /// The repository has another name now: the remote answered with a redirect, which is not followed.
    #[error("{repo} has moved: the remote redirects to another name")]
    Moved {
        /// The repository, by its old name.
        repo: String,
    },
    /// The repository is there and the branch or pull request is not.
    #[error("{repo} has no {name}")]
    RefGone {
        /// The repository.
        repo: String,
        /// The ref's full name.
        name: String,
    },
    /// git took longer than it may and was ended with its process group.
    #[error("{doing} {repo} took longer than {} s and was ended", after.as_secs())]
    Timeout {
        /// What was tried.
        doing: &'static str,
        /// The repository.
        repo: String,
        /// How long it was allowed to run.
        after: Duration,
    },
    /// What is kept of the repository is damaged. The mirror was removed: the next try makes it anew.
    #[error("the mirror of {repo} is damaged ({doing}): {said}")]
    Damaged {
        /// What was tried.
        doing: &'static str,
        /// The repository.
        repo: String,
        /// What git said.
        said: String,
    },
    /// git could not be started or waited for.
    #[error("git cannot be run")]
    Run(#[source] CommandError),
    /// git ended in a way that this program has no name for.
    #[error("{doing} {repo}: git ended with {exit}: {said}")]
    Ended {
        /// What was tried.
        doing: &'static str,
        /// The repository.
        repo: String,
        /// How git ended.
        exit: Exit,
        /// What it said.
        said: String,
    },
}

/// What helps after a [`GitError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The same again, later.
    Retry,
    /// Nothing: the same would fail for ever.
    Reject,
    /// Somebody or something else first: a program, a disk, a network, a token.
    Wait,
}

impl GitError {
    /// Whether the same again can help.
    pub fn next(&self) -> Next {
        match self {
            Self::Timeout { .. } | Self::Damaged { .. } | Self::Run(_) | Self::Ended { .. } => Next::Retry,
            Self::Name(_)
            | Self::TooLarge { .. }
            | Self::Forbidden { .. }
            | Self::Gone { .. }
            | Self::Moved { .. }
            | Self::RefGone { .. } => Next::Reject,
            Self::NoGit
            | Self::TooOld { .. }
            | Self::Held { .. }
            | Self::Files { .. }
            | Self::DiskFull { .. }
            | Self::NoRoom { .. }
            | Self::Unreachable { .. }
            | Self::NoCredentials { .. }
            | Self::CredentialsRefused { .. } => Next::Wait,
        }
    }

    /// What a person can do about it, where there is something.
    pub fn mend(&self) -> Option<&'static str> {
        match self {
            Self::NoGit | Self::TooOld { .. } => Some("install git 2.30 or later and see that it is in PATH"),
            Self::Held { .. } => Some("stop the other process, or give this one another home"),
            Self::DiskFull { .. } => Some("free some room on the disk"),
            Self::NoRoom { .. } | Self::TooLarge { .. } => Some("allow the work trees more room"),
            Self::Unreachable { .. } => Some("look at the network, a proxy and the base of clone addresses"),
            Self::NoCredentials { .. } => Some("give a token"),
            Self::CredentialsRefused { .. } => Some("give a token that is still valid"),
            Self::Forbidden { .. } => Some("give a token that may do this"),
            _ => None,
        }
    }

    /// A file operation that failed; a full disk has its own name.
    pub(super) fn files(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull {
                doing,
                at: path.display().to_string(),
            },
            _ => Self::Files {
                doing,
                path: path.to_owned(),
                source,
            },
        }
    }

    pub(super) fn run(doing: &'static str, repo: &str, error: CommandError) -> Self {
        match error {
            CommandError::NotFound { .. } => Self::NoGit,
            CommandError::Deadline { after, .. } => Self::Timeout {
                doing,
                repo: repo.to_owned(),
                after,
            },
            other => Self::Run(other),
        }
    }
}

/// What git said, for people: its complaints and the remote's words, without progress and control characters.
pub(super) fn said(stderr: &str) -> String {
    let telling: Vec<String> = stderr
        .split(['\n', '\r'])
        .map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>())
        .map(|line| line.trim().to_owned())
        .filter(|line| {
            ["fatal:", "error:", "warning:", "remote:", "CONFLICT"]
                .iter()
                .any(|begin| line.starts_with(begin))
        })
        .filter(|line| !line.contains('%') && line != "remote:")
        .collect();
    let text = match telling.is_empty() {
        true => stderr.lines().last().unwrap_or("nothing").trim().to_owned(),
        false => telling.join("; "),
    };
    match text.chars().count() > SAID {
        true => format!("{}…", text.chars().take(SAID - 1).collect::<String>()),
        false => text,
    }
}

/// Words in git's own lines (never the remote's) and what they mean. git has no codes for these; the words are those
/// of the C locale, which every run is given.
const DISK: [&str; 3] = ["No space left on device", "Disk quota exceeded", "disk full"];
const DAMAGE: [&str; 14] = [
    "not a git repository:",
    "bad object",
    "is corrupt",
    "error: object file",
    "is far too short",
    "invalid sha1 pointer",
    "unable to read tree",
    "missing blob",
    "missing tree",
    "unable to read sha1 file",
    "did not send all necessary objects",
    "remote did not send",
    "index file corrupt",
    "error: packfile",
];
const NETWORK: [&str; 24] = [
    "Could not resolve host",
    "Could not resolve proxy",
    "Failed to connect",
    "Couldn't connect",
    "Connection refused",
    "Connection reset",
    "Connection timed out",
    "Connection was reset",
    "Operation timed out",
    "Operation too slow",
    "Empty reply from server",
    "Recv failure",
    "Send failure",
    "transfer closed",
    "early EOF",
    "RPC failed",
    "unexpected disconnect",
    "hung up unexpectedly",
    "certificate",
    "SSL",
    "TLS",
    "returned error: 429",
    "HTTP/2 stream",
    "expected flush after",
];

/// Says why git ended as it did.
pub(super) fn explain(doing: &'static str, repo: &str, finished: &Finished) -> GitError {
    classify(doing, repo, finished.status, &finished.stderr.text())
}

fn classify(doing: &'static str, repo: &str, exit: Exit, stderr: &str) -> GitError {
    let (said, repo) = (said(stderr), repo.to_owned());
    let own: Vec<&str> = stderr
        .split(['\n', '\r'])
        .filter(|line| !line.starts_with("remote:"))
        .collect();
    let any = |words: &[&str]| {
        own.iter()
            .any(|line| words.iter().any(|word| line.contains(word)))
    };
    let code = own.iter().find_map(|line| {
        let rest = line.split_once("The requested URL returned error: ")?.1;
        rest.get(..3)?.parse::<u16>().ok()
    });
    let missing = own.iter().find_map(|line| {
        line.split_once("couldn't find remote ref ")
            .map(|(_, name)| name.trim())
    });

    if any(&DISK) {
        return GitError::DiskFull { doing, at: repo };
    }
    if let Some(name) = missing {
        let name = name.to_owned();
        return GitError::RefGone { repo, name };
    }
    if any(&["Authentication failed"]) {
        return GitError::CredentialsRefused { repo, said };
    }
    if any(&[
        "could not read Username",
        "could not read Password",
        "told us to quit",
        "unable to get password from user",
    ]) {
        return GitError::NoCredentials { repo, source: None };
    }
    match code {
        Some(301 | 302 | 303 | 307 | 308) => return GitError::Moved { repo },
        Some(401) => return GitError::CredentialsRefused { repo, said },
        Some(403) => return GitError::Forbidden { doing, repo, said },
        Some(404 | 410) => return GitError::Gone { repo },
        Some(408 | 429 | 500..) => return GitError::Unreachable { doing, repo, said },
        _ => {}
    }
    if any(&["unable to update url base from redirection"]) {
        return GitError::Moved { repo };
    }
    let not_found =
        |line: &&str| line.starts_with("fatal: repository '") && line.trim_end().ends_with("not found");
    if own.iter().any(not_found) || any(&["does not appear to be a git repository"]) {
        return GitError::Gone { repo };
    }
    if any(&NETWORK) {
        return GitError::Unreachable { doing, repo, said };
    }
    if any(&DAMAGE) {
        return GitError::Damaged { doing, repo, said };
    }
    GitError::Ended {
        doing,
        repo,
        exit,
        said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stderr: &str, name: &str, next: Next) {
        let error = classify("fetching", "o/r", Exit::Code(128), stderr);
        assert!(format!("{error:?}").starts_with(name), "{stderr}: {error:?}");
        assert_eq!(error.next(), next, "{stderr}");
    }

    #[test]
    fn what_git_says_has_a_name_and_an_answer() {
        check(
            "fatal: couldn't find remote ref refs/pull/7/head\n",
            "RefGone",
            Next::Reject,
        );
        check(
            "fatal: '/x.git' does not appear to be a git repository\n",
            "Gone",
            Next::Reject,
        );
        check(
            "remote: Repository not found.\nfatal: repository 'https://h/o/r.git/' not found\n",
            "Gone",
            Next::Reject,
        );
        check(
            "fatal: unable to access 'https://h/o/r.git/': The requested URL returned error: 301\n",
            "Moved",
            Next::Reject,
        );
        check(
            "remote: Write access to repository not granted.\nfatal: unable to access 'https://h/': The requested URL returned error: 403\n",
            "Forbidden",
            Next::Reject,
        );
        check(
            "fatal: unable to access 'https://h/': The requested URL returned error: 502\n",
            "Unreachable",
            Next::Wait,
        );
        check(
            "fatal: unable to access 'https://h/': Could not resolve host: h\n",
            "Unreachable",
            Next::Wait,
        );
        check(
            "error: RPC failed; curl 56 Recv failure\nfatal: early EOF\n",
            "Unreachable",
            Next::Wait,
        );
        check(
            "fatal: Authentication failed for 'https://h/'\n",
            "CredentialsRefused",
            Next::Wait,
        );
        check(
            "fatal: could not read Username for 'https://h': terminal prompts disabled\n",
            "NoCredentials",
            Next::Wait,
        );
        check(
            "fatal: write error: No space left on device\n",
            "DiskFull",
            Next::Wait,
        );
        check(
            "error: object file x is empty\nfatal: loose object y is corrupt\n",
            "Damaged",
            Next::Retry,
        );
        check("fatal: something new\n", "Ended", Next::Retry);
    }

    #[test]
    fn the_remotes_own_words_decide_nothing() {
        check(
            "remote: fatal: No space left on device\nfatal: something new\n",
            "Ended",
            Next::Retry,
        );
    }

    #[test]
    fn what_was_said_is_one_line_without_progress() {
        assert_eq!(
            said(
                "Receiving objects:  10% (1/10)\rReceiving objects: 100%\nremote: \u{1b}[31mno\nfatal: broken\n"
            ),
            "remote: [31mno; fatal: broken"
        );
        assert_eq!(said(""), "nothing");
        assert_eq!(said(&format!("fatal: {}", "x".repeat(600))).chars().count(), 500);
    }
}
