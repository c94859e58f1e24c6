//! What the writers said, and whether it is so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mailbox::{EnvelopeState, Filter, Mailboxes, Seq, SystemClock};

use super::writer;
use crate::failure::{Exit, Failure};

/// Broken promises that are told in words; the others are counted.
const TOLD: usize = 10;

/// What was seen in all rounds.
#[derive(Debug, Default)]
pub struct Tally {
    /// Messages of which an append was acknowledged.
    pub acknowledged: u64,
    /// Messages of which an ack was.
    pub handled: u64,
    /// Times that a repeat was told that the message was there.
    pub repeated: u64,
    /// Openings that came to their end.
    pub opened: u64,
    /// The longest of them.
    pub worst_open: Duration,
    /// Acknowledged, and not there.
    pub lost: u64,
    /// There, or handled, more than once.
    pub doubled: u64,
    /// Under another number than was said, or after a hole.
    pub out_of_order: u64,
    /// There with other bytes.
    pub changed: u64,
    /// Acknowledged as handled, and unread again.
    pub unread_again: u64,
    /// Openings that failed.
    pub failed_opens: u64,
    /// Whatever else did not work that must.
    pub failures: u64,
    /// The first of them, in words.
    pub words: Vec<String>,
}

impl Tally {
    /// Whether every promise was kept.
    pub fn is_clean(&self) -> bool {
        self.broken() == 0
    }

    /// How many were not.
    pub fn broken(&self) -> u64 {
        self.lost
            + self.doubled
            + self.out_of_order
            + self.changed
            + self.unread_again
            + self.failed_opens
            + self.failures
    }

    fn note(&mut self, words: String) {
        if self.words.len() < TOLD {
            self.words.push(words);
        }
    }

    /// Something did not work that must.
    pub fn failed(&mut self, words: String) {
        self.failures += 1;
        self.note(words);
    }

    fn opening_failed(&mut self, words: String) {
        self.failed_opens += 1;
        self.note(words);
    }

    fn opened_within(&mut self, took: Duration) {
        self.opened += 1;
        self.worst_open = self.worst_open.max(took);
    }
}

/// What the writers to some mailboxes said.
#[derive(Debug, Default)]
pub struct Said {
    /// By the message's number, its number in the mailbox.
    appended: BTreeMap<u64, Seq>,
    handled: BTreeSet<u64>,
}

