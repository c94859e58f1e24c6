//! The documents: many pull requests, or many further pages, in one.
//!
//! # What a document may cost
//!
//! GitHub refuses a document that could return more than 500,000 nodes, reckoned from the page sizes
//! alone, and charges one point for every hundred lists that it could have to read. One pull request
//! of a batch can return
//!
//! | list | nodes | lists |
//! | --- | --- | --- |
//! | the head commit, its checks (100), its suites (50) with a count each | 1 + 100 + 50 + 50 | 3 + 50 |
//! | commits (100), force pushes (1) | 101 | 2 |
//! | comments (100), reviews (100) | 200 | 2 |
//! | review threads (50) with their comments (100) | 50 + 5,000 | 1 + 50 |
//! | issues that it closes (20) with one event each | 20 + 20 | 1 + 20 |
//! | together | 5,592 | 129 |
//!
//! so a batch of 25 can return 139,800 nodes and costs about 33 points: 200 pull requests every ten
//! minutes spend 1,600 of the 5,000 points of an hour. The lists that hold lists have shorter first
//! pages for that reason; their further pages are full ones, and a list of 100 takes one of them.
//!
//! A maintainer has a whole repository, every ten minutes. What is read of one of its pull requests is
//! leaner:
//!
//! | list | nodes | lists |
//! | --- | --- | --- |
//! | the head commit, its checks (100), its suites (20) with a count each | 1 + 100 + 20 + 20 | 3 + 20 |
//! | commits (100), force pushes (1), other events (100) | 201 | 3 |
//! | comments (100), reviews (100) | 200 | 2 |
//! | review threads (30) with their newest comments (10) | 30 + 300 | 1 + 30 |
//! | labels (100), files (100) | 200 | 2 |
//! | together | 1,072 | 61 |
//!
//! so a batch of 25 costs 16 points, and 1,236 open pull requests cost 13 requests of one point for their
//! list and 50 of 791 points together. Of a head alone it is the first line: 100 heads are 23 points, and
//! 1,236 are 13 requests and 285 points.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use pulls::{PrRef, RepoName, Sha};
use serde_json::{Map, Value};

/// Pull requests in one document (field case B096).
pub(crate) const BATCH: usize = 25;

/// Heads in one document.
pub(crate) const HEADS: usize = 100;

/// Further pages in one document: what 25 pull requests can want at once, twice over.
const MAX_PAGES_A_DOCUMENT: usize = 100;

/// Nodes that a document of pages may return, a fifth below GitHub's bound.
const MAX_NODES: u64 = 400_000;

const SOURCES: [&str; 4] = [
    include_str!("../queries/pull.graphql"),
    include_str!("../queries/head.graphql"),
    include_str!("../queries/upkeep.graphql"),
    include_str!("../queries/budget.graphql"),
];

/// What is read of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Profile {
    /// Everything that the author's half goes by.
    #[default]
    Author,
    /// Everything that the maintainer's half goes by, in lean first pages.
    Maintainer,
    /// What of a head can change without a trace in the list of pull requests.
    Heads,
}

impl Profile {
    /// Pull requests in one document.
    pub(crate) const fn batch(self) -> usize {
        match self {
            Self::Author | Self::Maintainer => BATCH,
            Self::Heads => HEADS,
        }
    }
}

/// A document with its variables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document {
    pub(crate) text: String,
    pub(crate) variables: Map<String, Value>,
}

/// What a further page is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Of {
    Comments,
    Reviews,
    Threads,
    Closes,
    /// Of the maintainer's half alone.
    Files,
    /// Backwards from the newest.
    Commits,
    /// The whole head, where the pull request's last commit is not it (field case B075).
    Head(Sha),
    /// Checks, by the commit that they belong to, so that a push between two pages mixes nothing.
    Contexts(Sha),
    Suites(Sha),
    /// The comments of one review thread, by its node id.
    Replies(String),
}

