use super::*;
use crate::build::{self, PullBuilder};

/// Hours of silence at the moment of the builders.
fn silence(pull: PullBuilder) -> i64 {
    let people = People {
        machine_users: ["ci-robot".parse().unwrap()].into(),
        ..People::default()
    };
    (build::now() - last_by_people(&pull.build(), &people, build::now())).num_hours()
}

fn quiet() -> PullBuilder {
    build::pull("o/r", 7)
        .opened_at(build::hours_ago(100))
        .committed_at(build::hours_ago(90))
}

#[test]
fn people_move_the_clock() {
    assert_eq!(silence(quiet()), 90);
    let comment = || build::comment("grace", "Nice").at(build::hours_ago(50));
    assert_eq!(silence(quiet().comment(comment())), 50);
    assert_eq!(silence(quiet().thread([comment()])), 50);
    let review = build::review("grace", "APPROVED", "").at(build::hours_ago(40));
    assert_eq!(silence(quiet().review(review)), 40);
    let pushed = quiet().with(|pull| pull.head.last_force_push_at = Some(build::hours_ago(30)));
    assert_eq!(silence(pushed), 30);
    let ghost = comment().with(|comment| comment.author = None);
    assert_eq!(silence(quiet().comment(ghost)), 50);
}

#[test]
fn b068_to_b071_programs_labels_and_edits_do_not() {
    let robot = build::comment("ci-robot", "Coverage: 80 %").at(build::hours_ago(1));
    assert_eq!(silence(quiet().comment(robot)), 90);
    assert_eq!(silence(quiet().updated_at(build::hours_ago(1))), 90);
    let checked = quiet().check(build::run("test").started(build::hours_ago(1)));
    assert_eq!(silence(checked), 90);
}

#[test]
fn b073_a_commit_from_the_future_counts_for_nothing() {
    assert_eq!(silence(quiet().committed_at(build::hours_ago(-5))), 100);
}

mod clock {
    use chrono::TimeDelta;
    use proptest::prelude::*;

    use super::super::*;
    use crate::build::{self, PullBuilder, account, hours_ago, now};
    use crate::upkeep::{CommitMade, Edit, Upkeep};

    const ROBOT: &str = "dependabot[bot]";

    fn seen(hours: i64) -> SeenHead {
        SeenHead {
            first_seen_at: hours_ago(hours),
            replaced: None,
            read_at: None,
        }
    }

    /// A head that was first seen so long ago and replaced one first seen so long before.
    fn replaced(hours: i64, before: i64) -> SeenHead {
        SeenHead {
            replaced: Some(hours_ago(before)),
            ..seen(hours)
        }
    }

    fn last(pull: PullBuilder, seen: SeenHead) -> Activity {
        let people = People {
            machine_users: ["ci-robot".parse().unwrap()].into(),
            ..People::default()
        };
        last_activity(&pull.build(), &people, seen, now())
    }

    /// What moved the clock, how many hours ago, and who did it.
    fn told(pull: PullBuilder, seen: SeenHead) -> (ActivityKind, i64, Option<String>) {
        let last = last(pull, seen);
        let by = last.by.map(|by| by.to_string());
        (last.what, (now() - last.at).num_hours(), by)
    }

    #[track_caller]
    fn check(case: &str, pull: PullBuilder, seen: SeenHead, what: ActivityKind, hours: i64) {
        let (found, at, _) = told(pull, seen);
        assert_eq!((found, at), (what, hours), "{case}");
    }

    /// Opened 100 hours ago, committed 90 hours ago by its author, then nothing.
    fn quiet() -> PullBuilder {
        build::pull("o/r", 7)
            .opened_at(hours_ago(100))
            .committed_at(hours_ago(90))
            .updated_at(hours_ago(100))
            .with(|pull| pull.upkeep = Some(Upkeep::default()))
    }

    fn made(at: Time, by: Option<&str>) -> CommitMade {
        CommitMade {
            at,
            by: by.map(account),
        }
    }

    trait Happens {
        fn upkeep(self, change: impl FnOnce(&mut Upkeep)) -> Self;
        fn event(self, kind: EventKind, hours: i64, by: Option<&str>) -> Self;
        fn forced(self, hours: i64, by: Option<&str>) -> Self;
        fn commits(self, commits: &[CommitMade]) -> Self;
    }

    impl Happens for PullBuilder {
        fn upkeep(self, change: impl FnOnce(&mut Upkeep)) -> Self {
            self.with(|pull| change(pull.upkeep.get_or_insert_default()))
        }

