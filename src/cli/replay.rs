//! `sweep replay`.

use chrono::{DateTime, Utc};
use clap::Args;
use pulls::PrRef;

use super::moment;

/// `sweep replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// Whose mailbox
    #[arg(required_unless_present = "projection")]
    pub actor: Option<String>,
    /// Only what happened at or after this moment; with --projection, also the decisions since then
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    pub since: Option<DateTime<Utc>>,
    /// Only messages to which something happened before this moment
    #[arg(long, value_name = "RFC3339", value_parser = moment)]
    pub until: Option<DateTime<Utc>>,
    /// Only messages about this pull request
    #[arg(long, value_name = "OWNER/NAME#N")]
    pub pr: Option<PrRef>,
    /// Only this message
    #[arg(long, value_name = "ID")]
    pub msg_id: Option<String>,
    /// Run the handler on each message again, every effect noted down instead of done, and show what differs
    #[arg(long)]
    pub rerun: bool,
    /// Today's projection over the recorded evidence: which maintained pull requests would be in another state
    #[arg(long, conflicts_with_all = ["actor", "until", "pr", "msg_id", "rerun"])]
    pub projection: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}
