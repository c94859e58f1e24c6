//! The phrases that ask to close a pull request, matched from the beginning of a clause.

use super::sentences::Token;
use crate::ids::PrRef;

pub(super) const PLEASE: &[&str] = &["please", "kindly", "pls", "plz"];
/// Words that may stand before a request without changing it.
pub(super) const FILLERS: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "thanks",
    "thank",
    "sorry",
    "ok",
    "okay",
    "unfortunately",
    "sadly",
    "so",
    "but",
    "and",
    "thus",
    "hence",
    "therefore",
    "again",
    "well",
    "alas",
];
/// Words after which a new clause begins without a comma.
pub(super) const JOINERS: &[&str] = &["so", "but", "and", "thus", "hence", "therefore"];
/// Words between "please" and "close".
const ADVERBS: &[&str] = &[
    "just",
    "do",
    "also",
    "now",
    "simply",
    "therefore",
    "then",
    "instead",
];
const NOUNS: &[&str] = &[
    "pr",
    "mr",
    "pull-request",
    "contribution",
    "submission",
    "patch",
    "changeset",
];
const ADJECTIVES: &[&str] = &[
    "duplicate",
    "duplicated",
    "draft",
    "stale",
    "old",
    "outdated",
    "redundant",
    "current",
    "entire",
    "whole",
];
/// Verbs that may follow "close this and".
const NEXT_STEPS: &[&str] = &[
    "open",
    "reopen",
    "re-open",
    "resubmit",
    "submit",
    "use",
    "see",
    "move",
    "continue",
    "file",
    "send",
    "create",
    "start",
    "focus",
    "work",
    "contribute",
    "discuss",
    "raise",
    "target",
    "we",
    "i",
    "let",
    "make",
    "join",
    "i'll",
    "we'll",
    "let's",
    "then",
    "thanks",
    "thank",
];

/// One sentence being read.
pub(super) struct Reading<'a> {
    tokens: &'a [Token],
    own: &'a PrRef,
    /// Whether this sentence or the one before it speaks of the pull request.
    context: bool,
    /// How many tokens at the beginning only lead in.
    opening: usize,
}

impl<'a> Reading<'a> {
    pub(super) fn of(tokens: &'a [Token], own: &'a PrRef, context: bool) -> Self {
        let opening = tokens
            .iter()
            .take_while(|token| {
                token.is_any(FILLERS)
                    || token.is_any(PLEASE)
                    || matches!(token, Token::Mention(_) | Token::Break)
            })
            .count();
        Self {
            tokens,
            own,
            context,
            opening,
        }
    }

    /// Whether some clause of the sentence asks to close the pull request.
    pub(super) fn asks(&self) -> bool {
        (0..self.tokens.len()).any(|at| self.begins_clause(at) && self.request(at))
    }

    fn begins_clause(&self, at: usize) -> bool {
        at == 0
            || self.tokens[at - 1] == Token::Break
            || self.tokens[at - 1].is_any(JOINERS)
            || self.begins_sentence(at)
    }

    /// Whether only fillers stand before this place.
    fn begins_sentence(&self, at: usize) -> bool {
        at <= self.opening
    }

    fn request(&self, at: usize) -> bool {
        let opens = self.begins_sentence(at);
        if let Some(next) = self.any(at, PLEASE) {
            let next = self.adverbs(next);
            return self.close_command(next, true);
        }
        (opens && self.close_command(at, false))
            || self.advice(at)
            || self.announcement(at, opens)
            || self.passive(at)
            || self.superseded(at, opens)
    }

    /// "close this"; after "please" also "close" alone.
    fn close_command(&self, at: usize, polite: bool) -> bool {
        let Some(next) = self.word(at, "close") else {
            return false;
        };
        if let Some(end) = self.object(next) {
            return self.may_follow(end);
        }
        self.reason(next, false) || polite && self.is_end(next)
    }

