//! What GitHub or `gh` wrote, as a pull request of a world.

use serde_json::Value;
use world::{
    Association, CheckSpec, ClosesSpec, CommentSpec, CommitSpec, PullSpec, ReviewSpec, ThreadSpec, Who,
};

/// Apps whose comments and reviews are in the payloads: `gh` and older queries leave out the kind of an
/// account, which GraphQL gives.
const APPS: [&str; 4] = [
    "vercel",
    "copilot-pull-request-reviewer",
    "github-actions",
    "mathlib-bors",
];

/// What a payload does not say of its pull request.
#[derive(Clone, Copy)]
pub struct About<'a> {
    /// Its repository.
    pub repo: &'a str,
    /// Its number.
    pub number: u32,
    /// Who opened it, where the payload leaves that out.
    pub author: &'a str,
    /// When it was opened and its head was made, where the payload leaves that out.
    pub opened: &'a str,
    /// The workflow that made a check run.
    pub workflow: fn(&Value) -> Option<String>,
}

impl About<'_> {
    /// A pull request as `gh` writes it, or as a GraphQL query gives it.
    pub fn pull(&self, from: &Value) -> PullSpec {
        let mut pull = PullSpec::new(self.repo, self.number)
            .author(from.get("author").map_or_else(|| Who::user(self.author), who))
            .created(text(from, "createdAt").unwrap_or(self.opened))
            .mergeable(mergeable(from));
        for (field, set) in [
            ("title", PullSpec::title as fn(PullSpec, &str) -> PullSpec),
            ("body", PullSpec::body),
            ("headRefName", PullSpec::branch),
            ("baseRefName", PullSpec::base),
            ("mergeStateStatus", PullSpec::merge_state),
            ("reviewDecision", PullSpec::decision),
        ] {
            if let Some(word) = text(from, field) {
                pull = set(pull, word);
            }
        }
        if let Some(at) = text(from, "updatedAt") {
            pull = pull.updated(at);
        }
        if from["isDraft"] == true {
            pull = pull.draft();
        }
        let pull = ended(pull, from);
        let pull = self.head(pull, from);
        let pull = self.checks(pull, from);
        let pull = self.words(pull, from);
        events(fork(pull, self.repo, from), from)
    }

    fn head(&self, mut pull: PullSpec, from: &Value) -> PullSpec {
        let commits: Vec<CommitSpec> = list(from, "commits")
            .map(commit_of)
            .filter(|commit| commit.get("oid").is_some())
            .map(|commit| {
                CommitSpec::at(text(commit, "committedDate").unwrap_or(self.opened))
                    .oid(text(commit, "oid").unwrap())
            })
            .collect();
        let Some((head, earlier)) = commits.split_last() else {
            let head = CommitSpec::at(self.opened);
            return pull.head(match text(from, "headRefOid") {
                Some(oid) => head.oid(oid),
                None => head,
            });
        };
        for commit in earlier {
            pull = pull.earlier(commit.clone());
        }
        pull.head(head.clone())
    }

    fn checks(&self, pull: PullSpec, from: &Value) -> PullSpec {
        let entries: Vec<&Value> = match &from["statusCheckRollup"] {
            Value::Array(entries) => entries.iter().collect(),
            _ => match list(from, "commits")
                .last()
                .map(|last| &commit_of(last)["statusCheckRollup"])
            {
                Some(rollup @ Value::Object(_)) => list(rollup, "contexts").collect(),
                _ => return pull,
            },
        };
        if entries.is_empty() {
            return pull.empty_rollup();
        }
        pull.checks(entries.into_iter().map(|entry| self.check(entry)))
    }

    /// One entry of a rollup.
    pub fn check(&self, entry: &Value) -> CheckSpec {
        let started = text(entry, "startedAt");
        if let Some(context) = text(entry, "context") {
            let status = CheckSpec::status(context)
                .conclusion(text(entry, "state").unwrap())
                .by(Who::bot("vercel"));
            return match started {
                Some(at) => status.started(at),
                None => status,
            };
        }
        let mut run = CheckSpec::run(text(entry, "name").unwrap());
        run = match (self.workflow)(entry) {
            Some(workflow) => run.workflow(&workflow),
            None => run.app("an-app-without-workflows"),
        };
        if let Some(at) = started {
            run = run.started(at);
        }
        run = match text(entry, "conclusion") {
            Some(word) => run.conclusion(word),
            None => run.in_progress().state(text(entry, "status").unwrap()),
        };
        if let Some(url) = text(entry, "detailsUrl") {
            if let Some(id) = after(url, "/job/").and_then(|id| id.parse().ok()) {
                run = run.id(id);
            }
            let url = url.to_owned();
            run = run.raw(move |node| drop(node.insert("url".into(), url.into())));
        }
        run
    }

    fn words(&self, mut pull: PullSpec, from: &Value) -> PullSpec {
        pull = pull.comments(list(from, "comments").filter_map(|comment| self.comment(comment)));
        // Where a payload has the latest reviews alone, they are all that is known.
        let reviews = if from.get("reviews").is_some() {
            "reviews"
        } else {
            "latestReviews"
        };
        for review in list(from, reviews) {
            pull = pull.review(self.review(review));
        }
        for thread in list(from, "reviewThreads") {
            let comments = list(thread, "comments").filter_map(|comment| self.comment(comment));
            pull = pull.thread(thread_of(thread, comments.collect()));
        }
        for issue in list(from, "closingIssuesReferences") {
            let number = issue["number"].as_u64().and_then(|number| number.try_into().ok());
            pull = pull.closes(ClosesSpec::issue(number.unwrap()));
        }
        pull
    }

    fn comment(&self, from: &Value) -> Option<CommentSpec> {
        let body = from.get("body")?.as_str()?;
        let mut comment =
            CommentSpec::new(who(&from["author"]), association(from), body)
                .at(text(from, "createdAt").unwrap_or(self.opened));
        if from["isMinimized"] == true {
            comment = comment.minimized(text(from, "minimizedReason").unwrap_or("outdated"));
        }
        let url = text(from, "url").map(str::to_owned);
        Some(comment.raw(move |node| {
            if let Some(url) = url {
                node.insert("url".into(), url.into());
            }
        }))
    }

    fn review(&self, from: &Value) -> ReviewSpec {
        let review = ReviewSpec::new(
            who(&from["author"]),
            association(from),
            text(from, "state").unwrap(),
            text(from, "body").unwrap_or_default(),
        );
        let url = text(from, "url").map(str::to_owned);
        review
            .at(text(from, "submittedAt").unwrap_or(self.opened))
            .raw(move |node| {
                if let Some(url) = url {
                    node.insert("url".into(), url.into());
                }
            })
    }
}

