//! `sweep replay ACTOR --rerun`: each message goes to its actor's handler again, with every effect noted down instead of
//! done, and what comes of it is held against what is on record.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use mailbox::{Clock, Draft, Filter, MailboxName, Mailboxes, Message, MsgId, Replayed};
use runtime::{DEFAULT_DEADLINE, EffectError, HandledBy, OneShot, Recorded, Registry, Rerun, TurnFailure};
use serde::Serialize;

use super::compare::{self, Ended, Reads, Stands, Verdict, handled_at, reads, recorded, verdict};
use super::standing;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::wiring::{Handler, PostMortem};

/// Runs messages of one actor again.
pub struct Rerunner {
    /// `None` where it is no Rust type, and `why` then.
    handler: Option<Handler>,
    why: String,
    turn: OneShot,
    /// Every message as of this moment; else each as of when it was handled.
    now: Option<DateTime<Utc>>,
    mailboxes: Mailboxes,
    registry: Arc<Registry>,
    home: PathBuf,
}

/// What came of one message.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// What comes of holding it against what is on record.
    pub verdict: Verdict,
    /// What is on record.
    pub then: Option<String>,
    /// What came of it now; why it was not run, where it was not.
    pub now: String,
    /// Whether the same was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Reads>,
    /// What it would have done outside, where it ended for that reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<String>,
    /// What it would do, and what it did then and would not do now.
    pub effects: Vec<Effect>,
}

/// Something that would be done.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// In words for a person.
    pub what: String,
    /// How it stands to what there is.
    pub stands: Stands,
}

impl Rerunner {
    /// For the messages of `of`.
    ///
    /// # Errors
    ///
    /// When its handler needs credentials that are missing or refused, or a GitHub that does not answer.
    pub async fn new(
        of: &MailboxName,
        opened: &PostMortem,
        config: &Config,
        home: &Path,
        clock: Arc<dyn Clock>,
        now: Option<DateTime<Utc>>,
    ) -> Result<Self, Failure> {
        let registry = opened.registry();
        let (handler, why) = match registry.handled_by(of) {
            Some(HandledBy::Type) => (
                Handler::of(of, config).await?,
                format!("{of} has no handler here"),
            ),
            Some(HandledBy::Program) => (None, format!("{of} is a program, which is not run again")),
            Some(HandledBy::Pull) => (None, format!("{of} lives outside, and has no handler here")),
            None => (None, format!("{of} has no handler")),
        };
        Ok(Self {
            handler,
            why,
            turn: OneShot::new(Arc::clone(&registry), clock, home),
            now,
            mailboxes: opened.mailboxes.clone(),
            registry,
            home: home.to_owned(),
        })
    }

    /// Why nothing is run again, if nothing is.
    pub fn shown_only(&self) -> Option<&str> {
        self.handler.is_none().then_some(self.why.as_str())
    }

    /// Runs one message again.
    pub async fn again(&self, message: &Replayed) -> Result<Outcome, Failure> {
        let then = recorded(message);
        let Some(handler) = &self.handler else {
            return Ok(not_run(self.why.clone()));
        };
        let on_record = match &then {
            compare::Recorded::Done { outcome, .. } => Some(outcome.clone()),
            compare::Recorded::Failed { reason } => Some(format!("failed: {reason}")),
            compare::Recorded::Nothing => None,
            compare::Recorded::NotHandled { why } => return Ok(not_run(why.clone())),
        };
        let as_of = self.now.or_else(|| handled_at(message).map(DateTime::from));
        let turn = as_of.map_or_else(|| self.turn.clone(), |as_of| self.turn.clone().evaluate_at(as_of));
        let running = handler.rerun(&turn, message.envelope.clone());
        let Ok(rerun) = tokio::time::timeout(DEFAULT_DEADLINE, running).await else {
            let after = DEFAULT_DEADLINE;
            return Ok(Outcome {
                verdict: verdict(&then, &Ended::Failed(String::new()), Reads::Unknown, &[]),
                then: on_record,
                now: format!("failed: {}", TurnFailure::Deadline { after }),
                read: None,
                stopped_at: None,
                effects: Vec::new(),
            });
        };
        let rerun =
            rerun.map_err(|error| Failure::new(Exit::Other, "the actor has no mailbox").because(error))?;
        self.compared(&then, on_record, rerun).await
    }