        fn event(self, kind: EventKind, hours: i64, by: Option<&str>) -> Self {
            self.upkeep(|upkeep| {
                upkeep.events.push(Event {
                    kind,
                    at: hours_ago(hours),
                    by: by.map(account),
                });
            })
        }

        fn forced(self, hours: i64, by: Option<&str>) -> Self {
            self.event(EventKind::ForcePushed, hours, by)
                .with(|pull| pull.head.last_force_push_at = Some(hours_ago(hours)))
        }

        fn commits(self, commits: &[CommitMade]) -> Self {
            let newest = commits.iter().map(|commit| commit.at).max().unwrap();
            self.committed_at(newest)
                .upkeep(|upkeep| upkeep.commits = commits.to_vec())
        }
    }

    #[test]
    fn b071_everything_that_people_do_moves_it() {
        use ActivityKind::{Comment, Commit, Opened, Push, ReadyForReview, Reopened, Reply, Review};
        let word = || build::comment("grace", "Nice").at(hours_ago(50));
        let review = build::review("grace", "APPROVED", "").at(hours_ago(40));
        let cases = [
            (
                "opening",
                quiet().committed_at(hours_ago(200)),
                (Opened, 100, "author"),
            ),
            ("a commit", quiet(), (Commit, 90, "author")),
            (
                "a commit of somebody else",
                quiet().commits(&[made(hours_ago(60), Some("hubert"))]),
                (Commit, 60, "hubert"),
            ),
            ("a comment", quiet().comment(word()), (Comment, 50, "grace")),
            ("a thread reply", quiet().thread([word()]), (Reply, 50, "grace")),
            (
                "a reply in a resolved thread",
                quiet().resolved_thread([word()]),
                (Reply, 50, "grace"),
            ),
            ("a review", quiet().review(review), (Review, 40, "grace")),
            (
                "reopening",
                quiet().event(EventKind::Reopened, 30, Some("grace")),
                (Reopened, 30, "grace"),
            ),
            (
                "ready for review",
                quiet().event(EventKind::ReadyForReview, 30, Some("author")),
                (ReadyForReview, 30, "author"),
            ),
            (
                "a force push",
                quiet().forced(20, Some("author")),
                (Push, 20, "author"),
            ),
        ];
        for (case, pull, (what, hours, by)) in cases {
            assert_eq!(told(pull, seen(10)), (what, hours, Some(by.to_owned())), "{case}");
        }
    }

    #[test]
    fn a_pending_review_and_a_deleted_account() {
        let pending = build::review("grace", "PENDING", "Not sent");
        check(
            "pending",
            quiet().review(pending),
            seen(10),
            ActivityKind::Commit,
            90,
        );
        let ghost = build::comment("grace", "Nice")
            .at(hours_ago(50))
            .with(|comment| comment.author = None);
        assert_eq!(
            told(quiet().comment(ghost), seen(10)),
            (ActivityKind::Comment, 50, None)
        );
    }

    #[test]
    fn b068_b069_what_programs_do_moves_nothing() {
        let word = |login| build::comment(login, "Done.").at(hours_ago(1));
        let bumped = || quiet().updated_at(hours_ago(1));
        let cases = [
            ("a comment", bumped().comment(word(ROBOT))),
            ("of a machine user", bumped().comment(word("ci-robot"))),
            ("a reply", bumped().thread([word(ROBOT)])),
            (
                "a review",
                bumped().review(build::review(ROBOT, "COMMENTED", "Hm.")),
            ),
            (
                "a label after the stale mark",
                bumped().event(EventKind::Labeled, 1, Some("mergify[bot]")),
            ),
            ("reopening", bumped().event(EventKind::Reopened, 1, Some(ROBOT))),
            (
                "ready for review",
                bumped().event(EventKind::ReadyForReview, 1, Some(ROBOT)),
            ),
            (
                "a commit",
                bumped().commits(&[
                    made(hours_ago(90), Some("author")),
                    made(hours_ago(1), Some(ROBOT)),
                ]),
            ),
            (
                "a force push, which dates every commit anew",
                bumped()
                    .forced(1, Some(ROBOT))
                    .commits(&[made(hours_ago(1) - TimeDelta::minutes(1), Some("author"))])
                    .comment(build::comment("grace", "Nice").at(hours_ago(90))),
            ),
        ];
        for (case, pull) in cases {
            assert_eq!(told(pull.clone(), seen(0)).1, 90, "{case}");
            let hours = told(pull, replaced(0, 95)).1;
            let is_push = matches!(case, "a commit" | "a force push, which dates every commit anew");
            assert!(!is_push || hours == 90, "{case}: a new head of a program's");
        }
        let author = bumped().with(|pull| pull.author = Some(account(ROBOT)));
        check(
            "whose pull request is a program's counts from its opening",
            author.committed_at(hours_ago(1)),
            seen(0),
            ActivityKind::Opened,
            100,
        );
    }

