//! `sweep pr o/r#n`: one pull request's story.

use std::fs;

use serde_json::{Value, json};
use world::{Association, CommentSpec, DEMO_NOW, PullSpec, World, hours_ago};

use crate::support::{Desk, Hosted};

fn kinds(story: &Value) -> Vec<&str> {
    let entries = story["entries"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| entry["what"]["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn the_demo_tells_of_a_question_and_its_brief() {
    let desk = Desk::new();
    desk.good(&["run", "--demo", "--once"]);
    let url = "https://github.example/Lanternworks/ember/pull/421#issuecomment-1";
    let story = desk.json(&["pr", url, "--json"]);
    assert_eq!(
        (&story["repo"], &story["pr"]),
        (&json!("lanternworks/ember"), &json!(421))
    );
    assert_eq!(story["title"], "Stream request bodies instead of buffering them");
    assert_eq!(story["now"]["bucket"], "investigate");
    assert_eq!(
        kinds(&story),
        ["classified", "appended", "delivery", "investigation", "delivery"]
    );
    let sources: Vec<&str> = story["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["source"].as_str().unwrap())
        .collect();
    assert_eq!(
        sources,
        [
            "pr-state.jsonl",
            "mailbox/investigate",
            "mailbox/investigate",
            "investigations/lanternworks-ember-421.md",
            "mailbox/investigate"
        ]
    );
    let text = desk.good(&["pr", "LANTERNWORKS/Ember#421"]);
    assert!(text.contains("first seen, head "), "{text}");
    assert!(
        text.contains("acked by actor: briefed: investigations/"),
        "{text}"
    );

    // What a person must decide, and what nobody needs to do.
    let decided = desk.good(&["pr", "papercrane/kite#57"]);
    assert!(
        decided.contains("DECISIONS.md") && decided.contains("for a person (close): close it"),
        "{decided}"
    );
    let waits = desk.good(&["pr", "lanternworks/ember#430"]);
    assert!(
        waits.contains("retro.jsonl") && waits.contains("for the record (wait.default)"),
        "{waits}"
    );
}

#[test]
fn of_what_is_unknown_it_says_what_to_do() {
    let desk = Desk::new();
    let nowhere = desk.run(&["pr", "o/r#7"]);
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    desk.good(&["send", "qa", "reattest", "--repo", "o/r", "--pr", "7"]);
    let unknown = desk.run(&["pr", "o/r#8"]);
    assert_eq!(
        (unknown.code, unknown.stdout.as_str()),
        (Some(1), ""),
        "{unknown:?}"
    );
    assert_eq!(
        unknown.stderr,
        "sweep: nothing is known of o/r#8\n  `sweep pr-state --repo o/r` reads your pull requests there; PR_STATE.md \
         lists those of the last run.\n"
    );
    for name in ["o/r", "https://github.com/o/r/issues/7", "-o/r#7"] {
        assert_eq!(desk.run(&["pr", "--", name]).code, Some(2), "{name}");
    }
}

#[test]
fn a_second_run_adds_only_what_changed() {
    let hosted = Hosted::new(
        World::builder(DEMO_NOW)
            .pull(PullSpec::new("o/r", 7).decision("REVIEW_REQUIRED"))
            .build(),
    );
    let desk = hosted.desk();
    let at = |now: &'static str| ["run", "--once", "--actors", "pr-state,retro", "--now", now];
    desk.good(&at("2026-05-14T17:45:00Z"));
    desk.good(&at("2026-05-14T17:55:00Z"));
    let quiet = desk.json(&["pr", "o/r#7", "--json"]);
    assert_eq!(
        kinds(&quiet).iter().filter(|kind| **kind == "classified").count(),
        1
    );
    assert_eq!(quiet["now"]["seen"], "2026-05-14T17:55:00Z");
    // The second message was not handled again, and the text says so in one line.
    let text = desk.good(&["pr", "o/r#7"]);
    assert!(text.contains("1 message: 1 unchanged"), "{text}");

    let asked = CommentSpec::new("grace", Association::Member, "Really \u{1b}[31mso?").at(hours_ago(0));
    hosted
        .served()
        .edit(|world| world.comment(("o/r", 7), asked))
        .unwrap();
    desk.good(&at("2026-05-14T18:05:00Z"));
    let story = desk.json(&["pr", "o/r#7", "--json"]);
    let changes: Vec<&Value> = story["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["what"]["kind"] == "classified")
        .map(|entry| &entry["what"]["changed"])
        .collect();
    assert_eq!(changes, [&json!([]), &json!(["bucket"])]);
    let text = desk.good(&["pr", "o/r#7"]);
    assert!(
        text.contains("investigate.question") && !text.contains('\u{1b}'),
        "{text}"
    );
}

#[test]
fn every_delivery_and_file_has_its_place() {
    let desk = Desk::new();
    let head = "a".repeat(40);
    let payload = format!(r#"{{"head_sha":"{head}"}}"#);
    desk.good(&[
        "send",
        "qa",
        "reattest",
        "--repo",
        "o/R",
        "--pr",
        "7",
        "--msg-id",
        "m-7",
        "--payload",
        &payload,
    ]);
    desk.good(&["next", "qa"]);
    desk.good(&["nack", "qa", "m-7", "--reason", "not now", "--retry-after", "0s"]);
    desk.good(&["next", "qa"]);
    desk.good(&["ack", "qa", "m-7", "--outcome", "passed"]);
    desk.write(
        "gates/o-R.gate",
        &format!(r#"{{"repo":"o/R","head":"{head}","commands":[]}}"#),
    );
    desk.write(
        "drip-queue/2026.jsonl",
        "{\"repo\":\"o/r\",\"pr_number\":7,\"status\":\"open\"}\n{\"repo\"",
    );
    desk.write("investigations/o-r-7.md", "# o/r#7: Mend it\n\n- why: asked\n");
    desk.write("investigations/o-r-77.md", "# o/r#77: Mend it\n");
    fs::create_dir_all(desk.home().join("gates/odd.gate")).unwrap();
    let story = desk.json(&["pr", "O/r#7", "--json"]);
    let mut found = kinds(&story);
    found.sort_unstable();
    let mut expected = vec!["appended", "gate", "investigation", "queued"];
    expected.extend(["delivery"; 4]);
    expected.sort_unstable();
    assert_eq!(found, expected);
    let events: Vec<&Value> = story["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["what"]["kind"] == "delivery")
        .map(|entry| &entry["what"]["event"])
        .collect();
    assert_eq!(events, ["taken", "failed", "taken", "acked"]);
    // What has no time of its own comes last.
    assert_eq!(
        story["entries"].as_array().unwrap().last().unwrap()["at"],
        Value::Null
    );
}
