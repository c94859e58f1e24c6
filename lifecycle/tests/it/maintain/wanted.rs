//! What the evidence wants said, under which key, and to whom.

use std::collections::BTreeSet;

use lifecycle::maintain::build::{EvidenceBuilder, evidence, login, ready};
use lifecycle::maintain::{
    Artifact, AutoReview, Before, Epoch, HeadReview, Owner, Settings, Switch, Switches, Wanted, step,
};
use pulls::build::at;
use pulls::checks::Standing;
use pulls::facts::PullState;

use super::{every_switch_on, hours, keys};

fn wanted(it: EvidenceBuilder, settings: &Settings) -> Vec<Wanted> {
    step(
        Before::default(),
        &it.done(),
        &[],
        &BTreeSet::new(),
        Epoch(3),
        settings,
    )
    .wanted
}

fn artifacts(it: EvidenceBuilder, settings: &Settings) -> Vec<Artifact> {
    wanted(it, settings).iter().map(|one| one.artifact).collect()
}

/// Without the owner, whom every routed pull request wants mentioned.
fn beside_owner(it: EvidenceBuilder, settings: &Settings) -> Vec<Artifact> {
    let mut all = artifacts(it, settings);
    all.retain(|artifact| *artifact != Artifact::OwnerMention);
    all
}

fn user(name: &str) -> Owner {
    Owner::User(login(name))
}

#[test]
fn the_key_of_each_artifact() {
    let all = Settings {
        auto_review: AutoReview {
            is_on: true,
            ..AutoReview::default()
        },
        ..every_switch_on()
    };
    let head = "0000000000000000000000000000000000000007";
    let of = |it: EvidenceBuilder| {
        wanted(it, &all)
            .into_iter()
            .map(|one| (one.artifact, one.key))
            .collect::<Vec<_>>()
    };
    let owner = (Artifact::OwnerMention, "o/r#7/d1/owner".to_owned());
    assert_eq!(
        of(ready("O/R#7")),
        [(Artifact::ReadyPage, "o/r#7/3/1/ready".to_owned()), owner.clone()],
        "names are folded for case"
    );
    assert_eq!(
        of(ready("o/r#7").conflicting().check("build", Standing::Failed)),
        [
            (Artifact::CiNote, format!("o/r#7/{head}/ci_failed")),
            (Artifact::ConflictNote, format!("o/r#7/{head}/conflict")),
            owner.clone(),
        ]
    );
    for (days, artifact, key) in [
        (7, Artifact::StaleReminder, "o/r#7/2026-05-07T17:45:00Z/stale"),
        (14, Artifact::ParkNotice, "o/r#7/2026-04-30T17:45:00Z/park"),
        (30, Artifact::CloseNotice, "o/r#7/2026-04-14T17:45:00Z/close"),
    ] {
        assert_eq!(
            of(ready("o/r#7").idle_days(days)),
            [owner.clone(), (artifact, key.to_owned())]
        );
    }
    let in_the_window = evidence("o/r#7").with(|it| it.now = at("2026-05-14T21:00:00Z"));
    assert_eq!(
        of(in_the_window),
        [owner, (Artifact::Review, format!("o/r#7/{head}/review"))]
    );
}

#[test]
fn what_a_switch_does_not_let_out_is_wanted_all_the_same() {
    let off = Settings::default();
    let it = ready("o/r#7").conflicting().check("build", Standing::Failed);
    let on: Vec<(Switch, bool)> = wanted(it.clone(), &off)
        .iter()
        .map(|one| (one.switch, one.is_on))
        .collect();
    assert_eq!(
        on,
        [
            (Switch::CiNoteEnabled, false),
            (Switch::ConflictNoteEnabled, false),
            (Switch::OwnerMentionEnabled, false),
        ]
    );
    assert!(wanted(it, &every_switch_on()).iter().all(|one| one.is_on));
    assert!(!wanted(ready("o/r#7"), &off)[0].is_on);
}

