//! The worker: one ractor actor for each unit of WIP. Its only message is a wake-up; one wake-up is one turn.
//!
//! Everything that must not be lost is elsewhere: messages in the mailbox, the lease in hand in the slot. A worker
//! records how its turn failed before it returns the error that ends it, so that ractor's exit event finds
//! everything written.

use std::sync::Arc;

use mailbox::{AckedBy, Claim, Command, Delivery, Leasing, Lessee, MailboxError, Moment, Nack};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::ailing::{Asked, STORE_REST, TAKT_REST};
use crate::failure::TurnFailure;
use crate::intensity::Exit;
use crate::message::Body;
use crate::panics::{caught, caught_now};
use crate::roster::{Hosted, InHand, Living, Pause, Phase, Plant, Slot};
use crate::turn::{Deadline, Occasion, Turn};
use crate::unit::{Unit, built};
use crate::{Done, Fault, Reason};

/// Do one turn.
pub(crate) struct Wake;

/// One life of one unit of an actor's WIP.
pub(crate) struct Worker {
    pub(crate) plant: Arc<Plant>,
    pub(crate) hosted: Arc<Hosted>,
    pub(crate) slot: Arc<Slot>,
    /// Whether this unit runs the actor's takt: one of them does.
    pub(crate) has_takt: bool,
}

impl Actor for Worker {
    type Msg = Wake;
    type State = Option<Living>;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Wake>, (): ()) -> Result<Self::State, ActorProcessingErr> {
        // Building the actor is the first wake-up: a failure here would reach whoever spawned, not the supervisor,
        // and a slow one would hold it up.
        let _ = self.slot.cell.set(myself.get_cell());
        Ok(None)
    }

    async fn post_start(
        &self,
        myself: ActorRef<Wake>,
        _: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        Ok(myself.cast(Wake)?)
    }

    async fn handle(
        &self,
        myself: ActorRef<Wake>,
        Wake: Wake,
        living: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let goes_on = self.wake(living).await;
        if goes_on.is_err() {
            self.let_go(living);
        }
        if goes_on? {
            myself.cast(Wake)?;
        }
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<Wake>, living: &mut Self::State) -> Result<(), ActorProcessingErr> {
        self.let_go(living);
        Ok(())
    }
}

enum Work {
    Message(Box<Delivery>),
    Takt(Moment),
}

