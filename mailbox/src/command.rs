//! What can be asked of the mailboxes, and what they answer, as values: the same are spoken in
//! process, over a control socket, in the model test and in the crash tests.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::event::{AckedBy, FailureKind, Holder};
use crate::message::Draft;
use crate::names::{Digest, LeaseId, MailboxName, MsgId, Seq};
use crate::past::{Past, PastError};
use crate::policy::Policy;

/// One thing asked of the mailboxes that may change them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// From now on this mailbox is treated so.
    Declare {
        /// Which.
        mailbox: MailboxName,
        /// How.
        policy: Policy,
    },
    /// Append these, in this order, all or none.
    Append {
        /// What is appended.
        drafts: Vec<Draft>,
    },
    /// Take the next deliverable message.
    Lease {
        /// Of which mailbox.
        of: MailboxName,
        /// For whom.
        lessee: Lessee,
        /// The name of the lease, chosen by who asks.
        lease: LeaseId,
    },
    /// Hold it longer.
    Extend {
        /// Of which mailbox.
        of: MailboxName,
        /// Which message.
        seq: Seq,
        /// Under which lease.
        lease: LeaseId,
        /// Until when.
        until: Moment,
    },
    /// It is handled for good.
    Ack {
        /// Of which mailbox.
        of: MailboxName,
        /// Which message, by which right.
        claim: Claim,
        /// Who says so.
        by: AckedBy,
        /// What came of it.
        done: Done,
    },
    /// It is not.
    Nack {
        /// Of which mailbox.
        of: MailboxName,
        /// Which message, by which right.
        claim: Claim,
        /// Why, and what now.
        nack: Nack,
    },
    /// Take a message out of quarantine: unread again, its attempts counted anew. What happened to it
    /// before stays in its history.
    RetryQuarantined {
        /// Of which mailbox.
        of: MailboxName,
        /// Which message.
        id: MsgId,
    },
    /// Take a message out of quarantine for good: acked with the outcome `dropped`.
    DropQuarantined {
        /// Of which mailbox.
        of: MailboxName,
        /// Which message.
        id: MsgId,
        /// Why.
        reason: String,
    },
    /// Take these in with what happened to them elsewhere, in this order, all or none.
    Restore {
        /// Into which mailbox.
        of: MailboxName,
        /// The messages.
        past: Vec<Past>,
    },
}

/// For whom a message is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lessee {
    /// This life of the process: void at once when it ends.
    Process,
    /// Somebody outside, for a time; the lease has its own id and outlives restarts.
    Pull {
        /// For how long.
        for_: Duration,
    },
}

/// Which message an ack or nack means, and by which right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Claim {
    /// The one under this lease.
    Lease {
        /// Its number.
        seq: Seq,
        /// The lease.
        lease: LeaseId,
    },
    /// The one with this id.
    Id {
        /// Its id.
        id: MsgId,
        /// The lease; without it the current pull lease is meant, and a foreign line needs none.
        lease: Option<LeaseId>,
    },
}

/// What came of a message that is handled for good.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Done {
    /// In words; a repeat of the message is told them.
    pub outcome: String,
    /// Messages that this one led to, committed in one group with the ack.
    pub emits: Vec<Draft>,
    /// The digest of what the handler read, so that a replay can say whether the world moved.
    pub read: Option<Digest>,
}

impl Done {
    /// Done, with nothing emitted and nothing read.
    pub fn new(outcome: impl Into<String>) -> Done {
        Done {
            outcome: outcome.into(),
            emits: Vec::new(),
            read: None,
        }
    }
}

/// Why a message is given back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Nack {
    /// The attempt failed: it rests, and after its last attempt it goes to quarantine.
    Failed {
        /// Why.
        reason: String,
        /// How long it rests, where the handler knows better than the backoff.
        retry_after: Option<Duration>,
        /// In which way it failed.
        kind: FailureKind,
    },
    /// It can never be handled: to quarantine at once.
    Reject {
        /// Why.
        reason: String,
    },
    /// It was not tried: the attempt is given back too.
    HandBack {
        /// Why.
        reason: String,
        /// Not to be taken before this.
        until: Option<Moment>,
    },
}