/// The workflow's name, as `gh` gives it: an empty one where no workflow made the run.
pub fn named_workflow(run: &Value) -> Option<String> {
    text(run, "workflowName").map(str::to_owned)
}

/// Where the name is not there, a workflow run stands for its workflow.
pub fn workflow_by_run(run: &Value) -> Option<String> {
    after(text(run, "detailsUrl")?, "/runs/").map(str::to_owned)
}

/// Where the name is not there and one workflow ran several times, the job stands for its workflow.
pub fn workflow_by_job(run: &Value) -> Option<String> {
    text(run, "name").map(str::to_owned)
}

/// What stands after a mark, up to the next slash.
fn after<'v>(url: &'v str, mark: &str) -> Option<&'v str> {
    let (_, rest) = url.split_once(mark)?;
    rest.split('/').next()
}

/// A text that is there and not empty.
pub fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field)?.as_str().filter(|text| !text.is_empty())
}

/// The entries of a list: `gh` gives an array, GraphQL a connection.
pub fn list<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    let entries = match &value[field] {
        Value::Array(entries) => Some(entries),
        connection => connection["nodes"].as_array(),
    };
    entries.into_iter().flatten()
}

/// GraphQL's list of commits has one object more around each.
fn commit_of(entry: &Value) -> &Value {
    entry.get("commit").unwrap_or(entry)
}

