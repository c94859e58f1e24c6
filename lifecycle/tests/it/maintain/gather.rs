//! The evidence that a reading gives: the clock, heads, mergeability, required checks.

use lifecycle::maintain::{
    Activity, ActivityKind, Evidence, Looked, Remembered, Required, RequiredOutcome, Settings, gather,
    with_head,
};
use proptest::prelude::*;
use pulls::build::{self, PullBuilder, hours_ago, now};
use pulls::checks::{Ci, Standing};
use pulls::facts::{AccountKind, Checks, MergeState, Mergeable, PullFacts, Time};
use pulls::people::People;
use pulls::upkeep::{
    BranchFacts, CommitMade, Edit, Event, EventKind, HeadFacts, RequiredCheck, RequiredChecks, Upkeep,
};

/// Opened 100 h ago, committed 90 h ago, nothing since.
fn quiet() -> PullBuilder {
    build::pull("o/r", 7)
        .opened_at(hours_ago(100))
        .committed_at(hours_ago(90))
        .updated_at(hours_ago(90))
        .with(|pull| pull.upkeep = Some(Upkeep::default()))
}

fn upkeep(pull: &mut PullFacts) -> &mut Upkeep {
    pull.upkeep.get_or_insert_default()
}

fn event(kind: EventKind, by: &str, ago: i64) -> Event {
    Event {
        kind,
        at: hours_ago(ago),
        by: Some(build::account(by)),
    }
}

fn with_event(kind: EventKind, by: &str, ago: i64) -> PullBuilder {
    quiet()
        .updated_at(hours_ago(ago))
        .with(|pull| upkeep(pull).events.push(event(kind, by, ago)))
}

fn settings() -> Settings {
    Settings {
        people: People {
            machine_users: ["ci-robot".parse().expect("a login")].into(),
            ..People::default()
        },
        ..Settings::default()
    }
}

fn first(pull: PullBuilder) -> Evidence {
    gather(&pull.build(), None, Remembered::default(), &settings(), now())
}

fn again(previous: &Evidence, pull: PullBuilder, at: Time) -> Evidence {
    let remembered = Remembered {
        previous: Some(previous),
        ..Remembered::default()
    };
    gather(&pull.build(), None, remembered, &settings(), at)
}

/// The same pull request with another head.
fn pushed(pull: PullBuilder) -> PullBuilder {
    pull.with(|pull| pull.head.sha = "e".repeat(40).parse().expect("forty digits"))
}

fn ago(activity: &Activity) -> (ActivityKind, i64) {
    (activity.what, (now() - activity.at).num_hours())
}

fn branch(required: &[(&str, Option<u64>)]) -> BranchFacts {
    let check = |(context, app): &(&str, Option<u64>)| RequiredCheck {
        context: (*context).to_owned(),
        app: *app,
    };
    BranchFacts {
        branch: "main".to_owned(),
        sha: Some("b".repeat(40).parse().expect("forty digits")),
        required: RequiredChecks::Known(required.iter().map(check).collect()),
        checks: Checks {
            contexts: None,
            suites: Vec::new(),
        },
    }
}

fn on(pull: PullBuilder, branch: &BranchFacts) -> Evidence {
    gather(
        &pull.build(),
        Some(branch),
        Remembered::default(),
        &settings(),
        now(),
    )
}

fn outcomes(evidence: &Evidence) -> Vec<(&str, RequiredOutcome)> {
    match &evidence.required {
        Required::Known(known) => known
            .iter()
            .map(|seen| (seen.check.context.as_str(), seen.outcome))
            .collect(),
        Required::Unknown { why } => panic!("{why}"),
    }
}

