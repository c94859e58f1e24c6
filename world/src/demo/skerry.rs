//! `tidepool-db/skerry`, an embedded store: what people say, and what checks are.

use super::{Row, quiet, ready};
use crate::{
    Association, CheckSpec, CommentSpec, PullSpec, ReviewSpec, SuiteSpec, ThreadSpec, Who, days_ago,
    hours_ago,
};

const REPO: &str = "tidepool-db/skerry";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = words();
    rows.extend(checks());
    rows
}

fn words() -> Vec<Row> {
    vec![
        Row {
            spec: quiet(REPO, 88)
                .title("Compact segments in the background")
                .branch("background-compaction")
                .decision("CHANGES_REQUESTED")
                .created(days_ago(40))
                .review(
                    ReviewSpec::changes_requested(
                        "wendel7",
                        "Thank you for the work! We went another way in the end.\n\nPlease close this in favour of #91.",
                    )
                    .by_a(Association::Owner)
                    .at(days_ago(2)),
                ),
            rule: "close.asked",
            shows: "a maintainer asks in plain words to close it",
        },
        Row {
            spec: quiet(REPO, 90)
                .title("Checksum every page")
                .branch("page-checksums")
                .decision("CHANGES_REQUESTED")
                .created(days_ago(8))
                .review(ReviewSpec::changes_requested("suki-tan", "").at(days_ago(6))),
            rule: "investigate.changes_requested",
            shows: "changes requested without a word, and no push since (B053)",
        },
        Row {
            spec: quiet(REPO, 92)
                .title("Expose the write-ahead log's position")
                .branch("wal-position")
                .decision("CHANGES_REQUESTED")
                .created(days_ago(8))
                .review(
                    ReviewSpec::changes_requested(
                        "suki-tan",
                        "Please don't close this, it is wanted. Once it closes #83, do we still need `position_hint`?",
                    )
                    .at(days_ago(1)),
                ),
            rule: "investigate.changes_requested",
            shows: "a review that says `don't close this` and `closes #83` does not ask to close it",
        },
        Row {
            spec: quiet(REPO, 93)
                .title("Iterate in reverse")
                .branch("reverse-iterators")
                .created(days_ago(7))
                .review(ReviewSpec::commented("wendel7", "").by_a(Association::Owner).at(hours_ago(9)))
                .thread(
                    ThreadSpec::new(
                        "src/iter.rs",
                        CommentSpec::new("wendel7", Association::Owner, "この分岐は必要ですか？").at(hours_ago(9)),
                    )
                    .line(214)
                    .hunk("@@ -208,6 +208,10 @@ impl Iter {\n         if self.done {\n             return None;\n         }\n+        if self.rev {\n+            return self.prev();\n+        }\n"),
                ),
            rule: "investigate.question",
            shows: "a question in a review thread, in another script's question mark (B052)",
        },
        Row {
            spec: quiet(REPO, 95)
                .title("Parse durations in the config")
                .branch("config-durations")
                .created(days_ago(7))
                .comment(
                    CommentSpec::new(
                        "suki-tan",
                        Association::Member,
                        "> why not seconds?\n\nAs https://docs.example/search?q=duration says, `a ? b : c` reads badly.\n\n\
                         ```rust\nlet t = if x { 1 } else { 2 }; // sure?\n```\n<!-- really? -->\nNo further remarks.",
                    )
                    .at(hours_ago(12)),
                ),
            rule: "wait.default",
            shows: "question marks in a quote, an address, code and an HTML comment only (B056)",
        },
        Row {
            spec: quiet(REPO, 96)
                .title("Bound the cache by bytes")
                .branch("cache-bytes")
                .created(days_ago(7))
                .thread(
                    ThreadSpec::new(
                        "src/cache.rs",
                        CommentSpec::new("suki-tan", Association::Collaborator, "Is the bound checked on every insert?")
                            .at(hours_ago(30)),
                    )
                    .reply(CommentSpec::new("tamsin-h", Association::Contributor, "Yes, see line 88.").at(hours_ago(29))),
                ),
            rule: "wait.default",
            shows: "a question in a thread that the author answered there; the thread is still open",
        },
        Row {
            spec: quiet(REPO, 97)
                .title("Raise the minimum compiler")
                .branch("msrv")
                .created(days_ago(3))
                .comment(
                    CommentSpec::new(Who::bot("merge-magpie"), Association::Member, "Shall I merge this when it is green?")
                        .at(hours_ago(4)),
                ),
            rule: "wait.default",
            shows: "a bot with the association MEMBER asks (B057, B060)",
        },
        Row {
            spec: quiet(REPO, 98)
                .title("Log slow fsyncs")
                .branch("slow-fsyncs")
                .created(days_ago(3))
                .comment(
                    CommentSpec::new("wendel7", Association::Owner, "Wrong window, sorry. Lunch?").at(hours_ago(5)).minimized("off-topic"),
                )
                .thread(
                    ThreadSpec::new("src/log.rs", CommentSpec::new("wendel7", Association::Owner, "warn or info?").at(hours_ago(6)))
                        .resolved("wendel7"),
                ),
            rule: "wait.default",
            shows: "a hidden question and one in a resolved thread",
        },
        Row {
            spec: ready(REPO, 99)
                .title("Tell full disks from broken ones")
                .branch("full-disk")
                .created(days_ago(10))
                .thread(
                    ThreadSpec::new(
                        "src/error.rs",
                        CommentSpec::new("suki-tan", Association::Member, "Prefer a newtype here.").at(days_ago(4)),
                    )
                    .outdated(),
                ),
            rule: "wait.default",
            shows: "approved and green with one thread unresolved, though outdated",
        },
    ]
}

