//! `sweep torture`: kills and full disks, over the real program.

use std::process::{Command, Stdio};

use crate::support::{Desk, wait_for};

/// Kills in an ordinary test run, and with `SWEEP_LONG` set.
const KILLS: [&str; 2] = ["20", "500"];

fn scratch(desk: &Desk) -> Vec<String> {
    let beside = desk.beside("");
    std::fs::read_dir(beside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("torture"))
        .collect()
}

/// Contract, section 3, rules 1 to 4, on this machine.
#[test]
fn torture_kills_its_writers_and_finds_every_promise_kept() {
    let desk = Desk::new();
    let kills = KILLS[usize::from(std::env::var_os("SWEEP_LONG").is_some())];
    let saw = desk.json(&["torture", "--kill", kills, "--full-disk", "2", "--json"]);
    println!("{saw}");
    for broken in [
        "lost",
        "doubled",
        "out_of_order",
        "changed",
        "unread_again",
        "failed_opens",
        "failures",
    ] {
        assert_eq!(saw[broken], 0, "{broken}: {saw}");
    }
    let count = |what: &str| saw[what].as_u64().unwrap();
    assert!(count("acknowledged") > 100 && count("handled") > 0, "{saw}");
    assert!(count("opened") >= 10, "{saw}");
    assert!(saw["full_disk_by"].is_string(), "{saw}");
    assert_eq!(scratch(&desk), [""; 0]);
    assert!(!desk.home().exists(), "the home is not touched");
}

#[test]
fn torture_that_is_interrupted_cleans_up() {
    let desk = Desk::new();
    let mut torture = desk
        .command(&["torture", "--kill", "1000", "--full-disk", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("in a round", || {
        scratch(&desk)
            .iter()
            .any(|name| desk.beside(name).join("mailbox-0").exists())
    });
    let sent = Command::new("kill")
        .args(["-s", "INT", &torture.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    assert_eq!(torture.wait().unwrap().code(), Some(1));
    assert_eq!(scratch(&desk), [""; 0]);
}
