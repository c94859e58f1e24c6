//! The control socket: what a process that holds the mailboxes answers to others (contract, section 1).
//!
//! The socket is `control.sock` in the home, for its owner alone. Both sides begin with the version of the
//! protocol, [`PROTOCOL`], and refuse another one; the holder goes on to say who it is. Then the client asks one
//! thing with one word, and the connection is about that: `mailboxes`, after which it speaks what
//! [`mailbox::remote`] speaks, or `overview`, which is answered with one line.
//!
//! ```
//! # use std::sync::Arc;
//! # use mailbox::{Clock, Mailboxes, SystemClock};
//! # use runtime::Host;
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! # let home = tempfile::tempdir()?;
//! # let home = home.path();
//! # let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
//! # let mailboxes = Mailboxes::open_memory(Arc::clone(&clock));
//! let running = Host::builder(mailboxes, clock, home).start().await?;
//! let control = running.listen(home)?;
//!
//! // In another process:
//! let connected = runtime::control::connect(home).await?;
//! assert_eq!(connected.holder().pid, std::process::id());
//! assert!(connected.overview().await?.attention.is_empty());
//! let mailboxes = runtime::control::connect(home).await?.mailboxes().await?;
//! assert_eq!(mailboxes.status().await?.len(), 1);
//!
//! control.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use mailbox::{Mailboxes, remote};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::Overview;

mod address;
mod server;
mod watched;

use address::Address;
pub use server::Control;
use watched::Watched;

/// The name of the socket in the home.
pub const SOCKET: &str = "control.sock";
/// The first line of both sides.
pub const PROTOCOL: &str = "sweep-control 1";
/// How long either side waits for the first words of the other: they are there at once where it lives.
pub const HELLO_WITHIN: Duration = Duration::from_secs(5);

/// How long a process that holds the mailboxes may show no sign of life, of which it owes one each
/// [`BEAT`](remote::BEAT).
pub const SILENT_AFTER: Duration = remote::BEAT.saturating_mul(5);

/// The longest of the lines with which a connection begins, in bytes.
const HELLO: usize = 1024;
/// The longest overview, in bytes: thousands of actors with a failure each.
const OVERVIEW: usize = 16 * 1024 * 1024;

/// The process that holds the mailboxes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// Since when.
    pub since: DateTime<Utc>,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let since = self.since.to_rfc3339_opts(SecondsFormat::Secs, true);
        write!(f, "process {}, since {since}", self.pid)
    }
}

/// Why the control socket could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// There is no socket, or nobody listens at it.
    #[error("nobody listens at {}", .path.display())]
    Absent {
        /// The socket.
        path: PathBuf,
    },
    /// Another process listens at it already.
    #[error("another process listens at {}", .path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// The process at the other end speaks another version.
    #[error("{} speaks {found:?}, this program speaks {PROTOCOL:?}", process(.pid))]
    Version {
        /// What it began with.
        found: String,
        /// Its number, where the system tells.
        pid: Option<u32>,
    },
    /// The process at the other end does not say what it should, or nothing at all.
    #[error("{} does not answer", process(.pid))]
    Silent {
        /// Its number, where the system tells.
        pid: Option<u32>,
    },
    /// The mailboxes of the process at the other end failed.
    #[error("the process that holds the mailboxes says: {said}")]
    Failed {
        /// In its words.
        said: String,
    },
    /// The system refused.
    #[error("cannot {doing} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

