//! gits that outlived the process which started them.
//!
//! A process that is killed cannot end its children. The next one to hold the keeper's root does, before it clears
//! the locks: a git that still runs would make new ones.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// How long a process that was sent SIGKILL may take to go.
const GOING: Duration = Duration::from_secs(5);

/// How often it is looked whether it has gone.
const LOOK: Duration = Duration::from_millis(10);

/// Ends the process groups of all processes of this user that have `mark` as an argument. Only where the system shows
/// its processes under `/proc`; elsewhere a git that lost its reader ends by itself when it next says something.
pub(super) async fn end(mark: &OsStr) {
    let started = Instant::now();
    loop {
        let left = marked(Path::new("/proc"), mark);
        if left.is_empty() || started.elapsed() > GOING {
            return;
        }
        for process in left {
            // Ours have groups of their own: whoever shares this process's is somebody else.
            let group = rustix::process::getpgid(Some(process)).ok();
            if let Some(group) = group.filter(|group| *group != rustix::process::getpgrp()) {
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn marked(processes: &Path, mark: &OsStr) -> Vec<Pid> {
    let own = rustix::process::getpid();
    let has_mark = |pid: &str| {
        // A zombie has no arguments any more.
        let arguments = fs::read(processes.join(pid).join("cmdline")).unwrap_or_default();
        arguments
            .split(|&byte| byte == 0)
            .any(|argument| argument == mark.as_bytes())
    };
    fs::read_dir(processes)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && has_mark(name))
        .filter_map(|name| name.parse().ok().and_then(Pid::from_raw))
        .filter(|pid| *pid != own)
        .collect()
}
