//! An embedded GitHub: for `sweep run --demo`, and for every test that would otherwise need the real one.
//!
//! A [`World`] is a small, whole GitHub seen by one viewer at one fixed time: accounts, repositories,
//! pull requests with their commits, checks, suites, comments, reviews, threads and events, and the
//! issues that they close. It is served on a loopback port, and a client reaches it over real HTTP
//! exactly as it reaches GitHub.
//!
//! # What it promises
//!
//! - **Any valid query over the types in use is answered.** The schema is a trimmed copy of GitHub's own
//!   ([`SCHEMA`]); a test compares the two, and another asks for every field. Null spreads as the
//!   GraphQL specification says, pages have cursors and counts, a page of more than 100 items, a page
//!   without a size and a document of more than 500,000 nodes are refused in GitHub's words.
//! - **It is stateful.** [`Served::edit`] changes it while it is served: a push, a merge, a comment; a
//!   renamed repository goes on answering under its former name.
//! - **What a test does not say is plausible.** [`PullSpec`] and the other specs are valid as they begin;
//!   every one has a `raw` way to set any field to anything.
//! - **What goes wrong is switched on**, for the n-th request, for a path, an operation, a pull request or
//!   a batch of some size: see [`Fault`].
//! - **Words that GitHub does not use yet come through**: an enum value, a member of a union or an
//!   implementation of an interface that the graph holds and the schema does not know is added to the
//!   schema on the spot, as if it were tomorrow's.
//! - **What was asked is known**: [`Served::log`], with the pull requests each document names.
//!
//! # What it does not do
//!
//! It accepts no write yet: a mutation or any method but GET is refused, and stands in
//! [`Served::writes`] for a test to see that there was none. Of REST it knows what a reader asks for
//! (`/user`, `/rate_limit`, a repository, a pull request, a comparison, what a branch asks for). Its search knows the
//! qualifiers by which open pull requests are found. A budget of requests is counted down, but never
//! runs out by itself.
//!
//! # How it fails
//!
//! As GitHub does, where the client is at fault; an answer that the graph cannot give is a field error
//! with its path. A change to something that is not there is an [`EditError`].
//!
//! # Example
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use world::{Association, CheckSpec, CommentSpec, Fault, PullSpec, World, hours_ago};
//!
//! let served = World::builder("2026-05-14T17:45:00Z")
//!     .viewer("ada")
//!     .pull(
//!         PullSpec::new("o/r", 7)
//!             .check(CheckSpec::run("build").failure())
//!             .comment(CommentSpec::new("grace", Association::Member, "Really?").at(hours_ago(2))),
//!     )
//!     .build()
//!     .serve()
//!     .await?;
//!
//! // The first batch fails as a proxy's does; after that the world answers.
//! served.faults().add(Fault::status(502).on_graphql().nth(1));
//! // A client is pointed at `served.graphql_url()` with `served.token()` …
//! served.edit(|world| world.merge(("o/r", 7)))?;
//! assert!(served.writes().is_empty());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

mod demo;
mod edit;
mod faults;
mod graph;
mod graphql;
mod hub;
mod maintained;
mod many;
mod recheck;
mod respond;
mod rest;
mod serve;
mod spec;

pub use demo::{
    DEMO_MAINTAINED, DEMO_NOW, DEMO_VIEWER, DemoAnswer, DemoGate, DemoHints, DemoReview, DemoState,
    demo_answers, demo_hints, demo_reviews, demo_states,
};
pub use faults::{Canned, Fault, Faults};
pub use graph::{At, EditError, SITE, World};
pub use graphql::SCHEMA;
pub use hub::Logged;
pub use maintained::Maintained;
pub use many::Lists;
pub use serve::{Served, TOKEN};
pub use spec::{
    Association, BranchSpec, CheckSpec, ClosesSpec, CommentSpec, CommitSpec, EventSpec, IntoWhen, PullSpec,
    RepoSpec, ReviewSpec, SuiteSpec, ThreadSpec, When, Who, WorldBuilder, days_ago, hours_ago, hours_ahead,
    minutes_ago,
};