fn process(pid: &Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ControlError {
    move |source| ControlError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// A connection that was greeted and that nothing was asked over yet.
#[derive(Debug)]
pub struct Connected {
    stream: BufReader<UnixStream>,
    holder: Holder,
}

/// Connects to the process that holds the home's mailboxes and serves its control socket.
///
/// # Errors
/// When nobody listens, the other end speaks another version or nothing, or the system refuses.
pub async fn connect(home: &Path) -> Result<Connected, ControlError> {
    let path = home.join(SOCKET);
    let address = match Address::of(home) {
        Ok(address) => address,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ControlError::Absent { path }),
        Err(error) => return Err(failed("connect to", &path)(error)),
    };
    let stream = match UnixStream::connect(address.path()).await {
        Ok(stream) => stream,
        Err(error) => {
            return Err(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::Absent { path },
                // More wait to be let in than the socket keeps.
                io::ErrorKind::WouldBlock => ControlError::Silent { pid: None },
                _ => failed("connect to", &path)(error),
            });
        }
    };
    let pid = stream
        .peer_cred()
        .ok()
        .and_then(|peer| peer.pid())
        .and_then(|pid| pid.try_into().ok());
    let mut stream = BufReader::new(stream);
    let hello = async {
        // One that refuses us may have hung up by now; what it said is still to be read.
        let _ = stream.write_all(format!("{PROTOCOL}\n").as_bytes()).await;
        let version = line(&mut stream, HELLO).await?;
        if version != PROTOCOL {
            return Ok(Err(ControlError::Version { found: version, pid }));
        }
        let holder = line(&mut stream, HELLO).await?;
        Ok::<_, io::Error>(serde_json::from_str(&holder).map_err(|_| ControlError::Silent { pid }))
    };
    match timeout(HELLO_WITHIN, hello).await {
        Ok(Ok(holder)) => Ok(Connected {
            holder: holder?,
            stream,
        }),
        // It hung up, said something endless or nothing.
        Ok(Err(_)) | Err(_) => Err(ControlError::Silent { pid }),
    }
}

impl Connected {
    /// Who is at the other end.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Its mailboxes. The connection ends with the last handle, and breaks when the other end shows no sign of life
    /// for [`SILENT_AFTER`]: whatever is asked fails then, with the number of its process.
    ///
    /// # Errors
    /// When it does not answer any more.
    pub async fn mailboxes(mut self) -> Result<Mailboxes, ControlError> {
        self.ask(Question::Mailboxes).await?;
        Ok(Mailboxes::over(Watched::new(
            self.stream,
            self.holder.pid,
            SILENT_AFTER,
        )))
    }

    /// Every actor that it declares, as it fares now, and what a person must look at.
    ///
    /// # Errors
    /// When it does not answer any more, or its mailboxes fail.
    pub async fn overview(mut self) -> Result<Overview, ControlError> {
        self.ask(Question::Overview).await?;
        let silent = ControlError::Silent {
            pid: Some(self.holder.pid),
        };
        let Ok(Ok(answer)) = timeout(HELLO_WITHIN, line(&mut self.stream, OVERVIEW)).await else {
            return Err(silent);
        };
        match serde_json::from_str::<Result<Overview, String>>(&answer) {
            Ok(Ok(overview)) => Ok(overview),
            Ok(Err(said)) => Err(ControlError::Failed { said }),
            Err(_) => Err(silent),
        }
    }

    async fn ask(&mut self, question: Question) -> Result<(), ControlError> {
        let asked = self
            .stream
            .write_all(format!("{}\n", question.word()).as_bytes())
            .await;
        asked.map_err(|_| ControlError::Silent {
            pid: Some(self.holder.pid),
        })
    }
}

/// What a connection is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Mailboxes,
    Overview,
}

impl Question {
    fn word(self) -> &'static str {
        match self {
            Self::Mailboxes => "mailboxes",
            Self::Overview => "overview",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Mailboxes, Self::Overview]
            .into_iter()
            .find(|question| question.word() == word)
    }
}

/// The next line without its line break, of at most `most` bytes.
async fn line(stream: &mut (impl AsyncBufRead + Unpin), most: usize) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        let here = stream.fill_buf().await?;
        if here.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = here.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&here[..end.unwrap_or(here.len())]);
        let taken = end.map_or(here.len(), |end| end + 1);
        stream.consume(taken);
        if line.len() > most {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if end.is_some() {
            return String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into());
        }
    }
}
