//! From a pull request's spec to the graph.

use chrono::{DateTime, Duration, Utc};
use serde_json::{Map, Value, json};

use super::branch::required_names;
use super::check::{CheckSpec, Checked, SuiteSpec};
use super::commit::CommitSpec;
use super::event::{Effect, EventSpec, event_node, label_node, pull_commit, queue_node, request_node};
use super::pull::{Fork, PullSpec, Rollup, State};
use super::repo::RepoSpec;
use super::talk::{On, ReviewSpec, Who};
use super::{apply, when::When};
use crate::graph::{Node, SITE, World, node_id, oid_of, reference, stamp};

/// Where a pull request goes.
struct Place {
    repo: u64,
    number: u32,
    /// `owner/name` as it is written now.
    name: String,
    repo_url: String,
    url: String,
}

/// Its newest commit, in the graph.
struct Head {
    key: String,
    oid: String,
    committed_at: DateTime<Utc>,
}

impl World {
    /// Adds a pull request, and its repository and accounts where they are not there yet. One of the
    /// same number is replaced.
    pub fn add_pull(&mut self, spec: PullSpec) {
        let now = self.now();
        let place = Place::of(self, &spec);
        let author = spec
            .author
            .clone()
            .unwrap_or_else(|| Who::user(self.viewer()))
            .node(self);
        let mut pull = place.outside(self, &spec, &author);

        let created = spec.created.on(now);
        let head = spec.head.unwrap_or(CommitSpec::at(created));
        let (head, commits) = place.commits(self, head, spec.earlier, &author);
        pull.insert("headRefOid".into(), json!(head.oid));
        pull.insert("commits".into(), json!(commits));
        place.hang_checks(self, &head, spec.checks, spec.suites, spec.rollup);

        let on = On {
            url: &place.url,
            commit: &head.key,
        };
        let comments: Vec<Value> = spec
            .comments
            .into_iter()
            .map(|it| it.node(self, &on, "IssueComment"))
            .collect();
        let mut reviews: Vec<Value> = spec.reviews.into_iter().map(|it| it.node(self, &on)).collect();
        let threads: Vec<Value> = spec.threads.into_iter().map(|it| it.node(self, &on)).collect();
        if spec.thread_reviews {
            let said = threads.iter().filter_map(|it| it["comments"].as_array());
            reviews.extend(said.flatten().map(|comment| review_of(self, &on, comment)));
        }
        let replies = threads
            .iter()
            .filter_map(|it| it["comments"].as_array())
            .flatten();
        pull.extend(place.branches(self, &head, spec.branch, spec.base, spec.fork));
        let events = place.events(self, &head, spec.force_pushes, spec.events, &pull);
        let newest = [&comments, &reviews]
            .into_iter()
            .flatten()
            .chain(replies)
            .filter_map(|it| it["updatedAt"].as_str().map(str::to_owned))
            .chain(events.newest_effect)
            .chain([stamp(created)])
            .chain((head.committed_at <= now).then(|| stamp(head.committed_at)))
            .chain(pull["closedAt"].as_str().map(str::to_owned))
            .max();
        let updated = spec.updated.map(|at| stamp(at.on(now))).or(newest);
        pull.insert("updatedAt".into(), json!(updated));
        pull.insert("comments".into(), json!(by_time(comments)));
        pull.insert("reviews".into(), json!(by_time(reviews)));
        pull.insert("reviewThreads".into(), json!(threads));

        let closes: Vec<Value> = spec
            .closes
            .into_iter()
            .map(|it| reference(&it.install(self, &place.name)))
            .collect();
        pull.insert("closingIssuesReferences".into(), json!(closes));
        let mut events = events.nodes;
        events.extend(place.ending(self, spec.ended_by, &mut pull));
        pull.insert("timelineItems".into(), json!(events));
        pull.extend(Place::asked_and_labelled(self, spec.requests, spec.labels));
        let queued_at = now - Duration::minutes(9);
        let entry = spec.queue.map(|at| queue_node(self, at, &author, queued_at));
        pull.insert("mergeQueueEntry".into(), json!(entry));
        match spec.merge_state {
            Some(said) => {
                pull.insert("mergeStateStatus".into(), json!(said));
                pull.insert("_mergeStateIsSaid".into(), json!(true));
            }
            None => {
                let word = press(self, &pull, &head.key);
                pull.insert("mergeStateStatus".into(), json!(word));
            }
        }

        let mut pull = Value::Object(pull);
        apply(spec.raw, &mut pull);
        self.put(&format!("pull:{}#{}", place.repo, place.number), pull);
        let mut commit = Value::Object(self.node(&head.key).cloned().unwrap_or_default());
        apply(spec.raw_head, &mut commit);
        self.put(&head.key, commit);
    }

