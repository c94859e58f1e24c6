//! Commits of a pull request.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::talk::Who;
use super::when::{IntoWhen, When};
use crate::graph::{World, oid_of, stamp};

/// A commit of a pull request.
#[derive(Debug, Clone)]
pub struct CommitSpec {
    oid: Option<String>,
    at: When,
    authored: Option<When>,
    by: Option<Who>,
    message: String,
}

impl CommitSpec {
    /// A commit with this committer date.
    pub fn at(at: impl IntoWhen) -> Self {
        Self {
            oid: None,
            at: at.into_when(),
            authored: None,
            by: None,
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

    /// Whose it is. By default it is the pull request's author's.
    #[must_use]
    pub fn by(mut self, who: impl Into<Who>) -> Self {
        self.by = Some(who.into());
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

    /// Adds the commit; `seed` makes its id and `author` is whose it is where the spec does not say. Answers
    /// its key and id.
    pub(crate) fn install(
        self,
        world: &mut World,
        repo: u64,
        seed: &str,
        author: &Value,
    ) -> (String, String) {
        let oid = self.oid.unwrap_or_else(|| oid_of(seed));
        let at = self.at.on(world.now());
        let key = world.put_commit(repo, &oid, at, &self.message);
        let author = match &self.by {
            Some(who) => who.node(world),
            None => author.clone(),
        };
        let account = world.follow(&author);
        let text = |field: &str| account.and_then(|account| account.get(field)?.as_str());
        // A bot's commit has no account, only a name that says so; nor has a deleted person's.
        let (name, user) = match (text("__typename"), text("login")) {
            (Some("User"), Some(login)) => (login.to_owned(), author.clone()),
            (Some("Bot"), Some(login)) => (format!("{login}[bot]"), Value::Null),
            _ => ("A committer".to_owned(), Value::Null),
        };
        let authored = stamp(self.authored.map_or(at, |authored| authored.on(world.now())));
        let person = json!({
            "name": name, "email": "committer@example.invalid", "date": authored, "user": user,
        });
        if let Some(node) = world.node_mut(&key) {
            node.insert("authoredDate".into(), json!(authored));
            node.insert("author".into(), person);
        }
        (key, oid)
    }
}
