//! The rounds of the mirror: what is read, what is written, and in which order.

use std::mem;
use std::time::{Duration, SystemTime};

use super::account::Account;
use super::history::{Age, Skipped};
use super::lines::{self, AckLine, IdKey, ack_key, id_key};
use super::series::Series;
use super::stored::{Reached, Stored};
use super::{ACKS, Intake, Mirror, MirrorError, Mirrored, Synced, ack_line};
use crate::clock::Moment;
use crate::envelope::{Ack, Filter, MailboxStatus, PAGE};
use crate::mailboxes::{MailboxError, Mailboxes};
use crate::message::Message;
use crate::names::{MailboxName, Seq};

/// How often it is kept how far the mirror is, beside at its end. A process that is killed leaves so much to be read
/// once more.
const KEEP_EVERY: Duration = Duration::from_secs(10);

impl Mirror {
    /// One round. Whoever calls it has the turn.
    pub(super) async fn round(&mut self) -> Result<Synced, MirrorError> {
        let statuses = self.mailboxes.status().await?;
        let now = self.clock.now();
        let mut synced = Synced::default();
        self.settle();
        if self.begun {
            if self.held.is_empty() && now.since(self.saved_at) >= KEEP_EVERY {
                self.saved_at = now;
                noted(self.save(), &mut synced)?;
            }
        } else {
            self.begin(&statuses).await?;
        }

        // The acks are read before the messages, and handed out after them: whoever wrote a message and then its ack
        // finds both taken in.
        let mut acks = mem::take(&mut self.held);
        let acks_read = acks.is_empty() && {
            let read = self.read_acks(&statuses, &mut acks).await;
            noted(read, &mut synced)?.unwrap_or(false)
        };
        let mut all_read = true;
        for status in &statuses {
            let done = self.messages(status, now, &mut synced.intake).await;
            all_read &= noted(done, &mut synced)?.unwrap_or(true);
            noted(self.keep_anew(&status.name), &mut synced)?;
        }
        if all_read {
            synced.intake.append(&mut acks);
        } else {
            self.held = acks;
        }
        if acks_read {
            let done = self.write_acks(&statuses, now, &mut synced.intake).await;
            noted(done, &mut synced)?;
        }
        let mut accounts = self.files.values().map(|mirrored| &mirrored.account);
        synced.waits = self.acks.waits || accounts.any(|account| account.waits);
        Ok(synced)
    }

    /// Whoever asks for the next round has taken in what the last one returned.
    fn settle(&mut self) {
        for mirrored in self.files.values_mut() {
            mirrored.account.settle();
        }
        self.acks.waits = false;
        if self.held.is_empty() {
            self.acks.settle();
        }
    }

    /// Takes up what an earlier life of the process kept. A mailbox that is not the one it speaks of, or is an older
    /// state of it, is written and read from the beginning.
    async fn begin(&mut self, statuses: &[MailboxStatus]) -> Result<(), MirrorError> {
        let mut stored = Stored::load(&self.folder);
        let mut strange = Vec::new();
        for status in statuses {
            if let Some(reached) = stored.mailboxes.get(&status.name)
                && !fits(reached, status, &self.mailboxes).await?
            {
                strange.push(status.name.clone());
            }
        }
        for name in &strange {
            stored.mailboxes.remove(name);
            stored.take_files(&file_name(name));
        }
        let of_acks = stored.take_files(ACKS);
        let of_acks = if strange.is_empty() {
            of_acks
        } else {
            Default::default()
        };
        self.acks = Account::of(Series::new(self.folder.file(ACKS), of_acks));
        self.saved = stored.clone();
        self.remembered = stored;
        self.begun = true;
        Ok(())
    }

    fn mirrored(&mut self, name: &MailboxName) -> &mut Mirrored {
        let (folder, remembered) = (&self.folder, &mut self.remembered);
        self.files.entry(name.clone()).or_insert_with(|| {
            let file = file_name(name);
            let positions = remembered.take_files(&file);
            Mirrored {
                account: Account::of(Series::new(folder.file(&file), positions)),
                reached: remembered.mailboxes.remove(name).unwrap_or_default(),
                skipped: Skipped::default(),
                needs_anew: false,
            }
        })
    }

