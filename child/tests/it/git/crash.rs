//! The process that keeps the work trees is killed at one moment after the other; the next one finds no lock and
//! comes to the same end, and the branch is pushed once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use child::git::{GitError, Keeper, Limits, Next, Pushed, Rebased, Remote};

use super::forge::{Forge, Request, Verdict};
use super::site::{Site, committer, files, pull};

const ROOT: &str = "CHILD_TEST_ROOT";
const BASE: &str = "CHILD_TEST_BASE";

/// Longer than any moment takes to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fetches, rebases and pushes, again where that can help: the victim's last request may be carried out just then.
async fn job(root: PathBuf, remote: Remote) -> Pushed {
    let keeper = Keeper::open(root, remote, Limits::default(), None).await.unwrap();
    for _ in 0..10 {
        match attempt(&keeper).await {
            Err(error) if error.next() == Next::Retry => {}
            ended => return ended.unwrap(),
        }
    }
    panic!("trying again does not help")
}

async fn attempt(keeper: &Keeper) -> Result<Pushed, GitError> {
    let fetched = keeper.fetch(&pull()).await?;
    let Rebased::Clean(clean) = fetched.rebase(&committer()).await? else {
        panic!("not clean")
    };
    clean.push(&"o/r".parse().unwrap(), &"fix".parse().unwrap()).await
}

/// Run by the other test, not by hand.
#[tokio::test]
#[ignore = "the process that the other test kills"]
async fn the_victim() {
    let root = std::env::var_os(ROOT).unwrap().into();
    let base = std::env::var(BASE).unwrap();
    job(root, Remote::parse(&base).unwrap()).await;
}

fn victim(root: &Path, forge: &Forge) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "git::crash::the_victim", "--ignored"])
        .env(ROOT, root)
        .env(BASE, format!("http://127.0.0.1:{}", forge.port()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// When the process is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// When this request, from 1, has come: git waits for its answer.
    Asked(usize),
    /// When this request has been carried out, and its answer is lost.
    CarriedOut(usize),
    /// When a file of this name has appeared below the root, or a folder.
    Seen(&'static str),
}

/// A pull request of eight commits, so that a rebase takes long enough to be seen.
fn site() -> (Site, String) {
    let site = Site::new();
    let first = site.commit(None, "a", "1\n", "begin");
    let base = site.commit(Some(&first), "a", "2\n", "a goes on");
    let mut head = first;
    for number in 0..8 {
        head = site.commit(
            Some(&head),
            "b",
            &format!("{number}\n"),
            &format!("step {number}"),
        );
    }
    site.put("o/r", "refs/heads/main", &base);
    site.put("o/r", "refs/heads/fix", &head);
    site.put("o/r", "refs/pull/7/head", &head);
    (site, head)
}

/// Lets the moment's request hang until the sender is dropped, or lose its answer, and says when it came.
fn forge(site: &Site, moment: Moment) -> (Forge, Receiver<()>, Sender<()>) {
    let (tell, told) = channel();
    let (release, released) = channel();
    let (tell, released, count) = (Mutex::new(tell), Mutex::new(released), AtomicUsize::new(0));
    let forge = Forge::start(site.remotes(), move |_: &Request| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        match moment {
            Moment::Asked(which) if which == number => {
                let _ = tell.lock().unwrap().send(());
                let _: Result<(), _> = released.lock().unwrap().recv();
                Verdict::LoseAnswer
            }
            Moment::CarriedOut(which) if which == number => {
                let _ = tell.lock().unwrap().send(());
                Verdict::LoseAnswer
            }
            _ => Verdict::Serve,
        }
    });
    (forge, told, release)
}

fn appeared(root: &Path, name: &str) -> bool {
    let Ok(listed) = fs::read_dir(root) else {
        return false;
    };
    listed.flatten().any(|entry| {
        entry.file_name().to_string_lossy().contains(name)
            || entry.file_type().is_ok_and(|kind| kind.is_dir()) && appeared(&entry.path(), name)
    })
}

fn wait_until(mut holds: impl FnMut() -> bool) {
    let asked = Instant::now();
    while !holds() {
        assert!(asked.elapsed() < PATIENCE, "the moment never came");
        std::thread::yield_now();
    }
}

async fn killed_at(moment: Moment, site: Site, head: &str, expected: &str) {
    let (forge, told, release) = forge(&site, moment);
    let mut victim = victim(&site.root(), &forge);
    match moment {
        Moment::Asked(_) | Moment::CarriedOut(_) => told.recv_timeout(PATIENCE).expect("the request came"),
        Moment::Seen(name) => {
            wait_until(|| appeared(&site.root(), name) || victim.try_wait().unwrap().is_some())
        }
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
    // With the request still hanging, so that a git of the victim's may well be running.
    let keeper = Keeper::open(site.root(), forge.base(), Limits::default(), None)
        .await
        .unwrap();
    let locks: Vec<PathBuf> = files(&site.root())
        .into_iter()
        .filter(|file| is_lock(file))
        .collect();
    assert!(locks.is_empty(), "{moment:?}: {locks:?}");
    for passing in ["trees", "new", "trash"] {
        assert!(
            fs::read_dir(site.root().join(passing)).unwrap().next().is_none(),
            "{moment:?}: {passing}"
        );
    }
    drop(keeper);
    drop(release);

    assert_eq!(job(site.root(), forge.base()).await, Pushed::Done, "{moment:?}");
    assert_eq!(site.at("o/r", "refs/heads/fix"), expected, "{moment:?}");
    let log = site.look("o/r", &["reflog", "show", "--format=%H", "refs/heads/fix"]);
    assert_eq!(
        log.lines().collect::<Vec<_>>(),
        [expected, head],
        "{moment:?}: pushed once"
    );
}

fn is_lock(file: &Path) -> bool {
    file.extension().is_some_and(|kind| kind == "lock")
}

#[tokio::test]
async fn killed_at_any_moment_the_end_is_the_same() {
    let (site, head) = site();
    let undisturbed = site.copy();
    assert_eq!(job(undisturbed.root(), undisturbed.base()).await, Pushed::Done);
    let expected = undisturbed.at("o/r", "refs/heads/fix");

    // A fetch over protocol 2 makes three requests, a push two more.
    for request in 1..=5 {
        killed_at(Moment::Asked(request), site.copy(), &head, &expected).await;
        killed_at(Moment::CarriedOut(request), site.copy(), &head, &expected).await;
    }
    for name in [
        "tmp_pack",
        "head.lock",
        "alternates",
        "index.lock",
        "rebase-merge",
        "REBASE_HEAD",
        "done",
    ] {
        killed_at(Moment::Seen(name), site.copy(), &head, &expected).await;
    }
}
