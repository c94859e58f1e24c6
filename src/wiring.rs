//! The one place that puts concrete parts together: which actors there are, what they are built of, and
//! where the mailboxes lie.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actors::drip::Drip;
use actors::investigate::Investigate;
use actors::pr_state::{PrState, Rules, Selection, WorkingSet};
use actors::qa::Qa;
use actors::reconciler::{Books, Reconciler};
use actors::retro::Retro;
use actors::trees::Trees;
use github::{EndpointError, Endpoints, Limits, Reader};
use mailbox::{Clock, MailboxName, MailboxStatus, Mailboxes, Moment, OpenError, Policy, SystemClock};
use runtime::control::{self, Connected, ControlError, Holder};
use runtime::{
    Actor, ActorState, ActorStatus, ChildSpec, External, HandledBy, Host, HostBuilder, Overview, Registry,
    RegistryError, Seen, Watermarks, attention,
};

use crate::config::{ActorFile, ActorFileError, Backend, Config, ConfigError};
use crate::failure::{Exit, Failure};
use crate::home::Home;
use crate::mirroring::{Kept, Mirroring};
use crate::token::Credentials;

mod handlers;
mod maintained;
mod post_mortem;
mod reconciling;
mod work_trees;

pub use handlers::Handler;
pub use maintained::{ledger, maintained, present};
pub use post_mortem::PostMortem;
pub use reconciling::{books, books_seen, reconciles, reconciling};
pub use work_trees::{GIT_VARIABLE, git_base, trees};

/// The variable that says where GitHub's REST API is.
pub const API_VARIABLE: &str = "GITHUB_API_URL";
/// The variable that says where GitHub's GraphQL API is.
pub const GRAPHQL_VARIABLE: &str = "GITHUB_GRAPHQL_URL";

/// The folder of the mailboxes within the home.
pub const MAILBOX: &str = "mailbox";

/// The built-in actors, the dispatcher last: whom it sends to is started before it.
pub const BUILT_IN: [&str; 6] = [
    Retro::NAME,
    Drip::NAME,
    Investigate::NAME,
    Qa::NAME,
    Reconciler::NAME,
    PrState::NAME,
];

/// Where GitHub is, as the environment says.
pub fn endpoints() -> Result<Endpoints, EndpointError> {
    let variable = |name| std::env::var(name).ok();
    Endpoints::new(
        variable(API_VARIABLE).as_deref(),
        variable(GRAPHQL_VARIABLE).as_deref(),
    )
}

/// The user's own GitHub. Nothing is asked yet.
pub fn github(retry_wait: Duration) -> Result<Reader, Failure> {
    let endpoints = endpoints()?;
    let credentials = Credentials::for_api(&endpoints.rest());
    Ok(reader(endpoints, credentials, retry_wait)?)
}

/// A reader of the GitHub that is there.
pub fn reader(
    endpoints: Endpoints,
    source: impl github::TokenSource,
    retry_wait: Duration,
) -> Result<Reader, github::ReadError> {
    let limits = Limits {
        retry_wait,
        ..Limits::default()
    };
    Reader::connect(endpoints, Arc::new(source), limits)
}

/// Actors by name: built-in ones, and those that have a file of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    built_in: BTreeSet<&'static str>,
    from_files: BTreeSet<String>,
}

impl Chosen {
    /// The built-in actors that the configuration does not disable, and every one that has a file.
    pub fn enabled(config: &Config) -> Result<Self, Failure> {
        let disable = &config.actors.disable;
        if let Some(name) = disable.iter().find(|name| !BUILT_IN.contains(&name.as_str())) {
            let key = "actors.disable";
            let Some((file, line)) = config.place_of(key) else {
                return Err(unknown("[actors] disable", name, BUILT_IN.into_iter()));
            };
            let refused = ConfigError::Value {
                file: file.to_owned(),
                line,
                key: key.to_owned(),
                reason: format!("{name:?} is no built-in actor"),
            };
            return Err(Failure::from(refused).mend(format!("They are: {}.", BUILT_IN.join(", "))));
        }
        let mut built_in = BTreeSet::from(BUILT_IN);
        built_in.retain(|name| !disable.contains(*name));
        // Without a repository to maintain there is nobody to reconcile.
        built_in.retain(|name| *name != Reconciler::NAME || reconciles(config));
        let from_files = config.declared.iter().map(|actor| {
            if built_in.contains(actor.name.as_str()) {
                let (file, name) = (actor.file.clone(), actor.name.clone());
                return Err(ActorFileError::Taken { file, name });
            }
            Ok(actor.name.to_string())
        });
        let from_files = from_files.collect::<Result<_, _>>()?;
        Ok(Self { built_in, from_files })
    }

