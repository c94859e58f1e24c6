//! The keeper: one directory with a bare mirror per repository and a work tree per job.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::num::NonZeroU32;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::credential::{Credentials, Desk, Helper};
use super::error::GitError;
use super::fetched::Fetched;
use super::invoke::{Ask, Git, Place};
use super::mirror::Mirror;
use super::names::{Branch, CommitId, Remote, Repo};
use super::{disk, orphans};

/// How long a lock may stay after its holder has gone: a program that was just being started still has the open file
/// until it runs, and work trees are removed by the way.
const LET_GO: Duration = Duration::from_secs(2);

/// How often it is looked whether the lock is free.
const LOOK: Duration = Duration::from_millis(20);

/// What a keeper may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes on the disk for mirrors and work trees together. Beyond it the mirrors that were used longest ago go.
    pub disk: u64,
    /// How long a fetch may take; the first one of a repository brings its whole history.
    pub fetch: Duration,
    /// How long a push may take.
    pub push: Duration,
    /// How long the remote may take to say where a branch stands.
    pub ask: Duration,
    /// How long a checkout, a rebase or a look into the history may take.
    pub local: Duration,
}

impl Default for Limits {
    /// Room for some dozens of repositories, and time for one large one over a slow line.
    fn default() -> Self {
        Self {
            disk: 20 * 1024 * 1024 * 1024,
            fetch: Duration::from_secs(20 * 60),
            push: Duration::from_secs(5 * 60),
            ask: Duration::from_secs(60),
            local: Duration::from_secs(5 * 60),
        }
    }
}

/// A pull request as the keeper needs to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The repository that it would be merged into.
    pub repo: Repo,
    /// Its number there. Its head is fetched as `refs/pull/N/head`, which is there for a deleted fork too.
    pub number: NonZeroU32,
    /// The branch that it would be merged into.
    pub base: Branch,
}

impl Pull {
    pub(super) fn head_ref(&self) -> String {
        format!("refs/pull/{}/head", self.number)
    }
}

/// Keeps mirrors and work trees in one directory, which one process holds at a time. Clones share it.
#[derive(Clone)]
pub struct Keeper {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) root: PathBuf,
    pub(super) git: Git,
    pub(super) limits: Limits,
    mirrors: Mutex<HashMap<String, Arc<Mirror>>>,
    names: AtomicU64,
    /// What is being removed by the way.
    removals: Mutex<Vec<JoinHandle<()>>>,
    /// Held as long as the keeper lives.
    _lock: File,
}

impl Keeper {
    /// Opens the directory, which is made where it is not there, and cleans up after a process that was killed: its
    /// gits are ended, its work trees and half-made mirrors removed, its locks cleared.
    ///
    /// `credentials` are the source of secrets and the program that git starts to ask for one. Without them, and for
    /// a remote over plain HTTP on another machine, git gets none.
    ///
    /// # Errors
    ///
    /// No git of 2.30 or later, a directory that another process holds or that cannot be used.
    pub async fn open(
        root: impl Into<PathBuf>,
        remote: Remote,
        limits: Limits,
        credentials: Option<(Helper, Arc<dyn Credentials>)>,
    ) -> Result<Self, GitError> {
        Git::check_version().await?;
        let given: PathBuf = root.into();
        make_private(&given)?;
        // Work trees are git's current directories: a relative root would be another one from there.
        let root = given.canonicalize().map_err(GitError::files("find", &given))?;
        let lock = hold(&root).await?;
        let desk = credentials.map(|(helper, source)| Desk { helper, source });
        let git = Git::new(&root, remote, desk);
        orphans::end(&git.mark()).await;
        let inner = Arc::new(Inner {
            root,
            git,
            limits,
            mirrors: Mutex::default(),
            names: AtomicU64::new(0),
            removals: Mutex::default(),
            _lock: lock,
        });
        let cleaning = Arc::clone(&inner);
        off_the_runtime(move || cleaning.clean()).await?;
        inner.make_room(None).await?;
        Ok(Self { inner })
    }

    /// Brings the mirror up to the pull request's head and base as the remote has them now.
    ///
    /// # Errors
    ///
    /// The remote cannot be reached, has no such repository or ref, or refuses; the disk is full, by itself or by
    /// [`Limits::disk`]; or the fetch took too long.
    pub async fn fetch(&self, pull: &Pull) -> Result<Fetched, GitError> {
        let mirror = self.inner.mirror(&pull.repo);
        let tips = mirror.fetch(&self.inner, pull).await?;
        self.inner.make_room(Some(&pull.repo)).await?;
        Ok(Fetched::new(Arc::clone(&self.inner), mirror, pull.clone(), tips))
    }

