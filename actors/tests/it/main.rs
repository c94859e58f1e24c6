//! The built-in actors over real mailboxes and the embedded GitHub, reached over real HTTP.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod dispatch;
mod hosted;
mod stage;
