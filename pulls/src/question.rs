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
    let newest_in_the_past = || head.commit_dates.iter().copied().filter(|at| *at <= now).max();
    head.last_force_push_at
        .or_else(newest_in_the_past)
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
    let head = head_time(pull, now);
    // A word of the same second is not later than the question.
    let answered = last_word_of_author(pull).unwrap_or(Time::MIN_UTC);
    let counts = |by: &Option<Account>, association: &Association, hidden: bool, at: Time| {
        !hidden
            && at > head
            && at >= answered
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{self, PullBuilder, comment, hours_ago, now, review};

    const ASK: &str = "Could this be done in another way?";

    fn asked(pull: PullBuilder) -> Vec<String> {
        open_questions(&pull.build(), &People::default(), now())
            .into_iter()
            .map(|q| q.by.to_string())
            .collect()
    }

    fn pull() -> PullBuilder {
        build::pull("o/r", 7)
    }

    #[test]
    fn comments_reviews_and_replies_ask() {
        assert_eq!(asked(pull()), [""; 0]);
        assert_eq!(asked(pull().comment(comment("m", ASK))), ["m"]);
        assert_eq!(asked(pull().review(review("m", "COMMENTED", ASK))), ["m"]);
        assert_eq!(
            asked(pull().thread([comment("x", "Hm."), comment("m", ASK)])),
            ["m"]
        );
        let both = pull()
            .comment(comment("m", ASK))
            .review(review("n", "COMMENTED", ASK).at(hours_ago(2)));
        assert_eq!(asked(both), ["n", "m"], "oldest first");
    }

    #[test]
    fn who_asks_matters() {
        for (word, counts) in [
            ("MEMBER", true),
            ("OWNER", true),
            ("COLLABORATOR", true),
            ("CONTRIBUTOR", false),
            ("FIRST_TIME_CONTRIBUTOR", false),
            ("NONE", false),
        ] {
            let found = asked(pull().comment(comment("m", ASK).association(word)));
            assert_eq!(!found.is_empty(), counts, "{word}");
        }
        assert_eq!(
            asked(pull().comment(comment("coderabbitai[bot]", ASK))),
            [""; 0],
            "a bot"
        );
        assert_eq!(
            asked(pull().comment(comment("author", ASK))),
            [""; 0],
            "the author"
        );
        assert_eq!(
            asked(pull().comment(comment("Author", ASK))),
            [""; 0],
            "the author, in another case"
        );
        let nobody = comment("m", ASK).with(|comment| comment.author = None);
        assert_eq!(asked(pull().comment(nobody)), [""; 0], "a deleted account");
    }

    #[test]
    fn hidden_and_resolved_ones_do_not_ask() {
        assert_eq!(asked(pull().comment(comment("m", ASK).minimized())), [""; 0]);
        assert_eq!(
            asked(pull().review(review("m", "COMMENTED", ASK).with(|r| r.is_minimized = true))),
            [""; 0]
        );
        assert_eq!(asked(pull().thread([comment("m", ASK).minimized()])), [""; 0]);
        assert_eq!(asked(pull().resolved_thread([comment("m", ASK)])), [""; 0]);
        let outdated = pull()
            .thread([comment("m", ASK)])
            .with(|pull| pull.threads[0].is_outdated = true);
        assert_eq!(asked(outdated), ["m"], "outdated is not resolved");
        assert_eq!(
            asked(pull().review(review("m", "PENDING", ASK).at(hours_ago(1)))),
            [""; 0],
            "not sent"
        );
    }

    #[test]
    fn only_what_was_asked_after_the_head_counts() {
        let at_48 = |pull: PullBuilder| asked(pull.committed_at(hours_ago(10)));
        assert_eq!(
            at_48(pull().comment(comment("m", ASK).at(hours_ago(11)))),
            [""; 0]
        );
        assert_eq!(
            at_48(pull().comment(comment("m", ASK).at(hours_ago(10)))),
            [""; 0],
            "not after, at once"
        );
        assert_eq!(at_48(pull().comment(comment("m", ASK).at(hours_ago(9)))), ["m"]);
    }

    #[test]
    fn b052_any_later_word_of_the_author_answers() {
        let question = || pull().comment(comment("m", ASK).at(hours_ago(5)));
        let answer = |hours| {
            comment("author", "Yes.")
                .association("CONTRIBUTOR")
                .at(hours_ago(hours))
        };
        assert_eq!(asked(question().comment(answer(4))), [""; 0], "a comment");
        assert_eq!(asked(question().comment(answer(6))), ["m"], "an earlier one");
        assert_eq!(
            asked(question().comment(answer(5))),
            ["m"],
            "one of the same second is not later"
        );
        assert_eq!(
            asked(question().thread([comment("m", "Nit."), answer(4)])),
            [""; 0],
            "a reply"
        );
        assert_eq!(
            asked(question().resolved_thread([answer(4)])),
            [""; 0],
            "a reply in a resolved thread"
        );
        let empty_review = review("author", "COMMENTED", "").at(hours_ago(4));
        assert_eq!(
            asked(question().review(empty_review)),
            [""; 0],
            "a review without a body"
        );
        let pending = review("author", "PENDING", "Yes.").at(hours_ago(4));
        assert_eq!(
            asked(question().review(pending)),
            ["m"],
            "what is not sent answers nothing"
        );
        assert_eq!(
            asked(question().comment(comment("n", "Yes.").at(hours_ago(4)))),
            ["m"],
            "somebody else"
        );
        let twice = question()
            .comment(answer(4))
            .comment(comment("n", ASK).at(hours_ago(3)));
        assert_eq!(asked(twice), ["n"], "asked again after the answer");
        // Two deleted accounts are not one person.
        let nobody = question()
            .with(|pull| pull.author = None)
            .comment(answer(4).with(|comment| comment.author = None));
        assert_eq!(asked(nobody), ["m"]);
    }

    #[test]
    fn b073_a_head_dated_in_the_future_counts_as_made_when_github_learned_of_it() {
        let future = now() + chrono::TimeDelta::days(400);
        let head = |force: Option<i64>, newest: Option<i64>| {
            let pull = pull().opened_at(hours_ago(48)).committed_at(future).with(|pull| {
                pull.head.last_force_push_at = force.map(hours_ago);
                pull.head.commit_dates.extend(newest.map(hours_ago));
            });
            head_time(&pull.build(), now())
        };
        assert_eq!(head(Some(3), Some(9)), hours_ago(3));
        assert_eq!(head(None, Some(9)), hours_ago(9));
        assert_eq!(head(None, None), hours_ago(48));
        assert_eq!(
            head(None, Some(-1)),
            hours_ago(48),
            "in the future as of this moment"
        );
        // What lies in the future is for the moment of the evaluation to say: here it lies before the
        // reading, and is no later than the commit before it.
        let as_of_an_earlier_moment = pull()
            .committed_at(hours_ago(2))
            .with(|pull| pull.head.commit_dates.push(hours_ago(9)))
            .build();
        assert_eq!(head_time(&as_of_an_earlier_moment, hours_ago(3)), hours_ago(9));
        let question = pull().committed_at(future).comment(comment("m", ASK));
        assert_eq!(asked(question), ["m"]);
        // A date in the past stands, however the head was pushed.
        let pushed_later = pull()
            .committed_at(hours_ago(9))
            .with(|p| p.head.last_force_push_at = Some(hours_ago(1)));
        assert_eq!(head_time(&pushed_later.build(), now()), hours_ago(9));
    }

    #[test]
    fn b055_b056_without_a_question_mark_in_prose_nothing_is_asked() {
        assert_eq!(asked(pull().comment(comment("m", "Nice work."))), [""; 0]);
        assert_eq!(
            asked(pull().comment(comment("m", "See https://x.example/?a=b and `a ? b : c`"))),
            [""; 0]
        );
        assert_eq!(asked(pull().comment(comment("m", "> Is it?\n\nYes."))), [""; 0]);
    }

    #[test]
    fn the_excerpt_is_the_line_that_asks() {
        let body = "Thanks.\n\nSee `x`.\nWhat about \u{1b}[31m`y`?\nBye.";
        let pull = pull().comment(comment("m", body)).build();
        let questions = open_questions(&pull, &People::default(), now());
        assert_eq!(questions[0].excerpt, "What about \\u{1b}[31m…?");
        assert_eq!(questions[0].url, "https://github.com/o/r/pull/1#issuecomment-m");
    }
}
