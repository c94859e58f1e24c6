//! The mailboxes over a connection: a process that does not hold them asks the one that does.
//!
//! [`Mailboxes::over`](crate::Mailboxes::over) makes a handle out of a stream; [`serve`] answers what comes in at the other
//! end with a handle of its own. What is asked is what every handle asks, so both kinds of handle
//! behave alike, but for what the connection cannot give:
//!
//! - A lease of the process ([`Lessee::Process`](crate::Lessee::Process)) belongs to the process that holds the mailboxes. Only
//!   [`Lessee::Pull`](crate::Lessee::Pull) is to be had from outside, and mailboxes are declared by their owner.
//! - A lease counts as taken when whoever asked has said that it arrived. Before that, a connection that
//!   ends hands the message back with its attempt; a lease that waits ends with it.
//! - Everything has a bound: a request ([`MAX_FRAME`]), an answer's parts ([`PART`]), what is asked and not
//!   answered yet ([`IN_FLIGHT`], [`LEASES`]). Pages of envelopes and acks may be shorter than was asked.
//!
//! The stream is two series of JSON documents, one a line. Who may connect, and which version is spoken,
//! is settled by whoever owns the socket before the stream gets here.
//!
//! ```
//! # use std::sync::Arc;
//! # use mailbox::{Draft, Mailboxes, Message, SystemClock};
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let held = Mailboxes::open_memory(Arc::new(SystemClock::start()));
//! let (here, there) = tokio::io::duplex(64 * 1024);
//! tokio::spawn(mailbox::remote::serve(held.clone(), there));
//!
//! let remote = Mailboxes::over(here);
//! let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"lab","intent":"greet","msg_id":"m-1"}"#;
//! let draft = Draft::new("greeter".parse().unwrap(), Message::parse(line).unwrap());
//! remote.append(vec![draft]).await.unwrap();
//! assert_eq!(held.status().await.unwrap()[0].unread, 1);
//! remote.close().await;
//! # });
//! ```

mod client;
mod server;
mod wire;

use std::time::Duration;

pub use server::serve;

/// The longest line, in bytes: a group of some twenty messages of the largest size, or of thousands of
/// usual ones.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;
/// Bytes after which a list of answers goes on in another line. One item may be longer.
pub const PART: usize = 256 * 1024;
/// Requests of one connection, other than leases, that may wait for their answers.
pub const IN_FLIGHT: usize = 32;
/// Leases of one connection that may wait for a message or for word of its arrival.
pub const LEASES: usize = 256;

/// How often the end that holds the mailboxes says something at least, so that silence means that its process is
/// stopped.
pub const BEAT: Duration = Duration::from_secs(2);

/// Why a connection ended otherwise than by its end.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The stream failed.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// A line is longer than [`MAX_FRAME`].
    #[error("a line of more than {MAX_FRAME} bytes")]
    TooLong,
    /// The stream ended within a line.
    #[error("the connection ended within a line")]
    CutShort,
    /// A line is not what this program understands.
    #[error("a line that is not understood: {0}")]
    Malformed(#[source] serde_json::Error),
    /// A line was understood and does not fit what was asked.
    #[error("an answer that fits no question")]
    Unasked,
}
