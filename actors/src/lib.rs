//! The built-in actors of the author's half: what each reads, the decision that it calls, its effects.
//!
//! | actor | consumes | does |
//! | --- | --- | --- |
//! | [`PrState`](pr_state::PrState) | nothing, has a takt | reads, classifies and dispatches |
//! | [`Qa`](qa::Qa) | `reattest` | runs the gates of a head |
//! | [`Investigate`](investigate::Investigate) | `respond` | writes a brief |
//! | [`Drip`](drip::Drip) | `close`, `rebase`, `ship` | rebases; lists what a person must decide |
//! | [`Reconciler`](reconciler::Reconciler) | `reconcile`, has a takt | keeps one state for every maintained pull request |
//! | [`Retro`](retro::Retro) | `audit` | keeps the record |
//!
//! What they promise: a handler acts on the world only through its turn, so every effect is safe to repeat
//! and can be recorded instead of done. What they do not: none of them writes to GitHub, and the client that
//! they read with cannot.

mod again;
pub mod drip;
mod hints;
pub mod intents;
pub mod investigate;
mod places;
pub mod pr_state;
pub mod qa;
pub mod reconciler;
pub mod retro;
pub mod trees;
