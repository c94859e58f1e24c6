//! What stands on a line, both ways, and lines themselves.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use super::{ConnectionError, MAX_FRAME};
use crate::clock::Moment;
use crate::command::{Command, Lessee, Refusal, Reply};
use crate::envelope::{Ack, Envelope, Filter, MailboxStatus};
use crate::event::StampedEvent;
use crate::mailboxes::MailboxError;
use crate::names::{LeaseId, MailboxName, Seq};

/// A line to the process that holds the mailboxes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    /// What the answer is found by; the asker's own, each used once.
    pub(super) id: u64,
    pub(super) ask: Ask,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    Command(Command),
    Lease {
        of: MailboxName,
        lessee: Lessee,
        wait: bool,
    },
    Envelopes {
        of: MailboxName,
        filter: Filter,
    },
    History {
        of: MailboxName,
        first: Seq,
        last: Seq,
    },
    Acks {
        of: MailboxName,
        after: u64,
        limit: usize,
    },
    Status,
    /// The message of the lease with this id has arrived. Not answered.
    Received,
    /// Nobody waits for the lease with this id any more. Not answered.
    Cancel,
}

/// A line from the process that holds the mailboxes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Told {
    /// An answer, or one part of it.
    Answer {
        id: u64,
        answer: Result<Answer, Fault>,
        /// Whether a further part follows.
        more: bool,
    },
    /// Something changed in these mailboxes.
    Changed(Vec<MailboxName>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Reply(Reply),
    Lease(Option<Taken>),
    Envelopes(Vec<Envelope>),
    History(Vec<(Envelope, Vec<StampedEvent>)>),
    Acks(Vec<Ack>),
    Status(Vec<MailboxStatus>),
}

/// A message that was taken.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Taken {
    pub(super) lease: LeaseId,
    pub(super) until: Option<Moment>,
    pub(super) attempt: u32,
    pub(super) envelope: Envelope,
}

/// A [`MailboxError`] as it travels: what the store says becomes its words.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Fault {
    Closed,
    Refused(Refusal),
    Failed { said: String },
    Fenced { of: MailboxName },
    Contended { of: MailboxName },
    Unreadable { of: MailboxName, seq: Seq },
    OwnersOnly,
    TooMany,
    TooLarge { bytes: usize },
}

impl From<MailboxError> for Fault {
    fn from(error: MailboxError) -> Fault {
        match error {
            MailboxError::Closed => Fault::Closed,
            MailboxError::Refused(refusal) => Fault::Refused(refusal),
            MailboxError::Fenced { of } => Fault::Fenced { of },
            MailboxError::Contended { of } => Fault::Contended { of },
            MailboxError::Unreadable { of, seq } => Fault::Unreadable { of, seq },
            MailboxError::OwnersOnly => Fault::OwnersOnly,
            MailboxError::TooMany => Fault::TooMany,
            MailboxError::TooLarge { bytes } => Fault::TooLarge { bytes },
            error @ (MailboxError::Store(_) | MailboxError::Elsewhere { .. } | MailboxError::Gone { .. }) => {
                Fault::Failed {
                    said: error.to_string(),
                }
            }
        }
    }
}

impl From<Fault> for MailboxError {
    fn from(fault: Fault) -> MailboxError {
        match fault {
            Fault::Closed => MailboxError::Closed,
            Fault::Refused(refusal) => MailboxError::Refused(refusal),
            Fault::Failed { said } => MailboxError::Elsewhere {
                said: Arc::from(said),
            },
            Fault::Fenced { of } => MailboxError::Fenced { of },
            Fault::Contended { of } => MailboxError::Contended { of },
            Fault::Unreadable { of, seq } => MailboxError::Unreadable { of, seq },
            Fault::OwnersOnly => MailboxError::OwnersOnly,
            Fault::TooMany => MailboxError::TooMany,
            Fault::TooLarge { bytes } => MailboxError::TooLarge { bytes },
        }
    }
}

/// One line with its line break, or how long it would be.
pub(super) fn line<T: Serialize>(said: &T) -> Result<Vec<u8>, usize> {
    let mut line = serde_json::to_vec(said).expect("what travels has string keys and finite numbers");
    line.push(b'\n');
    if line.len() > MAX_FRAME {
        return Err(line.len());
    }
    Ok(line)
}

/// The next line, or `None` at the end of the stream. At most [`MAX_FRAME`] bytes of it are kept.
pub(super) async fn next<T: DeserializeOwned>(
    stream: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> Result<Option<T>, ConnectionError> {
    line.clear();
    loop {
        let here = stream.fill_buf().await?;
        if here.is_empty() {
            return if line.is_empty() {
                Ok(None)
            } else {
                Err(ConnectionError::CutShort)
            };
        }
        let end = here.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(here.len(), |end| end + 1);
        if line.len() + taken > MAX_FRAME {
            return Err(ConnectionError::TooLong);
        }
        line.extend_from_slice(&here[..taken]);
        stream.consume(taken);
        if end.is_some() {
            return serde_json::from_slice(line)
                .map(Some)
                .map_err(ConnectionError::Malformed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8]) -> Result<Option<u32>, ConnectionError> {
        next(&mut &bytes[..], &mut Vec::new()).await
    }

    #[tokio::test]
    async fn what_is_a_line_and_what_is_not() {
        assert_eq!(read(b"7\n8\n").await.unwrap(), Some(7));
        assert_eq!(read(b"").await.unwrap(), None);
        assert!(matches!(read(b"7").await, Err(ConnectionError::CutShort)));
        assert!(matches!(read(b"{\n").await, Err(ConnectionError::Malformed(_))));
        assert!(matches!(
            read(b"\xff\n").await,
            Err(ConnectionError::Malformed(_))
        ));
        assert!(matches!(read(b"\n").await, Err(ConnectionError::Malformed(_))));
        let endless = vec![b' '; MAX_FRAME + 1];
        assert!(matches!(read(&endless).await, Err(ConnectionError::TooLong)));
    }

    #[test]
    fn a_line_knows_its_bound() {
        assert_eq!(line(&7).unwrap(), b"7\n");
        assert_eq!(line(&"x".repeat(MAX_FRAME)), Err(MAX_FRAME + 3));
    }
}
