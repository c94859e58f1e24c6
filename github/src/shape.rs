//! The shapes of the answers, one type for each fragment in `queries/`, and what they become.
//!
//! What GitHub may leave out is an `Option`; an empty string where it means none is none. What the
//! schema promises and an answer lacks fails the one pull request that lacks it.

use pulls::facts::{
    Account, AccountKind, Association, Closer, ClosingIssue, Comment, MergeState, Mergeable, PullState,
    Review, ReviewDecision, ReviewState, ThreadComment, Time,
};
use pulls::upkeep::Edit;
use pulls::{PrNumber, PrRef, RepoName, Sha};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

mod checks;
mod upkeep;

pub(crate) use checks::{Context, SuiteShape, check};
pub(crate) use upkeep::{
    Blob, CommitAuthor, FileShape, Happened, InBranch, InList, Kept, LabelShape, Listed, Polled, Rule,
    StatusChecks, Summary,
};

/// `null`, an absent field and `""` alike.
fn blank<'de, D: Deserializer<'de>, T: DeserializeOwned>(input: D) -> Result<Option<T>, D::Error> {
    match Option::<serde_json::Value>::deserialize(input)? {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::String(text)) if text.is_empty() => Ok(None),
        Some(value) => serde_json::from_value(value).map(Some).map_err(D::Error::custom),
    }
}

/// One page of a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct List<T> {
    pub(crate) total_count: u64,
    pub(crate) page_info: PageInfo,
    #[serde(default = "Vec::new", deserialize_with = "none_is_empty")]
    pub(crate) nodes: Vec<Option<T>>,
}

fn none_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(input: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(input)?.unwrap_or_default())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageInfo {
    pub(crate) has_next_page: bool,
    #[serde(default, deserialize_with = "blank")]
    pub(crate) end_cursor: Option<String>,
}

/// One page of a list that is read backwards.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Commits {
    pub(crate) page_info: BackInfo,
    #[serde(default = "Vec::new", deserialize_with = "none_is_empty")]
    pub(crate) nodes: Vec<Option<PullCommit<Commit>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BackInfo {
    pub(crate) has_previous_page: bool,
    #[serde(default, deserialize_with = "blank")]
    pub(crate) start_cursor: Option<String>,
}

/// A list of which only the one entry asked for matters.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct Few<T> {
    #[serde(default = "Vec::new", deserialize_with = "none_is_empty")]
    pub(crate) nodes: Vec<Option<T>>,
}

impl<T> Few<T> {
    pub(crate) fn last(self) -> Option<T> {
        self.nodes.into_iter().next_back().flatten()
    }

