//! Real actors over real mailboxes, on a clock that the test moves.
#![expect(clippy::unwrap_used, reason = "a test that fails here has failed")]

mod control;
mod drain;
mod external;
mod field;
mod routing;
mod store;
mod supervision;
mod support;
mod takts;
mod turns;
