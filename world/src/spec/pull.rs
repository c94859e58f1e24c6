//! Pull requests.

use chrono::{DateTime, Duration, Utc};
use serde_json::{Map, Value, json};

use super::check::{CheckSpec, Checked, SuiteSpec};
use super::talk::{Association, CommentSpec, On, ReviewSpec, ThreadSpec, Who};
use super::when::{IntoWhen, When, days_ago};
use super::{Raw, apply};
use crate::graph::{At, SITE, World, node_id, oid_of, reference, stamp};

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

    fn install(self, world: &mut World, home: &str) -> String {
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

/// A pull request: by default open, by the viewer, three days old, mergeable, with no checks, no
/// reviews and no words, from a branch of its own repository, two commits behind.
pub struct PullSpec {
    at: At,
    title: String,
    body: String,
    author: Option<Who>,
    association: Association,
    branch: Option<String>,
    base: Option<String>,
    created: When,
    updated: Option<When>,
    head: Option<CommitSpec>,
    earlier: Vec<CommitSpec>,
    state: State,
    draft: bool,
    mergeable: String,
    merge_state: Option<String>,
    decision: Option<String>,
    rollup: Rollup,
    checks: Vec<CheckSpec>,
    suites: Vec<SuiteSpec>,
    comments: Vec<CommentSpec>,
    reviews: Vec<ReviewSpec>,
    threads: Vec<ThreadSpec>,
    requests: Vec<Who>,
    closes: Vec<ClosesSpec>,
    behind: Option<u64>,
    force_pushes: Vec<When>,
    events: Vec<(When, String)>,
    labels: Vec<String>,
    locked: bool,
    fork: Fork,
    queue: Option<u32>,
    search: Option<Value>,
    raw: Vec<Raw>,
    raw_head: Vec<Raw>,
}

enum State {
    Open,
    Closed(When),
    Merged(When),
}

#[derive(PartialEq, Eq)]
enum Rollup {
    FromChecks,
    None,
    Empty,
}

enum Fork {
    Same,
    Of(String),
    Deleted,
}

impl PullSpec {
    /// Number `number` of `repo`.
    pub fn new(repo: &str, number: u32) -> Self {
        Self {
            at: At::from((repo, number)),
            title: format!("Change {number}"),
            body: "What it does and why.".to_owned(),
            author: None,
            association: Association::Contributor,
            branch: None,
            base: None,
            created: days_ago(3),
            updated: None,
            head: None,
            earlier: Vec::new(),
            state: State::Open,
            draft: false,
            mergeable: "MERGEABLE".to_owned(),
            merge_state: None,
            decision: None,
            rollup: Rollup::FromChecks,
            checks: Vec::new(),
            suites: Vec::new(),
            comments: Vec::new(),
            reviews: Vec::new(),
            threads: Vec::new(),
            requests: Vec::new(),
            closes: Vec::new(),
            behind: Some(2),
            force_pushes: Vec::new(),
            events: Vec::new(),
            labels: Vec::new(),
            locked: false,
            fork: Fork::Same,
            queue: None,
            search: None,
            raw: Vec::new(),
            raw_head: Vec::new(),
        }
    }

    /// Its title.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.title);
        self
    }

    /// Its description.
    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    /// Who opened it.
    #[must_use]
    pub fn author(mut self, who: impl Into<Who>) -> Self {
        self.author = Some(who.into());
        self
    }

    /// How its author stands to the repository.
    #[must_use]
    pub fn association(mut self, association: Association) -> Self {
        self.association = association;
        self
    }

    /// The branch it comes from.
    #[must_use]
    pub fn branch(mut self, name: &str) -> Self {
        self.branch = Some(name.to_owned());
        self
    }

    /// The branch it goes to, where it is not the default one.
    #[must_use]
    pub fn base(mut self, name: &str) -> Self {
        self.base = Some(name.to_owned());
        self
    }

    /// When it was opened.
    #[must_use]
    pub fn created(mut self, at: impl IntoWhen) -> Self {
        self.created = at.into_when();
        self
    }

    /// When anything of it last changed. By default the newest of its opening, head, comments and reviews.
    #[must_use]
    pub fn updated(mut self, at: impl IntoWhen) -> Self {
        self.updated = Some(at.into_when());
        self
    }

    /// The head commit. By default it is as old as the pull request.
    #[must_use]
    pub fn head(mut self, commit: CommitSpec) -> Self {
        self.head = Some(commit);
        self
    }

    /// The head commit's committer date.
    #[must_use]
    pub fn committed(self, at: impl IntoWhen) -> Self {
        self.head(CommitSpec::at(at))
    }

    /// A commit below the head, oldest first.
    #[must_use]
    pub fn earlier(mut self, commit: CommitSpec) -> Self {
        self.earlier.push(commit);
        self
    }

    /// Merged.
    #[must_use]
    pub fn merged(mut self, at: impl IntoWhen) -> Self {
        self.state = State::Merged(at.into_when());
        self
    }

    /// Closed without a merge.
    #[must_use]
    pub fn closed(mut self, at: impl IntoWhen) -> Self {
        self.state = State::Closed(at.into_when());
        self
    }

    /// A draft.
    #[must_use]
    pub fn draft(mut self) -> Self {
        self.draft = true;
        self
    }

    /// Whether it can be merged, in one of GitHub's words.
    #[must_use]
    pub fn mergeable(mut self, word: &str) -> Self {
        word.clone_into(&mut self.mergeable);
        self
    }

    /// It cannot.
    #[must_use]
    pub fn conflicting(self) -> Self {
        self.mergeable("CONFLICTING")
    }

    /// GitHub's word for the merge button. By default what follows from the rest.
    #[must_use]
    pub fn merge_state(mut self, word: &str) -> Self {
        self.merge_state = Some(word.to_owned());
        self
    }

    /// The verdict of all reviews, in one of GitHub's words. By default there is none.
    #[must_use]
    pub fn decision(mut self, word: &str) -> Self {
        self.decision = Some(word.to_owned());
        self
    }

    /// A check.
    #[must_use]
    pub fn check(mut self, check: CheckSpec) -> Self {
        self.checks.push(check);
        self
    }

    /// Several checks.
    #[must_use]
    pub fn checks(mut self, checks: impl IntoIterator<Item = CheckSpec>) -> Self {
        self.checks.extend(checks);
        self
    }

    /// A suite without a run.
    #[must_use]
    pub fn suite(mut self, suite: SuiteSpec) -> Self {
        self.suites.push(suite);
        self
    }

    /// No rollup, whatever checks there are. Without checks there is none anyway.
    #[must_use]
    pub fn no_rollup(mut self) -> Self {
        self.rollup = Rollup::None;
        self
    }

    /// A rollup without an entry.
    #[must_use]
    pub fn empty_rollup(mut self) -> Self {
        self.rollup = Rollup::Empty;
        self
    }

    /// A comment.
    #[must_use]
    pub fn comment(mut self, comment: CommentSpec) -> Self {
        self.comments.push(comment);
        self
    }

    /// Several comments.
    #[must_use]
    pub fn comments(mut self, comments: impl IntoIterator<Item = CommentSpec>) -> Self {
        self.comments.extend(comments);
        self
    }

    /// A review.
    #[must_use]
    pub fn review(mut self, review: ReviewSpec) -> Self {
        self.reviews.push(review);
        self
    }

    /// A review thread.
    #[must_use]
    pub fn thread(mut self, thread: ThreadSpec) -> Self {
        self.threads.push(thread);
        self
    }

    /// Somebody is asked for a review.
    #[must_use]
    pub fn review_request(mut self, who: impl Into<Who>) -> Self {
        self.requests.push(who.into());
        self
    }

    /// An issue that it would close.
    #[must_use]
    pub fn closes(mut self, issue: ClosesSpec) -> Self {
        self.closes.push(issue);
        self
    }

    /// So many commits on the base since the merge base.
    #[must_use]
    pub fn behind(mut self, commits: u64) -> Self {
        self.behind = Some(commits);
        self
    }

    /// GitHub compares nothing: `compare` answers null.
    #[must_use]
    pub fn behind_unknown(mut self) -> Self {
        self.behind = None;
        self
    }

    /// The head was replaced by a force push.
    #[must_use]
    pub fn force_pushed(mut self, at: impl IntoWhen) -> Self {
        self.force_pushes.push(at.into_when());
        self
    }

    /// Any other event of the timeline, by its GraphQL type.
    #[must_use]
    pub fn event(mut self, typename: &str, at: impl IntoWhen) -> Self {
        self.events.push((at.into_when(), typename.to_owned()));
        self
    }

    /// A label.
    #[must_use]
    pub fn label(mut self, name: &str) -> Self {
        self.labels.push(name.to_owned());
        self
    }

    /// Its conversation is locked.
    #[must_use]
    pub fn locked(mut self) -> Self {
        self.locked = true;
        self
    }

    /// From a fork of this owner.
    #[must_use]
    pub fn from_fork_of(mut self, owner: &str) -> Self {
        self.fork = Fork::Of(owner.to_owned());
        self
    }

    /// From a fork that was deleted since.
    #[must_use]
    pub fn fork_deleted(mut self) -> Self {
        self.fork = Fork::Deleted;
        self
    }

    /// In the merge queue, at this place.
    #[must_use]
    pub fn in_merge_queue(mut self, position: u32) -> Self {
        self.queue = Some(position);
        self
    }

    /// The search goes on saying that it is in this state (`OPEN`, `CLOSED`, `MERGED`), whatever it is.
    #[must_use]
    pub fn search_says(mut self, state: &str) -> Self {
        self.search = Some(json!({ "state": state }));
        self
    }

    /// Any other field of the pull request.
    #[must_use]
    pub fn raw(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw.push(Box::new(change));
        self
    }

    /// Any other field of its head commit.
    #[must_use]
    pub fn raw_head(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw_head.push(Box::new(change));
        self
    }
}

