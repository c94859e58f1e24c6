//! An actor that does what its messages say, and waiting for what it comes to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Once};
use std::time::{Duration, Instant};

use mailbox::{
    Clock, Envelope, EnvelopeState, Filter, MailboxName, MailboxStatus, Mailboxes, ManualClock, Message,
    Moment,
};
use runtime::{
    Actor, ChildSpec, Context, Done, Fault, Host, HostBuilder, Intent, Overview, Running, Turn, message,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// How long a test waits, in real time, for what must come: long for a busy machine, and never waited out where
/// all is well.
const PATIENCE: Duration = Duration::from_secs(60);

pub const SECOND: Duration = Duration::from_secs(1);

/// What a worker is told to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    Succeed,
    Panic,
    Crash,
    Retry,
    RetryAfterSeconds(u64),
    Reject,
    WaitSeconds(u64),
    /// Never ends, but can be dropped.
    Hang,
    /// Blocks its thread until the gate is opened.
    Block,
    /// Shows progress again and again until the gate is opened.
    Progress,
    /// Sends a `report`, then does the rest.
    Report(Box<Deed>),
    /// Panics on the first delivery only.
    PanicOnce,
    /// Waits for the gate without blocking its thread.
    Await,
    /// Panics one time in a hundred, fails one in ten, and succeeds the other times: another throw each delivery.
    Dice(u64),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    pub name: String,
    pub deed: Deed,
}
impl Intent for Work {
    const NAME: &'static str = "work";
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    pub about: String,
}
impl Intent for Report {
    const NAME: &'static str = "report";
}

message! {
    pub enum WorkerMessage { Work(Work) }
}
message! {
    pub enum ClerkMessage { Report(Report) }
}

/// A gate that handlers wait at, with or without blocking their thread.
#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
    notify: tokio::sync::Notify,
}

impl Gate {
    pub fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
        self.notify.notify_waiters();
    }

    fn is_open(&self) -> bool {
        *self.open.lock().unwrap()
    }

    fn block(&self) {
        let _opened = self
            .opened
            .wait_while(self.open.lock().unwrap(), |open| !*open)
            .unwrap();
    }

    async fn wait(&self) {
        loop {
            let opened = self.notify.notified();
            if self.is_open() {
                return;
            }
            opened.await;
        }
    }
}

/// What happened, in order, as the actors saw it; and what they are told beside their messages.
#[derive(Default)]
pub struct Script {
    log: Mutex<Vec<String>>,
    pub gate: Gate,
    /// Starts that fail, by actor.
    failing_starts: Mutex<BTreeMap<String, u32>>,
    pub takts: Mutex<Vec<Deed>>,
    progress: AtomicU64,
}

