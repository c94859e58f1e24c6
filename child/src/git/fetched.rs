//! A pull request as it was fetched, and what can be read of its history.

use std::path::Path;
use std::sync::Arc;

use super::error::GitError;
use super::invoke::{Git, Place};
use super::keeper::{Inner, Pull};
use super::mirror::{Mirror, Tips};
use super::names::{CommitId, FilePath, Person, Repo};
use super::rebase::{self, Committer, Rebased};
use super::tree::WorkTree;
use crate::{Command, Exit};

/// The most bytes that are kept of one difference: more than anybody reads in a brief.
const DIFF_CAP: usize = 128 * 1024;

/// The most commits that are named of a range: beyond it a number tells more.
pub(super) const MOST_TITLES: usize = 20;

/// A commit and the first line of its message, as its author wrote it: text from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// The commit.
    pub commit: CommitId,
    /// The first line of its message.
    pub text: String,
}

/// What differs between two commits, as a unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// The diff: at most 128 KiB, its middle left out and marked where it is longer. Empty where nothing differs.
    pub text: String,
    /// Bytes that were left out.
    pub omitted: u64,
}

impl Diff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The hunk that shows this line (from 1) of the newer side, its `@@` line first.
    pub fn hunk_at(&self, line: u32) -> Option<&str> {
        hunks(&self.text)
            .find(|hunk| new_side(hunk).is_some_and(|(first, count)| (first..first + count).contains(&line)))
    }
}

/// The hunks of the diff of one file.
fn hunks(diff: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = diff
        .match_indices("@@ -")
        .map(|(at, _)| at)
        .filter(|&at| at == 0 || diff.as_bytes()[at - 1] == b'\n')
        .chain([diff.len()])
        .collect();
    (1..starts.len()).map(move |next| &diff[starts[next - 1]..starts[next]])
}

/// First line and number of lines of a hunk's newer side: `@@ -1,2 +3,4 @@`.
fn new_side(hunk: &str) -> Option<(u32, u32)> {
    let side = hunk.split(' ').nth(2)?.strip_prefix('+')?;
    match side.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((side.parse().ok()?, 1)),
    }
}

/// A pull request in the mirror, at the head and base that the remote had. The mirror stays as long as this does.
pub struct Fetched {
    pub(super) inner: Arc<Inner>,
    pub(super) mirror: Arc<Mirror>,
    pub(super) pull: Pull,
    pub(super) tips: Tips,
}

impl Fetched {
    pub(super) fn new(inner: Arc<Inner>, mirror: Arc<Mirror>, pull: Pull, tips: Tips) -> Self {
        Self {
            inner,
            mirror,
            pull,
            tips,
        }
    }

    /// The pull request.
    pub fn pull(&self) -> &Pull {
        &self.pull
    }

    /// Its head when it was fetched.
    pub fn head(&self) -> &CommitId {
        &self.tips.head
    }

    /// Its base branch's head when it was fetched.
    pub fn base(&self) -> &CommitId {
        &self.tips.base
    }

    /// Where it left its base; `None` where the two histories have nothing in common.
    pub fn merge_base(&self) -> Option<&CommitId> {
        self.tips.fork.as_ref()
    }

    /// Who wrote the head commit. `None` where the commit says nothing that could be written again.
    ///
    /// # Errors
    ///
    /// git failed.
    pub async fn author(&self) -> Result<Option<Person>, GitError> {
        let arguments = [
            "log",
            "-1",
            "--no-mailmap",
            "--format=%an%x00%ae",
            self.head().as_str(),
            "--",
        ];
        let text = self.read("reading the author of", &arguments).await?;
        let (name, address) = text.trim_end_matches('\n').split_once('\0').unwrap_or_default();
        Ok(Person::new(name, address).ok())
    }

    /// Whether the commit is in the mirror, fetching it by its id where it is not: a comment may stand on a commit
    /// that a force-push has replaced. `false` where the remote does not hand it out any more.
    ///
    /// # Errors
    ///
    /// The remote cannot be reached or refuses.
    pub async fn has(&self, commit: &CommitId) -> Result<bool, GitError> {
        let name = format!("{commit}^{{commit}}");
        let look = self.inner.git.local(self.place(), ["cat-file", "-e", &name])?;
        let found = self
            .inner
            .git
            .ended("looking into", &self.pull.repo, look)
            .await?;
        match found.succeeded() {
            true => Ok(true),
            false => {
                self.mirror
                    .fetch_commit(&self.inner, &self.pull.repo, commit)
                    .await
            }
        }
    }

