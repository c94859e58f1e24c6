//! The plan against a GitHub that is a function, with a clock that is a number.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use pulls::facts::PullFacts;

use crate::assembly::Assembly;
use crate::batch::tests::at;
use crate::fixture::{HEAD, answer, comment, head, list, repository, run, thread};

/// One request as the fake GitHub sees it.
struct Asked<'a> {
    text: &'a str,
    variables: &'a Map<String, Value>,
}

impl Asked<'_> {
    fn is_pulls(&self) -> bool {
        self.text.starts_with("query Pulls")
    }

    /// The pull requests asked for, by alias.
    fn numbers(&self) -> Vec<(String, u64)> {
        let mut numbers: Vec<(usize, u64)> = self
            .variables
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("number")?.parse().ok()?, value.as_u64()?)))
            .collect();
        numbers.sort_unstable();
        numbers
            .into_iter()
            .map(|(place, number)| (batch::pull_alias(place), number))
            .collect()
    }

    /// Every pull request as `of` says it is.
    fn data(&self, of: impl Fn(u64) -> Value) -> Value {
        Value::Object(
            self.numbers()
                .into_iter()
                .map(|(alias, number)| (alias, of(number)))
                .collect(),
        )
    }

    fn plain(&self) -> Result<Answer, ReadError> {
        answer(&json!({"data": self.data(|number| repository("owner/name", number))}))
    }
}

#[derive(Default)]
struct Seen {
    requests: usize,
    most_in_flight: usize,
    waited: Duration,
    documents: Vec<String>,
}

fn limits() -> Limits {
    Limits {
        retry_wait: Duration::from_secs(30),
        longest_wait: Duration::from_secs(120),
        ..Limits::default()
    }
}

