//! What is read of a pull request.

use github::Scope;
use pulls::facts::{
    AccountKind, Association, Check, CheckStatus, Conclusion, MergeState, Mergeable, PullState, ReviewState,
    StatusState,
};
use world::{
    Association as Stands, CheckSpec, ClosesSpec, CommentSpec, CommitSpec, PullSpec, RepoSpec, ReviewSpec,
    SuiteSpec, ThreadSpec, Who, hours_ago, hours_ahead,
};

use crate::{numbers, read, reader, refs, skipped, world};

#[tokio::test]
async fn every_field_of_a_busy_pull_request() {
    let pull = PullSpec::new("o/r", 7)
        .title("a title")
        .body("a body")
        .branch("feature")
        .from_fork_of("ada")
        .created("2026-05-10T08:00:00Z")
        .head(CommitSpec::at("2026-05-12T08:00:00Z"))
        .force_pushed("2026-05-12T09:00:00Z")
        .mergeable("CONFLICTING")
        .merge_state("DIRTY")
        .decision("CHANGES_REQUESTED")
        .behind(51)
        .in_merge_queue(2)
        .locked()
        .draft()
        .check(
            CheckSpec::run("build")
                .workflow("CI")
                .event("pull_request")
                .failure(),
        )
        .check(CheckSpec::run("later").queued())
        .check(CheckSpec::status("deploy").success().by(Who::bot("vercel")))
        .check(CheckSpec::unknown("QuantumCheck"))
        .suite(SuiteSpec::never_ran("dependabot"))
        .comment(CommentSpec::new(Who::user("mia"), Stands::Member, "why?").at("2026-05-13T08:00:00Z"))
        .comment(CommentSpec::new(Who::Deleted, Stands::None, "boo").minimized("spam"))
        .review(ReviewSpec::changes_requested("mia", "please").at("2026-05-13T09:00:00Z"))
        .review(ReviewSpec::new("mia", Stands::Collaborator, "MUSED", "hm").at("2026-05-13T09:30:00Z"))
        .review(ReviewSpec::commented("mia", "later").pending())
        .thread(
            ThreadSpec::new("src/a.rs", CommentSpec::new("mia", Stands::Owner, "here"))
                .reply(CommentSpec::new("ada", Stands::Contributor, "there"))
                .hunk("@@ -1 +1 @@"),
        )
        .thread(
            ThreadSpec::new("src/b.rs", CommentSpec::new("mia", Stands::Owner, "x"))
                .outdated()
                .resolved("mia"),
        )
        .closes(ClosesSpec::issue(3).closed_by(9, "2026-05-13T10:00:00Z"))
        .closes(ClosesSpec::issue(4).closed_by_commit("2026-05-13T10:00:00Z"))
        .closes(ClosesSpec::issue(5));
    let served = world().pull(pull).build().serve().await.unwrap();
    let got = read(&reader(&served), &refs("o/r", [7])).await;
    assert_eq!(skipped(&got), []);
    let facts = &got.found[0];

    assert_eq!(facts.at.to_string(), "o/r#7");
    assert_eq!((facts.title.as_str(), facts.body.as_str()), ("a title", "a body"));
    assert_eq!(facts.state, PullState::Open);
    assert!(facts.is_draft && facts.is_locked && !facts.is_archived);
    assert_eq!(facts.author.as_ref().unwrap().login.as_str(), "ada");
    assert_eq!(facts.head.branch, "feature");
    assert_eq!(facts.head.repo.as_ref().unwrap().owner(), "ada");
    assert_eq!(
        facts.head.committed_at,
        "2026-05-12T08:00:00Z".parse::<pulls::facts::Time>().unwrap()
    );
    assert_eq!(
        facts.head.last_force_push_at,
        Some("2026-05-12T09:00:00Z".parse().unwrap())
    );
    assert_eq!(facts.head.commit_dates, [facts.head.committed_at]);
    assert_eq!(facts.base.branch, "main");
    assert_eq!(
        (&facts.mergeable, &facts.merge_state),
        (&Mergeable::Conflicting, &MergeState::Dirty)
    );
    assert_eq!(
        facts.review_decision.as_ref().unwrap().as_str(),
        "CHANGES_REQUESTED"
    );
    assert_eq!((facts.behind_by, facts.merge_queue_position), (Some(51), Some(2)));

    let checks = facts.checks.contexts.as_ref().unwrap();
    let run = |name: &str| {
        checks
            .iter()
            .find_map(|check| match check {
                Check::Run(run) if run.name == name => Some(run),
                _ => None,
            })
            .unwrap()
    };
    let build = run("build");
    assert_eq!(
        (build.workflow.as_deref(), build.event.as_deref()),
        (Some("CI"), Some("pull_request"))
    );
    assert_eq!(
        (&build.status, &build.conclusion),
        (&CheckStatus::Completed, &Some(Conclusion::Failure))
    );
    assert!(build.id > 0 && build.app.is_some() && build.started_at.is_some());
    assert_eq!(
        (&run("later").status, &run("later").conclusion),
        (&CheckStatus::Queued, &None)
    );
    let status = checks
        .iter()
        .find_map(|check| match check {
            Check::Status(status) => Some(status),
            _ => None,
        })
        .unwrap();
    assert_eq!(
        (status.context.as_str(), &status.state),
        ("deploy", &StatusState::Success)
    );
    assert_eq!(status.creator.as_ref().unwrap().kind, AccountKind::Bot);
    assert!(checks.contains(&Check::Unknown {
        typename: "QuantumCheck".to_owned()
    }));
    assert!(facts.checks.suites.iter().any(|suite| suite.runs == 0));
    assert!(
        facts
            .checks
            .suites
            .iter()
            .any(|suite| suite.runs > 0 && suite.workflow.as_deref() == Some("CI"))
    );

    assert_eq!(facts.comments[0].association, Association::Member);
    assert_eq!(facts.comments[1].author, None);
    assert!(facts.comments[1].is_minimized);
    assert_eq!(facts.reviews[0].state, ReviewState::ChangesRequested);
    assert_eq!(facts.reviews[1].state, ReviewState::Other("MUSED".to_owned()));
    assert_eq!(
        (&facts.reviews[2].state, facts.reviews[2].submitted_at),
        (&ReviewState::Pending, None)
    );
    let [open, settled] = &facts.threads[..] else {
        panic!("{:?}", facts.threads)
    };
    assert_eq!(
        (open.path.as_str(), open.is_resolved, open.comments.len()),
        ("src/a.rs", false, 2)
    );
    assert_eq!(open.comments[0].diff_hunk, "@@ -1 +1 @@");
    assert_eq!(open.comments[0].made_on.as_ref(), Some(&facts.head.sha));
    assert!(settled.is_resolved && settled.is_outdated && settled.line.is_none());
    let closed_by: Vec<_> = facts
        .closes
        .iter()
        .map(|issue| {
            (
                issue.number.get(),
                issue.is_closed,
                issue.closed_by.as_ref().map(|by| by.at.to_string()),
            )
        })
        .collect();
    assert_eq!(
        closed_by,
        [
            (3, true, Some("o/r#9".to_owned())),
            (4, true, None),
            (5, false, None)
        ]
    );
    assert!(facts.closes[0].closed_by.as_ref().unwrap().merged_at.is_some());
}

