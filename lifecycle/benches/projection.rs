//! How many pull requests are projected in a second on one core, against a loop that only clones the reasons.
//!
//! `cargo bench -p lifecycle --bench projection` prints a markdown table. The two loops take turns within each round; the
//! median over the rounds is shown, and the ratio is taken within a round. The evidence is of every state, with up to
//! 20 checks, shuffled, so that no branch is guessed for free.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark measures time and reports on stdout"
)]

use std::hint::black_box;
use std::time::Instant;

use chrono::TimeDelta;
use lifecycle::maintain::build::{EvidenceBuilder, evidence, ready};
use lifecycle::maintain::{Evidence, HeadReview, Required, Settings, project};
use pulls::build::now;
use pulls::checks::Standing;
use pulls::facts::{MergeState, PullState};

/// Pull requests in a repository of the size that the program is made for.
const PULLS: usize = 10_000;
/// Times that all of them are projected within a round.
const TIMES: usize = 20;
/// Rounds, of which the median counts.
const ROUNDS: usize = 15;

/// One of every kind.
fn kinds() -> Vec<(&'static str, EvidenceBuilder)> {
    let attempted = || evidence("o/r#7").with(|it| it.reviews.attempts = 1);
    vec![
        ("new", evidence("o/r#7").unrouted()),
        ("nobody owns it", evidence("o/r#7").ownerless()),
        ("owner routed", evidence("o/r#7")),
        ("not reviewed", attempted()),
        (
            "running",
            attempted().with(|it| it.reviews.of_head = HeadReview::Running),
        ),
        ("findings", ready("o/r#7").findings(2, 1)),
        ("conflict", ready("o/r#7").conflicting()),
        ("red", ready("o/r#7").check("build", Standing::Failed)),
        (
            "red on the base too",
            ready("o/r#7")
                .check("build", Standing::Failed)
                .with(|it| it.base_red.push("build".to_owned())),
        ),
        ("cancelled", ready("o/r#7").check("build", Standing::Cancelled)),
        ("pending", ready("o/r#7").check("build", Standing::Running)),
        ("ready", ready("o/r#7")),
        (
            "blocked",
            ready("o/r#7").with(|it| it.mergeability.merge_state = MergeState::Blocked),
        ),
        (
            "unknown checks",
            ready("o/r#7").with(|it| {
                it.required = Required::Unknown {
                    why: "403".to_owned(),
                }
            }),
        ),
        ("stale", ready("o/r#7").idle_days(8)),
        ("parked", ready("o/r#7").idle_days(20)),
        ("draft", ready("o/r#7").with(|it| it.is_draft = true)),
        ("merged", ready("o/r#7").ended(PullState::Merged, now())),
    ]
}

/// A repository's pull requests: every kind, with no, some or many checks.
fn repository() -> Vec<Evidence> {
    let kinds = kinds();
    let mut all: Vec<Evidence> = (0..PULLS)
        .map(|nth| {
            let mut it = kinds[nth % kinds.len()].1.clone();
            for more in 0..[0, 3, 20][nth / kinds.len() % 3] {
                it = it.check(&format!("check {more}"), Standing::Passed);
            }
            it.with(|it| it.head.first_seen_at -= TimeDelta::minutes(nth as i64 % 90))
                .done()
        })
        .collect();
    // A fixed shuffle: the same in every run.
    let mut seed = 7_usize;
    for nth in (1..all.len()).rev() {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        all.swap(nth, (seed >> 33) % (nth + 1));
    }
    all
}

/// How many a second.
fn rate(mut each: impl FnMut()) -> f64 {
    let began = Instant::now();
    for _ in 0..TIMES {
        each();
    }
    (PULLS * TIMES) as f64 / began.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let settings = Settings::default();
    let all = repository();
    let reasons: Vec<String> = all.iter().map(|it| project(it, &settings).reason).collect();
    let (mut projected, mut cloned, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let projects = rate(|| {
            all.iter()
                .for_each(|it| drop(black_box(project(black_box(it), &settings))))
        });
        let clones = rate(|| {
            reasons
                .iter()
                .for_each(|reason| drop(black_box(black_box(reason).clone())))
        });
        ratios.push(clones / projects);
        projected.push(projects);
        cloned.push(clones);
    }
    println!("| {PULLS} pull requests | a second on one core |");
    println!("| --- | --- |");
    println!("| projected | {:.2} million |", median(projected) / 1e6);
    println!("| their reasons cloned | {:.2} million |", median(cloned) / 1e6);
    println!(
        "| one projection costs as much as | {:.1} clones |",
        median(ratios)
    );
    println!();
    println!("| state | nanoseconds a projection |");
    println!("| --- | --- |");
    for (kind, it) in kinds() {
        let it = it.done();
        let times = PULLS * TIMES;
        let began = Instant::now();
        for _ in 0..times {
            drop(black_box(project(black_box(&it), &settings)));
        }
        println!(
            "| {kind} | {:.0} |",
            began.elapsed().as_secs_f64() * 1e9 / times as f64
        );
    }
}
