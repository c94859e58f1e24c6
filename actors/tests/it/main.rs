//! The built-in actors over real mailboxes and the embedded GitHub, reached over real HTTP.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(
    clippy::disallowed_methods,
    reason = "a test sets the stage, and looks at what is left on it"
)]

mod dispatch;
mod drip;
mod gates;
mod hosted;
mod investigate;
mod rebase;
mod reconcile;
mod repos;
mod stage;
