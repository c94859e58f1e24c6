//! The messages that everybody stores: JSON lines of about 300 bytes, as a dispatcher sends them.

use serde::Deserialize;

/// The intent that all of them have.
pub const INTENT: &str = "reattest";

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
        let line = format!(
            r#"{{"ts":"2026-05-14T17:45:00Z","from":"bench","intent":"{INTENT}","msg_id":"{id}","repo":"owner/name","pr":{number},"branch":"zsh-color-never","signals":{{"ci":"failing","check":"Test stable on windows-latest","mergeable":"MERGEABLE"}},"reason":"CI failure on windows, the same as two days ago"}}"#
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