#[tokio::test]
async fn what_is_not_there_is_none() {
    let pulls = [
        PullSpec::new("o/r", 1)
            .author(Who::Deleted)
            .fork_deleted()
            .behind_unknown()
            .decision(""),
        PullSpec::new("o/r", 2).empty_rollup(),
        PullSpec::new("o/r", 3).merged(hours_ago(1)),
        PullSpec::new("old/name", 4),
    ];
    let repo = RepoSpec::new("old/name").archived().renamed_from("older/name");
    let served = world().repo(repo).pulls(pulls).build().serve().await.unwrap();
    let mut asked = refs("o/r", [1, 2, 3]);
    asked.extend(refs("older/name", [4]));
    let got = read(&reader(&served), &asked).await;
    assert_eq!(skipped(&got), []);
    let [ghost, empty, merged, moved] = &got.found[..] else {
        panic!("{:?}", numbers(&got))
    };
    assert_eq!(
        (&ghost.author, &ghost.head.repo, ghost.behind_by),
        (&None, &None, None)
    );
    assert_eq!((&ghost.review_decision, &ghost.checks.contexts), (&None, &None));
    assert_eq!(empty.checks.contexts, Some(vec![]));
    assert_eq!(merged.state, PullState::Merged);
    assert_eq!(
        (moved.at.to_string(), moved.asked_as.as_str()),
        ("old/name#4".to_owned(), "older/name")
    );
    assert!(moved.is_archived);
}

