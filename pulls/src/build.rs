//! Pull requests for tests: each builder gives a valid object by default.
//!
//! [`pull`] alone is a quiet pull request: open for two days, one green check, a review asked for, nothing
//! said. A test names only what it is about.
//!
//! ```
//! use pulls::build;
//! let pull = build::pull("o/r", 7)
//!     .approved()
//!     .check(build::run("test").failed())
//!     .comment(build::comment("maintainer", "Could this be done in another way?"))
//!     .build();
//! assert_eq!(pull.at.to_string(), "o/r#7");
//! ```
//!
//! # Panics
//!
//! Every function here panics on a name, SHA or time that is none: that is a mistake in the test.

use chrono::TimeDelta;

use crate::facts::{
    Account, AccountKind, Association, Base, Check, CheckRun, CheckStatus, Checks, Closer, ClosingIssue,
    Comment, CommitStatus, Conclusion, Head, MergeState, Mergeable, PullFacts, PullState, Review,
    ReviewDecision, ReviewState, StatusState, Suite, Thread, ThreadComment, Time,
};
use crate::ids::{PrNumber, RepoName};

/// The moment as of which tests evaluate, unless they say otherwise.
pub fn now() -> Time {
    at("2026-05-14T17:45:00Z")
}

/// A moment from RFC 3339.
pub fn at(text: &str) -> Time {
    text.parse().expect("a test names a valid time")
}

/// So many hours before [`now`].
pub fn hours_ago(hours: i64) -> Time {
    now() - TimeDelta::hours(hours)
}

/// A repository name.
pub fn repo(name: &str) -> RepoName {
    name.parse().expect("a test names a valid repository")
}

/// The account of a person, or of a bot where the name ends in `[bot]`.
pub fn account(login: &str) -> Account {
    let kind = if login.ends_with("[bot]") {
        AccountKind::Bot
    } else {
        AccountKind::User
    };
    Account {
        login: login.parse().expect("a test names a valid login"),
        kind,
    }
}

/// A pull request under construction.
#[derive(Debug, Clone)]
pub struct PullBuilder {
    facts: PullFacts,
    default_check: bool,
}

/// A quiet pull request of `author` on a branch `topic` of their fork, committed 48 h ago.
pub fn pull(repository: &str, number: u32) -> PullBuilder {
    let repo = repo(repository);
    let number = PrNumber::try_from(u64::from(number)).expect("a test names a valid number");
    let facts = PullFacts {
        url: format!("https://github.com/{repo}/pull/{number}"),
        at: crate::PrRef {
            repo: repo.clone(),
            number,
        },
        asked_as: repo.clone(),
        read_at: now(),
        title: "Add a topic".to_owned(),
        body: "It adds a topic.".to_owned(),
        state: PullState::Open,
        is_draft: false,
        is_archived: false,
        is_locked: false,
        created_at: hours_ago(48),
        updated_at: hours_ago(40),
        author: Some(account("author")),
        head: Head {
            sha: format!("{:040x}", number.get()).parse().expect("forty digits"),
            branch: "topic".to_owned(),
            repo: format!("author/{}", repo.name()).parse().ok(),
            committed_at: hours_ago(48),
            last_force_push_at: None,
            commit_dates: vec![hours_ago(48)],
        },
        base: Base {
            branch: "main".to_owned(),
            sha: "b".repeat(40).parse().expect("forty digits"),
        },
        mergeable: Mergeable::Mergeable,
        merge_state: MergeState::Blocked,
        review_decision: Some(ReviewDecision::ReviewRequired),
        behind_by: Some(0),
        merge_queue_position: None,
        checks: Checks {
            contexts: Some(vec![run("build").into()]),
            suites: Vec::new(),
        },
        comments: Vec::new(),
        reviews: Vec::new(),
        threads: Vec::new(),
        closes: Vec::new(),
        upkeep: None,
    };
    PullBuilder {
        facts,
        default_check: true,
    }
}

impl PullBuilder {
    /// The facts.
    pub fn build(self) -> PullFacts {
        self.facts
    }

    /// Changes whatever has no method of its own.
    pub fn with(mut self, change: impl FnOnce(&mut PullFacts)) -> Self {
        change(&mut self.facts);
        self
    }

    /// The title.
    pub fn title(self, title: &str) -> Self {
        self.with(|pull| pull.title = title.to_owned())
    }

    /// The author.
    pub fn author(self, login: &str) -> Self {
        self.with(|pull| pull.author = Some(account(login)))
    }

    /// A draft.
    pub fn draft(self) -> Self {
        self.with(|pull| pull.is_draft = true)
    }

    /// In an archived repository.
    pub fn archived(self) -> Self {
        self.with(|pull| pull.is_archived = true)
    }

    /// The reviews' verdict is APPROVED and the merge state CLEAN.
    pub fn approved(self) -> Self {
        self.with(|pull| {
            pull.review_decision = Some(ReviewDecision::Approved);
            pull.merge_state = MergeState::Clean;
        })
    }

    /// The reviews' verdict is CHANGES_REQUESTED.
    pub fn changes_requested(self) -> Self {
        self.with(|pull| pull.review_decision = Some(ReviewDecision::ChangesRequested))
    }