    /// Of these, the ones that are named; all where none is.
    pub fn only(&self, names: &[String]) -> Result<Self, Failure> {
        if names.is_empty() {
            return Ok(self.clone());
        }
        for name in names {
            if self.has(name) || self.from_files.contains(name) {
                continue;
            }
            return Err(match BUILT_IN.contains(&name.as_str()) {
                true => Failure::new(Exit::Usage, format!("--actors names {name}, which is disabled"))
                    .mend("Take it out of `[actors] disable`."),
                false => {
                    let from_files = self.from_files.iter().map(String::as_str);
                    unknown("--actors", name, self.built_in.iter().copied().chain(from_files))
                }
            });
        }
        let mut only = self.clone();
        only.built_in
            .retain(|known| names.iter().any(|name| name == known));
        only.from_files.retain(|known| names.contains(known));
        Ok(only)
    }

    /// Whether a built-in actor is among them.
    pub fn has(&self, name: &str) -> bool {
        self.built_in.contains(name)
    }

    /// Whether one of them reads GitHub, so that credentials are needed.
    pub fn reads_github(&self, config: &Config) -> bool {
        let runs_gates = self.has(Qa::NAME) && !config.work.gates.is_empty();
        let readers = [PrState::NAME, Investigate::NAME, Drip::NAME, Reconciler::NAME];
        runs_gates || readers.iter().any(|name| self.has(name))
    }

    /// The files whose actors are among them.
    fn files<'c>(&self, config: &'c Config) -> impl Iterator<Item = &'c ActorFile> {
        let declared = config.declared.iter();
        declared.filter(|actor| self.from_files.contains(actor.name.as_str()))
    }

    /// Declares them.
    fn declare(&self, config: &Config, registry: &mut Registry) -> Result<(), RegistryError> {
        if self.has(Retro::NAME) {
            registry.declare::<Retro>()?;
        }
        if self.has(Drip::NAME) {
            registry.declare::<Drip>()?;
        }
        if self.has(Investigate::NAME) {
            registry.declare::<Investigate>()?;
        }
        if self.has(Qa::NAME) {
            registry.declare::<Qa>()?;
        }
        if self.has(Reconciler::NAME) {
            registry.declare::<Reconciler>()?;
        }
        if self.has(PrState::NAME) {
            registry.declare::<PrState>()?;
        }
        for actor in self.files(config) {
            registry.declare_external(&external(actor))?;
        }
        Ok(())
    }
}

fn unknown<'n>(by: &str, name: &str, known: impl Iterator<Item = &'n str>) -> Failure {
    let known: Vec<&str> = known.collect();
    Failure::new(
        Exit::Usage,
        format!("{by} names {name:?}, which is no such actor"),
    )
    .mend(format!("They are: {}.", known.join(", ")))
}

/// An actor that has a file of its own.
fn external(actor: &ActorFile) -> External {
    let (name, consumes) = (actor.name.clone(), actor.consumes.clone());
    match &actor.command {
        Some(argv) => External::program(name, consumes, argv),
        None => External::pulled(name, consumes),
    }
}

/// What is declared, hosted or not.
pub fn registry(config: &Config) -> Result<Registry, Failure> {
    let mut registry = Registry::new();
    Chosen::enabled(config)?.declare(config, &mut registry)?;
    Ok(registry)
}

/// What actors reach outside this process.
pub struct Outside<'a> {
    /// GitHub, where one of them reads it.
    pub github: Option<&'a Reader>,
    /// The ledger, where one of them keeps it.
    pub books: Option<Books>,
    /// Where branches are checked out.
    pub trees: Trees,
}

/// What a turn gets beyond its longest step with a work tree, for all that is not that step.
const STEP_SLACK: Duration = Duration::from_secs(60);