/// Runs a plan to its end. `pick` says which of the requests on their way is answered next.
fn drive(
    refs: &[PrRef],
    mut github: impl FnMut(usize, &Asked<'_>) -> Result<Answer, ReadError>,
    mut pick: impl FnMut(usize) -> usize,
) -> (Outcome<PullFacts>, Seen) {
    let mut plan: Plan<Assembly> = Plan::new(refs, &limits(), &Sizes::default());
    let mut now: Time = crate::fixture::READ_AT.parse().unwrap();
    let mut on_their_way: Vec<(usize, Job, Document)> = Vec::new();
    let mut seen = Seen::default();
    loop {
        assert!(seen.requests < 2_000, "it does not end");
        match plan.next(now) {
            Next::Send(job) => {
                let document = plan.document(&job);
                seen.requests += 1;
                seen.documents.push(document.text.clone());
                on_their_way.push((seen.requests, job, document));
                seen.most_in_flight = seen.most_in_flight.max(on_their_way.len());
            }
            Next::Wait(wait) => {
                assert!(on_their_way.is_empty());
                seen.waited += wait;
                now += wait;
            }
            Next::Idle => {
                let (number, job, document) = on_their_way.remove(pick(on_their_way.len()));
                let asked = Asked {
                    text: &document.text,
                    variables: &document.variables,
                };
                plan.took(job, github(number, &asked), now);
            }
            Next::Done => break,
        }
    }
    assert!(on_their_way.is_empty());
    let mut outcome = plan.finish();
    outcome.settle("http://github");
    (outcome, seen)
}

fn read(
    refs: &[PrRef],
    github: impl FnMut(usize, &Asked<'_>) -> Result<Answer, ReadError>,
) -> (Outcome<PullFacts>, Seen) {
    drive(refs, github, |_| 0)
}

fn refs(count: usize) -> Vec<PrRef> {
    (1..=count).map(at).collect()
}

fn found(outcome: &Outcome<PullFacts>) -> Vec<u32> {
    outcome.found.iter().map(|facts| facts.at.number.get()).collect()
}

fn skipped(outcome: &Outcome<PullFacts>) -> Vec<(u32, String)> {
    outcome
        .skipped
        .iter()
        .map(|(at, error)| (at.number.get(), error.to_string()))
        .collect()
}

fn server() -> Result<Answer, ReadError> {
    Err(ReadError::Server { status: 502 })
}

#[test]
fn two_hundred_take_eight_requests_at_most_five_at_a_time() {
    let (outcome, seen) = read(&refs(200), |_, asked| asked.plain());
    assert_eq!(found(&outcome), (1..=200).collect::<Vec<_>>());
    assert_eq!((seen.requests, seen.most_in_flight), (8, 5));
    assert!(outcome.skipped.is_empty() && outcome.stopped.is_none());
}

#[test]
fn nothing_asked_is_nothing_sent() {
    let (outcome, seen) = read(&[], |_, asked| asked.plain());
    assert!(outcome.found.is_empty() && outcome.stopped.is_none());
    assert_eq!(seen.requests, 0);
}

#[test]
fn each_is_read_once_under_whatever_name() {
    let twice = [
        at(1),
        at(2),
        "OWNER/Name#1".parse().unwrap(),
        "old/name#2".parse().unwrap(),
    ];
    let (outcome, _) = read(&twice, |_, asked| asked.plain());
    assert_eq!(found(&outcome), [1, 2]);
    assert_eq!(outcome.found[1].asked_as.as_str(), "owner/name");
    assert!(outcome.skipped.is_empty());
}

#[test]
fn a_pull_request_that_fails_fails_alone() {
    let cases = [
        (
            json!({"type": "NOT_FOUND", "path": ["pr1"]}),
            "no repository owner/name, or the token may not see it",
        ),
        (
            json!({"type": "NOT_FOUND", "path": ["pr1", "pullRequest"]}),
            "no pull request owner/name#2",
        ),
        (
            json!({"type": "FORBIDDEN", "path": ["pr1"], "extensions": {"saml_failure": true}, "message": "x"}),
            "no access: SSO",
        ),
        (
            json!({"type": "FORBIDDEN", "path": ["pr1", "pullRequest", "reviews"], "message": "not for you"}),
            "no access: not for you",
        ),
        (
            json!({"type": "SERVICE_UNAVAILABLE", "path": ["pr1", "pullRequest", "comments", "nodes", 3], "message": "sorry"}),
            "pr1.pullRequest.comments.nodes.3: sorry",
        ),
    ];
    for (error, text) in cases {
        let (outcome, seen) = read(&refs(3), |_, asked| {
            let mut data = asked.data(|number| repository("owner/name", number));
            data["pr1"] = Value::Null;
            answer(&json!({"data": data, "errors": [error]}))
        });
        assert_eq!(found(&outcome), [1, 3], "{text}");
        assert_eq!(skipped(&outcome), [(2, text.to_owned())]);
        assert_eq!(seen.requests, 1);
        assert!(outcome.stopped.is_none());
    }
}

#[test]
fn a_null_or_another_shape_fails_alone_too() {
    let (outcome, _) = read(&refs(4), |_, asked| {
        let mut data = asked.data(|number| repository("owner/name", number));
        data["pr0"] = Value::Null;
        data["pr1"]["pullRequest"] = Value::Null;
        data["pr2"]["pullRequest"]["comments"] = Value::Null;
        answer(&json!({"data": data}))
    });
    assert_eq!(found(&outcome), [4]);
    let skipped = skipped(&outcome);
    assert_eq!(
        skipped[0].1,
        "no repository owner/name, or the token may not see it"
    );
    assert_eq!(skipped[1].1, "no pull request owner/name#2");
    assert!(
        skipped[2]
            .1
            .starts_with("an answer of another shape than GitHub documents: pr2"),
        "{skipped:?}"
    );
}

#[test]
fn no_comparison_is_no_failure() {
    let ask = |kind: &'static str| {
        read(&refs(1), move |_, asked| {
            let mut data = asked.data(|number| repository("owner/name", number));
            data["pr0"]["pullRequest"]["baseRef"]["compare"] = Value::Null;
            let path = ["pr0", "pullRequest", "baseRef", "compare"];
            answer(&json!({"data": data, "errors": [{"type": kind, "path": path, "message": "x"}]}))
        })
    };
    let (outcome, _) = ask("NOT_FOUND");
    assert_eq!(outcome.found[0].behind_by, None);
    let (outcome, _) = ask("FORBIDDEN");
    assert!(outcome.found.is_empty());
}

#[test]
fn an_error_without_a_type_is_tried_once_more() {
    let failing = |times: usize| {
        let mut left = times;
        read(&refs(3), move |_, asked| {
            let Some((alias, _)) = asked
                .numbers()
                .into_iter()
                .find(|(_, number)| *number == 2 && left > 0)
            else {
                return asked.plain();
            };
            left -= 1;
            let mut data = asked.data(|number| repository("owner/name", number));
            data[alias.as_str()]["pullRequest"] = Value::Null;
            let error = json!({"message": "Something went wrong", "path": [alias, "pullRequest"]});
            answer(&json!({"data": data, "errors": [error]}))
        })
    };
    let (outcome, seen) = failing(1);
    assert_eq!(found(&outcome), [1, 2, 3]);
    assert_eq!(seen.requests, 2);
    let (outcome, seen) = failing(2);
    assert_eq!(found(&outcome), [1, 3]);
    assert_eq!(
        skipped(&outcome),
        [(2, "pr0.pullRequest: Something went wrong".to_owned())]
    );
    assert_eq!(seen.requests, 2);
}

#[test]
fn an_error_without_a_place_spoils_what_is_null() {
    let (outcome, seen) = read(&refs(4), |request, asked| {
        if request > 1 {
            return asked.plain();
        }
        let mut data = asked.data(|number| repository("owner/name", number));
        data["pr2"] = Value::Null;
        answer(&json!({"data": data, "errors": [{"message": "Something went wrong"}]}))
    });
    assert_eq!(found(&outcome), [1, 2, 3, 4]);
    assert_eq!(seen.requests, 2);
}

#[test]
fn a_request_that_is_too_much_is_halved_down_to_the_one() {
    let errors = [
        ReadError::Server { status: 504 },
        ReadError::TimedOut {
            after: Duration::from_secs(30),
        },
        ReadError::NotJson {
            status: 200,
            content_type: "text/html".into(),
            start: "<html>".into(),
        },
        ReadError::CutShort {
            why: "after 3 bytes".into(),
        },
        ReadError::TooLarge { limit: 1 },
    ];
    for error in errors {
        let (outcome, seen) = read(&refs(25), |_, asked| {
            if asked.numbers().iter().any(|(_, number)| *number == 17) {
                Err(error.clone())
            } else {
                asked.plain()
            }
        });
        assert_eq!(found(&outcome).len(), 24, "{error}");
        assert_eq!(skipped(&outcome), [(17, error.to_string())]);
        assert!(outcome.stopped.is_none());
        // Two requests a halving of 25, and one to try the last one again.
        assert!(seen.requests <= 12, "{} requests", seen.requests);
    }
}

#[test]
fn a_size_that_works_is_remembered() {
    let too_much = |asked: &Asked<'_>| {
        if asked.numbers().len() > 6 {
            server()
        } else {
            asked.plain()
        }
    };
    let mut sizes = Sizes::default();
    let mut requests = Vec::new();
    for _ in 0..2 {
        let mut plan: Plan<Assembly> = Plan::new(&refs(50), &limits(), &sizes);
        let mut sent = 0;
        while let Next::Send(job) = plan.next(crate::fixture::READ_AT.parse().unwrap()) {
            sent += 1;
            let document = plan.document(&job);
            let result = too_much(&Asked {
                text: &document.text,
                variables: &document.variables,
            });
            plan.took(job, result, crate::fixture::READ_AT.parse().unwrap());
        }
        plan.teach(&mut sizes);
        assert_eq!(plan.finish().found.len(), 50);
        requests.push(sent);
    }
    assert_eq!(requests, [18, 9]);

    let mut down: Plan<Assembly> = Plan::new(&refs(50), &limits(), &Sizes::default());
    while let Next::Send(job) = down.next(crate::fixture::READ_AT.parse().unwrap()) {
        down.took(job, server(), crate::fixture::READ_AT.parse().unwrap());
    }
    let mut unchanged = Sizes::default();
    down.teach(&mut unchanged);
    assert_eq!(unchanged, Sizes::default(), "an outage teaches nothing");
}

