//! What happens to a message after it was appended. These events are the log that replay shows, and
//! the only thing from which a message's state is derived.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::names::{Digest, Incarnation, LeaseId, Seq};

/// Who holds a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Holder {
    /// One life of the process: the lease is void as soon as that life has ended.
    Process(Incarnation),
    /// Somebody outside, by the lease's own id: it lasts until its time and outlives restarts.
    Pull,
}

/// Who acknowledged a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AckedBy {
    /// The actor's handler, under the process's lease.
    Actor,
    /// Somebody outside, under a pull lease.
    Pull,
    /// A line that another program wrote, which needs no lease.
    Line {
        /// Who the line says it is from.
        from: Arc<str>,
    },
    /// The mailbox itself: `superseded` or `unchanged`.
    Policy,
    /// Whoever looks after the quarantine: `dropped`.
    Operator,
}

impl fmt::Display for AckedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AckedBy::Actor => f.write_str("actor"),
            AckedBy::Pull => f.write_str("pull"),
            AckedBy::Line { from } => f.write_str(from),
            AckedBy::Policy => f.write_str("mailbox"),
            AckedBy::Operator => f.write_str("operator"),
        }
    }
}

/// How an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureKind {
    /// The handler said why and asked for a retry.
    Explained,
    /// The handler panicked.
    Panic,
    /// The handler ended with an error that it did not explain.
    Error,
    /// The handler missed its deadline.
    Deadline,
    /// The handler was killed.
    Killed,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FailureKind::Explained => "explained",
            FailureKind::Panic => "panic",
            FailureKind::Error => "error",
            FailureKind::Deadline => "deadline",
            FailureKind::Killed => "killed",
        })
    }
}

/// Why a message was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QuarantineCause {
    /// It spent its attempts.
    Attempts,
    /// Its handler rejected it.
    Rejected,
}

/// One thing that happened to a message.
///
/// A stored format: variants and fields are only ever added at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryEvent {
    /// It was taken; the attempt counts from here, before a handler runs.
    Leased {
        /// The lease.
        lease: LeaseId,
        /// Whose it is.
        holder: Holder,
        /// The attempt, from 1.
        attempt: u32,
        /// When the lease expires by itself.
        until: Option<Moment>,
    },
    /// The lease got a later time.
    Extended {
        /// The lease.
        lease: LeaseId,
        /// When it expires now.
        until: Moment,
    },
    /// It was handled for good.
    Acked {
        /// The lease it was acked under; a foreign line and the mailbox itself have none.
        lease: Option<LeaseId>,
        /// What came of it.
        outcome: Arc<str>,
        /// Who says so.
        by: AckedBy,
        /// The digest of what the handler read.
        read: Option<Digest>,
    },
    /// The attempt failed.
    Failed {
        /// The lease.
        lease: LeaseId,
        /// Why, in the handler's words.
        reason: Arc<str>,
        /// In which way.
        kind: FailureKind,
        /// How long it rests.
        rest: Duration,
    },
    /// It was given back unhandled; the attempt does not count.
    HandedBack {
        /// The lease.
        lease: LeaseId,
        /// Why.
        reason: Arc<str>,
        /// Not to be taken before this.
        until: Option<Moment>,
    },
    /// The lease ran out; the attempt counts.
    Expired {
        /// The lease.
        lease: LeaseId,
    },
    /// The process that held the lease ended; the attempt counts.
    Voided {
        /// The lease.
        lease: LeaseId,
    },
    /// It was set aside.
    Quarantined {
        /// Why.
        cause: QuarantineCause,
        /// In words.
        reason: Arc<str>,
    },
    /// It was taken out of quarantine, unread, with no attempt counted.
    Retried,
    /// It was taken out of quarantine for good: acked with the outcome `dropped`.
    Dropped {
        /// Why.
        reason: Arc<str>,
    },
}

/// A [`DeliveryEvent`] with its message and its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StampedEvent {
    /// Which message of the mailbox.
    pub seq: Seq,
    /// When.
    pub at: Moment,
    /// What happened.
    pub event: DeliveryEvent,
}
