//! What qa, drip and investigate need of a work tree.

use std::fs;

use child::git::{Clean, Fetched, FilePath, GitError, Keeper, Limits, Next, Pull, Pushed, Rebased, Remote};

use super::forge::{Forge, Verdict};
use super::site::{Site, committer, git, pull};

async fn rebased(fetched: &Fetched) -> Clean {
    match fetched.rebase(&committer()).await.unwrap() {
        Rebased::Clean(clean) => clean,
        Rebased::Conflict(conflict) => panic!("a conflict: {conflict:?}"),
        _ => panic!("nothing to rebase"),
    }
}

fn path(text: &str) -> FilePath {
    text.parse().unwrap()
}

/// Handlers run on several threads: a whole job may move between them while it waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_may_move_from_thread_to_thread() {
    let site = Site::new();
    site.pull_request();
    let keeper = site.keeper().await;
    let job = tokio::spawn(async move {
        let fetched = keeper.fetch(&pull()).await?;
        let head = keeper.head_now(&pull()).await?;
        let (base, main) = (fetched.base().clone(), path("a"));
        fetched.diff(fetched.head(), &base, &main).await?;
        fetched.titles(fetched.head(), &base, None).await?;
        fetched.has(&base).await?;
        fetched.work_tree().await?.remove().await?;
        let Rebased::Clean(clean) = fetched.rebase(&committer()).await? else {
            panic!("not clean")
        };
        clean.push(&"o/r".parse()?, &"fix".parse()?).await?;
        Ok::<_, GitError>(head.as_ref() == Some(fetched.head()))
    });
    assert!(job.await.unwrap().unwrap());
}

