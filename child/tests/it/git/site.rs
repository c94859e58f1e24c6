//! Repositories for a test: bare remotes, and an author who commits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use child::git::{Committer, Keeper, Limits, Person, Pull, Remote};
use tempfile::TempDir;

/// Bare repositories under `remotes/`, an author's clone, and room for a keeper.
pub struct Site {
    dir: TempDir,
}

impl Site {
    /// One remote, `o/r`, with nothing in it.
    pub fn new() -> Self {
        let site = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        git(site.dir.path(), &["init", "--quiet", "author"]);
        site.remote("o/r");
        site
    }

    /// A copy of the remotes as they are now, in a place of its own.
    pub fn copy(&self) -> Self {
        let copy = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        let copied = Command::new("cp")
            .arg("-R")
            .arg(self.remotes())
            .arg(copy.remotes())
            .status();
        assert!(copied.unwrap().success());
        copy
    }

    /// A bare remote of this name, which logs every change of a ref.
    pub fn remote(&self, name: &str) -> PathBuf {
        let path = self.remotes().join(format!("{name}.git"));
        fs::create_dir_all(&path).unwrap();
        git(&path, &["init", "--quiet", "--bare", "."]);
        git(&path, &["config", "core.logAllRefUpdates", "always"]);
        git(&path, &["config", "http.receivepack", "true"]);
        path
    }

    pub fn remotes(&self) -> PathBuf {
        self.dir.path().join("remotes")
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub fn base(&self) -> Remote {
        Remote::parse(&format!("file://{}", self.remotes().display())).unwrap()
    }

    pub async fn keeper(&self) -> Keeper {
        Keeper::open(self.root(), self.base(), Limits::default(), None)
            .await
            .unwrap()
    }

    /// Commits one file on top of this commit, or of nothing, and says which commit that is.
    pub fn commit(&self, on: Option<&str>, path: &str, text: &str, title: &str) -> String {
        let author = self.dir.path().join("author");
        match on {
            Some(on) => git(&author, &["checkout", "--quiet", "--force", "--detach", on]),
            None => {
                git(
                    &author,
                    &["symbolic-ref", "HEAD", &format!("refs/heads/{}", fresh())],
                );
                git(&author, &["read-tree", "--empty"])
            }
        };
        let file = author.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        git(&author, &["add", "--force", "--", path]);
        git(&author, &["commit", "--quiet", "--message", title]);
        git(&author, &["rev-parse", "HEAD"])
    }

    /// Puts a ref of a remote at this commit.
    pub fn put(&self, name: &str, full_ref: &str, commit: &str) {
        let author = self.dir.path().join("author");
        let remote = self.remotes().join(format!("{name}.git"));
        let refspec = format!("+{commit}:{full_ref}");
        git(
            &author,
            &["push", "--quiet", &remote.display().to_string(), &refspec],
        );
    }

    /// Removes a ref of a remote.
    pub fn delete(&self, name: &str, full_ref: &str) {
        git(
            &self.remotes().join(format!("{name}.git")),
            &["update-ref", "-d", full_ref],
        );
    }

    /// Where a ref of a remote stands; empty where there is none.
    pub fn at(&self, name: &str, full_ref: &str) -> String {
        let remote = self.remotes().join(format!("{name}.git"));
        git(&remote, &["for-each-ref", "--format=%(objectname)", full_ref])
    }

    /// What a git of the author's prints in a remote.
    pub fn look(&self, name: &str, arguments: &[&str]) -> String {
        git(&self.remotes().join(format!("{name}.git")), arguments)
    }

    /// Pull request 7 of `o/r` from branch `fix`: two commits on `b`, while the base went on in `a`.
    pub fn pull_request(&self) -> Heads {
        let first = self.commit(None, "a", "1\n", "begin");
        let first = self.commit(Some(&first), "b", "1\n2\n3\n", "add b");
        let base = self.commit(Some(&first), "a", "2\n", "a goes on");
        let head = self.commit(Some(&first), "b", "1\n2\nthree\n", "say three");
        let head = self.commit(Some(&head), "b", "1\ntwo\nthree\n", "say two");
        self.put("o/r", "refs/heads/main", &base);
        self.put("o/r", "refs/heads/fix", &head);
        self.put("o/r", "refs/pull/7/head", &head);
        Heads { first, base, head }
    }
}

/// A name that no branch has yet.
fn fresh() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("begin-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub struct Heads {
    /// Where the pull request left its base.
    pub first: String,
    pub base: String,
    pub head: String,
}

pub fn pull() -> Pull {
    Pull {
        repo: "o/r".parse().unwrap(),
        number: 7.try_into().unwrap(),
        base: "main".parse().unwrap(),
    }
}

pub fn committer() -> Committer {
    Committer {
        person: Person::new("Sweep", "sweep@example.org").unwrap(),
        at: 1_780_000_000,
    }
}

/// Runs a git that must succeed, in an environment without the configuration of whoever runs the test.
pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = plain_git(directory).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

pub fn plain_git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .envs([
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@example.org"),
            ("GIT_AUTHOR_DATE", "1770000000 +0000"),
            ("GIT_COMMITTER_NAME", "Ada"),
            ("GIT_COMMITTER_EMAIL", "ada@example.org"),
            ("GIT_COMMITTER_DATE", "1770000000 +0000"),
        ])
        .stdin(Stdio::null());
    command
}

/// Every file below a directory, links not followed.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}
