//! What goes out of mailboxes and into them as JSONL (docs/decisions/export-and-import.md): the lines, and reading
//! them one after another.

pub mod event;
pub mod line;
pub mod reader;
