//! The HTTP side: who is let in, REST, limits, and everything that can go wrong.

use std::io::ErrorKind;
use std::time::Duration;

use serde_json::{Value, json};
use world::{Canned, CheckSpec, Fault, PullSpec, RepoSpec, Served, World};

use crate::client::{exchange, get, post, query};

const PULL: &str = "query Pull($n: Int!) { repository(owner: \"o\", name: \"r\") { nameWithOwner
    pullRequest(number: $n) { number reviewDecision title } } rateLimit { cost remaining used limit nodeCount } }";

async fn served() -> Served {
    World::builder("2026-05-14T17:45:00Z")
        .repo(RepoSpec::new("o/new").renamed_from("o/old"))
        .pull(PullSpec::new("o/r", 7).from_fork_of("eve"))
        .pull(PullSpec::new("o/r", 8).fork_deleted().conflicting())
        .build()
        .serve()
        .await
        .expect("loopback has a free port")
}

#[tokio::test]
async fn only_the_token_opens_the_door() {
    let served = served().await;
    let without = "GET /user HTTP/1.1\r\nhost: w\r\nuser-agent: t\r\nconnection: close\r\n\r\n";
    let refused = exchange(&served, without).await.unwrap();
    assert_eq!(
        (refused.status, &refused.json()["message"]),
        (401, &json!("Bad credentials"))
    );
    let wrong = without.replace("connection", "authorization: token nope\r\nconnection");
    assert_eq!(exchange(&served, &wrong).await.unwrap().status, 401);
    let nameless = format!(
        "GET /user HTTP/1.1\r\nhost: w\r\nauthorization: token {}\r\nconnection: close\r\n\r\n",
        served.token()
    );
    assert_eq!(exchange(&served, &nameless).await.unwrap().status, 403);
    let user = get(&served, "/user").await.unwrap();
    assert_eq!((user.status, &user.json()["login"]), (200, &json!("ada")));
    assert_eq!(user.header("x-oauth-scopes"), Some("read:org, repo"));
}

#[tokio::test]
async fn rest_paths() {
    let served = served().await;
    let repo = get(&served, "/repos/O/R").await.unwrap().json();
    assert_eq!(
        (&repo["full_name"], &repo["default_branch"]),
        (&json!("o/r"), &json!("main"))
    );
    let moved = get(&served, "/repos/o/old").await.unwrap();
    assert_eq!(moved.status, 301);
    let target = moved
        .header("location")
        .unwrap()
        .strip_prefix(&served.api_url())
        .unwrap()
        .to_owned();
    assert_eq!(get(&served, &target).await.unwrap().json()["full_name"], "o/new");
    let pull = get(&served, "/repos/o/r/pulls/7").await.unwrap().json();
    assert_eq!(
        (
            &pull["state"],
            &pull["mergeable"],
            &pull["head"]["repo"]["full_name"]
        ),
        (&json!("open"), &json!(true), &json!("eve/r"))
    );
    let pull = get(&served, "/api/v3/repos/o/r/pulls/8").await.unwrap().json();
    assert_eq!(
        (&pull["mergeable"], &pull["head"]["repo"]),
        (&json!(false), &Value::Null)
    );
    let compare = get(&served, "/repos/o/r/compare/main...change-7")
        .await
        .unwrap()
        .json();
    assert_eq!(
        (&compare["behind_by"], &compare["status"]),
        (&json!(2), &json!("diverged"))
    );
    let limits = get(&served, "/rate_limit").await.unwrap().json();
    assert_eq!(limits["resources"]["graphql"]["limit"], 5_000);
    let missing = get(&served, "/repos/o/nope").await.unwrap();
    assert_eq!(
        (missing.status, &missing.json()["message"]),
        (404, &json!("Not Found"))
    );
    assert!(served.writes().is_empty());
}

