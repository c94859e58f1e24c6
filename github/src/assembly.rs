//! One pull request while it is being read: what is there, and what is still wanted.
//!
//! It becomes [`PullFacts`] only when every list was read to its end. A list that ended with fewer
//! entries than GitHub counts is read once more from its beginning, and then given up: the numbers of
//! a list that changes under the reader agree at the second try.

use std::fmt::Debug;

use pulls::PrRef;
use pulls::facts::{
    Base, Checks, ClosingIssue, Comment, Head, PullFacts, Review, Thread, ThreadComment, Time,
};
use pulls::upkeep::Edit;
use serde::Deserialize;

use crate::answer::Answer;
use crate::batch::{Of, Profile};
use crate::error::ReadError;
use crate::shape;

mod commit;
mod heads;
mod reading;
mod upkeep;

pub(crate) use commit::CommitReading;
pub(crate) use heads::HeadAssembly;
use reading::{MAX_PAGES, Reading};
use upkeep::UpkeepReading;

/// A page that is wanted: of which list, after which cursor.
pub(crate) type Want = (Of, Option<String>);

/// What a plan reads of each pull request, page by page.
pub(crate) trait Reads: Sized + Debug {
    /// What it becomes once everything was read.
    type Facts: Debug;

    /// From the first answer. Gives what is still wanted.
    fn begin(
        profile: Profile,
        asked: &PrRef,
        answer: &Answer,
        alias: &str,
    ) -> Result<(Self, Vec<Want>), ReadError>;

    /// The repository as GitHub names it now, and the number.
    fn at(&self) -> &PrRef;

    /// Takes a further page, as the text that stood under its alias. Gives what is wanted after it.
    fn absorb(&mut self, of: &Of, page: &str) -> Result<Vec<Want>, ReadError>;

    /// Whether everything was read.
    fn is_whole(&self) -> bool;

    /// The facts, once everything was read.
    fn finish(self) -> Self::Facts;

    /// The pull request that facts are of.
    fn place(facts: &Self::Facts) -> &PrRef;
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
    head: CommitReading,
    /// What only the maintainer's half reads.
    upkeep: Option<UpkeepReading>,
    comments: Reading<Comment>,
    reviews: Reading<Review>,
    threads: Reading<ThreadReading>,
    closes: Reading<ClosingIssue>,
    /// Where the commits go on, backwards.
    older_commits: Option<String>,
    commit_pages: u32,
    outstanding: usize,
}

impl Reads for Assembly {
    type Facts = PullFacts;

    fn begin(
        profile: Profile,
        asked: &PrRef,
        answer: &Answer,
        alias: &str,
    ) -> Result<(Self, Vec<Want>), ReadError> {
        let repository: Option<shape::Repository> = answer.field(alias)?;
        let repository = repository.ok_or_else(|| ReadError::NoRepository(asked.repo.clone()))?;
        Self::of(profile, asked, repository, answer.at)
    }

    fn at(&self) -> &PrRef {
        &self.facts.at
    }

    fn absorb(&mut self, of: &Of, page: &str) -> Result<Vec<Want>, ReadError> {
        let mut wants = Vec::new();
        self.take_page(of, page, &mut wants)?;
        self.outstanding = self.outstanding - 1 + wants.len();
        Ok(wants)
    }

    fn is_whole(&self) -> bool {
        self.outstanding == 0 && self.head.is_read()
    }

    fn finish(self) -> PullFacts {
        debug_assert!(self.is_whole());
        let mut facts = self.facts;
        facts.checks = self.head.checks();
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
        facts.upkeep = self.upkeep.map(UpkeepReading::finish);
        facts
    }

    fn place(facts: &PullFacts) -> &PrRef {
        &facts.at
    }
}

