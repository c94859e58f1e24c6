//! `gh pr view --json` and `gh pr list --json`.

use github::Scope;
use pulls::facts::{Check, MergeState, Mergeable, ReviewState};
use serde_json::Value;
use world::{PullSpec, Served, World};

use super::Payload;
use super::convert::{About, named_workflow, text};
use crate::support::{Judged, at, every_object, judge, pr, read, read_one, reader, rewrite, serve};

const REPO: &str = "example-team/Harmony";

/// Person 01's pull request of this number, opened then.
fn about(number: u32, opened: &str) -> About<'_> {
    About {
        repo: REPO,
        number,
        author: "person-01",
        opened,
        workflow: named_workflow,
    }
}

/// A pull request in a world where it is this time, read and classified at that time.
pub(super) async fn judged_at(pull: PullSpec, now: &str) -> (Served, Judged) {
    let name = pull.address().to_string();
    let served = serve(World::builder(now).pull(pull)).await;
    let judged = judge(read_one(&served, &name).await, at(now));
    (served, judged)
}

/// The same once more with nothing left out as `gh` does it: an empty word for none, and Go's zero for a
/// time that is none.
async fn as_gh_writes_it(served: &Served, judged: &Judged, now: &str) {
    let name = judged.facts.at.to_string();
    let mut written = 0;
    rewrite(served, &name, |answer| {
        every_object(answer, &mut |object| {
            if object.get("reviewDecision").is_some_and(Value::is_null) {
                object.insert("reviewDecision".into(), "".into());
                written += 1;
            }
            if object.get("conclusion").is_some_and(Value::is_null) {
                object.insert("conclusion".into(), "".into());
                written += 1;
            }
            if object.get("completedAt").is_some_and(Value::is_null) {
                object.insert("completedAt".into(), "0001-01-01T00:00:00Z".into());
            }
        });
    })
    .await;
    assert!(written > 0, "nothing to write in another way");
    let again = judge(read_one(served, &name).await, at(now));
    assert_eq!(again.verdict, judged.verdict);
}

pub async fn list(payload: Payload) {
    let now = "2026-05-04T05:00:00Z";
    let listed = payload.body.as_array().unwrap();
    let pulls = listed.iter().map(|pull| {
        let number = pull["number"].as_u64().unwrap().try_into().unwrap();
        about(number, "2026-05-01T12:00:00Z").pull(pull)
    });
    let served = serve(World::builder(now).viewer("person-03").pulls(pulls)).await;
    let reader = reader(&served);
    let me = reader.viewer().await.unwrap();
    let found = reader
        .open_pulls(&me.login, &Scope::Everywhere, 50)
        .await
        .unwrap();
    assert_eq!((found.refs.len(), found.total), (18, 18), "638 is another's");
    let mut refs = found.refs;
    refs.push(pr("example-team/Harmony#638"));
    let got = read(&reader, &refs).await;
    assert_eq!((got.found.len(), got.skipped.len()), (19, 0));
    assert_eq!(reader.requests().total, 3, "the viewer, the search and one batch");
    for facts in got.found {
        let judged = judge(facts, at(now));
        match judged.facts.at.number.get() {
            613 | 614 | 620 | 621 => {
                judged.is(
                    "investigate",
                    "investigate.changes_requested",
                    "changes requested",
                );
            }
            638 => {
                judged.waits("review required");
            }
            _ => {
                assert_eq!(judged.facts.review_decision, None);
                judged.waits("no review required and none given");
            }
        }
    }
}

pub async fn question(payload: Payload) {
    let now = "2026-04-10T22:00:00Z";
    // The viewer's comments answer, and the viewer is the author.
    let mine = About {
        author: "person-03",
        ..about(311, "2026-04-09T20:00:00Z")
    };
    let (_, judged) = judged_at(mine.pull(&payload.body), now).await;
    judged.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by person-01",
    );
    assert_eq!(judged.who_waits().0, Some("person-01"));
    assert!(!judged.is_asked(), "the question was answered the next day");
    assert_eq!(judged.also(), [""; 0]);

    // For anybody else's pull request nobody has answered yet: another member's words answer nothing.
    let theirs = About {
        author: "person-02",
        ..about(311, "2026-04-09T20:00:00Z")
    };
    let (_, judged) = judged_at(theirs.pull(&payload.body), now).await;
    judged.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by person-01",
    );
    assert!(judged.is_asked());
    assert_eq!(judged.also(), ["investigate.question"]);
}

pub async fn behind(payload: Payload) {
    let now = "2026-04-19T21:00:00Z";
    let pull = about(407, "2026-04-18T13:00:00Z").pull(&payload.body);
    let (_, judged) = judged_at(pull.behind(50), now).await;
    judged.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by person-03",
    );
    let signals = &judged.verdict.signals;
    assert_eq!(signals.merge_state, MergeState::Behind);
    assert_eq!((signals.behind_by, judged.also()), (Some(50), vec![]));
    assert_eq!(signals.activity_h.to_string(), "0.1");
    assert!(!judged.is_asked(), "only an app asks something");
    assert_eq!(
        (judged.facts.comments.len(), judged.facts.reviews.len()),
        (10, 12)
    );
}

