//! The host: declared actors, their supervisor's thread and the handlers' threads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fmt, io};

use chrono::{DateTime, Utc};
use mailbox::rotation::Rotation;
use mailbox::{
    Clock, Envelope, EnvelopeState, Filter, Holder, MailboxError, MailboxName, Mailboxes, Moment, Policy,
};
use ractor::{Actor as _, ActorRef};
use tokio::sync::{oneshot, watch};

use crate::ailing::{Ailing, PATIENCE};
use crate::attention::{UNREAD_LIMIT, Watermarks};
use crate::effects::{Real, owner};
use crate::failure::TurnFailure;
use crate::intensity::{Intensity, Limits};
use crate::registry::{Registry, RegistryError};
use crate::roster::{Entry, Guarded, Hosted, Plant, Roster, TaktNow, UnitEntry};
use crate::status::{ActorState, Overview};
use crate::supervisor::{Drained, Order, Supervisor};
use crate::survey::{OBSERVE_EVERY, Surveyor};
use crate::takt::Takt;
use crate::turn::Surroundings;
use crate::unit::{ChildSpec, Factory, factory};
use crate::{Actor, BoxError, Context, External, external};

/// The fewest threads for handlers: one that blocks, and even three, leave one for the others.
const MIN_HANDLER_THREADS: usize = 4;

/// Starts actors and supervises them.
#[derive(Debug)]
pub struct Host;

impl Host {
    /// A host over these mailboxes, whose actors' files are below `home`.
    pub fn builder(mailboxes: Mailboxes, clock: Arc<dyn Clock>, home: impl Into<PathBuf>) -> HostBuilder {
        HostBuilder {
            mailboxes,
            clock,
            home: home.into(),
            registry: Registry::new(),
            children: Vec::new(),
            policies: BTreeMap::new(),
            refused: None,
            limits: Limits::default(),
            unread_limit: UNREAD_LIMIT,
            watermarks: Watermarks::default(),
            rotation: Rotation::default(),
            evaluate_at: None,
        }
    }
}

/// A host that is not started yet. Actors are started in the order in which they are added, and stopped in
/// reverse.
pub struct HostBuilder {
    mailboxes: Mailboxes,
    clock: Arc<dyn Clock>,
    home: PathBuf,
    registry: Registry,
    children: Vec<Child>,
    policies: BTreeMap<MailboxName, Policy>,
    refused: Option<RegistryError>,
    limits: Limits,
    unread_limit: Duration,
    watermarks: Watermarks,
    rotation: Rotation,
    evaluate_at: Option<DateTime<Utc>>,
}

struct Child {
    name: MailboxName,
    spec: ChildSpec,
    factory: Factory,
}

impl HostBuilder {
    /// Declares actors that are not hosted here, beside those that are; messages are routed to them too.
    pub fn registry(mut self, declare: impl FnOnce(&mut Registry) -> Result<(), RegistryError>) -> Self {
        let declared = declare(&mut self.registry);
        self.note(declared);
        self
    }

    /// Hosts an actor, one message at a time. The factory builds it at its start and after each failure.
    pub fn actor<A: Actor>(
        self,
        build: impl Fn(&Context) -> Result<A, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.child(ChildSpec::default(), build)
    }

    /// Hosts an actor with a tick of its own: at its start, then every so often.
    pub fn takt<A: Actor>(
        self,
        every: Duration,
        build: impl Fn(&Context) -> Result<A, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.child(ChildSpec::default().takt(every), build)
    }

    /// Hosts an actor as its child specification says.
    pub fn child<A: Actor>(
        mut self,
        spec: ChildSpec,
        build: impl Fn(&Context) -> Result<A, BoxError> + Send + Sync + 'static,
    ) -> Self {
        let declared = self.registry.declare::<A>().map(drop);
        self.note(declared);
        match A::NAME.parse() {
            Ok(name) => self.add(name, spec, factory(build)),
            Err(error) => self.note(Err(RegistryError::Name(error))),
        }
        self
    }

    /// Hosts an actor that is a program, or declares one that is pulled, whose mailbox the host then opens and
    /// leaves alone. The deadline of the specification is the program's; a takt has no meaning for it.
    pub fn external(mut self, spec: ChildSpec, external: External) -> Self {
        let declared = self.registry.declare_external(&external).map(drop);
        self.note(declared);
        let External { name, argv, .. } = external;
        let Some(argv) = argv else {
            self.policies.insert(name, spec.mailbox());
            return self;
        };
        // Where the program runs must not depend on who starts it; a home that has no absolute path fails there.
        let home = std::path::absolute(&self.home).unwrap_or_else(|_| self.home.clone());
        let factory = external::program_factory(argv, home, spec.deadline);
        let spec = ChildSpec {
            takt: None,
            deadlines: BTreeMap::new(),
            deadline: external::turn_deadline(spec.deadline),
            ..spec
        };
        self.add(name, spec, factory);
        self
    }

