//! What a visit writes down: every state after every other, pages, parking, and what changes nothing.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use lifecycle::maintain::build::{EvidenceBuilder, evidence, login, ready};
use lifecycle::maintain::{
    Artifact, Before, Epoch, FLIPS, REREAD, Settings, State, SubStatus, Switches, Transition, deadlines,
    flips, project, step,
};
use pulls::build::{at, now};
use pulls::checks::Standing;
use pulls::facts::{MergeState, Mergeable, PullState, Time};

use super::{Visited, every_switch_on, hours, keys};

/// One pull request in each state.
fn in_each_state() -> [(State, EvidenceBuilder); 11] {
    let it = || evidence("o/r#7");
    [
        (State::New, it().unrouted()),
        (State::NeedsOwner, it().ownerless()),
        (State::OwnerRouted, it()),
        (State::UnderReview, it().with(|it| it.reviews.is_claimed = true)),
        (State::ChangesRequested, ready("o/r#7").findings(1, 0)),
        (State::CiFailing, ready("o/r#7").check("build", Standing::Failed)),
        (State::ReadyForMaintainer, ready("o/r#7")),
        (State::Stale, ready("o/r#7").idle_days(8)),
        (State::Parked, ready("o/r#7").idle_days(20)),
        (State::Draft, it().with(|it| it.is_draft = true)),
        (State::Closed, it().ended(PullState::Merged, now())),
    ]
}

#[test]
fn every_state_follows_every_other_with_one_row_and_no_memory() {
    for ready_page in [false, true] {
        let settings = Settings {
            switches: Switches {
                ready_page,
                ..Switches::default()
            },
            ..Settings::default()
        };
        for (from, before) in in_each_state() {
            for (to, after) in in_each_state() {
                let case = format!("{from} to {to}, pages {ready_page}");
                let mut visited = Visited::new(settings.clone());
                visited.visit(&before.clone().done());
                assert_eq!(visited.row().state, from, "{case}");
                assert_eq!(visited.log.len(), 1, "{case}");
                let later = after.later(TimeDelta::minutes(2)).done();
                visited.visit(&later);
                let row = visited.row();
                assert_eq!(row.state, to, "{case}");
                assert_eq!(row.state_label.as_deref(), to.label(), "{case}");
                let since = if from == to { now() } else { later.now };
                assert_eq!(row.since_at, since, "{case}");
                let entries = [from, to]
                    .iter()
                    .filter(|state| **state == State::ReadyForMaintainer)
                    .count() as u64;
                let entries = if from == to { entries.min(1) } else { entries };
                assert_eq!(row.ready_entry_seq, entries, "{case}");
                let mut expected = Vec::new();
                if from != to {
                    expected.push((Some(from), to, row.reason.clone()));
                }
                let is_lost = ready_page && from == State::ReadyForMaintainer && from != to;
                if is_lost {
                    let reason = "page cancelled: no longer ready".to_owned();
                    expected.push((Some(to), to, reason));
                }
                assert_eq!(visited.log[1..], expected, "{case}");
                assert_eq!(row.ready_paged_seq, u64::from(is_lost), "{case}");
            }
        }
    }
}

#[test]
fn the_first_row_holds_all_that_was_seen() {
    let content = ["diffusion".to_owned(), "omni".to_owned()];
    let it = ready("o/r#7").findings(0, 2).done();
    let first = step(
        Before::default(),
        &it,
        &content,
        &BTreeSet::new(),
        Epoch(1),
        &Settings::default(),
    );
    insta::assert_json_snapshot!("the_first_row_of_a_ready_pull_request", first.row);
    insta::assert_json_snapshot!("the_first_transition", first.rows);
}

