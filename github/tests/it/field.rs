//! What GitHub does to whoever reads a whole repository, by field case.

use github::{Allowance, PullsRead, ReadError, Reader};
use pulls::PrRef;
use pulls::facts::{Check, Conclusion, MergeState};
use pulls::upkeep::RequiredChecks;
use serde_json::{Value, json};
use std::time::Duration;
use world::{
    Association, BranchSpec, Canned, CheckSpec, CommentSpec, CommitSpec, Fault, PullSpec, RepoSpec, Served,
    ThreadSpec, Who, hours_ago, hours_ahead,
};

use crate::{limits, numbers, reader, reader_with, refs, skipped, world};

async fn served(pulls: impl IntoIterator<Item = PullSpec>) -> Served {
    world().pulls(pulls).build().serve().await.unwrap()
}

async fn maintained(reader: &Reader, refs: &[PrRef]) -> PullsRead {
    reader.maintained(refs, &Allowance::unlimited(), &|_| {}).await
}

fn free() -> Allowance {
    Allowance::unlimited()
}

#[tokio::test]
async fn b017_b061_every_check_and_every_unresolved_thread_counts() {
    let mut pull = PullSpec::new("o/r", 1)
        .checks((0..101).map(|n| CheckSpec::run(&format!("check {n}"))))
        .check(CheckSpec::run("the last").failure());
    for n in 0..130 {
        let said = CommentSpec::new("mia", Association::Member, "Why?");
        let thread = ThreadSpec::new("a.rs", said);
        pull = pull.thread(if n % 10 == 9 {
            thread
        } else {
            thread.resolved("mia")
        });
    }
    let served = served([pull]).await;
    let reader = reader(&served);
    let got = maintained(&reader, &refs("o/r", [1])).await;
    let facts = &got.found[0];
    let unresolved = facts.threads.iter().filter(|thread| !thread.is_resolved);
    assert_eq!((facts.threads.len(), unresolved.count()), (130, 13));
    let is_last_red = |checks: &Option<Vec<Check>>| {
        matches!(
            checks.as_ref().and_then(|checks| checks.last()),
            Some(Check::Run(run)) if run.conclusion == Some(Conclusion::Failure)
        )
    };
    assert!(is_last_red(&facts.checks.contexts));
    let polled = reader.heads(&refs("o/r", [1]), &free()).await;
    assert!(is_last_red(&polled.found[0].checks.contexts));

    // A page that fails takes the pull request with it: half of a list is no list.
    served.faults().add(
        Fault::field_error("PullRequest.reviewThreads", None, "Something went wrong").on_operation("Pages"),
    );
    let got = maintained(&reader, &refs("o/r", [1])).await;
    assert_eq!((numbers(&got), got.skipped.len()), (vec![], 1));
}

#[tokio::test]
async fn b029_b065_b080_what_is_odd_is_kept_as_it_is() {
    let pulls = [
        PullSpec::new("o/r", 1)
            .fork_deleted()
            .merge_state("SOMETHING_NEW"),
        PullSpec::new("o/r", 2)
            .author(Who::Deleted)
            .check(CheckSpec::unknown("QuantumCheck"))
            .event("SomethingNewEvent", hours_ago(1)),
    ];
    let served = world()
        .repo(RepoSpec::new("o/r").archived())
        .pulls(pulls)
        .build()
        .serve()
        .await
        .unwrap();
    let reader = reader(&served);
    let got = maintained(&reader, &refs("o/r", 1..=2)).await;
    assert_eq!((numbers(&got), skipped(&got)), (vec![1, 2], vec![]));
    let [first, second] = &got.found[..] else {
        panic!("{got:?}")
    };
    assert!(first.is_archived && first.head.repo.is_none());
    assert_eq!(first.merge_state, MergeState::from("SOMETHING_NEW".to_owned()));
    assert_eq!(second.author, None);
    let checks = second.checks.contexts.as_ref().unwrap();
    assert!(matches!(&checks[..], [Check::Unknown { typename }] if typename == "QuantumCheck"));
    assert_eq!(reader.heads(&refs("o/r", 1..=2), &free()).await.found.len(), 2);
}

