//! Whether a maintainer waits for the author's answer (contract, section 4, "Question").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::escape;
use crate::facts::{Account, Association, Comment, PullFacts, ReviewState, Time};
use crate::ids::Login;
use crate::people::{People, is_author};
use crate::prose;

/// How much of a question is shown, in characters.
const EXCERPT: usize = 120;

/// A question that the author has not answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// When it was asked.
    pub asked_at: Time,
    /// Its page.
    pub url: String,
    /// Who asked.
    pub by: Login,
    /// The line of prose with the question mark, clamped, safe for a terminal and not for markdown.
    pub excerpt: String,
}

/// When the head came to be, for the question what was said after it.
///
/// That is its committer date. A date that lies in the future was set by hand or by a wrong clock; then it
/// is when GitHub learned of the head: the last force push, else the newest commit that is not dated in
/// the future, else the pull request's creation.
pub fn head_time(pull: &PullFacts, now: Time) -> Time {
    let head = &pull.head;
    if head.committed_at <= now {
        return head.committed_at;
    }
    head.last_force_push_at
        .or(head.newest_past_commit_at.filter(|at| *at <= now))
        .unwrap_or(pull.created_at)
}

/// When the author last said anything, anywhere on the pull request: a comment, a review or a reply in a
/// thread, hidden and resolved ones too. What is not sent yet does not count.
pub fn last_word_of_author(pull: &PullFacts) -> Option<Time> {
    let comments = pull
        .comments
        .iter()
        .map(|comment| (&comment.author, Some(comment.created_at)));
    let replies = pull
        .threads
        .iter()
        .flat_map(|thread| &thread.comments)
        .map(|reply| (&reply.comment.author, Some(reply.comment.created_at)));
    let reviews = pull
        .reviews
        .iter()
        .filter(|review| review.state != ReviewState::Pending)
        .map(|review| (&review.author, review.submitted_at));
    comments
        .chain(replies)
        .chain(reviews)
        .filter(|(by, _)| is_author(pull, by.as_ref()))
        .filter_map(|(_, at)| at)
        .max()
}

/// Every question of a maintainer that was asked after the head commit and that the author has not
/// answered since, oldest first.
pub fn open_questions(pull: &PullFacts, people: &People, now: Time) -> Vec<Question> {
    let after = head_time(pull, now).max(last_word_of_author(pull).unwrap_or(Time::MIN_UTC));
    let counts = |by: &Option<Account>, association: &Association, hidden: bool, at: Time| {
        !hidden
            && at > after
            && people.is_maintainer(by.as_ref(), association)
            && !is_author(pull, by.as_ref())
    };
    let mut found = Vec::new();
    let mut ask = |by: &Option<Account>, at: Time, url: &str, body: &str| {
        if let (Some(by), true) = (by, prose::asks(body)) {
            found.push(Question {
                asked_at: at,
                url: url.to_owned(),
                by: by.login.clone(),
                excerpt: excerpt(body),
            });
        }
    };
    let replies = pull
        .threads
        .iter()
        .filter(|thread| !thread.is_resolved)
        .flat_map(|thread| &thread.comments)
        .map(|reply| &reply.comment);
    for comment in pull.comments.iter().chain(replies) {
        let Comment {
            author,
            association,
            created_at,
            url,
            body,
            is_minimized,
        } = comment;
        if counts(author, association, *is_minimized, *created_at) {
            ask(author, *created_at, url, body);
        }
    }
    for review in pull
        .reviews
        .iter()
        .filter(|review| review.state != ReviewState::Pending)
    {
        let Some(at) = review.submitted_at else { continue };
        if counts(&review.author, &review.association, review.is_minimized, at) {
            ask(&review.author, at, &review.url, &review.body);
        }
    }
    found.sort();
    found
}

/// The first line of prose with a question mark.
fn excerpt(body: &str) -> String {
    let prose = prose::prose(body);
    let line = prose
        .lines()
        .find(|line| line.contains(prose::is_question_mark))
        .unwrap_or_default();
    let shown: String = line
        .chars()
        .map(|c| {
            if c == prose::CODE || c == prose::LINK {
                '…'
            } else {
                c
            }
        })
        .collect();
    escape::clamp(&escape::line(&shown), EXCERPT)
}