/// What appending one message came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Appended {
    /// It is in the mailbox under this number.
    Placed(Seq),
    /// It was there before.
    Known {
        /// Under this number.
        seq: Seq,
        /// What came of it, where it is acked.
        outcome: Option<String>,
    },
}

impl Appended {
    /// The number under which the message is in the mailbox.
    pub fn seq(&self) -> Seq {
        match self {
            Appended::Placed(seq) | Appended::Known { seq, .. } => *seq,
        }
    }
}

/// A message that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// Its number.
    pub seq: Seq,
    /// The lease.
    pub lease: LeaseId,
    /// Whose it is.
    pub holder: Holder,
    /// The attempt, from 1.
    pub attempt: u32,
    /// When the lease expires by itself.
    pub until: Option<Moment>,
}

/// What a nack came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nacked {
    /// Whether it went to quarantine.
    pub quarantined: bool,
    /// When it can be taken again; `None` for at once, or never when quarantined.
    pub next: Option<Moment>,
}

/// The answer to a [`Command`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// To `Declare`.
    Declared,
    /// To `Append` and `Restore`, in the order of what was given.
    Appended(Vec<Appended>),
    /// To `Lease`: this one.
    Leased(Granted),
    /// To `Lease`: nothing is deliverable now.
    Nothing {
        /// When time alone may change that.
        next: Option<Moment>,
    },
    /// To `Extend`.
    Extended,
    /// To `Ack`: done, and what became of the messages that it led to.
    Acked(Vec<Appended>),
    /// To `Nack`.
    Nacked(Nacked),
    /// To `RetryQuarantined`.
    Retried,
    /// To `DropQuarantined`.
    Dropped,
    /// It was refused, and nothing changed.
    Refused(Refusal),
}

/// Why a command was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// There is no such message.
    #[error("mailbox {of} has no message {id}")]
    NoSuchMessage {
        /// In which mailbox.
        of: MailboxName,
        /// The id.
        id: MsgId,
    },
    /// There is no message with that number.
    #[error("mailbox {of} has no message number {seq}")]
    NoSuchNumber {
        /// In which mailbox.
        of: MailboxName,
        /// The number.
        seq: Seq,
    },
    /// The lease is not, or no longer, the one that holds the message.
    #[error("the lease on message {seq} of mailbox {of} is no longer current")]
    NotCurrent {
        /// In which mailbox.
        of: MailboxName,
        /// Which message.
        seq: Seq,
    },
    /// Nobody has it.
    #[error("message {seq} of mailbox {of} is not taken, and only what is taken can be settled")]
    NotTaken {
        /// In which mailbox.
        of: MailboxName,
        /// Which message.
        seq: Seq,
    },
    /// Its actor has it, and not the pull side.
    #[error("message {seq} of mailbox {of} is in the hands of its actor")]
    WithItsActor {
        /// In which mailbox.
        of: MailboxName,
        /// Which message.
        seq: Seq,
    },
    /// It was acked before.
    #[error("message {seq} of mailbox {of} is acknowledged already: {outcome}")]
    AlreadyAcked {
        /// In which mailbox.
        of: MailboxName,
        /// Which message.
        seq: Seq,
        /// With this outcome.
        outcome: Arc<str>,
    },
    /// It is in quarantine.
    #[error("message {seq} of mailbox {of} is in quarantine")]
    Quarantined {
        /// In which mailbox.
        of: MailboxName,
        /// Which message.
        seq: Seq,
    },
    /// It is not in quarantine.
    #[error("message {seq} of mailbox {of} is not in quarantine")]
    NotQuarantined {
        /// In which mailbox.
        of: MailboxName,
        /// Which message.
        seq: Seq,
    },
    /// What is said to have happened to it cannot have happened in that order.
    #[error("the history of message {id} does not hold together: {why}")]
    NoHistory {
        /// Its id.
        id: MsgId,
        /// Where it breaks.
        why: PastError,
    },
}
