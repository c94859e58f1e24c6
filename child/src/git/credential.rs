//! How git gets a secret: it asks a credential helper, the helper asks this process over a socket, and this process
//! asks the source of credentials.
//!
//! The secret passes through a socket and two pipes, and is in no argument, no environment, no file and no address.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

use super::error::{BoxError, GitError};
use super::names::Remote;

/// The most bytes that a helper passes on of git's question, and git of the answer: both are a few short lines.
const LONGEST_TALK: u64 = 64 * 1024;

/// How long the other end of the socket may take with its question: it has it already when it connects.
const QUESTION: Duration = Duration::from_secs(10);

/// A user name and a password, as HTTP's basic authentication has them. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    user: String,
    password: String,
}

impl Secret {
    /// A user name and a password; `None` where git's helper protocol could not carry them: a line break in them,
    /// or nothing at all.
    pub fn new(user: &str, password: &str) -> Option<Self> {
        let fits = |text: &str| !text.is_empty() && !text.contains(['\n', '\r', '\0']);
        (fits(user) && fits(password)).then(|| Self {
            user: user.to_owned(),
            password: password.to_owned(),
        })
    }

    /// A token for GitHub, which takes any user name beside one.
    pub fn token(token: &str) -> Option<Self> {
        Self::new("x-access-token", token)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The future of [`Credentials::secret`].
pub type SecretFuture<'a> = Pin<Box<dyn Future<Output = Result<Secret, BoxError>> + Send + 'a>>;

/// Gives the secret for the remote. It is asked each time git wants one, and once more when the remote refused one.
pub trait Credentials: Send + Sync {
    /// The secret as it stands now. `refused` is the one that the remote has just refused; a source that can make a
    /// new one does so, any other reads its place again.
    fn secret<'a>(&'a self, refused: Option<&'a Secret>) -> SecretFuture<'a>;
}

/// The program that git starts as its credential helper, and its first arguments: this very program in a mode that
/// hands its last two arguments to [`answer_git`].
#[derive(Clone, Debug)]
pub struct Helper {
    argv: Vec<OsString>,
}

impl Helper {
    /// A program by its full path, and the arguments that put it into the helper's mode.
    pub fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let mut argv = vec![program.into()];
        argv.extend(arguments.into_iter().map(Into::into));
        Self { argv }
    }

    /// What git's configuration says: git gives it to a shell, with the operation added at the end.
    fn line(&self, socket: &Path) -> OsString {
        let mut line = b"!".to_vec();
        for word in self
            .argv
            .iter()
            .map(OsString::as_os_str)
            .chain([socket.as_os_str()])
        {
            if line.len() > 1 {
                line.push(b' ');
            }
            line.extend(quoted(word));
        }
        OsString::from_vec(line)
    }
}

/// One word for a POSIX shell, whatever is in it.
fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = b"'".to_vec();
    for &byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend(br"'\''"),
            other => quoted.push(other),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// The helper's own work: passes git's question on to the keeper's socket and its answer back. It is told the socket
/// and the operation as arguments; only `get` asks anything, since nothing is ever stored.
///
/// # Errors
///
/// The socket is not there or breaks off, or git does not take the answer. git then goes on without a secret.
pub fn answer_git(
    socket: &Path,
    operation: &str,
    question: impl Read,
    mut answer: impl Write,
) -> io::Result<()> {
    if operation != "get" {
        return Ok(());
    }
    let mut asked = Vec::new();
    question.take(LONGEST_TALK).read_to_end(&mut asked)?;
    let mut keeper = std::os::unix::net::UnixStream::connect(socket)?;
    keeper.write_all(&asked)?;
    keeper.shutdown(Shutdown::Write)?;
    let mut told = Vec::new();
    keeper.take(LONGEST_TALK).read_to_end(&mut told)?;
    answer.write_all(&told)?;
    answer.flush()
}

/// Where secrets come from, and by whose hand.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) helper: Helper,
    pub(super) source: Arc<dyn Credentials>,
}

/// The socket for one run of git.
pub(super) struct Session<'a> {
    desk: &'a Desk,
    remote: &'a Remote,
    refused: Option<&'a Secret>,
    path: PathBuf,
    listener: UnixListener,
    group: Arc<OnceLock<Pid>>,
    told: Mutex<Told>,
}

/// What a session has said so far.
#[derive(Default)]
pub(super) struct Told {
    pub(super) secret: Option<Secret>,
    pub(super) failure: Option<BoxError>,
}

