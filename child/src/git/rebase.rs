//! A pull request's commits, put onto its base; and the push of them.

use std::path::Path;

use super::disk;
use super::error::GitError;
use super::fetched::{Fetched, Title, titles};
use super::invoke::{Ask, Place};
use super::names::{Branch, CommitId, FilePath, Person, Repo};
use super::tree::Folder;
use crate::{Command, Finished};

/// The most files of a conflict that are listed with their commits: beyond it the number tells more.
const MOST_FILES: usize = 50;

/// Bytes are taken as they are: no line ending, filter or keyword of the repository's attributes turns a fresh
/// checkout into one with changes, which git would not rebase.
const AS_IT_IS: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

/// What a remote says to one of two pushes at the same moment.
const PASSING: [&str; 5] = [
    "lock",
    "failed to update ref",
    "failed to write",
    "incorrect old value",
    "reference already exists",
];

const REBASING: &str = "rebasing";
const PUSHING: &str = "pushing to";

/// Who commits, and when. Taken from the message that asks and not from the clock, the time makes a second run after
/// a crash give the same commits, which the remote then already has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committer {
    /// Whose name stands on the new commits; their authors stay who they were.
    pub person: Person,
    /// Seconds since the epoch.
    pub at: u64,
}

/// How a rebase went.
pub enum Rebased {
    /// The base is part of the pull request already.
    UpToDate,
    /// The commits are on the base.
    Clean(Clean),
    /// Nothing would be left: the base has all that the pull request changes. A push would make it empty.
    Emptied,
    /// Head and base have no commit in common.
    Unrelated,
    /// The rebase stopped and was given up; nothing of it is kept.
    Conflict(Conflict),
}

/// Where a rebase stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The commit that could not be put onto the base.
    pub at: Option<Title>,
    /// The files in conflict by path, at most 50.
    pub files: Vec<ConflictFile>,
    /// How many more there are.
    pub more: usize,
}

/// One file in conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictFile {
    /// Its path, as text; bytes that are not UTF-8 became `U+FFFD`.
    pub path: String,
    /// The commits of the base that touched it since the pull request left, newest first, at most 20.
    pub base: Vec<Title>,
    /// The commits of the pull request that touched it, newest first, at most 20.
    pub pull: Vec<Title>,
}

pub(super) async fn rebase(fetched: &Fetched, committer: &Committer) -> Result<Rebased, GitError> {
    let (head, base) = (fetched.head(), fetched.base());
    match fetched.merge_base() {
        None => return Ok(Rebased::Unrelated),
        Some(fork) if fork == base => return Ok(Rebased::UpToDate),
        Some(fork) if fork == head => return Ok(Rebased::Emptied),
        Some(_) => {}
    }
    let folder = Folder::make(fetched).await?;
    folder.write("info/attributes", AS_IT_IS)?;
    give_resolutions(fetched, folder.tree())?;
    folder.check_out(fetched, head).await?;
    let work = Work {
        fetched,
        folder: &folder,
        committer,
    };
    if let Some(conflict) = work.rebase().await? {
        return Ok(Rebased::Conflict(conflict));
    }
    let new_head = work.commit("HEAD").await?;
    let commits = work
        .read(&["rev-list", "--count", &format!("{base}..{new_head}")])
        .await?;
    let commits = commits.trim().parse().unwrap_or(0);
    let same = work
        .run(&[
            "diff",
            "--quiet",
            "--no-ext-diff",
            base.as_str(),
            new_head.as_str(),
            "--",
        ])
        .await?;
    if commits == 0 || same.succeeded() {
        return Ok(Rebased::Emptied);
    }
    Ok(Rebased::Clean(Clean {
        folder,
        seen: head.clone(),
        head: new_head,
        commits,
    }))
}

/// Copies the resolutions that a person put down for this repository, where there are some: the rebase reads them and
/// never writes them.
fn give_resolutions(fetched: &Fetched, tree: &Path) -> Result<(), GitError> {
    let from = fetched.inner.resolutions_at(&fetched.pull.repo);
    let to = tree.join(".git/rr-cache");
    disk::copy_two_levels(&from, &to).map_err(GitError::files("copy", &from))
}

