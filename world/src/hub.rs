//! What every request of a served world shares: the world, what goes wrong, the log, the budget.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::faults::{Canned, Faults};
use crate::graph::{At, World};
use crate::graphql::{Budget, Speaker};
use crate::serve::Closing;

/// GitHub's points or requests an hour for a person's token.
const HOURLY_LIMIT: u64 = 5_000;

/// One request as it arrived, and how it was answered.
#[derive(Debug, Clone)]
pub struct Logged {
    /// When it arrived, by the machine's clock.
    pub at: DateTime<Utc>,
    /// Its method.
    pub method: String,
    /// Its path, without the query.
    pub path: String,
    /// The GraphQL operation's name.
    pub operation: Option<String>,
    /// The GraphQL document.
    pub document: Option<String>,
    /// The GraphQL variables.
    pub variables: Map<String, Value>,
    /// The pull requests that the document asks for.
    pub pulls: Vec<At>,
    /// Whether it asks to change something: a mutation, or a method other than GET and HEAD.
    pub is_write: bool,
    /// The status that went back; `None` until then, and for ever where nothing did.
    pub status: Option<u16>,
    /// The length of the body that went back.
    pub answered_bytes: usize,
}

/// Everything that handlers share.
pub(crate) struct Hub {
    pub world: RwLock<World>,
    pub faults: Faults,
    pub base: String,
    pub speaker: Speaker,
    log: Mutex<Vec<Logged>>,
    used: Mutex<u64>,
    reset_at: DateTime<Utc>,
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
    changes: watch::Sender<()>,
    closing: watch::Sender<bool>,
}

impl Hub {
    pub fn new(world: World, address: SocketAddr) -> Self {
        Self {
            world: RwLock::new(world),
            faults: Faults::default(),
            base: format!("http://{address}"),
            speaker: Speaker::new(),
            log: Mutex::default(),
            used: Mutex::new(0),
            reset_at: Utc::now() + TimeDelta::hours(1),
            in_flight: AtomicUsize::new(0),
            max_in_flight: AtomicUsize::new(0),
            changes: watch::Sender::new(()),
            closing: watch::Sender::new(false),
        }
    }

    pub fn log(&self) -> MutexGuard<'_, Vec<Logged>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub fn closing(&self) -> Closing {
        self.closing.subscribe()
    }

    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    pub fn max_in_flight(&self) -> usize {
        self.max_in_flight.load(Ordering::Acquire)
    }

    pub fn budget(&self) -> Budget {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        Budget {
            limit: HOURLY_LIMIT,
            used,
            reset_at: self.reset_at,
        }
    }

    pub fn spend(&self, cost: u64) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) += cost;
    }

    pub fn enter(self: &Arc<Self>) -> InFlight {
        let now = self.in_flight.fetch_add(1, Ordering::AcqRel) + 1;
        self.max_in_flight.fetch_max(now, Ordering::AcqRel);
        InFlight {
            hub: Arc::clone(self),
        }
    }

    /// Logs a request, and answers its number in the log.
    pub fn arrive(&self, logged: Logged) -> usize {
        let mut log = self.log();
        log.push(logged);
        let number = log.len() - 1;
        drop(log);
        self.changes.send_replace(());
        number
    }

    /// Says in the log what went back.
    pub fn leave(&self, number: usize, canned: &Canned) {
        if let Some(logged) = self.log().get_mut(number) {
            logged.status = Some(canned.status);
            logged.answered_bytes = canned.body.len();
        }
        self.changes.send_replace(());
    }
}

/// Counts a request for as long as it is being answered.
pub(crate) struct InFlight {
    hub: Arc<Hub>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.hub.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
