//! What a branch asks for, over REST, for whoever may know and for whoever may not.

use serde_json::{Value, json};
use world::{BranchSpec, CheckSpec, PullSpec, RepoSpec, Served, World};

use crate::client::{get, query};

async fn served(repo: RepoSpec) -> Served {
    let world = World::builder("2026-05-14T17:45:00Z").repo(repo).build();
    world.serve().await.expect("loopback has a free port")
}

fn asking() -> BranchSpec {
    BranchSpec::new("main")
        .requires("build", Some(15_368))
        .requires("legacy", None)
        .ruleset("lint", Some(77))
        .ruleset("docs", None)
}

struct Case {
    name: &'static str,
    repo: RepoSpec,
    branch: &'static str,
    /// Status of the branch, its protection, the required checks of that, the rules.
    statuses: [u16; 4],
    message: &'static str,
}

fn cases() -> Vec<Case> {
    let repo = || RepoSpec::new("o/r");
    vec![
        Case {
            name: "an administrator reads all of it",
            repo: repo().administered().branch(asking()),
            branch: "main",
            statuses: [200, 200, 200, 200],
            message: "",
        },
        Case {
            name: "whoever may only write is not told that there is protection",
            repo: repo().branch(asking()),
            branch: "main",
            statuses: [200, 404, 404, 200],
            message: "Not Found",
        },
        Case {
            name: "an app without the permission is refused",
            repo: repo().branch(asking().protection_refused(403).ruleset_refused(403)),
            branch: "main",
            statuses: [200, 403, 403, 403],
            message: "Resource not accessible by integration",
        },
        Case {
            name: "nothing answers",
            repo: repo().branch(
                asking()
                    .protection_refused(403)
                    .ruleset_refused(404)
                    .branch_refused(403),
            ),
            branch: "main",
            statuses: [403, 403, 403, 404],
            message: "Resource not accessible by integration",
        },
        Case {
            name: "a branch that is not protected",
            repo: repo().administered(),
            branch: "main",
            statuses: [200, 404, 404, 200],
            message: "Branch not protected",
        },
        Case {
            name: "protection without required checks",
            repo: repo().administered().branch(BranchSpec::new("main").protected()),
            branch: "main",
            statuses: [200, 200, 404, 200],
            message: "Required status checks not enabled",
        },
        Case {
            name: "a branch that is not there",
            repo: repo().administered(),
            branch: "gone",
            statuses: [404, 404, 404, 200],
            message: "Branch not found",
        },
        Case {
            name: "a branch with a slash and a per cent sign",
            repo: repo()
                .administered()
                .branch(BranchSpec::new("feature/50%").requires("build", None)),
            branch: "feature%2F50%25",
            statuses: [200, 200, 200, 200],
            message: "",
        },
    ]
}

#[tokio::test]
async fn who_may_read_what_a_branch_asks_for() {
    for case in cases() {
        let served = served(case.repo).await;
        let paths = [
            format!("/repos/o/r/branches/{}", case.branch),
            format!("/repos/o/r/branches/{}/protection", case.branch),
            format!(
                "/repos/o/r/branches/{}/protection/required_status_checks",
                case.branch
            ),
            format!("/repos/o/r/rules/branches/{}", case.branch),
        ];
        let mut statuses = Vec::new();
        for path in &paths {
            statuses.push(get(&served, path).await.unwrap().status);
        }
        assert_eq!(statuses, case.statuses, "{}", case.name);
        let checks = get(&served, &paths[2]).await.unwrap().json();
        assert_eq!(
            checks["message"].as_str().unwrap_or_default(),
            case.message,
            "{}",
            case.name
        );
        assert!(served.writes().is_empty());
    }
}

#[tokio::test]
async fn each_of_the_three_says_it_in_its_own_shape() {
    let served = served(RepoSpec::new("o/r").administered().branch(asking().other_rules())).await;
    let branch = get(&served, "/repos/o/r/branches/main").await.unwrap().json();
    let checks = json!([{ "context": "build", "app_id": 15_368 }, { "context": "legacy", "app_id": null }]);
    assert_eq!(
        (&branch["name"], &branch["protected"]),
        (&json!("main"), &json!(true))
    );
    assert_eq!(branch["protection"]["required_status_checks"]["checks"], checks);
    assert_eq!(branch["commit"]["sha"].as_str().map(str::len), Some(40));
    let policy = get(
        &served,
        "/repos/o/r/branches/main/protection/required_status_checks",
    );
    let policy = policy.await.unwrap().json();
    assert_eq!(
        (&policy["checks"], &policy["contexts"]),
        (&checks, &json!(["build", "legacy"]))
    );
    let whole = get(&served, "/repos/o/r/branches/main/protection")
        .await
        .unwrap()
        .json();
    assert_eq!(whole["required_status_checks"], policy);
    let rules = get(&served, "/repos/o/r/rules/branches/main")
        .await
        .unwrap()
        .json();
    let of_checks = |rule: &&Value| rule["type"] == "required_status_checks";
    let rule = rules.as_array().unwrap().iter().find(of_checks).unwrap();
    let listed = json!([{ "context": "lint", "integration_id": 77 }, { "context": "docs" }]);
    assert_eq!(rule["parameters"]["required_status_checks"], listed);

    let first = get(&served, "/repos/o/r/rules/branches/main?per_page=3")
        .await
        .unwrap();
    let next = first
        .header("link")
        .and_then(|link| link.split(['<', '>']).nth(1))
        .unwrap();
    let next = next.strip_prefix(&served.api_url()).unwrap();
    let second = get(&served, next).await.unwrap();
    assert_eq!(
        (first.json().as_array().unwrap().len(), second.header("link")),
        (3, None)
    );
    assert_eq!(second.json(), json!([rule]));
}