impl Assembly {
    fn of(
        profile: Profile,
        asked: &PrRef,
        repository: shape::Repository,
        read_at: Time,
    ) -> Result<(Self, Vec<Want>), ReadError> {
        let mut pull = *repository
            .pull_request
            .ok_or_else(|| ReadError::NoPull(asked.clone()))?;
        let mut wants = Vec::new();
        let upkeep =
            matches!(profile, Profile::Maintainer).then(|| UpkeepReading::begin(&mut pull, &mut wants));
        let head = CommitReading::new(pull.head_ref_oid.clone());
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
            head,
            upkeep,
            comments: Reading::new("comments"),
            reviews: Reading::new("reviews"),
            threads: Reading::new("review threads"),
            closes: Reading::new("closing issues"),
            older_commits: None,
            commit_pages: 0,
            outstanding: 0,
        };
        this.take_commits(pull.commits);
        let newest = pull.head_commit.last().map(|last| last.commit);
        this.head.begin(newest, &mut wants)?;
        this.took_head(&mut wants)?;
        this.take_comments(pull.comments, &mut wants)?;
        this.take_reviews(pull.reviews, &mut wants)?;
        this.take_threads(pull.review_threads, &mut wants)?;
        if let Some(closes) = pull.closing_issues_references {
            this.take_closes(closes, &mut wants)?;
        }
        this.outstanding = wants.len();
        Ok((this, wants))
    }

    fn take_page(&mut self, of: &Of, page: &str, wants: &mut Vec<Want>) -> Result<(), ReadError> {
        match of {
            Of::Comments => self.take_comments(in_pull::<shape::InComments>(page, "comments")?.list, wants),
            Of::Reviews => self.take_reviews(in_pull::<shape::InReviews>(page, "reviews")?.list, wants),
            Of::Threads => self.take_threads(in_pull::<shape::InThreads>(page, "threads")?.list, wants),
            Of::Closes => self.take_closes(in_pull::<shape::InCloses>(page, "closing issues")?.list, wants),
            Of::Files => {
                let files = in_pull::<shape::InFiles>(page, "files")?.list;
                if let Some(upkeep) = &mut self.upkeep {
                    upkeep.take_files(files, wants);
                }
                Ok(())
            }
            Of::Commits => {
                self.take_commits(in_pull::<shape::InCommits>(page, "commits")?.list);
                self.want_commits(wants)
            }
            Of::Head(_) => {
                self.head.absorb(of, page, wants)?;
                if let (Some(upkeep), Some(at)) = (&mut self.upkeep, self.head.committed_at) {
                    upkeep.note_head(at, self.head.by.take());
                }
                self.took_head(wants)
            }
            Of::Contexts(_) | Of::Suites(_) => self.head.absorb(of, page, wants),
            Of::Replies(id) => {
                let replies: shape::InComments = parse(page, "thread comments")?;
                // Unknown when the threads were begun again meanwhile.
                if let Some(thread) = self.threads.entries.iter_mut().find(|thread| thread.id == *id) {
                    let next = thread.replies.take(replies.list, |reply| reply.map(Into::into))?;
                    next.want(|| Of::Replies(id.clone()), wants);
                }
                Ok(())
            }
        }
    }

    /// Notes the head commit's date, where the commit was read just now.
    fn took_head(&mut self, wants: &mut Vec<Want>) -> Result<(), ReadError> {
        let Some(at) = self.head.committed_at else {
            return Ok(());
        };
        self.facts.head.committed_at = at;
        self.note_commit(at);
        self.want_commits(wants)
    }

    fn take_comments(
        &mut self,
        page: shape::List<shape::Spoken>,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        let upkeep = &mut self.upkeep;
        let next = self.comments.take(page, |comment| {
            let mut comment = comment?;
            note_edit(upkeep, || comment.take_edit());
            Some(comment.into())
        })?;
        next.want(|| Of::Comments, wants);
        Ok(())
    }

    fn take_reviews(
        &mut self,
        page: shape::List<shape::Reviewed>,
        wants: &mut Vec<Want>,
    ) -> Result<(), ReadError> {
        let upkeep = &mut self.upkeep;
        let next = self.reviews.take(page, |review| {
            let mut review = review?;
            note_edit(upkeep, || review.take_edit());
            Some(review.into())
        })?;
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
        let upkeep = &mut self.upkeep;
        let next = self.threads.take(page, |thread| {
            let thread = thread?;
            let mut reading = Reading::new("comments of a review thread");
            if upkeep.is_some() {
                // Its newest are all that is asked for.
                reading.take_newest(thread.comments, |reply| {
                    let mut reply = reply?;
                    note_edit(upkeep, || reply.take_edit());
                    Some(reply.into())
                });
            } else {
                match reading.take(thread.comments, |reply| reply.map(Into::into)) {
                    Ok(next) => next.want(|| Of::Replies(thread.id.clone()), &mut replies),
                    Err(error) => failed = Some(error),
                }
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

    fn take_commits(&mut self, page: shape::Commits) {
        self.commit_pages += 1;
        let commits: Vec<shape::Commit> = page.nodes.into_iter().flatten().map(|of| of.commit).collect();
        for commit in &commits {
            self.note_commit(commit.committed_date);
        }
        if let Some(upkeep) = &mut self.upkeep {
            upkeep.note_older(commits);
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

/// Notes when something was edited, where that is read at all.
fn note_edit(upkeep: &mut Option<UpkeepReading>, edit: impl FnOnce() -> Option<Edit>) {
    if let Some(upkeep) = upkeep {
        upkeep.note_edit(edit());
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
