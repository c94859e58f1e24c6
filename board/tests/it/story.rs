//! One pull request's story.

use board::Story;
use board::records::StateLine;
use board::story::{Changed, MAX_ENTRIES, Telling, What};
use mailbox::FailureKind;
use serde_json::json;

use crate::build::{DAY, HOUR, Sent, ago, audited, seen};

fn telling() -> Telling {
    Telling::about("O/r#7".parse().unwrap())
}

/// A line of `pr-state.jsonl` in which one field is another.
fn with(minutes_ago: i64, field: &str, value: serde_json::Value) -> StateLine {
    let mut line = json!({
        "ts": ago(minutes_ago), "repo": "o/r", "pr": 7, "title": "Mend \u{1b}[2Jit", "bucket": "wait",
        "rule": "wait.default", "reason": "nothing to do", "head_sha": "a".repeat(40),
        "url": "https://github.example/o/r/pull/7",
        "signals": {"ci": "green", "review": null, "mergeable": "MERGEABLE", "activity_h": minutes_ago},
    });
    match field.strip_prefix("signals.") {
        Some(signal) => line["signals"][signal] = value,
        None => line[field] = value,
    }
    StateLine::parse(&line.to_string()).unwrap()
}

#[test]
fn messages_are_counted_where_they_end_too() {
    let mut telling = telling();
    for (seq, minutes) in [(1, 40), (2, 39)] {
        telling.message(&Sent::to("qa", seq, minutes).passed_over(10, "superseded").done());
    }
    telling.message(&Sent::to("qa", 3, 30).taken(9, 1).acked(8, "passed").done());
    let text = telling.finish().unwrap().text();
    assert!(text.contains("  2 messages, until "), "{text}");
    assert!(text.contains("  2 messages: 2 superseded"), "{text}");
}

