//! Tests: real answers of GitHub, where they lie beside the workspace, through the shapes of this
//! crate. They were asked for with other queries, so a field that ours has and theirs lacks is added;
//! what GitHub wrote stays as it is.

use http::{HeaderMap, StatusCode};
use pulls::facts::{Check, Conclusion, ReviewState, Suite, Time};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::answer::{Reply, graphql};
use crate::error::ReadError;
use crate::fixture::{READ_AT, shared};
use crate::shape;

fn payload(name: &str) -> Option<Value> {
    let path = shared().join("data/payloads").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no payload at {}", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn reply(body: &Value) -> Reply {
    Reply {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body: body.to_string().into(),
        at: READ_AT.parse().unwrap(),
    }
}

/// Every entry of a list, with the fields of `missing` that it lacks.
fn entries<T: DeserializeOwned>(list: &Value, missing: &Value) -> Vec<T> {
    let nodes = list["nodes"].as_array().unwrap();
    assert!(!nodes.is_empty());
    nodes
        .iter()
        .map(|node| {
            let mut node = node.clone();
            for (name, value) in missing.as_object().unwrap() {
                let fields = node.as_object_mut().unwrap();
                fields.entry(name.clone()).or_insert_with(|| value.clone());
            }
            if let Some(author) = node.get_mut("author").and_then(Value::as_object_mut) {
                author.entry("__typename").or_insert_with(|| json!("User"));
            }
            serde_json::from_value(node.clone()).unwrap_or_else(|error| panic!("{error}: {node}"))
        })
        .collect()
}

#[test]
fn errors() {
    let Some(errors) = payload("graphql-errors.json") else {
        return;
    };
    let limit = graphql(reply(&errors["rate_limit"])).unwrap_err();
    assert_eq!(limit, ReadError::RateLimited { until: None });
    let meaning = |name: &str| graphql(reply(&errors[name])).unwrap().errors[0].meaning();
    assert_eq!(
        meaning("forbidden").to_string(),
        "no access: Resource not accessible by integration"
    );
    let ReadError::Partial { kind, path, .. } = meaning("unprocessable") else {
        panic!("not a part")
    };
    assert_eq!(
        (kind.as_deref(), path.as_str()),
        (Some("UNPROCESSABLE"), "enablePullRequestAutoMerge")
    );
}

#[test]
fn budget() {
    let Some(answer) = payload("graphql-28793-forcepush-last-commits.json") else {
        return;
    };
    let answer = graphql(reply(&answer)).unwrap();
    let budget: shape::BudgetShape = answer.field("rateLimit").unwrap().unwrap();
    assert_eq!((budget.cost, budget.remaining), (1, 4_999));
}

#[test]
fn suites_of_apps_that_never_ran_and_of_no_workflow() {
    let Some(answer) = payload("graphql-73811-check-suites.json") else {
        return;
    };
    let list = &answer["data"]["repository"]["pullRequest"]["commits"]["nodes"][0]["commit"]["checkSuites"];
    let runs = |suite: &Value| suite["checkRuns"]["nodes"].as_array().map_or(0, Vec::len);
    let counts: Vec<usize> = list["nodes"].as_array().unwrap().iter().map(runs).collect();
    let mut list = list.clone();
    for (suite, count) in list["nodes"].as_array_mut().unwrap().iter_mut().zip(&counts) {
        suite["checkRuns"] = json!({"totalCount": count});
    }
    let missing = json!({"status": "QUEUED", "createdAt": READ_AT, "databaseId": 3_179_291_305_u64});
    let suites: Vec<shape::SuiteShape> = entries(&list, &missing);
    let suites: Vec<Suite> = suites.into_iter().map(Into::into).collect();
    assert!(
        suites
            .iter()
            .any(|suite| suite.runs == 0 && suite.conclusion.is_none())
    );
    assert!(suites.iter().any(|suite| suite.workflow.is_none()));
    assert!(
        suites
            .iter()
            .any(|suite| suite.conclusion == Some(Conclusion::Success))
    );
}

