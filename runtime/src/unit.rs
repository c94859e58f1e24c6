//! An actor without its type, and how it is hosted.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use mailbox::Policy;

use crate::intensity::Limits;
use crate::message::{Body, DecodeError};
use crate::panics::caught_now;
use crate::{Actor, BoxError, Context, Done, Fault, Message, Turn};

/// How long a turn may run where nothing else was said: long for a handler that reads and decides, and one that
/// takes longer shows progress.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// How an actor is hosted: OTP's child specification.
///
/// ```
/// use std::time::Duration;
/// let spec = runtime::ChildSpec::default()
///     .wip(2)
///     .deadline(Duration::from_secs(60))
///     .deadline_of("reattest", Duration::from_secs(3600));
/// ```
#[derive(Clone, Debug)]
pub struct ChildSpec {
    pub(crate) wip: usize,
    pub(crate) deadline: Duration,
    pub(crate) deadlines: BTreeMap<String, Duration>,
    pub(crate) takt: Option<Duration>,
    pub(crate) policy: Policy,
    pub(crate) limits: Option<Limits>,
}

impl Default for ChildSpec {
    /// One message at a time, ten minutes for a turn, no takt, the contract's policy and limits.
    fn default() -> Self {
        Self {
            wip: 1,
            deadline: DEFAULT_DEADLINE,
            deadlines: BTreeMap::new(),
            takt: None,
            policy: Policy::default(),
            limits: None,
        }
    }
}

impl ChildSpec {
    /// How many messages are in hand at once, each with an actor value of its own where it is hosted here; at
    /// least 1. Whatever is taken from outside counts too (contract, section 3, rule 4).
    pub fn wip(mut self, wip: usize) -> Self {
        self.wip = wip.max(1);
        self
    }

    /// How long a turn may run without showing progress, and a start take.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The deadline of the turns of one intent.
    pub fn deadline_of(mut self, intent: impl Into<String>, deadline: Duration) -> Self {
        self.deadlines.insert(intent.into(), deadline);
        self
    }

    /// Gives the actor a tick: at its start, then every so often.
    pub fn takt(mut self, every: Duration) -> Self {
        self.takt = Some(every);
        self
    }

    /// How its mailbox treats failure and repetition. Its limit of WIP is [`ChildSpec::wip`], whatever this says.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Its restart intensity, where it is not the host's.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// How the actor's mailbox is treated.
    pub(crate) fn mailbox(&self) -> Policy {
        Policy {
            wip: Some(u32::try_from(self.wip).unwrap_or(u32::MAX)),
            ..self.policy.clone()
        }
    }
}

/// What one turn's handler comes to.
pub(crate) type Handled<'a> = Pin<Box<dyn Future<Output = Result<Done, Fault>> + Send + 'a>>;

/// An actor value without its type.
pub(crate) trait Unit: Send {
    fn handle<'a>(&'a mut self, body: &Body<'_>, turn: &'a mut Turn) -> Result<Handled<'a>, DecodeError>;
    fn takt<'a>(&'a mut self, turn: &'a mut Turn) -> Handled<'a>;
}

pub(crate) struct Typed<A>(pub(crate) A);

impl<A: Actor> Unit for Typed<A> {
    fn handle<'a>(&'a mut self, body: &Body<'_>, turn: &'a mut Turn) -> Result<Handled<'a>, DecodeError> {
        let message = A::Message::decode(body)?;
        Ok(Box::pin(self.0.handle(message, turn)))
    }

    fn takt<'a>(&'a mut self, turn: &'a mut Turn) -> Handled<'a> {
        Box::pin(self.0.takt(turn))
    }
}

/// Builds actor values without their type.
pub(crate) type Factory = Box<dyn Fn(&Context) -> Result<Box<dyn Unit>, BoxError> + Send + Sync>;

pub(crate) fn factory<A: Actor>(
    build: impl Fn(&Context) -> Result<A, BoxError> + Send + Sync + 'static,
) -> Factory {
    Box::new(move |context| Ok(Box::new(Typed(build(context)?))))
}

/// Builds one value; a panic is a reason like any other.
pub(crate) fn built(factory: &Factory, context: &Context) -> Result<Box<dyn Unit>, String> {
    caught_now(|| factory(context))?.map_err(|error| crate::actor::chain(error.as_ref()))
}