    /// Brings one mailbox and its file together. Whether all of the file was read.
    async fn messages(
        &mut self,
        status: &MailboxStatus,
        now: Moment,
        intake: &mut Vec<Intake>,
    ) -> Result<bool, MirrorError> {
        let (mailboxes, rules, folder) = (self.mailboxes.clone(), self.rules, self.folder.clone());
        let name = &status.name;
        let Mirrored {
            account,
            reached,
            skipped,
            needs_anew,
        } = self.mirrored(name);
        if status.total == 0 {
            reached.anew = true;
        }
        let everything = account.series.look()?;
        if everything || !account.caught_up {
            let mut after = if everything { Seq(0) } else { reached.seq() };
            while let Some((page, last)) = page(&mailboxes, name, after).await? {
                after = last;
                account.has(page.iter().map(|(key, _)| *key));
            }
            account.caught_up = true;
        }
        let handed_out = intake.len();
        let mut age = Age {
            name,
            folder: &folder,
            now,
            horizon: rules.horizon,
            anew: reached.anew,
            needs_anew,
            skipped,
            acked: None,
        };
        if !read(account, intake, &mut age)? {
            *age.needs_anew = age.anew;
            return Ok(false);
        }
        if intake.len() == handed_out {
            // What was handed out before is in the mailbox.
            reached.anew = false;
            *age.needs_anew = false;
        }
        let mut written = true;
        if status.total > reached.through {
            while let Some((page, last)) = page(&mailboxes, name, reached.seq()).await? {
                let lines: Vec<(IdKey, &str)> = page.iter().map(|(key, it)| (*key, it.line())).collect();
                written = account.write(&lines, system_time(now))?;
                if !written {
                    break;
                }
                reached.through = last.0;
                reached.id = page.last().map(|(_, message)| message.msg_id().clone());
            }
            if !read(account, intake, &mut age)? {
                return Ok(false);
            }
        }
        if let Some((at, count)) = age.skipped.take() {
            intake.push(Intake::History { at, count });
        }
        if written {
            account.balanced();
        }
        // An old file stays until all that it gave back is taken in.
        if !reached.anew {
            account.series.tend(&rules.rotation, system_time(now))?;
        }
        Ok(true)
    }

    /// Keeps that a mailbox is being filled from its file, before the first of it is taken in: a process that is killed
    /// meanwhile leaves a mailbox that is not empty any more and has not had the rest. What is young comes in anyway.
    fn keep_anew(&mut self, name: &MailboxName) -> Result<(), MirrorError> {
        let kept = |reached: &Reached| reached.anew;
        let filled = self
            .files
            .get(name)
            .is_some_and(|mirrored| mirrored.reached.anew && mirrored.needs_anew);
        if !filled || self.saved.mailboxes.get(name).is_some_and(kept) {
            return Ok(());
        }
        let mut stored = self.saved.clone();
        stored.mailboxes.entry(name.clone()).or_default().anew = true;
        stored.save(&self.folder)?;
        self.saved = stored;
        Ok(())
    }

    /// Reads the file of acks. Whether all of it was read.
    async fn read_acks(
        &mut self,
        statuses: &[MailboxStatus],
        intake: &mut Vec<Intake>,
    ) -> Result<bool, MirrorError> {
        let everything = self.acks.series.look()?;
        if everything || !self.acks.caught_up {
            for status in statuses {
                let mirrored = self.mirrored(&status.name);
                let mut after = if everything {
                    0
                } else {
                    place(&mirrored.reached, status)
                };
                loop {
                    let page = self.mailboxes.acks(&status.name, after, PAGE).await?;
                    let Some(last) = page.last() else { break };
                    after = last.place;
                    self.acks.has(keyed(&status.name, &page).map(|(key, _)| key));
                }
            }
            self.acks.caught_up = true;
        }
        read_acks(&mut self.acks, intake)
    }

    /// Appends the acks that have no line yet.
    async fn write_acks(
        &mut self,
        statuses: &[MailboxStatus],
        now: Moment,
        intake: &mut Vec<Intake>,
    ) -> Result<(), MirrorError> {
        let (mailboxes, rules) = (self.mailboxes.clone(), self.rules);
        let (mut written, mut appended) = (true, false);
        for status in statuses {
            let (account, reached) = self.acks_of(&status.name);
            if status.acked <= reached.acked {
                continue;
            }
            let mut after = place(reached, status);
            while written {
                let page = mailboxes.acks(&status.name, after, PAGE).await?;
                let Some(last) = page.last().map(|ack| ack.place) else {
                    // What was acked and is no longer kept needs no line any more.
                    reached.acked = reached.acked.max(status.acked);
                    break;
                };
                let texts: Vec<(IdKey, String)> = keyed(&status.name, &page)
                    .map(|(key, ack)| (key, ack.line()))
                    .collect();
                let lines: Vec<(IdKey, &str)> =
                    texts.iter().map(|(key, text)| (*key, text.as_str())).collect();
                written = account.write(&lines, system_time(now))?;
                if written {
                    appended = true;
                    reached.acked += last - after;
                    after = last;
                }
            }
        }
        if appended && !read_acks(&mut self.acks, intake)? {
            return Ok(());
        }
        if written && self.held.is_empty() {
            self.acks.balanced();
        }
        // So do the acks.
        match intake.is_empty() {
            true => self.acks.series.tend(&rules.rotation, system_time(now)),
            false => Ok(()),
        }
    }

