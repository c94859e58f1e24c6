//! A mailbox in order, each message with everything that happened to it: the post-mortem's reading.
//! Reading changes nothing.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::envelope::Envelope;
use crate::event::StampedEvent;
use crate::mailboxes::{HistoryAnswer, MailboxError, Mailboxes};
use crate::names::{MailboxName, Seq};

/// Messages read at a time: enough to make little of the round trip, few enough for a processor's cache
/// and not to keep the writer from appending.
pub const REPLAY_PAGE: u64 = 500;
/// Pages that are asked for at once: the next ones are read while one is looked at.
const AHEAD: usize = 4;

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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::Poll;

    use super::*;
    use crate::clock::SystemClock;
    use crate::command::{Done, Lessee};
    use crate::event::DeliveryEvent;
    use crate::message::{Draft, Message};
    use crate::store::DiskStore;

    fn greeter() -> MailboxName {
        "greeter".parse().unwrap()
    }

    fn drafts(from: u64, to: u64) -> Vec<Draft> {
        let draft = |n: u64| {
            let ts = "2026-05-14T17:45:00Z".parse().unwrap();
            let id = format!("m-{n}").parse().unwrap();
            let message = Message::build(ts, "lab", "greet", &id, serde_json::json!({"n": n})).unwrap();
            Draft::new(greeter(), message)
        };
        (from..=to).map(draft).collect()
    }

    async fn all(replay: &mut Replay) -> Vec<u64> {
        let mut seqs = Vec::new();
        while let Some(page) = replay.next_page().await.unwrap() {
            seqs.extend(page.iter().map(|message| message.envelope.seq.0));
        }
        seqs
    }

    #[tokio::test]
    async fn every_message_is_shown_once_though_more_come_and_the_reader_gives_up_in_between() {
        let dir = tempfile::tempdir().unwrap();
        let store = DiskStore::open(dir.path()).unwrap();
        let mailboxes = Mailboxes::open(store, Arc::new(SystemClock::start())).unwrap();
        let mut replay = Replay::new(mailboxes.clone(), greeter());
        assert!(replay.next_page().await.unwrap().is_none());
        mailboxes.append(drafts(1, REPLAY_PAGE + 5)).await.unwrap();
        let first = replay.next_page().await.unwrap().unwrap();
        assert_eq!(first.len() as u64, REPLAY_PAGE);
        assert_eq!(first[6].envelope.message.msg_id().as_str(), "m-7");
        // The second page is on its way, and ends where the mailbox did then.
        mailboxes
            .append(drafts(REPLAY_PAGE + 6, 3 * REPLAY_PAGE))
            .await
            .unwrap();
        let mut apart = replay.clone();
        for _ in 0..3 {
            // Whether it is ready or not, it is not looked at again; a page that was ready would be lost.
            let ready = {
                let mut given_up = pin!(replay.next_page());
                poll_fn(|context| Poll::Ready(given_up.as_mut().poll(context).is_ready())).await
            };
            if ready {
                replay = apart.clone();
            }
        }
        let expected: Vec<u64> = (REPLAY_PAGE + 1..=3 * REPLAY_PAGE).collect();
        assert_eq!(all(&mut replay).await, expected);
        assert_eq!(all(&mut apart).await, expected);
        mailboxes.close().await;
        assert!(matches!(replay.next_page().await, Err(MailboxError::Closed)));
    }

    #[tokio::test]
    async fn each_message_has_its_own_events_in_their_order() {
        let mailboxes = Mailboxes::open_memory(Arc::new(SystemClock::start()));
        mailboxes.append(drafts(1, 9)).await.unwrap();
        let mut leased = Vec::new();
        for _ in 0..4 {
            leased.push(mailboxes.lease(&greeter(), Lessee::Process).await.unwrap());
        }
        for delivery in leased.into_iter().rev() {
            mailboxes.ack(delivery.lease, Done::new("greeted")).await.unwrap();
        }
        let page = Replay::new(mailboxes, greeter())
            .next_page()
            .await
            .unwrap()
            .unwrap();
        for Replayed { envelope, events } in page {
            assert!(events.iter().all(|event| event.seq == envelope.seq));
            match events.as_slice() {
                [] => assert!(envelope.seq.0 > 4),
                [leased, acked] => {
                    assert!(matches!(leased.event, DeliveryEvent::Leased { .. }));
                    assert!(matches!(acked.event, DeliveryEvent::Acked { .. }));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
