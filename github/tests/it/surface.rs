//! The client's whole public surface, so that nothing is added to it unnoticed (contract, section 6).

use std::path::Path;

/// The public functions and methods that a source file writes down.
fn public_functions(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let name = |line: &str| {
        let rest = line.trim_start().strip_prefix("pub ")?;
        let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?;
        rest.split(['(', '<']).next().map(str::to_owned)
    };
    text.lines().filter_map(name).collect()
}

#[test]
fn it_reads_and_does_nothing_else() {
    let methods = public_functions("reader.rs");
    assert_eq!(
        methods,
        [
            "connect",
            "viewer",
            "repository",
            "open_pulls",
            "pulls",
            "checkup",
            "requests",
            "budget"
        ]
    );
    assert_eq!(
        public_functions("maintain.rs"),
        ["open_pulls_of", "touched", "maintained", "heads"]
    );
    assert_eq!(public_functions("branch.rs"), ["repository_facts", "branch"]);
    // What sends is not public at all.
    for file in ["wire.rs", "allow.rs", "batch.rs", "plan.rs"] {
        assert_eq!(public_functions(file), [""; 0], "{file}");
    }
}