    #[test]
    fn labels_checks_titles_and_assignments_move_nothing_whoever_made_them() {
        let bumped = || quiet().updated_at(hours_ago(1));
        for kind in [
            EventKind::Labeled,
            EventKind::Unlabeled,
            EventKind::Assigned,
            EventKind::Renamed,
            EventKind::ReviewRequested,
            EventKind::AddedToMergeQueue,
            EventKind::ConvertedToDraft,
            EventKind::from("SOMETHING_NEW"),
        ] {
            let pull = bumped().event(kind.clone(), 1, Some("grace"));
            assert_eq!(told(pull, seen(10)).1, 90, "{kind:?}");
        }
        let checked = bumped().check(build::run("test").started(hours_ago(1)).running());
        assert_eq!(told(checked, seen(10)).1, 90);
    }

    #[test]
    fn b070_a_bump_that_nothing_explains_counts_and_one_that_is_explained_does_not() {
        let bumped = || quiet().updated_at(hours_ago(3));
        let unexplained = (ActivityKind::Unexplained, 3, None);
        assert_eq!(told(bumped(), seen(10)), unexplained);
        let edit = |hours, by| {
            bumped().upkeep(|upkeep| {
                upkeep.edits.push(Edit {
                    at: hours_ago(hours),
                    by: Some(account(by)),
                });
            })
        };
        assert_eq!(told(edit(3, "codecov[bot]"), seen(10)).1, 90);
        assert_eq!(told(edit(3, "grace"), seen(10)).1, 90, "an edit is no activity");
        assert_eq!(told(edit(4, "codecov[bot]"), seen(10)), unexplained);
        let robot = |minutes| {
            let at = hours_ago(3) - TimeDelta::minutes(minutes);
            bumped().comment(build::comment("codecov[bot]", "80 %").at(at))
        };
        assert_eq!(told(robot(5), seen(10)).1, 90, "the bump follows its cause");
        assert_eq!(told(robot(-5), seen(10)).1, 90, "clocks differ");
        assert_eq!(told(robot(6), seen(10)), unexplained);
    }

    #[test]
    fn b070_a_bump_is_judged_once() {
        let read = |hours| SeenHead {
            read_at: Some(hours_ago(hours)),
            ..seen(10)
        };
        let bumped = || quiet().updated_at(hours_ago(3));
        assert_eq!(told(bumped(), read(4)).0, ActivityKind::Unexplained);
        assert_eq!(told(bumped(), read(3)).1, 90);
        // A program's push was explained by its new head; the same bump in the next reading is nothing new.
        let pushed = || bumped().commits(&[made(hours_ago(50), Some(ROBOT))]);
        assert_eq!(told(pushed(), replaced(2, 95)).1, 100);
        let again = SeenHead {
            read_at: Some(hours_ago(2)),
            ..seen(2)
        };
        assert_eq!(told(pushed(), again).1, 100);
    }

    #[test]
    fn b073_a_commit_counts_at_its_committer_date_bounded_by_when_its_head_was_seen() {
        let committed = |hours| quiet().committed_at(hours_ago(hours));
        check("its date", committed(30), seen(10), ActivityKind::Commit, 30);
        check("no later", committed(5), seen(10), ActivityKind::Commit, 10);
    }

    #[test]
    fn b073_a_date_in_the_future_counts_as_when_github_learned_of_it() {
        let future = || hours_ago(-500);
        let with = |others: &[CommitMade]| {
            let mut all = others.to_vec();
            all.push(made(future(), Some("author")));
            quiet().commits(&all)
        };
        check(
            "at the force push",
            with(&[]).forced(30, Some("author")),
            seen(10),
            ActivityKind::Push,
            30,
        );
        check(
            "with the newest commit that is not from the future",
            with(&[made(hours_ago(70), Some("author"))]),
            seen(10),
            ActivityKind::Commit,
            70,
        );
        check("at the opening", with(&[]), seen(10), ActivityKind::Commit, 100);
        check(
            "what programs did tells nothing",
            with(&[made(hours_ago(20), Some(ROBOT))]).forced(20, Some(ROBOT)),
            seen(10),
            ActivityKind::Commit,
            100,
        );
        check(
            "a new head counts when it is seen all the same",
            with(&[]),
            replaced(10, 80),
            ActivityKind::Push,
            10,
        );
    }

