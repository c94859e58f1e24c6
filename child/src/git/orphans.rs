//! gits that outlived the process which started them.
//!
//! A process that is killed cannot end its children. The next one to hold the keeper's root does, before it clears
//! the locks: a git that still runs would make new ones.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::{Pid, Signal};

use crate::strays;

/// Ends the process groups of all processes of this user that have `mark` as an argument. Only where the system shows
/// its processes under `/proc`; elsewhere a git that lost its reader ends by itself when it next says something.
pub(super) async fn end(mark: &OsStr) {
    strays::end(
        || strays::found("cmdline", |argument| argument == mark.as_bytes()),
        kill_group,
    )
    .await;
}

/// Ours have groups of their own: whoever shares this process's is somebody else.
fn kill_group(process: Pid) {
    let group = rustix::process::getpgid(Some(process)).ok();
    if let Some(group) = group.filter(|group| *group != rustix::process::getpgrp()) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}
