//! Real git repositories on the disk, laid out as GitHub lays them out, and a GitHub that knows their pull requests.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use serde_json::Value;
use tempfile::TempDir;
use world::{CheckSpec, CommitSpec, PullSpec, World, hours_ago};

use super::forge::{Forge, Request, Verdict};
use crate::support::{Desk, Ended, Hosted, files};

/// Where git and the shell are found.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The moment that every run evaluates as.
pub const NOW: &str = world::DEMO_NOW;

/// The repositories of one test: `o/r`, ada's fork of it, and a clone in which commits are made.
pub struct Repos {
    folder: TempDir,
}

impl Repos {
    /// `o/r` with one commit on `main`, and a fork without a branch.
    pub fn new() -> Self {
        let repos = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(repos.making()).unwrap();
        git(&repos.making(), &["init", "-q", "-b", "main"]);
        repos.repository("o/r");
        repos.repository("ada/r");
        repos.commit("README", "one\ntwo\nthree\n", "Begin");
        repos.publish("o/r", "refs/heads/main");
        repos
    }

    /// A bare repository that logs every change of a ref and takes pushes over HTTP.
    pub fn repository(&self, name: &str) {
        let path = self.bare(name);
        fs::create_dir_all(&path).unwrap();
        git(&path, &["init", "-q", "--bare", "-b", "main"]);
        git(&path, &["config", "core.logAllRefUpdates", "always"]);
        git(&path, &["config", "http.receivepack", "true"]);
    }

    /// The same in a place of their own.
    pub fn copy(&self) -> Self {
        let copy = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let from = format!("{}/.", self.path().display());
        let copied = Command::new("cp").args(["-R", &from]).arg(copy.path()).status();
        assert!(copied.unwrap().success());
        copy
    }

    /// Where they lie.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where one of them lies.
    pub fn bare(&self, name: &str) -> PathBuf {
        self.path().join(format!("{name}.git"))
    }

    fn making(&self) -> PathBuf {
        self.path().join("making")
    }

    /// The base address that stands for GitHub's.
    pub fn base(&self) -> String {
        format!("file://{}", self.path().display())
    }

    /// Commits one file on what is checked out.
    pub fn commit(&self, file: &str, text: &str, title: &str) {
        let path = self.making().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        git(&self.making(), &["add", "-A"]);
        git(&self.making(), &["commit", "-q", "-m", title]);
    }

    /// What is checked out becomes a ref of a repository, as if somebody had pushed it there.
    pub fn publish(&self, to: &str, name: &str) {
        let to = self.bare(to);
        let refspec = format!("HEAD:{name}");
        git(
            &self.making(),
            &["push", "-q", "-f", to.to_str().unwrap(), &refspec],
        );
    }

    /// A pull request of these files, a commit each, from a branch of ada's fork; its head.
    pub fn pull(&self, number: u32, branch: &str, files: &[(&str, &str)]) -> String {
        git(&self.making(), &["checkout", "-q", "-B", "topic", "main"]);
        for (file, text) in files {
            self.commit(file, text, &format!("Change {file}"));
        }
        self.publish("ada/r", &format!("refs/heads/{branch}"));
        self.publish("o/r", &format!("refs/pull/{number}/head"));
        git(&self.making(), &["rev-parse", "HEAD"])
    }

    /// Somebody else's commit on a branch of ada's fork, which GitHub has not heard of yet.
    pub fn moved_by_another(&self, branch: &str) -> String {
        git(&self.making(), &["checkout", "-q", "-B", "topic", "main"]);
        self.commit("other", "other\n", "Somebody else's");
        self.publish("ada/r", &format!("refs/heads/{branch}"));
        git(&self.making(), &["rev-parse", "HEAD"])
    }

    /// The base goes on with this file.
    pub fn base_moves(&self, file: &str, text: &str) {
        git(&self.making(), &["checkout", "-q", "main"]);
        self.commit(file, text, &format!("Refactor {file}"));
        self.publish("o/r", "refs/heads/main");
    }

    /// The commit that a name stands for in a repository.
    pub fn tip(&self, repo: &str, name: &str) -> String {
        git(&self.bare(repo), &["rev-parse", name])
    }

    /// Where a branch of ada's fork has been, the newest first.
    pub fn reflog(&self, branch: &str) -> Vec<String> {
        let name = format!("refs/heads/{branch}");
        let log = git(&self.bare("ada/r"), &["reflog", "show", "--format=%H", &name]);
        log.lines().map(str::to_owned).collect()
    }

