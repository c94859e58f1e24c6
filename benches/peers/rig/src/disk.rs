//! The disk that is measured, and the machine around it.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A folder that is removed afterwards. It is below `PEERS_DIR`, or the folder one is in: many systems have
/// `/tmp` in memory, where a sync costs nothing.
pub fn folder() -> TempDir {
    let base = std::env::var_os("PEERS_DIR").unwrap_or_else(|| ".".into());
    tempfile::Builder::new()
        .prefix("peers-")
        .tempdir_in(base)
        .expect("a folder to measure in can be made")
}

/// The bytes of disk that a folder takes.
pub fn usage(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => usage(&entry.path()),
            Ok(metadata) => metadata.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

/// One line about the machine.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let cpu = first_value("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let memory = first_value("/proc/meminfo", "MemTotal").unwrap_or_default();
    let memory = memory
        .split(' ')
        .next()
        .and_then(|kb| kb.parse::<f64>().ok())
        .unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let base = std::env::var("PEERS_DIR").unwrap_or_else(|_| ".".to_owned());
    let disk = said("findmnt", &["-no", "FSTYPE,SOURCE,OPTIONS", "-T", &base]);
    let rustc = said("rustc", &["--version"]);
    format!(
        "{cores} cores ({cpu}), {:.1} GB memory, Linux {}, {}, {rustc}",
        memory / 1e6,
        kernel.trim(),
        disk.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

fn first_value(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// Megabytes of memory of this process that are resident, now and at most so far.
pub fn resident_mb() -> (f64, f64) {
    let kb = |key| {
        let value = first_value("/proc/self/status", key)?;
        value.split(' ').next()?.parse::<f64>().ok()
    };
    (
        kb("VmRSS").unwrap_or_default() / 1e3,
        kb("VmHWM").unwrap_or_default() / 1e3,
    )
}

/// Seconds of processor time that this process has used, in all its threads.
pub fn processor_seconds() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the program's name in parentheses, which may hold spaces; user and system time are
    // the fourteenth and fifteenth, in hundredths on every Linux.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
