//! What a person said in a piece of markdown, without what only stands there.
//!
//! A rule that looks for a question mark or for "please close this" must not find it in code, in a quoted
//! line, in a URL or in an HTML comment (contract, section 4; field case B056). Code is what CommonMark
//! makes a code block or span; a quoted line is one that begins with `>`. A line that CommonMark draws
//! into the quote above it only because no blank line stands between (people answer that way in e-mail)
//! is the writer's own and counts.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// Stands in [`prose`] where a code span stood.
pub const CODE: char = '\u{E000}';
/// Stands in [`prose`] where a URL stood.
pub const LINK: char = '\u{E001}';

/// The words of a markdown text outside code blocks, quoted lines, images and HTML comments. Code spans
/// and URLs leave one placeholder each ([`CODE`], [`LINK`]); blocks are parted by an empty line.
///
/// ```
/// use pulls::prose::prose;
/// let text = prose("Why `a ? b : c`?\n\n> was that a question?\n\nSee <https://x.example/?q=1>.");
/// assert_eq!(text, "Why \u{E000}?\n\nSee \u{E001}.");
/// ```
pub fn prose(markdown: &str) -> String {
    words(markdown, Struck::Stands)
}

/// As [`prose`], without what its writer struck through, and so took back.
pub fn prose_that_stands(markdown: &str) -> String {
    words(markdown, Struck::IsGone)
}

/// Whether text that is struck through counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Struck {
    Stands,
    IsGone,
}

fn words(markdown: &str, struck: Struck) -> String {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut out = Words::default();
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Strikethrough) if struck == Struck::IsGone => out.hidden += 1,
            Event::End(TagEnd::Strikethrough) if struck == Struck::IsGone => {
                out.hidden = out.hidden.saturating_sub(1);
            }
            event => out.take(event, &range, markdown),
        }
    }
    out.finish()
}

/// Whether there is a question mark (`?`, `？` or `؟`) in the [`prose`] of a markdown text.
pub fn asks(markdown: &str) -> bool {
    // Most texts have none at all, not even in their code; `&quest;` is one too.
    markdown.contains(|c| is_question_mark(c) || c == '&') && prose(markdown).contains(is_question_mark)
}

/// The question marks of the contract: Latin, full-width and Arabic.
pub fn is_question_mark(c: char) -> bool {
    matches!(c, '?' | '？' | '؟')
}

#[derive(Default)]
struct Words {
    /// Finished blocks.
    done: String,
    /// The block being read.
    block: String,
    /// The raw HTML block being read.
    html: Option<String>,
    quotes: usize,
    code: usize,
    /// Images, and struck text where that does not count.
    hidden: usize,
    autolinks: usize,
    line: Line,
}

/// The source line that was last looked at. Events come in the order of the source, so that each line is
/// looked at once, however many events stand on it.
#[derive(Default)]
struct Line {
    /// The end of what was searched for line breaks.
    seen: usize,
    is_quoted: Option<bool>,
}

impl Line {
    /// Whether the line around a byte of the source begins with a quote's `>`.
    fn is_quoted(&mut self, source: &str, at: usize) -> bool {
        let from = if at >= self.seen { self.seen } else { 0 };
        let start = source[from..at]
            .rfind(['\n', '\r'])
            .map(|newline| from + newline + 1);
        self.seen = at;
        match (start, self.is_quoted) {
            (None, Some(known)) if from > 0 => known,
            _ => *self.is_quoted.insert(begins_quote(&source[start.unwrap_or(0)..])),
        }
    }
}

impl Words {
    fn take(&mut self, event: Event<'_>, range: &Range<usize>, source: &str) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => {
                if self.counts(range, source) {
                    self.block.extend(text.chars().map(plain));
                }
            }
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {
                if self.counts(range, source) {
                    self.block.push(CODE);
                }
            }
            Event::Html(html) => match &mut self.html {
                Some(block) => block.push_str(&html),
                None => self.block.push_str(&without_tags(&html)),
            },
            // A tag or a comment within a line; the words between tags are texts of their own.
            Event::InlineHtml(_) => self.block.push(' '),
            Event::SoftBreak | Event::HardBreak => self.block.push('\n'),
            Event::Rule => self.close_block(),
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::BlockQuote(_) => {
                self.close_block();
                self.quotes += 1;
            }
            Tag::CodeBlock(_) => {
                self.close_block();
                self.code += 1;
            }
            Tag::Image { .. } => self.hidden += 1,
            Tag::Link { link_type, .. } => {
                if matches!(link_type, LinkType::Autolink | LinkType::Email) {
                    self.block.push(LINK);
                    self.autolinks += 1;
                }
            }
            Tag::HtmlBlock => {
                self.close_block();
                self.html = Some(String::new());
            }
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Superscript | Tag::Subscript => {}
            _ => self.close_block(),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::BlockQuote(_) => {
                self.close_block();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => self.code = self.code.saturating_sub(1),
            TagEnd::Image => self.hidden = self.hidden.saturating_sub(1),
            TagEnd::Link => self.autolinks = self.autolinks.saturating_sub(1),
            TagEnd::HtmlBlock => {
                let html = self.html.take().unwrap_or_default();
                if self.quotes == 0 {
                    self.block.push_str(&without_tags(&html));
                }
                self.close_block();
            }
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => {}
            _ => self.close_block(),
        }
    }

    /// Whether text at this place is the writer's own word.
    fn counts(&mut self, range: &Range<usize>, source: &str) -> bool {
        self.code == 0
            && self.hidden == 0
            && self.autolinks == 0
            && (self.quotes == 0 || !self.line.is_quoted(source, range.start))
    }

    fn close_block(&mut self) {
        let block = without_urls(&self.block);
        self.block.clear();
        let block = block.trim();
        if !block.is_empty() {
            if !self.done.is_empty() {
                self.done.push_str("\n\n");
            }
            self.done.push_str(block);
        }
    }

    fn finish(mut self) -> String {
        self.close_block();
        self.done
    }
}

