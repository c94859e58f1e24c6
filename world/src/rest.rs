//! The few REST paths that a reader of pull requests asks for.

mod branches;

use axum::http::Method;
use serde_json::{Value, json};

use crate::faults::Canned;
use crate::graph::{At, World};
use crate::graphql::Budget;

/// One request that is admitted.
pub(crate) struct Admitted<'a> {
    pub method: &'a Method,
    pub path: &'a str,
    /// What follows the question mark.
    pub query: &'a str,
}

/// The answer to it.
pub(crate) fn answer(world: &World, base: &str, request: &Admitted<'_>, budget: Budget) -> Canned {
    if request.method != Method::GET && request.method != Method::HEAD {
        return not_found();
    }
    let segments = request.path.split('/').filter(|it| !it.is_empty());
    let segments: Vec<String> = segments.map(decoded).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let found = match segments.as_slice() {
        ["user"] => world
            .value(world.viewer_key())
            .map(|viewer| account(base, viewer)),
        ["rate_limit"] => Some(rate_limit(budget)),
        ["repos", owner, name, rest @ ..] => {
            let full = format!("{owner}/{name}");
            return match world.repo_number(&full) {
                Some(number) if is_old_name(world, number, &full) => moved(base, number, rest),
                Some(number) => under_repo(world, base, number, rest, request.query),
                None => not_found(),
            };
        }
        ["repositories", number, rest @ ..] => {
            return match number.parse() {
                Ok(number) => under_repo(world, base, number, rest, request.query),
                Err(_) => not_found(),
            };
        }
        _ => None,
    };
    found.map_or_else(not_found, |body| Canned::json(200, &body))
}

fn not_found() -> Canned {
    let body = json!({
        "message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404",
    });
    Canned::json(404, &body)
}

/// A repository that was renamed answers under its number.
fn moved(base: &str, number: u64, rest: &[&str]) -> Canned {
    let mut url = format!("{base}/repositories/{number}");
    for segment in rest {
        url.push('/');
        url.push_str(&escaped(segment));
    }
    let body = json!({
        "message": "Moved Permanently", "url": url,
        "documentation_url": "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects",
    });
    Canned::json(301, &body).header("location", url)
}

fn is_old_name(world: &World, number: u64, asked: &str) -> bool {
    let now = world
        .node(&World::repo_key(number))
        .map(|repo| text(repo.get("nameWithOwner")));
    now.is_some_and(|now| !now.eq_ignore_ascii_case(asked))
}

