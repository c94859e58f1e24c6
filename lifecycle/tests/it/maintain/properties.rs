//! Over random evidence: the projection is total and deterministic, knows every combination that the RFC names, and the
//! order of lists plays no part; a visit writes at most one transition, and the same evidence again nothing.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use lifecycle::maintain::build::{evidence, login};
use lifecycle::maintain::{
    Assignment, AutoReview, Before, CheckSeen, DeadlineKind, Epoch, Evidence, FindingCounts, HeadReview,
    Mergeability, Owner, Required, RequiredOutcome, RequiredSeen, Reviews, Settings, State, SubStatus,
    Switches, deadlines, gate, project, step, wanted, why,
};
use proptest::prelude::*;
use proptest::sample::select;
use pulls::build::now;
use pulls::checks::{Ci, Standing};
use pulls::facts::{MergeState, Mergeable, PullState, ReviewDecision};
use pulls::upkeep::RequiredCheck;

const NAMES: [&str; 4] = ["build", "test", "lint", "e2e"];

fn check_seen() -> impl Strategy<Value = CheckSeen> {
    let standing = select(vec![
        Standing::Passed,
        Standing::Skipped,
        Standing::Running,
        Standing::Stale,
        Standing::NeedsAction,
        Standing::AwaitsApproval,
        Standing::Unknown,
        Standing::Cancelled,
        Standing::Failed,
    ]);
    (
        select(&NAMES[..]),
        prop::option::of(1..3_u64),
        standing,
        prop::option::of(0..40_i64),
    )
        .prop_map(|(name, app, standing, since)| CheckSeen {
            name: name.to_owned(),
            shown: format!("{name} of {app:?}"),
            app,
            suite: None,
            standing,
            word: "WORD".to_owned(),
            since: since.map(|hours| now() - TimeDelta::hours(hours)),
            url: None,
        })
}

fn required() -> impl Strategy<Value = Required> {
    let outcome = select(vec![
        RequiredOutcome::Passed,
        RequiredOutcome::Passed,
        RequiredOutcome::SkippedBesideFailure,
        RequiredOutcome::Pending,
        RequiredOutcome::Missing,
        RequiredOutcome::OtherApp,
        RequiredOutcome::Unknown,
        RequiredOutcome::Cancelled,
        RequiredOutcome::Failed,
    ]);
    let seen = (select(&NAMES[..]), prop::option::of(1..3_u64), outcome).prop_map(|(name, app, outcome)| {
        RequiredSeen {
            check: RequiredCheck {
                context: name.to_owned(),
                app,
            },
            outcome,
        }
    });
    prop_oneof![
        4 => prop::collection::vec(seen, 0..4).prop_map(Required::Known),
        1 => Just(Required::Unknown { why: "no answer".to_owned() }),
    ]
}

fn mergeability() -> impl Strategy<Value = Mergeability> {
    let mergeable = select(vec![
        Mergeable::Mergeable,
        Mergeable::Mergeable,
        Mergeable::Conflicting,
        Mergeable::Unknown,
        Mergeable::Other("NEW".to_owned()),
    ]);
    let merge_state = select(vec![
        MergeState::Clean,
        MergeState::Clean,
        MergeState::HasHooks,
        MergeState::Blocked,
        MergeState::Behind,
        MergeState::Dirty,
        MergeState::Draft,
        MergeState::Unstable,
        MergeState::Unknown,
        MergeState::Other("NEW".to_owned()),
    ]);
    let sha = || prop_oneof![4 => Just('7'), 1 => Just('c')];
    (mergeable, merge_state, sha(), sha(), any::<bool>()).prop_map(
        |(mergeable, merge_state, head, base, is_stale)| Mergeability {
            mergeable,
            merge_state,
            seen_on: match head {
                '7' => Some(format!("{:040x}", 7).parse().expect("forty digits")),
                other => Some(other.to_string().repeat(40).parse().expect("forty digits")),
            },
            seen_against: match base {
                '7' => Some("b".repeat(40).parse().expect("forty digits")),
                _ => None,
            },
            is_stale,
        },
    )
}

fn reviews() -> impl Strategy<Value = Reviews> {
    let of_head = select(vec![
        HeadReview::None,
        HeadReview::Queued,
        HeadReview::Running,
        HeadReview::Failed,
        HeadReview::Completed {
            at: now(),
            quality: None,
        },
        HeadReview::Completed {
            at: now(),
            quality: Some("concerns".to_owned()),
        },
    ]);
    (0..3_u32, any::<bool>(), of_head).prop_map(|(attempts, is_claimed, of_head)| Reviews {
        attempts,
        is_claimed,
        of_head,
    })
}

