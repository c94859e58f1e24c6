//! The drip queue's line of a pull request, brought up to date by appending one.

use chrono::SecondsFormat;
use lifecycle::QueueLine;
use pulls::Sha;
use runtime::{Fault, HomePath, Turn};
use serde_json::Value;

/// How a rebase ended, for other programs that read the queue.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rebased {
    Pushed,
    Clean,
    Conflict,
}

impl Rebased {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pushed => "pushed",
            Self::Clean => "clean",
            Self::Conflict => "conflict",
        }
    }
}

/// Appends the line as it stands with how the rebase ended, once a turn. It goes to the file that holds the last
/// line, since files are read in name order; where the queue says nothing of the pull request, neither do we.
pub(super) async fn record(
    turn: &mut Turn,
    queued: Option<&QueueLine>,
    rebased: Rebased,
    head: &Sha,
) -> Result<(), Fault> {
    let Some(QueueLine { file, fields }) = queued else {
        return Ok(());
    };
    let key = turn.key().to_owned();
    let mut fields = fields.clone();
    let now = turn.now().to_rfc3339_opts(SecondsFormat::Secs, true);
    for (name, value) in [
        ("ts", now.as_str()),
        ("rebase", rebased.as_str()),
        ("head_sha", head.as_str()),
        ("turn", key.as_str()),
    ] {
        fields.insert(name.to_owned(), Value::from(value));
    }
    let path = HomePath::fixed("drip-queue").join(file)?;
    turn.append_line(&path, key, Value::Object(fields).to_string())
        .await?;
    Ok(())
}
