//! The mailbox through its public surface.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use mailbox::{Draft, MailboxName, Message};

mod crash;
mod disk;
mod faults;
mod fixtures;
mod full;
mod handle;
mod mirror;
mod model;
mod prune;
mod remote;
mod restore;

/// The mailbox of the tests' one actor.
fn name() -> MailboxName {
    "greeter".parse().unwrap()
}

/// A small message for it.
fn draft(id: &str) -> Draft {
    draft_of(id, 0)
}

/// A message for it with some padding, which does not repeat and so takes that room on a disk.
fn draft_of(id: &str, padding: usize) -> Draft {
    let ts = "2026-05-14T17:45:00Z".parse().unwrap();
    let mut dice = fastrand::Rng::with_seed(
        id.bytes()
            .fold(7_u64, |seed, byte| seed.wrapping_mul(31) ^ u64::from(byte)),
    );
    let text: String = (0..padding).map(|_| dice.alphanumeric()).collect();
    let body = serde_json::json!({"text": text});
    let message = Message::build(ts, "lab", "greet", &id.parse().unwrap(), body).unwrap();
    Draft::new(name(), message)
}