    /// What changed in one file from one commit to another. Both must be there ([`Fetched::has`]).
    ///
    /// # Errors
    ///
    /// git failed: one of the commits is not there.
    pub async fn diff(&self, from: &CommitId, to: &CommitId, path: &FilePath) -> Result<Diff, GitError> {
        let doing = "comparing commits of";
        let arguments = [
            "diff",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--unified=3",
            from.as_str(),
            to.as_str(),
            "--",
            path.as_str(),
        ];
        let command = self.command(&arguments)?.output_cap(DIFF_CAP);
        let finished = self.inner.git.done(doing, &self.pull.repo, command).await?;
        Ok(Diff {
            text: finished.stdout.text(),
            omitted: finished.stdout.omitted(),
        })
    }

    /// The commits that `to` has and `from` has not, newest first and at most 20, of one file or of all.
    ///
    /// # Errors
    ///
    /// git failed: one of the commits is not there.
    pub async fn titles(
        &self,
        from: &CommitId,
        to: &CommitId,
        path: Option<&FilePath>,
    ) -> Result<Vec<Title>, GitError> {
        titles(
            &self.inner.git,
            self.place(),
            &self.pull.repo,
            &format!("{from}..{to}"),
            path,
        )
        .await
    }

    /// A work tree of its own at the head, as the repository's attributes say, with the repository's tags and
    /// `origin/<base>`, and no remote. Nothing that happens in it reaches the mirror.
    ///
    /// # Errors
    ///
    /// The disk is full, by itself or by [`super::Limits::disk`], or git failed.
    pub async fn work_tree(&self) -> Result<WorkTree, GitError> {
        WorkTree::at_head(self).await
    }

    /// Puts the commits of the pull request onto its base as it was fetched, in a work tree that nobody else sees.
    /// The same head, base and committer give the same commits.
    ///
    /// # Errors
    ///
    /// The disk is full, by itself or by [`super::Limits::disk`], git failed, or it took too long.
    pub async fn rebase(&self, committer: &Committer) -> Result<Rebased, GitError> {
        rebase::rebase(self, committer).await
    }

    pub(super) fn mirror_path(&self) -> &Path {
        self.mirror.path()
    }

    fn place(&self) -> Place<'_> {
        Place::Bare(self.mirror.path())
    }

    fn command(&self, arguments: &[&str]) -> Result<Command, GitError> {
        let command = self.inner.git.local(self.place(), arguments)?;
        Ok(command.deadline(self.inner.limits.local))
    }

    async fn read(&self, doing: &'static str, arguments: &[&str]) -> Result<String, GitError> {
        let finished = self
            .inner
            .git
            .done(doing, &self.pull.repo, self.command(arguments)?)
            .await?;
        Ok(finished.stdout.text())
    }
}

/// The commits of a range, newest first.
pub(super) async fn titles(
    git: &Git,
    place: Place<'_>,
    repo: &Repo,
    range: &str,
    path: Option<&FilePath>,
) -> Result<Vec<Title>, GitError> {
    let doing = "listing commits of";
    let most = format!("--max-count={MOST_TITLES}");
    let mut arguments = vec![
        "log",
        "-z",
        "--no-color",
        "--no-decorate",
        "--format=%H %s",
        &most,
        range,
        "--",
    ];
    arguments.extend(path.map(FilePath::as_str));
    let finished = git.ended(doing, repo, git.local(place, arguments)?).await?;
    if finished.status != Exit::Code(0) {
        return Err(git.why(doing, repo, &finished));
    }
    let text = finished.stdout.text();
    let listed = text.split('\0').filter_map(|entry| {
        let (commit, title) = entry.trim_end_matches('\n').split_once(' ')?;
        Some(Title {
            commit: commit.parse().ok()?,
            text: title.to_owned(),
        })
    });
    Ok(listed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hunk_that_shows_a_line() {
        let text = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@ fn a\n x\n+@@ -9 +9 @@\n y\n z\n@@ -20 +21 @@\n-q\n+r\n";
        let diff = Diff {
            text: text.to_owned(),
            omitted: 0,
        };
        let begins = |line| {
            diff.hunk_at(line)
                .map(|hunk| hunk.lines().next().unwrap().to_owned())
        };
        assert_eq!(begins(1).as_deref(), Some("@@ -1,3 +1,4 @@ fn a"));
        assert_eq!(begins(4).as_deref(), Some("@@ -1,3 +1,4 @@ fn a"));
        assert_eq!(begins(21).as_deref(), Some("@@ -20 +21 @@"));
        assert_eq!((begins(5), begins(22)), (None, None));
        assert_eq!(diff.hunk_at(21), Some("@@ -20 +21 @@\n-q\n+r\n"));
    }
}