    /// Where the remote has the pull request's head now; `None` where it has none any more. Nothing is fetched.
    ///
    /// # Errors
    ///
    /// The remote cannot be reached, has no such repository, or refuses.
    pub async fn head_now(&self, pull: &Pull) -> Result<Option<CommitId>, GitError> {
        self.inner.stands_at(&pull.repo, &pull.head_ref()).await
    }

    /// Waits until the work trees that were dropped so far are removed: a process that ends before leaves them to the
    /// next [`Keeper::open`].
    pub async fn settle(&self) {
        let begun = std::mem::take(&mut *self.inner.removals());
        off_the_runtime(move || begun.into_iter().for_each(|removal| drop(removal.join()))).await;
    }

    /// Bytes on the disk that mirrors and work trees take now.
    pub async fn usage(&self) -> u64 {
        let inner = Arc::clone(&self.inner);
        off_the_runtime(move || disk::usage(&inner.mirrors_at()) + disk::usage(&inner.trees_at())).await
    }
}

/// Runs what blocks where it may.
pub(super) async fn off_the_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(ended) => std::panic::resume_unwind(ended.into_panic()),
    }
}

fn make_private(directory: &Path) -> Result<(), GitError> {
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory);
    made.map_err(GitError::files("make", directory))
}

/// Takes the lock, which stays with the open file.
async fn hold(root: &Path) -> Result<File, GitError> {
    let path = root.join("lock");
    let opened = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let lock = opened.map_err(GitError::files("open", &path))?;
    let asked = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if asked.elapsed() < LET_GO => tokio::time::sleep(LOOK).await,
            Err(TryLockError::WouldBlock) => {
                return Err(GitError::Held {
                    path: root.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(GitError::files("lock", &path)(source)),
        }
    }
}

impl Inner {
    pub(super) fn mirrors_at(&self) -> PathBuf {
        self.root.join("mirrors")
    }

    pub(super) fn trees_at(&self) -> PathBuf {
        self.root.join("trees")
    }

    /// Where things are made before they are moved to their place.
    pub(super) fn new_at(&self) -> PathBuf {
        self.root.join("new")
    }

    fn trash_at(&self) -> PathBuf {
        self.root.join("trash")
    }

    /// Resolutions of conflicts that a person recorded, for one repository.
    pub(super) fn resolutions_at(&self, repo: &Repo) -> PathBuf {
        self.root.join("resolutions").join(repo.key())
    }

    /// A name that this process has not used before.
    pub(super) fn fresh_name(&self) -> String {
        self.names.fetch_add(1, Ordering::Relaxed).to_string()
    }

    fn clean(&self) -> Result<(), GitError> {
        for private in ["empty", "mirrors", "new", "resolutions", "trash", "trees"] {
            make_private(&self.root.join(private))?;
        }
        for passing in [
            self.new_at(),
            self.trash_at(),
            self.trees_at(),
            self.root.join("empty"),
        ] {
            disk::empty(&passing).map_err(GitError::files("empty", &passing))?;
        }
        let listed = |directory: &Path| -> Result<Vec<PathBuf>, GitError> {
            let entries = fs::read_dir(directory).map_err(GitError::files("list", directory))?;
            Ok(entries.flatten().map(|entry| entry.path()).collect())
        };
        for path in listed(&self.root)? {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name.starts_with("ask-") {
                disk::remove(&path).map_err(GitError::files("remove", &path))?;
            }
        }
        for mirror in listed(&self.mirrors_at())? {
            disk::clear_leftovers(&mirror).map_err(GitError::files("clear", &mirror))?;
        }
        Ok(())
    }

    /// The mirrors in use or used by this process. A count of one means that only this table knows it.
    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<Mirror>>> {
        self.mirrors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mirror(&self, repo: &Repo) -> Arc<Mirror> {
        let mut known = self.known();
        let mirror = known
            .entry(repo.key())
            .or_insert_with(|| Arc::new(Mirror::at(self.mirrors_at().join(format!("{}.git", repo.key())))));
        Arc::clone(mirror)
    }

    /// Where the remote has a ref now.
    pub(super) async fn stands_at(&self, repo: &Repo, name: &str) -> Result<Option<CommitId>, GitError> {
        let doing = "asking";
        let ask = Ask {
            doing,
            repo,
            place: Place::Nowhere,
            deadline: self.limits.ask,
        };
        let address = self.git.remote().address(repo);
        let finished = self
            .git
            .over_the_net(ask, ["ls-remote", "--", &address, name])
            .await?;
        if !finished.succeeded() {
            return Err(self.git.why(doing, repo, &finished));
        }
        let text = finished.stdout.text();
        // The pattern also matches a ref that only ends in the name.
        let found = text
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .find(|(_, found)| *found == name);
        Ok(found.and_then(|(commit, _)| commit.parse().ok()))
    }

    /// Removes the mirrors that were used longest ago until what is left fits. `keep` is not among them.
    pub(super) async fn make_room(self: &Arc<Self>, keep: Option<&Repo>) -> Result<(), GitError> {
        let inner = Arc::clone(self);
        let keep = keep.cloned();
        off_the_runtime(move || inner.make_room_now(keep.as_ref())).await
    }

    fn make_room_now(&self, keep: Option<&Repo>) -> Result<(), GitError> {
        let limit = self.limits.disk;
        let kept = keep.map(|repo| format!("{}.git", repo.key()));
        let mut mirrors: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        let at = self.mirrors_at();
        for entry in fs::read_dir(&at).map_err(GitError::files("list", &at))?.flatten() {
            let path = entry.path();
            mirrors.push((Mirror::last_used(&path), path.clone(), disk::usage(&path)));
        }
        mirrors.sort();
        let in_trees = disk::usage(&self.trees_at());
        let mut used = mirrors
            .iter()
            .fold(in_trees, |sum, (_, _, bytes)| sum.saturating_add(*bytes));
        for (_, path, bytes) in &mirrors {
            if used <= limit {
                return Ok(());
            }
            let is_kept = kept.as_deref().is_some_and(|kept| path.ends_with(kept));
            if !is_kept && self.forget(path, 0)? {
                used = used.saturating_sub(*bytes);
            }
        }
        if used <= limit {
            return Ok(());
        }
        let alone = mirrors
            .iter()
            .find(|(_, path, _)| kept.as_deref().is_some_and(|kept| path.ends_with(kept)));
        match (keep, alone) {
            (Some(repo), Some((_, path, bytes))) if *bytes > limit => {
                // Where others work in it, they will find out the same, and the last of them removes it.
                self.forget(path, 1)?;
                Err(GitError::TooLarge {
                    repo: repo.to_string(),
                    limit,
                })
            }
            (None, _) => Ok(()),
            _ => Err(GitError::NoRoom { used, limit }),
        }
    }

    /// Removes a mirror that nobody uses but these callers, and says whether it did.
    fn forget(&self, path: &Path, callers: usize) -> Result<bool, GitError> {
        let mut known = self.known();
        let key = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if known
            .get(&key)
            .is_some_and(|mirror| Arc::strong_count(mirror) > 1 + callers)
        {
            return Ok(false);
        }
        known.remove(&key);
        // Under the lock, so that nobody takes it into use meanwhile; removing the files can wait.
        let moved = self.to_trash(path)?;
        drop(known);
        disk::remove(&moved).map_err(GitError::files("remove", &moved))?;
        Ok(true)
    }

    fn removals(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.removals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what is at this path by the way; its files may be many, and the caller's thread one that others wait for.
    /// What cannot be removed goes at the next open.
    pub(super) fn discard_by_the_way(self: &Arc<Self>, path: PathBuf) {
        let inner = Arc::clone(self);
        let removal = std::thread::spawn(move || drop(inner.discard(&path)));
        let mut removals = self.removals();
        removals.retain(|removal| !removal.is_finished());
        removals.push(removal);
    }

    /// Removes what is at this path, in one step for whoever looks.
    pub(super) fn discard(&self, path: &Path) -> Result<(), GitError> {
        if !path.exists() {
            return Ok(());
        }
        let moved = self.to_trash(path)?;
        disk::remove(&moved).map_err(GitError::files("remove", &moved))
    }

    fn to_trash(&self, path: &Path) -> Result<PathBuf, GitError> {
        let trash = self.trash_at().join(self.fresh_name());
        fs::rename(path, &trash).map_err(GitError::files("remove", path))?;
        Ok(trash)
    }
}