    /// A hook of a repository.
    pub fn hook(&self, repo: &str, name: &str, script: &str) {
        let path = self.bare(repo).join("hooks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What GitHub does by itself: the head of the pull request is where its branch is.
    pub fn pull_follows_its_branch(&self, number: u32, branch: &str) -> String {
        let to = self.bare("o/r");
        let refspec = format!("refs/heads/{branch}:refs/pull/{number}/head");
        git(
            &self.bare("ada/r"),
            &["push", "-q", "-f", to.to_str().unwrap(), &refspec],
        );
        self.tip("ada/r", &format!("refs/heads/{branch}"))
    }
}

/// Pull request `number` of `o/r` at this head, from ada's fork.
pub fn at(number: u32, branch: &str, head: &str) -> PullSpec {
    PullSpec::new("o/r", number)
        .branch(branch)
        .from_fork_of("ada")
        .head(CommitSpec::at(hours_ago(30)).oid(head))
}

/// The same, with a check that failed: `qa` is asked about it.
pub fn failing(number: u32, branch: &str, head: &str) -> PullSpec {
    at(number, branch, head).check(CheckSpec::run("build").failure())
}

/// A GitHub with these pull requests, whose token is ada's.
pub fn hosted(pulls: impl IntoIterator<Item = PullSpec>) -> Hosted {
    Hosted::new(World::builder(NOW).viewer("ada").pulls(pulls).build())
}

/// A desk of that GitHub whose repositories are at this base.
pub fn desk(hosted: &Hosted, base: &str) -> Desk {
    hosted.desk().with("PATH", PATH).with("SWEEP_GIT_BASE", base)
}

/// One dispatch, and everything that it leads to.
pub fn round(desk: &Desk) -> Ended {
    let ended = desk.run(&["run", "--once", "--now", NOW]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

/// The one message of an actor about a pull request, as `inbox --json` shows it.
pub fn message(desk: &Desk, actor: &str, number: u32) -> Value {
    let listed = desk.json(&["inbox", actor, "--json"]);
    let mut about: Vec<Value> = listed["messages"].as_array().unwrap().clone();
    about.retain(|message| message["message"]["pr"] == number);
    assert_eq!(about.len(), 1, "{actor}, {number}: {about:?}");
    about.remove(0)
}

/// The outcome of that message, which must be acked.
pub fn outcome(desk: &Desk, actor: &str, number: u32) -> String {
    let message = message(desk, actor, number);
    assert_eq!(message["state"], "acked", "{message}");
    message["outcome"].as_str().unwrap().to_owned()
}

/// The user and the token as HTTP's basic authentication writes them.
pub fn basic(token: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{token}"))
}

/// The repositories over HTTP for who has the token; whoever has it is looked at first.
pub fn guarded(repos: &Repos, token: &str, look: impl Fn(&Request) + Send + Sync + 'static) -> Forge {
    let wanted = format!("Basic {}", basic(token));
    Forge::start(repos.path().to_owned(), move |request| {
        if request.header("Authorization") == Some(&wanted) {
            look(request);
            return Verdict::Serve;
        }
        let ask = "WWW-Authenticate: Basic realm=\"forge\"\r\n";
        Verdict::Say("401 Unauthorized", ask.to_owned())
    })
}

/// A process and what the system shows of it.
pub struct Process {
    pub id: u32,
    pub command: String,
    pub environment: String,
}

/// The processes that have a place in their arguments or their environment.
pub fn processes(place: &Path) -> Vec<Process> {
    let place = place.display().to_string();
    let shown = |path: PathBuf| {
        let bytes = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = listed.filter_map(|entry| {
        Some(Process {
            id: entry.file_name().to_str()?.parse().ok()?,
            command: shown(entry.path().join("cmdline")),
            environment: shown(entry.path().join("environ")),
        })
    });
    all.filter(|process| process.command.contains(&place) || process.environment.contains(&place))
        .collect()
}

/// Fails where a work tree, a lock, a socket or a process is left.
pub fn assert_nothing_left(desk: &Desk, when: &str) {
    let work = desk.home().join("work");
    for passing in ["trees", "new", "trash"] {
        let left: Vec<_> = fs::read_dir(work.join(passing)).into_iter().flatten().collect();
        assert!(left.is_empty(), "{when}: {passing}: {left:?}");
    }
    let is_passing = |file: &String| {
        let name = file.rsplit('/').next().unwrap_or(file);
        name.ends_with(".lock") || name.starts_with("ask-") || name.starts_with("tmp_")
    };
    let left: Vec<_> = files(&work).into_iter().filter(is_passing).collect();
    assert!(left.is_empty(), "{when}: {left:?}");
    let left: Vec<_> = processes(&desk.home())
        .into_iter()
        .map(|process| process.command)
        .collect();
    assert!(left.is_empty(), "{when}: {left:?}");
}

/// Runs git and returns what it printed, trimmed.
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = plain_git(directory).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// git without the configuration of whoever runs the test.
pub fn plain_git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .env_clear()
        .envs([
            ("PATH", PATH),
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@example.org"),
            ("GIT_COMMITTER_NAME", "Ada"),
            ("GIT_COMMITTER_EMAIL", "ada@example.org"),
        ])
        .stdin(Stdio::null());
    command
}
