//! What state a maintained pull request is in, and what follows from it: the maintainer's half (contract, section 6;
//! RFC, "The state machine").
//!
//! | question | answered by |
//! | --- | --- |
//! | what was seen | [`Evidence`] |
//! | which one of the eleven states, and why | [`State`], [`Projected`] |
//! | what the configuration decides | [`Settings`] |
//! | what is written down | [`StateRow`], [`Transition`] |
//! | what would be said on GitHub | [`Wanted`] |

mod evidence;
mod record;
mod settings;
mod state;

pub use evidence::{
    Activity, ActivityKind, Assignment, CheckSeen, Evidence, FindingCounts, HeadReview, HeadSeen,
    Mergeability, Owner, Required, RequiredOutcome, RequiredSeen, Reviews, VERSION,
};
pub use record::{Artifact, Epoch, StateRow, Switch, Transition, Wanted};
pub use settings::{AutoReview, LabelRule, OwnerRule, Settings, Signal, Switches};
pub use state::{Projected, State, SubStatus};