/// A character of text as it may stand in the result: the placeholders are ours alone.
fn plain(c: char) -> char {
    if c == CODE || c == LINK { ' ' } else { c }
}

/// Whether a line begins with a quote's `>`, after list markers.
fn begins_quote(line: &str) -> bool {
    let mut line = line.trim_start();
    loop {
        if line.starts_with('>') {
            return true;
        }
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let marker = match line.as_bytes().get(digits) {
            Some(b'.' | b')') if digits > 0 => digits + 1,
            Some(b'-' | b'*' | b'+') if digits == 0 => 1,
            _ => return false,
        };
        let rest = &line[marker..];
        if !rest.starts_with([' ', '\t']) {
            return false;
        }
        line = rest.trim_start();
    }
}

/// The text of a raw HTML block without comments and tags. A comment or tag that never ends reaches to
/// the end.
fn without_tags(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        out.extend(rest[..open].chars().map(plain));
        rest = &rest[open..];
        let end = if rest.starts_with("<!--") {
            rest.find("-->").map(|end| end + 3)
        } else if rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            rest.find('>').map(|end| end + 1)
        } else {
            // A lone "less than".
            out.push('<');
            Some(1)
        };
        out.push(' ');
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    out.extend(rest.chars().map(plain));
    out
}

/// Replaces every bare URL with [`LINK`]. What ends a URL is GitHub's rule for autolinks: white space or
/// `<`, and punctuation at its end belongs to the sentence, so "have you seen https://x.example/?" asks.
fn without_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let url = if after_word { None } else { url_length(rest) };
        if let Some(length) = url {
            out.push(LINK);
            rest = &rest[length..];
            after_word = true;
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            after_word = first.is_alphanumeric() || matches!(first, '.' | '-' | '_');
        }
    }
    out
}

/// How many bytes of the text are a URL that begins right here, if one does.
fn url_length(text: &str) -> Option<usize> {
    let is_host = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'_');
    let host = text.bytes().take_while(|b| is_host(*b)).count();
    let (labels, rest) = text.split_at(host);
    let is_url = host > 0
        && (rest.starts_with("://")
            || labels
                .get(..4)
                .is_some_and(|start| start.eq_ignore_ascii_case("www."))
            || rest.starts_with('/') && is_domain(labels));
    if !is_url {
        return None;
    }
    let end = text
        .find(|c: char| c.is_whitespace() || matches!(c, '<' | CODE | LINK))
        .unwrap_or(text.len());
    let length = without_trailing_punctuation(&text[..end]).len();
    // Nothing after the scheme is no URL yet.
    (length > 0 && !(rest.starts_with("://") && length <= host)).then_some(length)
}

/// Whether a name has a dot and ends like a domain, as in `github.com/o/r/pull/1?diff=split`.
fn is_domain(labels: &str) -> bool {
    labels.rsplit_once('.').is_some_and(|(name, last)| {
        !name.is_empty() && last.len() >= 2 && last.bytes().all(|b| b.is_ascii_alphabetic())
    })
}

