//! The busy repository: what it holds is what it says, and it answers fast.

use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use world::{Maintained, World};

const NOW: &str = "2026-05-14T17:45:00Z";

/// Every open pull request, page by page.
fn all(world: &World, fields: &str) -> Vec<Value> {
    let text = format!(
        "query All($after: String) {{ repository(owner: \"bulk\", name: \"upkeep\") {{ pullRequests(first: 100, states: [OPEN],
            after: $after, orderBy: {{field: UPDATED_AT, direction: DESC}}) {{ totalCount
            pageInfo {{ hasNextPage endCursor }} nodes {{ {fields} }} }} }} }}"
    );
    let mut found = Vec::new();
    let mut after = Value::Null;
    loop {
        let variables = Map::from_iter([("after".to_owned(), after)]);
        let answer = world.ask_operation(&text, "All", variables);
        assert!(answer.get("errors").is_none(), "{:#}", answer["errors"]);
        let page = &answer["data"]["repository"]["pullRequests"];
        found.extend(items(page).cloned());
        if page["pageInfo"]["hasNextPage"] == false {
            assert_eq!(page["totalCount"], found.len());
            return found;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value["nodes"].as_array().into_iter().flatten()
}

/// When a person last did anything, as GitHub writes it.
fn last_human(pull: &Value) -> &str {
    let replies = items(&pull["reviewThreads"]).flat_map(|thread| items(&thread["comments"]));
    let said = items(&pull["comments"])
        .chain(items(&pull["reviews"]))
        .chain(replies);
    let people = said
        .filter(|it| it["author"]["__typename"] == "User")
        .map(|it| &it["createdAt"]);
    let commits = items(&pull["commits"]).map(|it| &it["commit"]["committedDate"]);
    let all = people.chain(commits).chain([&pull["createdAt"]]);
    all.filter_map(Value::as_str).max().unwrap_or_default()
}

fn counted(pulls: &[Value]) -> Maintained {
    let count = |holds: &dyn Fn(&Value) -> bool| {
        let found = pulls.iter().filter(|pull| holds(pull));
        found.map(|_| 1).sum()
    };
    let idle = |since: &str| count(&|pull| pull["isDraft"] == false && last_human(pull) <= since);
    let rollup = |pull: &Value, word: &str| pull["statusCheckRollup"]["state"] == word;
    let is_experimental = |file: &Value| {
        let path = file["path"].as_str().unwrap_or_default();
        path.starts_with("experimental/")
    };
    Maintained {
        pulls: count(&|_| true),
        drafts: count(&|pull| pull["isDraft"] == true),
        // So many days before the world's present.
        idle_7: idle("2026-05-07T17:45:00Z"),
        idle_14: idle("2026-04-30T17:45:00Z"),
        idle_30: idle("2026-04-14T17:45:00Z"),
        unowned: count(&|pull| items(&pull["files"]).all(is_experimental)),
        red: count(&|pull| rollup(pull, "FAILURE")),
        pending: count(&|pull| rollup(pull, "PENDING")),
        conflicting: count(&|pull| pull["mergeable"] == "CONFLICTING"),
        unknown: count(&|pull| pull["mergeable"] == "UNKNOWN"),
    }
}

const FIELDS: &str = "number isDraft createdAt updatedAt mergeable statusCheckRollup { state }
    files(first: 20) { nodes { path } } commits(last: 5) { nodes { commit { committedDate } } }
    comments(first: 20) { nodes { createdAt author { __typename } } }
    reviews(first: 20) { nodes { createdAt author { __typename } } }
    reviewThreads(first: 20) { nodes { comments(first: 20) { nodes { createdAt author { __typename } } } } }";

#[test]
fn it_is_shaped_like_the_table() {
    let found = all(&World::maintained(1_236), FIELDS);
    let facts = Maintained::of(1_236);
    assert_eq!(counted(&found), facts);
    assert_eq!(
        (facts.drafts, facts.idle_7, facts.idle_14, facts.idle_30),
        (199, 439, 130, 28)
    );
    assert_eq!(facts.unowned, 128);
    let updated: Vec<&str> = found
        .iter()
        .map(|pull| pull["updatedAt"].as_str().unwrap())
        .collect();
    assert!(updated.is_sorted_by(|a, b| a >= b));
    assert!(updated.iter().all(|at| *at <= NOW));
}

#[test]
fn other_numbers_are_in_proportion_and_always_the_same() {
    for pulls in [1, 7, 40, 300] {
        let found = all(&World::maintained(pulls), FIELDS);
        assert_eq!(counted(&found), Maintained::of(pulls), "{pulls}");
    }
    assert_eq!(
        all(&World::maintained(40), FIELDS),
        all(&World::maintained(40), FIELDS)
    );
}

/// What a cycle over ten thousand unchanged pull requests asks of the world.
#[test]
#[ignore = "a measurement: run it alone, with --nocapture"]
fn ten_thousand_are_built_and_asked() {
    let started = Instant::now();
    let world = World::maintained(10_000);
    println!("built in {:?}", started.elapsed());
    let feed = "{ repository(owner: \"bulk\", name: \"upkeep\") { pullRequests(first: 100,
        orderBy: {field: UPDATED_AT, direction: DESC}) { totalCount pageInfo { hasNextPage endCursor }
        nodes { number state updatedAt } } } }";
    let heads: String = (1..=100)
        .map(|n| {
            format!(
                "p{n}: repository(owner: \"bulk\", name: \"upkeep\") {{ pullRequest(number: {n}) {{ number state headRefOid
                mergeable mergeStateStatus createdAt mergeQueueEntry {{ position }} commits(last: 1) {{ nodes {{ commit {{ oid
                statusCheckRollup {{ contexts(first: 50) {{ nodes {{ __typename ... on CheckRun {{ databaseId name status
                conclusion startedAt completedAt url checkSuite {{ databaseId app {{ databaseId }} }} }} }} }} }} }} }} }} }} }}"
            )
        })
        .collect();
    let heads = format!("{{ {heads} }}");
    for (name, text) in [("feed", feed), ("100 heads", &heads)] {
        let mut times: Vec<Duration> = Vec::new();
        for _ in 0..5 {
            let started = Instant::now();
            let answer = world.ask(text);
            assert!(answer.get("errors").is_none());
            times.push(started.elapsed());
        }
        println!("{name}: {times:?}");
    }
    let started = Instant::now();
    assert_eq!(all(&world, "number").len(), 10_000);
    println!("every number, 100 pages: {:?}", started.elapsed());
}