/// GitHub lists 250 commits, so the last of the list may not be the head.
#[tokio::test]
async fn b075_the_head_counts_where_the_list_of_commits_ends_before_it() {
    let list_of = |head: CommitSpec, age: i64| {
        (1..300)
            .fold(PullSpec::new("o/r", 1).head(head), |pull, n| {
                pull.earlier(CommitSpec::at(hours_ago(age - n)))
            })
            .raw(|pull| {
                let commits = pull.get_mut("commits").and_then(Value::as_array_mut);
                commits.unwrap().truncate(250);
            })
    };
    let pushed = served([list_of(
        CommitSpec::at(hours_ago(2)).by(Who::bot("renovate")),
        1_000,
    )])
    .await;
    let reader_of_pushed = reader(&pushed);
    let got = maintained(&reader_of_pushed, &refs("o/r", [1])).await;
    let facts = &got.found[0];
    let commits = &facts.upkeep.as_ref().unwrap().commits;
    assert_eq!(commits.len(), 101, "the newest hundred of the list, and the head");
    assert_eq!(commits[100].at, facts.head.committed_at);
    assert_eq!(commits[100].by.as_ref().unwrap().login.as_str(), "renovate");
    assert!(commits.is_sorted_by_key(|commit| commit.at));
    assert_eq!(reader_of_pushed.requests().total, 2);

    // Of a head from the future the older ones tell when it was made, and they tell whose they are.
    let future = served([list_of(CommitSpec::at(hours_ahead(20_000)), 1_000)]).await;
    let got = maintained(&reader(&future), &refs("o/r", [1])).await;
    let upkeep = got.found[0].upkeep.as_ref().unwrap();
    assert_eq!(upkeep.commits.len(), 251);
    assert!(upkeep.commits.iter().all(|commit| commit.by.is_some()));
    assert!(upkeep.commits.is_sorted_by_key(|commit| commit.at));
}

#[tokio::test]
async fn b082_b108_a_branch_of_a_renamed_repository() {
    let spec = RepoSpec::new("o/new")
        .renamed_from("o/old")
        .branch(BranchSpec::new("fix#12/50%?").requires("build", None));
    let served = world().repo(spec).build().serve().await.unwrap();
    let asked = "o/old".parse().unwrap();
    let reader = reader(&served);
    let facts = reader.branch(&asked, "fix#12/50%?", &free()).await.unwrap();
    assert!(matches!(facts.required, RequiredChecks::Known(checks) if checks.len() == 1));
    assert_eq!(reader.requests().total, 4, "under its name of now");
    let paths: Vec<String> = served.log().iter().map(|logged| logged.path.clone()).collect();
    assert!(
        paths.contains(&"/repos/o/new/branches/fix%2312%2F50%25%3F".to_owned()),
        "{paths:?}"
    );
}

#[tokio::test]
async fn b108_a_redirect_leads_to_the_same_question_and_counts() {
    let rules = "/repos/o/r/rules/branches/main";
    let spec = RepoSpec::new("o/r").branch(BranchSpec::new("main").ruleset("lint", None));
    let served = world().repo(spec).build().serve().await.unwrap();
    let repo = "o/r".parse().unwrap();
    let moved = |to: &str| {
        let moved = Canned::json(301, &json!({"message": "Moved Permanently"})).header("location", to);
        Fault::answer(moved).on_path(rules).first(1)
    };
    let asked = async |to: &str, allowance: &Allowance| {
        served.faults().clear();
        served.faults().add(moved(to));
        reader(&served).branch(&repo, "main", allowance).await
    };
    let allowance = Allowance::of(5);
    let facts = asked(rules, &allowance).await.unwrap();
    assert!(matches!(facts.required, RequiredChecks::Known(checks) if checks.len() == 1));
    assert_eq!((allowance.left(), allowance.is_exhausted()), (0, false));
    let cut = asked(rules, &Allowance::of(4)).await;
    assert_eq!(cut, Err(ReadError::Spent { of: 4 }), "a redirect is a request");
    for elsewhere in [
        "/repos/o/r/rules/branches/other",
        "/repos/o/r/branches/main",
        "/repositories/1/rules/branches/main/x",
        "/rate_limit",
    ] {
        let error = asked(elsewhere, &free()).await.unwrap_err();
        assert!(
            matches!(error, ReadError::Redirect { .. }),
            "{elsewhere}: {error}"
        );
    }
}

#[tokio::test]
async fn b096_what_worked_for_a_repository_is_remembered() {
    let served = served((1..=50).map(|n| PullSpec::new("o/r", n))).await;
    served.faults().add(Fault::status(504).on_batches_over(7));
    let reader = reader(&served);
    let first = maintained(&reader, &refs("o/r", 1..=50)).await;
    assert_eq!(first.found.len(), 50);
    let before = reader.requests().total;
    let second = maintained(&reader, &refs("o/r", 1..=50)).await;
    assert_eq!(second.found.len(), 50);
    let sent = reader.requests().total - before;
    assert!(sent < before && sent <= 9, "{before}, then {sent}");
    // Heads are lighter, and have a size of their own.
    assert_eq!(reader.heads(&refs("o/r", 1..=50), &free()).await.found.len(), 50);
}

