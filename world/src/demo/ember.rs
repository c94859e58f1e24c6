//! `lanternworks/ember`, a web framework: the plain cases, one a rule.

use super::{Row, quiet, ready};
use crate::{
    Association, CheckSpec, ClosesSpec, CommentSpec, PullSpec, ReviewSpec, days_ago, hours_ago, minutes_ago,
};

const REPO: &str = "lanternworks/ember";

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            spec: ready(REPO, 412)
                .title("Hold the colour choice across sub-commands")
                .branch("hold-colour")
                .created(days_ago(9))
                .review(ReviewSpec::approved("priya-lm").at(hours_ago(60)))
                .updated(hours_ago(60)),
            rule: "ship.ready",
            shows: "approved, green and silent for more than 48 hours: a ping is due",
        },
        Row {
            spec: PullSpec::new(REPO, 418)
                .title("Resolve templates by their Windows paths")
                .branch("windows-paths")
                .decision("REVIEW_REQUIRED")
                .created(days_ago(2))
                .check(CheckSpec::run("lint"))
                .check(CheckSpec::run("test (linux)"))
                .check(CheckSpec::run("test (windows)").failure()),
            rule: "qa.ci",
            shows: "one failing check among successful ones",
        },
        Row {
            spec: quiet(REPO, 421)
                .title("Stream request bodies instead of buffering them")
                .branch("stream-bodies")
                .created(days_ago(5))
                .comment(
                    CommentSpec::new(
                        "oberon-k",
                        Association::Member,
                        "Nice. What happens to a handler that reads the body twice?",
                    )
                    .at(hours_ago(20)),
                ),
            rule: "investigate.question",
            shows: "a maintainer's question, unanswered",
        },
        Row {
            spec: PullSpec::new(REPO, 425)
                .title("Route by content type")
                .branch("route-by-type")
                .decision("CHANGES_REQUESTED")
                .created(days_ago(12))
                .committed(hours_ago(30))
                .behind(57)
                .review(
                    ReviewSpec::changes_requested(
                        "priya-lm",
                        "The matcher allocates once a request. Could it borrow instead?",
                    )
                    .at(days_ago(3)),
                )
                .checks((1..=9).map(|n| CheckSpec::run(&format!("shard {n}")).failure())),
            rule: "investigate.changes_requested",
            shows: "changes requested, nine checks red and 57 commits behind: one bucket, every signal (B053, B054)",
        },
        Row {
            spec: PullSpec::new(REPO, 430)
                .title("Name the offending route in the panic message")
                .branch("name-the-route")
                .decision("REVIEW_REQUIRED")
                .created(hours_ago(2))
                .check(CheckSpec::run("lint"))
                .check(CheckSpec::run("test (linux)").in_progress())
                .check(CheckSpec::run("test (windows)").queued()),
            rule: "wait.default",
            shows: "two hours old, checks under way",
        },
        Row {
            spec: PullSpec::new(REPO, 431)
                .title("Mention the new extractor in the guide")
                .branch("guide-extractor")
                .decision("REVIEW_REQUIRED")
                .mergeable("UNKNOWN")
                .created(minutes_ago(20)),
            rule: "wait.default",
            shows: "twenty minutes old: no rollup at all yet, so its checks count as pending",
        },
        Row {
            spec: ready(REPO, 433)
                .title("Sketch: typed sessions")
                .branch("typed-sessions")
                .draft(),
            rule: "wait.default",
            shows: "approved and green, but a draft",
        },
        Row {
            spec: quiet(REPO, 409)
                .title("Do not lose the last chunk of a multipart body")
                .branch("last-chunk")
                .body("Closes #377.")
                .created(days_ago(16))
                .closes(ClosesSpec::issue(377).closed_by(428, days_ago(1))),
            rule: "close.superseded",
            shows: "the issue it would close was closed by another, merged pull request (B067)",
        },
        Row {
            spec: PullSpec::new(REPO, 399)
                .title("Split the router into its own crate")
                .branch("router-crate")
                .decision("APPROVED")
                .created(days_ago(31))
                .review(ReviewSpec::approved("oberon-k").at(days_ago(20)))
                .conflicting(),
            rule: "rebase.conflict",
            shows: "in conflict, and so without a merge commit for checks to run on",
        },
        Row {
            spec: PullSpec::new(REPO, 427)
                .title("Close idle connections on drain")
                .branch("drain-idle")
                .decision("APPROVED")
                .created(days_ago(4))
                .review(ReviewSpec::approved("priya-lm").at(hours_ago(30)))
                .check(CheckSpec::run("lint"))
                .check(
                    CheckSpec::run("test (linux)")
                        .started(hours_ago(29))
                        .id(48_211_734_002),
                )
                .check(
                    CheckSpec::run("test (linux)")
                        .conclusion("CANCELLED")
                        .started(hours_ago(31))
                        .id(48_211_734_001),
                )
                .check(
                    CheckSpec::run("test (windows)")
                        .failure()
                        .started(hours_ago(31))
                        .id(48_211_734_003),
                )
                .check(
                    CheckSpec::run("test (windows)")
                        .started(hours_ago(29))
                        .id(48_211_734_004),
                ),
            rule: "ship.ready",
            shows: "re-run checks: only the newest of each counts, in whatever order they come, although \
                    GitHub's rollup says FAILURE (B001, B002, B003, B010)",
        },
        Row {
            spec: ready(REPO, 435)
                .title("Sign the release artefacts")
                .branch("sign-artefacts")
                .check(CheckSpec::run("provenance").conclusion("ATTESTED"))
                .check(CheckSpec::unknown("DeploymentCheck")),
            rule: "wait.default",
            shows: "a conclusion and a kind of check that nobody knows yet: unknown, and not green (B029)",
        },
    ]
}
