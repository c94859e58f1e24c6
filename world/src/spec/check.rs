//! Check runs, commit statuses and check suites.

use chrono::{DateTime, Duration, Utc};
use serde_json::{Map, Value, json};

use super::talk::Who;
use super::when::{IntoWhen, When};
use super::{Raw, apply};
use crate::graph::{SITE, World, node_id, reference, stamp};

/// One entry of a commit's rollup: by default a check run of the workflow `CI` on a pull request, that
/// succeeded within four minutes, beginning a minute after the commit.
pub struct CheckSpec {
    kind: Kind,
    raw: Vec<Raw>,
}

enum Kind {
    Run(Run),
    Status {
        context: String,
        state: String,
        at: Option<When>,
        by: Who,
    },
    Unknown {
        typename: String,
    },
}

struct Run {
    name: String,
    id: Option<u64>,
    app: String,
    workflow: Option<String>,
    event: String,
    suite: u32,
    status: String,
    conclusion: Option<String>,
    started: Option<When>,
    completed: Option<When>,
    never_started: bool,
}

impl CheckSpec {
    /// A check run of this name.
    pub fn run(name: &str) -> Self {
        Self {
            kind: Kind::Run(Run {
                name: name.to_owned(),
                id: None,
                app: "github-actions".to_owned(),
                workflow: Some("CI".to_owned()),
                event: "pull_request".to_owned(),
                suite: 0,
                status: "COMPLETED".to_owned(),
                conclusion: Some("SUCCESS".to_owned()),
                started: None,
                completed: None,
                never_started: false,
            }),
            raw: Vec::new(),
        }
    }

    /// A commit status of this context, successful.
    pub fn status(context: &str) -> Self {
        let kind = Kind::Status {
            context: context.to_owned(),
            state: "SUCCESS".to_owned(),
            at: None,
            by: Who::bot("status-bot"),
        };
        Self {
            kind,
            raw: Vec::new(),
        }
    }

    /// An entry of a type that GitHub may add one day.
    pub fn unknown(typename: &str) -> Self {
        Self {
            kind: Kind::Unknown {
                typename: typename.to_owned(),
            },
            raw: Vec::new(),
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Run)) -> Self {
        if let Kind::Run(run) = &mut self.kind {
            change(run);
        }
        self
    }

    /// Ended with one of GitHub's words, known today or not. A commit status says it as its state.
    #[must_use]
    pub fn conclusion(mut self, word: &str) -> Self {
        match &mut self.kind {
            Kind::Run(run) => run.conclusion = Some(word.to_owned()),
            Kind::Status { state, .. } => word.clone_into(state),
            Kind::Unknown { .. } => {}
        }
        self
    }

    /// Succeeded.
    #[must_use]
    pub fn success(self) -> Self {
        self.conclusion("SUCCESS")
    }

    /// Failed.
    #[must_use]
    pub fn failure(self) -> Self {
        self.conclusion("FAILURE")
    }

    /// A commit status that waits; a run that has begun and not ended.
    #[must_use]
    pub fn pending(self) -> Self {
        match &self.kind {
            Kind::Status { .. } => self.conclusion("PENDING"),
            _ => self.in_progress(),
        }
    }

    /// Where a run is, in one of GitHub's words, whatever its conclusion says.
    #[must_use]
    pub fn state(self, status: &str) -> Self {
        self.change(|run| status.clone_into(&mut run.status))
    }

    /// Begun and not ended.
    #[must_use]
    pub fn in_progress(self) -> Self {
        self.change(|run| {
            "IN_PROGRESS".clone_into(&mut run.status);
            run.conclusion = None;
        })
    }

    /// Not begun.
    #[must_use]
    pub fn queued(self) -> Self {
        self.change(|run| {
            "QUEUED".clone_into(&mut run.status);
            run.conclusion = None;
            run.never_started = true;
        })
    }

    /// GitHub's number for the run. It may be larger than an `Int`, as GitHub's own are.
    #[must_use]
    pub fn id(self, id: u64) -> Self {
        self.change(|run| run.id = Some(id))
    }

    /// The app that made it. Any but `github-actions` runs no workflow.
    #[must_use]
    pub fn app(self, slug: &str) -> Self {
        self.change(|run| {
            slug.clone_into(&mut run.app);
            if slug != "github-actions" {
                run.workflow = None;
            }
        })
    }

    /// The workflow that it belongs to.
    #[must_use]
    pub fn workflow(self, name: &str) -> Self {
        self.change(|run| run.workflow = Some(name.to_owned()))
    }

    /// The event that started the workflow.
    #[must_use]
    pub fn event(self, event: &str) -> Self {
        self.change(|run| event.clone_into(&mut run.event))
    }

    /// One of several suites of one workflow and event: a workflow that ran again.
    #[must_use]
    pub fn suite(self, number: u32) -> Self {
        self.change(|run| run.suite = number)
    }

