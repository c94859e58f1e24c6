//! What a turn sends. It is held back until the turn is done.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mailbox::{Digest, Draft, MailboxName, MessageError, MsgId};

use super::{Occasion, Turn};
use crate::attention::is_full;
use crate::message::{About, Consumes};
use crate::registry::Routed;
use crate::{Actor, Done, Fault, Intent};

/// What a turn has sent so far.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) drafts: Vec<Draft>,
    /// Messages numbered so far; one that goes to several mailboxes is one.
    numbered: u32,
    /// Messages that were not sent because their mailbox is full.
    withheld: BTreeMap<MailboxName, u64>,
}

impl Outbox {
    /// What was not sent, in words; `None` where all was.
    pub(super) fn withheld(&self) -> Option<String> {
        let parts: Vec<_> = self
            .withheld
            .iter()
            .map(|(mailbox, count)| format!("{count} to {mailbox}"))
            .collect();
        (!parts.is_empty()).then(|| format!("not sent, the mailbox being full: {}", parts.join(", ")))
    }
}

/// The header of a message whose id and time its sender chooses itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The message's id; a mailbox takes it once.
    pub msg_id: MsgId,
    /// The message's time.
    pub ts: DateTime<Utc>,
    /// Who says it.
    pub from: String,
}

impl Turn {
    /// Sends a message to every actor that declares the intent, when the turn is done; to the dead-letter mailbox
    /// where none does. Its id is the turn's key and a number. Returns the mailboxes; a takt's messages leave out
    /// those that are full ([`Watermarks`](crate::Watermarks)), which its outcome then says.
    ///
    /// # Errors
    ///
    /// When the payload is no JSON object or the message is larger than 768 KiB.
    pub fn send<I: Intent>(&mut self, intent: I) -> Result<Vec<MailboxName>, SendError> {
        let stamp = self.next_stamp();
        self.send_as(stamp, intent)
    }

