//! Pull requests, their commits and their timelines.

use ::pulls::facts::{MergeState, Mergeable, PullState, ReviewState};
use serde_json::{Value, json};
use world::{Association, CommentSpec, CommitSpec, PullSpec, ReviewSpec, ThreadSpec, Who, World};

use super::{capitals, is_over, number_of, tells};
use crate::payloads::Payload;
use crate::payloads::convert::{association, list, text, who};
use crate::payloads::gh::judged_at;
use crate::support::{at, judge, pr, read, read_one, reader, serve};

/// A pull request as REST's own object gives it.
fn pull(from: &Value) -> PullSpec {
    let repo = text(&from["base"]["repo"], "full_name").unwrap();
    let created = text(from, "created_at").unwrap();
    let mut pull = PullSpec::new(repo, number_of(from))
        .author(who(&from["user"]))
        .association(association(from))
        .title(text(from, "title").unwrap_or_default())
        .body(text(from, "body").unwrap_or_default())
        .created(created)
        .updated(text(from, "updated_at").unwrap())
        .base(text(&from["base"], "ref").unwrap())
        .branch(text(&from["head"], "ref").unwrap())
        .head(CommitSpec::at(created).oid(text(&from["head"], "sha").unwrap()))
        .mergeable(match from.get("mergeable") {
            Some(Value::Bool(true)) => "MERGEABLE",
            Some(Value::Bool(false)) => "CONFLICTING",
            _ => "UNKNOWN",
        });
    if let Some(word) = capitals(from, "mergeable_state") {
        pull = pull.merge_state(&word);
    }
    if from["draft"] == true {
        pull = pull.draft();
    }
    pull = match (text(from, "merged_at"), text(from, "closed_at")) {
        (Some(at), _) => pull.merged(at),
        (None, Some(at)) => pull.closed(at),
        (None, None) => pull,
    };
    match text(&from["head"]["repo"], "full_name") {
        None => pull.fork_deleted(),
        Some(name) if name != repo => pull.from_fork_of(name.split('/').next().unwrap()),
        Some(_) => pull,
    }
}

pub async fn author_deleted(payload: Payload) {
    let now = "2021-11-08T13:00:00Z";
    let name = "hub4j-test-org/github-api#2";
    let pull = pull(&payload.body)
        .comment(CommentSpec::new(Who::Deleted, Association::None, "Really?").at("2021-11-08T12:00:00Z"));
    let served = serve(World::builder(now).pull(pull)).await;
    let facts = read_one(&served, name).await;
    assert_eq!((&facts.author, &facts.comments[0].author), (&None, &None));
    is_over(&facts, PullState::Closed, now);
    served.edit(|world| {
        let pull = world.pull_json(("hub4j-test-org/github-api", 2)).unwrap();
        pull.insert("state".into(), "OPEN".into());
    });
    let judged = judge(read_one(&served, name).await, at(now));
    judged.waits("no review required and none given");
    assert!(!judged.is_asked(), "nobody asks nobody");
}

pub async fn commits_of_nobody(payload: Payload) {
    let commits: Vec<&Value> = payload.body.as_array().unwrap().iter().collect();
    let mut pull = PullSpec::new("ethereum/ERCs", 302).created("2024-03-06T14:30:00Z");
    for entry in &commits {
        let at = text(&entry["commit"]["committer"], "date").unwrap();
        let commit = CommitSpec::at(at).oid(text(entry, "sha").unwrap());
        pull = if std::ptr::eq(*entry, *commits.last().unwrap()) {
            pull.head(commit)
        } else {
            pull.earlier(commit)
        };
    }
    // The committer that is an empty object there is a name without an account in GraphQL.
    let nobody = json!({ "name": "Someone", "email": "", "date": "2024-03-06T14:21:40Z", "user": null });
    let pull = pull
        .raw_head(move |head| {
            head.insert("author".into(), nobody.clone());
            head.insert("committer".into(), nobody);
        })
        .comment(CommentSpec::new("person-23", Association::Member, "Why so?").at("2024-03-06T14:25:00Z"));
    let (_, judged) = judged_at(pull, "2024-03-06T15:00:00Z").await;
    assert_eq!(judged.facts.head.committed_at, at("2024-03-06T14:21:40Z"));
    judged.is(
        "investigate",
        "investigate.question",
        "person-23 asked a question: Why so?",
    );
}

pub async fn new_draft(payload: Payload) {
    let (_, judged) = judged_at(pull(&payload.body), "2019-10-21T22:35:48Z").await;
    judged.waits("no review required and none given; draft; no checks have been reported yet");
    assert_eq!(judged.facts.mergeable, Mergeable::Unknown);
    assert_eq!(judged.facts.merge_state, MergeState::Draft);
    assert!(judged.verdict.signals.draft);
    assert_eq!(judged.ci(), "pending", "it was opened a minute ago");
}

