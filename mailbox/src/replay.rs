//! A mailbox in order, each message with everything that happened to it: the post-mortem's reading.
//! Reading changes nothing.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::envelope::Envelope;
use crate::event::StampedEvent;
use crate::mailboxes::{HistoryAnswer, MailboxError, Mailboxes};
use crate::names::{MailboxName, Seq};

/// Messages read at a time: large enough to make little of the round trip, small enough to keep the
/// writer from appending for about a millisecond only.
pub const REPLAY_PAGE: u64 = 2_000;
/// Pages that are asked for at once: the next one is read while this one is looked at.
const AHEAD: usize = 2;

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
#[derive(Debug)]
pub struct Replay {
    mailboxes: Mailboxes,
    of: MailboxName,
    /// The first number that was not returned yet.
    next: Seq,
    /// How many messages the mailbox had when that was last looked at.
    total: u64,
    /// Pages that are on their way, each with its last number.
    asked: VecDeque<(Seq, HistoryAnswer)>,
}

impl Clone for Replay {
    /// Goes on from the same place, by itself.
    fn clone(&self) -> Replay {
        Replay {
            mailboxes: self.mailboxes.clone(),
            of: self.of.clone(),
            next: self.next,
            total: self.total,
            asked: VecDeque::new(),
        }
    }
}

impl Replay {
    /// From the mailbox's first message on.
    pub fn new(mailboxes: Mailboxes, of: MailboxName) -> Replay {
        Replay {
            mailboxes,
            of,
            next: Seq::FIRST,
            total: 0,
            asked: VecDeque::new(),
        }
    }

    /// The next messages in order, or `None` after the last. A page from which everything was pruned
    /// is empty. Pages are read ahead: a message is shown as it stood a page ago or later. Cancel-safe:
    /// nothing is left out when this is given up and called again.
    ///
    /// # Errors
    /// When the mailboxes cannot be read. Called again, it goes on with the page that failed.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Replayed>>, MailboxError> {
        let page = self.read_next().await;
        if page.is_err() {
            self.asked.clear();
        }
        page
    }

    async fn read_next(&mut self) -> Result<Option<Vec<Replayed>>, MailboxError> {
        if self.next.0 > self.total {
            self.total = self.count().await?;
        }
        while self.asked.len() < AHEAD {
            let from = self.asked.back().map_or(self.next, |(last, _)| last.next());
            if from.0 > self.total {
                break;
            }
            let last = Seq(from.0.saturating_add(REPLAY_PAGE - 1).min(self.total));
            let answer = self.mailboxes.ask_history(&self.of, from..=last).await?;
            self.asked.push_back((last, answer));
        }
        let Some((last, answer)) = self.asked.front_mut() else {
            return Ok(None);
        };
        let page = answer.await.map_err(|_| MailboxError::Closed)??;
        self.next = last.next();
        self.asked.pop_front();
        Ok(Some(
            page.into_iter()
                .map(|(envelope, events)| Replayed { envelope, events })
                .collect(),
        ))
    }

    /// How many messages the mailbox has.
    async fn count(&self) -> Result<u64, MailboxError> {
        let statuses = self.mailboxes.status().await?;
        let status = statuses.iter().find(|status| status.name == self.of);
        Ok(status.map_or(0, |status| status.total))
    }
}
