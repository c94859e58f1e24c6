//! What only the maintainer's half reads: labels, files, events, heads, lists of a repository.

use pulls::facts::{Account, AccountKind, MergeState, Mergeable, PullState, Time};
use pulls::upkeep::{ChangedFile, Event, EventKind};
use pulls::{PrNumber, RepoName, Sha};
use serde::Deserialize;

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
