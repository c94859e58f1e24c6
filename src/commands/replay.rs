//! `sweep replay ACTOR`: the post-mortem. A mailbox in order, each message with everything that happened to it.
//! Nothing is changed: where no `sweep run` can be asked, a copy of the mailboxes is read.

use mailbox::{Moment, Replay, Replayed};

use super::ack::msg_id;
use super::inbox::about;
use super::{Context, mailbox_name};
use crate::cli;
use crate::failure::Failure;
use crate::history::{self, History};
use crate::print;
use crate::wiring::PostMortem;

/// Prints it.
pub async fn run(context: &Context, choice: &cli::Replay) -> Result<(), Failure> {
    let of = mailbox_name(&choice.actor)?;
    let id = choice.msg_id.as_deref().map(msg_id).transpose()?;
    let opened = PostMortem::open(&context.home, &context.config()?).await?;
    opened.known(&of)?;
    let (since, until) = (choice.since.map(Moment::from), choice.until.map(Moment::from));
    let is_wanted = |message: &Replayed| {
        let envelope = &message.envelope;
        message.within(since, until)
            && id.as_ref().is_none_or(|id| id == envelope.message.msg_id())
            && choice
                .pr
                .as_ref()
                .is_none_or(|pr| about(envelope).as_ref() == Some(pr))
    };
    let mut replay = Replay::new(opened.mailboxes.clone(), of.clone());
    let mut printed = 0;
    if choice.json {
        print::raw(&format!("{{\"mailbox\":\"{of}\",\"messages\":["))?;
    }
    while let Some(page) = replay.next_page().await? {
        for mut message in page {
            // Reading a copy is a life of its own, which ends the lives before it: that is no part of the story.
            message
                .events
                .retain(|event| opened.read_at.is_none_or(|read_at| event.at < read_at));
            if !is_wanted(&message) {
                continue;
            }
            let Replayed { envelope, events } = &message;
            if choice.json {
                let comma = if printed == 0 { "" } else { "," };
                let shown = serde_json::to_string(&History::of(envelope, events))
                    .expect("a history has string keys and finite numbers");
                print::raw(&format!("{comma}{shown}"))?;
            } else {
                print::raw(&history::text(envelope, events))?;
            }
            printed += 1;
        }
    }
    opened.close().await;
    match (choice.json, printed) {
        (true, _) => print::raw("]}\n"),
        (false, 0) => print::text("no messages"),
        (false, _) => Ok(()),
    }
}
