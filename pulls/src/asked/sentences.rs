//! Prose cut into sentences of tokens, enough of English for the grammar beside it.

use crate::prose::{CODE, LINK, is_question_mark};

/// One token of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A word in lower case, with its apostrophes (`don't`) and hyphens.
    Word(String),
    /// `@login`, in lower case.
    Mention(String),
    /// `#12`, with `owner/name` where that stands before it.
    Reference { repo: Option<String>, number: u64 },
    /// A code span.
    Code,
    /// A URL.
    Link,
    /// Whatever parts two clauses: a comma, a dash, a bracket, an emoji.
    Break,
}

impl Token {
    /// Whether it is this word.
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }

    /// Whether it is one of these words.
    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        matches!(self, Self::Word(own) if words.contains(&own.as_str()))
    }
}

/// One sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sentence {
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// Whether a question mark ends it.
    pub is_question: bool,
    /// Whether it leads into the next block, as a heading of a list does with its colon.
    pub leads_on: bool,
    /// Its text.
    pub text: String,
}

/// The sentences of a text that [`crate::prose::prose`] made. A block ends a sentence; words within
/// double quotation marks are somebody else's and left out.
pub(super) fn sentences(prose: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    for block in prose.split("\n\n") {
        let before = found.len();
        let chars: Vec<char> = without_quotations(block).chars().collect();
        Scanner { chars: &chars, at: 0 }.read(&mut found);
        if let Some(last) = found[before..].last_mut() {
            last.leads_on = block.trim_end().ends_with([':', '：']);
        }
    }
    found
}

/// Folds typographic apostrophes and drops what stands between double quotation marks.
fn without_quotations(block: &str) -> String {
    let mut out = String::with_capacity(block.len());
    let mut rest = block;
    // A mark that nothing closes is searched for once, not once for each that opens.
    let mut unclosed = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let close: &[char] = match c {
            '"' => &['"'],
            '“' | '„' => &['”', '“'],
            '«' => &['»'],
            _ => &[],
        };
        let end = if close.is_empty() || unclosed {
            None
        } else {
            after.find(close)
        };
        unclosed |= !close.is_empty() && end.is_none();
        if let Some(end) = end {
            out.push(';');
            let closing = after[end..].chars().next().map_or(0, char::len_utf8);
            rest = &after[end + closing..];
        } else {
            out.push(if matches!(c, '’' | '‘' | 'ʼ' | '`') {
                '\''
            } else {
                c
            });
            rest = after;
        }
    }
    out
}

struct Scanner<'a> {
    chars: &'a [char],
    at: usize,
}

impl Scanner<'_> {
    fn read(&mut self, found: &mut Vec<Sentence>) {
        let mut sentence = Sentence::default();
        let mut began = 0;
        while let Some(c) = self.peek(0) {
            if let Some(is_question) = self.end_of_sentence() {
                self.finish(&mut sentence, began, is_question, found);
                began = self.at;
                continue;
            }
            match c {
                _ if c.is_whitespace() => self.at += 1,
                CODE => self.push(&mut sentence, Token::Code),
                LINK => self.push(&mut sentence, Token::Link),
                '@' if self.peek(1).is_some_and(char::is_alphanumeric) => {
                    self.at += 1;
                    let name = self.take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
                    sentence.tokens.push(Token::Mention(name));
                }
                '#' if self.peek(1).is_some_and(|c| c.is_ascii_digit()) => {
                    let token = self.reference(None);
                    sentence.tokens.push(token);
                }
                _ if c.is_alphanumeric() => {
                    let token = self.word();
                    sentence.tokens.push(token);
                }
                _ => self.push(&mut sentence, Token::Break),
            }
        }
        self.finish(&mut sentence, began, false, found);
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn push(&mut self, sentence: &mut Sentence, token: Token) {
        self.at += 1;
        sentence.tokens.push(token);
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(&wanted) {
            self.at += 1;
        }
        self.chars[start..self.at]
            .iter()
            .flat_map(|c| c.to_lowercase())
            .collect()
    }

    /// Steps over the marks that end a sentence, and says whether one of them asks.
    fn end_of_sentence(&mut self) -> Option<bool> {
        let is_mark = |c: char| matches!(c, '.' | '!' | '…' | '。' | '！') || is_question_mark(c);
        let length = self.chars[self.at..].iter().take_while(|c| is_mark(**c)).count();
        if length == 0 {
            return None;
        }
        let marks = &self.chars[self.at..self.at + length];
        let ends = match self.peek(length) {
            // `.gitignore` is a word.
            Some(next) => !(marks == ['.'] && next.is_alphanumeric()),
            None => true,
        };
        if !ends {
            return None;
        }
        let is_question = marks.iter().any(|c| is_question_mark(*c));
        self.at += length;
        Some(is_question)
    }

    /// A word, or a reference that begins like one (`owner/name#12`, `GH-12`).
    fn word(&mut self) -> Token {
        let start = self.at;
        while let Some(c) = self.peek(0) {
            let within = matches!(c, '\'' | '-' | '_' | '.' | '/' | '+')
                && self.peek(1).is_some_and(char::is_alphanumeric);
            if !(c.is_alphanumeric() || within) {
                break;
            }
            self.at += 1;
        }
        let word: String = self.chars[start..self.at]
            .iter()
            .flat_map(|c| c.to_lowercase())
            .collect();
        if self.peek(0) == Some('#') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            return self.reference(Some(word));
        }
        match word.strip_prefix("gh-").map(str::parse) {
            Some(Ok(number)) => Token::Reference { repo: None, number },
            _ => Token::Word(word),
        }
    }

    fn reference(&mut self, repo: Option<String>) -> Token {
        self.at += 1;
        let digits = self.take_while(|c| c.is_ascii_digit());
        let number = digits.parse().unwrap_or(u64::MAX);
        Token::Reference { repo, number }
    }

    fn finish(&self, sentence: &mut Sentence, began: usize, is_question: bool, found: &mut Vec<Sentence>) {
        let mut done = std::mem::take(sentence);
        if done.tokens.iter().any(|token| *token != Token::Break) {
            done.is_question = is_question;
            done.text = self.chars[began..self.at]
                .iter()
                .collect::<String>()
                .trim()
                .to_owned();
            found.push(done);
        }
    }
}
