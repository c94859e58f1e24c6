//! What is kept beside states.

use chrono::TimeDelta;
use ledger::{
    AttemptState, Batch, Card, ClosedPull, Event, Finding, Pending, RepositoryBook, ReviewAttempt, Visit,
};
use lifecycle::maintain::{Assignment, FindingCounts, HeadReview, Owner, Reviews, build};
use pulls::upkeep::{BranchFacts, RepositoryFacts, RequiredCheck, RequiredChecks};

use crate::support::{Home, at, batch, card, first, no_checks, pull, record, repo, texts};

fn cards(visits: impl IntoIterator<Item = Card>) -> Batch {
    batch(visits.into_iter().map(|card| Visit {
        card: Some(card.clone()),
        ..nothing(&card.at.to_string())
    }))
}

fn nothing(of: &str) -> Visit {
    Visit {
        at: pull(of),
        row: None,
        transitions: Vec::new(),
        evidence: None,
        assignment: None,
        card: None,
        closed: None,
    }
}

fn book(name: &str, asked_as: &str) -> RepositoryBook {
    RepositoryBook {
        facts: RepositoryFacts {
            repo: repo(name),
            asked_as: repo(asked_as),
            is_archived: false,
            default_branch: Some("main".to_owned()),
            codeowners: None,
        },
        read_at: at("2026-06-01T10:00:00.25Z"),
        feed_cursor: Some(at("2026-06-01T09:59:00Z")),
        full_pass_at: None,
    }
}

#[test]
fn open_ones_are_read_in_turn_and_pending_ones_are_polled() {
    let home = Home::new();
    let mut ledger = home.open();
    let base = card(&build::evidence("o/r#1").done());
    let all: Vec<Card> = [(1, 30, None), (2, 10, Some(5)), (3, 20, Some(2)), (4, 5, Some(1))]
        .into_iter()
        .map(|(number, read, pending)| Card {
            at: pull(&format!("o/r#{number}")),
            read_at: base.read_at + TimeDelta::minutes(read),
            pending_since: pending.map(|minutes| base.read_at + TimeDelta::minutes(minutes)),
            is_open: number != 4,
            author: None,
            ..base.clone()
        })
        .collect();
    record(&mut ledger, &cards(all.clone()));
    assert_eq!(ledger.cards(None).unwrap(), all);
    assert_eq!(ledger.cards(Some(&repo("O/R"))).unwrap(), all);
    let before = base.read_at + TimeDelta::minutes(30);
    assert_eq!(
        ledger.read_before(&repo("o/R"), before, 10).unwrap(),
        [all[1].clone(), all[2].clone()]
    );
    assert_eq!(
        ledger.read_before(&repo("o/r"), before, 1).unwrap(),
        [all[1].clone()]
    );
    let pending = |number: usize| Pending {
        at: all[number - 1].at.clone(),
        since: all[number - 1].pending_since.unwrap(),
    };
    assert_eq!(ledger.pending(&repo("o/r")).unwrap(), [pending(3), pending(2)]);

    let changes = ledger.changes();
    record(&mut ledger, &cards(all));
    assert_eq!(ledger.changes(), changes, "the same again is not written");
}

#[test]
fn an_assignment_is_the_last_one_found() {
    let home = Home::new();
    let mut ledger = home.open();
    for owner in [
        None,
        Some(Owner::User("olive".parse().unwrap())),
        Some(Owner::Team("o/core".to_owned())),
    ] {
        let assignment = Assignment {
            owner,
            reason: "CODEOWNERS line 3".to_owned(),
            digest: "d1".to_owned(),
        };
        let visit = Visit {
            assignment: Some(assignment.clone()),
            ..nothing("o/r#7")
        };
        record(&mut ledger, &batch([visit]));
        assert_eq!(ledger.assignment(&pull("O/r#7")).unwrap(), Some(assignment));
    }
    assert_eq!(
        texts(&home.sql(), "SELECT outcome || ' ' || owner FROM pr_assignments"),
        ["team o/core"]
    );
}

#[test]
fn labels_stand_one_by_one_since_they_are_there() {
    let home = Home::new();
    let mut ledger = home.open();
    let mut visit = first(&build::ready("o/r#7").done());
    record(&mut ledger, &batch([visit.clone()]));
    let row = visit.row.as_mut().unwrap();
    row.content_labels = vec!["omni".to_owned(), "tts".to_owned()];
    row.updated_at += TimeDelta::hours(1);
    visit.transitions.clear();
    record(&mut ledger, &batch([visit.clone()]));
    let labels = "SELECT kind || ' ' || label || ' ' || (since_at < (SELECT updated_at FROM pr_state)) \
                  FROM inferred_labels ORDER BY kind, label";
    assert_eq!(
        texts(&home.sql(), labels),
        [
            "content omni 1",
            "content tts 0",
            "state bot:ready-for-maintainer 1"
        ]
    );
}

#[test]
fn how_pull_requests_ended_is_kept_for_the_metrics() {
    let home = Home::new();
    let mut ledger = home.open();
    let closed = |number: u32, day: u32| ClosedPull {
        at: pull(&format!("o/r#{number}")),
        merged: number == 1,
        closed_at: at(&format!("2026-06-{day:02}T00:00:00Z")),
        by: (number == 1).then(|| "grace".parse().unwrap()),
        human_comments: 3,
        human_reviews: 1,
        opened_at: at("2026-05-01T00:00:00Z"),
    };
    record(
        &mut ledger,
        &batch([closed(1, 9), closed(2, 8), closed(3, 1)].map(|closed| Visit {
            closed: Some(closed.clone()),
            ..nothing(&closed.at.to_string())
        })),
    );
    let since = ledger.closed_since(at("2026-06-08T00:00:00Z")).unwrap();
    assert_eq!(since, [closed(2, 8), closed(1, 9)]);
}

