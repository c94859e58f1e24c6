//! REST answers. The reader asks for GraphQL, so that each goes through as the GraphQL answer that says
//! the same; what stands for itself (an error, the rate limits) is served as it came.

pub mod checks;
pub mod pulls;
pub mod words;

use ::pulls::facts::{PullFacts, PullState};
use github::{Checkup, ReadError, Scope, Window};
use lifecycle::{Outcome, classify};
use serde_json::{Value, json};
use world::{Canned, Fault, PullSpec, World};

use super::convert::{list, text};
use super::{Head, Payload};
use crate::support::{at, judge, pr, read, read_one, reader, serve, serve_one};

/// The scopes of the token with which the answers of one recorder came.
const EVERY_SCOPE: [&str; 11] = [
    "admin:gpg_key",
    "admin:org",
    "admin:org_hook",
    "admin:public_key",
    "admin:repo_hook",
    "delete_repo",
    "gist",
    "notifications",
    "repo",
    "user",
    "workflow",
];

/// A word in GraphQL's capitals.
fn capitals(value: &Value, field: &str) -> Option<String> {
    text(value, field).map(str::to_ascii_uppercase)
}

fn number_of(value: &Value) -> u32 {
    value["number"].as_u64().unwrap().try_into().unwrap()
}

/// What stands before a mark and after another: the repository in an address.
fn between<'v>(url: &'v str, before: &str, after: &str) -> &'v str {
    let (_, rest) = url.split_once(before).unwrap();
    rest.split_once(after).unwrap().0
}

/// What is asserted of a pull request that is closed or merged: it has no bucket.
fn is_over(facts: &PullFacts, state: PullState, now: &str) {
    let outcome = classify(facts, &Default::default(), &Default::default(), at(now));
    assert_eq!(outcome, Outcome::NotOpen(state), "{}", facts.at);
}

/// Asserts what the reader makes of the headers that an answer came with: the token's scopes, where it is
/// of a kind that has such, and GitHub's clock.
async fn tells(head: &Head, scopes: Option<&[&str]>, time: &str) {
    let served = serve_one(PullSpec::new("o/r", 7)).await;
    let window = json!({ "limit": 5000, "used": 0, "remaining": 5000, "reset": 1_734_072_198 });
    let limits = json!({ "resources": { "core": window, "graphql": window, "search": window } });
    let answer = head.above(200, &limits);
    served.faults().add(Fault::answer(answer).on_path("/rate_limit"));
    let checkup = reader(&served).checkup().await.unwrap();
    let told = checkup
        .scopes
        .as_deref()
        .map(|scopes| scopes.iter().map(String::as_str));
    assert_eq!(told.map(Iterator::collect::<Vec<_>>).as_deref(), scopes);
    assert_eq!(checkup.server_time, Some(at(time)));
}

pub async fn rate_limit(payload: Payload) {
    let served = serve_one(PullSpec::new("o/r", 7)).await;
    served
        .faults()
        .add(Fault::answer(payload.answer()).on_path("/rate_limit"));
    let checkup = reader(&served).checkup().await.unwrap();
    let window = |limit, remaining, resets_at: &str| Window {
        limit,
        remaining,
        resets_at: at(resets_at),
    };
    let expected = Checkup {
        core: window(5000, 4988, "2024-12-13T06:43:18Z"),
        graphql: window(5000, 4808, "2024-12-13T06:43:42Z"),
        search: window(30, 30, "2024-12-13T06:29:18Z"),
        scopes: None,
        server_time: Some(at("2023-05-15T22:59:21Z")),
    };
    assert_eq!(checkup, expected);
}

pub async fn not_protected(payload: Payload) {
    let served = serve_one(PullSpec::new("o/r", 7)).await;
    served.faults().add(Fault::answer(payload.answer()).on_rest());
    let error = reader(&served).checkup().await.unwrap_err();
    let message = "Branch not protected".to_owned();
    assert_eq!(error, ReadError::Status { status: 404, message });
    assert_eq!(error.class(), github::ErrorClass::Other);
    // Where nothing is protected, GraphQL has no decision, and that is no error.
    let judged = judge(read_one(&served, "o/r#7").await, at("2026-05-14T17:45:00Z"));
    judged.waits("no review required and none given");
    let head = payload.head.unwrap();
    tells(&head, Some(&EVERY_SCOPE), "2017-10-10T16:00:00Z").await;
}

