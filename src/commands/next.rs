//! `sweep next ACTOR`: takes one message under a lease, for an actor that lives outside this process.

use std::borrow::Cow;

use mailbox::{Delivery, LeaseId, Lessee, Message, Nack};

use super::send::LEASE;
use super::{Context, mailbox_name};
use crate::cli::Next;
use crate::failure::{Exit, Failure};
use crate::print;
use crate::wiring::Opened;

/// Prints the message as one JSON line with its lease; with nothing to take, prints nothing.
pub async fn run(context: &Context, choice: &Next) -> Result<(), Failure> {
    let of = mailbox_name(&choice.actor)?;
    let config = context.config()?;
    let opened = Opened::open(&context.home, &config).await?;
    let taken = async {
        opened.known(&of)?;
        let lessee = Lessee::Pull {
            for_: choice.lease.get(),
        };
        match opened.mailboxes.try_lease(&of, lessee).await? {
            None => Ok(()),
            Some(delivery) => tell(&opened, delivery).await,
        }
    }
    .await;
    opened.close().await;
    taken
}

/// Prints the message. Nobody has it when it cannot be printed, also where a pipe was closed: it is handed back with
/// its attempt.
async fn tell(opened: &Opened, delivery: Delivery) -> Result<(), Failure> {
    let line = with_lease(&delivery.envelope.message, delivery.lease.id());
    let Err(error) = print::written(&format!("{line}\n")) else {
        return Ok(());
    };
    let back = Nack::HandBack {
        reason: "nobody read it".to_owned(),
        until: None,
    };
    opened.mailboxes.nack(delivery.lease, back).await?;
    Err(Failure::new(
        Exit::Other,
        "nobody took the message: cannot write to standard output",
    )
    .because(error)
    .mend("It is unread again, and no attempt is spent."))
}

/// The message's line as it is, with one field more.
fn with_lease(message: &Message, lease: LeaseId) -> String {
    let line = without_lease(message);
    let fields = line.strip_suffix('}').expect("a message is a JSON object");
    format!("{fields},\"lease\":\"{lease}\"}}")
}

/// The line without a field of that name, which another program's message may bring: no object says one
/// thing twice.
fn without_lease(message: &Message) -> Cow<'_, str> {
    let line = message.line().trim_end();
    let fields = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line);
    match fields.ok().filter(|fields| fields.contains_key(LEASE)) {
        Some(mut fields) => {
            fields.remove(LEASE);
            serde_json::Value::Object(fields).to_string().into()
        }
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_is_one_more_field_of_the_line() {
        let line = r#"{"ts":"2026-05-14T17:45:00Z","from":"t","intent":"note","msg_id":"m","n":0.10}"#;
        let message = Message::parse(line.as_bytes()).unwrap();
        assert_eq!(
            with_lease(&message, LeaseId::from_u128(1)),
            r#"{"ts":"2026-05-14T17:45:00Z","from":"t","intent":"note","msg_id":"m","n":0.10,"lease":"00000000-0000-0000-0000-000000000001"}"#
        );
    }
}
