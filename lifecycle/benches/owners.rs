//! How long 3,000 changed files take over 1,000 lines of `CODEOWNERS`, compiled and routed.
//!
//! `cargo bench -p lifecycle --bench owners` prints a markdown table; the median of the rounds is shown.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark measures time and reports on stdout"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use lifecycle::maintain::Routes;
use pulls::upkeep::{ChangedFile, CodeownersFile};

const LINES: usize = 1_000;
const FILES: usize = 3_000;
const ROUNDS: usize = 11;

/// Half of them folders of the root, as in real files, and every harder kind besides.
fn line(at: usize) -> String {
    match at % 8 {
        0 => format!("*.ext{at} @owner-{at}\n"),
        1 => format!("/src/**/name{at}* @owner-{at}\n"),
        2 => format!("folder{at}/ @owner-{at}\n"),
        3 => format!("/src/part{at}/*.rs @owner-{at} @org/team-{at}\n"),
        _ => format!("/src/part{at}/ @owner-{at}\n"),
    }
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn main() {
    let file = CodeownersFile {
        path: "CODEOWNERS".to_owned(),
        text: (0..LINES).map(line).collect(),
    };
    let files: Vec<ChangedFile> = (0..FILES)
        .map(|at| ChangedFile {
            path: format!("src/part{}/deep/er/name{at}.ext{}", at % LINES, at % 7),
            additions: 3,
            deletions: 1,
        })
        .collect();
    let mut compiled = Vec::new();
    let mut routed = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let (routes, bad) = Routes::compile(Some(&file), &[]).expect("no rules");
        compiled.push(start.elapsed());
        assert!(bad.is_empty());
        let start = Instant::now();
        black_box(routes.assign(None, black_box(&files)));
        routed.push(start.elapsed());
    }
    println!("| {LINES} lines of CODEOWNERS | median |\n| --- | --- |");
    println!("| compiled | {:.1?} |", median(compiled));
    println!("| {FILES} files routed | {:.1?} |", median(routed));
}
