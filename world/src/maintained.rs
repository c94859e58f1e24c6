//! One busy repository, as a maintainer has it: to measure with, and to count in.

use crate::graph::World;
use crate::spec::{
    Association, BranchSpec, CheckSpec, CommentSpec, CommitSpec, EventSpec, PullSpec, RepoSpec, ReviewSpec,
    ThreadSpec, When, Who,
};

/// The number of GitHub's own app for workflows.
pub(crate) const ACTIONS: u64 = 15_368;

/// What [`World::maintained`] holds, to be compared with what is made of it.
///
/// The shares are those of a real repository with 1,236 open pull requests; of another number they are in
/// proportion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maintained {
    /// Its open pull requests.
    pub pulls: u32,
    /// Those that are drafts.
    pub drafts: u32,
    /// Those that are no drafts and that no person touched for 7 days.
    pub idle_7: u32,
    /// For 14 days.
    pub idle_14: u32,
    /// For 30 days.
    pub idle_30: u32,
    /// Those that change only what nobody owns.
    pub unowned: u32,
    /// Those with a failing check.
    pub red: u32,
    /// Those with a check that is not done, and none that failed.
    pub pending: u32,
    /// Those in conflict with their base.
    pub conflicting: u32,
    /// Those of which GitHub does not know whether they can be merged.
    pub unknown: u32,
}

impl Maintained {
    /// The repository's name.
    pub const REPO: &'static str = "bulk/upkeep";

    /// What a world of so many pull requests holds.
    pub fn of(pulls: u32) -> Self {
        let of = |share: u32| scaled(share, pulls);
        Self {
            pulls,
            drafts: of(199),
            idle_7: of(439),
            idle_14: of(130),
            idle_30: of(28),
            unowned: of(128),
            red: of(222),
            pending: of(148),
            conflicting: of(111),
            unknown: of(62),
        }
    }
}

impl World {
    /// One repository, [`Maintained::REPO`], with so many open pull requests: of many authors, over the parts of a
    /// larger program that a `CODEOWNERS` divides, some idle, some red, some in conflict. What there is of each is
    /// [`Maintained::of`] that number; the same number always gives the same world.
    ///
    /// ```
    /// use world::{Maintained, World};
    /// let world = World::maintained(20);
    /// assert_eq!(world.pulls().len(), 20);
    /// assert_eq!(Maintained::of(20).drafts, 3);
    /// ```
    pub fn maintained(pulls: u32) -> Self {
        let facts = Maintained::of(pulls);
        Self::builder(crate::DEMO_NOW)
            .viewer("ada")
            .repo(
                RepoSpec::new(Maintained::REPO).codeowners(CODEOWNERS).branch(
                    BranchSpec::new("main")
                        .requires("build", Some(ACTIONS))
                        .ruleset("unit tests", Some(ACTIONS)),
                ),
            )
            .pulls((1..=pulls).map(|n| Drawn::of(n, &facts).spec()))
            .build()
    }
}

/// So many of `pulls` as `share` is of 1,236, to the nearest.
fn scaled(share: u32, pulls: u32) -> u32 {
    const WHOLE: u64 = 1_236;
    let scaled = (u64::from(share) * u64::from(pulls) + WHOLE / 2) / WHOLE;
    u32::try_from(scaled).unwrap_or(u32::MAX)
}

