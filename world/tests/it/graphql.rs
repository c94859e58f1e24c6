//! Documents and their answers.

use serde_json::{Value, json};
use world::{
    Association, CheckSpec, ClosesSpec, CommentSpec, PullSpec, RepoSpec, ReviewSpec, SuiteSpec, ThreadSpec,
    Who, World, days_ago, hours_ago, hours_ahead,
};

use crate::client::query;

const NOW: &str = "2026-05-14T17:45:00Z";

/// The pull request `o/r#7` asked for these fields.
fn of_pull(world: &World, fields: &str) -> Value {
    let answer = world.ask(&format!(
        "{{ repository(owner: \"o\", name: \"r\") {{ pullRequest(number: 7) {{ {fields} }} }} }}"
    ));
    assert!(answer.get("errors").is_none(), "{answer:#}");
    answer["data"]["repository"]["pullRequest"].clone()
}

fn world(pull: PullSpec) -> World {
    World::builder(NOW).viewer("ada").pull(pull).build()
}

#[test]
fn a_spec_that_says_nothing_is_a_whole_pull_request() {
    let world = world(PullSpec::new("o/r", 7));
    let pull = of_pull(
        &world,
        "number title state isDraft merged closed createdAt updatedAt mergeable mergeStateStatus reviewDecision
         author { __typename login } headRefName headRepository { nameWithOwner } baseRefName locked
         isCrossRepository statusCheckRollup { state } viewerDidAuthor url
         baseRef { compare(headRef: \"refs/pull/7/head\") { behindBy aheadBy status } }",
    );
    assert_eq!(
        pull,
        json!({
            "number": 7, "title": "Change 7", "state": "OPEN", "isDraft": false, "merged": false, "closed": false,
            "createdAt": "2026-05-11T17:45:00Z", "updatedAt": "2026-05-11T17:45:00Z",
            "mergeable": "MERGEABLE", "mergeStateStatus": "CLEAN", "reviewDecision": null,
            "author": { "__typename": "User", "login": "ada" },
            "headRefName": "change-7", "headRepository": { "nameWithOwner": "o/r" }, "baseRefName": "main",
            "locked": false, "isCrossRepository": false, "statusCheckRollup": null, "viewerDidAuthor": true,
            "url": "https://github.example/o/r/pull/7",
            "baseRef": { "compare": { "behindBy": 2, "aheadBy": 1, "status": "DIVERGED" } },
        })
    );
}

#[test]
fn checks_lie_in_suites_with_their_app_workflow_and_event() {
    let world = world(
        PullSpec::new("o/r", 7)
            .check(CheckSpec::run("build").failure().id(11))
            .check(CheckSpec::run("build").id(12))
            .check(
                CheckSpec::run("build")
                    .workflow("Nightly")
                    .event("schedule")
                    .in_progress(),
            )
            .check(CheckSpec::run("codecov/patch").app("codecov"))
            .check(CheckSpec::run("later").queued())
            .check(CheckSpec::status("ci/legacy").conclusion("ERROR"))
            .suite(SuiteSpec::never_ran("dependabot"))
            .suite(SuiteSpec::action_required("Release")),
    );
    let fields = "commits(last: 1) { nodes { commit {
        statusCheckRollup { state contexts(first: 50) { totalCount checkRunCount statusContextCount nodes {
            __typename
            ... on CheckRun { databaseId name status conclusion startedAt completedAt
                checkSuite { app { databaseId slug } workflowRun { event workflow { name } } } }
            ... on StatusContext { context state creator { __typename login } } } } }
        checkSuites(first: 20) { totalCount nodes { app { slug } status conclusion workflowRun { workflow { name } }
            checkRuns(first: 1) { totalCount } } } } } }";
    let commit = of_pull(&world, fields)["commits"]["nodes"][0]["commit"].clone();
    let contexts = &commit["statusCheckRollup"]["contexts"];
    assert_eq!(commit["statusCheckRollup"]["state"], "FAILURE");
    assert_eq!(
        (
            &contexts["totalCount"],
            &contexts["checkRunCount"],
            &contexts["statusContextCount"]
        ),
        (&json!(6), &json!(5), &json!(1))
    );
    let nodes = contexts["nodes"].as_array().unwrap();
    assert_eq!(
        (&nodes[0]["databaseId"], &nodes[0]["conclusion"]),
        (&json!(11), &json!("FAILURE"))
    );
    assert_eq!(
        nodes[0]["checkSuite"]["app"],
        json!({ "databaseId": 15_368, "slug": "github-actions" })
    );
    assert_eq!(nodes[0]["startedAt"], "2026-05-11T17:46:00Z");
    assert_eq!(
        nodes[2]["checkSuite"]["workflowRun"],
        json!({ "event": "schedule", "workflow": { "name": "Nightly" } })
    );
    assert_eq!(
        (&nodes[2]["status"], &nodes[2]["completedAt"]),
        (&json!("IN_PROGRESS"), &Value::Null)
    );
    assert_eq!(nodes[3]["checkSuite"]["workflowRun"], Value::Null);
    assert_eq!(
        (&nodes[4]["status"], &nodes[4]["startedAt"]),
        (&json!("QUEUED"), &Value::Null)
    );
    assert_eq!(nodes[5]["creator"]["__typename"], "Bot");
    let suites: Vec<Value> = commit["checkSuites"]["nodes"].as_array().unwrap().clone();
    let of = |app: &str, runs: u64| {
        let mut found = suites.iter().filter(|suite| suite["app"]["slug"] == app);
        found.any(|suite| suite["checkRuns"]["totalCount"] == runs)
    };
    assert!(
        of("github-actions", 3),
        "two runs and a queued one share the suite of CI: {suites:#?}"
    );
    assert!(of("dependabot", 0) && of("codecov", 1));
    assert!(
        suites
            .iter()
            .any(|suite| suite["conclusion"] == "ACTION_REQUIRED")
    );
}