pub async fn deleted_fork(payload: Payload) {
    let now = "2021-10-12T14:00:00Z";
    let listed = payload.body.as_array().unwrap();
    let served = serve(World::builder(now).pulls(listed.iter().map(pull))).await;
    let refs = [182, 188, 176].map(|number| pr(&format!("betamaxpy/betamax#{number}")));
    let got = read(&reader(&served), &refs).await;
    let mut deleted = Vec::new();
    for facts in got.found {
        let judged = judge(facts, at(now));
        judged.waits(if judged.verdict.signals.fork_deleted {
            "no review required and none given; author cannot push: fork deleted"
        } else {
            "no review required and none given"
        });
        assert_eq!(
            judged.facts.mergeable,
            Mergeable::Unknown,
            "the list does not say"
        );
        let number = judged.facts.at.number.get();
        deleted.push((
            number,
            judged.verdict.signals.fork_deleted,
            judged.facts.head.branch,
        ));
    }
    let branch = "patch-1".to_owned();
    let doc_fixes = "minor-doc-fixes".to_owned();
    assert_eq!(
        deleted,
        [
            (182, true, branch.clone()),
            (188, false, branch),
            (176, false, doc_fixes)
        ]
    );
}

pub async fn compare(payload: Payload) {
    let now = "2012-05-26T00:00:00Z";
    let commits: Vec<&Value> = list(&payload.body, "commits").collect();
    let commit = |entry: &Value| {
        CommitSpec::at(text(&entry["commit"]["committer"], "date").unwrap()).oid(text(entry, "sha").unwrap())
    };
    let (head, earlier) = commits.split_last().unwrap();
    let mut pull = PullSpec::new("PyGithub/PyGithub", 7)
        .created("2012-05-25T18:00:00Z")
        .head(commit(head))
        .behind(payload.body["behind_by"].as_u64().unwrap());
    for entry in earlier {
        pull = pull.earlier(commit(entry));
    }
    let (_, judged) = judged_at(pull, now).await;
    judged.waits("no review required and none given");
    assert_eq!(
        judged.verdict.signals.behind_by,
        Some(0),
        "ahead by 4 and not behind"
    );
    assert_eq!(judged.facts.head.committed_at, at("2012-05-25T17:14:34Z"));
}

pub async fn timeline(payload: Payload) {
    let now = "2018-07-01T00:00:00Z";
    let events: Vec<&Value> = payload.body.as_array().unwrap().iter().collect();
    let mut pull = PullSpec::new("PyGithub/PyGithub", 31)
        .author("person-28")
        .created("2012-05-27T07:30:00Z");
    let mut commits = Vec::new();
    for event in events {
        pull = match text(event, "event").unwrap() {
            "committed" => {
                let at = text(&event["committer"], "date").unwrap();
                commits.push(CommitSpec::at(at).oid(text(event, "sha").unwrap()));
                pull
            }
            "merged" => pull.merged(text(event, "created_at").unwrap()),
            "commented" => pull.comment(
                CommentSpec::new(
                    who(&event["user"]),
                    association(event),
                    text(event, "body").unwrap(),
                )
                .at(text(event, "created_at").unwrap()),
            ),
            "line-commented" => {
                let comment = &event["comments"][0];
                let spec = CommentSpec::new(
                    who(&comment["user"]),
                    association(comment),
                    text(comment, "body").unwrap(),
                )
                .at(text(comment, "created_at").unwrap());
                let line = comment["line"].as_u64().unwrap().try_into().unwrap();
                pull.thread(ThreadSpec::new(text(comment, "path").unwrap(), spec).line(line))
            }
            "reviewed" => pull.review(
                ReviewSpec::new(
                    who(&event["user"]),
                    association(event),
                    &capitals(event, "state").unwrap(),
                    text(event, "body").unwrap_or_default(),
                )
                .at(text(event, "submitted_at").unwrap()),
            ),
            // Who subscribes, is assigned or refers to it says nothing about it.
            _ => pull,
        };
    }
    let head = commits.pop().unwrap();
    for commit in commits {
        pull = pull.earlier(commit);
    }
    let served = serve(World::builder(now).pull(pull.head(head))).await;
    let facts = read_one(&served, "PyGithub/PyGithub#31").await;
    is_over(&facts, PullState::Merged, now);
    assert_eq!(facts.head.committed_at, at("2012-05-27T09:07:47Z"));
    assert_eq!((facts.comments.len(), facts.threads.len()), (1, 1));
    assert_eq!(
        (facts.threads[0].line, facts.threads[0].path.as_str()),
        (Some(73), "codegen/templates/GithubObject.py")
    );
    let states: Vec<&ReviewState> = facts.reviews.iter().map(|review| &review.state).collect();
    assert_eq!(states, [&ReviewState::Commented; 2], "in small letters there");
    tells(&payload.head.unwrap(), Some(&["repo"]), "2025-03-09T13:08:59Z").await;
}
