//! What comes of many pull requests at once, and of a GitHub that says no.

use std::time::Duration;

use github::{PullsRead, ReadError, Scope};
use world::{Fault, PullSpec, Served};

use crate::support::{pr, read, reader, serve, skipped, world};

async fn served(count: u32) -> Served {
    serve(world().pulls((1..=count).map(|n| PullSpec::new("o/r", n)))).await
}

fn refs(count: u32) -> Vec<pulls::PrRef> {
    (1..=count).map(|n| pr(&format!("o/r#{n}"))).collect()
}

fn numbers(read: &PullsRead) -> Vec<u32> {
    read.found.iter().map(|facts| facts.at.number.get()).collect()
}

/// How many requests were answered with this status.
fn answered(served: &Served, status: u16) -> usize {
    let log = served.log();
    log.iter().filter(|logged| logged.status == Some(status)).count()
}

pub async fn b096_a_batch_that_is_too_much() {
    for status in [502, 504] {
        let served = served(60).await;
        let reader = reader(&served);
        let all: Vec<u32> = (1..=60).collect();
        assert_eq!(numbers(&read(&reader, &refs(60)).await), all);
        assert_eq!(served.log().len(), 3, "25, 25 and 10");

        served.faults().add(Fault::status(status).on_batches_over(12));
        let got = read(&reader, &refs(60)).await;
        assert_eq!((numbers(&got), got.skipped.len()), (all.clone(), 0));
        let failed = answered(&served, status);
        assert!((1..=6).contains(&failed), "{failed}");
        // The size that worked is remembered: the next reading fails nowhere.
        let got = read(&reader, &refs(60)).await;
        assert_eq!((numbers(&got), answered(&served, status)), (all, failed));
    }
}

pub async fn b098_single_sign_on() {
    let served = served(3).await;
    let protected = || Fault::saml("Repository.pullRequest").on_pull(("o/r", 2));
    served.faults().add(protected());
    let got = read(&reader(&served), &refs(3)).await;
    assert_eq!(numbers(&got), [1, 3]);
    assert_eq!(skipped(&got), [(2, "no access: SSO".to_owned())]);
    assert_eq!(got.stopped, None);

    // A search that leaves three out for the same reason says so once.
    served.faults().clear();
    served
        .faults()
        .add(Fault::saml("PullRequest.repository").on_operation("OpenPulls"));
    let author = "ada".parse().unwrap();
    let found = reader(&served)
        .open_pulls(&author, &Scope::Everywhere, 50)
        .await
        .unwrap();
    assert_eq!(found.refs, []);
    let said: Vec<String> = found.partial.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["no access: SSO"]);
}

pub async fn b099_data_beside_errors() {
    let served = served(3).await;
    let fault = Fault::field_error("PullRequest.reviews", Some("INTERNAL"), "no reviews today");
    served.faults().add(fault.on_pull(("o/r", 2)));
    let got = read(&reader(&served), &refs(3)).await;
    // The data of the others stands; the one that lacks what a rule reads is not classified from the rest.
    assert_eq!(numbers(&got), [1, 3]);
    assert_eq!(got.skipped.len(), 1);
    let error = &got.skipped[0].error;
    assert!(
        matches!(error, ReadError::Partial { message, kind, .. }
            if message == "no reviews today" && kind.as_deref() == Some("INTERNAL")),
        "{error:?}"
    );
    assert_eq!(answered(&served, 200), 1, "an error with a type is final");
}

pub async fn b100_an_error_without_a_type() {
    let served = served(3).await;
    let fault =
        || Fault::field_error("PullRequest.comments", None, "Something went wrong").on_pull(("o/r", 2));
    served.faults().add(fault().first(1));
    let reader = reader(&served);
    assert_eq!(numbers(&read(&reader, &refs(3)).await), [1, 2, 3]);
    assert_eq!(reader.requests().total, 2);
    // It is tried again, and not for ever.
    served.faults().clear();
    served.faults().add(fault());
    let got = read(&reader, &refs(3)).await;
    assert_eq!((numbers(&got), got.skipped.len()), (vec![1, 3], 1));
    assert!(reader.requests().total <= 2 + 3, "{:?}", reader.requests());
    // So with an error that takes the whole answer.
    served.faults().clear();
    let whole = Fault::field_error("Query.viewer", None, "Something went wrong").on_operation("Viewer");
    served.faults().add(whole.first(2));
    assert_eq!(reader.viewer().await.unwrap().login.as_str(), "ada");
}

pub async fn b103_403_and_429_alike() {
    let faults: [fn(Duration) -> Fault; 3] = [
        Fault::primary_limit,
        Fault::primary_limit_429,
        Fault::secondary_limit,
    ];
    for fault in faults {
        let served = served(30).await;
        served
            .faults()
            .add(fault(Duration::ZERO).on_operation("Pulls").nth(1));
        let reader = reader(&served);
        let got = read(&reader, &refs(30)).await;
        assert_eq!((got.found.len(), got.stopped), (30, None));
        assert_eq!(
            reader.requests().total,
            3,
            "two, and one of them once more after the wait"
        );
    }
    // One that lasts longer than a request can wait ends the reading, and says until when.
    for fault in [Fault::primary_limit, Fault::primary_limit_429] {
        let served = served(3).await;
        served.faults().add(fault(Duration::from_secs(3_000)));
        let got = read(&reader(&served), &refs(3)).await;
        assert!(
            matches!(got.stopped, Some(ReadError::RateLimited { until: Some(_) })),
            "{got:?}"
        );
        assert_eq!(got.skipped.len(), 3);
    }
}

pub async fn b104_a_batch_and_its_budget() {
    let served = served(144).await;
    let reader = reader(&served);
    assert_eq!(reader.budget(), None, "nothing was asked yet");
    let me = reader.viewer().await.unwrap();
    let found = reader
        .open_pulls(&me.login, &Scope::Everywhere, 200)
        .await
        .unwrap();
    let got = read(&reader, &found.refs).await;
    assert_eq!(got.found.len(), 144);
    let requests = reader.requests();
    assert_eq!(
        requests.total,
        2 + 1 + 6,
        "the viewer, two pages of a search, batches of 25"
    );
    assert!(requests.most_in_flight <= 5, "{requests:?}");
    // What each answer cost is read with it.
    let budget = reader.budget().unwrap();
    assert!(budget.spent >= 9, "{budget:?}");
    assert_eq!(budget.remaining, 5_000 - budget.spent);
}
