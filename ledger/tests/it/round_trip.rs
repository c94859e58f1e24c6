//! What goes in comes out again, whatever it is.

use std::cell::RefCell;

use chrono::DateTime;
use ledger::Visit;
use lifecycle::maintain::{
    Assignment, Evidence, FindingCounts, Owner, Required, State, StateRow, SubStatus, Transition, build,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use pulls::checks::Standing;
use pulls::facts::Time;
use pulls::{PrRef, Sha};

use crate::support::{Home, batch, pull, record};

fn time() -> impl Strategy<Value = Time> {
    (0_i64..4_000_000_000, 0_u32..1_000_000_000)
        .prop_map(|(seconds, nanos)| DateTime::from_timestamp(seconds, nanos).unwrap())
}

fn sha() -> impl Strategy<Value = Sha> {
    "[0-9a-f]{40}".prop_map(|digits| digits.parse().unwrap())
}

fn of() -> impl Strategy<Value = PrRef> {
    ("[a-zA-Z]{1,3}", "[a-zA-Z._-]{1,3}[a-z]", 1_u32..50)
        .prop_map(|(owner, name, number)| pull(&format!("{owner}/{name}#{number}")))
}

fn state() -> impl Strategy<Value = State> {
    select(&State::ALL[..])
}

fn row() -> impl Strategy<Value = StateRow> {
    let states = (
        of(),
        state(),
        option::of(select(&SubStatus::ALL[..])),
        sha(),
        any::<String>(),
    );
    let times = (
        time(),
        option::of(time()),
        option::of(time()),
        option::of(time()),
        time(),
    );
    let labels = (
        option::of("[a-z-]{1,9}"),
        option::of(any::<String>()),
        vec(any::<String>(), 0..4),
    );
    let numbers = (
        any::<u32>(),
        any::<u32>(),
        0..=i64::MAX as u64,
        0..=i64::MAX as u64,
    );
    (states, times, labels, numbers).prop_map(|(states, times, labels, numbers)| StateRow {
        at: states.0,
        state: states.1,
        sub_status: states.2,
        head_sha: states.3,
        reason: states.4,
        since_at: times.0,
        last_human_activity_at: times.1,
        next_deadline_at: times.2,
        parked_at: times.3,
        updated_at: times.4,
        pager_login: labels.0.map(|login| login.parse().unwrap()),
        state_label: labels.1,
        content_labels: labels.2,
        open_findings: numbers.0,
        disputed_findings: numbers.1,
        ready_entry_seq: numbers.2,
        ready_paged_seq: numbers.3,
    })
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let standing = select(vec![
        Standing::Passed,
        Standing::Skipped,
        Standing::Failed,
        Standing::Running,
        Standing::Unknown,
    ]);
    let known = (of(), time(), time(), sha(), vec(any::<String>(), 0..4));
    let checks = vec(("[a-z]{1,5}", standing), 0..4);
    let rest = (
        option::of((option::of(any::<String>()), any::<String>(), any::<String>())),
        option::of(any::<u64>()),
        any::<(bool, bool, u32, u32)>(),
        vec(any::<String>(), 0..3),
    );
    (known, checks, rest).prop_map(|(known, checks, rest)| {
        let mut made = build::evidence(&known.0.to_string());
        for (name, standing) in &checks {
            made = made.check(name, *standing);
        }
        made.with(|evidence| {
            (evidence.now, evidence.activity.at) = (known.1, known.2);
            evidence.head.sha = known.3;
            evidence.labels = known.4;
            evidence.assignment = rest.0.map(|(team, reason, digest)| Assignment {
                owner: team.map(Owner::Team),
                reason,
                digest,
            });
            evidence.unresolved_threads = rest.1;
            let (is_locked, is_unknown, open, disputed) = rest.2;
            evidence.is_locked = is_locked;
            if is_unknown {
                evidence.required = Required::Unknown {
                    why: "nobody said".to_owned(),
                };
            }
            evidence.findings = FindingCounts { open, disputed };
            evidence.base_red = rest.3;
        })
        .done()
    })
}

#[test]
fn rows_transitions_and_evidence_come_back_as_they_were() {
    let home = Home::new();
    let ledger = RefCell::new(home.open());
    let reader = home.reader();
    let cases = (
        row(),
        option::of(state()),
        state(),
        any::<String>(),
        time(),
        evidence(),
    );
    let config = ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |((mut row, from_state, to_state, reason, created_at, mut evidence) in cases)| {
        let mut ledger = ledger.borrow_mut();
        row.at = evidence.at.clone();
        let transition = Transition {
            at: row.at.clone(),
            from_state,
            to_state,
            head_sha: row.head_sha.clone(),
            reason,
            created_at,
        };
        let visit = Visit {
            at: row.at.clone(),
            row: Some(row.clone()),
            transitions: vec![transition.clone()],
            assignment: evidence.assignment.clone(),
            evidence: Some(evidence.clone()),
            card: None,
            closed: None,
        };
        record(&mut ledger, &batch([visit]));
        for seen in [&**ledger, &reader] {
            prop_assert_eq!(seen.row(&row.at).unwrap(), Some(row.clone()));
            let log = seen.transitions(&row.at).unwrap();
            let last = log.last().unwrap();
            prop_assert_eq!(&last.transition, &transition);
            prop_assert_eq!(last.evidence.as_ref(), Some(&evidence));
            let newest = seen.evidence(&row.at).unwrap().unwrap();
            prop_assert_eq!(newest.recorded_at, evidence.now);
            prop_assert_eq!(newest.evidence, evidence.clone());
            if evidence.assignment.is_some() {
                prop_assert_eq!(seen.assignment(&row.at).unwrap(), evidence.assignment.clone());
            }
        }
        // The same once more, at another time, is written nowhere but in the log.
        let before = ledger.changes();
        evidence.now = created_at;
        let again = Visit {
            at: row.at.clone(),
            row: Some(StateRow { updated_at: created_at, ..row.clone() }),
            transitions: Vec::new(),
            evidence: Some(evidence),
            assignment: None,
            card: None,
            closed: None,
        };
        record(&mut ledger, &batch([again]));
        prop_assert_eq!(ledger.changes(), before);
    });
}
