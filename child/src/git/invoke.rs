//! One run of git: the same arguments before every command, and an environment that is ours.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::credential::{Desk, Secret, Session};
use super::disk;
use super::error::{GitError, OLDEST, explain};
use super::names::{Remote, Repo};
use crate::{Command, Finished};

/// How long `git version` may take.
const VERSION: Duration = Duration::from_secs(20);

/// What every git is told, whatever it is asked. The user's and the system's configuration are not read, so what is
/// not named here is git's own default.
const SETTINGS: [&str; 37] = [
    // Nothing of a repository runs: no hook (its directory is added below), no monitor, no filter that asks outside.
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.symlinks=true",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    // A path or a branch is never shortened or quoted in what is read back.
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "core.abbrev=40",
    // No person is asked anything.
    "core.askPass=",
    "core.editor=:",
    "sequence.editor=:",
    "core.pager=cat",
    "credential.useHttpPath=false",
    // Nothing goes on in the background, and no object disappears below a work tree.
    "gc.auto=0",
    "maintenance.auto=false",
    "receive.autoGC=false",
    "fetch.writeCommitGraph=false",
    // Fetched objects come as packs, which can be counted and joined.
    "fetch.unpackLimit=1",
    "transfer.unpackLimit=1",
    // No submodule is followed.
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    // A redirect is an answer, not a way: the credentials are for one place.
    "http.followRedirects=false",
    // Less than this for a minute is a connection that hangs.
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
    "protocol.version=2",
    "init.defaultBranch=main",
    // No signature is asked for: the key is the user's.
    "commit.gpgSign=false",
    "push.gpgSign=false",
    "log.showSignature=false",
    "i18n.logOutputEncoding=UTF-8",
    "diff.renames=true",
    "rerere.enabled=true",
    "rerere.autoUpdate=true",
    "advice.detachedHead=false",
    "safe.directory=*",
    "core.checkStat=default",
];

/// The variables that a remote over HTTP may need beside [`crate::PASSED_ON`]: the way out, and whom to trust.
const FOR_HTTP: [&str; 9] = [
    "HTTPS_PROXY",
    "https_proxy",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];

