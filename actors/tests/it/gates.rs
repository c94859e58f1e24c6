//! The gate keeper on real git repositories with real programs (contract, section 5, `qa`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actors::drip::Pushing;
use actors::pr_state::WorkingSet;
use actors::qa::{Gate, Gates, Qa};
use actors::trees::Trees;
use serde_json::Value;
use world::{CommitSpec, PullSpec, World, hours_ago};

use crate::repos::Repos;
use crate::stage::Stage;

/// A pull request with a failed check, dispatched to `qa`, whose head has a file `README`.
struct Scene {
    stage: Stage,
    repos: Arc<Repos>,
    head: String,
}

impl Scene {
    async fn new() -> Self {
        let repos = Arc::new(Repos::new());
        repos.on("making-topic");
        let head = repos.commit("Change", &[("value", Some("42\n"))]);
        repos.publish_pull(1, "topic");
        let pull = PullSpec::new("o/r", 1)
            .branch("topic")
            .from_fork_of("ada")
            .head(CommitSpec::at(hours_ago(30)).oid(&head))
            .check(world::CheckSpec::run("build").failure());
        let world = World::builder(world::DEMO_NOW).viewer("ada").pull(pull).build();
        let stage = Stage::of(world).await;
        Self { stage, repos, head }
    }

    /// Dispatches, and runs these lines of the shell as gates.
    async fn run(&self, lines: &[&str]) -> String {
        self.run_for(lines, Duration::from_secs(30)).await
    }

    async fn run_for(&self, lines: &[&str], timeout: Duration) -> String {
        self.stage.dispatch(WorkingSet::Everywhere).await.unwrap();
        let mut gates = Gates::default();
        for line in lines {
            let gate = Gate {
                argv: ["sh", "-c", line].map(str::to_owned).to_vec(),
                name: (*line).to_owned(),
                timeout,
                environment: BTreeMap::from([("GATE".to_owned(), "yes".to_owned())]),
            };
            gates.add("O/R".parse().unwrap(), gate);
        }
        let trees = self.repos.shared_trees(self.stage.home());
        let github = self.stage.reader();
        self.stage
            .host_with(
                move || Qa::new(github.clone(), trees(), gates.clone()),
                || (Trees::none("not here"), Pushing::Withheld),
            )
            .await;
        let outcomes = self.stage.outcomes("qa").await;
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
        outcomes[0].clone()
    }

    fn attested(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.stage.home().join("gates/o-r.gate")).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_all_gates_pass_the_head_is_attested() {
    let scene = Scene::new().await;
    let outcome = scene
        .run(&[
            "test \"$(cat value)\" = 42",
            "test $GATE = yes && git log -1 --format=%H",
        ])
        .await;
    assert_eq!(outcome, "passed");
    let gate = scene.attested().unwrap();
    assert_eq!((&gate["repo"], &gate["pr"]), (&"o/r".into(), &1.into()));
    assert_eq!(gate["head"], scene.head.as_str());
    assert_eq!(gate["attested_at"], "2026-05-14T17:45:00Z");
    let commands = gate["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 2);
    assert!(commands.iter().all(|command| command["result"] == "passed"));
    let log = scene.stage.read(commands[1]["log"].as_str().unwrap());
    assert!(log.contains(&format!("--- stdout ---\n{}", scene.head)), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_fails_is_named_with_what_it_said() {
    let scene = Scene::new().await;
    let outcome = scene
        .run(&[
            "true",
            "echo building; echo 'error: no such thing' >&2; exit 3",
            "touch ../never",
        ])
        .await;
    assert_eq!(
        outcome,
        "failed: echo building; echo 'error: no such thing' >&2; exit 3: error: no such thing \
         (log: gates/logs/o/r-1-2.log)"
    );
    assert_eq!(scene.attested(), None);
    let log = scene.stage.read("gates/logs/o/r-1-2.log");
    assert!(log.contains("exit code 3") && log.contains("building"), "{log}");
    assert!(!scene.stage.home().join("gates/logs/o/r-1-3.log").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_at_its_limit_is_ended_with_its_children() {
    let scene = Scene::new().await;
    let pids = scene.stage.home().join("pids");
    let line = format!(
        "echo begun; sleep 1000 & echo $! >> {0}; setsid sleep 1000 & echo $! >> {0}; echo $$ >> {0}; wait",
        pids.display()
    );
    let outcome = scene.run_for(&[&line], Duration::from_secs(1)).await;
    assert!(outcome.contains("(ended after 1 s, its limit)"), "{outcome}");
    assert_eq!(scene.attested(), None);
    let pids = std::fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 3);
    let begun = std::time::Instant::now();
    for pid in pids.lines() {
        // What was ended may be a zombie until somebody waits for it.
        let gone = || {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .map_or(true, |stat| stat.rsplit(')').next().unwrap().starts_with(" Z"))
        };
        while !gone() {
            assert!(begun.elapsed().as_secs() < 10, "{pid} runs on");
            std::thread::yield_now();
        }
    }
}

/// The head moves while the gate runs: what passed is not what is there.
#[tokio::test(flavor = "multi_thread")]
async fn success_is_not_said_of_a_head_that_moved_meanwhile() {
    let scene = Scene::new().await;
    let base = scene.repos.tip("o/r", "refs/heads/main");
    let bare = scene.repos.bare("o/r");
    let line = format!("git -C {} update-ref refs/pull/1/head {base}", bare.display());
    assert_eq!(
        scene.run(&[&line]).await,
        format!("moot: the head moved to {} while the gates ran", &base[..7])
    );
    assert_eq!(scene.attested(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_prints_without_end_or_asks_for_input_ends() {
    let scene = Scene::new().await;
    let outcome = scene
        .run(&[
            "cat",
            "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo 'FAILED: the end'; false",
        ])
        .await;
    assert!(outcome.contains("FAILED: the end"), "{outcome}");
    let log = scene.stage.read("gates/logs/o/r-1-2.log");
    assert!(log.len() < 10_000_000, "{}", log.len());
    assert!(log.contains("bytes left out"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_finds_no_secret_and_leaves_nothing_behind_in_the_mirror() {
    let scene = Scene::new().await;
    let outcome = scene
        .run(&[
            "env | grep -i token && exit 1; git config user.name x; echo changed > value; git add -A; true",
        ])
        .await;
    assert_eq!(outcome, "passed");
    // A second run starts from the head again.
    let scene = Scene::new().await;
    assert_eq!(scene.run(&["test \"$(cat value)\" = 42"]).await, "passed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_there_fails_the_gate() {
    let scene = Scene::new().await;
    scene.stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    let mut gates = Gates::default();
    let gate = Gate {
        argv: vec!["no-such-program".to_owned()],
        name: "no-such-program".to_owned(),
        timeout: Duration::from_secs(5),
        environment: BTreeMap::new(),
    };
    gates.add("o/r".parse().unwrap(), gate);
    let (github, trees) = (scene.stage.reader(), scene.repos.shared_trees(scene.stage.home()));
    scene
        .stage
        .host_with(
            move || Qa::new(github.clone(), trees(), gates.clone()),
            || (Trees::none("not here"), Pushing::Withheld),
        )
        .await;
    assert_eq!(
        scene.stage.outcomes("qa").await,
        [
            "failed: no-such-program (no-such-program is not there (or not in PATH)) (log: gates/logs/o/r-1-1.log)"
        ]
    );
}
