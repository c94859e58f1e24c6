//! One repository's bare mirror: the refs that were asked for, and their whole history.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::disk;
use super::error::GitError;
use super::invoke::{Ask, Place};
use super::keeper::{Inner, Pull, off_the_runtime};
use super::names::{CommitId, Repo};

/// How often a fetch is looked at for growing past the limit.
const MEASURE: Duration = Duration::from_secs(2);

/// So many packs are joined into one: each fetch adds one, and every lookup asks each of them.
const MANY_PACKS: usize = 50;

/// Keeps in its modification time when the mirror was used last.
const USED: &str = "sweep-used";

const FETCHING: &str = "fetching";

/// Where a pull request stands in the mirror.
#[derive(Clone, Debug)]
pub(super) struct Tips {
    pub(super) head: CommitId,
    pub(super) base: CommitId,
    pub(super) fork: Option<CommitId>,
}

pub(super) struct Mirror {
    path: PathBuf,
    /// One fetch at a time: two would be in each other's locks.
    turn: tokio::sync::Mutex<Turn>,
}

/// What the fetch before left behind.
#[derive(Default)]
struct Turn {
    /// It was ended at its deadline, or its caller went away: there may be locks and half packs.
    broken_off: bool,
}

impl Mirror {
    pub(super) fn at(path: PathBuf) -> Self {
        Self {
            path,
            turn: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// When the mirror at this path was used last; long ago where nothing says so.
    pub(super) fn last_used(path: &Path) -> SystemTime {
        let used = fs::metadata(path.join(USED)).and_then(|metadata| metadata.modified());
        used.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Brings head and base up to date. A mirror that is damaged is made anew, once.
    pub(super) async fn fetch(&self, inner: &Arc<Inner>, pull: &Pull) -> Result<Tips, GitError> {
        let mut turn = self.turn.lock().await;
        self.tidy(&mut turn).await?;
        let fetched = match self.path.exists() {
            true => self.fetch_into(inner, pull, &self.path).await,
            false => self.make(inner, pull).await,
        };
        let tips = match fetched {
            Err(GitError::Damaged { .. }) => {
                self.remove(inner).await?;
                self.make(inner, pull).await?
            }
            other => other?,
        };
        self.touch()?;
        self.join_packs(inner, &pull.repo).await;
        turn.broken_off = false;
        Ok(tips)
    }

    /// Fetches one commit by its id, as forges allow it. Says whether it is there now.
    pub(super) async fn fetch_commit(
        &self,
        inner: &Inner,
        repo: &Repo,
        commit: &CommitId,
    ) -> Result<bool, GitError> {
        let mut turn = self.turn.lock().await;
        self.tidy(&mut turn).await?;
        let refspec = format!("+{commit}:refs/seen/{commit}");
        match self.fetch_refs(inner, repo, &self.path, &[refspec]).await {
            Ok(()) => {
                turn.broken_off = false;
                Ok(true)
            }
            // The remote knows no such commit, or hands out none that no branch leads to: it says so in words of
            // its own choosing.
            Err(GitError::Ended { .. } | GitError::RefGone { .. } | GitError::Damaged { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    /// Clears what the fetch before left, and takes it that this one will leave something too, until it says not.
    async fn tidy(&self, turn: &mut Turn) -> Result<(), GitError> {
        if turn.broken_off && self.path.exists() {
            let path = self.path.clone();
            off_the_runtime(move || disk::clear_leftovers(&path).map_err(GitError::files("clear", &path)))
                .await?;
        }
        turn.broken_off = true;
        Ok(())
    }

    /// A mirror is made aside and moved to its place when it is whole.
    async fn make(&self, inner: &Arc<Inner>, pull: &Pull) -> Result<Tips, GitError> {
        let aside = Aside {
            inner,
            path: inner.new_at().join(inner.fresh_name()),
        };
        self.make_at(inner, pull, &aside.path).await
    }

    async fn make_at(&self, inner: &Inner, pull: &Pull, aside: &Path) -> Result<Tips, GitError> {
        let repo = &pull.repo;
        let doing = "making the mirror of";
        let mut init = vec![
            "init".into(),
            "--quiet".into(),
            "--bare".into(),
            "--template=".into(),
            "--".into(),
        ];
        init.push(aside.as_os_str().to_owned());
        let init = inner.git.local(Place::Nowhere, init)?;
        inner.git.done(doing, repo, init).await?;
        let tips = self.fetch_into(inner, pull, aside).await?;
        fs::rename(aside, &self.path).map_err(GitError::files("move into place", aside))?;
        Ok(tips)
    }

    async fn fetch_into(&self, inner: &Inner, pull: &Pull, into: &Path) -> Result<Tips, GitError> {
        let (head, base) = (pull.head_ref(), pull.base.kept_at());
        let refspecs = [format!("+{}:{base}", pull.base.full()), format!("+{head}:{head}")];
        self.fetch_refs(inner, &pull.repo, into, &refspecs).await?;
        let commits = [format!("{head}^{{commit}}"), format!("{base}^{{commit}}")];
        let mut parsing = vec!["rev-parse"];
        parsing.extend(commits.iter().map(String::as_str));
        let doing = "reading the refs of";
        let parse = inner.git.local(Place::Bare(into), parsing)?;
        let parsed = inner.git.done(doing, &pull.repo, parse).await?.stdout.text();
        let mut lines = parsed.lines().map(str::parse::<CommitId>);
        let (Some(Ok(head)), Some(Ok(base))) = (lines.next(), lines.next()) else {
            return Err(GitError::Damaged {
                doing,
                repo: pull.repo.to_string(),
                said: parsed,
            });
        };
        let merge_base = inner
            .git
            .local(Place::Bare(into), ["merge-base", base.as_str(), head.as_str()])?;
        let finished = inner
            .git
            .ended("looking for the merge base in", &pull.repo, merge_base)
            .await?;
        let fork = finished.stdout.text().trim().parse().ok();
        if fork.is_none() && finished.status != crate::Exit::Code(1) {
            return Err(inner.git.why(doing, &pull.repo, &finished));
        }
        Ok(Tips { head, base, fork })
    }

    async fn fetch_refs(
        &self,
        inner: &Inner,
        repo: &Repo,
        into: &Path,
        refspecs: &[String],
    ) -> Result<(), GitError> {
        let ask = Ask {
            doing: FETCHING,
            repo,
            place: Place::Bare(into),
            deadline: inner.limits.fetch,
        };
        let address = inner.git.remote().address(repo);
        let mut arguments = vec![
            "fetch",
            "--progress",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ];
        arguments.extend(["--force", "--", &address]);
        arguments.extend(refspecs.iter().map(String::as_str));
        let finished = tokio::select! {
            finished = inner.git.over_the_net(ask, arguments) => finished?,
            () = grown(into, inner.limits.disk) => {
                return Err(GitError::TooLarge { repo: repo.to_string(), limit: inner.limits.disk });
            }
        };
        match finished.succeeded() {
            true => Ok(()),
            false => Err(inner.git.why(FETCHING, repo, &finished)),
        }
    }

    fn touch(&self) -> Result<(), GitError> {
        let path = self.path.join(USED);
        let touched = File::create(&path).and_then(|file| file.set_modified(SystemTime::now()));
        touched.map_err(GitError::files("write", &path))
    }

    /// Joins the packs when there are many. Every object stays: a work tree may stand on one that no ref leads to
    /// any more. Where it fails nothing is lost but room.
    async fn join_packs(&self, inner: &Inner, repo: &Repo) {
        let packs = fs::read_dir(self.path.join("objects/pack"))
            .into_iter()
            .flatten()
            .flatten();
        let is_pack = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|kind| kind == "pack");
        if packs.filter(is_pack).count() < MANY_PACKS {
            return;
        }
        let arguments = ["repack", "-a", "-d", "-l", "--keep-unreachable", "--quiet"];
        if let Ok(command) = inner.git.local(Place::Bare(&self.path), arguments) {
            let command = command.deadline(inner.limits.fetch);
            let _ = inner.git.done("joining the packs of", repo, command).await;
        }
    }

    async fn remove(&self, inner: &Arc<Inner>) -> Result<(), GitError> {
        let (inner, path) = (Arc::clone(inner), self.path.clone());
        off_the_runtime(move || inner.discard(&path)).await
    }
}

/// A mirror in the making, gone with this unless it was moved to its place.
struct Aside<'a> {
    inner: &'a Arc<Inner>,
    path: PathBuf,
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        // Also where the caller goes away in the middle. What cannot be removed goes at the next open.
        let _ = self.inner.discard(&self.path);
    }
}

/// Ends when what is at this path takes more than this.
async fn grown(path: &Path, limit: u64) {
    loop {
        tokio::time::sleep(MEASURE).await;
        let path = path.to_owned();
        if off_the_runtime(move || disk::usage(&path)).await > limit {
            return;
        }
    }
}
