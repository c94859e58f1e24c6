//! The effects that a turn can have outside the process: done, or only noted down.

use std::collections::BTreeMap;
use std::future::Future;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use child::{Captured, Command, CommandError, Exit, Finished};
use mailbox::Digest;
use mailbox::rotation::Rotation;

use crate::files::{Entry, FileError, Home, KeyedLine};
use crate::{Fault, HomePath, Reason};

/// What a turn's effect comes to.
pub type Effected<'a, T> = Pin<Box<dyn Future<Output = Result<T, EffectError>> + Send + 'a>>;

/// How a turn acts outside the process. [`Turn`](crate::Turn) is what a handler sees of it.
pub trait Effects: Send + Sync {
    /// Reads a file; `None` where there is none.
    fn read_file<'a>(&'a mut self, path: &'a HomePath) -> Effected<'a, Option<Vec<u8>>>;

    /// Reads the last lines of a file that fit into `most` bytes, those of its earlier pieces included; `None` where
    /// there is no file.
    fn read_tail<'a>(&'a mut self, path: &'a HomePath, most: u64) -> Effected<'a, Option<Vec<u8>>>;

    /// Lists a directory by name; nothing where there is none.
    fn list_dir<'a>(&'a mut self, path: &'a HomePath) -> Effected<'a, Vec<Entry>>;

    /// Writes a file whole.
    fn write_file<'a>(&'a mut self, path: &'a HomePath, bytes: Vec<u8>) -> Effected<'a, ()>;

    /// Appends the lines whose keys are not there yet; how many were.
    fn append_lines<'a>(&'a mut self, path: &'a HomePath, lines: Vec<KeyedLine>) -> Effected<'a, usize>;

    /// Runs a program to its end.
    fn run(&mut self, command: Command) -> Effected<'_, Finished>;

    /// Allows an act of the actor's own, in words for a person.
    ///
    /// # Errors
    ///
    /// [`EffectError::Withheld`] where nothing is done.
    fn allow(&mut self, what: String) -> Result<(), EffectError>;
}

/// Why an effect did not come about.
#[derive(Debug, thiserror::Error)]
pub enum EffectError {
    /// A file was in the way.
    #[error(transparent)]
    File(#[from] FileError),
    /// A program did not run to its end.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// An act whose end nobody can tell without doing it, in a rehearsal.
    #[error("a rehearsal ends here: it does not {what}")]
    Withheld {
        /// What would have been done.
        what: String,
    },
}

impl From<EffectError> for Fault {
    /// A disk or a program in trouble may be well again, so the message is tried again; a line that breaks the
    /// rules of its file is a fault in the actor.
    fn from(error: EffectError) -> Self {
        match error {
            EffectError::File(FileError::Line { .. }) => Self::crash(error),
            EffectError::File(FileError::Io { .. } | FileError::TooLarge { .. }) => {
                Self::Retry(Reason::from(crate::actor::chain(&error)))
            }
            EffectError::Command(_) => Self::Retry(Reason::from(crate::actor::chain(&error))),
            EffectError::Withheld { .. } => Self::Retry(Reason::because("not done", error)),
        }
    }
}

/// An effect that was noted down instead of done.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// A file would have been written.
    WriteFile {
        /// Where.
        path: HomePath,
        /// With what.
        bytes: Vec<u8>,
    },
    /// Lines would have been appended.
    AppendLines {
        /// Where.
        path: HomePath,
        /// Which.
        lines: Vec<KeyedLine>,
    },
    /// A program would have been run.
    Run {
        /// Which.
        command: Command,
    },
    /// The actor would have acted on the world itself.
    Act {
        /// How, in words for a person.
        what: String,
    },
}

/// The effects themselves.
#[derive(Clone, Debug)]
pub struct Real {
    home: Arc<Home>,
}

impl Real {
    /// Effects on this home. Those of one process share one value or clones of it, so that their writes follow
    /// one another.
    pub fn on(home: impl Into<PathBuf>) -> Self {
        Self::rotating(home, Rotation::default())
    }

    /// The same, where files of lines are cut, and their pieces kept, as this says (contract, section 3, rule 8).
    pub fn rotating(home: impl Into<PathBuf>, rotation: Rotation) -> Self {
        Self {
            home: Arc::new(Home::at(home, rotation)),
        }
    }

    async fn off_the_runtime<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Home) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, EffectError> {
        let home = Arc::clone(&self.home);
        match tokio::task::spawn_blocking(move || work(&home)).await {
            Ok(worked) => worked.map_err(EffectError::from),
            // The work neither panics nor is cancelled before it began, but for a runtime that ends.
            Err(ended) => std::panic::resume_unwind(match ended.try_into_panic() {
                Ok(panic) => panic,
                Err(cancelled) => Box::new(cancelled.to_string()),
            }),
        }
    }
}

