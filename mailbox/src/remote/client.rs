//! The end that asks.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::wire::{self, Answer, Ask, Asked, Taken, Told};
use super::{ConnectionError, IN_FLIGHT};
use crate::changes::Announcer;
use crate::command::{Command, Reply};
use crate::envelope::{Ack, Envelope, MailboxStatus};
use crate::event::StampedEvent;
use crate::lease::{Delivery, Lease, Transit, Unreceived};
use crate::mailboxes::{MailboxError, Mailboxes};
use crate::writer::{QUEUE, Request, Tally, hand_back};

/// Lines that came in and were not looked at yet.
const INCOMING: usize = 8;

type Asker<T> = oneshot::Sender<Result<T, MailboxError>>;
type History = Vec<(Envelope, Vec<StampedEvent>)>;

impl Mailboxes {
    /// A handle on mailboxes that another process holds, which [`serve`](super::serve)s the other end of
    /// this stream. It behaves like any other handle, within what [`remote`](super) says; when the
    /// connection breaks, whatever is asked fails with [`MailboxError::Gone`].
    ///
    /// # Panics
    /// Outside a tokio runtime, on which the connection's task is spawned.
    pub fn over(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Mailboxes {
        let (requests, asked) = mpsc::channel(QUEUE);
        let announcer = Announcer::default();
        let (reader, writer) = tokio::io::split(stream);
        let (lines, outgoing) = mpsc::unbounded_channel();
        let (told, incoming) = mpsc::channel(INCOMING);
        let (back, unreceived) = mpsc::unbounded_channel();
        tokio::spawn(write(writer, outgoing));
        tokio::spawn(read(reader, told));
        let link = Link {
            asked,
            incoming,
            lines,
            unreceived,
            back,
            announcer: announcer.clone(),
            pending: HashMap::new(),
            leases: HashMap::new(),
            watched: JoinSet::new(),
            next: 0,
        };
        tokio::spawn(link.run());
        Mailboxes {
            requests,
            announcer,
            tally: Arc::new(Tally::default()),
            syncs: Arc::default(),
        }
    }
}

/// A line on its way out, and who wants to know when it is out.
struct Outgoing {
    line: Vec<u8>,
    written: Option<oneshot::Sender<()>>,
}

async fn write(mut writer: impl AsyncWrite + Unpin, mut outgoing: mpsc::UnboundedReceiver<Outgoing>) {
    while let Some(Outgoing { line, written }) = outgoing.recv().await {
        let wrote = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        if wrote.await.is_err() {
            // The reading half finds the same out, and says so.
            return;
        }
        if let Some(written) = written {
            // Whoever wanted to know may be gone.
            let _ = written.send(());
        }
    }
    // The last handle is gone or closed: so is the connection, whatever becomes of this.
    let _ = writer.shutdown().await;
}

async fn read(reader: impl AsyncRead + Unpin, told: mpsc::Sender<Result<Told, ConnectionError>>) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        let (said, over) = match wire::next(&mut reader, &mut line).await {
            Ok(Some(said)) => (Ok(said), false),
            Ok(None) => return,
            Err(error) => (Err(error), true),
        };
        if told.send(said).await.is_err() || over {
            return;
        }
    }
}

/// A question that waits for its answer, with the parts that came so far.
enum Pending {
    Command(Fits, Asker<Reply>),
    Envelopes(Asker<Vec<Envelope>>, Vec<Envelope>),
    History(Asker<History>, History),
    Acks(Asker<Vec<Ack>>, Vec<Ack>),
    Status(Asker<Vec<MailboxStatus>>, Vec<MailboxStatus>),
}

/// Which answer fits a command.
#[derive(Debug, Clone, Copy)]
enum Fits {
    Declared,
    Appended { drafts: usize },
    Leased,
    Extended,
    Acked { emits: usize },
    Nacked,
    Retried,
    Dropped,
}

impl Fits {
    fn of(command: &Command) -> Fits {
        match command {
            Command::Declare { .. } => Fits::Declared,
            Command::Append { drafts } => Fits::Appended { drafts: drafts.len() },
            Command::Restore { past, .. } => Fits::Appended { drafts: past.len() },
            Command::Lease { .. } => Fits::Leased,
            Command::Extend { .. } => Fits::Extended,
            Command::Ack { done, .. } => Fits::Acked {
                emits: done.emits.len(),
            },
            Command::Nack { .. } => Fits::Nacked,
            Command::RetryQuarantined { .. } => Fits::Retried,
            Command::DropQuarantined { .. } => Fits::Dropped,
        }
    }

