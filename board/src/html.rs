//! A page in one file: no network, no script, nothing that a word from outside could do in it.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pulls::escape;
use sha2::{Digest as _, Sha256};

/// The style of every page.
const STYLE: &str = include_str!("page.css");

/// Text as HTML that shows it: one line, what acts written as its code point, what is markup escaped. It may
/// stand in an attribute between double quotes.
///
/// ```
/// assert_eq!(board::escaped("<b a=\"1\">&\u{202e}"), "&lt;b a=&quot;1&quot;&gt;&amp;\\u{202e}");
/// ```
pub fn escaped(text: &str) -> String {
    let shown = escape::line(text);
    let mut out = String::with_capacity(shown.len());
    for c in shown.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// A whole page. Its policy allows the style sheet that is in it and nothing else.
pub(crate) fn page(title: &str, body: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{hash}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

/// A table: a caption that tells what it is, headings, rows. The first cell of a row names it.
#[derive(Debug)]
pub(crate) struct Table {
    html: String,
    words: Vec<bool>,
}

impl Table {
    /// A table with its headings. One that begins with `<` heads a column of words, any other one of numbers; the
    /// first column is always words.
    pub(crate) fn new(caption: &str, headings: &[&str]) -> Self {
        let mut html = format!(
            "<div class=\"wide\"><table>\n<caption>{}</caption>\n<thead><tr>",
            escaped(caption)
        );
        let mut words = Vec::new();
        for (place, heading) in headings.iter().enumerate() {
            let is_words = place == 0 || heading.starts_with('<');
            let class = class(is_words);
            let heading = escaped(heading.trim_start_matches('<'));
            write!(html, "<th scope=\"col\"{class}>{heading}</th>").expect("writing to a string cannot fail");
            words.push(is_words);
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        Self { html, words }
    }

    /// Adds a row. Cells are text and are escaped here.
    pub(crate) fn row(&mut self, cells: &[String]) {
        self.html.push_str("<tr>");
        for (place, (cell, is_words)) in cells.iter().zip(&self.words).enumerate() {
            let (class, cell) = (class(*is_words), escaped(cell));
            let written = match place {
                0 => write!(self.html, "<th scope=\"row\"{class}>{cell}</th>"),
                _ => write!(self.html, "<td{class}>{cell}</td>"),
            };
            written.expect("writing to a string cannot fail");
        }
        self.html.push_str("</tr>\n");
    }

    /// The table.
    pub(crate) fn end(mut self) -> String {
        self.html.push_str("</tbody>\n</table></div>\n");
        self.html
    }
}

fn class(is_words: bool) -> &'static str {
    if is_words { " class=\"words\"" } else { "" }
}
