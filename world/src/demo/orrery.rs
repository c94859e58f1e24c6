//! `wickfield/orrery`, a server of models: a repository that is maintained, with a pull request for each state.
//!
//! Some states need a review by this program, which no GitHub holds: [`demo_reviews`] says which there were.

use std::time::Duration;

use crate::graph::{At, oid_of};
use crate::maintained::ACTIONS;
use crate::spec::{
    Association, BranchSpec, CheckSpec, CommentSpec, CommitSpec, EventSpec, PullSpec, RepoSpec, ReviewSpec,
    ThreadSpec, Who, days_ago, hours_ago, minutes_ago,
};

/// The repository of the demo that is maintained. None of its pull requests is the viewer's.
pub const DEMO_MAINTAINED: &str = "wickfield/orrery";

/// One pull request of [`DEMO_MAINTAINED`], and what it is there to show.
struct Row {
    spec: PullSpec,
    state: &'static str,
    sub_status: Option<&'static str>,
    shows: &'static str,
    review: Option<Review>,
}

/// What this program's review of it found.
struct Review {
    hours_ago: u64,
    quality: &'static str,
    open: u32,
    disputed: u32,
    /// It was of the commit below the head.
    is_of_an_earlier_head: bool,
}

/// What a pull request of [`DEMO_MAINTAINED`] is expected to be, once it is routed and [`demo_reviews`] are known,
/// while no automatic review is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoState {
    /// Which it is.
    pub at: At,
    /// Its state, as the ledger names it.
    pub state: &'static str,
    /// What is said beside it.
    pub sub_status: Option<&'static str>,
    /// Why it is there.
    pub shows: &'static str,
}

/// A completed review of this program, which the demo's ledger begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoReview {
    /// Of which pull request.
    pub at: At,
    /// Of which of its heads.
    pub head_sha: String,
    /// When it was completed: so long before [`DEMO_NOW`](crate::DEMO_NOW).
    pub age: Duration,
    /// The quality verdict.
    pub quality: &'static str,
    /// Blockers and majors that nobody disputes.
    pub open: u32,
    /// Those that the author disputes.
    pub disputed: u32,
}

/// What each pull request of [`DEMO_MAINTAINED`] is expected to be. One of them is `new` when it is seen for the
/// first time, and routed in the next cycle.
pub fn demo_states() -> Vec<DemoState> {
    let state = |row: Row| DemoState {
        at: row.spec.address().clone(),
        state: row.state,
        sub_status: row.sub_status,
        shows: row.shows,
    };
    rows().into_iter().map(state).collect()
}

/// The reviews that [`demo_states`] rest on.
pub fn demo_reviews() -> Vec<DemoReview> {
    let of_row = |row: Row| {
        let review = row.review?;
        let at = row.spec.address().clone();
        let which = match review.is_of_an_earlier_head {
            true => "commit 0",
            false => "head",
        };
        Some(DemoReview {
            head_sha: oid_of(&format!("{at} {which}")),
            at,
            age: Duration::from_secs(review.hours_ago * 3_600),
            quality: review.quality,
            open: review.open,
            disputed: review.disputed,
        })
    };
    rows().into_iter().filter_map(of_row).collect()
}

pub(super) fn repo() -> RepoSpec {
    let main = BranchSpec::new("main")
        .ruleset("build", Some(ACTIONS))
        .ruleset("unit tests", Some(ACTIONS))
        .check(CheckSpec::run("build"))
        .check(CheckSpec::run("unit tests"));
    RepoSpec::new(DEMO_MAINTAINED)
        .codeowners(
            "# Who looks at what.\n\
             /orrery/engine/     @ilse-w\n\
             /orrery/omni/       @sunniva\n\
             /orrery/diffusion/  @marek-o\n\
             /orrery/tts/        @ilse-w @sunniva\n\
             /docs/              @wickfield/writers\n",
        )
        .branch(main)
}

pub(super) fn pulls() -> impl Iterator<Item = PullSpec> {
    rows().into_iter().map(|row| row.spec)
}

fn green() -> [CheckSpec; 3] {
    ["lint", "build", "unit tests"].map(CheckSpec::run)
}

/// A pull request whose head was pushed then, its checks green and nobody's verdict in.
fn pull(number: u32, author: &str, title: &str, file: &str) -> PullSpec {
    PullSpec::new(DEMO_MAINTAINED, number)
        .author(author)
        .title(title)
        .file(file, 48, 11)
}