#[tokio::test]
async fn a_work_tree_is_at_the_head_and_gone_afterwards() {
    let site = Site::new();
    let heads = site.pull_request();
    site.put("o/r", "refs/tags/v1", &heads.first);
    let keeper = site.keeper().await;
    let fetched = keeper.fetch(&pull()).await.unwrap();
    assert_eq!(
        (fetched.head().as_str(), fetched.base().as_str()),
        (&*heads.head, &*heads.base)
    );
    assert_eq!(fetched.merge_base().unwrap().as_str(), heads.first);
    assert_eq!(fetched.author().await.unwrap().unwrap().name(), "Ada");

    let tree = fetched.work_tree().await.unwrap();
    assert_eq!(tree.head().as_str(), heads.head);
    assert_eq!(tree.path().file_name().unwrap(), "r");
    assert_eq!(
        fs::read_to_string(tree.path().join("b")).unwrap(),
        "1\ntwo\nthree\n"
    );
    // A program in it finds a git that knows where it is, and has nowhere to push to.
    let inside = |arguments: &[&str]| git(tree.path(), arguments);
    assert_eq!(inside(&["status", "--porcelain"]), "");
    assert_eq!(
        inside(&["describe", "--tags"]),
        format!("v1-2-g{}", &heads.head[..7])
    );
    assert_eq!(inside(&["merge-base", "origin/main", "HEAD"]), heads.first);
    assert_eq!(inside(&["remote"]), "");

    let path = tree.path().to_owned();
    tree.remove().await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn what_happens_in_a_work_tree_stays_there() {
    let site = Site::new();
    let heads = site.pull_request();
    let keeper = site.keeper().await;
    let fetched = keeper.fetch(&pull()).await.unwrap();
    let tree = fetched.work_tree().await.unwrap();
    fs::write(tree.path().join("b"), "mess\n").unwrap();
    git(tree.path(), &["commit", "--quiet", "--all", "--message", "mess"]);
    git(tree.path(), &["tag", "mess"]);
    git(tree.path(), &["gc", "--quiet", "--prune=now"]);
    fs::write(tree.path().join("dirty"), "x").unwrap();

    let clean = rebased(&fetched).await;
    assert_eq!((clean.commits(), clean.seen().as_str()), (2, &*heads.head));
    let other = fetched.work_tree().await.unwrap();
    assert_eq!(
        fs::read_to_string(other.path().join("b")).unwrap(),
        "1\ntwo\nthree\n"
    );
    assert_eq!(git(other.path(), &["tag"]), "");
}

#[tokio::test]
async fn a_clean_rebase_is_pushed_once() {
    let site = Site::new();
    let heads = site.pull_request();
    let keeper = site.keeper().await;
    let fetched = keeper.fetch(&pull()).await.unwrap();
    let clean = rebased(&fetched).await;
    let (to, branch) = ("o/r".parse().unwrap(), "fix".parse().unwrap());

    assert_eq!(clean.push(&to, &branch).await.unwrap(), Pushed::Done);
    assert_eq!(site.at("o/r", "refs/heads/fix"), clean.head().as_str());
    let shape = site.look(
        "o/r",
        &[
            "log",
            "--format=%s|%an|%cn|%ct",
            &format!("{}..refs/heads/fix", heads.base),
        ],
    );
    assert_eq!(
        shape,
        "say two|Ada|Sweep|1780000000\nsay three|Ada|Sweep|1780000000"
    );

    // Again, as after a crash between the push and its record.
    assert_eq!(clean.push(&to, &branch).await.unwrap(), Pushed::Done);
    let again = rebased(&fetched).await;
    assert_eq!(again.head(), clean.head());
    assert_eq!(again.push(&to, &branch).await.unwrap(), Pushed::Done);
    let pushes = site.look("o/r", &["reflog", "show", "--format=%H", "refs/heads/fix"]);
    assert_eq!(pushes.lines().count(), 2, "the author's push and ours: {pushes}");
}

#[tokio::test]
async fn a_branch_that_moved_is_left_alone() {
    let site = Site::new();
    let heads = site.pull_request();
    let keeper = site.keeper().await;
    let fetched = keeper.fetch(&pull()).await.unwrap();
    let clean = rebased(&fetched).await;
    let (to, branch) = ("o/r".parse().unwrap(), "fix".parse().unwrap());

    let forced = site.commit(Some(&heads.first), "b", "forced\n", "forced meanwhile");
    site.put("o/r", "refs/heads/fix", &forced);
    let now = Some(forced.parse().unwrap());
    assert_eq!(clean.push(&to, &branch).await.unwrap(), Pushed::Moved { now });
    assert_eq!(site.at("o/r", "refs/heads/fix"), forced);

    site.delete("o/r", "refs/heads/fix");
    assert_eq!(
        clean.push(&to, &branch).await.unwrap(),
        Pushed::Moved { now: None }
    );
    assert_eq!(site.at("o/r", "refs/heads/fix"), "");
}

#[tokio::test]
async fn a_remote_with_rules_of_its_own_says_so() {
    use std::os::unix::fs::PermissionsExt as _;

    let site = Site::new();
    let heads = site.pull_request();
    let hook = site.remotes().join("o/r.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho 'fix is protected' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let keeper = site.keeper().await;
    let clean = rebased(&keeper.fetch(&pull()).await.unwrap()).await;
    let pushed = clean
        .push(&"o/r".parse().unwrap(), &"fix".parse().unwrap())
        .await
        .unwrap();
    let Pushed::Refused { said } = pushed else {
        panic!("{pushed:?}")
    };
    assert_eq!(
        said,
        "[remote rejected] (pre-receive hook declined); fix is protected"
    );
    assert_eq!(site.at("o/r", "refs/heads/fix"), heads.head);
}

#[tokio::test]
async fn the_push_goes_to_the_fork_and_a_deleted_fork_is_gone() {
    let site = Site::new();
    let heads = site.pull_request();
    site.delete("o/r", "refs/heads/fix");
    let fork = site.remote("me/r");
    site.put("me/r", "refs/heads/fix", &heads.head);
    let keeper = site.keeper().await;
    let clean = rebased(&keeper.fetch(&pull()).await.unwrap()).await;
    let (to, branch) = ("me/r".parse().unwrap(), "fix".parse().unwrap());
    assert_eq!(clean.push(&to, &branch).await.unwrap(), Pushed::Done);
    assert_eq!(site.at("me/r", "refs/heads/fix"), clean.head().as_str());

    fs::remove_dir_all(fork).unwrap();
    let error = clean.push(&to, &branch).await.unwrap_err();
    assert!(
        matches!(&error, GitError::Gone { repo } if repo == "me/r"),
        "{error:?}"
    );
    // Its head is still there to look at.
    assert_eq!(keeper.fetch(&pull()).await.unwrap().head().as_str(), heads.head);
}

#[tokio::test]
async fn a_conflict_names_the_files_and_both_sides() {
    let site = Site::new();
    let heads = site.pull_request();
    let base = site.commit(Some(&heads.base), "b", "1\nZWEI\n3\n", "say it in German");
    site.put("o/r", "refs/heads/main", &base);
    let keeper = site.keeper().await;
    let fetched = keeper.fetch(&pull()).await.unwrap();
    let Rebased::Conflict(conflict) = fetched.rebase(&committer()).await.unwrap() else {
        panic!("no conflict")
    };
    let texts =
        |titles: &[child::git::Title]| titles.iter().map(|title| title.text.clone()).collect::<Vec<_>>();
    assert_eq!((conflict.files.len(), conflict.more), (1, 0));
    let file = &conflict.files[0];
    assert_eq!(file.path, "b");
    assert_eq!(texts(&file.base), ["say it in German"]);
    assert_eq!(texts(&file.pull), ["say two", "say three"]);
    assert_eq!(conflict.at.unwrap().text, "say three");
    assert_eq!(site.at("o/r", "refs/heads/fix"), heads.head);
}

#[tokio::test]
async fn a_recorded_resolution_settles_a_conflict() {
    let site = Site::new();
    let first = site.commit(None, "b", "1\n2\n3\n", "begin");
    let base = site.commit(Some(&first), "b", "1\nZWEI\n3\n", "say it in German");
    let head = site.commit(Some(&first), "b", "1\ntwo\n3\n", "say two");
    site.put("o/r", "refs/heads/main", &base);
    site.put("o/r", "refs/heads/fix", &head);
    site.put("o/r", "refs/pull/7/head", &head);
    let keeper = site.keeper().await;

    // A person has resolved it once, with rerere on, and put the record down for the repository.
    let desk = tempfile::tempdir().unwrap();
    git(desk.path(), &["init", "--quiet"]);
    let remote = site.remotes().join("o/r.git").display().to_string();
    git(
        desk.path(),
        &["fetch", "--quiet", &remote, "refs/heads/*:refs/remotes/o/*"],
    );
    git(desk.path(), &["config", "rerere.enabled", "true"]);
    git(desk.path(), &["checkout", "--quiet", "--detach", "o/main"]);
    let mut pick = super::site::plain_git(desk.path());
    assert!(
        !pick
            .args(["cherry-pick", "o/fix"])
            .output()
            .unwrap()
            .status
            .success()
    );
    fs::write(desk.path().join("b"), "1\ntwo/ZWEI\n3\n").unwrap();
    git(desk.path(), &["add", "b"]);
    git(desk.path(), &["-c", "core.editor=:", "cherry-pick", "--continue"]);
    let resolutions = site.root().join("resolutions/o+r");
    std::os::unix::fs::symlink(desk.path().join(".git/rr-cache"), resolutions).unwrap();

    let clean = rebased(&keeper.fetch(&pull()).await.unwrap()).await;
    assert_eq!(
        clean
            .push(&"o/r".parse().unwrap(), &"fix".parse().unwrap())
            .await
            .unwrap(),
        Pushed::Done
    );
    assert_eq!(site.look("o/r", &["show", "refs/heads/fix:b"]), "1\ntwo/ZWEI\n3");
}

#[tokio::test]
async fn where_there_is_nothing_to_rebase() {
    let site = Site::new();
    let heads = site.pull_request();
    let keeper = site.keeper().await;
    let outcome = |site: &Site, base: &str, head: &str| {
        site.put("o/r", "refs/heads/main", base);
        site.put("o/r", "refs/pull/7/head", head);
        let keeper = keeper.clone();
        async move {
            let fetched = keeper.fetch(&pull()).await.unwrap();
            fetched.rebase(&committer()).await.unwrap()
        }
    };
    let after = site.commit(Some(&heads.base), "b", "more\n", "on the base");
    assert!(matches!(
        outcome(&site, &heads.base, &after).await,
        Rebased::UpToDate
    ));
    assert!(matches!(
        outcome(&site, &after, &heads.base).await,
        Rebased::Emptied
    ));
    // The same change landed under another commit.
    let landed = site.commit(Some(&heads.base), "b", "1\n2\nthree\n", "say three");
    let landed = site.commit(Some(&landed), "b", "1\ntwo\nthree\n", "say two");
    assert!(matches!(
        outcome(&site, &landed, &heads.head).await,
        Rebased::Emptied
    ));
    let stranger = site.commit(None, "z", "z\n", "another beginning");
    assert!(matches!(
        outcome(&site, &heads.base, &stranger).await,
        Rebased::Unrelated
    ));
}

#[tokio::test]
async fn attributes_that_change_bytes_do_not_make_a_rebase_dirty() {
    let site = Site::new();
    let first = site.commit(None, "crlf.txt", "one\r\ntwo\r\n", "begin");
    let first = site.commit(
        Some(&first),
        ".gitattributes",
        "* text=auto eol=lf\n*.txt filter=lfs ident\n",
        "attributes",
    );
    let base = site.commit(Some(&first), "other", "x\n", "base goes on");
    let head = site.commit(Some(&first), "more", "y\n", "more");
    site.put("o/r", "refs/heads/main", &base);
    site.put("o/r", "refs/pull/7/head", &head);
    let keeper = site.keeper().await;
    assert_eq!(rebased(&keeper.fetch(&pull()).await.unwrap()).await.commits(), 1);
}

#[tokio::test]
async fn what_changed_in_a_file_since_a_commit() {
    let site = Site::new();
    let heads = site.pull_request();
    let keeper = site.keeper().await;
    let fetched = keeper.fetch(&pull()).await.unwrap();
    let (first, head) = (heads.first.parse().unwrap(), heads.head.parse().unwrap());
    assert!(fetched.has(&first).await.unwrap());
    let diff = fetched.diff(&first, &head, &path("b")).await.unwrap();
    assert_eq!(
        diff.hunk_at(2).unwrap(),
        "@@ -1,3 +1,3 @@\n 1\n-2\n-3\n+two\n+three\n"
    );
    assert!(fetched.diff(&first, &head, &path("a")).await.unwrap().is_empty());
    // A path is a path, whatever it looks like.
    for odd in ["--output=/tmp/x", ":(glob)**", ":!b", "*"] {
        assert!(
            fetched.diff(&first, &head, &path(odd)).await.unwrap().is_empty(),
            "{odd}"
        );
    }
    let titles = fetched.titles(&first, &head, Some(&path("b"))).await.unwrap();
    assert_eq!(
        titles.iter().map(|title| title.text.as_str()).collect::<Vec<_>>(),
        ["say two", "say three"]
    );
    assert_eq!(titles[0].commit, head);

    // A commit that a force-push replaced is fetched by its id, as long as the remote has it.
    let replaced = site.commit(Some(&heads.first), "b", "replaced\n", "replaced");
    site.put("o/r", "refs/heads/fix", &replaced);
    site.put("o/r", "refs/heads/fix", &heads.head);
    let replaced = replaced.parse().unwrap();
    assert!(fetched.has(&replaced).await.unwrap());
    assert!(
        !fetched
            .diff(&replaced, &head, &path("b"))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        !fetched
            .has(&"0123456789".repeat(4).parse().unwrap())
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn branches_with_names_that_look_like_something_else() {
    let site = Site::new();
    let heads = site.pull_request();
    let keeper = site.keeper().await;
    for name in [
        "-x",
        "--upload-pack=touch pwned",
        "it's",
        "\"q\"",
        "$(touch pwned)",
        "`id`",
        "ünï/日本",
        "a;b",
        "main|x",
    ] {
        let Ok(branch) = name.parse::<child::git::Branch>() else {
            assert!(name.contains(' '), "only a space is refused here: {name}");
            continue;
        };
        site.put("o/r", &format!("refs/heads/{name}"), &heads.base);
        let odd = Pull {
            base: branch.clone(),
            ..pull()
        };
        let fetched = keeper.fetch(&odd).await.unwrap();
        assert_eq!(fetched.base().as_str(), heads.base, "{name}");
        drop(fetched.work_tree().await.unwrap());
        site.put("o/r", &format!("refs/heads/{name}"), &heads.head);
        let clean = rebased(&keeper.fetch(&pull()).await.unwrap()).await;
        assert_eq!(
            clean.push(&"o/r".parse().unwrap(), &branch).await.unwrap(),
            Pushed::Done,
            "{name}"
        );
        assert_eq!(
            site.at("o/r", &format!("refs/heads/{name}")),
            clean.head().as_str(),
            "{name}"
        );
    }
    let made = super::site::files(&site.root());
    assert!(made.iter().all(|file| !file.ends_with("pwned")));
}

#[tokio::test]
async fn base_branches_in_each_others_way() {
    let site = Site::new();
    let heads = site.pull_request();
    let keeper = site.keeper().await;
    let onto = |base: &str| Pull {
        base: base.parse().unwrap(),
        ..pull()
    };
    site.put("o/r", "refs/heads/release", &heads.base);
    keeper.fetch(&onto("release")).await.unwrap();
    site.delete("o/r", "refs/heads/release");
    site.put("o/r", "refs/heads/release/2", &heads.first);
    assert_eq!(
        keeper.fetch(&onto("release/2")).await.unwrap().base().as_str(),
        heads.first
    );
}

#[tokio::test]
async fn what_is_not_there_has_a_name() {
    let site = Site::new();
    site.pull_request();
    let keeper = site.keeper().await;
    let other = |repo: &str, number: u32, base: &str| Pull {
        repo: repo.parse().unwrap(),
        number: number.try_into().unwrap(),
        base: base.parse().unwrap(),
    };
    let fails = |pull: Pull| {
        let keeper = keeper.clone();
        async move { keeper.fetch(&pull).await.err().expect("it is not there") }
    };
    let error = fails(other("o/r", 8, "main")).await;
    assert!(
        matches!(&error, GitError::RefGone { name, .. } if name == "refs/pull/8/head"),
        "{error:?}"
    );
    let error = fails(other("o/r", 7, "gone")).await;
    assert!(
        matches!(&error, GitError::RefGone { name, .. } if name == "refs/heads/gone"),
        "{error:?}"
    );
    let error = fails(other("o/nothing", 7, "main")).await;
    assert!(
        matches!(&error, GitError::Gone { repo } if repo == "o/nothing"),
        "{error:?}"
    );
    assert_eq!(error.next(), Next::Reject);
    assert_eq!(keeper.head_now(&other("o/r", 8, "main")).await.unwrap(), None);
    assert!(keeper.head_now(&pull()).await.unwrap().is_some());
    // Nothing half made stays.
    assert!(fs::read_dir(site.root().join("new")).unwrap().next().is_none());
}

#[tokio::test]
async fn a_renamed_repository_and_a_broken_remote() {
    let site = Site::new();
    site.pull_request();
    let forge = Forge::start(site.remotes(), |request| match request.path.split('/').nth(2) {
        Some("old.git") => Verdict::Say(
            "301 Moved Permanently",
            format!("Location: http://127.0.0.1:1{}\r\n", request.path),
        ),
        Some("busy.git") => Verdict::Say("503 Service Unavailable", String::new()),
        Some("closed.git") => Verdict::Say("403 Forbidden", String::new()),
        Some("lost.git") => Verdict::LoseAnswer,
        _ => Verdict::Serve,
    });
    let keeper = Keeper::open(site.root(), forge.base(), Limits::default(), None)
        .await
        .unwrap();
    assert!(keeper.fetch(&pull()).await.is_ok());
    let cases = [
        ("o/old", "Moved", Next::Reject),
        ("o/busy", "Unreachable", Next::Wait),
        ("o/lost", "Unreachable", Next::Wait),
        ("o/closed", "Forbidden", Next::Reject),
        ("o/nothing", "Gone", Next::Reject),
    ];
    for (repo, name, next) in cases {
        let repo = repo.parse().unwrap();
        let error = keeper.fetch(&Pull { repo, ..pull() }).await.err().unwrap();
        assert!(format!("{error:?}").starts_with(name), "{error:?}");
        assert_eq!(error.next(), next, "{error:?}");
    }
    let nobody = Remote::parse("http://127.0.0.1:1").unwrap();
    let keeper = Keeper::open(site.root().join("other"), nobody, Limits::default(), None)
        .await
        .unwrap();
    let error = keeper.fetch(&pull()).await.err().unwrap();
    assert!(matches!(error, GitError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_damaged_mirror_is_made_anew() {
    let site = Site::new();
    let heads = site.pull_request();
    let keeper = site.keeper().await;
    drop(keeper.fetch(&pull()).await.unwrap());
    let mirror = site.root().join("mirrors/o+r.git");
    let packs: Vec<_> = super::site::files(&mirror.join("objects/pack"));
    // What a power cut can leave: names without contents.
    for pack in packs {
        fs::remove_file(&pack).unwrap();
        fs::write(&pack, "").unwrap();
    }
    let next = site.commit(Some(&heads.head), "b", "next\n", "next");
    site.put("o/r", "refs/pull/7/head", &next);
    assert_eq!(keeper.fetch(&pull()).await.unwrap().head().as_str(), next);

    fs::write(mirror.join("HEAD"), "").unwrap();
    assert_eq!(keeper.fetch(&pull()).await.unwrap().head().as_str(), next);
}
