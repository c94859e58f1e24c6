//! The end that holds the mailboxes.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::wire::{self, Answer, Ask, Asked, Fault, Taken, Told};
use super::{BEAT, ConnectionError, IN_FLIGHT, LEASES, PART};
use crate::command::{Command, Lessee};
use crate::envelope::{Ack, Envelope, Filter, PAGE};
use crate::event::StampedEvent;
use crate::lease::Transit;
use crate::mailboxes::{MailboxError, Mailboxes};
use crate::replay::REPLAY_PAGE;
use crate::writer::Request;

/// Lines that may wait to be written. Each is about [`PART`] bytes at most, but for a large message.
const OUTGOING: usize = 8;
/// Acks of one answer at most.
const ACKS: usize = 10_000;
/// What an item of an answer weighs beside the text that it carries, in bytes, roughly.
const ITEM: usize = 512;

/// Answers what comes in on `stream` until its other end is closed. Leases that wait then end, and
/// messages whose arrival was not confirmed are handed back with their attempts; a command that came in
/// whole is carried out.
///
/// The mailboxes stay open: closing the far handle closes the connection and no more.
///
/// # Errors
/// When the stream fails or holds what is not understood. The connection is over then.
pub async fn serve(
    mailboxes: Mailboxes,
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
) -> Result<(), ConnectionError> {
    let (reader, mut writer) = tokio::io::split(stream);
    let (out, mut outgoing) = mpsc::channel::<Vec<u8>>(OUTGOING);
    let mut changes = mailboxes.subscribe();
    let notices = out.clone();
    let connection = Connection {
        mailboxes,
        out,
        tasks: JoinSet::new(),
        leases: HashMap::new(),
    };
    let write = async {
        while let Some(line) = outgoing.recv().await {
            let wrote = async {
                writer.write_all(&line).await?;
                writer.flush().await
            };
            match wrote.await {
                // The other end is closed, which is how a connection ends. What it said before is read first:
                // that a message arrived must not be missed.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    while outgoing.recv().await.is_some() {}
                    return Ok(());
                }
                wrote => wrote?,
            }
        }
        Ok(())
    };
    let notify = async {
        loop {
            // Nothing changed is something said.
            let names = timeout(BEAT, changes.changed()).await.unwrap_or_default();
            if let Ok(line) = wire::line(&Told::Changed(names)) {
                // Without a receiver the connection is over, and this with it.
                let _ = notices.send(line).await;
            }
        }
    };
    tokio::select! {
        ended = connection.read(BufReader::new(reader)) => ended,
        ended = write => ended,
        () = notify => Ok(()),
    }
}

struct Connection {
    mailboxes: Mailboxes,
    out: mpsc::Sender<Vec<u8>>,
    /// Everything that waits for an answer. Ends with the connection.
    tasks: JoinSet<()>,
    leases: HashMap<u64, Waiting>,
}

/// A lease that waits for a message, or for word that it arrived. Dropped, it gives its message back.
struct Waiting {
    task: AbortHandle,
    /// The message that is on its way.
    sent: Arc<Mutex<Option<Transit>>>,
}

impl Waiting {
    fn is_over(&self) -> bool {
        self.task.is_finished() && lock(&self.sent).is_none()
    }

