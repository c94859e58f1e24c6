//! What people look at: view models, pages and plots.
//!
//! # What it is for
//!
//! Records lie in the mailboxes and in the files of the home; here they become something to read. A [`Report`] is
//! the pipeline's own numbers over a range of time: a value, which is printed as text ([`Report::text`]), as JSON,
//! or as one self-contained page with plots ([`Report::html`]). A [`Story`] is one pull request's both halves, in time
//! order. A [`Board`] is every pull request in its column, [`Reasons`] why one of them is where it is, [`Differences`]
//! what today's projection would decide otherwise, and a [`Cycle`] what one look at all of them came to.
//!
//! # What it promises
//!
//! - Everything is a function of its arguments: no clock, file, network or environment is read.
//! - [`Fold`] keeps numbers and no records, so that its memory follows the number of pull requests and days, and not
//!   that of messages.
//! - What others wrote does nothing: in text it cannot steer a terminal, in a page it is no markup, and the page's
//!   policy forbids what is not in it.
//! - An empty home, a clock that went back, a line that is half written or of another version: each has its
//!   defined result, which `docs/report.md` describes.
//!
//! # What it does not do
//!
//! It serves no page and reads no file: whoever has the records hands them in, one at a time.

mod columns;
pub mod cycle;
pub mod differences;
mod html;
pub mod kanban;
mod plot;
mod range;
pub mod reasons;
pub mod records;
pub mod report;
mod spread;
pub mod story;
pub mod words;

pub use cycle::Cycle;
pub use differences::Differences;
pub use html::escaped;
pub use kanban::Board;
pub use range::{EmptyRange, MAX_DAYS, Range};
pub use reasons::Reasons;
pub use report::{Fold, Report};
pub use spread::{Spread, Values};
pub use story::Story;
