//! The cases from the field that a pure function can decide, each under its number. Those about one
//! question alone (the identity of a check, markdown, names) are tested in `pulls` beside its answer.

use lifecycle::{Bucket, Hints, RuleId, Settings, classify};
use pulls::build::{self, at, comment, hours_ago, now, review, run, status};
use pulls::checks::Ci;
use pulls::facts::{MergeState, Mergeable, ReviewDecision};

use crate::{bucket, check, pull, ready, verdict};

#[test]
fn b001_newest_run_of_one_identity_counts() {
    let old = run("build")
        .concluded("CANCELLED")
        .started(at("2026-05-13T08:54:00Z"))
        .id(1);
    let new = run("build").started(at("2026-05-13T09:02:00Z")).id(2);
    check(
        "superseded",
        ready().check(new).check(old),
        RuleId::ShipReady,
        "approved + green CI",
    );
}

#[test]
fn b002_the_rollups_own_state_plays_no_part() {
    assert_eq!(
        bucket(ready().check(run("a")).check(status("b", "SUCCESS"))),
        Bucket::Ship
    );
}

#[test]
fn b003_position_plays_no_part() {
    let old = || run("build").failed().started(hours_ago(5));
    let new = || run("build").started(hours_ago(4));
    assert_eq!(bucket(ready().check(old()).check(new())), Bucket::Ship);
    assert_eq!(bucket(ready().check(new()).check(old())), Bucket::Ship);
}

#[test]
fn b004_two_workflows_are_two_checks() {
    let other = run("build").failed().workflow("Other");
    check(
        "both",
        ready().check(run("build")).check(other),
        RuleId::QaCi,
        "CI failure: Other / build (pull_request)",
    );
}

#[test]
fn b005_a_run_and_a_status_of_one_name_must_both_pass() {
    assert_eq!(
        bucket(ready().check(run("x").failed()).check(status("x", "SUCCESS"))),
        Bucket::Qa
    );
}

#[test]
fn b008_skipped_and_neutral_pass() {
    let verdict = verdict(
        ready()
            .check(run("a").concluded("SKIPPED"))
            .check(run("b").concluded("NEUTRAL")),
    );
    assert_eq!((verdict.bucket, verdict.signals.skipped), (Bucket::Ship, 2));
}

#[test]
fn b010_cancelled_needs_a_re_run() {
    let reason = "CI failure: build (cancelled, needs a re-run)";
    check(
        "alone",
        ready().check(run("build").concluded("CANCELLED")),
        RuleId::QaCi,
        reason,
    );
}

#[test]
fn b011_stale_is_pending() {
    let reason = "CI pending: build (went stale, needs a re-run)";
    check(
        "stale",
        ready().check(run("build").concluded("STALE")),
        RuleId::WaitDefault,
        reason,
    );
}

#[test]
fn b013_workflows_that_await_approval_are_no_green() {
    let waiting = ready().no_rollup().suite(build::suite_awaiting_approval());
    let reason = "waiting for a maintainer to approve its workflows: CI";
    check("waiting", waiting.clone(), RuleId::WaitDefault, reason);
    assert!(verdict(waiting).signals.awaiting_approval);
}

#[test]
fn b015_b016_no_checks_count_as_green() {
    let verdict = verdict(ready().no_checks().suite(build::suite_that_never_ran()));
    assert_eq!((verdict.bucket, verdict.signals.ci), (Bucket::Ship, Ci::Unknown));
}

#[test]
fn b017_the_hundred_and_second_check_counts() {
    let mut many = ready();
    for number in 0..101 {
        many = many.check(run(&format!("check {number:03}")));
    }
    assert_eq!(bucket(many.clone()), Bucket::Ship);
    check(
        "the last",
        many.check(run("last").failed()),
        RuleId::QaCi,
        "CI failure: last",
    );
}

#[test]
fn b020_stuck_is_shown_and_pending() {
    let verdict = verdict(ready().check(run("a").running().started(hours_ago(30))));
    assert_eq!(
        (verdict.bucket, verdict.signals.stuck.as_slice()),
        (Bucket::Wait, &["a".to_owned()][..])
    );
}

