//! The maintainer's half from outside: what is projected, shown and replayed.

use std::fs::{self, File};

use chrono::TimeDelta;
use ledger::{Batch, Card, Ledger, Visit};
use lifecycle::maintain::{Before, Evidence, Settings, build, step};
use pulls::RepoName;
use serde_json::{Value, json};

use crate::support::{Desk, Ended, ended, files};

/// The moment of the builders' evidence.
const NOW: &str = "2026-05-14T17:45:00Z";

/// Looks at a pull request with this evidence, as a cycle would, and writes it down.
fn visit(ledger: &mut Ledger, evidence: &Evidence, title: &str) {
    let row = ledger.row(&evidence.at).unwrap();
    let known = ledger.evidence(&evidence.at).unwrap();
    let before = Before {
        row: row.as_ref(),
        evidence: known.as_ref().map(|known| &known.evidence),
    };
    let epoch = ledger.epoch().unwrap();
    let next = step(
        before,
        evidence,
        &["docs".to_owned()],
        &Default::default(),
        epoch,
        &Settings::default(),
    );
    let card = Card {
        at: evidence.at.clone(),
        title: title.to_owned(),
        url: format!("https://github.example/{}", evidence.at),
        author: None,
        updated_at: evidence.now,
        read_at: evidence.now,
        is_open: true,
        pending_since: None,
    };
    let batch = Batch {
        visits: vec![Visit {
            at: evidence.at.clone(),
            row: next.row,
            transitions: next.rows,
            evidence: next.is_new_evidence.then(|| evidence.clone()),
            assignment: None,
            card: Some(card),
            closed: None,
        }],
        ..Batch::default()
    };
    ledger.record(&batch).unwrap();
}

/// A home whose ledger has four pull requests, two of which moved.
fn maintained() -> Desk {
    let desk = Desk::new();
    desk.write("config.toml", "");
    let mut ledger = Ledger::open(&desk.home().join("ledger.db")).unwrap();
    let ledger = &mut ledger;
    visit(
        ledger,
        &build::evidence("o/r#7").unrouted().done(),
        "Mend \u{1b}[31mit",
    );
    let later = build::ready("o/r#7").later(TimeDelta::minutes(2));
    visit(ledger, &later.done(), "Mend \u{1b}[31mit");
    visit(ledger, &build::ready("o/r#8").idle_days(5).done(), "Rest");
    let conflict = build::evidence("o/r#9").reviewed().conflicting();
    visit(ledger, &conflict.done(), "Collide");
    visit(ledger, &build::evidence("lanternworks/ember#3").done(), "Begin");
    desk
}

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
    let now = build::ready("o/r#7").done().now + TimeDelta::days(9);
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

#[test]
fn the_board_has_a_column_a_state_and_one_a_bucket() {
    let desk = maintained();
    desk.write(
        "pr-state.jsonl",
        concat!(
            r#"{"v":1,"ts":"2026-05-14T17:30:00Z","repo":"p/q","pr":1,"title":"Old","bucket":"wait"}"#,
            "\n",
            r#"{"v":1,"ts":"2026-05-14T17:40:00Z","repo":"p/q","pr":2,"title":"New","bucket":"ship","rule":"ship.ready"}"#,
            "\n{\"v\":1,",
        ),
    );
    let at = ["board", "--now", "2026-05-14T18:45:00Z"];
    let board = desk.json(&[&at[..], &["--json"]].concat());
    assert_eq!(board["ts"], "2026-05-14T18:45:00Z");
    let columns: Vec<(&str, u64)> = board["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| {
            (
                column["state"].as_str().unwrap(),
                column["count"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        columns,
        [
            ("closed", 0),
            ("draft", 0),
            ("parked", 0),
            ("stale", 0),
            ("new", 0),
            ("needs_owner", 0),
            ("owner_routed", 1),
            ("ci_failing", 0),
            ("changes_requested", 1),
            ("under_review", 0),
            ("ready_for_maintainer", 2),
        ]
    );
    let card = &board["columns"][10]["cards"][0];
    assert_eq!((&card["pr"], &card["title"]), (&json!(8), &json!("Rest")));
    assert_eq!(card["content_labels"], json!(["docs"]));
    assert_eq!(
        (&card["next"]["what"], &card["next"]["says"]),
        (
            &json!("stale"),
            &json!("in 1d 23h: it is stale unless a person does something")
        )
    );
    assert_eq!(board["unclassified"], 0);
    let ship = &board["author"]["columns"][4];
    assert_eq!((&ship["bucket"], &ship["count"]), (&json!("ship"), &json!(1)));
    assert_eq!(board["author"]["columns"][5]["count"], 0);

    let text = desk.good(&at);
    for said in [
        "maintained: 4 as of 2026-05-14 18:45:00 UTC",
        "ready_for_maintainer (2)\n  o/r#8  Rest\n",
        "o/r#7  Mend \\u{1b}[31mit",
        "yours, as of 2026-05-14 17:40:00 UTC",
        "  p/q#2  New",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_home_without_a_ledger_has_an_empty_board_and_still_has_none() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["board"]).code, Some(1));
    desk.write("config.toml", "");
    let board = desk.json(&["board", "--json"]);
    assert_eq!(board["author"], Value::Null);
    assert_eq!(files(&desk.home()), ["config.toml"]);
    fs::write(
        desk.home().join("ledger.db"),
        "no database at all, and long enough to be looked at",
    )
    .unwrap();
    for words in [
        &["board"][..],
        &["why", "o/r#7"],
        &["pr", "o/r#7"],
        &["replay", "--projection"],
    ] {
        let refused = desk.run(words);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("ledger.db is no ledger"), "{refused:?}");
        assert_eq!(refused.stderr.lines().count(), 2);
    }
}

