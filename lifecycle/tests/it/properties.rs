//! Classification is total and deterministic, and the order of what GitHub lists changes nothing.

use lifecycle::{Hints, Settings, classify, rules};
use proptest::prelude::*;
use pulls::PullFacts;
use pulls::build::{self, comment, hours_ago, now, review, run, status};
use pulls::facts::{Check, Mergeable};

fn check() -> impl Strategy<Value = Check> {
    let word = prop::sample::select(vec![
        "SUCCESS",
        "FAILURE",
        "CANCELLED",
        "SKIPPED",
        "STALE",
        "ACTION_REQUIRED",
        "NEW_WORD",
        "",
    ]);
    let name = prop::sample::select(vec!["a", "b"]);
    let workflow = prop::sample::select(vec!["CI", "Other", ""]);
    (name, workflow, word, 0..4i64, 0..3u64, prop::bool::ANY).prop_map(
        |(name, workflow, word, hours, id, kind)| {
            if kind {
                let run = run(name).workflow(workflow).concluded(word).id(id);
                if hours == 0 {
                    run.queued().into()
                } else {
                    run.started(hours_ago(hours)).into()
                }
            } else {
                let mut status = status(name, word);
                status.created_at = hours_ago(hours);
                status.into()
            }
        },
    )
}

fn said() -> impl Strategy<Value = (&'static str, &'static str, &'static str, i64)> {
    let who = prop::sample::select(vec!["author", "m", "n", "x[bot]"]);
    let association = prop::sample::select(vec!["MEMBER", "OWNER", "CONTRIBUTOR", "NONE"]);
    let body = prop::sample::select(vec!["", "Why?", "Please close this.", "Fine.", "> Why?", "`?`"]);
    (who, association, body, 0..5i64)
}

fn facts() -> impl Strategy<Value = PullFacts> {
    let state = prop::sample::select(vec![
        "APPROVED",
        "CHANGES_REQUESTED",
        "COMMENTED",
        "DISMISSED",
        "PENDING",
    ]);
    let decision = prop::sample::select(vec![
        None,
        Some("APPROVED"),
        Some("CHANGES_REQUESTED"),
        Some("NEW"),
        Some(""),
    ]);
    let mergeable = prop::sample::select(vec!["MERGEABLE", "CONFLICTING", "UNKNOWN", "NEW"]);
    (
        (
            prop::option::of(prop::collection::vec(check(), 0..6)),
            decision,
            mergeable,
        ),
        prop::collection::vec(said(), 0..5),
        prop::collection::vec((said(), state), 0..5),
        prop::collection::vec((prop::collection::vec(said(), 1..4), prop::bool::ANY), 0..4),
        prop::collection::vec((1..4u32, 5..9u32, 0..3i64), 0..3),
        (
            prop::option::of(0..60u64),
            prop::bool::weighted(0.2),
            prop::bool::weighted(0.1),
        ),
    )
        .prop_map(
            |(
                (checks, decision, mergeable),
                comments,
                reviews,
                threads,
                closes,
                (behind, draft, archived),
            )| {
                let say = |(who, association, body, hours): (&str, &str, &str, i64)| {
                    comment(who, body).association(association).at(hours_ago(hours))
                };
                let mut pull = build::pull("o/r", 7);
                for said in comments {
                    pull = pull.comment(say(said));
                }
                for ((who, association, body, hours), state) in reviews {
                    pull = pull.review(
                        review(who, state, body)
                            .association(association)
                            .at(hours_ago(hours)),
                    );
                }
                for (said, is_resolved) in threads {
                    let comments: Vec<_> = said.into_iter().map(say).collect();
                    pull = if is_resolved {
                        pull.resolved_thread(comments)
                    } else {
                        pull.thread(comments)
                    };
                }
                for (issue, other, hours) in closes {
                    pull = pull.closed_by_other(issue, other, (hours > 0).then(|| hours_ago(hours)));
                }
                pull.with(|pull| {
                    pull.checks.contexts = checks;
                    pull.review_decision = decision.map(Into::into);
                    pull.mergeable = Mergeable::from(mergeable);
                    pull.behind_by = behind;
                    pull.is_draft = draft;
                    pull.is_archived = archived;
                })
                .build()
            },
        )
}

/// The same facts with every list in an order that `turn` picks.
fn reordered(mut pull: PullFacts, turn: usize) -> PullFacts {
    fn shuffle<T>(list: &mut [T], turn: usize) {
        if !list.is_empty() {
            let middle = turn % list.len();
            list.rotate_left(middle);
            if turn % 2 == 1 {
                list.reverse();
            }
        }
    }
    if let Some(contexts) = &mut pull.checks.contexts {
        shuffle(contexts, turn);
    }
    shuffle(&mut pull.checks.suites, turn);
    shuffle(&mut pull.comments, turn);
    shuffle(&mut pull.reviews, turn);
    shuffle(&mut pull.threads, turn);
    shuffle(&mut pull.closes, turn);
    pull
}

proptest! {
    #[test]
    fn total_deterministic_and_order_free(pull in facts(), turn in 0..24usize) {
        let (hints, settings) = (Hints::default(), Settings::default());
        let verdict = classify(&pull, &hints, &settings, now());
        prop_assert_eq!(&verdict, &classify(&pull, &hints, &settings, now()));
        let other = reordered(pull.clone(), turn);
        prop_assert_eq!(&verdict, &classify(&other, &hints, &settings, now()));
        prop_assert_eq!(rules(&pull, &hints, &settings, now()), rules(&other, &hints, &settings, now()));
        let verdict = verdict.verdict().expect("it is open");
        prop_assert_eq!(verdict.bucket, verdict.rule.bucket());
        prop_assert!(!verdict.reason.is_empty());
    }

    #[test]
    fn facts_come_back_from_their_json(pull in facts()) {
        let text = serde_json::to_string(&pull).unwrap();
        let back: PullFacts = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back, pull);
    }

    #[test]
    fn the_drip_queue_never_panics(text in "(\\{\"repo\":\"o/r\",\"pr_number\":[0-9]{1,3}\\}|\\PC|\n|\\{|\"){0,40}") {
        let (_, malformed) = lifecycle::DripQueue::read([("a", text)]);
        prop_assert!(malformed.iter().all(|line| line.line > 0));
    }
}
