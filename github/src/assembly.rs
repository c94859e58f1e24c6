//! One pull request while it is being read: what is there, and what is still wanted.
//!
//! It becomes [`PullFacts`] only when every list was read to its end. A list that ended with fewer
//! entries than GitHub counts is read once more from its beginning, and then given up: the numbers of
//! a list that changes under the reader agree at the second try.

use pulls::facts::{
    Base, Check, Checks, ClosingIssue, Comment, Head, PullFacts, Review, Suite, Thread, ThreadComment, Time,
};
use pulls::{PrRef, Sha};
use serde::Deserialize;

use crate::batch::Of;
use crate::error::ReadError;
use crate::shape;

/// Pages of one list: 10,000 entries, more than any pull request has that a person could still read.
const MAX_PAGES: u32 = 100;

/// A page that is wanted: of which list, after which cursor.
pub(crate) type Want = (Of, Option<String>);

/// A list that is read page by page.
#[derive(Debug)]
struct Reading<T> {
    list: &'static str,
    entries: Vec<T>,
    /// Entries that came, null ones too, since the last beginning.
    seen: u64,
    pages: u32,
    began_again: bool,
}

/// What to do after a page.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// The list was read whole.
    Whole,
    /// The page after this cursor; `None` means from the beginning.
    After(Option<String>),
}

impl<T> Reading<T> {
    fn new(list: &'static str) -> Self {
        Self {
            list,
            entries: Vec::new(),
            seen: 0,
            pages: 0,
            began_again: false,
        }
    }

    /// Takes one page. `keep` is asked for every entry, null ones too.
    fn take<S>(
        &mut self,
        page: shape::List<S>,
        mut keep: impl FnMut(Option<S>) -> Option<T>,
    ) -> Result<Next, ReadError> {
        self.pages += 1;
        self.seen += page.nodes.len() as u64;
        self.entries.extend(page.nodes.into_iter().filter_map(&mut keep));
        if page.page_info.has_next_page {
            if self.pages >= MAX_PAGES {
                return Err(ReadError::TooManyPages {
                    list: self.list,
                    pages: MAX_PAGES,
                });
            }
            return match page.page_info.end_cursor {
                Some(cursor) => Ok(Next::After(Some(cursor))),
                None => Err(ReadError::Malformed {
                    what: format!("{} go on without a cursor", self.list),
                }),
            };
        }
        if self.seen >= page.total_count {
            return Ok(Next::Whole);
        }
        if self.began_again {
            return Err(ReadError::Incomplete {
                list: self.list,
                got: self.seen,
                of: page.total_count,
            });
        }
        self.began_again = true;
        self.entries.clear();
        self.seen = 0;
        Ok(Next::After(None))
    }
}

impl Next {
    fn want(self, of: impl FnOnce() -> Of, wants: &mut Vec<Want>) {
        if let Self::After(cursor) = self {
            wants.push((of(), cursor));
        }
    }
}

#[derive(Debug)]
struct ThreadReading {
    id: String,
    /// Without its comments.
    thread: Thread,
    replies: Reading<ThreadComment>,
}

/// One pull request while it is being read.
#[derive(Debug)]
pub(crate) struct Assembly {
    /// All but the lists and what belongs to the head commit.
    facts: PullFacts,
    head_is_read: bool,
    /// `None` where GitHub has no rollup.
    contexts: Option<Reading<Check>>,
    suites: Reading<Suite>,
    comments: Reading<Comment>,
    reviews: Reading<Review>,
    threads: Reading<ThreadReading>,
    closes: Reading<ClosingIssue>,
    /// Where the commits go on, backwards.
    older_commits: Option<String>,
    commit_pages: u32,
    outstanding: usize,
}

