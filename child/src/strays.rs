//! Processes that left their group, or outlived whoever started them.
//!
//! A process group ends with one signal, but a process can leave it (`setsid`), and a program that is killed ends
//! nobody. Both are found by a variable of their environment that everything below them inherits: its value begins
//! with the owner's mark.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
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
    end(&format!("{VARIABLE}={owner}/"), Match::Beginning).await;
}

/// Ends what still runs of one command, which has a value of its own.
pub(crate) async fn end_of(value: &str) {
    end(&format!("{VARIABLE}={value}"), Match::Whole).await;
}

/// The same once and without waiting, for a command that is given up.
pub(crate) fn strike(value: &str) {
    for process in marked(Path::new("/proc"), &format!("{VARIABLE}={value}"), Match::Whole) {
        let _ = rustix::process::kill_process(process, Signal::KILL);
    }
}

#[derive(Clone, Copy)]
enum Match {
    Whole,
    Beginning,
}

/// Kills until none is left: one that is killed may have started another a moment before.
async fn end(setting: &str, how: Match) {
    let started = Instant::now();
    loop {
        let left = marked(Path::new("/proc"), setting, how);
        if left.is_empty() || started.elapsed() > GOING {
            return;
        }
        for process in left {
            let _ = rustix::process::kill_process(process, Signal::KILL);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn marked(processes: &Path, setting: &str, how: Match) -> Vec<Pid> {
    let is_marked = |pid: &str| {
        // Of a zombie, and of another user's process, nothing can be read.
        let environment = fs::read(processes.join(pid).join("environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| match how {
            Match::Whole => variable == setting.as_bytes(),
            Match::Beginning => variable.starts_with(setting.as_bytes()),
        })
    };
    let own = rustix::process::getpid();
    fs::read_dir(processes)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| name.as_bytes().iter().all(u8::is_ascii_digit))
        .filter_map(|name| name.into_string().ok())
        .filter(|pid| is_marked(pid))
        .filter_map(|pid| pid.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| *pid != own)
        .collect()
}
