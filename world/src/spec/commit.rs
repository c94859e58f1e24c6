//! Commits of a pull request.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::when::{IntoWhen, When};
use crate::graph::{World, oid_of, stamp};

/// A commit of a pull request.
#[derive(Debug, Clone)]
pub struct CommitSpec {
    oid: Option<String>,
    at: When,
    authored: Option<When>,
    message: String,
}

impl CommitSpec {
    /// A commit with this committer date.
    pub fn at(at: impl IntoWhen) -> Self {
        Self {
            oid: None,
            at: at.into_when(),
            authored: None,
            message: "Change the thing".to_owned(),
        }
    }

    /// Its id, 40 hexadecimal digits.
    #[must_use]
    pub fn oid(mut self, oid: &str) -> Self {
        self.oid = Some(oid.to_owned());
        self
    }

    /// Its author date, where it is not the committer date.
    #[must_use]
    pub fn authored(mut self, at: impl IntoWhen) -> Self {
        self.authored = Some(at.into_when());
        self
    }

    /// Its message.
    #[must_use]
    pub fn message(mut self, message: &str) -> Self {
        message.clone_into(&mut self.message);
        self
    }

    pub(super) fn time(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.at.on(now)
    }

    /// Adds the commit; `seed` makes its id where the spec has none. Answers its key and id.
    pub(crate) fn install(self, world: &mut World, repo: u64, seed: &str) -> (String, String) {
        let oid = self.oid.unwrap_or_else(|| oid_of(seed));
        let at = self.at.on(world.now());
        let key = world.put_commit(repo, &oid, at, &self.message);
        let authored = self.authored.map(|authored| stamp(authored.on(world.now())));
        if let (Some(node), Some(authored)) = (world.node_mut(&key), authored) {
            node.insert("authoredDate".into(), json!(authored));
        }
        (key, oid)
    }
}