#[test]
fn the_ladder_by_its_two_switches() {
    let with = |stale_reminder, idle_ladder| Settings {
        switches: Switches {
            stale_reminder,
            idle_ladder,
            ..Switches::default()
        },
        ..Settings::default()
    };
    let notice = |days, settings: &Settings| {
        let all = wanted(ready("o/r#7").idle_days(days), settings);
        let last = all.last().expect("an owner is mentioned");
        (last.artifact, last.switch, last.is_on)
    };
    let (reminder, ladder) = (Switch::StalePrEnabled, Switch::IdleLadderEnabled);
    let (stale, park, close) = (
        Artifact::StaleReminder,
        Artifact::ParkNotice,
        Artifact::CloseNotice,
    );
    for (case, settings, on) in [
        (
            "both off",
            with(false, false),
            [
                (stale, reminder, false),
                (park, ladder, false),
                (close, ladder, false),
            ],
        ),
        (
            "day 7 alone",
            with(true, false),
            [
                (stale, reminder, true),
                (stale, reminder, true),
                (stale, reminder, true),
            ],
        ),
        (
            "the ladder",
            with(false, true),
            [(stale, ladder, true), (park, ladder, true), (close, ladder, true)],
        ),
        (
            "both on",
            with(true, true),
            [(stale, ladder, true), (park, ladder, true), (close, ladder, true)],
        ),
    ] {
        assert_eq!([7, 14, 30].map(|days| notice(days, &settings)), on, "{case}");
    }
}

#[test]
fn one_that_is_idle_for_40_days_wants_the_notice_of_day_30_and_no_other() {
    let found = beside_owner(ready("o/r#7").idle_days(40), &every_switch_on());
    assert_eq!(found, [Artifact::CloseNotice]);
}

#[test]
fn an_exempt_label_stops_the_notices() {
    let settings = Settings {
        exempt_labels: ["keep".to_owned()].into(),
        ..every_switch_on()
    };
    let it = evidence("o/r#7")
        .idle_days(15)
        .with(|it| it.labels = vec!["KEEP".to_owned()]);
    assert_eq!(beside_owner(it, &settings), []);
}

#[test]
fn nothing_is_wanted_of_a_draft_of_what_has_ended_or_is_read_only() {
    let all = every_switch_on();
    let red = || {
        ready("o/r#7")
            .conflicting()
            .check("build", Standing::Failed)
            .idle_days(20)
    };
    assert!(!artifacts(red(), &all).is_empty());
    assert_eq!(artifacts(red().with(|it| it.is_draft = true), &all), []);
    assert_eq!(artifacts(red().with(|it| it.is_archived = true), &all), []);
    let when = at("2026-05-14T10:00:00Z");
    assert_eq!(artifacts(red().ended(PullState::Merged, when), &all), []);
    assert_eq!(artifacts(red().ended(PullState::Closed, when), &all), []);
    assert_eq!(
        artifacts(
            red().with(|it| it.state = PullState::Other("LIMBO".to_owned())),
            &all
        ),
        []
    );
    let locked = red().with(|it| it.is_locked = true);
    assert_eq!(
        artifacts(locked, &all),
        artifacts(red(), &all),
        "that is for whoever says it"
    );
}

#[test]
fn notes_are_wanted_before_the_first_review_too() {
    let it = evidence("o/r#7").conflicting().check("build", Standing::Failed);
    assert_eq!(
        beside_owner(it, &every_switch_on()),
        [Artifact::CiNote, Artifact::ConflictNote]
    );
}

#[test]
fn the_owner_is_mentioned_once_for_each_routing_and_a_push_alone_mentions_nobody() {
    let settings = every_switch_on();
    let first = wanted(evidence("o/r#7"), &settings);
    let pushed = wanted(
        evidence("o/r#7").with(|it| it.head.sha = "f".repeat(40).parse().expect("forty digits")),
        &settings,
    );
    assert_eq!(keys(&first), keys(&pushed));
    let routed_anew = wanted(
        evidence("o/r#7").with(|it| it.assignment.as_mut().expect("routed").digest = "d2".to_owned()),
        &settings,
    );
    assert_eq!(keys(&routed_anew), ["o/r#7/d2/owner"]);
    assert_eq!(first[0].to, [user("olive")]);
    assert_eq!(artifacts(evidence("o/r#7").ownerless(), &settings), []);
    assert_eq!(artifacts(evidence("o/r#7").unrouted(), &settings), []);
}

