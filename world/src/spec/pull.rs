//! Pull requests, as a test says them.

use serde_json::{Map, Value, json};

use super::Raw;
use super::check::{CheckSpec, SuiteSpec};
use super::closes::ClosesSpec;
use super::commit::CommitSpec;
use super::event::EventSpec;
use super::talk::{Association, CommentSpec, ReviewSpec, ThreadSpec, Who};
use super::when::{IntoWhen, When, days_ago};
use crate::graph::At;

/// A pull request: by default open, by the viewer, three days old, mergeable, with no checks, no
/// reviews and no words, from a branch of its own repository, two commits behind.
pub struct PullSpec {
    pub(super) at: At,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) author: Option<Who>,
    pub(super) association: Association,
    pub(super) branch: Option<String>,
    pub(super) base: Option<String>,
    pub(super) created: When,
    pub(super) updated: Option<When>,
    pub(super) head: Option<CommitSpec>,
    pub(super) earlier: Vec<CommitSpec>,
    pub(super) state: State,
    pub(super) draft: bool,
    pub(super) mergeable: String,
    pub(super) merge_state: Option<String>,
    pub(super) decision: Option<String>,
    pub(super) rollup: Rollup,
    pub(super) checks: Vec<CheckSpec>,
    pub(super) suites: Vec<SuiteSpec>,
    pub(super) comments: Vec<CommentSpec>,
    pub(super) reviews: Vec<ReviewSpec>,
    pub(super) threads: Vec<ThreadSpec>,
    pub(super) requests: Vec<Who>,
    pub(super) closes: Vec<ClosesSpec>,
    pub(super) behind: Option<u64>,
    pub(super) force_pushes: Vec<When>,
    pub(super) events: Vec<EventSpec>,
    pub(super) ended_by: Option<Who>,
    pub(super) files: Vec<(String, u32, u32)>,
    pub(super) files_unread: bool,
    pub(super) thread_reviews: bool,
    pub(super) labels: Vec<String>,
    pub(super) locked: bool,
    pub(super) fork: Fork,
    pub(super) queue: Option<u32>,
    pub(super) search: Option<Value>,
    pub(super) raw: Vec<Raw>,
    pub(super) raw_head: Vec<Raw>,
}

pub(super) enum State {
    Open,
    Closed(When),
    Merged(When),
}

#[derive(PartialEq, Eq)]
pub(super) enum Rollup {
    FromChecks,
    None,
    Empty,
}

pub(super) enum Fork {
    Same,
    Of(String),
    Deleted,
}

impl PullSpec {
    /// Number `number` of `repo`.
    pub fn new(repo: &str, number: u32) -> Self {
        Self {
            at: At::from((repo, number)),
            title: format!("Change {number}"),
            body: "What it does and why.".to_owned(),
            author: None,
            association: Association::Contributor,
            branch: None,
            base: None,
            created: days_ago(3),
            updated: None,
            head: None,
            earlier: Vec::new(),
            state: State::Open,
            draft: false,
            mergeable: "MERGEABLE".to_owned(),
            merge_state: None,
            decision: None,
            rollup: Rollup::FromChecks,
            checks: Vec::new(),
            suites: Vec::new(),
            comments: Vec::new(),
            reviews: Vec::new(),
            threads: Vec::new(),
            requests: Vec::new(),
            closes: Vec::new(),
            behind: Some(2),
            force_pushes: Vec::new(),
            events: Vec::new(),
            ended_by: None,
            files: Vec::new(),
            files_unread: false,
            thread_reviews: false,
            labels: Vec::new(),
            locked: false,
            fork: Fork::Same,
            queue: None,
            search: None,
            raw: Vec::new(),
            raw_head: Vec::new(),
        }
    }

    /// Where it is.
    pub fn address(&self) -> &At {
        &self.at
    }