#[test]
fn b029_a_word_that_is_not_known_is_neither_green_nor_a_crash() {
    let verdict = verdict(ready().check(run("a").concluded("QUANTUM")));
    assert_eq!((verdict.bucket, verdict.signals.ci), (Bucket::Wait, Ci::Unknown));
    assert_eq!(verdict.reason, "a says QUANTUM, which this program does not know");
}

#[test]
fn b030_unknown_mergeability_does_not_rebase() {
    for word in ["UNKNOWN", ""] {
        let verdict = verdict(pull().with(|pull| pull.mergeable = word.into()));
        assert_eq!(verdict.bucket, Bucket::Wait, "{word:?}");
        assert_eq!(verdict.signals.mergeable, Mergeable::Unknown, "{word:?}");
    }
}

#[test]
fn b039_behind_is_a_signal_and_no_rebase() {
    let verdict = verdict(
        pull()
            .behind(3)
            .with(|pull| pull.merge_state = MergeState::Behind),
    );
    assert_eq!(
        (verdict.bucket, verdict.signals.merge_state),
        (Bucket::Wait, MergeState::Behind)
    );
    assert_eq!(verdict.signals.behind_by, Some(3));
}

#[test]
fn b043_a_comment_changes_no_verdict() {
    let pull = ready()
        .review(review("m", "APPROVED", "").at(hours_ago(5)))
        .review(review("m", "COMMENTED", "Nice.").at(hours_ago(4)));
    assert_eq!(bucket(pull), Bucket::Ship);
}

#[test]
fn b048_the_review_decision_decides() {
    // Open review requests are not among the facts: they only name whose turn it is.
    assert_eq!(bucket(ready()), Bucket::Ship);
    let approved_by_one = pull().changes_requested().review(review("m", "APPROVED", ""));
    assert_eq!(bucket(approved_by_one), Bucket::Investigate);
}

#[test]
fn b049_an_empty_review_decision_is_none() {
    for decision in [None, Some(ReviewDecision::Other(String::new()))] {
        let verdict = verdict(pull().with(|pull| pull.review_decision = decision.clone()));
        assert_eq!((verdict.bucket, verdict.signals.review), (Bucket::Wait, None));
        assert_eq!(verdict.reason, "no review required and none given");
    }
}

#[test]
fn b052_threads_are_read_and_any_later_word_of_the_author_answers() {
    let ask = || comment("m", "Why is that?").at(hours_ago(5));
    let own = |hours| {
        comment("author", "Because.")
            .association("CONTRIBUTOR")
            .at(hours_ago(hours))
    };
    assert_eq!(bucket(pull().thread([own(6), ask()])), Bucket::Investigate);
    let empty_review = || review("m", "COMMENTED", "").at(hours_ago(5));
    assert_eq!(
        bucket(pull().thread([own(6), ask()]).review(empty_review())),
        Bucket::Investigate
    );
    assert_eq!(bucket(pull().thread([own(6), ask(), own(4)])), Bucket::Wait);
    assert_eq!(
        bucket(pull().thread([own(6), ask()]).comment(own(4))),
        Bucket::Wait
    );
}

#[test]
fn b053_requested_changes_are_the_authors_turn() {
    let pull = pull()
        .changes_requested()
        .review(review("m", "CHANGES_REQUESTED", ""));
    check(
        "empty body",
        pull,
        RuleId::InvestigateChangesRequested,
        "changes requested by m",
    );
}

#[test]
fn b054_one_bucket_and_all_signals() {
    let mut pull = pull()
        .changes_requested()
        .review(review("m", "CHANGES_REQUESTED", "Add a test.").at(hours_ago(50)))
        .committed_at(hours_ago(2))
        .behind(99);
    for number in 1..=9 {
        pull = pull.check(run(&format!("check {number}")).failed());
    }
    let verdict = verdict(pull);
    assert_eq!(verdict.bucket, Bucket::Investigate);
    assert_eq!(verdict.signals.failing.len(), 9);
    assert_eq!(verdict.signals.also, [RuleId::RebaseBehind, RuleId::QaCi]);
}

#[test]
fn b055_a_comment_without_a_question_is_audit_only() {
    let verdict = verdict(pull().comment(comment("m", "Nice work.")));
    assert_eq!((verdict.bucket, verdict.bucket.intent()), (Bucket::Wait, "audit"));
}