#[test]
fn the_same_evidence_again_changes_nothing_however_late_until_a_deadline_passes() {
    for (state, it) in in_each_state() {
        let mut visited = Visited::new(every_switch_on());
        let first = visited.visit(&it.clone().done());
        assert!(!first.is_unchanged && first.is_new_evidence, "{state}");
        visited.say(&first.wanted);
        visited.visit(&it.clone().done());
        let before = visited.row().clone();
        let to_come = deadlines(&it.clone().done(), now(), &visited.settings);
        let deadline = to_come
            .into_iter()
            .map(|deadline| deadline.at)
            .find(|at| *at > now() + REREAD);
        let last = deadline.map_or(now() + TimeDelta::days(400), |at| at - TimeDelta::seconds(1));
        for when in [now() + TimeDelta::seconds(1), now() + hours(11), last] {
            let again = visited.visit(&it.clone().with(|it| it.now = when.min(last)).done());
            assert!(again.is_unchanged && !again.is_new_evidence, "{state} at {when}");
            assert_eq!(again.rows, [], "{state} at {when}");
            assert_eq!(again.row.as_ref(), Some(&before), "{state} at {when}");
        }
    }
}

#[test]
fn a_look_that_is_due_again_and_finds_the_same_changes_nothing() {
    let it = ready("o/r#7").check("build", Standing::Running);
    let mut visited = Visited::new(Settings::default());
    visited.visit(&it.clone().done());
    assert_eq!(
        visited.row().next_deadline_at,
        Some(now() + TimeDelta::seconds(120))
    );
    for minutes in [2, 4, 60, 600] {
        let again = visited.visit(&it.clone().later(TimeDelta::minutes(minutes)).done());
        assert!(again.is_unchanged, "after {minutes} minutes");
    }
}

#[test]
fn evidence_that_was_not_read_whole_moves_nothing_and_is_no_first_row() {
    let whole = ready("o/r#7").done();
    let torn = |it: EvidenceBuilder| it.with(|it| it.partial.push("files".to_owned())).done();
    let mut visited = Visited::new(every_switch_on());
    let unseen = visited.visit(&torn(ready("o/r#7")));
    assert!(unseen.is_held && unseen.row.is_none() && unseen.rows.is_empty() && !unseen.is_new_evidence);
    visited.visit(&whole);
    let before = visited.row().clone();
    let red = torn(ready("o/r#7").check("build", Standing::Failed).idle_days(20));
    let held = visited.visit(&red);
    assert!(held.is_held && held.is_unchanged && !held.is_new_evidence);
    assert_eq!(
        (held.row.as_ref(), held.rows.as_slice()),
        (Some(&before), [].as_slice())
    );
}

#[test]
fn a_page_is_due_once_for_each_entry() {
    let settings = every_switch_on();
    let mut visited = Visited::new(settings);
    let page = |step: &lifecycle::maintain::Step| -> Vec<String> {
        let pages = step
            .wanted
            .iter()
            .filter(|one| one.artifact == Artifact::ReadyPage);
        pages.map(|one| one.key.clone()).collect()
    };
    let mut minutes = 0;
    let mut at_next = |it: EvidenceBuilder| {
        minutes += 2;
        it.later(TimeDelta::minutes(minutes)).done()
    };
    let first = visited.visit(&at_next(ready("o/r#7")));
    assert_eq!(page(&first), ["o/r#7/1/1/ready"]);
    assert_eq!(visited.row().sub_status, Some(SubStatus::ActionPending));
    let retry = visited.visit(&at_next(ready("o/r#7")));
    assert_eq!(
        page(&retry),
        ["o/r#7/1/1/ready"],
        "it failed on budget and is due in the next cycle"
    );
    assert!(visited.row().next_deadline_at <= Some(now() + TimeDelta::minutes(4)));
    // It is delivered: whoever said it says so in the row.
    visited.say(&retry.wanted);
    visited.row.as_mut().expect("visited").ready_paged_seq = 1;
    visited.row.as_mut().expect("visited").pager_login = Some(login("olive"));
    let quiet = visited.visit(&at_next(ready("o/r#7")));
    assert_eq!(page(&quiet), [] as [&str; 0]);
    assert_eq!(
        visited.row().sub_status,
        Some(SubStatus::ActionDone),
        "the owner was mentioned"
    );
    let red = visited.visit(&at_next(ready("o/r#7").check("build", Standing::Failed)));
    assert_eq!(page(&red), [] as [&str; 0]);
    assert_eq!(red.rows.len(), 1, "there is no page to cancel");
    let back = visited.visit(&at_next(ready("o/r#7")));
    assert_eq!(
        page(&back),
        ["o/r#7/1/2/ready"],
        "it is ready again, which is another entry"
    );
    assert_eq!(visited.row().pager_login, Some(login("olive")));
    let pushed = visited.visit(&at_next(evidence("o/r#7").with(|it| {
        it.reviews.attempts = 1;
        it.head.sha = "f".repeat(40).parse().expect("forty digits");
    })));
    assert_eq!(page(&pushed), [] as [&str; 0]);
    assert_eq!(
        (visited.row().ready_entry_seq, visited.row().ready_paged_seq),
        (2, 2),
        "it was cancelled"
    );
    let log: Vec<&str> = visited.log.iter().map(|(_, _, reason)| reason.as_str()).collect();
    assert_eq!(log.last(), Some(&"page cancelled: no longer ready"));
    let third = visited.visit(&at_next(ready("o/r#7")));
    assert_eq!(page(&third), ["o/r#7/1/3/ready"]);
}

