//! A home, an embedded GitHub and real mailboxes for one test.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actors::drip::Drip;
use actors::investigate::Investigate;
use actors::pr_state::{PrState, Report, Rules, Selection, WorkingSet};
use actors::qa::Qa;
use actors::retro::Retro;
use github::{Endpoints, FixedToken, Limits, Reader, Token};
use mailbox::{Clock, Filter, Mailboxes, SystemClock};
use runtime::{OneShot, OneShotError, Ran, Registry};
use tempfile::TempDir;
use world::{DEMO_NOW, Served, World};

/// Everything that a test needs; gone when it is dropped.
pub struct Stage {
    pub served: Served,
    pub mailboxes: Mailboxes,
    pub clock: Arc<dyn Clock>,
    home: TempDir,
}

impl Stage {
    /// An empty home beside this world.
    pub async fn of(world: World) -> Self {
        let home = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let mailboxes = Mailboxes::open_sled(&home.path().join("mailbox"), Arc::clone(&clock)).unwrap();
        Self {
            served: world.serve().await.unwrap(),
            mailboxes,
            clock,
            home,
        }
    }

    /// The demo's world with the hints that go with it.
    pub async fn demo() -> Self {
        let stage = Self::of(World::demo()).await;
        let hints = world::demo_hints();
        for (name, lines) in hints.drip_queue {
            stage.write(&format!("drip-queue/{name}"), &(lines.join("\n") + "\n"));
        }
        let now: SystemTime = now().into();
        for gate in hints.gates {
            let path = format!("gates/{}", gate.file);
            stage.write(&path, &gate.text);
            let file = std::fs::File::options()
                .write(true)
                .open(stage.home().join(path))
                .unwrap();
            file.set_modified(now - gate.age).unwrap();
        }
        stage
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.home().join(path)).unwrap()
    }

    pub fn reader(&self) -> Reader {
        let endpoints =
            Endpoints::new(Some(&self.served.api_url()), Some(&self.served.graphql_url())).unwrap();
        let limits = Limits {
            retry_wait: Duration::from_millis(10),
            ..Limits::default()
        };
        Reader::connect(
            endpoints,
            Arc::new(FixedToken(Token::new(self.served.token()).unwrap())),
            limits,
        )
        .unwrap()
    }

    /// The dispatcher over everything.
    pub fn dispatcher(&self, from: WorkingSet) -> PrState {
        PrState::new(self.reader(), Rules::default(), Selection { from, limit: 200 })
    }

    /// One dispatch as of the demo's moment, delivered.
    pub async fn dispatch(&self, from: WorkingSet) -> Result<(Report, Ran), OneShotError> {
        let mut dispatcher = self.dispatcher(from);
        let turn =
            OneShot::new(Arc::new(registry()), Arc::clone(&self.clock), self.home()).evaluate_at(now());
        let ran = turn.takt(&mut dispatcher, &self.mailboxes).await?;
        Ok((dispatcher.report().unwrap().clone(), ran))
    }

    /// The ids in a mailbox, in order.
    pub async fn ids(&self, mailbox: &str) -> Vec<String> {
        let envelopes = self
            .mailboxes
            .envelopes(&mailbox.parse().unwrap(), Filter::default())
            .await
            .unwrap();
        envelopes
            .iter()
            .map(|envelope| envelope.message.msg_id().to_string())
            .collect()
    }

    /// Nothing but reading may have happened on GitHub.
    pub fn assert_nothing_said(&self) {
        let written = self.served.writes();
        assert!(written.is_empty(), "something was written to GitHub: {written:?}");
    }
}

/// The moment at which the demo's world stands still.
pub fn now() -> chrono::DateTime<chrono::Utc> {
    DEMO_NOW.parse().unwrap()
}

/// Who consumes what, as the program declares it.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.declare::<Retro>().unwrap();
    registry.declare::<Drip>().unwrap();
    registry.declare::<Investigate>().unwrap();
    registry.declare::<Qa>().unwrap();
    registry
}