#[test]
fn errors_without_a_type_in_many_are_tried_again_together() {
    let (outcome, seen) = read(&refs(50), |request, asked| {
        if request > 2 {
            return asked.plain();
        }
        let place = |alias: &String| json!({"message": "Something went wrong", "path": [alias]});
        let errors: Vec<Value> = asked.numbers().iter().map(|(alias, _)| place(alias)).collect();
        answer(&json!({"data": asked.data(|_| Value::Null), "errors": errors}))
    });
    assert_eq!(outcome.found.len(), 50);
    assert_eq!(seen.requests, 4);
}

#[test]
fn an_answer_of_nothing_but_an_error_is_no_success() {
    let body = json!({"errors": [{"message": "Something went wrong"}]});
    let (outcome, seen) = read(&refs(200), |_, _| answer(&body));
    assert_eq!(outcome.stopped.unwrap().to_string(), "Something went wrong");
    assert!(seen.requests <= 35, "{} requests", seen.requests);
}

#[test]
fn a_github_that_fails_for_ever_is_unreachable() {
    for count in [1, 2, 50, 200] {
        let (outcome, seen) = read(&refs(count), |_, _| server());
        let why = "GitHub failed with 502".to_owned();
        assert_eq!(
            outcome.stopped,
            Some(ReadError::Unreachable {
                origin: "http://github".into(),
                why
            })
        );
        assert_eq!(outcome.skipped.len(), count);
        assert!(seen.requests <= 35, "{} requests for {count}", seen.requests);
    }
    let page = ReadError::NotJson {
        status: 200,
        content_type: "text/html".into(),
        start: "<html>".into(),
    };
    let (outcome, _) = read(&refs(1), |_, _| Err(page.clone()));
    assert_eq!(outcome.stopped, Some(page));
}