#[test]
fn entries_are_counted_in_shadow_and_nothing_is_cancelled_there() {
    let mut visited = Visited::new(Settings::default());
    visited.visit(&ready("o/r#7").done());
    visited.visit(&ready("o/r#7").check("build", Standing::Failed).done());
    visited.visit(&ready("o/r#7").done());
    assert_eq!(
        (visited.row().ready_entry_seq, visited.row().ready_paged_seq),
        (2, 0)
    );
    assert_eq!(visited.log.len(), 3);
    assert_eq!(
        visited.row().sub_status,
        None,
        "no switch is on, so that nothing is pending"
    );
}

#[test]
fn a_later_life_of_the_tables_has_other_keys_for_its_pages() {
    let it = ready("o/r#7").done();
    let of = |epoch| {
        let wanted = step(
            Before::default(),
            &it,
            &[],
            &BTreeSet::new(),
            epoch,
            &Settings::default(),
        )
        .wanted;
        wanted[0].key.clone()
    };
    assert_eq!(
        [of(Epoch(1)), of(Epoch(2))],
        ["o/r#7/1/1/ready", "o/r#7/2/1/ready"]
    );
}

#[test]
fn a_page_for_nobody_stays_due_and_the_row_says_that_nobody_owns_it() {
    let mut visited = Visited::new(every_switch_on());
    let first = visited.visit(&ready("o/r#7").ownerless().done());
    assert!(first.wanted[0].to.is_empty());
    assert_eq!(visited.row().sub_status, Some(SubStatus::Unrouted));
    let mut settings = every_switch_on();
    settings.coordinator = Some(login("cora"));
    visited.settings = settings;
    visited.visit(&ready("o/r#7").ownerless().later(hours(1)).done());
    assert_eq!(
        visited.row().sub_status,
        Some(SubStatus::ActionPending),
        "what is to be said goes before nobody owns it"
    );
}

#[test]
fn what_is_to_be_said_is_pending_until_it_is_said_and_then_done() {
    let mut visited = Visited::new(every_switch_on());
    let it = || ready("o/r#7").idle_days(8);
    let first = visited.visit(&it().done());
    assert_eq!(
        keys(&first.wanted),
        ["o/r#7/d1/owner", "o/r#7/2026-05-06T17:45:00Z/stale"]
    );
    assert_eq!(visited.row().sub_status, Some(SubStatus::ActionPending));
    visited.said.insert(first.wanted[0].key.clone());
    visited.visit(&it().done());
    assert_eq!(visited.row().sub_status, Some(SubStatus::ActionPending));
    visited.said.insert(first.wanted[1].key.clone());
    visited.visit(&it().done());
    assert_eq!(visited.row().sub_status, Some(SubStatus::ActionDone));
    assert_eq!(
        visited.row().state,
        State::Stale,
        "a failed post cannot hide a state"
    );
}

