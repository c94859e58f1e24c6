//! Questions that change nothing.

use std::collections::BTreeMap;

use super::*;

impl<S: Store> Writer<S> {
    /// Answers a whole batch with the error that keeps the store from being loaded.
    pub(super) fn refuse_all(
        &mut self,
        batch: Vec<Request>,
        error: StoreError,
    ) -> Option<oneshot::Sender<()>> {
        warn!(%error, "the mailbox cannot be loaded again");
        let error = MailboxError::Store(Arc::new(error));
        let mut closing = None;
        self.alarms.clear();
        for waiter in mem::take(&mut self.waiting).into_values().flatten() {
            refuse(Some(waiter.answer), error.clone());
        }
        for request in batch {
            closing = refuse_request(request, error.clone()).or(closing);
        }
        closing
    }

    pub(super) async fn answer(&mut self, query: Request) {
        if let Err(error) = self.ready_for(None).await {
            refuse_request(query, error);
            return;
        }
        // Whoever asked may be gone.
        match query {
            Request::Envelopes { of, filter, answer } => {
                let _ = answer.send(self.envelopes(&of, &filter).await);
            }
            Request::History { of, seqs, answer } => {
                let _ = answer.send(self.history(&of, seqs).await);
            }
            Request::Acks {
                of,
                after,
                limit,
                answer,
            } => {
                let _ = answer.send(self.acks(&of, after, limit).await);
            }
            Request::Status(answer) => {
                let now = self.clock.now();
                let _ = answer.send(Ok(self
                    .index
                    .as_ref()
                    .map(|index| index.status(now))
                    .unwrap_or_default()));
            }
            Request::Command(..)
            | Request::CommandThenLease { .. }
            | Request::Lease { .. }
            | Request::Close(_) => {}
        }
    }

    async fn envelopes(&mut self, of: &MailboxName, filter: &Filter) -> Result<Vec<Envelope>, MailboxError> {
        if let Some(id) = &filter.id {
            let Some(index) = &self.index else {
                return Ok(Vec::new());
            };
            let seqs: Vec<Seq> = index
                .seq_of(of, id)
                .into_iter()
                .filter(|seq| filter.after.is_none_or(|after| *seq > after))
                .filter(|seq| filter.standing.is_none() || index.stands(of, *seq) == filter.standing)
                .collect();
            return self.read(of, &seqs).await;
        }
        let mut after = filter.after;
        loop {
            let Some(index) = &self.index else {
                return Ok(Vec::new());
            };
            let seqs = index.select(of, after, filter.standing, filter.limit);
            let page = self.read(of, &seqs).await?;
            after = seqs.last().copied();
            // A page whose messages were all pruned is not the end.
            if !page.is_empty() || after.is_none() {
                return Ok(page);
            }
        }
    }

    /// The messages with these numbers, which are in order, as envelopes.
    async fn read(&mut self, of: &MailboxName, seqs: &[Seq]) -> Result<Vec<Envelope>, MailboxError> {
        let mut envelopes = Vec::with_capacity(seqs.len());
        for run in seqs.chunk_by(|a, b| a.next() == *b) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else {
                continue;
            };
            let found = self.store.read(of, *first..=*last).await.map_err(|error| {
                self.index = None;
                MailboxError::Store(Arc::new(error))
            })?;
            let Some(index) = &self.index else { break };
            envelopes.extend(found.into_iter().filter_map(|(seq, stored)| {
                let (state, attempts) = index.state(of, seq)?;
                Some(envelope(of.clone(), seq, stored, state, attempts))
            }));
        }
        Ok(envelopes)
    }

    async fn history(
        &mut self,
        of: &MailboxName,
        seqs: RangeInclusive<Seq>,
    ) -> Result<Vec<(Envelope, Vec<StampedEvent>)>, MailboxError> {
        let Some(index) = &self.index else {
            return Ok(Vec::new());
        };
        let after = seqs.start().0.checked_sub(1).map(Seq);
        let count = usize::try_from(seqs.end().0.saturating_sub(seqs.start().0).saturating_add(1))
            .unwrap_or(usize::MAX);
        let mut wanted = index.select(of, after, None, count);
        // Where some were pruned, as many reach beyond the last.
        wanted.retain(|seq| seqs.contains(seq));
        let envelopes = self.read(of, &wanted).await?;
        let mut found = self.store.events(of, seqs).await.map_err(|error| {
            self.index = None;
            MailboxError::Store(Arc::new(error))
        })?;
        // By message, and of each message in the log's order; messages are in order too.
        found.sort_by_key(|event| event.seq);
        let mut found = found.into_iter().peekable();
        let with_events = |envelope: Envelope| {
            while found.next_if(|event| event.seq < envelope.seq).is_some() {}
            let own = std::iter::from_fn(|| found.next_if(|event| event.seq == envelope.seq));
            let events = own.collect();
            (envelope, events)
        };
        Ok(envelopes.into_iter().map(with_events).collect())
    }

    async fn acks(&mut self, of: &MailboxName, after: u64, limit: usize) -> Result<Vec<Ack>, MailboxError> {
        let mut after = after;
        loop {
            let Some(index) = &self.index else {
                return Ok(Vec::new());
            };
            let places = index.acks(of, after, limit);
            let Some((last, _)) = places.last().copied() else {
                return Ok(Vec::new());
            };
            let page = self.acks_at(of, places).await?;
            if !page.is_empty() {
                return Ok(page);
            }
            after = last;
        }
    }

    async fn acks_at(&mut self, of: &MailboxName, places: Vec<(u64, Seq)>) -> Result<Vec<Ack>, MailboxError> {
        let mut seqs: Vec<Seq> = places.iter().map(|(_, seq)| *seq).collect();
        seqs.sort_unstable();
        let envelopes = self.read(of, &seqs).await?;
        let by_seq: BTreeMap<Seq, Envelope> = envelopes
            .into_iter()
            .map(|envelope| (envelope.seq, envelope))
            .collect();
        let ack = |(place, seq): (u64, Seq)| {
            let envelope = by_seq.get(&seq)?;
            let EnvelopeState::Acked { outcome, at, by } = &envelope.state else {
                return None;
            };
            Some(Ack {
                place,
                seq,
                msg_id: envelope.message.msg_id().clone(),
                outcome: Arc::clone(outcome),
                at: *at,
                by: by.clone(),
            })
        };
        Ok(places.into_iter().filter_map(ack).collect())
    }
}

/// Refuses what was asked; to be closed is not refused but handed back.
fn refuse_request(request: Request, error: MailboxError) -> Option<oneshot::Sender<()>> {
    match request {
        Request::Command(_, answer) => refuse(Some(answer), error),
        Request::CommandThenLease { replied, answer, .. } => {
            refuse(Some(replied), error.clone());
            refuse(Some(answer), error);
        }
        Request::Lease { answer, .. } => refuse(Some(answer), error),
        Request::Envelopes { answer, .. } => refuse(Some(answer), error),
        Request::History { answer, .. } => refuse(Some(answer), error),
        Request::Acks { answer, .. } => refuse(Some(answer), error),
        Request::Status(answer) => refuse(Some(answer), error),
        Request::Close(done) => return Some(done),
    }
    None
}
