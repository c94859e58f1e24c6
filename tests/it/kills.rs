//! The whole program, killed at random moments.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use world::{DEMO_NOW, Lists, World};

use crate::support::Hosted;

/// Pull requests of the dispatch that is killed.
const PULLS: u32 = 200;

/// Kills (issue: 20 times at random moments).
const KILLS: u32 = 20;

/// A number below `bound`, from a seed that each failure shows.
fn below(seed: &mut u64, bound: u64) -> u64 {
    // Knuth's linear congruential generator: the moments need not be good, they need to differ.
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

#[test]
fn kills_during_a_dispatch_lose_and_repeat_nothing() {
    let hosted = Hosted::new(World::many(PULLS, Lists::Medium));
    let desk = hosted.desk();
    let words = ["pr-state", "--now", DEMO_NOW, "--limit", "200"];

    // How long a whole dispatch takes here, so that the moments fall into it, its opening and its end.
    let began = Instant::now();
    let first = desk.run(&["pr-state", "--now", DEMO_NOW, "--limit", "200", "--dry-run"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let whole = u64::try_from(began.elapsed().as_micros()).unwrap();

    let mut seed = u64::from(std::process::id());
    println!("seed {seed}");
    for _ in 0..KILLS {
        let mut child = desk
            .command(&words)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let moment = Instant::now() + Duration::from_micros(below(&mut seed, whole * 3 / 2));
        while Instant::now() < moment && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let _ended_before = child.kill();
        child.wait().unwrap();
    }
    desk.good(&words);

    let mut ids = Vec::new();
    for mailbox in ["drip", "investigate", "qa", "retro"] {
        let inbox = desk.json(&["inbox", mailbox, "--json"]);
        let messages = inbox["messages"].as_array().unwrap();
        let seqs: Vec<u64> = messages
            .iter()
            .map(|message| message["seq"].as_u64().unwrap())
            .collect();
        assert_eq!(
            seqs,
            (1..=messages.len() as u64).collect::<Vec<_>>(),
            "{mailbox} has holes"
        );
        let of = |message: &Value| message["msg_id"].as_str().unwrap().to_owned();
        let here: Vec<String> = messages.iter().map(|message| of(&message["message"])).collect();
        let mirror: Vec<String> = std::fs::read_to_string(desk.home().join(format!("inbox/{mailbox}.jsonl")))
            .unwrap_or_default()
            .lines()
            .map(|line| of(&serde_json::from_str(line).unwrap()))
            .collect();
        assert_eq!(
            mirror.iter().collect::<BTreeSet<_>>(),
            here.iter().collect::<BTreeSet<_>>(),
            "the mirror of {mailbox}"
        );
        assert_eq!(
            mirror.len(),
            here.len(),
            "the mirror of {mailbox} has a line twice"
        );
        ids.extend(here);
    }
    assert_eq!(ids.len(), PULLS as usize);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), PULLS as usize);
}
