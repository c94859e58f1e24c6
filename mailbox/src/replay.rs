//! A mailbox in order, each message with everything that happened to it: the post-mortem's reading.
//! Reading changes nothing.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::envelope::Envelope;
use crate::event::StampedEvent;
use crate::mailboxes::{MailboxError, Mailboxes};
use crate::names::{MailboxName, Seq};

/// Messages read at a time. Each page reads the log once, so it is large; small messages make it a
/// few megabytes.
pub const REPLAY_PAGE: u64 = 10_000;

/// One message and its events, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// The message, as it stands now.
    pub envelope: Envelope,
    /// What happened to it.
    pub events: Vec<StampedEvent>,
}

impl Replayed {
    /// Whether anything of it, the append or an event, was at or after `since` and before `until`.
    pub fn within(&self, since: Option<Moment>, until: Option<Moment>) -> bool {
        let fits = |at: Moment| since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until);
        fits(self.envelope.appended_at) || self.events.iter().any(|event| fits(event.at))
    }
}

/// Reads a mailbox from its beginning, a page at a time.
///
/// ```
/// # use std::sync::Arc;
/// # use mailbox::{Done, Draft, Lessee, Mailboxes, Message, SystemClock};
/// use mailbox::Replay;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let mailboxes = Mailboxes::open_memory(Arc::new(SystemClock::start()));
/// # let of: mailbox::MailboxName = "greeter".parse().unwrap();
/// # let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"lab","intent":"greet","msg_id":"m-1"}"#;
/// # mailboxes.append(vec![Draft::new(of.clone(), Message::parse(line).unwrap())]).await.unwrap();
/// # let delivery = mailboxes.lease(&of, Lessee::Process).await.unwrap();
/// # mailboxes.ack(delivery.lease, Done::new("greeted")).await.unwrap();
/// let mut replay = Replay::new(mailboxes.clone(), of);
/// while let Some(page) = replay.next_page().await.unwrap() {
///     for message in page {
///         println!("{}: {} events", message.envelope.seq, message.events.len());
/// #       assert_eq!(message.events.len(), 2);
///     }
/// }
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct Replay {
    mailboxes: Mailboxes,
    of: MailboxName,
    next: Seq,
}

impl Replay {
    /// From the mailbox's first message on.
    pub fn new(mailboxes: Mailboxes, of: MailboxName) -> Replay {
        Replay {
            mailboxes,
            of,
            next: Seq::FIRST,
        }
    }

    /// The next messages in order, or `None` after the last. A page from which everything was pruned
    /// is empty.
    ///
    /// # Errors
    /// When the mailboxes cannot be read.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Replayed>>, MailboxError> {
        let statuses = self.mailboxes.status().await?;
        let total = statuses
            .iter()
            .find(|status| status.name == self.of)
            .map_or(0, |status| status.total);
        if self.next.0 > total {
            return Ok(None);
        }
        let last = Seq(self.next.0.saturating_add(REPLAY_PAGE - 1));
        let page = self.mailboxes.history(&self.of, self.next..=last).await?;
        self.next = last.next();
        Ok(Some(
            page.into_iter()
                .map(|(envelope, events)| Replayed { envelope, events })
                .collect(),
        ))
    }
}