#[tokio::test]
async fn every_list_is_read_to_its_end() {
    let say = |n: usize| CommentSpec::new("mia", Stands::Member, &format!("comment {n}"));
    let mut long_thread = ThreadSpec::new("src/a.rs", say(0));
    for n in 1..130 {
        long_thread = long_thread.reply(say(n));
    }
    let mut pull = PullSpec::new("o/r", 1)
        .comments((0..250).map(say))
        .checks((0..202).map(|n| {
            CheckSpec::run(&format!("check {n}"))
                .workflow(&format!("workflow {n}"))
                .success()
        }))
        .thread(long_thread);
    for n in 0..130 {
        pull = pull
            .thread(ThreadSpec::new("src/b.rs", say(n)))
            .review(ReviewSpec::commented("mia", "so"))
            .closes(ClosesSpec::issue(1_000 + u32::try_from(n).unwrap()));
    }
    let served = world().pull(pull).build().serve().await.unwrap();
    let reader = reader(&served);
    let got = read(&reader, &refs("o/r", [1])).await;
    assert_eq!(skipped(&got), []);
    let facts = &got.found[0];
    assert_eq!(facts.comments.len(), 250);
    assert_eq!(facts.comments[249].body, "comment 249");
    assert_eq!(facts.reviews.len(), 130);
    assert_eq!(facts.threads.len(), 131);
    assert_eq!(facts.threads[0].comments.len(), 130);
    assert_eq!(facts.closes.len(), 130);
    assert_eq!(facts.checks.contexts.as_ref().unwrap().len(), 202);
    assert_eq!(facts.checks.suites.len(), 202);
    // Pages of all lists together: the longest has two after its first.
    assert_eq!(reader.requests().total, 3);
}

#[tokio::test]
async fn a_head_from_the_future_is_bounded_by_its_older_commits() {
    let mut pull = PullSpec::new("o/r", 1).head(CommitSpec::at("2126-01-01T00:00:00Z"));
    for _ in 0..3 {
        pull = pull.earlier(CommitSpec::at("2026-05-01T00:00:00Z"));
    }
    for _ in 0..120 {
        pull = pull.earlier(CommitSpec::at(hours_ahead(24 * 365 * 100)));
    }
    let served = world().pull(pull).build().serve().await.unwrap();
    let got = read(&reader(&served), &refs("o/r", [1])).await;
    let dates = &got.found[0].head.commit_dates;
    assert_eq!(
        (dates.len(), dates[2].to_rfc3339().as_str()),
        (3, "2026-05-01T00:00:00+00:00"),
        "each once, to the first commit"
    );
}

#[tokio::test]
async fn a_search_finds_the_viewers_open_pull_requests() {
    let pulls = [
        PullSpec::new("o/r", 1),
        PullSpec::new("o/r", 2).merged(hours_ago(1)),
        PullSpec::new("o/r", 3).author("somebody"),
        PullSpec::new("o/new", 4),
    ];
    let repo = RepoSpec::new("o/new").renamed_from("o/old");
    let served = world().repo(repo).pulls(pulls).build().serve().await.unwrap();
    let reader = reader(&served);
    let me = reader.viewer().await.unwrap();
    assert_eq!((me.login.as_str(), me.kind), ("ada", AccountKind::User));

    let found = |scope: Scope| {
        let (reader, me) = (reader.clone(), me.clone());
        async move {
            let found = reader.open_pulls(&me.login, &scope, 50).await?;
            let mut names: Vec<String> = found.refs.iter().map(ToString::to_string).collect();
            names.sort_unstable();
            Ok::<_, github::ReadError>((names, found.total))
        }
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        found(Scope::Everywhere).await,
        Ok((names(&["o/new#4", "o/r#1"]), 2))
    );
    assert_eq!(
        found(Scope::Repo("o/r".parse().unwrap())).await,
        Ok((names(&["o/r#1"]), 1))
    );
    assert_eq!(
        found(Scope::Repo("O/Old".parse().unwrap())).await,
        Ok((names(&["o/new#4"]), 1))
    );
    let none = found(Scope::Repo("o/none".parse().unwrap())).await.unwrap_err();
    assert_eq!(
        none.to_string(),
        "no repository o/none, or the token may not see it"
    );
}

#[tokio::test]
async fn what_vanishes_or_changes_after_the_search_is_told_as_it_is() {
    let pulls = (1..=3).map(|n| PullSpec::new("o/r", n));
    let served = world().pulls(pulls).build().serve().await.unwrap();
    let reader = reader(&served);
    let login = "ada".parse().unwrap();
    let found = reader.open_pulls(&login, &Scope::Everywhere, 50).await.unwrap();
    assert_eq!(found.refs.len(), 3);
    served.edit(|world| world.remove_pull(("o/r", 2))).unwrap();
    served.edit(|world| world.close(("o/r", 3))).unwrap();
    let got = read(&reader, &refs("o/r", 1..=3)).await;
    assert_eq!(numbers(&got), [1, 3]);
    assert_eq!(got.found[1].state, PullState::Closed);
    assert_eq!(skipped(&got), [(2, "no pull request o/r#2".to_owned())]);
}
