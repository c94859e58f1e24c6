//! Who may import whom, and what may stand where. `ARCHITECTURE.md` says why.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What each crate may import of ours; whatever is not here is forbidden. Crates to come are in it, so that
/// their first commit already finds its rule. `world` may be imported for tests by every crate but itself.
const MAY_IMPORT: [(&str, &[&str]); 11] = [
    ("child", &[]),
    ("mailbox", &[]),
    ("pulls", &[]),
    ("world", &[]),
    ("github", &["pulls"]),
    ("lifecycle", &["pulls"]),
    ("ledger", &["lifecycle", "pulls"]),
    ("runtime", &["child", "mailbox"]),
    (
        "actors",
        &[
            "child",
            "github",
            "ledger",
            "lifecycle",
            "mailbox",
            "pulls",
            "runtime",
        ],
    ),
    ("board", &["ledger", "lifecycle", "mailbox", "pulls", "runtime"]),
    (
        "sweep",
        &[
            "actors",
            "board",
            "child",
            "github",
            "ledger",
            "lifecycle",
            "mailbox",
            "pulls",
            "runtime",
            "world",
        ],
    ),
];

/// The crates that are built without anything that speaks to a network or to a database of SQL.
const QUIET: [&str; 3] = ["lifecycle", "mailbox", "pulls"];

/// Crates that speak to a network or hold a database of SQL, by the beginning of their names.
const LOUD: [&str; 23] = [
    "async-nats",
    "axum",
    "curl",
    "diesel",
    "h2",
    "hyper",
    "libsqlite3-sys",
    "mio",
    "mysql",
    "native-tls",
    "octocrab",
    "openssl",
    "postgres",
    "quinn",
    "redis",
    "reqwest",
    "rusqlite",
    "rustls",
    "socket2",
    "sqlx",
    "tokio-postgres",
    "tonic",
    "ureq",
];

/// The vendors whose types stay inside the crate that uses them.
const VENDORS: [&str; 4] = ["octocrab", "ractor", "rusqlite", "sled"];

/// The most lines of a source file before its tests. Past it, find the second noun.
const LONGEST_FILE: usize = 600;

/// One package of ours importing another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    for_tests: bool,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every rule that these edges break, in words.
fn broken(edges: &BTreeSet<Edge>) -> Vec<String> {
    let rules: BTreeMap<&str, &[&str]> = MAY_IMPORT.into_iter().collect();
    let mut said = Vec::new();
    for Edge { from, to, for_tests } in edges {
        let Some(allowed) = rules.get(from.as_str()) else {
            said.push(format!("{from} is not on the map"));
            continue;
        };
        let world_for_tests = *for_tests && to == "world" && from != "world";
        if !allowed.contains(&to.as_str()) && !world_for_tests {
            said.push(format!("{from} imports {to}"));
        }
    }
    said
}

fn metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn packages(metadata: &serde_json::Value) -> Vec<&serde_json::Value> {
    metadata["packages"].as_array().unwrap().iter().collect()
}

fn edges(metadata: &serde_json::Value) -> BTreeSet<Edge> {
    let packages = packages(metadata);
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let ours: BTreeSet<String> = packages.iter().map(|package| name(package)).collect();
    let mut edges = BTreeSet::new();
    for package in packages {
        for dependency in package["dependencies"].as_array().unwrap() {
            if ours.contains(&name(dependency)) {
                edges.insert(Edge {
                    from: name(package),
                    to: name(dependency),
                    for_tests: dependency["kind"] == "dev",
                });
            }
        }
    }
    edges
}

#[test]
fn no_crate_imports_what_it_may_not() {
    let metadata = metadata();
    assert_eq!(broken(&edges(&metadata)), Vec::<String>::new());
    let known: BTreeSet<&str> = MAY_IMPORT.into_iter().map(|(name, _)| name).collect();
    for package in packages(&metadata) {
        let name = package["name"].as_str().unwrap();
        assert!(known.contains(name), "{name} is not on the map");
    }
}

#[test]
fn a_forbidden_import_is_found() {
    for (from, to, for_tests, expected) in [
        ("mailbox", "pulls", false, Some("mailbox imports pulls")),
        ("mailbox", "pulls", true, Some("mailbox imports pulls")),
        ("runtime", "github", false, Some("runtime imports github")),
        ("lifecycle", "ledger", false, Some("lifecycle imports ledger")),
        ("github", "ledger", false, Some("github imports ledger")),
        ("actors", "world", false, Some("actors imports world")),
        ("board", "github", false, Some("board imports github")),
        ("world", "pulls", true, Some("world imports pulls")),
        ("utils", "pulls", false, Some("utils is not on the map")),
        ("actors", "world", true, None),
        ("sweep", "world", false, None),
        ("ledger", "lifecycle", false, None),
    ] {
        let edge = Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            for_tests,
        };
        let said = broken(&BTreeSet::from([edge]));
        assert_eq!(said.first().map(String::as_str), expected, "{from} -> {to}");
    }
}

#[test]
fn the_pure_crates_and_the_mailbox_are_built_without_network_and_sql() {
    for package in QUIET {
        let output = Command::new(env!("CARGO"))
            .args([
                "tree",
                "--offline",
                "--edges",
                "normal,build",
                "--prefix",
                "none",
                "--format",
                "{p}",
            ])
            .args(["--package", package])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let tree = String::from_utf8(output.stdout).unwrap();
        let built: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(built.contains(package), "{tree}");
        let loud: Vec<&&str> = built.iter().filter(|name| is_loud(name)).collect();
        assert!(loud.is_empty(), "{package} is built with {loud:?}");
        for (file, text) in sources(package) {
            for word in ["std::net", "tokio::net", "UnixStream", "UnixListener"] {
                assert!(!text.contains(word), "{} uses {word}", file.display());
            }
        }
    }
}

