//! What a pull request is: ids, facts and the pure questions one can ask of them.
//!
//! Nothing in this crate does I/O, reads a clock or keeps state. The reader in `github` fills in a
//! [`PullFacts`]; `lifecycle` decides from it. Time comes in as an argument.
//!
//! | question | answered by |
//! | --- | --- |
//! | which pull request, repository, commit, account | [`ids`] |
//! | what was read of it | [`facts`], and by the maintainer's half [`upkeep`] |
//! | what do its checks say together | [`checks::verdict`] |
//! | does a maintainer wait for the author's answer | [`question::open_questions`] |
//! | did a maintainer ask to close it | [`asked::asked_to_close`] |
//! | when did a person last do something | [`activity::last_by_people`] |
//! | did another one do its work | [`superseded::superseded`] |
//! | who is a bot, who a maintainer | [`people::People`] |
//! | what is prose in a piece of markdown | [`prose`] |
//! | how is its text shown without acting | [`escape`] |
//!
//! It promises that every answer is a function of its arguments alone, that the order of checks, comments,
//! reviews and threads changes none of them, and that no text, however odd, makes it panic. It does not
//! promise to understand language: [`asked`] knows a small grammar and stays silent where it is not sure.
//!
//! A name that is none is refused with a [`ids::NameError`] where it enters. A word of GitHub that did not
//! exist when this was written is kept as it is and never taken for good news.
//!
//! ```
//! use pulls::{build, checks, people::People, question};
//!
//! let pull = build::pull("o/r", 7)
//!     .check(build::run("test").failed())
//!     .comment(build::comment("maintainer", "Could this be done in another way?"))
//!     .build();
//!
//! let verdict = checks::verdict(&pull.checks, pull.created_at, build::now());
//! assert_eq!(verdict.ci, checks::Ci::Failing);
//! let questions = question::open_questions(&pull, &People::default(), build::now());
//! assert_eq!(questions[0].by.as_str(), "maintainer");
//! ```

pub mod activity;
pub mod asked;
pub mod build;
pub mod checks;
pub mod escape;
pub mod facts;
pub mod ids;
pub mod people;
pub mod prose;
pub mod question;
pub mod required;
pub mod superseded;
pub mod threads;
pub mod upkeep;

pub use facts::PullFacts;
pub use ids::{Login, PrNumber, PrRef, RepoName, Sha};