impl Of {
    /// The most nodes that a page can return, as GitHub reckons it.
    fn nodes(&self) -> u64 {
        match self {
            Self::Comments
            | Self::Reviews
            | Self::Files
            | Self::Commits
            | Self::Contexts(_)
            | Self::Replies(_) => 100,
            Self::Closes | Self::Suites(_) => 200,
            Self::Head(_) => 200,
            Self::Threads => 100 + 100 * 100,
        }
    }
}

/// One further page of one list of one pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// Whose, as a place in the plan.
    pub(crate) slot: usize,
    pub(crate) at: PrRef,
    pub(crate) of: Of,
    /// The cursor that it begins after (for commits: before); `None` for the first one.
    pub(crate) after: Option<String>,
    /// Whether it failed once already.
    pub(crate) is_retry: bool,
}

/// How many of `pages`, from the front, fit into one document.
pub(crate) fn fitting(pages: &[Page]) -> usize {
    let mut nodes = 0;
    pages
        .iter()
        .take(MAX_PAGES_A_DOCUMENT)
        .take_while(|page| {
            nodes += page.of.nodes();
            nodes <= MAX_NODES
        })
        .count()
}

/// The alias of the pull request at a place in a batch.
pub(crate) fn pull_alias(place: usize) -> String {
    format!("pr{place}")
}

/// The alias of the page at a place in a document.
pub(crate) fn page_alias(place: usize) -> String {
    format!("page{place}")
}

/// One document for up to a [batch](Profile::batch) of pull requests.
pub(crate) fn pulls<'a>(profile: Profile, refs: impl IntoIterator<Item = &'a PrRef>) -> Document {
    let mut writer = Writer::default();
    for (place, at) in refs.into_iter().enumerate() {
        let alias = pull_alias(place);
        let repository = writer.repository(place, &at.repo);
        let number = writer.variable("number", place, "Int!", at.number.get().into());
        let fields = match profile {
            Profile::Author => {
                // Compared as the ref that GitHub keeps for every pull request, so that a deleted fork
                // has a number too (contract, section 4, "Behind").
                let head = format!("refs/pull/{}/head", at.number);
                let head = writer.variable("head", place, "String!", head.into());
                format!("...PullFields baseRef {{ compare(headRef: {head}) {{ behindBy }} }}")
            }
            Profile::Maintainer => "...UpkeepFields".to_owned(),
            Profile::Heads => "...PollFields".to_owned(),
        };
        writer.field(&format!(
            "{alias}: {repository} {{ ...RepositoryFields pullRequest(number: {number}) {{ {fields} }} }}",
        ));
    }
    writer.finish(match profile {
        Profile::Author => "Pulls",
        Profile::Maintainer => "Upkeep",
        Profile::Heads => "Heads",
    })
}

/// One document for many pages; at most [`fitting`] of them.
pub(crate) fn pages(profile: Profile, pages: &[Page]) -> Document {
    let names = Fragments::of(profile);
    let mut writer = Writer::default();
    for (place, page) in pages.iter().enumerate() {
        let alias = page_alias(place);
        let field = match &page.of {
            Of::Head(_) | Of::Contexts(_) | Of::Suites(_) => {
                let after = page.after.as_deref();
                writer.commit_page(&names, place, &page.at.repo, &page.of, after)
            }
            Of::Replies(thread) => {
                let after = writer.variable("after", place, "String", page.after.clone().into());
                let thread = writer.variable("thread", place, "ID!", thread.as_str().into());
                let selection = format!("comments(first: 100, after: {after}) {{ ...ThreadCommentPage }}");
                format!(
                    "node(id: {thread}) {{ __typename ... on PullRequestReviewThread {{ {selection} }} }}"
                )
            }
            of => {
                let after = writer.variable("after", place, "String", page.after.clone().into());
                let list = |list: &str, fragment: &str| {
                    format!("{list}(first: 100, after: {after}) {{ ...{fragment} }}")
                };
                let selection = match of {
                    Of::Reviews => list("reviews", names.reviews),
                    Of::Threads => list("reviewThreads", names.threads),
                    Of::Closes => list("closingIssuesReferences", "ClosingIssuePage"),
                    Of::Files => list("files", "FilePage"),
                    Of::Commits => format!("commits(last: 100, before: {after}) {{ ...{} }}", names.commits),
                    _ => list("comments", names.comments),
                };
                let repository = writer.repository(place, &page.at.repo);
                let number = writer.variable("number", place, "Int!", page.at.number.get().into());
                format!("{repository} {{ pullRequest(number: {number}) {{ {selection} }} }}")
            }
        };
        writer.field(&format!("{alias}: {field}"));
    }
    writer.finish("Pages")
}