    /// How the mailbox of a declared actor is treated that is not hosted here; as a default child specification
    /// says where nothing is said.
    pub fn elsewhere(mut self, mailbox: MailboxName, policy: Policy) -> Self {
        self.policies.entry(mailbox).or_insert(policy);
        self
    }

    fn add(&mut self, name: MailboxName, spec: ChildSpec, factory: Factory) {
        if self.children.iter().any(|child| child.name == name) {
            return self.note(Err(RegistryError::Taken { actor: name }));
        }
        self.policies.insert(name.clone(), spec.mailbox());
        self.children.push(Child { name, spec, factory });
    }

    /// The restart intensity of actors whose specification names none.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long a message may be unread, or an actor wait, before a person must look.
    pub fn unread_limit(mut self, limit: Duration) -> Self {
        self.unread_limit = limit;
        self
    }

    /// How full a mailbox may be.
    pub fn watermarks(mut self, marks: Watermarks) -> Self {
        self.watermarks = marks;
        self
    }

    /// When files of lines are cut, and how long the pieces are kept.
    pub fn rotation(mut self, rotation: Rotation) -> Self {
        self.rotation = rotation;
        self
    }

    /// Has every turn evaluate as of this moment. Leases, backoff and deadlines run on the real clock.
    pub fn evaluate_at(mut self, moment: DateTime<Utc>) -> Self {
        self.evaluate_at = Some(moment);
        self
    }

    fn note(&mut self, declared: Result<(), RegistryError>) {
        if let Err(error) = declared {
            self.refused.get_or_insert(error);
        }
    }

    /// Declares the mailboxes and starts the actors. They are being started when it returns.
    ///
    /// # Errors
    ///
    /// When an actor's declaration is wrong, a mailbox cannot be declared, or a thread cannot be started.
    pub async fn start(self) -> Result<Running, StartError> {
        if let Some(refused) = self.refused {
            return Err(refused.into());
        }
        // Programs that outlived the process which held the home before, killed or cut off.
        child::end_strays(&owner(&self.home)).await;
        let registry = Arc::new(self.registry);
        let mut policies: Vec<_> = registry
            .mailboxes()
            .map(|name| {
                let policy = self.policies.get(name).cloned();
                (
                    name.clone(),
                    policy.unwrap_or_else(|| ChildSpec::default().mailbox()),
                )
            })
            .collect();
        policies.push((MailboxName::dead_letter(), Policy::default()));
        for (name, policy) in policies {
            self.mailboxes.declare(name, policy).await?;
        }

        let overview = watch::Sender::new(Arc::<Overview>::default());
        let surroundings = Surroundings {
            registry: Arc::clone(&registry),
            clock: self.clock,
            evaluate_at: self.evaluate_at,
            overview: overview.subscribe(),
            told: Arc::default(),
        };
        let plant = Arc::new(Plant {
            mailboxes: self.mailboxes,
            surroundings,
            effects: Real::rotating(self.home, self.rotation),
            changed: watch::Sender::new(()),
            ailing: Ailing::default(),
            draining: watch::Sender::new(false),
        });
        let limits = self.limits;
        let entries = self
            .children
            .into_iter()
            .map(|child| entry(child, &registry, limits, plant.now()));
        let roster: Roster = Arc::new(Guarded::new(entries.collect()));
        let surveyor = Surveyor {
            plant,
            roster,
            overview: Arc::new(overview),
            unread_limit: self.unread_limit,
            watermarks: self.watermarks,
            counted: Arc::default(),
            turns: Arc::default(),
        };
        // Whoever is started first already sees what there is.
        surveyor.survey().await?;
        let (supervisor, thread) = start_threads(surveyor.clone()).await?;
        Ok(Running {
            supervisor,
            surveyor,
            thread,
        })
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.children.iter().map(|child| &child.name).collect();
        f.debug_struct("HostBuilder")
            .field("home", &self.home)
            .field("actors", &names)
            .finish_non_exhaustive()
    }
}

