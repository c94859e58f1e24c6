//! Evidence over several readings of one pull request: what is kept, what is judged anew, and that a look at a head alone
//! comes to the same.

use chrono::TimeDelta;
use lifecycle::maintain::{
    Evidence, Looked, Remembered, Required, RequiredOutcome, Settings, State, gather, project, with_head,
};
use proptest::prelude::*;
use pulls::activity::ActivityKind;
use pulls::build::{self, PullBuilder, account, hours_ago, now, run, status};
use pulls::facts::{Check, Checks, MergeState, Mergeable, PullFacts, Time};
use pulls::upkeep::{
    BranchFacts, CommitMade, Edit, Event, EventKind, HeadFacts, RequiredCheck, RequiredChecks, Upkeep,
};

/// Read in whole, opened 100 hours ago, committed 90 hours ago, mergeable.
fn pull() -> PullBuilder {
    build::pull("o/r", 7)
        .opened_at(hours_ago(100))
        .updated_at(hours_ago(100))
        .committed_at(hours_ago(90))
        .with(|pull| {
            pull.merge_state = MergeState::Clean;
            pull.upkeep = Some(Upkeep::default());
        })
}

/// A base branch that requires checks, each of an app or of any.
fn requires(checks: &[(&str, Option<u64>)]) -> BranchFacts {
    let required = checks.iter().map(|(context, app)| RequiredCheck {
        context: (*context).to_owned(),
        app: *app,
    });
    BranchFacts {
        branch: "main".to_owned(),
        sha: "b".repeat(40).parse().ok(),
        required: RequiredChecks::Known(required.collect()),
        checks: Checks {
            contexts: None,
            suites: Vec::new(),
        },
    }
}

fn read(pull: PullBuilder, branch: &BranchFacts) -> Evidence {
    read_again(pull, Some(branch), None, now())
}

fn read_again(
    pull: PullBuilder,
    branch: Option<&BranchFacts>,
    previous: Option<&Evidence>,
    now: Time,
) -> Evidence {
    let remembered = Remembered {
        previous,
        read_at: previous.map(|previous| previous.now),
        ..Remembered::default()
    };
    gather(&pull.build(), branch, remembered, &Settings::default(), now)
}

fn outcomes(evidence: &Evidence) -> Vec<(&str, RequiredOutcome)> {
    match &evidence.required {
        Required::Known(all) => all
            .iter()
            .map(|seen| (seen.check.context.as_str(), seen.outcome))
            .collect(),
        Required::Unknown { why } => panic!("{why}"),
    }
}

fn outcome(checks: Vec<Check>, required: (&str, Option<u64>)) -> RequiredOutcome {
    let pull = pull().with(|pull| pull.checks.contexts = Some(checks));
    outcomes(&read(pull, &requires(&[required])))[0].1
}

fn another_head(pull: &mut PullFacts) {
    pull.head.sha = "e".repeat(40).parse().expect("forty digits");
}

#[test]
fn b009_a_required_check_skipped_beside_a_failure_of_its_run_does_not_pass() {
    let skipped = || run("Tests").concluded("SKIPPED");
    let beside = |other: build::RunBuilder| outcome(vec![skipped().into(), other.into()], ("Tests", None));
    let lint = || run("lint").id(2);
    assert_eq!(beside(lint()), RequiredOutcome::Passed);
    assert_eq!(beside(lint().failed()), RequiredOutcome::SkippedBesideFailure);
    assert_eq!(
        beside(lint().concluded("CANCELLED")),
        RequiredOutcome::SkippedBesideFailure
    );
    let elsewhere = lint().failed().with(|run| run.suite = Some(2));
    assert_eq!(beside(elsewhere), RequiredOutcome::Passed, "another run");
    let unknown = lint().failed().with(|run| run.suite = None);
    assert_eq!(beside(unknown), RequiredOutcome::Passed, "no run is told");
    let again = vec![
        skipped().into(),
        lint().failed().started(hours_ago(50)).into(),
        lint().id(3).started(hours_ago(30)).into(),
    ];
    assert_eq!(
        outcome(again, ("Tests", None)),
        RequiredOutcome::Passed,
        "the failure was run again and passed"
    );
    let neutral = vec![run("Tests").concluded("NEUTRAL").into(), lint().failed().into()];
    assert_eq!(
        outcome(neutral, ("Tests", None)),
        RequiredOutcome::Passed,
        "it ran and has its say"
    );
}