#[test]
fn no_connection_is_tried_three_times_with_pauses() {
    let gone = ReadError::Unreachable {
        origin: "http://github".into(),
        why: "refused".into(),
    };
    let (outcome, seen) = read(&refs(200), |_, _| Err(gone.clone()));
    assert_eq!(outcome.stopped, Some(gone.clone()));
    assert_eq!(outcome.skipped.len(), 200);
    assert_eq!(seen.waited, 2 * PAUSE);
    let (outcome, _) = read(&refs(200), |request, asked| {
        if request <= 5 {
            Err(gone.clone())
        } else {
            asked.plain()
        }
    });
    assert_eq!(outcome.found.len(), 200);
}

#[test]
fn refused_credentials_stop_at_once() {
    let refused = ReadError::Refused {
        message: "Bad credentials".into(),
    };
    let (outcome, seen) = read(&refs(200), |_, _| Err(refused.clone()));
    assert_eq!(outcome.stopped, Some(refused));
    assert_eq!((seen.requests, outcome.skipped.len()), (5, 200));
}

#[test]
fn a_rate_limit_is_waited_for_once_and_one_at_a_time_after_it() {
    let limited = || {
        Err(ReadError::RateLimited {
            until: Some("2026-11-01T12:00:50Z".parse().unwrap()),
        })
    };
    let (outcome, seen) = read(
        &refs(200),
        |request, asked| if request <= 5 { limited() } else { asked.plain() },
    );
    assert_eq!(outcome.found.len(), 200);
    assert_eq!(seen.waited, Duration::from_secs(50));
    assert_eq!(seen.requests, 5 + 8);

    // It lasts: what was read stays, the rest is skipped after one retry.
    let (outcome, seen) = read(
        &refs(200),
        |request, asked| if request > 1 { limited() } else { asked.plain() },
    );
    assert_eq!(found(&outcome), (1..=25).collect::<Vec<_>>());
    assert_eq!(outcome.skipped.len(), 175);
    assert!(matches!(outcome.stopped, Some(ReadError::RateLimited { .. })));
    assert_eq!(seen.requests, 1 + 5 + 1);
}

