//! Durable, typed, append-only mailboxes.

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
mod policy;
pub mod store;
mod transition;
mod writer;

pub use changes::Changes;
pub use clock::{Clock, ManualClock, Moment, Sleep, SystemClock};
pub use command::{Appended, Claim, Command, Done, Granted, Lessee, Nack, Nacked, Refusal, Reply};
pub use envelope::{Ack, Envelope, EnvelopeState, Filter, MailboxStatus, PAGE, Standing};
pub use event::{AckedBy, DeliveryEvent, FailureKind, Holder, QuarantineCause, StampedEvent};
pub use index::Index;
pub use lease::{Delivery, Lease};
pub use mailboxes::{Counters, MailboxError, Mailboxes, OpenError};
pub use message::{Draft, HEADER_FIELDS, MAX_MESSAGE, Message, MessageError};
pub use names::{Digest, Incarnation, LeaseId, MailboxName, MsgId, NameError, Seq, Subject};
pub use policy::Policy;
pub use transition::{SUPERSEDED, UNCHANGED, apply, begin};
