//! Tests: a valid answer for a pull request, to be changed where a case differs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::answer::{Answer, Reply};
use crate::error::ReadError;

pub(crate) const HEAD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub(crate) const BASE: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
pub(crate) const READ_AT: &str = "2026-11-01T12:00:00Z";

/// A page of a list with all of it, or with a cursor where more is counted.
pub(crate) fn list(total: usize, nodes: Vec<Value>) -> Value {
    let more = nodes.len() < total;
    json!({
        "totalCount": total,
        "pageInfo": {"hasNextPage": more, "endCursor": more.then_some("next")},
        "nodes": nodes,
    })
}

pub(crate) fn head(contexts: Value) -> Value {
    json!({
        "oid": HEAD,
        "committedDate": "2026-10-31T08:00:00Z",
        "statusCheckRollup": contexts,
        "checkSuites": list(0, vec![]),
    })
}

pub(crate) fn comment(n: usize) -> Value {
    json!({
        "url": format!("https://github.com/o/r/pull/1#issuecomment-{n}"),
        "author": {"__typename": "User", "login": "person"},
        "authorAssociation": "MEMBER",
        "createdAt": "2026-10-31T09:00:00Z",
        "body": format!("comment {n}"),
        "isMinimized": false,
        "diffHunk": "@@ -1 +1 @@",
    })
}

pub(crate) fn thread(id: &str, replies: Value) -> Value {
    json!({"id": id, "isResolved": false, "isOutdated": true, "path": "a.rs", "line": null, "comments": replies})
}

pub(crate) fn run(id: u64) -> Value {
    json!({
        "__typename": "CheckRun", "databaseId": id, "name": "build", "status": "COMPLETED",
        "conclusion": "SUCCESS", "startedAt": "2026-10-31T08:01:00Z", "completedAt": "", "url": "",
        "checkSuite": {"app": {"databaseId": 15368}, "workflowRun": {"event": "push", "workflow": {"name": "CI"}}},
    })
}

/// What stands under the alias of one pull request.
pub(crate) fn repository(name: &str, number: u64) -> Value {
    json!({
        "nameWithOwner": name,
        "isArchived": false,
        "pullRequest": {
            "number": number,
            "url": format!("https://github.com/{name}/pull/{number}"),
            "title": "a title",
            "body": "",
            "state": "OPEN",
            "isDraft": false,
            "locked": false,
            "createdAt": "2026-10-30T08:00:00Z",
            "updatedAt": "2026-10-31T08:00:00Z",
            "author": {"__typename": "User", "login": "author"},
            "headRefOid": HEAD,
            "headRefName": "branch",
            "headRepository": {"nameWithOwner": "author/fork"},
            "baseRefName": "main",
            "baseRefOid": BASE,
            "mergeable": "MERGEABLE",
            "mergeStateStatus": "CLEAN",
            "reviewDecision": "",
            "mergeQueueEntry": null,
            "baseRef": {"compare": {"behindBy": 3}},
            "headCommit": {"nodes": [{"commit": head(Value::Null)}]},
            "commits": {
                "totalCount": 1,
                "pageInfo": {"hasPreviousPage": false, "startCursor": "first"},
                "nodes": [{"commit": {"oid": HEAD, "committedDate": "2026-10-31T08:00:00Z"}}],
            },
            "forcePushes": {"nodes": []},
            "comments": list(0, vec![]),
            "reviews": list(0, vec![]),
            "reviewThreads": list(0, vec![]),
            "closingIssuesReferences": list(0, vec![]),
        },
    })
}

/// The answer that a body makes.
pub(crate) fn answer(body: &Value) -> Result<Answer, ReadError> {
    crate::answer::graphql(Reply {
        status: http::StatusCode::OK,
        headers: http::HeaderMap::new(),
        body: body.to_string().into(),
        at: READ_AT.parse().unwrap(),
    })
}

/// The data beside the workspace that tests may read; it is not part of the repository.
pub(crate) fn shared() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    std::env::var_os("SWEEP_SHARED").map_or_else(beside, PathBuf::from)
}
