//! `sweep actors`: every declared actor, and what a person must look at.

use chrono::DateTime;
use runtime::Overview;
use serde::Serialize;

use super::Context;
use crate::cli::Listing;
use crate::failure::Failure;
use crate::print::{self, Table};
use crate::views::{ActorView, AttentionView};
use crate::wiring::Opened;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Document<'a> {
    actors: Vec<ActorView<'a>>,
    attention: Vec<AttentionView<'a>>,
}

/// Prints them, as they fare in the process that hosts them where there is one.
pub async fn run(context: &Context, listing: &Listing) -> Result<(), Failure> {
    let config = context.config()?;
    let opened = Opened::open(&context.home, &config).await?;
    let overview = opened.overview(&config).await;
    let now = context.now_or(opened.clock.as_ref());
    opened.close().await;
    let Overview { actors, attention } = overview?;
    if listing.json {
        return print::json(&Document {
            actors: actors.iter().map(ActorView::from).collect(),
            attention: attention.iter().map(AttentionView::from).collect(),
        });
    }
    let mut table = Table::new([
        "actor",
        "state",
        "restarts",
        "unread",
        "oldest unread",
        "quarantined",
        "consumes",
    ]);
    for actor in &actors {
        table.row([
            actor.name.to_string(),
            actor.state.word().to_owned(),
            actor.restarts.to_string(),
            actor.unread.to_string(),
            actor.oldest_unread.map_or_else(
                || "-".to_owned(),
                |oldest| print::age(now - DateTime::from(oldest)),
            ),
            actor.quarantined.to_string(),
            if actor.intents.is_empty() {
                "-".to_owned()
            } else {
                actor.intents.join(", ")
            },
        ]);
    }
    let mut text = table.render();
    for attention in &attention {
        text.push_str(&format!(
            "attention: {}; {}\n",
            print::shown(&attention.text),
            print::shown(&attention.mend)
        ));
    }
    print::text(&text)
}
