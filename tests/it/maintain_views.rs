//! The maintainer's half from outside: what is projected, shown and replayed.

use std::fs::{self, File};

use lifecycle::maintain::{Evidence, build};
use serde_json::{Value, json};

use crate::support::{Desk, Ended, ended};

/// `sweep project` with this on standard input.
fn project(desk: &Desk, words: &[&str], input: &str) -> Ended {
    let file = desk.beside("stdin");
    fs::write(&file, input).unwrap();
    let mut command = desk.command(&[&["project"], words].concat());
    command.stdin(File::open(file).unwrap());
    ended(command)
}

fn written(evidence: &Evidence) -> String {
    serde_json::to_string_pretty(evidence).unwrap()
}

#[test]
fn evidence_goes_in_and_one_state_comes_out() {
    let desk = Desk::new();
    let two = format!(
        "{}\n{}\n",
        written(&build::ready("o/r#7").done()),
        written(&build::evidence("o/r#8").conflicting().reviewed().done())
    );
    let projected = project(&desk, &[], &two);
    assert_eq!(projected.code, Some(0), "{projected:?}");
    let lines: Vec<Value> = projected
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["state"], "ready_for_maintainer");
    assert_eq!(lines[0]["sub_status"], Value::Null);
    assert_eq!(lines[0]["artifacts"][0]["artifact"], "ready_page");
    assert_eq!(lines[0]["artifacts"][0]["key"], "o/r#7/1/1/ready");
    assert_eq!(lines[0]["artifacts"][0]["is_on"], false);
    assert_eq!(lines[1]["state"], "changes_requested");
    assert_eq!(lines[1]["sub_status"], "conflict");
    // Nothing is made: not even the home.
    assert!(!desk.home().exists());
}

#[test]
fn the_settings_are_the_configurations_and_the_clock_is_ours() {
    let input = written(&build::ready("o/r#7").idle_days(5).done());
    let state = |desk: &Desk, words: &[&str]| {
        let projected = project(desk, words, &input);
        serde_json::from_str::<Value>(&projected.stdout).unwrap()["state"].clone()
    };
    assert_eq!(state(&Desk::new(), &[]), "ready_for_maintainer");
    assert_eq!(state(&Desk::new().with("STALE_PR_DAYS", "5"), &[]), "stale");
    let now = build::ready("o/r#7").done().now + chrono::TimeDelta::days(9);
    assert_eq!(state(&Desk::new(), &["--now", &now.to_rfc3339()]), "parked");
}

#[test]
fn evidence_that_is_wrong_is_named_by_its_field() {
    let desk = Desk::new();
    let mut value = serde_json::to_value(build::ready("o/r#7").done()).unwrap();
    let good = value.to_string();
    value["is_darft"] = json!(true);
    let input = format!("{good}\n{value}");
    let refused = project(&desk, &[], &input);
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        refused.stderr,
        "sweep: the evidence on standard input, document 2: unknown field `is_darft`\n  `sweep project --schema` says \
         how it is written.\n"
    );
    for (input, said) in [
        ("", "there is none"),
        ("{", "EOF while parsing"),
        ("{}", "missing field `version`"),
        ("[1, 2]", "line 1 column"),
    ] {
        let refused = project(&desk, &[], input);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(said), "{refused:?}");
    }
}

#[test]
fn the_schema_names_every_field_of_the_evidence() {
    let schema = Desk::new().json(&["project", "--schema"]);
    let evidence = serde_json::to_value(build::ready("o/r#7").done()).unwrap();
    for field in evidence.as_object().unwrap().keys() {
        assert!(schema["properties"].get(field).is_some(), "{field}");
    }
}
