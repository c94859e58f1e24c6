//! Lines out of a stream, one at a time, each of a bounded length.

use std::io::{self, BufRead};

/// The longest line, in bytes: the largest message with a history of thousands of events. It fits a request to the
/// process that holds the home, whatever has to be escaped in it.
pub const MAX_LINE: usize = 7 * 1024 * 1024;

/// Lines of a stream. Empty ones are counted and left out.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    number: u64,
    line: Vec<u8>,
}

/// A line, as it was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A whole line, without its line break.
    Line(&'a [u8]),
    /// One of more than [`MAX_LINE`] bytes, which were not kept.
    TooLong,
}

impl Read<'_> {
    /// Its bytes that were kept.
    pub fn bytes(&self) -> usize {
        match self {
            Read::Line(line) => line.len(),
            Read::TooLong => 0,
        }
    }
}

impl<R: BufRead> Lines<R> {
    /// The lines of this stream.
    pub fn of(from: R) -> Self {
        Self {
            from,
            number: 0,
            line: Vec::new(),
        }
    }

    /// The next line with its number, from 1.
    pub fn next(&mut self) -> io::Result<Option<(u64, Read<'_>)>> {
        loop {
            self.line.clear();
            self.number += 1;
            let mut any = false;
            let mut too_long = false;
            loop {
                let here = self.from.fill_buf()?;
                if here.is_empty() {
                    break;
                }
                any = true;
                let end = here.iter().position(|byte| *byte == b'\n');
                let taken = end.unwrap_or(here.len());
                too_long |= self.line.len() + taken > MAX_LINE;
                if too_long {
                    self.line.clear();
                } else {
                    self.line.extend_from_slice(&here[..taken]);
                }
                self.from.consume(end.map_or(taken, |end| end + 1));
                if end.is_some() {
                    break;
                }
            }
            if !any {
                return Ok(None);
            }
            if too_long {
                return Ok(Some((self.number, Read::TooLong)));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some((self.number, Read::Line(&self.line))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], buffer: usize) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines::of(io::BufReader::with_capacity(buffer, text));
        let mut seen = Vec::new();
        while let Some((number, read)) = lines.next().unwrap() {
            let line = match read {
                Read::Line(line) => Some(String::from_utf8(line.to_vec()).unwrap()),
                Read::TooLong => None,
            };
            seen.push((number, line));
        }
        seen
    }

    #[test]
    fn lines_are_numbered_and_the_last_needs_no_line_break() {
        let some = |line: &str| Some(line.to_owned());
        for buffer in [1, 2, 64] {
            assert_eq!(
                lines(b"one\n\n  \ntwo\nthree", buffer),
                [(1, some("one")), (4, some("two")), (5, some("three"))]
            );
        }
        assert_eq!(lines(b"", 8), []);
        assert_eq!(lines(b"\n\n", 8), []);
    }

    #[test]
    fn a_line_that_is_too_long_is_told_and_the_next_is_read() {
        let mut text = vec![b'x'; MAX_LINE + 1];
        text.extend_from_slice(b"\nnext\n");
        assert_eq!(lines(&text, 4096), [(1, None), (2, Some("next".to_owned()))]);
        let exact = vec![b'x'; MAX_LINE];
        assert_eq!(lines(&exact, 4096).len(), 1);
    }
}
