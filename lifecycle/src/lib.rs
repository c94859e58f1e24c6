//! What to do about a pull request: the author's half.
//!
//! [`classify`] puts every open pull request into one of six buckets, by eleven rules in a fixed order, of
//! which the first that holds decides; [`rules`] shows them all with their evidence. Beside it stand the
//! hints that lie in the author's home ([`DripQueue`], [`GateFile`]), the ids of the messages ([`msg_id`])
//! and what a person is shown ([`Snapshot`]).
//!
//! It promises that every answer is a function of its arguments alone: no clock, file, network or
//! environment is read, and the order in which GitHub listed things changes nothing. It promises that a
//! pull request is proposed for closing only on a hard signal and never for its age, and that a value that
//! did not exist when this was written is never taken for good news. It does not read anything, and does
//! not fail: what could not be read whole must not get here.
//!
//! ```
//! use lifecycle::{Bucket, Hints, RuleId, Settings, classify};
//! use pulls::build;
//!
//! let pull = build::pull("hyperium/hyper", 4002)
//!     .closed_by_other(3990, 4067, Some(build::at("2026-05-13T09:00:00Z")))
//!     .build();
//! let verdict = classify(&pull, &Hints::default(), &Settings::default(), build::now()).verdict().unwrap();
//! assert_eq!(verdict.rule, RuleId::CloseSuperseded);
//! assert_eq!(verdict.bucket, Bucket::Close);
//! assert_eq!(verdict.bucket.intent(), "close");
//! assert_eq!(verdict.reason, "superseded by #4067 (merged 2026-05-13)");
//! ```

mod bucket;
mod classify;
mod evidence;
mod hints;
pub mod maintain;
pub mod msg_id;
mod recall;
mod routes;
mod rules;
mod signals;
mod snapshot;

pub use bucket::{Bucket, RuleId};
pub use classify::{Outcome, Settings, Verdict, classify};
pub use hints::{DripQueue, GateFile, GateHint, Hints, Malformed, QueueEntry, QueueLine, Why};
pub use recall::{Recalled, recall};
pub use rules::{BEHIND_LIMIT, GATE_MAX_AGE, RuleCheck, rules};
pub use signals::{Hours, MAX_NAMED_CHECKS, Signals};
pub use snapshot::{Row, SkippedRow, Snapshot};
