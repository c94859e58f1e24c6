//! Many pull requests of one shape, to measure with.

use crate::graph::World;
use crate::spec::{
    Association, CheckSpec, CommentSpec, PullSpec, ReviewSpec, ThreadSpec, Who, days_ago, hours_ago,
    minutes_ago,
};

/// How long the lists of each pull request are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// As an ordinary pull request has them: a dozen checks, four comments, three reviews, two threads.
    Medium,
    /// A hundred checks, comments, reviews and threads each: one full page of everything.
    Full,
}

impl Lists {
    fn lengths(self) -> (usize, usize, usize, usize) {
        match self {
            Self::Medium => (12, 4, 3, 2),
            Self::Full => (100, 100, 100, 100),
        }
    }
}

impl World {
    /// So many open pull requests of the viewer (`ada`), over ten repositories `bulk/repo-0` to
    /// `bulk/repo-9`, with everything that a rule looks at: some fail, some ask, some conflict.
    pub fn many(pulls: u32, lists: Lists) -> Self {
        Self::builder(crate::DEMO_NOW)
            .viewer("ada")
            .pulls((1..=pulls).map(|n| one(n, lists)))
            .build()
    }
}

fn one(n: u32, lists: Lists) -> PullSpec {
    let (checks, comments, reviews, threads) = lists.lengths();
    let age = |at: usize| minutes_ago(60 + i64::try_from(at).unwrap_or(i64::MAX / 2));
    let spec = PullSpec::new(&format!("bulk/repo-{}", n % 10), n)
        .title(&format!("Change number {n} of the bulk"))
        .created(days_ago(2 + i64::from(n % 30)))
        .committed(hours_ago(40))
        .decision(if n.is_multiple_of(4) {
            "APPROVED"
        } else {
            "REVIEW_REQUIRED"
        })
        .checks((0..checks).map(|at| {
            let check = CheckSpec::run(&format!("check {at}"));
            if n.is_multiple_of(7) && at + 1 == checks {
                check.failure()
            } else {
                check
            }
        }))
        .comments((0..comments).map(|at| {
            let body = "A remark on the whole, neither short nor long, as people write them.";
            if at % 2 == 0 {
                CommentSpec::new("grace", Association::Member, body).at(age(at))
            } else {
                CommentSpec::new(Who::bot("coverage-heron"), Association::None, body).at(age(at))
            }
        }));
    let spec = (0..reviews).fold(spec, |spec, at| {
        spec.review(ReviewSpec::commented("edith", "Read.").at(age(at)))
    });
    let spec = (0..threads).fold(spec, |spec, at| {
        let comment = CommentSpec::new("edith", Association::Member, "Consider a name for this.").at(age(at));
        spec.thread(ThreadSpec::new("src/lib.rs", comment).resolved("ada"))
    });
    match n % 9 {
        0 => spec.conflicting(),
        1 => spec
            .comment(CommentSpec::new("grace", Association::Member, "Is this still right?").at(hours_ago(1))),
        _ => spec,
    }
}