impl Script {
    pub fn note(&self, what: impl Into<String>) {
        self.log.lock().unwrap().push(what.into());
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub fn count(&self, what: &str) -> usize {
        self.log().iter().filter(|line| *line == what).count()
    }

    /// How often progress was shown.
    pub fn progress(&self) -> u64 {
        self.progress.load(Ordering::SeqCst)
    }

    pub fn fail_starts(&self, actor: &str, times: u32) {
        self.failing_starts
            .lock()
            .unwrap()
            .insert(actor.to_owned(), times);
    }

    fn start(&self, actor: &str) -> Result<(), runtime::BoxError> {
        self.note(format!("start {actor}"));
        match self.failing_starts.lock().unwrap().get_mut(actor) {
            Some(left @ 1..) => {
                *left -= 1;
                Err("no luck".into())
            }
            _ => Ok(()),
        }
    }

    async fn act(&self, deed: Deed, turn: &mut Turn) -> Result<Done, Fault> {
        let clock_step = |seconds| turn.moment().after(Duration::from_secs(seconds));
        match deed {
            Deed::Succeed => Ok(Done::new("worked")),
            Deed::Panic => panic!("as asked"),
            Deed::PanicOnce if turn.attempt() == 1 => panic!("as asked, once"),
            Deed::PanicOnce => Ok(Done::new("worked at last")),
            Deed::Crash => Err(Fault::crash("unexplained")),
            Deed::Retry => Err(Fault::retry("not now")),
            Deed::RetryAfterSeconds(seconds) => Err(Fault::retry_after(
                Duration::from_secs(seconds),
                "not for a while",
            )),
            Deed::Reject => Err(Fault::reject("never")),
            Deed::WaitSeconds(seconds) if !self.gate.is_open() => {
                Err(Fault::wait(clock_step(seconds), "the well is dry"))
            }
            Deed::WaitSeconds(_) => Ok(Done::new("waited")),
            Deed::Hang => std::future::pending().await,
            Deed::Block => {
                self.gate.block();
                Ok(Done::new("unblocked"))
            }
            Deed::Await => {
                self.gate.wait().await;
                Ok(Done::new("let through"))
            }
            Deed::Progress => {
                while !self.gate.is_open() {
                    turn.progress();
                    self.progress.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
                Ok(Done::new("got there"))
            }
            Deed::Dice(seed) => {
                let mut dice = fastrand::Rng::with_seed(seed ^ (u64::from(turn.attempt()) << 32));
                if dice.u8(0..100) == 0 {
                    panic!("as thrown");
                }
                if dice.u8(0..10) == 0 {
                    return Err(Fault::retry("as thrown"));
                }
                self.note(format!("done {}", turn.key()));
                Ok(Done::new("worked"))
            }
            Deed::Report(then) => {
                turn.send(Report {
                    about: turn.key().to_owned(),
                })?;
                Box::pin(self.act(*then, turn)).await
            }
        }
    }
}

/// Writes an actor type that notes its life in the script.
macro_rules! scripted {
    ($actor:ident, $name:literal) => {
        pub struct $actor(Arc<Script>);
        impl $actor {
            pub fn build(
                script: &Arc<Script>,
            ) -> impl Fn(&Context) -> Result<Self, runtime::BoxError> + Send + Sync + 'static + use<> {
                let script = Arc::clone(script);
                move |_| {
                    script.start($name)?;
                    Ok(Self(Arc::clone(&script)))
                }
            }
        }
        impl Drop for $actor {
            fn drop(&mut self) {
                self.0.note(concat!("end ", $name));
            }
        }
        impl Actor for $actor {
            const NAME: &'static str = $name;
            type Message = WorkerMessage;
            async fn handle(&mut self, message: WorkerMessage, turn: &mut Turn) -> Result<Done, Fault> {
                let WorkerMessage::Work(Work { name, deed }) = message;
                self.0.note(format!("{} {name}", $name));
                self.0.act(deed, turn).await
            }
            async fn takt(&mut self, turn: &mut Turn) -> Result<Done, Fault> {
                self.0.note(format!("takt {}", turn.key()));
                let deed = self.0.takts.lock().unwrap().pop().unwrap_or(Deed::Succeed);
                self.0.act(deed, turn).await
            }
        }
    };
}
scripted!(Worker, "worker");
scripted!(Helper, "helper");
scripted!(Third, "third");

/// Notes what is reported.
pub struct Clerk(pub Arc<Script>);
impl Actor for Clerk {
    const NAME: &'static str = "clerk";
    type Message = ClerkMessage;
    async fn handle(&mut self, message: ClerkMessage, _: &mut Turn) -> Result<Done, Fault> {
        let ClerkMessage::Report(Report { about }) = message;
        self.0.note(format!("clerk {about}"));
        Ok(Done::new("filed"))
    }
}

/// A deadline that does not come however fast a test moves the clock.
pub fn endless() -> ChildSpec {
    ChildSpec::default().deadline(Duration::from_secs(1 << 32))
}

/// The mailboxes that a test runs over.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    Memory,
    Sled,
}

/// A scratch home with mailboxes, a clock and a script.
pub struct Bench {
    pub home: TempDir,
    pub clock: Arc<ManualClock>,
    pub mailboxes: Mailboxes,
    pub script: Arc<Script>,
}

/// Handlers panic here because they are told to, on threads of their own: nobody needs to read that. A test that
/// panics still says so.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let say = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name() != Some("handler") {
                say(info);
            }
        }));
    });
}

pub fn name(text: &str) -> MailboxName {
    text.parse().unwrap()
}

impl Bench {
    pub fn over(store: Over) -> Self {
        Self::on(|clock, home| match store {
            Over::Memory => Mailboxes::open_memory(clock),
            Over::Sled => Mailboxes::open_sled(&home.join("mailbox"), clock).unwrap(),
        })
    }

