//! The built-in actors.
