//! `qa`, `investigate` and `drip` at work: the real program, real git repositories, real gates and real kills.

#[expect(dead_code, reason = "the tests of the keeper use all of it")]
#[path = "../../child/tests/it/git/forge.rs"]
mod forge;

mod bad_input;
mod kills;
mod path;
mod rehearsal;
mod secrets;
mod site;