    /// Over mailboxes that are opened with this clock, in this home.
    pub fn on(open: impl FnOnce(Arc<dyn Clock>, &Path) -> Mailboxes) -> Self {
        quiet_panics();
        let home = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Moment::from_millis(1_800_000_000_000)));
        let mailboxes = open(Arc::clone(&clock) as Arc<dyn Clock>, home.path());
        Self {
            home,
            clock,
            mailboxes,
            script: Arc::default(),
        }
    }

    pub fn new() -> Self {
        Self::over(Over::Memory)
    }

    pub fn host(&self) -> HostBuilder {
        Host::builder(
            self.mailboxes.clone(),
            Arc::clone(&self.clock) as Arc<dyn Clock>,
            self.home.path(),
        )
    }

    /// Hosts the worker alone.
    pub async fn worker(&self) -> Running {
        self.worker_as(ChildSpec::default()).await
    }

    /// Hosts the worker alone, in this way.
    pub async fn worker_as(&self, spec: ChildSpec) -> Running {
        self.host()
            .child(spec, Worker::build(&self.script))
            .start()
            .await
            .unwrap()
    }

    pub async fn tell(&self, actor: &str, work: &str, deed: Deed) {
        self.tell_all(actor, vec![(work.to_owned(), deed)]).await;
    }

    /// Sends one that says what it is about.
    pub async fn tell_about(&self, actor: &str, work: &str, subject: &str, deed: Deed) {
        let mut draft = self.draft(actor, work, deed);
        draft.subject = Some(subject.parse().unwrap());
        self.mailboxes.append(vec![draft]).await.unwrap();
    }

    pub fn draft(&self, actor: &str, work: &str, deed: Deed) -> mailbox::Draft {
        let work = Work {
            name: work.to_owned(),
            deed,
        };
        let (ts, id) = (self.clock.now().into(), work.name.parse().unwrap());
        let message = Message::build(ts, "test", Work::NAME, &id, &work).unwrap();
        mailbox::Draft::new(name(actor), message)
    }

    /// Sends all of them, in groups.
    pub async fn tell_all(&self, actor: &str, works: Vec<(String, Deed)>) {
        for group in works.chunks(100) {
            let drafts = group
                .iter()
                .map(|(work, deed)| self.draft(actor, work, deed.clone()))
                .collect();
            self.mailboxes.append(drafts).await.unwrap();
        }
    }

    /// Sends a report that is called `about`.
    pub async fn report(&self, actor: &str, about: &str) {
        let report = Report {
            about: about.to_owned(),
        };
        let ts = self.clock.now().into();
        let message = Message::build(ts, "test", Report::NAME, &about.parse().unwrap(), &report).unwrap();
        let draft = mailbox::Draft::new(name(actor), message);
        self.mailboxes.append(vec![draft]).await.unwrap();
    }

    pub async fn envelopes(&self, actor: &str) -> Vec<Envelope> {
        self.mailboxes
            .envelopes(&name(actor), Filter::all())
            .await
            .unwrap()
    }

    pub async fn envelope(&self, actor: &str, id: &str) -> Envelope {
        let filter = Filter::id(id.parse().unwrap());
        let found = self.mailboxes.envelopes(&name(actor), filter).await.unwrap();
        found
            .into_iter()
            .next()
            .unwrap_or_else(|| panic!("{actor} has no {id}"))
    }

    pub async fn outcome(&self, actor: &str, id: &str) -> String {
        match self.envelope(actor, id).await.state {
            EnvelopeState::Acked { outcome, .. } => outcome.to_string(),
            EnvelopeState::Quarantined { reason, .. } => format!("quarantined: {reason}"),
            other => format!("{other:?}"),
        }
    }

    pub async fn status(&self, actor: &str) -> MailboxStatus {
        let all = self.mailboxes.status().await.unwrap();
        all.into_iter()
            .find(|mailbox| mailbox.name == name(actor))
            .unwrap()
    }

    /// Waits until the log of the script has so many of these.
    pub async fn until_noted(&self, what: &str, times: usize) {
        let began = Instant::now();
        while self.script.count(what) < times {
            if began.elapsed() >= PATIENCE {
                let mailboxes = self.mailboxes.status().await;
                panic!(
                    "no {times} times {what:?} in {:?}, with {mailboxes:#?}",
                    self.script.log()
                );
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits until the overview is as wanted, without moving the clock.
    pub async fn until(&self, running: &Running, wanted: impl Fn(&Overview) -> bool) -> Arc<Overview> {
        self.moving_until(running, Duration::ZERO, wanted).await
    }

    /// Moves the clock, step by step, until the overview is as wanted.
    pub async fn moving_until(
        &self,
        running: &Running,
        step: Duration,
        wanted: impl Fn(&Overview) -> bool,
    ) -> Arc<Overview> {
        let began = Instant::now();
        loop {
            let overview = running.overview().await.unwrap();
            if wanted(&overview) {
                return overview;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "still {overview:#?}, after {:?}",
                self.script.log()
            );
            self.clock.advance(step);
            tokio::task::yield_now().await;
        }
    }
}

pub fn state(overview: &Overview, actor: &str) -> &'static str {
    overview
        .actor(actor)
        .map_or("unknown", |actor| actor.state.word())
}

pub fn keys(overview: &Overview) -> Vec<&str> {
    overview
        .attention
        .iter()
        .map(|attention| attention.key.as_str())
        .collect()
}
