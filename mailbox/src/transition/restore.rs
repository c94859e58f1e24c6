//! Messages that come with a past: what an import takes in.

use super::*;
use crate::past::Past;

impl Step<'_> {
    pub(super) fn restore(&mut self, of: &MailboxName, past: Vec<Past>) -> Result<Reply, Refusal> {
        for one in &past {
            one.check().map_err(|why| Refusal::NoHistory {
                id: one.message.msg_id().clone(),
                why,
            })?;
        }
        let restored = past.into_iter().map(|one| self.restore_one(of, one)).collect();
        Ok(Reply::Appended(restored))
    }

    fn restore_one(&mut self, of: &MailboxName, past: Past) -> Appended {
        let Past {
            message,
            subject,
            evidence,
            cause,
            appended_at,
            events,
        } = past;
        let draft = Draft {
            to: of.clone(),
            message,
            subject,
            evidence,
            cause,
        };
        // The clock of another machine may be ahead of this one's.
        let placed = self.place(draft, appended_at.min(self.now));
        let Appended::Placed(seq) = placed else {
            return placed;
        };
        for StampedEvent { at, event, .. } in events {
            let at = at.min(self.now);
            self.record(of, StampedEvent { seq, at, event });
        }
        let held = self
            .index
            .mailbox(of)
            .and_then(|mailbox| mailbox.open(seq))
            .and_then(|open| open.lease);
        // No process of elsewhere is this one, whatever its name.
        if let Some(Held {
            lease,
            holder: Holder::Process(_),
            ..
        }) = held
        {
            self.event(of, seq, DeliveryEvent::Voided { lease });
        }
        placed
    }
}