    /// Sends a message to one actor, whose messages include the intent; to the dead-letter mailbox where the actor
    /// is not declared. What the receiver does not declare does not compile:
    ///
    /// ```compile_fail,E0277
    /// # use runtime::{Actor, Done, Fault, Intent, Turn, message};
    /// # use schemars::JsonSchema;
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, JsonSchema)]
    /// struct Greet {}
    /// impl Intent for Greet {
    ///     const NAME: &'static str = "greet";
    /// }
    /// #[derive(Serialize, Deserialize, JsonSchema)]
    /// struct Sing {}
    /// impl Intent for Sing {
    ///     const NAME: &'static str = "sing";
    /// }
    /// message! { pub enum GreeterMessage { Greet(Greet) } }
    /// struct Greeter;
    /// impl Actor for Greeter {
    ///     const NAME: &'static str = "greeter";
    ///     type Message = GreeterMessage;
    ///     async fn handle(&mut self, _: GreeterMessage, turn: &mut Turn) -> Result<Done, Fault> {
    ///         turn.tell::<Greeter, _>(Sing {})?; // a greeter does not sing
    ///         Ok(Done::new("sung"))
    ///     }
    /// }
    /// ```
    ///
    /// With `Greet {}` in that place it does:
    ///
    /// ```
    /// # use runtime::{Actor, Done, Fault, Intent, Turn, message};
    /// # use schemars::JsonSchema;
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, JsonSchema)]
    /// # struct Greet {}
    /// # impl Intent for Greet {
    /// #     const NAME: &'static str = "greet";
    /// # }
    /// # message! { pub enum GreeterMessage { Greet(Greet) } }
    /// # struct Greeter;
    /// # impl Actor for Greeter {
    /// #     const NAME: &'static str = "greeter";
    /// #     type Message = GreeterMessage;
    /// #     async fn handle(&mut self, _: GreeterMessage, turn: &mut Turn) -> Result<Done, Fault> {
    /// turn.tell::<Greeter, _>(Greet {})?;
    /// #         Ok(Done::new("told"))
    /// #     }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Turn::send`].
    pub fn tell<A, I>(&mut self, intent: I) -> Result<MailboxName, SendError>
    where
        A: Actor<Message: Consumes<I>>,
        I: Intent,
    {
        let stamp = self.next_stamp();
        let declared = self
            .surroundings
            .registry
            .actors()
            .find(|name| name.as_str() == A::NAME)
            .cloned();
        let to = declared.unwrap_or_else(MailboxName::dead_letter);
        self.post(vec![to.clone()], &stamp, &intent)?;
        Ok(to)
    }

    /// Sends as [`Turn::send`] does, with an id, a time and a sender of one's own: for a dispatcher, whose repeats
    /// are to be recognised.
    ///
    /// # Errors
    ///
    /// As for [`Turn::send`].
    pub fn send_as<I: Intent>(&mut self, stamp: Stamp, intent: I) -> Result<Vec<MailboxName>, SendError> {
        let routed = self.surroundings.registry.route(I::NAME);
        if routed == Routed::Nobody {
            tracing::warn!(actor = %self.actor, intent = I::NAME, "nobody declares the intent: a dead letter");
        }
        let to = routed.mailboxes();
        self.post(to, &stamp, &intent)
    }

    fn next_stamp(&mut self) -> Stamp {
        self.outbox.numbered += 1;
        let id = format!("{}/{}", self.key, self.outbox.numbered);
        let msg_id = id
            .parse()
            .expect("a key is shorter than an id, and its parts hold no control character");
        Stamp {
            msg_id,
            ts: self.now(),
            from: self.actor.to_string(),
        }
    }

    /// Puts a message into the outbox for each of these mailboxes, but for those that are full; which it went to.
    fn post<I: Intent>(
        &mut self,
        mut to: Vec<MailboxName>,
        stamp: &Stamp,
        intent: &I,
    ) -> Result<Vec<MailboxName>, SendError> {
        let message = mailbox::Message::build(stamp.ts, &stamp.from, I::NAME, &stamp.msg_id, intent)
            .map_err(|source| SendError {
                intent: I::NAME,
                source,
            })?;
        let About { subject, evidence } = About::of(intent);
        let cause = self.envelope().map(|envelope| envelope.message.msg_id().clone());
        to.retain(|to| self.lets_in(to));
        self.outbox.drafts.extend(to.iter().map(|to| Draft {
            to: to.clone(),
            message: message.clone(),
            subject: subject.clone(),
            evidence,
            cause: cause.clone(),
        }));
        Ok(to)
    }

    /// Whether a mailbox takes what this turn sends. A takt brings new work in, and looks at the world again next
    /// time, so a full mailbox gets nothing from it; what a message leads to belongs to its ack, which must pass.
    fn lets_in(&mut self, to: &MailboxName) -> bool {
        let full = match self.occasion {
            Occasion::Takt { .. } => is_full(&self.surroundings.overview.borrow().attention, to),
            Occasion::Message { .. } => false,
        };
        if full {
            *self.outbox.withheld.entry(to.clone()).or_default() += 1;
        }
        !full
    }

    /// The turn is done: its outcome, what it sends, and the digest of what it read.
    pub(crate) fn finish(self, done: Done) -> (Done, Vec<Draft>, Option<Digest>) {
        let done = match self.outbox.withheld() {
            Some(withheld) => {
                tracing::warn!(turn = self.key, "{withheld}");
                Done::new(format!("{}; {withheld}", done.outcome()))
            }
            None => done,
        };
        (done, self.outbox.drafts, self.read)
    }
}

/// Why a message could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write a message of intent {intent:?}")]
pub struct SendError {
    intent: &'static str,
    source: MessageError,
}

impl From<SendError> for Fault {
    /// The same message would be refused again.
    fn from(error: SendError) -> Self {
        match error.source {
            MessageError::TooLarge { .. } => Self::reject(crate::actor::chain(&error)),
            _ => Self::crash(error),
        }
    }
}