#[test]
fn what_moves_the_clock() {
    use ActivityKind::{Comment, Commit, Opened, Push, ReadyForReview, Reopened, Reply, Review, Unexplained};
    let comment = |by: &str| build::comment(by, "Nice").at(hours_ago(50));
    let bumped = |pull: PullBuilder| pull.updated_at(hours_ago(50));
    let cases = [
        ("a commit", quiet(), (Commit, 90)),
        (
            "opened after its commits",
            quiet().opened_at(hours_ago(80)).updated_at(hours_ago(80)),
            (Opened, 80),
        ),
        (
            "a comment",
            bumped(quiet().comment(comment("grace"))),
            (Comment, 50),
        ),
        (
            "the author's own",
            bumped(quiet().comment(comment("author"))),
            (Comment, 50),
        ),
        (
            "a deleted account's",
            bumped(quiet().comment(comment("x").with(|comment| comment.author = None))),
            (Comment, 50),
        ),
        ("a reply", bumped(quiet().thread([comment("grace")])), (Reply, 50)),
        (
            "a reply in a resolved thread",
            bumped(quiet().resolved_thread([comment("grace")])),
            (Reply, 50),
        ),
        (
            "a review",
            bumped(quiet().review(build::review("grace", "COMMENTED", "").at(hours_ago(50)))),
            (Review, 50),
        ),
        (
            "a review that was not sent",
            quiet().review(build::review("grace", "PENDING", "")),
            (Commit, 90),
        ),
        (
            "reopened",
            with_event(EventKind::Reopened, "grace", 50),
            (Reopened, 50),
        ),
        (
            "marked ready",
            with_event(EventKind::ReadyForReview, "grace", 50),
            (ReadyForReview, 50),
        ),
        (
            "forced",
            with_event(EventKind::ForcePushed, "author", 50),
            (Push, 50),
        ),
        (
            "a label",
            with_event(EventKind::Labeled, "grace", 50),
            (Commit, 90),
        ),
        (
            "a review that is asked for",
            with_event(EventKind::ReviewRequested, "grace", 50),
            (Commit, 90),
        ),
        (
            "a new title",
            with_event(EventKind::Renamed, "author", 50),
            (Commit, 90),
        ),
        ("nothing that was read", bumped(quiet()), (Unexplained, 50)),
        (
            "what was not read explains nothing",
            bumped(quiet()).with(|pull| pull.upkeep = None),
            (Commit, 90),
        ),
        (
            "a comment from the future",
            quiet().comment(build::comment("grace", "").at(hours_ago(-5))),
            (Commit, 90),
        ),
    ];
    for (case, pull, expected) in cases {
        assert_eq!(ago(&first(pull).activity), expected, "{case}");
    }
}

#[test]
fn b068_the_programs_own_comment_moves_nothing() {
    let own = build::comment("ci-robot", "Idle for seven days").at(hours_ago(1));
    let it = first(quiet().comment(own).updated_at(hours_ago(1)));
    assert_eq!(ago(&it.activity), (ActivityKind::Commit, 90));
}

#[test]
fn b069_no_event_of_a_bot_moves_the_clock() {
    for kind in [
        EventKind::Labeled,
        EventKind::Reopened,
        EventKind::ReadyForReview,
        EventKind::ForcePushed,
        EventKind::Assigned,
        EventKind::Closed,
    ] {
        for bot in ["mergify[bot]", "ci-robot"] {
            let it = with_event(kind.clone(), bot, 1);
            assert_eq!(
                ago(&first(it).activity),
                (ActivityKind::Commit, 90),
                "{kind:?} {bot}"
            );
        }
    }
}

#[test]
fn b069_a_bots_force_push_moves_nothing_on_a_new_head_either() {
    let before = first(quiet());
    let forced = |by: &str| {
        pushed(with_event(EventKind::ForcePushed, by, -1)).with(|pull| {
            pull.head.last_force_push_at = Some(hours_ago(-1));
        })
    };
    let later = hours_ago(-2);
    let by_bot = again(&before, forced("mergify[bot]"), later);
    assert_eq!(ago(&by_bot.activity), (ActivityKind::Commit, 90));
    let by_author = again(&before, forced("author"), later);
    assert_eq!(ago(&by_author.activity), (ActivityKind::Push, -1));
    let by_bots_commit = pushed(quiet()).with(|pull| {
        upkeep(pull).commits = vec![CommitMade {
            at: hours_ago(-1),
            by: Some(build::account("renovate[bot]")),
        }];
    });
    let by_bots_commit = again(&before, by_bots_commit, later);
    assert_eq!(
        ago(&by_bots_commit.activity),
        (ActivityKind::Commit, 90),
        "a bot's own commit"
    );
}

#[test]
fn b070_a_bump_counts_once_and_only_where_nothing_explains_it() {
    let bumped = || quiet().updated_at(hours_ago(2));
    let edited = |ago| {
        bumped().with(move |pull| {
            upkeep(pull).edits.push(Edit {
                at: hours_ago(ago),
                by: Some(build::account("codecov[bot]")),
            });
        })
    };
    let bots = |ago| bumped().comment(build::comment("codecov[bot]", "80 %").at(hours_ago(ago)));
    let checked = bumped().check(build::run("test").started(hours_ago(2)));
    for (case, pull) in [("edited", edited(2)), ("new", bots(2)), ("a check", checked)] {
        assert_eq!(ago(&first(pull).activity), (ActivityKind::Commit, 90), "{case}");
    }
    for (case, pull) in [("nothing", bumped()), ("another edit", edited(20))] {
        let it = first(pull.clone());
        assert_eq!(ago(&it.activity), (ActivityKind::Unexplained, 2), "{case}");
        let later = again(&it, pull, hours_ago(-30));
        assert_eq!(later.activity, it.activity, "{case}: once");
    }
}

