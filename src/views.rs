//! What `--json` shows of actors and attention: moments in RFC 3339, states in one word.

use chrono::{DateTime, Utc};
use mailbox::Moment;
use runtime::{ActorState, ActorStatus, Attention};
use serde::Serialize;

/// An actor.
#[derive(Debug, Serialize)]
pub struct ActorView<'a> {
    name: &'a str,
    intents: &'a [String],
    state: &'static str,
    until: Option<DateTime<Utc>>,
    restarts: u64,
    last_failure: Option<&'a str>,
    unread: u64,
    oldest_unread: Option<DateTime<Utc>>,
    quarantined: u64,
}

impl<'a> From<&'a ActorStatus> for ActorView<'a> {
    fn from(actor: &'a ActorStatus) -> Self {
        Self {
            name: actor.name.as_str(),
            intents: &actor.intents,
            state: actor.state.word(),
            until: until(&actor.state).map(DateTime::from),
            restarts: actor.restarts,
            last_failure: actor.last_failure.as_deref(),
            unread: actor.unread,
            oldest_unread: actor.oldest_unread.map(DateTime::from),
            quarantined: actor.quarantined,
        }
    }
}

/// When a state ends by itself.
fn until(state: &ActorState) -> Option<Moment> {
    match state {
        ActorState::BackingOff { until } | ActorState::Waiting { until, .. } | ActorState::Down { until } => {
            Some(*until)
        }
        ActorState::Starting
        | ActorState::Idle
        | ActorState::Running
        | ActorState::Stalled { .. }
        | ActorState::Stopped
        | ActorState::Elsewhere => None,
    }
}

/// What a person must look at.
#[derive(Debug, Serialize)]
pub struct AttentionView<'a> {
    key: &'a str,
    since: DateTime<Utc>,
    text: &'a str,
    mend: &'a str,
}

impl<'a> From<&'a Attention> for AttentionView<'a> {
    fn from(attention: &'a Attention) -> Self {
        Self {
            key: &attention.key,
            since: attention.since.into(),
            text: &attention.text,
            mend: &attention.mend,
        }
    }
}
