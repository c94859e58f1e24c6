//! Work trees: the real git, on bare mirrors of its own, for jobs that need a pull request's files or history.
//!
//! A [`Keeper`] holds one directory. In it is a bare mirror per repository, with the branches and pull requests that
//! were asked for, and a work tree per job, which borrows the mirror's objects and has a git directory of its own.
//!
//! **It promises** that
//!
//! - no name from outside is read as an option, a pattern or a path elsewhere: names are checked types, refs are
//!   written in full, and no shell sees any of them;
//! - neither the user's nor the system's nor the repository's configuration, hooks or filters run in a git of its
//!   own, no person is asked for anything, and each git ends at its deadline with its process group;
//! - a secret goes from the source of [`Credentials`] to git over a socket and through a credential helper, and is in
//!   no argument, environment, file, address or log;
//! - a branch is pushed only from where it was seen, and pushing the same twice is pushing it once;
//! - after a kill at any moment the next [`Keeper::open`] finds no lock, no half mirror and no half work tree;
//! - mirrors and work trees take no more room than [`Limits::disk`], by what was measured after each step.
//!
//! **It does not** fetch submodules or LFS objects, follow redirects, fetch in parts (shallow or without blobs), or
//! protect from what a program does that is given a work tree: that one has the user's rights.
//!
//! **It fails** with a [`GitError`], which says whether the same again can help ([`GitError::next`]).
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use child::git::{Committer, Keeper, Limits, Person, Pull, Rebased, Remote};
//!
//! let keeper = Keeper::open("/home/me/.sweep/work", Remote::default(), Limits::default(), None).await?;
//! let pull = Pull { repo: "sharkdp/bat".parse()?, number: 3734.try_into()?, base: "master".parse()? };
//! let fetched = keeper.fetch(&pull).await?;
//! let committer = Committer { person: Person::new("Me", "me@example.org")?, at: 1_780_000_000 };
//! match fetched.rebase(&committer).await? {
//!     Rebased::Clean(clean) => {
//!         let pushed = clean.push(&"me/bat".parse()?, &"fix-paging".parse()?).await?;
//!         println!("{} commits: {pushed:?}", clean.commits());
//!     }
//!     Rebased::Conflict(conflict) => println!("{} files in conflict", conflict.files.len()),
//!     Rebased::UpToDate | Rebased::Emptied | Rebased::Unrelated => {}
//! }
//! # Ok(())
//! # }
//! ```

mod credential;
mod disk;
mod error;
mod fetched;
mod invoke;
mod keeper;
mod mirror;
mod names;
mod orphans;
mod rebase;
mod tree;

pub use credential::{Credentials, Helper, Secret, SecretFuture, answer_git};
pub use error::{BoxError, GitError, Next};
pub use fetched::{Diff, Fetched, Title};
pub use keeper::{Keeper, Limits, Pull};
pub use names::{Branch, CommitId, FilePath, NameError, Person, Remote, Repo};
pub use rebase::{Clean, Committer, Conflict, ConflictFile, Pushed, Rebased};
pub use tree::WorkTree;
