//! What an actor is, and how one turn of it ends.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use mailbox::{MailboxName, Moment};

use crate::{Message, Turn};

/// Any error, on its way to whoever reads it.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A supervised unit with private state that handles one message at a time.
///
/// The value lives from one start to the next: after a crash a factory builds a new one, so that no half-changed
/// state goes on. What must outlive a crash belongs in a message, a file or a ledger.
///
/// A handler acts on the world only through its [`Turn`]. It may run more than once for one message (contract,
/// section 3, rule 4); the turn's key is the same each time, and the turn's effects are safe to repeat.
pub trait Actor: Sized + Send + 'static {
    /// The actor's name, which is its mailbox's name too: `[a-z][a-z0-9_-]{0,63}`.
    const NAME: &'static str;

    /// The messages that it consumes; [`message!`](crate::message) writes the enum.
    type Message: Message;

    /// Handles one message.
    ///
    /// # Errors
    ///
    /// A [`Fault`] says what becomes of the message, and of the actor.
    fn handle(
        &mut self,
        message: Self::Message,
        turn: &mut Turn,
    ) -> impl Future<Output = Result<Done, Fault>> + Send;

    /// The actor's own tick, where it is hosted with one. A takt is not a message: one that fails is not
    /// repeated, the next one takes its place. No ack is made of it, so the digest of what it read is not kept: a
    /// takt cannot be run again from what is on record. What it decided is in the messages that it sends, each with
    /// its own evidence.
    ///
    /// # Errors
    ///
    /// As for [`Actor::handle`]. [`Fault::Wait`] runs the same takt again when the wait is over, and
    /// [`Fault::Retry`] with a time does so after it.
    fn takt(&mut self, turn: &mut Turn) -> impl Future<Output = Result<Done, Fault>> + Send {
        let _ = turn;
        async { Ok(Done::new("nothing to do")) }
    }
}

/// What a factory is told about the actor that it builds.
#[derive(Debug)]
pub struct Context {
    pub(crate) actor: MailboxName,
    pub(crate) starts: u64,
}

impl Context {
    /// The actor's name.
    pub fn actor(&self) -> &MailboxName {
        &self.actor
    }

    /// How often this actor was started before, in this process.
    pub fn starts(&self) -> u64 {
        self.starts
    }
}

/// A turn that handled its message for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    outcome: String,
}

impl Done {
    /// Done, with the outcome that the ack records: a few words for a person, such as `passed` or
    /// `failed: cargo test`.
    pub fn new(outcome: impl Into<String>) -> Self {
        Self {
            outcome: outcome.into(),
        }
    }

    /// The outcome.
    pub fn outcome(&self) -> &str {
        &self.outcome
    }
}

/// Why a turn did not handle its message, and what becomes of both.
#[derive(Debug)]
pub enum Fault {
    /// Not this time: the attempt is spent and the message backs off. The actor goes on.
    Retry(Reason),
    /// Never: the message goes to quarantine. The actor goes on.
    Reject(Reason),
    /// What the actor depends on is not there: the attempt is handed back and the actor pauses.
    Wait {
        /// When to go on.
        until: Moment,
        /// What is waited for.
        why: Reason,
    },
    /// An error that the handler does not explain: the attempt is spent and the actor is built anew.
    Crash(BoxError),
}

impl Fault {
    /// [`Fault::Retry`] after the mailbox's own backoff.
    pub fn retry(why: impl Into<Reason>) -> Self {
        Self::Retry(why.into())
    }

    /// [`Fault::Retry`] after a time of one's own.
    pub fn retry_after(after: Duration, why: impl Into<Reason>) -> Self {
        Self::Retry(Reason {
            after: Some(after),
            ..why.into()
        })
    }

    /// [`Fault::Reject`].
    pub fn reject(why: impl Into<Reason>) -> Self {
        Self::Reject(why.into())
    }

    /// [`Fault::Wait`].
    pub fn wait(until: Moment, why: impl Into<Reason>) -> Self {
        Self::Wait {
            until,
            why: why.into(),
        }
    }

    /// [`Fault::Crash`].
    pub fn crash(error: impl Into<BoxError>) -> Self {
        Self::Crash(error.into())
    }

    /// The error behind the fault, if it carries one: for a caller that knows its type.
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        match self {
            Self::Retry(why) | Self::Reject(why) | Self::Wait { why, .. } => why.source.as_deref(),
            Self::Crash(error) => Some(error.as_ref()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry(why) | Self::Reject(why) | Self::Wait { why, .. } => write!(f, "{why}"),
            Self::Crash(error) => f.write_str(&chain(error.as_ref())),
        }
    }
}

/// Why a handler gives a message back, in words for a person.
#[derive(Debug)]
pub struct Reason {
    text: String,
    pub(crate) after: Option<Duration>,
    source: Option<BoxError>,
}

impl Reason {
    /// What failed, and the error behind it.
    pub fn because(text: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self {
            text: text.into(),
            after: None,
            source: Some(source.into()),
        }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self {
            text,
            after: None,
            source: None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.source {
            Some(source) => write!(f, ": {}", chain(source.as_ref())),
            None => Ok(()),
        }
    }
}

/// An error's text and that of every error behind it, once each.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the gate")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn a_fault_says_what_failed_and_why() {
        let denied = || std::io::Error::new(std::io::ErrorKind::PermissionDenied, "denied");
        assert_eq!(Fault::retry("busy").to_string(), "busy");
        assert_eq!(
            Fault::crash(Outer(denied())).to_string(),
            "cannot read the gate: denied"
        );
        let reason = Reason::because("no answer", Outer(denied()));
        assert_eq!(
            Fault::reject(reason).to_string(),
            "no answer: cannot read the gate: denied"
        );
    }

    #[test]
    fn the_error_behind_a_fault_keeps_its_type() {
        let fault = Fault::retry(Reason::because("later", std::io::Error::other("gone")));
        assert!(fault.cause().is_some_and(|cause| cause.is::<std::io::Error>()));
        assert!(Fault::retry("later").cause().is_none());
    }
}
