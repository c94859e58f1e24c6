//! A work tree: the files of one commit, with a git directory of its own that borrows the mirror's objects.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::GitError;
use super::fetched::Fetched;
use super::invoke::Place;
use super::keeper::{Inner, off_the_runtime};
use super::mirror::Mirror;
use super::names::CommitId;

/// The most bytes of a repository's list of tags; one that has more gets none.
const TAGS_CAP: usize = 16 * 1024 * 1024;

const CHECKING_OUT: &str = "checking out";

/// From a work tree's objects to the mirrors: `trees/<n>/<name>/.git/objects`.
const TO_MIRRORS: &str = "../../../../../mirrors";

/// A directory under `trees/`, gone with this value. The mirror that it borrows from stays as long.
pub(super) struct Folder {
    inner: Arc<Inner>,
    _mirror: Arc<Mirror>,
    /// `trees/<n>`; the tree lies in it under the repository's name, for programs that look at that.
    outer: PathBuf,
    tree: PathBuf,
}

impl Folder {
    pub(super) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    /// Makes a repository that finds the mirror's objects. Nothing is checked out.
    pub(super) async fn make(fetched: &Fetched) -> Result<Self, GitError> {
        let inner = &fetched.inner;
        let repo = &fetched.pull.repo;
        let outer = inner.trees_at().join(inner.fresh_name());
        let tree = outer.join(repo.name());
        let folder = Self {
            inner: Arc::clone(inner),
            _mirror: Arc::clone(&fetched.mirror),
            outer,
            tree,
        };
        fs::create_dir_all(&folder.tree).map_err(GitError::files("make", &folder.tree))?;
        let init = inner
            .git
            .local(Place::Tree(&folder.tree), ["init", "--quiet", "--template="])?;
        inner.git.done(CHECKING_OUT, repo, init).await?;
        let mirror = fetched
            .mirror_path()
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        folder.write(
            "objects/info/alternates",
            &format!("{TO_MIRRORS}/{mirror}/objects\n"),
        )?;
        Ok(folder)
    }

    /// Writes a file of the git directory.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), GitError> {
        let path = self.tree.join(".git").join(name);
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).map_err(GitError::files("make", parent))?;
        fs::write(&path, text).map_err(GitError::files("write", &path))
    }

    /// Puts the files of this commit there.
    pub(super) async fn check_out(&self, fetched: &Fetched, commit: &CommitId) -> Result<(), GitError> {
        let arguments = ["checkout", "--quiet", "--force", "--detach", commit.as_str()];
        let command = self.inner.git.local(Place::Tree(&self.tree), arguments)?;
        let command = command.deadline(self.inner.limits.local);
        self.inner
            .git
            .done(CHECKING_OUT, &fetched.pull.repo, command)
            .await?;
        self.inner.make_room(Some(&fetched.pull.repo)).await
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.inner.discard_by_the_way(std::mem::take(&mut self.outer));
    }
}

/// A work tree at a pull request's head, for programs of others to work in. It goes when this is dropped.
pub struct WorkTree {
    folder: Folder,
    head: CommitId,
}

impl WorkTree {
    pub(super) async fn at_head(fetched: &Fetched) -> Result<Self, GitError> {
        let inner = &fetched.inner;
        let repo = &fetched.pull.repo;
        let folder = Folder::make(fetched).await?;
        let arguments = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/tags"];
        let list = inner.git.local(Place::Bare(fetched.mirror_path()), arguments)?;
        let tags = inner
            .git
            .done(CHECKING_OUT, repo, list.output_cap(TAGS_CAP))
            .await?
            .stdout;
        let mut refs = match tags.omitted() {
            0 => tags.text(),
            _ => String::new(),
        };
        // Programs that compare with the base look for it under this name.
        let origin = format!("refs/remotes/origin/{}", fetched.pull.base);
        writeln!(refs, "{} {origin}", fetched.base()).expect("a string takes everything");
        let mut lines: Vec<&str> = refs.lines().collect();
        lines.sort_by_key(|line| line.split_once(' ').map(|(_, name)| name));
        folder.write("packed-refs", &format!("{}\n", lines.join("\n")))?;
        folder.check_out(fetched, fetched.head()).await?;
        Ok(Self {
            folder,
            head: fetched.head().clone(),
        })
    }

    /// Where its files are. What other programs have done in it is theirs: nothing in it is trusted afterwards.
    pub fn path(&self) -> &Path {
        self.folder.tree()
    }

    /// The commit that was checked out.
    pub fn head(&self) -> &CommitId {
        &self.head
    }

    /// Removes it now; dropping it does so a little later.
    ///
    /// # Errors
    ///
    /// A file cannot be removed: another program still writes there. What is left goes at the next open.
    pub async fn remove(self) -> Result<(), GitError> {
        let (inner, outer) = (Arc::clone(&self.folder.inner), self.folder.outer.clone());
        off_the_runtime(move || inner.discard(&outer)).await
    }
}
