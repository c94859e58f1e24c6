//! The policy of every mailbox, written once: an index, a command and a moment give what is to be
//! written and what is to be answered. No clock, no random numbers, no store, no waiting.
//!
//! The index moves on with every write that is decided here, before it is durable: the caller makes
//! the writes durable before it passes on the reply, and drops the index when that fails.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Moment;
use crate::command::{Appended, Claim, Command, Done, Granted, Lessee, Nack, Nacked, Refusal, Reply};
use crate::envelope::EnvelopeState;
use crate::event::{AckedBy, DeliveryEvent, FailureKind, Holder, QuarantineCause, StampedEvent};
use crate::index::{About, Held, Index};
use crate::message::Draft;
use crate::names::{LeaseId, MailboxName, MsgId, Seq};
use crate::policy::Policy;
use crate::store::{Epoch, Stored, Write};

/// The outcome of a message that a newer one of its intent and subject made pointless.
pub const SUPERSEDED: &str = "superseded";
/// The outcome of a message whose evidence is that of the last one finished.
pub const UNCHANGED: &str = "unchanged";
/// The outcome of a message that was taken out of quarantine for good.
pub const DROPPED: &str = "dropped";

/// The longest outcome or reason that is kept, in bytes: a screenful. It is a text for people, and a
/// handler may well hand over all that a program printed.
pub const MAX_TEXT: usize = 4 * 1024;

/// Carries out one command as of `now`: what is to be written, and the answer for when it is.
pub fn apply(index: &mut Index, command: Command, now: Moment) -> (Vec<Write>, Reply) {
    let mut step = Step {
        index,
        now,
        writes: Vec::new(),
    };
    let reply = match command {
        Command::Declare { mailbox, policy } => Ok(step.declare(&mailbox, policy)),
        Command::Append { drafts } => Ok(Reply::Appended(step.append(drafts))),
        Command::Lease { of, lessee, lease } => Ok(step.lease(&of, lessee, lease)),
        Command::Extend {
            of,
            seq,
            lease,
            until,
        } => step.extend(&of, seq, lease, until),
        Command::Ack { of, claim, by, done } => step.ack(&of, &claim, by, done),
        Command::Nack { of, claim, nack } => step.nack(&of, &claim, nack),
        Command::RetryQuarantined { of, id } => step
            .release(&of, &id, DeliveryEvent::Retried)
            .map(|()| Reply::Retried),
        Command::DropQuarantined { of, id, reason } => {
            let dropped = DeliveryEvent::Dropped { reason: text(reason) };
            step.release(&of, &id, dropped).map(|()| Reply::Dropped)
        }
        Command::Restore { of, past } => step.restore(&of, past),
    };
    (step.writes, reply.unwrap_or_else(Reply::Refused))
}

/// What is written when a process takes the mailboxes up: the leases of earlier lives are void at
/// once (contract, section 3, rule 4). Rests and leases that seem to begin in the future, because the
/// clock was set back in between, begin now.
pub fn begin(index: &mut Index, now: Moment) -> Vec<Write> {
    index.rebase(now);
    let mut step = Step {
        index,
        now,
        writes: Vec::new(),
    };
    for (of, seq, lease) in step.index.orphans() {
        step.event(&of, seq, DeliveryEvent::Voided { lease });
    }
    step.writes
}

/// The mailboxes whose events a command may write.
pub fn mailbox_of(command: &Command) -> Option<&MailboxName> {
    match command {
        Command::Append { .. } => None,
        Command::Declare { mailbox, .. } => Some(mailbox),
        Command::Lease { of, .. }
        | Command::Extend { of, .. }
        | Command::Ack { of, .. }
        | Command::Nack { of, .. }
        | Command::RetryQuarantined { of, .. }
        | Command::DropQuarantined { of, .. }
        | Command::Restore { of, .. } => Some(of),
    }
}

struct Step<'a> {
    index: &'a mut Index,
    now: Moment,
    writes: Vec<Write>,
}

