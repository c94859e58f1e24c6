//! Evidence from what was read and what is remembered.

use std::collections::BTreeSet;

use pulls::activity::{self, Activity, SeenHead};
use pulls::checks::{self, CheckLine, ChecksVerdict, Ci, Standing};
use pulls::facts::{Checks, Conclusion, MergeState, Mergeable, PullFacts, Time};
use pulls::threads;
use pulls::upkeep::{BranchFacts, HeadFacts, RequiredCheck, RequiredChecks};

use super::evidence::{
    Assignment, CheckSeen, Evidence, FindingCounts, HeadSeen, Mergeability, Required, RequiredOutcome,
    RequiredSeen, Reviews, VERSION,
};
use super::settings::Settings;

/// What the ledger knows of a pull request when it is read again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Remembered<'a> {
    /// The evidence as last recorded.
    pub previous: Option<&'a Evidence>,
    /// When it was last read in whole, which may be later than its evidence was recorded.
    pub read_at: Option<Time>,
    /// Who owns what it changes, where that was looked for.
    pub assignment: Option<&'a Assignment>,
    /// The program's own reviews.
    pub reviews: Option<&'a Reviews>,
    /// The unresolved findings of weight.
    pub findings: FindingCounts,
    /// Whether it was open before automatic reviews were turned on.
    pub is_legacy: bool,
}

/// The evidence that a pull request gives, read in whole at one moment.
///
/// What GitHub does not know now is kept as it last was, with a mark (field cases B030, B031); a head that was never
/// seen before is first seen now (field case B074).
pub fn gather(
    pull: &PullFacts,
    branch: Option<&BranchFacts>,
    remembered: Remembered<'_>,
    settings: &Settings,
    now: Time,
) -> Evidence {
    let previous = remembered.previous;
    let same_head = previous.filter(|previous| previous.head.sha == pull.head.sha);
    let first_seen_at = same_head.map_or(now, |previous| previous.head.first_seen_at);
    let replaced = previous.filter(|_| same_head.is_none());
    let seen = SeenHead {
        first_seen_at,
        replaced: replaced.map(|previous| previous.head.first_seen_at),
        read_at: remembered.read_at,
    };
    let upkeep = pull.upkeep.as_ref();
    let mut labels = upkeep.map_or_else(Vec::new, |upkeep| upkeep.labels.clone());
    labels.sort();
    let verdict = checks::verdict(&pull.checks, pull.created_at, now);
    let known_base = previous.filter(|previous| previous.base.branch == pull.base.branch);
    let judged = judge(&verdict, branch, known_base, now);
    Evidence {
        version: VERSION,
        at: pull.at.clone(),
        now,
        state: pull.state.clone(),
        closing: upkeep.and_then(|upkeep| upkeep.closing.clone()),
        is_draft: pull.is_draft,
        is_archived: pull.is_archived,
        is_locked: pull.is_locked,
        author: pull.author.clone(),
        created_at: pull.created_at,
        head: HeadSeen {
            sha: pull.head.sha.clone(),
            first_seen_at,
        },
        base: pull.base.clone(),
        labels,
        activity: clock(pull, previous, seen, settings, now),
        mergeability: known(
            previous,
            Mergeability {
                mergeable: pull.mergeable.clone(),
                merge_state: pull.merge_state.clone(),
                seen_on: Some(pull.head.sha.clone()),
                seen_against: Some(pull.base.sha.clone()),
                is_stale: false,
            },
        ),
        merge_queue_position: pull.merge_queue_position,
        // GitHub's clients write an empty string where it means none (field case B049).
        review_decision: pull
            .review_decision
            .clone()
            .filter(|decision| !decision.as_str().is_empty()),
        unresolved_threads: Some(threads::unresolved(pull).count() as u64),
        ci: judged.ci,
        checks: judged.checks,
        required: judged.required,
        base_red: judged.base_red,
        assignment: remembered.assignment.cloned(),
        reviews: remembered.reviews.cloned().unwrap_or_default(),
        findings: remembered.findings,
        is_legacy: remembered.is_legacy,
        partial: match upkeep {
            Some(_) => Vec::new(),
            None => vec!["its labels, files and events were not read".to_owned()],
        },
    }
}

