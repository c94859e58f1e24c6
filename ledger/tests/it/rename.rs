//! A repository gets another name (field case B108).

use chrono::TimeDelta;
use ledger::{Batch, Finding, Ledger, RepositoryBook};
use lifecycle::maintain::{Evidence, build};
use pulls::upkeep::RepositoryFacts;

use crate::support::{Home, batch, first, no_checks, pull, record, repo, texts};

/// Every table with a repository in it, and the names in it in their letters.
fn names(home: &Home) -> Vec<String> {
    let sql = home.sql();
    let tables = texts(
        &sql,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'former_names' \
         AND EXISTS (SELECT 1 FROM pragma_table_info(sqlite_schema.name) AS one WHERE one.name = 'repo') \
         ORDER BY name",
    );
    assert!(tables.len() >= 11, "{tables:?}");
    let each = tables.iter().flat_map(|table| {
        let found = texts(&sql, &format!("SELECT DISTINCT repo COLLATE BINARY FROM {table}"));
        found.into_iter().map(move |repo| format!("{table} {repo}"))
    });
    each.collect()
}

/// A row in every table.
fn fill(ledger: &mut Ledger, evidence: &Evidence) {
    let of = &evidence.at;
    let mut visit = first(evidence);
    visit.closed = Some(ledger::ClosedPull {
        at: of.clone(),
        merged: false,
        closed_at: evidence.now,
        by: None,
        human_comments: 0,
        human_reviews: 0,
        opened_at: evidence.created_at,
    });
    let read = RepositoryBook {
        facts: RepositoryFacts {
            repo: of.repo.clone(),
            asked_as: of.repo.clone(),
            is_archived: false,
            default_branch: None,
            codeowners: None,
        },
        read_at: evidence.now,
        feed_cursor: Some(evidence.now),
        full_pass_at: None,
    };
    let branch = pulls::upkeep::BranchFacts {
        branch: "main".to_owned(),
        sha: None,
        required: pulls::upkeep::RequiredChecks::Known(Vec::new()),
        checks: no_checks(),
    };
    record(
        ledger,
        &Batch {
            repositories: vec![read],
            branches: vec![(of.repo.clone(), branch, evidence.now)],
            waiting: Some(vec![(of.clone(), evidence.now)]),
            ..batch([visit])
        },
    );
    ledger
        .put_review(&ledger::ReviewAttempt {
            at: of.clone(),
            head: evidence.head.sha.clone(),
            state: ledger::AttemptState::Completed,
            time: evidence.now,
            quality: None,
        })
        .unwrap();
    ledger
        .put_finding(&Finding {
            at: of.clone(),
            finding_id: "1".to_owned(),
            severity: "major".to_owned(),
            head: evidence.head.sha.clone(),
            is_fixed: false,
            is_disputed: false,
        })
        .unwrap();
}

#[test]
fn b108_everything_that_is_known_follows_a_repository_to_its_new_name() {
    for (old, new) in [("old/name", "New/Name"), ("old/name", "Old/Name")] {
        let home = Home::new();
        let mut ledger = home.open();
        let evidence = build::ready(&format!("{old}#7")).done();
        fill(&mut ledger, &evidence);
        let before = names(&home);
        assert!(before.iter().all(|one| one.ends_with(old)), "{before:?}");
        ledger.rename(&repo(old), &repo(new)).unwrap();
        let expected: Vec<String> = before.iter().map(|one| one.replace(old, new)).collect();
        assert_eq!(names(&home), expected);

        let at = pull(&format!("{new}#7"));
        let row = ledger.row(&at).unwrap().unwrap();
        assert_eq!(row.at.to_string(), at.to_string());
        let recorded = ledger.evidence(&at).unwrap().unwrap();
        assert_eq!(recorded.evidence.at.to_string(), at.to_string());
        let log = ledger.transitions(&at).unwrap();
        assert_eq!(log[0].transition.at.to_string(), at.to_string());
        assert_eq!(log[0].evidence.as_ref().unwrap().at.to_string(), at.to_string());
        let facts = ledger.repository(&repo(old)).unwrap().unwrap().facts;
        assert_eq!(facts.repo.to_string(), new, "it is found under the old name too");
        let present = ledger.present_name(&repo(old)).unwrap();
        let is_new = !old.eq_ignore_ascii_case(new);
        assert_eq!(present, is_new.then(|| repo(new)));
        assert_eq!(ledger.row(&pull(&format!("{old}#7"))).unwrap().is_none(), is_new);
    }
}