/// An account, in REST's, GraphQL's or `gh`'s dress. REST says `ghost` for nobody.
pub fn who(account: &Value) -> Who {
    let Some(login) = text(account, "login").filter(|login| *login != "ghost") else {
        return Who::Deleted;
    };
    let plain = login.strip_suffix("[bot]").unwrap_or(login);
    let is_app = account["type"] == "Bot" || account["is_bot"] == true || APPS.contains(&plain);
    if is_app { Who::bot(plain) } else { Who::user(login) }
}

/// How a writer stands to the repository, in REST's or GraphQL's dress. What the payload leaves out is
/// taken for a member, whose words count the most.
pub fn association(said: &Value) -> Association {
    match text(said, "authorAssociation").or(text(said, "author_association")) {
        Some("CONTRIBUTOR") => Association::Contributor,
        Some("NONE") => Association::None,
        Some("OWNER") => Association::Owner,
        Some("MEMBER") | None => Association::Member,
        Some(other) => panic!("no payload said {other} yet"),
    }
}

/// Whether it can be merged; where only the merge button's word is there, what that word implies.
fn mergeable(from: &Value) -> &str {
    text(from, "mergeable").unwrap_or(match text(from, "mergeStateStatus") {
        Some("DIRTY") => "CONFLICTING",
        Some("UNKNOWN") => "UNKNOWN",
        _ => "MERGEABLE",
    })
}

fn ended(pull: PullSpec, from: &Value) -> PullSpec {
    let at = || {
        text(from, "mergedAt")
            .or(text(from, "closedAt"))
            .or(text(from, "updatedAt"))
    };
    let fallback = "2024-01-01T00:00:00Z";
    match (text(from, "state"), from["closed"] == true) {
        (Some("MERGED"), _) => pull.merged(at().unwrap_or(fallback)),
        (Some("CLOSED"), _) | (None, true) => pull.closed(at().unwrap_or(fallback)),
        _ => pull,
    }
}

fn fork(pull: PullSpec, repo: &str, from: &Value) -> PullSpec {
    if from.get("headRepository").is_some_and(Value::is_null) {
        return pull.fork_deleted();
    }
    match text(&from["headRepositoryOwner"], "login") {
        Some(owner) if !repo.starts_with(&format!("{owner}/")) => pull.from_fork_of(owner),
        _ => pull,
    }
}

fn events(mut pull: PullSpec, from: &Value) -> PullSpec {
    for event in list(from, "timelineItems") {
        pull = match (text(event, "__typename"), text(event, "createdAt")) {
            (Some("HeadRefForcePushedEvent"), Some(at)) => pull.force_pushed(at),
            (Some(typename), Some(at)) if typename.ends_with("Event") => pull.event(typename, at),
            _ => pull,
        };
    }
    pull
}

/// A review thread of these comments.
fn thread_of(from: &Value, comments: Vec<CommentSpec>) -> ThreadSpec {
    let first = list(from, "comments").next();
    let path = first
        .and_then(|comment| text(comment, "path"))
        .unwrap_or("src/lib.rs");
    let mut comments = comments.into_iter();
    let mut thread = ThreadSpec::new(path, comments.next().unwrap());
    for reply in comments {
        thread = thread.reply(reply);
    }
    if let Some(line) = first.and_then(|comment| comment["line"].as_u64()) {
        thread = thread.line(line.try_into().unwrap());
    }
    if let Some(hunk) = first.and_then(|comment| text(comment, "diffHunk")) {
        thread = thread.hunk(hunk);
    }
    if from["isOutdated"] == true {
        thread = thread.outdated();
    }
    if from["isResolved"] == true {
        thread = thread.resolved("somebody");
    }
    thread
}