    /// Its title.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.title);
        self
    }

    /// Its description.
    #[must_use]
    pub fn body(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    /// Who opened it.
    #[must_use]
    pub fn author(mut self, who: impl Into<Who>) -> Self {
        self.author = Some(who.into());
        self
    }

    /// How its author stands to the repository.
    #[must_use]
    pub fn association(mut self, association: Association) -> Self {
        self.association = association;
        self
    }

    /// The branch it comes from.
    #[must_use]
    pub fn branch(mut self, name: &str) -> Self {
        self.branch = Some(name.to_owned());
        self
    }

    /// The branch it goes to, where it is not the default one.
    #[must_use]
    pub fn base(mut self, name: &str) -> Self {
        self.base = Some(name.to_owned());
        self
    }

    /// When it was opened.
    #[must_use]
    pub fn created(mut self, at: impl IntoWhen) -> Self {
        self.created = at.into_when();
        self
    }

    /// When anything of it last changed. By default the newest of its opening, head, comments and reviews.
    #[must_use]
    pub fn updated(mut self, at: impl IntoWhen) -> Self {
        self.updated = Some(at.into_when());
        self
    }

    /// The head commit. By default it is as old as the pull request.
    #[must_use]
    pub fn head(mut self, commit: CommitSpec) -> Self {
        self.head = Some(commit);
        self
    }

    /// The head commit's committer date.
    #[must_use]
    pub fn committed(self, at: impl IntoWhen) -> Self {
        self.head(CommitSpec::at(at))
    }

    /// A commit below the head, oldest first.
    #[must_use]
    pub fn earlier(mut self, commit: CommitSpec) -> Self {
        self.earlier.push(commit);
        self
    }

    /// Merged.
    #[must_use]
    pub fn merged(mut self, at: impl IntoWhen) -> Self {
        self.state = State::Merged(at.into_when());
        self
    }

    /// Closed without a merge.
    #[must_use]
    pub fn closed(mut self, at: impl IntoWhen) -> Self {
        self.state = State::Closed(at.into_when());
        self
    }

    /// A draft.
    #[must_use]
    pub fn draft(mut self) -> Self {
        self.draft = true;
        self
    }

    /// Whether it can be merged, in one of GitHub's words.
    #[must_use]
    pub fn mergeable(mut self, word: &str) -> Self {
        word.clone_into(&mut self.mergeable);
        self
    }

    /// It cannot.
    #[must_use]
    pub fn conflicting(self) -> Self {
        self.mergeable("CONFLICTING")
    }

    /// GitHub's word for the merge button. By default what follows from the rest.
    #[must_use]
    pub fn merge_state(mut self, word: &str) -> Self {
        self.merge_state = Some(word.to_owned());
        self
    }

    /// The verdict of all reviews, in one of GitHub's words. By default there is none.
    #[must_use]
    pub fn decision(mut self, word: &str) -> Self {
        self.decision = Some(word.to_owned());
        self
    }

    /// A check.
    #[must_use]
    pub fn check(mut self, check: CheckSpec) -> Self {
        self.checks.push(check);
        self
    }

    /// Several checks.
    #[must_use]
    pub fn checks(mut self, checks: impl IntoIterator<Item = CheckSpec>) -> Self {
        self.checks.extend(checks);
        self
    }

    /// A suite without a run.
    #[must_use]
    pub fn suite(mut self, suite: SuiteSpec) -> Self {
        self.suites.push(suite);
        self
    }

    /// No rollup, whatever checks there are. Without checks there is none anyway.
    #[must_use]
    pub fn no_rollup(mut self) -> Self {
        self.rollup = Rollup::None;
        self
    }

    /// A rollup without an entry.
    #[must_use]
    pub fn empty_rollup(mut self) -> Self {
        self.rollup = Rollup::Empty;
        self
    }

    /// A comment.
    #[must_use]
    pub fn comment(mut self, comment: CommentSpec) -> Self {
        self.comments.push(comment);
        self
    }

    /// Several comments.
    #[must_use]
    pub fn comments(mut self, comments: impl IntoIterator<Item = CommentSpec>) -> Self {
        self.comments.extend(comments);
        self
    }

    /// A review.
    #[must_use]
    pub fn review(mut self, review: ReviewSpec) -> Self {
        self.reviews.push(review);
        self
    }

    /// A review thread.
    #[must_use]
    pub fn thread(mut self, thread: ThreadSpec) -> Self {
        self.threads.push(thread);
        self
    }

    /// Somebody is asked for a review.
    #[must_use]
    pub fn review_request(mut self, who: impl Into<Who>) -> Self {
        self.requests.push(who.into());
        self
    }

    /// An issue that it would close.
    #[must_use]
    pub fn closes(mut self, issue: ClosesSpec) -> Self {
        self.closes.push(issue);
        self
    }

    /// So many commits on the base since the merge base.
    #[must_use]
    pub fn behind(mut self, commits: u64) -> Self {
        self.behind = Some(commits);
        self
    }

    /// GitHub compares nothing: `compare` answers null.
    #[must_use]
    pub fn behind_unknown(mut self) -> Self {
        self.behind = None;
        self
    }

    /// The head was replaced by a force push.
    #[must_use]
    pub fn force_pushed(mut self, at: impl IntoWhen) -> Self {
        self.force_pushes.push(at.into_when());
        self
    }

    /// Any other event of the timeline, by its GraphQL type.
    #[must_use]
    pub fn event(mut self, typename: &str, at: impl IntoWhen) -> Self {
        self.events.push(EventSpec::new(typename).at(at));
        self
    }

    /// Something that happened to it. This is its history only: what it is now is said beside it.
    #[must_use]
    pub fn happened(mut self, event: EventSpec) -> Self {
        self.events.push(event);
        self
    }

    /// Who merged or closed it. By default a merge is the maintainer `edith`'s, a closing the author's.
    #[must_use]
    pub fn ended_by(mut self, who: impl Into<Who>) -> Self {
        self.ended_by = Some(who.into());
        self
    }

    /// A file that it changes, with the lines that are new and those that are gone. By default it changes
    /// `src/main.rs`, 12 lines and 3.
    #[must_use]
    pub fn file(mut self, path: &str, additions: u32, deletions: u32) -> Self {
        self.files.push((path.to_owned(), additions, deletions));
        self
    }

    /// Each comment of a review thread also leaves a review that says nothing, as GitHub has it.
    #[must_use]
    pub fn thread_reviews(mut self) -> Self {
        self.thread_reviews = true;
        self
    }

    /// GitHub gives no list of its files, as it does where the diff is too large.
    #[must_use]
    pub fn files_unread(mut self) -> Self {
        self.files_unread = true;
        self
    }

    /// A label.
    #[must_use]
    pub fn label(mut self, name: &str) -> Self {
        self.labels.push(name.to_owned());
        self
    }

    /// Its conversation is locked.
    #[must_use]
    pub fn locked(mut self) -> Self {
        self.locked = true;
        self
    }

    /// From a fork of this owner.
    #[must_use]
    pub fn from_fork_of(mut self, owner: &str) -> Self {
        self.fork = Fork::Of(owner.to_owned());
        self
    }

    /// From a fork that was deleted since.
    #[must_use]
    pub fn fork_deleted(mut self) -> Self {
        self.fork = Fork::Deleted;
        self
    }

    /// In the merge queue, at this place.
    #[must_use]
    pub fn in_merge_queue(mut self, position: u32) -> Self {
        self.queue = Some(position);
        self
    }

    /// The search goes on saying that it is in this state (`OPEN`, `CLOSED`, `MERGED`), whatever it is.
    #[must_use]
    pub fn search_says(mut self, state: &str) -> Self {
        self.search = Some(json!({ "state": state }));
        self
    }

    /// Any other field of the pull request.
    #[must_use]
    pub fn raw(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw.push(Box::new(change));
        self
    }

    /// Any other field of its head commit.
    #[must_use]
    pub fn raw_head(mut self, change: impl FnOnce(&mut Map<String, Value>) + Send + 'static) -> Self {
        self.raw_head.push(Box::new(change));
        self
    }
}
