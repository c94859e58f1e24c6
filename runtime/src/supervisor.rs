//! The supervisor: one for one, as in OTP. It starts workers, is told of each one's end by ractor, and decides.
//!
//! It runs on a thread of its own and waits for nobody: what takes time (a mailbox's answer, a clock) is a task
//! that comes back as an [`Order`].

use std::sync::Arc;
use std::time::Duration;

use mailbox::{Command, MailboxName, Moment, MsgId, Nack};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::oneshot;

use crate::failure::TurnFailure;
use crate::intensity::{Decision, Exit};
use crate::pump::{Worker, claim, nack};
use crate::roster::{Entry, InHand, Phase, Plant, Roster, Slot};
use crate::turn::Deadline;

/// How often deadlines are looked at. A worker watches its own; this finds those that cannot.
const TICK: Duration = Duration::from_secs(1);

/// How long after its deadline a turn may take to notice: it has files to close and futures to drop.
const DEADLINE_GRACE: Duration = Duration::from_secs(5);

/// How long a worker that was killed may take to end before it counts as stalled.
const KILL_WAIT: Duration = Duration::from_secs(1);

/// How long the next actor waits for the one before it to be built. Order is worth a little time at the start,
/// and one that hangs must not keep the others.
const START_PATIENCE: Duration = Duration::from_secs(5);

/// What the supervisor is asked to do.
pub(crate) enum Order {
    /// Start this actor and those after it.
    StartFrom(usize),
    Tick,
    /// ractor did not start a worker.
    NotSpawned(Place, String),
    /// What an ended worker had in hand is given back.
    Settled(Option<Ended>),
    /// The actor value of a life that is over is gone too.
    Gone(Ended),
    Restart(Place),
    CooledOff(usize),
    Drain(Moment, oneshot::Sender<Drained>),
    GraceOver,
    KillOver,
}

/// A unit of an actor's WIP, by number.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    actor: usize,
    unit: usize,
}

/// A worker's life that is over.
struct Life {
    at: Place,
    slot: Arc<Slot>,
    killed: Option<TurnFailure>,
    stopping: bool,
}

/// How a worker's life ended; a clean stop has no `exit`.
pub(crate) struct Ended {
    at: Place,
    slot: Arc<Slot>,
    exit: Option<Exit>,
    succeeded: bool,
}

/// What a drain left undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Messages whose turns did not end in time. They are unread, and the attempt does not count.
    pub handed_back: Vec<(MailboxName, MsgId)>,
    /// Actors whose handlers could not be stopped; they end with the process.
    pub left_running: Vec<MailboxName>,
}

pub(crate) struct Supervisor {
    pub(crate) plant: Arc<Plant>,
    pub(crate) roster: Roster,
    pub(crate) handlers: tokio::runtime::Handle,
}

#[derive(Default)]
pub(crate) struct State {
    drain: Option<Drain>,
    /// Messages that are being given back.
    settling: usize,
}

struct Drain {
    reply: Option<oneshot::Sender<Drained>>,
    drained: Drained,
    /// Whoever runs now is waited for no longer.
    over: bool,
}