#[test]
fn words_carry_their_authors_associations_and_threads() {
    let world = world(
        PullSpec::new("o/r", 7)
            .comment(CommentSpec::new(Who::bot("ci-helper"), Association::None, "beep").at(hours_ago(1)))
            .comment(
                CommentSpec::new("grace", Association::Member, "Really?")
                    .at(hours_ago(5))
                    .minimized("outdated"),
            )
            .comment(CommentSpec::new(Who::Deleted, Association::None, "gone"))
            .review(ReviewSpec::changes_requested("grace", "No.").at(hours_ago(9)))
            .review(ReviewSpec::commented("grace", "").at(hours_ago(8)))
            .review(ReviewSpec::approved("edith").pending())
            .thread(
                ThreadSpec::new(
                    "src/a.rs",
                    CommentSpec::new("grace", Association::Member, "Why?").at(hours_ago(9)),
                )
                .reply(CommentSpec::new("ada", Association::Contributor, "Because."))
                .outdated(),
            )
            .thread(
                ThreadSpec::new("b.rs", CommentSpec::new("edith", Association::Owner, "nit")).resolved("ada"),
            ),
    );
    let pull = of_pull(
        &world,
        "comments(first: 10) { nodes { author { __typename login } isMinimized minimizedReason body } }
         reviews(first: 10) { nodes { state body submittedAt } }
         latestReviews(first: 10) { nodes { state } }
         latestOpinionatedReviews(first: 10) { nodes { state } }
         reviewThreads(first: 10) { totalCount nodes { isResolved isOutdated path line originalLine
            comments(first: 10) { nodes { body replyTo { body } diffHunk pullRequest { number } repository { name } } } } }
         totalCommentsCount updatedAt",
    );
    let said: Vec<&str> = pull["comments"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["body"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["Really?", "beep", "gone"], "oldest first");
    assert_eq!(pull["comments"]["nodes"][0]["minimizedReason"], "outdated");
    assert_eq!(
        pull["comments"]["nodes"][1]["author"],
        json!({ "__typename": "Bot", "login": "ci-helper" })
    );
    assert_eq!(pull["comments"]["nodes"][2]["author"], Value::Null);
    assert_eq!(
        pull["reviews"]["nodes"][2],
        json!({ "state": "PENDING", "body": "", "submittedAt": null })
    );
    assert_eq!(pull["latestReviews"]["nodes"], json!([{ "state": "COMMENTED" }]));
    assert_eq!(
        pull["latestOpinionatedReviews"]["nodes"],
        json!([{ "state": "CHANGES_REQUESTED" }])
    );
    let threads = &pull["reviewThreads"]["nodes"];
    assert_eq!(
        (&threads[0]["line"], &threads[0]["originalLine"]),
        (&Value::Null, &json!(12))
    );
    assert_eq!(threads[0]["comments"]["nodes"][1]["replyTo"]["body"], "Why?");
    assert_eq!(threads[0]["comments"]["nodes"][1]["pullRequest"]["number"], 7);
    assert_eq!(threads[1]["isResolved"], true);
    assert_eq!(pull["totalCommentsCount"], 6);
    assert_eq!(pull["updatedAt"], "2026-05-14T16:45:00Z");
}

#[test]
fn issues_know_who_closed_them() {
    let world = world(
        PullSpec::new("o/r", 7)
            .closes(ClosesSpec::issue(1).closed_by(6, days_ago(1)))
            .closes(
                ClosesSpec::issue(2)
                    .closed_by(6, days_ago(2))
                    .reopened(days_ago(1)),
            )
            .closes(ClosesSpec::issue(3).closed_by_commit(days_ago(1)))
            .closes(ClosesSpec::issue(4)),
    );
    let pull = of_pull(
        &world,
        "closingIssuesReferences(first: 10) { nodes { number closed timelineItems(itemTypes: [CLOSED_EVENT], last: 1) {
            nodes { ... on ClosedEvent { closer { __typename ... on PullRequest { number merged mergedAt } } } } } } }",
    );
    let closer = |at: usize| &pull["closingIssuesReferences"]["nodes"][at];
    assert_eq!(
        closer(0)["timelineItems"]["nodes"][0]["closer"],
        json!({ "__typename": "PullRequest", "number": 6, "merged": true, "mergedAt": "2026-05-13T17:45:00Z" })
    );
    assert_eq!(
        (&closer(0)["closed"], &closer(1)["closed"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        closer(2)["timelineItems"]["nodes"][0]["closer"],
        json!({ "__typename": "Commit" })
    );
    assert_eq!(closer(3)["timelineItems"]["nodes"], json!([]));
}

#[test]
fn awkward_shapes_are_what_github_makes_of_them() {
    let world = world(
        PullSpec::new("o/r", 7)
            .fork_deleted()
            .behind_unknown()
            .committed(hours_ahead(24))
            .force_pushed(hours_ago(3))
            .in_merge_queue(2)
            .empty_rollup()
            .title("\u{1b}[31m\"<b>@all`")
            .branch("-x'$(id)")
            .raw(|pull| drop(pull.insert("reviewDecision".into(), "".into()))),
    );
    let document = "{ repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) {
        headRepository { nameWithOwner } headRef { name } headRefName title
        baseRef { compare(headRef: \"refs/pull/7/head\") { behindBy } }
        commits(last: 1) { nodes { commit { committedDate } } } mergeQueueEntry { position state }
        statusCheckRollup { contexts(first: 1) { totalCount } }
        timelineItems(itemTypes: [HEAD_REF_FORCE_PUSHED_EVENT], last: 1) {
            totalCount nodes { ... on HeadRefForcePushedEvent { createdAt afterCommit { oid } } } } } } }";
    let pull = world.ask(document)["data"]["repository"]["pullRequest"].clone();
    assert_eq!(
        (&pull["headRepository"], &pull["headRef"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(pull["baseRef"]["compare"], Value::Null);
    assert_eq!(pull["headRefName"], "-x'$(id)");
    assert_eq!(pull["title"], "\u{1b}[31m\"<b>@all`");
    assert_eq!(
        pull["commits"]["nodes"][0]["commit"]["committedDate"],
        "2026-05-15T17:45:00Z"
    );
    assert_eq!(
        pull["timelineItems"]["nodes"][0]["createdAt"],
        "2026-05-14T14:45:00Z"
    );
    assert_eq!(
        pull["mergeQueueEntry"],
        json!({ "position": 2, "state": "QUEUED" })
    );
    assert_eq!(pull["statusCheckRollup"]["contexts"]["totalCount"], 0);
}

#[test]
fn numbers_of_check_runs_are_larger_than_an_int_as_githubs_are() {
    let world = world(
        PullSpec::new("o/r", 7)
            .check(CheckSpec::run("a").id(48_211_734_001))
            .check(CheckSpec::run("b").id(11)),
    );
    let fields =
        "number statusCheckRollup { contexts(first: 5) { nodes { ... on CheckRun { databaseId } } } }";
    let pull = of_pull(&world, fields);
    assert_eq!(
        pull["statusCheckRollup"]["contexts"]["nodes"],
        json!([{ "databaseId": 48_211_734_001_u64 }, { "databaseId": 11 }])
    );
    assert_eq!(pull["number"], 7);
}

#[test]
fn a_word_that_github_does_not_use_yet_comes_through() {
    let world = world(
        PullSpec::new("o/r", 7)
            .check(CheckSpec::run("build").conclusion("EXPLODED"))
            .check(CheckSpec::unknown("QuantumCheck"))
            .mergeable("PERHAPS")
            .raw(|pull| drop(pull.insert("author".into(), json!({ "__typename": "Robot", "login": "r2" })))),
    );
    let pull = of_pull(
        &world,
        "mergeable author { __typename login }
         statusCheckRollup { contexts(first: 5) { nodes { __typename ... on CheckRun { conclusion } } } }",
    );
    assert_eq!(pull["mergeable"], "PERHAPS");
    assert_eq!(pull["author"], json!({ "__typename": "Robot", "login": "r2" }));
    let nodes = &pull["statusCheckRollup"]["contexts"]["nodes"];
    assert_eq!(
        nodes[0],
        json!({ "__typename": "CheckRun", "conclusion": "EXPLODED" })
    );
    assert_eq!(nodes[1], json!({ "__typename": "QuantumCheck" }));
}

#[tokio::test]
async fn pages_join_without_a_gap_and_node_ids_lead_to_the_middle_of_things() {
    let replies = (0..130).map(|n| CommentSpec::new("grace", Association::Member, &format!("c{n}")));
    let mut thread = ThreadSpec::new("a.rs", CommentSpec::new("ada", Association::Contributor, "first"));
    for reply in replies {
        thread = thread.reply(reply);
    }
    let checks = (0..230).map(|n| CheckSpec::run(&format!("check {n}")));
    let served = world(PullSpec::new("o/r", 7).checks(checks).thread(thread))
        .serve()
        .await
        .unwrap();
    let document = "query($oid: GitObjectID!, $after: String) { repository(owner: \"O\", name: \"R\") {
        nameWithOwner object(oid: $oid) { ... on Commit { statusCheckRollup { contexts(first: 100, after: $after) {
            totalCount pageInfo { hasNextPage endCursor } nodes { ... on CheckRun { name } } } } } } } }";
    let first = query(
        &served,
        "{ repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { headRefOid
            reviewThreads(first: 1) { nodes { id comments(first: 100) { pageInfo { endCursor } } } } } } }",
        json!({}),
    )
    .await;
    let pull = &first["data"]["repository"]["pullRequest"];
    let (mut after, mut names) = (Value::Null, Vec::new());
    loop {
        let answer = query(
            &served,
            document,
            json!({ "oid": pull["headRefOid"], "after": after }),
        )
        .await;
        assert_eq!(
            answer["data"]["repository"]["nameWithOwner"], "o/r",
            "names are folded for case"
        );
        let page = &answer["data"]["repository"]["object"]["statusCheckRollup"]["contexts"];
        assert_eq!(page["totalCount"], 230);
        names.extend(
            page["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["name"].as_str().unwrap().to_owned()),
        );
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    assert_eq!(names, (0..230).map(|n| format!("check {n}")).collect::<Vec<_>>());

    let thread = &pull["reviewThreads"]["nodes"][0];
    let rest = query(
        &served,
        "query($id: ID!, $after: String) { node(id: $id) { ... on PullRequestReviewThread {
            comments(first: 100, after: $after) { nodes { body } pageInfo { hasNextPage hasPreviousPage } } } } }",
        json!({ "id": thread["id"], "after": thread["comments"]["pageInfo"]["endCursor"] }),
    )
    .await;
    let comments = &rest["data"]["node"]["comments"];
    assert_eq!(comments["nodes"].as_array().unwrap().len(), 31);
    assert_eq!(comments["nodes"][30]["body"], "c129");
    assert_eq!(
        comments["pageInfo"],
        json!({ "hasNextPage": false, "hasPreviousPage": true })
    );
}

