//! Mailboxes that do not do what they are asked: what that means for whoever asks, and for a person.

use std::time::Duration;

use mailbox::{Command, Leasing, Lessee, MailboxError, Moment, Reply};

use crate::roster::{Guarded, InHand, Plant};

/// How long whoever was refused rests before it asks again: a full disk does not become empty in a moment, and
/// asking again costs little.
pub(crate) const STORE_REST: Duration = Duration::from_secs(1);

/// How long a takt rests whose messages were not taken: it looks at the world anew, which costs more.
pub(crate) const TAKT_REST: Duration = Duration::from_secs(60);

/// What was not refused again for so long is over, though nothing showed that it is: twice the longest rest.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(120);

/// How long whoever waits for one round waits for mailboxes that do not answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What the mailboxes are asked for, the simplest first: whoever does the later does the earlier too. On a full
/// disk messages alone are refused, since acks have a reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    Look,
    Settle,
    Send,
}

/// Since when they refuse it, and how they said so last.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) since: Moment,
    pub(crate) error: MailboxError,
    last: Moment,
}

/// What the mailboxes refuse to do, each for what was asked.
#[derive(Debug, Default)]
pub(crate) struct Ailing([Guarded<Option<Trouble>>; 3]);

impl Ailing {
    /// The trouble that has lasted longest.
    fn longest(&self, now: Moment) -> Option<Trouble> {
        let lasting = |one: &Guarded<Option<Trouble>>| {
            let mut one = one.lock();
            one.take_if(|trouble| now.since(trouble.last) > FORGOTTEN_AFTER);
            one.clone()
        };
        self.0
            .iter()
            .filter_map(lasting)
            .min_by_key(|trouble| trouble.since)
    }

    /// Whether that is new.
    fn refused(&self, asked: Asked, error: &MailboxError, now: Moment) -> bool {
        let mut one = self.0[asked as usize].lock();
        let since = one.as_ref().map(|trouble| trouble.since);
        let error = error.clone();
        *one = Some(Trouble {
            since: since.unwrap_or(now),
            error,
            last: now,
        });
        since.is_none()
    }

    /// Whether anything had been the matter.
    fn did(&self, asked: Asked) -> bool {
        let took = |one: &Guarded<Option<Trouble>>| one.lock().take().is_some();
        self.0[..=asked as usize].iter().filter(|one| took(one)).count() > 0
    }
}

impl Plant {
    /// What the mailboxes refuse to do, if anything.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.ailing.longest(self.now())
    }

    /// The mailboxes did not do what they were asked. It is said when it begins, not each time that they are
    /// asked again.
    pub(crate) fn refused(&self, asked: Asked, error: &MailboxError) {
        // Others say that they were closed, or that what was asked cannot be done: time mends neither.
        let may_pass = matches!(error, MailboxError::Store(_) | MailboxError::Contended { .. });
        if may_pass && self.ailing.refused(asked, error, self.now()) {
            tracing::error!(
                "the mailboxes do not answer: {}; they are asked again",
                crate::actor::chain(error)
            );
            self.changed();
        }
    }

    /// The mailboxes did it.
    pub(crate) fn did(&self, asked: Asked) {
        if self.ailing.did(asked) {
            tracing::info!("the mailboxes answer again");
            self.changed();
        }
    }

    /// Has something written about a message in hand. Mailboxes that cannot write are asked again until they can,
    /// or until the host is drained: the next incarnation then finds the message unread.
    pub(crate) async fn settle(&self, in_hand: &InHand, command: Command) -> Option<Reply> {
        let answer = self.mailboxes.command(command.clone()).await;
        self.settled(in_hand, command, answer).await
    }

    /// The same, and asks for the next message of that mailbox in the same group; once, since whoever is asked
    /// again after a failure asks for that later.
    pub(crate) async fn settle_then_lease(
        &self,
        in_hand: &InHand,
        command: Command,
    ) -> (Option<Reply>, Leasing) {
        let (answer, leasing) = self
            .mailboxes
            .command_then_lease(command.clone(), &in_hand.of, Lessee::Process)
            .await;
        (self.settled(in_hand, command, answer).await, leasing)
    }

    /// Goes on from the first answer.
    async fn settled(
        &self,
        in_hand: &InHand,
        command: Command,
        mut answer: Result<Reply, MailboxError>,
    ) -> Option<Reply> {
        let asked = match &command {
            Command::Ack { done, .. } if !done.emits.is_empty() => Asked::Send,
            _ => Asked::Settle,
        };
        let mut draining = self.draining.subscribe();
        loop {
            match answer {
                Ok(reply) => {
                    self.did(asked);
                    return Some(reply);
                }
                Err(error @ (MailboxError::Store(_) | MailboxError::Contended { .. })) => {
                    self.refused(asked, &error);
                }
                Err(error) => {
                    let text = crate::actor::chain(&error);
                    tracing::warn!(actor = %in_hand.of, msg_id = %in_hand.msg_id, "not acknowledged: {text}");
                    return None;
                }
            }
            tokio::select! {
                () = self.clock().sleep_until(self.now().after(STORE_REST)) => {}
                // The sender lives in `self`: the channel cannot close.
                _ = draining.wait_for(|draining| *draining) => return None,
            }
            answer = self.mailboxes.command(command.clone()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_millis(seconds * 1000)
    }

    #[test]
    fn it_is_over_when_they_do_it_or_nobody_was_refused_for_long() {
        let ailing = Ailing::default();
        let since = |now| ailing.longest(at(now)).map(|trouble| trouble.since);
        assert!(ailing.refused(Asked::Send, &MailboxError::Closed, at(10)));
        assert!(!ailing.refused(Asked::Send, &MailboxError::Closed, at(20)));
        assert_eq!(since(140), Some(at(10)));
        // An ack passes where a message is refused.
        assert!(!ailing.did(Asked::Settle));
        assert_eq!(since(140), Some(at(10)));
        assert!(ailing.did(Asked::Send));
        assert_eq!(since(140), None);

        assert!(ailing.refused(Asked::Settle, &MailboxError::Closed, at(200)));
        assert_eq!(since(320), Some(at(200)));
        assert_eq!(since(321), None);
    }
}
