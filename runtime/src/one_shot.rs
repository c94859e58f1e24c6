//! One turn outside a host: for a command that runs an actor once, and for rehearsals.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mailbox::rotation::Rotation;
use mailbox::{Appended, Clock, Digest, Draft, Envelope, MailboxError, MailboxName, Mailboxes, NameError};
use tokio::sync::watch;

use crate::attention::Attention;
use crate::effects::{Effects, Real, Recorded, Recording};
use crate::failure::TurnFailure;
use crate::message::Body;
use crate::panics::caught;
use crate::registry::Registry;
use crate::status::Overview;
use crate::turn::{Deadline, Occasion, Surroundings};
use crate::{Actor, Done, Fault, Message, Reason, Turn};

/// Runs an actor for one turn, in the caller's own task and without a deadline. The actor's value stays with the
/// caller, who can ask it afterwards what it found.
///
/// A rehearsal runs the handler with every effect noted down instead of done: reads are live, nothing is written
/// and nothing is sent.
#[derive(Clone)]
pub struct OneShot {
    home: PathBuf,
    rotation: Rotation,
    surroundings: Surroundings,
}

/// A turn that was run for real.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its outcome.
    pub done: Done,
    /// What it sent, each with what appending it came to.
    pub sent: Vec<(Draft, Appended)>,
}

/// A turn that was rehearsed.
#[derive(Clone, Debug)]
pub struct Rehearsed {
    /// Its outcome.
    pub done: Done,
    /// What it would have sent.
    pub messages: Vec<Draft>,
    /// What it would have done outside the process.
    pub effects: Vec<Recorded>,
    /// The digest of what it read.
    pub read: Option<Digest>,
}

/// A turn of a message that was run again, whichever way it ended.
#[derive(Debug)]
pub struct Rerun {
    /// The turn's key, which begins the ids of what it sends.
    pub key: String,
    /// Its outcome, or why there is none.
    pub ended: Result<Done, TurnFailure>,
    /// What it would have sent; nothing where it failed.
    pub messages: Vec<Draft>,
    /// What it would have done outside the process, also before it failed.
    pub effects: Vec<Recorded>,
    /// The digest of what it read.
    pub read: Option<Digest>,
}

/// Why one turn did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum OneShotError {
    /// The actor's name is no mailbox name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The turn failed.
    #[error(transparent)]
    Turn(#[from] TurnFailure),
    /// What the turn sent could not be appended.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
}

impl OneShot {
    /// Turns with these declarations and this clock, whose files are below `home`.
    pub fn new(registry: Arc<Registry>, clock: Arc<dyn Clock>, home: impl Into<PathBuf>) -> Self {
        let overview = watch::Sender::new(Arc::default()).subscribe();
        Self {
            home: home.into(),
            rotation: Rotation::default(),
            surroundings: Surroundings {
                registry,
                clock,
                evaluate_at: None,
                overview,
                told: Arc::default(),
            },
        }
    }

    /// When files of lines are cut, and how long the pieces are kept.
    pub fn rotation(mut self, rotation: Rotation) -> Self {
        self.rotation = rotation;
        self
    }

    /// Has the turn evaluate as of this moment, which is then also the instant of a takt.
    pub fn evaluate_at(mut self, moment: DateTime<Utc>) -> Self {
        self.surroundings.evaluate_at = Some(moment);
        self
    }

    /// What [`Turn::attention`] shows to the turn.
    pub fn attention(mut self, attention: Vec<Attention>) -> Self {
        let overview = Overview {
            actors: Vec::new(),
            attention,
        };
        self.surroundings.overview = watch::Sender::new(Arc::new(overview)).subscribe();
        self
    }

