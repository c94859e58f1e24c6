//! The drip: it reads the pull request again before it does anything.

use actors::pr_state::WorkingSet;
use world::{Association, CommentSpec, CommitSpec, PullSpec, ReviewSpec, World, hours_ago};

use crate::stage::Stage;

const AT: (&str, u32) = ("o/r", 1);

/// A world of one pull request, dispatched.
async fn dispatched(pull: PullSpec) -> Stage {
    let world = World::builder(world::DEMO_NOW).viewer("ada").pull(pull).build();
    let stage = Stage::of(world).await;
    stage.dispatch(WorkingSet::Everywhere).await.unwrap();
    stage
}

fn conflicting() -> PullSpec {
    PullSpec::new("o/r", 1).conflicting()
}

fn ready(quiet_since: i64) -> PullSpec {
    PullSpec::new("o/r", 1)
        .created(hours_ago(200))
        .committed(hours_ago(190))
        .decision("APPROVED")
        .review(ReviewSpec::new("grace", Association::Member, "APPROVED", "").at(hours_ago(quiet_since)))
        .check(world::CheckSpec::run("build").success())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_head_moved_is_moot() {
    let stage = dispatched(conflicting()).await;
    let new = CommitSpec::at(hours_ago(0)).oid(&"c".repeat(40));
    stage.served.edit(|world| world.push(AT, new)).unwrap();
    stage.host().await;
    assert_eq!(stage.outcomes("drip").await, ["moot: the head moved to ccccccc"]);
    assert!(!stage.home().join("DECISIONS.md").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_condition_does_not_hold_any_more_is_moot() {
    let stage = dispatched(ready(60)).await;
    let question = CommentSpec::new("grace", Association::Member, "Is this safe?").at(hours_ago(1));
    stage.served.edit(|world| world.comment(AT, question)).unwrap();
    stage.host().await;
    let outcomes = stage.outcomes("drip").await;
    assert!(
        outcomes[0].starts_with("moot: it is in investigate now: "),
        "{outcomes:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_about_a_closed_pull_request_is_moot() {
    let stage = dispatched(conflicting()).await;
    stage.served.edit(|world| world.close(AT)).unwrap();
    stage.host().await;
    assert_eq!(stage.outcomes("drip").await, ["moot: the pull request is closed"]);
}

/// `pr-state.md`, bucket `ship`: a ping after 48 hours of inactivity. What is recorded is when it is due.
#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_merged_says_when_a_ping_is_due() {
    for (quiet_since, expected) in [
        (47, "a ping is due 2026-05-14 18:45 UTC if it stays quiet"),
        (48, "quiet for 48 h, a ping is due since 2026-05-14 17:45 UTC"),
    ] {
        let stage = dispatched(ready(quiet_since)).await;
        stage.host().await;
        let expected = format!("ready: a maintainer can merge it; {expected}");
        assert_eq!(stage.outcomes("drip").await, [expected]);
        stage.assert_nothing_said();
    }
}
