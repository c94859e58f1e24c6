//! What moves without a trace in `updatedAt`: the checks of a head, and whether it can be merged.

use serde_json::{Value, json};

use crate::graph::{At, EditError, Node, World, node_id, reference, stamp};
use crate::spec::{CheckSpec, Checked, press, say_rollup_state};

impl World {
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
            .unwrap_or_default()
            .to_owned();
        Checked {
            repo,
            repo_url: &repo_url,
            commit: &head,
            committed_at: self.now(),
        }
        .add(self, vec![check]);
        self.press(&at)
    }

    /// The newest run or status of this name on the head ends now, in one of GitHub's words.
    pub fn finish(&mut self, at: impl Into<At>, check: &str, word: &str) -> Result<(), EditError> {
        let at = at.into();
        let now = stamp(self.now());
        let (head, place) = self.newest(&at, check)?;
        let change = |node: &mut Node| {
            if node.get("__typename").and_then(Value::as_str) == Some("StatusContext") {
                node.insert("state".into(), json!(word));
                node.insert("createdAt".into(), json!(now));
            } else {
                node.insert("status".into(), json!("COMPLETED"));
                node.insert("conclusion".into(), json!(word));
                node.insert("completedAt".into(), json!(now));
                if node.get("startedAt").is_none_or(Value::is_null) {
                    node.insert("startedAt".into(), json!(now));
                }
            }
        };
        match &place {
            Place::Node(key) => self.node_mut(key).map(change),
            Place::Inside(index) => self.context_mut(&head, *index).map(change),
        };
        self.settle(&at, &head, &place)
    }

    /// The newest run of this name on the head is run again, from now on, in the same suite.
    pub fn rerun(&mut self, at: impl Into<At>, check: &str) -> Result<(), EditError> {
        let at = at.into();
        let now = stamp(self.now());
        let (head, place) = self.newest(&at, check)?;
        let Place::Node(old) = place else {
            return Err(EditError::NotThere(at, format!("run {check}")));
        };
        let id = self.next_id();
        let mut run = self.node(&old).cloned().unwrap_or_default();
        for (field, value) in [
            ("id", json!(node_id("CheckRun", id))),
            ("databaseId", json!(id)),
            ("status", json!("IN_PROGRESS")),
            ("conclusion", Value::Null),
            ("startedAt", json!(now)),
            ("completedAt", Value::Null),
        ] {
            run.insert(field.to_owned(), value);
        }
        let suite = suite_of(&run);
        let key = format!("run:{id}");
        self.put(&key, Value::Object(run));
        let runs = self.node_mut(&suite).and_then(|suite| suite.get_mut("checkRuns"));
        if let Some(runs) = runs.and_then(Value::as_array_mut) {
            runs.push(reference(&key));
        }
        if let Some(contexts) = self.contexts_mut(&head) {
            contexts.push(reference(&key));
        }
        self.settle(&at, &head, &Place::Node(key))
    }

    /// Whether it can be merged, in one of GitHub's words. The word for its button follows.
    pub fn mergeable(&mut self, at: impl Into<At>, word: &str) -> Result<(), EditError> {
        let at = at.into();
        self.pull_json(&at)?.insert("mergeable".into(), json!(word));
        self.press(&at)
    }

    /// Writes the word for the merge button again, except where a spec said it in so many words.
    pub(crate) fn press(&mut self, at: &At) -> Result<(), EditError> {
        let key = self.pull_key(at)?;
        let head = self.head_key(at)?;
        let pull = self.node(&key).ok_or_else(|| EditError::NoPull(at.clone()))?;
        if pull.contains_key("_mergeStateIsSaid") {
            return Ok(());
        }
        let word = press(self, pull, &head);
        if let Some(pull) = self.node_mut(&key) {
            pull.insert("mergeStateStatus".into(), json!(word));
        }
        Ok(())
    }

    fn contexts_mut(&mut self, head: &str) -> Option<&mut Vec<Value>> {
        let rollup = self.node_mut(head)?.get_mut("statusCheckRollup")?;
        rollup.get_mut("contexts")?.as_array_mut()
    }

    fn context_mut(&mut self, head: &str, index: usize) -> Option<&mut Node> {
        self.contexts_mut(head)?.get_mut(index)?.as_object_mut()
    }

    /// The head's key, and where the newest check of a name lies: the last that was added.
    fn newest(&self, at: &At, check: &str) -> Result<(String, Place), EditError> {
        let head = self.head_key(at)?;
        let rollup = self.node(&head).and_then(|head| head.get("statusCheckRollup"));
        let contexts = rollup.and_then(|rollup| rollup.get("contexts")?.as_array());
        let is_named = |entry: &Value| {
            let entry = self.follow(entry).unwrap_or(entry);
            ["name", "context"]
                .iter()
                .any(|field| entry.get(field).and_then(Value::as_str) == Some(check))
        };
        let contexts = contexts.map(Vec::as_slice).unwrap_or_default();
        let index = contexts.iter().rposition(is_named);
        let index = index.ok_or_else(|| EditError::NotThere(at.clone(), format!("check {check}")))?;
        Ok(match contexts[index].get("$ref").and_then(Value::as_str) {
            Some(key) => (head, Place::Node(key.to_owned())),
            None => (head, Place::Inside(index)),
        })
    }

    /// Says what follows from the checks as they are now: of their suite, of the rollup, of the button.
    fn settle(&mut self, at: &At, head: &str, changed: &Place) -> Result<(), EditError> {
        if let Place::Node(run) = changed {
            let suite = self.node(run).map(suite_of).unwrap_or_default();
            self.settle_suite(&suite);
        }
        say_rollup_state(self, head);
        self.press(at)
    }

    fn settle_suite(&mut self, key: &str) {
        let runs = self
            .node(key)
            .and_then(|suite| suite.get("checkRuns")?.as_array());
        // Of runs of one name, the last counts.
        let mut words: Vec<(String, Option<String>)> = Vec::new();
        for run in runs.into_iter().flatten().filter_map(|run| self.follow(run)) {
            let text = |field: &str| run.get(field).and_then(Value::as_str).map(str::to_owned);
            let name = text("name").unwrap_or_default();
            words.retain(|(other, _)| *other != name);
            words.push((name, text("conclusion")));
        }
        let is_open = words.iter().any(|(_, word)| word.is_none());
        let worst = words.iter().filter_map(|(_, word)| word.as_deref());
        let worst = worst.max_by_key(|word| !matches!(*word, "SUCCESS" | "NEUTRAL" | "SKIPPED"));
        let (status, conclusion) = match is_open {
            true => ("IN_PROGRESS", Value::Null),
            false => ("COMPLETED", json!(worst)),
        };
        if let Some(suite) = self.node_mut(key) {
            suite.insert("status".into(), json!(status));
            suite.insert("conclusion".into(), conclusion);
        }
    }
}

/// Where an entry of a rollup lies.
enum Place {
    /// In a node of its own.
    Node(String),
    /// In the rollup itself, at this place.
    Inside(usize),
}

fn suite_of(run: &Node) -> String {
    let suite = run
        .get("checkSuite")
        .and_then(|suite| suite.get("$ref")?.as_str());
    suite.unwrap_or_default().to_owned()
}