/// One document for one further page of a commit's checks or suites.
pub(crate) fn commit_page(repo: &RepoName, of: &Of, after: Option<&str>) -> Document {
    let names = Fragments::of(Profile::Heads);
    let mut writer = Writer::default();
    let field = writer.commit_page(&names, 0, repo, of, after);
    writer.field(&format!("{}: {field}", page_alias(0)));
    writer.finish("Pages")
}

/// The fragments of further pages.
struct Fragments {
    comments: &'static str,
    reviews: &'static str,
    threads: &'static str,
    commits: &'static str,
    head: &'static str,
    contexts: &'static str,
}

impl Fragments {
    fn of(profile: Profile) -> Self {
        match profile {
            Profile::Author => Self {
                comments: "CommentPage",
                reviews: "ReviewPage",
                threads: "ThreadPage",
                commits: "CommitPage",
                head: "HeadFields",
                contexts: "ContextPage",
            },
            Profile::Maintainer => Self {
                comments: "EditedCommentPage",
                reviews: "EditedReviewPage",
                threads: "LeanThreadPage",
                commits: "AuthoredCommitPage",
                head: "AuthoredHeadFields",
                contexts: "SuitedContextPage",
            },
            Profile::Heads => Self {
                head: "LeanHeadFields",
                ..Self::of(Profile::Maintainer)
            },
        }
    }
}

/// Whose token it is.
pub(crate) fn viewer() -> Document {
    Document {
        text: with_fragments(include_str!("../queries/viewer.graphql")),
        variables: Map::new(),
    }
}

/// Whether a repository is there, and what it is called now.
pub(crate) fn repository(repo: &RepoName) -> Document {
    let variables = Map::from_iter([
        ("owner".to_owned(), repo.owner().into()),
        ("name".to_owned(), repo.name().into()),
    ]);
    Document {
        text: with_fragments(include_str!("../queries/repository.graphql")),
        variables,
    }
}

/// A repository that is maintained.
pub(crate) fn repository_facts(repo: &RepoName) -> Document {
    let variables = Map::from_iter([
        ("owner".to_owned(), repo.owner().into()),
        ("name".to_owned(), repo.name().into()),
    ]);
    Document {
        text: with_fragments(include_str!("../queries/facts.graphql")),
        variables,
    }
}

/// A branch's head with the first page of its checks.
pub(crate) fn branch(repo: &RepoName, branch: &str) -> Document {
    let variables = Map::from_iter([
        ("owner".to_owned(), repo.owner().into()),
        ("name".to_owned(), repo.name().into()),
        ("branch".to_owned(), format!("refs/heads/{branch}").into()),
    ]);
    Document {
        text: with_fragments(include_str!("../queries/branch.graphql")),
        variables,
    }
}

/// Which pages of a repository's pull requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    /// Those that are open, oldest first.
    Open,
    /// All, the last changed first.
    Touched,
}