    #[test]
    fn b074_a_head_that_replaces_another_counts_when_it_is_seen_or_at_its_force_push() {
        let old = || quiet().committed_at(hours_ago(90));
        check("the first head", old(), seen(10), ActivityKind::Commit, 90);
        check("a plain push", old(), replaced(10, 80), ActivityKind::Push, 10);
        let forced = |hours| old().forced(hours, Some("author"));
        check(
            "its force push",
            forced(30),
            replaced(10, 80),
            ActivityKind::Push,
            30,
        );
        check(
            "a force push of an earlier head",
            forced(85),
            replaced(10, 80),
            ActivityKind::Push,
            10,
        );
        check(
            "a commit after the force push",
            forced(30).committed_at(hours_ago(20)),
            replaced(10, 80),
            ActivityKind::Push,
            10,
        );
        assert_eq!(
            told(forced(30), replaced(10, 80)).2.as_deref(),
            Some("author"),
            "GitHub names who forced"
        );
    }

    #[test]
    fn b074_where_events_are_not_read_the_force_push_is_the_newest_committers() {
        let pushed = |by: &str| {
            quiet()
                .with(|pull| pull.upkeep = None)
                .author(by)
                .with(|pull| pull.head.last_force_push_at = Some(hours_ago(30)))
        };
        check("a person's", pushed("author"), seen(10), ActivityKind::Push, 30);
        check("a program's", pushed(ROBOT), seen(10), ActivityKind::Opened, 100);
    }

    #[test]
    fn b075_a_list_of_commits_that_ends_early_hides_no_push() {
        // Three hundred commits, of which the list holds the oldest: the head itself is known.
        let listed: Vec<CommitMade> = (1..=250)
            .map(|hour| made(hours_ago(400 - hour), Some("author")))
            .collect();
        let pull = quiet().commits(&listed);
        check("a new head", pull, replaced(10, 99), ActivityKind::Push, 10);
    }

    #[test]
    fn dates_with_an_offset_are_moments() {
        let text = r#"{"at": "2026-05-14T01:15:00+05:30", "by": null}"#;
        let commit: CommitMade = serde_json::from_str(text).unwrap();
        assert_eq!(commit.at, hours_ago(22));
        assert_eq!(
            serde_json::to_value(&commit).unwrap()["at"],
            "2026-05-13T19:45:00Z"
        );
        let pull = quiet().commits(&[commit]);
        check("in India", pull, seen(10), ActivityKind::Commit, 22);
    }

