//! Fields that the graph does not store because they follow from what it stores.

use apollo_compiler::resolvers::{FieldError, ObjectValue, ResolveInfo, ResolvedValue};
use apollo_compiler::response::JsonValue;
use serde_json::Value;

use super::connection::Item;
use super::resolve::{Session, Thing, argument};
use super::{lists, search};
use crate::graph::{Node, World, blob_key, commit_key};

type Resolved<'a> = Result<ResolvedValue<'a>, FieldError>;

/// The whole list behind a connection field, filtered and in order; `None` where the field is none, or
/// where the graph says null.
pub(crate) fn items<'w>(thing: &Thing<'w>, info: &ResolveInfo<'_>) -> Option<Vec<Item<'w>>> {
    let field = info.field_name();
    if !info
        .field_definition()
        .ty
        .inner_named_type()
        .ends_with("Connection")
    {
        return None;
    }
    let world = thing.session.world;
    let mut items = match (thing.ty, field, thing.json.get(field)) {
        (_, _, Some(Value::Null)) => return None,
        ("Query", "search", _) => search::run(world, text(info, "query"), text(info, "type")),
        ("Repository", "pullRequests", _) => {
            let repo = number(thing.json, "databaseId")?;
            world
                .nodes_under(&format!("pull:{repo}#"))
                .filter_map(|(_, value)| Item::node(value))
                .collect()
        }
        ("PullRequest", "timelineItems", _) => {
            lists::timeline(thing, &["commits", "comments", "reviews", "timelineItems"])
        }
        ("Issue", "timelineItems", _) => lists::timeline(thing, &["comments", "timelineItems"]),
        ("PullRequest", "latestReviews" | "latestOpinionatedReviews", None) => {
            lists::latest_reviews(thing, field == "latestOpinionatedReviews")
        }
        (_, _, stored) => lists::stored(world, stored, thing.root),
    };
    lists::filter(world, &mut items, info);
    lists::order(&mut items, info);
    Some(items)
}

/// A field of one object, where there is a way to it.
pub(crate) fn field<'a>(thing: &'a Thing<'_>, info: &'a ResolveInfo<'a>) -> Option<Resolved<'a>> {
    match thing.ty {
        "Query" => query(thing, info),
        "Repository" => repository_field(thing, info),
        "PullRequest" => pull_field(thing, info).or_else(|| any_field(thing, info)),
        "Ref" if info.field_name() == "compare" => Some(Ok(compare(thing, info))),
        "Commit" => match info.field_name() {
            "messageHeadline" => leaf(thing.text("message").lines().next().unwrap_or_default()),
            "commitUrl" => leaf(thing.text("url")),
            _ => any_field(thing, info),
        },
        "User" if info.field_name() == "isViewer" => {
            leaf(thing.text("login") == thing.session.world.viewer())
        }
        "User" | "Organization" if info.field_name() == "repository" => {
            Some(repository(thing, info, thing.text("login")))
        }
        _ => any_field(thing, info),
    }
}

fn query<'a>(thing: &'a Thing<'_>, info: &'a ResolveInfo<'a>) -> Option<Resolved<'a>> {
    let session = thing.session;
    let world = session.world;
    let ty = &info.field_definition().ty;
    let by_id = |id: &str| match world.by_id(id) {
        Some((value, root)) => session.complete(value, root, ty.item_type()),
        None => Err(session.not_found(format!(
            "Could not resolve to a node with the global id of '{id}'"
        ))),
    };
    Some(match info.field_name() {
        "id" => return leaf("Q"),
        "viewer" => node(session, world.viewer_key(), info),
        "repository" => repository(thing, info, text(info, "owner")),
        "rateLimit" => Ok(ResolvedValue::object(RateLimit { session })),
        "node" => by_id(text(info, "id")),
        "nodes" => {
            let ids = argument(info, "ids")
                .and_then(JsonValue::as_array)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let found = ids.iter().map(move |id| by_id(id.as_str().unwrap_or_default()));
            Ok(ResolvedValue::List(Box::new(found)))
        }
        "user" => account(session, info, &["user"], "User"),
        "organization" => account(session, info, &["organization"], "Organization"),
        "repositoryOwner" => account(session, info, &["organization", "user"], "RepositoryOwner"),
        _ => return None,
    })
}