/// Where a git works.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// In no repository.
    Nowhere,
    /// In a bare repository.
    Bare(&'a Path),
    /// In a work tree whose git directory is `.git` in it.
    Tree(&'a Path),
}

/// git, as this keeper runs it.
pub(super) struct Git {
    root: PathBuf,
    /// An empty directory: home, hooks and templates of every git.
    empty: PathBuf,
    remote: Remote,
    desk: Option<Desk>,
    runs: AtomicU64,
}

impl Git {
    pub(super) fn new(root: &Path, remote: Remote, desk: Option<Desk>) -> Self {
        Self {
            root: root.to_owned(),
            empty: root.join("empty"),
            remote,
            desk,
            runs: AtomicU64::new(0),
        }
    }

    pub(super) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// One argument that each git of this keeper has and no other process.
    pub(super) fn mark(&self) -> OsString {
        let mut mark = OsString::from("core.hooksPath=");
        mark.push(&self.empty);
        mark
    }

    /// Fails where git is not there or too old.
    pub(super) async fn check_version() -> Result<(), GitError> {
        let doing = "asking the version of";
        let command = Command::new(["git", "version"]).map_err(|error| GitError::run(doing, "git", error))?;
        let finished = command.env("LC_ALL", "C").deadline(VERSION).run().await;
        let finished = finished.map_err(|error| GitError::run(doing, "git", error))?;
        let found = finished.stdout.text().trim().to_owned();
        match version(&found) {
            Some(version) if version >= OLDEST => Ok(()),
            _ => Err(GitError::TooOld { found }),
        }
    }

    /// A git that speaks to no remote.
    pub(super) fn local<A: AsRef<OsStr>>(
        &self,
        place: Place<'_>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Command, GitError> {
        self.command(place, [], arguments)
    }

    fn command<A: AsRef<OsStr>>(
        &self,
        place: Place<'_>,
        settings: impl IntoIterator<Item = OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Command, GitError> {
        let mut argv: Vec<OsString> = vec!["git".into(), "--no-pager".into(), "--literal-pathspecs".into()];
        let all = SETTINGS
            .map(OsString::from)
            .into_iter()
            .chain([self.mark()])
            .chain(settings);
        for setting in all {
            argv.extend(["-c".into(), setting]);
        }
        let option = |name: &str, value: &Path| {
            let mut option = OsString::from(name);
            option.push(value);
            option
        };
        // Named and not looked for: what a program put into a work tree leads nowhere else.
        let directory = match place {
            Place::Nowhere => &self.root,
            Place::Bare(directory) => {
                argv.push(option("--git-dir=", directory));
                directory
            }
            Place::Tree(tree) => {
                argv.push(option("--git-dir=", &tree.join(".git")));
                argv.push(option("--work-tree=", tree));
                tree
            }
        };
        argv.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        let command = Command::new(argv).map_err(GitError::Run)?;
        Ok(command
            .directory(directory)
            .env("HOME", &self.empty)
            .env("XDG_CONFIG_HOME", &self.empty)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("GIT_EDITOR", ":")
            .env("GIT_SEQUENCE_EDITOR", ":")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_ALLOW_PROTOCOL", self.remote.scheme().as_str())
            .env("LC_ALL", "C")
            .env("LANGUAGE", "C")
            .env("TERM", "dumb"))
    }

    /// Why git ended as it did. It does not always say so where the disk is full: then the disk is asked.
    pub(super) fn why(&self, doing: &'static str, repo: &Repo, finished: &Finished) -> GitError {
        match explain(doing, repo.as_str(), finished) {
            GitError::Ended { repo, .. } | GitError::Damaged { repo, .. } if disk::is_full(&self.root) => {
                GitError::DiskFull { doing, at: repo }
            }
            other => other,
        }
    }

    /// Runs a git that speaks to no remote to its end, however that is.
    pub(super) async fn ended(
        &self,
        doing: &'static str,
        repo: &Repo,
        command: Command,
    ) -> Result<Finished, GitError> {
        let finished = command.run().await;
        finished.map_err(|error| GitError::run(doing, repo.as_str(), error))
    }

    /// Runs a git that speaks to no remote, which must succeed.
    pub(super) async fn done(
        &self,
        doing: &'static str,
        repo: &Repo,
        command: Command,
    ) -> Result<Finished, GitError> {
        let finished = self.ended(doing, repo, command).await?;
        match finished.succeeded() {
            true => Ok(finished),
            false => Err(self.why(doing, repo, &finished)),
        }
    }

    /// Runs a git that speaks to the remote. A secret that the remote refuses is asked for once more.
    pub(super) async fn over_the_net<A: AsRef<OsStr>>(
        &self,
        ask: Ask<'_>,
        arguments: impl IntoIterator<Item = A> + Clone,
    ) -> Result<Finished, GitError> {
        let mut refused: Option<Secret> = None;
        loop {
            let desk = self.desk.as_ref().filter(|_| self.remote.may_have_secrets());
            let Some(desk) = desk else {
                let none = [OsString::from("credential.helper=")];
                let command = self.remote_command(ask, none, arguments.clone())?;
                return command
                    .run()
                    .await
                    .map_err(|error| GitError::run(ask.doing, ask.repo.as_str(), error));
            };
            let path = self
                .root
                .join(format!("ask-{}", self.runs.fetch_add(1, Ordering::Relaxed)));
            let session = Session::open(desk, &self.remote, refused.as_ref(), path)?;
            let command = self.remote_command(ask, session.settings(), arguments.clone())?;
            let finished = tokio::select! {
                finished = command.announce(session.group()).run() => finished,
                never = session.serve() => match never {},
            };
            let finished = finished.map_err(|error| GitError::run(ask.doing, ask.repo.as_str(), error))?;
            let told = session.told();
            drop(session);
            if finished.succeeded() {
                return Ok(finished);
            }
            match (
                explain(ask.doing, ask.repo.as_str(), &finished),
                told.failure,
                told.secret,
            ) {
                (GitError::NoCredentials { repo, .. }, source @ Some(_), _) => {
                    return Err(GitError::NoCredentials { repo, source });
                }
                (GitError::CredentialsRefused { .. }, _, secret @ Some(_)) if refused.is_none() => {
                    refused = secret
                }
                _ => return Ok(finished),
            }
        }
    }

    fn remote_command<A: AsRef<OsStr>>(
        &self,
        ask: Ask<'_>,
        settings: impl IntoIterator<Item = OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Command, GitError> {
        let command = self
            .command(ask.place, settings, arguments)?
            .deadline(ask.deadline);
        Ok(FOR_HTTP
            .iter()
            .fold(command, |command, name| command.pass_on(*name)))
    }
}

/// What is asked of a remote.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) doing: &'static str,
    pub(super) repo: &'a Repo,
    pub(super) place: Place<'a>,
    pub(super) deadline: Duration,
}

/// The version in what `git version` prints.
fn version(printed: &str) -> Option<(u32, u32)> {
    let mut numbers = printed.strip_prefix("git version ")?.split(['.', ' ', '-']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("git version 2.30.0.rc1"), Some((2, 30)));
        assert_eq!(version("hub version 1"), None);
    }
}
