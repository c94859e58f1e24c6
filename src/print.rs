//! Standard output: tables for people, one JSON document for programs. Everything that GitHub or another
//! program wrote is shown with its control characters escaped, so that it cannot steer a terminal.

use std::io::{self, Write as _};

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::failure::Failure;

/// Writes text to standard output as it stands, with a newline at its end.
pub fn text(text: &str) -> Result<(), Failure> {
    if text.ends_with('\n') {
        raw(text)
    } else {
        raw(&format!("{text}\n"))
    }
}

/// Writes text to standard output as it stands; nothing where it is empty.
pub fn raw(text: &str) -> Result<(), Failure> {
    written(text).map_err(Failure::output)
}

/// The same for what somebody must have got: a closed pipe is an error like any other.
pub fn written(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes one JSON document on one line.
pub fn json<T: Serialize>(document: &T) -> Result<(), Failure> {
    text(&serde_json::to_string(document).expect("our documents have string keys and finite numbers"))
}

/// A table whose columns are as wide as their widest cell. The last column is as long as it is.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with its headings.
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self {
            rows: vec![headings.map(str::to_owned).to_vec()],
        }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| shown(&cell)).to_vec());
    }

    /// The table as text, a line a row.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&format!("{cell:<width$}  "));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Text of unknown origin on one line: control characters escaped, so that it cannot steer a terminal.
pub fn shown(text: &str) -> String {
    text.chars()
        .flat_map(|char| {
            let plain = (!hides(char)).then_some(char);
            plain
                .into_iter()
                .chain(hides(char).then(|| char.escape_default()).into_iter().flatten())
        })
        .collect()
}

/// Characters that steer a terminal, hide text or turn its direction.
pub fn hides(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A moment as a person reads it: `2026-05-14 17:45:00 UTC`.
pub fn moment(moment: DateTime<Utc>) -> String {
    moment.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// How long ago, or in how long, in its two largest units: `3h 12m`.
pub fn age(between: chrono::TimeDelta) -> String {
    let seconds = between.num_seconds().max(0);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{}s", seconds % 60),
        (0, 0, _) => format!("{minutes}m"),
        (0, _, _) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn columns_line_up_and_nothing_trails() {
        let mut table = Table::new(["actor", "unread", "reason"]);
        table.row(["qa".into(), "12".into(), "ci failed".into()]);
        table.row(["investigate".into(), "0".into(), String::new()]);
        assert_eq!(
            table.render(),
            "actor        unread  reason\nqa           12      ci failed\ninvestigate  0\n"
        );
    }

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        assert_eq!(
            shown("a\u{1b}]0;x\u{7}b\nc\u{202e}d é 🎉"),
            "a\\u{1b}]0;x\\u{7}b\\nc\\u{202e}d é 🎉"
        );
    }

    #[test]
    fn ages_have_two_units() {
        for (seconds, text) in [
            (-5, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3_599, "59m"),
            (11_520, "3h 12m"),
            (90_000, "1d 1h"),
        ] {
            assert_eq!(age(TimeDelta::seconds(seconds)), text);
        }
    }
}