#[test]
fn a_rate_limit_waits_at_least_the_retry_wait_and_at_most_the_longest() {
    let now: Time = "2026-11-01T12:00:00Z".parse().unwrap();
    let wait = |seconds: Option<i64>| {
        limit_wait(
            seconds.map(|seconds| now + chrono::TimeDelta::seconds(seconds)),
            now,
            &limits(),
        )
        .map(|wait| wait.as_secs())
    };
    assert_eq!(wait(None), Some(30));
    assert_eq!(wait(Some(-5)), Some(30));
    assert_eq!(wait(Some(2)), Some(30));
    assert_eq!(wait(Some(90)), Some(90));
    assert_eq!(wait(Some(120)), Some(120));
    assert_eq!(wait(Some(3_000)), None);

    let until = Some("2026-11-01T12:50:00Z".parse().unwrap());
    let (outcome, seen) = read(&refs(30), |_, _| Err(ReadError::RateLimited { until }));
    assert_eq!(outcome.stopped, Some(ReadError::RateLimited { until }));
    assert_eq!((seen.requests, seen.waited), (2, Duration::ZERO));
}

/// A pull request of which every list goes on.
fn long(number: u64) -> Value {
    let mut repository = repository("owner/name", number);
    let pull = &mut repository["pullRequest"];
    let comments = |count: usize| (0..count).map(comment).collect::<Vec<_>>();
    pull["comments"] = list(3, comments(2));
    pull["reviewThreads"] = list(2, vec![thread("T1", list(3, comments(2)))]);
    pull["headCommit"]["nodes"][0]["commit"] = head(json!({"contexts": list(3, vec![run(1), run(2)])}));
    repository
}

/// Answers the pages that [`long`] wants, by what stands in the document under each alias.
fn long_pages(asked: &Asked<'_>) -> Value {
    let mut data = Map::new();
    for line in asked.text.lines().filter_map(|line| line.strip_prefix("  page")) {
        let alias = format!("page{}", line.split(':').next().unwrap());
        let value = if line.contains("node(") {
            json!({"__typename": "PullRequestReviewThread", "comments": list(1, vec![comment(9)])})
        } else if line.contains("reviewThreads(") {
            json!({"pullRequest": {"reviewThreads": list(1, vec![thread("T2", list(0, vec![]))])}})
        } else if line.contains("comments(") {
            json!({"pullRequest": {"comments": list(1, vec![comment(9)])}})
        } else {
            json!({"object": {"__typename": "Commit", "statusCheckRollup": {"contexts": list(1, vec![run(3)])}}})
        };
        data.insert(alias, value);
    }
    Value::Object(data)
}

#[test]
fn further_pages_of_many_go_in_one_document() {
    let (outcome, seen) = read(&refs(20), |_, asked| {
        let data = if asked.is_pulls() {
            asked.data(long)
        } else {
            long_pages(asked)
        };
        answer(&json!({"data": data}))
    });
    assert_eq!(outcome.found.len(), 20, "{:?}", outcome.skipped);
    assert_eq!(seen.requests, 2);
    for facts in &outcome.found {
        assert_eq!(facts.comments.len(), 3);
        assert_eq!(
            facts
                .threads
                .iter()
                .map(|thread| thread.comments.len())
                .collect::<Vec<_>>(),
            [3, 0]
        );
        assert_eq!(facts.threads[0].comments[0].diff_hunk, "@@ -1 +1 @@");
        assert_eq!(facts.checks.contexts.as_ref().unwrap().len(), 3);
    }
}