#[test]
fn b071_the_clock_is_the_newest_of_everything_a_person_did() {
    let stale = quiet()
        .comment(build::comment("stale[bot]", "This is stale").at(hours_ago(40)))
        .thread([build::comment("author", "Done").at(hours_ago(30))])
        .review(build::review("grace", "COMMENTED", "").at(hours_ago(35)))
        .updated_at(hours_ago(30));
    let it = first(stale.clone());
    assert_eq!(ago(&it.activity), (ActivityKind::Reply, 30));
    assert_eq!(it.activity.by.as_ref().map(pulls::Login::as_str), Some("author"));
    let committed = stale.committed_at(hours_ago(20)).updated_at(hours_ago(20));
    assert_eq!(ago(&first(committed).activity), (ActivityKind::Commit, 20));
}

#[test]
fn b073_the_committer_date_is_bounded_by_what_was_seen() {
    let seen = first(quiet());
    let later = hours_ago(-10);
    let postdated = quiet().committed_at(hours_ago(-5));
    let it = again(&seen, postdated.clone(), later);
    assert_eq!(it.activity.at, now(), "no later than its head was first seen");
    let future = first(postdated.updated_at(hours_ago(100)));
    assert_eq!(
        ago(&future.activity),
        (ActivityKind::Commit, 100),
        "with the opening"
    );
    let beside = quiet().updated_at(hours_ago(100)).with(|pull| {
        pull.head.committed_at = hours_ago(-5);
        pull.head.commit_dates = vec![hours_ago(60), hours_ago(-5)];
    });
    assert_eq!(
        ago(&first(beside.clone()).activity).1,
        60,
        "with the newest other commit"
    );
    let forced = beside.with(|pull| pull.head.last_force_push_at = Some(hours_ago(30)));
    assert_eq!(ago(&first(forced).activity).1, 30, "with the force push");
}

#[test]
fn b074_a_head_is_as_old_as_it_was_first_seen() {
    let one = first(quiet());
    assert_eq!(one.head.first_seen_at, now());
    let later = hours_ago(-10);
    let same = again(&one, quiet(), later);
    assert_eq!(same.head.first_seen_at, now(), "seen before");
    let old_commit = pushed(quiet());
    let two = again(&same, old_commit.clone(), later);
    assert_eq!(two.head.first_seen_at, later, "never seen before");
    assert_eq!(
        (two.activity.what, two.activity.at),
        (ActivityKind::Push, later),
        "whatever its commit date"
    );
    let forced = old_commit.with(|pull| pull.head.last_force_push_at = Some(hours_ago(-4)));
    let forced = again(&same, forced, later);
    assert_eq!(forced.activity.at, hours_ago(-4), "or at its force push");
}

#[test]
fn b075_no_list_of_commits_is_needed_for_the_head() {
    let many = quiet().with(|pull| {
        upkeep(pull).commits = (0..100)
            .map(|at| CommitMade {
                at: hours_ago(190 - at),
                by: Some(build::account("author")),
            })
            .collect();
    });
    let it = first(many.clone());
    assert_eq!(it.head.sha, many.build().head.sha);
    assert_eq!(ago(&it.activity).1, 91);
    let unread = first(quiet().with(|pull| pull.upkeep = None));
    assert_eq!(unread.partial.len(), 1, "what was not read is told");
    assert_eq!(it.partial, Vec::<String>::new());
}

#[test]
fn b060_a_bot_is_no_person_whatever_its_association() {
    for association in ["NONE", "MEMBER", "OWNER"] {
        let bot = build::comment("helper", "?")
            .association(association)
            .at(hours_ago(3));
        let bot = bot.with(|comment| {
            comment.author.as_mut().expect("it has one").kind = AccountKind::Bot;
        });
        let it = first(quiet().comment(bot).updated_at(hours_ago(3)));
        assert_eq!(ago(&it.activity), (ActivityKind::Commit, 90), "{association}");
    }
}

