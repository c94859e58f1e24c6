//! A message together with everything that happened to it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::event::{AckedBy, Holder, QuarantineCause};
use crate::message::Message;
use crate::names::{Digest, LeaseId, MailboxName, MsgId, Seq, Subject};

/// A message in its mailbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// The mailbox.
    pub mailbox: MailboxName,
    /// Its number there.
    pub seq: Seq,
    /// The message.
    pub message: Message,
    /// What it is about.
    pub subject: Option<Subject>,
    /// The digest of its evidence.
    pub evidence: Option<Digest>,
    /// The message that led to it.
    pub cause: Option<MsgId>,
    /// When it was appended.
    pub appended_at: Moment,
    /// How often it was tried. An attempt that was handed back does not count.
    pub attempts: u32,
    /// Where it stands.
    pub state: EnvelopeState,
}

/// Where a message stands. Derived from the log, never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EnvelopeState {
    /// Waiting to be taken.
    Unread {
        /// Not before this, where it rests after a failure.
        not_before: Option<Moment>,
    },
    /// In somebody's hand.
    Leased {
        /// Under this lease.
        lease: LeaseId,
        /// Whose.
        holder: Holder,
        /// Until then, where it expires by itself.
        until: Option<Moment>,
    },
    /// Handled for good.
    Acked {
        /// What came of it.
        outcome: Arc<str>,
        /// When.
        at: Moment,
        /// Who said so.
        by: AckedBy,
    },
    /// Set aside.
    Quarantined {
        /// Since when.
        at: Moment,
        /// Why.
        cause: QuarantineCause,
        /// In words.
        reason: Arc<str>,
    },
}

/// The states of a message, without their details: what a [`Filter`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Standing {
    /// Unread, also while it rests or is leased: appended, not acked, not quarantined.
    Unread,
    /// Acked.
    Acked,
    /// Quarantined.
    Quarantined,
}

/// Which envelopes are asked for. A page holds at most [`Filter::limit`]; the next begins after the
/// last number of this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Only numbers greater than this.
    pub after: Option<Seq>,
    /// Only messages that stand so.
    pub standing: Option<Standing>,
    /// Only the message with this id.
    pub id: Option<MsgId>,
    /// At most so many.
    pub limit: usize,
}

/// A page of envelopes: large enough to make little of the round trip, small enough not to keep the
/// writer from appending.
pub const PAGE: usize = 256;

impl Default for Filter {
    fn default() -> Filter {
        Filter {
            after: None,
            standing: None,
            id: None,
            limit: PAGE,
        }
    }
}

impl Filter {
    /// Everything, a page at a time.
    pub fn all() -> Filter {
        Filter::default()
    }

    /// What is not acked and not quarantined.
    pub fn unread() -> Filter {
        Filter {
            standing: Some(Standing::Unread),
            ..Filter::default()
        }
    }

    /// What is set aside.
    pub fn quarantined() -> Filter {
        Filter {
            standing: Some(Standing::Quarantined),
            ..Filter::default()
        }
    }

    /// The one message with this id.
    pub fn id(id: MsgId) -> Filter {
        Filter {
            id: Some(id),
            ..Filter::default()
        }
    }

    /// The same, after this number.
    #[must_use]
    pub fn after(self, seq: Seq) -> Filter {
        Filter {
            after: Some(seq),
            ..self
        }
    }
}

/// One acknowledgement, in the order in which a mailbox's messages were acked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// Its place in that order, from 1.
    pub place: u64,
    /// The message.
    pub seq: Seq,
    /// Its id.
    pub msg_id: MsgId,
    /// What came of it.
    pub outcome: Arc<str>,
    /// When.
    pub at: Moment,
    /// Who said so.
    pub by: AckedBy,
}

/// A mailbox in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxStatus {
    /// Which.
    pub name: MailboxName,
    /// All messages ever appended.
    pub total: u64,
    /// Neither acked nor quarantined, with those that rest or are leased.
    pub unread: u64,
    /// Of the unread: in somebody's hand.
    pub leased: u64,
    /// Of the leased: pulled from outside.
    pub pulled: u64,
    /// Of the unread: resting until a time that has not come.
    pub backing_off: u64,
    /// Acked, with those that were pruned since. The rest of `total` is unread or in quarantine.
    pub acked: u64,
    /// Of the acked: no longer kept.
    pub pruned: u64,
    /// In quarantine.
    pub quarantined: u64,
    /// The place of the latest ack among those that [`Mailboxes::acks`](crate::Mailboxes::acks) shows.
    pub last_ack: u64,
    /// When the oldest unread message was appended.
    pub oldest_unread: Option<Moment>,
    /// When the next message can be taken: now or earlier where one is deliverable, later where all
    /// rest or as many are in hand as may be, `None` where nothing waits for time.
    pub next_deliverable: Option<Moment>,
}