impl Worker {
    /// One turn. Whether there may be another: not when no more work is taken, and what is left to do is to be
    /// stopped.
    async fn wake(&self, living: &mut Option<Living>) -> Result<bool, ActorProcessingErr> {
        let living = match living {
            Some(living) => living,
            None => living.insert(self.slot.living(self.build()?)),
        };
        match self.next_work(living.next.take()).await {
            Some(Work::Message(delivery)) => {
                living.next = self.message_turn(living.unit.as_mut(), *delivery).await?;
            }
            Some(Work::Takt(due)) => self.takt_turn(living.unit.as_mut(), due).await?,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Drops the actor value here, on a handler's thread and before ractor reports the end of this life: its
    /// successor is built after that, and the supervisor waits for nobody's `Drop`. The deadline watches it too.
    fn let_go(&self, living: &mut Option<Living>) {
        if let Some(living) = living.take() {
            let deadline = Deadline::new(self.plant.now(), self.hosted.spec.deadline);
            self.slot.lock().phase = Phase::Running(deadline);
            if let Err(text) = caught_now(|| drop(living)) {
                tracing::error!(actor = %self.hosted.name, "while it was dropped: {text}");
            }
        }
    }

    fn build(&self) -> Result<Box<dyn Unit>, ActorProcessingErr> {
        let unit = built(&self.hosted.factory, &self.hosted.next_context());
        let built = match unit {
            Ok(unit) => {
                self.slot.lock().phase = Phase::Idle;
                Ok(unit)
            }
            Err(why) => {
                let failure = TurnFailure::Start { why };
                self.hosted.failed(failure.to_string());
                self.slot.lock().exit = Some(Exit::Start);
                Err(failure.into())
            }
        };
        self.slot.started.notify_one();
        built
    }

    /// Waits for something to do; `None` when no more work is taken. A lease that was asked for before is given
    /// up where something else comes first.
    async fn next_work(&self, mut asked: Option<Leasing>) -> Option<Work> {
        let (plant, hosted) = (&self.plant, &self.hosted);
        let mut taking = hosted.taking.subscribe();
        let mut pauses = hosted.pause.subscribe();
        loop {
            let paused = pauses
                .borrow_and_update()
                .clone()
                .filter(|pause| pause.until > plant.now());
            let takt = hosted.takt.as_ref().filter(|_| self.has_takt && paused.is_none());
            let takt_at = takt.map(|takt| takt.lock().takt.runs_at());
            let asked = asked.take();
            let lease = async {
                match asked {
                    Some(leasing) => leasing.delivery().await,
                    None => plant.mailboxes.lease(&hosted.name, Lessee::Process).await,
                }
            };
            tokio::select! {
                biased;
                // The senders live in `hosted`, which this worker keeps: neither channel can close.
                _ = taking.wait_for(|taking| !taking) => return None,
                _ = pauses.changed() => {}
                () = plant.clock().sleep_until(paused.as_ref().map_or(Moment::EPOCH, |p| p.until)), if paused.is_some() => {
                    plant.changed();
                }
                () = plant.clock().sleep_until(takt_at.unwrap_or(Moment::EPOCH)), if takt_at.is_some() => {
                    return takt.map(|takt| Work::Takt(takt.lock().takt.due()));
                }
                leased = lease, if hosted.has_mailbox && paused.is_none() => {
                    match leased {
                        Ok(delivery) => {
                            plant.did(Asked::Settle);
                            return Some(Work::Message(Box::new(delivery)));
                        }
                        Err(MailboxError::Closed) => return None,
                        Err(error) => self.rest(&error),
                    }
                }
            }
        }
    }

    /// Hands a message to the actor and has what came of it written; with an ack the next message is asked for.
    async fn message_turn(
        &self,
        unit: &mut dyn Unit,
        delivery: Delivery,
    ) -> Result<Option<Leasing>, ActorProcessingErr> {
        let (in_hand, envelope) = InHand::of(delivery);
        let message = envelope.message.clone();
        let deadline = Deadline::new(self.plant.now(), self.hosted.deadline_of(message.intent()));
        {
            let mut slot = self.slot.lock();
            slot.phase = Phase::Running(Arc::clone(&deadline));
            slot.in_hand = Some(in_hand);
        }
        let attempt = self
            .slot
            .lock()
            .in_hand
            .as_ref()
            .map_or(1, |in_hand| in_hand.attempt);
        let mut turn = self.turn(Occasion::Message { envelope, attempt }, &deadline);
        let run = async {
            match unit.handle(&Body::of(&message), &mut turn) {
                Ok(handled) => handled.await,
                // Its bytes are kept, for when the actor can read them again.
                Err(error) => Err(Fault::Reject(Reason::from(crate::actor::chain(&error)))),
            }
        };
        let ended = self.run(run, &deadline).await;

        let Some(in_hand) = self.end_turn() else {
            return Err("the turn ended after it was given up".into());
        };
        let key = turn.key().to_owned();
        match ended {
            Ok(done) => {
                let (done, emits, read) = turn.finish(done);
                let done = mailbox::Done {
                    outcome: done.outcome().to_owned(),
                    emits,
                    read,
                };
                let next = self.ack(&in_hand, done).await;
                self.succeeded();
                Ok(next)
            }
            Err(failure) => {
                self.note(&key, &failure);
                let exit = in_hand.exit();
                self.nack(&in_hand, &failure).await;
                self.after(failure, exit).map(|()| None)
            }
        }
    }

    async fn takt_turn(&self, unit: &mut dyn Unit, due: Moment) -> Result<(), ActorProcessingErr> {
        let Some(takt) = &self.hosted.takt else {
            return Ok(());
        };
        let deadline = Deadline::new(self.plant.now(), self.hosted.spec.deadline);
        {
            let mut takt = takt.lock();
            takt.running = true;
            takt.tried += 1;
        }
        self.slot.lock().phase = Phase::Running(Arc::clone(&deadline));
        let mut turn = self.turn(Occasion::Takt { due: due.into() }, &deadline);
        let run = async { unit.takt(&mut turn).await };
        let mut ended = self.run(run, &deadline).await;
        self.end_turn();

        let key = turn.key().to_owned();
        if let Ok(done) = ended {
            let (done, emits, _) = turn.finish(done);
            ended = self.append(emits).await.map(|()| done).map_err(|error| {
                let until = self.plant.now().after(TAKT_REST);
                TurnFailure::Fault(Fault::wait(until, crate::actor::chain(&error)))
            });
        }
        let now = self.plant.now();
        let after = match ended {
            Ok(done) => {
                self.succeeded();
                let mut takt = takt.lock();
                takt.takt.ended(now, Ok(done.outcome().to_owned()));
                takt.failure = None;
                Ok(())
            }
            Err(failure) => {
                self.note(&key, &failure);
                let failure = Arc::new(failure);
                {
                    let mut takt = takt.lock();
                    let text = failure.to_string();
                    match &*failure {
                        TurnFailure::Fault(Fault::Wait { until, .. }) => takt.takt.again(now, *until, text),
                        TurnFailure::Fault(Fault::Retry(Reason {
                            after: Some(after), ..
                        })) => {
                            takt.takt.again(now, now.after(*after), text);
                        }
                        _ => takt.takt.ended(now, Err(text)),
                    }
                    takt.failure = Some(Arc::clone(&failure));
                }
                self.after_shared(&failure, Exit::FirstDelivery)
            }
        };
        takt.lock().running = false;
        self.plant.changed();
        after
    }

    fn turn(&self, occasion: Occasion, deadline: &Arc<Deadline>) -> Turn {
        Turn::new(
            self.hosted.name.clone(),
            occasion,
            self.plant.surroundings.clone(),
            Box::new(self.plant.effects.clone()),
            Arc::clone(deadline),
        )
    }

    /// Runs a handler to its end, its panic or its deadline.
    async fn run(
        &self,
        handler: impl Future<Output = Result<Done, Fault>>,
        deadline: &Deadline,
    ) -> Result<Done, TurnFailure> {
        tokio::select! {
            biased;
            ended = caught(handler) => match ended {
                Ok(Ok(done)) => Ok(done),
                Ok(Err(fault)) => Err(TurnFailure::Fault(fault)),
                Err(text) => Err(TurnFailure::Panicked { text }),
            },
            () = deadline.missed(self.plant.clock().as_ref()) => Err(TurnFailure::Deadline { after: deadline.each() }),
        }
    }

    /// The handler is over; what was in hand is taken out of the slot, unless the supervisor was there first.
    fn end_turn(&self) -> Option<InHand> {
        let mut slot = self.slot.lock();
        slot.phase = Phase::Settling;
        slot.in_hand.take()
    }

    fn succeeded(&self) {
        let mut slot = self.slot.lock();
        slot.succeeded = true;
        slot.phase = Phase::Idle;
    }

    fn note(&self, key: &str, failure: &TurnFailure) {
        tracing::warn!(turn = key, "the turn failed: {failure}");
        self.hosted.failed(failure.to_string());
        self.plant.changed();
    }

    fn after(&self, failure: TurnFailure, exit: Exit) -> Result<(), ActorProcessingErr> {
        self.after_shared(&Arc::new(failure), exit)
    }

    /// What a failed turn means for the actor: it goes on, it pauses, or it ends and is built anew.
    fn after_shared(&self, failure: &Arc<TurnFailure>, exit: Exit) -> Result<(), ActorProcessingErr> {
        match &**failure {
            TurnFailure::Fault(Fault::Wait { until, why }) => {
                self.pause(*until, why.to_string());
            }
            TurnFailure::Fault(Fault::Retry(_) | Fault::Reject(_)) => {}
            TurnFailure::Fault(Fault::Crash(_))
            | TurnFailure::Panicked { .. }
            | TurnFailure::Deadline { .. }
            | TurnFailure::Start { .. }
            | TurnFailure::Killed => {
                self.slot.lock().exit = Some(exit);
                return Err(failure.to_string().into());
            }
        }
        self.slot.lock().phase = Phase::Idle;
        Ok(())
    }

    fn pause(&self, until: Moment, why: String) {
        self.hosted.pause.send_replace(Some(Pause { until, why }));
        self.plant.changed();
    }

    fn rest(&self, error: &MailboxError) {
        let text = crate::actor::chain(error);
        self.plant.refused(Asked::Settle, error);
        self.hosted.failed(text.clone());
        self.pause(self.plant.now().after(STORE_REST), text);
    }

    /// Acks, and asks for the next message in the same group, unless something else comes first.
    async fn ack(&self, in_hand: &InHand, done: mailbox::Done) -> Option<Leasing> {
        let command = Command::Ack {
            of: in_hand.of.clone(),
            claim: claim(in_hand),
            by: AckedBy::Actor,
            done,
        };
        if self.takes_messages() {
            let (_, next) = self.plant.settle_then_lease(in_hand, command).await;
            Some(next)
        } else {
            self.plant.settle(in_hand, command).await;
            None
        }
    }

    /// Whether a message is what this worker would take next.
    fn takes_messages(&self) -> bool {
        let (hosted, now) = (&self.hosted, self.plant.now());
        let paused = hosted
            .pause
            .borrow()
            .as_ref()
            .is_some_and(|pause| pause.until > now);
        let takt = hosted.takt.as_ref().filter(|_| self.has_takt);
        let takt_is_due = takt.is_some_and(|takt| takt.lock().takt.runs_at() <= now);
        *hosted.taking.borrow() && !paused && !takt_is_due
    }

    async fn nack(&self, in_hand: &InHand, failure: &TurnFailure) {
        let nack = nack(failure);
        self.plant
            .settle(
                in_hand,
                Command::Nack {
                    of: in_hand.of.clone(),
                    claim: claim(in_hand),
                    nack,
                },
            )
            .await;
    }

    async fn append(&self, emits: Vec<mailbox::Draft>) -> Result<(), MailboxError> {
        if emits.is_empty() {
            return Ok(());
        }
        let appended = self.plant.mailboxes.append(emits).await;
        match &appended {
            Ok(_) => self.plant.did(Asked::Send),
            Err(error) => self.plant.refused(Asked::Send, error),
        }
        appended.map(drop)
    }
}

pub(crate) fn claim(in_hand: &InHand) -> Claim {
    Claim::Lease {
        seq: in_hand.seq,
        lease: in_hand.lease,
    }
}

/// What a failure means for the message.
pub(crate) fn nack(failure: &TurnFailure) -> Nack {
    let reason = failure.to_string();
    match failure {
        TurnFailure::Fault(Fault::Reject(_)) => Nack::Reject { reason },
        TurnFailure::Fault(Fault::Wait { until, .. }) => Nack::HandBack {
            reason,
            until: Some(*until),
        },
        TurnFailure::Fault(Fault::Retry(why)) => Nack::Failed {
            reason,
            retry_after: why.after,
            kind: failure.kind(),
        },
        TurnFailure::Fault(Fault::Crash(_))
        | TurnFailure::Panicked { .. }
        | TurnFailure::Deadline { .. }
        | TurnFailure::Start { .. }
        | TurnFailure::Killed => Nack::Failed {
            reason,
            retry_after: None,
            kind: failure.kind(),
        },
    }
}
