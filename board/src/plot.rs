//! Plots as SVG, to stand in a page. They need no script and no font of their own.
//!
//! A plot has a title and a description for those who do not see it, and its colours are plain attributes, which a
//! page's style sheet can turn for a dark screen: [`INK`] and [`GRID`] are the only ones that depend on it.

mod axis;
mod draw;

pub(crate) use axis::{Axis, log_spans, time_axis, value_of, whole_numbers};

/// A colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colour(pub u8, pub u8, pub u8);

/// Words and axes.
pub(crate) const INK: Colour = Colour(0x57, 0x60, 0x6A);
/// Grid lines.
pub(crate) const GRID: Colour = Colour(0xD8, 0xDE, 0xE4);

/// The width of a plot, in units of its own.
const WIDTH: u32 = 720;
/// The height of one.
const HEIGHT: u32 = 260;

/// What a plot says to those who do not see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    /// A name for it, unlike any other in the page.
    pub id: &'a str,
    /// What it shows.
    pub title: &'a str,
    /// What can be seen in it.
    pub desc: &'a str,
}

/// A plot: axes and what stands between them.
#[derive(Debug)]
pub(crate) struct Plot {
    /// From left to right.
    pub x: Axis,
    /// From the bottom up.
    pub y: Axis,
    /// What is drawn, the first of them lowest.
    pub marks: Vec<Mark>,
}

/// Something drawn, in the values of the axes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mark {
    /// A filled rectangle from one corner to the other.
    Bar {
        /// One corner.
        from: (f64, f64),
        /// The opposite one.
        to: (f64, f64),
        /// Its colour.
        colour: Colour,
    },
    /// A line through points.
    Line {
        /// The points, from left to right.
        points: Vec<(f64, f64)>,
        /// Its colour.
        colour: Colour,
    },
    /// Dots.
    Dots {
        /// Where.
        points: Vec<(f64, f64)>,
        /// Their colour.
        colour: Colour,
    },
}

impl Mark {
    /// Whether nothing of it would be seen.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Bar { .. } => false,
            Self::Line { points, .. } | Self::Dots { points, .. } => points.is_empty(),
        }
    }
}

impl Plot {
    /// The plot as an `svg` element.
    pub(crate) fn svg(&self, said: &Said<'_>) -> String {
        draw::svg(self, said)
    }
}
