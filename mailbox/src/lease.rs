//! The right to handle one message, as a value.

use tokio::sync::{mpsc, oneshot};

use crate::clock::Moment;
use crate::command::Lessee;
use crate::envelope::Envelope;
use crate::mailboxes::{MailboxError, Mailboxes};
use crate::names::{LeaseId, MailboxName, Seq};

/// The right to handle one message. Acknowledging or giving back consumes it; it cannot be copied.
///
/// Dropping it does neither: the message stays in hand until the lease expires or, where it was
/// taken for the process, until the process ends, and the attempt counts. So a handler that is torn
/// down in the middle of its work has not un-tried anything.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a message whose lease is dropped stays in hand until the lease or the process ends"]
pub struct Lease {
    pub(crate) id: LeaseId,
    pub(crate) mailbox: MailboxName,
    pub(crate) seq: Seq,
    pub(crate) until: Option<Moment>,
}

impl Lease {
    /// The name of the lease.
    pub fn id(&self) -> LeaseId {
        self.id
    }

    /// The mailbox of the message.
    pub fn mailbox(&self) -> &MailboxName {
        &self.mailbox
    }

    /// The number of the message.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// When it was to expire by itself as it was given; extending it does not show here.
    pub fn until(&self) -> Option<Moment> {
        self.until
    }
}

/// A message that was taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The right to handle it.
    pub lease: Lease,
    /// The message.
    pub envelope: Envelope,
    /// Which attempt this is, from 1.
    pub attempt: u32,
}

/// A lease that was asked for together with something else ([`Mailboxes::ack_then_lease`]).
///
/// Dropped, it is given up: a message that was taken for it goes back to its mailbox with its attempt.
#[derive(Debug)]
#[must_use = "a lease that is dropped is given up"]
pub struct Leasing {
    pub(crate) mailboxes: Mailboxes,
    pub(crate) of: MailboxName,
    pub(crate) lessee: Lessee,
    pub(crate) answer: oneshot::Receiver<Result<Option<Transit>, MailboxError>>,
}

impl Leasing {
    /// Waits until there is a message, like [`Mailboxes::lease`]. Cancel-safe in the same way.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn delivery(self) -> Result<Delivery, MailboxError> {
        let answer = self.answer.await.map_err(|_| MailboxError::Closed)??;
        match answer.and_then(Transit::receive) {
            Some(delivery) => Ok(delivery),
            None => self.mailboxes.lease(&self.of, self.lessee).await,
        }
    }
}

/// A lease that nobody received.
#[derive(Debug)]
pub(crate) struct Unreceived {
    pub(crate) of: MailboxName,
    pub(crate) seq: Seq,
    pub(crate) lease: LeaseId,
}

/// A delivery on its way to whoever waits for it. Dropped on the way, it goes back to the mailbox
/// with its attempt.
#[derive(Debug)]
pub(crate) struct Transit {
    delivery: Option<Delivery>,
    /// Unbounded, since a destructor cannot wait; it holds at most one entry a lease in hand.
    back: mpsc::UnboundedSender<Unreceived>,
}

impl Transit {
    pub(crate) fn new(delivery: Delivery, back: mpsc::UnboundedSender<Unreceived>) -> Transit {
        Transit {
            delivery: Some(delivery),
            back,
        }
    }

    pub(crate) fn delivery(&self) -> Option<&Delivery> {
        self.delivery.as_ref()
    }

    pub(crate) fn receive(mut self) -> Option<Delivery> {
        self.delivery.take()
    }
}

impl Drop for Transit {
    fn drop(&mut self) {
        if let Some(Delivery { lease, .. }) = self.delivery.take() {
            let Lease {
                id,
                mailbox,
                seq,
                until: _,
            } = lease;
            // Where the writer has ended, its next life voids the lease.
            let _ = self.back.send(Unreceived {
                of: mailbox,
                seq,
                lease: id,
            });
        }
    }
}
