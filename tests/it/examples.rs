//! The examples, run. `cargo test` builds them before any test; the tests within `own_test` it runs itself.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example with a directory for temporary files of its own; its standard output.
fn run(name: &str, scratch: &tempfile::TempDir) -> String {
    let beside: PathBuf = assert_cmd::cargo::cargo_bin!("sweep").with_file_name("examples");
    let program = beside.join(name);
    assert!(
        program.exists(),
        "{name} is not built: run `cargo build --examples`"
    );
    let output = Command::new(program)
        .env("TMPDIR", scratch.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {stderr}");
    assert_eq!(stderr, "", "{name}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_greeter_greets_once_however_often_it_is_run() {
    let scratch = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        assert_eq!(run("greeter", &scratch), "");
        let greetings = std::fs::read_to_string(scratch.path().join("greeter/greetings.txt")).unwrap();
        assert_eq!(greetings, "Ada\n");
    }
}

#[test]
fn the_pair_counts_each_word_once_though_one_of_them_panics() {
    let scratch = tempfile::tempdir().unwrap();
    let said = run("pair", &scratch);
    assert!(
        said.contains("counter: restarted 1 times\nreader: restarted 0 times\n"),
        "{said}"
    );
    assert_eq!(said.matches(": counted\n").count(), 4, "{said}");
    assert!(said.contains("reader/1/2: counted before\n"), "{said}");
    let words = std::fs::read_to_string(scratch.path().join("pair/words.txt")).unwrap();
    assert_eq!(words.lines().count(), 5, "{words}");
}

#[test]
fn a_new_actor_takes_less_than_forty_lines() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/greeter.rs");
    assert!(std::fs::read_to_string(source).unwrap().lines().count() < 40);
}