impl Effects for Real {
    fn read_file<'a>(&'a mut self, path: &'a HomePath) -> Effected<'a, Option<Vec<u8>>> {
        let path = path.clone();
        Box::pin(self.off_the_runtime(move |home| home.read(&path)))
    }

    fn read_tail<'a>(&'a mut self, path: &'a HomePath, most: u64) -> Effected<'a, Option<Vec<u8>>> {
        let path = path.clone();
        Box::pin(self.off_the_runtime(move |home| home.tail(&path, most)))
    }

    fn list_dir<'a>(&'a mut self, path: &'a HomePath) -> Effected<'a, Vec<Entry>> {
        let path = path.clone();
        Box::pin(self.off_the_runtime(move |home| home.list(&path)))
    }

    fn write_file<'a>(&'a mut self, path: &'a HomePath, bytes: Vec<u8>) -> Effected<'a, ()> {
        let path = path.clone();
        Box::pin(self.off_the_runtime(move |home| home.write(&path, &bytes)))
    }

    fn append_lines<'a>(&'a mut self, path: &'a HomePath, lines: Vec<KeyedLine>) -> Effected<'a, usize> {
        let path = path.clone();
        Box::pin(self.off_the_runtime(move |home| home.append(&path, &lines)))
    }

    fn run(&mut self, command: Command) -> Effected<'_, Finished> {
        let command = command.owner(&owner(self.home.root()));
        Box::pin(async { command.run().await.map_err(EffectError::from) })
    }

    fn allow(&mut self, _what: String) -> Result<(), EffectError> {
        Ok(())
    }
}

/// Whose the programs are that turns of this home run: none of them outlives what it was started for, nor, once a
/// home is hosted again ([`Host`](crate::Host)), a process that was killed.
pub(crate) fn owner(home: &Path) -> String {
    let root = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    format!("home-{}", Digest::of(root.as_os_str().as_bytes()))
}

/// Notes effects down instead of doing them: for a dry run, and to run a handler again. Reads are live, but a
/// file that was written in the recording reads as it was written there. A program that would have been run
/// answers with success and no output.
#[derive(Clone, Debug)]
pub struct Recording {
    real: Real,
    written: BTreeMap<HomePath, Vec<u8>>,
    log: Arc<Mutex<Vec<Recorded>>>,
}

impl Recording {
    /// A recording over this home, in which nothing is written.
    pub fn over(home: impl Into<PathBuf>) -> Self {
        Self {
            real: Real::on(home),
            written: BTreeMap::new(),
            log: Arc::default(),
        }
    }

    /// What was noted down since it was last taken, in order. Clones share it.
    pub fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, effect: Recorded) {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(effect);
    }
}

impl Effects for Recording {
    fn read_file<'a>(&'a mut self, path: &'a HomePath) -> Effected<'a, Option<Vec<u8>>> {
        match self.written.get(path) {
            Some(bytes) => Box::pin(std::future::ready(Ok(Some(bytes.clone())))),
            None => self.real.read_file(path),
        }
    }

    fn read_tail<'a>(&'a mut self, path: &'a HomePath, most: u64) -> Effected<'a, Option<Vec<u8>>> {
        self.real.read_tail(path, most)
    }

    fn list_dir<'a>(&'a mut self, path: &'a HomePath) -> Effected<'a, Vec<Entry>> {
        self.real.list_dir(path)
    }

    fn write_file<'a>(&'a mut self, path: &'a HomePath, bytes: Vec<u8>) -> Effected<'a, ()> {
        self.written.insert(path.clone(), bytes.clone());
        self.note(Recorded::WriteFile {
            path: path.clone(),
            bytes,
        });
        Box::pin(std::future::ready(Ok(())))
    }

    fn append_lines<'a>(&'a mut self, path: &'a HomePath, lines: Vec<KeyedLine>) -> Effected<'a, usize> {
        let appended = lines.len();
        self.note(Recorded::AppendLines {
            path: path.clone(),
            lines,
        });
        Box::pin(std::future::ready(Ok(appended)))
    }

    fn run(&mut self, command: Command) -> Effected<'_, Finished> {
        let finished = Finished {
            program: command.program(),
            status: Exit::Code(0),
            stdout: Captured::default(),
            stderr: Captured::default(),
            took: Duration::ZERO,
        };
        self.note(Recorded::Run { command });
        Box::pin(std::future::ready(Ok(finished)))
    }

    fn allow(&mut self, what: String) -> Result<(), EffectError> {
        self.note(Recorded::Act { what: what.clone() });
        Err(EffectError::Withheld { what })
    }
}