#[test]
fn pages_from_the_end_and_cursors() {
    let comments =
        (0..5).map(|n| CommentSpec::new("g", Association::None, &n.to_string()).at(hours_ago(9 - n)));
    let world = world(PullSpec::new("o/r", 7).comments(comments));
    let bodies = |arguments: &str| {
        let pull = of_pull(
            &world,
            &format!(
                "comments({arguments}) {{ edges {{ cursor node {{ body }} }} pageInfo {{ startCursor }} }}"
            ),
        );
        let edges = pull["comments"]["edges"].as_array().unwrap().clone();
        let joined: String = edges
            .iter()
            .map(|edge| edge["node"]["body"].as_str().unwrap())
            .collect();
        (joined, pull["comments"]["pageInfo"]["startCursor"].clone(), edges)
    };
    let (last, start, edges) = bodies("last: 2");
    assert_eq!((last.as_str(), &start), ("34", &edges[0]["cursor"]));
    assert_eq!(bodies(&format!("last: 2, before: {start}")).0, "12");
    assert_eq!(bodies(&format!("first: 9, after: {start}")).0, "4");
    let refused = world.ask(
        "{ repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { comments(first: 1, after: \"zz\") { totalCount } } } }",
    );
    assert_eq!(refused["errors"][0]["type"], "INVALID_CURSOR_ARGUMENTS");
}