fn account<'a>(
    session: &'a Session<'_>,
    info: &'a ResolveInfo<'a>,
    kinds: &[&str],
    named: &str,
) -> Resolved<'a> {
    let login = text(info, "login");
    let keys = kinds
        .iter()
        .map(|kind| format!("account:{kind}:{}", login.to_ascii_lowercase()));
    match keys.into_iter().find(|key| session.world.node(key).is_some()) {
        Some(key) => node(session, &key, info),
        None => Err(session.not_found(format!(
            "Could not resolve to a {named} with the login of '{login}'."
        ))),
    }
}

fn repository<'a>(thing: &'a Thing<'_>, info: &'a ResolveInfo<'a>, owner: &str) -> Resolved<'a> {
    let session = thing.session;
    let full = format!("{owner}/{}", text(info, "name"));
    let follow = argument(info, "followRenames")
        .and_then(JsonValue::as_bool)
        .unwrap_or(true);
    let key = session.world.repo_number(&full).map(World::repo_key);
    let answers_to = |repo: &Node| {
        follow
            || repo
                .get("nameWithOwner")
                .and_then(Value::as_str)
                .is_some_and(|now| now.eq_ignore_ascii_case(&full))
    };
    match key.filter(|key| session.world.node(key).is_some_and(answers_to)) {
        Some(key) => node(session, &key, info),
        None => Err(session.not_found(format!(
            "Could not resolve to a Repository with the name '{full}'."
        ))),
    }
}

fn repository_field<'a>(thing: &'a Thing<'_>, info: &'a ResolveInfo<'a>) -> Option<Resolved<'a>> {
    let session = thing.session;
    let repo = number(thing.json, "databaseId")?;
    let find = |kinds: &[&str], named: &str| {
        let number = argument(info, "number")
            .and_then(JsonValue::as_i64)
            .unwrap_or_default();
        let mut keys = kinds.iter().map(|kind| format!("{kind}:{repo}#{number}"));
        match keys.find(|key| session.world.node(key).is_some()) {
            Some(key) => node(session, &key, info),
            None => Err(session.not_found(format!(
                "Could not resolve to {named} with the number of {number}."
            ))),
        }
    };
    Some(match info.field_name() {
        "pullRequest" => find(&["pull"], "a PullRequest"),
        "issue" => find(&["issue"], "an Issue"),
        "issueOrPullRequest" => find(&["issue", "pull"], "an issue or pull request"),
        "ref" => node(session, &ref_key(repo, text(info, "qualifiedName")), info),
        "object" => git_object(thing, info, repo),
        _ => return any_field(thing, info),
    })
}

/// A commit by its id or by a name of it, or what `revision:path` names. Every revision has the same files.
fn git_object<'a>(thing: &'a Thing<'_>, info: &'a ResolveInfo<'a>, repo: u64) -> Resolved<'a> {
    let session = thing.session;
    let world = session.world;
    let named = match text(info, "oid") {
        "" => text(info, "expression"),
        oid => oid,
    };
    let (revision, path) = match named.split_once(':') {
        Some((revision, path)) => (revision, Some(path)),
        None => (named, None),
    };
    let target = match revision {
        "HEAD" => thing
            .get("defaultBranchRef")
            .and_then(|branch| branch.get("target")),
        _ => world
            .node(&ref_key(repo, revision))
            .and_then(|found| found.get("target")),
    };
    let commit = world.value(&commit_key(repo, revision)).or(target);
    match (commit, path) {
        (Some(_), Some(path)) => node(session, &blob_key(repo, path), info),
        (Some(commit), None) => session.complete(commit, thing.root, &info.field_definition().ty),
        (None, _) => Ok(ResolvedValue::null()),
    }
}