pub async fn approved_but_blocked(payload: Payload) {
    let now = "2026-04-27T21:00:00Z";
    let pull = about(477, "2026-04-26T18:20:00Z").pull(&payload.body);
    let (_, judged) = judged_at(pull, now).await;
    // The decision is GitHub's; the reviews that are shown do not explain it.
    judged.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested",
    );
    assert_eq!(judged.who_waits(), (None, None));
    assert_eq!(judged.facts.reviews[1].state, ReviewState::Approved);
    assert_eq!(judged.ci(), "green");
}

pub async fn omits_blocker(payload: Payload) {
    let now = "2026-04-27T16:00:00Z";
    let pull = about(477, "2026-04-26T18:20:00Z").pull(&payload.body);
    let (_, judged) = judged_at(pull, now).await;
    judged.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by person-02",
    );
    assert_eq!(judged.facts.head.committed_at, at("2026-04-27T15:26:32Z"));
    assert_eq!(judged.facts.head.branch, "feat/360-seo-integration-tests");
    assert_eq!(judged.facts.reviews.len(), 5);
    assert_eq!((judged.ci(), judged.verdict.signals.skipped), ("green", 1));
    assert_eq!((judged.is_asked(), judged.also()), (false, vec![]));
    let issue = &judged.facts.closes[0];
    assert_eq!((issue.number.get(), issue.is_closed), (360, false));
}

pub async fn checks_running(payload: Payload) {
    let now = "2026-04-27T20:41:00Z";
    let pull = about(506, "2026-04-27T20:38:50Z").pull(&payload.body);
    let (served, judged) = judged_at(pull, now).await;
    judged.waits("review required; CI pending: Run Backend Tests, Run Integration Tests");
    let signals = &judged.verdict.signals;
    assert_eq!(
        signals.pending,
        ["Run Backend Tests", "Run Integration Tests"],
        "as gh gives them they have an empty conclusion"
    );
    assert_eq!((judged.ci(), signals.skipped), ("pending", 1));
    assert!(!judged.is_asked(), "the app's question mark is in an address");
    as_gh_writes_it(&served, &judged, now).await;
}

pub async fn dismissed(payload: Payload) {
    let now = "2026-05-04T02:34:00Z";
    let mine = About {
        author: "person-04",
        ..about(604, "2026-05-01T22:00:00Z")
    };
    let (served, judged) = judged_at(mine.pull(&payload.body), now).await;
    judged.is(
        "investigate",
        "investigate.changes_requested",
        "changes requested by person-03",
    );
    let states = judged.facts.reviews.iter().map(|review| review.state.as_str());
    let dismissed = states.filter(|state| *state == "DISMISSED").count();
    assert_eq!((dismissed, judged.ci()), (1, "pending"));
    assert_eq!(judged.verdict.signals.pending, ["Run Integration Tests"]);
    as_gh_writes_it(&served, &judged, now).await;
}

pub async fn conflict(payload: Payload) {
    let now = "2026-05-04T03:00:00Z";
    let pull = || about(609, "2026-05-02T12:00:00Z").pull(&payload.body);
    // Whether GitHub has an empty rollup or none at all, nothing runs before the conflict is gone.
    for pull in [pull(), pull().no_rollup()] {
        let (_, judged) = judged_at(pull, now).await;
        judged.is(
            "investigate",
            "investigate.changes_requested",
            "changes requested",
        );
        assert_eq!((judged.ci(), judged.also()), ("unknown", vec!["rebase.conflict"]));
        assert_eq!(judged.facts.mergeable, Mergeable::Conflicting);
        assert_eq!(judged.facts.merge_state, MergeState::Dirty);
        assert_eq!(
            judged.facts.head.sha.as_str(),
            text(&payload.body, "headRefOid").unwrap()
        );
    }
}

pub async fn clean(payload: Payload) {
    let pull = about(614, "2026-05-03T12:00:00Z").pull(&payload.body);
    let (_, judged) = judged_at(pull, "2026-05-04T04:30:00Z").await;
    judged.ships();
    let ids = judged
        .facts
        .checks
        .contexts
        .iter()
        .flatten()
        .map(|check| match check {
            Check::Run(run) => run.id,
            other => panic!("{other:?} is no run"),
        });
    assert_eq!(ids.max(), Some(74_167_138_322), "an id beyond 32 bits");
}

pub async fn empty_rollup(payload: Payload) {
    let now = "2026-05-04T05:00:00Z";
    let pull = about(615, "2026-05-03T12:00:00Z").pull(&payload.body);
    let (served, judged) = judged_at(pull, now).await;
    judged.waits("no review required and none given");
    assert_eq!((judged.ci(), &judged.verdict.signals.review), ("unknown", &None));
    assert_eq!(judged.facts.base.branch, "development");
    as_gh_writes_it(&served, &judged, now).await;
}

pub async fn ci_failure(payload: Payload) {
    let pull = about(623, "2026-05-03T19:50:00Z").pull(&payload.body);
    let (_, judged) = judged_at(pull, "2026-05-03T20:00:00Z").await;
    judged.is("qa", "qa.ci", "CI failure: Run Integration Tests");
    let signals = &judged.verdict.signals;
    assert_eq!(signals.check.as_deref(), Some("Run Integration Tests"));
    assert_eq!(signals.merge_state, MergeState::Blocked);
}
