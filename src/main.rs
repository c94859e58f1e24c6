//! The command line of `sweep`.
fn main() {}
