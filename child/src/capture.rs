//! What is kept of a program's output: its beginning and its end.

use std::collections::VecDeque;
use std::fmt;

/// What was kept of one output stream, at most the command's cap of bytes.
///
/// The beginning says what was tried and the end says how it went; of a stream longer than the cap the middle
/// is left out, and [`Captured::omitted`] says how much that was.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Captured {
    cap: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
}

impl Captured {
    pub(crate) fn with_cap(cap: usize) -> Self {
        Self {
            cap,
            ..Self::default()
        }
    }

    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        let head_room = self.cap.div_ceil(2).saturating_sub(self.head.len());
        let to_head = head_room.min(bytes.len());
        self.head.extend_from_slice(&bytes[..to_head]);
        bytes = &bytes[to_head..];

        let tail_cap = self.cap / 2;
        if bytes.len() > tail_cap {
            self.omitted += (bytes.len() - tail_cap) as u64;
            bytes = &bytes[bytes.len() - tail_cap..];
        }
        self.tail.extend(bytes);
        let surplus = self.tail.len().saturating_sub(tail_cap);
        self.omitted += surplus as u64;
        self.tail.drain(..surplus);
    }

    /// Bytes that were read and not kept.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// The bytes kept, beginning then end, without a mark where the middle was left out.
    pub fn bytes(&self) -> Vec<u8> {
        self.head.iter().chain(&self.tail).copied().collect()
    }

    /// The text kept; bytes that are not UTF-8 become `U+FFFD`, and a middle that was left out is marked.
    pub fn text(&self) -> String {
        if self.omitted == 0 {
            return String::from_utf8_lossy(&self.bytes()).into_owned();
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        format!(
            "{}\n… {} bytes left out …\n{}",
            String::from_utf8_lossy(&self.head),
            self.omitted,
            String::from_utf8_lossy(&tail)
        )
    }

    /// The last line that is not blank, trimmed; what a program says at its end is usually why.
    pub fn last_line(&self) -> Option<String> {
        let text = self.text();
        text.lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(str::to_owned)
    }
}

impl fmt::Debug for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A credential helper's answer passes through here: its length is enough for a log.
        write!(
            f,
            "Captured({} bytes kept, {} left out)",
            self.head.len() + self.tail.len(),
            self.omitted
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(cap: usize, pieces: &[&str]) -> Captured {
        let mut captured = Captured::with_cap(cap);
        pieces.iter().for_each(|piece| captured.push(piece.as_bytes()));
        captured
    }

    #[test]
    fn everything_is_kept_up_to_the_cap() {
        let all = captured(10, &["0123", "456789"]);
        assert_eq!((all.text().as_str(), all.omitted()), ("0123456789", 0));
    }

    #[test]
    fn beyond_the_cap_the_beginning_and_the_end_are_kept() {
        let long = captured(6, &["abc", "defg", "hijklm", "xyz"]);
        assert_eq!(long.text(), "abc\n… 10 bytes left out …\nxyz");
        assert_eq!(long.bytes(), b"abcxyz");
    }

    #[test]
    fn one_piece_larger_than_the_cap() {
        let long = captured(4, &["0123456789"]);
        assert_eq!((long.bytes().as_slice(), long.omitted()), (b"0189".as_slice(), 6));
    }

    #[test]
    fn a_cap_of_nothing_keeps_nothing() {
        let none = captured(0, &["abc"]);
        assert_eq!((none.bytes().len(), none.omitted()), (0, 3));
    }

    #[test]
    fn the_last_line_is_the_last_that_says_something() {
        assert_eq!(
            captured(64, &["one\n two \n\n"]).last_line().as_deref(),
            Some("two")
        );
        assert_eq!(captured(64, &["\n \n"]).last_line(), None);
    }
}
