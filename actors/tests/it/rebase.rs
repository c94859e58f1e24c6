//! The drip on real git repositories (contract, section 5, `drip` `rebase`).

use std::sync::Arc;

use actors::drip::Pushing;
use actors::pr_state::WorkingSet;
use actors::qa::Qa;
use serde_json::Value;
use world::{CommitSpec, PullSpec, World, hours_ago};

use crate::repos::Repos;
use crate::stage::Stage;

const BRANCH: &str = "topic";

/// A pull request whose branch changes `files` and whose base got `base` meanwhile, dispatched as conflicting.
struct Scene {
    stage: Stage,
    repos: Arc<Repos>,
    head: String,
}

impl Scene {
    async fn of(branch: &str, files: &[(&str, &str)], base: &[(&str, &str)]) -> Self {
        Self::with(branch, files, base, |pull| pull).await
    }

    async fn with(
        branch: &str,
        files: &[(&str, &str)],
        base: &[(&str, &str)],
        change: impl FnOnce(PullSpec) -> PullSpec,
    ) -> Self {
        let repos = Arc::new(Repos::new());
        repos.on("making-topic");
        for (name, text) in files {
            repos.commit(&format!("Change {name}"), &[(name, Some(text))]);
        }
        let head = repos.publish_pull(1, branch);
        repos.on_main();
        for (name, text) in base {
            repos.commit(&format!("Refactor {name} <b>@all</b>"), &[(name, Some(text))]);
        }
        repos.publish_base();
        let pull = PullSpec::new("o/r", 1)
            .branch(branch)
            .from_fork_of("ada")
            .head(CommitSpec::at(hours_ago(30)).oid(&head))
            .conflicting();
        let world = World::builder(world::DEMO_NOW)
            .viewer("ada")
            .pull(change(pull))
            .build();
        let stage = Stage::of(world).await;
        Self { stage, repos, head }
    }

    /// Dispatches and handles everything.
    async fn run(&self, pushing: Pushing) -> String {
        self.stage.dispatch(WorkingSet::Everywhere).await.unwrap();
        self.host(pushing).await;
        let outcomes = self.stage.outcomes("drip").await;
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        outcomes[0].clone()
    }

    async fn host(&self, pushing: Pushing) {
        let trees = self.repos.shared_trees(self.stage.home());
        self.stage
            .host_with(Qa::without_gates, move || (trees(), pushing))
            .await;
    }

    fn branch_tip(&self, branch: &str) -> String {
        self.repos.tip("ada/r", &format!("refs/heads/{branch}"))
    }

