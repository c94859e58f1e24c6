//! `sweep inbox [ACTOR]`: the mailboxes with counts, or one actor's messages with attempts and acks.

use chrono::{DateTime, Utc};
use mailbox::{Envelope, EnvelopeState, Filter, MailboxName, MailboxStatus, Moment, Seq};
use pulls::PrRef;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Context, mailbox_name};
use crate::cli::Inbox;
use crate::failure::{Exit, Failure};
use crate::print::{self, Table};
use crate::wiring::Opened;

/// Prints it.
pub async fn run(context: &Context, choice: &Inbox) -> Result<(), Failure> {
    let config = context.config()?;
    let opened = Opened::open(&context.home, &config).await?;
    let printed = match &choice.actor {
        None => mailboxes(context, &opened, choice).await,
        Some(actor) => messages(&opened, &mailbox_name(actor)?, choice).await,
    };
    opened.close().await;
    printed
}

/// What `--json` prints of all mailboxes.
#[derive(Debug, Serialize)]
struct Document<'a> {
    mailboxes: Vec<Counts<'a>>,
}

/// One mailbox in numbers, as `--json` shows it.
#[derive(Debug, Serialize)]
struct Counts<'a> {
    name: &'a str,
    total: u64,
    unread: u64,
    leased: u64,
    backing_off: u64,
    acked: u64,
    quarantined: u64,
    oldest_unread: Option<DateTime<Utc>>,
}

impl<'a> From<&'a MailboxStatus> for Counts<'a> {
    fn from(status: &'a MailboxStatus) -> Self {
        Self {
            name: status.name.as_str(),
            total: status.total,
            unread: status.unread,
            leased: status.leased,
            backing_off: status.backing_off,
            acked: status.acked,
            quarantined: status.quarantined,
            oldest_unread: status.oldest_unread.map(DateTime::from),
        }
    }
}

async fn mailboxes(context: &Context, opened: &Opened, choice: &Inbox) -> Result<(), Failure> {
    let status = opened.mailboxes.status().await?;
    let counts: Vec<Counts<'_>> = status.iter().map(Counts::from).collect();
    if choice.json {
        return print::json(&Document { mailboxes: counts });
    }
    let now = context.now_or(opened.clock.as_ref());
    let mut table = Table::new([
        "mailbox",
        "unread",
        "leased",
        "backing off",
        "acked",
        "quarantined",
        "total",
        "oldest unread",
    ]);
    for mailbox in &counts {
        table.row([
            mailbox.name.to_owned(),
            mailbox.unread.to_string(),
            mailbox.leased.to_string(),
            mailbox.backing_off.to_string(),
            mailbox.acked.to_string(),
            mailbox.quarantined.to_string(),
            mailbox.total.to_string(),
            mailbox
                .oldest_unread
                .map_or_else(|| "-".to_owned(), |oldest| print::age(now - oldest)),
        ]);
    }
    print::text(&table.render())
}

/// Prints a mailbox page by page, so that one of a million messages needs no more memory than one of ten.
async fn messages(opened: &Opened, of: &MailboxName, choice: &Inbox) -> Result<(), Failure> {
    let status = opened.mailboxes.status().await?;
    if !status.iter().any(|mailbox| mailbox.name == *of) {
        let known: Vec<&str> = status.iter().map(|mailbox| mailbox.name.as_str()).collect();
        return Err(Failure::new(Exit::Usage, format!("there is no mailbox {of}"))
            .mend(format!("The mailboxes are: {}.", known.join(", "))));
    }
    let mut filter = if choice.unread {
        Filter::unread()
    } else {
        Filter::all()
    };
    let mut listing = Listing::begin(of, choice)?;
    loop {
        let page = opened.mailboxes.envelopes(of, filter.clone()).await?;
        let Some(last) = page.last().map(|envelope| envelope.seq) else {
            return listing.end();
        };
        let wanted: Vec<Envelope> = page
            .into_iter()
            .filter(|envelope| {
                choice
                    .pr
                    .as_ref()
                    .is_none_or(|pr| about(envelope).as_ref() == Some(pr))
            })
            .collect();
        listing.page(&wanted)?;
        filter = filter.after(last);
    }
}

