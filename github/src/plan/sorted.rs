//! Which errors of an answer belong to which of the things that were asked for.

use pulls::PrRef;

use crate::answer::{Answer, GraphqlError};
use crate::error::ReadError;

/// The errors of an answer by the alias that each belongs to.
pub(super) struct Sorted<'a> {
    pub(super) by_alias: Vec<Vec<&'a GraphqlError>>,
    /// Those that name no alias of ours.
    pub(super) whole: Vec<&'a GraphqlError>,
    /// Whether some alias has neither data nor an error of its own: the lost one.
    has_lost: bool,
}

impl<'a> Sorted<'a> {
    pub(super) fn new(aliases: &[String], answer: &'a Answer) -> Self {
        let mut by_alias = vec![Vec::new(); aliases.len()];
        let mut whole = Vec::new();
        for error in &answer.errors {
            match error.fields().first() {
                Some(&"rateLimit") => {}
                Some(first) => match aliases.iter().position(|alias| alias == first) {
                    Some(place) => by_alias[place].push(error),
                    None => whole.push(error),
                },
                None => whole.push(error),
            }
        }
        let has_lost = aliases
            .iter()
            .zip(&by_alias)
            .any(|(alias, errors): (_, &Vec<_>)| errors.is_empty() && is_null(answer, alias));
        Self {
            by_alias,
            whole,
            has_lost,
        }
    }

    /// Whether an error without a place makes this alias doubtful: it does where the alias is null,
    /// and everywhere where none is.
    pub(super) fn spoils(&self, answer: &Answer, alias: &str) -> bool {
        !self.whole.is_empty() && (!self.has_lost || is_null(answer, alias))
    }
}

fn is_null(answer: &Answer, alias: &str) -> bool {
    answer.data.get(alias).is_none_or(|raw| raw.get() == "null")
}

/// "No comparison" is an answer and no failure: GitHub gives no number then (contract, section 4,
/// "Behind").
pub(super) fn is_no_comparison(error: &GraphqlError) -> bool {
    error.is_not_found() && matches!(error.fields()[..], [_, "pullRequest", "baseRef", "compare", ..])
}

/// The error that decides: one that stays before one that may pass. `asked` is the pull request that
/// stands at the alias, where it is one.
pub(super) fn worst<'a, 'e: 'a>(
    errors: impl Iterator<Item = &'a &'e GraphqlError>,
    asked: Option<&PrRef>,
) -> Option<ReadError> {
    let mut decisive: Option<ReadError> = None;
    for error in errors {
        let meaning = match (asked, &error.fields()[..]) {
            (Some(at), [_]) if error.is_not_found() => ReadError::NoRepository(at.repo.clone()),
            (Some(at), [_, "pullRequest"]) if error.is_not_found() => ReadError::NoPull(at.clone()),
            _ => error.meaning(),
        };
        if decisive.as_ref().is_none_or(ReadError::is_passing) {
            decisive = Some(meaning);
        }
    }
    decisive
}