#[test]
fn an_item_that_goes_between_two_pages_takes_none_with_it() {
    let pulls = (1..=4).map(|n| PullSpec::new("o/r", n));
    let mut world = World::builder(NOW).pulls(pulls).build();
    let page = |world: &World, arguments: &str| {
        let answer = world.ask(&format!(
            "{{ repository(owner: \"o\", name: \"r\") {{ pullRequests({arguments}) {{
                nodes {{ number }} pageInfo {{ startCursor endCursor }} }} }} }}"
        ));
        let found = answer["data"]["repository"]["pullRequests"].clone();
        let numbers: Vec<u64> = found["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["number"].as_u64().unwrap())
            .collect();
        (numbers, found["pageInfo"].clone())
    };
    let (_, first) = page(&world, "first: 1");
    let (_, two) = page(&world, "first: 2");
    let (_, last) = page(&world, "last: 1");
    world.remove_pull(("o/r", 1)).unwrap();
    assert_eq!(
        page(&world, &format!("first: 9, after: {}", first["endCursor"])).0,
        [2, 3, 4],
        "the cursor's own is gone"
    );
    assert_eq!(
        page(&world, &format!("first: 9, after: {}", two["endCursor"])).0,
        [3, 4],
        "another one is gone"
    );
    world.remove_pull(("o/r", 4)).unwrap();
    assert_eq!(
        page(&world, &format!("last: 9, before: {}", last["startCursor"])).0,
        [2, 3]
    );
}