fn row(spec: PullSpec, state: &'static str, shows: &'static str) -> Row {
    Row {
        spec,
        state,
        sub_status: None,
        shows,
        review: None,
    }
}

impl Row {
    fn beside(mut self, sub_status: &'static str) -> Self {
        self.sub_status = Some(sub_status);
        self
    }

    fn reviewed(mut self, hours_ago: u64, quality: &'static str, open: u32, disputed: u32) -> Self {
        self.review = Some(Review {
            hours_ago,
            quality,
            open,
            disputed,
            is_of_an_earlier_head: false,
        });
        self
    }

    fn before_the_push(mut self) -> Self {
        if let Some(review) = &mut self.review {
            review.is_of_an_earlier_head = true;
        }
        self
    }
}

fn rows() -> Vec<Row> {
    let mut rows = reviewed();
    rows.extend(unreviewed());
    rows.extend(at_rest());
    rows
}

fn reviewed() -> Vec<Row> {
    let approved = |by: &str, hours: i64| ReviewSpec::approved(by).at(hours_ago(hours));
    vec![
        row(
            pull(
                701,
                "dov-r",
                "Share the prefix cache between workers",
                "orrery/engine/cache.py",
            )
            .created(days_ago(4))
            .committed(hours_ago(30))
            .decision("APPROVED")
            .review(approved("ilse-w", 20))
            .checks(green()),
            "ready_for_maintainer",
            "reviewed, green, mergeable: its owner is wanted, once",
        )
        .reviewed(26, "ready", 0, 0),
        row(
            pull(
                702,
                "amaka-e",
                "Batch requests by their length",
                "orrery/engine/batch.py",
            )
            .created(days_ago(3))
            .committed(hours_ago(28))
            .decision("APPROVED")
            .review(approved("ilse-w", 8))
            .checks(green())
            .in_merge_queue(1)
            .happened(EventSpec::queued(1).by("ilse-w").at(minutes_ago(9))),
            "ready_for_maintainer",
            "already in the merge queue: nobody is paged (B040)",
        )
        .beside("in_merge_queue")
        .reviewed(25, "ready", 0, 0),
        row(
            pull(
                703,
                "lin-qi",
                "Read the chat template from the archive",
                "tools/template.py",
            )
            .created(days_ago(5))
            .committed(hours_ago(50))
            .decision("REVIEW_REQUIRED")
            .checks(green()),
            "ready_for_maintainer",
            "nobody owns it, one finding is disputed, and only a review by a person is missing (B037)",
        )
        .beside("unrouted")
        .reviewed(40, "concerns", 0, 1),
        row(
            pull(
                704,
                "beto-v",
                "Decode audio in its own process",
                "orrery/tts/decode.py",
            )
            .created(days_ago(4))
            .committed(hours_ago(12))
            .decision("APPROVED")
            .review(approved("sunniva", 40))
            .checks([
                CheckSpec::run("lint"),
                CheckSpec::run("build"),
                CheckSpec::run("unit tests").failure(),
            ]),
            "ci_failing",
            "a required check is red",
        )
        .reviewed(10, "ready", 0, 0),
        row(
            pull(
                705,
                "amaka-e",
                "Quantise the attention weights",
                "orrery/engine/quant.py",
            )
            .created(days_ago(6))
            .committed(hours_ago(60))
            .checks(green()),
            "changes_requested",
            "this program's review found a blocker and a major, and neither is fixed",
        )
        .reviewed(37, "needs_rework", 2, 0),
        row(
            pull(
                706,
                "lin-qi",
                "Tile the decoder for large pictures",
                "orrery/diffusion/tiles.py",
            )
            .created(days_ago(6))
            .committed(hours_ago(70))
            .checks(green())
            .conflicting(),
            "changes_requested",
            "in conflict with its base",
        )
        .beside("conflict")
        .reviewed(61, "ready", 0, 0),
        row(
            pull(
                707,
                "dov-r",
                "Stream tokens over one connection",
                "orrery/omni/stream.py",
            )
            .created(days_ago(2))
            .committed(hours_ago(3))
            .checks([
                CheckSpec::run("lint"),
                CheckSpec::run("build"),
                CheckSpec::run("unit tests").in_progress(),
            ]),
            "under_review",
            "reviewed, and a required check is still running",
        )
        .beside("ci_pending")
        .reviewed(2, "ready", 0, 0),
        row(
            pull(708, "beto-v", "Load adapters lazily", "orrery/engine/adapters.py")
                .created(days_ago(5))
                .earlier(CommitSpec::at(days_ago(4)))
                .committed(hours_ago(5))
                .checks(green())
                .thread(
                    ThreadSpec::new(
                        "orrery/engine/adapters.py",
                        CommentSpec::new("ilse-w", Association::Member, "Hold the lock for less.")
                            .at(days_ago(3)),
                    )
                    .reply(CommentSpec::new("beto-v", Association::Contributor, "Done.").at(hours_ago(5)))
                    .resolved("ilse-w"),
                )
                .thread_reviews(),
            "under_review",
            "pushed since its review: the new head waits for the next sweep",
        )
        .reviewed(85, "concerns", 0, 0)
        .before_the_push(),
        row(
            pull(
                709,
                "amaka-e",
                "Name the device in every error",
                "orrery/engine/errors.py",
            )
            .created(days_ago(5))
            .committed(hours_ago(44))
            .decision("CHANGES_REQUESTED")
            .review(
                ReviewSpec::changes_requested("ilse-w", "Please keep the index as well.").at(hours_ago(22)),
            )
            .checks(green()),
            "under_review",
            "reviewed and green, and a person asked for changes: the gate names what it waits for",
        )
        .beside("gate_blocked")
        .reviewed(35, "ready", 0, 0),
    ]
}

