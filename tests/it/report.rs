//! `sweep report`: the numbers of a home that is at rest, held by a `sweep run`, copied, empty or damaged.

use std::fs;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use world::{DEMO_NOW, PullSpec, World};

use crate::support::{Desk, Hosted, PATIENCE, Running, files};

/// A line of `pr-state.jsonl`.
fn seen(ts: &str, pr: u64, bucket: &str) -> String {
    format!(
        r#"{{"v":1,"ts":"{ts}","repo":"o/r","pr":{pr},"title":"<b>","bucket":"{bucket}","rule":"r","reason":"so"}}"#
    ) + "\n"
}

fn actor<'a>(report: &'a Value, name: &str) -> &'a Value {
    let actors = report["actors"].as_array().unwrap();
    actors.iter().find(|actor| actor["name"] == name).unwrap()
}

fn bucket<'a>(report: &'a Value, name: &str) -> &'a Value {
    let buckets = report["buckets"].as_array().unwrap();
    buckets.iter().find(|bucket| bucket["bucket"] == name).unwrap()
}

/// A home with three messages of `qa`: passed, rejected, unread.
fn worked() -> Desk {
    let desk = Desk::new();
    for number in ["7", "8", "9"] {
        let id = format!("m-{number}");
        desk.good(&[
            "send", "qa", "reattest", "--repo", "o/r", "--pr", number, "--msg-id", &id,
        ]);
    }
    desk.good(&["next", "qa"]);
    desk.good(&["ack", "qa", "m-7", "--outcome", "passed"]);
    desk.good(&["next", "qa"]);
    desk.good(&["nack", "qa", "m-8", "--reason", "no such head", "--reject"]);
    desk
}

#[test]
fn a_home_at_rest_is_reported_on_and_left_as_it_is() {
    let desk = worked();
    desk.write("retro.jsonl", "");
    let contents = || -> Vec<(String, Vec<u8>)> {
        let read = |file: String| (file.clone(), fs::read(desk.home().join(file)).unwrap());
        files(&desk.home()).into_iter().map(read).collect()
    };
    let before = contents();
    let report = desk.json(&["report", "--json"]);
    let qa = actor(&report, "qa");
    let numbers =
        ["appended", "acked", "quarantined", "unread", "in_quarantine"].map(|field| qa[field].clone());
    assert_eq!(numbers, [3, 1, 1, 1, 1].map(|number| json!(number)));
    assert_eq!(qa["failures"]["rejected"], 1);
    assert_eq!(qa["ack_latency_ms"]["count"], 1);
    assert_eq!(report["attention"][0]["key"], "quarantine/qa");
    // Whoever was asked has nobody's message in hand: opening a copy is no part of the numbers.
    assert_eq!(qa["failures"]["process_ended"], 0);
    let text = desk.good(&["report"]);
    assert!(text.contains("1 message of qa in quarantine"), "{text}");
    assert!(before == contents(), "a file of the home changed");
}

