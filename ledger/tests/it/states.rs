//! States, transitions and evidence, as this crate and as plain SQL see them.

use chrono::TimeDelta;
use ledger::{LedgerError, Wrote};
use lifecycle::maintain::{Epoch, State, build};
use pulls::checks::Standing;
use pulls::facts::Time;

use crate::support::{Home, after, at, batch, card, first, many, pull, record, repo, states, turn};

#[test]
fn the_two_tables_stand_under_the_names_and_columns_that_others_read() {
    let home = Home::new();
    drop(home.open());
    let sql = home.sql();
    let columns = |table: &str| -> String {
        let mut all = sql.prepare(&format!("PRAGMA table_info({table})")).unwrap();
        let rows = all.query_map([], |row| {
            let (name, kind): (String, String) = (row.get(1)?, row.get(2)?);
            let rest = match (row.get::<_, bool>(3)?, row.get::<_, i64>(5)?) {
                (_, key) if key > 0 => format!(" key {key}"),
                (true, _) => " NOT NULL".to_owned(),
                (false, _) => String::new(),
            };
            Ok(format!("{name} {kind}{rest}"))
        });
        rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap().join("\n")
    };
    assert_eq!(
        columns("pr_state"),
        "repo TEXT key 1\npr_number INTEGER key 2\nstate TEXT NOT NULL\nsub_status TEXT\nhead_sha TEXT NOT NULL\n\
         since_at TEXT NOT NULL\nreason TEXT NOT NULL\npager_login TEXT\nlast_human_activity_at TEXT\n\
         next_deadline_at TEXT\nparked_at TEXT\nstate_label TEXT\ncontent_labels_json TEXT\n\
         open_findings INTEGER NOT NULL\ndisputed_findings INTEGER NOT NULL\nready_entry_seq INTEGER NOT NULL\n\
         ready_paged_seq INTEGER NOT NULL\nupdated_at TEXT NOT NULL"
    );
    assert_eq!(
        columns("pr_state_transitions"),
        "id INTEGER key 1\nrepo TEXT NOT NULL\npr_number INTEGER NOT NULL\nfrom_state TEXT\n\
         to_state TEXT NOT NULL\nhead_sha TEXT NOT NULL\nreason TEXT NOT NULL\nevidence_json TEXT NOT NULL\n\
         actions_json TEXT NOT NULL\ncreated_at TEXT NOT NULL"
    );
    let index: String = sql
        .query_row(
            "SELECT group_concat(name, ' ') FROM pragma_index_info('pr_state_transitions_pr')",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(index, "repo pr_number id");
    let epoch: i64 = sql
        .query_row("SELECT value FROM meta WHERE key = 'pr_state_epoch'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(epoch, 1);
}

#[test]
fn what_is_recorded_is_read_back_by_its_key_whatever_its_letters() {
    let home = Home::new();
    let mut ledger = home.open();
    let evidence = build::ready("Hyperium/hyper#7").done();
    let visit = first(&evidence);
    let wrote = record(&mut ledger, &batch([visit.clone()]));
    assert_eq!((wrote.states, wrote.transitions, wrote.evidence), (1, 1, 1));

    let other_letters = pull("hyperium/HYPER#7");
    assert_eq!(ledger.row(&other_letters).unwrap(), visit.row);
    assert_eq!(
        ledger.evidence(&other_letters).unwrap().unwrap().evidence,
        evidence
    );
    assert_eq!(ledger.card(&other_letters).unwrap(), Some(card(&evidence)));
    assert_eq!(ledger.assignment(&other_letters).unwrap(), evidence.assignment);
    let log = ledger.transitions(&other_letters).unwrap();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].transition, visit.transitions[0]);
    assert_eq!(log[0].actions, serde_json::json!([]));
    assert_eq!(log[0].evidence, Some(evidence.clone()));
    assert_eq!(
        ledger
            .head_first_seen(&other_letters, &evidence.head.sha)
            .unwrap(),
        Some(evidence.head.first_seen_at)
    );
    assert_eq!(ledger.rows(Some(&repo("hyperium/hyper"))).unwrap().len(), 1);
    assert_eq!(ledger.rows(Some(&repo("o/r"))).unwrap().len(), 0);
    assert_eq!(ledger.epoch().unwrap(), Epoch(1));
}