#[tokio::test]
async fn a_request_costs_and_is_logged() {
    let served = served().await;
    let answer = query(&served, PULL, json!({ "n": 7 })).await;
    assert_eq!(
        answer["data"]["rateLimit"],
        json!({ "cost": 1, "remaining": 4_999, "used": 1, "limit": 5_000, "nodeCount": 0 })
    );
    query(&served, "mutation { nope }", json!({})).await;
    let log = served.log();
    assert_eq!((log.len(), served.max_in_flight()), (2, 1));
    assert_eq!(log[0].operation.as_deref(), Some("Pull"));
    assert_eq!(log[0].pulls, [("o/r", 7).into()]);
    assert_eq!((log[0].status, log[0].is_write), (Some(200), false));
    assert_eq!(served.writes().len(), 1);
    assert_eq!(served.writes()[0].document.as_deref(), Some("mutation { nope }"));
}

#[tokio::test]
async fn limits_and_errors_of_the_server() {
    let served = served().await;
    served
        .faults()
        .add(Fault::primary_limit(Duration::from_secs(60)).nth(1));
    served
        .faults()
        .add(Fault::primary_limit_429(Duration::from_secs(60)).nth(2));
    served
        .faults()
        .add(Fault::secondary_limit(Duration::from_secs(30)).nth(3));
    served.faults().add(Fault::graphql_rate_limit().nth(4));
    served.faults().add(Fault::status(503).nth(5));
    served.faults().add(Fault::html().nth(6));
    served.faults().add(Fault::token_refused().nth(7));
    served
        .faults()
        .add(Fault::answer(Canned::text(418, "text/plain", "tea").header("x-pot", 1)).nth(8));
    let body = json!({ "query": "{ viewer { login } }" });
    let mut answers = Vec::new();
    for _ in 0..9 {
        answers.push(post(&served, &body).await.unwrap());
    }
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [403, 429, 403, 200, 503, 200, 401, 418, 200]);
    assert_eq!(answers[0].header("x-ratelimit-remaining"), Some("0"));
    assert_eq!(answers[2].header("retry-after"), Some("30"));
    assert_eq!(answers[3].json()["errors"][0]["type"], "RATE_LIMIT");
    assert_eq!(answers[3].json().get("data"), None);
    assert!(answers[5].body.starts_with("<!DOCTYPE html>"));
    assert_eq!(answers[7].header("x-pot"), Some("1"));
    assert_eq!(
        answers[8].json(),
        json!({ "data": { "viewer": { "login": "ada" } } })
    );
    served.faults().clear();
}

#[tokio::test]
async fn connections_that_break() {
    let served = served().await;
    let body = json!({ "query": PULL, "variables": { "n": 7 } });
    served.faults().add(Fault::reset().nth(1));
    served.faults().add(Fault::truncated().nth(2));
    served.faults().add(Fault::answer_lost().nth(3));
    for case in ["reset", "truncated", "answer lost"] {
        let error = post(&served, &body).await.expect_err(case);
        assert!(
            matches!(
                error.kind(),
                ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
            ),
            "{case}: {error:?}"
        );
    }
    assert_eq!(post(&served, &body).await.unwrap().status, 200);

    served.faults().add(Fault::never_answers().on_operation("Pull"));
    let (waiting, ()) = tokio::join!(
        tokio::time::timeout(Duration::from_secs(30), post(&served, &body)),
        async {
            served.wait_for(|log| log.len() == 5).await;
            served.faults().clear();
            assert_eq!(
                get(&served, "/user").await.unwrap().status,
                200,
                "others are answered meanwhile"
            );
            assert_eq!(served.log()[4].status, None);
            assert_eq!(
                (served.log()[0].status, served.log()[2].status),
                (None, None),
                "nothing went back"
            );
            served.close();
        }
    );
    assert!(waiting.expect("the world's end ends it").is_err());
}

#[tokio::test]
async fn slow_answers_overlap() {
    let served = served().await;
    served
        .faults()
        .add(Fault::slow(Duration::from_millis(50)).on_graphql());
    let body = json!({ "query": "{ viewer { login } }" });
    let (a, b) = tokio::join!(post(&served, &body), post(&served, &body));
    assert_eq!((a.unwrap().status, b.unwrap().status), (200, 200));
    assert_eq!(served.max_in_flight(), 2);
}

