//! A group made durable, and everybody answered.

use super::*;

impl<S: Store> Writer<S> {
    /// Makes a group durable, then answers.
    pub(super) async fn commit(&mut self, group: Group) {
        let Group {
            writes, due, changed, ..
        } = group;
        let outcome = if writes.is_empty() {
            Ok(())
        } else {
            self.write(&writes, &changed).await
        };
        if let Err(error) = outcome {
            self.fail(due, error);
            return;
        }
        self.announcer.announce(changed.keys());
        for due in due {
            match due {
                Due::Reply(answer, reply) => {
                    let answered = match reply {
                        Reply::Refused(refusal) => Err(MailboxError::Refused(refusal)),
                        reply => Ok(reply),
                    };
                    // Whoever asked may be gone; what was asked is done all the same.
                    let _ = answer.send(answered);
                }
                Due::Nothing(answer) => {
                    let _ = answer.send(Ok(None));
                }
                Due::Grant(of, granted, answer) => self.deliver(of, granted, answer).await,
            }
        }
    }

    /// Answers a group that was not written. What it would have changed is in the index already, so
    /// that is loaded again.
    pub(super) fn fail(&mut self, due: Vec<Due>, error: MailboxError) {
        warn!(%error, requests = due.len(), "a group of the mailbox was not written");
        self.index = None;
        let retry = self.clock.now().after(RELOAD_AFTER);
        self.alarms = self.waiting.keys().map(|name| (name.clone(), retry)).collect();
        for due in due {
            match due {
                Due::Reply(answer, _) => refuse(Some(answer), error.clone()),
                Due::Nothing(answer) => refuse(Some(answer), error.clone()),
                Due::Grant(of, granted, answer) => {
                    self.doubtful.push(Unreceived {
                        of,
                        seq: granted.seq,
                        lease: granted.lease,
                    });
                    refuse(Some(answer), error.clone());
                }
            }
        }
    }

    /// Writes a group, and sees to it that the store numbered its messages as the index did: of each mailbox
    /// they are the last ones.
    async fn write(
        &mut self,
        writes: &[Write],
        changed: &BTreeMap<MailboxName, u64>,
    ) -> Result<(), MailboxError> {
        let wrote = self
            .store
            .commit(writes)
            .await
            .map_err(|error| MailboxError::Store(Arc::new(error)))?;
        self.count(writes.len());
        let mut left = changed.clone();
        for (write, wrote) in writes.iter().zip(wrote) {
            match (write, wrote) {
                (Write::Event { of, .. } | Write::Message { to: of, .. }, Wrote::Fenced) => {
                    return Err(MailboxError::Fenced { of: of.clone() });
                }
                (Write::Message { to, .. }, Wrote::Placed(seq)) => {
                    let next = self.index.as_ref().and_then(|index| index.mailbox(to));
                    let next = next.map_or(Seq::FIRST, |mailbox| mailbox.next_seq());
                    let left = left.get_mut(to);
                    if left.as_ref().is_none_or(|left| seq.0 + **left != next.0) {
                        return Err(MailboxError::Contended { of: to.clone() });
                    }
                    left.into_iter().for_each(|left| *left -= 1);
                }
                (Write::Message { to, .. }, Wrote::Known(_)) => {
                    return Err(MailboxError::Contended { of: to.clone() });
                }
                (Write::Event { .. }, Wrote::Known(_) | Wrote::Placed(_)) => {}
            }
        }
        Ok(())
    }

    pub(super) fn count(&self, records: usize) {
        debug!(records, "group");
        self.tally.groups.fetch_add(1, Ordering::Relaxed);
        self.tally.records.fetch_add(records as u64, Ordering::Relaxed);
    }

    /// Puts a message in quarantine whose text is gone from the disk, so that it blocks no other one.
    async fn set_aside(&mut self, lost: Unreceived) {
        let Some(index) = &mut self.index else { return };
        let command = Command::Nack {
            of: lost.of.clone(),
            claim: Claim::Lease {
                seq: lost.seq,
                lease: lost.lease,
            },
            nack: Nack::Reject {
                reason: "its text cannot be read from the disk any more".to_owned(),
            },
        };
        let (writes, _) = apply(index, command, self.clock.now());
        match self.write(&writes, &BTreeMap::new()).await {
            Ok(()) => self.announcer.announce(std::iter::once(&lost.of)),
            Err(error) => {
                warn!(%error, "a message that cannot be read was not set aside");
                self.index = None;
                self.doubtful.push(lost);
            }
        }
    }

    async fn deliver(&mut self, of: MailboxName, granted: Granted, answer: Answer<Option<Transit>>) {
        let Granted {
            seq,
            lease,
            holder,
            attempt,
            until,
        } = granted;
        let read = match self.store.read(&of, seq..=seq).await {
            Ok(mut found) if !found.is_empty() => Ok(found.swap_remove(0).1),
            Ok(_) => Err(MailboxError::Unreadable { of: of.clone(), seq }),
            Err(error) => {
                self.index = None;
                Err(MailboxError::Store(Arc::new(error)))
            }
        };
        let stored = match read {
            Ok(stored) => stored,
            Err(error) => {
                match error {
                    MailboxError::Unreadable { .. } => self.set_aside(Unreceived { of, seq, lease }).await,
                    _ => self.doubtful.push(Unreceived { of, seq, lease }),
                }
                refuse(Some(answer), error);
                return;
            }
        };
        let state = EnvelopeState::Leased { lease, holder, until };
        let envelope = envelope(of.clone(), seq, stored, state, attempt);
        let lease = Lease {
            id: lease,
            mailbox: of,
            seq,
            until,
        };
        let transit = Transit::new(
            Delivery {
                lease,
                envelope,
                attempt,
            },
            self.back.clone(),
        );
        // Refused, it comes back by itself.
        let _ = answer.send(Ok(Some(transit)));
    }
}
