//! A machine without git, with an old one, with a full disk, and a remote that does not answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use child::git::{GitError, Keeper, Limits, Next, Remote};

use super::forge::{Forge, Verdict};
use super::site::{Site, files, pull};

const ROOT: &str = "CHILD_TEST_OPENER_ROOT";

/// Run by the tests below with a `PATH` of theirs.
#[tokio::test]
#[ignore = "the process that the other tests start"]
async fn the_opener() {
    let root = std::env::var_os(ROOT).unwrap();
    let opened = Keeper::open(root, Remote::default(), Limits::default(), None).await;
    let error = opened.err().unwrap();
    assert_eq!(error.next(), Next::Wait);
    panic!("it says: {error}; mend: {}", error.mend().unwrap());
}

/// What opening says where this is all of `PATH`.
fn opening_with(path: &Path) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "git::machine::the_opener", "--ignored", "--nocapture"])
        .env("PATH", path)
        .env(ROOT, path.join("root"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().find(|line| line.starts_with("it says: "));
    line.unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
fn no_git_and_an_old_git_are_named_with_the_mend() {
    let path = tempfile::tempdir().unwrap();
    assert_eq!(
        opening_with(path.path()),
        "it says: git is not there (or not in PATH); mend: install git 2.30 or later and see that it is in PATH"
    );
    let old = path.path().join("git");
    fs::write(&old, "#!/bin/sh\necho git version 2.20.1\n").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        opening_with(path.path()),
        "it says: git version 2.20.1 is too old: 2.30 or later is needed; \
         mend: install git 2.30 or later and see that it is in PATH"
    );
}

#[tokio::test]
async fn a_fetch_that_hangs_is_ended_and_leaves_nothing_in_the_way() {
    let site = Site::new();
    let heads = site.pull_request();
    let (release, released) = channel::<()>();
    let (released, count) = (Mutex::new(released), AtomicUsize::new(0));
    let forge = Forge::start(site.remotes(), move |_| {
        // The first fetch makes three requests; the fourth belongs to the second, and hangs.
        if count.fetch_add(1, Ordering::SeqCst) == 3 {
            let _: Result<(), _> = released.lock().unwrap().recv();
        }
        Verdict::Serve
    });
    let limits = Limits {
        fetch: Duration::from_secs(5),
        ..Limits::default()
    };
    let keeper = Keeper::open(site.root(), forge.base(), limits, None)
        .await
        .unwrap();
    keeper.fetch(&pull()).await.unwrap();
    let error = keeper.fetch(&pull()).await.err().unwrap();
    assert!(matches!(error, GitError::Timeout { .. }), "{error:?}");
    assert_eq!(error.next(), Next::Retry);
    drop(release);

    // As a git leaves it that was ended while it wrote.
    let lock = site.root().join("mirrors/o+r.git/refs/pull/7/head.lock");
    fs::write(&lock, "").unwrap();
    let next = site.commit(Some(&heads.head), "b", "next\n", "next");
    site.put("o/r", "refs/pull/7/head", &next);
    assert_eq!(keeper.fetch(&pull()).await.unwrap().head().as_str(), next);
    assert!(!lock.exists());
    assert!(files(&site.root().join("new")).is_empty());
}

/// A file system of two mebibytes, gone with this; `None` where mounting is not allowed.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(at.path())
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then(|| Self(at))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn skip() {
    eprintln!("skipped: a small file system cannot be mounted here");
}

#[tokio::test]
async fn a_full_disk_is_named_and_mends_itself_with_room() {
    let Some(small) = Small::mount() else {
        skip();
        return;
    };
    let site = Site::new();
    site.pull_request();
    let keeper = Keeper::open(small.0.path().join("work"), site.base(), Limits::default(), None)
        .await
        .unwrap();
    let filler = small.0.path().join("filler");
    // Until nothing more fits.
    let filled = fs::write(&filler, vec![1; 4 << 20]);
    assert!(filled.is_err());
    let error = keeper.fetch(&pull()).await.err().unwrap();
    assert!(matches!(error, GitError::DiskFull { .. }), "{error:?}");
    assert_eq!(error.next(), Next::Wait);
    fs::remove_file(&filler).unwrap();
    let fetched = keeper.fetch(&pull()).await.unwrap();
    fetched.work_tree().await.unwrap();
}
