//! Whether a maintainer asked the author, in plain words, to close the pull request (contract, section 4,
//! "Asked to close").
//!
//! Nothing here understands language. A small grammar knows the ways in which people say it and stays
//! silent where it is not sure: every phrase must begin its clause, so that "I'd rather not close this" is
//! none; a question, a condition or an alternative takes its whole sentence out; a "don't close" anywhere
//! takes the whole review out; and what is to be closed must be the pull request, so that a connection in
//! a destructor is none. Missing a request costs little (the pull request is still in `investigate`, since
//! changes are requested); hearing one that was never made proposes to throw work away.

mod grammar;
mod phrases;
mod sentences;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::escape;
use crate::facts::{PullFacts, Review, ReviewState, Time};
use crate::ids::{Login, PrRef};
use crate::people::People;
use crate::prose;

/// How much of the words is shown, in characters.
const EXCERPT: usize = 120;

/// A maintainer's request to close.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// Who asked.
    pub by: Login,
    /// When.
    pub at: Time,
    /// The review's page.
    pub url: String,
    /// The sentence, clamped, safe for a terminal and not for markdown.
    pub words: String,
}

/// The request to close in the latest review of a maintainer that says anything, if that review requests
/// changes. A review says something when its trimmed body is not empty or when it approves; dismissed and
/// pending reviews and bots do not count.
pub fn asked_to_close(pull: &PullFacts, people: &People) -> Option<Asked> {
    let (at, review) = latest_that_says_anything(pull, people)?;
    if review.state != ReviewState::ChangesRequested {
        return None;
    }
    let by = review.author.as_ref()?.login.clone();
    let author = pull.author.as_ref().map(|author| &author.login);
    let words = words_to_close(&review.body, &pull.at, author)?;
    Some(Asked {
        by,
        at,
        url: review.url.clone(),
        words,
    })
}

fn latest_that_says_anything<'a>(pull: &'a PullFacts, people: &People) -> Option<(Time, &'a Review)> {
    pull.reviews
        .iter()
        .filter(|review| !matches!(review.state, ReviewState::Dismissed | ReviewState::Pending))
        .filter(|review| !review.body.trim().is_empty() || review.state == ReviewState::Approved)
        .filter(|review| people.is_maintainer(review.author.as_ref(), &review.association))
        .filter_map(|review| Some((review.submitted_at?, review)))
        // Of two in one second, the one that does not ask counts; the rest only makes the choice certain.
        .max_by_key(|(at, review)| {
            (
                *at,
                review.state != ReviewState::ChangesRequested,
                &review.url,
                &review.body,
            )
        })
}

/// The sentence of a markdown text that asks the author to close their pull request, if one does.
///
/// ```
/// use pulls::asked::words_to_close;
/// let own = "o/r#7".parse().unwrap();
/// assert!(words_to_close("Thanks! Please close this in favour of #12.", &own, None).is_some());
/// assert!(words_to_close("Please don't close this yet.", &own, None).is_none());
/// assert!(words_to_close("Please close this connection in the destructor.", &own, None).is_none());
/// ```
pub fn words_to_close(markdown: &str, own: &PrRef, author: Option<&Login>) -> Option<String> {
    let prose = prose::prose_that_stands(markdown);
    let sentences = sentences::sentences(&prose);
    let found = grammar::first_request(&sentences, own, author)?;
    let shown: String = found
        .text
        .chars()
        .map(|c| {
            if c == prose::CODE || c == prose::LINK {
                '…'
            } else {
                c
            }
        })
        .collect();
    Some(escape::clamp(&escape::line(&shown), EXCERPT))
}