fn assignment() -> impl Strategy<Value = Option<Assignment>> {
    let owner = select(vec![
        None,
        Some(Owner::User(login("olive"))),
        Some(Owner::Team("o/core".to_owned())),
    ]);
    prop::option::weighted(
        0.9,
        owner.prop_map(|owner| Assignment {
            reason: "files".to_owned(),
            digest: format!("{owner:?}"),
            owner,
        }),
    )
}

/// Evidence in a state that GitHub has today.
fn any_evidence() -> impl Strategy<Value = Evidence> {
    let state = prop_oneof![
        8 => Just(PullState::Open),
        1 => Just(PullState::Closed),
        1 => Just(PullState::Merged),
    ];
    let decision = select(vec![
        None,
        Some(ReviewDecision::Approved),
        Some(ReviewDecision::ChangesRequested),
        Some(ReviewDecision::ReviewRequired),
        Some(ReviewDecision::Other("NEW".to_owned())),
    ]);
    let labels = prop::collection::vec(select(vec!["bug", "KEEP", "keep", "docs"]), 0..3);
    let base_red = prop::collection::vec(select(vec!["build of None", "test of Some(1)", "lint"]), 0..3);
    (
        (
            state,
            prop::bool::weighted(0.1),
            prop::bool::weighted(0.1),
            prop::bool::weighted(0.1),
        ),
        (0..45 * 24_i64, 0..180_i64, labels),
        (
            mergeability(),
            prop::option::weighted(0.1, 0..4_u64),
            decision,
            prop::option::weighted(0.8, 0..3_u64),
        ),
        (prop::collection::vec(check_seen(), 0..5), required(), base_red),
        (
            assignment(),
            reviews(),
            0..3_u32,
            0..3_u32,
            any::<bool>(),
            select(vec![Ci::Green, Ci::Pending, Ci::Failing, Ci::Unknown]),
        ),
    )
        .prop_map(
            |(
                (state, is_draft, is_archived, is_locked),
                (idle, seen_for, labels),
                (mergeability, queue, decision, threads),
                (checks, required, base_red),
                (assignment, reviews, open, disputed, is_legacy, ci),
            )| {
                let names = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect();
                evidence("o/r#7")
                    .with(|it| {
                        it.state = state;
                        it.is_draft = is_draft;
                        it.is_archived = is_archived;
                        it.is_locked = is_locked;
                        // Half of all are active.
                        it.activity.at =
                            now() - TimeDelta::hours(if idle % 2 == 0 { idle } else { idle % 160 });
                        it.head.first_seen_at = now() - TimeDelta::minutes(seen_for);
                        it.labels = names(labels);
                        it.mergeability = mergeability;
                        it.merge_queue_position = queue;
                        it.review_decision = decision;
                        it.unresolved_threads = threads;
                        it.checks = checks;
                        it.required = required;
                        it.base_red = names(base_red);
                        it.assignment = assignment;
                        it.reviews = reviews;
                        it.findings = FindingCounts { open, disputed };
                        it.is_legacy = is_legacy;
                        it.ci = ci;
                    })
                    .done()
            },
        )
}

fn any_settings() -> impl Strategy<Value = Settings> {
    (any::<[bool; 7]>(), any::<bool>(), any::<bool>()).prop_map(|(on, is_watching, is_exempting)| Settings {
        switches: Switches {
            owner_mention: on[0],
            ci_note: on[1],
            conflict_note: on[2],
            ready_page: on[3],
            stale_reminder: on[4],
            idle_ladder: on[5],
        },
        auto_review: AutoReview {
            is_on: on[6],
            ..AutoReview::default()
        },
        watched_checks: is_watching.then(|| "lint".to_owned()).into_iter().collect(),
        exempt_labels: is_exempting.then(|| "Keep".to_owned()).into_iter().collect(),
        ..Settings::default()
    })
}

