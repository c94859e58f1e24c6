//! `[lifecycle]`: the file, the variables before it, and what is said of both.

use serde_json::{Value, json};

use crate::support::Desk;

fn value(config: &Value, key: &str) -> (Value, String) {
    let values = config["values"].as_array().unwrap();
    let entry = values.iter().find(|entry| entry["key"] == key).unwrap();
    let source = match entry["source"]["kind"].as_str().unwrap() {
        "file" => format!("line {}", entry["source"]["line"]),
        "environment" => entry["source"]["variable"].as_str().unwrap().to_owned(),
        kind => kind.to_owned(),
    };
    (entry["value"].clone(), source)
}

#[test]
fn each_setting_is_shown_with_its_source() {
    let desk = Desk::new()
        .with("LIFECYCLE_REPOS", "lanternworks/ember, papercrane/kite")
        .with("PARK_DAYS", "21")
        .with("CLOSE_DAYS", "");
    desk.write("config.toml", "[lifecycle]\npark_days = 20\nclose_days = 45\n");
    let config = desk.json(&["config", "--json"]);
    for (key, expected, source) in [
        (
            "lifecycle.lifecycle_repos",
            json!(["lanternworks/ember", "papercrane/kite"]),
            "LIFECYCLE_REPOS",
        ),
        ("lifecycle.park_days", json!(21), "PARK_DAYS"),
        ("lifecycle.close_days", json!(45), "line 3"),
        ("lifecycle.stale_pr_days", json!(7), "default"),
        (
            "lifecycle.auto_review_at",
            json!("04:00 Asia/Shanghai"),
            "default",
        ),
        ("lifecycle.stale_coordinator_login", Value::Null, "default"),
    ] {
        assert_eq!(value(&config, key), (expected, source.to_owned()), "{key}");
    }
    let text = desk.good(&["config"]);
    assert!(text.contains("environment PARK_DAYS"), "{text}");
}

#[test]
fn what_makes_no_sense_is_two_lines_and_exit_2() {
    for (variable, value, said) in [
        (
            "PARK_DAYS",
            "soon",
            "sweep: environment variable PARK_DAYS: \"soon\" is not a whole number\n  Mend PARK_DAYS, or unset it.\n",
        ),
        (
            "PARK_DAYS",
            "30",
            "sweep: environment variable PARK_DAYS: `close_days` is 30 and must be more than `park_days`, which is 30\n  \
             Mend PARK_DAYS, or unset it.\n",
        ),
    ] {
        let ended = Desk::new().with(variable, value).run(&["config"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), said));
    }
    let desk = Desk::new();
    desk.write("config.toml", "[lifecycle]\nlifecycle_repo = [\"a/b\"]\n");
    let ended = desk.run(&["config"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .contains("config.toml:2: unknown key `lifecycle.lifecycle_repo`")
            && ended.stderr.contains("`lifecycle.lifecycle_repos`"),
        "{ended:?}"
    );
}

#[test]
fn what_has_no_effect_is_said_when_the_actors_start() {
    let desk = Desk::new()
        .with("READY_PAGE_ENABLED", "true")
        .with("PR_STATE_WRITE_BUDGET", "3");
    let ended = desk.run(&["run", "--demo", "--once"]);
    for said in [
        "environment READY_PAGE_ENABLED: `lifecycle.ready_page_enabled` lets nothing out in this version",
        "environment PR_STATE_WRITE_BUDGET: `lifecycle.pr_state_write_budget` has no effect in this version",
    ] {
        assert!(ended.stderr.contains(said), "{said}: {ended:?}");
    }
}