/// One page of a repository's pull requests.
pub(crate) fn listed(list: List, repo: &RepoName, after: Option<&str>) -> Document {
    let text = match list {
        List::Open => include_str!("../queries/listed.graphql"),
        List::Touched => include_str!("../queries/touched.graphql"),
    };
    let variables = Map::from_iter([
        ("owner".to_owned(), repo.owner().into()),
        ("name".to_owned(), repo.name().into()),
        ("after".to_owned(), after.into()),
    ]);
    Document {
        text: with_fragments(text),
        variables,
    }
}

/// One page of a search.
pub(crate) fn search(query: &str, first: usize, after: Option<&str>) -> Document {
    let variables = Map::from_iter([
        ("query".to_owned(), query.into()),
        ("first".to_owned(), first.into()),
        ("after".to_owned(), after.into()),
    ]);
    Document {
        text: with_fragments(include_str!("../queries/search.graphql")),
        variables,
    }
}

#[derive(Default)]
struct Writer {
    head: String,
    body: String,
    variables: Map<String, Value>,
}

impl Writer {
    fn variable(&mut self, name: &str, place: usize, of: &str, value: Value) -> String {
        let name = format!("{name}{place}");
        let comma = if self.head.is_empty() { "" } else { ", " };
        write!(self.head, "{comma}${name}: {of}").expect("writing to a string never fails");
        self.variables.insert(name.clone(), value);
        format!("${name}")
    }

    fn repository(&mut self, place: usize, repo: &RepoName) -> String {
        let owner = self.variable("owner", place, "String!", repo.owner().into());
        let name = self.variable("name", place, "String!", repo.name().into());
        format!("repository(owner: {owner}, name: {name})")
    }

    /// A page of what belongs to a commit: its checks, its suites, or the whole of it.
    fn commit_page(
        &mut self,
        names: &Fragments,
        place: usize,
        repo: &RepoName,
        of: &Of,
        after: Option<&str>,
    ) -> String {
        let (sha, selection) = match of {
            Of::Contexts(sha) => {
                let after = self.variable("after", place, "String", after.into());
                let list = format!("contexts(first: 100, after: {after}) {{ ...{} }}", names.contexts);
                (sha.as_str(), format!("statusCheckRollup {{ {list} }}"))
            }
            Of::Suites(sha) => {
                let after = self.variable("after", place, "String", after.into());
                let list = format!("checkSuites(first: 100, after: {after}) {{ ...SuitePage }}");
                (sha.as_str(), list)
            }
            Of::Head(sha) => (sha.as_str(), format!("...{}", names.head)),
            _ => ("", "oid".to_owned()),
        };
        let repository = self.repository(place, repo);
        let oid = self.variable("oid", place, "GitObjectID!", sha.into());
        format!("{repository} {{ object(oid: {oid}) {{ __typename ... on Commit {{ {selection} }} }} }}")
    }

    fn field(&mut self, text: &str) {
        self.body.push_str("  ");
        self.body.push_str(text);
        self.body.push('\n');
    }

    fn finish(self, name: &str) -> Document {
        let Self {
            head,
            body,
            variables,
        } = self;
        let operation = format!("query {name}({head}) {{\n{body}  rateLimit {{ ...BudgetFields }}\n}}\n");
        Document {
            text: with_fragments(&operation),
            variables,
        }
    }
}

/// An operation with the fragments that it names, and those that they name. One too many would be
/// refused, as one too few.
fn with_fragments(operation: &str) -> String {
    let known = fragments();
    let mut text = without_comments(operation);
    let mut wanted = spreads(operation);
    let mut written: Vec<&str> = Vec::new();
    while let Some(name) = wanted.pop() {
        if written.contains(&name) {
            continue;
        }
        let (name, fragment) = known
            .get_key_value(name)
            .expect("the schema test reads every document, so every fragment it names is there");
        written.push(name);
        wanted.extend(spreads(fragment));
        text.push_str(fragment);
    }
    text
}