    fn fits(self, reply: &Reply) -> bool {
        match (self, reply) {
            (Fits::Declared, Reply::Declared)
            | (Fits::Leased, Reply::Leased(_) | Reply::Nothing { .. })
            | (Fits::Extended, Reply::Extended)
            | (Fits::Nacked, Reply::Nacked(_))
            | (Fits::Retried, Reply::Retried)
            | (Fits::Dropped, Reply::Dropped) => true,
            (Fits::Appended { drafts: expected }, Reply::Appended(all))
            | (Fits::Acked { emits: expected }, Reply::Acked(all)) => all.len() == expected,
            _ => false,
        }
    }
}

/// What a lease was answered with, for the task that watches it.
type Granted = Result<Option<(Transit, oneshot::Receiver<()>)>, MailboxError>;

struct Link {
    asked: mpsc::Receiver<Request>,
    incoming: mpsc::Receiver<Result<Told, ConnectionError>>,
    /// Unbounded, so that answers are always read; there are never more lines in it than requests that
    /// wait and leases that end.
    lines: mpsc::UnboundedSender<Outgoing>,
    unreceived: mpsc::UnboundedReceiver<Unreceived>,
    back: mpsc::UnboundedSender<Unreceived>,
    announcer: Announcer,
    pending: HashMap<u64, Pending>,
    leases: HashMap<u64, oneshot::Sender<Granted>>,
    /// Each watches whether somebody still waits for a lease, and gives the lease's id back if not.
    watched: JoinSet<Option<u64>>,
    next: u64,
}

impl Link {
    async fn run(mut self) {
        let mut closing: Option<oneshot::Sender<()>> = None;
        let mut handles_left = true;
        let lost = loop {
            if self.pending.is_empty() && (closing.is_some() || !handles_left) {
                break None;
            }
            let may_ask = handles_left && closing.is_none() && self.pending.len() < IN_FLIGHT;
            tokio::select! {
                request = self.asked.recv(), if may_ask => match request {
                    Some(Request::Close(done)) => closing = Some(done),
                    Some(request) => self.ask(request),
                    None => handles_left = false,
                },
                told = self.incoming.recv() => match told {
                    Some(Ok(Told::Changed(names))) => self.announcer.announce(names.iter()),
                    Some(Ok(Told::Answer { id, answer, more })) => {
                        if let Err(error) = self.answered(id, answer.map_err(MailboxError::from), more) {
                            break Some(error.to_string());
                        }
                    }
                    Some(Err(error)) => break Some(error.to_string()),
                    None => break Some("it closed the connection".to_owned()),
                },
                Some(ended) = self.watched.join_next(), if !self.watched.is_empty() => {
                    if let Ok(Some(id)) = ended && self.leases.remove(&id).is_some() {
                        self.say(id, Ask::Cancel, None);
                    }
                }
                Some(lease) = self.unreceived.recv() => self.return_lease(lease),
            }
        };
        self.end(lost, closing).await;
    }

    /// Writes what is left to be written where the connection was closed from here, and refuses whatever
    /// is asked from now on.
    async fn end(mut self, lost: Option<String>, closing: Option<oneshot::Sender<()>>) {
        let error = match &lost {
            Some(said) => MailboxError::Gone {
                said: Arc::from(said.as_str()),
            },
            None => MailboxError::Closed,
        };
        for (_, pending) in self.pending.drain() {
            pending.fail(error.clone());
        }
        for (_, lease) in self.leases.drain() {
            // Whoever waited may be gone.
            let _ = lease.send(Err(error.clone()));
        }
        // A lease that was confirmed reaches whoever waits for it, or comes back.
        while self.watched.join_next().await.is_some() {}
        while let Ok(lease) = self.unreceived.try_recv() {
            self.return_lease(lease);
        }
        let (written, out) = oneshot::channel();
        let last = Outgoing {
            line: Vec::new(),
            written: Some(written),
        };
        if self.lines.send(last).is_ok() {
            // An error means that the connection is gone, which is no worse than closed.
            let _ = out.await;
        }
        drop(self.lines);
        if let Some(done) = closing {
            // Whoever closed may have stopped waiting.
            let _ = done.send(());
            return;
        }
        while let Some(request) = self.asked.recv().await {
            if let Some(done) = refuse(request, error.clone()) {
                let _ = done.send(());
                return;
            }
        }
    }