    /// The message has arrived: from here on it is in hand, whatever becomes of the connection.
    fn received(self) {
        if let Some(transit) = lock(&self.sent).take() {
            transit.receive();
        }
    }
}

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in it is moved in or out as a whole.
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    async fn read(mut self, mut reader: BufReader<impl AsyncRead + Unpin>) -> Result<(), ConnectionError> {
        let mut line = Vec::new();
        while let Some(Asked { id, ask }) = wire::next(&mut reader, &mut line).await? {
            match ask {
                Ask::Received => {
                    if let Some(lease) = self.leases.remove(&id) {
                        lease.received();
                    }
                }
                Ask::Cancel => {
                    if let Some(lease) = self.leases.remove(&id) {
                        lease.task.abort();
                    }
                }
                ask => self.take(id, ask).await,
            }
        }
        Ok(())
    }

    /// Puts a request into the writer's queue, so that requests keep their order, and has its answer sent.
    async fn take(&mut self, id: u64, ask: Ask) {
        while self.tasks.try_join_next().is_some() {}
        self.leases.retain(|_, lease| !lease.is_over());
        // Leases may wait for ever; whatever else waits is answered soon.
        while self.answers_waiting() >= IN_FLIGHT {
            self.tasks.join_next().await;
        }
        match ask {
            Ask::Command(Command::Declare { .. } | Command::Lease { .. })
            | Ask::Lease {
                lessee: Lessee::Process,
                ..
            } => self.refuse(id, Fault::OwnersOnly).await,
            Ask::Lease { .. } if self.leases.len() >= LEASES => self.refuse(id, Fault::TooMany).await,
            Ask::History { first, last, .. } if last.0.saturating_sub(first.0) >= REPLAY_PAGE => {
                self.refuse(id, Fault::TooMany).await;
            }
            Ask::Lease { of, lessee, wait } => self.take_lease(id, of, lessee, wait).await,
            Ask::Command(command) => {
                self.pass(
                    id,
                    |answer| Request::Command(command, answer),
                    |reply| vec![Answer::Reply(reply)],
                )
                .await;
            }
            Ask::Envelopes { of, filter } => {
                let filter = Filter {
                    limit: filter.limit.min(PAGE),
                    ..filter
                };
                let request = |answer| Request::Envelopes { of, filter, answer };
                self.pass(id, request, |all| parts(all, envelope_weight, Answer::Envelopes))
                    .await;
            }
            Ask::History { of, first, last } => {
                let seqs = first..=last;
                let request = |answer| Request::History { of, seqs, answer };
                self.pass(id, request, |all| parts(all, history_weight, Answer::History))
                    .await;
            }
            Ask::Acks { of, after, limit } => {
                let limit = limit.min(ACKS);
                let request = |answer| Request::Acks {
                    of,
                    after,
                    limit,
                    answer,
                };
                self.pass(id, request, |all| parts(all, ack_weight, Answer::Acks))
                    .await;
            }
            Ask::Status => {
                self.pass(id, Request::Status, |all| parts(all, |_| ITEM, Answer::Status))
                    .await;
            }
            Ask::Received | Ask::Cancel => {}
        }
    }

    /// How many requests other than leases wait for their answers.
    fn answers_waiting(&self) -> usize {
        let leases = self.leases.values().filter(|lease| !lease.task.is_finished());
        self.tasks.len().saturating_sub(leases.count())
    }

    async fn refuse(&self, id: u64, fault: Fault) {
        send(&self.out, id, Err(fault), false).await;
    }

    async fn pass<T: Send + 'static>(
        &mut self,
        id: u64,
        request: impl FnOnce(oneshot::Sender<Result<T, MailboxError>>) -> Request,
        answers: impl FnOnce(T) -> Vec<Answer> + Send + 'static,
    ) {
        let (answer, answered) = oneshot::channel();
        if self.mailboxes.requests.send(request(answer)).await.is_err() {
            return self.refuse(id, Fault::Closed).await;
        }
        let out = self.out.clone();
        self.tasks.spawn(async move {
            let answers = match answered.await.unwrap_or(Err(MailboxError::Closed)) {
                Ok(answered) => answers(answered),
                Err(error) => return send(&out, id, Err(error.into()), false).await,
            };
            let last = answers.len().saturating_sub(1);
            for (at, answer) in answers.into_iter().enumerate() {
                send(&out, id, Ok(answer), at < last).await;
            }
        });
    }

    async fn take_lease(&mut self, id: u64, of: crate::names::MailboxName, lessee: Lessee, wait: bool) {
        let (answer, answered) = oneshot::channel();
        let request = Request::Lease {
            of,
            lessee,
            wait,
            answer,
        };
        if self.mailboxes.requests.send(request).await.is_err() {
            return self.refuse(id, Fault::Closed).await;
        }
        let sent = Arc::default();
        let answer = deliver(id, answered, Arc::clone(&sent), self.out.clone());
        let task = self.tasks.spawn(answer);
        self.leases.insert(id, Waiting { task, sent });
    }
}

/// Sends a message that was taken, and leaves the right to it where word of its arrival finds it.
async fn deliver(
    id: u64,
    answered: oneshot::Receiver<Result<Option<Transit>, MailboxError>>,
    sent: Arc<Mutex<Option<Transit>>>,
    out: mpsc::Sender<Vec<u8>>,
) {
    let transit = match answered.await.unwrap_or(Err(MailboxError::Closed)) {
        Ok(Some(transit)) => transit,
        Ok(None) => return send(&out, id, Ok(Answer::Lease(None)), false).await,
        Err(error) => return send(&out, id, Err(error.into()), false).await,
    };
    let Some(delivery) = transit.delivery() else {
        return;
    };
    let taken = Taken {
        lease: delivery.lease.id,
        until: delivery.lease.until,
        attempt: delivery.attempt,
        envelope: delivery.envelope.clone(),
    };
    *lock(&sent) = Some(transit);
    send(&out, id, Ok(Answer::Lease(Some(taken))), false).await;
}

async fn send(out: &mpsc::Sender<Vec<u8>>, id: u64, answer: Result<Answer, Fault>, more: bool) {
    let told = |answer, more| Told::Answer { id, answer, more };
    let line = wire::line(&told(answer, more)).or_else(|bytes| {
        let fault = Fault::TooLarge { bytes };
        wire::line(&told(Err(fault), false))
    });
    if let Ok(line) = line {
        // Without a receiver the connection is over.
        let _ = out.send(line).await;
    }
}

/// Cuts a list into answers of about [`PART`] bytes; an empty list is one empty answer.
fn parts<T: Serialize>(all: Vec<T>, weight: fn(&T) -> usize, answer: fn(Vec<T>) -> Answer) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut part = Vec::new();
    let mut weighs = 0;
    for item in all {
        let item_weighs = weight(&item);
        if weighs + item_weighs > PART && !part.is_empty() {
            answers.push(answer(std::mem::take(&mut part)));
            weighs = 0;
        }
        weighs += item_weighs;
        part.push(item);
    }
    if answers.is_empty() || !part.is_empty() {
        answers.push(answer(part));
    }
    answers
}

fn envelope_weight(envelope: &Envelope) -> usize {
    envelope.message.line().len() + ITEM
}

fn history_weight((envelope, events): &(Envelope, Vec<StampedEvent>)) -> usize {
    envelope_weight(envelope) + events.len() * ITEM
}

fn ack_weight(ack: &Ack) -> usize {
    ack.outcome.len() + ITEM
}
