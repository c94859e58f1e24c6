//! What is known of maintained pull requests, durable, in SQLite: states, transitions, turns (RFC, "Storage").
