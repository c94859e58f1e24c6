//! Each rule, on the data that just makes it hold and the data that just does not.

use lifecycle::{Hints, Outcome, RuleId, Settings, classify, rules};
use pulls::build::{self, at, comment, hours_ago, now, review, run};
use pulls::facts::{Mergeable, PullState};

use crate::{check, check_with, gate, pull, queue, ready, verdict, verdict_with};

#[test]
fn close_superseded() {
    let merged = Some(at("2026-05-13T09:00:00Z"));
    let reason = "superseded by #4067 (merged 2026-05-13)";
    check(
        "same repository",
        pull().closed_by_other(5, 4067, merged),
        RuleId::CloseSuperseded,
        reason,
    );
    let elsewhere = pull()
        .closed_by_other(5, 4067, merged)
        .with(|pull| pull.closes[0].closed_by.as_mut().unwrap().at.repo = build::repo("x/y"));
    check(
        "elsewhere",
        elsewhere,
        RuleId::CloseSuperseded,
        "superseded by x/y#4067 (merged 2026-05-13)",
    );
    check(
        "open issue",
        pull().closes(5),
        RuleId::WaitDefault,
        "review required",
    );
}

#[test]
fn close_asked() {
    let asked =
        pull()
            .changes_requested()
            .review(review("m", "CHANGES_REQUESTED", "Please close this. It is done."));
    check(
        "asked",
        asked,
        RuleId::CloseAsked,
        "m asked to close it: Please close this.",
    );
    let not_yet =
        pull()
            .changes_requested()
            .review(review("m", "CHANGES_REQUESTED", "Please don't close this yet."));
    check(
        "negated",
        not_yet,
        RuleId::InvestigateChangesRequested,
        "changes requested by m",
    );
    let comment = pull().comment(comment("m", "Please close this."));
    check("in a comment", comment, RuleId::WaitDefault, "review required");
}

#[test]
fn close_queue() {
    check_with(
        "superseded",
        pull(),
        &queue("superseded"),
        RuleId::CloseQueue,
        "superseded, says the drip queue",
    );
    check_with(
        "open",
        pull(),
        &queue("open"),
        RuleId::WaitDefault,
        "review required",
    );
}

#[test]
fn investigate_changes_requested() {
    let rule = RuleId::InvestigateChangesRequested;
    check(
        "nobody to name",
        pull().changes_requested(),
        rule,
        "changes requested",
    );
    let by = |hours| review("m", "CHANGES_REQUESTED", "").at(hours_ago(hours));
    let verdict = verdict(pull().changes_requested().review(by(9)));
    assert_eq!(verdict.reviewer.unwrap().as_str(), "m");
    assert_eq!(
        verdict.comment_url.unwrap(),
        "https://github.com/o/r/pull/1#pullrequestreview-m"
    );
    // Who has approved since does not request changes any more.
    let two = pull()
        .changes_requested()
        .review(by(9))
        .review(review("n", "CHANGES_REQUESTED", "").at(hours_ago(20)))
        .review(review("m", "APPROVED", "").at(hours_ago(8)))
        .review(review("n", "COMMENTED", "Still.").at(hours_ago(7)));
    check("the one who still does", two, rule, "changes requested by n");
}

#[test]
fn investigate_question() {
    let verdict = verdict(pull().comment(comment("m", "Thanks. Could this be done in another way?")));
    assert_eq!(verdict.rule, RuleId::InvestigateQuestion);
    assert_eq!(
        verdict.reason,
        "m asked a question: Thanks. Could this be done in another way?"
    );
    assert!(verdict.signals.maintainer_question);
    assert_eq!(verdict.reviewer.unwrap().as_str(), "m");
    assert_eq!(
        verdict.comment_url.unwrap(),
        "https://github.com/o/r/pull/1#issuecomment-m"
    );
}

#[test]
fn rebase_conflict_and_behind() {
    check(
        "conflict",
        pull().conflicting(),
        RuleId::RebaseConflict,
        "conflicts with main",
    );
    let reason = "main has 51 commits that it lacks (limit 50)";
    check("behind", pull().behind(51), RuleId::RebaseBehind, reason);
    check(
        "exactly 50",
        pull().behind(50),
        RuleId::WaitDefault,
        "review required",
    );
    let unknown = pull().with(|pull| pull.behind_by = None);
    check("no number", unknown, RuleId::WaitDefault, "review required");
    let unknown = pull().with(|pull| pull.mergeable = Mergeable::Unknown);
    check("not computed", unknown, RuleId::WaitDefault, "review required");
}

#[test]
fn qa_ci() {
    let windows = "Test stable on windows-latest";
    let verdict = verdict(ready().check(run(windows).failed()));
    assert_eq!(
        (verdict.rule, verdict.reason),
        (RuleId::QaCi, format!("CI failure: {windows}"))
    );
    assert_eq!(verdict.signals.check.as_deref(), Some(windows));
    let reason = "CI failure: b (cancelled, needs a re-run)";
    check(
        "cancelled",
        ready().check(run("b").concluded("CANCELLED")),
        RuleId::QaCi,
        reason,
    );
    check(
        "pending",
        ready().check(run("b").running()),
        RuleId::WaitDefault,
        "CI pending: b (stuck for more than 24 h)",
    );
}

