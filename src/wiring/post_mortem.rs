//! Mailboxes read after the fact: those of a `sweep run` that holds the home, or a copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use mailbox::{Clock, MailboxError, MailboxName, Mailboxes, Moment, Replay, Replayed, SystemClock};
use runtime::control::{self, ControlError};
use runtime::{Overview, Registry};

use super::{MAILBOX, at_rest, declared, registry};
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::home::Home;

/// Mailboxes to read after the fact, which are left as they are.
pub struct PostMortem {
    /// The mailboxes: those of a `sweep run` that holds the home, or a copy.
    pub mailboxes: Mailboxes,
    /// Of a copy: when it was opened. What is stamped later is the reader's own doing.
    pub read_at: Option<Moment>,
    registry: Arc<Registry>,
    /// The home, where another process holds it.
    asked: Option<PathBuf>,
    /// Removed with this value.
    copy: Option<Copy>,
}

/// A copy, and what it is of.
struct Copy {
    folder: tempfile::TempDir,
    of: PathBuf,
}

impl Copy {
    /// What is wrong with the copy is wrong with what it is of.
    fn failed(&self, error: impl Into<Failure>) -> Failure {
        error.into().naming(&self.of, self.folder.path())
    }
}

impl PostMortem {
    /// Asks the `sweep run` that holds the home; without one, copies its mailboxes and opens the copy, since
    /// opening writes.
    pub async fn open(home: &Home, config: &Config) -> Result<Self, Failure> {
        let registry = Arc::new(registry(config)?);
        match control::connect(&home.path).await {
            Ok(holder) => {
                let mailboxes = holder.mailboxes().await?;
                return Ok(Self {
                    mailboxes,
                    read_at: None,
                    registry,
                    asked: Some(home.path.clone()),
                    copy: None,
                });
            }
            Err(ControlError::Absent { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let from = home.path.join(MAILBOX);
        let copied = |error| {
            Failure::new(Exit::Other, format!("cannot copy {}", from.display()))
                .because(error)
                .mend_what_was_refused("name another temporary directory with TMPDIR")
        };
        let folder = tempfile::Builder::new()
            .prefix("sweep-replay-")
            .tempdir()
            .map_err(copied)?;
        copy_files(&from, folder.path()).map_err(copied)?;
        let copy = Copy { folder, of: from };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let read_at = Some(clock.now());
        let mailboxes =
            Mailboxes::open_sled(copy.folder.path(), clock).map_err(|error| copy.failed(error))?;
        Ok(Self {
            mailboxes,
            read_at,
            registry,
            asked: None,
            copy: Some(copy),
        })
    }

    /// The same, or `None` where the home has no mailboxes yet.
    pub async fn of(home: &Home, config: &Config) -> Result<Option<Self>, Failure> {
        match fs::exists(home.path.join(MAILBOX)) {
            Ok(false) => Ok(None),
            _ => Self::open(home, config).await.map(Some),
        }
    }

    /// An error of the mailboxes, said of the home and not of a copy.
    pub fn failed(&self, error: MailboxError) -> Failure {
        match &self.copy {
            Some(copy) => copy.failed(error),
            None => error.into(),
        }
    }

    /// Refuses a mailbox that no declared actor has and that is not there.
    pub fn known(&self, of: &MailboxName) -> Result<(), Failure> {
        declared(&self.registry, of)
    }

    /// Who consumes what.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// Every declared actor and what a person must look at, at this moment.
    pub async fn overview(&self, config: &Config) -> Result<Overview, Failure> {
        if let Some(home) = &self.asked {
            return Ok(control::connect(home).await?.overview().await?);
        }
        let mailboxes = self
            .mailboxes
            .status()
            .await
            .map_err(|error| self.failed(error))?;
        let now = SystemClock::start().now();
        Ok(at_rest(&self.registry, &mailboxes, config, now))
    }

    /// Every message with what happened to it, a mailbox after the other, each of them in order.
    pub async fn each(&self, mut each: impl FnMut(&Replayed)) -> Result<(), Failure> {
        for mailbox in self
            .mailboxes
            .status()
            .await
            .map_err(|error| self.failed(error))?
        {
            let mut replay = Replay::new(self.mailboxes.clone(), mailbox.name);
            while let Some(page) = replay.next_page().await.map_err(|error| self.failed(error))? {
                for mut message in page {
                    self.as_it_was(&mut message);
                    each(&message);
                }
            }
        }
        Ok(())
    }

    /// Leaves out what only happened because a copy was opened: it is a life of its own, which ends the lives before
    /// it, and that is no part of the story.
    pub fn as_it_was(&self, message: &mut Replayed) {
        if let Some(read_at) = self.read_at {
            message.events.retain(|event| event.at < read_at);
        }
    }

    /// Lets go of the mailboxes, and removes the copy.
    pub async fn close(self) {
        self.mailboxes.close().await;
    }
}

/// Copies a folder's files and folders; what is neither (a socket, a pipe) is left out.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_files(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
