//! What happens to a pull request beside words and commits, and who did it.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::talk::Who;
use super::when::{IntoWhen, When};
use super::{Raw, apply};
use crate::graph::{Node, SITE, World, node_id, reference, stamp};

/// Something that happened to a pull request: by its author, at the world's present.
///
/// In a [`PullSpec`](crate::PullSpec) it is a line of the history and changes nothing; with
/// [`World::happen`] it happens, with its effect.
pub struct EventSpec {
    typename: String,
    at: Option<When>,
    by: Option<Who>,
    pub(crate) effect: Effect,
    raw: Vec<Raw>,
}

/// What an event does to the pull request.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    None,
    Label(String),
    Unlabel(String),
    Draft(bool),
    End(&'static str),
    Reopen,
    Title(String),
    Base(String),
    Assign(Who),
    AskReview(Who),
    Queue(u32),
    Dequeue,
    Lock(bool),
}

impl EventSpec {
    /// An event by its GraphQL type, that has no effect.
    pub fn new(typename: &str) -> Self {
        Self {
            typename: typename.to_owned(),
            at: None,
            by: None,
            effect: Effect::None,
            raw: Vec::new(),
        }
    }

    fn with(typename: &str, effect: Effect) -> Self {
        Self {
            effect,
            ..Self::new(typename)
        }
    }

    /// It was labelled.
    pub fn labeled(label: &str) -> Self {
        Self::with("LabeledEvent", Effect::Label(label.to_owned()))
    }

    /// A label was taken off.
    pub fn unlabeled(label: &str) -> Self {
        Self::with("UnlabeledEvent", Effect::Unlabel(label.to_owned()))
    }

    /// It became a draft.
    pub fn converted_to_draft() -> Self {
        Self::with("ConvertToDraftEvent", Effect::Draft(true))
    }

    /// It is a draft no more.
    pub fn ready_for_review() -> Self {
        Self::with("ReadyForReviewEvent", Effect::Draft(false))
    }

    /// It was closed without a merge.
    pub fn closed() -> Self {
        Self::with("ClosedEvent", Effect::End("CLOSED"))
    }

    /// It was merged.
    pub fn merged() -> Self {
        Self::with("MergedEvent", Effect::End("MERGED"))
    }

    /// It was opened again.
    pub fn reopened() -> Self {
        Self::with("ReopenedEvent", Effect::Reopen)
    }

    /// It has another title.
    pub fn renamed(title: &str) -> Self {
        Self::with("RenamedTitleEvent", Effect::Title(title.to_owned()))
    }

    /// It goes to another branch.
    pub fn base_changed(branch: &str) -> Self {
        Self::with("BaseRefChangedEvent", Effect::Base(branch.to_owned()))
    }

    /// Somebody is to see to it.
    pub fn assigned(who: impl Into<Who>) -> Self {
        Self::with("AssignedEvent", Effect::Assign(who.into()))
    }

    /// Somebody was asked for a review.
    pub fn review_requested(who: impl Into<Who>) -> Self {
        Self::with("ReviewRequestedEvent", Effect::AskReview(who.into()))
    }

    /// It went into the merge queue, at this place.
    pub fn queued(position: u32) -> Self {
        Self::with("AddedToMergeQueueEvent", Effect::Queue(position))
    }

    /// It left the merge queue.
    pub fn dequeued() -> Self {
        Self::with("RemovedFromMergeQueueEvent", Effect::Dequeue)
    }

    /// Its conversation was locked.
    pub fn locked() -> Self {
        Self::with("LockedEvent", Effect::Lock(true))
    }

    /// Its conversation was opened again.
    pub fn unlocked() -> Self {
        Self::with("UnlockedEvent", Effect::Lock(false))
    }

    /// Who did it.
    #[must_use]
    pub fn by(mut self, who: impl Into<Who>) -> Self {
        self.by = Some(who.into());
        self
    }

    /// When.
    #[must_use]
    pub fn at(mut self, at: impl IntoWhen) -> Self {
        self.at = Some(at.into_when());
        self
    }

    /// Any other field of the event.
    #[must_use]
    pub fn raw(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw.push(Box::new(change));
        self
    }

    /// When it happens.
    pub(crate) fn time(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.at.map_or(now, |at| at.on(now))
    }

    /// Its entry in the timeline of `pull`, whose author did it where nobody is named.
    pub(crate) fn node(self, world: &mut World, pull: &Node) -> Value {
        let at = self.time(world.now());
        let actor = match &self.by {
            Some(who) => who.node(world),
            None => pull.get("author").cloned().unwrap_or(Value::Null),
        };
        let text = |field: &str| pull.get(field).cloned().unwrap_or(Value::Null);
        let mut event = event_node(world, &self.typename, at, &actor);
        let mut say = |field: &str, value: Value| drop(event.insert(field.to_owned(), value));
        match &self.effect {
            Effect::Label(name) | Effect::Unlabel(name) => say("label", label_node(world, name)),
            Effect::End("MERGED") => {
                say("mergeRefName", text("baseRefName"));
                say("commit", text("mergeCommit"));
            }
            Effect::End(_) => say("closer", Value::Null),
            Effect::Title(title) => {
                say("previousTitle", text("title"));
                say("currentTitle", json!(title));
            }
            Effect::Base(branch) => {
                say("previousRefName", text("baseRefName"));
                say("currentRefName", json!(branch));
            }
            Effect::Assign(who) => say("assignee", who.node(world)),
            Effect::AskReview(who) => say("requestedReviewer", who.node(world)),
            Effect::Queue(_) => say("enqueuer", actor.clone()),
            Effect::Dequeue => say("reason", json!("removed by a person")),
            Effect::None | Effect::Draft(_) | Effect::Reopen | Effect::Lock(_) => {}
        }
        let mut node = Value::Object(event);
        apply(self.raw, &mut node);
        node
    }
}

/// An event of a timeline.
pub(crate) fn event_node(world: &mut World, typename: &str, at: DateTime<Utc>, actor: &Value) -> Node {
    let id = world.next_id();
    let mut node = Map::new();
    node.insert("__typename".into(), json!(typename));
    node.insert("id".into(), json!(node_id(typename, id)));
    node.insert("createdAt".into(), json!(stamp(at)));
    node.insert("actor".into(), actor.clone());
    node
}

/// A label.
pub(crate) fn label_node(world: &mut World, name: &str) -> Value {
    let id = world.next_id();
    json!({
        "__typename": "Label", "id": node_id("Label", id), "name": name, "color": "ededed",
        "url": format!("{SITE}/labels/{id}"),
    })
}

/// A request for a review.
pub(crate) fn request_node(world: &mut World, who: &Who) -> Value {
    let id = world.next_id();
    json!({
        "__typename": "ReviewRequest", "id": node_id("ReviewRequest", id), "databaseId": id,
        "asCodeOwner": false, "requestedReviewer": who.node(world),
    })
}

/// A place in the merge queue.
pub(crate) fn queue_node(world: &mut World, position: u32, enqueuer: &Value, at: DateTime<Utc>) -> Value {
    let id = world.next_id();
    json!({
        "__typename": "MergeQueueEntry", "id": node_id("MergeQueueEntry", id), "position": position,
        "state": "QUEUED", "enqueuedAt": stamp(at), "enqueuer": enqueuer,
    })
}

/// A commit as an entry of a pull request's list.
pub(crate) fn pull_commit(world: &mut World, key: &str) -> Value {
    let id = world.next_id();
    json!({ "__typename": "PullRequestCommit", "id": node_id("PullRequestCommit", id), "commit": reference(key) })
}