fn entry(child: Child, registry: &Registry, limits: Limits, now: Moment) -> Entry {
    let Child { name, spec, factory } = child;
    let takt = spec.takt.map(|every| TaktNow {
        takt: Takt::starting(now, every),
        running: false,
        tried: 0,
        failure: None,
    });
    let limits = spec.limits.unwrap_or(limits);
    let units = (0..spec.wip).map(|_| UnitEntry::default()).collect();
    let hosted = Hosted {
        has_mailbox: registry.mailboxes().any(|mailbox| *mailbox == name),
        name,
        spec,
        factory,
        taking: watch::Sender::new(true),
        pause: watch::Sender::new(None),
        takt: takt.map(Guarded::new),
        starts: AtomicU64::new(0),
        last_failure: Guarded::default(),
    };
    Entry {
        hosted: Arc::new(hosted),
        intensity: Intensity::new(limits),
        units,
        down_until: None,
        restarts: 0,
        stopped: false,
    }
}

/// The supervisor gets a thread of its own, so that no handler can hold up its timers.
async fn start_threads(surveyor: Surveyor) -> Result<(ActorRef<Order>, JoinHandle<()>), StartError> {
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .max(MIN_HANDLER_THREADS);
    let handlers = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("handler")
        .enable_all()
        .build()
        .map_err(StartError::Thread)?;
    let own = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(StartError::Thread)?;
    let supervisor = Supervisor {
        plant: Arc::clone(&surveyor.plant),
        roster: Arc::clone(&surveyor.roster),
        handlers: handlers.handle().clone(),
    };
    let (started, starts) = oneshot::channel();
    let supervise = move || {
        own.block_on(async move {
            match Supervisor::spawn(None, supervisor, ()).await {
                Ok((supervisor, ended)) => {
                    let _ = started.send(Ok(supervisor));
                    let observed = tokio::spawn(surveyor.observe());
                    // It ends when it is told to; an error means that its runtime has ended.
                    let _ = ended.await;
                    observed.abort();
                }
                Err(error) => {
                    let _ = started.send(Err(io::Error::other(error.to_string())));
                }
            }
        });
        // A handler that does not end must not keep the program from ending.
        handlers.shutdown_background();
    };
    let thread = thread::Builder::new()
        .name("supervisor".to_owned())
        .spawn(supervise)
        .map_err(StartError::Thread)?;
    match starts.await {
        Ok(started) => Ok((started.map_err(StartError::Thread)?, thread)),
        Err(_) => Err(StartError::Thread(io::Error::other(
            "the supervisor's thread ended at its start",
        ))),
    }
}

/// A host that runs. Dropping it stops its actors at once, without a drain.
pub struct Running {
    supervisor: ActorRef<Order>,
    surveyor: Surveyor,
    thread: JoinHandle<()>,
}

/// How the last run of an actor's takt went.
#[derive(Clone, Debug)]
pub struct TaktReport {
    /// The actor.
    pub actor: MailboxName,
    /// Its outcome, or why there is none.
    pub result: Result<String, Arc<TurnFailure>>,
}

impl Running {
    /// Every declared actor and what a person must look at, as of now.
    ///
    /// # Errors
    ///
    /// When the mailboxes do not answer.
    pub async fn overview(&self) -> Result<Arc<Overview>, MailboxError> {
        self.surveyor.survey().await
    }

    /// Follows the overview. It is derived when supervision changes something, and every few seconds; turns that
    /// begin and end in between do not show.
    pub fn follow(&self) -> watch::Receiver<Arc<Overview>> {
        self.surveyor.overview.subscribe()
    }

    pub(crate) fn surveyor(&self) -> &Surveyor {
        &self.surveyor
    }

