//! The world that `sweep run --demo` shows: one person's open pull requests over a dozen repositories, and one
//! repository that is maintained.
//!
//! Every name is invented. Each pull request is there for a reason, which its row says, with the rule
//! that a reader of the contract's section 4 expects. Times are relative to [`DEMO_NOW`].

mod ember;
mod orrery;
mod others;
mod plumbline;
mod skerry;

pub use orrery::{DEMO_MAINTAINED, DemoReview, DemoState, demo_reviews, demo_states};

use std::time::Duration;

use crate::graph::{At, World};
use crate::spec::{PullSpec, RepoSpec};

/// The time in the demo's world. It stands still, so that every run shows the same.
pub const DEMO_NOW: &str = "2026-05-14T17:45:00Z";

/// Whose pull requests the demo shows.
pub const DEMO_VIEWER: &str = "tamsin-h";

/// One pull request of the demo, and what it is there to show.
struct Row {
    spec: PullSpec,
    rule: &'static str,
    shows: &'static str,
}

/// What is expected of one of the demo's pull requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoAnswer {
    /// Which it is.
    pub at: At,
    /// The rule that puts it in its bucket, given [`demo_hints`].
    pub rule: &'static str,
    /// Why it is there.
    pub shows: &'static str,
}

/// Files of the home that the demo's world goes with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoHints {
    /// `drip-queue/<name>` and its lines.
    pub drip_queue: Vec<(&'static str, Vec<String>)>,
    /// The gate attestations.
    pub gates: Vec<DemoGate>,
}

/// One gate attestation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoGate {
    /// The file's name under `gates/`.
    pub file: &'static str,
    /// Its text.
    pub text: String,
    /// How long before [`DEMO_NOW`] it was written: its modification time is to say so.
    pub age: Duration,
}

fn rows() -> Vec<Row> {
    let mut rows = ember::rows();
    rows.extend(skerry::rows());
    rows.extend(plumbline::rows());
    rows.extend(others::rows());
    rows
}

impl World {
    /// The demo's world, at [`DEMO_NOW`], seen by [`DEMO_VIEWER`].
    pub fn demo() -> Self {
        Self::builder(DEMO_NOW)
            .viewer(DEMO_VIEWER)
            .repo(RepoSpec::new("mossgate/attic").archived())
            .repo(
                RepoSpec::new("papercrane/kite")
                    .renamed_from("papercrane/glider")
                    .default_branch("trunk"),
            )
            .pulls(rows().into_iter().map(|row| row.spec))
            .pulls(others::of_other_people())
            .repo(orrery::repo())
            .pulls(orrery::pulls())
            .build()
    }
}

/// What each of the demo's open pull requests of the viewer is expected to be.
pub fn demo_answers() -> Vec<DemoAnswer> {
    let answer = |row: Row| DemoAnswer {
        at: row.spec.address().clone(),
        rule: row.rule,
        shows: row.shows,
    };
    rows().into_iter().map(answer).collect()
}

/// The hints that some of [`demo_answers`] rest on: a queue that knows one pull request under its
/// repository's former name, a gate attestation that is fresh and one that is stale.
pub fn demo_hints() -> DemoHints {
    let line = |repo: &str, number: u32, branch: &str, status: &str| {
        serde_json::json!({ "repo": repo, "pr_number": number, "branch": branch, "status": status })
            .to_string()
    };
    let gate = |repo: &str, at: &str| {
        serde_json::json!({
            "repo": repo, "finished": at,
            "commands": [{ "command": "make check", "result": "passed", "seconds": 41 }],
        })
        .to_string()
    };
    DemoHints {
        drip_queue: vec![
            (
                "2026-04.jsonl",
                vec![
                    line("papercrane/glider", 57, "tail-knot", "open"),
                    line("lanternworks/ember", 412, "hold-colour", "open"),
                ],
            ),
            (
                "2026-05.jsonl",
                vec![
                    line("papercrane/glider", 57, "tail-knot", "superseded"),
                    line("lanternworks/ember", 418, "windows-paths", "open"),
                ],
            ),
        ],
        gates: vec![
            DemoGate {
                file: "harborlight-quill.gate",
                text: gate("harborlight/quill", "2026-05-14T12:45:00Z"),
                age: Duration::from_secs(5 * 3_600),
            },
            DemoGate {
                file: "papercrane-fold.gate",
                text: gate("papercrane/fold", "2026-05-12T12:45:00Z"),
                age: Duration::from_secs(53 * 3_600),
            },
        ],
    }
}

/// The checks of an ordinary repository, all successful.
fn green() -> [crate::CheckSpec; 3] {
    ["lint", "test (linux)", "test (windows)"].map(crate::CheckSpec::run)
}

/// An approved, green pull request: a maintainer can merge it.
fn ready(repo: &str, number: u32) -> PullSpec {
    PullSpec::new(repo, number)
        .decision("APPROVED")
        .review(crate::ReviewSpec::approved("oberon-k").at(crate::hours_ago(26)))
        .checks(green())
}

/// A green pull request that nobody has looked at.
fn quiet(repo: &str, number: u32) -> PullSpec {
    PullSpec::new(repo, number)
        .decision("REVIEW_REQUIRED")
        .checks(green())
}
