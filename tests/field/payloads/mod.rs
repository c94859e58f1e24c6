//! Answers that GitHub or `gh` wrote, each through the world, the reader and the rules.
//!
//! They are read where they lie, in the data that is shared with other projects, and are no part of this
//! one. What a payload is turned into stands in `convert`: the equivalent GraphQL answer, since the reader
//! asks for nothing else. One that is an answer by itself is served as it is.

mod convert;
mod gh;
mod graphql;
mod rest;

use std::collections::BTreeSet;

use serde_json::Value;
use world::Canned;

use crate::support::{shared, shared_text};

/// Where the payloads lie in the shared data.
const FOLDER: &str = "data/payloads";

/// One payload, with the headers that it came with where they were kept.
pub struct Payload {
    /// The body.
    pub body: Value,
    /// The status and the headers.
    pub head: Option<Head>,
}

/// What stood above a body.
pub struct Head {
    /// The status.
    pub status: u16,
    /// What was asked for.
    pub target: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
}

impl Head {
    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let (status, target) = lines.next().unwrap().split_once(' ').unwrap();
        let header = |line: &str| {
            line.split_once(':')
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        };
        Self {
            status: status.parse().unwrap(),
            target: target.to_owned(),
            headers: lines.filter_map(header).collect(),
        }
    }

    /// These headers above another body.
    pub fn above(&self, status: u16, body: &Value) -> Canned {
        let mut canned = Canned::json(status, body);
        for (name, value) in self.headers.iter().filter(|(name, _)| name != "content-type") {
            canned = canned.header(name, value);
        }
        canned
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Payload {
    fn load(file: &str) -> Option<Self> {
        let body = shared_text(&format!("{FOLDER}/{file}"))?;
        let head = shared()?.join(FOLDER).join(file.replace(".json", ".headers.txt"));
        Some(Self {
            body: serde_json::from_str(&body).unwrap(),
            head: std::fs::read_to_string(head).ok().map(|text| Head::parse(&text)),
        })
    }

    /// The whole answer as it came.
    pub fn answer(&self) -> Canned {
        let head = self.head.as_ref().unwrap();
        head.above(head.status, &self.body)
    }
}

/// The table: every payload with its test.
macro_rules! payloads {
    ($($name:ident: $file:literal => $test:path;)+) => {
        const TABLE: &[&str] = &[$($file),+];

        $(
            #[tokio::test]
            async fn $name() {
                if let Some(payload) = Payload::load($file) {
                    $test(payload).await;
                }
            }
        )+
    };
}

payloads! {
    gh_pr_list_review_decisions: "gh-pr-list-review-decisions.json" => gh::list;
    gh_pr_view_311_question: "gh-pr-view-311-question.json" => gh::question;
    gh_pr_view_407_behind: "gh-pr-view-407-behind.json" => gh::behind;
    gh_pr_view_477_approved_but_blocked: "gh-pr-view-477-approved-but-blocked.json" => gh::approved_but_blocked;
    gh_pr_view_477_latestreviews_omits_blocker: "gh-pr-view-477-latestreviews-omits-blocker.json" => gh::omits_blocker;
    gh_pr_view_506_checks_running: "gh-pr-view-506-checks-running.json" => gh::checks_running;
    gh_pr_view_604_latestreview_dismissed: "gh-pr-view-604-latestreview-dismissed.json" => gh::dismissed;
    gh_pr_view_609_conflict_no_checks: "gh-pr-view-609-conflict-no-checks.json" => gh::conflict;
    gh_pr_view_614_clean: "gh-pr-view-614-clean.json" => gh::clean;
    gh_pr_view_615_empty_rollup: "gh-pr-view-615-empty-rollup.json" => gh::empty_rollup;
    gh_pr_view_623_ci_failure: "gh-pr-view-623-ci-failure.json" => gh::ci_failure;
    graphql_10023_commit_rollups: "graphql-10023-commit-rollups.json" => graphql::commit_rollups;
    graphql_28793_forcepush_last_commits: "graphql-28793-forcepush-last-commits.json" => graphql::force_push;
    graphql_528_review_threads: "graphql-528-review-threads.json" => graphql::review_threads;
    graphql_6057_page1: "graphql-6057-page1.json" => graphql::beyond_every_page;
    graphql_613_before: "graphql-613-before.json" => graphql::thread_and_reviews;
    graphql_73811_check_suites: "graphql-73811-check-suites.json" => graphql::check_suites;
    graphql_errors: "graphql-errors.json" => graphql::errors;
    graphql_search_gh_dash: "graphql-search-gh-dash.json" => graphql::search;
    rest_branch_protection_checks: "rest-branch-protection-checks.json" => rest::checks::branch_protection;
    rest_check_runs: "rest-check-runs.json" => rest::checks::check_runs;
    rest_check_suites_never_ran: "rest-check-suites-never-ran.json" => rest::checks::suites_that_never_ran;
    rest_compare: "rest-compare.json" => rest::pulls::compare;
    rest_error_not_protected: "rest-error-not-protected.json" => rest::not_protected;
    rest_issue_comments_bot: "rest-issue-comments-bot.json" => rest::words::bot_comment;
    rest_paginate_issues: "rest-paginate-issues.json" => rest::second_page;
    rest_pull_author_deleted: "rest-pull-author-deleted.json" => rest::pulls::author_deleted;
    rest_pull_commits_empty_author: "rest-pull-commits-empty-author.json" => rest::pulls::commits_of_nobody;
    rest_pull_draft_mergeable_null: "rest-pull-draft-mergeable-null.json" => rest::pulls::new_draft;
    rest_pulls_list_deleted_fork_open: "rest-pulls-list-deleted-fork-open.json" => rest::pulls::deleted_fork;
    rest_rate_limit: "rest-rate-limit.json" => rest::rate_limit;
    rest_reactions_issue_comment: "rest-reactions-issue-comment.json" => rest::words::reaction;
    rest_review_comments_outdated: "rest-review-comments-outdated.json" => rest::words::review_comments;
    rest_review_pending: "rest-review-pending.json" => rest::words::pending_review;
    rest_reviews_user_null: "rest-reviews-user-null.json" => rest::words::review_of_nobody;
    rest_rules_branch: "rest-rules-branch.json" => rest::checks::rules;
    rest_search_issues_page: "rest-search-issues-page.json" => rest::search;
    rest_statuses_history: "rest-statuses-history.json" => rest::checks::statuses;
    rest_timeline_pull: "rest-timeline-pull.json" => rest::pulls::timeline;
    rest_workflow_runs_awaiting_approval: "rest-workflow-runs-awaiting-approval.json" => rest::checks::awaiting_approval;
}

#[test]
fn every_payload_has_its_test() {
    let Some(folder) = shared()
        .map(|shared| shared.join(FOLDER))
        .filter(|it| it.is_dir())
    else {
        println!("skipped: no {FOLDER} in the shared data");
        return;
    };
    let names = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let there: BTreeSet<String> = names.filter(|name| name != "INDEX.md").collect();
    // The headers of an answer are read with its body.
    let is_tested = |name: &&String| {
        let body = name.replace(".headers.txt", ".json");
        TABLE.contains(&body.as_str()) && there.contains(&body)
    };
    let untested: Vec<&String> = there.iter().filter(|name| !is_tested(name)).collect();
    assert!(untested.is_empty(), "no test for {untested:?}");
    let gone: Vec<&&str> = TABLE.iter().filter(|name| !there.contains(**name)).collect();
    assert!(gone.is_empty(), "no payload for the tests of {gone:?}");
}