#[test]
fn a_page_is_written_whole_and_its_name_is_printed() {
    let desk = worked();
    let page = desk.beside("report.html");
    let page = page.to_str().unwrap();
    assert_eq!(desk.good(&["report", "--html", page]), format!("{page}\n"));
    let html = fs::read_to_string(page).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(html.contains("Content-Security-Policy") && !html.contains("<script"));
    let refused = desk.run(&["report", "--html", "/nowhere/report.html"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("cannot write /nowhere/report.html"),
        "{refused:?}"
    );
    assert_eq!(desk.run(&["report", "--html", page, "--json"]).code, Some(2));
}

#[test]
fn lines_count_from_every_piece_and_a_half_written_one_is_no_fault() {
    let desk = Desk::new();
    desk.write(
        "pr-state.jsonl.20260513T000000.000Z",
        &(seen("2026-05-12T12:00:00Z", 7, "wait") + "{\"ts\":\n" + &seen("2026-05-12T18:00:00Z", 7, "qa")),
    );
    let half = seen("2026-05-14T17:00:00Z", 8, "ship");
    desk.write(
        "pr-state.jsonl",
        &(seen("2026-05-13T12:00:00Z", 7, "wait") + &half[..half.len() - 20]),
    );
    let audit = r#"{"v":1,"ts":"2026-05-13T12:00:00Z","repo":"o/r","pr":7,"msg_id":"m","reason":"quiet"}"#;
    desk.write("retro.jsonl.20260514T000000.000Z", &format!("{audit}\n"));
    let at = ["report", "--json", "--now", "2026-05-14T18:00:00Z"];
    let report = desk.json(&at);
    assert_eq!(report["since"], "2026-05-07T18:00:00Z");
    assert_eq!(report["unreadable"], json!({"pr-state.jsonl": 1}));
    assert_eq!(bucket(&report, "wait")["now"], 1);
    assert_eq!(bucket(&report, "wait")["entered"], 2);
    assert_eq!(bucket(&report, "qa")["time_in_bucket_ms"]["max"], 18 * 3_600_000);
    assert_eq!(report["flapping"][0]["path"], json!(["wait", "qa", "wait"]));
    assert_eq!(report["audit"]["newest"][0]["reason"], "quiet");
    // Nothing had been sent yet, and there are no mailboxes.
    assert_eq!(report["actors"], json!([]));

    let earlier = desk.json(&[&at[..], &["--since", "2026-05-12", "--until", "2026-05-13"]].concat());
    assert_eq!(earlier["until"], "2026-05-13T00:00:00Z");
    assert_eq!(
        (&bucket(&earlier, "qa")["now"], &earlier["audit"]["total"]),
        (&json!(1), &json!(0))
    );
    let spans = desk.json(&[&at[..], &["--since", "2d", "--until", "1d"]].concat());
    assert_eq!(spans["since"], "2026-05-12T18:00:00Z");
}

#[test]
fn what_cannot_be_reported_on_is_said() {
    let desk = Desk::new();
    let nowhere = desk.run(&["report"]);
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    assert!(nowhere.stderr.contains("there is no home at"), "{nowhere:?}");
    assert!(!desk.home().exists());
    for words in [
        &["report", "--since", "1d", "--until", "2d"][..],
        &["report", "--since", "soon"],
    ] {
        fs::create_dir_all(desk.home()).unwrap();
        let run = desk.run(words);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert_eq!(run.stderr.lines().count(), 2, "{run:?}");
    }
    // An empty home is one on which there is nothing to say.
    let empty = desk.json(&["report", "--json"]);
    assert_eq!(
        (&empty["actors"], &empty["last_dispatch"]),
        (&json!([]), &Value::Null)
    );
    // The clock of a machine that lost it.
    let long_ago = desk.good(&["report", "--now", "1970-01-01T00:00:00Z"]);
    assert!(
        long_ago.starts_with("1969-12-25 00:00 UTC to 1970-01-01 00:00 UTC (7d)\n"),
        "{long_ago}"
    );
}

#[test]
fn it_works_beside_a_run_and_on_a_copy_of_its_home() {
    let hosted = Hosted::new(
        World::builder(DEMO_NOW)
            .pull(PullSpec::new("o/one", 1).conflicting())
            .pull(PullSpec::new("o/two", 2).decision("REVIEW_REQUIRED"))
            .build(),
    );
    let desk = hosted.desk();
    let running = Running::of(desk.command(&["run"]));
    let until = Instant::now() + PATIENCE;
    let report = loop {
        assert!(Instant::now() < until, "nothing was recorded");
        let run = desk.run(&["report", "--json"]);
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        if report["audit"]["total"] == 1 && actor(&report, "retro")["acked"] == 1 {
            break report;
        }
    };
    assert_eq!(actor(&report, "retro")["state"], "idle");
    assert_eq!(bucket(&report, "rebase")["now"], 1);
    assert_eq!(report["audit"]["newest"][0]["repo"], "o/two");

    // A copy, taken while it runs, has a socket that nobody listens on.
    let copy = Desk::new();
    let copied = Command::new("cp")
        .arg("-r")
        .args([desk.home(), copy.home()])
        .status()
        .unwrap();
    assert!(copied.success());
    let _ = fs::remove_file(copy.home().join("control.sock"));
    let of_copy = copy.json(&["report", "--json"]);
    assert_eq!(actor(&of_copy, "retro")["acked"], 1);
    assert_eq!(of_copy["buckets"], {
        // As of a later moment, what goes on has gone on longer.
        let mut buckets = of_copy["buckets"].clone();
        for place in 0..6 {
            buckets[place]["now"] = report["buckets"][place]["now"].clone();
        }
        buckets
    });
    drop(running);
}
