//! How many requests it takes, and how many at a time (contract, section 4).

use std::sync::Mutex;

use github::{Progress, Scope};
use world::{Association, CommentSpec, PullSpec, ThreadSpec};

use crate::{numbers, read, reader, refs, world};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_pull_requests_in_eleven_requests_five_at_a_time() {
    let served = world()
        .pulls((1..=200).map(|n| PullSpec::new("o/r", n)))
        .build()
        .serve()
        .await
        .unwrap();
    let reader = reader(&served);
    let me = reader.viewer().await.unwrap();
    let found = reader
        .open_pulls(&me.login, &Scope::Everywhere, 200)
        .await
        .unwrap();
    assert_eq!((found.refs.len(), found.total), (200, 200));
    let told = Mutex::new(Vec::new());
    let got = reader
        .pulls(&found.refs, &|progress| told.lock().unwrap().push(progress))
        .await;
    assert_eq!(got.found.len(), 200);
    assert_eq!(reader.requests().total, 11);
    assert_eq!(served.log().len(), 11);
    assert!(
        (2..=5).contains(&reader.requests().most_in_flight),
        "{:?}",
        reader.requests()
    );
    assert!(served.max_in_flight() <= 5);
    let told = told.into_inner().unwrap();
    assert_eq!(told.len(), 8);
    assert_eq!(told.last(), Some(&Progress { done: 200, of: 200 }));
    assert!(told.is_sorted_by_key(|progress| progress.done));

    let budget = reader.budget().unwrap();
    assert!(budget.spent > 0 && budget.remaining < 5_000);
    assert!(served.writes().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_with_a_list_beyond_its_first_page_stay_below_twenty_five() {
    let threads = |mut pull: PullSpec| {
        for _ in 0..51 {
            pull = pull.thread(ThreadSpec::new(
                "a.rs",
                CommentSpec::new("mia", Association::Member, "so"),
            ));
        }
        pull
    };
    let served = world()
        .pulls((1..=200).map(|n| threads(PullSpec::new("o/r", n))))
        .build()
        .serve()
        .await
        .unwrap();
    let reader = reader(&served);
    let me = reader.viewer().await.unwrap();
    let found = reader
        .open_pulls(&me.login, &Scope::Everywhere, 200)
        .await
        .unwrap();
    let got = read(&reader, &found.refs).await;
    assert_eq!(got.found.len(), 200);
    assert!(got.found.iter().all(|facts| facts.threads.len() == 51));
    assert!(reader.requests().total <= 25, "{:?}", reader.requests());
}

#[tokio::test]
async fn a_limit_is_kept_and_each_is_read_once() {
    let served = world()
        .pulls((1..=12).map(|n| PullSpec::new("o/r", n)))
        .build()
        .serve()
        .await
        .unwrap();
    let reader = reader(&served);
    let login = "ada".parse().unwrap();
    let found = reader.open_pulls(&login, &Scope::Everywhere, 5).await.unwrap();
    assert_eq!((found.refs.len(), found.total), (5, 12));
    assert!(
        reader
            .open_pulls(&login, &Scope::Everywhere, 0)
            .await
            .unwrap()
            .refs
            .is_empty()
    );
    let mut twice = refs("o/r", 1..=12);
    twice.extend(refs("O/R", 1..=12));
    let got = read(&reader, &twice).await;
    assert_eq!(numbers(&got), (1..=12).collect::<Vec<_>>());
    assert_eq!(reader.requests().total, 2);
}
