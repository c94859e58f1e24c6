//! Which lines an import takes, and why not the others.

use mailbox::{DeliveryEvent, MailboxName, Message, Moment, Past};
use runtime::{Refused, Registry};
use serde::Serialize;

use crate::failure::with_causes;
use crate::transfer::line::{self, Line};
use crate::transfer::reader::{MAX_LINE, Read};

/// A line that is not taken, and why.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Its number, from 1.
    pub line: u64,
    /// Why.
    pub why: String,
}

/// A line that is.
#[derive(Debug)]
pub enum Checked {
    /// An export begins.
    Head,
    /// A message, and whose it is.
    Message(MailboxName, Box<Past>),
    /// An export ends, after so many messages.
    End(u64),
}

/// Knows what the actors take.
#[derive(Debug)]
pub struct Checker {
    registry: Registry,
    /// Whose the messages are, where the lines do not say it.
    to: Option<MailboxName>,
    now: Moment,
}

impl Checker {
    /// For messages to these actors; `to` has plain messages for one of them.
    pub fn new(registry: Registry, to: Option<MailboxName>) -> Self {
        Self {
            registry,
            to,
            now: chrono::Utc::now().into(),
        }
    }

    /// Whether a line is taken; if not, why.
    pub fn check(&self, read: Read<'_>) -> Result<Checked, String> {
        let Read::Line(bytes) = read else {
            return Err(format!("longer than {MAX_LINE} bytes"));
        };
        if let Some(to) = &self.to {
            let message = Message::parse(bytes).map_err(|error| error.to_string())?;
            return self.message(to.clone(), plain(message, self.now));
        }
        match line::parse(bytes, self.now) {
            Ok(Line::Head) => Ok(Checked::Head),
            Ok(Line::End(messages)) => Ok(Checked::End(messages)),
            Ok(Line::Message(of, past)) => self.message(of, *past),
            Err(error @ line::LineError::Plain) => Err(format!("{error}; --to ACTOR does")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A message that is over, or in quarantine, is history: whatever it asked for, nobody is going to be asked. One
    /// that is unread is for somebody, who must know what to do with it.
    fn message(&self, of: MailboxName, mut past: Past) -> Result<Checked, String> {
        if of != MailboxName::dead_letter() {
            let about = self.registry.describe(&of, &past.message);
            match about {
                Ok(about) => {
                    past.subject = past.subject.or(about.subject);
                    past.evidence = past.evidence.or(about.evidence);
                }
                Err(error @ Refused::NoSuchActor { .. }) => return Err(said(&error)),
                Err(error) if is_open(&past) => return Err(said(&error)),
                Err(_) => {}
            }
        }
        Ok(Checked::Message(of, Box::new(past)))
    }
}

fn said(error: &Refused) -> String {
    with_causes(String::new(), Some(error))
}

fn plain(message: Message, now: Moment) -> Past {
    Past {
        message,
        subject: None,
        evidence: None,
        cause: None,
        appended_at: now,
        events: Vec::new(),
    }
}

/// Whether a message is neither acked nor in quarantine.
fn is_open(past: &Past) -> bool {
    !matches!(
        past.events.last().map(|last| &last.event),
        Some(DeliveryEvent::Acked { .. } | DeliveryEvent::Dropped { .. } | DeliveryEvent::Quarantined { .. })
    )
}

/// Whether what begins also ends: an export that was cut short is no export.
#[derive(Debug, Default)]
pub struct Parts {
    /// Messages since the beginning of the export that is being read.
    within: Option<u64>,
}

impl Parts {
    /// An export begins.
    pub fn head(&mut self) -> Result<(), String> {
        match self.within.replace(0) {
            None => Ok(()),
            Some(_) => Err("the export before this line has no end: it was cut short".to_owned()),
        }
    }

    /// A message.
    pub fn message(&mut self) {
        if let Some(messages) = &mut self.within {
            *messages += 1;
        }
    }

    /// An export ends, and says how many messages it had.
    pub fn end(&mut self, messages: u64) -> Result<(), String> {
        match self.within.take() {
            Some(found) if found != messages => Err(format!(
                "the export had {messages} messages, {found} of them are here"
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// There are no more lines.
    pub fn over(self) -> Result<(), String> {
        match self.within {
            None => Ok(()),
            Some(_) => Err("the export has no end after this line: it was cut short".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checker(to: Option<&str>) -> Checker {
        let mut registry = Registry::new();
        registry.external("notes".parse().unwrap(), ["remember"]).unwrap();
        Checker::new(registry, to.map(|to| to.parse().unwrap()))
    }

    fn message(intent: &str) -> String {
        format!(r#"{{"ts":"2026-05-14T17:45:00Z","from":"lab","intent":"{intent}","msg_id":"m-1"}}"#)
    }

    fn exported(of: &str, intent: &str, events: &str) -> String {
        format!(
            r#"{{"mailbox":"{of}","message":{},"events":[{events}]}}"#,
            message(intent)
        )
    }

    fn check(checker: &Checker, line: &str, refused: Option<&str>) {
        match (checker.check(Read::Line(line.as_bytes())), refused) {
            (Ok(Checked::Message(..)), None) => {}
            (Err(why), Some(refused)) => assert!(why.contains(refused), "{line}: {why}"),
            (checked, _) => panic!("{line}: {checked:?}"),
        }
    }

    #[test]
    fn what_is_unread_needs_somebody_who_takes_it_and_history_does_not() {
        let export = checker(None);
        let at = r#""at":"2026-05-14T17:46:00Z""#;
        let acked = format!(r#"{{"event":"acked",{at},"outcome":"done","by":"mailbox"}}"#);
        let set_aside = format!(r#"{{"event":"quarantined",{at},"reason":"no","kind":"rejected"}}"#);
        let again = format!(r#"{set_aside},{{"event":"retried",{at}}}"#);
        let undeclared = Some(r#"notes does not declare the intent "sing""#);
        check(&export, &exported("notes", "remember", ""), None);
        check(&export, &exported("notes", "sing", ""), undeclared);
        check(&export, &exported("notes", "sing", &again), undeclared);
        check(&export, &exported("notes", "sing", &acked), None);
        check(&export, &exported("notes", "sing", &set_aside), None);
        check(&export, &exported("dead-letter", "sing", ""), None);
        let nobody = Some("there is no actor choir");
        check(&export, &exported("choir", "sing", &acked), nobody);
        check(&export, &message("remember"), Some("--to ACTOR does"));
    }

    #[test]
    fn plain_messages_are_for_whom_it_is_said() {
        let plain = checker(Some("notes"));
        check(&plain, &message("remember"), None);
        check(&plain, &message("sing"), Some("does not declare"));
        check(&plain, "{\"export\":1}", Some("ts, from, intent and msg_id"));
        assert!(
            plain
                .check(Read::TooLong)
                .is_err_and(|why| why.contains("longer than"))
        );
    }

    #[test]
    fn an_export_that_was_cut_short_is_told() {
        let mut parts = Parts::default();
        parts.message();
        assert_eq!(parts.head(), Ok(()));
        parts.message();
        assert_eq!(parts.end(1), Ok(()));
        assert_eq!(parts.head(), Ok(()));
        assert!(parts.end(2).is_err_and(|why| why.contains("0 of them")));
        assert_eq!(parts.head(), Ok(()));
        assert!(parts.head().is_err());
        assert!(parts.over().is_err_and(|why| why.contains("cut short")));
        assert_eq!(Parts::default().over(), Ok(()));
    }
}