#[tokio::test]
async fn a_summary_may_say_no_more_than_that_there_is_protection() {
    let served = served(RepoSpec::new("o/r").branch(asking().bare_summary())).await;
    let branch = get(&served, "/repos/o/r/branches/main").await.unwrap().json();
    assert_eq!(
        (&branch["protected"], branch.get("protection")),
        (&json!(true), None)
    );
}

#[tokio::test]
async fn a_renamed_repository_leads_to_its_branches() {
    let served = served(
        RepoSpec::new("o/new")
            .renamed_from("o/old")
            .branch(BranchSpec::new("a/b")),
    )
    .await;
    let moved = get(&served, "/repos/o/old/branches/a%2Fb").await.unwrap();
    assert_eq!(moved.status, 301);
    let target = moved
        .header("location")
        .unwrap()
        .strip_prefix(&served.api_url())
        .unwrap()
        .to_owned();
    assert_eq!(get(&served, &target).await.unwrap().json()["name"], "a/b");
}

#[tokio::test]
async fn files_and_the_checks_of_the_base() {
    let repo = RepoSpec::new("o/r")
        .default_branch("trunk")
        .codeowners("* @grace\n")
        .branch(BranchSpec::new("trunk").check(CheckSpec::run("build").failure()));
    let served = served(repo).await;
    let text = "query Q($e: String!) { repository(owner: \"o\", name: \"r\") { object(expression: $e) { __typename
        ... on Blob { text byteSize isBinary isTruncated } ... on Commit { oid } }
        defaultBranchRef { name target { ... on Commit { statusCheckRollup { state } checkSuites(first: 5) { nodes {
            databaseId app { databaseId } } } } } } } }";
    let answer = query(&served, text, json!({ "e": "HEAD:.github/CODEOWNERS" })).await;
    let repo = &answer["data"]["repository"];
    assert_eq!(
        (&repo["object"]["text"], &repo["object"]["byteSize"]),
        (&json!("* @grace\n"), &json!(9))
    );
    let target = &repo["defaultBranchRef"]["target"];
    assert_eq!(target["statusCheckRollup"]["state"], "FAILURE");
    assert!(
        target["checkSuites"]["nodes"][0]["databaseId"].is_u64(),
        "{answer}"
    );
    for (expression, kind) in [
        ("trunk:.github/CODEOWNERS", json!("Blob")),
        ("HEAD", json!("Commit")),
        ("HEAD:CODEOWNERS", Value::Null),
        ("nowhere:.github/CODEOWNERS", Value::Null),
    ] {
        let answer = query(&served, text, json!({ "e": expression })).await;
        assert_eq!(
            answer["data"]["repository"]["object"]["__typename"], kind,
            "{expression}"
        );
    }
    served
        .edit(|world| world.set_file("o/r", ".github/CODEOWNERS", None))
        .unwrap();
    let answer = query(&served, text, json!({ "e": "HEAD:.github/CODEOWNERS" })).await;
    assert_eq!(answer["data"]["repository"]["object"], Value::Null);
}

#[test]
fn a_required_check_that_has_not_passed_blocks_the_button() {
    let mut world = World::builder("2026-05-14T17:45:00Z")
        .repo(RepoSpec::new("o/r").branch(BranchSpec::new("main").ruleset("build", None)))
        .pull(PullSpec::new("o/r", 7))
        .build();
    let button = |world: &World| {
        let answer = world.ask(
            "{ repository(owner: \"o\", name: \"r\") { pullRequest(number: 7) { mergeStateStatus updatedAt } } }",
        );
        let pull = answer["data"]["repository"]["pullRequest"].clone();
        (pull["mergeStateStatus"].clone(), pull["updatedAt"].clone())
    };
    let (word, updated) = button(&world);
    assert_eq!(word, "BLOCKED", "nothing reported");
    let mut steps = Vec::new();
    let mut step = |world: &World| {
        let (word, now) = button(world);
        assert_eq!(now, updated, "no trace in updatedAt");
        steps.push(word.as_str().unwrap().to_owned());
    };
    world
        .check(("o/r", 7), CheckSpec::run("build").in_progress())
        .unwrap();
    step(&world);
    world.finish(("o/r", 7), "build", "SUCCESS").unwrap();
    step(&world);
    world
        .check(("o/r", 7), CheckSpec::status("other").failure())
        .unwrap();
    step(&world);
    world.finish(("o/r", 7), "other", "SUCCESS").unwrap();
    world.rerun(("o/r", 7), "build").unwrap();
    step(&world);
    world.finish(("o/r", 7), "build", "SKIPPED").unwrap();
    step(&world);
    world.mergeable(("o/r", 7), "CONFLICTING").unwrap();
    step(&world);
    world.mergeable(("o/r", 7), "UNKNOWN").unwrap();
    step(&world);
    let words = [
        "BLOCKED", "CLEAN", "UNSTABLE", "BLOCKED", "CLEAN", "DIRTY", "UNKNOWN",
    ];
    assert_eq!(steps, words);
    assert!(world.finish(("o/r", 7), "nothing", "SUCCESS").is_err());
}