fn pull_field<'a>(thing: &'a Thing<'_>, info: &'a ResolveInfo<'a>) -> Option<Resolved<'a>> {
    let session = thing.session;
    let ty = &info.field_definition().ty;
    match info.field_name() {
        "statusCheckRollup" => {
            let repo = thing
                .get("repository")?
                .as_object()
                .and_then(|repo| number(repo, "databaseId"))?;
            let head = session.world.node(&commit_key(repo, thing.text("headRefOid")))?;
            Some(session.complete(head.get("statusCheckRollup")?, head, ty))
        }
        "merged" => leaf(thing.text("state") == "MERGED"),
        "isInMergeQueue" => leaf(
            thing
                .json
                .get("mergeQueueEntry")
                .is_some_and(|entry| !entry.is_null()),
        ),
        "isCrossRepository" => {
            let id = |field| thing.get(field).and_then(|repo| repo.get("id"));
            leaf(id("headRepository") != id("repository"))
        }
        "headRepositoryOwner" => {
            let head = thing.get("headRepository")?;
            Some(session.complete(head.get("owner")?, thing.root, ty))
        }
        "baseRepository" => Some(session.complete(thing.json.get("repository")?, thing.root, ty)),
        "permalink" => leaf(thing.text("url")),
        "checksUrl" => leaf(format!("{}/checks", thing.text("url"))),
        "totalCommentsCount" => {
            let count = |value: Option<&Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
            let threads = thing.json.get("reviewThreads").and_then(Value::as_array);
            let replies: usize = threads
                .into_iter()
                .flatten()
                .map(|thread| count(thread.get("comments")))
                .sum();
            leaf(count(thing.json.get("comments")) + replies)
        }
        _ => None,
    }
}

fn any_field<'a>(thing: &'a Thing<'_>, info: &'a ResolveInfo<'a>) -> Option<Resolved<'a>> {
    let session = thing.session;
    let ty = &info.field_definition().ty;
    let wanted = ty.inner_named_type().as_str();
    match info.field_name() {
        "closed" => leaf(thing.text("state") != "OPEN"),
        "abbreviatedOid" => leaf(thing.text("oid").get(..7).unwrap_or_default()),
        "bodyText" => leaf(thing.text("body")),
        "permalink" => leaf(thing.text("url")),
        "publishedAt" | "draftedAt" | "referencedAt" => {
            Some(session.complete(thing.json.get("createdAt")?, thing.root, ty))
        }
        "fullDatabaseId" => leaf(number(thing.json, "databaseId")?.to_string()),
        "viewerDidAuthor" => {
            let login = thing
                .get("author")
                .and_then(|author| author.get("login"))
                .and_then(Value::as_str);
            leaf(login.is_some_and(|login| login.eq_ignore_ascii_case(session.world.viewer())))
        }
        "pullRequest" | "issue" | "commit" | "closable" | "target" if is_root_of(thing, wanted, session) => {
            let name = thing
                .root
                .get("__typename")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let (name, _) = session.schema.types.get_key_value(name)?;
            Some(Ok(ResolvedValue::object(Thing {
                session,
                json: thing.root,
                root: thing.root,
                ty: name,
            })))
        }
        "repository" => Some(session.complete(thing.root.get("repository")?, thing.root, ty)),
        _ => None,
    }
}

/// Whether the node that an object lies in is what a field that points back is declared to hold.
fn is_root_of(thing: &Thing<'_>, wanted: &str, session: &Session<'_>) -> bool {
    let root = thing
        .root
        .get("__typename")
        .and_then(Value::as_str)
        .unwrap_or_default();
    !std::ptr::eq(thing.root, thing.json) && (root == wanted || session.schema.is_subtype(wanted, root))
}

/// How far a head and a base have parted: the numbers are kept with the pull request.
fn compare<'a>(base: &'a Thing<'_>, info: &'a ResolveInfo<'a>) -> ResolvedValue<'a> {
    let world = base.session.world;
    let found = pull_of_head(world, base, text(info, "headRef"));
    let behind = found.and_then(|pull| number(pull, "_behindBy"));
    match (found, behind) {
        (Some(pull), Some(behind)) => {
            let ahead = number(pull, "_aheadBy").unwrap_or(1);
            ResolvedValue::object(Comparison {
                base: *base,
                pull,
                ahead,
                behind,
            })
        }
        _ => ResolvedValue::null(),
    }
}