fn fragments() -> &'static BTreeMap<&'static str, String> {
    static FRAGMENTS: OnceLock<BTreeMap<&'static str, String>> = OnceLock::new();
    FRAGMENTS.get_or_init(|| {
        let mut fragments = BTreeMap::new();
        for source in SOURCES {
            for text in source.split("\nfragment ").skip(1) {
                let name = text.split_whitespace().next().unwrap_or_default();
                fragments.insert(name, format!("fragment {}\n", without_comments(text).trim_end()));
            }
        }
        fragments
    })
}

fn without_comments(text: &str) -> String {
    let mut kept: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#') && !line.trim().is_empty())
        .collect::<Vec<_>>()
        .join("\n");
    kept.push('\n');
    kept
}

/// The names after `...`, an inline fragment's `... on` left out.
fn spreads(text: &str) -> Vec<&str> {
    text.split("...")
        .skip(1)
        .filter_map(|rest| {
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            (end > 0).then(|| &rest[..end])
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn at(number: usize) -> PrRef {
        format!("owner/name#{number}").parse().unwrap()
    }

    /// One page of every kind.
    pub(crate) fn one_of_each() -> Vec<Page> {
        let sha: Sha = "a".repeat(40).parse().unwrap();
        let kinds = [
            Of::Comments,
            Of::Reviews,
            Of::Threads,
            Of::Closes,
            Of::Commits,
            Of::Head(sha.clone()),
            Of::Contexts(sha.clone()),
            Of::Suites(sha),
            Of::Replies("PRRT_1".to_owned()),
        ];
        kinds.into_iter().map(page).collect()
    }

    /// One page of every kind that the maintainer's half asks for.
    pub(crate) fn one_of_each_upkeep() -> Vec<Page> {
        let mut pages = one_of_each();
        pages.retain(|page| !matches!(page.of, Of::Closes | Of::Replies(_)));
        pages.push(page(Of::Files));
        pages
    }

    fn page(of: Of) -> Page {
        Page {
            slot: 0,
            at: at(1),
            of,
            after: Some("cursor".to_owned()),
            is_retry: false,
        }
    }

    #[test]
    fn a_name_is_a_variable_and_never_text() {
        let document = pulls(Profile::Author, &["odd-owner/odd.name#7".parse().unwrap()]);
        assert!(!document.text.contains("odd"));
        assert_eq!(document.variables["owner0"], "odd-owner");
        assert_eq!(document.variables["name0"], "odd.name");
        assert_eq!(document.variables["number0"], 7);
        assert_eq!(document.variables["head0"], "refs/pull/7/head");
    }

    #[test]
    fn each_fragment_is_there_once_and_none_is_idle() {
        let documents = [
            pulls(Profile::Author, &[at(1), at(2)]),
            pulls(Profile::Maintainer, &[at(1)]),
            pulls(Profile::Heads, &[at(1), at(2)]),
            pages(Profile::Author, &one_of_each()),
            pages(Profile::Author, &one_of_each()[..1]),
            pages(Profile::Maintainer, &one_of_each_upkeep()),
            listed(List::Open, &at(1).repo, None),
            viewer(),
        ];
        for document in documents {
            let mut defined: Vec<&str> = document
                .text
                .lines()
                .filter_map(|line| line.strip_prefix("fragment "))
                .filter_map(|line| line.split_whitespace().next())
                .collect();
            defined.sort_unstable();
            let mut named = spreads(&document.text);
            named.sort_unstable();
            named.dedup();
            assert_eq!(defined, named);
        }
    }

    #[test]
    fn pages_are_packed_below_the_node_limit() {
        let many = |of: Of, count: usize| vec![page(of); count];
        assert_eq!(fitting(&many(Of::Threads, 60)), 39);
        assert_eq!(fitting(&many(Of::Comments, 60)), 60);
        assert_eq!(fitting(&many(Of::Comments, 160)), MAX_PAGES_A_DOCUMENT);
        assert_eq!(fitting(&many(Of::Threads, 1)), 1);
        assert_eq!(fitting(&[]), 0);
    }
}