#[test]
fn the_queue_is_written_whole_and_events_are_added() {
    let home = Home::new();
    let mut ledger = home.open();
    assert_eq!(ledger.waiting().unwrap(), []);
    let waits = |number: u32, minute: u32| {
        let since = at(&format!("2026-06-01T00:{minute:02}:00Z"));
        (pull(&format!("o/r#{number}")), since)
    };
    let event = |minute: u32| Event {
        kind: "PR_STATE_BUDGET_EXHAUSTED".to_owned(),
        detail: serde_json::json!({"left": 2, "of": 200}),
        at: at(&format!("2026-06-01T00:{minute:02}:00Z")),
    };
    let queue = |waiting: Option<Vec<_>>, minute| Batch {
        waiting,
        events: vec![event(minute)],
        ..Batch::default()
    };
    record(&mut ledger, &queue(Some(vec![waits(1, 5), waits(2, 3)]), 5));
    assert_eq!(ledger.waiting().unwrap(), [waits(2, 3), waits(1, 5)]);
    record(&mut ledger, &queue(None, 7));
    assert_eq!(ledger.waiting().unwrap().len(), 2);
    record(&mut ledger, &queue(Some(Vec::new()), 9));
    assert_eq!(ledger.waiting().unwrap(), []);
    let since = ledger.events_since(at("2026-06-01T00:07:00Z")).unwrap();
    assert_eq!(since, [event(7), event(9)]);
}

#[test]
fn what_is_known_of_repositories_and_branches() {
    let home = Home::new();
    let mut ledger = home.open();
    let facts = BranchFacts {
        branch: "main".to_owned(),
        sha: Some("a".repeat(40).parse().unwrap()),
        required: RequiredChecks::Known(vec![RequiredCheck {
            context: "build".to_owned(),
            app: Some(15_368),
        }]),
        checks: no_checks(),
    };
    let read_at = at("2026-06-01T10:00:00Z");
    record(
        &mut ledger,
        &Batch {
            repositories: vec![book("Org/Repo", "org/repo")],
            branches: vec![(repo("Org/Repo"), facts.clone(), read_at)],
            ..Batch::default()
        },
    );
    assert_eq!(
        ledger.repository(&repo("org/repo")).unwrap(),
        Some(book("Org/Repo", "org/repo"))
    );
    assert_eq!(
        ledger.branch(&repo("org/repo"), "main").unwrap(),
        Some((facts, read_at))
    );
    assert_eq!(ledger.branch(&repo("org/repo"), "Main").unwrap(), None);
    assert_eq!(ledger.repository(&repo("org/other")).unwrap(), None);
}

#[test]
fn reviews_and_findings_are_counted_for_the_evidence() {
    let home = Home::new();
    let mut ledger = home.open();
    let head = |digit: char| digit.to_string().repeat(40).parse::<pulls::Sha>().unwrap();
    let of = pull("o/r#7");
    let reviews = |ledger: &ledger::Ledger, digit| ledger.reviews(&of, &head(digit)).unwrap();
    assert_eq!(reviews(&ledger, 'a'), Reviews::default());
    let time = at("2026-06-01T04:00:00Z");
    let complete = HeadReview::Completed {
        at: time,
        quality: Some("concerns".to_owned()),
    };
    for (count, (digit, state, seen)) in [
        ('a', AttemptState::Queued, HeadReview::Queued),
        ('a', AttemptState::Running, HeadReview::Running),
        ('a', AttemptState::Failed, HeadReview::Failed),
        ('a', AttemptState::Completed, complete.clone()),
        ('a', AttemptState::Failed, complete),
        ('b', AttemptState::Queued, HeadReview::Queued),
    ]
    .into_iter()
    .enumerate()
    {
        let quality = (state == AttemptState::Completed).then(|| "concerns".to_owned());
        let attempt = ReviewAttempt {
            at: of.clone(),
            head: head(digit),
            state,
            time,
            quality,
        };
        ledger.put_review(&attempt).unwrap();
        let expected = Reviews {
            attempts: count as u32 + 1,
            is_claimed: true,
            of_head: seen,
        };
        assert_eq!(reviews(&ledger, digit), expected);
    }
    assert!(!reviews(&ledger, 'c').is_claimed);

    let finding = |id: &str, severity: &str, is_fixed, is_disputed| Finding {
        at: of.clone(),
        finding_id: id.to_owned(),
        severity: severity.to_owned(),
        head: head('a'),
        is_fixed,
        is_disputed,
    };
    for finding in [
        finding("1", "blocker", false, false),
        finding("2", "major", false, true),
        finding("3", "major", true, false),
        finding("4", "minor", false, false),
        finding("5", "blocker", false, false),
        finding("5", "blocker", true, false),
    ] {
        ledger.put_finding(&finding).unwrap();
    }
    assert_eq!(
        ledger.findings(&of).unwrap(),
        FindingCounts { open: 1, disputed: 1 }
    );
}