pub async fn second_page(payload: Payload) {
    // Page 2 of 5, three a page; in GraphQL a cursor leads on where the header has a link.
    let head = payload.head.as_ref().unwrap();
    let link = head.header("link").unwrap();
    assert!(head.target.contains("page=2") && link.contains("page=5>; rel=\"last\""));
    let nodes: Vec<Value> = payload
        .body
        .as_array()
        .unwrap()
        .iter()
        .map(|_| json!({"__typename": "Issue"}))
        .collect();
    let page = json!({ "data": { "search": {
        "issueCount": 15, "nodes": nodes,
        "pageInfo": { "hasNextPage": link.contains("rel=\"next\""), "endCursor": "cursor-of-page-2" },
    } } });
    let last = json!({ "data": { "search": {
        "issueCount": 15, "pageInfo": { "hasNextPage": false, "endCursor": null },
        "nodes": [{ "number": 7, "repository": { "nameWithOwner": "o/r" } }],
    } } });
    let served = serve_one(PullSpec::new("o/r", 7)).await;
    let answer = head.above(200, &page);
    served
        .faults()
        .add(Fault::answer(answer).on_operation("OpenPulls").nth(1));
    let answer = Canned::json(200, &last);
    served
        .faults()
        .add(Fault::answer(answer).on_operation("OpenPulls").nth(2));
    let found = reader(&served)
        .open_pulls(&"ada".parse().unwrap(), &Scope::Everywhere, 50)
        .await
        .unwrap();
    // What is no pull request is left out; the page after it is asked for with its cursor. A reset that is
    // told in milliseconds, as there, is nobody's business while requests remain.
    assert_eq!(found.refs, [pr("o/r#7")]);
    let after = served.log()[1].variables.get("after").cloned();
    assert_eq!(after, Some(json!("cursor-of-page-2")));
    tells(head, Some(&EVERY_SCOPE), "2017-10-10T16:00:00Z").await;
}

pub async fn search(payload: Payload) {
    let now = "2019-09-07T01:00:00Z";
    let items: Vec<&Value> = list(&payload.body, "items").collect();
    let repo = |item: &Value| between(text(item, "html_url").unwrap(), "github.com/", "/pull/").to_owned();
    let pulls = items.iter().map(|item| {
        let pull = PullSpec::new(&repo(item), number_of(item)).created(text(item, "created_at").unwrap());
        let pull = pull.body(text(item, "body").unwrap_or_default());
        match text(&item["pull_request"], "merged_at") {
            Some(at) => pull.merged(at),
            None => pull.closed(text(item, "closed_at").unwrap()),
        }
    });
    let served = serve(World::builder(now).pulls(pulls)).await;
    let nodes: Vec<Value> = items
        .iter()
        .map(|item| json!({ "number": item["number"], "repository": { "nameWithOwner": repo(item) } }))
        .collect();
    let answer = json!({ "data": { "search": {
        "issueCount": payload.body["total_count"], "nodes": nodes,
        "pageInfo": { "hasNextPage": true, "endCursor": "more" },
    } } });
    served
        .faults()
        .add(Fault::answer(Canned::json(200, &answer)).on_operation("OpenPulls"));
    let reader = reader(&served);
    let author = "person-22".parse().unwrap();
    let found = reader.open_pulls(&author, &Scope::Everywhere, 5).await.unwrap();
    assert_eq!((found.refs.len(), found.total), (5, 457));
    let got = read(&reader, &found.refs).await;
    let numbers: Vec<u32> = got.found.iter().map(|facts| facts.at.number.get()).collect();
    assert_eq!(numbers, [5, 4, 3, 2, 1]);
    for facts in &got.found {
        let merged = facts.at.number.get() == 4;
        is_over(
            facts,
            if merged {
                PullState::Merged
            } else {
                PullState::Closed
            },
            now,
        );
    }
    assert_eq!(got.found[2].body, "", "no body is an empty one");
}
