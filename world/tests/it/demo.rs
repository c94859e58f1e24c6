//! The demo's world: what is in it, and that it is always the same.

use std::collections::BTreeSet;

use world::{
    DEMO_MAINTAINED, DEMO_NOW, DEMO_VIEWER, World, demo_answers, demo_hints, demo_reviews, demo_states,
};

#[test]
fn the_search_finds_the_viewers_open_pull_requests() {
    let world = World::demo();
    assert_eq!(world.now().to_rfc3339(), "2026-05-14T17:45:00+00:00");
    assert_eq!((world.viewer(), DEMO_NOW), (DEMO_VIEWER, "2026-05-14T17:45:00Z"));
    let answer = world.ask(
        "{ search(type: ISSUE, first: 100, query: \"is:pr is:open author:@me\") { issueCount nodes { ... on PullRequest {
            number repository { nameWithOwner } } } } }",
    );
    let found: BTreeSet<(String, u64)> = answer["data"]["search"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| {
            let repo = node["repository"]["nameWithOwner"].as_str().unwrap().to_owned();
            (repo, node["number"].as_u64().unwrap())
        })
        .collect();
    let mut expected: BTreeSet<(String, u64)> = demo_answers()
        .into_iter()
        .map(|answer| (answer.at.repo, u64::from(answer.at.number)))
        .collect();
    assert!(
        (38..=45).contains(&expected.len()),
        "about forty: {}",
        expected.len()
    );
    // The index lags: it lists one that was merged an hour ago.
    expected.insert(("tidepool-db/skerry".to_owned(), 81));
    assert_eq!(found, expected);
}

#[test]
fn every_rule_has_its_pull_request() {
    let rules: BTreeSet<&str> = demo_answers().iter().map(|answer| answer.rule).collect();
    let all = [
        "close.asked",
        "close.queue",
        "close.superseded",
        "investigate.changes_requested",
        "investigate.question",
        "qa.ci",
        "qa.gate",
        "rebase.behind",
        "rebase.conflict",
        "ship.ready",
        "wait.default",
    ];
    assert_eq!(rules.into_iter().collect::<Vec<_>>(), all);
}

#[test]
fn the_demo_is_the_same_every_time() {
    let fields = "{ repository(owner: \"lanternworks\", name: \"ember\") { pullRequests(first: 50) { nodes {
        id number title updatedAt headRefOid statusCheckRollup { contexts(first: 20) { nodes { __typename
        ... on CheckRun { id databaseId } } } } } } } }";
    assert_eq!(World::demo().ask(fields), World::demo().ask(fields));
}

#[test]
fn hints_are_lines_of_json_about_pull_requests_of_the_demo() {
    let world = World::demo();
    let hints = demo_hints();
    for (file, lines) in &hints.drip_queue {
        assert!(file.ends_with(".jsonl"));
        for line in lines {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let (owner, name) = line["repo"].as_str().unwrap().split_once('/').unwrap();
            let answer = world.ask(&format!(
                "{{ repository(owner: {owner:?}, name: {name:?}) {{ pullRequest(number: {}) {{ headRefName }} }} }}",
                line["pr_number"]
            ));
            assert_eq!(
                answer["data"]["repository"]["pullRequest"]["headRefName"],
                line["branch"]
            );
        }
    }
    for gate in &hints.gates {
        let text: serde_json::Value = serde_json::from_str(&gate.text).unwrap();
        let slug = text["repo"].as_str().unwrap().replace('/', "-");
        assert_eq!(gate.file, format!("{slug}.gate"));
    }
}

#[test]
fn every_state_has_its_pull_request_and_none_is_the_viewers() {
    let world = World::demo();
    let states: BTreeSet<&str> = demo_states().iter().map(|it| it.state).collect();
    let all = [
        "changes_requested",
        "ci_failing",
        "closed",
        "draft",
        "needs_owner",
        "new",
        "owner_routed",
        "parked",
        "ready_for_maintainer",
        "stale",
        "under_review",
    ];
    assert_eq!(states.into_iter().collect::<Vec<_>>(), all);
    let (owner, name) = DEMO_MAINTAINED.split_once('/').unwrap();
    let answer = world.ask(&format!(
        "{{ repository(owner: {owner:?}, name: {name:?}) {{ pullRequests(first: 100) {{ totalCount nodes {{ number
            author {{ login }} mergeStateStatus commits(last: 9) {{ nodes {{ commit {{ oid }} }} }} }} }} }} }}"
    ));
    let list = &answer["data"]["repository"]["pullRequests"];
    assert_eq!(list["totalCount"], demo_states().len());
    let nodes = list["nodes"].as_array().unwrap();
    assert!(nodes.iter().all(|node| node["author"]["login"] != DEMO_VIEWER));
    let of = |number: u32| nodes.iter().find(|node| node["number"] == number).unwrap();
    for review in demo_reviews() {
        let commits = of(review.at.number)["commits"].to_string();
        assert!(commits.contains(&review.head_sha), "{review:?}: {commits}");
    }
    let buttons = [
        (701, "CLEAN"),
        (703, "BLOCKED"),
        (704, "BLOCKED"),
        (706, "DIRTY"),
        (713, "DRAFT"),
    ];
    for (number, word) in buttons {
        assert_eq!(of(number)["mergeStateStatus"], word, "{number}");
    }
}
