//! How far the mirror is, kept between two lives of the process: a small file in the folder of the mirror.
//!
//! It is written after everything that it speaks of is durable, so that it never says more than is so; what it does not
//! say yet is found again by reading on from it. It is renamed into place and not synced: one that a power cut spoilt
//! says nothing, and then everything is read.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use serde::{Deserialize, Serialize};

use super::MirrorError;
use super::folder::{Folder, failed};
use super::series::Positions;
use crate::names::{MailboxName, MsgId, Seq};

/// The file.
const FILE: &str = ".position.json";
/// What it is written as before it gets its name.
const BESIDE: &str = ".position.json.new";
/// The version of its format. Another one says nothing.
const VERSION: u32 = 1;
/// The most bytes of it that are read: hundreds of thousands of files.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    version: u32,
    /// How far each file was read.
    pub(super) files: Positions,
    /// How far each mailbox was written.
    pub(super) mailboxes: BTreeMap<MailboxName, Reached>,
}

/// How far a mailbox was written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Reached {
    /// Its messages up to this one have their lines.
    pub(super) through: u64,
    /// The id of that message, by which the mailbox is known again.
    pub(super) id: Option<MsgId>,
    /// So many of its messages have the line of their ack, those that were pruned since included.
    pub(super) acked: u64,
    /// Whether it never had a message when its file began to be read, and the file was not read to its end since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) anew: bool,
}

impl Default for Stored {
    fn default() -> Stored {
        Stored {
            version: VERSION,
            files: Positions::new(),
            mailboxes: BTreeMap::new(),
        }
    }
}

impl Reached {
    pub(super) fn seq(&self) -> Seq {
        Seq(self.through)
    }
}

impl Stored {
    /// What was kept; nothing where there is none that reads.
    pub(super) fn load(folder: &Folder) -> Stored {
        let read = || -> io::Result<Stored> {
            let file = OpenOptions::new().read(true).open(folder.file(FILE))?;
            let mut bytes = Vec::new();
            file.take(MAX_BYTES).read_to_end(&mut bytes)?;
            Ok(serde_json::from_slice(&bytes)?)
        };
        match read() {
            Ok(stored) if stored.version == VERSION => stored,
            _ => Stored::default(),
        }
    }

    /// Keeps it.
    pub(super) fn save(&self, folder: &Folder) -> Result<(), MirrorError> {
        let (beside, path) = (folder.file(BESIDE), folder.file(FILE));
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&beside)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            fs::rename(&beside, &path)
        };
        write().map_err(failed("write", &path))
    }

    /// The positions of a file and of its earlier pieces, which are taken out.
    pub(super) fn take_files(&mut self, name: &str) -> Positions {
        let is_piece = |other: &str| {
            other
                .strip_prefix(name)
                .is_some_and(|behind| behind.is_empty() || behind.starts_with('.'))
        };
        let mut taken = Positions::new();
        self.files.retain(|other, position| {
            let piece = is_piece(other);
            if piece {
                taken.insert(other.clone(), position.clone());
            }
            !piece
        });
        taken
    }
}