    /// Runs one takt, and appends what it sent in one group.
    ///
    /// # Errors
    ///
    /// When the turn fails, or what it sent cannot be appended.
    pub async fn takt<A: Actor>(&self, actor: &mut A, mailboxes: &Mailboxes) -> Result<Ran, OneShotError> {
        let mut turn = self.turn::<A>(
            self.takt_now(),
            Box::new(Real::rotating(&self.home, self.rotation)),
        )?;
        let done = ended(caught(actor.takt(&mut turn)).await)?;
        let (done, messages, _) = turn.finish(done);
        let appended = match messages.is_empty() {
            true => Vec::new(),
            false => mailboxes.append(messages.clone()).await?,
        };
        Ok(Ran {
            done,
            sent: messages.into_iter().zip(appended).collect(),
        })
    }

    /// Rehearses one takt.
    ///
    /// # Errors
    ///
    /// When the turn fails.
    pub async fn rehearse_takt<A: Actor>(&self, actor: &mut A) -> Result<Rehearsed, OneShotError> {
        let recording = Recording::over(&self.home);
        let mut turn = self.turn::<A>(self.takt_now(), Box::new(recording.clone()))?;
        let done = ended(caught(actor.takt(&mut turn)).await)?;
        Ok(rehearsed(done, turn, &recording))
    }

    /// Rehearses the turn of one message, as its first delivery.
    ///
    /// # Errors
    ///
    /// When the turn fails; a message that the actor cannot read is rejected, as the host would.
    pub async fn rehearse<A: Actor>(
        &self,
        actor: &mut A,
        envelope: Envelope,
    ) -> Result<Rehearsed, OneShotError> {
        let rerun = self.rerun(actor, envelope).await?;
        Ok(Rehearsed {
            done: rerun.ended?,
            messages: rerun.messages,
            effects: rerun.effects,
            read: rerun.read,
        })
    }

    /// Rehearses the turn of one message as [`OneShot::rehearse`] does, and tells what it did also where it
    /// failed: to be held against what was recorded when it ran for real.
    ///
    /// # Errors
    ///
    /// When the actor's name is no mailbox name.
    pub async fn rerun<A: Actor>(&self, actor: &mut A, envelope: Envelope) -> Result<Rerun, NameError> {
        let recording = Recording::over(&self.home);
        let message = envelope.message.clone();
        let mut turn = self.turn::<A>(
            Occasion::Message { envelope, attempt: 1 },
            Box::new(recording.clone()),
        )?;
        let key = turn.key().to_owned();
        let handled = caught(async {
            match A::Message::decode(&Body::of(&message)) {
                Ok(typed) => actor.handle(typed, &mut turn).await,
                Err(error) => Err(Fault::Reject(Reason::from(crate::actor::chain(&error)))),
            }
        });
        let ended = ended(handled.await);
        // A turn that fails has sent nothing, and has read all the same.
        let (done, drafts, read) = turn.finish(ended.as_ref().ok().cloned().unwrap_or_else(|| Done::new("")));
        let messages = if ended.is_ok() { drafts } else { Vec::new() };
        Ok(Rerun {
            key,
            ended: ended.map(|_| done),
            messages,
            effects: recording.take(),
            read,
        })
    }

    fn takt_now(&self) -> Occasion {
        Occasion::Takt {
            due: self.surroundings.now(),
        }
    }

    fn turn<A: Actor>(&self, occasion: Occasion, effects: Box<dyn Effects>) -> Result<Turn, NameError> {
        let name: MailboxName = A::NAME.parse()?;
        let nobody_watches = Deadline::new(self.surroundings.clock.now(), Duration::MAX);
        Ok(Turn::new(
            name,
            occasion,
            self.surroundings.clone(),
            effects,
            nobody_watches,
        ))
    }
}

impl std::fmt::Debug for OneShot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OneShot")
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

fn ended(ended: Result<Result<Done, Fault>, String>) -> Result<Done, TurnFailure> {
    match ended {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(fault)) => Err(TurnFailure::Fault(fault)),
        Err(text) => Err(TurnFailure::Panicked { text }),
    }
}

fn rehearsed(done: Done, turn: Turn, recording: &Recording) -> Rehearsed {
    let (done, messages, read) = turn.finish(done);
    Rehearsed {
        done,
        messages,
        effects: recording.take(),
        read,
    }
}
