//! The investigator on real git repositories and with real programs (contract, section 5, `investigate`).

use std::sync::Arc;
use std::time::Duration;

use actors::investigate::{Answering, Investigate};
use actors::pr_state::WorkingSet;
use actors::trees::Trees;
use runtime::Host;
use world::{Association, CommentSpec, CommitSpec, PullSpec, ThreadSpec, World, hours_ago};

use crate::repos::Repos;
use crate::stage::{Stage, now};

/// A pull request whose file `value` was commented on and then changed.
struct Scene {
    stage: Stage,
    repos: Arc<Repos>,
}

impl Scene {
    async fn new() -> Self {
        Self::commented_on(None).await
    }

    async fn commented_on(commit: Option<&str>) -> Self {
        let repos = Arc::new(Repos::new());
        repos.on("making-topic");
        let first = repos.commit("Add a value", &[("value", Some("42\n"))]);
        let head = repos.commit("Answer <b>@grace</b>", &[("value", Some("43\n"))]);
        repos.publish_pull(1, "topic");
        let question = CommentSpec::new("grace", Association::Member, "Why 42?").at(hours_ago(5));
        let pull = PullSpec::new("o/r", 1)
            .branch("topic")
            .from_fork_of("ada")
            .head(CommitSpec::at(hours_ago(30)).oid(&head))
            .thread(
                ThreadSpec::new("value", question)
                    .made_on(commit.unwrap_or(&first))
                    .hunk("@@ -0,0 +1 @@\n+42"),
            );
        let world = World::builder(world::DEMO_NOW).viewer("ada").pull(pull).build();
        let stage = Stage::of(world).await;
        Self { stage, repos }
    }

    async fn run(&self, trees: Trees, command: Option<&str>) -> String {
        self.stage.dispatch(WorkingSet::Everywhere).await.unwrap();
        let answering = command.map(|line| Answering {
            argv: ["sh", "-c", line].map(str::to_owned).to_vec(),
            timeout: Duration::from_secs(2),
        });
        let (github, home) = (self.stage.reader(), self.stage.home().to_owned());
        let running = Host::builder(
            self.stage.mailboxes.clone(),
            Arc::clone(&self.stage.clock),
            self.stage.home(),
        )
        .evaluate_at(now())
        .actor(move |_| {
            let investigate = Investigate::new(github.clone(), trees.clone());
            Ok(match answering.clone() {
                Some(answering) => investigate.answering(answering, &home),
                None => investigate,
            })
        })
        .start()
        .await
        .unwrap();
        running.until_quiet().await.unwrap();
        running.drain(Duration::from_secs(5)).await;
        self.stage.outcomes("investigate").await.remove(0)
    }

    fn brief(&self) -> String {
        self.stage.read("investigations/o-r-1.md")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_brief_shows_what_changed_in_the_file_since() {
    let scene = Scene::new().await;
    let trees = scene.repos.trees(scene.stage.home());
    assert_eq!(scene.run(trees, None).await, "briefed: investigations/o-r-1.md");
    let brief = scene.brief();
    assert!(
        brief.contains("## The file since\n\nvalue has changed since "),
        "{brief}"
    );
    assert!(
        brief.contains("Answer &lt;b&gt;@\u{200B}grace&lt;/b&gt;"),
        "{brief}"
    );
    assert!(brief.contains("-42\n+43"), "{brief}");
}

/// What cannot be told is said, and the rest of the brief is there.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_repository_the_rest_of_the_brief_is_there() {
    let gone = "d".repeat(40);
    let scene = Scene::commented_on(Some(&gone)).await;
    let trees = scene.repos.trees(scene.stage.home());
    scene.run(trees, None).await;
    assert!(
        scene
            .brief()
            .contains("is not known: the commit ddddddd that was commented on is gone")
    );
    let scene = Scene::new().await;
    std::fs::remove_dir_all(scene.repos.bare("o/r")).unwrap();
    let trees = scene.repos.trees(scene.stage.home());
    scene.run(trees, None).await;
    let brief = scene.brief();
    assert!(
        brief.contains("is not known: there is no repository o/r"),
        "{brief}"
    );
    assert!(brief.contains("Why 42?"), "{brief}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gets_the_brief_and_leaves_a_draft() {
    let nowhere = || Trees::none("not here");
    let scene = Scene::new().await;
    let line = "grep -q 'Why 42' && test -e $SWEEP_BRIEF && test $SWEEP_REPO#$SWEEP_PR = o/r#1 && ! env | grep -qi token && printf 'Since\\033[31m 41\\n'";
    assert_eq!(
        scene.run(nowhere(), Some(line)).await,
        "briefed: investigations/o-r-1.md; draft: investigations/o-r-1.draft.md"
    );
    let draft = scene.stage.read("investigations/o-r-1.draft.md");
    assert_eq!(draft, "Since\\u{1b}[31m 41\n");
    scene.stage.assert_nothing_said();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_leaves_no_draft_loses_no_brief() {
    for (line, expected) in [
        (
            "echo 'no model' >&2; exit 3",
            "no draft: sh ended with exit code 3: no model",
        ),
        ("cat > /dev/null", "no draft: the program printed nothing"),
        ("sleep 60", "no draft: sh ran longer than 2 s and was ended"),
    ] {
        let scene = Scene::new().await;
        assert_eq!(
            scene.run(Trees::none("not here"), Some(line)).await,
            format!("briefed: investigations/o-r-1.md; {expected}")
        );
        assert!(scene.brief().contains("## The question"));
        assert!(!scene.stage.home().join("investigations/o-r-1.draft.md").exists());
    }
}