struct Work<'a> {
    fetched: &'a Fetched,
    folder: &'a Folder,
    committer: &'a Committer,
}

impl Work<'_> {
    /// Rebases, and goes on where a recorded resolution settles a conflict.
    async fn rebase(&self) -> Result<Option<Conflict>, GitError> {
        let base = self.fetched.base().as_str();
        let mut arguments = vec![
            "rebase",
            "--merge",
            "--no-fork-point",
            "--no-autosquash",
            "--no-autostash",
        ];
        arguments.extend(["--no-stat", "--empty=drop", "--rerere-autoupdate", base]);
        let mut finished = self.run(&arguments).await?;
        let mut stopped_before = None;
        loop {
            if finished.succeeded() {
                return Ok(None);
            }
            let stopped_at = self.commit("REBASE_HEAD").await.ok();
            let files = self.unmerged().await?;
            if !files.is_empty() {
                return Ok(Some(self.conflict(stopped_at, files).await?));
            }
            // Every file was settled by a resolution; a second stop at one commit has another reason.
            if stopped_at.is_none() || stopped_at == stopped_before {
                return Err(self.fetched.inner.git.why(REBASING, self.repo(), &finished));
            }
            finished = self.run(&["rebase", "--continue"]).await?;
            stopped_before = stopped_at;
        }
    }

    async fn conflict(&self, stopped_at: Option<CommitId>, files: Vec<String>) -> Result<Conflict, GitError> {
        let (head, base) = (self.fetched.head(), self.fetched.base());
        let at = match stopped_at {
            Some(commit) => self
                .titles(&format!("{commit}^!"), None)
                .await?
                .into_iter()
                .next(),
            None => None,
        };
        let more = files.len().saturating_sub(MOST_FILES);
        let mut listed = Vec::new();
        for path in files.into_iter().take(MOST_FILES) {
            let (mut of_base, mut of_pull) = (Vec::new(), Vec::new());
            // A path that is not UTF-8 cannot be asked for.
            if let Ok(file) = path.parse::<FilePath>() {
                of_base = self.titles(&format!("{head}..{base}"), Some(&file)).await?;
                of_pull = self.titles(&format!("{base}..{head}"), Some(&file)).await?;
            }
            listed.push(ConflictFile {
                path,
                base: of_base,
                pull: of_pull,
            });
        }
        Ok(Conflict {
            at,
            files: listed,
            more,
        })
    }

    /// The paths with a conflict, each once.
    async fn unmerged(&self) -> Result<Vec<String>, GitError> {
        let listed = self.read(&["ls-files", "--unmerged", "-z"]).await?;
        let mut paths: Vec<String> = listed
            .split('\0')
            .filter_map(|entry| entry.split_once('\t'))
            .map(|(_, path)| path.to_owned())
            .collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    async fn titles(&self, range: &str, path: Option<&FilePath>) -> Result<Vec<Title>, GitError> {
        titles(&self.fetched.inner.git, self.place(), self.repo(), range, path).await
    }

    async fn commit(&self, name: &str) -> Result<CommitId, GitError> {
        let text = self
            .read(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])
            .await?;
        Ok(text.trim().parse()?)
    }

    async fn read(&self, arguments: &[&str]) -> Result<String, GitError> {
        let finished = self.run(arguments).await?;
        match finished.succeeded() {
            true => Ok(finished.stdout.text()),
            false => Err(self.fetched.inner.git.why(REBASING, self.repo(), &finished)),
        }
    }

    async fn run(&self, arguments: &[&str]) -> Result<Finished, GitError> {
        let git = &self.fetched.inner.git;
        git.ended(REBASING, self.repo(), self.command(arguments)?).await
    }

    fn command(&self, arguments: &[&str]) -> Result<Command, GitError> {
        let command = self.fetched.inner.git.local(self.place(), arguments)?;
        Ok(command
            .deadline(self.fetched.inner.limits.local)
            .env("GIT_COMMITTER_NAME", self.committer.person.name())
            .env("GIT_COMMITTER_EMAIL", self.committer.person.address())
            .env("GIT_COMMITTER_DATE", format!("{} +0000", self.committer.at)))
    }

    fn place(&self) -> Place<'_> {
        Place::Tree(self.folder.tree())
    }

    fn repo(&self) -> &Repo {
        &self.fetched.pull.repo
    }
}

