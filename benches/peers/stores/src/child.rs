//! What runs in a process of its own: what is to be killed, and whose memory is looked at.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{idle, open};

/// Tells this program that it is a child.
pub const ARGUMENT: &str = "child";

/// Starts this program as a child that does `task` in a folder.
pub fn start(task: &str, dir: &Path, amount: usize) -> Started {
    let program = std::env::current_exe().expect("this program is a file");
    let mut child = Command::new(program)
        .args([ARGUMENT, task])
        .arg(dir)
        .arg(amount.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process can be started");
    let stdout = BufReader::new(child.stdout.take().expect("it was asked for"));
    Started { child, stdout }
}

/// A child and what it says.
pub struct Started {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Started {
    /// The next thing that the child reports.
    pub fn report<T: DeserializeOwned>(&mut self) -> T {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a pipe reads");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("the child said {line:?}: {error}"))
    }

    /// Kills it as `kill -9` does.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Waits for its end.
    pub fn end(mut self) {
        assert!(self.child.wait().expect("it ends").success(), "the child failed");
    }
}

/// Reports something to whoever started this child.
pub fn tell(report: &impl Serialize) {
    println!(
        "{}",
        serde_json::to_string(report).expect("plain data serializes")
    );
}

/// Does what a child was started for.
pub fn run(mut args: impl Iterator<Item = String>) {
    let mut next = || args.next().expect("a child is told its task, folder and amount");
    let (task, dir, amount) = (next(), next(), next());
    let amount = amount.parse().expect("an amount is a number");
    let dir = Path::new(&dir);
    match task.as_str() {
        "fill" => open::fill(dir, amount),
        "fill-and-ack" => open::fill_and_ack(dir, amount),
        "open" => open::open(dir),
        "fill-sqlite" => open::fill_sqlite(dir, amount),
        "open-sqlite" => open::open_sqlite(dir),
        "idle" => idle::host(dir, amount),
        other => panic!("{other} is no task"),
    }
}