/// A host of the chosen actors over open mailboxes. Whoever is declared and not chosen gets messages too.
pub fn host(
    opened: &Opened,
    home: &Home,
    config: &Config,
    chosen: &Chosen,
    outside: &Outside<'_>,
) -> Result<HostBuilder, Failure> {
    let enabled = Chosen::enabled(config)?;
    let spec = || ChildSpec::default().policy(policy(config, None));
    let mut host = Host::builder(opened.mailboxes.clone(), Arc::clone(&opened.clock), &home.path)
        .unread_limit(config.actors.unread_limit.get())
        .watermarks(watermarks(config))
        .rotation(config.rotation())
        .limits(runtime::Limits {
            max_restarts: config.actors.max_restarts,
            restart_window: config.actors.restart_window.get(),
            cool_off: config.actors.cool_off.get(),
            ..runtime::Limits::default()
        })
        .registry(|registry| enabled.declare(config, registry));
    for actor in chosen.files(config) {
        let spec = ChildSpec::default()
            .policy(policy(config, Some(actor)))
            .deadline(actor.timeout.get())
            .wip(actor.wip as usize);
        host = host.external(spec, external(actor));
    }
    for mailbox in opened.registry.mailboxes() {
        host = host.elsewhere(mailbox.clone(), policy_of(config, mailbox));
    }
    if chosen.has(Retro::NAME) {
        host = host.child(spec(), |_| Ok(Retro));
    }
    let Outside { github, trees, books } = outside;
    // A step with a work tree says that it gets on when it is done.
    let working = |longest: Duration| spec().deadline(longest.max(trees.longest_step()) + STEP_SLACK);
    match github {
        Some(github) if chosen.has(Qa::NAME) && !config.work.gates.is_empty() => {
            let (github, trees, gates) = (Reader::clone(github), trees.clone(), config.work.gates.clone());
            host = host.child(working(gates.longest()), move |_| {
                Ok(Qa::new(github.clone(), trees.clone(), gates.clone()))
            });
        }
        _ if chosen.has(Qa::NAME) => host = host.child(spec(), |_| Ok(Qa::without_gates())),
        _ => {}
    }
    let Some(github) = *github else {
        return Ok(host);
    };
    if chosen.has(Drip::NAME) {
        let (github, rules, trees) = (github.clone(), rules(config), trees.clone());
        let pushing = config.work.pushing;
        host = host.child(working(Duration::ZERO), move |_| {
            Ok(Drip::new(github.clone(), rules.clone(), trees.clone(), pushing))
        });
    }
    if chosen.has(Investigate::NAME) {
        let (github, trees) = (github.clone(), trees.clone());
        let (answering, home) = (config.work.answering.clone(), home.path.clone());
        let longest = answering
            .as_ref()
            .map_or(Duration::ZERO, |answering| answering.timeout);
        host = host.child(working(longest), move |_| {
            let investigate = Investigate::new(github.clone(), trees.clone());
            Ok(match answering.clone() {
                Some(answering) => investigate.answering(answering, &home),
                None => investigate,
            })
        });
    }
    if let Some(books) = books {
        let (github, books, rules) = (github.clone(), books.clone(), reconciling(config));
        let spec = spec().takt(config.lifecycle.every.get());
        host = host.child(spec, move |_| {
            Ok(Reconciler::new(github.clone(), books.clone(), rules.clone()))
        });
    }
    if chosen.has(PrState::NAME) {
        let (github, rules, selection) = (github.clone(), rules(config), everything(config));
        let spec = spec().takt(config.pr_state.every.get());
        host = host.child(spec, move |_| {
            Ok(PrState::new(github.clone(), rules.clone(), selection.clone()))
        });
    }
    Ok(host)
}

/// What the dispatcher goes by.
pub fn rules(config: &Config) -> Rules {
    let people = pulls::people::People {
        machine_users: config.pr_state.machine_users.clone(),
        private_members: config.pr_state.private_members.clone(),
    };
    Rules {
        settings: lifecycle::Settings { people },
        gated: config.work.gates.repositories().cloned().collect(),
    }
}

/// What the dispatcher's own tick is about.
fn everything(config: &Config) -> Selection {
    Selection {
        from: WorkingSet::Everywhere,
        limit: usize::from(config.pr_state.limit),
    }
}

/// How long a home that another process holds is waited for. A command holds it for a moment; one that works
/// longer is named.
const FREE_WITHIN: Duration = Duration::from_secs(3);

