//! `sweep replay ACTOR`: the post-mortem. A mailbox in order, each message with everything that happened to it; with
//! `--rerun`, what its handler makes of it today. Nothing is changed: where no `sweep run` can be asked, a copy of the
//! mailboxes is read.

mod compare;
mod projection;
mod rerun;
mod standing;

use std::sync::Arc;

use mailbox::{Moment, Replay, Replayed, SystemClock};
use serde::Serialize;
use serde_json::json;

use super::ack::msg_id;
use super::inbox::about;
use super::{Context, mailbox_name};
use crate::cli;
use crate::failure::Failure;
use crate::history::{self, History};
use crate::print;
use crate::progress::Progress;
use crate::wiring::PostMortem;
use compare::{Reads, Stands, Verdict};
use rerun::{Effect, Outcome, Rerunner};

pub use projection::run as projection;

/// Prints it.
pub async fn run(context: &Context, choice: &cli::Replay) -> Result<(), Failure> {
    let of = mailbox_name(choice.actor.as_deref().unwrap_or_default())?;
    let id = choice.msg_id.as_deref().map(msg_id).transpose()?;
    let config = context.config()?;
    let opened = PostMortem::open(&context.home, &config).await?;
    opened.known(&of)?;
    let mut rerunner = None;
    if choice.rerun {
        let clock = Arc::new(SystemClock::start());
        let home = &context.home.path;
        rerunner = Some(Rerunner::new(&of, &opened, &config, home, clock, context.now).await?);
    }
    let mut listing = Listing::begin(choice, &of, rerunner.as_ref())?;
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
    let progress = choice.rerun.then(|| Progress::start("running messages again"));
    let mut replay = Replay::new(opened.mailboxes.clone(), of.clone());
    while let Some(page) = replay.next_page().await.map_err(|error| opened.failed(error))? {
        for mut message in page {
            opened.as_it_was(&mut message);
            if !is_wanted(&message) {
                continue;
            }
            let outcome = match &rerunner {
                Some(rerunner) => Some(rerunner.again(&message).await?),
                None => None,
            };
            listing.message(&message, outcome.as_ref())?;
            if let Some(progress) = &progress {
                progress.count(listing.printed);
            }
        }
    }
    opened.close().await;
    listing.end()
}

/// What of it is printed so far.
struct Listing {
    json: bool,
    /// Whether messages are run again.
    runs: bool,
    /// Whether they were to be and are only shown, which is said once: those of a program, say.
    shown_only: bool,
    printed: u64,
    tally: Tally,
}

/// How many messages came to what.
#[derive(Debug, Default, Serialize)]
struct Tally {
    same: u64,
    code_moved: u64,
    world_moved: u64,
    differs: u64,
    new: u64,
    stopped: u64,
    not_run: u64,
}

impl Listing {
    fn begin(
        choice: &cli::Replay,
        of: &mailbox::MailboxName,
        rerunner: Option<&Rerunner>,
    ) -> Result<Self, Failure> {
        let shown_only = rerunner.and_then(Rerunner::shown_only);
        if choice.json {
            print::raw(&format!("{{\"mailbox\":\"{of}\",\"messages\":["))?;
        } else if let Some(why) = shown_only {
            print::text(&format!("{why}: its messages are shown\n"))?;
        }
        Ok(Self {
            json: choice.json,
            runs: rerunner.is_some(),
            shown_only: shown_only.is_some(),
            printed: 0,
            tally: Tally::default(),
        })
    }

    fn message(&mut self, message: &Replayed, outcome: Option<&Outcome>) -> Result<(), Failure> {
        let Replayed { envelope, events } = message;
        let comma = if self.printed == 0 { "" } else { "," };
        self.printed += 1;
        if let Some(outcome) = outcome {
            self.tally.count(outcome.verdict);
        }
        if !self.json {
            return print::raw(&match outcome {
                Some(outcome) if !self.shown_only => again(message, outcome),
                _ => history::text(envelope, events),
            });
        }
        let mut shown = serde_json::to_string(&History::of(envelope, events))
            .expect("a history has string keys and finite numbers");
        if let Some(outcome) = outcome {
            shown.pop();
            let outcome = serde_json::to_string(outcome).expect("an outcome has string keys and no numbers");
            shown.push_str(&format!(",\"rerun\":{outcome}}}"));
        }
        print::raw(&format!("{comma}{shown}"))
    }

    fn end(self) -> Result<(), Failure> {
        match (self.json, self.runs) {
            (true, false) => print::raw("]}\n"),
            (true, true) => print::raw(&format!("],\"summary\":{}}}\n", json!(self.tally))),
            (false, _) if self.printed == 0 => print::text("no messages"),
            (false, false) => Ok(()),
            (false, true) if self.shown_only => Ok(()),
            (false, true) => print::text(&format!("\n{}", self.tally.words())),
        }
    }
}

impl Tally {
    fn count(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::Same => &mut self.same,
            Verdict::CodeMoved => &mut self.code_moved,
            Verdict::WorldMoved => &mut self.world_moved,
            Verdict::Differs => &mut self.differs,
            Verdict::New => &mut self.new,
            Verdict::Stopped => &mut self.stopped,
            Verdict::NotRun => &mut self.not_run,
        } += 1;
    }

    /// Each kind that there is: `9 the same, 1 differs (the world moved)`.
    fn words(&self) -> String {
        let parts: Vec<String> = [
            (self.same, "the same"),
            (
                self.code_moved,
                "otherwise though the same was read (the code moved)",
            ),
            (
                self.world_moved,
                "otherwise on something else that was read (the world moved)",
            ),
            (self.differs, "otherwise, it is not kept on what reads"),
            (self.new, "not handled before"),
            (
                self.stopped,
                "ended before an act outside, which a replay does not do",
            ),
            (self.not_run, "not run"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
        parts.join("; ")
    }
}

/// A message that was run again, as lines: what came of it then and now, and what it would do.
fn again(message: &Replayed, outcome: &Outcome) -> String {
    let Replayed { envelope, events } = message;
    if outcome.verdict == Verdict::NotRun {
        let mut text = history::text(envelope, events);
        text.push_str(&format!("  not run: {}\n", print::shown(&outcome.now)));
        return text;
    }
    let mut text = history::title(envelope);
    let mut line = |word: &str, rest: &str| text.push_str(&format!("  {word:<5} {}\n", print::shown(rest)));
    if outcome.verdict == Verdict::Same {
        line("same", &outcome.now);
        if outcome.read == Some(Reads::Other) {
            line("", "though something else was read");
        }
    } else {
        line("then", outcome.then.as_deref().unwrap_or("not handled yet"));
        line("now", &outcome.now);
        let why = match outcome.verdict {
            Verdict::CodeMoved => "the same was read: the code or the configuration moved",
            Verdict::WorldMoved => "something else was read: the world moved",
            Verdict::Differs => "what was read then is not kept: the code moved, or the world did",
            Verdict::Stopped => "a replay does nothing outside; what would come of it is not known",
            Verdict::Same | Verdict::New | Verdict::NotRun => "",
        };
        if !why.is_empty() {
            line("why", why);
        }
    }
    // Where it ended is said already.
    let others = outcome
        .effects
        .iter()
        .filter(|effect| outcome.stopped_at.as_ref() != Some(&effect.what));
    for Effect { what, stands } in others {
        let stands = match stands {
            Stands::Same => "; it is there as it would be",
            Stands::Other => "; something else is there",
            Stands::Absent => "; it is not there",
            Stands::Unknown => "",
        };
        line("would", &format!("{what}{stands}"));
    }
    text
}