fn is_loud(name: &str) -> bool {
    LOUD.iter().any(|loud| {
        name.strip_prefix(loud)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
    })
}

#[test]
fn a_loud_crate_is_known_by_its_name() {
    for (name, loud) in [
        ("hyper", true),
        ("hyper-util", true),
        ("rusqlite", true),
        ("h2", true),
        ("sled", false),
        ("hyperloglog", false),
        ("sha2", false),
    ] {
        assert_eq!(is_loud(name), loud, "{name}");
    }
}

/// Pure crates take values and return values; time comes in as an argument.
#[test]
fn the_pure_crates_touch_nothing() {
    for package in ["lifecycle", "pulls"] {
        for (file, text) in sources(package) {
            let code = without_tests(&text);
            for word in [
                "async fn",
                "Utc::now",
                "SystemTime",
                "Instant::now",
                "std::fs",
                "std::env",
                "std::process",
                "tracing::",
                "tokio::",
                "fastrand",
            ] {
                assert!(!code.contains(word), "{} uses {word}", file.display());
            }
        }
    }
}

#[test]
fn no_vendor_type_stands_in_a_public_signature() {
    for package in MAY_IMPORT.map(|(name, _)| name) {
        for (file, text) in sources(package) {
            let found = vendors_shown(without_tests(&text));
            assert!(found.is_empty(), "{}: {found:?}", file.display());
        }
    }
}

/// The public signatures of a file that name a vendor's type, by its path or by an imported name.
fn vendors_shown(code: &str) -> Vec<String> {
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|char: char| !(char.is_alphanumeric() || char == '_'))
            .map(str::to_owned)
            .collect()
    };
    // A module of ours may be called after the vendor that it keeps to itself.
    let vendors: Vec<&str> = VENDORS
        .into_iter()
        .filter(|vendor| !code.lines().any(|line| line.ends_with(&format!("mod {vendor};"))))
        .collect();
    let mut foreign: BTreeSet<String> = vendors.iter().map(|&vendor| vendor.to_owned()).collect();
    for statement in code.split(';') {
        let statement = statement.trim_start();
        let imported = statement
            .lines()
            .last()
            .and_then(|line| line.trim().strip_prefix("use "));
        if let Some(imported) = imported
            && vendors
                .iter()
                .any(|vendor| imported.starts_with(&format!("{vendor}::")))
        {
            // Names in capitals are types; modules in small letters are seen by their vendor's name. Of an
            // import under another name only the other name is here, and of one `as _` none.
            for path in imported.split(['{', ',', '}']) {
                let bound = path.split(" as ").last().unwrap_or(path);
                foreign.extend(
                    words(bound)
                        .into_iter()
                        .filter(|word| word.starts_with(char::is_uppercase)),
                );
            }
        }
    }
    let mut found = Vec::new();
    let mut lines = code.lines().map(str::trim_start);
    while let Some(line) = lines.next() {
        if !line.starts_with("pub ") {
            continue;
        }
        let mut signature = line.to_owned();
        while !signature.contains(['{', ';', ','])
            || signature.contains("fn ") && !signature.contains(['{', ';'])
        {
            match lines.next() {
                Some(more) => signature.push_str(more),
                None => break,
            }
        }
        let signature = signature.split('{').next().unwrap_or_default();
        if !signature.starts_with("pub mod ") && !words(signature).is_disjoint(&foreign) {
            found.push(signature.to_owned());
        }
    }
    found
}

#[test]
fn a_vendor_type_in_a_signature_is_found() {
    for (code, shown) in [
        ("pub fn open(db: sled::Db) {", true),
        (
            "use sled::{Db, Tree};\npub fn open(\n    path: &Path,\n    db: Db,\n) -> u8 {",
            true,
        ),
        ("pub use octocrab::Octocrab;", true),
        ("pub struct Wrapped(pub ractor::ActorRef<u8>);", true),
        (
            "use ractor::{ActorRef as Handle};\npub fn handle() -> Handle<u8> {",
            true,
        ),
        (
            "use ractor::{Actor as _, ActorRef};\npub fn child<A: Actor>(self) {",
            false,
        ),
        ("use sled::Db;\nfn open(db: Db) {", false),
        ("use sled::Db;\npub(crate) fn open(db: Db) {", false),
        ("use sled::Db;\npub struct Store {\n    db: Db,\n}", false),
        ("mod sled;\npub use sled::DiskStore;", false),
        (
            "pub fn open_sled(dir: &Path) -> Result<Mailboxes, OpenError> {",
            false,
        ),
    ] {
        assert_eq!(!vendors_shown(code).is_empty(), shown, "{code}");
    }
}

#[test]
fn every_crate_says_what_it_is_for_and_no_file_grows_past_bounds() {
    for package in packages(&metadata()) {
        let name = package["name"].as_str().unwrap();
        for (file, text) in sources(name) {
            let code = without_tests(&text);
            assert!(
                code.lines().count() <= LONGEST_FILE,
                "{} has more than {LONGEST_FILE} lines before its tests",
                file.display()
            );
            assert!(
                text.starts_with("//!"),
                "{} does not say what it is for",
                file.display()
            );
        }
    }
}

/// The part of a file before its unit tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

/// Every Rust file under a package's `src` but those that are all tests; none for a package that is not there.
fn sources(package: &str) -> Vec<(PathBuf, String)> {
    let directory = match package {
        "sweep" => root().join("src"),
        other => root().join(other).join("src"),
    };
    let mut found = Vec::new();
    let mut left = vec![directory];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("tests.rs")
            {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}
