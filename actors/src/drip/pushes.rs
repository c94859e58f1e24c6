//! What was pushed in somebody's name: `<home>/pushes.jsonl`, a line a push, written before it.
//!
//! It is the record of what this program did to branches, and it is how a turn that runs again after a crash
//! knows that the head which it finds is its own doing.

use chrono::SecondsFormat;
use pulls::{PrRef, Sha};
use runtime::{EffectError, HomePath, Turn};
use serde::{Deserialize, Serialize};

/// The version of a line.
const VERSION: u32 = 1;

/// How far from its end the file is searched for the push of a turn that runs again, in bytes: some thousands of
/// pushes.
const TAIL: u64 = 1024 * 1024;

/// One push, as it is about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Push {
    pub(super) repo: String,
    pub(super) pr: u32,
    /// The repository that is pushed to.
    pub(super) to: String,
    pub(super) branch: String,
    /// The head that was seen, over which alone it is pushed.
    pub(super) from_sha: Sha,
    pub(super) to_sha: Sha,
    pub(super) commits: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    v: u32,
    ts: String,
    turn: String,
    #[serde(flatten)]
    push: Push,
}

impl Push {
    /// The outcome once it is done.
    pub(super) fn outcome(&self) -> String {
        let commits = match self.commits {
            1 => "1 commit".to_owned(),
            commits => format!("{commits} commits"),
        };
        format!("rebased and pushed: {commits}, now at {}", self.to_sha.short())
    }

    /// Notes the push down, once a turn and head.
    pub(super) async fn note(&self, turn: &mut Turn) -> Result<(), EffectError> {
        let line = Line {
            v: VERSION,
            ts: turn.now().to_rfc3339_opts(SecondsFormat::Secs, true),
            turn: turn.key().to_owned(),
            push: self.clone(),
        };
        let line =
            serde_json::to_string(&line).expect("a push has string keys only, and no failing serializer");
        // A push to another head is another line of the same turn: its base moved before it ran again.
        turn.append_line(&path(), format!("\"to_sha\":\"{}\"", self.to_sha), line)
            .await?;
        Ok(())
    }
}

/// The pushes that earlier runs of this turn were about to make, the newest last.
pub(super) async fn of_this_turn(turn: &mut Turn, at: &PrRef) -> Result<Vec<Push>, EffectError> {
    let tail = turn.read_tail(&path(), TAIL).await?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&tail)
        .lines()
        .filter_map(|line| serde_json::from_str::<Line>(line).ok())
        .filter(|line| line.turn == turn.key() && line.push.pr == at.number.get())
        .map(|line| line.push)
        .collect())
}

fn path() -> HomePath {
    HomePath::fixed("pushes.jsonl")
}
