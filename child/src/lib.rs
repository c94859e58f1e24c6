//! Other people's programs, kept on a leash.
//!
//! A program that this one starts (a credential helper, a configured agent, a gate command) gets an argument
//! list that no shell reads, a process group of its own, a deadline, a bound on what is kept of its output and
//! an environment that holds only what was allowed.
//!
//! **It promises** that nothing is left of the process group when [`Command::run`] has returned or was dropped,
//! that a program which writes without end costs a bounded amount of memory, and that no variable of this
//! process reaches the child unless it is in [`PASSED_ON`] or was named.
//!
//! **It does not** sandbox: the child has the user's files and the network. One that leaves its process group
//! (`setsid`) is ended too where the command has an [owner](Command::owner) and the system shows processes under
//! `/proc`, unless it clears its environment as well.
//!
//! [`git`] keeps mirrors and work trees with it.
//!
//! **It fails** with a [`CommandError`] that names the program. A program that ran and did not succeed is no
//! error here: [`Finished::status`] says how it ended.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let said = child::Command::new(["echo", "$HOME; `id`"])?.run().await?;
//! assert!(said.succeeded());
//! assert_eq!(said.stdout.text(), "$HOME; `id`\n"); // no shell has read it
//! # Ok::<(), child::CommandError>(())
//! # }).unwrap();
//! ```

mod capture;
mod command;
pub mod git;
mod strays;

pub use capture::Captured;
pub use command::{
    Command, CommandError, DEFAULT_DEADLINE, DEFAULT_OUTPUT_CAP, Exit, Finished, PASSED_ON, Said,
};
pub use strays::end_strays;
