//! From a pull request's spec to the graph.

use chrono::{DateTime, Duration, Utc};
use serde_json::{Map, Value, json};

use super::check::{CheckSpec, Checked, SuiteSpec};
use super::commit::CommitSpec;
use super::pull::{Fork, PullSpec, Rollup, State};
use super::repo::RepoSpec;
use super::talk::{On, Who};
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
        let (head, commits) = place.commits(self, head, spec.earlier);
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
        let reviews: Vec<Value> = spec.reviews.into_iter().map(|it| it.node(self, &on)).collect();
        let threads: Vec<Value> = spec.threads.into_iter().map(|it| it.node(self, &on)).collect();
        let replies = threads
            .iter()
            .filter_map(|it| it["comments"].as_array())
            .flatten();
        let newest = [&comments, &reviews]
            .into_iter()
            .flatten()
            .chain(replies)
            .filter_map(|it| it["createdAt"].as_str().map(str::to_owned))
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
        let events = place.events(self, &head, spec.force_pushes, spec.events, &author);
        pull.insert("timelineItems".into(), json!(events));
        pull.extend(place.branches(self, &head, spec.branch, spec.base, spec.fork));
        pull.extend(place.asked_and_labelled(self, spec.requests, spec.labels));
        pull.insert(
            "mergeQueueEntry".into(),
            place.queue_entry(self, spec.queue, &author),
        );
        let merge_state = spec.merge_state.unwrap_or_else(|| {
            let failing = self
                .node(&head.key)
                .map(|head| &head["statusCheckRollup"]["state"]);
            let failing = failing.and_then(Value::as_str) == Some("FAILURE");
            button(&spec.mergeable, spec.decision.as_deref(), spec.draft, failing).to_owned()
        });
        pull.insert("mergeStateStatus".into(), json!(merge_state));

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

    fn target_oid(&self, key: &str) -> String {
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
        let node = json!({
            "__typename": "PullRequest", "id": node_id("PullRequest", id), "databaseId": id,
            "number": self.number, "title": spec.title, "body": spec.body, "url": self.url,
            "state": state, "isDraft": spec.draft, "locked": spec.locked,
            "activeLockReason": spec.locked.then_some("RESOLVED"),
            "createdAt": stamp(spec.created.on(now)), "closedAt": time(ended), "mergedAt": time(merged),
            "author": author, "authorAssociation": spec.association.as_str(),
            "mergeable": spec.mergeable, "reviewDecision": spec.decision, "maintainerCanModify": true,
            "isMergeQueueEnabled": spec.queue.is_some(), "assignees": [],
            "additions": 12, "deletions": 3, "changedFiles": 1,
            "files": [{ "__typename": "PullRequestChangedFile", "path": "src/main.rs", "additions": 12, "deletions": 3 }],
            "repository": reference(&World::repo_key(self.repo)),
            "_behindBy": spec.behind, "_aheadBy": 1, "_search": spec.search,
        });
        match node {
            Value::Object(node) => node,
            _ => unreachable!("braces make an object"),
        }
    }

    fn commits(&self, world: &mut World, head: CommitSpec, earlier: Vec<CommitSpec>) -> (Head, Vec<Value>) {
        let seed = format!("{}#{}", self.name, self.number);
        let mut entries = Vec::new();
        for (at, commit) in earlier.into_iter().enumerate() {
            let (key, _) = commit.install(world, self.repo, &format!("{seed} commit {at}"));
            entries.push(pull_commit(world, &key));
        }
        let committed_at = head.time(world.now());
        let (key, oid) = head.install(world, self.repo, &format!("{seed} head"));
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
        others: Vec<(When, String)>,
        actor: &Value,
    ) -> Vec<Value> {
        let now = world.now();
        let mut events = Vec::new();
        for at in force_pushes {
            let at = at.on(now);
            let oid = oid_of(&format!("{}#{} before {at}", self.name, self.number));
            let before = world.put_commit(self.repo, &oid, at, "Before");
            let mut event = event_node(world, "HeadRefForcePushedEvent", at, actor);
            event.insert("beforeCommit".into(), reference(&before));
            event.insert("afterCommit".into(), reference(&head.key));
            events.push(Value::Object(event));
        }
        for (at, typename) in others {
            events.push(Value::Object(event_node(world, &typename, at.on(now), actor)));
        }
        events
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

    fn asked_and_labelled(&self, world: &mut World, requests: Vec<Who>, labels: Vec<String>) -> Node {
        let mut asked = Vec::new();
        for who in requests {
            let id = world.next_id();
            let who = who.node(world);
            asked.push(json!({
                "__typename": "ReviewRequest", "id": node_id("ReviewRequest", id), "databaseId": id,
                "asCodeOwner": false, "requestedReviewer": who,
            }));
        }
        let mut named = Vec::new();
        for label in labels {
            let id = world.next_id();
            named.push(json!({
                "__typename": "Label", "id": node_id("Label", id), "name": label, "color": "ededed",
                "url": format!("{}/labels/{id}", self.repo_url),
            }));
        }
        [
            ("reviewRequests".to_owned(), json!(asked)),
            ("labels".to_owned(), json!(named)),
        ]
        .into_iter()
        .collect()
    }

    fn queue_entry(&self, world: &mut World, position: Option<u32>, enqueuer: &Value) -> Value {
        let Some(position) = position else {
            return Value::Null;
        };
        let id = world.next_id();
        json!({
            "__typename": "MergeQueueEntry", "id": node_id("MergeQueueEntry", id), "position": position,
            "state": "QUEUED", "enqueuedAt": stamp(world.now() - Duration::minutes(9)), "enqueuer": enqueuer,
        })
    }
}

/// GitHub's word for the merge button, from what else is known.
fn button(mergeable: &str, decision: Option<&str>, draft: bool, failing: bool) -> &'static str {
    match (mergeable, decision) {
        ("UNKNOWN", _) => "UNKNOWN",
        ("CONFLICTING", _) => "DIRTY",
        _ if draft => "DRAFT",
        (_, Some("REVIEW_REQUIRED" | "CHANGES_REQUESTED")) => "BLOCKED",
        _ if failing => "UNSTABLE",
        _ => "CLEAN",
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

/// A commit as an entry of a pull request's list.
pub(crate) fn pull_commit(world: &mut World, key: &str) -> Value {
    let id = world.next_id();
    json!({ "__typename": "PullRequestCommit", "id": node_id("PullRequestCommit", id), "commit": reference(key) })
}

fn by_time(mut said: Vec<Value>) -> Vec<Value> {
    said.sort_by(|a, b| a["createdAt"].as_str().cmp(&b["createdAt"].as_str()));
    said
}
