//! The author's half from outside: every rule, every field case that a pure function can decide, the
//! hints, the ids and what a person is shown.

mod field_cases;
mod hints;
mod ids;
mod maintain;
mod order;
mod properties;
mod rules;
mod snapshot;

use lifecycle::{Bucket, GateHint, Hints, QueueEntry, RuleId, Settings, Verdict, classify};
use pulls::build::{self, PullBuilder};

/// The verdict on a pull request without hints, as of [`build::now`].
fn verdict(pull: PullBuilder) -> Verdict {
    verdict_with(pull, &Hints::default())
}

fn verdict_with(pull: PullBuilder, hints: &Hints) -> Verdict {
    classify(&pull.build(), hints, &Settings::default(), build::now())
        .verdict()
        .expect("the pull request is open")
}

/// A row of a table: the case, the pull request, the rule that must decide, the reason it must give.
#[track_caller]
fn check(case: &str, pull: PullBuilder, rule: RuleId, reason: &str) {
    check_with(case, pull, &Hints::default(), rule, reason);
}

#[track_caller]
fn check_with(case: &str, pull: PullBuilder, hints: &Hints, rule: RuleId, reason: &str) {
    let verdict = verdict_with(pull, hints);
    assert_eq!((verdict.rule, verdict.reason.as_str()), (rule, reason), "{case}");
    assert_eq!(verdict.bucket, rule.bucket(), "{case}");
}

fn bucket(pull: PullBuilder) -> Bucket {
    verdict(pull).bucket
}

fn queue(status: &str) -> Hints {
    let entry = QueueEntry {
        repo: build::repo("o/r"),
        pr_number: 7u64.try_into().expect("a valid number"),
        branch: Some("topic".into()),
        status: Some(status.into()),
    };
    Hints {
        queue: Some(entry),
        ..Hints::default()
    }
}

fn gate(configured: bool, minutes_ago: Option<i64>) -> Hints {
    let attested_at = minutes_ago.map(|minutes| build::now() - chrono::TimeDelta::minutes(minutes));
    Hints {
        gate: GateHint {
            configured,
            attested_at,
        },
        ..Hints::default()
    }
}

/// A pull request that is ready to merge.
fn ready() -> PullBuilder {
    build::pull("o/r", 7).approved()
}

/// A quiet pull request.
fn pull() -> PullBuilder {
    build::pull("o/r", 7)
}