/// What a look at a head alone comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// Nothing changed.
    Same,
    /// Checks, mergeability or its place in the merge queue did.
    Changed(Box<Evidence>),
    /// It is another head, or no longer open: it must be read in whole.
    ReadAgain,
}

/// The evidence with what a look at the head alone found.
pub fn with_head(evidence: &Evidence, head: &HeadFacts, branch: Option<&BranchFacts>, now: Time) -> Looked {
    if head.head != evidence.head.sha || head.state != evidence.state {
        return Looked::ReadAgain;
    }
    let verdict = checks::verdict(&head.checks, head.created_at, now);
    let judged = judge(&verdict, branch, Some(evidence), now);
    let looked = Evidence {
        now,
        mergeability: known(
            Some(evidence),
            Mergeability {
                mergeable: head.mergeable.clone(),
                merge_state: head.merge_state.clone(),
                seen_on: Some(head.head.clone()),
                seen_against: Some(evidence.base.sha.clone()),
                is_stale: false,
            },
        ),
        merge_queue_position: head.merge_queue_position,
        ci: judged.ci,
        checks: judged.checks,
        required: judged.required,
        base_red: judged.base_red,
        ..evidence.clone()
    };
    match looked.same_but_for_time(evidence) {
        true => Looked::Same,
        false => Looked::Changed(Box::new(looked)),
    }
}

/// The clock, which does not go back: what was counted stays counted, also when its comment is deleted or when
/// something turns up that would have explained a bump. Only what an account did that the configuration calls a program
/// by now is counted anew.
fn clock(
    pull: &PullFacts,
    previous: Option<&Evidence>,
    seen: SeenHead,
    settings: &Settings,
    now: Time,
) -> Activity {
    let last = activity::last_activity(pull, &settings.people, seen, now);
    let is_program = |activity: &Activity| {
        activity
            .by
            .as_ref()
            .is_some_and(|by| settings.people.machine_users.contains(by))
    };
    match previous.map(|previous| &previous.activity) {
        Some(before) if before.at >= last.at && before.at <= now && !is_program(before) => before.clone(),
        _ => last,
    }
}

/// GitHub's answer, or the last one that said something.
fn known(previous: Option<&Evidence>, now: Mergeability) -> Mergeability {
    let is_known = match (&now.mergeable, &now.merge_state) {
        (Mergeable::Unknown, _) => false,
        // GitHub's clients write an empty string where nothing is known.
        (Mergeable::Other(word), _) if word.is_empty() => false,
        // The button's word lags behind the answer by a moment.
        (_, MergeState::Unknown) => false,
        (_, MergeState::Other(word)) if word.is_empty() => false,
        _ => true,
    };
    match previous.map(|previous| &previous.mergeability) {
        _ if is_known => now,
        Some(before) if before.seen_on.is_some() => Mergeability {
            is_stale: true,
            ..before.clone()
        },
        _ => Mergeability {
            mergeable: Mergeable::Unknown,
            merge_state: MergeState::Unknown,
            seen_on: None,
            seen_against: None,
            is_stale: false,
        },
    }
}

struct Judged {
    ci: Ci,
    checks: Vec<CheckSeen>,
    required: Required,
    base_red: Vec<String>,
}

/// What the checks say. Where the base branch was not read now, what it required and what was red there is as it was
/// in `before`; what that comes to on these checks is judged anew.
fn judge(
    verdict: &ChecksVerdict,
    branch: Option<&BranchFacts>,
    before: Option<&Evidence>,
    now: Time,
) -> Judged {
    let required = match (branch.map(|branch| &branch.required), before) {
        (Some(RequiredChecks::Known(required)), _) => Required::Known(match_all(required, verdict)),
        (Some(RequiredChecks::Unknown { why }), _) => Required::Unknown { why: why.clone() },
        (None, Some(before)) => again(&before.required, verdict),
        (None, None) => Required::Unknown {
            why: "the base branch was not read".to_owned(),
        },
    };
    let base_red = match (branch, before) {
        (Some(branch), _) => red_on_both(verdict, &branch.checks, now),
        (None, Some(before)) => {
            let is_red = |name: &&String| verdict.failing().any(|line| line.name == **name);
            before.base_red.iter().filter(is_red).cloned().collect()
        }
        (None, None) => Vec::new(),
    };
    Judged {
        ci: verdict.ci,
        checks: verdict.checks.iter().map(seen).collect(),
        required,
        base_red,
    }
}