#[test]
fn what_a_required_check_comes_to() {
    use RequiredOutcome::{Cancelled, Failed, Missing, Passed, Pending, Unknown};
    let runs = [
        ("success", run("build"), Passed),
        ("b008 skipped", run("build").concluded("SKIPPED"), Passed),
        ("b008 neutral", run("build").concluded("NEUTRAL"), Passed),
        ("failure", run("build").failed(), Failed),
        (
            "b029 it did not start",
            run("build").concluded("startup_failure"),
            Failed,
        ),
        ("it took too long", run("build").concluded("TIMED_OUT"), Failed),
        ("b010 cancelled", run("build").concluded("CANCELLED"), Cancelled),
        ("b011 stale", run("build").concluded("STALE"), Pending),
        (
            "b013 awaits approval",
            run("build").concluded("ACTION_REQUIRED"),
            Pending,
        ),
        ("running", run("build").running(), Pending),
        ("b029 queued", run("build").queued(), Pending),
        ("b029 a new word", run("build").concluded("PONDERED"), Unknown),
        ("b014 another name", run("lint"), Missing),
        ("names are exact", run("Build"), Missing),
        ("and whole", run("build / linux"), Missing),
    ];
    for (case, run, expected) in runs {
        assert_eq!(outcome(vec![run.into()], ("build", None)), expected, "{case}");
    }
    for (word, expected) in [
        ("SUCCESS", Passed),
        ("FAILURE", Failed),
        ("ERROR", Failed),
        ("PENDING", Pending),
        ("EXPECTED", Pending),
        ("ODD", Unknown),
    ] {
        let found = outcome(vec![status("build", word).into()], ("build", None));
        assert_eq!(found, expected, "{word}");
    }
}

#[test]
fn b004_b005_of_several_with_one_name_the_worst_counts() {
    let of = |a: Check, b: Check| {
        let one = outcome(vec![a.clone(), b.clone()], ("build", None));
        assert_eq!(one, outcome(vec![b, a], ("build", None)));
        one
    };
    assert_eq!(
        of(
            run("build").into(),
            run("build").id(2).workflow("Nightly").failed().into()
        ),
        RequiredOutcome::Failed
    );
    assert_eq!(
        of(run("build").into(), status("build", "PENDING").into()),
        RequiredOutcome::Pending
    );
}

#[test]
fn b001_a_run_that_a_newer_one_replaced_plays_no_part() {
    let checks = vec![
        run("build").failed().started(hours_ago(50)).into(),
        run("build").id(2).started(hours_ago(30)).into(),
    ];
    assert_eq!(outcome(checks, ("build", None)), RequiredOutcome::Passed);
}

#[test]
fn b016_without_a_check_it_hangs_on_what_is_required() {
    let bare = || pull().no_checks();
    assert_eq!(read(bare(), &requires(&[])).required, Required::Known(Vec::new()));
    assert_eq!(
        outcomes(&read(bare(), &requires(&[("build", None)]))),
        [("build", RequiredOutcome::Missing)]
    );
    let silent = BranchFacts {
        required: RequiredChecks::Unknown {
            why: "nothing answered".to_owned(),
        },
        ..requires(&[])
    };
    assert!(matches!(read(bare(), &silent).required, Required::Unknown { .. }));
}

