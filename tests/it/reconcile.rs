//! The maintainer's half, the whole program against the embedded GitHub.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use world::{Maintained, World};

use crate::support::{Desk, Hosted, Running, files, wait_for};

/// The moments of four cycles, a takt apart.
const CYCLES: [&str; 4] = [
    "2026-05-14T17:45:00Z",
    "2026-05-14T17:47:00Z",
    "2026-05-14T17:49:00Z",
    "2026-05-14T17:51:00Z",
];

/// Open pull requests of the repository that the RFC describes.
const BUSY: u32 = 1_236;
/// Pull requests of the repository whose cycles are killed.
const KILLED: u32 = 260;
/// Homes in an ordinary test run, each killed twice.
const HOMES: u64 = 4;
/// Homes with `SWEEP_LONG` set.
const LONG_HOMES: u64 = 100;

/// A home that maintains the busy repository.
fn desk(hosted: &Hosted) -> Desk {
    hosted.desk().with("LIFECYCLE_REPOS", Maintained::REPO)
}

fn cycle(now: &str) -> [&str; 5] {
    ["reconcile", "--once", "--json", "--now", now]
}

/// Rows of a query over the ledger, as whoever looks with SQL sees them.
fn query(desk: &Desk, sql: &str) -> Vec<Vec<String>> {
    let path = desk.home().join("ledger.db");
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut statement = db.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..columns)
            .map(|column| Ok(format!("{:?}", row.get::<_, rusqlite::types::Value>(column)?)))
            .collect()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// The two tables, every column of every row.
fn tables(desk: &Desk) -> [Vec<Vec<String>>; 2] {
    [
        query(desk, "SELECT * FROM pr_state ORDER BY repo, pr_number"),
        query(desk, "SELECT * FROM pr_state_transitions ORDER BY id"),
    ]
}

