//! An embedded GitHub for the demo and for tests.
mod edit;
mod faults;
mod graph;
mod graphql;
mod hub;
mod rest;
mod serve;
mod spec;

pub use faults::{Canned, Fault, Faults};
pub use graph::{At, EditError, SITE, World};
pub use graphql::SCHEMA;
pub use hub::Logged;
pub use serve::{Served, TOKEN};
pub use spec::{
    Association, CheckSpec, ClosesSpec, CommentSpec, CommitSpec, IntoWhen, PullSpec, RepoSpec, ReviewSpec,
    SuiteSpec, ThreadSpec, When, Who, WorldBuilder, days_ago, hours_ago, hours_ahead, minutes_ago,
};

/// The time in the demo's world.
pub const DEMO_NOW: &str = "2026-05-14T17:45:00Z";