#[test]
fn qa_gate() {
    let day = 24 * 60;
    let quiet = RuleId::WaitDefault;
    check_with(
        "none and not configured",
        pull(),
        &gate(false, None),
        quiet,
        "review required",
    );
    check_with(
        "none but configured",
        pull(),
        &gate(true, None),
        RuleId::QaGate,
        "no gate attestation",
    );
    check_with(
        "a day old",
        pull(),
        &gate(false, Some(day)),
        quiet,
        "review required",
    );
    check_with(
        "older",
        pull(),
        &gate(false, Some(day + 6)),
        RuleId::QaGate,
        "the gate attestation is 24.1 h old",
    );
    check_with(
        "configured and fresh",
        pull(),
        &gate(true, Some(5)),
        quiet,
        "review required",
    );
    let from_the_future = verdict_with(pull(), &gate(true, Some(-90)));
    assert_eq!(from_the_future.rule, quiet);
    assert_eq!(from_the_future.signals.gate_stale_h.unwrap().get(), 0.0);
}

#[test]
fn ship_ready() {
    let ship = RuleId::ShipReady;
    let wait = RuleId::WaitDefault;
    check("ready", ready(), ship, "approved + green CI");
    check("no checks", ready().no_checks(), ship, "approved + no checks");
    check("no rollup", ready().no_rollup(), ship, "approved + no checks");
    let unknown = ready().with(|pull| pull.mergeable = Mergeable::Unknown);
    check(
        "not computed yet",
        unknown,
        ship,
        "approved + green CI, mergeability not computed yet",
    );
    let odd = ready().with(|pull| pull.mergeable = "MAYBE".into());
    check("an unknown word", odd, wait, "mergeable says MAYBE");
    check("draft", ready().draft(), wait, "draft");
    check(
        "open thread",
        ready().thread([comment("m", "Nit.")]),
        wait,
        "1 unresolved review thread",
    );
    check(
        "resolved thread",
        ready().resolved_thread([comment("m", "Nit.")]),
        ship,
        "approved + green CI",
    );
    let odd = ready().check(run("a").concluded("ODD"));
    check(
        "an unknown conclusion",
        odd,
        wait,
        "a says ODD, which this program does not know",
    );
    let new = ready().no_rollup().opened_at(hours_ago(0));
    check("just opened", new, wait, "no checks have been reported yet");
    let queued = ready().with(|pull| pull.merge_queue_position = Some(2));
    check(
        "in the queue",
        queued,
        ship,
        "approved + green CI, in the merge queue",
    );
}

#[test]
fn wait_default() {
    check("quiet", pull(), RuleId::WaitDefault, "review required");
    check(
        "draft",
        pull().draft(),
        RuleId::WaitDefault,
        "review required; draft",
    );
    let none = pull().with(|pull| pull.review_decision = None);
    check(
        "no review required",
        none,
        RuleId::WaitDefault,
        "no review required and none given",
    );
    let old = pull()
        .opened_at(hours_ago(24 * 900))
        .updated_at(hours_ago(24 * 800));
    check(
        "age alone closes nothing",
        old,
        RuleId::WaitDefault,
        "review required",
    );
}

#[test]
fn b080_an_archived_repository_is_looked_at_before_every_rule() {
    let reason = "the repository is archived: nothing can be done";
    let archived = pull()
        .conflicting()
        .changes_requested()
        .check(run("a").failed())
        .archived();
    check_with(
        "archived",
        archived.clone(),
        &queue("superseded"),
        RuleId::WaitDefault,
        reason,
    );
    let all = rules(&archived.build(), &Hints::default(), &Settings::default(), now());
    assert_eq!((all[0].rule, all[0].held), (RuleId::WaitDefault, true));
    assert_eq!(all.len(), RuleId::ALL.len());
}

#[test]
fn what_is_not_open_any_more_is_not_classified() {
    for state in [
        PullState::Closed,
        PullState::Merged,
        PullState::Other("NEW".into()),
    ] {
        let pull = ready().with(|pull| pull.state = state.clone()).build();
        let outcome = classify(&pull, &Hints::default(), &Settings::default(), now());
        assert_eq!(outcome, Outcome::NotOpen(state));
    }
}

#[test]
fn every_rule_is_shown_in_order_with_its_evidence() {
    let pull = ready().check(run("windows").failed()).behind(61).build();
    let shown: Vec<String> = rules(&pull, &gate(false, Some(60)), &Settings::default(), now())
        .into_iter()
        .map(|check| format!("{:<30} {:<5} {}", check.rule, check.held, check.because))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn reasons_never_act_on_a_terminal() {
    let odd = "evil\u{1b}[2J\nname\u{202e}";
    let pulls = [
        pull().check(run(odd).failed()),
        pull().conflicting().with(|pull| pull.base.branch = odd.into()),
        pull().comment(comment("m", &format!("{odd}?"))),
        pull().changes_requested().review(review(
            "m",
            "CHANGES_REQUESTED",
            &format!("Please close this; {odd}"),
        )),
        ready().with(|pull| pull.mergeable = odd.into()),
        ready().with(|pull| pull.review_decision = Some(odd.into())),
    ];
    for pull in pulls {
        let reason = verdict(pull).reason;
        assert!(
            !reason.contains(|c: char| c.is_control() || c == '\u{202e}'),
            "{reason:?}"
        );
    }
}