#[test]
fn who_is_paged_and_who_when_there_is_nobody() {
    let settings = |merge_notify: &[&str], coordinator: Option<&str>| Settings {
        merge_notify: merge_notify.iter().map(|name| login(name)).collect(),
        coordinator: coordinator.map(login),
        ..every_switch_on()
    };
    let page = |it: EvidenceBuilder, settings: &Settings| {
        let page = wanted(it, settings).remove(0);
        assert_eq!(page.artifact, Artifact::ReadyPage);
        (page.to, page.why)
    };
    let both = settings(&["mia", "max"], Some("cora"));
    assert_eq!(
        page(ready("o/r#7"), &both),
        (vec![user("olive")], "CODEOWNERS line 3".to_owned())
    );
    let team = ready("o/r#7").with(|it| {
        it.assignment.as_mut().expect("routed").owner = Some(Owner::Team("o/core".to_owned()));
    });
    assert_eq!(page(team, &both).0, [Owner::Team("o/core".to_owned())]);
    let ownerless = || ready("o/r#7").ownerless();
    assert_eq!(
        page(ownerless(), &both),
        (
            vec![user("mia"), user("max")],
            "nobody owns it; MERGE_NOTIFY_LOGINS are paged".to_owned()
        )
    );
    assert_eq!(
        page(ownerless(), &settings(&[], Some("cora"))),
        (
            vec![user("cora")],
            "nobody owns it; the coordinator is paged".to_owned()
        )
    );
    assert_eq!(
        page(ownerless(), &settings(&[], None)),
        (
            Vec::new(),
            "nobody owns it, and nobody is configured to be paged".to_owned()
        )
    );
}

#[test]
fn whom_the_notes_and_notices_speak_to() {
    let settings = Settings {
        coordinator: Some(login("cora")),
        ..every_switch_on()
    };
    let last = |it: EvidenceBuilder| wanted(it, &settings).pop().expect("something is wanted").to;
    assert_eq!(last(ready("o/r#7").idle_days(8)), [user("author"), user("cora")]);
    assert_eq!(last(ready("o/r#7").idle_days(15)), [user("author")]);
    assert_eq!(last(ready("o/r#7").idle_days(31)), [user("author")]);
    let gone = ready("o/r#7")
        .check("build", Standing::Failed)
        .with(|it| it.author = None);
    assert!(
        wanted(gone, &settings)[0].to.is_empty(),
        "a deleted account is nobody"
    );
}

#[test]
fn a_review_is_wanted_in_the_window_of_a_head_that_has_none() {
    let settings = Settings {
        auto_review: AutoReview {
            is_on: true,
            ..AutoReview::default()
        },
        ..Settings::default()
    };
    let tonight = |it: EvidenceBuilder| it.with(|it| it.now = at("2026-05-14T20:00:00Z"));
    let found = |it: EvidenceBuilder| beside_owner(it, &settings);
    let review = [Artifact::Review];
    assert_eq!(found(tonight(evidence("o/r#7"))), review);
    assert_eq!(found(evidence("o/r#7")), [], "before the window");
    assert_eq!(found(tonight(evidence("o/r#7")).later(hours(6))), [], "after it");
    assert_eq!(
        found(tonight(ready("o/r#7"))),
        [Artifact::ReadyPage],
        "it is reviewed"
    );
    for of_head in [HeadReview::Queued, HeadReview::Running, HeadReview::Failed] {
        let it = tonight(evidence("o/r#7").with(|it| it.reviews.of_head = of_head));
        assert_eq!(found(it), review, "the same key, until it is complete");
    }
    assert_eq!(
        found(tonight(evidence("o/r#7").idle_days(7))),
        [Artifact::StaleReminder],
        "it is idle"
    );
}
