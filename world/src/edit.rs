//! What happens in a world after it was built: pushes, merges, words, checks.

use serde_json::{Value, json};

use crate::graph::{At, EditError, World, reference, stamp};
use crate::spec::{CheckSpec, Checked, CommentSpec, CommitSpec, On, RepoSpec, ReviewSpec, ThreadSpec};
use crate::spec::{event_node, pull_commit};

impl World {
    /// Adds a repository, or changes the one of that name.
    pub fn add_repo(&mut self, spec: RepoSpec) {
        self.put_repo(spec);
    }

    /// A pull request is gone, as if it had never been.
    pub fn remove_pull(&mut self, at: impl Into<At>) -> Result<(), EditError> {
        let key = self.pull_key(&at.into())?;
        self.take(&key);
        Ok(())
    }

    /// A new head on top of the old one. Its checks are none yet.
    pub fn push(&mut self, at: impl Into<At>, commit: CommitSpec) -> Result<(), EditError> {
        self.new_head(&at.into(), commit, Replaces::Nothing)
    }

    /// A new head in place of the old one, with the event that says so.
    pub fn force_push(&mut self, at: impl Into<At>, commit: CommitSpec) -> Result<(), EditError> {
        self.new_head(&at.into(), commit, Replaces::OldHead)
    }

    fn new_head(&mut self, at: &At, commit: CommitSpec, replaces: Replaces) -> Result<(), EditError> {
        let key = self.pull_key(at)?;
        let old = self.head_key(at)?;
        let repo = self
            .repo_number(&at.repo)
            .ok_or_else(|| EditError::NoRepository(at.repo.clone()))?;
        let seed = self.next_id();
        let (head, oid) = commit.install(self, repo, &format!("{at} head {seed}"));
        let entry = pull_commit(self, &head);
        if let Some(node) = self.node_mut(&format!("ref:{repo}:refs/pull/{}/head", at.number)) {
            node.insert("target".into(), reference(&head));
        }
        let now = self.now();
        let author = self
            .node(&key)
            .map(|pull| pull["author"].clone())
            .unwrap_or_default();
        let event = matches!(replaces, Replaces::OldHead).then(|| {
            let mut event = event_node(self, "HeadRefForcePushedEvent", now, &author);
            event.insert("beforeCommit".into(), reference(&old));
            event.insert("afterCommit".into(), reference(&head));
            Value::Object(event)
        });
        let pull = self.node_mut(&key).ok_or_else(|| EditError::NoPull(at.clone()))?;
        pull.insert("headRefOid".into(), json!(oid));
        if let Some(commits) = pull.get_mut("commits").and_then(Value::as_array_mut) {
            if event.is_some() {
                commits.pop();
            }
            commits.push(entry);
        }
        if let (Some(event), Some(events)) =
            (event, pull.get_mut("timelineItems").and_then(Value::as_array_mut))
        {
            events.push(event);
        }
        self.touch(&key);
        Ok(())
    }

    /// Merges a pull request now.
    pub fn merge(&mut self, at: impl Into<At>) -> Result<(), EditError> {
        self.end(&at.into(), "MERGED")
    }

    /// Closes a pull request now, unmerged.
    pub fn close(&mut self, at: impl Into<At>) -> Result<(), EditError> {
        self.end(&at.into(), "CLOSED")
    }

    fn end(&mut self, at: &At, state: &str) -> Result<(), EditError> {
        let key = self.pull_key(at)?;
        let now = stamp(self.now());
        if let Some(pull) = self.node_mut(&key) {
            pull.insert("state".into(), json!(state));
            pull.insert("closedAt".into(), json!(now));
            pull.insert(
                "mergedAt".into(),
                if state == "MERGED" {
                    json!(now)
                } else {
                    Value::Null
                },
            );
        }
        self.touch(&key);
        Ok(())
    }

    /// Somebody says something.
    pub fn comment(&mut self, at: impl Into<At>, comment: CommentSpec) -> Result<(), EditError> {
        self.say(&at.into(), "comments", |world, on| {
            comment.node(world, on, "IssueComment")
        })
    }

    /// Somebody reviews.
    pub fn review(&mut self, at: impl Into<At>, review: ReviewSpec) -> Result<(), EditError> {
        self.say(&at.into(), "reviews", |world, on| review.node(world, on))
    }

    /// Somebody begins a review thread.
    pub fn thread(&mut self, at: impl Into<At>, thread: ThreadSpec) -> Result<(), EditError> {
        self.say(&at.into(), "reviewThreads", |world, on| thread.node(world, on))
    }

    fn say(
        &mut self,
        at: &At,
        list: &str,
        node: impl FnOnce(&mut Self, &On<'_>) -> Value,
    ) -> Result<(), EditError> {
        let key = self.pull_key(at)?;
        let head = self.head_key(at)?;
        let url = self
            .node(&key)
            .and_then(|pull| pull["url"].as_str())
            .unwrap_or_default()
            .to_owned();
        let node = node(
            self,
            &On {
                url: &url,
                commit: &head,
            },
        );
        if let Some(said) = self
            .node_mut(&key)
            .and_then(|pull| pull.get_mut(list))
            .and_then(Value::as_array_mut)
        {
            said.push(node);
        }
        self.touch(&key);
        Ok(())
    }

    /// A check of the head.
    pub fn check(&mut self, at: impl Into<At>, check: CheckSpec) -> Result<(), EditError> {
        let at = at.into();
        let head = self.head_key(&at)?;
        let repo = self
            .repo_number(&at.repo)
            .ok_or_else(|| EditError::NoRepository(at.repo.clone()))?;
        let repo_url = self
            .node(&Self::repo_key(repo))
            .and_then(|it| it["url"].as_str())
            .unwrap_or_default();
        let repo_url = repo_url.to_owned();
        let now = self.now();
        Checked {
            repo,
            repo_url: &repo_url,
            commit: &head,
            committed_at: now,
        }
        .add(self, vec![check]);
        Ok(())
    }

    fn touch(&mut self, key: &str) {
        let now = stamp(self.now());
        if let Some(node) = self.node_mut(key) {
            node.insert("updatedAt".into(), json!(now));
        }
    }
}

enum Replaces {
    Nothing,
    OldHead,
}