    /// When the run began; for a commit status, when it was made.
    #[must_use]
    pub fn started(mut self, at: impl IntoWhen) -> Self {
        let when = Some(at.into_when());
        match &mut self.kind {
            Kind::Run(run) => run.started = when,
            Kind::Status { at, .. } => *at = when,
            Kind::Unknown { .. } => {}
        }
        self
    }

    /// When the run ended.
    #[must_use]
    pub fn completed(self, at: impl IntoWhen) -> Self {
        let when = at.into_when();
        self.change(|run| run.completed = Some(when))
    }

    /// Who made a commit status.
    #[must_use]
    pub fn by(mut self, who: impl Into<Who>) -> Self {
        if let Kind::Status { by, .. } = &mut self.kind {
            *by = who.into();
        }
        self
    }

    /// Any other field.
    #[must_use]
    pub fn raw(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw.push(Box::new(change));
        self
    }
}

/// A check suite without a run.
pub struct SuiteSpec {
    app: String,
    workflow: Option<String>,
    status: String,
    conclusion: Option<String>,
    raw: Vec<Raw>,
}

impl SuiteSpec {
    /// A suite of an app that never ran anything: queued for ever.
    pub fn never_ran(app: &str) -> Self {
        Self {
            app: app.to_owned(),
            workflow: None,
            status: "QUEUED".to_owned(),
            conclusion: None,
            raw: Vec::new(),
        }
    }

    /// A workflow that waits for a maintainer to approve it.
    pub fn action_required(workflow: &str) -> Self {
        Self {
            app: "github-actions".to_owned(),
            workflow: Some(workflow.to_owned()),
            status: "COMPLETED".to_owned(),
            conclusion: Some("ACTION_REQUIRED".to_owned()),
            raw: Vec::new(),
        }
    }

    /// Any other field.
    #[must_use]
    pub fn raw(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw.push(Box::new(change));
        self
    }
}

/// The commit that checks hang on.
pub(crate) struct Checked<'a> {
    pub repo: u64,
    pub repo_url: &'a str,
    pub commit: &'a str,
    pub committed_at: DateTime<Utc>,
}