#[test]
fn b030_b031_what_github_does_not_know_now_is_kept_with_a_mark() {
    let branch = requires(&[("build", None)]);
    let conflict = read(pull().conflicting(), &branch);
    let unknown = |pull: &mut PullFacts| {
        pull.mergeable = Mergeable::Unknown;
        pull.merge_state = MergeState::Unknown;
    };
    let later = now() + TimeDelta::minutes(2);
    let kept = read_again(pull().with(unknown), Some(&branch), Some(&conflict), later);
    assert!(kept.mergeability.is_stale);
    assert_eq!(kept.mergeability.mergeable, Mergeable::Conflicting);
    assert_eq!(kept.activity, conflict.activity, "it wipes no clock");
    let settings = Settings::default();
    assert_eq!(
        project(&kept, &settings).state,
        project(&conflict, &settings).state
    );
    assert!(kept.is_pending(), "it is read again soon");
    let twice = read_again(pull().with(unknown), Some(&branch), Some(&kept), later);
    assert_eq!(twice, kept, "and stays so however often that is read");
    let clean = read_again(pull(), Some(&branch), Some(&twice), later);
    assert_eq!(clean.mergeability.mergeable, Mergeable::Mergeable);
    assert!(!clean.mergeability.is_stale);

    let moved = read_again(
        pull().with(unknown).with(another_head),
        Some(&branch),
        Some(&conflict),
        later,
    );
    assert_eq!(
        moved.mergeability.seen_on,
        Some(conflict.head.sha.clone()),
        "it is about the head before"
    );
    let first = read(pull().with(unknown), &branch);
    assert_eq!(
        first.mergeability.seen_on, None,
        "what was never known is not known"
    );
}

#[test]
fn b030_an_answer_in_part_is_none() {
    let branch = requires(&[]);
    let clean = read(pull(), &branch);
    for (mergeable, state) in [
        ("UNKNOWN", "CLEAN"),
        ("MERGEABLE", "UNKNOWN"),
        ("", "CLEAN"),
        ("MERGEABLE", ""),
    ] {
        let it = pull().with(|pull| {
            pull.mergeable = mergeable.into();
            pull.merge_state = state.into();
        });
        let it = read_again(it, Some(&branch), Some(&clean), now());
        assert!(it.mergeability.is_stale, "{mergeable:?} {state:?}");
        assert_eq!(it.mergeability.merge_state, MergeState::Clean);
    }
}

#[test]
fn b065_a_deleted_fork_and_a_deleted_account_are_no_error() {
    let it = read(
        pull().with(|pull| {
            pull.head.repo = None;
            pull.author = None;
        }),
        &requires(&[]),
    );
    assert_eq!((it.author, it.activity.by), (None, None));
    assert!(it.partial.is_empty());
}

#[test]
fn b074_a_head_is_first_seen_once() {
    let branch = requires(&[]);
    let first = read(pull(), &branch);
    assert_eq!(first.head.first_seen_at, now());
    let later = now() + TimeDelta::hours(5);
    let again = read_again(pull(), Some(&branch), Some(&first), later);
    assert_eq!(again.head, first.head);
    assert!(again.same_but_for_time(&first));
    let moved = read_again(pull().with(another_head), Some(&branch), Some(&again), later);
    assert_eq!(moved.head.first_seen_at, later);
    assert_eq!(
        (moved.activity.what, moved.activity.at),
        (ActivityKind::Push, later),
        "it counts when it is seen, whatever its commit date"
    );
    let after = read_again(
        pull().with(another_head),
        Some(&branch),
        Some(&moved),
        later + TimeDelta::hours(5),
    );
    assert_eq!(after.activity, moved.activity, "and stays counted");
}

#[test]
fn b070_an_unexplained_bump_counts_once_and_stays_counted() {
    let branch = requires(&[]);
    let quiet = read(pull(), &branch);
    assert_eq!(quiet.activity.at, hours_ago(90));
    let later = now() + TimeDelta::hours(2);
    let bump = || pull().updated_at(now() + TimeDelta::hours(1));
    let bumped = read_again(bump(), Some(&branch), Some(&quiet), later);
    assert_eq!(
        (bumped.activity.what, bumped.activity.at),
        (ActivityKind::Unexplained, now() + TimeDelta::hours(1))
    );
    let again = read_again(
        bump(),
        Some(&branch),
        Some(&bumped),
        later + TimeDelta::minutes(2),
    );
    assert!(again.same_but_for_time(&bumped));
    // A bot's comment that turns up later would have explained it.
    let late = build::comment("codecov[bot]", "80 %").at(now() + TimeDelta::hours(1));
    let explained = read_again(
        bump().comment(late),
        Some(&branch),
        Some(&bumped),
        later + TimeDelta::minutes(2),
    );
    assert_eq!(explained.activity, bumped.activity, "the clock does not go back");
}