#[test]
fn arguments_leave_out_and_put_in_order() {
    let world = World::builder(NOW)
        .pull(
            PullSpec::new("o/r", 7)
                .label("bug")
                .created(days_ago(1))
                .check(CheckSpec::run("build").failure())
                .check(CheckSpec::run("lint"))
                .check(CheckSpec::run("patch").app("codecov").in_progress())
                .review(ReviewSpec::approved("grace"))
                .review(ReviewSpec::commented("edith", "hm"))
                .review_request(Who::Team("maintainers".to_owned())),
        )
        .pull(
            PullSpec::new("o/r", 8)
                .created(days_ago(9))
                .base("stable")
                .closed(days_ago(2)),
        )
        .build();
    let count = |call: &str| {
        let pull = of_pull(&world, &format!("{call} {{ totalCount }}"));
        pull.as_object().unwrap().values().next().unwrap()["totalCount"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(count("reviews(first: 9, states: [APPROVED, DISMISSED])"), 1);
    assert_eq!(count("reviews(first: 9, author: \"Edith\")"), 1);
    assert_eq!(
        count("timelineItems(first: 9, since: \"2026-05-14T16:00:00Z\")"),
        2
    );
    let suites = of_pull(
        &world,
        "commits(last: 1) { nodes { commit {
            actions: checkSuites(first: 9, filterBy: { appId: 15368 }) { totalCount nodes {
                checkRuns(first: 9, filterBy: { conclusions: [FAILURE] }) { nodes { name } } } }
            named: checkSuites(first: 9, filterBy: { checkName: \"patch\" }) { totalCount nodes {
                checkRuns(first: 9, filterBy: { statuses: [QUEUED, IN_PROGRESS] }) { totalCount } } } } } }
         reviewRequests(first: 1) { nodes { requestedReviewer { __typename ... on Team { slug } } } }",
    );
    assert_eq!(
        suites["commits"]["nodes"][0]["commit"],
        json!({
            "actions": { "totalCount": 1, "nodes": [{ "checkRuns": { "nodes": [{ "name": "build" }] } }] },
            "named": { "totalCount": 1, "nodes": [{ "checkRuns": { "totalCount": 1 } }] },
        })
    );
    assert_eq!(
        suites["reviewRequests"]["nodes"][0]["requestedReviewer"],
        json!({ "__typename": "Team", "slug": "maintainers" })
    );
    let numbers = |arguments: &str| {
        let answer = world.ask(&format!(
            "{{ repository(owner: \"o\", name: \"r\") {{ pullRequests(first: 9, {arguments}) {{ nodes {{ number }} }} }} }}"
        ));
        let nodes = answer["data"]["repository"]["pullRequests"]["nodes"]
            .as_array()
            .unwrap()
            .clone();
        nodes
            .iter()
            .map(|it| it["number"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers("states: OPEN"), [7]);
    assert_eq!(numbers("labels: [\"bug\"]"), [7]);
    assert_eq!(numbers("baseRefName: \"stable\""), [8]);
    assert_eq!(numbers("headRefName: \"change-8\""), [8]);
    assert_eq!(numbers("orderBy: { field: CREATED_AT, direction: ASC }"), [8, 7]);
    assert_eq!(numbers("orderBy: { field: UPDATED_AT, direction: DESC }"), [7, 8]);
}

#[test]
fn refusals_read_as_githubs() {
    let world = world(PullSpec::new("o/r", 7));
    let error = |document: &str| {
        let answer = world.ask(document);
        (answer["errors"][0].clone(), answer.get("data").cloned())
    };
    let (missing, data) = error("{ repository(owner: \"o\", name: \"nope\") { id } }");
    assert_eq!(missing["type"], "NOT_FOUND");
    assert_eq!(missing["path"], json!(["repository"]));
    assert_eq!(
        missing["message"],
        "Could not resolve to a Repository with the name 'o/nope'."
    );
    assert_eq!(data, Some(json!({ "repository": null })));
    let (missing, data) =
        error("{ repository(owner: \"o\", name: \"r\") { name p: pullRequest(number: 8) { id } } }");
    assert_eq!(
        missing["message"],
        "Could not resolve to a PullRequest with the number of 8."
    );
    assert_eq!(data, Some(json!({ "repository": { "name": "r", "p": null } })));

    let (large, data) =
        error("{ repository(owner: \"o\", name: \"r\") { pullRequests(first: 101) { totalCount } } }");
    assert_eq!(large["type"], "EXCESSIVE_PAGINATION");
    assert_eq!(
        large["message"],
        "Requesting 101 records on the `pullRequests` connection exceeds the `first` limit of 100 records."
    );
    assert_eq!(data, None);
    let (unbounded, _) = error("{ repository(owner: \"o\", name: \"r\") { pullRequests { totalCount } } }");
    assert_eq!(unbounded["type"], "MISSING_PAGINATION_BOUNDARIES");
    let (huge, _) = error(
        "{ repository(owner: \"o\", name: \"r\") { pullRequests(first: 100) { nodes { comments(first: 100) { totalCount }
            reviewThreads(first: 100) { nodes { comments(first: 100) { totalCount } } } } } } }",
    );
    assert_eq!(huge["type"], "MAX_NODE_LIMIT_EXCEEDED");
    assert_eq!(
        huge["message"],
        "This query requests up to 1,020,100 possible nodes which exceeds the maximum limit of 500,000."
    );
    let (unknown, data) = error("{ repository(owner: \"o\", name: \"r\") { name nonsense } }");
    assert!(
        unknown["message"].as_str().unwrap().contains("nonsense"),
        "{unknown}"
    );
    assert_eq!(unknown["locations"], json!([{ "line": 1, "column": 44 }]));
    assert_eq!(data, None);
    let (broken, _) = error("{ repository(");
    assert!(broken["message"].is_string());
    let (write, data) =
        error("mutation { addComment(input: {subjectId: \"x\", body: \"y\"}) { clientMutationId } }");
    assert_eq!((&write["type"], data), (&json!("FORBIDDEN"), None));
}