/// The pull request that a message says it is about.
pub fn about(envelope: &Envelope) -> Option<PrRef> {
    let body = envelope.message.body();
    Some(PrRef {
        repo: body.get("repo")?.as_str()?.parse().ok()?,
        number: body.get("pr")?.as_u64()?.try_into().ok()?,
    })
}

/// What of a listing is printed so far.
struct Listing {
    json: bool,
    printed: usize,
}

impl Listing {
    fn begin(of: &MailboxName, choice: &Inbox) -> Result<Self, Failure> {
        if choice.json {
            print::raw(&format!("{{\"mailbox\":\"{of}\",\"messages\":["))?;
        }
        Ok(Self {
            json: choice.json,
            printed: 0,
        })
    }

    fn page(&mut self, envelopes: &[Envelope]) -> Result<(), Failure> {
        if self.json {
            for envelope in envelopes {
                let comma = if self.printed == 0 { "" } else { "," };
                let shown = serde_json::to_string(&Shown::from(envelope))
                    .expect("an envelope has string keys and finite numbers");
                print::raw(&format!("{comma}{shown}"))?;
                self.printed += 1;
            }
            return Ok(());
        }
        if envelopes.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(["seq", "pull request", "intent", "attempts", "state", "message id"]);
        for envelope in envelopes {
            table.row([
                envelope.seq.to_string(),
                about(envelope).map_or_else(|| "-".to_owned(), |pr| pr.to_string()),
                envelope.message.intent().to_owned(),
                envelope.attempts.to_string(),
                state(envelope),
                envelope.message.msg_id().to_string(),
            ]);
        }
        self.printed += envelopes.len();
        print::text(&table.render())
    }

    fn end(self) -> Result<(), Failure> {
        match (self.json, self.printed) {
            (true, _) => print::raw("]}\n"),
            (false, 0) => print::text("no messages"),
            (false, _) => Ok(()),
        }
    }
}

/// A message's state in a few words.
pub fn state(envelope: &Envelope) -> String {
    match &envelope.state {
        EnvelopeState::Unread { not_before: None } => "unread".to_owned(),
        EnvelopeState::Unread {
            not_before: Some(moment),
        } => format!("unread, not before {}", print::moment((*moment).into())),
        EnvelopeState::Leased { until: None, .. } => "leased".to_owned(),
        EnvelopeState::Leased {
            until: Some(moment), ..
        } => format!("leased until {}", print::moment((*moment).into())),
        EnvelopeState::Acked { outcome, .. } => format!("acked: {outcome}"),
        EnvelopeState::Quarantined { reason, .. } => format!("quarantined: {reason}"),
    }
}

/// A message and where it stands, as `--json` shows it.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    seq: Seq,
    attempts: u32,
    appended_at: DateTime<Utc>,
    cause: Option<&'a str>,
    #[serde(flatten)]
    state: ShownState<'a>,
    message: &'a RawValue,
}

/// Where a message stands, as `--json` shows it.
#[derive(Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum ShownState<'a> {
    Unread {
        not_before: Option<DateTime<Utc>>,
    },
    Leased {
        lease: String,
        until: Option<DateTime<Utc>>,
    },
    Acked {
        outcome: &'a str,
        at: DateTime<Utc>,
        by: String,
    },
    Quarantined {
        reason: &'a str,
        at: DateTime<Utc>,
    },
}

impl<'a> From<&'a Envelope> for Shown<'a> {
    fn from(envelope: &'a Envelope) -> Self {
        let moment = |moment: Option<Moment>| moment.map(DateTime::from);
        Self {
            seq: envelope.seq,
            attempts: envelope.attempts,
            appended_at: envelope.appended_at.into(),
            cause: envelope.cause.as_ref().map(|cause| cause.as_str()),
            state: match &envelope.state {
                EnvelopeState::Unread { not_before } => ShownState::Unread {
                    not_before: moment(*not_before),
                },
                EnvelopeState::Leased { lease, until, .. } => ShownState::Leased {
                    lease: lease.to_string(),
                    until: moment(*until),
                },
                EnvelopeState::Acked { outcome, at, by } => ShownState::Acked {
                    outcome,
                    at: (*at).into(),
                    by: by.to_string(),
                },
                EnvelopeState::Quarantined { at, reason, .. } => ShownState::Quarantined {
                    reason,
                    at: (*at).into(),
                },
            },
            message: serde_json::from_str(envelope.message.line()).expect("a message is a JSON object"),
        }
    }
}