    async fn compared(
        &self,
        then: &compare::Recorded,
        on_record: Option<String>,
        rerun: Rerun,
    ) -> Result<Outcome, Failure> {
        let ended = ended(&rerun.ended);
        let mut effects = Vec::new();
        for effect in &rerun.effects {
            effects.push(self.effect(effect));
        }
        let sent = match then {
            compare::Recorded::Done { .. } => self.sent(&rerun).await?,
            _ => (rerun.messages.iter())
                .map(|draft| would_send(draft, Stands::Absent))
                .collect(),
        };
        let read = match &ended {
            // It had not read all that it would have.
            Ended::Stopped(_) => Reads::Unknown,
            Ended::Done(_) | Ended::Failed(_) => reads(then, rerun.read),
        };
        let stand: Vec<Stands> = sent.iter().map(|effect| effect.stands).collect();
        effects.extend(sent);
        Ok(Outcome {
            verdict: verdict(then, &ended, read, &stand),
            then: on_record,
            stopped_at: match &ended {
                Ended::Stopped(what) => Some(what.clone()),
                Ended::Done(_) | Ended::Failed(_) => None,
            },
            now: match ended {
                Ended::Done(outcome) => outcome,
                Ended::Failed(why) => format!("failed: {why}"),
                Ended::Stopped(what) => format!("comes as far as this: {what}"),
            },
            read: Some(read),
            effects,
        })
    }

    /// An effect outside the process, beside what is there now.
    fn effect(&self, effect: &Recorded) -> Effect {
        match effect {
            Recorded::WriteFile { path, bytes } => Effect {
                what: format!("write {path}, {} bytes", bytes.len()),
                stands: standing::file(&self.home, path, bytes),
            },
            Recorded::AppendLines { path, lines } => Effect {
                what: format!("append to {path}, lines {}", lines.len()),
                stands: standing::lines(&self.home, path, lines),
            },
            Recorded::Run { command } => Effect {
                what: format!("run {}", command.program()),
                stands: Stands::Unknown,
            },
            Recorded::Act { what } => Effect {
                what: what.clone(),
                stands: Stands::Unknown,
            },
        }
    }

    /// What it would send, beside what it sent then; and what it sent then and would not now.
    async fn sent(&self, rerun: &Rerun) -> Result<Vec<Effect>, Failure> {
        let mut effects = Vec::new();
        let mut sent = BTreeSet::new();
        for draft in &rerun.messages {
            let id = draft.message.msg_id();
            sent.insert((draft.to.clone(), id.clone()));
            let stands = match self.find(&draft.to, id).await? {
                None => Stands::Absent,
                Some(then) if is_same(&then, &draft.message) => Stands::Same,
                Some(_) => Stands::Other,
            };
            effects.push(would_send(draft, stands));
        }
        let receivers: Vec<MailboxName> = self
            .registry
            .mailboxes()
            .cloned()
            .chain([MailboxName::dead_letter()])
            .collect();
        for number in 1_u32.. {
            let Ok(id) = format!("{}/{number}", rerun.key).parse::<MsgId>() else {
                break;
            };
            let mut any = false;
            for to in &receivers {
                let known = sent.contains(&(to.clone(), id.clone()));
                if !known && self.find(to, &id).await?.is_some() {
                    effects.push(Effect {
                        what: format!("not send {id} to {to}, which was sent then"),
                        stands: Stands::Other,
                    });
                    any = true;
                }
                any |= known;
            }
            if !any {
                break;
            }
        }
        Ok(effects)
    }

    async fn find(&self, of: &MailboxName, id: &MsgId) -> Result<Option<Message>, Failure> {
        let found = self.mailboxes.envelopes(of, Filter::id(id.clone())).await?;
        Ok(found.into_iter().next().map(|envelope| envelope.message))
    }
}

/// Whether two messages say the same; when they say it is the turn's, and the sender's.
fn is_same(then: &Message, now: &Message) -> bool {
    then.intent() == now.intent() && then.body() == now.body()
}

fn would_send(draft: &Draft, stands: Stands) -> Effect {
    let message = &draft.message;
    Effect {
        what: format!(
            "send {} to {} as {}",
            message.intent(),
            draft.to,
            message.msg_id()
        ),
        stands,
    }
}

fn not_run(why: String) -> Outcome {
    Outcome {
        verdict: Verdict::NotRun,
        then: None,
        now: why,
        read: None,
        stopped_at: None,
        effects: Vec::new(),
    }
}

fn ended(ended: &Result<runtime::Done, TurnFailure>) -> Ended {
    match ended {
        Ok(done) => Ended::Done(done.outcome().to_owned()),
        Err(failure) => match withheld(failure) {
            Some(what) => Ended::Stopped(what),
            None => Ended::Failed(failure.to_string()),
        },
    }
}

/// What the turn would have done, where it ended there.
fn withheld(failure: &TurnFailure) -> Option<String> {
    let TurnFailure::Fault(fault) = failure else {
        return None;
    };
    match fault.cause()?.downcast_ref() {
        Some(EffectError::Withheld { what }) => Some(what.clone()),
        _ => None,
    }
}