    /// Those that are not null.
    pub(crate) fn all(self) -> Vec<T> {
        self.nodes.into_iter().flatten().collect()
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct PullCommit<C> {
    pub(crate) commit: C,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Commit {
    pub(crate) committed_date: Time,
    #[serde(default)]
    pub(crate) author: Option<CommitAuthor>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Named {
    pub(crate) name_with_owner: RepoName,
}

/// `RepositoryFields`, with a pull request where one was asked for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "P: Deserialize<'de>"))]
pub(crate) struct RepositoryWith<P> {
    pub(crate) name_with_owner: RepoName,
    pub(crate) is_archived: bool,
    #[serde(default = "Option::default")]
    pub(crate) pull_request: Option<Box<P>>,
}

/// A repository with a pull request in whole.
pub(crate) type Repository = RepositoryWith<Pull>;

/// `PullFields` with `baseRef`, and `UpkeepFields`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pull {
    pub(crate) number: PrNumber,
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) state: PullState,
    pub(crate) is_draft: bool,
    pub(crate) locked: bool,
    pub(crate) created_at: Time,
    pub(crate) updated_at: Time,
    #[serde(default)]
    pub(crate) author: Option<Actor>,
    pub(crate) head_ref_oid: Sha,
    pub(crate) head_ref_name: String,
    #[serde(default)]
    pub(crate) head_repository: Option<Named>,
    pub(crate) base_ref_name: String,
    pub(crate) base_ref_oid: Sha,
    pub(crate) mergeable: Mergeable,
    pub(crate) merge_state_status: MergeState,
    #[serde(default, deserialize_with = "blank")]
    pub(crate) review_decision: Option<ReviewDecision>,
    #[serde(default)]
    pub(crate) merge_queue_entry: Option<QueueEntry>,
    #[serde(default)]
    pub(crate) base_ref: Option<BaseRef>,
    pub(crate) head_commit: Few<PullCommit<Head>>,
    pub(crate) commits: Commits,
    pub(crate) force_pushes: Few<ForcePush>,
    pub(crate) comments: List<Spoken>,
    pub(crate) reviews: List<Reviewed>,
    pub(crate) review_threads: List<Thread>,
    // Null where the repository has no issues.
    #[serde(default)]
    pub(crate) closing_issues_references: Option<List<Closes>>,
    // From here on only the maintainer's half asks.
    #[serde(default)]
    pub(crate) closed_at: Option<Time>,
    #[serde(default)]
    pub(crate) merged_at: Option<Time>,
    #[serde(default)]
    pub(crate) merged_by: Option<Actor>,
    #[serde(default)]
    last_edited_at: Option<Time>,
    #[serde(default)]
    editor: Option<Actor>,
    #[serde(default)]
    pub(crate) labels: Option<Few<LabelShape>>,
    // Null where GitHub cannot say.
    #[serde(default)]
    pub(crate) files: Option<List<FileShape>>,
    #[serde(default)]
    pub(crate) events: Option<Few<Happened>>,
}

impl Pull {
    /// When and by whom its description was last edited.
    pub(crate) fn take_edit(&mut self) -> Option<Edit> {
        edit(self.last_edited_at, self.editor.take(), &self.author)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct QueueEntry {
    pub(crate) position: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BaseRef {
    #[serde(default)]
    pub(crate) compare: Option<Compared>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Compared {
    pub(crate) behind_by: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForcePush {
    #[serde(default)]
    pub(crate) created_at: Option<Time>,
}

/// `HeadFields`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    pub(crate) oid: Sha,
    pub(crate) committed_date: Time,
    // Only the maintainer's half asks, and only of a head that its list of commits does not reach.
    #[serde(default)]
    pub(crate) author: Option<CommitAuthor>,
    #[serde(default)]
    pub(crate) status_check_rollup: Option<Rollup>,
    #[serde(default)]
    pub(crate) check_suites: Option<List<SuiteShape>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Rollup {
    pub(crate) contexts: List<Context>,
}

/// `ActorFields`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Actor {
    #[serde(rename = "__typename")]
    typename: String,
    login: String,
}

/// Nobody for a deleted account, and for one whose name is none (a mannequin can have such).
pub(crate) fn account(actor: Option<Actor>) -> Option<Account> {
    let actor = actor?;
    let kind = match actor.typename.as_str() {
        "User" => AccountKind::User,
        "Bot" => AccountKind::Bot,
        _ => AccountKind::Other,
    };
    Some(Account {
        login: actor.login.parse().ok()?,
        kind,
    })
}

/// A comment of the conversation, and what a thread's comment has in common with it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spoken {
    url: String,
    #[serde(default)]
    author: Option<Actor>,
    author_association: Association,
    created_at: Time,
    body: String,
    is_minimized: bool,
    #[serde(default)]
    diff_hunk: Option<String>,
    #[serde(default)]
    original_commit: Option<OnCommit>,
    #[serde(default)]
    last_edited_at: Option<Time>,
    #[serde(default)]
    editor: Option<Actor>,
}

impl Spoken {
    /// When and by whom it was last edited.
    pub(crate) fn take_edit(&mut self) -> Option<Edit> {
        edit(self.last_edited_at, self.editor.take(), &self.author)
    }
}

fn edit(at: Option<Time>, editor: Option<Actor>, author: &Option<Actor>) -> Option<Edit> {
    Some(Edit {
        at: at?,
        by: account(editor).or_else(|| account(author.clone())),
    })
}

/// A commit of which only the id was asked for.
#[derive(Debug, Deserialize)]
struct OnCommit {
    oid: Sha,
}

impl From<Spoken> for Comment {
    fn from(spoken: Spoken) -> Self {
        Self {
            url: spoken.url,
            author: account(spoken.author),
            association: spoken.author_association,
            created_at: spoken.created_at,
            body: spoken.body,
            is_minimized: spoken.is_minimized,
        }
    }
}

impl From<Spoken> for ThreadComment {
    fn from(mut spoken: Spoken) -> Self {
        Self {
            diff_hunk: spoken.diff_hunk.take().unwrap_or_default(),
            made_on: spoken.original_commit.take().map(|commit| commit.oid),
            comment: spoken.into(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reviewed {
    url: String,
    #[serde(default)]
    author: Option<Actor>,
    author_association: Association,
    #[serde(default, deserialize_with = "blank")]
    submitted_at: Option<Time>,
    state: ReviewState,
    body: String,
    is_minimized: bool,
    #[serde(default)]
    last_edited_at: Option<Time>,
    #[serde(default)]
    editor: Option<Actor>,
}

impl Reviewed {
    /// When and by whom it was last edited.
    pub(crate) fn take_edit(&mut self) -> Option<Edit> {
        edit(self.last_edited_at, self.editor.take(), &self.author)
    }
}

impl From<Reviewed> for Review {
    fn from(review: Reviewed) -> Self {
        Self {
            url: review.url,
            author: account(review.author),
            association: review.author_association,
            submitted_at: review.submitted_at,
            state: review.state,
            body: review.body,
            is_minimized: review.is_minimized,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Thread {
    pub(crate) id: String,
    pub(crate) is_resolved: bool,
    pub(crate) is_outdated: bool,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) line: Option<u64>,
    pub(crate) comments: List<Spoken>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Closes {
    number: PrNumber,
    closed: bool,
    repository: Named,
    closings: Few<Closing>,
}

#[derive(Debug, Deserialize)]
struct Closing {
    #[serde(default)]
    closer: Option<CloserShape>,
}

/// A pull request, a commit, a project, or what GitHub thinks of next: only a pull request has these.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CloserShape {
    #[serde(rename = "__typename")]
    typename: String,
    #[serde(default)]
    number: Option<PrNumber>,
    #[serde(default)]
    merged_at: Option<Time>,
    #[serde(default)]
    repository: Option<Named>,
}

impl From<Closes> for ClosingIssue {
    fn from(issue: Closes) -> Self {
        let closer = issue.closings.last().and_then(|closing| closing.closer);
        let closer = closer
            .filter(|closer| closer.typename == "PullRequest")
            .and_then(|closer| {
                let at = PrRef {
                    repo: closer.repository?.name_with_owner,
                    number: closer.number?,
                };
                Some(Closer {
                    at,
                    merged_at: closer.merged_at,
                })
            });
        Self {
            repo: issue.repository.name_with_owner,
            number: issue.number,
            is_closed: issue.closed,
            closed_by: closer,
        }
    }
}

/// A page of one list of a pull request: `repository { pullRequest { list } }`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InPull<T> {
    pub(crate) pull_request: Option<T>,
}

/// A page of one list of a commit: `repository { object { list } }`.
#[derive(Debug, Deserialize)]
pub(crate) struct InObject<T> {
    pub(crate) object: Option<T>,
}

/// One list under its name.
macro_rules! under {
    ($($name:ident $field:literal $of:ty;)+) => {$(
        #[derive(Debug, Deserialize)]
        pub(crate) struct $name {
            #[serde(rename = $field)]
            pub(crate) list: $of,
        }
    )+};
}

under! {
    InComments "comments" List<Spoken>;
    InReviews "reviews" List<Reviewed>;
    InThreads "reviewThreads" List<Thread>;
    InFiles "files" List<FileShape>;
    InCloses "closingIssuesReferences" List<Closes>;
    InCommits "commits" Commits;
    InContexts "statusCheckRollup" Rollup;
    InSuites "checkSuites" List<SuiteShape>;
}

/// `Viewer`.
pub(crate) type Viewer = Actor;

/// One page of a search.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Search {
    pub(crate) issue_count: u64,
    pub(crate) page_info: PageInfo,
    #[serde(default = "Vec::new", deserialize_with = "none_is_empty")]
    nodes: Vec<Option<Hit>>,
}

impl Search {
    /// Where the hits are; a hit that is null or no pull request is left out.
    pub(crate) fn refs(&self) -> impl Iterator<Item = PrRef> + '_ {
        self.nodes.iter().flatten().filter_map(|hit| {
            let repo = hit.repository.as_ref()?.name_with_owner.clone();
            Some(PrRef {
                repo,
                number: hit.number?,
            })
        })
    }
}

#[derive(Debug, Deserialize)]
struct Hit {
    #[serde(default)]
    number: Option<PrNumber>,
    #[serde(default)]
    repository: Option<Named>,
}

/// `BudgetFields`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BudgetShape {
    pub(crate) cost: u64,
    pub(crate) remaining: u64,
    pub(crate) reset_at: Time,
}
