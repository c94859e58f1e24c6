//! One run of another program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};

use crate::{Captured, strays};

/// Tells the commands of this process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The variables of this process that a child inherits: what programs need to find files, speak the user's
/// language and verify certificates. None of them is a secret.
pub const PASSED_ON: [&str; 13] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CONFIG_HOME",
];

/// How long a program may run where nothing else was said: long for a helper, short for a person who waits.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);

/// How much of each output stream is kept where nothing else was said: more than a person reads.
pub const DEFAULT_OUTPUT_CAP: usize = 256 * 1024;

/// How long the output of a program that has ended may stay open: only a process that left the group can hold
/// it, and what such a one still says belongs to nobody.
const LEFT_OPEN: Duration = Duration::from_secs(1);

/// A program to run: its arguments, as the program gets them, and its limits.
#[derive(Clone, Debug)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    directory: Option<PathBuf>,
    environment: BTreeMap<OsString, OsString>,
    passed_on: Vec<OsString>,
    stdin: Option<Vec<u8>>,
    deadline: Duration,
    output_cap: usize,
    announce: Option<Arc<OnceLock<Pid>>>,
    owned: Option<String>,
}

impl Command {
    /// A command of the program's name or path and its arguments. A name without a slash is looked up in `PATH`.
    ///
    /// # Errors
    ///
    /// [`CommandError::Empty`] without a program.
    pub fn new<A: AsRef<OsStr>>(argv: impl IntoIterator<Item = A>) -> Result<Self, CommandError> {
        let mut argv = argv.into_iter().map(|argument| argument.as_ref().to_owned());
        let program = argv
            .next()
            .filter(|program| !program.is_empty())
            .ok_or(CommandError::Empty)?;
        Ok(Self {
            program,
            arguments: argv.collect(),
            directory: None,
            environment: BTreeMap::new(),
            passed_on: PASSED_ON.iter().map(OsString::from).collect(),
            stdin: None,
            deadline: DEFAULT_DEADLINE,
            output_cap: DEFAULT_OUTPUT_CAP,
            announce: None,
            owned: None,
        })
    }

    /// Runs in this directory; in this process's own where none is given.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets one variable of the child's environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Passes one more variable of this process on, where it is set.
    pub fn pass_on(mut self, name: impl Into<OsString>) -> Self {
        self.passed_on.push(name.into());
        self
    }

    /// Gives these bytes on standard input and closes it; without them standard input is empty.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Ends the program's whole process group when it has run this long.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Keeps at most this many bytes of each of the two output streams; the rest is read and dropped.
    pub fn output_cap(mut self, bytes: usize) -> Self {
        self.output_cap = bytes;
        self
    }