    /// The file of acks, and how far this mailbox's are in it.
    fn acks_of(&mut self, name: &MailboxName) -> (&mut Account, &mut Reached) {
        self.mirrored(name);
        let mirrored = self.files.get_mut(name).expect("it was just put in");
        (&mut self.acks, &mut mirrored.reached)
    }

    /// Keeps how far the mirror is, after what it wrote is durable.
    pub(super) fn save(&mut self) -> Result<(), MirrorError> {
        let mut stored = self.remembered.clone();
        for (name, Mirrored { account, reached, .. }) in &mut self.files {
            account.series.sync()?;
            account.series.positions(&mut stored.files);
            stored.mailboxes.insert(name.clone(), reached.clone());
        }
        self.acks.series.sync()?;
        self.acks.series.positions(&mut stored.files);
        if stored != self.saved {
            stored.save(&self.folder)?;
            self.saved = stored;
        }
        Ok(())
    }
}

/// Reads on in the file of a mailbox. Whether all of it was read.
fn read(account: &mut Account, intake: &mut Vec<Intake>, age: &mut Age<'_>) -> Result<bool, MirrorError> {
    account.read(intake, lines::message, |message, at, found| {
        age.is_news(&message, &at, found).then(|| Intake::Message {
            mailbox: age.name.clone(),
            message,
            at,
        })
    })
}

fn file_name(name: &MailboxName) -> String {
    format!("{name}.jsonl")
}

/// An error of a file stands in the way of that file alone; one of the mailboxes ends the round.
fn noted<T>(done: Result<T, MirrorError>, synced: &mut Synced) -> Result<Option<T>, MirrorError> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error @ MirrorError::Mailbox(_)) => Err(error),
        Err(error) => {
            synced.behind.push(error);
            Ok(None)
        }
    }
}

/// Whether a mailbox is the one that was written so far: it has at least as much, and the same message there.
async fn fits(
    reached: &Reached,
    status: &MailboxStatus,
    mailboxes: &Mailboxes,
) -> Result<bool, MailboxError> {
    if reached.through > status.total || reached.acked > status.acked {
        return Ok(false);
    }
    let Some(id) = &reached.id else { return Ok(true) };
    let before = Seq(reached.through.saturating_sub(1));
    let one = Filter {
        limit: 1,
        ..Filter::all().after(before)
    };
    let found = mailboxes.envelopes(&status.name, one).await?;
    // One that was pruned says nothing.
    Ok(found
        .first()
        .is_none_or(|envelope| envelope.seq != reached.seq() || envelope.message.msg_id() == id))
}

/// The next messages of a mailbox, each with what its line is known by, and the number of the last.
async fn page(
    mailboxes: &Mailboxes,
    name: &MailboxName,
    after: Seq,
) -> Result<Option<(Vec<(IdKey, Message)>, Seq)>, MailboxError> {
    let page = mailboxes.envelopes(name, Filter::all().after(after)).await?;
    let Some(last) = page.last().map(|envelope| envelope.seq) else {
        return Ok(None);
    };
    let keyed = page
        .into_iter()
        .map(|envelope| (id_key(envelope.message.msg_id()), envelope.message))
        .collect();
    Ok(Some((keyed, last)))
}

/// Acks as lines, each with what it is known by.
fn keyed<'a>(name: &'a MailboxName, page: &'a [Ack]) -> impl Iterator<Item = (IdKey, AckLine)> + 'a {
    page.iter().map(|ack| {
        let line = ack_line(name, ack);
        (ack_key(&line.from, &line.msg_id), line)
    })
}

/// Reads on in the file of acks.
fn read_acks(account: &mut Account, intake: &mut Vec<Intake>) -> Result<bool, MirrorError> {
    account.read(intake, lines::ack, |ack, at, found| {
        Some(Intake::Ack { ack, at, found })
    })
}

/// The place of the last ack that has its line. Places are counted anew in each life of the process, so it is found
/// from the end: after it come as many as were acked since.
fn place(reached: &Reached, status: &MailboxStatus) -> u64 {
    let since = status.acked.saturating_sub(reached.acked);
    status.last_ack.saturating_sub(since)
}

fn system_time(now: Moment) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(now.as_millis())
}