fn seen(line: &CheckLine) -> CheckSeen {
    CheckSeen {
        name: line.context.clone(),
        shown: line.name.clone(),
        app: line.app,
        suite: line.suite,
        standing: line.standing,
        word: line.word.clone(),
        since: line.since,
        url: line.url.clone(),
    }
}

fn match_all(required: &[RequiredCheck], verdict: &ChecksVerdict) -> Vec<RequiredSeen> {
    let mut all: Vec<RequiredSeen> = required
        .iter()
        .map(|check| RequiredSeen {
            check: check.clone(),
            outcome: outcome(check, verdict),
        })
        .collect();
    all.sort();
    all
}

fn again(required: &Required, verdict: &ChecksVerdict) -> Required {
    match required {
        Required::Known(known) => {
            let checks: Vec<RequiredCheck> = known.iter().map(|seen| seen.check.clone()).collect();
            Required::Known(match_all(&checks, verdict))
        }
        unknown @ Required::Unknown { .. } => unknown.clone(),
    }
}

/// What a required check comes to: the worst of all that have its name and come from its app (field cases B009, B024,
/// B025).
fn outcome(check: &RequiredCheck, verdict: &ChecksVerdict) -> RequiredOutcome {
    let named = || verdict.checks.iter().filter(|line| line.context == check.context);
    let from_its_app = named().filter(|line| check.app.is_none() || line.app == check.app);
    let worst = from_its_app.map(|line| of(line, verdict)).max();
    match worst {
        Some(worst) => worst,
        None if named().next().is_some() => RequiredOutcome::OtherApp,
        None => RequiredOutcome::Missing,
    }
}

fn of(line: &CheckLine, verdict: &ChecksVerdict) -> RequiredOutcome {
    match line.standing {
        Standing::Passed => RequiredOutcome::Passed,
        Standing::Skipped if has_failure_beside(line, verdict) => RequiredOutcome::SkippedBesideFailure,
        Standing::Skipped => RequiredOutcome::Passed,
        Standing::Failed => RequiredOutcome::Failed,
        Standing::Cancelled => RequiredOutcome::Cancelled,
        Standing::Unknown => RequiredOutcome::Unknown,
        Standing::Running | Standing::Stale | Standing::NeedsAction | Standing::AwaitsApproval => {
            RequiredOutcome::Pending
        }
    }
}

/// Whether another check of the same run failed or was cancelled: then a skipped one was perhaps skipped for that
/// reason. One that says `NEUTRAL` ran and has its say.
fn has_failure_beside(line: &CheckLine, verdict: &ChecksVerdict) -> bool {
    let is_skipped = line.word == Conclusion::Skipped.as_str();
    let is_beside = |other: &CheckLine| other.suite.is_some() && other.suite == line.suite;
    is_skipped && verdict.failing().any(is_beside)
}

/// Checks that are red here and on the base's own head, by the names that a person knows (field case B027).
fn red_on_both(verdict: &ChecksVerdict, base: &Checks, now: Time) -> Vec<String> {
    // The base's head was made long ago, as far as this question goes.
    let base = checks::verdict(base, Time::UNIX_EPOCH, now);
    let red: BTreeSet<(&str, Option<u64>)> = base
        .failing()
        .map(|line| (line.context.as_str(), line.app))
        .collect();
    let both: BTreeSet<String> = verdict
        .failing()
        .filter(|line| red.contains(&(line.context.as_str(), line.app)))
        .map(|line| line.name.clone())
        .collect();
    both.into_iter().collect()
}
