//! How an actor fares, for people and for programs.

use std::collections::BTreeMap;
use std::time::Duration;

use mailbox::{MailboxName, Moment};
use serde::{Deserialize, Serialize};

use crate::attention::Attention;

/// What an actor is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ActorState {
    /// It is being built.
    Starting,
    /// It has nothing to do.
    Idle,
    /// At least one of its turns runs.
    Running,
    /// It failed and is built anew at that moment.
    BackingOff {
        /// When.
        until: Moment,
    },
    /// What it depends on is not there; it goes on at that moment.
    Waiting {
        /// When.
        until: Moment,
        /// What it waits for.
        why: String,
    },
    /// It failed more often than its restart intensity allows. It is tried again at that moment.
    Down {
        /// When.
        until: Moment,
    },
    /// Its handler missed the deadline and does not answer to being stopped. There is no successor until it ends.
    Stalled {
        /// Since when.
        since: Moment,
    },
    /// It has ended with the host.
    Stopped,
    /// It is declared, and not hosted here: it lives elsewhere or is switched off.
    Elsewhere,
}

impl ActorState {
    /// One word for the state, as `sweep actors` shows it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Running => "running",
            Self::BackingOff { .. } => "backing off",
            Self::Waiting { .. } => "waiting",
            Self::Down { .. } => "down",
            Self::Stalled { .. } => "stalled",
            Self::Stopped => "stopped",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// An actor's own tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaktStatus {
    /// How often it is due.
    pub every: Duration,
    /// The takt that runs or is due next.
    pub due: Moment,
    /// How many have ended, well or not.
    pub ended: u64,
    /// What the last one came to: its outcome, or why it failed.
    pub last: Option<Result<String, String>>,
}

/// One declared actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorStatus {
    /// Its name.
    pub name: MailboxName,
    /// The intents that it consumes.
    pub intents: Vec<String>,
    /// What it is doing.
    #[serde(flatten)]
    pub state: ActorState,
    /// How often it was built anew after a failure, in this process.
    pub restarts: u64,
    /// Why it last failed, was given back or waited.
    pub last_failure: Option<String>,
    /// Messages that wait, rest or are in hand.
    pub unread: u64,
    /// When the oldest of them was appended.
    pub oldest_unread: Option<Moment>,
    /// Messages in quarantine.
    pub quarantined: u64,
    /// Its tick, where it has one.
    pub takt: Option<TaktStatus>,
}

/// Every declared actor, and what a person must look at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The actors, by name.
    pub actors: Vec<ActorStatus>,
    /// What a person must look at, by key.
    pub attention: Vec<Attention>,
}

impl Overview {
    /// One actor, by name.
    pub fn actor(&self, name: &str) -> Option<&ActorStatus> {
        self.actors.iter().find(|actor| actor.name.as_str() == name)
    }
}

/// What supervision knows of one hosted actor.
#[derive(Clone, Debug)]
pub(crate) struct Supervised {
    pub(crate) state: ActorState,
    pub(crate) restarts: u64,
    pub(crate) last_failure: Option<String>,
    pub(crate) takt: Option<TaktStatus>,
}

/// Joins what is declared, what supervision knows and what the mailboxes hold.
pub(crate) fn actors<'r>(
    declared: impl Iterator<Item = (&'r MailboxName, Vec<&'r str>)>,
    supervised: &BTreeMap<MailboxName, Supervised>,
    mailboxes: &[mailbox::MailboxStatus],
) -> Vec<ActorStatus> {
    let mailboxes: BTreeMap<_, _> = mailboxes.iter().map(|mailbox| (&mailbox.name, mailbox)).collect();
    declared
        .map(|(name, intents)| {
            let mailbox = mailboxes.get(name);
            let hosted = supervised.get(name);
            ActorStatus {
                name: name.clone(),
                intents: intents.into_iter().map(str::to_owned).collect(),
                state: hosted.map_or(ActorState::Elsewhere, |hosted| hosted.state.clone()),
                restarts: hosted.map_or(0, |hosted| hosted.restarts),
                last_failure: hosted.and_then(|hosted| hosted.last_failure.clone()),
                unread: mailbox.map_or(0, |mailbox| mailbox.unread),
                oldest_unread: mailbox.and_then(|mailbox| mailbox.oldest_unread),
                quarantined: mailbox.map_or(0, |mailbox| mailbox.quarantined),
                takt: hosted.and_then(|hosted| hosted.takt.clone()),
            }
        })
        .collect()
}
