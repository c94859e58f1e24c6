//! Smaller repositories: names, archives, gates, and text that would like to act.

use super::{Row, quiet, ready};
use crate::{Association, CheckSpec, CommentSpec, PullSpec, ReviewSpec, Who, days_ago, hours_ago};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            spec: ready("mossgate/attic", 12)
                .title("Let the ladder fold")
                .branch("folding-ladder")
                .created(days_ago(120))
                .conflicting()
                .comment(CommentSpec::new("oberon-k", Association::Owner, "Still wanted?").at(days_ago(100))),
            rule: "wait.default",
            shows: "the repository is archived, which comes before every rule (B080)",
        },
        Row {
            spec: ready("papercrane/kite", 57).title("Tie the tail with a better knot").branch("tail-knot"),
            rule: "close.queue",
            shows: "the drip queue calls it superseded, under its repository's former name (B108)",
        },
        Row {
            spec: PullSpec::new("papercrane/kite", 58)
                .title("\u{1b}[31mRed\u{1b}[0m kite <img src=x onerror=alert(1)> @papercrane/everyone `rm -rf ~` | # ** \u{202e}txt.exe")
                .branch("fix#12/--upload-pack='$(touch pwned)'")
                .body("Hello @everyone, <script>alert(1)</script>\n\n| a | b |\n|---|---|\n\u{7}")
                .decision("REVIEW_REQUIRED")
                .check(CheckSpec::run("wind tunnel \u{1b}]0;pwned\u{7} <b>").failure()),
            rule: "qa.ci",
            shows: "a title, a branch and a check whose words must not act (B082)",
        },
        Row {
            spec: quiet("papercrane/kite", 61)
                .title("凧の糸を強くする")
                .branch("強い糸")
                .created(days_ago(5))
                .comment(CommentSpec::new("suki-tan", Association::Owner, "هل هذا آمن؟").at(hours_ago(7))),
            rule: "investigate.question",
            shows: "a title and a branch outside ASCII, and a question in Arabic",
        },
        Row {
            spec: quiet("papercrane/fold", 203).title("Fold along the grain").branch("grain"),
            rule: "qa.gate",
            shows: "its gate attestation is 53 hours old",
        },
        Row {
            spec: ready("harborlight/quill", 76).title("Dip before writing").branch("dip-first"),
            rule: "ship.ready",
            shows: "ready, with a fresh gate attestation",
        },
        Row {
            spec: quiet("harborlight/quill", 77)
                .title("Blot the last line")
                .branch("blot")
                .created(days_ago(6))
                .comment(CommentSpec::new(Who::Deleted, Association::Member, "Why not sand?").at(hours_ago(50)))
                .comment(CommentSpec::new("passer-by", Association::None, "When is this released?").at(hours_ago(20)))
                .review(
                    ReviewSpec::new(Who::Deleted, Association::Member, "COMMENTED", "").at(hours_ago(49)).dismissed(),
                ),
            rule: "wait.default",
            shows: "the account that asked was deleted, which makes it nobody, and a passer-by's question does not count",
        },
        Row {
            spec: quiet("salt-marsh/reed", 5).title("Bend, do not break").branch("bend"),
            rule: "wait.default",
            shows: "one message id with salt/marsh-reed#5",
        },
        Row {
            spec: quiet("salt/marsh-reed", 5).title("Dry before weaving").body("").branch("dry"),
            rule: "wait.default",
            shows: "one message id with salt-marsh/reed#5, and an empty description",
        },
    ]
}

/// What else there is: other people's pull requests, and the viewer's own that are done.
pub(super) fn of_other_people() -> Vec<PullSpec> {
    vec![
        PullSpec::new("lanternworks/ember", 434)
            .author("priya-lm")
            .title("Bump the parser"),
        PullSpec::new("lanternworks/ember", 402)
            .title("Drop the unused feature")
            .merged(days_ago(8)),
        PullSpec::new("tidepool-db/skerry", 91)
            .author("wendel7")
            .title("Compact on close")
            .merged(days_ago(2)),
        PullSpec::new("tidepool-db/skerry", 80)
            .title("A wrong idea")
            .closed(days_ago(30)),
        PullSpec::new("tidepool-db/skerry", 81)
            .title("Merged while the search still lists it")
            .merged(hours_ago(1))
            .search_says("OPEN"),
    ]
}
