//! The end that answers.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chrono::Utc;
use mailbox::{Mailboxes, remote};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::address::Address;
use super::{ControlError, HELLO, HELLO_WITHIN, Holder, PROTOCOL, Question, SOCKET, failed, line};
use crate::Running;
use crate::actor::chain;
use crate::survey::Surveyor;

/// Connections at once; whoever comes then waits to be let in. Each may hold a few pages of messages.
const CONNECTIONS: usize = 64;
/// The folder in which the socket is made before it takes its name.
const STAGING: &str = "control.new";
/// How long to wait after a connection could not be taken, as when no file can be opened any more.
const REST: Duration = Duration::from_millis(100);

/// The control socket of a running host. Dropped, it closes as [`Control::close`] does, without waiting for it.
#[derive(Debug)]
pub struct Control {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    socket: Socket,
}

impl Running {
    /// Answers others at the control socket in `home`, from a thread of its own. Whoever asks for this holds the
    /// home's mailboxes: a socket that a dead process left is replaced.
    ///
    /// # Errors
    /// When another process listens there, or the system refuses.
    pub fn listen(&self, home: &Path) -> Result<Control, ControlError> {
        let surveyor = self.surveyor().clone();
        let (socket, listener) = Socket::make(home)?;
        let holder = Holder {
            pid: std::process::id(),
            since: Utc::now(),
        };
        let service = Arc::new(Service {
            hello: format!(
                "{PROTOCOL}\n{}\n",
                serde_json::to_string(&holder).expect("a number and a moment are JSON")
            ),
            surveyor,
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed("serve", &socket.path))?;
        let (stop, stopped) = oneshot::channel();
        let path = socket.path.clone();
        let thread = thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    match UnixListener::from_std(listener) {
                        Ok(listener) => {
                            tokio::select! {
                                () = accept(listener, service) => {}
                                _ = stopped => {}
                            }
                        }
                        Err(error) => tracing::error!("nobody answers at {}: {error}", path.display()),
                    }
                });
            })
            .map_err(failed("serve", &socket.path))?;
        Ok(Control {
            stop: Some(stop),
            thread: Some(thread),
            socket,
        })
    }
}

impl Control {
    /// Closes every connection and removes the socket. What came in whole is carried out; messages whose
    /// arrival was not confirmed are handed back.
    pub async fn close(mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // It has nothing left to do but to end; a panic in it was logged as one.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    fn stop(&mut self) {
        self.socket.remove();
        if let Some(stop) = self.stop.take() {
            // Who does not listen has ended.
            let _ = stop.send(());
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The file of the socket.
#[derive(Debug)]
struct Socket {
    path: PathBuf,
    /// What tells it from one that took its name since.
    inode: u64,
}

impl Socket {
    /// Makes the socket in a folder that is closed to everybody else, and gives it its name when it is too.
    fn make(home: &Path) -> Result<(Self, StdListener), ControlError> {
        let path = home.join(SOCKET);
        let address = Address::of(home).map_err(failed("make", &path))?;
        if StdStream::connect(address.path()).is_ok() {
            return Err(ControlError::InUse { path });
        }
        let staging = home.join(STAGING);
        // Left by a process that died here.
        match fs::remove_dir_all(&staging) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &staging)(error));
            }
            _ => {}
        }
        let make = || {
            DirBuilder::new().mode(0o700).create(&staging)?;
            let listener = StdListener::bind(Address::of(&staging)?.path())?;
            let made = staging.join(SOCKET);
            fs::set_permissions(&made, Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            let inode = fs::symlink_metadata(&made)?.ino();
            fs::rename(&made, &path)?;
            fs::remove_dir(&staging)?;
            Ok((inode, listener))
        };
        let (inode, listener) = make().map_err(failed("make", &path))?;
        Ok((Self { path, inode }, listener))
    }

    fn remove(&self) {
        let ours = fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!("{} is left behind: {error}", self.path.display());
        }
    }
}

/// What every connection is answered from.
struct Service {
    hello: String,
    surveyor: Surveyor,
}

async fn accept(listener: UnixListener, service: Arc<Service>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let permit = Arc::clone(&room).acquire_owned().await;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("a control connection was not taken: {error}");
                tokio::time::sleep(REST).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        let service = Arc::clone(&service);
        connections.spawn(async move {
            let _permit = permit;
            service.answer(stream).await;
        });
    }
}

impl Service {
    async fn answer(&self, stream: UnixStream) {
        let mut stream = BufReader::new(stream);
        let question = match timeout(HELLO_WITHIN, self.greet(&mut stream)).await {
            Ok(Ok(Some(question))) => question,
            Ok(Ok(None)) => return,
            Ok(Err(error)) => return tracing::debug!("a control connection ended: {error}"),
            Err(_) => return tracing::debug!("a control connection said nothing"),
        };
        match question {
            Question::Mailboxes => {
                if let Err(error) = remote::serve(self.mailboxes(), stream).await {
                    tracing::debug!("a control connection ended: {error}");
                }
            }
            Question::Overview => {
                let overview = self.surveyor.survey().await.map_err(|error| chain(&error));
                let mut answer = serde_json::to_string(&overview).expect("an overview has string keys");
                answer.push('\n');
                if let Err(error) = stream.write_all(answer.as_bytes()).await {
                    tracing::debug!("a control connection ended: {error}");
                }
            }
        }
    }

    fn mailboxes(&self) -> Mailboxes {
        self.surveyor.mailboxes().clone()
    }

    /// Exchanges the first lines, and reads what the connection is about.
    async fn greet(&self, stream: &mut BufReader<UnixStream>) -> io::Result<Option<Question>> {
        stream.write_all(self.hello.as_bytes()).await?;
        let version = line(stream, HELLO).await?;
        if version != PROTOCOL {
            tracing::warn!("a program that speaks {version:?} was refused at the control socket");
            let refusal = format!(
                "this process speaks {PROTOCOL}: ask it with the program that it was started with, or stop it first\n"
            );
            stream.write_all(refusal.as_bytes()).await?;
            return Ok(None);
        }
        let word = line(stream, HELLO).await?;
        let question = Question::parse(&word);
        if question.is_none() {
            stream
                .write_all(format!("{word:?} is nothing that can be asked\n").as_bytes())
                .await?;
        }
        Ok(question)
    }
}
