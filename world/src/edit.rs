//! What happens in a world after it was built: pushes, merges, words, events.
//!
//! Each of these moves the pull request's `updatedAt`, as it does on GitHub. Checks and mergeability do not: see
//! `recheck.rs`.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::graph::{At, EditError, Node, World, blob_key, reference, stamp};
use crate::spec::{
    BranchSpec, CommentSpec, CommitSpec, Effect, EventSpec, IntoWhen, On, RepoSpec, ReviewSpec, ThreadSpec,
    Who, blob_node, event_node, label_node, pull_commit, queue_node, request_node, review_of,
};

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
        let author = self
            .node(&key)
            .map(|pull| pull["author"].clone())
            .unwrap_or_default();
        let (head, oid) = commit.install(self, repo, &format!("{at} head {seed}"), &author);
        let entry = pull_commit(self, &head);
        if let Some(node) = self.node_mut(&format!("ref:{repo}:refs/pull/{}/head", at.number)) {
            node.insert("target".into(), reference(&head));
        }
        let now = self.now();
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
        self.touch(&key, now);
        self.press(at)
    }

    /// Merges a pull request now: the maintainer `edith` does.
    pub fn merge(&mut self, at: impl Into<At>) -> Result<(), EditError> {
        self.happen(at, EventSpec::merged().by("edith"))
    }

    /// Closes a pull request now, unmerged: its author does.
    pub fn close(&mut self, at: impl Into<At>) -> Result<(), EditError> {
        self.happen(at, EventSpec::closed())
    }

    /// Something happens to a pull request: it stands in its timeline, and what the event says is so.
    ///
    /// ```
    /// # use world::{EventSpec, PullSpec, World};
    /// let mut world = World::builder("2026-05-14T17:45:00Z").pull(PullSpec::new("o/r", 7).draft()).build();
    /// world.happen(("o/r", 7), EventSpec::ready_for_review().by("ada"))?;
    /// world.happen(("o/r", 7), EventSpec::labeled("bug").by(world::Who::bot("triage-toad")))?;
    /// # Ok::<_, world::EditError>(())
    /// ```
    pub fn happen(&mut self, at: impl Into<At>, event: EventSpec) -> Result<(), EditError> {
        let at = at.into();
        let key = self.pull_key(&at)?;
        let missing = || EditError::NoPull(at.clone());
        let before = self.node(&key).ok_or_else(missing)?.clone();
        let when = event.time(self.now());
        let effect = event.effect.clone();
        let node = event.node(self, &before);
        let change = self.changed_by(&effect, &before, &node, when);
        let pull = self.node_mut(&key).ok_or_else(missing)?;
        pull.extend(change);
        if let Some(events) = pull.get_mut("timelineItems").and_then(Value::as_array_mut) {
            events.push(node);
        }
        self.touch(&key, when);
        self.press(&at)
    }

    /// What an event makes of a pull request's fields.
    fn changed_by(&mut self, effect: &Effect, pull: &Node, event: &Value, when: DateTime<Utc>) -> Node {
        let list = |field: &str| {
            pull.get(field)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let change = match effect {
            Effect::None => json!({}),
            Effect::Label(name) => {
                let mut labels = list("labels");
                labels.retain(|label| label["name"] != json!(name));
                labels.push(label_node(self, name));
                json!({ "labels": labels })
            }
            Effect::Unlabel(name) => {
                let mut labels = list("labels");
                labels.retain(|label| label["name"] != json!(name));
                json!({ "labels": labels })
            }
            Effect::Draft(draft) => json!({ "isDraft": draft }),
            Effect::End("MERGED") => json!({
                "state": "MERGED", "closedAt": stamp(when), "mergedAt": stamp(when), "mergedBy": event["actor"],
                "mergeQueueEntry": null,
            }),
            Effect::End(state) => json!({
                "state": state, "closedAt": stamp(when), "mergedAt": null, "mergeQueueEntry": null,
            }),
            Effect::Reopen => {
                json!({ "state": "OPEN", "closedAt": null, "mergedAt": null, "mergedBy": null })
            }
            Effect::Title(title) => json!({ "title": title }),
            Effect::Base(branch) => {
                let repo = pull["repository"]["$ref"].as_str().unwrap_or_default();
                let repo = repo.strip_prefix("repo:").and_then(|it| it.parse().ok());
                let base = self.put_branch(repo.unwrap_or_default(), branch);
                json!({
                    "baseRefName": branch, "baseRef": reference(&base), "baseRefOid": self.target_oid(&base),
                })
            }
            Effect::Assign(who) => {
                let mut assignees = list("assignees");
                assignees.push(who.node(self));
                json!({ "assignees": assignees })
            }
            Effect::AskReview(who) => {
                let mut asked = list("reviewRequests");
                asked.push(request_node(self, who));
                json!({ "reviewRequests": asked })
            }
            Effect::Queue(position) => {
                let entry = queue_node(self, *position, &event["actor"], when);
                json!({ "mergeQueueEntry": entry, "isMergeQueueEnabled": true })
            }
            Effect::Dequeue => json!({ "mergeQueueEntry": null }),
            Effect::Lock(locked) => json!({
                "locked": locked, "activeLockReason": locked.then_some("RESOLVED"),
            }),
        };
        match change {
            Value::Object(change) => change,
            _ => Node::new(),
        }
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

    /// Somebody answers in a thread, counted from 0 in the order in which they were begun. As on GitHub, it
    /// leaves a review that says nothing.
    pub fn reply(&mut self, at: impl Into<At>, thread: usize, comment: CommentSpec) -> Result<(), EditError> {
        let at = at.into();
        let key = self.pull_key(&at)?;
        let (url, head) = self.on(&at)?;
        let on = On {
            url: &url,
            commit: &head,
        };
        let node = comment.node(self, &on, "PullRequestReviewComment");
        let review = review_of(self, &on, &node);
        let missing = || EditError::NotThere(at.clone(), format!("thread {thread}"));
        let pull = self.node_mut(&key).ok_or_else(missing)?;
        let replies = pull
            .get_mut("reviewThreads")
            .and_then(|threads| threads.get_mut(thread)?.get_mut("comments")?.as_array_mut())
            .ok_or_else(missing)?;
        let first = replies.first().cloned().unwrap_or_default();
        let mut node = node;
        for field in [
            "path",
            "line",
            "originalLine",
            "outdated",
            "diffHunk",
            "commit",
            "originalCommit",
        ] {
            node[field] = first[field].clone();
        }
        node["replyTo"] = first;
        let when = time_of(&node);
        replies.push(node);
        if let Some(reviews) = pull.get_mut("reviews").and_then(Value::as_array_mut) {
            reviews.push(review);
        }
        self.touch_text(&key, when);
        Ok(())
    }

    /// A comment, counted from 0, gets another text, now.
    pub fn edit_comment(
        &mut self,
        at: impl Into<At>,
        comment: usize,
        by: impl Into<Who>,
        body: &str,
    ) -> Result<(), EditError> {
        let at = at.into();
        let key = self.pull_key(&at)?;
        let editor = by.into().node(self);
        let now = self.now();
        let missing = || EditError::NotThere(at.clone(), format!("comment {comment}"));
        let pull = self.node_mut(&key).ok_or_else(missing)?;
        let said = pull
            .get_mut("comments")
            .and_then(|comments| comments.get_mut(comment))
            .and_then(Value::as_object_mut)
            .ok_or_else(missing)?;
        said.insert("body".into(), json!(body));
        said.insert("editor".into(), editor);
        said.insert("lastEditedAt".into(), json!(stamp(now)));
        said.insert("updatedAt".into(), json!(stamp(now)));
        self.touch(&key, now);
        Ok(())
    }

    /// Its author changes the description, now.
    pub fn edit_body(&mut self, at: impl Into<At>, body: &str) -> Result<(), EditError> {
        let at = at.into();
        let key = self.pull_key(&at)?;
        let now = self.now();
        if let Some(pull) = self.node_mut(&key) {
            let author = pull.get("author").cloned().unwrap_or_default();
            pull.insert("body".into(), json!(body));
            pull.insert("editor".into(), author);
            pull.insert("lastEditedAt".into(), json!(stamp(now)));
        }
        self.touch(&key, now);
        Ok(())
    }

    /// A thread, counted from 0, is resolved. On GitHub this leaves no event and no trace in `updatedAt`.
    pub fn resolve(&mut self, at: impl Into<At>, thread: usize, by: impl Into<Who>) -> Result<(), EditError> {
        let at = at.into();
        let key = self.pull_key(&at)?;
        let by = by.into().node(self);
        let missing = || EditError::NotThere(at.clone(), format!("thread {thread}"));
        let pull = self.node_mut(&key).ok_or_else(missing)?;
        let thread = pull
            .get_mut("reviewThreads")
            .and_then(|threads| threads.get_mut(thread))
            .and_then(Value::as_object_mut)
            .ok_or_else(missing)?;
        thread.insert("isResolved".into(), json!(true));
        thread.insert("resolvedBy".into(), by);
        Ok(())
    }

    /// The verdict of all reviews, in one of GitHub's words, or none.
    pub fn decide(&mut self, at: impl Into<At>, word: Option<&str>) -> Result<(), EditError> {
        let at = at.into();
        self.pull_json(&at)?.insert("reviewDecision".into(), json!(word));
        self.press(&at)
    }

    /// `updatedAt` moves then and nothing says why, as it does for what no query shows.
    pub fn bump(&mut self, at: impl Into<At>, when: impl IntoWhen) -> Result<(), EditError> {
        let when = when.into_when().on(self.now());
        let key = self.pull_key(&at.into())?;
        self.touch(&key, when);
        Ok(())
    }

    /// What one of a repository's branches asks for, from now on; checks are added to its head.
    pub fn set_branch(&mut self, repo: &str, branch: BranchSpec) -> Result<(), EditError> {
        let number = self.repo_number(repo);
        let number = number.ok_or_else(|| EditError::NoRepository(repo.to_owned()))?;
        branch.install(self, number);
        Ok(())
    }

    /// A file of a repository, on every branch alike; without a text there is none.
    pub fn set_file(&mut self, repo: &str, path: &str, text: Option<&str>) -> Result<(), EditError> {
        let number = self.repo_number(repo);
        let number = number.ok_or_else(|| EditError::NoRepository(repo.to_owned()))?;
        match text {
            Some(text) => {
                let blob = blob_node(self, number, path, text);
                self.put(&blob_key(number, path), blob);
            }
            None => drop(self.take(&blob_key(number, path))),
        }
        Ok(())
    }

    /// The page of a pull request and the key of its head.
    fn on(&self, at: &At) -> Result<(String, String), EditError> {
        let pull = self.node(&self.pull_key(at)?);
        let url = pull.and_then(|pull| pull["url"].as_str()).unwrap_or_default();
        Ok((url.to_owned(), self.head_key(at)?))
    }

    fn say(
        &mut self,
        at: &At,
        list: &str,
        node: impl FnOnce(&mut Self, &On<'_>) -> Value,
    ) -> Result<(), EditError> {
        let key = self.pull_key(at)?;
        let (url, head) = self.on(at)?;
        let on = On {
            url: &url,
            commit: &head,
        };
        let node = node(self, &on);
        let when = match node.get("comments").and_then(|comments| comments.get(0)) {
            Some(first) => time_of(first),
            None => time_of(&node),
        };
        if let Some(said) = self
            .node_mut(&key)
            .and_then(|pull| pull.get_mut(list))
            .and_then(Value::as_array_mut)
        {
            said.push(node);
        }
        self.touch_text(&key, when);
        Ok(())
    }

    fn touch(&mut self, key: &str, when: DateTime<Utc>) {
        self.touch_text(key, stamp(when));
    }

    /// `updatedAt` never goes back.
    fn touch_text(&mut self, key: &str, when: String) {
        if let Some(node) = self.node_mut(key) {
            let known = node.get("updatedAt").and_then(Value::as_str).unwrap_or_default();
            if *known < *when {
                node.insert("updatedAt".into(), json!(when));
            }
        }
    }
}

/// When something said was said or last changed, as GitHub writes it.
fn time_of(said: &Value) -> String {
    let at = said.get("updatedAt").and_then(Value::as_str);
    at.unwrap_or_default().to_owned()
}

enum Replaces {
    Nothing,
    OldHead,
}