    /// It conflicts with its base.
    pub fn conflicting(self) -> Self {
        self.with(|pull| {
            pull.mergeable = Mergeable::Conflicting;
            pull.merge_state = MergeState::Dirty;
        })
    }

    /// So many commits behind its base.
    pub fn behind(self, commits: u64) -> Self {
        self.with(|pull| pull.behind_by = Some(commits))
    }

    /// The branch of the head.
    pub fn branch(self, branch: &str) -> Self {
        self.with(|pull| pull.head.branch = branch.to_owned())
    }

    /// When it was opened.
    pub fn opened_at(self, time: Time) -> Self {
        self.with(|pull| pull.created_at = time)
    }

    /// When it was last changed.
    pub fn updated_at(self, time: Time) -> Self {
        self.with(|pull| pull.updated_at = time)
    }

    /// When the head was committed.
    pub fn committed_at(self, time: Time) -> Self {
        self.with(|pull| {
            pull.head.committed_at = time;
            pull.head.commit_dates = vec![time];
        })
    }

    /// A check run or status; the first one replaces the default's green check.
    pub fn check(mut self, check: impl Into<Check>) -> Self {
        let contexts = self.facts.checks.contexts.get_or_insert_default();
        if std::mem::take(&mut self.default_check) {
            contexts.clear();
        }
        contexts.push(check.into());
        self
    }

    /// A rollup without any check.
    pub fn no_checks(mut self) -> Self {
        self.default_check = false;
        self.with(|pull| pull.checks.contexts = Some(Vec::new()))
    }

    /// No rollup at all.
    pub fn no_rollup(mut self) -> Self {
        self.default_check = false;
        self.with(|pull| pull.checks.contexts = None)
    }

    /// A check suite.
    pub fn suite(self, suite: Suite) -> Self {
        self.with(|pull| pull.checks.suites.push(suite))
    }

    /// A comment of the conversation.
    pub fn comment(self, comment: CommentBuilder) -> Self {
        self.with(|pull| pull.comments.push(comment.0))
    }

    /// A review.
    pub fn review(self, review: ReviewBuilder) -> Self {
        self.with(|pull| pull.reviews.push(review.0))
    }

    /// An open review thread of these comments.
    pub fn thread(self, comments: impl IntoIterator<Item = CommentBuilder>) -> Self {
        self.with(|pull| pull.threads.push(thread(comments)))
    }

    /// A resolved review thread of these comments.
    pub fn resolved_thread(self, comments: impl IntoIterator<Item = CommentBuilder>) -> Self {
        self.with(|pull| {
            pull.threads.push(Thread {
                is_resolved: true,
                ..thread(comments)
            })
        })
    }

    /// An open issue that it would close.
    pub fn closes(self, number: u32) -> Self {
        self.with(|pull| {
            let repo = pull.at.repo.clone();
            pull.closes.push(ClosingIssue {
                repo,
                number: pr_number(number),
                is_closed: false,
                closed_by: None,
            });
        })
    }

    /// An issue that it would close and that another pull request of the repository closed instead.
    pub fn closed_by_other(self, issue: u32, other: u32, merged_at: Option<Time>) -> Self {
        self.with(|pull| {
            let repo = pull.at.repo.clone();
            let at = crate::PrRef {
                repo: repo.clone(),
                number: pr_number(other),
            };
            let closed_by = Some(Closer { at, merged_at });
            pull.closes.push(ClosingIssue {
                repo,
                number: pr_number(issue),
                is_closed: true,
                closed_by,
            });
        })
    }
}

fn pr_number(number: u32) -> PrNumber {
    PrNumber::try_from(u64::from(number)).expect("a test names a valid number")
}

/// A check run under construction.
#[derive(Debug, Clone)]
pub struct RunBuilder(CheckRun);

/// A check run of GitHub Actions in the workflow `CI` that succeeded 39 h ago.
pub fn run(name: &str) -> RunBuilder {
    RunBuilder(CheckRun {
        id: 1,
        name: name.to_owned(),
        app: Some(15_368),
        workflow: Some("CI".to_owned()),
        event: Some("pull_request".to_owned()),
        status: CheckStatus::Completed,
        conclusion: Some(Conclusion::Success),
        started_at: Some(hours_ago(40)),
        completed_at: Some(hours_ago(39)),
        url: Some("https://github.com/o/r/actions/runs/1/job/1".to_owned()),
        suite: Some(1),
    })
}

impl RunBuilder {
    /// Changes whatever has no method of its own.
    pub fn with(mut self, change: impl FnOnce(&mut CheckRun)) -> Self {
        change(&mut self.0);
        self
    }

    /// Its number.
    pub fn id(self, id: u64) -> Self {
        self.with(|run| run.id = id)
    }

    /// The app that made it.
    pub fn app(self, app: u64) -> Self {
        self.with(|run| run.app = Some(app))
    }

    /// The workflow that made it.
    pub fn workflow(self, workflow: &str) -> Self {
        self.with(|run| run.workflow = Some(workflow.to_owned()))
    }