    /// "you can close this", "let's close this", "I suggest closing this".
    fn advice(&self, at: usize) -> bool {
        const LEADS: &[&str] = &[
            "i think",
            "i believe",
            "i'd say",
            "imo",
            "imho",
            "in my opinion",
            "",
        ];
        const ADVICE: &[&str] = &[
            "you should",
            "you can",
            "you may",
            "you must",
            "you need to",
            "you have to",
            "you ought to",
            "we should",
            "we can",
            "we must",
            "we need to",
            "we have to",
            "let's",
            "lets",
            "let us",
            "i'd like you to",
            "i would like you to",
            "i want you to",
            "i ask you to",
            "i must ask you to",
            "i have to ask you to",
            "i'd ask you to",
            "feel free to",
        ];
        const ADVISED: &[&str] = &[
            "i suggest",
            "i'd suggest",
            "i would suggest",
            "i recommend",
            "i'd recommend",
            "i would recommend",
            "i propose",
            "i'd propose",
        ];
        for lead in LEADS {
            let Some(at) = self.phrase(at, lead) else { continue };
            for advice in ADVICE {
                if let Some(next) = self.phrase(at, advice) {
                    let next = PLEASE
                        .iter()
                        .find_map(|word| self.word(next, word))
                        .unwrap_or(next);
                    if self.close_command(self.adverbs(next), false) {
                        return true;
                    }
                }
            }
            for advised in ADVISED {
                let Some(next) = self.phrase(at, advised) else {
                    continue;
                };
                let closing = self.word(next, "closing").and_then(|next| self.object(next));
                if closing.is_some_and(|end| self.may_follow(end)) {
                    return true;
                }
                let clause = ["you", "we", "to", "that you"]
                    .iter()
                    .find_map(|who| self.phrase(next, who));
                if clause.is_some_and(|next| self.close_command(next, false)) {
                    return true;
                }
            }
        }
        false
    }

    /// "closing in favour of …", "I'm closing this as a duplicate".
    fn announcement(&self, at: usize, opens: bool) -> bool {
        const LEADS: &[&str] = &["i'm", "i am", "we're", "we are", "i'll be", "i will be", ""];
        for lead in LEADS {
            let Some(next) = self.phrase(at, lead).and_then(|at| self.word(at, "closing")) else {
                continue;
            };
            let any_target = opens || !lead.is_empty();
            let object = self.object(next);
            if self.reason(object.unwrap_or(next), !any_target) {
                return true;
            }
            if object.is_some_and(|end| any_target && end >= self.tokens.len()) {
                return true;
            }
        }
        const WILL: &[&str] = &[
            "i'll",
            "i will",
            "we'll",
            "we will",
            "i'm going to",
            "we're going to",
            "",
        ];
        let will_close = WILL.iter().find_map(|lead| {
            let at = self.phrase(at, lead)?;
            self.word(at, if lead.is_empty() { "closed" } else { "close" })
        });
        opens && will_close.is_some_and(|next| self.reason(self.object(next).unwrap_or(next), false))
    }

    /// "this PR should be closed".
    fn passive(&self, at: usize) -> bool {
        const SHOULD: &[&str] = &[
            "should be",
            "must be",
            "can be",
            "needs to be",
            "has to be",
            "ought to be",
        ];
        let Some(subject) = self.object(at) else {
            return false;
        };
        let verb = SHOULD.iter().find_map(|should| self.phrase(subject, should));
        let Some(end) = verb.and_then(|at| self.word(at, "closed")) else {
            return false;
        };
        // A bare "this should be closed" may be said of a file.
        let is_named = subject > at + 1;
        if is_named {
            self.may_follow(end)
        } else {
            self.reason(end, false)
        }
    }

    /// "superseded by #12", said of this pull request.
    fn superseded(&self, at: usize, opens: bool) -> bool {
        const AUX: &[&str] = &[
            "is",
            "was",
            "is now",
            "has been",
            "has now been",
            "has already been",
            "got",
            "is already",
            "was already",
        ];
        const VERBS: &[&str] = &["superseded by", "superceded by", "obsoleted by", "replaced by"];
        let verb = |at: usize| VERBS.iter().find_map(|verb| self.phrase(at, verb));
        let with_subject = || {
            let subject = self.object(at).or_else(|| self.word(at, "this's"))?;
            let aux = AUX
                .iter()
                .find_map(|aux| self.phrase(subject, aux).and_then(verb));
            aux.or_else(|| verb(subject))
        };
        let bare = || if opens { verb(at) } else { None };
        with_subject()
            .or_else(bare)
            .is_some_and(|target| self.is_other_pull(target))
    }

    /// "this", "this PR", "the pull request", "your PR", "#7" where that is this one; "it" where the talk
    /// is of a pull request. Returns the place after it.
    fn object(&self, at: usize) -> Option<usize> {
        if let Some(end) = self.own_reference(at) {
            return Some(end);
        }
        if let Some(next) = self.noun(at).and_then(|next| self.own_reference(next)) {
            return Some(next);
        }
        if let (true, Some(next)) = (self.context, self.word(at, "it")) {
            return Some(next);
        }
        let determiner = self.any(at, &["this", "the", "your"])?;
        let bare_allowed = self.tokens[at].is("this");
        let noun_at = self.any(determiner, ADJECTIVES).unwrap_or(determiner);
        if let Some(end) = self.noun(noun_at) {
            return Some(self.own_reference(end).unwrap_or(end));
        }
        if bare_allowed {
            return Some(self.word(determiner, "one").unwrap_or(determiner));
        }
        None
    }

