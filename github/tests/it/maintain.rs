//! What is read for a maintainer.

use github::{Allowance, HeadsRead, PullsRead, ReadError, Reader};
use pulls::facts::{Check, PullState};
use pulls::upkeep::EventKind;
use pulls::{PrRef, RepoName};
use world::{
    Association, CheckSpec, CommentSpec, CommitSpec, Fault, PullSpec, RepoSpec, ReviewSpec, Served,
    ThreadSpec, Who, days_ago, hours_ago,
};

use crate::{numbers, reader, refs, skipped, world};

async fn maintained(reader: &Reader, refs: &[PrRef]) -> PullsRead {
    reader.maintained(refs, &Allowance::unlimited(), &|_| {}).await
}

async fn heads(reader: &Reader, refs: &[PrRef]) -> HeadsRead {
    reader.heads(refs, &Allowance::unlimited()).await
}

fn free() -> Allowance {
    Allowance::unlimited()
}

fn repo() -> RepoName {
    "o/r".parse().unwrap()
}

async fn served(pulls: impl IntoIterator<Item = PullSpec>) -> Served {
    world().pulls(pulls).build().serve().await.unwrap()
}

fn points(reader: &Reader) -> u64 {
    reader.budget().unwrap().spent
}

/// A pull request with lists as an ordinary one has them.
fn medium(n: u32) -> PullSpec {
    let mut pull = PullSpec::new("o/r", n)
        .author("heron")
        .checks((0..12).map(|n| CheckSpec::run(&format!("check {n}"))))
        .comments((0..4).map(|n| CommentSpec::new("mia", Association::Member, &format!("comment {n}"))));
    for _ in 0..3 {
        pull = pull.review(ReviewSpec::commented("mia", "so"));
    }
    for _ in 0..2 {
        let said = CommentSpec::new("mia", Association::Member, "Why?");
        pull = pull.thread(ThreadSpec::new("a.rs", said));
    }
    pull
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_repository_is_listed_and_read_in_eighty_requests() {
    let served = served((1..=1_236).map(medium)).await;
    let reader = reader(&served);
    let open = reader.open_pulls_of(&repo(), &free()).await.unwrap();
    assert_eq!(open.len(), 1_236);
    assert_eq!(reader.requests().total, 13);
    let got = maintained(&reader, &open).await;
    assert_eq!(got.found.len(), 1_236);
    assert_eq!((reader.requests().total, skipped(&got)), (63, vec![]));
    assert!(points(&reader) < 1_000, "{} points", points(&reader));
    assert!(served.max_in_flight() <= 5);

    let before = (reader.requests().total, points(&reader));
    let polled = heads(&reader, &open).await;
    assert_eq!(polled.found.len(), 1_236);
    assert_eq!(reader.requests().total - before.0, 13);
    assert!(points(&reader) - before.1 < 300);
    assert!(served.writes().is_empty());
}

#[tokio::test]
async fn open_pulls_of_a_repository_come_under_its_name_of_now() {
    let renamed = RepoSpec::new("o/new").renamed_from("o/old");
    let pulls = [
        PullSpec::new("o/new", 1).created(days_ago(3)),
        PullSpec::new("o/new", 2).created(days_ago(9)),
        PullSpec::new("o/new", 3).merged(hours_ago(1)),
        PullSpec::new("o/new", 4).draft().created(days_ago(1)),
        PullSpec::new("o/other", 5),
    ];
    let served = world().repo(renamed).pulls(pulls).build().serve().await.unwrap();
    let reader = reader(&served);
    let open = reader
        .open_pulls_of(&"o/old".parse().unwrap(), &free())
        .await
        .unwrap();
    let mut names: Vec<String> = open.iter().map(ToString::to_string).collect();
    names.sort_unstable();
    assert_eq!(names, ["o/new#1", "o/new#2", "o/new#4"]);
    let none = reader.open_pulls_of(&"o/none".parse().unwrap(), &free()).await;
    assert_eq!(none, Err(ReadError::NoRepository("o/none".parse().unwrap())));
}

#[tokio::test]
async fn what_changed_is_one_request_and_tells_what_ended_too() {
    let pulls = (1..=250).map(|n| {
        let pull = PullSpec::new("o/r", n)
            .created(days_ago(30))
            .updated(hours_ago(i64::from(n)));
        if n == 2 { pull.closed(hours_ago(2)) } else { pull }
    });
    let served = served(pulls).await;
    let reader = reader(&served);
    let now = served.look(|world| world.now());
    let since = |hours: i64| now - chrono::TimeDelta::hours(hours);
    let few = reader.touched(&repo(), since(3), &free()).await.unwrap();
    let told: Vec<(u32, PullState)> = few
        .touched
        .iter()
        .map(|touched| (touched.at.number.get(), touched.state.clone()))
        .collect();
    assert_eq!(
        told,
        [(1, PullState::Open), (2, PullState::Closed), (3, PullState::Open)]
    );
    assert!(few.is_whole);
    assert_eq!(few.touched[0].updated_at, since(1));
    assert_eq!(reader.requests().total, 1);
    let many = reader.touched(&repo(), since(150), &free()).await.unwrap();
    assert_eq!((many.touched.len(), many.is_whole), (150, true));
    assert_eq!(reader.requests().total, 3);
    let all = reader.touched(&repo(), since(9_999), &free()).await.unwrap();
    assert_eq!((all.touched.len(), all.is_whole), (250, true));
}

#[tokio::test]
async fn more_changes_than_twenty_pages_hold_are_told_not_to_be_all() {
    let served = served((1..=2_001).map(|n| PullSpec::new("o/r", n))).await;
    let reader = reader(&served);
    let since = served.look(|world| world.now()) - chrono::TimeDelta::days(99);
    let many = reader.touched(&repo(), since, &free()).await.unwrap();
    assert_eq!((many.touched.len(), many.is_whole), (2_000, false));
    assert_eq!(reader.requests().total, 20);
}

#[tokio::test]
async fn a_list_with_a_hole_is_no_list() {
    let served = served((1..=3).map(|n| PullSpec::new("o/r", n))).await;
    served.faults().add(Fault::field_error(
        "Repository.pullRequests",
        Some("FORBIDDEN"),
        "not yours",
    ));
    let reader = reader(&served);
    let error = reader.open_pulls_of(&repo(), &free()).await.unwrap_err();
    assert_eq!(error.to_string(), "no access: not yours");
}

#[tokio::test]
async fn heads_say_what_moves_without_a_trace() {
    let pulls = [
        PullSpec::new("o/r", 1)
            .check(CheckSpec::run("build").in_progress())
            .mergeable("UNKNOWN"),
        PullSpec::new("o/r", 2).in_merge_queue(4),
        PullSpec::new("o/r", 3).merged(hours_ago(1)),
    ];
    let served = served(pulls).await;
    let reader = reader(&served);
    let got = heads(&reader, &refs("o/r", 1..=4)).await;
    let [first, queued, merged] = &got.found[..] else {
        panic!("{got:?}")
    };
    assert_eq!(first.mergeable, pulls::facts::Mergeable::Unknown);
    let Some([Check::Run(run)]) = first.checks.contexts.as_deref() else {
        panic!("{first:?}")
    };
    assert_eq!(
        (run.conclusion.as_ref(), run.suite),
        (None, Some(first.checks.suites[0].id))
    );
    assert_eq!(queued.merge_queue_position, Some(4));
    assert_eq!(merged.state, PullState::Merged);
    assert_eq!(got.skipped.len(), 1);
    assert_eq!(got.skipped[0].error.to_string(), "no pull request o/r#4");
    assert_eq!(reader.requests().total, 1);
}

#[tokio::test]
async fn further_pages_of_every_list_are_read() {
    let said = |n: usize| CommentSpec::new("mia", Association::Member, &format!("comment {n}"));
    let mut pull = PullSpec::new("o/r", 1)
        .comments((0..130).map(said))
        .checks((0..130).map(|n| CheckSpec::run(&format!("check {n}")).workflow(&format!("workflow {n}"))));
    for n in 0..40 {
        let mut thread = ThreadSpec::new("a.rs", said(n));
        for n in 0..15 {
            thread = thread.reply(said(n));
        }
        pull = pull.thread(thread);
    }
    let served = served([pull]).await;
    let reader = reader(&served);
    let got = maintained(&reader, &refs("o/r", [1])).await;
    assert_eq!(skipped(&got), []);
    let facts = &got.found[0];
    assert_eq!(facts.comments.len(), 130);
    assert_eq!(facts.threads.len(), 40);
    assert!(
        facts.threads.iter().all(|thread| thread.comments.len() == 10),
        "the newest"
    );
    assert_eq!(facts.threads[0].comments[9].comment.body, "comment 14");
    assert_eq!(facts.checks.contexts.as_ref().unwrap().len(), 130);
    assert_eq!(facts.checks.suites.len(), 130);
    assert!(facts.closes.is_empty() && facts.behind_by.is_none());
    assert!(facts.upkeep.is_some());
    // All of one kind in one document with the others; the suites have a third page.
    assert_eq!(reader.requests().total, 3);
    let polled = heads(&reader, &refs("o/r", [1])).await;
    assert_eq!(polled.found[0].checks.suites.len(), 130);
    assert_eq!(polled.found[0].checks, facts.checks);
}

#[tokio::test]
async fn labels_and_events_tell_by_whom() {
    let pull = PullSpec::new("o/r", 1)
        .author("heron")
        .label("bug")
        .label("size/L")
        .force_pushed(hours_ago(5))
        .event("ReadyForReviewEvent", hours_ago(3))
        .event("ConvertToDraftEvent", hours_ago(4));
    let served = served([pull]).await;
    let got = maintained(&reader(&served), &refs("o/r", [1])).await;
    let upkeep = got.found[0].upkeep.as_ref().unwrap();
    assert_eq!(upkeep.labels, ["bug", "size/L"]);
    let kinds: Vec<&EventKind> = upkeep.events.iter().map(|event| &event.kind).collect();
    assert_eq!(
        kinds,
        [
            &EventKind::ForcePushed,
            &EventKind::ConvertedToDraft,
            &EventKind::ReadyForReview
        ]
    );
    assert_eq!(upkeep.events[0].by.as_ref().unwrap().login.as_str(), "heron");
    assert_eq!(upkeep.closing, None);
    assert_eq!(got.found[0].head.last_force_push_at, Some(upkeep.events[0].at));
}

#[tokio::test]
async fn a_batch_that_is_too_much_is_read_in_smaller_parts() {
    let served = served((1..=25).map(medium)).await;
    served.faults().add(Fault::status(502).on_batches_over(6));
    served.faults().add(Fault::status(502).on_pull(("o/r", 11)));
    let reader = reader(&served);
    let got = maintained(&reader, &refs("o/r", 1..=25)).await;
    assert_eq!(got.found.len(), 24, "{:?}", skipped(&got));
    assert_eq!(got.skipped[0].at.number.get(), 11);
    let polled = heads(&reader, &refs("o/r", 1..=25)).await;
    assert_eq!(polled.found.len(), 24);
    assert_eq!(polled.stopped, None);
}

#[tokio::test]
async fn a_pull_request_with_an_error_is_skipped_alone() {
    let served = served((1..=3).map(medium)).await;
    served
        .faults()
        .add(Fault::field_error("PullRequest.labels", Some("FORBIDDEN"), "not yours").on_pull(("o/r", 2)));
    let reader = reader(&served);
    let got = maintained(&reader, &refs("o/r", 1..=3)).await;
    assert_eq!(numbers(&got), [1, 3]);
    assert_eq!(skipped(&got), [(2, "no access: not yours".to_owned())]);
}

#[tokio::test]
async fn what_no_request_is_left_for_is_left() {
    let served = served((1..=60).map(|n| PullSpec::new("o/r", n))).await;
    let reader = reader(&served);
    let allowance = Allowance::of(2);
    let got = reader.maintained(&refs("o/r", 1..=60), &allowance, &|_| {}).await;
    assert_eq!(got.found.len(), 50);
    assert_eq!(got.left, refs("o/r", 51..=60));
    assert_eq!((skipped(&got), got.stopped), (vec![], None));
    assert_eq!((reader.requests().total, allowance.left()), (2, 0));
    let none = reader.heads(&refs("o/r", 1..=2), &allowance).await;
    assert_eq!(none.left, refs("o/r", 1..=2));
    assert_eq!((none.found.len(), none.stopped), (0, None));
    assert_eq!(reader.requests().total, 2, "nothing more was sent");
}

#[tokio::test]
async fn what_is_about_one_thing_fails_where_no_request_is_left() {
    let served = served((1..=101).map(|n| PullSpec::new("o/r", n))).await;
    let reader = reader(&served);
    let allowance = Allowance::of(1);
    let spent = Err(ReadError::Spent { of: 1 });
    assert_eq!(reader.open_pulls_of(&repo(), &allowance).await, spent);
    assert!(allowance.is_exhausted());
    let later = served.look(|world| world.now());
    assert_eq!(
        reader.touched(&repo(), later, &allowance).await.unwrap_err(),
        ReadError::Spent { of: 1 }
    );
    let facts = reader.repository_facts(&repo(), &allowance).await;
    assert_eq!(facts, Err(ReadError::Spent { of: 1 }));
    let branch = reader.branch(&repo(), "main", &Allowance::of(3)).await;
    assert_eq!(branch, Err(ReadError::Spent { of: 3 }));
    assert_eq!(reader.requests().total, 1 + 3);
}

#[tokio::test]
async fn an_app_is_known_by_its_status_too() {
    let pull = PullSpec::new("o/r", 1)
        .check(CheckSpec::status("legacy").by("mia"))
        .check(CheckSpec::status("external").by(Who::bot("status-bot")));
    let served = served([pull]).await;
    let got = maintained(&reader(&served), &refs("o/r", [1])).await;
    let apps: Vec<bool> = got.found[0]
        .checks
        .contexts
        .iter()
        .flatten()
        .map(|check| matches!(check, Check::Status(status) if status.app.is_some()))
        .collect();
    assert_eq!(apps, [false, true]);
}

#[tokio::test]
async fn what_was_begun_goes_first_where_few_requests_are_left() {
    let long = |n: u32| {
        (0..101).fold(PullSpec::new("o/r", n), |pull, _| {
            pull.comment(CommentSpec::new("mia", Association::Member, "so"))
        })
    };
    let served = served((1..=100).map(|n| if n <= 2 { long(n) } else { PullSpec::new("o/r", n) })).await;
    let mut limits = crate::limits();
    limits.in_flight = 1;
    let reader = crate::reader_with(&served, limits);
    let got = reader
        .maintained(&refs("o/r", 1..=100), &Allowance::of(2), &|_| {})
        .await;
    assert_eq!(numbers(&got), (1..=25).collect::<Vec<_>>());
    assert_eq!(got.left.len(), 75);
}

#[tokio::test]
async fn whose_the_commits_are() {
    let pull = PullSpec::new("o/r", 1).head(CommitSpec::at(hours_ago(2)));
    let served = served([pull]).await;
    let got = maintained(&reader(&served), &refs("o/r", [1])).await;
    let commits = &got.found[0].upkeep.as_ref().unwrap().commits;
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].at, got.found[0].head.committed_at);
}