#[test]
fn a_base_that_cannot_be_read_now_requires_what_it_required() {
    let branch = BranchFacts {
        checks: Checks {
            contexts: Some(vec![run("build").failed().into(), run("lint").failed().into()]),
            suites: Vec::new(),
        },
        ..requires(&[("build", None), ("lint", None)])
    };
    let red = |names: &[&str]| {
        let mut it = pull().with(|pull| pull.checks.contexts = Some(Vec::new()));
        for name in ["build", "lint"] {
            let run = run(name);
            let run = if names.contains(&name) { run.failed() } else { run };
            it = it.with(|pull| pull.checks.contexts.get_or_insert_default().push(run.into()));
        }
        it
    };
    let before = read(red(&["build", "lint"]), &branch);
    assert_eq!(before.base_red, ["build", "lint"]);
    let after = read_again(red(&["lint"]), None, Some(&before), now());
    assert_eq!(
        outcomes(&after),
        [
            ("build", RequiredOutcome::Passed),
            ("lint", RequiredOutcome::Failed)
        ]
    );
    assert_eq!(after.base_red, ["lint"]);
    let onto_another = red(&[]).with(|pull| pull.base.branch = "next".to_owned());
    assert!(matches!(
        read_again(onto_another, None, Some(&before), now()).required,
        Required::Unknown { .. }
    ));
}

mod look {
    use super::*;

    fn head(of: &PullFacts) -> HeadFacts {
        HeadFacts {
            at: of.at.clone(),
            state: of.state.clone(),
            head: of.head.sha.clone(),
            created_at: of.created_at,
            mergeable: of.mergeable.clone(),
            merge_state: of.merge_state.clone(),
            merge_queue_position: of.merge_queue_position,
            checks: of.checks.clone(),
        }
    }

    fn running() -> PullBuilder {
        pull().check(run("build").running())
    }

    const LATER: TimeDelta = TimeDelta::minutes(2);

    #[test]
    fn what_changed_is_what_a_whole_reading_would_see() {
        let branch = requires(&[("build", None)]);
        let before = read(running(), &branch);
        let later = now() + LATER;
        type Change = fn(PullBuilder) -> PullBuilder;
        let changes: [(&str, Change); 5] = [
            ("it passed", |it| {
                it.with(|pull| pull.checks = pull_checks(run("build")))
            }),
            ("it failed", |it| {
                it.with(|pull| pull.checks = pull_checks(run("build").failed()))
            }),
            ("a conflict", |it| it.conflicting()),
            ("unknown", |it| {
                it.with(|pull| pull.mergeable = Mergeable::Unknown)
            }),
            ("queued", |it| it.with(|pull| pull.merge_queue_position = Some(2))),
        ];
        for (case, change) in changes {
            let now_so = change(running());
            let looked = with_head(&before, &head(&now_so.clone().build()), Some(&branch), later);
            let whole = read_again(now_so, Some(&branch), Some(&before), later);
            assert_eq!(looked, Looked::Changed(Box::new(whole)), "{case}");
        }
    }

    fn pull_checks(run: build::RunBuilder) -> Checks {
        Checks {
            contexts: Some(vec![run.into()]),
            suites: Vec::new(),
        }
    }