/// The same with every list turned round.
fn turned(evidence: &Evidence) -> Evidence {
    let mut turned = evidence.clone();
    turned.labels.reverse();
    turned.checks.reverse();
    turned.base_red.reverse();
    if let Required::Known(required) = &mut turned.required {
        required.reverse();
    }
    turned
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_evidence_that_the_rfc_names_is_classified_and_the_same_gives_the_same(
        it in any_evidence(),
        settings in any_settings(),
    ) {
        let projected = project(&it, &settings);
        prop_assert_ne!(projected.sub_status, Some(SubStatus::Unclassified));
        prop_assert!(!projected.reason.is_empty() && !projected.reason.contains('\n'));
        prop_assert_eq!(&projected, &project(&it.clone(), &settings));
        let why = why(&it, it.now, &settings);
        prop_assert_eq!(&why.projected, &projected);
        let passes = gate(&it, &settings).iter().all(|condition| condition.held);
        if projected.state == State::ReadyForMaintainer {
            prop_assert!(passes);
        }
        if passes {
            let is_in_order = matches!(projected.state, State::ReadyForMaintainer | State::New);
            prop_assert!(is_in_order, "{}", projected.state);
        }
    }

    #[test]
    fn the_order_of_lists_plays_no_part(it in any_evidence(), settings in any_settings()) {
        let turned = turned(&it);
        prop_assert_eq!(project(&it, &settings), project(&turned, &settings));
        prop_assert_eq!(gate(&it, &settings), gate(&turned, &settings));
        prop_assert_eq!(why(&it, now(), &settings), why(&turned, now(), &settings));
        let of = |it: &Evidence| step(Before::default(), it, &[], &BTreeSet::new(), Epoch(1), &settings);
        prop_assert_eq!(of(&it), of(&turned));
    }

    #[test]
    fn a_visit_writes_at_most_one_transition_and_the_same_again_nothing(
        first in any_evidence(),
        second in any_evidence(),
        settings in any_settings(),
        seconds in 0..200_000_i64,
        is_said in any::<bool>(),
    ) {
        let visit = |before: Before<'_>, it: &Evidence, said: &BTreeSet<String>| {
            step(before, it, &[], said, Epoch(1), &settings)
        };
        let mut said = BTreeSet::new();
        let one = visit(Before::default(), &first, &said);
        prop_assert_eq!(one.rows.iter().filter(|row| row.from_state.is_none()).count(), 1);
        if is_said {
            said.extend(one.wanted.iter().map(|one| one.key.clone()));
        }
        let row = one.row.expect("whole evidence is recorded");
        let mut next = second;
        next.now = first.now + TimeDelta::minutes(2);
        let two = visit(Before { row: Some(&row), evidence: Some(&first) }, &next, &said);
        let moved = two.rows.iter().filter(|row| row.from_state != Some(row.to_state)).count();
        prop_assert!(moved <= 1 && two.rows.len() <= 2);
        let after = two.row.clone().expect("whole evidence is recorded");
        prop_assert_eq!(moved == 1, after.state != row.state);
        prop_assert_eq!(after.state, project(&next, &settings).state);
        prop_assert!(after.ready_paged_seq <= after.ready_entry_seq);
        prop_assert!(after.ready_entry_seq >= row.ready_entry_seq);
        prop_assert!(after.ready_entry_seq <= row.ready_entry_seq + 1);
        // The same evidence at a later moment, before any deadline that is still to come.
        let mut later = next.clone();
        let to_come = deadlines(&next, next.now, &settings);
        let stays_due = |what| matches!(what, DeadlineKind::Route | DeadlineKind::Reread);
        let limit = to_come.iter().find(|deadline| !stays_due(deadline.what)).map(|deadline| deadline.at);
        later.now = (next.now + TimeDelta::seconds(seconds)).min(
            limit.map_or(chrono::DateTime::<chrono::Utc>::MAX_UTC, |at| at - TimeDelta::seconds(1)),
        );
        // A check becomes stuck without a deadline of its own: it is read again all the time.
        let is_running = next.checks.iter().any(|check| check.standing == Standing::Running);
        prop_assume!(!is_running);
        let again = visit(Before { row: Some(&after), evidence: Some(&next) }, &later, &said);
        prop_assert!(again.is_unchanged, "{:?} to {:?}", after, again.row);
        prop_assert!(again.rows.is_empty() && !again.is_new_evidence);
    }

    #[test]
    fn keys_are_the_same_for_the_same_and_tell_artifacts_apart(it in any_evidence(), settings in any_settings()) {
        let step = step(Before::default(), &it, &[], &BTreeSet::new(), Epoch(1), &settings);
        let row = step.row.expect("whole evidence is recorded");
        let again = wanted(&it, &project(&it, &settings), &row, Epoch(1), &settings);
        prop_assert_eq!(&again, &step.wanted);
        let keys: BTreeSet<&str> = again.iter().map(|one| one.key.as_str()).collect();
        prop_assert_eq!(keys.len(), again.len());
        prop_assert!(again.iter().all(|one| one.key.starts_with("o/r#7/")));
    }

    #[test]
    fn evidence_is_read_back_from_its_json(it in any_evidence(), settings in any_settings()) {
        let json = serde_json::to_string(&it).expect("evidence is JSON");
        let back: Evidence = serde_json::from_str(&json).expect("its own JSON");
        prop_assert_eq!(project(&back, &settings), project(&it, &settings));
        prop_assert_eq!(back, it);
    }
}