impl Assembly {
    /// From the first answer. Gives what is still wanted.
    pub(crate) fn begin(
        asked: &PrRef,
        repository: shape::Repository,
        read_at: Time,
    ) -> Result<(Self, Vec<Want>), ReadError> {
        let pull = *repository
            .pull_request
            .ok_or_else(|| ReadError::NoPull(asked.clone()))?;
        let facts = PullFacts {
            at: PrRef {
                repo: repository.name_with_owner,
                number: pull.number,
            },
            asked_as: asked.repo.clone(),
            read_at,
            url: pull.url,
            title: pull.title,
            body: pull.body,
            state: pull.state,
            is_draft: pull.is_draft,
            is_archived: repository.is_archived,
            is_locked: pull.locked,
            created_at: pull.created_at,
            updated_at: pull.updated_at,
            author: shape::account(pull.author),
            head: Head {
                sha: pull.head_ref_oid,
                branch: pull.head_ref_name,
                repo: pull.head_repository.map(|repository| repository.name_with_owner),
                // Until the head commit is read, which is before anything is handed out.
                committed_at: pull.created_at,
                last_force_push_at: pull.force_pushes.last().and_then(|push| push.created_at),
                commit_dates: Vec::new(),
            },
            base: Base {
                branch: pull.base_ref_name,
                sha: pull.base_ref_oid,
            },
            mergeable: pull.mergeable,
            merge_state: pull.merge_state_status,
            review_decision: pull.review_decision,
            behind_by: pull
                .base_ref
                .and_then(|base| base.compare)
                .map(|compared| compared.behind_by),
            merge_queue_position: pull.merge_queue_entry.map(|entry| entry.position),
            checks: Checks {
                contexts: None,
                suites: Vec::new(),
            },
            comments: Vec::new(),
            reviews: Vec::new(),
            threads: Vec::new(),
            closes: Vec::new(),
            upkeep: None,
        };
        let mut this = Self {
            facts,
            head_is_read: false,
            contexts: None,
            suites: Reading::new("check suites"),
            comments: Reading::new("comments"),
            reviews: Reading::new("reviews"),
            threads: Reading::new("review threads"),
            closes: Reading::new("closing issues"),
            older_commits: None,
            commit_pages: 0,
            outstanding: 0,
        };
        let mut wants = Vec::new();
        this.take_commits(pull.commits);
        match pull.head_commit.last().map(|last| last.commit) {
            Some(head) if head.oid == this.facts.head.sha => this.take_head(head, &mut wants)?,
            // The list of commits ends before the head where there are too many (field case B075).
            _ => wants.push((Of::Head(this.facts.head.sha.clone()), None)),
        }
        this.take_comments(pull.comments, &mut wants)?;
        this.take_reviews(pull.reviews, &mut wants)?;
        this.take_threads(pull.review_threads, &mut wants)?;
        if let Some(closes) = pull.closing_issues_references {
            this.take_closes(closes, &mut wants)?;
        }
        this.outstanding = wants.len();
        Ok((this, wants))
    }

    /// The repository as GitHub names it now, and the number.
    pub(crate) fn at(&self) -> &PrRef {
        &self.facts.at
    }

    /// Takes a further page, as the text that stood under its alias. Gives what is wanted after it.
    pub(crate) fn absorb(&mut self, of: &Of, page: &str) -> Result<Vec<Want>, ReadError> {
        let mut wants = Vec::new();
        match of {
            Of::Comments => {
                self.take_comments(in_pull::<shape::InComments>(page, "comments")?.list, &mut wants)?;
            }
            Of::Reviews => {
                self.take_reviews(in_pull::<shape::InReviews>(page, "reviews")?.list, &mut wants)?
            }
            Of::Threads => {
                self.take_threads(in_pull::<shape::InThreads>(page, "threads")?.list, &mut wants)?
            }
            Of::Closes => {
                self.take_closes(
                    in_pull::<shape::InCloses>(page, "closing issues")?.list,
                    &mut wants,
                )?;
            }
            Of::Commits => {
                self.take_commits(in_pull::<shape::InCommits>(page, "commits")?.list);
                self.want_commits(&mut wants)?;
            }
            Of::Head(sha) => {
                let head: shape::Head = in_object(page, "head commit")?;
                if head.oid != *sha {
                    return Err(ReadError::Malformed {
                        what: "another commit than the one asked for".to_owned(),
                    });
                }
                self.take_head(head, &mut wants)?;
            }
            Of::Contexts(sha) => {
                let rollup = in_object::<shape::InContexts>(page, "checks")?.list;
                self.take_contexts(rollup, sha, &mut wants)?;
            }
            Of::Suites(sha) => {
                let suites = in_object::<shape::InSuites>(page, "check suites")?.list;
                self.take_suites(suites, sha, &mut wants)?;
            }
            Of::Replies(id) => {
                let replies: shape::InComments = parse(page, "thread comments")?;
                // Unknown when the threads were begun again meanwhile.
                if let Some(thread) = self.threads.entries.iter_mut().find(|thread| thread.id == *id) {
                    let next = thread.replies.take(replies.list, |reply| reply.map(Into::into))?;
                    next.want(|| Of::Replies(id.clone()), &mut wants);
                }
            }
        }
        self.outstanding = self.outstanding - 1 + wants.len();
        Ok(wants)
    }

