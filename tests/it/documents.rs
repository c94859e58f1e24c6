//! What the documents say of the program, compared with the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::Desk;

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The commands that `sweep --help` lists.
fn commands() -> Vec<String> {
    let help = Desk::new().good(&["--help"]);
    let listed = help
        .split("Commands:\n")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next()
        .unwrap();
    listed
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .filter(|command| command != "help")
        .collect()
}

#[test]
fn the_readme_names_every_command_and_no_other() {
    let readme = document("README.md");
    let table = readme
        .split("## Commands")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .nth(1)
        .unwrap();
    let mut named: Vec<String> = table
        .split("`sweep ")
        .skip(1)
        .map(|rest| rest.split([' ', '`']).next().unwrap().to_owned())
        .collect();
    let mut commands = commands();
    named.sort();
    commands.sort();
    assert_eq!(named, commands);
}

#[test]
fn ci_runs_what_the_readme_names_and_nothing_else() {
    let readme = document("README.md");
    let contributing = readme.split("## Contributing").nth(1).unwrap();
    let named: Vec<&str> = contributing
        .split("```sh\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap()
        .lines()
        .collect();
    let ci = document(".ci/run");
    let run: Vec<String> = ci
        .lines()
        .filter_map(|line| line.strip_prefix("step "))
        .map(|line| line.trim_start_matches("env ").to_owned())
        .collect();
    assert_eq!(run, named);
    assert!(named.contains(&"cargo test --workspace"));
}

#[test]
fn ci_is_a_script_that_the_shell_understands() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run");
    assert!(
        Command::new("bash")
            .arg("-n")
            .arg(script)
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn every_test_that_the_documents_name_is_there() {
    let guarantees = document("docs/guarantees.md") + &document("docs/field-notes.md");
    // A test's name has an underscore, and no file ending or section in it.
    let named = guarantees
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| {
            name.contains('_') && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        })
        .filter(|name| {
            ![
                "max_attempts",
                "unchanged_for",
                "cool_off",
                "dedupe_horizon",
                "msg_id",
            ]
            .contains(name)
        });
    let sources = sources();
    let mut count = 0;
    for name in named {
        count += 1;
        let is_there = ["(", "<"]
            .iter()
            .any(|next| sources.contains(&format!("fn {name}{next}")));
        assert!(is_there, "{name} is no test");
    }
    assert!(count > 30, "{count}");
}

/// Every Rust source of the workspace, one after the other.
fn sources() -> String {
    let mut text = String::new();
    let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let hidden = path
                .file_name()
                .is_some_and(|name| name == "target" || name.as_encoded_bytes()[0] == b'.');
            if path.is_dir() && !hidden {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(&path).unwrap());
            }
        }
    }
    text
}

#[test]
fn every_decision_is_listed() {
    let list = document("docs/decisions/README.md");
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/decisions")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name == "README.md" || list.contains(&format!("]({name})")),
            "{name} is not listed"
        );
    }
}

#[test]
fn every_page_that_a_document_links_to_is_there() {
    for name in ["README.md", "docs/decisions/README.md", "docs/guarantees.md"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        for link in document(name).split("](").skip(1) {
            let target = link.split(')').next().unwrap();
            if !target.starts_with("http") {
                let page = folder.parent().unwrap().join(target);
                assert!(page.exists(), "{name} links to {target}");
            }
        }
    }
}