fn pull_of_head<'w>(world: &'w World, base: &Thing<'w>, head: &str) -> Option<&'w Node> {
    let repo = base
        .get("repository")?
        .as_object()
        .and_then(|repo| number(repo, "databaseId"))?;
    let short = head.strip_prefix("refs/").unwrap_or(head);
    if let Some(number) = short
        .strip_prefix("pull/")
        .and_then(|rest| rest.strip_suffix("/head"))
    {
        return world.node(&format!("pull:{repo}#{number}"));
    }
    let branch = short.strip_prefix("heads/").unwrap_or(short);
    let branch = branch.rsplit_once(':').map_or(branch, |(_, branch)| branch);
    let mut pulls = world.nodes_under_repo(repo);
    pulls.find(|pull| pull.get("headRefName").and_then(Value::as_str) == Some(branch))
}

struct Comparison<'w> {
    base: Thing<'w>,
    pull: &'w Node,
    ahead: u64,
    behind: u64,
}

impl ObjectValue for Comparison<'_> {
    fn type_name(&self) -> &'static str {
        "Comparison"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let session = self.base.session;
        let ty = &info.field_definition().ty;
        Ok(match info.field_name() {
            "aheadBy" => ResolvedValue::leaf(self.ahead),
            "behindBy" => ResolvedValue::leaf(self.behind),
            "id" => ResolvedValue::leaf(format!("CMP_{}", self.base.text("id"))),
            "status" => ResolvedValue::leaf(match (self.ahead, self.behind) {
                (0, 0) => "IDENTICAL",
                (_, 0) => "AHEAD",
                (0, _) => "BEHIND",
                _ => "DIVERGED",
            }),
            "baseTarget" => match self.base.json.get("target") {
                Some(target) => session.complete(target, self.base.root, ty)?,
                None => ResolvedValue::null(),
            },
            "headTarget" => {
                let oid = self
                    .pull
                    .get("headRefOid")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let repo = self.base.get("repository").and_then(Value::as_object);
                let repo = repo
                    .and_then(|repo| number(repo, "databaseId"))
                    .unwrap_or_default();
                node(session, &commit_key(repo, oid), info)?
            }
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}

struct RateLimit<'w> {
    session: &'w Session<'w>,
}

impl ObjectValue for RateLimit<'_> {
    fn type_name(&self) -> &'static str {
        "RateLimit"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let budget = &self.session.budget;
        Ok(match info.field_name() {
            "cost" => ResolvedValue::leaf(self.session.cost),
            "limit" => ResolvedValue::leaf(budget.limit),
            "nodeCount" => ResolvedValue::leaf(self.session.node_count),
            "remaining" => ResolvedValue::leaf(budget.limit.saturating_sub(budget.used)),
            "used" => ResolvedValue::leaf(budget.used),
            "resetAt" => ResolvedValue::leaf(crate::graph::stamp(budget.reset_at)),
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}

fn node<'a>(session: &'a Session<'_>, key: &str, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
    match session
        .world
        .value(key)
        .and_then(|value| Some((value, value.as_object()?)))
    {
        Some((value, root)) => session.complete(value, root, &info.field_definition().ty),
        None => Ok(ResolvedValue::null()),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the callers' arms are optional results")]
fn leaf<'a>(value: impl Into<JsonValue>) -> Option<Resolved<'a>> {
    Some(Ok(ResolvedValue::leaf(value)))
}

fn text<'a>(info: &ResolveInfo<'a>, name: &str) -> &'a str {
    argument(info, name)
        .and_then(JsonValue::as_str)
        .unwrap_or_default()
}

fn number(node: &Node, field: &str) -> Option<u64> {
    node.get(field).and_then(Value::as_u64)
}

/// The key of a ref under any of the ways to write its name.
fn ref_key(repo: u64, name: &str) -> String {
    if name.starts_with("refs/") {
        format!("ref:{repo}:{name}")
    } else if name.starts_with("heads/") || name.starts_with("pull/") {
        format!("ref:{repo}:refs/{name}")
    } else {
        format!("ref:{repo}:refs/heads/{name}")
    }
}