#[test]
fn b061_unresolved_threads_are_counted_exactly() {
    let mut pull = quiet();
    for _ in 0..130 {
        pull = pull.thread([build::comment("grace", "Here").at(hours_ago(95))]);
    }
    let pull = pull.resolved_thread([build::comment("grace", "Done").at(hours_ago(95))]);
    assert_eq!(first(pull).unresolved_threads, Some(130));
}

#[test]
fn b049_an_empty_decision_is_none() {
    let empty = quiet().with(|pull| pull.review_decision = Some("".into()));
    assert_eq!(first(empty).review_decision, None);
}

#[test]
fn b041_membership_of_a_merge_queue_comes_from_its_entry_alone() {
    let unknown = |position| {
        quiet().with(move |pull| {
            pull.mergeable = Mergeable::Unknown;
            pull.merge_state = MergeState::Unknown;
            pull.merge_queue_position = position;
        })
    };
    assert_eq!(first(unknown(Some(2))).merge_queue_position, Some(2));
    assert_eq!(first(unknown(None)).merge_queue_position, None);
}

#[test]
fn b009_b008_a_required_check_that_was_skipped() {
    let tests = || build::run("Tests").concluded("SKIPPED");
    let suite = |suite| move |run: &mut pulls::facts::CheckRun| run.suite = suite;
    let base = branch(&[("Tests", None)]);
    let lint = |of| build::run("Lint").failed().id(2).with(suite(of));
    for (case, pull, expected) in [
        ("alone", quiet().check(tests()), RequiredOutcome::Passed),
        (
            "a failure of its own run",
            quiet().check(tests()).check(lint(Some(1))),
            RequiredOutcome::SkippedBesideFailure,
        ),
        (
            "a failure of another run",
            quiet().check(tests()).check(lint(Some(2))),
            RequiredOutcome::Passed,
        ),
        (
            "runs that are not known",
            quiet().check(tests().with(suite(None))).check(lint(None)),
            RequiredOutcome::Passed,
        ),
    ] {
        assert_eq!(outcomes(&on(pull, &base)), [("Tests", expected)], "{case}");
    }
}

#[test]
fn b011_a_stale_check_is_pending() {
    let it = on(
        quiet().check(build::run("Tests").concluded("STALE")),
        &branch(&[("Tests", None)]),
    );
    assert_eq!((it.ci, it.checks[0].standing), (Ci::Pending, Standing::Stale));
    assert_eq!(outcomes(&it), [("Tests", RequiredOutcome::Pending)]);
}

#[test]
fn b013_a_suite_that_waits_for_approval_is_in_the_evidence() {
    let it = first(
        quiet()
            .check(build::run("Lint"))
            .suite(build::suite_awaiting_approval()),
    );
    assert_eq!(it.ci, Ci::Pending);
    let all: Vec<Standing> = it.checks.iter().map(|check| check.standing).collect();
    assert!(all.contains(&Standing::AwaitsApproval), "{all:?}");
}

#[test]
fn b014_a_required_check_that_nothing_reported_is_missing() {
    let base = branch(&[("build", None), ("e2e", None)]);
    assert_eq!(
        outcomes(&on(quiet(), &base)),
        [
            ("build", RequiredOutcome::Passed),
            ("e2e", RequiredOutcome::Missing)
        ]
    );
    let unread = first(quiet());
    assert!(
        matches!(unread.required, Required::Unknown { .. }),
        "no branch was read"
    );
}

#[test]
fn b024_b025_the_app_that_a_check_must_come_from() {
    let vercel = |app| {
        let mut status = build::status("Vercel", "SUCCESS");
        status.app = app;
        quiet().check(status)
    };
    let run = |app: u64| quiet().check(build::run("Vercel").app(app));
    for (case, required, pull, expected) in [
        (
            "a status of it",
            Some(8329),
            vercel(Some(8329)),
            RequiredOutcome::Passed,
        ),
        ("a status of any", None, vercel(None), RequiredOutcome::Passed),
        (
            "a status of nobody knows whom",
            Some(8329),
            vercel(None),
            RequiredOutcome::OtherApp,
        ),
        ("a run of it", Some(8329), run(8329), RequiredOutcome::Passed),
        (
            "a run of another",
            Some(8329),
            run(15_368),
            RequiredOutcome::OtherApp,
        ),
        (
            "both, of which its own fails",
            Some(8329),
            run(15_368).check(build::run("Vercel").app(8329).id(2).failed()),
            RequiredOutcome::Failed,
        ),
        (
            "both, of which the other fails",
            Some(8329),
            run(8329).check(build::run("Vercel").app(15_368).id(2).failed()),
            RequiredOutcome::Passed,
        ),
        (
            "any app: the worst counts",
            None,
            run(8329).check(build::run("Vercel").app(15_368).id(2).failed()),
            RequiredOutcome::Failed,
        ),
    ] {
        let it = on(pull, &branch(&[("Vercel", required)]));
        assert_eq!(outcomes(&it), [("Vercel", expected)], "{case}");
    }
}

