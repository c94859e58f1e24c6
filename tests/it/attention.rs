//! What a person must look at, in each place where people look.

use serde_json::json;

use crate::support::Hosted;
use world::{DEMO_NOW, PullSpec, World};

#[test]
fn attention_is_said_once_a_change_and_stands_where_people_look() {
    let hosted = Hosted::new(World::builder(DEMO_NOW).pull(PullSpec::new("o/r", 1)).build());
    let desk = hosted.desk();
    desk.good(&[
        "send", "qa", "reattest", "--repo", "a/b", "--pr", "1", "--msg-id", "m-1",
    ]);
    desk.good(&["next", "qa"]);
    desk.good(&["nack", "qa", "m-1", "--reason", "no such branch", "--reject"]);
    let text = "1 message of qa in quarantine";

    // On stderr, once, however often it is derived.
    let run = desk.run(&["run", "--once"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(run.stderr.matches(text).count(), 1, "{run:?}");

    // At the top of the snapshot, before any bucket.
    let snapshot = desk.read("PR_STATE.md");
    let attention = snapshot.find("attention (1)").unwrap();
    let bucket = ["close", "investigate", "rebase", "qa", "ship", "wait"]
        .iter()
        .filter_map(|bucket| snapshot.find(&format!("## {bucket}")))
        .min();
    assert!(snapshot[attention..].contains(text), "{snapshot}");
    assert!(bucket.is_none_or(|bucket| attention < bucket), "{snapshot}");

    // In the listing and in both documents, with since when and what to do.
    assert!(desk.good(&["actors"]).contains(&format!("attention: {text}; ")));
    for command in [&["actors", "--json"][..], &["pr-state", "--json"]] {
        let document = desk.json(command);
        let attention = &document["attention"][0];
        assert_eq!(
            (&attention["key"], &attention["text"]),
            (&json!("quarantine/qa"), &json!(text))
        );
        assert!(
            attention["since"]
                .as_str()
                .is_some_and(|since| since.ends_with('Z'))
        );
        assert!(attention["mend"].as_str().is_some_and(|mend| !mend.is_empty()));
    }
}
