//! Reading for a maintainer: the pull requests of a repository, which of them changed, what they are.

use pulls::facts::Time;
use pulls::upkeep::{HeadFacts, Touched};
use pulls::{PrRef, RepoName};

use crate::allowance::Allowance;
use crate::assembly::{Assembly, HeadAssembly};
use crate::batch::{self, List, Profile};
use crate::error::ReadError;
use crate::plan::Outcome;
use crate::reader::{Progress, PullsRead, Reader, Skipped};
use crate::shape;

/// Pages of open pull requests, 100 each: no repository has 20,000 that are open.
const MAX_OPEN_PAGES: u32 = 200;

/// Pages of what changed last, 100 each. What lies beyond is for a caller to read otherwise.
const MAX_TOUCHED_PAGES: u32 = 20;

/// What changed in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedPulls {
    /// The last changed first, each once.
    pub touched: Vec<Touched>,
    /// Whether it is everything that changed since the moment asked about.
    pub is_whole: bool,
}

/// What came of looking at many heads.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadsRead {
    /// Those that were read in whole, in the order asked, each once.
    pub found: Vec<HeadFacts>,
    /// Those that were not.
    pub skipped: Vec<Skipped>,
    /// Those that no request was left for, in the order asked.
    pub left: Vec<PrRef>,
    /// Why the reading ended early or found nothing at all.
    pub stopped: Option<ReadError>,
}

impl From<Outcome<HeadFacts>> for HeadsRead {
    fn from(outcome: Outcome<HeadFacts>) -> Self {
        Self {
            found: outcome.found,
            skipped: outcome.skipped.into_iter().map(Into::into).collect(),
            left: outcome.left,
            stopped: outcome.stopped,
        }
    }
}

impl Reader {
    /// Every open pull request of a repository, oldest first, under the repository's name of now. One
    /// request for each hundred.
    ///
    /// # Errors
    /// [`ReadError::NoRepository`] where it is not there, [`ReadError::Spent`] where `allowance` ends first,
    /// [`ReadError::TooManyPages`] beyond 20,000, [`ReadError::Incomplete`] where it ends short twice, else
    /// those of one request: an incomplete list is none.
    pub async fn open_pulls_of(
        &self,
        repo: &RepoName,
        allowance: &Allowance,
    ) -> Result<Vec<PrRef>, ReadError> {
        let mut open = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut entries = 0;
        let mut began_again = false;
        let mut after: Option<String> = None;
        for _ in 0..MAX_OPEN_PAGES {
            let page = self.listed(List::Open, repo, after.as_deref(), allowance).await?;
            entries += page.entries;
            // One that moves between two pages comes twice.
            open.extend(
                page.pulls
                    .into_iter()
                    .map(|(at, _)| at)
                    .filter(|at| seen.insert(at.clone())),
            );
            after = page.next;
            if after.is_some() {
                continue;
            }
            if entries >= page.total {
                return Ok(open);
            }
            if began_again {
                return Err(ReadError::Incomplete {
                    list: "open pull requests",
                    got: entries,
                    of: page.total,
                });
            }
            // One that was reopened below the cursor is counted and was not listed.
            began_again = true;
            entries = 0;
            open.clear();
            seen.clear();
        }
        Err(ReadError::TooManyPages {
            list: "open pull requests",
            pages: MAX_OPEN_PAGES,
        })
    }

    /// The pull requests of a repository that changed at `since` or later, in whatever state they are.
    /// One request where fewer than a hundred did; no more than 20, and then the answer says that it is
    /// not [whole](TouchedPulls::is_whole).
    ///
    /// That something changed is all that this list shows for certain: what a pull request is must be read.
    ///
    /// # Errors
    /// [`ReadError::NoRepository`] where it is not there, [`ReadError::Spent`] where `allowance` ends first, else those of one request.
    pub async fn touched(
        &self,
        repo: &RepoName,
        since: Time,
        allowance: &Allowance,
    ) -> Result<TouchedPulls, ReadError> {
        let mut touched = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut entries = 0;
        let mut after: Option<String> = None;
        for _ in 0..MAX_TOUCHED_PAGES {
            let page = self
                .listed(List::Touched, repo, after.as_deref(), allowance)
                .await?;
            entries += page.entries;
            for (at, item) in page.pulls {
                let (Some(updated_at), Some(state)) = (item.updated_at, item.state) else {
                    return Err(ReadError::Malformed {
                        what: format!("{at} in a list without its time or state"),
                    });
                };
                if updated_at < since {
                    return Ok(TouchedPulls {
                        touched,
                        is_whole: true,
                    });
                }
                // One that changes between two pages moves to the front, and another comes twice.
                if seen.insert(at.clone()) {
                    touched.push(Touched {
                        at,
                        updated_at,
                        state,
                    });
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(TouchedPulls {
                    touched,
                    is_whole: entries >= page.total,
                });
            }
        }
        Ok(TouchedPulls {
            touched,
            is_whole: false,
        })
    }

    /// Reads pull requests for their maintainer, each in whole or not at all: as
    /// [`pulls`](Self::pulls) does, with [`upkeep`](pulls::facts::PullFacts::upkeep), without the issues
    /// that they close and what they lie behind, and of each thread its newest comments. For 1,236 of
    /// them 50 requests, and one more for every hundred further pages.
    ///
    /// Where `allowance` ends first, the rest is in [`left`](PullsRead::left).
    pub async fn maintained(
        &self,
        refs: &[PrRef],
        allowance: &Allowance,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> PullsRead {
        let outcome = self.read::<Assembly>(Profile::Maintainer, refs, allowance, progress);
        PullsRead::from(outcome.await)
    }

    /// Reads of each pull request what can change without a trace in the list of those that changed:
    /// checks, mergeability, the place in the merge queue. 100 of them a request.
    pub async fn heads(&self, refs: &[PrRef], allowance: &Allowance) -> HeadsRead {
        let outcome = self.read::<HeadAssembly>(Profile::Heads, refs, allowance, &|_| {});
        HeadsRead::from(outcome.await)
    }

    /// One page of a list.
    async fn listed(
        &self,
        list: List,
        repo: &RepoName,
        after: Option<&str>,
        allowance: &Allowance,
    ) -> Result<ListPage, ReadError> {
        let answer = self
            .persist_in(&batch::listed(list, repo, after), repo, allowance)
            .await?;
        // A page with a hole in it would pass for a whole one.
        if let Some(error) = answer.spoiling() {
            return Err(error);
        }
        let page: shape::Listed = answer
            .field("repository")?
            .ok_or_else(|| ReadError::NoRepository(repo.clone()))?;
        let pulls = page.pull_requests;
        let next = pulls
            .page_info
            .end_cursor
            .filter(|_| pulls.page_info.has_next_page);
        if pulls.page_info.has_next_page && (next.is_none() || next.as_deref() == after) {
            return Err(ReadError::Malformed {
                what: "a list of pull requests that goes on without a cursor".to_owned(),
            });
        }
        let place = |item: shape::InList| {
            let at = PrRef {
                repo: page.name_with_owner.clone(),
                number: item.number,
            };
            (at, item)
        };
        Ok(ListPage {
            entries: pulls.nodes.len() as u64,
            total: pulls.total_count,
            pulls: pulls.nodes.into_iter().flatten().map(place).collect(),
            next,
        })
    }
}

/// One page of a list of pull requests.
struct ListPage {
    pulls: Vec<(PrRef, shape::InList)>,
    /// Entries on it, null ones too.
    entries: u64,
    /// Entries that GitHub counts in the whole list.
    total: u64,
    /// Where the next page begins.
    next: Option<String>,
}
