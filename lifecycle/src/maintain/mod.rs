//! What state a maintained pull request is in, and what follows from it: the maintainer's half (contract, section 6;
//! RFC, "The state machine").
//!
//! | question | answered by |
//! | --- | --- |
//! | what was seen | [`Evidence`] |
//! | which one of the eleven states, and why | [`project`], [`why()`] |
//! | does the ready gate pass, and if not, which condition fails | [`gate()`] |
//! | the evidence that a reading gives | [`gather()`], [`with_head`] |
//! | who owns what it changes, and what it is about | [`Routes`], [`Taxonomy`] |
//! | when is it looked at again | [`deadlines`] |
//! | what is written down after a visit | [`step()`] |
//! | what would be said on GitHub | [`wanted()`] |
//! | what the configuration decides | [`Settings`] |

pub mod build;
mod checks;
mod clocks;
mod codeowners;
mod deadline;
mod evidence;
mod gate;
mod gather;
mod owners;
mod projection;
mod record;
mod settings;
mod state;
mod step;
mod wanted;
mod why;

pub use checks::NEVER_REPORTED_AFTER;
pub use clocks::Rung;
pub use codeowners::{BadLine, Codeowners};
pub use deadline::{Deadline, DeadlineKind, REREAD, deadlines};
pub use pulls::activity::{Activity, ActivityKind};

pub use evidence::{
    Assignment, CheckSeen, Evidence, FindingCounts, HeadReview, HeadSeen, Mergeability, Owner, Required,
    RequiredOutcome, RequiredSeen, Reviews, VERSION,
};
pub use gate::{GateCondition, GateId, gate};
pub use gather::{Looked, Remembered, gather, with_head};
pub use owners::{BadGlob, Routes, Taxonomy};
pub use projection::{Rule, project};
pub use record::{Artifact, Epoch, StateRow, Switch, Transition, Wanted};
pub use settings::{AutoReview, LabelRule, OwnerRule, Settings, Signal, Switches};
pub use state::{Projected, State, SubStatus, UnknownWord};
pub use step::{Before, FLIPS, Step, flips, step};
pub use wanted::wanted;
pub use why::{RuleLine, Why, why};
