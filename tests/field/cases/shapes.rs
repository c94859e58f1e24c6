//! Shapes of a pull request: heads, bases, forks, names.

use github::{ReadError, Scope};
use lifecycle::{DripQueue, GateHint, Hints, Outcome, Settings, classify, msg_id};
use pulls::facts::{MergeState, Mergeable, PullState};
use serde_json::{Value, json};
use world::{
    Association, Canned, CheckSpec, ClosesSpec, CommentSpec, CommitSpec, Fault, PullSpec, RepoSpec,
    ReviewSpec, days_ago, hours_ago, hours_ahead,
};

use crate::support::{
    AT, NOW, at, judge, judge_with, judged, pr, quiet, read, read_one, reader, ready, serve, serve_one, world,
};

const MERGED: &str = "2026-05-13T10:00:00Z";

pub async fn b030_mergeable_is_not_computed_yet() {
    let it = judged(ready().mergeable("UNKNOWN")).await;
    it.is(
        "ship",
        "ship.ready",
        "approved + green CI, mergeability not computed yet",
    );
    assert_eq!(it.verdict.signals.mergeable, Mergeable::Unknown);
    let it = judged(ready().conflicting()).await;
    it.is("rebase", "rebase.conflict", "conflicts with main");
    // A word of tomorrow is neither a conflict nor good news.
    judged(ready().mergeable("PERHAPS"))
        .await
        .waits("mergeable says PERHAPS");
}

pub async fn b039_behind_is_a_signal_up_to_fifty_commits() {
    let it = judged(ready().merge_state("BEHIND").behind(50)).await;
    it.ships();
    let signals = &it.verdict.signals;
    assert_eq!(
        (&signals.merge_state, signals.behind_by),
        (&MergeState::Behind, Some(50))
    );
    let it = judged(ready().merge_state("BEHIND").behind(51)).await;
    it.is(
        "rebase",
        "rebase.behind",
        "main has 51 commits that it lacks (limit 50)",
    );
    let it = judged(ready().merge_state("BEHIND").behind_unknown()).await;
    it.ships();
    assert_eq!(it.verdict.signals.behind_by, None);
}

pub async fn b065_a_deleted_fork() {
    let gone = || ready().fork_deleted();
    let it = judged(gone()).await;
    it.ships();
    assert!(it.verdict.signals.fork_deleted);
    assert_eq!(
        (&it.facts.head.repo, it.facts.head.sha.as_str().len()),
        (&None, 40)
    );
    let waits = quiet().fork_deleted().decision("REVIEW_REQUIRED");
    judged(waits)
        .await
        .waits("review required; author cannot push: fork deleted");
    judged(gone().conflicting()).await.is(
        "rebase",
        "rebase.conflict",
        "conflicts with main; author cannot push: fork deleted",
    );
    // The comparison does not need the fork.
    judged(gone().behind(60)).await.is(
        "rebase",
        "rebase.behind",
        "main has 60 commits that it lacks (limit 50); author cannot push: fork deleted",
    );
    judged(gone().check(CheckSpec::run("build").failure())).await.is(
        "qa",
        "qa.ci",
        "CI failure: build; author cannot push: fork deleted",
    );
}

pub async fn b067_a_mention_supersedes_nothing() {
    for body in [
        "Like #9, but smaller.",
        "See `#9`.",
        "```\nCloses #9\n```",
        "Replaces nothing; cf. o/r#9",
    ] {
        let other = PullSpec::new("o/r", 9).author("edith").merged(MERGED);
        let served = serve(world().pull(ready().body(body)).pull(other)).await;
        judge(read_one(&served, AT).await, at(NOW)).ships();
    }
    let issue = || ClosesSpec::issue(3);
    let it = judged(ready().closes(issue().closed_by(9, MERGED))).await;
    it.is(
        "close",
        "close.superseded",
        "superseded by #9 (merged 2026-05-13)",
    );
    let elsewhere = issue().in_repo("o/other").closed_by(9, MERGED);
    judged(ready().closes(elsewhere)).await.is(
        "close",
        "close.superseded",
        "superseded by o/other#9 (merged 2026-05-13)",
    );
    for issue in [
        issue(),
        issue().closed_by_unmerged(9, MERGED),
        issue().closed_by_commit(MERGED),
        issue().closed_by_hand(MERGED),
        issue().closed_by(9, MERGED).reopened(hours_ago(3)),
        // The last event that closed it decides.
        issue()
            .closed_by(9, MERGED)
            .reopened(hours_ago(3))
            .closed_by_hand(hours_ago(2)),
    ] {
        judged(ready().closes(issue)).await.ships();
    }
}