impl Actor for Supervisor {
    type Msg = Order;
    type State = State;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Order>, (): ()) -> Result<State, ActorProcessingErr> {
        Ok(State::default())
    }

    async fn post_start(&self, myself: ActorRef<Order>, _: &mut State) -> Result<(), ActorProcessingErr> {
        let _ = myself.cast(Order::StartFrom(0));
        let clock = Arc::clone(self.plant.clock());
        tokio::spawn(async move {
            loop {
                clock.sleep_until(clock.now().after(TICK)).await;
                if myself.cast(Order::Tick).is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Order>,
        order: Order,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match order {
            Order::StartFrom(actor) => self.start_from(&myself, actor, state),
            Order::Tick => {
                self.look_at_deadlines(&myself, state);
                self.advance_drain(&myself, state);
            }
            Order::NotSpawned(at, why) => {
                tracing::error!("a worker was not started: {why}");
                self.roster.lock()[at.actor].units[at.unit].slot = None;
                self.advance_drain(&myself, state);
            }
            Order::Settled(ended) => {
                state.settling -= 1;
                match ended {
                    Some(ended) => self.ended(&myself, ended, state),
                    None => self.advance_drain(&myself, state),
                }
            }
            Order::Gone(ended) => self.ended(&myself, ended, state),
            Order::Restart(at) => self.restart(&myself, at, state),
            Order::CooledOff(actor) => self.cooled_off(&myself, actor, state),
            Order::Drain(until, reply) => self.drain(&myself, until, reply, state),
            Order::GraceOver => self.grace_over(&myself),
            Order::KillOver => self.kill_over(&myself, state),
        }
        self.plant.changed();
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Order>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let who = match event {
            SupervisionEvent::ActorFailed(who, _) => who,
            SupervisionEvent::ActorTerminated(who, value, _) => {
                // The actor value of a worker that was killed: its `Drop` must not hold up this thread.
                self.handlers.spawn_blocking(move || drop(value));
                who
            }
            _ => return Ok(()),
        };
        self.worker_ended(&myself, &who, state);
        self.plant.changed();
        Ok(())
    }
}

impl Supervisor {
    fn start_from(&self, myself: &ActorRef<Order>, actor: usize, state: &State) {
        let units = match self.roster.lock().get(actor) {
            Some(entry) if state.drain.is_none() => entry.units.len(),
            _ => return,
        };
        let slots: Vec<_> = (0..units)
            .map(|unit| self.start(myself, Place { actor, unit }))
            .collect();
        let (myself, clock) = (myself.clone(), Arc::clone(self.plant.clock()));
        tokio::spawn(async move {
            let all_started = async {
                for slot in &slots {
                    slot.started.notified().await;
                }
            };
            tokio::select! {
                () = all_started => {}
                () = clock.sleep_until(clock.now().after(START_PATIENCE)) => {}
            }
            let _ = myself.cast(Order::StartFrom(actor + 1));
        });
    }

    /// Begins a new life of a unit, on the handlers' threads.
    fn start(&self, myself: &ActorRef<Order>, at: Place) -> Arc<Slot> {
        let mut roster = self.roster.lock();
        let hosted = Arc::clone(&roster[at.actor].hosted);
        let slot = Slot::starting(Deadline::new(self.plant.now(), hosted.spec.deadline));
        let worker = Worker {
            plant: Arc::clone(&self.plant),
            hosted,
            slot: Arc::clone(&slot),
            has_takt: at.unit == 0,
        };
        let unit = &mut roster[at.actor].units[at.unit];
        unit.slot = Some(Arc::clone(&slot));
        unit.restart_at = None;
        let myself = myself.clone();
        self.handlers.spawn(async move {
            if let Err(error) = Worker::spawn_linked(None, worker, (), myself.get_cell()).await {
                let _ = myself.cast(Order::NotSpawned(at, error.to_string()));
            }
        });
        slot
    }

    /// ractor reports the one exit of a worker.
    fn worker_ended(&self, myself: &ActorRef<Order>, who: &ActorCell, state: &mut State) {
        let Some(Life {
            at,
            slot,
            killed,
            stopping,
        }) = self.take_life(who)
        else {
            return;
        };
        let in_hand = slot.take_in_hand();
        let (exit, succeeded) = {
            let inner = slot.lock();
            let exit = inner
                .exit
                .or_else(|| in_hand.as_ref().map(InHand::exit))
                .or_else(|| match (&inner.phase, stopping && killed.is_none()) {
                    (_, true) => None,
                    (Phase::Starting(_), false) => Some(Exit::Start),
                    (_, false) => Some(Exit::FirstDelivery),
                });
            (exit, inner.succeeded)
        };
        let failure = killed.unwrap_or(TurnFailure::Killed);
        if at.unit == 0 {
            self.end_takt(at.actor, &failure);
        }
        let ended = Ended {
            at,
            slot,
            exit,
            succeeded,
        };
        match in_hand {
            Some(in_hand) => self.give_back(myself, in_hand, &failure, Some(ended), state),
            None => self.ended(myself, ended, state),
        }
    }

    /// Takes the life that a worker had out of the roster.
    fn take_life(&self, who: &ActorCell) -> Option<Life> {
        let is_it = |slot: &Arc<Slot>| slot.cell.get().is_some_and(|cell| cell.get_id() == who.get_id());
        let mut roster = self.roster.lock();
        roster.iter_mut().enumerate().find_map(|(actor, entry)| {
            entry.units.iter_mut().enumerate().find_map(|(unit, life)| {
                let slot = life.slot.take_if(|slot| is_it(slot))?;
                life.stalled_since = None;
                Some(Life {
                    at: Place { actor, unit },
                    slot,
                    killed: life.killed.take().map(|(_, failure)| failure),
                    stopping: std::mem::take(&mut life.stopping),
                })
            })
        })
    }

    /// A takt whose worker was killed has ended too.
    fn end_takt(&self, actor: usize, failure: &TurnFailure) {
        let hosted = Arc::clone(&self.roster.lock()[actor].hosted);
        let Some(takt) = &hosted.takt else { return };
        let mut takt = takt.lock();
        if std::mem::take(&mut takt.running) {
            takt.takt.ended(self.plant.now(), Err(failure.to_string()));
            hosted.failed(failure.to_string());
        }
    }

    /// Writes what becomes of a message whose worker cannot say so itself.
    fn give_back(
        &self,
        myself: &ActorRef<Order>,
        in_hand: InHand,
        failure: &TurnFailure,
        then: Option<Ended>,
        state: &mut State,
    ) {
        let nack = match &mut state.drain {
            Some(drain) => {
                drain
                    .drained
                    .handed_back
                    .push((in_hand.of.clone(), in_hand.msg_id.clone()));
                Nack::HandBack {
                    reason: "the program was asked to stop".to_owned(),
                    until: None,
                }
            }
            None => nack(failure),
        };
        state.settling += 1;
        let (myself, plant) = (myself.clone(), Arc::clone(&self.plant));
        tokio::spawn(async move {
            let command = Command::Nack {
                of: in_hand.of.clone(),
                claim: claim(&in_hand),
                nack,
            };
            // A message that was not given back would stay in hand as long as the process lives.
            plant.settle(&in_hand, command).await;
            let _ = myself.cast(Order::Settled(then));
        });
    }

    /// A worker's life is over and everything about it is written: what now?
    fn ended(&self, myself: &ActorRef<Order>, ended: Ended, state: &mut State) {
        if state.drain.is_some() {
            return self.advance_drain(myself, state);
        }
        if !ended.slot.is_gone() {
            return self.await_gone(myself, ended);
        }
        let now = self.plant.now();
        let Ended {
            at,
            exit,
            succeeded,
            slot: _,
        } = ended;
        let decision = {
            let mut roster = self.roster.lock();
            let entry = &mut roster[at.actor];
            let unit = &mut entry.units[at.unit];
            unit.going_since = None;
            unit.stalled_since = None;
            if entry.down_until.is_some() {
                return;
            }
            let Some(exit) = exit else {
                // It was stopped when the actor went down, which is over by now.
                drop(roster);
                self.start(myself, at);
                return;
            };
            if succeeded {
                entry.intensity.succeeded();
            } else if entry
                .units
                .iter()
                .filter_map(|unit| unit.slot.as_ref())
                .any(|slot| slot.lock().succeeded)
            {
                entry.intensity.stood_its_trial();
            }
            let decision = entry.intensity.ended(exit, succeeded, now, fastrand::f64());
            let name = &entry.hosted.name;
            let why = entry.hosted.last_failure.lock().clone().unwrap_or_default();
            match decision {
                Decision::Restart { after } => {
                    let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                    tracing::info!(actor = %name, after_ms, "restarts: {why}");
                    entry.units[at.unit].restart_at = Some(now.after(after));
                }
                Decision::Down { until } => {
                    tracing::error!(actor = %name, "is down: {why}");
                    entry.down_until = Some(until);
                    entry.hosted.taking.send_replace(false);
                    stop_all(entry);
                }
            }
            decision
        };
        match decision {
            Decision::Restart { after } => self.later(myself, now.after(after), Order::Restart(at)),
            Decision::Down { until } => self.later(myself, until, Order::CooledOff(at.actor)),
        }
    }

    /// There is one of an actor: nothing more is decided until the value of this life is gone.
    fn await_gone(&self, myself: &ActorRef<Order>, ended: Ended) {
        let at = ended.at;
        self.roster.lock()[at.actor].units[at.unit].going_since = Some(self.plant.now());
        let myself = myself.clone();
        tokio::spawn(async move {
            ended.slot.gone().await;
            let _ = myself.cast(Order::Gone(ended));
        });
    }

    fn restart(&self, myself: &ActorRef<Order>, at: Place, state: &State) {
        {
            let mut roster = self.roster.lock();
            let entry = &mut roster[at.actor];
            let unit = &entry.units[at.unit];
            let wanted = unit.slot.is_none() && unit.restart_at.is_some() && entry.down_until.is_none();
            if !wanted || state.drain.is_some() {
                return;
            }
            entry.restarts += 1;
        }
        self.start(myself, at);
    }

    fn cooled_off(&self, myself: &ActorRef<Order>, actor: usize, state: &State) {
        let empty: Vec<_> = {
            let mut roster = self.roster.lock();
            let entry = &mut roster[actor];
            if entry.down_until.is_none() || state.drain.is_some() {
                return;
            }
            tracing::info!(actor = %entry.hosted.name, "is tried again");
            entry.down_until = None;
            entry.restarts += 1;
            entry.hosted.taking.send_replace(true);
            (0..entry.units.len())
                .filter(|unit| entry.units[*unit].slot.is_none() && entry.units[*unit].going_since.is_none())
                .collect()
        };
        for unit in empty {
            self.start(myself, Place { actor, unit });
        }
    }

    /// Kills what is past its deadline and grace, and names as stalled what does not end for that.
    fn look_at_deadlines(&self, myself: &ActorRef<Order>, state: &mut State) {
        let now = self.plant.now();
        let mut given_up = Vec::new();
        for entry in self.roster.lock().iter_mut() {
            for unit in &mut entry.units {
                if unit.stalled_since.is_none()
                    && unit
                        .going_since
                        .is_some_and(|since| now >= since.after(KILL_WAIT))
                {
                    tracing::error!(actor = %entry.hosted.name, "has ended and does not go");
                    unit.stalled_since = Some(now);
                }
                let Some(slot) = &unit.slot else { continue };
                match (&unit.killed, slot.cell.get()) {
                    (None, Some(cell)) => {
                        let Some(deadline) = slot.deadline() else { continue };
                        if now >= deadline.after(DEADLINE_GRACE) {
                            let failure = TurnFailure::Deadline { after: allowed(slot) };
                            entry.hosted.failed(failure.to_string());
                            unit.killed = Some((now, failure));
                            cell.kill();
                        }
                    }
                    (Some((at, _)), _) if unit.stalled_since.is_none() && now >= at.after(KILL_WAIT) => {
                        if slot.is_settling() {
                            continue;
                        }
                        tracing::error!(actor = %entry.hosted.name, "missed its deadline and does not stop");
                        unit.stalled_since = Some(now);
                        if let Some(in_hand) = slot.take_in_hand() {
                            slot.lock().exit = Some(in_hand.exit());
                            given_up.push((in_hand, TurnFailure::Deadline { after: allowed(slot) }));
                        }
                    }
                    _ => {}
                }
            }
        }
        for (in_hand, failure) in given_up {
            self.give_back(myself, in_hand, &failure, None, state);
        }
    }

    fn drain(
        &self,
        myself: &ActorRef<Order>,
        until: Moment,
        reply: oneshot::Sender<Drained>,
        state: &mut State,
    ) {
        state.drain = Some(Drain {
            reply: Some(reply),
            drained: Drained::default(),
            over: false,
        });
        for entry in self.roster.lock().iter_mut() {
            entry.hosted.taking.send_replace(false);
            entry.units.iter_mut().for_each(|unit| unit.restart_at = None);
        }
        self.later(myself, until, Order::GraceOver);
        self.advance_drain(myself, state);
    }

    /// Stops the last actor that still runs; when none is left, the host is drained.
    fn advance_drain(&self, myself: &ActorRef<Order>, state: &mut State) {
        let Some(drain) = &mut state.drain else { return };
        if !drain.over {
            for entry in self.roster.lock().iter_mut().rev() {
                if entry.units.iter().any(|unit| unit.slot.is_some()) {
                    stop_all(entry);
                    return;
                }
                entry.stopped = true;
            }
        }
        if state.settling == 0 {
            if let Some(reply) = drain.reply.take() {
                let _ = reply.send(std::mem::take(&mut drain.drained));
            }
            myself.stop(None);
        }
    }

    fn grace_over(&self, myself: &ActorRef<Order>) {
        let now = self.plant.now();
        for entry in self.roster.lock().iter_mut().rev() {
            for unit in &mut entry.units {
                if let Some(cell) = unit.slot.as_ref().and_then(|slot| slot.cell.get()) {
                    unit.killed.get_or_insert((now, TurnFailure::Killed));
                    cell.kill();
                }
            }
        }
        self.later(myself, now.after(KILL_WAIT), Order::KillOver);
    }

    fn kill_over(&self, myself: &ActorRef<Order>, state: &mut State) {
        let left: Vec<_> = {
            let roster = self.roster.lock();
            let lives = |entry: &Entry| -> Vec<_> {
                let slots = entry.units.iter().filter_map(|unit| unit.slot.clone());
                slots.map(|slot| (entry.hosted.name.clone(), slot)).collect()
            };
            roster.iter().rev().flat_map(lives).collect()
        };
        for (name, slot) in left {
            if let Some(in_hand) = slot.take_in_hand() {
                self.give_back(myself, in_hand, &TurnFailure::Killed, None, state);
            }
            if let Some(drain) = &mut state.drain {
                drain.drained.left_running.push(name);
            }
        }
        if let Some(drain) = &mut state.drain {
            drain.over = true;
        }
        self.advance_drain(myself, state);
    }

    fn later(&self, myself: &ActorRef<Order>, at: Moment, order: Order) {
        let (myself, clock) = (myself.clone(), Arc::clone(self.plant.clock()));
        tokio::spawn(async move {
            clock.sleep_until(at).await;
            let _ = myself.cast(order);
        });
    }
}

/// Asks every worker of an actor to end after what it is at. One that ractor has not started yet is asked later.
fn stop_all(entry: &mut Entry) {
    for unit in &mut entry.units {
        let cell = unit.slot.as_ref().and_then(|slot| slot.cell.get());
        if let Some(cell) = cell.filter(|_| !unit.stopping) {
            unit.stopping = true;
            cell.stop(None);
        }
    }
}

fn allowed(slot: &Slot) -> Duration {
    match &slot.lock().phase {
        Phase::Starting(deadline) | Phase::Running(deadline) => deadline.each(),
        Phase::Idle | Phase::Settling => Duration::ZERO,
    }
}
