//! Keeps the JSONL mirror and takes in what other programs wrote there (contract, section 1).

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{SecondsFormat, Utc};
use mailbox::mirror::{AckLine, Intake, Mirror, MirrorError, Place};
use mailbox::{AckedBy, Done, MailboxError, MailboxName, Mailboxes, Message, Refusal};
use runtime::{Effects as _, HomePath, KeyedLine, Real, Registry};
use tokio::sync::oneshot;

/// The folder of the mirror within the home.
const MIRROR: &str = "inbox";

/// The log of the lines that were skipped, within the home.
const REPORTED: &str = "mirror-errors.log";

/// How often the files are looked at though no mailbox changed: another program's line waits no longer.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How many times in a row what others wrote is taken in before something else gets its turn.
const ROUNDS: usize = 8;

/// The mirror, and where to put what is found in it.
#[derive(Debug)]
pub struct Mirroring {
    mirror: Mirror,
    mailboxes: Mailboxes,
    registry: Arc<Registry>,
    home: Real,
}

/// A mirror that is kept by a task of its own.
#[derive(Debug)]
pub struct Kept {
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<Mirroring>,
}

impl Mirroring {
    /// Opens the mirror of a home, brings it up to the mailboxes and takes in what others wrote meanwhile.
    pub async fn open(
        home: &Path,
        mailboxes: Mailboxes,
        registry: Arc<Registry>,
    ) -> Result<Self, MirrorError> {
        let (mirror, intake) = Mirror::open(&home.join(MIRROR), mailboxes.clone()).await?;
        let mut mirroring = Self {
            mirror,
            mailboxes,
            registry,
            home: Real::on(home),
        };
        mirroring.take_in(intake).await?;
        mirroring.sync().await?;
        Ok(mirroring)
    }

    /// Writes what is new in the mailboxes, and takes in what is new in the files.
    pub async fn sync(&mut self) -> Result<(), MirrorError> {
        for _ in 0..ROUNDS {
            let intake = self.mirror.sync().await?;
            if intake.is_empty() {
                break;
            }
            self.take_in(intake).await?;
        }
        Ok(())
    }

    /// Does so from now on, whenever a mailbox changed and every now and then.
    pub fn keep(mut self) -> Kept {
        let (stop, mut stopped) = oneshot::channel();
        let mut changes = self.mailboxes.subscribe();
        let task = tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = &mut stopped => return self,
                    _ = changes.changed() => {}
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                }
                // The next round goes on where this one stopped, and the mailbox is the authority.
                if let Err(error) = self.sync().await {
                    tracing::warn!("the mirror is behind: {error}");
                }
            }
        });
        Kept { stop, task }
    }

    async fn take_in(&self, intake: Vec<Intake>) -> Result<(), MailboxError> {
        for line in intake {
            match line {
                Intake::Message { mailbox, message, at } => self.take_message(&mailbox, message, &at).await?,
                Intake::Ack { ack, at } => self.take_ack(ack, &at).await?,
                Intake::Malformed { at, fault } => self.report(&at, &fault).await,
            }
        }
        Ok(())
    }

    /// Reports a line that was skipped, once: what the log of such lines holds was said before, by this
    /// process or an earlier one.
    async fn report(&self, at: &Place, why: &(dyn fmt::Display + Sync)) {
        let said = pulls::escape::line(&format!("{at}: skipped, {why}"));
        let ts = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
        let line = KeyedLine {
            line: format!("{ts} {said}"),
            key: said.clone(),
        };
        let appended = self
            .home
            .clone()
            .append_lines(&HomePath::fixed(REPORTED), vec![line])
            .await;
        // Where the log cannot be written it is said each time.
        if appended.is_ok_and(|appended| appended == 0) {
            return;
        }
        tracing::warn!("{said}");
    }

    async fn take_message(&self, to: &MailboxName, message: Message, at: &Place) -> Result<(), MailboxError> {
        match self.registry.accept(to, message) {
            Ok(draft) => self.mailboxes.append(vec![draft]).await.map(drop),
            Err(refused) => {
                self.report(at, &chain(&refused)).await;
                Ok(())
            }
        }
    }

    async fn take_ack(&self, ack: AckLine, at: &Place) -> Result<(), MailboxError> {
        let AckLine {
            from,
            msg_id,
            outcome,
            ..
        } = ack;
        let Ok(of) = from.parse::<MailboxName>() else {
            self.report(at, &format!("{from:?} is the name of no actor"))
                .await;
            return Ok(());
        };
        let by = AckedBy::Line { from: from.into() };
        match self
            .mailboxes
            .ack_by_id(&of, &msg_id, None, by, Done::new(outcome))
            .await
        {
            Ok(_) | Err(MailboxError::Refused(Refusal::AlreadyAcked { .. })) => Ok(()),
            Err(MailboxError::Refused(refused)) => {
                self.report(at, &refused).await;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

impl Kept {
    /// Ends the task, after the round that it is in.
    pub async fn stop(self) -> Option<Mirroring> {
        let Self { stop, task } = self;
        // Who does not listen has ended already.
        let _ = stop.send(());
        task.await.ok()
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