#[test]
fn the_same_again_writes_nothing_to_the_two_tables() {
    let home = Home::new();
    let mut ledger = home.open();
    let all = many(20);
    record(&mut ledger, &batch(all.iter().map(first)));
    let before = states(&home.sql());

    // What the caller leaves out, and what it does not.
    let later: Vec<_> = all
        .iter()
        .map(|evidence| {
            let mut later = evidence.clone();
            later.now += TimeDelta::minutes(2);
            later
        })
        .collect();
    let visits = all.iter().zip(&later).map(|(known, now)| {
        let row = ledger.row(&known.at).unwrap();
        after(row.as_ref(), Some(known), now)
    });
    let visits: Vec<_> = visits.collect();
    assert!(
        visits
            .iter()
            .all(|visit| visit.row.is_none() && visit.evidence.is_none())
    );
    let wrote = record(&mut ledger, &batch(visits));
    assert_eq!((wrote.states, wrote.transitions, wrote.evidence), (0, 0, 0));
    let wrote = record(
        &mut ledger,
        &batch(later.iter().map(|evidence| {
            let mut visit = first(evidence);
            visit.transitions.clear();
            visit.row = ledger_row(&home, evidence.now, &visit.at);
            visit
        })),
    );
    assert_eq!((wrote.states, wrote.transitions, wrote.evidence), (0, 0, 0));
    assert_eq!(states(&home.sql()), before);
    assert_eq!(ledger.changes().states, 20);
}

/// The row that is there, said to be new.
fn ledger_row(home: &Home, now: Time, of: &pulls::PrRef) -> Option<lifecycle::maintain::StateRow> {
    let mut row = home.reader().row(of).unwrap()?;
    row.updated_at = now;
    Some(row)
}

#[test]
fn a_transition_of_the_clock_has_the_evidence_as_of_its_moment() {
    let home = Home::new();
    let mut ledger = home.open();
    let fresh = build::ready("o/r#7").done();
    record(&mut ledger, &batch([first(&fresh)]));
    let row = ledger.row(&fresh.at).unwrap();
    let idle = build::ready("o/r#7").later(TimeDelta::days(8)).done();
    let visit = after(row.as_ref(), Some(&fresh), &idle);
    assert!(
        visit.evidence.is_none() && visit.transitions.len() == 1,
        "{visit:?}"
    );
    record(&mut ledger, &batch([visit]));
    let log = ledger.transitions(&fresh.at).unwrap();
    assert_eq!(log[1].transition.to_state, State::Stale);
    assert_eq!(log[1].evidence, Some(idle));

    let mut unknown = first(&build::ready("o/r#8").done());
    unknown.evidence = None;
    let error = ledger.record(&batch([unknown])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no evidence of o/r#8 is recorded beside its transition"
    );
    assert!(ledger.row(&pull("o/r#8")).unwrap().is_none());
}

#[test]
fn evidence_is_history_and_the_newest_of_an_open_one_is_kept() {
    let home = Home::new();
    let mut ledger = home.open();
    let mut all = Vec::new();
    for (number, ends) in [(1, false), (2, true)] {
        let mut known = None;
        for day in 0..3 {
            let named = format!("o/r#{number}");
            let mut evidence = build::ready(&named)
                .check(&format!("build-{day}"), Standing::Passed)
                .later(TimeDelta::days(day));
            if ends && day == 2 {
                evidence = evidence.with(|evidence| evidence.state = pulls::facts::PullState::Closed);
            }
            let evidence = evidence.done();
            let row = ledger.row(&evidence.at).unwrap();
            record(
                &mut ledger,
                &batch([after(row.as_ref(), known.as_ref(), &evidence)]),
            );
            all.push(evidence.clone());
            known = Some(evidence);
        }
    }
    let read = |of: &str| -> Vec<_> {
        let all = ledger.evidence_of(&pull(of)).unwrap();
        all.into_iter().map(|one| one.evidence).collect()
    };
    assert_eq!(
        (read("o/r#1"), read("o/r#2")),
        (all[..3].to_vec(), all[3..].to_vec())
    );
    let newest = |since| -> Vec<_> {
        let all = ledger.evidence_since(since).unwrap();
        all.into_iter().map(|one| one.evidence).collect()
    };
    assert_eq!(newest(None), [all[2].clone(), all[5].clone()]);
    assert_eq!(newest(Some(all[2].now + TimeDelta::seconds(1))), []);

    let pruned = ledger.prune(all[1].now).unwrap();
    assert_eq!(pruned.evidence, 2);
    let pruned = ledger.prune(all[2].now + TimeDelta::days(90)).unwrap();
    assert_eq!(pruned.evidence, 3);
    let left = ledger.evidence_since(None).unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].evidence, all[2]);
    assert_eq!(
        ledger.transitions(&all[5].at).unwrap().len(),
        2,
        "the log of states is kept"
    );
}