#[test]
fn checks_of_several_commits() {
    let Some(answer) = payload("graphql-10023-commit-rollups.json") else {
        return;
    };
    let commits = answer["data"]["repository"]["pullRequest"]["commits"]["nodes"]
        .as_array()
        .unwrap()
        .clone();
    let missing = json!({"databaseId": 1, "url": "", "startedAt": null, "completedAt": "", "checkSuite": {"app": null}});
    let (mut without, mut skipped) = (0, 0);
    for commit in &commits {
        let rollup = &commit["commit"]["statusCheckRollup"];
        if rollup.is_null() {
            without += 1;
            continue;
        }
        for context in entries::<shape::Context>(&rollup["contexts"], &missing) {
            let Check::Run(run) = shape::check(Some(context)) else {
                continue;
            };
            assert!(!run.name.is_empty());
            skipped += usize::from(run.conclusion == Some(Conclusion::Skipped));
        }
    }
    assert!(without > 0 && skipped > 0);
}

#[test]
fn words_of_reviewers_and_bots() {
    let Some(answer) = payload("graphql-613-before.json") else {
        return;
    };
    let pull = &answer["data"]["repository"]["pullRequest"];
    let missing =
        json!({"url": "", "authorAssociation": "MEMBER", "isMinimized": false, "createdAt": READ_AT});
    let reviews: Vec<shape::Reviewed> = entries(&pull["reviews"], &missing);
    let reviews: Vec<pulls::facts::Review> = reviews.into_iter().map(Into::into).collect();
    assert_eq!(reviews[0].body, "");
    assert_eq!(reviews[1].state, ReviewState::ChangesRequested);
    assert_eq!(
        reviews[1].submitted_at,
        Some("2026-05-04T03:47:00Z".parse::<Time>().unwrap())
    );

    let Some(answer) = payload("graphql-6057-page1.json") else {
        return;
    };
    let pull = &answer["data"]["repository"]["pullRequest"];
    let comments: Vec<shape::Spoken> = entries(&pull["comments"], &missing);
    let comments: Vec<pulls::facts::Comment> = comments.into_iter().map(Into::into).collect();
    assert!(comments.iter().all(|comment| comment.author.is_some()));
    assert!(comments.iter().any(|comment| comment.body.contains('中')));
}

fn checks_of(asked: &Value) -> Vec<(String, Option<u64>)> {
    let asked: shape::StatusChecks = serde_json::from_value(asked.clone()).unwrap();
    let required = asked.required();
    required
        .into_iter()
        .map(|check| (check.context, check.app))
        .collect()
}

#[test]
fn b024_what_a_branch_requires_and_from_which_app() {
    if let Some(protection) = payload("rest-branch-protection-checks.json") {
        assert_eq!(
            checks_of(&protection["required_status_checks"]),
            [("context".to_owned(), None), ("context2".to_owned(), Some(123))],
            "the names that `contexts` repeats come once"
        );
    }
    // A server that knows no apps yet names the contexts alone.
    assert_eq!(
        checks_of(&json!({"strict": true, "contexts": ["a"]})),
        [("a".to_owned(), None)]
    );
    if let Some(rules) = payload("rest-rules-branch.json") {
        let rules: Vec<shape::Rule> = serde_json::from_value(rules).unwrap();
        assert_eq!(rules.len(), 3);
        assert!(rules.into_iter().all(|rule| rule.required().unwrap().is_empty()));
    }
    let rule = |parameters: Value| -> shape::Rule {
        serde_json::from_value(json!({"type": "required_status_checks", "parameters": parameters})).unwrap()
    };
    let asked = json!({"strict_required_status_checks_policy": false, "required_status_checks": [
        {"context": "Vercel", "integration_id": 8329}, {"context": "any", "integration_id": -1}, {"context": "bare"},
    ]});
    let apps: Vec<Option<u64>> = rule(asked)
        .required()
        .unwrap()
        .into_iter()
        .map(|check| check.app)
        .collect();
    assert_eq!(apps, [Some(8329), None, None]);
    // What is of another shape is no rule that requires nothing.
    assert!(
        rule(json!({"required_status_checks": [{"name": "?"}]}))
            .required()
            .is_err()
    );
    assert!(rule(Value::Null).required().is_err());
}

#[test]
fn a_branch_that_is_not_protected_has_no_protection_to_tell() {
    let Some(body) = payload("rest-error-not-protected.json") else {
        return;
    };
    let mut reply = reply(&body);
    reply.status = StatusCode::NOT_FOUND;
    reply
        .headers
        .insert("content-type", "application/json".parse().unwrap());
    let error = crate::answer::judge_status(&reply).unwrap_err();
    assert_eq!(error.to_string(), "unexpected status 404: Branch not protected");
}