#[test]
fn the_search_finds_by_its_index_and_not_by_the_object() {
    let world = World::builder(NOW)
        .viewer("ada")
        .repo(RepoSpec::new("old/attic").archived())
        .repo(RepoSpec::new("new/name").renamed_from("former/name"))
        .pull(PullSpec::new("o/r", 1).created(days_ago(9)))
        .pull(PullSpec::new("o/r", 2).created(days_ago(8)).draft())
        .pull(PullSpec::new("o/r", 3).author("grace"))
        .pull(PullSpec::new("o/r", 4).merged(days_ago(1)))
        .pull(
            PullSpec::new("o/r", 5)
                .created(days_ago(7))
                .closed(days_ago(1))
                .search_says("OPEN"),
        )
        .pull(PullSpec::new("old/attic", 6).created(days_ago(6)))
        .pull(PullSpec::new("new/name", 7).created(days_ago(5)))
        .build();
    let numbers = |terms: &str| {
        let answer = world.ask(&format!(
            "{{ search(type: ISSUE, first: 50, query: {terms:?}) {{ issueCount nodes {{ ... on PullRequest {{ number }} }} }} }}"
        ));
        let nodes = answer["data"]["search"]["nodes"].as_array().unwrap().clone();
        assert_eq!(answer["data"]["search"]["issueCount"], nodes.len());
        nodes
            .iter()
            .map(|node| node["number"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers("is:pr is:open author:ada"), [7, 6, 5, 2, 1]);
    assert_eq!(numbers("is:pr is:open author:@me archived:false"), [7, 5, 2, 1]);
    assert_eq!(
        numbers("is:pr state:open author:ADA repo:o/R draft:false sort:updated-desc"),
        [5, 1]
    );
    assert_eq!(numbers("is:pr is:merged"), [4]);
    assert_eq!(numbers("is:open -author:ada"), [3]);
    assert_eq!(numbers("repo:former/name"), [7]);
    assert_eq!(numbers("\"change 6\""), [6]);
    assert_eq!(numbers("is:pr user:new"), [7]);
}

#[test]
fn a_renamed_repository_answers_under_its_old_name() {
    let mut world = world(PullSpec::new("o/r", 7));
    world.rename("o/r", "p/s").unwrap();
    let answer = world.ask(
        "{ repository(owner: \"O\", name: \"r\") { nameWithOwner owner { login } pullRequest(number: 7) { number } } }",
    );
    assert_eq!(
        answer["data"]["repository"],
        json!({ "nameWithOwner": "p/s", "owner": { "login": "p" }, "pullRequest": { "number": 7 } })
    );
    let strict = world.ask("{ repository(owner: \"o\", name: \"r\", followRenames: false) { id } }");
    assert_eq!(strict["errors"][0]["type"], "NOT_FOUND");
    assert!(world.rename("nope/nope", "x/y").is_err());
}

#[test]
fn a_world_moves() {
    use world::CommitSpec;
    let mut world = world(PullSpec::new("o/r", 7).check(CheckSpec::run("build")));
    let fields = "state merged headRefOid updatedAt statusCheckRollup { state } comments(first: 5) { totalCount }
        commits(first: 5) { totalCount } timelineItems(first: 9, itemTypes: [HEAD_REF_FORCE_PUSHED_EVENT]) { totalCount }
        commitsByTime: timelineItems(first: 9) { nodes { __typename } }";
    let before = of_pull(&world, fields);
    world.push(("o/r", 7), CommitSpec::at(hours_ago(0))).unwrap();
    let pushed = of_pull(&world, fields);
    assert_ne!(pushed["headRefOid"], before["headRefOid"]);
    assert_eq!(
        (&pushed["statusCheckRollup"], &pushed["updatedAt"]),
        (&Value::Null, &json!(NOW))
    );
    assert_eq!(pushed["commits"]["totalCount"], 2);
    world
        .force_push(("o/r", 7), CommitSpec::at(hours_ago(0)))
        .unwrap();
    world
        .comment(("o/r", 7), CommentSpec::new("grace", Association::Member, "hm"))
        .unwrap();
    world
        .check(("o/r", 7), CheckSpec::run("build").failure())
        .unwrap();
    world.merge(("o/r", 7)).unwrap();
    let after = of_pull(&world, fields);
    assert_eq!(after["commits"]["totalCount"], 2);
    assert_eq!(after["timelineItems"]["totalCount"], 1);
    assert_eq!(after["comments"]["totalCount"], 1);
    assert_eq!(after["statusCheckRollup"]["state"], "FAILURE");
    assert_eq!(
        (&after["state"], &after["merged"]),
        (&json!("MERGED"), &json!(true))
    );
    world.remove_pull(("o/r", 7)).unwrap();
    assert_eq!(
        world.merge(("o/r", 7)).unwrap_err().to_string(),
        "this world has no pull request o/r#7"
    );
}
