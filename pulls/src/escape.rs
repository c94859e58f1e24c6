//! A pull request's own words made safe for where they are shown.
//!
//! A title, a comment or a branch name is data: it must not move the cursor of a terminal, act as
//! markdown or HTML, or notify anybody (contract, section 5).

/// Whether a character would do something instead of being seen: a control character (also the eight-bit
/// ones), a bidirectional override, a line separator, a tag or another invisible formatter.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// One line that a terminal only shows: white space of any kind is one space, everything that acts is
/// written as its code point.
///
/// ```
/// use pulls::escape::line;
/// assert_eq!(line("a\r\n  b\u{1b}[31m"), r"a b\u{1b}[31m");
/// ```
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_line(&mut out, text);
    out
}

/// Adds to a sentence what [`line()`] makes of a text.
///
/// ```
/// let mut out = String::from("red: ");
/// pulls::escape::push_line(&mut out, "  a\n b ");
/// assert_eq!(out, "red: a b");
/// ```
pub fn push_line(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
        return;
    }
    let mut words = text
        .split(|c: char| c.is_whitespace())
        .filter(|word| !word.is_empty());
    if let Some(first) = words.next() {
        push_shown(out, first);
    }
    for word in words {
        out.push(' ');
        push_shown(out, word);
    }
}

/// Whether a text is words of visible ASCII with one space between them, as most are: then it is shown as it is.
fn is_plain(text: &str) -> bool {
    let mut before = b' ';
    for byte in text.bytes() {
        if !matches!(byte, b' '..=b'~') || byte == b' ' && before == b' ' {
            return false;
        }
        before = byte;
    }
    before != b' '
}

/// Several lines that a terminal only shows: as [`line()`], but line breaks and indentation stay.
pub fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, row) in text.replace("\r\n", "\n").split(['\n', '\r']).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        push_shown(&mut out, &row.replace('\t', "    "));
    }
    out
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}')
}