pub async fn b074_when_the_head_came() {
    let question = |hours| CommentSpec::new("mia", Association::Member, "Why?").at(hours_ago(hours));
    let asked = "mia asked a question: Why?";
    // GitHub tells no time of a push. The committer date counts, whatever was pushed when.
    let dated = || ready().head(CommitSpec::at(hours_ago(10)).authored(days_ago(14)));
    let it = judged(dated().comment(question(9))).await;
    it.is("investigate", "investigate.question", asked);
    judged(dated().comment(question(11))).await.ships();
    // One that lies in the future is as old as the last force push…
    let invented = || ready().head(CommitSpec::at("2099-01-01T00:00:00Z"));
    let pushed = || invented().force_pushed(hours_ago(10));
    let it = judged(pushed().comment(question(9))).await;
    it.is("investigate", "investigate.question", asked);
    assert_eq!(it.facts.head.last_force_push_at, Some(at("2026-05-14T07:45:00Z")));
    judged(pushed().comment(question(11))).await.ships();
    // … else as the newest commit with a date that can be …
    let later = || invented().earlier(CommitSpec::at(hours_ago(6)));
    let it = judged(later().comment(question(5))).await;
    it.is("investigate", "investigate.question", asked);
    judged(later().comment(question(7))).await.ships();
    // … whenever it was read: what lies in the future is for the moment that is evaluated to say …
    let between = ready()
        .head(CommitSpec::at(hours_ahead(30)))
        .earlier(CommitSpec::at(hours_ago(6)));
    judged(between.comment(question(7))).await.ships();
    // … else as the pull request.
    let it = judged(invented().created(hours_ago(8)).comment(question(7))).await;
    it.is("investigate", "investigate.question", asked);
}

pub async fn b075_more_commits_than_a_list_holds() {
    let long = || {
        let earlier = (1..300).map(|n| CommitSpec::at(hours_ago(1000 - n)));
        earlier.fold(quiet().decision("APPROVED"), PullSpec::earlier)
    };
    let red = || long().check(CheckSpec::run("build").failure());
    judged(red()).await.is("qa", "qa.ci", "CI failure: build");
    // GitHub's list ends at 250: its last commit is not the head, and the head's checks still count.
    let cut = red().raw(|pull| {
        let commits = pull.get_mut("commits").and_then(Value::as_array_mut);
        commits.unwrap().truncate(250);
    });
    let served = serve_one(cut).await;
    let it = judge(read_one(&served, AT).await, at(NOW));
    it.is("qa", "qa.ci", "CI failure: build");
    // The first document, and one for the head by its id: no list is read to find it.
    assert_eq!(served.log().len(), 2);
}

pub async fn b080_an_archived_repository() {
    let pull = || {
        quiet()
            .decision("CHANGES_REQUESTED")
            .review(ReviewSpec::changes_requested("mia", "Please close this."))
            .conflicting()
            .check(CheckSpec::run("build").failure())
    };
    judged(pull()).await.is(
        "close",
        "close.asked",
        "mia asked to close it: Please close this.",
    );
    let served = serve(world().repo(RepoSpec::new("o/r").archived()).pull(pull())).await;
    let it = judge(read_one(&served, AT).await, at(NOW));
    it.waits("the repository is archived: nothing can be done");
    assert!(it.verdict.signals.archived);
    assert_eq!(served.writes().len(), 0);
}