#[test]
fn why_tells_every_rule_of_both_halves() {
    let desk = maintained();
    desk.write(
        "pr-state.jsonl",
        &format!("{}\n", json!({
            "v": 1, "ts": "2026-05-14T17:40:00Z", "repo": "o/r", "pr": 7, "title": "Mend it", "bucket": "rebase",
            "rule": "rebase.conflict", "reason": "conflicts with main", "inbox": "drip", "intent": "rebase", "msg_id": "m",
            "head_sha": "", "url": "",
            "signals": {
                "review": "APPROVED", "mergeable": "CONFLICTING", "ci": "green", "activity_h": 1.0,
                "maintainer_question": false, "behind_by": 60, "gate_stale_h": null, "check": null, "failing": [],
                "pending": [], "stuck": [], "skipped": 0, "awaiting_approval": false, "archived": false, "draft": false,
                "merge_state": "DIRTY", "merge_queue_position": null, "unresolved_threads": 0, "fork_deleted": false,
                "also": ["rebase.behind"],
            },
        })),
    );
    let why = desk.json(&[
        "why",
        "https://github.example/O/R/pull/7",
        "--now",
        "2026-05-14T18:45:00Z",
        "--json",
    ]);
    let maintainer = &why["maintainer"];
    assert_eq!(why["ts"], "2026-05-14T18:45:00Z");
    assert_eq!(maintainer["projected"]["state"], "ready_for_maintainer");
    assert_eq!(maintainer["recorded"]["state"], "ready_for_maintainer");
    assert_eq!(maintainer["evidence_at"], "2026-05-14T17:47:00Z");
    let rules = maintainer["rules"].as_array().unwrap();
    assert_eq!(rules[0]["rule"], "closed");
    assert_eq!(rules.iter().filter(|rule| rule["decides"] == true).count(), 1);
    for rule in rules {
        assert!(rule["because"] != "" && rule["would_change"] != "", "{rule}");
    }
    assert!(
        maintainer["gate"]
            .as_array()
            .unwrap()
            .iter()
            .all(|condition| condition["held"] == true)
    );
    assert_eq!(maintainer["deadlines"][0]["what"], "stale");
    let keys: Vec<&str> = maintainer["wanted"]
        .as_array()
        .unwrap()
        .iter()
        .map(|wanted| wanted["key"].as_str().unwrap())
        .collect();
    assert!(keys.contains(&"o/r#7/1/1/ready"), "{keys:?}");
    let author = &why["author"];
    assert_eq!(
        (&author["bucket"], &author["seen"]),
        (&json!("rebase"), &json!("2026-05-14T17:40:00Z"))
    );
    let held: Vec<&str> = author["rules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|rule| rule["held"] == true)
        .map(|rule| rule["rule"].as_str().unwrap())
        .collect();
    assert_eq!(held, ["rebase.conflict", "rebase.behind"]);
    assert_eq!(author["rules"].as_array().unwrap().len(), 11);

    // What the clock has made of it since is told, and what was so before.
    let later = desk.json(&["why", "o/r#7", "--now", "2026-05-30T18:45:00Z", "--json"]);
    assert_eq!(later["maintainer"]["projected"]["state"], "parked");
    assert_eq!(later["maintainer"]["recorded"]["state"], "ready_for_maintainer");
    let before = desk.json(&["why", "o/r#7", "--now", "2026-05-14T17:46:00Z", "--json"]);
    assert_eq!(before["maintainer"]["projected"]["state"], "new");
    assert_eq!(before["maintainer"]["recorded"]["state"], "new");

    let text = desk.good(&["why", "o/r#7", "--now", "2026-05-30T18:45:00Z"]);
    for said in [
        "recorded as ready_for_maintainer: ",
        "; the next cycle moves it",
        "  * holds  parked ",
        "author's half, as seen at 2026-05-14 17:40:00 UTC",
        "  * holds  rebase.conflict ",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn of_what_nobody_knows_why_says_what_to_do() {
    let desk = maintained();
    let unknown = desk.run(&["why", "o/r#77"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        unknown.stderr,
        "sweep: nothing is known of o/r#77\n  `sweep pr-state --repo o/r` reads your pull requests there; those of the \
         repositories in LIFECYCLE_REPOS are read by `sweep run`.\n"
    );
    // Nothing was known of it either before it was first seen.
    assert_eq!(
        desk.run(&["why", "o/r#7", "--now", "2026-05-13T00:00:00Z"]).code,
        Some(1)
    );
    assert_eq!(desk.run(&["why", "o/r"]).code, Some(2));
}

#[test]
fn a_renamed_repository_is_known_by_its_former_name() {
    let desk = maintained();
    let name = |name: &str| name.parse::<RepoName>().unwrap();
    let mut ledger = Ledger::open(&desk.home().join("ledger.db")).unwrap();
    ledger.rename(&name("o/r"), &name("o/new")).unwrap();
    drop(ledger);
    for at in ["o/r#7", "o/new#7"] {
        let why = desk.json(&["why", at, "--now", NOW, "--json"]);
        assert_eq!(why["repo"], "o/new", "{at}");
        let story = desk.json(&["pr", at, "--json"]);
        assert_eq!(story["state"]["state"], "ready_for_maintainer", "{at}");
    }
}

#[test]
fn a_story_has_the_maintainers_half_in_the_order_of_time() {
    let desk = maintained();
    desk.write(
        "pr-state.jsonl",
        concat!(
            r#"{"v":1,"ts":"2026-05-14T17:46:00Z","repo":"o/r","pr":7,"title":"Mend it","bucket":"wait","rule":"wait.default"}"#,
            "\n",
        ),
    );
    let story = desk.json(&["pr", "o/r#7", "--json"]);
    let entries = story["entries"].as_array().unwrap();
    let kinds: Vec<(&str, &str)> = entries
        .iter()
        .map(|entry| {
            (
                entry["source"].as_str().unwrap(),
                entry["what"]["kind"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            ("ledger.db", "moved"),
            ("pr-state.jsonl", "classified"),
            ("ledger.db", "moved")
        ]
    );
    assert_eq!(entries[2]["what"]["from"], "new");
    assert_eq!(entries[2]["what"]["to"], "ready_for_maintainer");
    assert_eq!(entries[2]["what"]["saw"]["owner"], "@olive");
    assert_eq!(story["state"]["state"], "ready_for_maintainer");
    let text = desk.good(&["pr", "o/r#9"]);
    assert!(
        text.starts_with("o/r#9  Collide\nchanges_requested (conflict): "),
        "{text}"
    );
    assert!(
        text.contains("first seen, changes_requested, head 0000000: "),
        "{text}"
    );
}

#[test]
fn another_setting_is_judged_over_what_is_recorded() {
    let desk = maintained();
    let same = desk.json(&["replay", "--projection", "--json"]);
    assert_eq!((&same["pulls"], &same["now"]), (&json!(4), &json!([])));
    let before = files(&desk.home());
    let desk = desk.with("STALE_PR_DAYS", "5");
    let other = desk.json(&[
        "replay",
        "--projection",
        "--since",
        "2026-05-14T00:00:00Z",
        "--json",
    ]);
    let now = other["now"].as_array().unwrap();
    assert_eq!(now.len(), 1);
    assert_eq!((&now[0]["repo"], &now[0]["pr"]), (&json!("o/r"), &json!(8)));
    assert_eq!(
        (&now[0]["recorded"], &now[0]["projected"]["state"]),
        (&json!("ready_for_maintainer"), &json!("stale"))
    );
    assert_eq!(
        other["counts"],
        json!([{"recorded": "ready_for_maintainer", "projected": "stale", "count": 1}])
    );
    assert_eq!(
        (&other["decisions"], other["then"].as_array().unwrap().len()),
        (&json!(5), 1)
    );
    let text = desk.good(&["replay", "--projection"]);
    assert!(
        text.starts_with("4 pull requests projected again: 1 would be in another state\n"),
        "{text}"
    );
    assert_eq!(files(&desk.home()), before);
    for words in [
        &["replay", "qa", "--projection"][..],
        &["replay", "--projection", "--rerun"],
        &["replay"],
    ] {
        assert_eq!(desk.run(words).code, Some(2), "{words:?}");
    }
}

#[test]
fn the_views_work_beside_the_process_that_writes_and_on_a_copy() {
    let desk = maintained();
    let mut ledger = Ledger::open(&desk.home().join("ledger.db")).unwrap();
    visit(
        &mut ledger,
        &build::ready("o/r#8").later(TimeDelta::minutes(4)).done(),
        "Rest no more",
    );
    let words: [&[&str]; 4] = [
        &["board", "--json", "--now", NOW],
        &["why", "o/r#8", "--json", "--now", "2026-05-14T18:00:00Z"],
        &["replay", "--projection", "--json", "--now", NOW],
        &["pr", "o/r#8", "--json"],
    ];
    let beside: Vec<Value> = words.iter().map(|words| desk.json(words)).collect();
    assert!(beside[0].to_string().contains("Rest no more"));
    // Copied while it is written, with what is not in the main file yet.
    let copy = Desk::new();
    fs::create_dir_all(copy.home()).unwrap();
    for name in files(&desk.home()) {
        fs::copy(desk.home().join(&name), copy.home().join(&name)).unwrap();
    }
    let copied: Vec<Value> = words.iter().map(|words| copy.json(words)).collect();
    assert_eq!(copied, beside);
}
