//! A dispatch that is killed at any moment: after a restart every message is there, once.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use world::{Lists, World};

use crate::support::{Desk, Hosted};

/// Pull requests of the dispatch.
const PULLS: u32 = 200;
/// Homes in an ordinary test run, each killed twice.
const HOMES: u64 = 10;
/// Homes with `SWEEP_LONG` set.
const LONG_HOMES: u64 = 250;
/// The moment that every run evaluates as, so that a repeat has the ids of the first.
const NOW: &str = "2026-05-14T17:45:31Z";

const DISPATCH: [&str; 5] = ["pr-state", "--limit", "200", "--now", NOW];

/// Contract, section 3, rules 1 to 3: whatever was acknowledged is kept, each id enters once. The moments are
/// spread over a whole dispatch, the first of them over the opening of the store, and every home is killed
/// twice: once while its store is made, once while it is opened again.
#[test]
fn a_dispatch_killed_at_any_moment_delivers_every_message_once() {
    let hosted = Hosted::new(World::many(PULLS, Lists::Medium));
    let whole = time_of(&hosted.desk());
    let homes = if std::env::var_os("SWEEP_LONG").is_some() {
        LONG_HOMES
    } else {
        HOMES
    };
    let seed = std::env::var("SWEEP_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("SWEEP_SEED={seed}, a whole dispatch takes {whole:?}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut killed = 0;
    for home in 0..homes {
        let desk = hosted.desk();
        for _ in 0..2 {
            // A quarter of the kills falls into the first twentieth, where the store is made or opened.
            let most = if dice.u8(0..4) == 0 { whole / 20 } else { whole };
            let after = most.mul_f64(dice.f64());
            killed += u32::from(kill_after(start(&desk), after));
        }
        desk.good(&DISPATCH);
        assert_whole(&desk, home);
    }
    assert!(killed > 0, "no run lived long enough to be killed");
}

fn time_of(desk: &Desk) -> Duration {
    let started = Instant::now();
    desk.good(&DISPATCH);
    started.elapsed()
}

fn start(desk: &Desk) -> Child {
    desk.command(&DISPATCH)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills the process with SIGKILL after a time; whether it was still there.
fn kill_after(mut child: Child, after: Duration) -> bool {
    // The moment of the kill is what is drawn: this is no wait for a condition.
    std::thread::sleep(after);
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

fn assert_whole(desk: &Desk, home: u64) {
    let mut ids = BTreeMap::new();
    for mailbox in ["drip", "investigate", "qa", "retro"] {
        let listed = desk.json(&["inbox", mailbox, "--json"]);
        for message in listed["messages"].as_array().unwrap() {
            let id = message["message"]["msg_id"].as_str().unwrap().to_owned();
            *ids.entry(id).or_insert(0) += 1;
        }
    }
    assert_each_once(&ids, &format!("home {home}, mailboxes"));

    let mut lines = BTreeMap::new();
    for file in std::fs::read_dir(desk.home().join("inbox")).unwrap() {
        let file = file.unwrap();
        if file
            .file_name()
            .to_str()
            .is_some_and(|name| name.ends_with(".jsonl") && !name.starts_with('_'))
        {
            for line in std::fs::read_to_string(file.path()).unwrap().lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                *lines
                    .entry(line["msg_id"].as_str().unwrap().to_owned())
                    .or_insert(0) += 1;
            }
        }
    }
    assert_each_once(&lines, &format!("home {home}, mirror"));
    assert_eq!(
        ids, lines,
        "home {home}: the mirror says something else than the mailboxes"
    );
}

fn assert_each_once(ids: &BTreeMap<String, u32>, place: &str) {
    assert_eq!(ids.len(), PULLS as usize, "{place}: distinct ids");
    let repeated: Vec<_> = ids.iter().filter(|(_, count)| **count != 1).collect();
    assert!(repeated.is_empty(), "{place}: more than once: {repeated:?}");
}