#[test]
fn the_ladder_over_a_whole_window_and_the_next() {
    let mut visited = Visited::new(every_switch_on());
    let last = now() - hours(1);
    let on_day = |day: i64| {
        ready("o/r#7")
            .with(|it| it.now = last + TimeDelta::days(day))
            .done()
    };
    let notices = |step: &lifecycle::maintain::Step| -> Vec<Artifact> {
        let kinds = [
            Artifact::StaleReminder,
            Artifact::ParkNotice,
            Artifact::CloseNotice,
        ];
        let all = step.wanted.iter().map(|one| one.artifact);
        all.filter(|artifact| kinds.contains(artifact)).collect()
    };
    let mut seen = Vec::new();
    for day in [0, 6, 7, 13, 14, 29, 30, 31] {
        let visit = visited.visit(&on_day(day));
        visited.say(&visit.wanted);
        let after = visited.visit(&on_day(day));
        assert!(
            after.rows.is_empty(),
            "day {day}: a notice does not restart the window"
        );
        seen.push((day, visited.row().state, notices(&visit)));
    }
    assert_eq!(
        seen,
        [
            (0, State::ReadyForMaintainer, vec![]),
            (6, State::ReadyForMaintainer, vec![]),
            (7, State::Stale, vec![Artifact::StaleReminder]),
            (13, State::Stale, vec![Artifact::StaleReminder]),
            (14, State::Parked, vec![Artifact::ParkNotice]),
            (29, State::Parked, vec![Artifact::ParkNotice]),
            (30, State::Parked, vec![Artifact::CloseNotice]),
            (31, State::Parked, vec![Artifact::CloseNotice]),
        ]
    );
    assert_eq!(visited.row().parked_at, Some(last + TimeDelta::days(14)));
    assert_eq!(visited.row().next_deadline_at, None);
    // A person comes back.
    let back = last + TimeDelta::days(32);
    let again = |day: i64| {
        ready("o/r#7")
            .with(|it| (it.activity.at, it.now) = (back, back + TimeDelta::days(day)))
            .done()
    };
    let came_back = visited.visit(&again(0));
    visited.say(&came_back.wanted);
    visited.visit(&again(0));
    assert_eq!(visited.row().state, State::ReadyForMaintainer);
    assert_eq!(visited.row().parked_at, None);
    assert_eq!(visited.row().next_deadline_at, Some(back + TimeDelta::days(7)));
    let second = visited.visit(&again(7));
    let stale = second.wanted.last().expect("a reminder");
    assert_eq!(
        stale.key,
        format!("o/r#7/{}/stale", "2026-06-15T16:45:00Z"),
        "a new window has a new key"
    );
}

#[test]
fn a_parked_pull_request_that_a_person_drafts_leaves_the_clocks() {
    let mut visited = Visited::new(every_switch_on());
    visited.visit(&ready("o/r#7").idle_days(20).done());
    assert_eq!(visited.row().state, State::Parked);
    let drafted = visited.visit(&ready("o/r#7").idle_days(20).with(|it| it.is_draft = true).done());
    assert_eq!(visited.row().state, State::Draft);
    assert_eq!((visited.row().next_deadline_at, drafted.wanted.len()), (None, 0));
    let later = ready("o/r#7")
        .idle_days(20)
        .with(|it| it.is_draft = true)
        .later(TimeDelta::days(90))
        .done();
    assert!(visited.visit(&later).is_unchanged);
}

#[test]
fn a_conflict_whose_review_finds_a_blocker_changes_no_state_and_says_nothing_more() {
    let mut visited = Visited::new(every_switch_on());
    let attempted = || evidence("o/r#7").conflicting().with(|it| it.reviews.attempts = 1);
    let first = visited.visit(&attempted().done());
    let then = visited.visit(&ready("o/r#7").conflicting().findings(1, 0).done());
    assert_eq!(then.rows, []);
    assert_eq!(keys(&first.wanted), keys(&then.wanted));
    assert_eq!(visited.row().open_findings, 1);
}

#[test]
fn the_first_visit_records_new_and_the_next_routes() {
    let mut visited = Visited::new(Settings::default());
    visited.visit(&evidence("o/r#7").unrouted().done());
    assert_eq!(
        visited.row().next_deadline_at,
        Some(now()),
        "the next cycle looks again"
    );
    visited.visit(&evidence("o/r#7").later(TimeDelta::minutes(2)).done());
    let log: Vec<(Option<State>, State)> = visited.log.iter().map(|(from, to, _)| (*from, *to)).collect();
    assert_eq!(log, [(None, State::New), (Some(State::New), State::OwnerRouted)]);
    let mut stale = Visited::new(Settings::default());
    stale.visit(&evidence("o/r#7").unrouted().idle_days(8).done());
    assert_eq!(stale.row().state, State::Stale, "an earlier rule holds");
}