#[test]
fn b056_question_marks_in_code_links_and_quotes_ask_nothing() {
    let body = "See https://x/?a=b\n\n`a ? b : c`\n\n> quoted?\n\n![?](https://x/y?z)\n\n<!-- ? -->";
    assert_eq!(bucket(pull().comment(comment("m", body))), Bucket::Wait);
}

#[test]
fn b057_b060_a_bot_asks_nothing_whatever_its_association() {
    assert_eq!(
        bucket(pull().comment(comment("coderabbitai[bot]", "Is that so?"))),
        Bucket::Wait
    );
    assert_eq!(
        bucket(pull().comment(comment("x[bot]", "Is that so?").association("NONE"))),
        Bucket::Wait
    );
}

#[test]
fn b059_a_private_member_can_be_listed() {
    let facts = pull()
        .comment(comment("quiet", "Is that so?").association("CONTRIBUTOR"))
        .build();
    let mut settings = Settings::default();
    let rule = |settings: &Settings| {
        classify(&facts, &Hints::default(), settings, now())
            .verdict()
            .unwrap()
            .rule
    };
    assert_eq!(rule(&settings), RuleId::WaitDefault);
    settings.people.private_members.insert("Quiet".parse().unwrap());
    assert_eq!(rule(&settings), RuleId::InvestigateQuestion);
    settings.people.machine_users.insert("quiet".parse().unwrap());
    assert_eq!(rule(&settings), RuleId::WaitDefault);
}

#[test]
fn b061_every_unresolved_thread_counts() {
    let mut pull = ready();
    for _ in 0..130 {
        pull = pull.thread([comment("m", "Nit.")]);
    }
    check(
        "130 threads",
        pull,
        RuleId::WaitDefault,
        "130 unresolved review threads",
    );
}

#[test]
fn b065_a_deleted_fork_is_classified_and_said() {
    let deleted = |pull: build::PullBuilder| pull.with(|pull| pull.head.repo = None);
    let verdict = verdict(deleted(pull().conflicting()));
    assert_eq!(verdict.rule, RuleId::RebaseConflict);
    assert_eq!(
        verdict.reason,
        "conflicts with main; author cannot push: fork deleted"
    );
    assert!(verdict.signals.fork_deleted);
    check(
        "nothing to do yet, and nothing that could be done",
        deleted(pull()),
        RuleId::WaitDefault,
        "review required; author cannot push: fork deleted",
    );
    check(
        "merges all the same",
        deleted(ready()),
        RuleId::ShipReady,
        "approved + green CI",
    );
    let reason = "main has 51 commits that it lacks (limit 50); author cannot push: fork deleted";
    check(
        "has a number too",
        deleted(pull().behind(51)),
        RuleId::RebaseBehind,
        reason,
    );
}

#[test]
fn b067_a_mention_supersedes_nothing() {
    assert_eq!(
        bucket(pull().with(|pull| pull.body = "Like #9.\n\n`Closes #9`".into())),
        Bucket::Wait
    );
}

#[test]
fn b074_a_head_from_the_future_hides_no_question() {
    let future = now() + chrono::TimeDelta::days(30);
    let pull = pull().committed_at(future).comment(comment("m", "Why?"));
    assert_eq!(bucket(pull), Bucket::Investigate);
}

#[test]
fn b108_renamed_and_refolded_repositories_are_one() {
    let renamed = pull()
        .with(|pull| pull.asked_as = build::repo("Old/Name"))
        .closed_by_other(5, 7, Some(hours_ago(9)))
        .with(|pull| pull.closes[0].closed_by.as_mut().unwrap().at.repo = build::repo("old/name"));
    assert_eq!(
        bucket(renamed),
        Bucket::Wait,
        "it did not supersede itself under its old name"
    );
}

#[test]
fn a_conflicting_pull_request_without_checks_is_a_rebase() {
    // No merge commit, so no workflow starts: an empty rollup is not pending.
    let verdict = verdict(pull().conflicting().no_checks());
    assert_eq!(
        (verdict.bucket, verdict.signals.ci),
        (Bucket::Rebase, Ci::Unknown)
    );
}
