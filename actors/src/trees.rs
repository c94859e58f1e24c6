//! The work trees that actors share: where they are kept, and what a fault of git means for a message.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use child::git::{CommitId, Credentials, GitError, Helper, Keeper, Limits, NameError, Next, Pull, Remote};
use pulls::{PullFacts, Sha};
use runtime::{Fault, Reason, Turn};
use tokio::sync::OnceCell;

/// How long an actor rests when git, the disk or the remote is not there.
const REST: Duration = Duration::from_secs(60);

/// The work trees of one process. They are opened when the first one is needed, so that who has no gates and no
/// rebases needs no git. Clones share them.
#[derive(Clone)]
pub struct Trees(Arc<Place>);

enum Place {
    Kept(Box<(Keeping, OnceCell<Keeper>)>),
    None { why: &'static str },
}

/// Where work trees are kept and what they are made of.
pub struct Keeping {
    /// The directory, which is made where it is not there.
    pub root: PathBuf,
    /// Where the repositories are.
    pub remote: Remote,
    /// How the remote is told who asks, where it wants to know.
    pub credentials: Option<(Helper, Arc<dyn Credentials>)>,
    /// What may be used.
    pub limits: Limits,
}

/// Why there is no keeper.
pub(crate) enum NoKeeper {
    /// There are no repositories to fetch from.
    Nowhere(&'static str),
    /// git did not do what was asked.
    Git(GitError),
}

impl From<GitError> for NoKeeper {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

impl Trees {
    /// Work trees that are kept so.
    pub fn kept(keeping: Keeping) -> Self {
        Self(Arc::new(Place::Kept(Box::new((keeping, OnceCell::new())))))
    }

    /// No work trees, for this reason.
    pub fn none(why: &'static str) -> Self {
        Self(Arc::new(Place::None { why }))
    }

    /// The longest that one step with a work tree may take.
    pub fn longest_step(&self) -> Duration {
        match &*self.0 {
            Place::Kept(kept) => {
                let Limits {
                    fetch,
                    push,
                    ask,
                    local,
                    ..
                } = kept.0.limits;
                // A rebase is several commands, each with the limit of a local one.
                fetch.max(push).max(ask).max(local * 2)
            }
            Place::None { .. } => Duration::ZERO,
        }
    }

    /// Cleans up where an earlier process was killed: its gits are ended, its work trees and locks removed. Where no
    /// work tree was ever made, nothing is.
    ///
    /// # Errors
    ///
    /// As of [`Keeper::open`]; what is there then stays until a keeper can be opened.
    pub async fn clean_up(&self) -> Result<(), GitError> {
        match &*self.0 {
            Place::Kept(kept) if kept.0.root.exists() => match self.keeper().await {
                Ok(_) | Err(NoKeeper::Nowhere(_)) => Ok(()),
                Err(NoKeeper::Git(error)) => Err(error),
            },
            Place::Kept(_) | Place::None { .. } => Ok(()),
        }
    }

    /// Waits until the work trees that are not used any more are removed.
    pub async fn settle(&self) {
        if let Place::Kept(kept) = &*self.0
            && let Some(keeper) = kept.1.get()
        {
            keeper.settle().await;
        }
    }

    /// The keeper, opened now if it was not.
    pub(crate) async fn keeper(&self) -> Result<&Keeper, NoKeeper> {
        match &*self.0 {
            Place::None { why } => Err(NoKeeper::Nowhere(why)),
            Place::Kept(kept) => {
                let (keeping, keeper) = &**kept;
                let open = || {
                    Keeper::open(
                        &keeping.root,
                        keeping.remote.clone(),
                        keeping.limits,
                        keeping.credentials.clone(),
                    )
                };
                Ok(keeper.get_or_try_init(open).await?)
            }
        }
    }
}

/// A pull request as the keeper knows it.
pub(crate) fn pull(facts: &PullFacts) -> Result<Pull, NameError> {
    Ok(Pull {
        repo: facts.at.repo.as_str().parse()?,
        number: std::num::NonZeroU32::new(facts.at.number.get())
            .expect("the number of a pull request is 1 or more"),
        base: facts.base.branch.parse()?,
    })
}

/// A commit as GitHub names it.
pub(crate) fn sha(commit: &CommitId) -> Result<Sha, Fault> {
    let parsed = commit.as_str().parse();
    parsed.map_err(|error: pulls::ids::NameError| Fault::reject(error.to_string()))
}

/// What becomes of a message when git did not do what it needs.
pub(crate) fn fault(error: GitError, turn: &Turn) -> Fault {
    match error.next() {
        Next::Retry => Fault::retry(Reason::because("git failed", error)),
        Next::Reject => Fault::reject(Reason::because("git refused", error)),
        Next::Wait => Fault::wait(
            turn.moment().after(REST),
            Reason::because("git has to wait", error),
        ),
    }
}