    #[test]
    fn b021_a_green_head_leads_to_its_state_without_a_whole_reading() {
        let branch = requires(&[("build", None)]);
        let remembered = lifecycle::maintain::build::ready("o/r#7").done();
        let mut before = read(running(), &branch);
        before.reviews = remembered.reviews;
        before.assignment = remembered.assignment;
        before.activity.at = now();
        let settings = Settings::default();
        assert_eq!(project(&before, &settings).state, State::UnderReview);
        let green = pull().check(run("build")).build();
        match with_head(&before, &head(&green), None, now() + LATER) {
            Looked::Changed(after) => {
                assert_eq!(project(&after, &settings).state, State::ReadyForMaintainer);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Facts with a few of everything whose order GitHub does not promise.
fn full() -> PullBuilder {
    let mut it = pull().updated_at(hours_ago(20));
    for (hours, by) in [(40, "grace"), (40, "author"), (30, "codecov[bot]")] {
        it = it
            .comment(build::comment(by, "Hm.").at(hours_ago(hours)))
            .thread([
                build::comment(by, "Hm.").at(hours_ago(hours)),
                build::comment("hubert", "Hm.").at(hours_ago(hours)),
            ])
            .review(build::review(by, "COMMENTED", "Hm.").at(hours_ago(hours)))
            .with(|pull| {
                let upkeep = pull.upkeep.get_or_insert_default();
                upkeep.labels.push(format!("label-{by}"));
                upkeep.commits.push(CommitMade {
                    at: hours_ago(hours),
                    by: Some(account(by)),
                });
                upkeep.edits.push(Edit {
                    at: hours_ago(20),
                    by: Some(account(by)),
                });
                for kind in [EventKind::Labeled, EventKind::ForcePushed, EventKind::Reopened] {
                    upkeep.events.push(Event {
                        kind,
                        at: hours_ago(hours),
                        by: Some(account(by)),
                    });
                }
                pull.head.last_force_push_at = Some(hours_ago(30));
            });
    }
    it.check(run("build").failed())
        .check(run("build").id(2))
        .check(run("build").id(3).workflow("Nightly").failed())
        .check(run("Tests").id(4).concluded("SKIPPED"))
        .check(status("build", "PENDING"))
        .suite(build::suite_awaiting_approval())
        .suite(build::suite_that_never_ran())
}

fn shuffled(seed: u64, mut pull: PullFacts) -> PullFacts {
    let mut state = seed | 1;
    fn mix<T>(list: &mut [T], state: &mut u64) {
        for at in (1..list.len()).rev() {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let other = usize::try_from((*state >> 33) % (at as u64 + 1)).expect("a small index");
            list.swap(at, other);
        }
    }
    mix(&mut pull.comments, &mut state);
    mix(&mut pull.reviews, &mut state);
    mix(&mut pull.threads, &mut state);
    for thread in &mut pull.threads {
        mix(&mut thread.comments, &mut state);
    }
    mix(&mut pull.checks.suites, &mut state);
    mix(pull.checks.contexts.get_or_insert_default(), &mut state);
    let upkeep = pull.upkeep.get_or_insert_default();
    mix(&mut upkeep.labels, &mut state);
    mix(&mut upkeep.events, &mut state);
    mix(&mut upkeep.edits, &mut state);
    mix(&mut upkeep.commits, &mut state);
    pull
}

proptest! {
    #[test]
    fn the_order_of_lists_changes_no_evidence(seed in any::<u64>(), is_new_head in any::<bool>()) {
        let branch = requires(&[("build", None), ("Tests", None), ("build", Some(7))]);
        let mut backwards = branch.clone();
        if let RequiredChecks::Known(required) = &mut backwards.required {
            required.reverse();
        }
        let first = read(pull().with(|pull| if is_new_head { another_head(pull) }), &branch);
        let later = now() + TimeDelta::hours(1);
        let remembered = Remembered { previous: Some(&first), ..Remembered::default() };
        let facts = full().build();
        let one = gather(&facts, Some(&branch), remembered, &Settings::default(), later);
        let other = gather(&shuffled(seed, facts), Some(&backwards), remembered, &Settings::default(), later);
        prop_assert_eq!(one, other);
    }

    /// Readings in any order of what was seen: the clock never goes back and never lies ahead.
    #[test]
    fn the_clock_never_goes_back(readings in proptest::collection::vec((0_i64..60, 0_i64..200, any::<bool>()), 1..8)) {
        let branch = requires(&[]);
        let mut previous: Option<Evidence> = None;
        let mut at = now();
        for (after, spoken, is_new_head) in readings {
            at += TimeDelta::minutes(after);
            let it = pull()
                .comment(build::comment("grace", "Hm.").at(now() - TimeDelta::minutes(spoken * 30)))
                .with(|pull| if is_new_head { another_head(pull) });
            let evidence = read_again(it, Some(&branch), previous.as_ref(), at);
            prop_assert!(evidence.activity.at <= at);
            if let Some(previous) = &previous {
                prop_assert!(evidence.activity.at >= previous.activity.at);
            }
            previous = Some(evidence);
        }
    }
}