    /// What is declared, for whoever takes messages from outside.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.surveyor.plant.surroundings.registry)
    }

    /// Waits until every takt was tried once and then no hosted actor has anything that it could do now. What
    /// rests after a failure since this was called, waits for a dependency, belongs to an actor that is down, or is
    /// pulled from outside stays unread. Reports how each takt went.
    ///
    /// # Errors
    ///
    /// When the mailboxes do not answer, or refuse what the actors ask of them and do not recover soon.
    pub async fn until_quiet(&self) -> Result<Vec<TaktReport>, MailboxError> {
        let plant = &self.surveyor.plant;
        let mut changes = plant.mailboxes.subscribe();
        let mut changed = plant.changed.subscribe();
        let began = plant.now();
        loop {
            changed.mark_unchanged();
            let quiet = self.is_quiet(began).await?;
            if let Some(trouble) = plant.trouble()
                && (quiet || plant.now().since(trouble.since) >= PATIENCE)
            {
                return Err(trouble.error);
            }
            if quiet {
                return Ok(self.takt_reports());
            }
            tokio::select! {
                _ = changes.changed() => {}
                _ = changed.changed() => {}
                () = plant.clock().sleep_until(plant.now().after(OBSERVE_EVERY)) => {}
            }
        }
    }

    async fn is_quiet(&self, since: Moment) -> Result<bool, MailboxError> {
        let plant = &self.surveyor.plant;
        // Takts first: what a takt has sent is in the mailboxes before it counts as over.
        let able: Vec<_> = {
            let (roster, now) = (self.surveyor.roster.lock(), plant.now());
            let able = roster.iter().filter(|entry| can_work(&entry.state(now)));
            let takt_is_open = |entry: &&Entry| {
                entry.hosted.takt.as_ref().is_some_and(|takt| {
                    let takt = takt.lock();
                    takt.running || takt.tried == 0
                })
            };
            if able.clone().any(|entry| takt_is_open(&entry)) {
                return Ok(false);
            }
            able.map(|entry| entry.hosted.name.clone()).collect()
        };
        for mailbox in plant.mailboxes.status().await? {
            if !able.contains(&mailbox.name) {
                continue;
            }
            let ready = mailbox.next_deliverable.is_some_and(|next| next <= plant.now());
            let in_hand = mailbox.leased > mailbox.pulled;
            if in_hand || (ready && self.has_new_work(&mailbox.name, since).await?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a mailbox has a message that could have been taken at `since` already, or is new, also one that was
    /// taken here meanwhile. One that failed after that rests, and stays unread though its actor may take longer to be built anew than it rests.
    async fn has_new_work(&self, mailbox: &MailboxName, since: Moment) -> Result<bool, MailboxError> {
        let mut filter = Filter::unread();
        loop {
            let page = self.surveyor.plant.mailboxes.envelopes(mailbox, filter).await?;
            let is_new = |envelope: &Envelope| match envelope.state {
                EnvelopeState::Unread { not_before } => not_before.is_none_or(|moment| moment <= since),
                EnvelopeState::Leased { holder, .. } => matches!(holder, Holder::Process(_)),
                EnvelopeState::Acked { .. } | EnvelopeState::Quarantined { .. } => false,
            };
            match page.last() {
                None => return Ok(false),
                Some(_) if page.iter().any(is_new) => return Ok(true),
                Some(last) => filter = Filter::unread().after(last.seq),
            }
        }
    }

    fn takt_reports(&self) -> Vec<TaktReport> {
        let roster = self.surveyor.roster.lock();
        let report = |entry: &Entry| {
            let takt = entry.hosted.takt.as_ref()?.lock();
            let result = match (&takt.failure, takt.takt.status().last) {
                (Some(failure), _) => Err(Arc::clone(failure)),
                (None, Some(Ok(outcome))) => Ok(outcome),
                (None, _) => {
                    let why = entry.hosted.last_failure.lock().clone().unwrap_or_default();
                    Err(Arc::new(TurnFailure::Start { why }))
                }
            };
            Some(TaktReport {
                actor: entry.hosted.name.clone(),
                result,
            })
        };
        roster.iter().filter_map(report).collect()
    }

    /// Stops the host: no new message is taken, the running handlers get `grace` together, then they are stopped,
    /// and what is unfinished is handed back unread with its attempt. Returns when all of that is written.
    pub async fn drain(self, grace: Duration) -> Drained {
        // From here on nobody takes anything, however long the supervisor's own orders are.
        self.surveyor.plant.draining.send_replace(true);
        for entry in self.surveyor.roster.lock().iter() {
            entry.hosted.taking.send_replace(false);
        }
        let (reply, drained) = oneshot::channel();
        let until = self.surveyor.plant.now().after(grace);
        let _ = self.supervisor.cast(Order::Drain(until, reply));
        // Without an answer the supervisor has ended before: nothing is left to drain.
        let drained = drained.await.unwrap_or_default();
        let Self { thread, .. } = self;
        // The thread has nothing left to do but to end; a panic in it was logged as one.
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        drained
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

/// Whether an actor in this state does more work by itself before its next timer.
fn can_work(state: &ActorState) -> bool {
    match state {
        ActorState::Starting | ActorState::Idle | ActorState::Running | ActorState::BackingOff { .. } => true,
        ActorState::Waiting { .. }
        | ActorState::Down { .. }
        | ActorState::Stalled { .. }
        | ActorState::Stopped
        | ActorState::Elsewhere => false,
    }
}

/// Why a host did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An actor's declaration is wrong.
    #[error(transparent)]
    Declaration(#[from] RegistryError),
    /// The mailboxes do not answer.
    #[error(transparent)]
    Mailbox(#[from] MailboxError),
    /// A thread could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}
