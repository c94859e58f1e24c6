//! A report as people and programs get it.

use board::records::{Audited, StateLine};
use board::{Report, report};
use mailbox::{FailureKind, Moment, QuarantineCause};
use runtime::{ActorState, ActorStatus, Attention, Overview};
use serde_json::Value;

use crate::build::{DAY, HOUR, Sent, ago, audited, fold, seen};

/// What a person from outside can write, where it would do harm.
const HOSTILE: &str = "</title><script>alert(1)</script>\u{1b}[2J\u{202e}\" onload=\"x";

/// A week in which everything happened.
fn busy() -> Report {
    let mut messages = Vec::new();
    for day in 0..7 {
        for nth in 0..4_u32 {
            let (seq, began) = (
                u64::from(nth) + 1 + u64::try_from(day).unwrap() * 4,
                day * DAY + HOUR * 3,
            );
            let took = i64::from(nth * nth * 3 + 1);
            messages.push(
                Sent::to("qa", seq, began)
                    .taken(began, 1)
                    .acked(began - took, "passed"),
            );
        }
        messages.push(
            Sent::to("drip", u64::try_from(day).unwrap() + 1, day * DAY + 60)
                .passed_over(day * DAY + 50, "superseded"),
        );
    }
    messages.push(
        Sent::to("investigate", 1, 2 * DAY)
            .taken(2 * DAY - 1, 1)
            .failed(2 * DAY - 2, FailureKind::Panic)
            .taken(2 * DAY - 5, 2)
            .quarantined(2 * DAY - 6, QuarantineCause::Rejected),
    );
    messages.push(Sent::to("drip", 99, 100));
    let mut lines: Vec<StateLine> = Vec::new();
    for hour in (0..7 * 24).rev() {
        let minutes = hour * HOUR + 1;
        lines.push(seen(
            minutes,
            "o/r",
            7,
            if hour % 50 < 25 { "qa" } else { "wait" },
        ));
        lines.push(seen(minutes, "o/r", 8, if hour > 80 { "ship" } else { "rebase" }));
        if hour > 100 {
            lines.push(seen(
                minutes,
                "long-owner-name/long-repository-name",
                123_456,
                "close",
            ));
        }
    }
    let mut fold = fold(messages, &lines);
    fold.audited(&audited(DAY, 7, HOSTILE));
    fold.audited(&audited(2 * DAY, 8, "review required"));
    fold.unreadable("retro.jsonl");
    fold.finish(&Overview {
        actors: vec![ActorStatus {
            name: "qa".parse().unwrap(),
            intents: Vec::new(),
            state: ActorState::Idle,
            restarts: 0,
            last_failure: None,
            unread: 0,
            oldest_unread: None,
            quarantined: 0,
            takt: None,
        }],
        attention: vec![Attention {
            key: "unread/drip".to_owned(),
            since: Moment::from(ago(70)),
            text: format!("drip has 1 unread message {HOSTILE}"),
            mend: "look at what drip does, or at its log".to_owned(),
        }],
    })
}

#[test]
fn a_report_for_a_terminal() {
    let text = busy().text();
    insta::assert_snapshot!(text);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
    assert!(text.lines().all(|line| line == line.trim_end()));
}

#[test]
fn a_report_as_a_document() {
    let mut document = serde_json::to_value(busy()).unwrap();
    // The series are as long as the range; their first and last say enough.
    for series in ["days", "samples"] {
        let all = document[series].as_array_mut().unwrap();
        *all = vec![all[0].clone(), all[all.len() - 1].clone()];
    }
    insta::assert_json_snapshot!(document);
}

