//! Real programs, run for real.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

use std::time::{Duration, Instant};

use child::{Command, CommandError, Exit};

mod git;

fn shell(script: &str) -> Command {
    Command::new(["sh", "-c", script]).expect("a program is named")
}

fn is_running(pid: &str) -> bool {
    // A process that has ended and was not waited for yet is a zombie, state Z.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

async fn until_gone(pid: &str) {
    let asked = Instant::now();
    while is_running(pid) {
        assert!(
            asked.elapsed() < Duration::from_secs(10),
            "process {pid} is still there"
        );
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn status_and_both_streams_come_back() {
    let finished = shell("echo out; echo err >&2; exit 3").run().await.unwrap();
    assert_eq!(finished.status, Exit::Code(3));
    assert!(!finished.succeeded());
    assert_eq!(
        (finished.stdout.text().as_str(), finished.stderr.text().as_str()),
        ("out\n", "err\n")
    );
}

#[tokio::test]
async fn a_signal_is_told_apart_from_a_code() {
    let finished = shell("kill -9 $$").run().await.unwrap();
    assert_eq!(finished.status, Exit::Signal(9));
}

#[tokio::test]
async fn standard_input_is_given_whole_or_empty() {
    let large = vec![b'x'; 1 << 20];
    let counted = shell("wc -c").stdin(large).run().await.unwrap();
    assert_eq!(counted.stdout.text().trim(), "1048576");
    let nothing = shell("wc -c").run().await.unwrap();
    assert_eq!(nothing.stdout.text().trim(), "0");
}

#[tokio::test]
async fn a_program_that_does_not_read_its_input_is_no_failure() {
    let finished = shell("exit 0").stdin(vec![b'x'; 1 << 20]).run().await.unwrap();
    assert!(finished.succeeded());
}

#[tokio::test]
async fn only_allowed_variables_reach_the_child() {
    // Cargo sets CARGO_MANIFEST_DIR for every test; it stands for the secrets of a real environment.
    let finished = Command::new(["env"])
        .unwrap()
        .env("GIVEN", "yes")
        .run()
        .await
        .unwrap();
    let names: Vec<_> = finished
        .stdout
        .text()
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0.to_owned()))
        .collect();
    assert!(
        names.contains(&"GIVEN".to_owned()) && names.contains(&"PATH".to_owned()),
        "{names:?}"
    );
    let allowed = |name: &String| name == "GIVEN" || child::PASSED_ON.contains(&name.as_str());
    assert!(names.iter().all(allowed), "{names:?}");

    let named = Command::new(["env"])
        .unwrap()
        .pass_on("CARGO_MANIFEST_DIR")
        .run()
        .await
        .unwrap();
    assert!(named.stdout.text().contains("CARGO_MANIFEST_DIR="));
}

#[tokio::test]
async fn output_without_end_is_cut_in_the_middle() {
    let finished = shell("echo first; head -c 3000000 /dev/zero; echo last")
        .output_cap(64)
        .run()
        .await
        .unwrap();
    assert!(finished.stdout.text().starts_with("first\n"));
    assert!(finished.stdout.text().ends_with("last\n"));
    assert_eq!(finished.stdout.bytes().len(), 64);
    assert_eq!(finished.stdout.omitted(), 3_000_000 + 6 + 5 - 64);
}

#[tokio::test]
async fn at_the_deadline_the_whole_group_is_ended() {
    let script = "sleep 600 & echo $! >&2; wait";
    let missed = shell(script)
        .deadline(Duration::from_millis(300))
        .run()
        .await
        .unwrap_err();
    let CommandError::Deadline { said, program, .. } = missed else {
        panic!("{missed}")
    };
    assert_eq!(program, "sh");
    until_gone(said.stderr.text().trim()).await;
}

#[tokio::test]
async fn what_a_program_leaves_running_ends_with_it() {
    let began = Instant::now();
    let finished = shell("sleep 600 & echo $!").run().await.unwrap();
    assert!(finished.succeeded());
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "it did not wait for the one left behind"
    );
    until_gone(finished.stdout.text().trim()).await;
}

/// One that leaves the group is found by the mark that it inherited.
#[tokio::test]
async fn what_leaves_the_group_of_an_owned_command_ends_with_it() {
    let script = "setsid sleep 600 & echo $!; setsid sh -c 'sleep 600 & echo $!; wait' & sleep 0.2";
    let finished = shell(script).owner("test-leaves").run().await.unwrap();
    let said = finished.stdout.text();
    assert_eq!(said.lines().count(), 2, "{said}");
    for pid in said.lines() {
        until_gone(pid.trim()).await;
    }
    let missed = shell("setsid sleep 600 & echo $! >&2; wait")
        .owner("test-leaves")
        .deadline(Duration::from_millis(300))
        .run()
        .await
        .unwrap_err();
    let CommandError::Deadline { said, .. } = missed else {
        panic!("{missed}")
    };
    until_gone(said.stderr.text().trim()).await;
}

/// What a killed process leaves behind is ended by the next one with its mark, and nobody else's is.
#[tokio::test]
async fn strays_of_an_owner_are_ended_and_no_others() {
    let stray = |owner: &str| {
        std::process::Command::new("sleep")
            .arg("600")
            .env("SWEEP_OWNER", format!("{owner}/1-1"))
            .spawn()
            .unwrap()
    };
    let mut ours = stray("test-strays");
    let mut others = stray("test-strays-of-others");
    child::end_strays("test-strays").await;
    assert!(!ours.wait().unwrap().success());
    assert!(others.try_wait().unwrap().is_none(), "it runs on");
    others.kill().unwrap();
    others.wait().unwrap();
}

#[tokio::test]
async fn dropping_the_run_ends_the_group() {
    let directory = tempfile::tempdir().unwrap();
    let script = "sleep 600 & echo $! > pid.part; mv pid.part pid; wait";
    let run = tokio::spawn(shell(script).directory(directory.path()).run());
    let pid = loop {
        if let Ok(pid) = std::fs::read_to_string(directory.path().join("pid")) {
            break pid;
        }
        tokio::task::yield_now().await;
    };
    run.abort();
    until_gone(pid.trim()).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let missing = Command::new(["no-such-program-here"])
        .unwrap()
        .run()
        .await
        .unwrap_err();
    assert_eq!(
        missing.to_string(),
        "no-such-program-here is not there (or not in PATH)"
    );
    assert!(matches!(
        Command::new(Vec::<String>::new()),
        Err(CommandError::Empty)
    ));
}

/// The system says the same of both.
#[tokio::test]
async fn a_directory_that_is_not_there_is_no_missing_program() {
    let error = shell("true")
        .directory("/no/such/directory")
        .run()
        .await
        .unwrap_err();
    assert!(matches!(error, CommandError::Start { .. }), "{error:?}");
}

#[tokio::test]
async fn captured_output_is_not_shown_by_debug() {
    let finished = shell("echo ghp_secret").run().await.unwrap();
    assert!(!format!("{finished:?}").contains("ghp_secret"));
}