#[tokio::test]
async fn large_batches_fail_and_small_ones_do_not() {
    let served = served().await;
    served.faults().add(Fault::status(502).on_batches_over(1));
    let batch = "{ a: repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { title } }
        b: repository(owner: \"o\", name: \"r\") { pullRequest(number: 8) { title } } }";
    assert_eq!(
        post(&served, &json!({ "query": batch })).await.unwrap().status,
        502
    );
    assert_eq!(
        post(&served, &json!({ "query": PULL, "variables": { "n": 8 } }))
            .await
            .unwrap()
            .status,
        200
    );
}

#[tokio::test]
async fn fields_fail_alone_with_their_path() {
    let served = served().await;
    let both =
        "{ a: repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { reviewDecision title } }
        b: repository(owner: \"o\", name: \"r\") { pullRequest(number: 8) { reviewDecision title } } }";
    served
        .faults()
        .add(Fault::saml("PullRequest.reviewDecision").on_pull(("O/r", 7)));
    let answer = query(&served, both, json!({})).await;
    let error = &answer["errors"][0];
    assert_eq!(
        (&error["type"], &error["extensions"]),
        (&json!("FORBIDDEN"), &json!({ "saml_failure": true }))
    );
    assert_eq!(error["path"], json!(["a", "pullRequest", "reviewDecision"]));
    assert_eq!(
        answer["errors"].as_array().unwrap().len(),
        1,
        "only within that pull request"
    );
    served.faults().clear();

    served
        .faults()
        .add(Fault::field_error("PullRequest.title", None, "Something went wrong").on_pull(("o/r", 8)));
    let answer = query(&served, both, json!({})).await;
    assert_eq!(answer["errors"][0].get("type"), None);
    assert_eq!(answer["errors"][0]["message"], "Something went wrong");
    assert_eq!(
        answer["data"]["b"],
        json!({ "pullRequest": null }),
        "what holds a non-null field is null"
    );
    assert_eq!(answer["data"]["a"]["pullRequest"]["title"], "Change 7");
    served.faults().clear();

    served
        .edit(|world| world.check(("o/r", 7), CheckSpec::run("build")))
        .unwrap();
    let checks = "{ repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { statusCheckRollup {
        contexts(first: 1) { nodes { ... on CheckRun { name conclusion } } } } } } }";
    let no = Fault::field_error("CheckRun.conclusion", Some("FORBIDDEN"), "no");
    served.faults().add(no.on_pull(("o/r", 7)));
    let answer = query(&served, checks, json!({})).await;
    let contexts = &answer["data"]["repository"]["pullRequest"]["statusCheckRollup"]["contexts"];
    assert_eq!(
        contexts["nodes"][0],
        json!({ "name": "build", "conclusion": null })
    );
    assert_eq!(
        answer["errors"][0]["message"], "no",
        "a check of its head lies in it"
    );
    served.faults().clear();

    served
        .faults()
        .add(Fault::saml("Query.repository").on_repo("o/r"));
    let answer = query(&served, PULL, json!({ "n": 7 })).await;
    assert_eq!(
        (&answer["data"]["repository"], &answer["errors"][0]["path"]),
        (&Value::Null, &json!(["repository"]))
    );
}

#[tokio::test]
async fn pages_may_be_shorter_than_asked_for() {
    let served = served().await;
    served.faults().add(Fault::short_pages(1));
    let document = "{ repository(owner: \"o\", name: \"r\") { pullRequests(first: 50) {
        totalCount nodes { number } pageInfo { hasNextPage } } } }";
    let answer = query(&served, document, json!({})).await;
    assert_eq!(
        answer["data"]["repository"]["pullRequests"],
        json!({ "totalCount": 2, "nodes": [{ "number": 7 }], "pageInfo": { "hasNextPage": true } })
    );
}

#[tokio::test]
async fn the_world_changes_between_two_requests() {
    let served = served().await;
    served.faults().add(
        Fault::meanwhile(|world| world.remove_pull(("o/r", 7)).unwrap())
            .on_pull(("o/r", 7))
            .nth(2),
    );
    assert_eq!(
        query(&served, PULL, json!({ "n": 7 })).await["data"]["repository"]["pullRequest"]["number"],
        7
    );
    let gone = query(&served, PULL, json!({ "n": 7 })).await;
    assert_eq!(
        (
            &gone["errors"][0]["type"],
            &gone["data"]["repository"]["pullRequest"]
        ),
        (&json!("NOT_FOUND"), &Value::Null)
    );
}