    fn default_branch(&self, repo: u64) -> String {
        let repo = self.node(&World::repo_key(repo));
        let branch = repo
            .and_then(|repo| repo.get("defaultBranchRef"))
            .and_then(|it| self.follow(it));
        branch
            .and_then(|branch| branch["name"].as_str())
            .unwrap_or("main")
            .to_owned()
    }

    pub(crate) fn target_oid(&self, key: &str) -> String {
        let target = self
            .node(key)
            .and_then(|it| it.get("target"))
            .and_then(|it| self.follow(it));
        target
            .and_then(|commit| commit["oid"].as_str())
            .unwrap_or_default()
            .to_owned()
    }
}

impl Place {
    fn of(world: &mut World, spec: &PullSpec) -> Self {
        let repo = world.ensure_repo(&spec.at.repo);
        let name = world
            .node(&World::repo_key(repo))
            .and_then(|repo| repo["nameWithOwner"].as_str());
        let name = name.unwrap_or(&spec.at.repo).to_owned();
        let repo_url = format!("{SITE}/{name}");
        let number = spec.at.number;
        Self {
            repo,
            number,
            url: format!("{repo_url}/pull/{number}"),
            name,
            repo_url,
        }
    }

    /// What a pull request is without its head and without anybody's words.
    fn outside(&self, world: &mut World, spec: &PullSpec, author: &Value) -> Node {
        let now = world.now();
        let id = world.next_id();
        let (state, ended, merged) = match spec.state {
            State::Open => ("OPEN", None, None),
            State::Closed(at) => ("CLOSED", Some(at), None),
            State::Merged(at) => ("MERGED", Some(at), Some(at)),
        };
        let time = |at: Option<When>| at.map(|at| stamp(at.on(now)));
        let usual = [("src/main.rs".to_owned(), 12, 3)];
        let files = if spec.files.is_empty() {
            &usual[..]
        } else {
            &spec.files[..]
        };
        let sum = |of: fn(&(String, u32, u32)) -> u32| files.iter().map(of).sum::<u32>();
        let listed: Vec<Value> = files.iter().map(changed_file).collect();
        let node = json!({
            "__typename": "PullRequest", "id": node_id("PullRequest", id), "databaseId": id,
            "number": self.number, "title": spec.title, "body": spec.body, "url": self.url,
            "state": state, "isDraft": spec.draft, "locked": spec.locked,
            "activeLockReason": spec.locked.then_some("RESOLVED"),
            "createdAt": stamp(spec.created.on(now)), "closedAt": time(ended), "mergedAt": time(merged),
            "author": author, "authorAssociation": spec.association.as_str(),
            "mergeable": spec.mergeable, "reviewDecision": spec.decision, "maintainerCanModify": true,
            "isMergeQueueEnabled": spec.queue.is_some(), "assignees": [],
            "additions": sum(|file| file.1), "deletions": sum(|file| file.2), "changedFiles": files.len(),
            "files": (!spec.files_unread).then_some(listed),
            "repository": reference(&World::repo_key(self.repo)),
            "_behindBy": spec.behind, "_aheadBy": 1, "_search": spec.search,
        });
        match node {
            Value::Object(node) => node,
            _ => unreachable!("braces make an object"),
        }
    }

