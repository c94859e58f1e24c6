//! Ledgers that earlier versions wrote, as SQL: `tests/fixtures/v<version>.sql` is what that version left. With
//! `LEDGER_FIXTURE=1` the newest is written anew, for a version that is not released yet.

use std::path::{Path, PathBuf};

use chrono::TimeDelta;
use ledger::{Batch, Event, Ledger, RepositoryBook, Visit};
use lifecycle::maintain::{Evidence, State, build};
use pulls::checks::Standing;
use pulls::upkeep::RepositoryFacts;
use rusqlite::Connection;

use crate::support::{Home, after, batch, dump, first, pull, record, repo, texts, turn};

fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/v{version}.sql"))
}

/// What the fixtures hold.
fn sample() -> [Evidence; 3] {
    [
        build::ready("Org/Repo#1").done(),
        build::evidence("Org/Repo#2")
            .check("build", Standing::Failed)
            .findings(1, 1)
            .done(),
        build::evidence("Org/Repo#3").unrouted().conflicting().done(),
    ]
}

fn write_sample(ledger: &mut Ledger) {
    let all = sample();
    let visits: Vec<Visit> = all.iter().map(first).collect();
    let now = all[0].now;
    record(
        ledger,
        &Batch {
            turn: turn("reconciler/m-1"),
            repositories: vec![RepositoryBook {
                facts: RepositoryFacts {
                    repo: repo("Org/Repo"),
                    asked_as: repo("org/repo"),
                    is_archived: false,
                    default_branch: Some("main".to_owned()),
                    codeowners: None,
                },
                read_at: now,
                feed_cursor: Some(now - TimeDelta::minutes(2)),
                full_pass_at: Some(now),
            }],
            waiting: Some(vec![(pull("Org/Repo#9"), now)]),
            events: vec![Event {
                kind: "PR_STATE_BUDGET_EXHAUSTED".to_owned(),
                detail: serde_json::json!({"left": 1}),
                at: now,
            }],
            ..batch(visits)
        },
    );
    let idle = build::ready("Org/Repo#1").later(TimeDelta::days(8)).done();
    let row = ledger.row(&idle.at).unwrap();
    record(ledger, &batch([after(row.as_ref(), Some(&all[0]), &idle)]));
    for state in [ledger::AttemptState::Failed, ledger::AttemptState::Completed] {
        let attempt = ledger::ReviewAttempt {
            at: all[0].at.clone(),
            head: all[0].head.sha.clone(),
            state,
            time: now,
            quality: Some("ready".to_owned()),
        };
        ledger.put_review(&attempt).unwrap();
    }
    let finding = ledger::Finding {
        at: all[1].at.clone(),
        finding_id: "f-1".to_owned(),
        severity: "blocker".to_owned(),
        head: all[1].head.sha.clone(),
        is_fixed: false,
        is_disputed: true,
    };
    ledger.put_finding(&finding).unwrap();
    ledger.rename(&repo("before/that"), &repo("Org/Repo")).unwrap();
}

fn tables(sql: &Connection) -> String {
    let made = texts(
        sql,
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid",
    );
    made.into_iter().map(|one| one + ";\n").collect()
}

fn whole(sql: &Connection) -> String {
    let names = texts(
        sql,
        "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid",
    );
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let pragma = |name: &str| -> i64 {
        sql.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
            .unwrap()
    };
    format!(
        "PRAGMA application_id = {};\nPRAGMA user_version = {};\n{}{}",
        pragma("application_id"),
        pragma("user_version"),
        tables(sql),
        dump(sql, &names)
    )
}

#[test]
fn a_ledger_of_version_1_is_read_and_written_on() {
    if std::env::var_os("LEDGER_FIXTURE").is_some() {
        let home = Home::new();
        write_sample(&mut home.open());
        std::fs::write(fixture(1), whole(&home.sql())).unwrap();
    }
    let home = Home::new();
    let sql = home.sql();
    sql.execute_batch(&std::fs::read_to_string(fixture(1)).unwrap())
        .unwrap();
    sql.close().unwrap();

    let mut ledger = home.open();
    let all = sample();
    let states = |ledger: &Ledger| -> Vec<State> {
        let rows = ledger.rows(Some(&repo("org/repo"))).unwrap();
        rows.into_iter().map(|row| row.state).collect()
    };
    assert_eq!(states(&ledger), [State::Stale, State::OwnerRouted, State::New]);
    assert_eq!(ledger.epoch().unwrap().0, 1);
    for evidence in &all {
        assert_eq!(
            &ledger.evidence(&evidence.at).unwrap().unwrap().evidence,
            evidence
        );
        assert!(ledger.card(&evidence.at).unwrap().is_some());
    }
    let log = ledger.transitions(&all[0].at).unwrap();
    assert_eq!(log.len(), 2);
    assert_eq!(log[0].evidence.as_ref(), Some(&all[0]));
    assert_eq!(
        log[1].evidence.as_ref().map(|evidence| evidence.now),
        Some(log[1].transition.created_at)
    );
    assert_eq!(ledger.assignment(&all[1].at).unwrap(), all[1].assignment);
    assert_eq!(
        ledger.outcome("reconciler/m-1").unwrap().as_deref(),
        Some("outcome of reconciler/m-1")
    );
    assert_eq!(ledger.reviews(&all[0].at, &all[0].head.sha).unwrap().attempts, 2);
    assert_eq!(ledger.findings(&all[1].at).unwrap().disputed, 1);
    assert_eq!(ledger.waiting().unwrap().len(), 1);
    assert_eq!(ledger.events_since(all[0].created_at).unwrap().len(), 1);
    assert!(ledger.repository(&repo("before/that")).unwrap().is_some());

    record(&mut ledger, &batch([first(&build::ready("org/repo#4").done())]));
    assert_eq!(states(&ledger).len(), 4);
}

#[test]
fn the_tables_of_a_version_stay_what_they_were() {
    let home = Home::new();
    drop(home.open());
    let old = std::fs::read_to_string(fixture(1)).unwrap();
    let rows = old.find("INSERT INTO").unwrap();
    assert!(
        old[..rows].ends_with(&tables(&home.sql())),
        "a change of the tables is a migration to a new version"
    );
}
