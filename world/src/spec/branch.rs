//! What a branch asks of a pull request, and who may read where it says so.

use serde_json::{Value, json};

use super::check::{CheckSpec, Checked};
use crate::graph::{World, reference};

/// A branch that pull requests go to: by default without a rule of any kind.
///
/// What it requires can be said in branch protection and in a ruleset. Its own summary repeats protection for
/// whoever may read the repository; protection itself is for administrators alone.
///
/// ```
/// use world::{BranchSpec, RepoSpec};
/// let repo = RepoSpec::new("o/r").branch(BranchSpec::new("main").requires("build", Some(15_368)).ruleset("lint", None));
/// ```
#[derive(Default)]
pub struct BranchSpec {
    name: String,
    protection: Option<Vec<(String, Option<u64>)>>,
    ruleset: Vec<(String, Option<u64>)>,
    rules_without_checks: bool,
    protection_answers: Option<u16>,
    ruleset_answers: Option<u16>,
    branch_answers: Option<u16>,
    summary_is_bare: bool,
    checks: Vec<CheckSpec>,
}

impl BranchSpec {
    /// A branch of this name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Protected, without a check being required.
    #[must_use]
    pub fn protected(mut self) -> Self {
        self.protection.get_or_insert_default();
        self
    }

    /// Branch protection requires a check, of one app or of any.
    #[must_use]
    pub fn requires(mut self, context: &str, app: Option<u64>) -> Self {
        let checks = self.protection.get_or_insert_default();
        checks.push((context.to_owned(), app));
        self
    }

    /// A ruleset requires a check, of one app or of any.
    #[must_use]
    pub fn ruleset(mut self, context: &str, app: Option<u64>) -> Self {
        self.ruleset.push((context.to_owned(), app));
        self
    }

    /// A ruleset holds rules, none of them about checks.
    #[must_use]
    pub fn other_rules(mut self) -> Self {
        self.rules_without_checks = true;
        self
    }

    /// Branch protection is refused with this status, 403 or 404, whoever asks.
    #[must_use]
    pub fn protection_refused(mut self, status: u16) -> Self {
        self.protection_answers = Some(status);
        self
    }

    /// The rules of the branch are refused with this status, 403 or 404.
    #[must_use]
    pub fn ruleset_refused(mut self, status: u16) -> Self {
        self.ruleset_answers = Some(status);
        self
    }

    /// The branch itself is refused with this status, 403 or 404, over REST.
    #[must_use]
    pub fn branch_refused(mut self, status: u16) -> Self {
        self.branch_answers = Some(status);
        self
    }

    /// The branch's own answer says that it is protected and nothing more.
    #[must_use]
    pub fn bare_summary(mut self) -> Self {
        self.summary_is_bare = true;
        self
    }

    /// A check of the branch's own head.
    #[must_use]
    pub fn check(mut self, check: CheckSpec) -> Self {
        self.checks.push(check);
        self
    }

    /// Puts it in place of what the branch asked for before. Its head stays what it is.
    pub(crate) fn install(self, world: &mut World, repo: u64) {
        let key = world.put_branch(repo, &self.name);
        let listed = |checks: &[(String, Option<u64>)]| -> Vec<Value> {
            let checks = checks.iter();
            checks
                .map(|(context, app)| json!({ "context": context, "app_id": app }))
                .collect()
        };
        let ruleset = world.next_id();
        let asks = json!({
            "protection": self.protection.as_deref().map(listed), "ruleset": listed(&self.ruleset),
            "otherRules": self.rules_without_checks, "rulesetId": ruleset,
            "protectionAnswers": self.protection_answers, "rulesetAnswers": self.ruleset_answers,
            "branchAnswers": self.branch_answers, "bare": self.summary_is_bare,
        });
        let mut head = Value::Null;
        if let Some(node) = world.node_mut(&key) {
            node.insert("_asks".into(), asks);
            head = node.get("target").cloned().unwrap_or_default();
        }
        let Some(head) = head.get("$ref").and_then(Value::as_str) else {
            return;
        };
        let repo_url = world
            .node(&World::repo_key(repo))
            .and_then(|repo| repo["url"].as_str())
            .unwrap_or_default()
            .to_owned();
        let checked = Checked {
            repo,
            repo_url: &repo_url,
            commit: head,
            committed_at: world.now() - chrono::Duration::hours(5),
        };
        if !self.checks.is_empty() {
            checked.add(world, self.checks);
        }
    }
}

/// A file of a repository, on every branch alike.
pub(crate) fn blob_node(world: &mut World, repo: u64, path: &str, text: &str) -> Value {
    let id = world.next_id();
    json!({
        "__typename": "Blob", "id": crate::graph::node_id("Blob", id),
        "oid": crate::graph::oid_of(&format!("{path}\0{text}")), "text": text, "byteSize": text.len(),
        "isBinary": false, "isTruncated": false, "repository": reference(&World::repo_key(repo)),
    })
}

/// The names of the checks that a branch requires, wherever it says so.
pub(crate) fn required_names(branch: &Value) -> Vec<&str> {
    let lists = ["protection", "ruleset"].into_iter().filter_map(|list| {
        let asks = branch.get("_asks")?;
        asks.get(list)?.as_array()
    });
    lists
        .flatten()
        .filter_map(|check| check.get("context")?.as_str())
        .collect()
}