/// A URL without what ends its sentence: punctuation, and brackets that it did not open.
fn without_trailing_punctuation(token: &str) -> &str {
    let count = |wanted: char| token.chars().filter(|c| *c == wanted).count();
    let mut unopened = count(')').saturating_sub(count('('));
    token.trim_end_matches(|c: char| {
        if c == ')' && unopened > 0 {
            unopened -= 1;
            return true;
        }
        is_question_mark(c)
            || matches!(
                c,
                '!' | '.' | ',' | ':' | ';' | '*' | '_' | '~' | '\'' | '"' | '”' | '’' | ']' | '|'
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(name: &str, markdown: &str, expected: bool) {
        assert_eq!(
            asks(markdown),
            expected,
            "{name}: {markdown:?} -> {:?}",
            prose(markdown)
        );
    }

    #[test]
    fn b056_only_question_marks_of_prose_ask() {
        check("plain", "Could this be done in another way?", true);
        check("full width", "本当に？", true);
        check("arabic", "هل هذا صحيح؟", true);
        check("no mark", "Could this be done in another way", false);
        check("other marks are none", "¿ ; ⁇ ‽", false);
        check("url", "See https://x/?a=b", false);
        check("url in brackets", "(see https://x.example/?a=b)", false);
        check(
            "url then the sentence's own mark",
            "Have you seen https://x.example/a?",
            true,
        );
        check(
            "url then mark in brackets",
            "(Have you seen https://x.example/a?)",
            true,
        );
        check("autolink", "<https://x.example/?a=b>", false);
        check("www", "www.x.example/?a=b is it", false);
        check("host and path", "github.com/o/r/pull/1?diff=split", false);
        check("upper-case scheme", "HTTPS://X/?A=B", false);
        check("link destination", "[here](https://x/?a=b)", false);
        check("link title", "[here](https://x \"why?\")", false);
        check("link text", "[is this right?](https://x)", true);
        check(
            "link whose text is its url",
            "[https://x/?a=b](https://x/?a=b)",
            false,
        );
        check("reference definition", "[x]: https://x/?a=b\n\nsee [x]", false);
        check("image", "![what?](https://x/y.png?raw=true)", false);
        check("code span", "use `a ? b : c` here", false);
        check("code span of two ticks", "use ``a ` ? b`` here", false);
        check("unclosed tick is no code", "use `a ? b", true);
        check("fence", "```\na ? b\n```", false);
        check("tilde fence", "~~~ts\na?.b\n~~~", false);
        check("unclosed fence", "```\na ? b", false);
        check("indented code", "text\n\n    a ? b", false);
        check("indented continuation is no code", "text\n    really?", true);
        check("suggestion", "```suggestion\nlet x = y?;\n```\n", false);
        check("fence within a list", "- one\n  ```\n  a?\n  ```\n", false);
        check("quote", "> quoted?", false);
        check("quote then own words", "> quoted?\n\nYes.", false);
        check("quote then own question", "> quoted.\n\nWhy?", true);
        check("answer right under a quote", "> quoted.\nWhy?", true);
        check(
            "statement right under a quoted question",
            "> quoted?\nFine.",
            false,
        );
        check("nested quote", "> > quoted?\n> and this?", false);
        check("quote within a list", "- > quoted?\n", false);
        check("crlf quote", "> quoted?\r\nFine.\r\n", false);
        check("crlf question", "Fine.\r\nReally?\r\n", true);
        check("comment", "<!-- why? -->", false);
        check("comment over lines", "<!--\nwhy?\n\nreally?\n-->\ntext", false);
        check("comment within a line", "a <!-- why? --> b", false);
        check("comment that never ends", "<!-- why?", false);
        check("html attribute", "<img src=\"https://x/y?z\">", false);
        check(
            "html attribute within a line",
            "see <a href=\"https://x/y?z\">this</a>",
            false,
        );
        check(
            "words within html",
            "<details><summary>Is it so?</summary></details>",
            true,
        );
        check(
            "words after details",
            "<details>\n\nIs it so?\n\n</details>",
            true,
        );
        check("heading", "# Why?", true);
        check("table", "| a | b |\n|---|---|\n| why? | 2 |", true);
        check("list", "- [ ] is it done?", true);
        check("emphasis", "**why?**", true);
        check("escaped", "why\\?", true);
        check("entity", "why&quest;", true);
        check("optional chaining in prose", "it is a?.b that fails", true);
        check("footnote", "a[^1]\n\n[^1]: why?", true);
        check("empty", "", false);
    }

    #[test]
    fn urls_leave_a_placeholder_and_their_sentence() {
        assert_eq!(
            prose("superseded by https://github.com/o/r/pull/9."),
            format!("superseded by {LINK}.")
        );
        assert_eq!(prose("a \u{E000}\u{E001} b"), "a    b");
        assert_eq!(prose("src/main.rs and e.g. this"), "src/main.rs and e.g. this");
    }

    #[test]
    fn blocks_are_parted() {
        assert_eq!(
            prose("# One\n- two\n- three\n\nfour\nfive"),
            "One\n\ntwo\n\nthree\n\nfour\nfive"
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = asks(&text);
        }

        #[test]
        fn never_panics_on_markup(text in "[>\\-*+ \\n\\r\\t`~<!\\[\\]()#|_:/?.aé\u{E000}?0-9&;-]{0,80}") {
            let _ = prose(&text);
        }

        #[test]
        fn a_fence_hides_everything(text in "[^`\\r]{0,60}") {
            let fenced = format!("```\n{text}\n```\n");
            prop_assert!(!asks(&fenced));
        }
    }
}