    /// Marks the program, and whatever it starts, as this owner's: what of it is left when it ends, or at its
    /// deadline, is ended too, where the process group does not reach it. What is left when this process is killed is
    /// for [`end_strays`](crate::end_strays).
    pub fn owner(mut self, owner: &str) -> Self {
        let value = format!(
            "{owner}/{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        self.owned = Some(value.clone());
        self.env(strays::VARIABLE, value)
    }

    /// Says which process group the program runs in, as soon as it has been started.
    pub(crate) fn announce(mut self, to: Arc<OnceLock<Pid>>) -> Self {
        self.announce = Some(to);
        self
    }

    /// The program's name or path, for messages.
    pub fn program(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// Runs the program to its end, or to its deadline. Dropping the future ends the process group too.
    ///
    /// # Errors
    ///
    /// A program that is not there or cannot be started, one that missed its deadline, or a system call that
    /// failed. An exit code other than 0 is no error.
    pub async fn run(self) -> Result<Finished, CommandError> {
        let program = self.program();
        let started = Instant::now();
        let mut child = self.spawn().map_err(|source| match source.kind() {
            // The system says the same of a directory that is gone.
            io::ErrorKind::NotFound if self.directory.as_deref().is_none_or(Path::is_dir) => {
                CommandError::NotFound {
                    program: program.clone(),
                }
            }
            _ => CommandError::Start {
                program: program.clone(),
                source,
            },
        })?;
        let mut group = Group::of(&child, self.owned.clone());
        if let (Some(announce), Some(leader)) = (&self.announce, group.leader) {
            let _ = announce.set(leader);
        }
        let mut stdout = Captured::with_cap(self.output_cap);
        let mut stderr = Captured::with_cap(self.output_cap);

        let waited = {
            let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            let talk = async {
                tokio::join!(
                    feed(input, self.stdin.as_deref().unwrap_or_default()),
                    capture(output, &mut stdout),
                    capture(errors, &mut stderr),
                )
            };
            tokio::pin!(talk);
            let mut talking = true;
            let to_the_end = async {
                let status = loop {
                    tokio::select! {
                        status = child.wait() => break status,
                        _ = &mut talk, if talking => talking = false,
                    }
                };
                // Whatever the program left running in its group holds the pipes open; it goes with it.
                group.end_all().await;
                if talking {
                    let _ = tokio::time::timeout(LEFT_OPEN, &mut talk).await;
                }
                status
            };
            tokio::time::timeout(self.deadline, to_the_end).await
        };

        if waited.is_err() {
            group.end_all().await;
            // The group was sent SIGKILL: what is left to wait for is the kernel.
            let _ = child.wait().await;
        }
        match waited {
            Ok(Ok(status)) => Ok(Finished {
                program,
                status: Exit::from(status),
                stdout,
                stderr,
                took: started.elapsed(),
            }),
            Ok(Err(source)) => Err(CommandError::Wait { program, source }),
            Err(_) => Err(CommandError::Deadline {
                program,
                after: self.deadline,
                said: Box::new(Said { stdout, stderr }),
            }),
        }
    }

    fn spawn(&self) -> io::Result<Child> {
        let inherited = self
            .passed_on
            .iter()
            .filter_map(|name| std::env::var_os(name).map(|value| (name.clone(), value)));
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(inherited)
            .envs(&self.environment)
            .stdin(if self.stdin.is_some() {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.spawn()
    }
}

/// The child's process group, ended with it, and whatever carries its mark.
struct Group {
    leader: Option<Pid>,
    owned: Option<String>,
}

impl Group {
    fn of(child: &Child, owned: Option<String>) -> Self {
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw);
        Self { leader, owned }
    }

    /// Sends SIGKILL, once, to whoever is left of the group. The number stays the group's while it has a member;
    /// once it has none there is nothing to send to, and the error says just that.
    fn end(&mut self) {
        if let Some(leader) = self.leader.take() {
            let _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }

    /// The same, and waits until whatever carries the mark is gone too.
    async fn end_all(&mut self) {
        self.end();
        if let Some(value) = &self.owned {
            strays::end_of(value).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let dropped_midway = self.leader.is_some();
        self.end();
        if let Some(value) = self.owned.take().filter(|_| dropped_midway) {
            strays::strike(&value);
        }
    }
}

async fn feed(stdin: Option<ChildStdin>, bytes: &[u8]) {
    if let Some(mut stdin) = stdin {
        // A program need not read what it is given: a broken pipe is its choice, not a failure.
        let _ = stdin.write_all(bytes).await;
    }
}

async fn capture(stream: Option<impl AsyncRead + Unpin>, into: &mut Captured) {
    let Some(mut stream) = stream else { return };
    let mut chunk = [0; 8 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
        into.push(&chunk[..read]);
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal of this number.
    Signal(i32),
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            // POSIX knows no third way for a process that was waited for.
            (None, None) => Self::Code(-1),
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// A program that ran to its own end.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The program's name or path.
    pub program: String,
    /// How it ended.
    pub status: Exit,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// How long it ran.
    pub took: Duration,
}

impl Finished {
    /// Whether the program ended with exit code 0.
    pub fn succeeded(&self) -> bool {
        self.status == Exit::Code(0)
    }
}

/// What a program wrote before it was ended.
#[derive(Clone, Debug)]
pub struct Said {
    /// To standard output.
    pub stdout: Captured,
    /// To standard error.
    pub stderr: Captured,
}

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The argument list names no program.
    #[error("no program is named")]
    Empty,
    /// There is no such program.
    #[error("{program} is not there (or not in PATH)")]
    NotFound {
        /// The program's name or path.
        program: String,
    },
    /// The program could not be started.
    #[error("{program} cannot be started")]
    Start {
        /// The program's name or path.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The program ran longer than it may and was ended with its process group.
    #[error("{program} ran longer than {} s and was ended", after.as_secs_f64())]
    Deadline {
        /// The program's name or path.
        program: String,
        /// How long it was allowed to run.
        after: Duration,
        /// What it had written by then.
        said: Box<Said>,
    },
    /// Waiting for the program failed.
    #[error("cannot wait for {program}")]
    Wait {
        /// The program's name or path.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}