fn whole() -> Story {
    let mut telling = telling();
    telling.state(&with(3 * DAY, "reason", json!("nothing to do")));
    telling.state(&with(2 * DAY, "reason", json!("nothing to do, for 24 h")));
    telling.state(&seen(2 * DAY, "o/r", 8, "close"));
    telling.state(&with(DAY, "bucket", json!("qa")));
    telling.message(
        &Sent::with(
            "qa",
            3,
            DAY - 1,
            json!({"repo": "O/R", "pr": 7, "head_sha": "a".repeat(40)}),
        )
        .taken(DAY - 2, 1)
        .failed(DAY - 3, FailureKind::Explained)
        .taken(DAY - 10, 2)
        .acked(DAY - 20, "passed")
        .done(),
    );
    telling.message(&Sent::with("qa", 4, HOUR, json!({"repo": "o/r", "pr": 8})).done());
    telling.message(&Sent::with("notes", 1, HOUR, json!({"text": "no pull request"})).done());
    for (seq, minutes) in [(5, 40), (6, 30), (7, 20)] {
        let sent = Sent::to("qa", seq, minutes);
        telling.message(
            &sent
                .passed_over(minutes - 1, if seq == 5 { "superseded" } else { "unchanged" })
                .done(),
        );
    }
    telling.audited(&audited(HOUR, 7, "review required"));
    telling.audited(&audited(HOUR, 8, "review required"));
    telling.decision("- [ ] o/r#7: **close** it — asked (2026-05-14T17:45:00Z) <!-- close/o/r#7/aaaaaaa -->");
    telling.decision("- [ ] o/r#8: **close** it — asked (2026-05-14T17:45:00Z) <!-- close/o/r#8/aaaaaaa -->");
    telling.queued(
        "drip-queue/2026-05.jsonl",
        3,
        r#"{"repo":"o/R","pr_number":7,"branch":"topic","status":"open"}"#,
    );
    telling.queued(
        "drip-queue/2026-05.jsonl",
        4,
        r#"{"repo":"o/r","pr_number":8,"status":"open"}"#,
    );
    telling.queued("drip-queue/2026-05.jsonl", 5, r#"{"repo":"o/r","pr_numb"#);
    let gate = json!({"repo": "o/r", "head": "a".repeat(40), "finished": ago(DAY - 19),
        "commands": [{"command": "make check", "result": "passed", "seconds": 41}]});
    telling.gate("gates/o-r.gate", &gate.to_string(), ago(0));
    let other = json!({"repo": "o/r", "head": "b".repeat(40), "commands": []});
    telling.gate("gates/O-r.gate", &other.to_string(), ago(0));
    telling.gate("gates/o-r.gate", "touched", ago(0));
    let brief = "# o/r#7: Mend it\n\n- why: ada asked: is it \\*done\\*?\n- rule: investigate.question\n";
    telling.investigation("investigations/o-r-7.md", brief, ago(5));
    telling.investigation(
        "investigations/o-r-7~1.md",
        &brief.replace("# o/r#7", "# o-r/x#7"),
        ago(5),
    );
    telling.finish().unwrap()
}

#[test]
fn a_story_for_a_terminal() {
    let text = whole().text();
    insta::assert_snapshot!(text);
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_story_as_a_document() {
    let story = whole();
    insta::assert_json_snapshot!(story);
    let json = serde_json::to_string(&story).unwrap();
    assert_eq!(serde_json::from_str::<Story>(&json).unwrap(), story);
}

#[test]
fn only_what_changed_is_told() {
    let check = |field: &str, value: serde_json::Value, expected: Option<&[Changed]>| {
        let mut telling = telling();
        telling.state(&with(20, "reason", json!("first")));
        telling.state(&with(10, field, value));
        let story = telling.finish().unwrap();
        let changed = story.entries.get(1).map(|entry| match &entry.what {
            What::Classified { changed, .. } => changed.clone(),
            other => panic!("{other:?}"),
        });
        assert_eq!(changed.as_deref(), expected, "{field}");
        assert_eq!(story.now.unwrap().seen, ago(10));
    };
    check("reason", json!("waits for 3 days now"), None);
    check("title", json!("Another"), None);
    check("signals.activity_h", json!(7), None);
    check("bucket", json!("qa"), Some(&[Changed::Bucket]));
    check("rule", json!("wait.other"), Some(&[Changed::Rule]));
    check("head_sha", json!("b".repeat(40)), Some(&[Changed::Head]));
    check("signals.ci", json!("failing"), Some(&[Changed::Ci]));
    check("signals.review", json!("APPROVED"), Some(&[Changed::Review]));
    check(
        "signals.mergeable",
        json!("CONFLICTING"),
        Some(&[Changed::Mergeable]),
    );
    // GitHub has not computed it yet, which it often has not.
    check("signals.mergeable", json!("UNKNOWN"), None);
}

#[test]
fn of_what_is_unknown_there_is_no_story() {
    let mut telling = telling();
    telling.state(&seen(10, "o/r", 8, "qa"));
    telling.state(&seen(10, "o/s", 7, "qa"));
    telling.message(&Sent::with("qa", 1, 5, json!({"repo": "o/s", "pr": 7})).done());
    assert_eq!(telling.finish(), None);
}

#[test]
fn a_line_that_cannot_be_about_it_is_known_at_a_glance() {
    let telling = telling();
    assert!(telling.can_be_in(r#"{"repo":"o/r","pr":7}"#));
    assert!(!telling.can_be_in(r#"{"repo":"o/r","pr":8}"#));
}

#[test]
fn a_story_without_end_keeps_its_newest_part() {
    let mut telling = telling();
    for entry in 0..MAX_ENTRIES + 10 {
        telling.audited(&audited(
            i64::try_from(MAX_ENTRIES + 10 - entry).unwrap(),
            7,
            "again",
        ));
    }
    let story = telling.finish().unwrap();
    assert_eq!((story.entries.len(), story.left_out), (MAX_ENTRIES, 10));
    assert_eq!(story.entries.last().unwrap().at, Some(ago(1)));
}

#[test]
fn both_halves_stand_in_the_order_of_time() {
    use lifecycle::maintain::{Before, Epoch, Settings, build, step};
    let settings = Settings::default();
    let moves = |before: Before<'_>, evidence: &_| {
        step(before, evidence, &[], &Default::default(), Epoch(1), &settings)
    };
    let seen_first = build::evidence("o/R#7").unrouted().done();
    let first = moves(Before::default(), &seen_first);
    let row = first.row.clone().unwrap();
    let before = Before {
        row: Some(&row),
        evidence: Some(&seen_first),
    };
    let routed = build::evidence("o/R#7")
        .later(chrono::TimeDelta::minutes(2))
        .done();
    let second = moves(before, &routed);
    let mut telling = telling();
    telling.state(&with(0, "ts", json!("2026-05-14T17:46:00Z")));
    telling.transition(&second.rows[0], Some(&routed), &["o/r#7/d1/owner".to_owned()]);
    telling.transition(&first.rows[0], None, &[]);
    telling.row(&second.row.unwrap(), Some("Mend \u{1b}[31mit"));
    let story = telling.finish().unwrap();
    let kinds: Vec<&str> = story
        .entries
        .iter()
        .map(|entry| match &entry.what {
            What::Moved { .. } => "moved",
            What::Classified { .. } => "classified",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["moved", "classified", "moved"]);
    assert_eq!(story.state.as_ref().unwrap().state.as_str(), "owner_routed");
    let text = story.text();
    for said in [
        "ledger.db       first seen, new, head 0000000",
        "ledger.db       new → owner_routed, head 0000000",
        "; saw checks green, MERGEABLE, a person at 2026-05-14 16:45 UTC, owner @olive; said o/r#7/d1/owner",
        "owner_routed: ",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn one_that_is_only_maintained_has_a_story_too() {
    use lifecycle::maintain::{Before, Epoch, Settings, build, step};
    let evidence = build::ready("o/r#7").done();
    let first = step(
        Before::default(),
        &evidence,
        &[],
        &Default::default(),
        Epoch(1),
        &Settings::default(),
    );
    let row = first.row.unwrap();
    let mut telling = telling();
    telling.transition(&first.rows[0], Some(&evidence), &[]);
    telling.row(&row, Some("Mend it"));
    let story = telling.finish().unwrap();
    assert_eq!(story.title.as_deref(), Some("Mend it"));
    assert_eq!((story.entries.len(), story.now), (1, None));
    // What belongs to another is passed over.
    let mut other = Telling::about("o/r#8".parse().unwrap());
    other.transition(&first.rows[0], None, &[]);
    other.row(&row, None);
    assert_eq!(other.finish(), None);
}