#[test]
fn b027_a_check_that_is_red_on_the_base_too() {
    let mut base = branch(&[]);
    base.checks.contexts = Some(vec![
        build::run("build").failed().into(),
        build::run("docs").failed().id(2).into(),
        build::run("lint").id(3).into(),
    ]);
    let red = quiet()
        .check(build::run("build").failed())
        .check(build::run("lint").failed().id(2));
    assert_eq!(on(red, &base).base_red, ["build"]);
    assert_eq!(on(quiet(), &base).base_red, Vec::<String>::new());
    let other_app = quiet().check(build::run("build").failed().app(1));
    assert_eq!(
        on(other_app, &base).base_red,
        Vec::<String>::new(),
        "another app's"
    );
}

#[test]
fn b030_b031_what_is_not_known_now_is_kept_with_a_mark() {
    let asked = |mergeable: Mergeable, state: MergeState| {
        quiet().with(|pull| {
            pull.mergeable = mergeable;
            pull.merge_state = state;
        })
    };
    let unknown = || asked(Mergeable::Unknown, MergeState::Unknown);
    let never = first(unknown()).mergeability;
    assert_eq!(
        (&never.mergeable, &never.seen_on, never.is_stale),
        (&Mergeable::Unknown, &None, false)
    );
    let conflict = first(asked(Mergeable::Conflicting, MergeState::Dirty));
    for (case, pull) in [
        ("not known", unknown()),
        (
            "the button lags",
            asked(Mergeable::Mergeable, MergeState::Unknown),
        ),
        ("an empty word", asked("".into(), MergeState::Clean)),
    ] {
        let it = again(&conflict, pushed(pull), now());
        assert_eq!(it.mergeability.mergeable, Mergeable::Conflicting, "{case}");
        assert_eq!(
            it.mergeability.seen_on, conflict.mergeability.seen_on,
            "{case}: of its head"
        );
        assert!(it.mergeability.is_stale, "{case}");
        let twice = again(&it, pushed(unknown()), now());
        assert_eq!(twice.mergeability, it.mergeability, "{case}: twice");
        let known = again(&it, asked(Mergeable::Mergeable, MergeState::Clean), now()).mergeability;
        assert_eq!(
            (known.mergeable, known.is_stale),
            (Mergeable::Mergeable, false),
            "{case}"
        );
    }
}

#[test]
fn the_clock_does_not_go_back() {
    let said = quiet()
        .comment(build::comment("grace", "Hm").at(hours_ago(5)))
        .updated_at(hours_ago(5));
    let before = first(said);
    let deleted = again(&before, quiet(), now());
    assert_eq!(deleted.activity, before.activity, "its comment is gone");
    let by_robot = Evidence {
        activity: Activity {
            by: Some("ci-robot".parse().expect("a login")),
            ..before.activity.clone()
        },
        ..before.clone()
    };
    assert_eq!(
        ago(&again(&by_robot, quiet(), now()).activity),
        (ActivityKind::Commit, 90),
        "it is a program by now"
    );
    let earlier = again(&before, quiet(), hours_ago(6));
    assert!(earlier.activity.at <= hours_ago(6), "never after now");
}

#[test]
fn a_look_at_the_head_alone() {
    let pull = quiet().check(build::run("build").running()).build();
    let base = branch(&[("build", None)]);
    let it = on(quiet().check(build::run("build").running()), &base);
    let head = || HeadFacts {
        at: pull.at.clone(),
        state: pull.state.clone(),
        head: pull.head.sha.clone(),
        created_at: pull.created_at,
        mergeable: pull.mergeable.clone(),
        merge_state: pull.merge_state.clone(),
        merge_queue_position: None,
        checks: pull.checks.clone(),
    };
    assert_eq!(with_head(&it, &head(), None, hours_ago(-1)), Looked::Same);
    let mut done = head();
    done.checks.contexts = Some(vec![build::run("build").into()]);
    match with_head(&it, &done, None, hours_ago(-1)) {
        Looked::Changed(changed) => {
            assert_eq!(outcomes(&changed), [("build", RequiredOutcome::Passed)]);
            assert_eq!(
                (changed.ci, changed.activity.clone()),
                (Ci::Green, it.activity.clone())
            );
            assert_eq!(
                with_head(&changed, &done, None, hours_ago(-2)),
                Looked::Same,
                "twice"
            );
        }
        other => panic!("{other:?}"),
    }
    let mut moved = head();
    moved.head = "e".repeat(40).parse().expect("forty digits");
    assert_eq!(with_head(&it, &moved, None, now()), Looked::ReadAgain);
    let mut ended = head();
    ended.state = pulls::facts::PullState::Merged;
    assert_eq!(with_head(&it, &ended, None, now()), Looked::ReadAgain);
}