/// How many pull requests are in each state.
fn counts(desk: &Desk) -> BTreeMap<String, u32> {
    let document = desk.json(&["board", "--json", "--now", CYCLES[3]]);
    let columns = document["columns"].as_array().unwrap();
    columns
        .iter()
        .map(|column| {
            let count = column["count"].as_u64().unwrap();
            (
                column["state"].as_str().unwrap().to_owned(),
                u32::try_from(count).unwrap(),
            )
        })
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[test]
fn a_busy_repository_is_counted_as_its_world_is_and_a_cycle_without_news_writes_nothing() {
    let hosted = Hosted::new(World::maintained(BUSY));
    let desk = desk(&hosted);
    let first = desk.json(&cycle(CYCLES[0]));
    assert_eq!(first["visited"], BUSY, "{}", first["budget"]);
    assert_eq!(first["transitions"].as_array().unwrap().len(), BUSY as usize);
    let requests = first["budget"]["requests"].as_u64().unwrap();
    let points = first["budget"]["points"].as_u64().unwrap();
    assert!(requests <= 80, "{requests} requests");
    assert!(0 < points && points < 1_000, "{points} points");
    let second = desk.json(&cycle(CYCLES[1]));
    assert_eq!(second["visited"], 0);
    assert_eq!(second["attention"], json!([]));

    let world = Maintained::of(BUSY);
    let unreviewed = BUSY - world.drafts - world.idle_7;
    let counted = counts(&desk);
    assert_eq!(counted["draft"], world.drafts);
    assert_eq!(counted["parked"], world.idle_14);
    assert_eq!(counted["stale"], world.idle_7 - world.idle_14);
    assert_eq!(counted["owner_routed"] + counted["needs_owner"], unreviewed);
    assert!(
        counted["needs_owner"] > 0 && counted["needs_owner"] <= world.unowned,
        "{counted:?}"
    );
    assert_eq!(counted.len(), 5, "{counted:?}");

    let before = tables(&desk);
    for now in &CYCLES[2..] {
        let report = desk.json(&cycle(now));
        assert_eq!(
            (&report["visited"], &report["transitions"]),
            (&json!(0), &json!([]))
        );
        // The list of updates, and a hundred heads that are not final each.
        let most = 1 + u64::from(BUSY.div_ceil(100));
        assert!(
            report["budget"]["requests"].as_u64().unwrap() <= most,
            "{}",
            report["budget"]
        );
    }
    assert!(
        tables(&desk) == before,
        "a cycle without news wrote to the two tables"
    );
}

/// What a cycle came to, whenever it did: which states, and the way to each.
fn end(desk: &Desk) -> [Vec<Vec<String>>; 2] {
    [
        query(
            desk,
            "SELECT repo, pr_number, state, sub_status, head_sha, reason, last_human_activity_at, state_label, \
             content_labels_json, ready_entry_seq FROM pr_state ORDER BY repo, pr_number",
        ),
        query(
            desk,
            "SELECT repo, pr_number, from_state, to_state, head_sha, reason FROM pr_state_transitions \
             ORDER BY repo, pr_number, id",
        ),
    ]
}

#[test]
fn a_cycle_killed_at_any_moment_ends_as_one_that_was_not() {
    let hosted = Hosted::new(World::maintained(KILLED));
    let undisturbed = desk(&hosted);
    let began = Instant::now();
    undisturbed.good(&cycle(CYCLES[0]));
    let whole = began.elapsed();
    undisturbed.good(&cycle(CYCLES[1]));
    let expected = end(&undisturbed);
    assert_eq!(expected[0].len(), KILLED as usize);

    let homes = if std::env::var_os("SWEEP_LONG").is_some() {
        LONG_HOMES
    } else {
        HOMES
    };
    let seed = std::env::var("SWEEP_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SWEEP_SEED={seed}, a whole cycle takes {whole:?}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut killed = 0;
    for home in 0..homes {
        let desk = desk(&hosted);
        for _ in 0..2 {
            let mut command = desk.command(&cycle(CYCLES[0]));
            let mut child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // The moment of the kill is what is drawn: this is no wait for a condition.
            std::thread::sleep(whole.mul_f64(dice.f64()));
            child.kill().unwrap();
            killed += u32::from(!child.wait().unwrap().success());
        }
        desk.good(&cycle(CYCLES[0]));
        desk.good(&cycle(CYCLES[1]));
        assert!(
            end(&desk) == expected,
            "home {home} ended otherwise, SWEEP_SEED={seed}"
        );
    }
    assert!(killed > 0, "no cycle lived long enough to be killed");
}

#[test]
fn the_demo_has_a_pull_request_in_each_state() {
    let desk = Desk::new();
    let said = desk.good(&["run", "--demo", "--once"]);
    assert!(said.contains("reconciler"), "{said}");
    let document = desk.json(&["board", "--json", "--now", world::DEMO_NOW]);
    let columns = document["columns"].as_array().unwrap();
    let mut found = BTreeMap::new();
    for column in columns {
        let cards = column["cards"].as_array().unwrap();
        assert!(!cards.is_empty(), "nothing is {}", column["state"]);
        for card in cards {
            let at = format!("{}#{}", card["repo"].as_str().unwrap(), card["pr"]);
            found.insert(at, (column["state"].clone(), card["sub_status"].clone()));
        }
    }
    assert_eq!(columns.len(), 11);
    for state in world::demo_states() {
        let at = format!("{}#{}", state.at.repo, state.at.number);
        assert_eq!(
            found.remove(&at),
            Some((json!(state.state), json!(state.sub_status))),
            "{at}"
        );
    }
    assert_eq!(found, BTreeMap::new());
    // A second run of the same home remembers, and moves nothing but the one that was new.
    desk.good(&["run", "--demo", "--once"]);
    let moved = query(
        &desk,
        "SELECT to_state FROM pr_state_transitions ORDER BY id DESC LIMIT 1",
    );
    assert_eq!(moved, [["Text(\"owner_routed\")"]]);
}

#[test]
fn a_rehearsal_touches_no_file_and_says_what_would_be_written() {
    let hosted = Hosted::new(World::maintained(30));
    let desk = desk(&hosted);
    let mut words = cycle(CYCLES[0]).to_vec();
    words.push("--dry-run");
    let report = desk.json(&words);
    assert_eq!((&report["visited"], files(&desk.home())), (&json!(30), vec![]));
    // Beside a ledger it is the same.
    desk.good(&cycle(CYCLES[0]));
    // Looking with SQL leaves files beside the ledger, which the rehearsal is not to be blamed for.
    let tables_before = tables(&desk);
    let before = files(&desk.home());
    let report = desk.json(&["reconcile", "--once", "--json", "--dry-run", "--now", CYCLES[1]]);
    assert!(!report["transitions"].as_array().unwrap().is_empty());
    assert_eq!(files(&desk.home()), before);
    assert!(
        tables(&desk) == tables_before,
        "a rehearsal wrote to the two tables"
    );
}

#[test]
fn a_process_that_runs_is_asked_for_the_cycle() {
    let hosted = Hosted::new(World::maintained(30));
    let desk = desk(&hosted);
    let running = Running::of(desk.command(&["run", "--actors", "reconciler"]));
    let socket = desk.home().join("control.sock");
    wait_for("listening", || UnixStream::connect(&socket).is_ok());
    let report = desk.json(&["reconcile", "--once", "--json"]);
    assert!(report["budget"]["requests"].as_u64().unwrap() >= 1, "{report}");
    let handled = desk.json(&["inbox", "reconciler", "--json"]);
    let messages = handled["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1, "{handled}");
    assert_eq!(query(&desk, "SELECT count(*) FROM turns"), [["Integer(1)"]]);
    let refused = desk.run(&["reconcile", "--once", "--now", CYCLES[0]]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    // A rehearsal reads the ledger beside it.
    let rehearsed = desk.json(&["reconcile", "--once", "--dry-run", "--json"]);
    assert_eq!(rehearsed["said"], json!([]));
    running.stop();
    assert_eq!(query(&desk, "SELECT count(*) FROM pr_state"), [["Integer(30)"]]);
}

#[test]
fn without_a_repository_there_is_nothing_to_reconcile() {
    let desk = Desk::new();
    let refused = desk.run(&["reconcile", "--once"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("no repository is maintained"),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("lifecycle_repos"), "{refused:?}");
    let off = Desk::new()
        .with("LIFECYCLE_REPOS", "o/r")
        .with("PR_STATE_ENABLED", "false")
        .run(&["reconcile", "--once"]);
    assert!(off.stderr.contains("off"), "{off:?}");
    let known: Value = desk.json(&["actors", "--json"]);
    assert!(!known.to_string().contains("reconciler"), "{known}");
}
