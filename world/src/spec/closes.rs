//! Issues that a pull request would close, and who closed them.

use chrono::Duration;
use serde_json::{Value, json};

use super::pull::PullSpec;
use super::talk::Who;
use super::when::{IntoWhen, When};
use crate::graph::{At, SITE, World, node_id, oid_of, reference, stamp};

/// An issue that a pull request would close: open, in the same repository.
pub struct ClosesSpec {
    repo: Option<String>,
    number: u32,
    events: Vec<(When, IssueEvent)>,
}

enum IssueEvent {
    ClosedByPull { number: u32, merged: bool },
    ClosedByCommit,
    ClosedByHand,
    Reopened,
}

impl ClosesSpec {
    /// The issue of this number, open.
    pub fn issue(number: u32) -> Self {
        Self {
            repo: None,
            number,
            events: Vec::new(),
        }
    }

    /// In another repository.
    #[must_use]
    pub fn in_repo(mut self, name: &str) -> Self {
        self.repo = Some(name.to_owned());
        self
    }

    fn event(mut self, at: impl IntoWhen, event: IssueEvent) -> Self {
        self.events.push((at.into_when(), event));
        self
    }

    /// Closed by a pull request that was merged then; it is made where there is none of that number.
    #[must_use]
    pub fn closed_by(self, pull: u32, at: impl IntoWhen) -> Self {
        self.event(
            at,
            IssueEvent::ClosedByPull {
                number: pull,
                merged: true,
            },
        )
    }

    /// Closed, naming a pull request that is open.
    #[must_use]
    pub fn closed_by_unmerged(self, pull: u32, at: impl IntoWhen) -> Self {
        self.event(
            at,
            IssueEvent::ClosedByPull {
                number: pull,
                merged: false,
            },
        )
    }

    /// Closed by a commit.
    #[must_use]
    pub fn closed_by_commit(self, at: impl IntoWhen) -> Self {
        self.event(at, IssueEvent::ClosedByCommit)
    }

    /// Closed by a person: the event names no closer.
    #[must_use]
    pub fn closed_by_hand(self, at: impl IntoWhen) -> Self {
        self.event(at, IssueEvent::ClosedByHand)
    }

    /// Opened again.
    #[must_use]
    pub fn reopened(self, at: impl IntoWhen) -> Self {
        self.event(at, IssueEvent::Reopened)
    }

    pub(super) fn install(self, world: &mut World, home: &str) -> String {
        let name = self.repo.unwrap_or_else(|| home.to_owned());
        let repo = world.ensure_repo(&name);
        let key = format!("issue:{repo}#{}", self.number);
        let mut events = Vec::new();
        let mut closed_at = None;
        for (at, event) in self.events {
            let at = at.on(world.now());
            let closer = match event {
                IssueEvent::ClosedByPull { number, merged } => {
                    let pull = At {
                        repo: name.clone(),
                        number,
                    };
                    if world.pull_key(&pull).is_err() {
                        let spec = PullSpec::new(&name, number).author(Who::user("edith"));
                        world.add_pull(if merged { spec.merged(at) } else { spec });
                    }
                    Some(reference(&format!("pull:{repo}#{number}")))
                }
                IssueEvent::ClosedByCommit => {
                    let oid = oid_of(&format!("{name} fixes {}", self.number));
                    Some(reference(&world.put_commit(repo, &oid, at, "Fix it on main")))
                }
                IssueEvent::ClosedByHand | IssueEvent::Reopened => None,
            };
            let reopened = matches!(event, IssueEvent::Reopened);
            closed_at = (!reopened).then(|| stamp(at));
            let typename = if reopened { "ReopenedEvent" } else { "ClosedEvent" };
            let id = world.next_id();
            let mut node = json!({
                "__typename": typename, "id": node_id(typename, id), "createdAt": stamp(at),
                "actor": Who::user("edith").node(world), "url": format!("{SITE}/{name}/issues/{}#event-{id}", self.number),
            });
            if let (false, Some(map)) = (reopened, node.as_object_mut()) {
                map.insert("closer".into(), closer.unwrap_or(Value::Null));
            }
            events.push(node);
        }
        let id = world.next_id();
        let at = stamp(world.now() - Duration::days(20));
        let node = json!({
            "__typename": "Issue", "id": node_id("Issue", id), "databaseId": id, "number": self.number,
            "title": format!("Issue {}", self.number), "body": "It does not work.",
            "state": if closed_at.is_some() { "CLOSED" } else { "OPEN" }, "closedAt": closed_at,
            "createdAt": at, "updatedAt": at, "author": Who::user("edith").node(world), "authorAssociation": "NONE",
            "url": format!("{SITE}/{name}/issues/{}", self.number), "repository": reference(&World::repo_key(repo)),
            "comments": [], "labels": [], "timelineItems": events,
        });
        world.put(&key, node);
        key
    }
}
