//! What the benchmark programs share.
//!
//! Each program runs its scenarios and prints one JSON line for each figure ([`Figure`]); the script beside
//! this workspace collects the lines of all programs and has them printed as one table ([`table`]).
//!
//! Disks are shared and noisy, so engines take turns within a round, in another order each round; a ratio is
//! taken within a round, and the median over the rounds counts ([`Rounds`]). The limit that every ratio refers
//! to is a plain file with `fdatasync` ([`plain::PlainFile`]), measured by each program beside its own engines.

pub mod disk;
mod figure;
pub mod group;
pub mod message;
pub mod plain;
mod rounds;
pub mod table;

pub use figure::Figure;
pub use message::Item;
pub use rounds::{Rounds, median};

/// How much to do: enough for a figure to stand, or just enough to see that everything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Full,
    Quick,
}

impl Size {
    /// `full` messages, or as much as `quick`.
    pub fn of(self, full: usize, quick: usize) -> usize {
        match self {
            Size::Full => full,
            Size::Quick => quick,
        }
    }

    /// Rounds, of which the median counts.
    pub fn rounds(self) -> usize {
        self.of(7, 3)
    }
}

/// What a program was asked to run.
#[derive(Debug)]
pub struct Asked {
    pub size: Size,
    scenarios: Vec<String>,
}

impl Asked {
    /// Reads the command line: names of scenarios, all where none is named, and `--quick`. A name that is no
    /// scenario of this program may be one of another's.
    pub fn from_args(args: impl Iterator<Item = String>) -> Self {
        let (flags, scenarios): (Vec<_>, Vec<_>) = args.partition(|arg| arg.starts_with("--"));
        let size = if flags.iter().any(|flag| flag == "--quick") {
            Size::Quick
        } else {
            Size::Full
        };
        Self { size, scenarios }
    }

    pub fn wants(&self, scenario: &str) -> bool {
        self.scenarios.is_empty() || self.scenarios.iter().any(|wanted| wanted == scenario)
    }
}
