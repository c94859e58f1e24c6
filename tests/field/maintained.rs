//! A maintained repository, end to end: from a served world over HTTP through the reader to evidence, states
//! and reasons.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use github::{Allowance, Reader};
use lifecycle::maintain::{
    Assignment, Evidence, FindingCounts, HeadReview, Remembered, Reviews, Routes, Settings, State, gather,
    project,
};
use pulls::facts::{Mergeable, PullFacts, Time};
use pulls::upkeep::{BranchFacts, RepositoryFacts};
use pulls::{PrRef, RepoName};
use world::{DEMO_MAINTAINED, DemoReview, Maintained, Served, World, demo_reviews, demo_states};

use crate::support::reader;

/// Everything that was read of one repository.
struct Kept {
    facts: RepositoryFacts,
    main: BranchFacts,
    pulls: Vec<PullFacts>,
    now: Time,
}

impl Kept {
    /// Reads what is open, and with it what changed since a day ago, which may have ended meanwhile.
    async fn read(served: &Served, reader: &Reader, repo: &str) -> Self {
        let free = Allowance::unlimited();
        let repo: RepoName = repo.parse().unwrap();
        let now = served.look(World::now);
        let facts = reader.repository_facts(&repo, &free).await.unwrap();
        let main = reader.branch(&repo, "main", &free).await.unwrap();
        let mut wanted = reader.open_pulls_of(&repo, &free).await.unwrap();
        let touched = reader
            .touched(&repo, now - TimeDelta::days(1), &free)
            .await
            .unwrap();
        assert!(touched.is_whole);
        for touched in touched.touched {
            if !wanted.contains(&touched.at) {
                wanted.push(touched.at);
            }
        }
        let read = reader.maintained(&wanted, &free, &|_| {}).await;
        assert!(
            read.skipped.is_empty() && read.stopped.is_none(),
            "{:?}",
            read.skipped
        );
        assert!(served.writes().is_empty(), "a reader wrote");
        Self {
            facts,
            main,
            pulls: read.found,
            now,
        }
    }

    fn assignment(&self, pull: &PullFacts) -> Assignment {
        let (routes, bad) = Routes::compile(self.facts.codeowners.as_ref(), &[]).unwrap();
        assert!(bad.is_empty(), "{bad:?}");
        let files = pull.upkeep.as_ref().and_then(|upkeep| upkeep.files.as_deref());
        let author = pull.author.as_ref().map(|author| &author.login);
        routes.assign(author, files.unwrap_or_default())
    }

    fn evidence(
        &self,
        pull: &PullFacts,
        assignment: Option<&Assignment>,
        review: Option<&DemoReview>,
    ) -> Evidence {
        let reviews = review.map(|review| Reviews {
            attempts: 1,
            is_claimed: true,
            of_head: if review.head_sha == pull.head.sha.as_str() {
                HeadReview::Completed {
                    at: self.now - TimeDelta::from_std(review.age).unwrap(),
                    quality: Some(review.quality.to_owned()),
                }
            } else {
                HeadReview::None
            },
        });
        let remembered = Remembered {
            assignment,
            reviews: reviews.as_ref(),
            findings: review.map_or_else(FindingCounts::default, |review| FindingCounts {
                open: review.open,
                disputed: review.disputed,
            }),
            ..Remembered::default()
        };
        gather(pull, Some(&self.main), remembered, &Settings::default(), self.now)
    }
}

fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value)
        .unwrap()
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn each_pull_request_of_the_demo_is_in_the_state_that_it_is_there_to_show() {
    let served = World::demo().serve().await.unwrap();
    let kept = Kept::read(&served, &reader(&served), DEMO_MAINTAINED).await;
    let reviews: BTreeMap<u32, DemoReview> = demo_reviews()
        .into_iter()
        .map(|review| (review.at.number, review))
        .collect();
    let mut found: BTreeMap<u32, (String, Option<String>)> = BTreeMap::new();
    for pull in &kept.pulls {
        let number = pull.at.number.get();
        let assignment = kept.assignment(pull);
        let expects_new = demo_states()
            .iter()
            .any(|expected| expected.at.number == number && expected.state == word(&State::New));
        // What is seen for the first time is not routed yet.
        let evidence = kept.evidence(pull, (!expects_new).then_some(&assignment), reviews.get(&number));
        let projected = project(&evidence, &Settings::default());
        let beside = projected.sub_status.map(|beside| word(&beside));
        found.insert(number, (word(&projected.state), beside));
    }
    let expected: BTreeMap<u32, (String, Option<String>)> = demo_states()
        .into_iter()
        .map(|state| {
            (
                state.at.number,
                (state.state.to_owned(), state.sub_status.map(str::to_owned)),
            )
        })
        .collect();
    assert_eq!(found, expected);
    let states: std::collections::BTreeSet<String> = found.into_values().map(|(state, _)| state).collect();
    assert_eq!(states.len(), 11, "one of each: {states:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_repository_is_counted_as_it_is() {
    let served = World::maintained(300).serve().await.unwrap();
    let reader = reader(&served);
    let kept = Kept::read(&served, &reader, Maintained::REPO).await;
    let expected = Maintained::of(300);
    let settings = Settings::default();
    let evidence: Vec<Evidence> = kept
        .pulls
        .iter()
        .map(|pull| kept.evidence(pull, Some(&kept.assignment(pull)), None))
        .collect();
    let count = |holds: &dyn Fn(&Evidence) -> bool| {
        u32::try_from(evidence.iter().filter(|it| holds(it)).count()).unwrap()
    };
    let idle = |days: i64| count(&|it| !it.is_draft && it.idle() >= TimeDelta::days(days));
    let in_state = |state: State| count(&|it| project(it, &settings).state == state);
    assert_eq!(count(&|_| true), expected.pulls);
    assert_eq!(count(&|it| it.is_draft), expected.drafts);
    assert_eq!(
        (idle(7), idle(14), idle(30)),
        (expected.idle_7, expected.idle_14, expected.idle_30)
    );
    assert_eq!(
        count(&|it| it.mergeability.mergeable == Mergeable::Conflicting),
        expected.conflicting
    );
    assert_eq!(
        count(&|it| it.mergeability.mergeable == Mergeable::Unknown),
        expected.unknown
    );
    let unowned = count(&|it| it.assignment.as_ref().is_some_and(|it| it.owner.is_none()));
    assert_eq!(unowned, expected.unowned);
    assert_eq!(in_state(State::Draft), expected.drafts);
    assert_eq!(in_state(State::Parked), expected.idle_14);
    assert_eq!(in_state(State::Stale), expected.idle_7 - expected.idle_14);
    // Facts, the branch, three pages of the list, one of what changed, twelve batches.
    assert!(
        reader.requests().total <= 1 + 4 + 3 + 3 + 12,
        "{:?}",
        reader.requests()
    );
    let refs: Vec<PrRef> = kept.pulls.iter().map(|pull| pull.at.clone()).collect();
    let heads = reader.heads(&refs, &Allowance::unlimited()).await;
    for (pull, head) in kept.pulls.iter().zip(&heads.found) {
        assert_eq!((&pull.at, &pull.checks), (&head.at, &head.checks));
    }
}