impl Step<'_> {
    fn event(&mut self, of: &MailboxName, seq: Seq, event: DeliveryEvent) {
        let at = self.now;
        self.record(of, StampedEvent { seq, at, event });
    }

    fn record(&mut self, of: &MailboxName, event: StampedEvent) {
        self.index.event(of, &event);
        // A mailbox that nobody owns has epoch 0, which every store fences.
        let under = self
            .index
            .mailbox(of)
            .and_then(|mailbox| mailbox.epoch)
            .unwrap_or(Epoch(0));
        self.writes.push(Write::Event {
            of: of.clone(),
            under,
            event,
        });
    }

    fn declare(&mut self, of: &MailboxName, policy: Policy) -> Reply {
        self.index.mailbox_mut(of).policy = policy;
        let spent: Vec<Seq> = self
            .index
            .mailbox(of)
            .into_iter()
            .flat_map(|mailbox| {
                let max = mailbox.policy.max_attempts;
                mailbox
                    .touched()
                    .filter(move |(_, open)| open.lease.is_none() && open.attempts >= max)
                    .map(|(seq, _)| seq)
            })
            .collect();
        for seq in spent {
            self.spent(of, seq);
        }
        Reply::Declared
    }

    fn append(&mut self, drafts: Vec<Draft>) -> Vec<Appended> {
        drafts.into_iter().map(|draft| self.append_one(draft)).collect()
    }

    fn append_one(&mut self, draft: Draft) -> Appended {
        self.place(draft, self.now)
    }

    fn place(&mut self, draft: Draft, at: Moment) -> Appended {
        let to = draft.to.clone();
        if let Some(seq) = self.index.seq_of(&to, draft.message.msg_id()) {
            let outcome = self.index.outcome(&to, seq).map(|outcome| outcome.to_string());
            return Appended::Known { seq, outcome };
        }
        let seq = self.index.mailbox_mut(&to).next_seq();
        let stored = Stored::new(draft, at);
        self.index.message(&to, seq, stored.head());
        self.writes.push(Write::Message { to, stored });
        Appended::Placed(seq)
    }

    fn lease(&mut self, of: &MailboxName, lessee: Lessee, lease: LeaseId) -> Reply {
        self.expire(of);
        let mailbox = self.index.mailbox_mut(of);
        mailbox.wake(self.now);
        if mailbox.is_at_its_wip() {
            return Reply::Nothing {
                next: mailbox.next_time(),
            };
        }
        while let Some((seq, attempts, about)) = self.first_ready(of) {
            if let Some(about) = about {
                if self.index.mailbox_mut(of).is_busy(about.subject) {
                    self.index.mailbox_mut(of).park(seq, about.subject);
                    continue;
                }
                let newest = self.supersede(of, &about);
                if newest != seq {
                    continue;
                }
                if self.index.mailbox_mut(of).unchanged(&about, self.now) {
                    self.ack_by_policy(of, seq, UNCHANGED);
                    continue;
                }
            }
            let incarnation = self.index.incarnation();
            let policy = &self.index.mailbox_mut(of).policy;
            if attempts >= policy.max_attempts {
                self.spent(of, seq);
                continue;
            }
            let (holder, until) = match lessee {
                Lessee::Process => (
                    Holder::Process(incarnation),
                    policy.process_lease.map(|long| self.now.after(long)),
                ),
                Lessee::Pull { for_ } => (Holder::Pull, Some(self.now.after(for_))),
            };
            let attempt = attempts + 1;
            self.event(
                of,
                seq,
                DeliveryEvent::Leased {
                    lease,
                    holder,
                    attempt,
                    until,
                },
            );
            return Reply::Leased(Granted {
                seq,
                lease,
                holder,
                attempt,
                until,
            });
        }
        Reply::Nothing {
            next: self.index.mailbox_mut(of).next_time(),
        }
    }

    fn first_ready(&mut self, of: &MailboxName) -> Option<(Seq, u32, Option<About>)> {
        let mailbox = self.index.mailbox(of)?;
        let seq = mailbox.ready.first()?;
        let open = mailbox.open(seq)?;
        Some((seq, open.attempts, open.about.cloned()))
    }

    /// Acks all but the newest of the unread messages of one intent and subject, and says which one
    /// that is (contract, section 3, rule 7).
    fn supersede(&mut self, of: &MailboxName, about: &About) -> Seq {
        let mut kin = self.index.mailbox_mut(of).kin(about.kin);
        let newest = kin.pop().unwrap_or(Seq::MAX);
        for older in kin {
            self.ack_by_policy(of, older, SUPERSEDED);
        }
        newest
    }

    fn ack_by_policy(&mut self, of: &MailboxName, seq: Seq, outcome: &str) {
        let event = DeliveryEvent::Acked {
            lease: None,
            outcome: outcome.into(),
            by: AckedBy::Policy,
            read: None,
        };
        self.event(of, seq, event);
    }

    /// Sets a message aside that has no attempt left.
    fn spent(&mut self, of: &MailboxName, seq: Seq) {
        let attempts = self.index.state(of, seq).map_or(0, |(_, attempts)| attempts);
        let reason = format!("not handled after {attempts} attempts");
        let cause = QuarantineCause::Attempts;
        self.event(
            of,
            seq,
            DeliveryEvent::Quarantined {
                cause,
                reason: reason.into(),
            },
        );
    }

    /// Takes back the leases that ran out.
    fn expire(&mut self, of: &MailboxName) {
        let Some(mailbox) = self.index.mailbox(of) else {
            return;
        };
        let max = mailbox.policy.max_attempts;
        for (seq, lease) in mailbox.expired(self.now) {
            self.event(of, seq, DeliveryEvent::Expired { lease });
            if self
                .index
                .state(of, seq)
                .is_some_and(|(_, attempts)| attempts >= max)
            {
                self.spent(of, seq);
            }
        }
    }

    fn extend(
        &mut self,
        of: &MailboxName,
        seq: Seq,
        lease: LeaseId,
        until: Moment,
    ) -> Result<Reply, Refusal> {
        self.expire(of);
        self.held(of, seq, lease)?;
        self.event(of, seq, DeliveryEvent::Extended { lease, until });
        Ok(Reply::Extended)
    }

    fn ack(&mut self, of: &MailboxName, claim: &Claim, by: AckedBy, done: Done) -> Result<Reply, Refusal> {
        self.expire(of);
        let (seq, lease) = match (claim, &by) {
            (Claim::Id { id, lease: None }, AckedBy::Line { .. }) => {
                let seq = self.number(of, id)?;
                match self.index.state(of, seq) {
                    // A line that is read again says nothing new, nor does one about what was pruned.
                    Some((EnvelopeState::Acked { .. }, _)) | None => return Ok(Reply::Acked(Vec::new())),
                    Some((EnvelopeState::Quarantined { .. }, _)) => {
                        return Err(Refusal::Quarantined { of: of.clone(), seq });
                    }
                    Some((EnvelopeState::Unread { .. } | EnvelopeState::Leased { .. }, _)) => (seq, None),
                }
            }
            _ => {
                let (seq, held) = self.right(of, claim)?;
                (seq, Some(held.lease))
            }
        };
        let Done { outcome, emits, read } = done;
        self.event(
            of,
            seq,
            DeliveryEvent::Acked {
                lease,
                outcome: text(outcome),
                by,
                read,
            },
        );
        Ok(Reply::Acked(self.append(emits)))
    }

    fn nack(&mut self, of: &MailboxName, claim: &Claim, nack: Nack) -> Result<Reply, Refusal> {
        self.expire(of);
        let (seq, held) = self.right(of, claim)?;
        let lease = held.lease;
        let nacked = match nack {
            Nack::HandBack { reason, until } => {
                self.event(
                    of,
                    seq,
                    DeliveryEvent::HandedBack {
                        lease,
                        reason: text(reason),
                        until,
                    },
                );
                Nacked {
                    quarantined: false,
                    next: until,
                }
            }
            Nack::Reject { reason } => {
                let cause = QuarantineCause::Rejected;
                self.event(
                    of,
                    seq,
                    DeliveryEvent::Quarantined {
                        cause,
                        reason: text(reason),
                    },
                );
                Nacked {
                    quarantined: true,
                    next: None,
                }
            }
            Nack::Failed {
                reason,
                retry_after,
                kind,
            } => self.failed(of, seq, lease, kind, text(reason), retry_after),
        };
        Ok(Reply::Nacked(nacked))
    }

    fn failed(
        &mut self,
        of: &MailboxName,
        seq: Seq,
        lease: LeaseId,
        kind: FailureKind,
        reason: Arc<str>,
        retry_after: Option<Duration>,
    ) -> Nacked {
        let attempts = self.index.state(of, seq).map_or(0, |(_, attempts)| attempts);
        let dice = self.index.dice(seq, attempts);
        let policy = &self.index.mailbox_mut(of).policy;
        let rest = retry_after.unwrap_or_else(|| policy.backoff(attempts, dice));
        let last = attempts >= policy.max_attempts;
        self.event(
            of,
            seq,
            DeliveryEvent::Failed {
                lease,
                reason: Arc::clone(&reason),
                kind,
                rest,
            },
        );
        if last {
            let cause = QuarantineCause::Attempts;
            self.event(of, seq, DeliveryEvent::Quarantined { cause, reason });
            return Nacked {
                quarantined: true,
                next: None,
            };
        }
        Nacked {
            quarantined: false,
            next: Some(self.now.after(rest)),
        }
    }

    /// Takes a message out of quarantine.
    fn release(&mut self, of: &MailboxName, id: &MsgId, event: DeliveryEvent) -> Result<(), Refusal> {
        self.expire(of);
        let seq = self.number(of, id)?;
        match self.index.state(of, seq) {
            Some((EnvelopeState::Quarantined { .. }, _)) => {
                self.event(of, seq, event);
                Ok(())
            }
            _ => Err(Refusal::NotQuarantined { of: of.clone(), seq }),
        }
    }

    fn number(&self, of: &MailboxName, id: &MsgId) -> Result<Seq, Refusal> {
        let missing = || Refusal::NoSuchMessage {
            of: of.clone(),
            id: id.clone(),
        };
        self.index.seq_of(of, id).ok_or_else(missing)
    }

    /// The message that a claim means, if the claim holds.
    fn right(&self, of: &MailboxName, claim: &Claim) -> Result<(Seq, Held), Refusal> {
        match claim {
            Claim::Lease { seq, lease } => Ok((*seq, self.held(of, *seq, *lease)?)),
            Claim::Id {
                id,
                lease: Some(lease),
            } => {
                let seq = self.number(of, id)?;
                Ok((seq, self.held(of, seq, *lease)?))
            }
            Claim::Id { id, lease: None } => {
                let seq = self.number(of, id)?;
                match self.lease_on(of, seq)? {
                    Some(held) if held.holder == Holder::Pull => Ok((seq, held)),
                    Some(_) => Err(Refusal::WithItsActor { of: of.clone(), seq }),
                    None => Err(Refusal::NotTaken { of: of.clone(), seq }),
                }
            }
        }
    }

    fn held(&self, of: &MailboxName, seq: Seq, lease: LeaseId) -> Result<Held, Refusal> {
        match self.lease_on(of, seq)? {
            Some(held) if held.lease == lease => Ok(held),
            Some(_) | None => Err(Refusal::NotCurrent { of: of.clone(), seq }),
        }
    }

    fn lease_on(&self, of: &MailboxName, seq: Seq) -> Result<Option<Held>, Refusal> {
        match self.index.state(of, seq) {
            None => Err(match self.index.outcome(of, seq) {
                Some(outcome) => Refusal::AlreadyAcked {
                    of: of.clone(),
                    seq,
                    outcome,
                },
                None => Refusal::NoSuchNumber { of: of.clone(), seq },
            }),
            Some((EnvelopeState::Acked { outcome, .. }, _)) => Err(Refusal::AlreadyAcked {
                of: of.clone(),
                seq,
                outcome,
            }),
            Some((EnvelopeState::Quarantined { .. }, _)) => Err(Refusal::Quarantined { of: of.clone(), seq }),
            Some((EnvelopeState::Unread { .. } | EnvelopeState::Leased { .. }, _)) => Ok(self
                .index
                .mailbox(of)
                .and_then(|mailbox| mailbox.open(seq))
                .and_then(|open| open.lease)),
        }
    }
}

/// A text that is kept, cut to [`MAX_TEXT`] where it is longer.
fn text(mut text: String) -> Arc<str> {
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        text.truncate(end);
    }
    text.into()
}

mod restore;
#[cfg(test)]
mod tests;