    fn no_tree_is_left(&self) {
        let trees = self.stage.home().join("work/trees");
        let left = || std::fs::read_dir(&trees).map_or(0, |entries| entries.count());
        let begun = std::time::Instant::now();
        // A tree that was dropped is removed by a thread of its own.
        while left() > 0 {
            assert!(begun.elapsed().as_secs() < 10, "a work tree is left");
            std::thread::yield_now();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_rebase_is_pushed_where_that_is_allowed() {
    let scene = Scene::of(BRANCH, &[("a", "mine\n"), ("b", "mine\n")], &[("c", "theirs\n")]).await;
    let queue = r#"{"repo":"o/r","pr_number":1,"branch":"topic","status":"open","note":"kept"}"#;
    scene.stage.write("drip-queue/mine.jsonl", &format!("{queue}\n"));
    let outcome = scene.run(Pushing::Allowed).await;
    let tip = scene.branch_tip(BRANCH);
    assert_eq!(
        outcome,
        format!("rebased and pushed: 2 commits, now at {}", &tip[..7])
    );
    assert_ne!(tip, scene.head);
    let base = scene.repos.tip("o/r", "refs/heads/main");
    assert_eq!(
        scene.repos.titles("ada/r", &format!("{base}..{tip}")),
        ["Change b", "Change a"]
    );

    let pushes = scene.stage.read("pushes.jsonl");
    let push: Value = serde_json::from_str(pushes.trim_end()).unwrap();
    assert_eq!(
        (&push["repo"], &push["to"], &push["branch"]),
        (&"o/r".into(), &"ada/r".into(), &BRANCH.into())
    );
    assert_eq!(
        (&push["from_sha"], &push["to_sha"]),
        (&scene.head.into(), &tip.clone().into())
    );
    let queued = scene.stage.read("drip-queue/mine.jsonl");
    let appended: Value = serde_json::from_str(queued.lines().nth(1).unwrap()).unwrap();
    assert_eq!(
        (
            &appended["status"],
            &appended["note"],
            &appended["rebase"],
            &appended["head_sha"]
        ),
        (&"open".into(), &"kept".into(), &"pushed".into(), &tip.into())
    );
    assert!(!scene.stage.home().join("DECISIONS.md").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_leave_to_push_a_clean_rebase_is_listed_for_a_person() {
    let scene = Scene::of(BRANCH, &[("a", "mine\n")], &[("c", "theirs\n")]).await;
    let outcome = scene.run(Pushing::Withheld).await;
    assert_eq!(
        outcome,
        "rebases cleanly; not pushed, since `[drip] push` is off: listed for a person"
    );
    assert_eq!(scene.branch_tip(BRANCH), scene.head);
    assert!(scene.stage.read("DECISIONS.md").contains("it rebases cleanly"));
    assert!(!scene.stage.home().join("pushes.jsonl").exists());
    scene.no_tree_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_is_listed_by_file_with_the_commits_of_both_sides() {
    let scene = Scene::of(
        BRANCH,
        &[("README", "one\nmine\nthree\n")],
        &[("README", "one\ntheirs\nthree\n")],
    )
    .await;
    assert_eq!(scene.run(Pushing::Allowed).await, "conflict: README");
    assert_eq!(scene.branch_tip(BRANCH), scene.head);
    let page = scene.stage.read("rebases/o/r-1.md");
    assert!(page.contains("## README"), "{page}");
    assert!(page.contains("Change README"), "{page}");
    // What others wrote is shown and does nothing.
    assert!(
        page.contains("Refactor README &lt;b&gt;@\u{200B}all&lt;/b&gt;"),
        "{page}"
    );
    assert!(
        scene
            .stage
            .read("DECISIONS.md")
            .contains("resolve its conflicts (rebases/o/r-1.md)")
    );
    scene.no_tree_is_left();
}

/// The remote moved after the pull request was read: nothing is pushed over a head that was not seen.
#[tokio::test(flavor = "multi_thread")]
async fn a_push_over_a_head_that_was_not_seen_is_refused() {
    let scene = Scene::of(BRANCH, &[("a", "mine\n")], &[("c", "theirs\n")]).await;
    scene.repos.on("making-other");
    let other = scene.repos.commit("Somebody else's", &[("d", Some("new\n"))]);
    scene.repos.publish("ada/r", "refs/heads/topic");
    let outcome = scene.run(Pushing::Allowed).await;
    assert_eq!(
        outcome,
        format!("moot: not pushed, the branch moved to {} meanwhile", &other[..7])
    );
    assert_eq!(scene.branch_tip(BRANCH), other);
}

/// A force-push while git was about to rebase: what was fetched is not what was asked about.
#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_moved_before_the_rebase_is_moot() {
    let scene = Scene::of(BRANCH, &[("a", "mine\n")], &[("c", "theirs\n")]).await;
    scene.repos.on("making-other");
    let other = scene.repos.commit("Forced", &[("a", Some("other\n"))]);
    scene.repos.publish_pull(1, BRANCH);
    let outcome = scene.run(Pushing::Allowed).await;
    assert_eq!(outcome, format!("moot: the head moved to {}", &other[..7]));
    assert_eq!(scene.branch_tip(BRANCH), other);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_base_has_already_is_left_to_a_person() {
    let scene = Scene::of(BRANCH, &[("a", "same\n")], &[("a", "same\n")]).await;
    let outcome = scene.run(Pushing::Allowed).await;
    assert_eq!(
        outcome,
        "listed for a person: rebase (nothing would be left of it: its base has all that it changes)"
    );
    assert_eq!(scene.branch_tip(BRANCH), scene.head);
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_with_odd_names_are_rebased_like_others() {
    for branch in ["-f", "--force", "quote'\"$(x)`y`;", "ünïcödé/枝", "a/b.c"] {
        let scene = Scene::of(branch, &[("a", "mine\n")], &[("c", "theirs\n")]).await;
        let outcome = scene.run(Pushing::Allowed).await;
        assert!(
            outcome.starts_with("rebased and pushed: 1 commit"),
            "{branch}: {outcome}"
        );
        assert_ne!(scene.branch_tip(branch), scene.head, "{branch}");
    }
}

/// A name that git does not allow cannot be a branch of GitHub's; one that comes all the same is a person's.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_git_does_not_allow_is_left_to_a_person() {
    let scene = Scene::with(BRANCH, &[("a", "mine\n")], &[("c", "theirs\n")], |pull| {
        pull.branch("a b..c")
    })
    .await;
    let outcome = scene.run(Pushing::Allowed).await;
    assert!(outcome.starts_with("listed for a person: rebase ("), "{outcome}");
    assert_eq!(scene.branch_tip(BRANCH), scene.head);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_branch_of_a_deleted_fork_is_left_to_a_person() {
    let scene = Scene::with(BRANCH, &[("a", "mine\n")], &[("c", "theirs\n")], |pull| {
        pull.fork_deleted()
    })
    .await;
    assert_eq!(
        scene.run(Pushing::Allowed).await,
        "listed for a person: rebase (the fork of its branch is deleted)"
    );
}

/// The drip queue may name other people's pull requests; their branches are theirs.
#[tokio::test(flavor = "multi_thread")]
async fn only_ones_own_branches_are_pushed() {
    let scene = Scene::with(BRANCH, &[("a", "mine\n")], &[("c", "theirs\n")], |pull| {
        pull.author("grace")
    })
    .await;
    let queue = r#"{"repo":"o/r","pr_number":1,"branch":"topic","status":"open"}"#;
    scene.stage.write("drip-queue/mine.jsonl", &format!("{queue}\n"));
    scene.stage.dispatch(WorkingSet::Queue).await.unwrap();
    scene.host(Pushing::Allowed).await;
    assert_eq!(
        scene.stage.outcomes("drip").await,
        ["listed for a person: rebase (somebody else wrote it, and only one's own branches are pushed)"]
    );
    assert_eq!(scene.branch_tip(BRANCH), scene.head);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_gone_is_left_to_a_person() {
    let scene = Scene::of(BRANCH, &[("a", "mine\n")], &[("c", "theirs\n")]).await;
    std::fs::remove_dir_all(scene.repos.bare("o/r")).unwrap();
    let outcome = scene.run(Pushing::Allowed).await;
    assert!(
        outcome.starts_with("listed for a person: rebase (there is no repository o/r"),
        "{outcome}"
    );
}