    fn noun(&self, at: usize) -> Option<usize> {
        self.any(at, NOUNS)
            .or_else(|| self.phrase(at, "pull request"))
            .or_else(|| self.phrase(at, "merge request"))
    }

    fn own_reference(&self, at: usize) -> Option<usize> {
        match self.tokens.get(at)? {
            Token::Reference { repo, number } if self.is_own(repo.as_deref(), *number) => Some(at + 1),
            _ => None,
        }
    }

    fn is_own(&self, repo: Option<&str>, number: u64) -> bool {
        number == u64::from(self.own.number)
            && repo
                .is_none_or(|repo| repo.eq_ignore_ascii_case(self.own.repo.as_str()) || NOUNS.contains(&repo))
    }

    /// "#12", a URL, "PR 12", "another PR".
    fn is_other_pull(&self, at: usize) -> bool {
        match self.tokens.get(at) {
            Some(Token::Reference { repo, number }) => !self.is_own(repo.as_deref(), *number),
            Some(Token::Link) => true,
            _ => {
                let determiner = [
                    "another",
                    "the other",
                    "the newer",
                    "a newer",
                    "your other",
                    "your newer",
                    "my",
                ]
                .iter()
                .find_map(|words| self.phrase(at, words));
                if determiner.is_some_and(|next| self.noun(next).is_some()) {
                    return true;
                }
                let noun = self
                    .noun(at)
                    .or_else(|| self.phrase(at, "the").and_then(|at| self.noun(at)));
                noun.is_some_and(|next| match self.tokens.get(next) {
                    Some(Token::Word(word)) => word.parse::<u64>().is_ok_and(|n| !self.is_own(None, n)),
                    Some(_) => self.is_other_pull(next),
                    None => false,
                })
            }
        }
    }

    /// "in favour of …", "as a duplicate", "because …".
    fn reason(&self, at: usize, only_a_pull: bool) -> bool {
        const AS: &[&str] = &[
            "duplicate",
            "a",
            "superseded",
            "wontfix",
            "won't",
            "stale",
            "obsolete",
            "outdated",
            "invalid",
            "not",
            "already",
            "out",
            "dup",
            "dupe",
            "an",
        ];
        let favour = ["in favour of", "in favor of"]
            .iter()
            .find_map(|words| self.phrase(at, words));
        if let Some(target) = favour {
            return if only_a_pull {
                self.is_other_pull(target)
            } else {
                target < self.tokens.len()
            };
        }
        if only_a_pull {
            return false;
        }
        if let Some(next) = self.word(at, "as") {
            return self.any(next, AS).is_some();
        }
        self.any(at, &["since", "because", "due", "given"])
            .is_some_and(|next| next < self.tokens.len())
            || self.phrase(at, "for now").is_some_and(|next| self.is_end(next))
    }

    /// Whether "close this" may be followed by what stands here without being about something else.
    fn may_follow(&self, at: usize) -> bool {
        if self.is_end(at) || self.reason(at, false) {
            return true;
        }
        if let Some(next) = self.word(at, "and") {
            return self.any(self.adverbs(next), NEXT_STEPS).is_some()
                || PLEASE.iter().any(|please| self.word(next, please).is_some());
        }
        if let Some(next) = self.word(at, "for") {
            return self.any(next, &["now", "good", "me", "us"]).is_some();
        }
        if let Some(next) = self.word(at, "as") {
            return self
                .any(next, &["well", "soon", "it", "this", "we", "i", "discussed"])
                .is_some();
        }
        matches!(self.tokens.get(at), Some(Token::Mention(_)))
            || self.phrase(at, "at once").is_some()
            || self
                .any(
                    at,
                    &[
                        "now", "too", "thanks", "thank", "please", "but", "here", "asap", "instead",
                        "yourself",
                    ],
                )
                .is_some()
    }

    fn is_end(&self, at: usize) -> bool {
        matches!(self.tokens.get(at), None | Some(Token::Break))
    }

    fn adverbs(&self, at: usize) -> usize {
        if let Some(next) = self.phrase(at, "go ahead and") {
            return next;
        }
        let mut at = at;
        while let Some(next) = self.any(at, ADVERBS) {
            at = next;
        }
        at
    }

    fn word(&self, at: usize, word: &str) -> Option<usize> {
        self.tokens.get(at)?.is(word).then_some(at + 1)
    }

    fn any(&self, at: usize, words: &[&str]) -> Option<usize> {
        self.tokens.get(at)?.is_any(words).then_some(at + 1)
    }

    /// The place after these words, if they stand here; no words stand everywhere.
    fn phrase(&self, at: usize, words: &str) -> Option<usize> {
        words
            .split_whitespace()
            .try_fold(at, |at, word| self.word(at, word))
    }
}
