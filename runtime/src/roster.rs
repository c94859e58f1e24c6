//! The hosted actors as the supervisor, their workers and whoever asks see them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use mailbox::{Clock, Delivery, Envelope, LeaseId, Leasing, MailboxName, Mailboxes, Moment, MsgId, Seq};
use ractor::ActorCell;
use tokio::sync::{Notify, watch};

use crate::Context;
use crate::ailing::Ailing;
use crate::effects::Real;
use crate::failure::TurnFailure;
use crate::intensity::Exit;
use crate::status::{ActorState, Supervised};
use crate::takt::Takt;
use crate::turn::{Deadline, Surroundings};
use crate::unit::{ChildSpec, Factory, Unit};

/// A mutex whose holders leave what they guard whole at every step, so that a panic under it spoils nothing.
#[derive(Debug, Default)]
pub(crate) struct Guarded<T>(Mutex<T>);

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all workers of a host have in common.
pub(crate) struct Plant {
    pub(crate) mailboxes: Mailboxes,
    pub(crate) surroundings: Surroundings,
    pub(crate) effects: Real,
    /// Moves whenever a state may have changed that is not a turn's beginning or end.
    pub(crate) changed: watch::Sender<()>,
    /// What the mailboxes refuse to do.
    pub(crate) ailing: Ailing,
    /// Whether the host is being drained.
    pub(crate) draining: watch::Sender<bool>,
}

impl Plant {
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.surroundings.clock
    }

    pub(crate) fn now(&self) -> Moment {
        self.surroundings.clock.now()
    }

    pub(crate) fn changed(&self) {
        self.changed.send_replace(());
    }
}

/// Until when an actor takes nothing, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    pub(crate) until: Moment,
    pub(crate) why: String,
}

/// One hosted actor: what its workers share.
pub(crate) struct Hosted {
    pub(crate) name: MailboxName,
    pub(crate) spec: ChildSpec,
    pub(crate) factory: Factory,
    pub(crate) has_mailbox: bool,
    /// Whether its workers take work.
    pub(crate) taking: watch::Sender<bool>,
    pub(crate) pause: watch::Sender<Option<Pause>>,
    pub(crate) takt: Option<Guarded<TaktNow>>,
    pub(crate) starts: AtomicU64,
    pub(crate) last_failure: Guarded<Option<String>>,
}

/// An actor's tick, and how its last run went.
pub(crate) struct TaktNow {
    pub(crate) takt: Takt,
    pub(crate) running: bool,
    pub(crate) tried: u64,
    pub(crate) failure: Option<Arc<TurnFailure>>,
}

impl Hosted {
    pub(crate) fn next_context(&self) -> Context {
        Context {
            actor: self.name.clone(),
            starts: self.starts.fetch_add(1, Ordering::Relaxed),
        }
    }

    pub(crate) fn deadline_of(&self, intent: &str) -> Duration {
        self.spec
            .deadlines
            .get(intent)
            .copied()
            .unwrap_or(self.spec.deadline)
    }

    pub(crate) fn failed(&self, why: String) {
        *self.last_failure.lock() = Some(why);
    }
}

/// A message in a worker's hand. Whoever takes it out of the slot decides what becomes of it, so that happens once.
#[derive(Debug)]
pub(crate) struct InHand {
    pub(crate) of: MailboxName,
    pub(crate) seq: Seq,
    pub(crate) lease: LeaseId,
    pub(crate) msg_id: MsgId,
    pub(crate) attempt: u32,
}

impl InHand {
    /// The right, and the message that it is on.
    pub(crate) fn of(delivery: Delivery) -> (Self, Envelope) {
        let Delivery {
            lease,
            envelope,
            attempt,
        } = delivery;
        let in_hand = Self {
            of: lease.mailbox().clone(),
            seq: lease.seq(),
            lease: lease.id(),
            msg_id: envelope.message.msg_id().clone(),
            attempt,
        };
        (in_hand, envelope)
    }

    pub(crate) fn exit(&self) -> Exit {
        if self.attempt <= 1 {
            Exit::FirstDelivery
        } else {
            Exit::LaterDelivery
        }
    }
}

/// What a worker is at.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Starting(Arc<Deadline>),
    Idle,
    Running(Arc<Deadline>),
    /// The turn is over and what came of it is being written.
    Settling,
}

/// One life of one worker, as the supervisor sees it.
pub(crate) struct Slot {
    pub(crate) cell: OnceLock<ActorCell>,
    /// Told once when the worker has been built, or could not be.
    pub(crate) started: Notify,
    /// Whether there is no actor value of this life, or no more: its `Drop` has ended.
    gone: watch::Sender<bool>,
    inner: Guarded<SlotInner>,
}

/// An actor value. The life that it is of is told when it is gone.
pub(crate) struct Living {
    // Fields are dropped in this order.
    pub(crate) unit: Box<dyn Unit>,
    /// The next message, where it was asked for with the ack of the last one.
    pub(crate) next: Option<Leasing>,
    _gone: Gone,
}