    /// When it started.
    pub fn started(self, time: Time) -> Self {
        self.with(|run| run.started_at = Some(time))
    }

    /// How it ended, in GitHub's word.
    pub fn concluded(self, word: &str) -> Self {
        self.with(|run| run.conclusion = Some(word.into()))
    }

    /// It failed.
    pub fn failed(self) -> Self {
        self.concluded("FAILURE")
    }

    /// It has started and has no result.
    pub fn running(self) -> Self {
        self.with(|run| {
            run.status = CheckStatus::InProgress;
            run.conclusion = None;
            run.completed_at = None;
        })
    }

    /// It has not started.
    pub fn queued(self) -> Self {
        self.running().with(|run| {
            run.status = CheckStatus::Queued;
            run.started_at = None;
        })
    }
}

impl From<RunBuilder> for Check {
    fn from(run: RunBuilder) -> Self {
        Self::Run(run.0)
    }
}

/// A commit status that a person made 39 h ago.
pub fn status(context: &str, state: &str) -> CommitStatus {
    CommitStatus {
        context: context.to_owned(),
        state: StatusState::from(state),
        created_at: hours_ago(39),
        creator: Some(account("ci-service")),
        url: None,
        app: None,
    }
}

impl From<CommitStatus> for Check {
    fn from(status: CommitStatus) -> Self {
        Self::Status(status)
    }
}

/// A suite of the workflow `CI` that has ended with the demand that a maintainer approve it.
pub fn suite_awaiting_approval() -> Suite {
    Suite {
        id: 1,
        app: Some(15_368),
        workflow: Some("CI".to_owned()),
        event: Some("pull_request".to_owned()),
        status: CheckStatus::Completed,
        conclusion: Some(Conclusion::ActionRequired),
        runs: 0,
        created_at: hours_ago(2),
    }
}

/// A suite of an app that is installed and never ran anything.
pub fn suite_that_never_ran() -> Suite {
    Suite {
        id: 2,
        app: Some(29_110),
        workflow: None,
        event: None,
        status: CheckStatus::Queued,
        conclusion: None,
        runs: 0,
        created_at: hours_ago(48),
    }
}

/// A comment under construction.
#[derive(Debug, Clone)]
pub struct CommentBuilder(Comment);

/// A comment of a MEMBER, one hour ago. The word of the pull request's author needs their login.
pub fn comment(login: &str, body: &str) -> CommentBuilder {
    CommentBuilder(Comment {
        url: format!("https://github.com/o/r/pull/1#issuecomment-{login}"),
        author: Some(account(login)),
        association: Association::Member,
        created_at: hours_ago(1),
        body: body.to_owned(),
        is_minimized: false,
    })
}

impl CommentBuilder {
    /// The comment.
    pub fn build(self) -> Comment {
        self.0
    }

    /// Changes whatever has no method of its own.
    pub fn with(mut self, change: impl FnOnce(&mut Comment)) -> Self {
        change(&mut self.0);
        self
    }

    /// When it was written.
    pub fn at(self, time: Time) -> Self {
        self.with(|comment| comment.created_at = time)
    }

    /// How its writer stands to the repository, in GitHub's word.
    pub fn association(self, word: &str) -> Self {
        self.with(|comment| comment.association = word.into())
    }

    /// Somebody hid it.
    pub fn minimized(self) -> Self {
        self.with(|comment| comment.is_minimized = true)
    }
}

/// A review under construction.
#[derive(Debug, Clone)]
pub struct ReviewBuilder(Review);

/// A review of a MEMBER, one hour ago, with GitHub's word for its state.
pub fn review(login: &str, state: &str, body: &str) -> ReviewBuilder {
    ReviewBuilder(Review {
        url: format!("https://github.com/o/r/pull/1#pullrequestreview-{login}"),
        author: Some(account(login)),
        association: Association::Member,
        submitted_at: (state != "PENDING").then(|| hours_ago(1)),
        state: ReviewState::from(state),
        body: body.to_owned(),
        is_minimized: false,
    })
}

impl ReviewBuilder {
    /// The review.
    pub fn build(self) -> Review {
        self.0
    }

    /// Changes whatever has no method of its own.
    pub fn with(mut self, change: impl FnOnce(&mut Review)) -> Self {
        change(&mut self.0);
        self
    }

    /// When it was sent.
    pub fn at(self, time: Time) -> Self {
        self.with(|review| review.submitted_at = Some(time))
    }

    /// How its writer stands to the repository, in GitHub's word.
    pub fn association(self, word: &str) -> Self {
        self.with(|review| review.association = word.into())
    }
}

/// An open review thread on line 3 of `src/lib.rs`.
pub fn thread(comments: impl IntoIterator<Item = CommentBuilder>) -> Thread {
    Thread {
        is_resolved: false,
        is_outdated: false,
        path: "src/lib.rs".to_owned(),
        line: Some(3),
        comments: comments
            .into_iter()
            .map(|comment| ThreadComment {
                comment: comment.0,
                diff_hunk: "@@ -1,3 +1,3 @@".to_owned(),
                made_on: None,
            })
            .collect(),
    }
}
