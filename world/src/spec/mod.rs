//! What a test says of a world: specs with everything plausible by default, so that only what matters
//! needs a word.

mod branch;
mod check;
mod closes;
mod commit;
mod event;
mod install;
mod pull;
mod repo;
mod talk;
mod when;

pub use branch::BranchSpec;
pub(crate) use branch::blob_node;
pub use check::{CheckSpec, SuiteSpec};
pub(crate) use check::{Checked, say_rollup_state};
pub use closes::ClosesSpec;
pub use commit::CommitSpec;
pub use event::EventSpec;
pub(crate) use event::{Effect, event_node, label_node, pull_commit, queue_node, request_node};
pub(crate) use install::{press, review_of};
pub use pull::PullSpec;
pub use repo::{RepoSpec, WorldBuilder};
pub(crate) use talk::On;
pub use talk::{Association, CommentSpec, ReviewSpec, ThreadSpec, Who};
pub use when::{IntoWhen, When, days_ago, hours_ago, hours_ahead, minutes_ago};

use serde_json::{Map, Value};

/// A change to the JSON that a spec makes, applied last.
pub(crate) type Raw = Box<dyn FnOnce(&mut Map<String, Value>) + Send>;

pub(crate) fn apply(raw: Vec<Raw>, node: &mut Value) {
    if let Some(map) = node.as_object_mut() {
        for change in raw {
            change(map);
        }
    }
}
