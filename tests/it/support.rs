//! The program in a home of its own, with an environment of its own.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A home that is gone when this is dropped, and what the program is run with.
pub struct Desk {
    dir: TempDir,
    environment: Vec<(String, String)>,
}

/// How a run of the program ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Desk {
    /// An empty home, no token, and no program in `PATH` that could give one.
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            environment: Vec::new(),
        }
    }

    /// The same with one more variable.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where the home is. It is not made yet.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A place beside the home.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file within the home.
    pub fn write(&self, path: &str, text: &str) {
        let file = self.home().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// Reads a file within the home.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.home().join(path)).unwrap()
    }

    /// The program with these words, ready to be started.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("sweep"));
        command
            .args(words)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("SWEEP_HOME", self.home())
            .env("PATH", self.dir.path())
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, words: &[&str]) -> Ended {
        ended(self.command(words))
    }

    /// Runs the program to its end, which must be a good one, and gives its standard output.
    pub fn good(&self, words: &[&str]) -> String {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
        ended.stdout
    }

    /// As [`Desk::good`], its standard output being one JSON document.
    pub fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.good(words)).unwrap()
    }
}

/// Runs a command to its end.
pub fn ended(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// How long a condition may take to come about, on a machine that is busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a condition, which must come about.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "not {what}");
        std::thread::yield_now();
    }
}

/// A `sweep run` that is killed with SIGKILL when this is dropped.
pub struct Running(Child);

impl Running {
    /// Starts the command, and listens to nothing that it says.
    pub fn of(mut command: Command) -> Self {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(quiet.spawn().unwrap())
    }

    /// Hosts `retro` alone, and returns once others can ask.
    pub fn start(desk: &Desk) -> Self {
        let running = Self::of(desk.command(&["run", "--actors", "retro"]));
        let socket = desk.home().join("control.sock");
        wait_for("listening", || UnixStream::connect(&socket).is_ok());
        // It holds the home by now, and a second one is told so.
        let second = desk.run(&["run", "--actors", "retro"]);
        let holder = format!(
            "the home is in use: `sweep run` holds it (process {},",
            running.0.id()
        );
        assert_eq!(second.code, Some(5), "{second:?}");
        assert!(second.stderr.contains(&holder), "{second:?}");
        running
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.0.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Asks it to end, which it must do well.
    pub fn stop(mut self) {
        self.signal("TERM");
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended where the test went well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every file below a directory, by its path there.
pub fn files(below: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![below.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                found.push(path.strip_prefix(below).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// A world behind a loopback port, served until this is dropped.
pub struct Hosted {
    served: world::Served,
    runtime: tokio::runtime::Runtime,
}

impl Hosted {
    /// Serves a world on a thread of its own.
    pub fn new(world: world::World) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let served = runtime.block_on(world.serve()).unwrap();
        Self { served, runtime }
    }

    /// A desk whose GitHub is this one, with the token that it takes.
    pub fn desk(&self) -> Desk {
        Desk::new()
            .with("GITHUB_API_URL", &self.served.api_url())
            .with("GITHUB_TOKEN", self.served.token())
    }

    /// The world.
    pub fn served(&self) -> &world::Served {
        &self.served
    }

    /// Waits until the world was asked what satisfies a condition.
    pub fn wait_for(&self, condition: impl FnMut(&[world::Logged]) -> bool) {
        self.runtime.block_on(self.served.wait_for(condition));
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        // No test leaves a trace on GitHub.
        if !std::thread::panicking() {
            assert!(self.served.writes().is_empty(), "something was written on GitHub");
        }
    }
}
