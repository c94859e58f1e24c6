//! What lies in the author's home about a pull request: the drip queue and the gate attestations.
//!
//! Both are hints. They are read by somebody else; here they are parsed and matched, purely.

mod gate;
mod queue;

pub use gate::{GateFile, GateHint};
pub use queue::{DripQueue, Malformed, QueueEntry, QueueLine, Why};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The hints about one pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hints {
    /// What the drip queue says last about it.
    pub queue: Option<QueueEntry>,
    /// What is known of its gate.
    pub gate: GateHint,
}