    fn commits(
        &self,
        world: &mut World,
        head: CommitSpec,
        earlier: Vec<CommitSpec>,
        author: &Value,
    ) -> (Head, Vec<Value>) {
        let seed = format!("{}#{}", self.name, self.number);
        let mut entries = Vec::new();
        for (at, commit) in earlier.into_iter().enumerate() {
            let (key, _) = commit.install(world, self.repo, &format!("{seed} commit {at}"), author);
            entries.push(pull_commit(world, &key));
        }
        let committed_at = head.time(world.now());
        let (key, oid) = head.install(world, self.repo, &format!("{seed} head"), author);
        entries.push(pull_commit(world, &key));
        (
            Head {
                key,
                oid,
                committed_at,
            },
            entries,
        )
    }

    fn hang_checks(
        &self,
        world: &mut World,
        head: &Head,
        checks: Vec<CheckSpec>,
        suites: Vec<SuiteSpec>,
        rollup: Rollup,
    ) {
        let checked = Checked {
            repo: self.repo,
            repo_url: &self.repo_url,
            commit: &head.key,
            committed_at: head.committed_at,
        };
        checked.add(world, checks);
        for suite in suites {
            checked.add_suite(world, suite);
        }
        let rollup = match rollup {
            Rollup::FromChecks => return,
            Rollup::None => Value::Null,
            Rollup::Empty => json!({
                "__typename": "StatusCheckRollup", "id": format!("SCR_{}", head.oid),
                "state": "EXPECTED", "contexts": [],
            }),
        };
        if let Some(node) = world.node_mut(&head.key) {
            node.insert("statusCheckRollup".into(), rollup);
        }
    }

    fn events(
        &self,
        world: &mut World,
        head: &Head,
        force_pushes: Vec<When>,
        others: Vec<EventSpec>,
        pull: &Node,
    ) -> Events {
        let now = world.now();
        let mut nodes = Vec::new();
        for at in force_pushes {
            let at = at.on(now);
            let oid = oid_of(&format!("{}#{} before {at}", self.name, self.number));
            let before = world.put_commit(self.repo, &oid, at, "Before");
            let mut event = event_node(world, "HeadRefForcePushedEvent", at, &pull["author"]);
            event.insert("beforeCommit".into(), reference(&before));
            event.insert("afterCommit".into(), reference(&head.key));
            nodes.push(Value::Object(event));
        }
        let mut newest_effect = None;
        for event in others {
            if !matches!(event.effect, Effect::None) {
                newest_effect = newest_effect.max(Some(stamp(event.time(now))));
            }
            nodes.push(event.node(world, pull));
        }
        Events { nodes, newest_effect }
    }

    /// The event that ended it, and who did.
    fn ending(&self, world: &mut World, by: Option<Who>, pull: &mut Node) -> Option<Value> {
        let at = pull.get("closedAt")?.as_str()?.to_owned();
        let merged = pull.get("state")?.as_str() == Some("MERGED");
        let actor = match by {
            Some(who) => who.node(world),
            None if merged => Who::user("edith").node(world),
            None => pull.get("author").cloned().unwrap_or_default(),
        };
        let event = if merged {
            EventSpec::merged()
        } else {
            EventSpec::closed()
        };
        let mut node = event.at(at.as_str()).node(world, pull);
        node["actor"] = actor.clone();
        if merged {
            pull.insert("mergedBy".into(), actor);
        }
        Some(node)
    }

    /// Where it comes from and where it goes.
    fn branches(
        &self,
        world: &mut World,
        head: &Head,
        branch: Option<String>,
        base: Option<String>,
        fork: Fork,
    ) -> Node {
        let base = base.unwrap_or_else(|| world.default_branch(self.repo));
        let base_key = world.put_branch(self.repo, &base);
        let branch = branch.unwrap_or_else(|| format!("change-{}", self.number));
        let from = match fork {
            Fork::Same => Some(self.repo),
            Fork::Of(owner) => Some(self.fork(world, &owner)),
            Fork::Deleted => None,
        };
        let head_key = format!("ref:{}:refs/pull/{}/head", self.repo, self.number);
        world.put_ref(&head_key, self.repo, "refs/heads/", &branch, &head.key);
        let mut node = Map::new();
        node.insert("headRefName".into(), json!(branch));
        node.insert(
            "headRef".into(),
            from.map_or(Value::Null, |_| reference(&head_key)),
        );
        let repository = from.map_or(Value::Null, |repo| reference(&World::repo_key(repo)));
        node.insert("headRepository".into(), repository);
        node.insert("baseRefName".into(), json!(base));
        node.insert("baseRefOid".into(), json!(world.target_oid(&base_key)));
        node.insert("baseRef".into(), reference(&base_key));
        node
    }