/// What happens to a pull request: how, by whom (a bot, a machine user or a person), hours ago (some of them to come).
fn doings(people: bool) -> impl Strategy<Value = Vec<(u8, &'static str, i64)>> {
    let who = match people {
        true => vec!["grace", "author", "mergify[bot]", "ci-robot"],
        false => vec!["mergify[bot]", "ci-robot"],
    };
    proptest::collection::vec((0u8..8, proptest::sample::select(who), -5i64..89), 0..10)
}

fn done(pull: PullBuilder, (how, by, ago): (u8, &str, i64)) -> PullBuilder {
    let comment = || build::comment(by, "Nice").at(hours_ago(ago));
    let pull = match how {
        0 => pull.comment(comment()),
        1 => pull.thread([comment()]),
        2 => pull.review(build::review(by, "COMMENTED", "").at(hours_ago(ago))),
        3 => pull.with(|pull| {
            let by = Some(build::account(by));
            upkeep(pull).edits.push(Edit {
                at: hours_ago(ago),
                by,
            });
        }),
        4 => pull.with(|pull| upkeep(pull).events.push(event(EventKind::Labeled, by, ago))),
        5 => pull.with(|pull| upkeep(pull).events.push(event(EventKind::Reopened, by, ago))),
        6 => pull.with(|pull| upkeep(pull).events.push(event(EventKind::ForcePushed, by, ago))),
        _ => pull.with(|pull| {
            upkeep(pull)
                .events
                .push(event(EventKind::ReadyForReview, by, ago))
        }),
    };
    pull.with(|pull| {
        pull.updated_at = pull.updated_at.max(hours_ago(ago));
        if how == 6 {
            pull.head.last_force_push_at = pull.head.last_force_push_at.max(Some(hours_ago(ago)));
        }
    })
}

fn all_done(all: &[(u8, &str, i64)]) -> PullBuilder {
    all.iter().fold(quiet(), |pull, one| done(pull, *one))
}

proptest! {
    #[test]
    fn no_doing_of_a_bot_moves_the_clock(all in doings(false)) {
        prop_assert_eq!(ago(&first(all_done(&all)).activity), (ActivityKind::Commit, 90));
    }

    #[test]
    fn the_clock_never_exceeds_now_and_reading_twice_gives_the_same(all in doings(true), is_pushed in any::<bool>()) {
        let before = first(quiet());
        let pull = || if is_pushed { pushed(all_done(&all)) } else { all_done(&all) };
        for it in [first(pull()), again(&before, pull(), hours_ago(-2))] {
            prop_assert!(it.activity.at <= it.now);
            prop_assert!(it.activity.at >= hours_ago(90));
            prop_assert_eq!(&again(&it, pull(), it.now), &it);
        }
    }

    #[test]
    fn the_order_of_lists_changes_nothing(
        (all, shuffled) in doings(true).prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        (checks, other) in Just(vec![1u64, 2, 3, 4, 5])
            .prop_flat_map(|all| (Just(all.clone()).prop_shuffle(), Just(all).prop_shuffle())),
    ) {
        let base = branch(&[("check 1", None), ("check 2", None), ("check 9", None)]);
        let check = |pull: PullBuilder, id: &u64| {
            let run = build::run(&format!("check {}", id % 3)).id(*id);
            pull.check(if id.is_multiple_of(2) { run.failed() } else { run })
        };
        let it = |all: &[(u8, &str, i64)], checks: &[u64]| {
            let labels = checks.iter().map(|id| format!("label {id}")).collect();
            let pull = checks.iter().fold(all_done(all), check);
            on(pull.with(|pull| upkeep(pull).labels = labels), &base)
        };
        prop_assert_eq!(it(&all, &checks), it(&shuffled, &other));
    }
}