impl<'a> Session<'a> {
    /// Opens the socket. It lies in the keeper's root, which nobody else can enter.
    pub(super) fn open(
        desk: &'a Desk,
        remote: &'a Remote,
        refused: Option<&'a Secret>,
        path: PathBuf,
    ) -> Result<Self, GitError> {
        let listener = UnixListener::bind(&path).map_err(GitError::files("make the socket", &path))?;
        Ok(Self {
            desk,
            remote,
            refused,
            path,
            listener,
            group: Arc::default(),
            told: Mutex::default(),
        })
    }

    /// Where the process group of the git that may ask is announced.
    pub(super) fn group(&self) -> Arc<OnceLock<Pid>> {
        Arc::clone(&self.group)
    }

    /// What git is told: no helper of anybody else's, and ours for this remote alone.
    pub(super) fn settings(&self) -> [OsString; 2] {
        let mut ours = OsString::from(format!("credential.{}.helper=", self.remote.base()));
        ours.push(self.desk.helper.line(&self.path));
        ["credential.helper=".into(), ours]
    }

    /// Answers, one question after the other, until it is dropped.
    pub(super) async fn serve(&self) -> Infallible {
        loop {
            match self.listener.accept().await {
                // One that asks and goes away again is no failure of ours.
                Ok((stream, _)) => drop(self.answer(stream).await),
                // Out of descriptors, say: others will be closed.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    pub(super) fn told(&self) -> Told {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn answer(&self, mut stream: UnixStream) -> io::Result<()> {
        if !self.is_ours(&stream)? {
            return Ok(());
        }
        let mut question = Vec::new();
        let mut reader = (&mut stream).take(LONGEST_TALK);
        tokio::time::timeout(QUESTION, reader.read_to_end(&mut question)).await??;
        if !is_about(&String::from_utf8_lossy(&question), self.remote) {
            return Ok(());
        }
        let answer = match self.desk.source.secret(self.refused).await {
            Ok(secret) => {
                let answer = format!("username={}\npassword={}\n", secret.user, secret.password);
                self.note(|told| told.secret = Some(secret));
                answer
            }
            Err(failure) => {
                self.note(|told| told.failure = Some(failure));
                // git neither asks another helper nor a person then.
                "quit=1\n".to_owned()
            }
        };
        stream.write_all(answer.as_bytes()).await
    }

    fn note(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether the other end is a process of this user, in the group of the git that this session is for. Where the
    /// system does not tell the process, the user must do.
    fn is_ours(&self, stream: &UnixStream) -> io::Result<bool> {
        let peer = stream.peer_cred()?;
        if peer.uid() != rustix::process::geteuid().as_raw() {
            return Ok(false);
        }
        let Some(pid) = peer.pid().and_then(Pid::from_raw) else {
            return Ok(true);
        };
        let group = rustix::process::getpgid(Some(pid))?;
        Ok(self.group.get() == Some(&group))
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // What stays is removed at the next open.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether git asks about the remote that this session is for, and not about one it was sent to.
fn is_about(question: &str, remote: &Remote) -> bool {
    let value = |key: &str| {
        question
            .lines()
            .find_map(|line| line.split_once('=').filter(|(name, _)| *name == key))
            .map(|(_, value)| value)
    };
    value("protocol") == Some(remote.scheme().as_str()) && value("host") == Some(remote.host())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_one_line_and_never_shown() {
        assert!(Secret::token("").is_none() && Secret::token("a\nusername=b").is_none());
        let secret = Secret::token("ghp_x").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }

    #[test]
    fn the_shell_gets_the_helper_word_by_word() {
        let helper = Helper::new("/my programs/it's", ["$(id)"]);
        assert_eq!(
            helper.line(Path::new("/h/ask")),
            r"!'/my programs/it'\''s' '$(id)' '/h/ask'"
        );
    }

    #[test]
    fn only_questions_about_the_remote_are_answered() {
        let remote = Remote::parse("https://github.com").unwrap();
        assert!(is_about(
            "protocol=https\nhost=github.com\nwwwauth[]=Basic\n\n",
            &remote
        ));
        for other in [
            "",
            "protocol=http\nhost=github.com\n",
            "protocol=https\nhost=evil.example\n",
            "protocol=https\nhost=github.com:8443\n",
            "protocol=https\n",
        ] {
            assert!(!is_about(other, &remote), "{other}");
        }
    }

    #[test]
    fn nothing_is_stored_or_erased() {
        let mut said = Vec::new();
        answer_git(Path::new("/nowhere"), "store", io::empty(), &mut said).unwrap();
        answer_git(Path::new("/nowhere"), "erase", io::empty(), &mut said).unwrap();
        assert!(said.is_empty());
        assert!(answer_git(Path::new("/nowhere"), "get", io::empty(), &mut said).is_err());
    }
}
