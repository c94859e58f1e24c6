//! `why`: every rule with its evidence, as a person or a script reads it.

use std::fmt::Write as _;

use lifecycle::maintain::build::{EvidenceBuilder, evidence, ready};
use lifecycle::maintain::{Rule, Settings, State, Why, why};
use pulls::build::now;
use pulls::checks::Standing;
use pulls::facts::PullState;

fn of(it: EvidenceBuilder) -> Why {
    let it = it.done();
    why(&it, it.now, &Settings::default())
}

/// Rules and conditions one a line, as a listing shows them.
fn shown(why: &Why) -> String {
    let mut out = format!("{}: {}\n\n", why.projected.state, why.projected.reason);
    for line in &why.rules {
        let mark = match (line.decides, line.held) {
            (true, _) => '>',
            (false, true) => '+',
            (false, false) => '-',
        };
        let rule = serde_json::to_value(line.rule).expect("a word");
        let rule = rule.as_str().expect("a word").to_owned();
        writeln!(
            out,
            "{mark} {rule}: {} | until {}",
            line.because, line.would_change
        )
        .expect("a string");
    }
    out.push('\n');
    for condition in &why.gate {
        let mark = if condition.held { '+' } else { '-' };
        writeln!(out, "{mark} {:?}: {}", condition.id, condition.because).expect("a string");
    }
    out.push('\n');
    for deadline in &why.deadlines {
        writeln!(out, "{} {}", deadline.at, deadline.what.says()).expect("a string");
    }
    out
}

#[test]
fn of_a_ready_one_a_red_and_conflicting_one_and_a_parked_one() {
    insta::assert_snapshot!("why_ready", shown(&of(ready("o/r#7").findings(0, 1))));
    let red = ready("o/r#7")
        .conflicting()
        .findings(2, 0)
        .check("build", Standing::Failed);
    insta::assert_snapshot!("why_red_and_conflicting", shown(&of(red)));
    insta::assert_snapshot!(
        "why_parked",
        shown(&of(evidence("o/r#7").unrouted().idle_days(15)))
    );
}

#[test]
fn as_json() {
    insta::assert_json_snapshot!("why_as_json", of(evidence("o/r#7").ownerless()));
}

#[test]
fn the_rule_that_decides_is_the_first_that_holds_and_gives_the_state() {
    for it in [
        ready("o/r#7"),
        ready("o/r#7").idle_days(9),
        evidence("o/r#7"),
        evidence("o/r#7").unrouted(),
        evidence("o/r#7").with(|it| it.reviews.is_claimed = true),
        ready("o/r#7").check("build", Standing::Running),
        ready("o/r#7").with(|it| it.unresolved_threads = None),
        ready("o/r#7").ended(PullState::Closed, now()),
        ready("o/r#7").with(|it| it.state = PullState::Other("LIMBO".to_owned())),
    ] {
        let why = of(it);
        let first = why.rules.iter().find(|line| line.held).expect("one holds");
        assert!(first.decides);
        assert_eq!(first.rule.state(), why.projected.state);
        assert_eq!(first.because, why.projected.reason);
        assert_eq!(why.rules.iter().filter(|line| line.decides).count(), 1);
        assert_eq!(why.rules.len(), Rule::ALL.len());
        assert!(
            why.rules
                .iter()
                .all(|line| !line.because.is_empty() && !line.would_change.is_empty())
        );
    }
}

#[test]
fn a_claim_of_the_sweep_is_told_where_its_owner_rule_does_not_hold() {
    let why = of(evidence("o/r#7").with(|it| it.reviews.is_claimed = true));
    let owner = why
        .rules
        .iter()
        .find(|line| line.rule == Rule::OwnerRouted)
        .expect("every rule");
    assert_eq!(owner.because, "a review was tried, or the sweep has it");
}

#[test]
fn what_was_not_read_whole_is_told() {
    let why = of(ready("o/r#7").with(|it| it.partial.push("its files\u{1b}".to_owned())));
    assert_eq!(why.partial, ["its files\\u{1b}"]);
    assert_eq!(why.projected.state, State::ReadyForMaintainer);
}