/// 200 pull requests of which every list has a hundred entries: viewer, two pages of the search and
/// these stay below 25 requests (contract, section 4).
#[test]
fn two_hundred_with_a_hundred_of_each_list_stay_below_the_bound() {
    let issue = || json!({"number": 1, "closed": false, "repository": {"nameWithOwner": "o/r"}, "closings": {"nodes": []}});
    let suite = || json!({"databaseId": 1, "status": "QUEUED", "createdAt": crate::fixture::READ_AT});
    let one = || thread("T", list(0, vec![]));
    let full = |number: u64| {
        let mut repository = repository("owner/name", number);
        let pull = &mut repository["pullRequest"];
        pull["reviewThreads"] = list(100, (0..50).map(|_| one()).collect());
        pull["closingIssuesReferences"] = list(100, (0..20).map(|_| issue()).collect());
        pull["headCommit"]["nodes"][0]["commit"]["checkSuites"] =
            list(100, (0..50).map(|_| suite()).collect());
        repository
    };
    let (outcome, seen) = read(&refs(200), |_, asked| {
        if asked.is_pulls() {
            return answer(&json!({"data": asked.data(full)}));
        }
        let last = |nodes: Vec<Value>| list(nodes.len(), nodes);
        let mut data = Map::new();
        for line in asked.text.lines().filter_map(|line| line.strip_prefix("  page")) {
            let value = if line.contains("reviewThreads(") {
                json!({"pullRequest": {"reviewThreads": last((0..50).map(|_| one()).collect())}})
            } else if line.contains("closingIssuesReferences(") {
                json!({"pullRequest": {"closingIssuesReferences": last((0..80).map(|_| issue()).collect())}})
            } else {
                json!({"object": {"checkSuites": last((0..50).map(|_| suite()).collect())}})
            };
            data.insert(format!("page{}", line.split(':').next().unwrap()), value);
        }
        answer(&json!({"data": data}))
    });
    assert_eq!(outcome.found.len(), 200, "{:?}", outcome.skipped.first());
    let facts = &outcome.found[0];
    assert_eq!(
        (facts.threads.len(), facts.closes.len(), facts.checks.suites.len()),
        (100, 100, 100)
    );
    assert!(seen.requests <= 25 - 3, "{} requests", seen.requests);
}

#[test]
fn a_list_that_ends_short_is_read_again_and_then_given_up() {
    let short = |number: u64| {
        let mut repository = repository("owner/name", number);
        let comments = &mut repository["pullRequest"]["comments"];
        *comments = list(2, vec![comment(1)]);
        comments["pageInfo"] = json!({"hasNextPage": false, "endCursor": null});
        repository
    };
    let ask = |second: Value| {
        read(&refs(1), move |_, asked| {
            if asked.is_pulls() {
                return answer(&json!({"data": asked.data(short)}));
            }
            assert_eq!(asked.variables["after0"], Value::Null);
            answer(&json!({"data": {"page0": {"pullRequest": {"comments": second}}}}))
        })
    };
    let (outcome, _) = ask(list(2, vec![comment(1), comment(2)]));
    assert_eq!(outcome.found[0].comments.len(), 2);
    let (outcome, seen) = ask(short(1)["pullRequest"]["comments"].clone());
    assert_eq!(
        skipped(&outcome),
        [(1, "1 of 2 comments could be read".to_owned())]
    );
    assert_eq!(seen.requests, 2);
}

#[test]
fn a_page_that_fails_takes_its_pull_request_alone() {
    let (outcome, seen) = read(&refs(2), |_, asked| {
        if asked.is_pulls() {
            return answer(&json!({"data": asked.data(|number| {
                if number == 1 { long(number) } else { repository("owner/name", number) }
            })}));
        }
        let mut data = long_pages(asked);
        data["page0"] = Value::Null;
        answer(
            &json!({"data": data, "errors": [{"message": "Something went wrong", "path": ["page0", "pullRequest"]}]}),
        )
    });
    assert_eq!(found(&outcome), [2]);
    assert_eq!(
        skipped(&outcome),
        [(1, "page0.pullRequest: Something went wrong".to_owned())]
    );
    // The batch, its pages, and the one page again.
    assert_eq!(seen.requests, 3);
}

