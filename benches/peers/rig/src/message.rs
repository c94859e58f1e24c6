//! The messages that everybody stores: JSON lines of about 300 bytes, as a dispatcher sends them. Ids of commits are
//! random and the words are few, as in real ones: what packs its data shall not look better than it is.

use serde::Deserialize;

/// The intent that all of them have.
pub const INTENT: &str = "reattest";

const REPOS: [&str; 12] = [
    "sharkdp/bat",
    "hyperium/hyper",
    "tokio-rs/tokio",
    "serde-rs/serde",
    "rust-lang/cargo",
    "clap-rs/clap",
    "BurntSushi/ripgrep",
    "rayon-rs/rayon",
    "diesel-rs/diesel",
    "actix/actix-web",
    "launchbadge/sqlx",
    "bevyengine/bevy",
];

const CHECKS: [&str; 8] = [
    "Test stable on windows-latest",
    "Test beta on ubuntu-latest",
    "rustfmt",
    "clippy (all features)",
    "msrv 1.74",
    "build aarch64-apple-darwin",
    "docs",
    "coverage",
];

/// Numbers that look random and are the same in every run (SplitMix64, seeded with FNV-1a).
struct Random(u64);

impl Random {
    fn of(id: &str) -> Self {
        let fold = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(id.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.next() as usize % from.len()]
    }
}

/// One message as a peer sees it: an id that must be unique, and the bytes.
#[derive(Debug, Clone)]
pub struct Item {
    pub id: String,
    pub line: String,
}

impl Item {
    /// The message with this number of this sender.
    pub fn new(sender: &str, number: usize) -> Self {
        let id = format!("{sender}-{number:07}");
        let mut random = Random::of(&id);
        let head: String = (0..3).map(|_| format!("{:016x}", random.next())).collect();
        let head = &head[..40];
        let repo = random.pick(&REPOS);
        let check = random.pick(&CHECKS);
        let (minute, days) = (random.next() % 60, random.next() % 90);
        let line = format!(
            r#"{{"ts":"2026-05-14T17:{minute:02}:00Z","from":"bench","intent":"{INTENT}","msg_id":"{id}","repo":"{repo}","pr":{number},"head_sha":"{head}","branch":"topic-{days}-{minute}","signals":{{"ci":"failing","check":"{check}","mergeable":"MERGEABLE"}},"reason":"CI failure: {check}"}}"#
        );
        Self { id, line }
    }

    /// Many of one sender, from this number on.
    pub fn many(sender: &str, from: usize, count: usize) -> Vec<Item> {
        (from..from + count)
            .map(|number| Item::new(sender, number))
            .collect()
    }
}

/// What a receiver decodes a message to: its header and its payload.
#[derive(Debug, Deserialize)]
pub struct Reattest {
    pub ts: String,
    pub from: String,
    pub intent: String,
    pub msg_id: String,
    pub repo: String,
    pub pr: u64,
    pub head_sha: String,
    pub branch: String,
    pub signals: Signals,
    pub reason: String,
}

#[derive(Debug, Deserialize)]
pub struct Signals {
    pub ci: String,
    pub check: String,
    pub mergeable: String,
}

/// Decodes a line and returns something of it, so that the work is not optimized away.
pub fn decoded(line: &str) -> u64 {
    let message: Reattest = serde_json::from_str(line).expect("it is a message of ours");
    message.pr + message.reason.len() as u64
}
