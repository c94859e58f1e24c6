//! What goes wrong at GitHub, and what becomes of it.

use std::time::Duration;

use github::{ErrorClass, Limits, ReadError, Scope};
use serde_json::json;
use world::{Canned, Fault, PullSpec, Served};

use crate::{limits, numbers, read, reader, reader_with, refs, skipped, world};

/// Faults under the names that a failed assertion shows.
type Named = (&'static str, fn() -> Fault);

async fn served(count: u32) -> Served {
    world()
        .pulls((1..=count).map(|n| PullSpec::new("o/r", n)))
        .build()
        .serve()
        .await
        .unwrap()
}

#[tokio::test]
async fn a_pull_request_with_an_error_is_skipped_alone() {
    let served = served(4).await;
    served
        .faults()
        .add(Fault::saml("Repository.pullRequest").on_pull(("o/r", 2)));
    served
        .faults()
        .add(Fault::field_error("PullRequest.reviews", Some("FORBIDDEN"), "not yours").on_pull(("o/r", 3)));
    let got = read(&reader(&served), &refs("o/r", 1..=4)).await;
    assert_eq!(numbers(&got), [1, 4]);
    assert_eq!(
        skipped(&got),
        [
            (2, "no access: SSO".to_owned()),
            (3, "no access: not yours".to_owned())
        ]
    );
    assert_eq!(got.stopped, None);
}

#[tokio::test]
async fn an_error_without_a_type_is_tried_once_more() {
    let served = served(4).await;
    let fault =
        || Fault::field_error("PullRequest.comments", None, "Something went wrong").on_pull(("o/r", 2));
    served.faults().add(fault().first(1));
    let got = read(&reader(&served), &refs("o/r", 1..=4)).await;
    assert_eq!(numbers(&got), [1, 2, 3, 4]);
    served.faults().add(fault());
    let got = read(&reader(&served), &refs("o/r", 1..=4)).await;
    assert_eq!(numbers(&got), [1, 3, 4]);
}

#[tokio::test]
async fn a_batch_that_is_too_much_is_read_in_smaller_parts() {
    let faults: [Named; 5] = [
        ("502", || Fault::status(502)),
        ("504", || Fault::status(504)),
        ("a page of HTML", Fault::html),
        ("half a body", Fault::truncated),
        ("a connection that ends", Fault::answer_lost),
    ];
    for (name, fault) in faults {
        let served = served(25).await;
        served.faults().add(fault().on_batches_over(6));
        served.faults().add(fault().on_pull(("o/r", 11)));
        let reader = reader(&served);
        let got = read(&reader, &refs("o/r", 1..=25)).await;
        assert_eq!(got.found.len(), 24, "{name}: {:?}", skipped(&got));
        assert_eq!(got.skipped[0].at.number.get(), 11, "{name}");
        assert_eq!(got.stopped, None, "{name}");
        assert!(reader.requests().total <= 16, "{name}: {:?}", reader.requests());
    }
}

#[tokio::test]
async fn a_request_that_is_never_answered_times_out() {
    let served = served(3).await;
    served.faults().add(Fault::never_answers().on_pull(("o/r", 2)));
    let limits = Limits {
        request_timeout: Duration::from_secs(1),
        ..limits()
    };
    let got = read(&reader_with(&served, limits), &refs("o/r", 1..=3)).await;
    assert_eq!(numbers(&got), [1, 3]);
    assert_eq!(skipped(&got), [(2, "no answer within 1 s".to_owned())]);
}

#[tokio::test]
async fn an_answer_beyond_the_bound_is_read_in_smaller_parts() {
    let served = served(8).await;
    let limits = Limits {
        answer_size: 12_000,
        ..limits()
    };
    let reader = reader_with(&served, limits);
    let got = read(&reader, &refs("o/r", 1..=8)).await;
    assert_eq!(got.found.len(), 8, "{:?}", skipped(&got));
    assert!(reader.requests().total > 1);
}

#[tokio::test]
async fn every_dress_of_a_rate_limit_is_waited_for_once() {
    let faults: [Named; 4] = [
        ("primary", || Fault::primary_limit(Duration::from_secs(1))),
        ("primary with 429", || {
            Fault::primary_limit_429(Duration::from_secs(1))
        }),
        ("secondary", || Fault::secondary_limit(Duration::from_secs(1))),
        ("GraphQL's", Fault::graphql_rate_limit),
    ];
    for (name, fault) in faults {
        let served = served(60).await;
        served.faults().add(fault().on_operation("Pulls").nth(2));
        served.faults().add(fault().on_operation("OpenPulls").nth(1));
        let reader = reader(&served);
        let found = reader
            .open_pulls(&"ada".parse().unwrap(), &Scope::Everywhere, 60)
            .await
            .unwrap();
        assert_eq!(found.refs.len(), 60, "{name}");
        let got = read(&reader, &found.refs).await;
        assert_eq!(got.found.len(), 60, "{name}");
        assert_eq!(reader.requests().total, 2 + 4, "{name}");
    }
}

#[tokio::test]
async fn a_rate_limit_that_lasts_skips_the_rest() {
    let served = served(60).await;
    served
        .faults()
        .add(Fault::secondary_limit(Duration::from_secs(0)).on_pull(("o/r", 60)));
    let got = read(&reader(&served), &refs("o/r", 1..=60)).await;
    assert_eq!(got.found.len(), 50);
    assert_eq!(got.skipped.len(), 10);
    let error = got.stopped.unwrap();
    assert!(matches!(error, ReadError::RateLimited { .. }), "{error}");
    assert_eq!(error.class(), ErrorClass::Unavailable);

    served.faults().clear();
    served
        .faults()
        .add(Fault::primary_limit(Duration::from_secs(3_000)));
    let reader = reader(&served);
    let error = reader.viewer().await.unwrap_err();
    assert!(
        matches!(error, ReadError::RateLimited { until: Some(_) }),
        "{error}"
    );
    assert_eq!(reader.requests().total, 1, "nobody waits for fifty minutes");
}

#[tokio::test]
async fn a_github_that_fails_for_ever_is_unreachable() {
    let served = served(30).await;
    served.faults().add(Fault::status(503));
    let reader = reader(&served);
    let error = reader.viewer().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot reach {}: GitHub failed with 503", served.api_url())
    );
    assert_eq!(reader.requests().total, 3);
    let got = read(&reader, &refs("o/r", 1..=30)).await;
    assert_eq!((got.found.len(), got.skipped.len()), (0, 30));
    assert_eq!(got.stopped, Some(error));
}