struct Gone(Arc<Slot>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.gone.send_replace(true);
    }
}

pub(crate) struct SlotInner {
    pub(crate) phase: Phase,
    pub(crate) in_hand: Option<InHand>,
    /// What the worker says that ended it.
    pub(crate) exit: Option<Exit>,
    /// Whether a turn succeeded in this life.
    pub(crate) succeeded: bool,
}

impl Slot {
    pub(crate) fn starting(deadline: Arc<Deadline>) -> Arc<Self> {
        let phase = Phase::Starting(deadline);
        let inner = SlotInner {
            phase,
            in_hand: None,
            exit: None,
            succeeded: false,
        };
        Arc::new(Self {
            cell: OnceLock::new(),
            started: Notify::new(),
            gone: watch::Sender::new(true),
            inner: Guarded::new(inner),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SlotInner> {
        self.inner.lock()
    }

    /// The value that was built for this life.
    pub(crate) fn living(self: &Arc<Self>, unit: Box<dyn Unit>) -> Living {
        self.gone.send_replace(false);
        Living {
            unit,
            next: None,
            _gone: Gone(Arc::clone(self)),
        }
    }

    pub(crate) fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// Completes when the actor value of this life is gone.
    pub(crate) async fn gone(&self) {
        // The sender lives in `self`: the channel cannot close.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    pub(crate) fn take_in_hand(&self) -> Option<InHand> {
        self.lock().in_hand.take()
    }

    pub(crate) fn is_settling(&self) -> bool {
        matches!(self.lock().phase, Phase::Settling)
    }

    /// The deadline of what the worker is at, where it has one.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        match &self.lock().phase {
            Phase::Starting(deadline) | Phase::Running(deadline) => Some(deadline.at()),
            Phase::Idle | Phase::Settling => None,
        }
    }
}

/// One unit of an actor's WIP.
#[derive(Default)]
pub(crate) struct UnitEntry {
    /// The life that has not ended, if there is one.
    pub(crate) slot: Option<Arc<Slot>>,
    /// When it was told to end without more ado, and why.
    pub(crate) killed: Option<(Moment, TurnFailure)>,
    pub(crate) stopping: bool,
    /// Since when a life is over whose actor value is not gone yet.
    pub(crate) going_since: Option<Moment>,
    pub(crate) stalled_since: Option<Moment>,
    pub(crate) restart_at: Option<Moment>,
}

/// One hosted actor as its supervisor sees it.
pub(crate) struct Entry {
    pub(crate) hosted: Arc<Hosted>,
    pub(crate) intensity: crate::intensity::Intensity,
    pub(crate) units: Vec<UnitEntry>,
    pub(crate) down_until: Option<Moment>,
    pub(crate) restarts: u64,
    pub(crate) stopped: bool,
}

impl Entry {
    /// What the actor as a whole is doing: the worst of its units that a person cares about, else the busiest.
    pub(crate) fn state(&self, now: Moment) -> ActorState {
        let phases: Vec<_> = self
            .units
            .iter()
            .filter_map(|unit| Some(unit.slot.as_ref()?.lock().phase.clone()))
            .collect();
        if let Some(since) = self.units.iter().filter_map(|unit| unit.stalled_since).min() {
            return ActorState::Stalled { since };
        }
        if let Some(until) = self.down_until {
            return ActorState::Down { until };
        }
        if phases
            .iter()
            .any(|phase| matches!(phase, Phase::Running(_) | Phase::Settling))
        {
            return ActorState::Running;
        }
        if self.stopped {
            return ActorState::Stopped;
        }
        if let Some(Pause { until, why }) = self.hosted.pause.borrow().clone().filter(|p| p.until > now) {
            return ActorState::Waiting { until, why };
        }
        if let Some(until) = self.units.iter().filter_map(|unit| unit.restart_at).min() {
            return ActorState::BackingOff { until };
        }
        match phases.iter().any(|phase| matches!(phase, Phase::Idle)) {
            true => ActorState::Idle,
            false => ActorState::Starting,
        }
    }

    pub(crate) fn supervised(&self, now: Moment) -> Supervised {
        Supervised {
            state: self.state(now),
            restarts: self.restarts,
            last_failure: self.hosted.last_failure.lock().clone(),
            takt: self.hosted.takt.as_ref().map(|takt| takt.lock().takt.status()),
        }
    }
}

/// The hosted actors, in the order in which they are started. The supervisor alone changes it; nobody holds the
/// lock while waiting.
pub(crate) type Roster = Arc<Guarded<Vec<Entry>>>;

pub(crate) fn supervised(roster: &Roster, now: Moment) -> BTreeMap<MailboxName, Supervised> {
    roster
        .lock()
        .iter()
        .map(|entry| (entry.hosted.name.clone(), entry.supervised(now)))
        .collect()
}
