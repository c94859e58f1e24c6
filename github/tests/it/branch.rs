//! What is read of a repository that is maintained, and of its branches.

use github::{Allowance, ReadError, Reader};
use pulls::RepoName;
use pulls::facts::{Check, PullState};
use pulls::upkeep::{ChangedFile, Event, EventKind, RequiredCheck, RequiredChecks};
use world::{
    Association, BranchSpec, CheckSpec, CommentSpec, EventSpec, Fault, PullSpec, RepoSpec, ReviewSpec,
    Served, Who, days_ago, hours_ago,
};

use crate::{reader, refs, world};

fn free() -> Allowance {
    Allowance::unlimited()
}

fn repo() -> RepoName {
    "o/r".parse().unwrap()
}

async fn served(repo: RepoSpec) -> Served {
    world().repo(repo).build().serve().await.unwrap()
}

fn check(context: &str, app: Option<u64>) -> RequiredCheck {
    RequiredCheck {
        context: context.to_owned(),
        app,
    }
}

async fn required(reader: &Reader, branch: &str) -> RequiredChecks {
    reader.branch(&repo(), branch, &free()).await.unwrap().required
}

#[tokio::test]
async fn the_first_codeowners_file_counts() {
    let cases: [(&[&str], Option<&str>); 5] = [
        (
            &["docs/CODEOWNERS", "CODEOWNERS", ".github/CODEOWNERS"],
            Some(".github/CODEOWNERS"),
        ),
        (&["docs/CODEOWNERS", "CODEOWNERS"], Some("CODEOWNERS")),
        (&["docs/CODEOWNERS"], Some("docs/CODEOWNERS")),
        (&["other/CODEOWNERS"], None),
        (&[], None),
    ];
    for (files, expected) in cases {
        let repo_spec = files.iter().fold(RepoSpec::new("o/r"), |repo, file| {
            repo.file(file, &format!("* @of-{}\n", file.len()))
        });
        let served = served(repo_spec).await;
        let reader = reader(&served);
        let facts = reader.repository_facts(&repo(), &free()).await.unwrap();
        let found = facts.codeowners.as_ref().map(|file| file.path.as_str());
        assert_eq!(found, expected);
        if let Some(file) = facts.codeowners {
            assert_eq!(file.text, format!("* @of-{}\n", file.path.len()));
        }
        assert_eq!(facts.default_branch.as_deref(), Some("main"));
        assert_eq!(reader.requests().total, 1);
    }
}

#[tokio::test]
async fn a_renamed_and_archived_repository_is_told_as_it_is() {
    let served = served(RepoSpec::new("o/r").renamed_from("o/old").archived()).await;
    let reader = reader(&served);
    let facts = reader
        .repository_facts(&"o/old".parse().unwrap(), &free())
        .await
        .unwrap();
    assert_eq!((facts.repo.as_str(), facts.asked_as.as_str()), ("o/r", "o/old"));
    assert!(facts.is_archived);
    let none = reader.repository_facts(&"o/none".parse().unwrap(), &free()).await;
    assert_eq!(none, Err(ReadError::NoRepository("o/none".parse().unwrap())));
}

