//! Which sentence of a review asks to close the pull request, and what takes it back.

use super::phrases::{FILLERS, JOINERS, PLEASE, Reading};
use super::sentences::{Sentence, Token};
use crate::ids::{Login, PrRef};

/// Words that make a sentence a condition.
const CONDITIONS: &[&str] = &[
    "if",
    "unless",
    "whether",
    "when",
    "whenever",
    "until",
    "till",
    "assuming",
    "provided",
    "providing",
    "otherwise",
    "either",
    "else",
];
/// Words that open a question or an inverted condition ("should CI fail, …").
const OPENERS: &[&str] = &[
    "can", "could", "would", "will", "should", "shall", "may", "might", "must", "do", "does", "did", "are",
    "were", "had", "have", "has", "why", "what", "how", "who", "which", "where", "then", "or", "maybe",
    "perhaps",
];
const NEGATIONS: &[&str] = &[
    "not", "never", "no", "nobody", "cannot", "dont", "wont", "without", "against", "than", "instead",
    "avoid", "nor",
];
const CLOSE: &[&str] = &["close", "closing", "closed", "closes"];

/// The first sentence that asks, if nothing in the text takes it back.
pub(super) fn first_request<'a>(
    sentences: &'a [Sentence],
    own: &PrRef,
    author: Option<&Login>,
) -> Option<&'a Sentence> {
    if sentences.iter().any(|sentence| negates_closing(&sentence.tokens)) {
        return None;
    }
    let mut found = None;
    let mut context = false;
    for sentence in sentences {
        let mentions = mentions_pull(&sentence.tokens);
        let vetoed = is_vetoed(sentence, author);
        if sentence.leads_on && (vetoed || sentence.tokens.iter().any(is_negation)) {
            // "If CI stays red:" or "Please don't:" rules over whatever the list below it says.
            break;
        }
        let reading = Reading::of(&sentence.tokens, own, context || mentions);
        if found.is_none() && !vetoed && reading.asks() {
            found = Some(sentence);
        }
        context = mentions;
    }
    found
}

/// Whether a negation rules over a "close" in the same clause.
fn negates_closing(tokens: &[Token]) -> bool {
    /// How many words a negation reaches: "don't you ever think of closing".
    const REACH: usize = 6;
    tokens.iter().enumerate().any(|(at, token)| {
        is_negation(token)
            && tokens[at + 1..]
                .iter()
                .take(REACH)
                .take_while(|token| {
                    **token != Token::Break && !token.is_any(JOINERS) && !token.is_any(PLEASE)
                })
                .any(|token| token.is_any(CLOSE))
    })
}

fn is_negation(token: &Token) -> bool {
    match token {
        Token::Word(word) => NEGATIONS.contains(&word.as_str()) || word.ends_with("n't"),
        _ => false,
    }
}

/// Whether the sentence is a question, a condition, an alternative, or said to somebody else.
fn is_vetoed(sentence: &Sentence, author: Option<&Login>) -> bool {
    let tokens = &sentence.tokens;
    let opener = tokens
        .iter()
        .find(|token| !(token.is_any(FILLERS) || matches!(token, Token::Mention(_) | Token::Break)));
    sentence.is_question
        || opener.is_some_and(|token| token.is_any(OPENERS))
        || (0..tokens.len()).any(|at| is_condition(&tokens[at..], at.checked_sub(1).map(|at| &tokens[at])))
        || is_to_somebody_else(tokens, author)
}

fn is_condition(rest: &[Token], before: Option<&Token>) -> bool {
    let next = |ahead: usize, word: &str| rest.get(ahead).is_some_and(|token| token.is(word));
    let Some(first) = rest.first() else { return false };
    if first.is_any(CONDITIONS) {
        return true;
    }
    if first.is("once") {
        return !(before.is_some_and(|before| before.is("at")) || next(1, "again") || next(1, "more"));
    }
    if first.is("after") {
        let is_past = |token: &Token| {
            matches!(token, Token::Word(word) if word.ends_with("ing"))
                || token.is_any(&["discussion", "all", "some", "internal", "review", "a", "careful"])
        };
        return !rest.get(1).is_some_and(is_past);
    }
    // "rebase this or close it"
    if first.is("or") {
        return true;
    }
    first.is("in") && next(1, "case") && !next(2, "of")
        || first.is("as") && next(1, "soon") && next(2, "as") && !next(3, "possible")
        || first.is("as") && next(1, "long") && next(2, "as")
}

/// Whether the sentence begins with mentions and none of them is the author's.
fn is_to_somebody_else(tokens: &[Token], author: Option<&Login>) -> bool {
    let Some(author) = author else { return false };
    let mut mentioned = tokens
        .iter()
        .filter(|token| !token.is_any(FILLERS) && **token != Token::Break)
        .map_while(|token| match token {
            Token::Mention(name) => Some(name),
            _ => None,
        })
        .peekable();
    mentioned.peek().is_some() && !mentioned.any(|name| name.eq_ignore_ascii_case(author.as_str()))
}

/// Whether the sentence is about a pull request, so that "it" can be one.
fn mentions_pull(tokens: &[Token]) -> bool {
    tokens.iter().enumerate().any(|(at, token)| {
        token.is_any(&[
            "pr",
            "mr",
            "pull-request",
            "duplicate",
            "duplicates",
            "superseded",
            "supersedes",
        ]) || token.is("pull") && tokens.get(at + 1).is_some_and(|next| next.is("request"))
    })
}
