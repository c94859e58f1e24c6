//! Of two rules that both hold, the first of the order decides, and the signals name the other.

use lifecycle::{GateHint, Hints, RuleId};
use pulls::build::{PullBuilder, at, comment, review, run};

use crate::{pull, queue, verdict_with};

/// Makes one rule hold on a pull request and its hints.
fn make(rule: RuleId, pull: PullBuilder, hints: &mut Hints) -> PullBuilder {
    match rule {
        RuleId::CloseSuperseded => pull.closed_by_other(5, 9, Some(at("2026-05-13T09:00:00Z"))),
        RuleId::CloseAsked => {
            pull.changes_requested()
                .review(review("m", "CHANGES_REQUESTED", "Please close this."))
        }
        RuleId::CloseQueue => {
            hints.queue = queue("superseded").queue;
            pull
        }
        RuleId::InvestigateChangesRequested => pull.changes_requested(),
        RuleId::InvestigateQuestion => pull.comment(comment("m", "Why?")),
        RuleId::RebaseConflict => pull.conflicting(),
        RuleId::RebaseBehind => pull.behind(51),
        RuleId::QaCi => pull.check(run("a").failed()),
        RuleId::QaGate => {
            hints.gate = GateHint {
                configured: true,
                attested_at: None,
            };
            pull
        }
        RuleId::ShipReady => pull.approved(),
        RuleId::WaitDefault => pull,
    }
}

#[test]
fn the_first_of_two_decides() {
    for (place, first) in RuleId::ALL.into_iter().enumerate() {
        for second in RuleId::ALL.into_iter().skip(place) {
            let mut hints = Hints::default();
            let both = make(second, pull(), &mut hints);
            let both = make(first, both, &mut hints);
            let verdict = verdict_with(both, &hints);
            assert_eq!(verdict.rule, first, "{first} and {second}");
            // Asking to close requests changes as well; approving takes a request for changes away.
            let is_shown = second != first
                && !matches!(second, RuleId::WaitDefault | RuleId::ShipReady)
                && second != RuleId::CloseAsked;
            if is_shown {
                assert!(verdict.signals.also.contains(&second), "{first} and {second}");
            }
        }
    }
}
