//! What only the maintainer's half reads: labels, files, events, heads, lists of a repository.

use pulls::facts::{Account, AccountKind, MergeState, Mergeable, PullState, Time};
use pulls::required;
use pulls::upkeep::{ChangedFile, Event, EventKind, RequiredCheck};
use pulls::{PrNumber, RepoName, Sha};
use serde::Deserialize;

use crate::error::ReadError;

use super::{Actor, Few, Head, List, PullCommit, QueueEntry, account};

#[derive(Debug, Deserialize)]
pub(crate) struct LabelShape {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileShape {
    path: String,
    additions: u64,
    deletions: u64,
}

impl From<FileShape> for ChangedFile {
    fn from(file: FileShape) -> Self {
        Self {
            path: file.path,
            additions: file.additions,
            deletions: file.deletions,
        }
    }
}

/// Whose a commit is.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct CommitAuthor {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    user: Option<Actor>,
}

impl CommitAuthor {
    /// An app has no account of a person, and commits as `name[bot]`.
    pub(crate) fn account(self) -> Option<Account> {
        account(self.user).or_else(|| {
            Some(Account {
                login: self.name?.strip_suffix("[bot]")?.parse().ok()?,
                kind: AccountKind::Bot,
            })
        })
    }
}

/// An event of the timeline.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Happened {
    #[serde(rename = "__typename")]
    typename: String,
    #[serde(default)]
    created_at: Option<Time>,
    #[serde(default)]
    actor: Option<Actor>,
}

impl Happened {
    /// `None` for one of a type that nothing was asked of.
    pub(crate) fn event(self) -> Option<Event> {
        Some(Event {
            kind: kind(&self.typename),
            at: self.created_at?,
            by: account(self.actor),
        })
    }
}

/// `HeadRefForcePushedEvent` as `HEAD_REF_FORCE_PUSHED`.
fn kind(typename: &str) -> EventKind {
    let name = typename.strip_suffix("Event").unwrap_or(typename);
    let mut word = String::with_capacity(name.len() + 8);
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            word.push('_');
        }
        word.push(letter.to_ascii_uppercase());
    }
    EventKind::from(word)
}

/// `PollFields`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Polled {
    pub(crate) number: PrNumber,
    pub(crate) state: PullState,
    pub(crate) created_at: Time,
    pub(crate) head_ref_oid: Sha,
    pub(crate) mergeable: Mergeable,
    pub(crate) merge_state_status: MergeState,
    #[serde(default)]
    pub(crate) merge_queue_entry: Option<QueueEntry>,
    pub(crate) head_commit: Few<PullCommit<Head>>,
}

/// One page of a repository's pull requests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    pub(crate) name_with_owner: RepoName,
    pub(crate) pull_requests: List<InList>,
}

/// A pull request in a list; the list of what changed last asks for all of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InList {
    pub(crate) number: PrNumber,
    #[serde(default)]
    pub(crate) updated_at: Option<Time>,
    #[serde(default)]
    pub(crate) state: Option<PullState>,
}

/// `RepositoryFacts`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kept {
    pub(crate) name_with_owner: RepoName,
    pub(crate) is_archived: bool,
    #[serde(default)]
    pub(crate) default_branch_ref: Option<RefName>,
    #[serde(default)]
    pub(crate) hidden: Option<Blob>,
    #[serde(default)]
    pub(crate) root: Option<Blob>,
    #[serde(default)]
    pub(crate) docs: Option<Blob>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RefName {
    pub(crate) name: String,
}

/// A file; a folder or a link to another repository has only a type.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Blob {
    #[serde(rename = "__typename")]
    pub(crate) typename: String,
    #[serde(default)]
    pub(crate) is_truncated: bool,
    #[serde(default)]
    pub(crate) text: Option<String>,
}

/// `BranchHead`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InBranch {
    pub(crate) name_with_owner: RepoName,
    #[serde(default, rename = "ref")]
    pub(crate) branch: Option<BranchShape>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct BranchShape {
    #[serde(default)]
    pub(crate) target: Option<Head>,
}

/// What the REST API says of a branch.
#[derive(Debug, Deserialize)]
pub(crate) struct Summary {
    pub(crate) protected: bool,
    #[serde(default)]
    pub(crate) protection: Option<SummaryProtection>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SummaryProtection {
    #[serde(default)]
    pub(crate) enabled: bool,
    #[serde(default)]
    pub(crate) required_status_checks: Option<StatusChecks>,
}

/// The checks that branch protection requires. `checks` is newer than `contexts`, which says no apps.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct StatusChecks {
    #[serde(default)]
    contexts: Option<Vec<String>>,
    #[serde(default)]
    checks: Option<Vec<Asked>>,
}

impl StatusChecks {
    pub(crate) fn required(self) -> Vec<RequiredCheck> {
        let mut required: Vec<RequiredCheck> = self
            .checks
            .unwrap_or_default()
            .into_iter()
            .map(RequiredCheck::from)
            .collect();
        for context in self.contexts.unwrap_or_default() {
            if required.iter().all(|known| known.context != context) {
                required.push(RequiredCheck { context, app: None });
            }
        }
        required
    }
}

/// One required check: protection calls the app `app_id`, a ruleset `integration_id`.
#[derive(Debug, Deserialize)]
struct Asked {
    context: String,
    #[serde(default, alias = "integration_id")]
    app_id: Option<i64>,
}

impl From<Asked> for RequiredCheck {
    fn from(asked: Asked) -> Self {
        Self {
            context: asked.context,
            app: required::app(asked.app_id),
        }
    }
}

/// One rule of a ruleset; only those that require checks matter.
#[derive(Debug, Deserialize)]
pub(crate) struct Rule {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    parameters: Option<serde_json::Value>,
}

impl Rule {
    /// What it requires, or that it is of another shape than it should be.
    pub(crate) fn required(self) -> Result<Vec<RequiredCheck>, ReadError> {
        #[derive(Deserialize)]
        struct Parameters {
            required_status_checks: Vec<Asked>,
        }
        if self.kind != "required_status_checks" {
            return Ok(Vec::new());
        }
        let parameters = serde_json::from_value::<Parameters>(self.parameters.unwrap_or_default());
        let parameters = parameters.map_err(|error| ReadError::Malformed {
            what: format!("a rule about checks: {error}"),
        })?;
        let checks = parameters.required_status_checks;
        Ok(checks.into_iter().map(RequiredCheck::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_the_kind_of_its_name() {
        for (typename, expected) in [
            ("HeadRefForcePushedEvent", EventKind::ForcePushed),
            ("ConvertToDraftEvent", EventKind::ConvertedToDraft),
            ("ReadyForReviewEvent", EventKind::ReadyForReview),
            ("RemovedFromMergeQueueEvent", EventKind::RemovedFromMergeQueue),
            ("RenamedTitleEvent", EventKind::Renamed),
            ("BaseRefChangedEvent", EventKind::BaseChanged),
            ("UnlabeledEvent", EventKind::Unlabeled),
            ("SomethingNewEvent", EventKind::Other("SOMETHING_NEW".to_owned())),
        ] {
            assert_eq!(kind(typename), expected, "{typename}");
        }
    }
}