fn push_shown(out: &mut String, text: &str) {
    let mut before = ' ';
    for c in text.chars() {
        // Emoji and several scripts are written with joiners; elsewhere they only hide.
        let joins = is_joiner(c) && !before.is_ascii() && !acts(before);
        if acts(c) && !joins {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        before = c;
    }
}

/// One line of markdown that shows the text and does nothing: no emphasis, code, link, image, HTML or
/// mention. Only what acts is escaped, so that plain words stay readable in the file.
///
/// ```
/// use pulls::escape::markdown;
/// assert_eq!(markdown("fix(x): a_b (#12)"), r"fix(x): a\_b (#12)");
/// assert_eq!(markdown("<b>@you</b>"), "&lt;b&gt;@\u{200B}you&lt;/b&gt;");
/// ```
pub fn markdown(text: &str) -> String {
    let shown = line(text);
    let mut out = String::with_capacity(shown.len() + 8);
    let marker = block_marker(&shown);
    for (at, c) in shown.char_indices() {
        let rest = &shown[at..];
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A mention is looked for in the rendered text, where an escape is gone already.
            '@' => out.push_str("@\u{200B}"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '|' | '$' => {
                out.push('\\');
                out.push(c);
            }
            ':' if rest.starts_with("://") => out.push_str("\\:"),
            '.' if shown[..at].to_ascii_lowercase().ends_with("www") => out.push_str("\\."),
            _ => {
                if marker == Some(at) {
                    out.push('\\');
                }
                out.push(c);
            }
        }
    }
    out
}

/// Where the character stands that would make a line a heading, a list or an underline.
fn block_marker(text: &str) -> Option<usize> {
    match text.chars().next()? {
        '#' | '+' | '-' | '=' => Some(0),
        '0'..='9' => {
            let at = text.find(|c: char| !c.is_ascii_digit())?;
            text[at..].starts_with(['.', ')']).then_some(at)
        }
        _ => None,
    }
}

/// A fenced code block that holds the text whole: the fence is longer than any within it. On GitHub
/// nothing in it notifies anybody. Ends with a line break.
pub fn fenced(text: &str) -> String {
    let shown = lines(text);
    let mut longest = 0;
    let mut run = 0;
    for c in shown.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat((longest + 1).max(3));
    let end = if shown.ends_with('\n') || shown.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{fence}text\n{shown}{end}{fence}\n")
}

/// A web address as markdown that leads there, where it is one and nothing but one; any other text as
/// [`markdown()`] shows it. For the addresses that GitHub gives its own pages.
///
/// ```
/// use pulls::escape::address;
/// assert_eq!(address("https://github.com/o/r/pull/1#issuecomment-2"), "<https://github.com/o/r/pull/1#issuecomment-2>");
/// assert_eq!(address("javascript:alert(1)"), "javascript:alert(1)");
/// assert_eq!(address("https://x.example/> <b>"), "https\\://x.example/&gt; &lt;b&gt;");
/// ```
pub fn address(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#@!&*+,;=%".contains(c);
    let is_one = ["https://", "http://"]
        .iter()
        .any(|scheme| text.starts_with(scheme));
    if is_one && text.chars().all(plain) {
        format!("<{text}>")
    } else {
        markdown(text)
    }
}

/// The text, or its beginning with `…`, in at most `most` characters.
pub fn clamp(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(most.saturating_sub(1)).collect();
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag};

    #[test]
    fn terminal_lines_do_nothing() {
        assert_eq!(line("\u{1b}]0;title\u{7}x"), "\\u{1b}]0;title\\u{7}x");
        assert_eq!(line("safe \u{202E}evil"), "safe \\u{202e}evil");
        assert_eq!(line("c1 \u{9b}31m"), "c1 \\u{9b}31m");
        assert_eq!(line("  a \t b\n\nc  "), "a b c");
        assert_eq!(line("naïve – 中文 🎉 👨‍👩‍👧"), "naïve – 中文 🎉 👨‍👩‍👧");
        assert_eq!(line("a\u{200D}b"), "a\\u{200d}b");
        assert_eq!(lines("a\r\n\tb\u{8}"), "a\n    b\\u{8}");
    }

    #[test]
    fn markdown_shows_what_it_is_given() {
        assert_eq!(
            markdown("superseded by #4067 (merged 2026-05-13)"),
            "superseded by #4067 (merged 2026-05-13)"
        );
        assert_eq!(markdown("# not a heading"), "\\# not a heading");
        assert_eq!(markdown("1. not a list"), "1\\. not a list");
        assert_eq!(markdown("- not a list"), "\\- not a list");
        assert_eq!(markdown("a\n# b"), "a # b");
        assert_eq!(markdown("![x](https://x/y.png)"), "!\\[x\\](https\\://x/y.png)");
        assert_eq!(markdown("www.x.example"), "www\\.x.example");
        assert_eq!(markdown("&quest; &amp;"), "&amp;quest; &amp;amp;");
        assert_eq!(markdown("@team/all"), "@\u{200B}team/all");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("a\n````\nb"), "`````text\na\n````\nb\n`````\n");
        assert_eq!(fenced(""), "```text\n```\n");
    }

    #[test]
    fn clamps_by_characters() {
        assert_eq!(clamp("中文字", 3), "中文字");
        assert_eq!(clamp("中文字字", 3), "中文…");
        assert_eq!(clamp("ab cd", 4), "ab…");
    }

    proptest! {
        #[test]
        fn no_markdown_acts(text in "[ -~\\n\\té]{0,60}") {
            let markdown = format!("- {}\n", markdown(&text));
            // What GitHub's markdown has beyond CommonMark.
            let github = Options::ENABLE_GFM | Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH
                | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES | Options::ENABLE_MATH;
            for event in Parser::new_ext(&markdown, github) {
                let quiet = match &event {
                    Event::Start(tag) => matches!(tag, Tag::List(_) | Tag::Item | Tag::Paragraph),
                    Event::End(_) | Event::Text(_) => true,
                    _ => false,
                };
                prop_assert!(quiet, "{event:?} from {markdown:?}");
            }
        }

        #[test]
        fn nothing_acts_on_a_terminal(text in "\\PC*|.*") {
            prop_assert!(line(&text).chars().all(|c| !acts(c) || is_joiner(c)));
            prop_assert!(lines(&text).chars().all(|c| c == '\n' || !acts(c) || is_joiner(c)));
        }

        #[test]
        fn a_fence_is_one_block(text in "[`~a\\n ]{0,40}") {
            let markdown = fenced(&text);
            let blocks = Parser::new(&markdown).filter(|event| matches!(event, Event::Start(_))).count();
            prop_assert_eq!(blocks, 1);
        }
    }
}