#[test]
fn a_head_that_is_not_the_last_commit_is_read_by_its_id() {
    let mut asked_for = Value::Null;
    let (outcome, seen) = read(&refs(1), |_, asked| {
        if asked.is_pulls() {
            return answer(&json!({"data": asked.data(|number| {
                let mut repository = repository("owner/name", number);
                repository["pullRequest"]["headCommit"]["nodes"][0]["commit"]["oid"] = json!("c".repeat(40));
                repository
            })}));
        }
        asked_for = asked.variables["oid0"].clone();
        let mut object = head(json!({"contexts": list(1, vec![run(1)])}));
        object["__typename"] = json!("Commit");
        answer(&json!({"data": {"page0": {"object": object}}}))
    });
    assert_eq!(seen.requests, 2);
    assert_eq!(asked_for, HEAD);
    assert_eq!(outcome.found[0].checks.contexts.as_ref().unwrap().len(), 1);
}

#[test]
fn a_head_from_the_future_is_bounded_by_its_older_commits() {
    let (outcome, seen) = read(&refs(1), |_, asked| {
        if asked.is_pulls() {
            return answer(&json!({"data": asked.data(|number| {
                let mut repository = repository("owner/name", number);
                let pull = &mut repository["pullRequest"];
                pull["headCommit"]["nodes"][0]["commit"]["committedDate"] = json!("2030-01-01T00:00:00Z");
                pull["commits"]["nodes"][0]["commit"]["committedDate"] = json!("2030-01-01T00:00:00Z");
                pull["commits"]["pageInfo"]["hasPreviousPage"] = json!(true);
                repository
            })}));
        }
        assert_eq!(asked.variables["after0"], "first");
        let older = json!({"commit": {"oid": HEAD, "committedDate": "2026-10-30T09:00:00Z"}});
        answer(&json!({"data": {"page0": {"pullRequest": {"commits": {
            "totalCount": 101, "pageInfo": {"hasPreviousPage": false, "startCursor": null}, "nodes": [older],
        }}}}}))
    });
    assert_eq!(seen.requests, 2);
    let head = &outcome.found[0].head;
    let dates: Vec<String> = head.commit_dates.iter().map(|at| at.to_rfc3339()).collect();
    assert_eq!(dates, ["2030-01-01T00:00:00+00:00", "2026-10-30T09:00:00+00:00"]);
}

proptest! {
    /// Whatever GitHub does and in whatever order it answers: the plan ends, each pull request is
    /// found or skipped once, and there are never more requests on their way than allowed.
    #[test]
    fn each_ends_found_or_skipped(
        count in 0_usize..80,
        fates in prop::collection::vec(0_u8..8, 1..60),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
    ) {
        let mut turn = 0;
        let (outcome, seen) = drive(
            &refs(count),
            |request, asked| {
                match fates[request % fates.len()] {
                    0 => server(),
                    1 => Err(ReadError::TimedOut { after: Duration::from_secs(30) }),
                    2 if request % 3 == 0 => Err(ReadError::RateLimited { until: None }),
                    3 => Err(ReadError::Unreachable { origin: "x".into(), why: "y".into() }),
                    4 => answer(&json!({"data": Value::Null, "errors": [{"message": "Something went wrong"}]})),
                    5 if asked.is_pulls() => answer(&json!({"data": asked.data(long)})),
                    _ if asked.is_pulls() => asked.plain(),
                    _ => answer(&json!({"data": long_pages(asked)})),
                }
            },
            |len| {
                turn += 1;
                picks[turn % picks.len()].index(len)
            },
        );
        prop_assert!(seen.most_in_flight <= 5);
        let mut times: BTreeMap<u32, usize> = BTreeMap::new();
        for number in found(&outcome).into_iter().chain(skipped(&outcome).into_iter().map(|(number, _)| number)) {
            *times.entry(number).or_default() += 1;
        }
        prop_assert_eq!(times.len(), count);
        prop_assert!(times.values().all(|times| *times == 1));
    }
}