fn unreviewed() -> Vec<Row> {
    vec![
        row(
            pull(
                710,
                "lin-qi",
                "Cache speaker embeddings",
                "orrery/tts/speakers.py",
            )
            .created(days_ago(1))
            .checks(green())
            .label("tts")
            .happened(
                EventSpec::labeled("tts")
                    .by(Who::bot("label-lark"))
                    .at(days_ago(1)),
            ),
            "owner_routed",
            "owned, and not reviewed yet",
        ),
        row(
            pull(711, "dov-r", "Pin the build image", "tools/image.txt")
                .created(days_ago(2))
                .checks(green()),
            "needs_owner",
            "nobody owns what it changes, and it is not reviewed yet",
        )
        .beside("unrouted"),
        row(
            pull(
                712,
                "beto-v",
                "Explain the scheduler's fairness",
                "docs/scheduler.md",
            )
            .created(minutes_ago(1))
            .no_rollup(),
            "new",
            "opened a minute ago",
        ),
    ]
}

fn at_rest() -> Vec<Row> {
    let asked = |days: i64| {
        CommentSpec::new("marek-o", Association::Member, "Could you rebase this?").at(days_ago(days))
    };
    vec![
        row(
            pull(
                690,
                "amaka-e",
                "Fuse the sampling kernels",
                "orrery/engine/sample.py",
            )
            .created(days_ago(15))
            .committed(days_ago(12))
            .comment(asked(8))
            .checks(green()),
            "stale",
            "no person did anything for 8 days",
        ),
        row(
            pull(
                671,
                "lin-qi",
                "Render at half precision",
                "orrery/diffusion/render.py",
            )
            .created(days_ago(34))
            .committed(days_ago(31))
            .comment(asked(20))
            .comment(
                CommentSpec::new(Who::bot("merge-magpie"), Association::None, "The base has moved.")
                    .at(days_ago(2)),
            )
            .checks(green()),
            "parked",
            "no person did anything for 20 days; a bot's word two days ago does not count (B069)",
        ),
        row(
            pull(640, "dov-r", "A second tokenizer", "orrery/omni/tokens.py")
                .created(days_ago(70))
                .committed(days_ago(66))
                .comment(asked(40))
                .checks(green())
                .conflicting(),
            "parked",
            "no person did anything for 40 days: closing it is suggested, and nothing before that (the ladder)",
        ),
        row(
            pull(
                713,
                "beto-v",
                "Sketch: speculative decoding",
                "orrery/engine/guess.py",
            )
            .created(days_ago(21))
            .checks(green())
            .draft(),
            "draft",
            "a draft has no clock",
        ),
        row(
            pull(699, "amaka-e", "Drop the old router", "orrery/engine/router.py")
                .created(days_ago(9))
                .committed(days_ago(2))
                .decision("APPROVED")
                .review(ReviewSpec::approved("ilse-w").at(hours_ago(4)))
                .checks(green())
                .merged(hours_ago(1))
                .ended_by("ilse-w"),
            "closed",
            "merged an hour ago, by a person",
        ),
    ]
}