    /// Whether everything was read.
    pub(crate) fn is_whole(&self) -> bool {
        self.outstanding == 0 && self.head_is_read
    }

    /// The facts, once everything was read.
    pub(crate) fn finish(self) -> PullFacts {
        debug_assert!(self.is_whole());
        let mut facts = self.facts;
        facts.checks = Checks {
            contexts: self.contexts.map(|reading| reading.entries),
            suites: self.suites.entries,
        };
        facts.head.commit_dates.sort_by(|a, b| b.cmp(a));
        facts.head.commit_dates.dedup();
        facts.comments = self.comments.entries;
        facts.reviews = self.reviews.entries;
        facts.closes = self.closes.entries;
        facts.threads = self
            .threads
            .entries
            .into_iter()
            .map(|reading| Thread {
                comments: reading.replies.entries,
                ..reading.thread
            })
            .collect();
        facts
    }

    fn take_comments(
        &mut self,
        page: shape::List<shape::Spoken>,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        let next = self.comments.take(page, |comment| comment.map(Into::into))?;
        next.want(|| Of::Comments, wants);
        Ok(())
    }

    fn take_reviews(
        &mut self,
        page: shape::List<shape::Reviewed>,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        let next = self.reviews.take(page, |review| review.map(Into::into))?;
        next.want(|| Of::Reviews, wants);
        Ok(())
    }

    fn take_closes(
        &mut self,
        page: shape::List<shape::Closes>,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        let next = self.closes.take(page, |issue| issue.map(Into::into))?;
        next.want(|| Of::Closes, wants);
        Ok(())
    }

