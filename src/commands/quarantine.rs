//! `sweep quarantine`: the messages that spent their attempts or were rejected, with each failure, and the two
//! ways out.

use std::fmt::Write as _;

use mailbox::{Envelope, Filter, MailboxName, MsgId, Standing};
use serde_json::json;

use super::ack::msg_id;
use super::inbox::{Shown, about, state};
use super::{Context, mailbox_name};
use crate::cli::{Listing, Quarantine, Quarantined};
use crate::failure::{Exit, Failure};
use crate::history::{self, History};
use crate::print::{self, Table};
use crate::wiring::Opened;

/// Carries it out.
pub async fn run(context: &Context, choice: Quarantine) -> Result<(), Failure> {
    let opened = Opened::open(&context.home, &context.config()?).await?;
    let done = match choice {
        Quarantine::List(listing) => list(&opened, &listing).await,
        Quarantine::Show(which) => show(&opened, &which).await,
        Quarantine::Retry(which) => settle(&opened, &which, None).await,
        Quarantine::Drop { which, reason } => settle(&opened, &which, Some(reason)).await,
    };
    opened.close().await;
    done
}

async fn list(opened: &Opened, listing: &Listing) -> Result<(), Failure> {
    let mut found: Vec<Envelope> = Vec::new();
    for status in opened.mailboxes.status().await? {
        let mut filter = Filter {
            standing: Some(Standing::Quarantined),
            ..Filter::default()
        };
        loop {
            let page = opened.mailboxes.envelopes(&status.name, filter.clone()).await?;
            let Some(last) = page.last().map(|envelope| envelope.seq) else {
                break;
            };
            found.extend(page);
            filter = filter.after(last);
        }
    }
    if listing.json {
        let shown: Vec<_> = found
            .iter()
            .map(|envelope| json!({ "mailbox": envelope.mailbox.as_str(), "message": Shown::from(envelope) }))
            .collect();
        return print::json(&json!({ "quarantined": shown }));
    }
    if found.is_empty() {
        return print::text("nothing is in quarantine");
    }
    let mut table = Table::new([
        "mailbox",
        "pull request",
        "intent",
        "attempts",
        "why",
        "message id",
    ]);
    for envelope in &found {
        table.row([
            envelope.mailbox.to_string(),
            about(envelope).map_or_else(|| "-".to_owned(), |pr| pr.to_string()),
            envelope.message.intent().to_owned(),
            envelope.attempts.to_string(),
            state(envelope).trim_start_matches("quarantined: ").to_owned(),
            envelope.message.msg_id().to_string(),
        ]);
    }
    print::text(&table.render())
}

async fn show(opened: &Opened, which: &Quarantined) -> Result<(), Failure> {
    let (of, id) = named(opened, which)?;
    let filter = Filter {
        id: Some(id.clone()),
        ..Filter::default()
    };
    let found = opened.mailboxes.envelopes(&of, filter).await?;
    let Some(seq) = found.first().map(|envelope| envelope.seq) else {
        return Err(
            Failure::new(Exit::Other, format!("mailbox {of} has no message {id}"))
                .mend("`sweep quarantine` lists what is in quarantine."),
        );
    };
    let mut text = String::new();
    for (envelope, events) in opened.mailboxes.history(&of, seq..=seq).await? {
        if which.json {
            return print::json(&History::of(&envelope, &events));
        }
        write!(
            text,
            "{}\n{}\n",
            history::text(&envelope, &events),
            print::shown(envelope.message.line())
        )
        .expect("a string takes every write");
    }
    print::raw(&text)
}

/// Takes a message out of quarantine: to be tried again, or dropped for a reason.
async fn settle(opened: &Opened, which: &Quarantined, dropped: Option<String>) -> Result<(), Failure> {
    let (of, id) = named(opened, which)?;
    let became = match &dropped {
        None => {
            opened.mailboxes.retry_quarantined(&of, &id).await?;
            "unread"
        }
        Some(reason) => {
            opened.mailboxes.drop_quarantined(&of, &id, reason).await?;
            "dropped"
        }
    };
    if which.json {
        return print::json(&json!({ "mailbox": of.as_str(), "msg_id": id.as_str(), "now": became }));
    }
    print::text(&format!("{of}: {id} is {became}"))
}

fn named(opened: &Opened, which: &Quarantined) -> Result<(MailboxName, MsgId), Failure> {
    let of = mailbox_name(&which.actor)?;
    opened.known(&of)?;
    Ok((of, msg_id(&which.msg_id)?))
}