pub async fn b082_names_with_odd_characters() {
    let odd = PullSpec::new("o-o/r_r.rs", 7)
        .decision("APPROVED")
        .branch("fix#12")
        .base("release/1.0?x=%2F&y")
        .label("cream/pie")
        .label("approved?")
        .behind(51);
    let served = serve(world().pull(odd)).await;
    let it = judge(read_one(&served, "o-o/r_r.rs#7").await, at(NOW));
    it.is(
        "rebase",
        "rebase.behind",
        "release/1.0?x=%2F&y has 51 commits that it lacks (limit 50)",
    );
    assert_eq!(it.verdict.branch, "fix#12");
    // A name is a variable of the query and never a part of it.
    let log = served.log();
    let document = log[0].document.as_deref().unwrap();
    assert!(!document.contains("r_r.rs"), "{document}");
}

pub async fn b106_the_search_lags() {
    let merged = PullSpec::new("o/r", 1).merged(hours_ago(1)).search_says("OPEN");
    let closed = PullSpec::new("o/r", 2).closed(hours_ago(1)).search_says("OPEN");
    let draft = PullSpec::new("o/r", 3).decision("APPROVED").draft().raw(|pull| {
        pull.insert("_search".into(), json!({ "state": "OPEN", "isDraft": false }));
    });
    let served = serve(world().pulls([merged, closed, draft])).await;
    let reader = reader(&served);
    let me = reader.viewer().await.unwrap();
    let found = reader
        .open_pulls(&me.login, &Scope::Everywhere, 50)
        .await
        .unwrap();
    assert_eq!(found.refs.len(), 3);
    let got = read(&reader, &found.refs).await;
    let outcome = |number: u32| {
        let facts = got
            .found
            .iter()
            .find(|facts| facts.at.number.get() == number)
            .unwrap();
        classify(facts, &Hints::default(), &Settings::default(), at(NOW))
    };
    assert_eq!(outcome(1), Outcome::NotOpen(PullState::Merged));
    assert_eq!(outcome(2), Outcome::NotOpen(PullState::Closed));
    assert_eq!(outcome(3).verdict().unwrap().reason, "draft");
}

pub async fn b108_names_fold_and_follow() {
    let renamed = RepoSpec::new("New-Owner/New").renamed_from("old/name");
    let pull = PullSpec::new("New-Owner/New", 7)
        .decision("APPROVED")
        .check(CheckSpec::run("test"));
    let served = serve(world().repo(renamed).pull(pull)).await;
    let reader = reader(&served);
    // One repository under its names, in any case, is one.
    let scope = Scope::Repo("OLD/name".parse().unwrap());
    let found = reader
        .open_pulls(&"Ada".parse().unwrap(), &scope, 50)
        .await
        .unwrap();
    assert_eq!(found.refs, [pr("new-owner/NEW#7")]);
    let facts = read_one(&served, "old/Name#7").await;
    assert_eq!(facts.at.to_string(), "New-Owner/New#7");
    assert_eq!(facts.asked_as, "old/name".parse().unwrap());
    // What is written carries the new name; hints under the old one count.
    assert_eq!(
        msg_id::plain(at(NOW), &facts.at),
        "pr-state-2026-05-14T17:45:00Z-New-Owner-New-7"
    );
    let line = r#"{"repo":"Old/Name","pr_number":7,"branch":"change-7","status":"superseded"}"#;
    let (queue, malformed) = DripQueue::read([("a.jsonl", line)]);
    assert_eq!(malformed, []);
    let hints = Hints {
        queue: queue.entry(&facts).cloned(),
        gate: GateHint::default(),
    };
    judge_with(facts, &hints, &Settings::default(), at(NOW)).is(
        "close",
        "close.queue",
        "superseded, says the drip queue",
    );

    // A GET follows a redirect; a POST is never sent again because of one.
    let moved = || Canned::json(301, &json!({ "message": "Moved Permanently" }));
    let to_limits = Fault::answer(moved().header("location", "/rate_limit"));
    served.faults().add(to_limits.on_path("/rate_limit").nth(1));
    assert!(reader.checkup().await.is_ok());
    let to_graphql = Fault::answer(moved().header("location", served.graphql_url()));
    served.faults().add(to_graphql.on_graphql());
    let before = served.log().len();
    let error = reader.viewer().await.unwrap_err();
    assert!(matches!(error, ReadError::Redirect { .. }), "{error}");
    assert_eq!(served.log().len(), before + 1);
}
