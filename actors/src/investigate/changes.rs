//! What changed in the commented file since the comment was written.

use std::fmt::Write as _;

use child::git::{CommitId, Fetched, FilePath, GitError, NameError, Title};
use pulls::{PullFacts, Sha, escape};
use runtime::{EffectError, Turn};

use crate::trees::{self, NoKeeper, Trees};

/// How much of the change is shown, in characters: a page of a brief is read, and the branch is there for the rest.
const SHOWN: usize = 20_000;

/// What is known about the file since.
pub(super) enum Changes {
    /// The commits of the pull request since, and what they changed in the file.
    Made {
        since: Sha,
        titles: Vec<Title>,
        diff: String,
    },
    /// Nothing.
    None { since: Sha },
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// Compares the file as it was commented on with the head that was read.
///
/// # Errors
///
/// Only what ends the turn. A remote that cannot be reached and a commit that is gone make the answer
/// [`Changes::Unknown`]: the rest of the brief is worth having.
pub(super) async fn since(
    trees: &Trees,
    facts: &PullFacts,
    (path, made_on): (&str, &Sha),
    turn: &mut Turn,
) -> Result<Changes, EffectError> {
    if *made_on == facts.head.sha {
        return Ok(Changes::None {
            since: made_on.clone(),
        });
    }
    let what = format!("compare {} with what was commented on", facts.at);
    let compared = turn.act(what, compare(trees, facts, path, made_on)).await?;
    turn.progress();
    Ok(compared.unwrap_or_else(|error| {
        Changes::Unknown(match error {
            NoKeeper::Nowhere(why) => why.to_owned(),
            NoKeeper::Git(error) => error.to_string(),
        })
    }))
}

async fn compare(trees: &Trees, facts: &PullFacts, path: &str, made_on: &Sha) -> Result<Changes, NoKeeper> {
    let refused = |error: NameError| NoKeeper::Git(GitError::from(error));
    let pull = trees::pull(facts).map_err(refused)?;
    let path: FilePath = path.parse().map_err(refused)?;
    let from: CommitId = made_on.as_str().parse().map_err(refused)?;
    let fetched: Fetched = trees.keeper().await?.fetch(&pull).await?;
    if !fetched.has(&from).await? {
        return Ok(Changes::Unknown(format!(
            "the commit {} that was commented on is gone",
            made_on.short()
        )));
    }
    let head = fetched.head();
    let diff = fetched.diff(&from, head, &path).await?;
    let since = made_on.clone();
    if diff.is_empty() {
        return Ok(Changes::None { since });
    }
    Ok(Changes::Made {
        titles: fetched.titles(&from, head, Some(&path)).await?,
        diff: escape::clamp(&diff.text, SHOWN),
        since,
    })
}

/// The section of the brief. What others wrote is shown and does nothing.
pub(super) fn section(page: &mut String, path: &str, changes: &Changes) {
    let write = "a string takes every write";
    let file = escape::markdown(path);
    page.push_str("## The file since\n\n");
    match changes {
        Changes::Unknown(why) => {
            writeln!(
                page,
                "What changed in {file} since is not known: {}.\n",
                escape::markdown(why)
            )
            .expect(write);
        }
        Changes::None { since } => {
            writeln!(page, "{file} is as it was at {}.\n", since.short()).expect(write);
        }
        Changes::Made { since, titles, diff } => {
            writeln!(page, "{file} has changed since {}:\n", since.short()).expect(write);
            for title in titles {
                let commit = title.commit.short();
                let text = escape::markdown(&escape::clamp(&title.text, 200));
                writeln!(page, "- {commit} {text}").expect(write);
            }
            if !titles.is_empty() {
                page.push('\n');
            }
            page.push_str(&escape::fenced(diff));
            page.push('\n');
        }
    }
}
