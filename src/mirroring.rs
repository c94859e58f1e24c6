//! Keeps the JSONL mirror and takes in what other programs wrote there (contract, section 1). Only the process that
//! holds the mailboxes does so: whoever asks it over the control socket leaves the files alone.

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{SecondsFormat, Utc};
use mailbox::mirror::{AckLine, Found, Intake, Mirror, MirrorError, Place, Rules};
use mailbox::{AckedBy, Clock, Done, Draft, MailboxError, MailboxName, Mailboxes, Refusal};
use runtime::{Effects as _, HomePath, KeyedLine, Real, Registry};
use tokio::sync::oneshot;

use crate::failure::with_causes;

/// The folder of the mirror within the home.
pub const MIRROR: &str = "inbox";

/// The log of the lines that were skipped, within the home.
const REPORTED: &str = "mirror-errors.log";

/// How often the files are looked at though no mailbox changed: another program's line waits no longer.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often it is looked at the end of a command whether somebody has finished a line, and how many times: what is
/// not written then, because a line gets longer all the time, the next command writes.
const WAIT_AGAIN: Duration = Duration::from_millis(50);
const WAITS: usize = 100;

/// How many times in a row what others wrote is taken in before something else gets its turn.
const ROUNDS: usize = 64;

/// How many messages are taken in with one sync of the mailbox.
const GROUP: usize = 256;

/// The mirror, and where to put what is found in it.
#[derive(Debug)]
pub struct Mirroring {
    mirror: Mirror,
    mailboxes: Mailboxes,
    registry: Arc<Registry>,
    home: Real,
    /// What was found and is not taken in yet.
    found: VecDeque<Intake>,
    /// What stood in the way in the last round, which was said.
    said: Option<String>,
    /// Whether something is not written yet because somebody is writing a line there.
    waits: bool,
}

/// A mirror that is kept by a task of its own.
#[derive(Debug)]
pub struct Kept {
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<Mirroring>,
}

impl Mirroring {
    /// The mirror of a home. The first [`sync`](Mirroring::sync) brings it up to the mailboxes and takes in what
    /// others wrote meanwhile.
    pub fn new(
        home: &Path,
        mailboxes: Mailboxes,
        registry: Arc<Registry>,
        clock: Arc<dyn Clock>,
        rules: Rules,
    ) -> Self {
        Self {
            mirror: Mirror::new(&home.join(MIRROR), mailboxes.clone(), clock, rules),
            mailboxes,
            registry,
            home: Real::rotating(home, rules.rotation),
            found: VecDeque::new(),
            said: None,
            waits: false,
        }
    }

    /// Writes what is new in the mailboxes, and takes in what is new in the files. What stands in the way is said
    /// once, and once more when it is another thing: the mailbox is the authority, a mirror that cannot be kept stops
    /// nobody, and the next time goes on where this one stopped.
    pub async fn sync(&mut self) {
        let behind = match self.rounds().await {
            Ok(behind) => behind,
            Err(error) => vec![error],
        };
        let behind: Vec<String> = behind.iter().map(said).collect();
        let behind = (!behind.is_empty()).then(|| behind.join("; "));
        if let Some(behind) = &behind
            && self.said.as_ref() != Some(behind)
        {
            tracing::warn!("the mirror is behind: {behind}");
        }
        self.said = behind;
    }

    async fn rounds(&mut self) -> Result<Vec<MirrorError>, MirrorError> {
        self.waits = false;
        for _ in 0..ROUNDS {
            self.take_in().await?;
            let synced = self.mirror.sync().await?;
            self.found.extend(synced.intake);
            self.waits = synced.waits;
            if self.found.is_empty() {
                return Ok(synced.behind);
            }
        }
        self.take_in().await?;
        Ok(Vec::new())
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
                self.sync().await;
            }
        });
        Kept { stop, task }
    }

    /// Brings both up to each other once more, and keeps how far that went.
    pub async fn close(mut self) {
        self.sync().await;
        // Somebody finishes a line, or has died over it, which is known in a moment.
        for _ in 0..WAITS {
            if !self.waits {
                break;
            }
            tokio::time::sleep(WAIT_AGAIN).await;
            self.sync().await;
        }
        // What is not taken in is found again from where the mirror was last kept.
        if self.found.is_empty()
            && let Err(error) = self.mirror.close().await
        {
            tracing::warn!("how far the mirror is was not kept: {}", said(&error));
        }
    }

    /// Takes in what was found, in its order. What fails stays to be taken in.
    async fn take_in(&mut self) -> Result<(), MailboxError> {
        while let Some(next) = self.found.front() {
            match next {
                Intake::Message { .. } => self.take_messages().await?,
                Intake::Ack { ack, at, found } => {
                    self.take_ack(ack, at, *found).await?;
                    self.found.pop_front();
                }
                Intake::History { at, count } => {
                    self.report(at, &history(*count)).await;
                    self.found.pop_front();
                }
                Intake::Malformed { at, fault } => {
                    self.report(at, fault).await;
                    self.found.pop_front();
                }
            }
        }
        Ok(())
    }

    /// Takes in the messages that come next.
    async fn take_messages(&mut self) -> Result<(), MailboxError> {
        let (mut drafts, mut looked_at) = (Vec::<Draft>::new(), 0);
        for line in self.found.iter().take(GROUP) {
            let Intake::Message { mailbox, message, at } = line else {
                break;
            };
            match self.registry.accept(mailbox, message.clone()) {
                Ok(draft) => drafts.push(draft),
                Err(refused) => self.report(at, &with_causes(String::new(), Some(&refused))).await,
            }
            looked_at += 1;
        }
        if !drafts.is_empty() {
            self.mailboxes.append(drafts).await?;
        }
        self.found.drain(..looked_at);
        Ok(())
    }

    /// Reports a line that was skipped, once in the life of the home: what the log of such lines holds was said before.
    async fn report(&self, at: &Place, why: &(dyn fmt::Display + Sync)) {
        let said = pulls::escape::line(&format!("{at}: skipped, {why} [{:08x}]", at.text));
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

    async fn take_ack(&self, ack: &AckLine, at: &Place, found: Found) -> Result<(), MailboxError> {
        let Ok(of) = ack.from.parse::<MailboxName>() else {
            self.report(at, &format!("{:?} is the name of no actor", ack.from))
                .await;
            return Ok(());
        };
        let by = AckedBy::Line {
            from: ack.from.as_str().into(),
        };
        let done = Done::new(&ack.outcome);
        match self.mailboxes.ack_by_id(&of, &ack.msg_id, None, by, done).await {
            Ok(_) | Err(MailboxError::Refused(Refusal::AlreadyAcked { .. })) => Ok(()),
            // It may have been of a message that is long forgotten.
            Err(MailboxError::Refused(Refusal::NoSuchMessage { .. })) if found == Found::Reread => Ok(()),
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

/// What is said of messages that are too old to be taken in.
fn history(count: u64) -> String {
    let others = match count {
        1 => String::new(),
        _ => format!(", with {} more", count - 1),
    };
    format!(
        "it is older than what the mailbox remembers{others}, and _acks.jsonl has no ack of it: append it again to have it taken in"
    )
}

fn said(error: &MirrorError) -> String {
    with_causes(String::new(), Some(error))
}