    fn ask(&mut self, request: Request) {
        let (ask, pending) = match request {
            Request::Command(command, answer) => {
                let fits = Fits::of(&command);
                (Ask::Command(command), Pending::Command(fits, answer))
            }
            Request::CommandThenLease {
                command,
                replied,
                of,
                lessee,
                answer,
            } => {
                self.ask(Request::Command(command, replied));
                let wait = true;
                return self.ask_lease(Ask::Lease { of, lessee, wait }, answer);
            }
            Request::Lease {
                of,
                lessee,
                wait,
                answer,
            } => return self.ask_lease(Ask::Lease { of, lessee, wait }, answer),
            Request::Envelopes { of, filter, answer } => (
                Ask::Envelopes { of, filter },
                Pending::Envelopes(answer, Vec::new()),
            ),
            Request::History { of, seqs, answer } => {
                let (first, last) = RangeInclusive::into_inner(seqs);
                (
                    Ask::History { of, first, last },
                    Pending::History(answer, Vec::new()),
                )
            }
            Request::Acks {
                of,
                after,
                limit,
                answer,
            } => (Ask::Acks { of, after, limit }, Pending::Acks(answer, Vec::new())),
            Request::Status(answer) => (Ask::Status, Pending::Status(answer, Vec::new())),
            // It was taken out where requests come in.
            Request::Close(_) => return,
        };
        let id = self.fresh();
        match wire::line(&Asked { id, ask }) {
            Ok(line) => {
                self.pending.insert(id, pending);
                self.send(line, None);
            }
            Err(bytes) => pending.fail(MailboxError::TooLarge { bytes }),
        }
    }

