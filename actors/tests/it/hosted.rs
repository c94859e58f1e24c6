//! The receiving actors, hosted and fed from real mailboxes.

use std::sync::Arc;
use std::time::Duration;

use actors::drip::{Drip, Pushing};
use actors::investigate::Investigate;
use actors::pr_state::{Rules, WorkingSet};
use actors::qa::Qa;
use actors::retro::Retro;
use actors::trees::Trees;
use mailbox::{EnvelopeState, Filter};
use runtime::Host;
use serde_json::Value;
use world::{Association, CommentSpec, PullSpec, ThreadSpec, World, hours_ago};

use crate::stage::{Stage, now};

/// Work trees of no repository.
fn nowhere() -> Trees {
    Trees::none("there are no repositories")
}

impl Stage {
    /// Hosts the receivers, without gates and work trees, until there is nothing left to do.
    pub async fn host(&self) {
        self.host_with(Qa::without_gates, || (nowhere(), Pushing::Withheld))
            .await;
    }

    /// Hosts the receivers until there is nothing left to do: the gate keeper as it is built, and the drip with work
    /// trees.
    pub async fn host_with(
        &self,
        qa: impl Fn() -> Qa + Send + Sync + 'static,
        drip: impl Fn() -> (Trees, Pushing) + Send + Sync + 'static,
    ) {
        let (github, reading) = (self.reader(), self.reader());
        let running = Host::builder(self.mailboxes.clone(), Arc::clone(&self.clock), self.home())
            .evaluate_at(now())
            .actor(|_| Ok(Retro))
            .actor(move |_| {
                let (trees, pushing) = drip();
                Ok(Drip::new(reading.clone(), Rules::default(), trees, pushing))
            })
            .actor(move |_| Ok(Investigate::new(github.clone(), nowhere())))
            .actor(move |_| Ok(qa()))
            .start()
            .await
            .unwrap();
        running.until_quiet().await.unwrap();
        running.drain(Duration::from_secs(5)).await;
    }

    /// The outcomes of a mailbox, in order; the reason of what is in quarantine.
    pub async fn outcomes(&self, mailbox: &str) -> Vec<String> {
        let envelopes = self
            .mailboxes
            .envelopes(&mailbox.parse().unwrap(), Filter::default())
            .await
            .unwrap();
        envelopes
            .into_iter()
            .map(|envelope| match envelope.state {
                EnvelopeState::Acked { outcome, .. } => outcome.to_string(),
                EnvelopeState::Quarantined { reason, .. } => format!("quarantined: {reason}"),
                other => format!("{other:?}"),
            })
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_demo_is_handled() {
    let stage = Stage::demo().await;
    let (report, _) = stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    stage.host().await;
    let counts = report.snapshot.counts();
    let count = |bucket| counts[&bucket];
    use lifecycle::Bucket::{Close, Investigate, Qa, Rebase, Ship, Wait};

    assert_eq!(stage.outcomes("qa").await, vec!["no gate configured"; count(Qa)]);
    assert_eq!(stage.outcomes("retro").await, vec!["recorded"; count(Wait)]);
    assert_eq!(stage.read("retro.jsonl").lines().count(), count(Wait));
    let briefed = stage.outcomes("investigate").await;
    assert_eq!(briefed.len(), count(Investigate));
    for outcome in briefed {
        let path = outcome
            .strip_prefix("briefed: ")
            .unwrap_or_else(|| panic!("{outcome}"));
        assert!(stage.read(path).contains("## The question"), "{path}");
    }
    let dripped = stage.outcomes("drip").await;
    let with = |word: &str| dripped.iter().filter(|outcome| outcome.contains(word)).count();
    assert_eq!(
        (with("close"), with("rebase"), with("ready")),
        (count(Close), count(Rebase), count(Ship))
    );
    assert_eq!(
        stage.read("DECISIONS.md").lines().count(),
        count(Close) + count(Rebase)
    );
    stage.assert_nothing_said();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_kept_once_with_what_was_seen() {
    let stage = Stage::of(
        World::builder(world::DEMO_NOW)
            .viewer("ada")
            .pull(PullSpec::new("o/r", 1))
            .build(),
    )
    .await;
    stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    stage.host().await;
    let kept = stage.read("retro.jsonl");
    let line: Value = serde_json::from_str(kept.trim_end()).unwrap();
    assert_eq!(line["msg_id"], "pr-state-2026-05-14T17:45:00Z-o-r-1");
    assert_eq!(
        (&line["repo"], &line["pr"], &line["rule"]),
        (&"o/r".into(), &1.into(), &"wait.default".into())
    );
}

/// Contract, section 5: the brief has the question, who asked and where, the thread, the hunk, the checks and
/// what changed since; other people's words in it do nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_brief_shows_the_question_in_its_thread() {
    let stage = Stage::of(
        World::builder(world::DEMO_NOW)
            .viewer("ada")
            .pull(
                PullSpec::new("o/r", 1)
                    .title("Add <b>bold</b> @everyone")
                    .committed(hours_ago(30))
                    .check(world::CheckSpec::run("build").success())
                    .thread(
                        ThreadSpec::new(
                            "src/lib.rs",
                            CommentSpec::new("grace", Association::Member, "Why not `Vec`?\n```\nx?\n```")
                                .at(hours_ago(5)),
                        )
                        .line(12)
                        .hunk("@@ -10,3 +10,3 @@\n-let x = 1;\n+let x = [1];"),
                    )
                    .comment(CommentSpec::new("linus", Association::None, "me too").at(hours_ago(3))),
            )
            .build(),
    )
    .await;
    stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    stage.host().await;
    assert_eq!(
        stage.outcomes("investigate").await,
        ["briefed: investigations/o-r-1.md"]
    );
    let brief = stage.read("investigations/o-r-1.md");
    let brief = brief.replace('\u{200B}', "·");
    insta::assert_snapshot!(brief);
}

/// A message that asks about a pull request that is closed meanwhile is moot.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_a_merged_pull_request_is_moot() {
    let stage = Stage::of(
        World::builder(world::DEMO_NOW)
            .viewer("ada")
            .pull(PullSpec::new("o/r", 1).decision("CHANGES_REQUESTED"))
            .build(),
    )
    .await;
    stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    stage.served.edit(|world| world.merge(("o/r", 1))).unwrap();
    stage.host().await;
    assert_eq!(
        stage.outcomes("investigate").await,
        ["moot: the pull request is merged"]
    );
}

/// `a-b/c` and `a/b-c` share the name of a file; neither brief takes the other's place.
#[tokio::test(flavor = "multi_thread")]
async fn briefs_that_share_a_name_are_told_apart() {
    let pull = |repo: &str| PullSpec::new(repo, 7).decision("CHANGES_REQUESTED");
    let world = World::builder(world::DEMO_NOW)
        .viewer("ada")
        .pull(pull("a-b/c"))
        .pull(pull("a/b-c"))
        .build();
    let stage = Stage::of(world).await;
    stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    stage.host().await;
    let mut titles: Vec<_> = std::fs::read_dir(stage.home().join("investigations"))
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .map(|page| page.split(':').next().unwrap().to_owned())
        .collect();
    titles.sort();
    assert_eq!(titles, ["# a-b/c#7", "# a/b-c#7"]);
}