#[test]
fn b108_of_two_rows_of_one_pull_request_the_later_stays_with_the_pages_of_both() {
    for (old_is_later, paged) in [(true, "old"), (false, "new")] {
        let home = Home::new();
        let mut ledger = home.open();
        let mut old = first(&build::ready("o/old#7").done());
        let mut new = first(&build::ready("o/new#7").done());
        let later = if old_is_later { &mut old } else { &mut new };
        let row = later.row.as_mut().unwrap();
        row.updated_at += TimeDelta::hours(1);
        row.reason = "later".to_owned();
        row.content_labels = vec!["later".to_owned()];
        // The earlier one was paged more often.
        let earlier = if old_is_later { &mut new } else { &mut old };
        let row = earlier.row.as_mut().unwrap();
        (row.ready_entry_seq, row.ready_paged_seq) = (5, 5);
        let other = first(&build::ready("o/old#8").done());
        record(&mut ledger, &batch([old, new, other]));

        ledger.rename(&repo("o/old"), &repo("o/new")).unwrap();
        let rows = ledger.rows(None).unwrap();
        assert_eq!(rows.len(), 2, "{paged}");
        assert_eq!(rows[0].reason, "later");
        assert_eq!((rows[0].ready_entry_seq, rows[0].ready_paged_seq), (5, 5));
        assert_eq!(rows[1].at, pull("o/new#8"));
        assert_eq!(
            texts(
                &home.sql(),
                "SELECT pr_number || ' ' || label FROM inferred_labels WHERE kind = 'content' ORDER BY 1"
            ),
            ["7 later", "8 diffusion", "8 omni"]
        );
        assert_eq!(ledger.transitions(&pull("o/new#7")).unwrap().len(), 2);
        assert_eq!(ledger.evidence_of(&pull("o/new#7")).unwrap().len(), 2);
        assert!(names(&home).iter().all(|one| one.ends_with("o/new")));
    }
}

#[test]
fn b108_names_are_followed_from_one_to_the_next_and_back() {
    let home = Home::new();
    let mut ledger = home.open();
    fill(&mut ledger, &build::ready("o/a#7").done());
    let present = |ledger: &Ledger| {
        ["o/a", "o/b", "o/c"].map(|name| {
            let present = ledger.present_name(&repo(name)).unwrap();
            present.map(|present| present.to_string()).unwrap_or_default()
        })
    };
    ledger.rename(&repo("o/a"), &repo("o/b")).unwrap();
    ledger.rename(&repo("o/b"), &repo("o/c")).unwrap();
    assert_eq!(present(&ledger), ["o/c", "o/c", ""]);
    assert!(ledger.row(&pull("o/c#7")).unwrap().is_some());
    ledger.rename(&repo("o/b"), &repo("o/c")).unwrap();
    assert_eq!(present(&ledger), ["o/c", "o/c", ""]);
    ledger.rename(&repo("o/c"), &repo("o/a")).unwrap();
    assert_eq!(present(&ledger), ["", "o/a", "o/a"]);

    // Another repository takes a name that was given up.
    fill(&mut ledger, &build::ready("o/b#1").done());
    assert_eq!(present(&ledger), ["", "", "o/a"]);
    assert_eq!(
        ledger.repository(&repo("o/b")).unwrap().unwrap().facts.repo,
        repo("o/b")
    );
}

#[test]
fn b108_a_rename_works_while_the_states_are_retired() {
    let home = Home::new();
    let mut ledger = home.open();
    fill(&mut ledger, &build::ready("o/old#7").done());
    ledger.retire().unwrap();
    ledger.rename(&repo("o/old"), &repo("o/new")).unwrap();
    assert!(names(&home).iter().all(|one| one.ends_with("o/new")));
}