#[test]
fn deadlines_that_passed_are_due_and_ended_ones_are_not() {
    let home = Home::new();
    let mut ledger = home.open();
    let mut all = many(4);
    all[3].state = pulls::facts::PullState::Merged;
    let mut visits: Vec<_> = all.iter().map(first).collect();
    let now = at("2026-06-01T00:00:00Z");
    for (visit, minutes) in visits.iter_mut().zip([5, -5, -10, -20]) {
        visit.row.as_mut().unwrap().next_deadline_at = Some(now + TimeDelta::minutes(minutes));
    }
    record(&mut ledger, &batch(visits));
    let due = |limit| ledger.due(&repo("O/R"), now, limit).unwrap();
    assert_eq!(due(10), [pull("o/r#3"), pull("o/r#2")]);
    assert_eq!(due(1), [pull("o/r#3")]);
    assert!(ledger.due(&repo("o/other"), now, 10).unwrap().is_empty());
}

#[test]
fn a_turn_is_recorded_once() {
    let home = Home::new();
    let mut ledger = home.open();
    let mut once = batch([first(&build::ready("o/r#7").done())]);
    once.turn = turn("reconciler/m-1");
    record(&mut ledger, &once);
    let before = states(&home.sql());
    let mut again = batch([first(&build::ready("o/r#8").done())]);
    again.turn = turn("reconciler/m-1");
    again.turn.as_mut().unwrap().outcome = "another".to_owned();
    assert_eq!(ledger.record(&again).unwrap(), Wrote::Known);
    assert_eq!(states(&home.sql()), before);
    assert_eq!(
        ledger.outcome("reconciler/m-1").unwrap().as_deref(),
        Some("outcome of reconciler/m-1")
    );
    assert_eq!(ledger.outcome("reconciler/m-2").unwrap(), None);
}

#[test]
fn what_was_said_is_filled_in_afterwards() {
    let home = Home::new();
    let mut ledger = home.open();
    record(&mut ledger, &batch([first(&build::ready("o/r#7").done())]));
    let id = ledger.transitions(&pull("o/r#7")).unwrap()[0].id;
    let said = serde_json::json!([{"key": "o/r#7/1/1/ready", "comment": 42}]);
    ledger.set_actions(id, &said).unwrap();
    let log = ledger.transitions(&pull("o/r#7")).unwrap();
    assert_eq!(log[0].actions, said);
    let since = at("2020-01-01T00:00:00Z");
    assert_eq!(
        ledger.transitions_since(since).unwrap(),
        [log[0].transition.clone()]
    );
}

#[test]
fn states_that_are_retired_come_back_empty_under_a_higher_epoch() {
    let home = Home::new();
    let mut ledger = home.open();
    let visit = first(&build::ready("o/r#7").done());
    record(&mut ledger, &batch([visit.clone()]));
    let reader = home.reader();
    ledger.retire().unwrap();
    ledger.retire().unwrap();
    for seen in [&*ledger, &reader] {
        assert_eq!(seen.rows(None).unwrap(), []);
        assert_eq!(seen.row(&visit.at).unwrap(), None);
        assert_eq!(seen.transitions(&visit.at).unwrap(), []);
        assert_eq!(seen.epoch().unwrap(), Epoch(1));
        assert!(seen.card(&visit.at).unwrap().is_some());
    }
    let refused = ledger.record(&batch([visit.clone()])).unwrap_err();
    assert!(matches!(refused, LedgerError::Retired { .. }), "{refused}");
    assert!(!refused.may_pass());
    drop(ledger);

    let mut ledger = home.open();
    assert_eq!(ledger.epoch().unwrap(), Epoch(2));
    assert_eq!(ledger.rows(None).unwrap(), []);
    assert_eq!(record(&mut ledger, &batch([visit])).states, 1);
    drop(ledger);
    assert_eq!(
        home.open().epoch().unwrap(),
        Epoch(2),
        "only making them raises it"
    );
}