#[tokio::test]
async fn nobody_at_the_address_is_unreachable() {
    let served = served(1).await;
    let reader = reader(&served);
    let address = served.api_url();
    let gone = served.api_url();
    drop(served);
    let error = reader.viewer().await.unwrap_err();
    assert!(
        matches!(&error, ReadError::Unreachable { origin, .. } if *origin == gone),
        "{address}: {error}"
    );
    let got = read(&reader, &refs("o/r", [1])).await;
    assert_eq!(got.stopped.unwrap().class(), ErrorClass::Unavailable);
}

#[tokio::test]
async fn a_stumble_of_a_search_is_tried_again() {
    let served = served(3).await;
    served
        .faults()
        .add(Fault::status(502).on_operation("OpenPulls").first(2));
    served.faults().add(Fault::html().on_operation("Viewer").first(1));
    let reader = reader(&served);
    let me = reader.viewer().await.unwrap();
    assert_eq!(
        reader
            .open_pulls(&me.login, &Scope::Everywhere, 50)
            .await
            .unwrap()
            .refs
            .len(),
        3
    );
    assert_eq!(reader.requests().total, 2 + 3);
}

#[tokio::test]
async fn a_page_of_html_says_what_it_is() {
    let served = served(1).await;
    served.faults().add(Fault::html());
    let error = reader(&served).viewer().await.unwrap_err().to_string();
    assert!(
        error.starts_with("the answer is not JSON but text/html; charset=utf-8 (200), beginning \"<!DOCTYPE"),
        "{error}"
    );
}

#[tokio::test]
async fn a_redirect_is_followed_for_a_get_within_the_origin_and_nowhere_else() {
    let served = served(1).await;
    let elsewhere = world().build().serve().await.unwrap();
    let moved = |to: &str| Canned::json(301, &json!({"message": "Moved Permanently"})).header("location", to);
    let check = |to: String, allowed: bool| {
        served.faults().clear();
        served
            .faults()
            .add(Fault::answer(moved(&to)).on_path("/rate_limit").nth(1));
        let reader = reader(&served);
        async move {
            let result = reader.checkup().await;
            assert_eq!(result.is_ok(), allowed, "{to}: {result:?}");
        }
    };
    check("/rate_limit".to_owned(), true).await;
    check(format!("{}/rate_limit", served.api_url()), true).await;
    check(format!("{}/rate_limit", elsewhere.api_url()), false).await;
    check(
        format!(
            "//{}/rate_limit",
            elsewhere.api_url().trim_start_matches("http://")
        ),
        false,
    )
    .await;
    check("/user".to_owned(), false).await;
    assert!(elsewhere.log().is_empty());

    served.faults().clear();
    served
        .faults()
        .add(Fault::answer(moved("/rate_limit")).on_path("/rate_limit"));
    assert!(matches!(
        reader(&served).checkup().await,
        Err(ReadError::Redirect { .. })
    ));

    served.faults().clear();
    let before = served.log().len();
    served
        .faults()
        .add(Fault::answer(moved("/graphql").clone()).on_graphql());
    assert!(matches!(
        reader(&served).viewer().await,
        Err(ReadError::Redirect { .. })
    ));
    assert_eq!(
        served.log().len(),
        before + 1,
        "a POST is never sent again across a redirect"
    );
}

#[tokio::test]
async fn a_checkup_tells_limits_and_clock() {
    let served = served(1).await;
    let checkup = reader(&served).checkup().await.unwrap();
    assert!(checkup.graphql.limit > 0 && checkup.graphql.remaining <= checkup.graphql.limit);
    assert!(checkup.server_time.is_some());
}