    fn fork(&self, world: &mut World, owner: &str) -> u64 {
        let short = self.name.rsplit('/').next().unwrap_or(&self.name);
        let full = format!("{owner}/{short}");
        match world.repo_number(&full) {
            Some(number) => number,
            None => world.put_repo(
                RepoSpec::new(&full)
                    .of_a_person()
                    .raw(|repo| drop(repo.insert("isFork".into(), json!(true)))),
            ),
        }
    }

    fn asked_and_labelled(world: &mut World, requests: Vec<Who>, labels: Vec<String>) -> Node {
        let asked: Vec<Value> = requests.iter().map(|who| request_node(world, who)).collect();
        let named: Vec<Value> = labels.iter().map(|label| label_node(world, label)).collect();
        [
            ("reviewRequests".to_owned(), json!(asked)),
            ("labels".to_owned(), json!(named)),
        ]
        .into_iter()
        .collect()
    }
}

/// GitHub's word for the merge button, from what else is known of a pull request and its head.
pub(crate) fn press(world: &World, pull: &Node, head: &str) -> &'static str {
    let text = |field: &str| pull.get(field).and_then(Value::as_str);
    let rollup = world.node(head).and_then(|head| head.get("statusCheckRollup"));
    let failing = rollup.and_then(|rollup| rollup.get("state")?.as_str()) == Some("FAILURE");
    match (text("mergeable"), text("reviewDecision")) {
        (Some("UNKNOWN"), _) => "UNKNOWN",
        (Some("CONFLICTING"), _) => "DIRTY",
        _ if pull.get("isDraft").and_then(Value::as_bool) == Some(true) => "DRAFT",
        (_, Some("REVIEW_REQUIRED" | "CHANGES_REQUESTED")) => "BLOCKED",
        _ if misses_required(world, pull, rollup) => "BLOCKED",
        _ if failing => "UNSTABLE",
        _ => "CLEAN",
    }
}

/// Whether a check that the base requires has not passed on the head.
fn misses_required(world: &World, pull: &Node, rollup: Option<&Value>) -> bool {
    let Some(base) = pull.get("baseRef").and_then(|base| world.follow(base)) else {
        return false;
    };
    let contexts = rollup.and_then(|rollup| rollup.get("contexts")?.as_array());
    let contexts: Vec<&Value> = contexts
        .into_iter()
        .flatten()
        .filter_map(|entry| world.follow(entry))
        .collect();
    let word = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
    required_names(base).into_iter().any(|name| {
        let newest = contexts.iter().rev().find(|entry| {
            [word(entry, "name"), word(entry, "context")]
                .iter()
                .flatten()
                .any(|own| own == name)
        });
        let says = newest.and_then(|entry| word(entry, "conclusion").or_else(|| word(entry, "state")));
        !matches!(says.as_deref(), Some("SUCCESS" | "NEUTRAL" | "SKIPPED"))
    })
}

/// The events of a pull request.
struct Events {
    nodes: Vec<Value>,
    /// When the newest of those was that changed something, as GitHub writes it.
    newest_effect: Option<String>,
}

fn changed_file((path, additions, deletions): &(String, u32, u32)) -> Value {
    json!({
        "__typename": "PullRequestChangedFile", "path": path, "additions": additions, "deletions": deletions,
        "changeType": "MODIFIED",
    })
}

/// The review that a comment of a thread leaves.
pub(crate) fn review_of(world: &mut World, on: &On<'_>, comment: &Value) -> Value {
    let at = comment["createdAt"].as_str().unwrap_or_default();
    let review = ReviewSpec::commented(Who::Deleted, "").at(at);
    let mut review = review.node(world, on);
    for field in ["author", "authorAssociation"] {
        review[field] = comment[field].clone();
    }
    review["comments"] = json!([comment]);
    review
}

fn by_time(mut said: Vec<Value>) -> Vec<Value> {
    said.sort_by(|a, b| a["createdAt"].as_str().cmp(&b["createdAt"].as_str()));
    said
}
