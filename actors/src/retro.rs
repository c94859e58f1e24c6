//! Keeps the record: one line in `<home>/retro.jsonl` for every pull request that needed nothing
//! (contract, section 5, `retro`).

use chrono::SecondsFormat;
use runtime::{Actor, Done, Fault, HomePath, Turn, message};
use serde::Serialize;

use crate::intents::Audit;

message! {
    /// What the record keeper consumes.
    pub enum RetroMessage {
        /// Nothing to do; keep it for the record.
        Audit(Audit),
    }
}

/// One line of the record. Its key is the message's id, so that a turn that runs again adds nothing.
#[derive(Debug, Serialize)]
struct Line<'a> {
    v: u32,
    /// When the dispatcher saw it so.
    ts: String,
    /// When the message was appended to the mailbox.
    appended_at: String,
    from: &'a str,
    msg_id: &'a str,
    #[serde(flatten)]
    audit: &'a Audit,
}

/// The record keeper.
#[derive(Debug, Default)]
pub struct Retro;

impl Actor for Retro {
    const NAME: &'static str = "retro";
    type Message = RetroMessage;

    async fn handle(&mut self, message: RetroMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let RetroMessage::Audit(audit) = message;
        let envelope = turn
            .envelope()
            .ok_or_else(|| Fault::reject("an audit without a message"))?;
        let header = &envelope.message;
        let appended_at: chrono::DateTime<chrono::Utc> = envelope.appended_at.into();
        let line = Line {
            v: 1,
            ts: header.ts().to_rfc3339_opts(SecondsFormat::Secs, true),
            appended_at: appended_at.to_rfc3339_opts(SecondsFormat::Millis, true),
            from: header.from(),
            msg_id: header.msg_id().as_str(),
            audit: &audit,
        };
        // An id may hold what JSON escapes, so the key is taken as the line will have it.
        let key = format!(
            "\"msg_id\":{}",
            serde_json::to_string(header.msg_id().as_str()).map_err(Fault::crash)?
        );
        let line = serde_json::to_string(&line).map_err(Fault::crash)?;
        turn.append_line(&HomePath::fixed("retro.jsonl"), key, line)
            .await?;
        Ok(Done::new("recorded"))
    }
}