/// A rebase that went well, and the right to push it.
pub struct Clean {
    folder: Folder,
    seen: CommitId,
    head: CommitId,
    commits: usize,
}

/// How a push went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch stands at the new head: now, or since an earlier push of the same.
    Done,
    /// The branch is not where it was seen, and was left alone.
    Moved {
        /// Where it is; `None` where it is gone.
        now: Option<CommitId>,
    },
    /// The remote's own rules refused: a protected branch, a hook.
    Refused {
        /// What it said.
        said: String,
    },
}

impl Clean {
    /// The new head.
    pub fn head(&self) -> &CommitId {
        &self.head
    }

    /// The head that was rebased, which the branch must still have when it is pushed.
    pub fn seen(&self) -> &CommitId {
        &self.seen
    }

    /// How many commits are on the base now. Merges are not among them, and neither are commits whose change the base
    /// already had.
    pub fn commits(&self) -> usize {
        self.commits
    }

    /// Pushes the new head to the branch of the repository that the pull request comes from, if the branch still
    /// stands where it was seen. Pushing again what was pushed already is [`Pushed::Done`].
    ///
    /// # Errors
    ///
    /// The remote cannot be reached, has no such repository, or refuses the credentials or the push as such.
    pub async fn push(&self, to: &Repo, branch: &Branch) -> Result<Pushed, GitError> {
        let inner = self.folder.inner();
        let full = branch.full();
        let lease = format!("--force-with-lease={full}:{}", self.seen);
        let refspec = format!("{}:{full}", self.head);
        let address = inner.git.remote().address(to);
        let ask = Ask {
            doing: PUSHING,
            repo: to,
            place: Place::Tree(self.folder.tree()),
            deadline: inner.limits.push,
        };
        let arguments = [
            "push",
            "--porcelain",
            "--progress",
            "--no-verify",
            "--no-signed",
            &lease,
            "--",
            &address,
            &refspec,
        ];
        let finished = inner.git.over_the_net(ask, arguments).await?;
        if finished.succeeded() {
            return Ok(Pushed::Done);
        }
        let report = finished.stdout.text();
        let Some(refusal) = report.lines().find_map(|line| line.strip_prefix("!\t")) else {
            return Err(inner.git.why(PUSHING, to, &finished));
        };
        // Whoever refused and why: what counts is where the branch is now.
        let said = refusal_of(refusal, &finished);
        match inner.stands_at(to, &full).await? {
            Some(now) if now == self.head => Ok(Pushed::Done),
            now if now.as_ref() != Some(&self.seen) => Ok(Pushed::Moved { now }),
            // Another push was just then under way.
            _ if PASSING.iter().any(|passing| said.contains(passing)) => Err(GitError::Ended {
                doing: PUSHING,
                repo: to.to_string(),
                exit: finished.status,
                said,
            }),
            _ => Ok(Pushed::Refused { said }),
        }
    }
}

/// What the remote said to a refusal: `<from>:<to>\t[remote rejected] (why)` and its own lines.
fn refusal_of(line: &str, finished: &Finished) -> String {
    let summary = line.split_once('\t').map_or(line, |(_, summary)| summary);
    let remote: Vec<String> = finished
        .stderr
        .text()
        .split(['\n', '\r'])
        .filter_map(|line| line.strip_prefix("remote: "))
        .filter(|line| !line.contains('%'))
        .map(|line| line.trim().to_owned())
        .collect();
    let said = [vec![summary.to_owned()], remote].concat().join("; ");
    said.chars().filter(|c| !c.is_control()).take(500).collect()
}
