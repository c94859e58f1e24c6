//! Durable, typed, append-only mailboxes.