#[test]
fn unknown_mergeability_keeps_state_clock_and_row() {
    let mut visited = Visited::new(Settings::default());
    visited.visit(&ready("o/r#7").conflicting().idle_days(3).done());
    let (state, clock) = (visited.row().state, visited.row().last_human_activity_at);
    let stale = ready("o/r#7")
        .conflicting()
        .idle_days(3)
        .with(|it| it.mergeability.is_stale = true);
    let step = visited.visit(&stale.later(TimeDelta::minutes(2)).done());
    assert_eq!(step.rows, []);
    assert_eq!(
        (visited.row().state, visited.row().last_human_activity_at),
        (state, clock)
    );
    let reread = now() + TimeDelta::minutes(2) + TimeDelta::seconds(120);
    assert_eq!(
        visited.row().next_deadline_at,
        Some(reread),
        "it is read again soon"
    );
}

#[test]
fn a_pull_request_never_seen_mergeable_is_no_conflict() {
    let it = ready("o/r#7")
        .with(|it| {
            it.mergeability.mergeable = Mergeable::Unknown;
            it.mergeability.merge_state = MergeState::Unknown;
        })
        .done();
    let projected = project(&it, &Settings::default());
    assert_eq!(
        (projected.state, projected.sub_status),
        (State::UnderReview, Some(SubStatus::GateBlocked))
    );
}

fn row(from: Option<State>, to: State, head: char, when: Time) -> Transition {
    Transition {
        at: "o/r#7".parse().expect("a pull request"),
        from_state: from,
        to_state: to,
        head_sha: head.to_string().repeat(40).parse().expect("forty digits"),
        reason: String::new(),
        created_at: when,
    }
}

#[test]
fn b095_what_counts_as_a_flip() {
    use State::*;
    let log = |states: &[State]| -> Vec<Transition> {
        let rows = states.iter().enumerate().map(|(nth, to)| {
            let from = nth.checked_sub(1).map(|nth| states[nth]);
            row(
                from,
                *to,
                'a',
                at("2026-05-14T10:00:00Z") + TimeDelta::minutes(nth as i64),
            )
        });
        rows.collect()
    };
    for (case, states, expected) in [
        ("nothing", vec![], 0),
        (
            "the usual course",
            vec![New, OwnerRouted, UnderReview, ReadyForMaintainer],
            1,
        ),
        (
            "a person drafts it and back",
            vec![
                ReadyForMaintainer,
                Draft,
                ReadyForMaintainer,
                Draft,
                ReadyForMaintainer,
            ],
            0,
        ),
        (
            "reopened",
            vec![ReadyForMaintainer, Closed, ReadyForMaintainer],
            0,
        ),
        (
            "mergeability comes and goes",
            vec![ReadyForMaintainer, UnderReview, ReadyForMaintainer, UnderReview],
            3,
        ),
        (
            "a clock that is read in part",
            vec![OwnerRouted, Stale, OwnerRouted, Stale],
            3,
        ),
        (
            "owners come and go",
            vec![NeedsOwner, OwnerRouted, NeedsOwner, OwnerRouted],
            3,
        ),
    ] {
        assert_eq!(flips(&log(&states), now()), expected, "{case}");
    }
    let flapping = log(&[ReadyForMaintainer, UnderReview, ReadyForMaintainer, UnderReview]);
    assert!(flips(&flapping, now()) > FLIPS);
    let mut pushed = flapping.clone();
    pushed.push(row(Some(UnderReview), CiFailing, 'b', now()));
    assert_eq!(flips(&pushed, now()), 1, "after a push it begins anew");
    assert_eq!(
        flips(&flapping, now() + TimeDelta::days(1)),
        0,
        "a day later it is forgotten"
    );
    let act = row(Some(UnderReview), UnderReview, 'a', now());
    assert_eq!(flips(&[act], now()), 0, "a row about an act is none");
}