fn checks() -> Vec<Row> {
    vec![
        Row {
            spec: PullSpec::new(REPO, 101)
                .title("Fuzz the page parser")
                .branch("fuzz-pages")
                .decision("APPROVED")
                .review(ReviewSpec::approved("suki-tan").at(hours_ago(50)))
                .check(CheckSpec::run("build"))
                .check(CheckSpec::run("build").workflow("Nightly").failure())
                .check(CheckSpec::run("build").event("push")),
            rule: "qa.ci",
            shows: "one name in two workflows and two events: each counts (B004)",
        },
        Row {
            spec: PullSpec::new(REPO, 102)
                .title("Document the file format")
                .branch("format-docs")
                .decision("REVIEW_REQUIRED")
                .check(CheckSpec::run("docs").conclusion("CANCELLED"))
                .check(CheckSpec::run("lint")),
            rule: "qa.ci",
            shows: "a lone cancelled run: it needs a re-run (B010)",
        },
        Row {
            spec: PullSpec::new(REPO, 104)
                .title("Try io_uring behind a feature")
                .branch("io-uring")
                .decision("APPROVED")
                .created(days_ago(33))
                .review(ReviewSpec::approved("wendel7").at(days_ago(17)))
                .check(CheckSpec::run("lint"))
                .check(
                    CheckSpec::run("kernel matrix")
                        .conclusion("STALE")
                        .started(days_ago(30)),
                )
                .check(CheckSpec::run("test (s390x)").queued().started(days_ago(2))),
            rule: "wait.default",
            shows: "a check that went stale after fourteen days and one that has been queued for two: both pending (B011, B020)",
        },
        Row {
            spec: PullSpec::new(REPO, 105)
                .title("Fix a typo in the README")
                .branch("readme-typo")
                .decision("APPROVED")
                .created(days_ago(2))
                .review(ReviewSpec::approved("wendel7").at(hours_ago(31)))
                .from_fork_of("tamsin-h")
                .suite(SuiteSpec::action_required("CI"))
                .suite(SuiteSpec::never_ran("coverage-heron")),
            rule: "wait.default",
            shows: "workflows that wait for a maintainer's approval have no runs, and a suite of an app that \
                    never ran anything is no check (B013)",
        },
        Row {
            spec: PullSpec::new(REPO, 107)
                .title("Skip the doc tests on docs-only changes")
                .branch("skip-doc-tests")
                .decision("APPROVED")
                .review(ReviewSpec::approved("suki-tan").at(hours_ago(20)))
                .check(CheckSpec::run("lint"))
                .check(CheckSpec::run("test (linux)").conclusion("SKIPPED"))
                .check(
                    CheckSpec::run("size report")
                        .conclusion("NEUTRAL")
                        .app("size-snail"),
                )
                .check(CheckSpec::status("license/scan")),
            rule: "ship.ready",
            shows: "skipped and neutral checks pass (B008)",
        },
        Row {
            spec: PullSpec::new(REPO, 108)
                .title("Run every target on every change")
                .branch("all-targets")
                .decision("REVIEW_REQUIRED")
                .created(days_ago(5))
                .checks((1..=130).map(|n| {
                    let check = CheckSpec::run(&format!("target {n:03}"));
                    if n == 117 {
                        check.conclusion("TIMED_OUT")
                    } else {
                        check
                    }
                })),
            rule: "qa.ci",
            shows: "130 checks, the failing one on the second page (B017)",
        },
        Row {
            spec: PullSpec::new(REPO, 110)
                .title("Add a code of conduct")
                .branch("conduct")
                .decision("APPROVED")
                .created(days_ago(4))
                .review(
                    ReviewSpec::approved("wendel7")
                        .by_a(Association::Owner)
                        .at(hours_ago(3)),
                )
                .empty_rollup(),
            rule: "ship.ready",
            shows: "no checks at all count as green (B015, B016)",
        },
    ]
}