#[tokio::test]
async fn b098_single_sign_on_hides_one_and_not_the_others() {
    let served = served((1..=3).map(|n| PullSpec::new("o/r", n))).await;
    served
        .faults()
        .add(Fault::saml("Repository.pullRequest").on_pull(("o/r", 2)));
    let reader = reader(&served);
    let got = maintained(&reader, &refs("o/r", 1..=3)).await;
    assert_eq!((numbers(&got), got.stopped.clone()), (vec![1, 3], None));
    assert_eq!(skipped(&got), [(2, "no access: SSO".to_owned())]);
    let polled = reader.heads(&refs("o/r", 1..=3), &free()).await;
    assert_eq!((polled.found.len(), polled.skipped.len()), (2, 1));
}

#[tokio::test]
async fn b100_an_error_without_a_type_is_tried_once_more() {
    let served = served((1..=3).map(|n| PullSpec::new("o/r", n))).await;
    let fault = Fault::field_error("PullRequest.files", None, "Something went wrong");
    served.faults().add(fault.on_pull(("o/r", 2)).first(1));
    let got = maintained(&reader(&served), &refs("o/r", 1..=3)).await;
    assert_eq!((numbers(&got), skipped(&got)), (vec![1, 2, 3], vec![]));
}

#[tokio::test]
async fn b103_a_limit_is_waited_for_once_and_counts() {
    let served = served((1..=30).map(|n| PullSpec::new("o/r", n))).await;
    served
        .faults()
        .add(Fault::secondary_limit(Duration::from_secs(0)).first(1));
    let reader = reader(&served);
    let allowance = Allowance::of(10);
    let got = reader.maintained(&refs("o/r", 1..=30), &allowance, &|_| {}).await;
    assert_eq!((got.found.len(), got.stopped), (30, None));
    assert_eq!(u64::from(allowance.spent()), reader.requests().total);

    served
        .faults()
        .add(Fault::primary_limit_429(Duration::from_secs(3_000)));
    let got = reader.maintained(&refs("o/r", 1..=30), &allowance, &|_| {}).await;
    assert_eq!((got.found.len(), got.skipped.len(), got.left), (0, 30, vec![]));
    assert!(matches!(
        got.stopped,
        Some(ReadError::RateLimited { until: Some(_) })
    ));
    for error in [
        reader
            .open_pulls_of(&"o/r".parse().unwrap(), &allowance)
            .await
            .map(drop),
        reader
            .branch(&"o/r".parse().unwrap(), "main", &allowance)
            .await
            .map(drop),
    ] {
        assert!(matches!(error, Err(ReadError::RateLimited { .. })), "{error:?}");
    }
    assert_eq!(u64::from(allowance.spent()), reader.requests().total);
}

#[tokio::test]
async fn a_list_that_ends_short_is_read_once_more_and_then_none() {
    let served = served((1..=3).map(|n| PullSpec::new("o/r", n))).await;
    let short = |fault: fn(Fault) -> Fault| {
        let body = json!({"data": {
            "repository": {"nameWithOwner": "o/r", "isArchived": false, "pullRequests": {
                "totalCount": 3,
                "pageInfo": {"hasNextPage": false, "endCursor": "x"},
                "nodes": [{"number": 1, "updatedAt": "2026-05-14T17:00:00Z", "state": "OPEN"}, null],
            }},
            "rateLimit": {"cost": 1, "remaining": 9, "resetAt": "2026-05-14T18:00:00Z"},
        }});
        fault(Fault::answer(Canned::json(200, &body)))
    };
    let repo = "o/r".parse().unwrap();
    let reader = reader_with(&served, limits());
    served
        .faults()
        .add(short(|fault| fault.on_operation("OpenPullsOf").first(1)));
    let open = reader.open_pulls_of(&repo, &free()).await.unwrap();
    assert_eq!((open, reader.requests().total), (refs("o/r", 1..=3), 2));

    served.faults().add(short(|fault| fault));
    let error = reader.open_pulls_of(&repo, &free()).await.unwrap_err();
    assert_eq!(error.to_string(), "2 of 3 open pull requests could be read");
    let since = served.look(|world| world.now()) - chrono::TimeDelta::days(9);
    let touched = reader.touched(&repo, since, &free()).await.unwrap();
    assert!(!touched.is_whole, "{touched:?}");
}