impl Checked<'_> {
    /// Adds checks to a commit: its rollup's contexts and its suites.
    pub fn add(&self, world: &mut World, checks: Vec<CheckSpec>) {
        for check in checks {
            let entry = match check.kind {
                Kind::Run(run) => self.run(world, run, check.raw),
                Kind::Status {
                    context,
                    state,
                    at,
                    by,
                } => {
                    let id = world.next_id();
                    let at = at.map_or(self.committed_at + Duration::minutes(1), |at| at.on(world.now()));
                    let avatar = by.avatar(world);
                    let mut node = json!({
                        "__typename": "StatusContext", "id": node_id("StatusContext", id),
                        "context": context, "state": state, "createdAt": stamp(at),
                        "creator": by.node(world), "avatarUrl": avatar, "targetUrl": format!("{SITE}/status/{id}"),
                    });
                    apply(check.raw, &mut node);
                    node
                }
                Kind::Unknown { typename } => {
                    let mut node = json!({ "__typename": typename });
                    apply(check.raw, &mut node);
                    node
                }
            };
            self.put_in_rollup(world, entry);
        }
        say_rollup_state(world, self.commit);
    }

    /// Adds a suite that has no run.
    pub fn add_suite(&self, world: &mut World, suite: SuiteSpec) {
        let key = self.suite(world, &suite.app, suite.workflow.as_deref(), "pull_request");
        if let Some(node) = world.node_mut(&key) {
            node.insert("status".into(), json!(suite.status));
            node.insert("conclusion".into(), json!(suite.conclusion));
        }
        let mut node = Value::Object(world.node(&key).cloned().unwrap_or_default());
        apply(suite.raw, &mut node);
        world.put(&key, node);
    }

    fn put_in_rollup(&self, world: &mut World, entry: Value) {
        let id = world.next_id();
        let Some(commit) = world.node_mut(self.commit) else {
            return;
        };
        let rollup = commit.entry("statusCheckRollup").or_insert(Value::Null);
        if rollup.is_null() {
            *rollup = json!({
                "__typename": "StatusCheckRollup", "id": node_id("StatusCheckRollup", id),
                "state": "SUCCESS", "contexts": [],
            });
        }
        if let Some(contexts) = rollup.get_mut("contexts").and_then(Value::as_array_mut) {
            contexts.push(entry);
        }
    }

    fn run(&self, world: &mut World, run: Run, raw: Vec<Raw>) -> Value {
        let now = world.now();
        let workflow = run.workflow.as_ref().map(|name| (name.as_str(), run.suite));
        let named = workflow.map(|(name, suite)| {
            if suite == 0 {
                name.to_owned()
            } else {
                format!("{name}\0{suite}")
            }
        });
        let suite = self.suite(world, &run.app, named.as_deref(), &run.event);
        let id = run.id.unwrap_or_else(|| world.next_id());
        let started = run
            .started
            .map_or(self.committed_at + Duration::minutes(1), |at| at.on(now));
        let started = (!run.never_started || run.started.is_some()).then_some(started);
        let completed = run.completed.map(|at| at.on(now));
        let completed = completed.or_else(|| {
            run.conclusion
                .as_ref()
                .and(started)
                .map(|at| at + Duration::minutes(4))
        });
        let key = format!("run:{id}");
        let url = format!("{}/actions/runs/{id}/job/{id}", self.repo_url);
        let mut node = json!({
            "__typename": "CheckRun", "id": node_id("CheckRun", id), "databaseId": id, "name": run.name,
            "status": run.status, "conclusion": run.conclusion,
            "startedAt": started.map(stamp), "completedAt": completed.map(stamp),
            "url": url, "detailsUrl": url, "checkSuite": reference(&suite),
            "repository": reference(&World::repo_key(self.repo)),
        });
        apply(raw, &mut node);
        world.put(&key, node);
        let conclusion = run.conclusion;
        if let Some(node) = world.node_mut(&suite) {
            if let Some(runs) = node.get_mut("checkRuns").and_then(Value::as_array_mut) {
                runs.push(reference(&key));
            }
            let open = node.get("status").and_then(Value::as_str) == Some("IN_PROGRESS");
            if conclusion.is_none() || open {
                node.insert("status".into(), json!("IN_PROGRESS"));
                node.insert("conclusion".into(), Value::Null);
            } else {
                node.insert("status".into(), json!("COMPLETED"));
                let worse = node
                    .get("conclusion")
                    .and_then(Value::as_str)
                    .is_some_and(|word| word != "SUCCESS");
                if !worse {
                    node.insert("conclusion".into(), json!(conclusion));
                }
            }
        }
        reference(&key)
    }

    /// The key of the suite of this app, workflow and event on the commit, which is made if need be.
    fn suite(&self, world: &mut World, app: &str, workflow: Option<&str>, event: &str) -> String {
        let key = format!(
            "suite:{}:{app}:{}:{event}",
            self.commit,
            workflow.unwrap_or_default()
        );
        if world.node(&key).is_some() {
            return key;
        }
        let id = world.next_id();
        let app = world.app(app);
        let at = stamp(self.committed_at + Duration::minutes(1));
        let url = format!("{}/actions/runs/{id}", self.repo_url);
        let name = workflow.map(|name| name.split('\0').next().unwrap_or(name));
        let run = name.map(|name| {
            json!({
                "__typename": "WorkflowRun", "id": node_id("WorkflowRun", id), "databaseId": id,
                "event": event, "runNumber": 1, "createdAt": at, "updatedAt": at, "url": url,
                "checkSuite": reference(&key),
                "workflow": {
                    "__typename": "Workflow", "id": format!("W_{name}"), "name": name, "state": "ACTIVE",
                    "createdAt": at, "updatedAt": at, "url": url,
                },
            })
        });
        let node = json!({
            "__typename": "CheckSuite", "id": node_id("CheckSuite", id), "databaseId": id,
            "app": reference(&app), "workflowRun": run, "status": "COMPLETED", "conclusion": null,
            "createdAt": at, "updatedAt": at, "url": url, "checkRuns": [],
            "commit": reference(self.commit), "repository": reference(&World::repo_key(self.repo)),
        });
        world.put(&key, node);
        if let Some(commit) = world.node_mut(self.commit)
            && let Some(suites) = commit.get_mut("checkSuites").and_then(Value::as_array_mut)
        {
            suites.push(reference(&key));
        }
        key
    }
}

/// GitHub's own verdict: the worst word of all entries, old runs among them.
pub(crate) fn say_rollup_state(world: &mut World, commit: &str) {
    let contexts = world
        .node(commit)
        .and_then(|commit| commit.get("statusCheckRollup"));
    let contexts = contexts
        .and_then(|rollup| rollup.get("contexts"))
        .and_then(Value::as_array);
    let words: Vec<&str> = contexts
        .into_iter()
        .flatten()
        .filter_map(|entry| world.follow(entry))
        .map(|entry| {
            let word = |field: &str| entry.get(field).and_then(Value::as_str);
            word("conclusion").or_else(|| word("state")).unwrap_or("PENDING")
        })
        .collect();
    let fails = |word: &&str| {
        matches!(
            *word,
            "FAILURE" | "ERROR" | "TIMED_OUT" | "CANCELLED" | "STARTUP_FAILURE" | "ACTION_REQUIRED"
        )
    };
    let state = if words.iter().any(fails) {
        "FAILURE"
    } else if words
        .iter()
        .any(|word| matches!(*word, "PENDING" | "EXPECTED" | "STALE"))
    {
        "PENDING"
    } else {
        "SUCCESS"
    };
    let rollup = world
        .node_mut(commit)
        .and_then(|commit| commit.get_mut("statusCheckRollup"));
    if let Some(rollup) = rollup.and_then(Value::as_object_mut) {
        rollup.insert("state".into(), json!(state));
    }
}
