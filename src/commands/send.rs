//! `sweep send ACTOR INTENT`: puts one message in a mailbox.

use std::fs::File;
use std::io::{self, Read};

use chrono::{DateTime, SecondsFormat, SubsecRound as _, Utc};
use mailbox::{Appended, EnvelopeState, Filter, HEADER_FIELDS, MAX_MESSAGE, MailboxError, MailboxName};
use mailbox::{Mailboxes, Message, MsgId, Seq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{Context, mailbox_name};
use crate::cli::Send;
use crate::failure::{Exit, Failure};
use crate::print;
use crate::wiring::Opened;

/// Who a message that a person sends is from.
const FROM: &str = "send";

/// What `sweep next` adds to a message's line.
pub const LEASE: &str = "lease";

/// Sends it.
pub async fn run(context: &Context, choice: &Send) -> Result<(), Failure> {
    let to = mailbox_name(&choice.actor)?;
    let config = context.config()?;
    let message = message(context, choice)?;
    let opened = Opened::open(&context.home, &config).await?;
    let sent = async {
        let draft = opened.registry.accept(&to, message.clone())?;
        let appended = opened.mailboxes.append(vec![draft]).await?;
        let appended = appended.into_iter().next().expect("one draft has one answer");
        let stands = match &appended {
            Appended::Known { seq, outcome: None } => stands(&opened.mailboxes, &to, *seq).await?,
            _ => "",
        };
        Ok::<_, Failure>((appended, stands))
    }
    .await;
    opened.close().await;
    let id = message.msg_id();
    let (appended, stands) = sent?;
    let (seq, outcome) = match appended {
        Appended::Placed(seq) => (seq, None),
        Appended::Known { seq, outcome } => (seq, Some(outcome)),
    };
    if choice.json {
        return print::json(&json!({
            "mailbox": to.as_str(), "seq": seq, "msg_id": id.as_str(),
            "known": outcome.is_some(), "outcome": outcome.flatten(),
        }));
    }
    print::text(&match outcome {
        None => format!("{to} #{seq}: {id}"),
        Some(None) => format!("{to} #{seq}: {id} was there before, {stands}"),
        Some(Some(outcome)) => format!("{to} #{seq}: {id} was there before: {}", print::shown(&outcome)),
    })
}

/// How a message stands that is known and has no outcome.
async fn stands(mailboxes: &Mailboxes, of: &MailboxName, seq: Seq) -> Result<&'static str, MailboxError> {
    let one = Filter {
        limit: 1,
        ..Filter::all().after(Seq(seq.0.saturating_sub(1)))
    };
    let found = mailboxes.envelopes(of, one).await?;
    Ok(match found.first().map(|envelope| &envelope.state) {
        Some(EnvelopeState::Unread { .. }) => "unread",
        Some(EnvelopeState::Leased { .. }) => "taken",
        Some(EnvelopeState::Quarantined { .. }) => "in quarantine",
        // It was settled, or pruned, this moment.
        Some(EnvelopeState::Acked { .. }) | None => "settled",
    })
}

/// The message that the command line describes.
fn message(context: &Context, choice: &Send) -> Result<Message, Failure> {
    let ts = context.now.unwrap_or_else(Utc::now).trunc_subsecs(0);
    let id = match &choice.msg_id {
        Some(id) => id.clone(),
        None => fresh_id(ts, choice),
    };
    let id: MsgId = id
        .parse()
        .map_err(|error: mailbox::NameError| Failure::new(Exit::Usage, "--msg-id").because(error))?;
    let mut body = Vec::new();
    if let Some(repo) = &choice.repo {
        body.push(("repo".to_owned(), json!(repo.as_str())));
    }
    if let Some(pr) = choice.pr {
        body.push(("pr".to_owned(), json!(pr)));
    }
    let named = body.len();
    if let Some(payload) = &choice.payload {
        for (field, value) in read_payload(payload)? {
            if HEADER_FIELDS.contains(&field.as_str()) || field == LEASE {
                return Err(Failure::new(
                    Exit::Usage,
                    format!("--payload has a field `{field}`, which is the header's"),
                )
                .mend("Give it another name; --msg-id names the message, and the rest is filled in."));
            }
            if body[..named].iter().any(|(known, _)| *known == field) {
                return Err(
                    Failure::new(Exit::Usage, format!("--payload says `{field}` once more"))
                        .mend("Say it by its option or in the payload."),
                );
            }
            body.push((field, value));
        }
    }
    Ok(Message::build(ts, FROM, &choice.intent, &id, Fields(body))?)
}

/// A JSON object whose fields stay in their order: the repository and the pull request first, as in every
/// message.
struct Fields(Vec<(String, Value)>);

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(field, value)| (field, value)))
    }
}

/// `send-<ts>-<owner>-<repo>-<pr>-<random>`: what a person sends twice was meant twice.
fn fresh_id(ts: DateTime<Utc>, choice: &Send) -> String {
    let mut id = format!("{FROM}-{}", ts.to_rfc3339_opts(SecondsFormat::Secs, true));
    if let Some(repo) = &choice.repo {
        id.push_str(&format!("-{}", repo.slug()));
    }
    if let Some(pr) = choice.pr {
        id.push_str(&format!("-{pr}"));
    }
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{id}-{}", &random[..8])
}

/// A JSON object: as it stands, from `@FILE`, or from standard input with `-`.
fn read_payload(payload: &str) -> Result<Map<String, Value>, Failure> {
    let refuse = |cause: Box<dyn std::error::Error + std::marker::Send + Sync>| {
        Failure::new(Exit::Usage, "--payload is not a JSON object")
            .because(cause)
            .mend("Write it like '{\"reason\":\"…\"}', or name a file as @FILE, or `-` for standard input.")
    };
    let text = match payload.strip_prefix('@') {
        Some(file) => open_regular(file).and_then(bounded).map_err(|error| {
            Failure::new(Exit::Usage, format!("--payload: cannot read {file}"))
                .because(error)
                .mend("Name a file that holds a JSON object, or `-` for standard input.")
        })?,
        None if payload == "-" => bounded(io::stdin().lock()).map_err(|error| {
            Failure::new(Exit::Other, "--payload: cannot read standard input").because(error)
        })?,
        None => payload.to_owned(),
    };
    if text.len() > MAX_MESSAGE {
        return Err(Failure::new(
            Exit::Other,
            format!("--payload has more than {MAX_MESSAGE} bytes, the most that a message may have"),
        )
        .mend("Send where it lies instead of what it is."));
    }
    serde_json::from_str(&text).map_err(|error| refuse(error.into()))
}

/// A pipe or a device in its place would be waited for without end.
fn open_regular(file: &str) -> io::Result<File> {
    match std::fs::metadata(file)?.is_file() {
        true => File::open(file),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// All of it, or one byte more than a message may have.
fn bounded(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    let limit = u64::try_from(MAX_MESSAGE).unwrap_or(u64::MAX);
    from.take(limit + 1).read_to_string(&mut text)?;
    Ok(text)
}