    fn login() -> impl Strategy<Value = &'static str> {
        prop_oneof![
            Just("grace"),
            Just("author"),
            Just("ci-robot"),
            Just(ROBOT),
            Just("mergify[bot]")
        ]
    }

    /// Something that was done, when, and by whom.
    #[derive(Debug, Clone)]
    enum Done {
        Comment(i64, &'static str),
        Reply(i64, &'static str),
        Review(i64, &'static str),
        Commit(i64, &'static str),
        Event(EventKind, i64, &'static str),
        Edit(i64, &'static str),
        Check(i64),
    }

    impl Done {
        fn to(&self, pull: PullBuilder) -> PullBuilder {
            match self.clone() {
                Self::Comment(hours, by) => pull.comment(build::comment(by, "?").at(hours_ago(hours))),
                Self::Reply(hours, by) => pull.thread([build::comment(by, "?").at(hours_ago(hours))]),
                Self::Review(hours, by) => {
                    pull.review(build::review(by, "COMMENTED", "?").at(hours_ago(hours)))
                }
                Self::Commit(hours, by) => {
                    pull.upkeep(|upkeep| upkeep.commits.push(made(hours_ago(hours), Some(by))))
                }
                Self::Event(EventKind::ForcePushed, hours, by) => {
                    let last = |pull: &mut PullFacts| {
                        let at = &mut pull.head.last_force_push_at;
                        *at = (*at).max(Some(hours_ago(hours)));
                    };
                    pull.event(EventKind::ForcePushed, hours, Some(by)).with(last)
                }
                Self::Event(kind, hours, by) => pull.event(kind, hours, Some(by)),
                Self::Edit(hours, by) => pull.upkeep(|upkeep| {
                    upkeep.edits.push(Edit {
                        at: hours_ago(hours),
                        by: Some(account(by)),
                    });
                }),
                Self::Check(hours) => pull.check(build::run("test").started(hours_ago(hours))),
            }
        }

        fn is_of_program(&self) -> bool {
            let by = match self {
                Self::Comment(_, by)
                | Self::Reply(_, by)
                | Self::Review(_, by)
                | Self::Commit(_, by)
                | Self::Event(_, _, by)
                | Self::Edit(_, by) => *by,
                Self::Check(_) => return true,
            };
            by == "ci-robot" || by.ends_with("[bot]")
        }
    }

    fn done() -> impl Strategy<Value = Done> {
        let hours = || -20_i64..120;
        let kind = proptest::sample::select(vec![
            EventKind::Reopened,
            EventKind::ReadyForReview,
            EventKind::ForcePushed,
            EventKind::Labeled,
            EventKind::Closed,
        ]);
        prop_oneof![
            (hours(), login()).prop_map(|(at, by)| Done::Comment(at, by)),
            (hours(), login()).prop_map(|(at, by)| Done::Reply(at, by)),
            (hours(), login()).prop_map(|(at, by)| Done::Review(at, by)),
            (hours(), login()).prop_map(|(at, by)| Done::Commit(at, by)),
            (kind, hours(), login()).prop_map(|(kind, at, by)| Done::Event(kind, at, by)),
            (hours(), login()).prop_map(|(at, by)| Done::Edit(at, by)),
            hours().prop_map(Done::Check),
        ]
    }

    fn pull_of(all: &[Done], updated: i64) -> PullBuilder {
        all.iter()
            .fold(quiet().updated_at(hours_ago(updated)), |pull, done| done.to(pull))
    }

    fn any_seen() -> impl Strategy<Value = SeenHead> {
        let before = proptest::option::of(0_i64..60);
        (0_i64..60, before, proptest::option::of(0_i64..60)).prop_map(|(first, before, read)| SeenHead {
            first_seen_at: hours_ago(first),
            replaced: before.map(|before| hours_ago(first + before)),
            read_at: read.map(hours_ago),
        })
    }

    proptest! {
        #[test]
        fn the_order_of_lists_changes_nothing(
            (all, shuffled) in proptest::collection::vec(done(), 0..12)
                .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
            updated in -5_i64..100,
            seen in any_seen(),
        ) {
            let one = last(pull_of(&all, updated), seen);
            prop_assert_eq!(one, last(pull_of(&shuffled, updated), seen));
        }

        #[test]
        fn what_a_program_does_never_moves_it(
            all in proptest::collection::vec(done(), 0..10),
            more in proptest::collection::vec(done().prop_filter("of a program", Done::is_of_program), 1..5),
            updated in -5_i64..100,
            seen in any_seen(),
        ) {
            // Where commits are told at all, so that the program's are not the only ones.
            let mut all = all;
            all.push(Done::Commit(90, "author"));
            let before = last(pull_of(&all, updated), seen);
            all.extend(more);
            prop_assert!(last(pull_of(&all, updated), seen).at <= before.at);
        }

        #[test]
        fn it_never_exceeds_now_and_never_lies_before_the_opening(
            all in proptest::collection::vec(done(), 0..12),
            updated in -50_i64..200,
            seen in any_seen(),
        ) {
            let found = last(pull_of(&all, updated), seen);
            prop_assert!(found.at <= now());
            prop_assert!(found.at >= hours_ago(100));
        }

        #[test]
        fn without_anything_new_later_moments_see_the_same(
            all in proptest::collection::vec(done(), 0..12),
            later in 0_i64..200,
        ) {
            let past: Vec<Done> = all.into_iter().filter(|done| match done {
                Done::Comment(at, _) | Done::Reply(at, _) | Done::Review(at, _) | Done::Event(_, at, _) => *at >= 0,
                Done::Commit(at, _) => *at >= 0,
                Done::Edit(..) | Done::Check(_) => true,
            }).collect();
            let pull = pull_of(&past, 50).build();
            let at = |now| last_activity(&pull, &People::default(), seen(10), now);
            prop_assert_eq!(at(now()), at(now() + TimeDelta::hours(later)));
        }
    }
}