    fn ask_lease(&mut self, ask: Ask, answer: oneshot::Sender<Result<Option<Transit>, MailboxError>>) {
        let id = self.fresh();
        let (grant, granted) = oneshot::channel();
        self.leases.insert(id, grant);
        self.watched.spawn(watch(id, answer, granted));
        self.say(id, ask, None);
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn say(&self, id: u64, ask: Ask, written: Option<oneshot::Sender<()>>) {
        // Only a group of messages can be too long, and that is asked elsewhere.
        if let Ok(line) = wire::line(&Asked { id, ask }) {
            self.send(line, written);
        }
    }

    fn send(&self, line: Vec<u8>, written: Option<oneshot::Sender<()>>) {
        // Without a receiver the connection is over, which its reading half says.
        let _ = self.lines.send(Outgoing { line, written });
    }

    /// Gives back what was taken for somebody who no longer waited.
    fn return_lease(&mut self, lease: Unreceived) {
        let Unreceived { of, seq, lease } = lease;
        let id = self.fresh();
        self.say(id, Ask::Command(hand_back(of, seq, lease)), None);
    }

    fn answered(
        &mut self,
        id: u64,
        answer: Result<Answer, MailboxError>,
        more: bool,
    ) -> Result<(), ConnectionError> {
        if let Some(grant) = self.leases.remove(&id) {
            let granted = match answer {
                Ok(Answer::Lease(None)) => Ok(None),
                Ok(Answer::Lease(Some(taken))) => {
                    let (written, confirmed) = oneshot::channel();
                    self.say(id, Ask::Received, Some(written));
                    Ok(Some((self.transit(taken), confirmed)))
                }
                Ok(_) => return Err(ConnectionError::Unasked),
                Err(error) => Err(error),
            };
            // Where nobody waits any more, what was granted comes back by itself.
            let _ = grant.send(granted);
            return Ok(());
        }
        let Some(pending) = self.pending.remove(&id) else {
            // The answer to what nobody waits for: a message that was given back, a cancelled lease.
            return Ok(());
        };
        if let Some(pending) = pending.take(answer, more)? {
            self.pending.insert(id, pending);
        }
        Ok(())
    }

    fn transit(&self, taken: Taken) -> Transit {
        let Taken {
            lease,
            until,
            attempt,
            envelope,
        } = taken;
        let lease = Lease {
            id: lease,
            mailbox: envelope.mailbox.clone(),
            seq: envelope.seq,
            until,
        };
        let delivery = Delivery {
            lease,
            envelope,
            attempt,
        };
        Transit::new(delivery, self.back.clone())
    }
}

/// Waits for the answer to a lease and passes it on once the other end knows that it arrived. Gives the
/// lease's id back where whoever asked stops waiting before.
async fn watch(
    id: u64,
    mut answer: oneshot::Sender<Result<Option<Transit>, MailboxError>>,
    granted: oneshot::Receiver<Granted>,
) -> Option<u64> {
    let granted = tokio::select! {
        biased;
        granted = granted => granted.unwrap_or(Err(MailboxError::Closed)),
        () = answer.closed() => return Some(id),
    };
    let passed = match granted {
        Ok(Some((transit, confirmed))) => match confirmed.await {
            Ok(()) => Ok(Some(transit)),
            // The connection broke before the other end could know: the message is handed back there.
            Err(_) => {
                transit.receive();
                Err(MailboxError::Gone {
                    said: Arc::from("it closed the connection"),
                })
            }
        },
        Ok(None) => Ok(None),
        Err(error) => Err(error),
    };
    // Refused, it comes back by itself.
    let _ = answer.send(passed);
    None
}

impl Pending {
    /// Takes an answer or a part of one, and is itself again where more is to come.
    fn take(
        self,
        answer: Result<Answer, MailboxError>,
        more: bool,
    ) -> Result<Option<Pending>, ConnectionError> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.fail(error);
                return Ok(None);
            }
        };
        // Whoever asked may be gone.
        Ok(match (self, answer) {
            (Pending::Command(fits, asker), Answer::Reply(reply)) if fits.fits(&reply) => {
                let _ = asker.send(Ok(reply));
                None
            }
            (Pending::Envelopes(asker, mut all), Answer::Envelopes(part)) => {
                all.extend(part);
                gathered(asker, all, more).map(|(asker, all)| Pending::Envelopes(asker, all))
            }
            (Pending::History(asker, mut all), Answer::History(part)) => {
                all.extend(part);
                gathered(asker, all, more).map(|(asker, all)| Pending::History(asker, all))
            }
            (Pending::Acks(asker, mut all), Answer::Acks(part)) => {
                all.extend(part);
                gathered(asker, all, more).map(|(asker, all)| Pending::Acks(asker, all))
            }
            (Pending::Status(asker, mut all), Answer::Status(part)) => {
                all.extend(part);
                gathered(asker, all, more).map(|(asker, all)| Pending::Status(asker, all))
            }
            (pending, _) => {
                pending.fail(MailboxError::Gone {
                    said: Arc::from(ConnectionError::Unasked.to_string()),
                });
                return Err(ConnectionError::Unasked);
            }
        })
    }

    fn fail(self, error: MailboxError) {
        // Whoever asked may be gone.
        match self {
            Pending::Command(_, asker) => drop(asker.send(Err(error))),
            Pending::Envelopes(asker, _) => drop(asker.send(Err(error))),
            Pending::History(asker, _) => drop(asker.send(Err(error))),
            Pending::Acks(asker, _) => drop(asker.send(Err(error))),
            Pending::Status(asker, _) => drop(asker.send(Err(error))),
        }
    }
}

/// Hands a whole list to whoever asked, or both back where more is to come.
fn gathered<T>(asker: Asker<Vec<T>>, all: Vec<T>, more: bool) -> Option<(Asker<Vec<T>>, Vec<T>)> {
    if more {
        return Some((asker, all));
    }
    // Whoever asked may be gone.
    let _ = asker.send(Ok(all));
    None
}

/// Refuses what was asked; to be closed is not refused but handed back.
fn refuse(request: Request, error: MailboxError) -> Option<oneshot::Sender<()>> {
    match request {
        Request::Command(_, answer) => drop(answer.send(Err(error))),
        Request::CommandThenLease { replied, answer, .. } => {
            drop(replied.send(Err(error.clone())));
            drop(answer.send(Err(error)));
        }
        Request::Lease { answer, .. } => drop(answer.send(Err(error))),
        Request::Envelopes { answer, .. } => drop(answer.send(Err(error))),
        Request::History { answer, .. } => drop(answer.send(Err(error))),
        Request::Acks { answer, .. } => drop(answer.send(Err(error))),
        Request::Status(answer) => drop(answer.send(Err(error))),
        Request::Close(done) => return Some(done),
    }
    None
}
