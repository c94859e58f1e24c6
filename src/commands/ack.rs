//! `sweep ack` and `sweep nack`: what became of a message that was taken with `sweep next`.

use chrono::{DateTime, Utc};
use mailbox::{AckedBy, Done, FailureKind, LeaseId, MsgId, Nack};
use serde_json::json;

use super::{Context, mailbox_name};
use crate::cli;
use crate::failure::{Exit, Failure};
use crate::print;
use crate::wiring::Opened;

/// Acknowledges a message.
pub async fn ack(context: &Context, choice: &cli::Ack) -> Result<(), Failure> {
    let of = mailbox_name(&choice.actor)?;
    let id = msg_id(&choice.msg_id)?;
    let lease = lease(choice.lease.as_deref())?;
    let opened = Opened::open(&context.home, &context.config()?).await?;
    let acked = async {
        opened.known(&of)?;
        let done = Done::new(&choice.outcome);
        Ok::<_, Failure>(
            opened
                .mailboxes
                .ack_by_id(&of, &id, lease, AckedBy::Pull, done)
                .await?,
        )
    }
    .await;
    opened.close().await;
    acked?;
    if choice.json {
        return print::json(
            &json!({ "mailbox": of.as_str(), "msg_id": id.as_str(), "outcome": choice.outcome }),
        );
    }
    print::text(&format!("{of}: {id} acked: {}", print::shown(&choice.outcome)))
}

/// Hands a message back.
pub async fn nack(context: &Context, choice: &cli::Nack) -> Result<(), Failure> {
    let of = mailbox_name(&choice.actor)?;
    let id = msg_id(&choice.msg_id)?;
    let lease = lease(choice.lease.as_deref())?;
    let nack = if choice.reject {
        Nack::Reject {
            reason: choice.reason.clone(),
        }
    } else {
        Nack::Failed {
            reason: choice.reason.clone(),
            retry_after: choice.retry_after.map(|span| span.get()),
            kind: FailureKind::Explained,
        }
    };
    let opened = Opened::open(&context.home, &context.config()?).await?;
    let nacked = async {
        opened.known(&of)?;
        Ok::<_, Failure>(opened.mailboxes.nack_by_id(&of, &id, lease, nack).await?)
    }
    .await;
    opened.close().await;
    let nacked = nacked?;
    let next: Option<DateTime<Utc>> = nacked.next.map(DateTime::from);
    if choice.json {
        return print::json(&json!({
            "mailbox": of.as_str(), "msg_id": id.as_str(), "quarantined": nacked.quarantined, "next": next,
        }));
    }
    print::text(&match (nacked.quarantined, next) {
        (true, _) => format!("{of}: {id} is in quarantine"),
        (false, Some(next)) => format!("{of}: {id} is unread again, not before {}", print::moment(next)),
        (false, None) => format!("{of}: {id} is unread again"),
    })
}

/// A message id as it stands on the command line.
pub fn msg_id(text: &str) -> Result<MsgId, Failure> {
    text.parse()
        .map_err(|error: mailbox::NameError| Failure::new(Exit::Usage, "MSG_ID").because(error))
}

fn lease(text: Option<&str>) -> Result<Option<LeaseId>, Failure> {
    text.map(|text| {
        text.parse().map_err(|_| {
            Failure::new(Exit::Usage, format!("{text:?} is not a lease"))
                .mend("Give the `lease` that `sweep next` printed, or leave --lease out.")
        })
    })
    .transpose()
}
