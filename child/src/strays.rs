//! Processes that left their group, or outlived whoever started them.
//!
//! A process group ends with one signal, but a process can leave it (`setsid`), and a program that is killed ends
//! nobody. Both are found by a variable of their environment that everything below them inherits: its value begins
//! with the owner's mark.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// The variable that marks a process and everything that it starts.
pub(crate) const VARIABLE: &str = "SWEEP_OWNER";

/// How long a process that was sent SIGKILL may take to go.
const GOING: Duration = Duration::from_secs(5);

/// How often it is looked whether it has gone.
const LOOK: Duration = Duration::from_millis(10);

/// Ends every process that was started for this owner ([`Command::owner`](crate::Command::owner)) and still runs: what
/// an earlier process with the same mark left behind when it was killed. Only where the system shows its processes
/// under `/proc`, and only those of this user.
pub async fn end_strays(owner: &str) {
    let setting = format!("{VARIABLE}={owner}/");
    end(
        || found("environ", |variable| variable.starts_with(setting.as_bytes())),
        kill,
    )
    .await;
}

/// Ends what still runs of one command, which has a value of its own.
pub(crate) async fn end_of(value: &str) {
    end(|| of(value), kill).await;
}

/// The same once and without waiting, for a command that is given up.
pub(crate) fn strike(value: &str) {
    of(value).into_iter().for_each(kill);
}

fn of(value: &str) -> Vec<Pid> {
    let setting = format!("{VARIABLE}={value}");
    found("environ", |variable| variable == setting.as_bytes())
}

fn kill(process: Pid) {
    let _ = rustix::process::kill_process(process, Signal::KILL);
}

/// Has each of them ended until none is found: one that is killed may have started another a moment before.
pub(crate) async fn end(find: impl Fn() -> Vec<Pid>, kill: impl Fn(Pid)) {
    let started = Instant::now();
    loop {
        let left = find();
        if left.is_empty() || started.elapsed() > GOING {
            return;
        }
        left.into_iter().for_each(&kill);
        tokio::time::sleep(LOOK).await;
    }
}

/// The other processes that have such an entry in a file of theirs under `/proc`: `environ` or `cmdline`, whose entries
/// end with a zero byte. Of a zombie, and of another user's process, nothing can be read.
pub(crate) fn found(file: &str, is_it: impl Fn(&[u8]) -> bool) -> Vec<Pid> {
    let processes = Path::new("/proc");
    let has_it = |pid: &str| {
        let entries = fs::read(processes.join(pid).join(file)).unwrap_or_default();
        entries.split(|&byte| byte == 0).any(&is_it)
    };
    let own = rustix::process::getpid();
    fs::read_dir(processes)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && has_it(name))
        .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| *pid != own)
        .collect()
}