impl World {
    /// Adds a pull request, and its repository and accounts where they are not there yet. One of the
    /// same number is replaced.
    pub fn add_pull(&mut self, spec: PullSpec) {
        let now = self.now();
        let name = spec.at.repo.clone();
        let number = spec.at.number;
        let repo = self.ensure_repo(&name);
        let repo_key = World::repo_key(repo);
        let name = self
            .node(&repo_key)
            .and_then(|repo| repo["nameWithOwner"].as_str())
            .unwrap_or(&name)
            .to_owned();
        let repo_url = format!("{SITE}/{name}");
        let url = format!("{repo_url}/pull/{number}");
        let created = spec.created.on(now);
        let viewer = self.viewer().to_owned();
        let author = spec.author.unwrap_or(Who::User(viewer)).node(self);

        let mut commits = Vec::new();
        for (at, commit) in spec.earlier.into_iter().enumerate() {
            let (key, _) = commit.install(self, repo, &format!("{name}#{number} commit {at}"));
            commits.push(key);
        }
        let head = spec.head.unwrap_or(CommitSpec::at(created));
        let committed = head.at.on(now);
        let (head_key, head_oid) = head.install(self, repo, &format!("{name}#{number} head"));
        commits.push(head_key.clone());
        let commits: Vec<Value> = commits.iter().map(|key| pull_commit(self, key)).collect();

        let checked = Checked {
            repo,
            repo_url: &repo_url,
            commit: &head_key,
            committed_at: committed,
        };
        checked.add(self, spec.checks);
        for suite in spec.suites {
            checked.add_suite(self, suite);
        }
        if let Some(node) = self.node_mut(&head_key) {
            match spec.rollup {
                Rollup::FromChecks => {}
                Rollup::None => drop(node.insert("statusCheckRollup".into(), Value::Null)),
                Rollup::Empty => {
                    let rollup = json!({
                        "__typename": "StatusCheckRollup", "id": format!("SCR_{head_oid}"),
                        "state": "EXPECTED", "contexts": [],
                    });
                    node.insert("statusCheckRollup".into(), rollup);
                }
            }
        }

        let on = On {
            url: &url,
            commit: &head_key,
        };
        let comments: Vec<Value> = spec
            .comments
            .into_iter()
            .map(|it| it.node(self, &on, "IssueComment"))
            .collect();
        let reviews: Vec<Value> = spec.reviews.into_iter().map(|it| it.node(self, &on)).collect();
        let threads: Vec<Value> = spec.threads.into_iter().map(|it| it.node(self, &on)).collect();
        let comments = by_time(comments);
        let reviews = by_time(reviews);
        let closes: Vec<Value> = spec
            .closes
            .into_iter()
            .map(|it| reference(&it.install(self, &name)))
            .collect();

        let mut events = Vec::new();
        for at in spec.force_pushes {
            let before = self.put_commit(
                repo,
                &oid_of(&format!("{name}#{number} before {at:?}")),
                at.on(now),
                "Before",
            );
            let mut event = event_node(self, "HeadRefForcePushedEvent", at.on(now), &author);
            event.insert("beforeCommit".into(), reference(&before));
            event.insert("afterCommit".into(), reference(&head_key));
            events.push(Value::Object(event));
        }
        for (at, typename) in spec.events {
            events.push(Value::Object(event_node(self, &typename, at.on(now), &author)));
        }

        let base_branch = match spec.base {
            Some(branch) => branch,
            None => self.default_branch(repo),
        };
        let base_key = self.put_branch(repo, &base_branch);
        let base_oid = self.target_oid(&base_key);
        let branch = spec.branch.unwrap_or_else(|| format!("change-{number}"));
        let head_repo = match spec.fork {
            Fork::Same => reference(&repo_key),
            Fork::Of(owner) => {
                let short = name.split('/').next_back().unwrap_or(&name);
                let fork = format!("{owner}/{short}");
                let fork = match self.repo_number(&fork) {
                    Some(number) => number,
                    None => self.put_repo(super::RepoSpec::new(&fork).of_a_person().raw(|repo| {
                        repo.insert("isFork".into(), json!(true));
                    })),
                };
                reference(&World::repo_key(fork))
            }
            Fork::Deleted => Value::Null,
        };
        let head_ref = format!("ref:{repo}:refs/pull/{number}/head");
        self.put_ref(&head_ref, repo, "refs/heads/", &branch, &head_key);
        let head_ref = if head_repo.is_null() {
            Value::Null
        } else {
            reference(&head_ref)
        };

        let (state, closed_at, merged_at) = match spec.state {
            State::Open => ("OPEN", None, None),
            State::Closed(at) => ("CLOSED", Some(at.on(now)), None),
            State::Merged(at) => ("MERGED", Some(at.on(now)), Some(at.on(now))),
        };
        let said = comments.iter().chain(&reviews).chain(
            threads
                .iter()
                .filter_map(|it| it["comments"].as_array())
                .flatten(),
        );
        let newest = said
            .filter_map(|it| it["createdAt"].as_str())
            .map(str::to_owned)
            .chain([stamp(created)])
            .chain((committed <= now).then(|| stamp(committed)))
            .chain(closed_at.map(stamp))
            .max();
        let updated = spec.updated.map(|at| stamp(at.on(now))).or(newest);
        let failing = self
            .node(&head_key)
            .and_then(|head| head["statusCheckRollup"]["state"].as_str())
            == Some("FAILURE");
        let merge_state = spec.merge_state.unwrap_or_else(|| {
            let word = match (spec.mergeable.as_str(), spec.decision.as_deref()) {
                ("UNKNOWN", _) => "UNKNOWN",
                ("CONFLICTING", _) => "DIRTY",
                _ if spec.draft => "DRAFT",
                (_, Some("REVIEW_REQUIRED" | "CHANGES_REQUESTED")) => "BLOCKED",
                _ if failing => "UNSTABLE",
                _ => "CLEAN",
            };
            word.to_owned()
        });
        let mut requests = Vec::new();
        for who in spec.requests {
            let id = self.next_id();
            let who = who.node(self);
            requests.push(json!({
                "__typename": "ReviewRequest", "id": node_id("ReviewRequest", id), "asCodeOwner": false,
                "databaseId": id, "requestedReviewer": who,
            }));
        }
        let queue = spec.queue.map(|position| {
            let id = self.next_id();
            json!({
                "__typename": "MergeQueueEntry", "id": node_id("MergeQueueEntry", id), "position": position,
                "state": "QUEUED", "enqueuedAt": stamp(now - Duration::minutes(9)), "enqueuer": author,
            })
        });
        let mut labels = Vec::new();
        for label in spec.labels {
            let id = self.next_id();
            labels.push(json!({
                "__typename": "Label", "id": node_id("Label", id), "name": label, "color": "ededed",
                "url": format!("{repo_url}/labels/{id}"),
            }));
        }
        let id = self.next_id();
        let mut node = json!({
            "__typename": "PullRequest", "id": node_id("PullRequest", id), "databaseId": id, "number": number,
            "title": spec.title, "body": spec.body, "url": url, "state": state, "isDraft": spec.draft,
            "locked": spec.locked, "activeLockReason": spec.locked.then_some("RESOLVED"),
            "createdAt": stamp(created), "updatedAt": updated,
            "closedAt": closed_at.map(stamp), "mergedAt": merged_at.map(stamp),
            "author": author, "authorAssociation": spec.association.as_str(),
            "additions": 12, "deletions": 3, "changedFiles": 1, "assignees": [],
            "files": [{"__typename": "PullRequestChangedFile", "path": "src/main.rs", "additions": 12, "deletions": 3}],
        });
        let more = json!({
            "headRefName": branch, "headRefOid": head_oid, "headRef": head_ref, "headRepository": head_repo,
            "baseRefName": base_branch, "baseRefOid": base_oid, "baseRef": reference(&base_key),
            "mergeable": spec.mergeable, "mergeStateStatus": merge_state, "reviewDecision": spec.decision,
            "maintainerCanModify": true, "mergeQueueEntry": queue, "isMergeQueueEnabled": spec.queue.is_some(),
            "repository": reference(&repo_key),
            "commits": commits, "comments": comments, "reviews": reviews, "reviewThreads": threads,
            "reviewRequests": requests, "labels": labels, "closingIssuesReferences": closes,
            "timelineItems": events, "_behindBy": spec.behind, "_aheadBy": 1, "_search": spec.search,
        });
        if let (Some(node), Value::Object(more)) = (node.as_object_mut(), more) {
            node.extend(more);
        }
        apply(spec.raw, &mut node);
        self.put(&format!("pull:{repo}#{number}"), node);
        let mut head = Value::Object(self.node(&head_key).cloned().unwrap_or_default());
        apply(spec.raw_head, &mut head);
        self.put(&head_key, head);
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

    fn target_oid(&self, reference: &str) -> String {
        let target = self
            .node(reference)
            .and_then(|it| it.get("target"))
            .and_then(|it| self.follow(it));
        target
            .and_then(|commit| commit["oid"].as_str())
            .unwrap_or_default()
            .to_owned()
    }
}

/// An event of a timeline.
pub(crate) fn event_node(
    world: &mut World,
    typename: &str,
    at: DateTime<Utc>,
    actor: &Value,
) -> Map<String, Value> {
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