impl Said {
    /// Takes in what a writer said.
    pub fn add(&mut self, lines: Vec<String>, tally: &mut Tally) {
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            let mut numbers = rest.split(' ').map_while(|number| number.parse::<u64>().ok());
            match (word, numbers.next(), numbers.next()) {
                (writer::OPENED, Some(micros), _) => tally.opened_within(Duration::from_micros(micros)),
                (writer::APPENDED, Some(number), Some(seq)) => {
                    tally.acknowledged += 1;
                    if let Some(before) = self.appended.insert(number, Seq(seq)) {
                        tally.doubled += 1;
                        tally.note(format!("message {number} was appended as {before} and as {seq}"));
                    }
                }
                (writer::KNOWN, Some(number), Some(seq)) => {
                    tally.repeated += 1;
                    if let Some(before) = self.appended.get(&number)
                        && *before != Seq(seq)
                    {
                        tally.out_of_order += 1;
                        tally.note(format!("message {number} was {before} and is known as {seq}"));
                    }
                }
                (writer::HANDLED, Some(number), _) => {
                    tally.handled += 1;
                    if !self.handled.insert(number) {
                        tally.doubled += 1;
                        tally.note(format!("message {number} was acknowledged as handled twice"));
                    }
                }
                (writer::FAILED, ..) if rest.starts_with("cannot open") => {
                    tally.opening_failed(format!("a writer {rest}"));
                }
                (writer::FAILED, ..) => tally.failed(format!("a writer says: {rest}")),
                _ => {}
            }
        }
    }

    /// Whether everything that was acknowledged is in the mailboxes: once, whole, under its number, without a hole
    /// before it, and not unread again.
    pub fn check(&self, store: &Path, tally: &mut Tally) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(Exit::Other, "cannot start the runtime").because(error))?;
        runtime.block_on(self.look(store, tally))
    }

    async fn look(&self, store: &Path, tally: &mut Tally) -> Result<(), Failure> {
        let began = Instant::now();
        let mailboxes = match Mailboxes::open_sled(store, Arc::new(SystemClock::start())) {
            Ok(mailboxes) => mailboxes,
            Err(error) => {
                tally.opening_failed(format!("the mailboxes do not open: {error}"));
                return Ok(());
            }
        };
        tally.opened_within(began.elapsed());
        let mut found: BTreeMap<u64, Seq> = BTreeMap::new();
        let mut last = Seq(0);
        loop {
            let page = mailboxes
                .envelopes(&writer::name(), Filter::all().after(last))
                .await?;
            if page.is_empty() {
                break;
            }
            for envelope in page {
                if envelope.seq != last.next() {
                    tally.out_of_order += 1;
                    tally.note(format!("after {last} comes {}", envelope.seq));
                }
                last = envelope.seq;
                let Some(number) = envelope
                    .message
                    .body()
                    .get("number")
                    .and_then(|number| number.as_u64())
                else {
                    tally.changed += 1;
                    tally.note(format!("{last} has no number"));
                    continue;
                };
                let sent = [writer::numbered, writer::filling];
                if !sent.iter().any(|sent| sent(number) == envelope.message) {
                    tally.changed += 1;
                    tally.note(format!("message {number} is not what was sent"));
                }
                if let Some(before) = found.insert(number, last) {
                    tally.doubled += 1;
                    tally.note(format!("message {number} is there as {before} and as {last}"));
                }
                let acked = matches!(envelope.state, EnvelopeState::Acked { .. });
                if !acked && self.handled.contains(&number) {
                    tally.unread_again += 1;
                    tally.note(format!("message {number} was handled and is unread again"));
                }
            }
        }
        for (number, seq) in &self.appended {
            match found.get(number) {
                None => {
                    tally.lost += 1;
                    tally.note(format!("message {number} was acknowledged as {seq} and is gone"));
                }
                Some(there) if there != seq => {
                    tally.out_of_order += 1;
                    tally.note(format!("message {number} was {seq} and is {there}"));
                }
                Some(_) => {}
            }
        }
        mailboxes.close().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mailbox::{Done, Draft, Lessee};

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    /// Three messages, the first of them handled.
    async fn store(dir: &Path) {
        let mailboxes = Mailboxes::open_sled(dir, Arc::new(SystemClock::start())).unwrap();
        let drafts = (1..=3).map(|number| Draft::new(writer::name(), writer::numbered(number)));
        mailboxes.append(drafts.collect()).await.unwrap();
        let delivery = mailboxes.lease(&writer::name(), Lessee::Process).await.unwrap();
        mailboxes.ack(delivery.lease, Done::new("endured")).await.unwrap();
        mailboxes.close().await;
    }

    #[tokio::test]
    async fn what_is_so_is_clean_and_what_is_not_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        store(dir.path()).await;
        let look = async |text: &str| {
            let (mut said, mut tally) = (Said::default(), Tally::default());
            said.add(lines(text), &mut tally);
            said.look(dir.path(), &mut tally).await.unwrap();
            tally
        };
        let good = "opened 1500\nappended 1 1\nappended 2 2\nappended 3 3\nknown 2 2\nhandled 1";
        let tally = look(good).await;
        assert!(tally.is_clean(), "{tally:?}");
        assert_eq!((tally.acknowledged, tally.handled, tally.repeated), (3, 1, 1));
        // The writer's opening and the one that looks.
        assert_eq!(tally.opened, 2);
        // What a writer had no time to say is no promise.
        assert!(look("").await.is_clean());

        assert_eq!(look("appended 4 4").await.lost, 1);
        assert_eq!(look("appended 2 3").await.out_of_order, 1);
        assert_eq!(look("appended 2 2\nappended 2 2").await.doubled, 1);
        assert_eq!(look("appended 2 2\nknown 2 3").await.out_of_order, 1);
        assert_eq!(look("handled 1\nhandled 1").await.doubled, 1);
        assert_eq!(look("handled 2").await.unread_again, 1);
        assert_eq!(look("failed cannot open the mailboxes: no").await.failed_opens, 1);
        let tally = look("failed the disk\nfailed it").await;
        assert_eq!((tally.failures, tally.broken()), (2, 2));
        assert_eq!(tally.words[0], "a writer says: the disk");
    }

    #[tokio::test]
    async fn mailboxes_that_do_not_open_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mailbox"), "no folder").unwrap();
        let mut tally = Tally::default();
        Said::default()
            .look(&dir.path().join("mailbox"), &mut tally)
            .await
            .unwrap();
        assert_eq!(tally.failed_opens, 1);
    }
}