/// Every number below `pulls` once, in an order of its own for each prime: who has one property says little of
/// who has another.
fn rank(n: u32, prime: u64, pulls: u32) -> u32 {
    let pulls = u64::from(pulls.max(1));
    // A prime that divides the number of pull requests would draw some twice and others never.
    let step = if pulls.is_multiple_of(prime) { 1 } else { prime };
    u32::try_from(u64::from(n) * step % pulls).unwrap_or(0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ci {
    Green,
    Pending,
    Red,
}

/// What one pull request is drawn to be.
struct Drawn {
    n: u32,
    draft: bool,
    /// Minutes since a person did anything.
    idle: i64,
    owned: bool,
    ci: Ci,
    mergeable: &'static str,
}

const HOUR: i64 = 60;
const DAY: i64 = 24 * HOUR;

impl Drawn {
    fn of(n: u32, facts: &Maintained) -> Self {
        let drawn = |prime| rank(n, prime, facts.pulls);
        let place = drawn(7_919);
        let draft = place < facts.drafts;
        let among = place.saturating_sub(facts.drafts);
        let spread = |most: i64| i64::from(among) * 37 % most;
        let idle = match among {
            _ if draft => 5 * HOUR + i64::from(place) * 353 % (50 * DAY),
            at if at < facts.idle_30 => 30 * DAY + 3 * HOUR + spread(40 * DAY),
            at if at < facts.idle_14 => 14 * DAY + 3 * HOUR + spread(15 * DAY),
            at if at < facts.idle_7 => 7 * DAY + 3 * HOUR + spread(6 * DAY),
            _ => 40 + spread(7 * DAY - 4 * HOUR),
        };
        let checks = drawn(4_801);
        let ci = match checks {
            at if at < facts.red => Ci::Red,
            at if at < facts.red + facts.pending => Ci::Pending,
            _ => Ci::Green,
        };
        let mergeable = match drawn(3_571) {
            at if at < facts.conflicting => "CONFLICTING",
            at if at < facts.conflicting + facts.unknown => "UNKNOWN",
            _ => "MERGEABLE",
        };
        Self {
            n,
            draft,
            idle,
            owned: drawn(6_007) >= facts.unowned,
            ci,
            mergeable,
        }
    }

    fn pick<T: Copy>(&self, among: &[T], prime: usize) -> T {
        among[(self.n as usize).wrapping_mul(prime) % among.len()]
    }

    fn spec(&self) -> PullSpec {
        let (part, label) = self.pick(&PARTS, 11);
        let author = format!("author-{:02}", u64::from(self.n) * 13 % 67);
        let opened = self.idle + i64::from(self.n % 19) * DAY + 2 * HOUR;
        let verb = self.pick(&["Fix", "Speed up", "Rework", "Test", "Document", "Drop"], 5);
        let what = self.pick(
            &[
                "the cache",
                "batching",
                "start-up",
                "shape checks",
                "the scheduler",
            ],
            7,
        );
        // What a person did last is a push, a comment, a review or a reply.
        let way = self.n % 4;
        let pushed = if way == 0 { self.idle } else { self.idle + DAY };
        let spec = PullSpec::new(Maintained::REPO, self.n)
            .title(&format!("[{label}] {verb} {what} in {part}"))
            .author(author.as_str())
            .branch(&format!("{author}/change-{}", self.n))
            .created(ago(opened))
            .head(CommitSpec::at(ago(pushed.min(opened))))
            .mergeable(self.mergeable)
            .label(label)
            .happened(
                EventSpec::labeled(label)
                    .by(Who::bot("label-lark"))
                    .at(ago(opened)),
            )
            .checks(self.checks(pushed.min(opened)));
        let spec = self.words(self.files(spec, part), way, &author);
        let spec = match self.n % 5 {
            0 => spec.decision("APPROVED"),
            1 => spec.decision("CHANGES_REQUESTED"),
            _ => spec.decision("REVIEW_REQUIRED"),
        };
        if self.draft { spec.draft() } else { spec }
    }

    fn files(&self, spec: PullSpec, part: &str) -> PullSpec {
        let folder = if self.owned { part } else { "experimental" };
        (0..1 + self.n % 5).fold(spec, |spec, at| {
            let path = format!("{folder}/part_{}_{at}.py", self.n % 31);
            spec.file(&path, 4 + self.n % 90, self.n % 40 + at)
        })
    }

    fn checks(&self, pushed: i64) -> Vec<CheckSpec> {
        let mut checks: Vec<CheckSpec> = ["lint", "build", "docs", "unit tests"]
            .into_iter()
            .map(CheckSpec::run)
            .collect();
        let last = CheckSpec::run("model tests").workflow("Models");
        checks.push(match self.ci {
            Ci::Green => last,
            Ci::Red => last.failure(),
            Ci::Pending => last.in_progress(),
        });
        let status = CheckSpec::status("queue/models").by(Who::bot("queue-quail"));
        checks.push(status.started(ago(pushed)));
        checks
    }

    /// What people said, the last of it `idle` minutes ago, and what bots said since.
    fn words(&self, spec: PullSpec, way: u32, author: &str) -> PullSpec {
        let reviewer = self.pick(&["grace", "edith", "wim-de-v", "oyelaran"], 3);
        let member = |body: &str, at: i64| CommentSpec::new(reviewer, Association::Member, body).at(ago(at));
        let last = ago(self.idle);
        let spec = spec
            .comment(
                CommentSpec::new(Who::bot("coverage-heron"), Association::None, "Coverage: 81.4 %.")
                    .at(ago(self.idle + HOUR)),
            )
            .comment(member("Thank you, somebody will look at it.", self.idle + 90));
        let spec = match way {
            1 => spec.comment(
                CommentSpec::new(author, Association::Contributor, "Rebased and tested again.").at(last),
            ),
            2 => spec.review(ReviewSpec::commented(reviewer, "Read, with one remark.").at(last)),
            3 => spec
                .thread(
                    ThreadSpec::new(
                        "engine/part.py",
                        member("Consider a name for this.", self.idle + 70),
                    )
                    .reply(CommentSpec::new(author, Association::Contributor, "Done.").at(last))
                    .resolved(reviewer),
                )
                .thread_reviews(),
            _ => spec,
        };
        // A bot's word moves `updatedAt` and no clock.
        if self.n.is_multiple_of(6) && self.idle > 2 * HOUR {
            let bot = CommentSpec::new(Who::bot("merge-magpie"), Association::None, "The base has moved.");
            return spec.comment(bot.at(ago(self.idle / 2)));
        }
        spec
    }
}

fn ago(minutes: i64) -> When {
    crate::spec::minutes_ago(minutes)
}

/// The parts of the program, and the label that each has on GitHub.
const PARTS: [(&str, &str); 7] = [
    ("engine", "engine"),
    ("engine/scheduler", "engine"),
    ("omni", "omni"),
    ("diffusion", "diffusion"),
    ("tts", "tts"),
    ("vla", "vla"),
    ("docs", "documentation"),
];

/// Who owns them. Nobody owns what is experimental.
const CODEOWNERS: &str = "\
# Who looks at what.
/engine/            @ilse-w @marek-o
/engine/scheduler/  @marek-o
/omni/              @sunniva
/diffusion/         @t-adeyemi
/tts/               @ilse-w
/vla/               @sunniva
/docs/              @bulk/writers
";
