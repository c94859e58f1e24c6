//! Message ids: one a pull request and minute, never shared.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle::msg_id;
use pulls::PrRef;
use pulls::build::at;

fn refs(names: &[&str]) -> Vec<PrRef> {
    names
        .iter()
        .map(|name| name.parse().expect("a valid name"))
        .collect()
}

fn assigned(names: &[&str], taken: &BTreeMap<String, pulls::RepoName>) -> Vec<(String, String)> {
    msg_id::assign(at("2026-05-14T17:45:59.999Z"), &refs(names), taken)
        .into_iter()
        .map(|(at, id)| (at.to_string(), id.replace("pr-state-2026-05-14T17:45:00Z-", "")))
        .collect()
}

#[test]
fn the_contracts_example() {
    let id = msg_id::plain(at("2026-05-14T17:45:31Z"), &"sharkdp/bat#3734".parse().unwrap());
    assert_eq!(id, "pr-state-2026-05-14T17:45:00Z-sharkdp-bat-3734");
    assert_eq!(
        msg_id::minute(at("2026-05-14T17:45:59.9Z")),
        at("2026-05-14T17:45:00Z")
    );
    assert_eq!(
        msg_id::minute(at("1969-12-31T23:59:30Z")),
        at("1969-12-31T23:59:00Z")
    );
}

#[test]
fn the_second_of_two_is_told_apart() {
    let none = BTreeMap::new();
    let expected = [
        ("a-b/c#7", "a-b-c-7~3"),
        ("a/b-c#7", "a-b-c-7"),
        ("a/b-c#8", "a-b-c-8"),
    ];
    let expected: Vec<_> = expected.map(|(at, id)| (at.to_owned(), id.to_owned())).to_vec();
    assert_eq!(assigned(&["a/b-c#7", "a-b/c#7", "a/b-c#8"], &none), expected);
    assert_eq!(
        assigned(&["a/b-c#8", "a-b/c#7", "a/b-c#7"], &none),
        expected,
        "in any order"
    );
    assert_eq!(
        assigned(&["a-b/c#7"], &none),
        [("a-b/c#7".into(), "a-b-c-7".into())],
        "alone"
    );
}

#[test]
fn an_id_stays_with_whom_it_was_given_to_in_the_minute() {
    // A first run, limited, saw only the one; the second sees both.
    let first = refs(&["a-b/c#7"]);
    let now = at("2026-05-14T17:45:01Z");
    let taken: BTreeMap<_, _> = msg_id::assign(now, &first, &BTreeMap::new())
        .into_iter()
        .map(|(at, id)| (id, at.repo))
        .collect();
    let second = assigned(&["a/b-c#7", "A-b/C#7"], &taken);
    // GitHub's spelling of one name does not change within a minute; another spelling is another id.
    assert_eq!(second[1], ("a/b-c#7".to_owned(), "a-b-c-7~1".to_owned()));
    let second = assigned(&["a/b-c#7", "a-b/c#7"], &taken);
    assert_eq!(second[0], ("a-b/c#7".to_owned(), "a-b-c-7".to_owned()));
}

#[test]
fn all_are_different() {
    let names = ["a/b-c-d#1", "a-b/c-d#1", "a-b-c/d#1", "a/b-c-d#11", "a/b-c-d-1#1"];
    let ids: BTreeSet<String> = assigned(&names, &BTreeMap::new())
        .into_iter()
        .map(|(_, id)| id)
        .collect();
    assert_eq!(ids.len(), names.len());
}