#[test]
fn the_schemas_are_the_published_ones() {
    for (name, schema) in [
        ("report", schemars::schema_for!(Report)),
        ("story", schemars::schema_for!(board::Story)),
    ] {
        let path = format!("{}/../docs/schema/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let ours = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, &ours).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap();
        let (ours, published): (Value, Value) = (
            serde_json::from_str(&ours).unwrap(),
            serde_json::from_str(&published).unwrap(),
        );
        assert_eq!(
            ours, published,
            "{path} is not of this version; UPDATE_SCHEMAS=1 writes it anew"
        );
    }
    assert_eq!(report::VERSION, 1);
}

/// What stands between an opening tag's name and its end.
fn tags(html: &str) -> impl Iterator<Item = &str> {
    html.split('<')
        .skip(1)
        .filter_map(|rest| rest.split_once('>'))
        .map(|(tag, _)| tag)
}

#[test]
fn a_page_needs_nothing_and_does_nothing() {
    let html = busy().html();
    if let Some(path) = std::env::var_os("BOARD_PAGE") {
        std::fs::write(path, &html).unwrap();
    }
    assert!(html.starts_with("<!doctype html>\n<html lang=\"en\">"));
    let policy = html
        .split("Content-Security-Policy\" content=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    for tag in tags(&html) {
        let name = tag.split([' ', '/', '\n']).next().unwrap_or_default();
        assert!(
            ![
                "script",
                "link",
                "img",
                "iframe",
                "object",
                "a",
                "form",
                "foreignObject"
            ]
            .contains(&name),
            "{tag}"
        );
        for attribute in [" on", " style=", " src=", "href="] {
            assert!(!tag.contains(attribute), "{tag}");
        }
    }
    // The only address is the name of the language that plots are written in.
    assert_eq!(
        html.matches("http").count() - html.matches("http-equiv").count(),
        html.matches("<svg").count()
    );
    assert!(!html.contains('\u{1b}') && !html.contains('\u{202e}'));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn every_plot_has_words_for_those_who_do_not_see_it() {
    let html = busy().html();
    let plots: Vec<&str> = html.split("<svg ").skip(1).collect();
    assert_eq!(plots.len(), 5);
    for plot in plots {
        let labels = plot
            .split("aria-labelledby=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        for id in labels.split(' ') {
            assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
        assert!(plot.starts_with("role=\"img\""));
        assert!(plot.contains("<title ") && plot.contains("<desc "));
    }
    // What a plot shows stands in a table too, each with its caption and the headings of its rows.
    assert_eq!(html.matches("<table>").count(), html.matches("<caption>").count());
    assert!(html.contains("<th scope=\"row\""));
    // The page opens and closes every element that it has.
    for name in [
        "div", "section", "figure", "table", "details", "dl", "ul", "svg", "main", "header",
    ] {
        let opened = tags(&html)
            .filter(|tag| tag.split([' ', '\n']).next() == Some(name))
            .count();
        assert_eq!(opened, html.matches(&format!("</{name}>")).count(), "{name}");
    }
}

#[test]
fn lines_that_are_none_are_told_apart() {
    let good = r#"{"v":1,"ts":"2026-05-14T17:45:00Z","repo":"o/r","pr":7,"bucket":"qa"}"#;
    assert!(StateLine::parse(good).is_some());
    for bad in [
        "",
        "{",
        "null",
        "[]",
        &good[..good.len() - 3],
        r#"{"v":1,"ts":"2026-05-14T17:45:00Z","repo":"../r","pr":7,"bucket":"qa"}"#,
        r#"{"v":1,"ts":"2026-05-14T17:45:00Z","repo":"o/r","pr":0,"bucket":"qa"}"#,
        r#"{"v":1,"ts":"2026-05-14T17:45:00Z","repo":"o/r","pr":7,"bucket":"someday"}"#,
        r#"{"v":1,"ts":"yesterday","repo":"o/r","pr":7,"bucket":"qa"}"#,
        r#"{"ts":"2026-05-14T17:45:00Z","prs":3}"#,
    ] {
        assert_eq!(StateLine::parse(bad), None, "{bad}");
    }
    assert_eq!(
        Audited::parse(r#"{"ts":"2026-05-14T17:45:00Z","repo":"o/r"}"#),
        None
    );
    // A field that is to come is no reason not to read a line.
    let more = good.replace("\"v\":1", "\"v\":2,\"mood\":\"fine\"");
    assert_eq!(StateLine::parse(&more), StateLine::parse(good));
}
