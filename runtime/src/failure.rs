//! How a turn, or an actor's start, fails.

use std::time::Duration;

use mailbox::FailureKind;

use crate::Fault;
use crate::external::ProgramError;

/// Why a turn did not end as done.
#[derive(Debug, thiserror::Error)]
pub enum TurnFailure {
    /// The handler said why.
    #[error("{0}")]
    Fault(Fault),
    /// The handler panicked.
    #[error("{text}")]
    Panicked {
        /// Where, and with what words.
        text: String,
    },
    /// The turn ran longer than it may without showing progress.
    #[error("no progress within {} s", .after.as_secs_f64())]
    Deadline {
        /// How long it may run.
        after: Duration,
    },
    /// The actor could not be built.
    #[error("cannot start: {why}")]
    Start {
        /// Why.
        why: String,
    },
    /// The turn was stopped from outside.
    #[error("stopped from outside")]
    Killed,
}

impl TurnFailure {
    /// How the mailbox records it, where an attempt was spent.
    pub(crate) fn kind(&self) -> FailureKind {
        match self {
            Self::Fault(Fault::Crash(error)) => match error.downcast_ref() {
                Some(ProgramError::Deadline { .. }) => FailureKind::Deadline,
                Some(ProgramError::NotThere { .. } | ProgramError::Failed { .. }) | None => {
                    FailureKind::Error
                }
            },
            Self::Fault(Fault::Retry(_) | Fault::Reject(_) | Fault::Wait { .. }) => FailureKind::Explained,
            Self::Panicked { .. } => FailureKind::Panic,
            Self::Deadline { .. } => FailureKind::Deadline,
            Self::Start { .. } | Self::Killed => FailureKind::Killed,
        }
    }
}
