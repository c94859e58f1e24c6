//! Durable, ordered, deduplicated mailboxes for actors.
//!
//! # What it is for
//!
//! A program that is made of actors, each of which handles one message at a time, and that may be
//! killed at any line: what was sent is not lost, what was handled is not handled again, and what
//! fails does not stand in the way of the rest. Whoever supervises the actors takes messages out with
//! [`Mailboxes::lease`] and says what came of them with [`Mailboxes::ack`] or [`Mailboxes::nack`].
//! The crate knows nothing of what the messages mean.
//!
//! # An example
//!
//! ```
//! use std::sync::Arc;
//! use mailbox::{Appended, Done, Draft, Lessee, MailboxName, Mailboxes, Message, Policy, Seq, SystemClock};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let dir = tempfile::tempdir()?;
//! let mailboxes = Mailboxes::open_sled(dir.path(), Arc::new(SystemClock::start()))?;
//! let greeter: MailboxName = "greeter".parse()?;
//! mailboxes.declare(greeter.clone(), Policy::default()).await?;
//!
//! let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"lab","intent":"greet","msg_id":"m-1","name":"Ada"}"#;
//! let draft = Draft::new(greeter.clone(), Message::parse(line)?);
//! // When this returns, the message would survive a power cut.
//! assert_eq!(mailboxes.append(vec![draft.clone()]).await?, [Appended::Placed(Seq(1))]);
//!
//! let delivery = mailboxes.lease(&greeter, Lessee::Process).await?;
//! assert_eq!(delivery.envelope.message.body()["name"], "Ada");
//! mailboxes.ack(delivery.lease, Done::new("greeted")).await?;
//!
//! // Sent again, it is known, and so is what came of it.
//! let known = Appended::Known { seq: Seq(1), outcome: Some("greeted".to_owned()) };
//! assert_eq!(mailboxes.append(vec![draft]).await?, [known]);
//! mailboxes.close().await;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # What it promises (contract, section 3)
//!
//! 1. **Durable before acknowledged.** What returned was synced to the disk, not only handed to the
//!    system. Requests that are queued together share one sync; a lone sender costs one sync.
//! 2. **First delivery wins.** An id enters a mailbox once. A repeat is told the first one's number
//!    and outcome.
//! 3. **Ordered.** One order a mailbox, numbered from 1 without holes.
//! 4. **At least once, one at a time.** The attempt is durable before a handler sees the message. A
//!    lease belongs to one life of the process ([`Incarnation`]) and is void when it ends; one for
//!    somebody outside has its own time. Only the current lease acks.
//! 5. **A failing message does not block the rest.** It rests, longer each time, and is quarantined
//!    after its last attempt, also when the attempts ended with the process.
//! 6. **Nothing is edited.** States are derived from the log; [`Replay`] shows it.
//! 7. **Newest first for one subject**, where a message has one: older ones are acked `superseded`,
//!    one whose evidence was handled lately `unchanged`, and two are never in hand together.
//! 8. **Kept, then pruned.** Acked messages are kept for [`Policy::keep`], those acked `superseded` or
//!    `unchanged` for [`Policy::keep_brief`]; then they go with their history, in small steps between
//!    requests, and disk and memory follow. An id is known for [`Policy::dedupe_horizon`] all the same.
//!    What is unread or in quarantine stays until it is acked, retried or dropped
//!    ([`Mailboxes::retry_quarantined`], [`Mailboxes::drop_quarantined`]).
//!
//! # What it does not promise
//!
//! - Exactly once: a handler that died after its work and before its ack is asked again.
//! - An order between mailboxes, or of second attempts.
//! - More than one process: a folder of mailboxes is opened by one at a time.
//! - That a lease stops its holder. Whoever supervises handlers ends them.
//! - That pruning is punctual: it is looked for every ten minutes of a running process, and for a day
//!   not at all where the clock is far ahead of the last record, since it may be wrong.
//!
//! # How it fails
//!
//! Opening says what is wrong and what to do: [`OpenError`]. A failed write fails every request of its
//! group with [`MailboxError::Store`]; the next request opens the store anew, so that a full disk
//! mends itself once there is space. Until then a few megabytes that were set aside keep acks and
//! pruning going, and further messages are refused. What was not acknowledged may still be found then;
//! asking again is safe, since ids are known. A damaged database is never taken for a short one: it is
//! refused.
//!
//! # How it is built
//!
//! One thread owns the store. It takes what is queued, folds it into an in-memory [`Index`] with the
//! pure [`apply`], commits one group, and then answers. All policy is in `apply`; a [`store::Store`]
//! is a log and nothing more, and [`conformance`] is what every store must pass.

mod changes;
mod clock;
mod command;
pub mod conformance;
mod envelope;
mod event;
mod index;
mod lease;
mod mailboxes;
mod message;
pub mod mirror;
mod names;
mod past;
mod policy;
pub mod remote;
mod replay;
pub mod rotation;
pub mod store;
mod transition;
mod writer;

pub use changes::Changes;
pub use clock::{Clock, ManualClock, Moment, Sleep, SystemClock};
pub use command::{Appended, Claim, Command, Done, Granted, Lessee, Nack, Nacked, Refusal, Reply};
pub use envelope::{Ack, Envelope, EnvelopeState, Filter, MailboxStatus, PAGE, Standing};
pub use event::{AckedBy, DeliveryEvent, FailureKind, Holder, QuarantineCause, StampedEvent};
pub use index::{Backlog, Index, Pass, prune};
pub use lease::{Delivery, Lease, Leasing};
pub use mailboxes::{Counters, MailboxError, Mailboxes, OpenError};
pub use message::{Draft, HEADER_FIELDS, MAX_MESSAGE, Message, MessageError};
pub use names::{Digest, Incarnation, LeaseId, MailboxName, MsgId, NameError, Seq, Subject};
pub use past::{Past, PastError};
pub use policy::Policy;
pub use replay::{REPLAY_PAGE, Replay, Replayed};
pub use transition::{DROPPED, MAX_TEXT, SUPERSEDED, UNCHANGED, apply, begin};
