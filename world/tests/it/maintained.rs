//! The busy repository: what it holds is what it says, and it answers fast.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
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
        let variables = json!({ "after": after }).as_object().unwrap().clone();
        let answer = world.ask_operation(&text, "All", variables);
        assert!(answer.get("errors").is_none(), "{:#}", answer["errors"]);
        let page = &answer["data"]["repository"]["pullRequests"];
        found.extend(page["nodes"].as_array().unwrap().iter().cloned());
        if page["pageInfo"]["hasNextPage"] == false {
            assert_eq!(page["totalCount"], found.len());
            return found;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

/// When a person last did anything.
fn last_human(pull: &Value) -> String {
    let of = |list: &str| pull[list]["nodes"].as_array().unwrap().clone();
    let replies = of("reviewThreads")
        .into_iter()
        .flat_map(|thread| thread["comments"]["nodes"].as_array().unwrap().clone());
    let said = of("comments").into_iter().chain(of("reviews")).chain(replies);
    let people = said
        .filter(|it| it["author"]["__typename"] == "User")
        .map(|it| it["createdAt"].clone());
    let commits = of("commits")
        .into_iter()
        .map(|it| it["commit"]["committedDate"].clone());
    let all = people.chain(commits).chain([pull["createdAt"].clone()]);
    all.map(|at| at.as_str().unwrap().to_owned()).max().unwrap()
}

fn counted(pulls: &[Value]) -> Maintained {
    let now = chrono::DateTime::parse_from_rfc3339(NOW).unwrap();
    let idle = |days: i64| {
        let limit = (now - chrono::TimeDelta::days(days)).to_utc();
        let waits = |pull: &&Value| {
            pull["isDraft"] == false
                && last_human(pull).parse::<chrono::DateTime<chrono::Utc>>().unwrap() <= limit
        };
        pulls.iter().filter(waits).count()
    };
    let count =
        |holds: &dyn Fn(&Value) -> bool| u32::try_from(pulls.iter().filter(|it| holds(it)).count()).unwrap();
    let rollup = |pull: &Value| {
        pull["statusCheckRollup"]["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let unowned = |pull: &Value| {
        let files = pull["files"]["nodes"].as_array().unwrap();
        files
            .iter()
            .all(|file| file["path"].as_str().unwrap().starts_with("experimental/"))
    };
    Maintained {
        pulls: u32::try_from(pulls.len()).unwrap(),
        drafts: count(&|pull| pull["isDraft"] == true),
        idle_7: u32::try_from(idle(7)).unwrap(),
        idle_14: u32::try_from(idle(14)).unwrap(),
        idle_30: u32::try_from(idle(30)).unwrap(),
        unowned: count(&unowned),
        red: count(&|pull| rollup(pull) == "FAILURE"),
        pending: count(&|pull| rollup(pull) == "PENDING"),
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