#[tokio::test]
async fn what_a_branch_requires_is_joined_from_whoever_answers() {
    let asking = || {
        BranchSpec::new("main")
            .requires("build", Some(15_368))
            .requires("legacy", None)
            .ruleset("lint", Some(77))
    };
    let all = || {
        vec![
            check("build", Some(15_368)),
            check("legacy", None),
            check("lint", Some(77)),
        ]
    };
    let without_ruleset = || vec![check("build", Some(15_368)), check("legacy", None)];
    let repo = || RepoSpec::new("o/r");
    let cases = [
        (
            "an administrator",
            repo().administered().branch(asking()),
            Some(all()),
        ),
        ("whoever may only write", repo().branch(asking()), Some(all())),
        (
            "an app without the permission",
            repo().branch(asking().protection_refused(403).ruleset_refused(403)),
            Some(without_ruleset()),
        ),
        (
            "rules alone",
            repo().branch(asking().branch_refused(404)),
            Some(vec![check("lint", Some(77))]),
        ),
        (
            "a summary without its checks",
            repo().branch(asking().bare_summary().ruleset_refused(403)),
            None,
        ),
        (
            "nobody",
            repo().branch(
                asking()
                    .protection_refused(403)
                    .ruleset_refused(404)
                    .branch_refused(403),
            ),
            None,
        ),
        ("a branch that requires nothing", repo(), Some(vec![])),
        (
            "rules about other things",
            repo().branch(BranchSpec::new("main").other_rules()),
            Some(vec![]),
        ),
        (
            "rules that may not be read, of which the summary tells nothing",
            repo().branch(BranchSpec::new("main").ruleset("lint", None).ruleset_refused(403)),
            None,
        ),
    ];
    for (name, spec, expected) in cases {
        let served = served(spec).await;
        let reader = reader(&served);
        match (required(&reader, "main").await, expected) {
            (RequiredChecks::Known(checks), Some(expected)) => assert_eq!(checks, expected, "{name}"),
            (RequiredChecks::Unknown { .. }, None) => {}
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(reader.requests().total, 4, "{name}");
        assert!(served.writes().is_empty());
    }
}

#[tokio::test]
async fn a_branch_is_read_with_the_checks_of_its_head() {
    let branch = (0..130).fold(BranchSpec::new("release/50%"), |branch, n| {
        branch.check(
            CheckSpec::run(&format!("check {n}"))
                .workflow(&format!("workflow {n}"))
                .failure(),
        )
    });
    let spec = RepoSpec::new("o/r")
        .renamed_from("o/old")
        .administered()
        .branch(branch.requires("build", None));
    let served = served(spec).await;
    let reader = reader(&served);
    let facts = reader.branch(&repo(), "release/50%", &free()).await.unwrap();
    assert!(facts.sha.is_some());
    let contexts = facts.checks.contexts.as_ref().unwrap();
    assert_eq!((contexts.len(), facts.checks.suites.len()), (130, 130));
    assert!(matches!(&contexts[0], Check::Run(run) if run.suite.is_some()));
    assert_eq!(facts.required, RequiredChecks::Known(vec![check("build", None)]));
    let paths: Vec<String> = served.log().iter().map(|logged| logged.path.clone()).collect();
    assert!(
        paths.contains(&"/repos/o/r/branches/release%2F50%25".to_owned()),
        "{paths:?}"
    );
    // A renamed repository is asked under its name of now.
    let old = reader
        .branch(&"o/old".parse().unwrap(), "release/50%", &free())
        .await
        .unwrap();
    assert_eq!(old, facts);
}

#[tokio::test]
async fn a_branch_that_is_not_there_has_no_head() {
    let served = served(RepoSpec::new("o/r")).await;
    let reader = reader(&served);
    for name in ["gone", "../../user", "a//b", ""] {
        let facts = reader.branch(&repo(), name, &free()).await.unwrap();
        assert_eq!(facts.sha, None, "{name}");
        assert!(matches!(facts.required, RequiredChecks::Unknown { .. }));
    }
    assert_eq!(reader.requests().total, 4, "nothing else was asked");
}

#[tokio::test]
async fn a_place_that_fails_is_not_one_that_requires_nothing() {
    let spec = || RepoSpec::new("o/r").branch(BranchSpec::new("main").ruleset("lint", None));
    let served = served(spec()).await;
    served.faults().add(
        Fault::status(502)
            .on_path("/repos/o/r/rules/branches/main")
            .first(2),
    );
    let told = required(&reader(&served), "main").await;
    assert_eq!(
        told,
        RequiredChecks::Known(vec![check("lint", None)]),
        "the third try"
    );
    served
        .faults()
        .add(Fault::status(502).on_path("/repos/o/r/rules/branches/main"));
    let error = reader(&served)
        .branch(&repo(), "main", &free())
        .await
        .unwrap_err();
    assert!(matches!(error, ReadError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_pull_request_tells_its_files_edits_commits_and_end() {
    let pulls = [
        PullSpec::new("o/r", 1)
            .author("heron")
            .file("src/a.rs", 10, 2)
            .file("docs/b.md", 0, 7)
            .comment(
                CommentSpec::new("mia", Association::Member, "so")
                    .at(hours_ago(9))
                    .edited_by(Who::bot("toad"), hours_ago(2)),
            )
            .comment(
                CommentSpec::new("mia", Association::Member, "so")
                    .at(hours_ago(8))
                    .edited(hours_ago(3)),
            )
            .review(
                ReviewSpec::commented("mia", "so")
                    .at(hours_ago(7))
                    .edited(hours_ago(1)),
            ),
        PullSpec::new("o/r", 2).author("heron").created(days_ago(3)),
        PullSpec::new("o/r", 3).author("heron").created(days_ago(3)),
        (0..250).fold(PullSpec::new("o/r", 4), |pull, n| {
            pull.file(&format!("src/{n}.rs"), 1, 0)
        }),
        PullSpec::new("o/r", 5).files_unread(),
        (0..3_100).fold(PullSpec::new("o/r", 6), |pull, n| {
            pull.file(&format!("src/{n}.rs"), 1, 0)
        }),
    ];
    let served = world().pulls(pulls).build().serve().await.unwrap();
    served
        .edit(|world| {
            world.happen(("o/r", 2), EventSpec::merged().by("edith").at(hours_ago(2)))?;
            world.happen(
                ("o/r", 3),
                EventSpec::closed().by(Who::bot("toad")).at(hours_ago(1)),
            )?;
            world.edit_body(("o/r", 3), "Another text.")
        })
        .unwrap();
    let reader = reader(&served);
    let read = reader.maintained(&refs("o/r", 1..=6), &free(), &|_| {}).await;
    let upkeep: Vec<_> = read
        .found
        .iter()
        .map(|facts| facts.upkeep.as_ref().unwrap())
        .collect();
    assert_eq!(upkeep.len(), 6);
    let file = |path: &str, additions, deletions| ChangedFile {
        path: path.to_owned(),
        additions,
        deletions,
    };
    let files = upkeep[0].files.as_ref().unwrap();
    assert_eq!(files, &[file("src/a.rs", 10, 2), file("docs/b.md", 0, 7)]);
    let edits: Vec<&str> = upkeep[0]
        .edits
        .iter()
        .map(|edit| edit.by.as_ref().unwrap().login.as_str())
        .collect();
    assert_eq!(edits, ["mia", "toad", "mia"], "the oldest first");
    let by: Vec<Option<&str>> = upkeep
        .iter()
        .map(|upkeep| Some(upkeep.closing.as_ref()?.by.as_ref()?.login.as_str()))
        .collect();
    assert_eq!(by, [None, Some("edith"), Some("toad"), None, None, None]);
    assert_eq!(read.found[1].state, PullState::Merged);
    assert!(matches!(
        upkeep[2].events.last(),
        Some(Event {
            kind: EventKind::Closed,
            ..
        })
    ));
    assert_eq!(upkeep[2].edits.len(), 1, "of the description");
    let counts: Vec<Option<usize>> = upkeep
        .iter()
        .map(|upkeep| Some(upkeep.files.as_ref()?.len()))
        .collect();
    assert_eq!(counts[3..], [Some(250), None, None]);
    assert_eq!(upkeep[0].commits[0].by.as_ref().unwrap().login.as_str(), "heron");
    assert!(reader.requests().total <= 31, "{:?}", reader.requests());
}