fn under_repo(world: &World, base: &str, number: u64, rest: &[&str], query: &str) -> Canned {
    let Some(repo) = world.value(&World::repo_key(number)) else {
        return not_found();
    };
    let full = text(repo.get("nameWithOwner"));
    let found = match rest {
        [] => Some(repository(world, base, repo)),
        ["pulls", pull] => pull.parse().ok().and_then(|number| {
            let at = At {
                repo: full.to_owned(),
                number,
            };
            pull_request(world, base, world.value(&world.pull_key(&at).ok()?)?)
        }),
        ["compare", range @ ..] => compare(world, base, repo, &range.join("/")),
        _ => {
            let asked = branches::Asked {
                world,
                base,
                repo: number,
                full,
                query,
            };
            return asked.answer(rest).unwrap_or_else(not_found);
        }
    };
    found.map_or_else(not_found, |body| Canned::json(200, &body))
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// REST writes a bot's login with `[bot]`, and a deleted account as `ghost`.
fn account(base: &str, account: &Value) -> Value {
    let kind = text(account.get("__typename"));
    let login = match (kind, text(account.get("login"))) {
        (_, "") => "ghost".to_owned(),
        ("Bot", login) => format!("{login}[bot]"),
        (_, login) => login.to_owned(),
    };
    json!({
        "login": login, "id": account.get("databaseId").cloned().unwrap_or(json!(10_137)),
        "node_id": account.get("id").cloned().unwrap_or(json!("U_ghost")), "url": format!("{base}/users/{login}"),
        "html_url": text(account.get("url")), "type": if kind.is_empty() { "User" } else { kind },
        "site_admin": false,
    })
}

fn repository(world: &World, base: &str, repo: &Value) -> Value {
    let full = text(repo.get("nameWithOwner"));
    let owner = repo
        .get("owner")
        .and_then(|owner| world.follow(owner))
        .unwrap_or(&Value::Null);
    let branch = repo
        .get("defaultBranchRef")
        .and_then(|branch| world.follow(branch));
    json!({
        "id": repo["databaseId"], "node_id": repo["id"], "name": repo["name"], "full_name": full,
        "owner": account(base, owner), "private": repo["isPrivate"], "archived": repo["isArchived"],
        "html_url": repo["url"], "url": format!("{base}/repos/{full}"), "description": null,
        "fork": repo.get("isFork").cloned().unwrap_or(json!(false)),
        "default_branch": text(branch.and_then(|branch| branch.get("name"))),
        "created_at": repo["createdAt"], "updated_at": repo["updatedAt"], "pushed_at": repo["pushedAt"],
    })
}

fn commit(base: &str, full: &str, commit: &Value) -> Value {
    let oid = text(commit.get("oid"));
    json!({
        "sha": oid, "node_id": commit["id"], "url": format!("{base}/repos/{full}/commits/{oid}"),
        "html_url": commit["url"], "parents": [], "author": null, "committer": null,
        "commit": {
            "message": commit["message"], "url": format!("{base}/repos/{full}/git/commits/{oid}"),
            "author": {
                "name": commit["author"]["name"], "email": commit["author"]["email"], "date": commit["authoredDate"],
            },
            "committer": {
                "name": commit["committer"]["name"], "email": commit["committer"]["email"],
                "date": commit["committedDate"],
            },
        },
    })
}

fn pull_request(world: &World, base: &str, pull: &Value) -> Option<Value> {
    let follow = |field: &str| {
        pull.get(field)
            .and_then(|it| world.follow(it))
            .unwrap_or(&Value::Null)
    };
    let repo = follow("repository");
    let number = pull.get("number")?;
    let merged = text(pull.get("state")) == "MERGED";
    let mergeable = match text(pull.get("mergeable")) {
        "MERGEABLE" => json!(true),
        "CONFLICTING" => json!(false),
        _ => Value::Null,
    };
    let side = |branch: &str, oid: &str, repo: &Value| {
        let whole = if repo.is_null() {
            Value::Null
        } else {
            repository(world, base, repo)
        };
        json!({
            "label": pull[branch], "ref": pull[branch], "sha": pull[oid],
            "user": account(base, follow("author")), "repo": whole,
        })
    };
    Some(json!({
        "id": pull["databaseId"], "node_id": pull["id"], "number": number, "title": pull["title"],
        "url": format!("{base}/repos/{}/pulls/{number}", text(repo.get("nameWithOwner"))),
        "html_url": pull["url"], "body": pull["body"], "draft": pull["isDraft"], "locked": pull["locked"],
        "state": if text(pull.get("state")) == "OPEN" { "open" } else { "closed" },
        "merged": merged, "merged_at": pull["mergedAt"], "closed_at": pull["closedAt"],
        "created_at": pull["createdAt"], "updated_at": pull["updatedAt"], "mergeable": mergeable,
        "mergeable_state": text(pull.get("mergeStateStatus")).to_ascii_lowercase(),
        "author_association": pull["authorAssociation"], "user": account(base, follow("author")),
        "head": side("headRefName", "headRefOid", follow("headRepository")),
        "base": side("baseRefName", "baseRefOid", repo),
    }))
}

/// `base...head`, where the head is one of the repository's pull requests, by branch, id or ref.
fn compare(world: &World, base: &str, repo: &Value, range: &str) -> Option<Value> {
    let (from, head) = range.split_once("...")?;
    let head = head.rsplit_once(':').map_or(head, |(_, branch)| branch);
    let number = repo.get("databaseId")?.as_u64()?;
    let pull = world.nodes_under_repo(number).find(|pull| {
        let by_ref = format!("refs/pull/{}/head", pull.get("number").unwrap_or(&Value::Null));
        head == by_ref || head == text(pull.get("headRefName")) || head == text(pull.get("headRefOid"))
    })?;
    let behind = pull.get("_behindBy")?.as_u64()?;
    let ahead = pull.get("_aheadBy").and_then(Value::as_u64).unwrap_or(1);
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    Some(json!({
        "url": format!("{base}/repos/{}/compare/{from}...{head}", text(repo.get("nameWithOwner"))),
        "status": status, "ahead_by": ahead, "behind_by": behind, "total_commits": ahead,
        "commits": [], "files": [],
    }))
}

fn rate_limit(budget: Budget) -> Value {
    let of = |limit: u64, used: u64| {
        json!({
            "limit": limit, "used": used, "remaining": limit.saturating_sub(used),
            "reset": budget.reset_at.timestamp(),
        })
    };
    let core = of(budget.limit, budget.used);
    json!({
        "resources": { "core": core, "graphql": of(budget.limit, budget.used), "search": of(30, 0) },
        "rate": core,
    })
}

/// A text as one segment of a path, as far as anything here needs it.
fn escaped(segment: &str) -> String {
    let mut text = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte))
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// One path segment, `%xx` turned into what it stands for.
fn decoded(segment: &str) -> String {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digits = (ahead.next(), ahead.next());
        let escaped = match (byte, digits) {
            (b'%', (Some(high), Some(low))) => {
                let text = [high, low];
                std::str::from_utf8(&text)
                    .ok()
                    .and_then(|text| u8::from_str_radix(text, 16).ok())
            }
            _ => None,
        };
        match escaped {
            Some(escaped) => {
                bytes.push(escaped);
                rest = ahead;
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
