//! An embedded GitHub for the demo and for tests.
mod demo;
mod edit;
mod faults;
mod graph;
mod graphql;
mod hub;
mod many;
mod rest;
mod serve;
mod spec;

pub use demo::{DEMO_NOW, DEMO_VIEWER, DemoAnswer, DemoGate, DemoHints, demo_answers, demo_hints};
pub use faults::{Canned, Fault, Faults};
pub use graph::{At, EditError, SITE, World};
pub use graphql::SCHEMA;
pub use hub::Logged;
pub use many::Lists;
pub use serve::{Served, TOKEN};
pub use spec::{
    Association, CheckSpec, ClosesSpec, CommentSpec, CommitSpec, IntoWhen, PullSpec, RepoSpec, ReviewSpec,
    SuiteSpec, ThreadSpec, When, Who, WorldBuilder, days_ago, hours_ago, hours_ahead, minutes_ago,
};