    fn take_threads(
        &mut self,
        page: shape::List<shape::Thread>,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        let mut replies = Vec::new();
        let mut failed = None;
        let next = self.threads.take(page, |thread| {
            let thread = thread?;
            let mut reading = Reading::new("comments of a review thread");
            match reading.take(thread.comments, |reply| reply.map(Into::into)) {
                Ok(next) => next.want(|| Of::Replies(thread.id.clone()), &mut replies),
                Err(error) => failed = Some(error),
            }
            Some(ThreadReading {
                id: thread.id,
                thread: Thread {
                    is_resolved: thread.is_resolved,
                    is_outdated: thread.is_outdated,
                    path: thread.path,
                    line: thread.line,
                    comments: Vec::new(),
                },
                replies: reading,
            })
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        next.want(|| Of::Threads, wants);
        wants.append(&mut replies);
        Ok(())
    }

    fn take_head(&mut self, head: shape::Head, wants: &mut Vec<Want>) -> Result<(), ReadError> {
        self.head_is_read = true;
        self.facts.head.committed_at = head.committed_date;
        self.note_commit(head.committed_date);
        self.contexts = None;
        if let Some(rollup) = head.status_check_rollup {
            self.take_contexts(rollup, &head.oid, wants)?;
        }
        if let Some(suites) = head.check_suites {
            self.take_suites(suites, &head.oid, wants)?;
        }
        self.want_commits(wants)
    }

    fn take_contexts(
        &mut self,
        rollup: shape::Rollup,
        sha: &Sha,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        let contexts = self.contexts.get_or_insert_with(|| Reading::new("checks"));
        let next = contexts.take(rollup.contexts, |context| Some(shape::check(context)))?;
        next.want(|| Of::Contexts(sha.clone()), wants);
        Ok(())
    }

    fn take_suites(
        &mut self,
        page: shape::List<shape::SuiteShape>,
        sha: &Sha,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        let next = self.suites.take(page, |suite| suite.map(Into::into))?;
        next.want(|| Of::Suites(sha.clone()), wants);
        Ok(())
    }

    fn take_commits(&mut self, page: shape::Commits) {
        self.commit_pages += 1;
        for commit in page.nodes.into_iter().flatten() {
            self.note_commit(commit.commit.committed_date);
        }
        self.older_commits = page
            .page_info
            .start_cursor
            .filter(|_| page.page_info.has_previous_page);
    }

    fn note_commit(&mut self, at: Time) {
        self.facts.head.commit_dates.push(at);
    }

    /// The commits before the last hundred matter only where the head is dated in the future.
    fn want_commits(&mut self, wants: &mut Vec<Want>) -> Result<(), ReadError> {
        if self.facts.head.committed_at <= self.facts.read_at {
            return Ok(());
        }
        let Some(cursor) = self.older_commits.take() else {
            return Ok(());
        };
        if self.commit_pages >= MAX_PAGES {
            return Err(ReadError::TooManyPages {
                list: "commits",
                pages: MAX_PAGES,
            });
        }
        wants.push((Of::Commits, Some(cursor)));
        Ok(())
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, ReadError> {
    serde_json::from_str(text).map_err(|error| ReadError::Malformed {
        what: format!("{what}: {error}"),
    })
}

fn in_pull<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, ReadError> {
    let page: shape::InPull<T> = parse(text, what)?;
    page.pull_request.ok_or_else(|| gone(what))
}

fn in_object<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, ReadError> {
    let page: shape::InObject<T> = parse(text, what)?;
    page.object.ok_or_else(|| gone(what))
}

fn gone(what: &str) -> ReadError {
    ReadError::Malformed {
        what: format!("{what}: gone between two pages"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(entries: u64, total: u64, cursor: Option<&str>) -> shape::List<u64> {
        let info = serde_json::json!({"hasNextPage": cursor.is_some(), "endCursor": cursor});
        let nodes: Vec<u64> = (0..entries).collect();
        serde_json::from_value(serde_json::json!({"totalCount": total, "pageInfo": info, "nodes": nodes}))
            .unwrap()
    }

    #[test]
    fn a_list_is_whole_when_it_has_all_that_is_counted() {
        let after = |cursor: Option<&str>| Ok(Next::After(cursor.map(str::to_owned)));
        let mut reading = Reading::new("comments");
        assert_eq!(reading.take(page(100, 130, Some("a")), |n| n), after(Some("a")));
        assert_eq!(reading.take(page(30, 130, None), |n| n), Ok(Next::Whole));
        assert_eq!(reading.entries.len(), 130);

        let mut short = Reading::new("comments");
        assert_eq!(short.take(page(100, 130, None), |n| n), after(None));
        assert!(short.entries.is_empty());
        assert_eq!(short.take(page(100, 130, Some("a")), |n| n), after(Some("a")));
        assert_eq!(short.take(page(30, 130, None), |n| n), Ok(Next::Whole));
        assert_eq!(short.entries.len(), 130);

        let mut shorter = Reading::<u64>::new("comments");
        assert_eq!(shorter.take(page(1, 2, None), |n| n), after(None));
        let error = shorter.take(page(1, 2, None), |n| n).unwrap_err();
        assert_eq!(error.to_string(), "1 of 2 comments could be read");

        let mut endless = Reading::new("comments");
        for _ in 1..MAX_PAGES {
            assert!(endless.take(page(1, 1, Some("a")), |n| n).is_ok());
        }
        assert!(endless.take(page(1, 1, Some("a")), |n| n).is_err());
    }
}
