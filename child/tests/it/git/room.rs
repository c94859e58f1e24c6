//! One holder, and no more room than allowed.

use std::fs;

use child::git::{GitError, Keeper, Limits, Next, Pull};

use super::site::{Site, pull};

fn noise(bytes: usize, mut state: u64) -> String {
    // Nothing that git could make smaller by much.
    let mut text = String::new();
    while text.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:016x}\n", state ^ (state >> 29)));
    }
    text
}

fn of(repo: &str) -> Pull {
    Pull {
        repo: repo.parse().unwrap(),
        ..pull()
    }
}

/// Three repositories of about a quarter of a mebibyte.
fn three() -> Site {
    let site = Site::new();
    for (number, name) in ["o/a", "o/b", "o/c"].into_iter().enumerate() {
        site.remote(name);
        let first = site.commit(None, "noise", &noise(400_000, number as u64), "noise");
        let head = site.commit(Some(&first), "b", "b\n", "b");
        site.put(name, "refs/heads/main", &first);
        site.put(name, "refs/pull/7/head", &head);
    }
    site
}

fn mirrors(site: &Site) -> Vec<String> {
    let listed = fs::read_dir(site.root().join("mirrors")).unwrap();
    let mut names: Vec<String> = listed
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

async fn keeper(site: &Site, disk: u64) -> Keeper {
    let limits = Limits {
        disk,
        ..Limits::default()
    };
    Keeper::open(site.root(), site.base(), limits, None)
        .await
        .unwrap()
}

#[tokio::test]
async fn the_mirror_used_longest_ago_goes_first() {
    let site = three();
    let roomy = keeper(&site, u64::MAX).await;
    drop(roomy.fetch(&of("o/a")).await.unwrap());
    let one = roomy.usage().await;
    drop(roomy);

    let keeper = keeper(&site, one * 5 / 2).await;
    drop(keeper.fetch(&of("o/b")).await.unwrap());
    drop(keeper.fetch(&of("o/a")).await.unwrap());
    assert_eq!(mirrors(&site), ["o+a.git", "o+b.git"]);
    drop(keeper.fetch(&of("o/c")).await.unwrap());
    assert_eq!(mirrors(&site), ["o+a.git", "o+c.git"]);
    assert!(keeper.usage().await <= one * 5 / 2);
}

#[tokio::test]
async fn what_is_in_use_stays() {
    let site = three();
    let roomy = keeper(&site, u64::MAX).await;
    drop(roomy.fetch(&of("o/a")).await.unwrap());
    let one = roomy.usage().await;
    drop(roomy);

    let keeper = keeper(&site, one * 3 / 2).await;
    let in_use = keeper.fetch(&of("o/a")).await.unwrap();
    let error = keeper.fetch(&of("o/b")).await.err().unwrap();
    assert!(matches!(error, GitError::NoRoom { .. }), "{error:?}");
    assert_eq!(error.next(), Next::Wait);
    drop(in_use);
    assert!(keeper.fetch(&of("o/b")).await.is_ok());
    assert_eq!(mirrors(&site), ["o+b.git"]);
}

#[tokio::test]
async fn a_repository_that_is_too_large_is_refused_and_not_kept() {
    let site = three();
    let keeper = keeper(&site, 100_000).await;
    let error = keeper.fetch(&of("o/a")).await.err().unwrap();
    assert!(matches!(error, GitError::TooLarge { .. }), "{error:?}");
    assert_eq!(error.next(), Next::Reject);
    assert!(mirrors(&site).is_empty());
}

#[tokio::test]
async fn many_fetches_do_not_pile_up_packs() {
    let site = Site::new();
    let mut head = site.pull_request().head;
    let keeper = site.keeper().await;
    for round in 0..60 {
        head = site.commit(Some(&head), "b", &format!("{round}\n"), "again");
        site.put("o/r", "refs/pull/7/head", &head);
        assert_eq!(keeper.fetch(&pull()).await.unwrap().head().as_str(), head);
    }
    let files = super::site::files(&site.root().join("mirrors/o+r.git/objects/pack"));
    let packs = files
        .iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "pack"));
    assert!(packs.count() < 50);
}

#[tokio::test]
async fn one_process_holds_it() {
    let site = Site::new();
    let first = site.keeper().await;
    let second = Keeper::open(site.root(), site.base(), Limits::default(), None).await;
    assert!(matches!(second.err(), Some(GitError::Held { .. })));
    drop(first);
    site.keeper().await;
}
