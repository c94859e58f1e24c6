//! Comments, reviews and reactions.

use std::collections::BTreeMap;

use pulls::facts::{AccountKind, ReviewState};
use serde_json::Value;
use world::{Association, CommentSpec, PullSpec, ReviewSpec, ThreadSpec};

use super::{between, tells};
use crate::payloads::Payload;
use crate::payloads::convert::{association, text, who};
use crate::payloads::gh::judged_at;
use crate::support::at;

pub async fn bot_comment(payload: Payload) {
    let comment = &payload.body[0];
    let number = between(text(comment, "html_url").unwrap(), "/pull/", "#")
        .parse()
        .unwrap();
    let pull = PullSpec::new("example-team/Harmony", number)
        .created("2026-04-29T15:00:00Z")
        .comment(
            CommentSpec::new(
                who(&comment["user"]),
                association(comment),
                text(comment, "body").unwrap(),
            )
            .at(text(comment, "created_at").unwrap()),
        );
    let (_, judged) = judged_at(pull, "2026-04-29T16:30:00Z").await;
    judged.waits("no review required and none given");
    let author = judged.facts.comments[0].author.as_ref().unwrap();
    assert_eq!((author.login.as_str(), author.kind), ("vercel", AccountKind::Bot));
    assert_eq!(
        author.login,
        text(&comment["user"], "login").unwrap().parse().unwrap(),
        "one account"
    );
    assert_eq!(judged.facts.comments[0].body, text(comment, "body").unwrap());
}

pub async fn reaction(payload: Payload) {
    // The author's thumb is no word: the question beside it goes on waiting.
    let reaction = &payload.body[0];
    assert_eq!(text(reaction, "content"), Some("+1"));
    let url = "https://github.com/PyGithub/PyGithub/pull/31#issuecomment-20227753";
    let question = CommentSpec::new("person-27", Association::Member, "Could you add a test?");
    let question = question.at("2017-12-10T23:30:00Z").raw(move |node| {
        node.insert("url".into(), url.into());
    });
    let pull = PullSpec::new("PyGithub/PyGithub", 31)
        .author(who(&reaction["user"]))
        .created("2017-12-10T20:00:00Z")
        .updated(text(reaction, "created_at").unwrap())
        .comment(question);
    let (_, judged) = judged_at(pull, "2017-12-10T23:56:30Z").await;
    judged.is(
        "investigate",
        "investigate.question",
        "person-27 asked a question: Could you add a test?",
    );
    assert_eq!(judged.who_waits(), (Some("person-27"), Some(url)));
    let head = payload.head.unwrap();
    tells(&head, Some(&["repo", "user"]), "2017-12-10T23:56:30Z").await;
}

pub async fn review_comments(payload: Payload) {
    // REST's list is flat: a reply names the comment that its thread begins with.
    let mut threads: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for comment in payload.body.as_array().unwrap() {
        let begins = comment.get("in_reply_to_id").unwrap_or(&comment["id"]);
        threads.entry(begins.as_u64().unwrap()).or_default().push(comment);
    }
    let mut pull = PullSpec::new("example-team/Harmony", 604)
        .author("person-04")
        .created("2026-05-01T22:00:00Z");
    for comments in threads.values() {
        let mut specs = comments.iter().map(|from| {
            let body = text(from, "body").unwrap_or_default();
            CommentSpec::new(who(&from["user"]), association(from), body)
                .at(text(from, "created_at").unwrap_or("2026-05-02T01:20:00Z"))
        });
        let mut thread = ThreadSpec::new(text(comments[0], "path").unwrap(), specs.next().unwrap());
        for reply in specs {
            thread = thread.reply(reply);
        }
        pull = pull.thread(match comments[0]["line"].as_u64() {
            Some(line) => thread.line(line.try_into().unwrap()),
            None => thread.outdated(),
        });
    }
    let (_, judged) = judged_at(pull, "2026-05-02T22:00:00Z").await;
    judged.waits("no review required and none given; 4 unresolved review threads");
    assert!(!judged.is_asked(), "the maintainer's question mark is in code");
    let mut lines: Vec<Option<u64>> = judged.facts.threads.iter().map(|thread| thread.line).collect();
    lines.sort();
    assert_eq!(lines, [None, None, None, Some(321)]);
    let app = judged.facts.threads[0].comments[0]
        .comment
        .author
        .as_ref()
        .unwrap();
    assert_eq!((app.login.as_str(), app.kind), ("Copilot", AccountKind::Bot));
}

pub async fn pending_review(payload: Payload) {
    let review = &payload.body;
    assert!(review.get("submitted_at").is_none());
    let pull = PullSpec::new("hub4j-test-org/github-api", 482)
        .created("2024-06-16T12:00:00Z")
        .review(ReviewSpec::new(
            who(&review["user"]),
            association(review),
            text(review, "state").unwrap(),
            text(review, "body").unwrap(),
        ));
    let (_, judged) = judged_at(pull, "2024-06-17T12:00:00Z").await;
    judged.waits("no review required and none given");
    let review = &judged.facts.reviews[0];
    assert_eq!(
        (&review.state, review.submitted_at),
        (&ReviewState::Pending, None)
    );
}

pub async fn review_of_nobody(payload: Payload) {
    let review = &payload.body[0];
    let pull = PullSpec::new("hub4j-test-org/github-api", 1)
        .created("2021-11-01T03:00:00Z")
        .review(
            ReviewSpec::new(
                who(&review["user"]),
                association(review),
                text(review, "state").unwrap(),
                text(review, "body").unwrap(),
            )
            .at(text(review, "submitted_at").unwrap()),
        );
    let (_, judged) = judged_at(pull, "2021-11-01T04:30:00Z").await;
    // The approval stays, its author is nobody, and GitHub's decision is none.
    judged.waits("no review required and none given");
    let review = &judged.facts.reviews[0];
    assert_eq!((&review.state, &review.author), (&ReviewState::Approved, &None));
    assert_eq!(review.submitted_at, Some(at("2021-11-01T03:15:32Z")));
}
