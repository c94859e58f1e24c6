//! A table for a terminal.

use pulls::escape;

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table whose columns are as wide as their widest cell. What others wrote is neutralised.
#[derive(Debug)]
pub(crate) struct Columns {
    sides: Vec<Side>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    pub(crate) fn new<const N: usize>(headings: [(&str, Side); N]) -> Self {
        Self {
            sides: headings.map(|(_, side)| side).to_vec(),
            rows: vec![headings.map(|(heading, _)| heading.to_owned()).to_vec()],
        }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| escape::line(&cell)).to_vec());
    }

    /// The table, a line a row, each of them indented by two spaces.
    pub(crate) fn render(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.sides.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, width), side) in row.iter().zip(&widths).zip(&self.sides) {
                line.push_str("  ");
                match side {
                    Side::Left => line.push_str(&format!("{cell:<width$}")),
                    Side::Right => line.push_str(&format!("{cell:>width$}")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_left_and_numbers_right() {
        let mut columns = Columns::new([("actor", Side::Left), ("unread", Side::Right)]);
        columns.row(["qa\u{1b}[2J".into(), "7".into()]);
        assert_eq!(
            columns.render(),
            "  actor        unread\n  qa\\u{1b}[2J       7\n"
        );
    }
}