/// How often it is looked whether the home is free.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The home's mailboxes with everything that is declared: held by this process, or by a `sweep run` that is asked
/// over its control socket.
pub struct Opened {
    /// The mailboxes.
    pub mailboxes: Mailboxes,
    /// Who consumes what.
    pub registry: Arc<Registry>,
    /// What leases and backoff run on.
    pub clock: Arc<dyn Clock>,
    /// The mirror; `None` where it is another's to keep: that of the process that holds the mailboxes.
    mirror: Option<Mirroring>,
    /// The home, where another process holds it.
    asked: Option<PathBuf>,
}

impl Opened {
    /// Makes the home if need be and opens its mailboxes; where a `sweep run` holds them, asks it.
    pub async fn open(home: &Home, config: &Config) -> Result<Self, Failure> {
        home.make()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let until = clock.now().after(FREE_WITHIN);
        loop {
            match control::connect(&home.path).await {
                Ok(holder) => return Self::asked(home, config, clock, holder).await,
                Err(ControlError::Absent { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            match open_mailboxes(home, config, &clock) {
                // It may be about to end, or to listen.
                Err(OpenError::Held { .. }) if clock.now() < until => tokio::time::sleep(LOOK_EVERY).await,
                opened => return Self::held(home, config, clock, opened?).await,
            }
        }
    }

    /// The same for a process that hosts actors, which must hold the mailboxes itself.
    pub async fn hold(home: &Home, config: &Config) -> Result<Self, Failure> {
        home.make()?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let until = clock.now().after(FREE_WITHIN);
        loop {
            match open_mailboxes(home, config, &clock) {
                Err(OpenError::Held { .. }) if clock.now() < until => {
                    if let Ok(connected) = control::connect(&home.path).await {
                        return Err(held_by(connected.holder()));
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                opened => return Self::held(home, config, clock, opened?).await,
            }
        }
    }

    /// Mailboxes of this process's own, with what is declared, and the mirror beside them.
    async fn held(
        home: &Home,
        config: &Config,
        clock: Arc<dyn Clock>,
        mailboxes: Mailboxes,
    ) -> Result<Self, Failure> {
        let registry = registry(config)?;
        for mailbox in registry.mailboxes() {
            mailboxes
                .declare(mailbox.clone(), policy_of(config, mailbox))
                .await?;
        }
        let registry = Arc::new(registry);
        let mut mirror = Mirroring::new(
            &home.path,
            mailboxes.clone(),
            Arc::clone(&registry),
            Arc::clone(&clock),
            mirror_rules(config),
        );
        mirror.sync().await;
        Ok(Self {
            mailboxes,
            registry,
            clock,
            mirror: Some(mirror),
            asked: None,
        })
    }

    /// The mailboxes of the process at the other end, which keeps their mirror too.
    async fn asked(
        home: &Home,
        config: &Config,
        clock: Arc<dyn Clock>,
        holder: Connected,
    ) -> Result<Self, Failure> {
        Ok(Self {
            mailboxes: holder.mailboxes().await?,
            registry: Arc::new(registry(config)?),
            clock,
            mirror: None,
            asked: Some(home.path.clone()),
        })
    }

    /// Whether another process holds the mailboxes.
    pub fn is_elsewhere(&self) -> bool {
        self.asked.is_some()
    }

    /// From now on the mirror is kept by a task of its own, which whoever gets it ends before closing.
    pub fn keep_mirror(&mut self) -> Option<Kept> {
        self.mirror.take().map(Mirroring::keep)
    }

    /// Takes the mirror back, to write it once more before closing.
    pub async fn stop_mirror(&mut self, kept: Option<Kept>) {
        if let Some(kept) = kept {
            self.mirror = kept.stop().await;
        }
    }

    /// Every declared actor and what a person must look at. Where this process holds the home, no actor runs.
    pub async fn overview(&self, config: &Config) -> Result<Overview, Failure> {
        if let Some(home) = &self.asked {
            return Ok(control::connect(home).await?.overview().await?);
        }
        let mailboxes = self.mailboxes.status().await?;
        Ok(at_rest(&self.registry, &mailboxes, config, self.clock.now()))
    }

    /// Finishes what was asked, writes the mirror and closes the mailboxes.
    pub async fn close(self) {
        if let Some(mirror) = self.mirror {
            mirror.close().await;
        }
        self.mailboxes.close().await;
    }

    /// Refuses a mailbox that no declared actor has.
    pub fn known(&self, of: &MailboxName) -> Result<(), Failure> {
        declared(&self.registry, of)
    }
}

/// Refuses a mailbox that no declared actor has.
pub fn declared(registry: &Registry, of: &MailboxName) -> Result<(), Failure> {
    if *of == MailboxName::dead_letter() || registry.mailboxes().any(|mailbox| mailbox == of) {
        return Ok(());
    }
    let known: Vec<&str> = registry.mailboxes().map(MailboxName::as_str).collect();
    let headline = match registry.actors().any(|actor| actor == of) {
        true => format!("{of} consumes no messages: it has only its own tick"),
        false => format!("there is no actor {of}"),
    };
    Err(Failure::new(Exit::Usage, headline).mend(format!("Those with a mailbox are: {}.", known.join(", "))))
}

fn open_mailboxes(home: &Home, config: &Config, clock: &Arc<dyn Clock>) -> Result<Mailboxes, OpenError> {
    match config.mailbox.backend {
        Backend::Sled => Mailboxes::open_sled(&home.path.join(MAILBOX), Arc::clone(clock)),
    }
}

/// Why a second process cannot host actors.
fn held_by(holder: &Holder) -> Failure {
    Failure::new(
        Exit::Held,
        format!("the home is in use: `sweep run` holds it ({holder})"),
    )
    .mend(format!(
        "End it with `kill {}`, or name another home with --home; every other command works beside it.",
        holder.pid
    ))
}

/// Every declared actor and what a person must look at, where no actor runs.
fn at_rest(registry: &Registry, mailboxes: &[MailboxStatus], config: &Config, now: Moment) -> Overview {
    let actors: Vec<ActorStatus> = registry
        .actors()
        .map(|name| {
            let mailbox = mailboxes.iter().find(|mailbox| mailbox.name == *name);
            let intents = registry.intents(name).unwrap_or_default();
            ActorStatus {
                name: name.clone(),
                intents: intents.into_iter().map(str::to_owned).collect(),
                state: match registry.handled_by(name) {
                    Some(HandledBy::Pull) => ActorState::Elsewhere,
                    Some(HandledBy::Type | HandledBy::Program) | None => ActorState::Stopped,
                },
                restarts: 0,
                last_failure: None,
                unread: mailbox.map_or(0, |mailbox| mailbox.unread),
                oldest_unread: mailbox.and_then(|mailbox| mailbox.oldest_unread),
                quarantined: mailbox.map_or(0, |mailbox| mailbox.quarantined),
                takt: None,
            }
        })
        .collect();
    let seen = Seen {
        now,
        actors: &actors,
        mailboxes,
        unread_limit: config.actors.unread_limit.get(),
        watermarks: watermarks(config),
        refused: None,
        told: &[],
    };
    let attention = attention(&seen, &[]);
    Overview { actors, attention }
}

/// How full a mailbox may be.
fn watermarks(config: &Config) -> Watermarks {
    Watermarks {
        soft: config.mailbox.soft_watermark.into(),
        hard: config.mailbox.hard_watermark.into(),
    }
}

/// How a declared mailbox is treated, wherever its actor lives.
fn policy_of(config: &Config, mailbox: &MailboxName) -> Policy {
    policy(
        config,
        config.declared.iter().find(|actor| actor.name == *mailbox),
    )
}

/// What a mailbox does about failure and repetition: of an actor that has a file of its own, or of a built-in.
fn policy(config: &Config, own: Option<&ActorFile>) -> Policy {
    Policy {
        max_attempts: own.map_or(config.actors.max_attempts, |actor| actor.max_attempts),
        wip: Some(own.map_or(1, |actor| actor.wip)),
        unchanged_for: config.mailbox.unchanged_for.get(),
        keep: config.mailbox.keep.get(),
        dedupe_horizon: config.mailbox.dedupe_horizon.get(),
        ..Policy::default()
    }
}

/// What the mirror goes by: it keeps lines as long as the mailboxes keep messages.
fn mirror_rules(config: &Config) -> mailbox::mirror::Rules {
    mailbox::mirror::Rules {
        horizon: config.mailbox.dedupe_horizon.get(),
        rotation: config.rotation(),
    }
}
