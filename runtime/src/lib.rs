//! Supervised actors fed from durable mailboxes.
