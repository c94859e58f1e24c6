//! Real git repositories on the disk, laid out as GitHub lays them out: a bare repository with a pull request's
//! head under `refs/pull/N/head`, and the fork that its branch is in.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use actors::trees::{Keeping, Trees};
use child::git::{Limits, Remote};
use tempfile::TempDir;

/// A directory of bare repositories, `owner/name.git` each, and one that commits are made in.
pub struct Repos {
    folder: TempDir,
}

/// One commit: files and what is in them, `None` for one that goes.
pub type Files<'a> = &'a [(&'a str, Option<&'a str>)];

impl Repos {
    /// `o/r` with one commit on `main`, and an empty fork of ada's.
    pub fn new() -> Self {
        let repos = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for name in ["o/r", "ada/r"] {
            let path = repos.bare(name);
            std::fs::create_dir_all(&path).unwrap();
            git(&path, &["init", "-q", "--bare", "-b", "main"]);
        }
        let work = repos.work();
        std::fs::create_dir_all(&work).unwrap();
        git(&work, &["init", "-q", "-b", "main"]);
        repos.commit("Begin", &[("README", Some("one\ntwo\nthree\n"))]);
        repos.publish_base();
        repos
    }

    /// Where the repository lies.
    pub fn bare(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.git"))
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("making")
    }

    /// Commits on the branch that is checked out.
    pub fn commit(&self, title: &str, files: Files<'_>) -> String {
        for (name, text) in files {
            let path = self.work().join(name);
            match text {
                Some(text) => {
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(path, text).unwrap();
                }
                None => std::fs::remove_file(path).unwrap(),
            }
        }
        git(&self.work(), &["add", "-A"]);
        git(&self.work(), &["commit", "-q", "-m", title]);
        git(&self.work(), &["rev-parse", "HEAD"])
    }

    /// Checks out a branch, made from `main` where it is new.
    pub fn on(&self, branch: &str) {
        git(&self.work(), &["checkout", "-q", "-B", branch, "main"]);
    }

    /// Back to `main`.
    pub fn on_main(&self) {
        git(&self.work(), &["checkout", "-q", "main"]);
    }

    /// What is checked out becomes the head of the pull request, on its branch in ada's fork.
    pub fn publish_pull(&self, number: u32, branch: &str) -> String {
        for (to, name) in [
            ("ada/r", format!("refs/heads/{branch}")),
            ("o/r", format!("refs/pull/{number}/head")),
        ] {
            self.publish(to, &name);
        }
        git(&self.work(), &["rev-parse", "HEAD"])
    }

    /// What is checked out becomes a ref of a repository, as if somebody had pushed it there.
    pub fn publish(&self, to: &str, name: &str) {
        let to = self.bare(to);
        let to = to.to_str().unwrap();
        git(&self.work(), &["push", "-q", "-f", to, &format!("HEAD:{name}")]);
    }

    /// `main` as it is now becomes the base of the pull requests.
    pub fn publish_base(&self) {
        let to = self.bare("o/r");
        let to = to.to_str().unwrap();
        git(&self.work(), &["push", "-q", to, "main:refs/heads/main"]);
    }

    /// The commit that a ref of a repository names.
    pub fn tip(&self, repo: &str, name: &str) -> String {
        git(&self.bare(repo), &["rev-parse", name])
    }

    /// The titles from one commit to another, the newest first.
    pub fn titles(&self, repo: &str, range: &str) -> Vec<String> {
        let text = git(&self.bare(repo), &["log", "--format=%s", range]);
        text.lines().map(str::to_owned).collect()
    }

    /// The base address that stands for GitHub's.
    pub fn base(&self) -> String {
        format!("file://{}", self.folder.path().display())
    }

    /// Work trees below a home, fetched from here.
    pub fn trees(&self, home: &Path) -> Trees {
        Trees::kept(Keeping {
            root: home.join("work"),
            remote: Remote::parse(&self.base()).unwrap(),
            credentials: None,
            limits: Limits::default(),
        })
    }

    /// The same, to be given to a factory.
    pub fn shared_trees(self: &Arc<Self>, home: &Path) -> impl Fn() -> Trees + Send + Sync + 'static {
        let trees = self.trees(home);
        move || trees.clone()
    }
}

/// Runs git and returns what it printed, trimmed.
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
