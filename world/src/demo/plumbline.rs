//! `quietforge/plumbline`, a linter: forks, queues, reviews and dates.

use super::{Row, green, quiet, ready};
use crate::{
    Association, CheckSpec, CommentSpec, CommitSpec, PullSpec, ReviewSpec, days_ago, hours_ago, hours_ahead,
};

const REPO: &str = "quietforge/plumbline";

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            spec: ready(REPO, 310)
                .title("Lint shadowed loop labels")
                .branch("loop-labels")
                .in_merge_queue(2)
                .fork_deleted(),
            rule: "ship.ready",
            shows: "its fork was deleted, and it is second in the merge queue all the same (B040, B065)",
        },
        Row {
            spec: ready(REPO, 311)
                .title("Cache parsed configurations")
                .branch("config-cache")
                .created(days_ago(50))
                .fork_deleted()
                .behind(74),
            rule: "rebase.behind",
            shows: "74 commits behind: the comparison works without the fork",
        },
        Row {
            spec: ready(REPO, 312)
                .title("Report the rule's page in JSON")
                .branch("json-rule-page")
                .decision("REVIEW_REQUIRED")
                .mergeable("UNKNOWN")
                .behind_unknown()
                .comment(
                    CommentSpec::new(
                        "oberon-k",
                        Association::Member,
                        "Looks good on my machine, review tomorrow.",
                    )
                    .at(hours_ago(11)),
                ),
            rule: "wait.default",
            shows: "GitHub has not reckoned mergeability and distance yet, and a member's comment asks nothing (B030, B055)",
        },
        Row {
            spec: PullSpec::new(REPO, 315)
                .title("Load plugins lazily")
                .branch("lazy-plugins")
                .decision("APPROVED")
                .created(days_ago(6))
                .checks(green())
                .merge_state("BEHIND")
                .behind(4)
                .review(ReviewSpec::changes_requested("priya-lm", "Please measure first.").at(days_ago(5)))
                .review(ReviewSpec::approved("priya-lm").at(days_ago(3)))
                .review(ReviewSpec::commented("priya-lm", "One nit, feel free to ignore it.").at(days_ago(2)))
                .review_request("suki-tan"),
            rule: "ship.ready",
            shows: "approved, then commented on by the same reviewer, another one still asked, four commits \
                    behind (B039, B043, B048)",
        },
        Row {
            spec: PullSpec::new(REPO, 316)
                .title("Publish the editor extension")
                .branch("editor-extension")
                .decision("APPROVED")
                .review(ReviewSpec::approved("oberon-k").at(hours_ago(15)))
                .check(CheckSpec::run("preview").app("preview-pelican").failure())
                .check(CheckSpec::status("preview")),
            rule: "qa.ci",
            shows: "a check run and a status of one name: both must pass (B005)",
        },
        Row {
            spec: quiet(REPO, 317)
                .title("Speak the language server protocol")
                .branch("lsp")
                .created(days_ago(9))
                .head(CommitSpec::at(hours_ahead(72)).authored(days_ago(2)))
                .force_pushed(hours_ago(3))
                .comment(
                    CommentSpec::new("oberon-k", Association::Member, "Does it support workspaces?")
                        .at(hours_ago(5)),
                ),
            rule: "wait.default",
            shows: "a head dated in the future counts as made at its force push, after the question (B073, B074)",
        },
        Row {
            spec: quiet(REPO, 318)
                .title("Suggest the nearest rule name")
                .branch("nearest-rule")
                .created(days_ago(9))
                .earlier(CommitSpec::at(days_ago(8)))
                .head(CommitSpec::at(hours_ahead(300)))
                .comment(
                    CommentSpec::new("oberon-k", Association::Member, "Which distance do you use?")
                        .at(hours_ago(5)),
                ),
            rule: "investigate.question",
            shows: "a head dated in the future does not hide a question: the newest past commit counts (B073)",
        },
        Row {
            spec: PullSpec::new(REPO, 319)
                .title("Sort findings by file")
                .branch("sort-findings")
                .checks(green())
                .locked(),
            rule: "wait.default",
            shows: "its base asks for no review, and its conversation is locked (B049, B079)",
        },
    ]
}
