//! What the checks that count come to: those that the base requires, and those that are watched.

use chrono::TimeDelta;
use pulls::checks::{STUCK_AFTER, Standing};
use pulls::escape;

use super::evidence::{CheckSeen, Evidence, Required, RequiredOutcome, RequiredSeen};
use super::settings::Settings;

/// So long after its head was first seen a required check that reported nothing is named as the one that never did
/// (field case B014).
pub const NEVER_REPORTED_AFTER: TimeDelta = TimeDelta::minutes(60);

/// What the required and the watched checks come to together, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Checked {
    /// One failed.
    Failed,
    /// None failed, and one was cancelled.
    Cancelled,
    /// A required one was skipped beside a failure (field case B009).
    Skipped,
    /// One reported nothing for [`NEVER_REPORTED_AFTER`], or only another app did, and nothing runs that might still
    /// lead to it.
    Missing,
    /// One has no result yet, or one that this program does not know.
    Pending,
    /// All passed.
    Passed,
}

impl Checked {
    /// Whether a check is red.
    pub(super) fn is_red(self) -> bool {
        matches!(self, Self::Failed | Self::Cancelled)
    }
}

/// What the required and the watched checks come to. Where the required set is not known, the watched ones alone.
pub(super) fn verdict(evidence: &Evidence, settings: &Settings) -> Checked {
    let required = required(evidence).iter().map(|seen| of_required(seen, evidence));
    let watched = settings
        .watched_checks
        .iter()
        .map(|name| of_watched(name, evidence));
    required.chain(watched).min().unwrap_or(Checked::Passed)
}

/// Whether a workflow waits for a maintainer's approval (field case B013).
pub(super) fn awaits_approval(evidence: &Evidence) -> bool {
    evidence
        .checks
        .iter()
        .any(|check| check.standing == Standing::AwaitsApproval)
}

/// Whether a check that counts reported nothing so far that counts.
pub(super) fn is_any_missing(evidence: &Evidence, settings: &Settings) -> bool {
    let is_missing =
        |seen: &RequiredSeen| matches!(seen.outcome, RequiredOutcome::Missing | RequiredOutcome::OtherApp);
    let is_unreported = |name: &String| !evidence.checks.iter().any(|check| check.name == *name);
    required(evidence).iter().any(is_missing) || settings.watched_checks.iter().any(is_unreported)
}

/// What the checks that count come to, in words. The order of lists plays no part.
pub(super) fn in_words(evidence: &Evidence, settings: &Settings) -> String {
    let mut out = String::with_capacity(64);
    say(&mut out, evidence, settings);
    out
}

/// Adds to a sentence what the checks that count come to.
pub(super) fn say(out: &mut String, evidence: &Evidence, settings: &Settings) {
    let kind = verdict(evidence, settings);
    if kind == Checked::Passed {
        out.push_str(match &evidence.required {
            Required::Unknown { .. } => "the required checks are not known",
            Required::Known(required) if required.is_empty() && settings.watched_checks.is_empty() => {
                "no check is required"
            }
            Required::Known(_) => "every required check passed",
        });
        return;
    }
    out.push_str(match kind {
        Checked::Failed | Checked::Cancelled => "red: ",
        Checked::Skipped => "skipped beside a failure of the same run: ",
        Checked::Missing => "required and never reported: ",
        Checked::Pending if awaits_approval(evidence) => {
            "waiting for a maintainer to approve its workflows, and for: "
        }
        Checked::Pending | Checked::Passed => "waiting for: ",
    });
    let mut named = named(evidence, settings, kind);
    list(out, &named);
    if kind.is_red() && !evidence.base_red.is_empty() {
        named.retain(|name| evidence.base_red.iter().any(|red| red == name.shown));
        named.iter_mut().for_each(|name| name.note = "");
        if !named.is_empty() {
            out.push_str("; red on the base too: ");
            list(out, &named);
        }
    }
}

pub(super) fn required(evidence: &Evidence) -> &[RequiredSeen] {
    match &evidence.required {
        Required::Known(required) => required,
        Required::Unknown { .. } => &[],
    }
}

fn of_required(seen: &RequiredSeen, evidence: &Evidence) -> Checked {
    match seen.outcome {
        RequiredOutcome::Passed => Checked::Passed,
        RequiredOutcome::SkippedBesideFailure => Checked::Skipped,
        RequiredOutcome::Pending | RequiredOutcome::Unknown => Checked::Pending,
        RequiredOutcome::Missing | RequiredOutcome::OtherApp => missing(evidence),
        RequiredOutcome::Cancelled => Checked::Cancelled,
        RequiredOutcome::Failed => Checked::Failed,
    }
}

/// Nothing was reported: not yet, or never. A job that waits for others is reported only when they are done.
fn missing(evidence: &Evidence) -> Checked {
    let is_early = evidence.now - evidence.head.first_seen_at < NEVER_REPORTED_AFTER;
    match is_early || evidence.checks.iter().any(|check| may_lead_on(check, evidence)) {
        true => Checked::Pending,
        false => Checked::Missing,
    }
}

/// Whether a check is on its way, so that others may follow it.
fn may_lead_on(check: &CheckSeen, evidence: &Evidence) -> bool {
    match check.standing {
        Standing::AwaitsApproval | Standing::NeedsAction => true,
        Standing::Running => !is_stuck(check, evidence),
        _ => false,
    }
}

fn is_stuck(check: &CheckSeen, evidence: &Evidence) -> bool {
    check
        .since
        .is_some_and(|since| evidence.now - since > STUCK_AFTER)
}

fn of_watched(name: &str, evidence: &Evidence) -> Checked {
    let reported = evidence.checks.iter().filter(|check| check.name == name);
    reported
        .map(|check| of_standing(check.standing))
        .min()
        .unwrap_or_else(|| missing(evidence))
}

fn of_standing(standing: Standing) -> Checked {
    match standing {
        Standing::Passed | Standing::Skipped => Checked::Passed,
        Standing::Failed => Checked::Failed,
        Standing::Cancelled => Checked::Cancelled,
        Standing::Running
        | Standing::Stale
        | Standing::NeedsAction
        | Standing::AwaitsApproval
        | Standing::Unknown => Checked::Pending,
    }
}

/// A check by the name that a person knows, and what must be said beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Named<'a> {
    shown: &'a str,
    note: &'static str,
}

/// The required and watched checks that are of one kind, in the order of the alphabet.
fn named<'a>(evidence: &'a Evidence, settings: &'a Settings, kind: Checked) -> Vec<Named<'a>> {
    let mut found = Vec::new();
    for seen in required(evidence) {
        if of_required(seen, evidence) == kind {
            let of_it = |check: &&CheckSeen| {
                check.name == seen.check.context && (seen.check.app.is_none() || check.app == seen.check.app)
            };
            let note = match seen.outcome {
                RequiredOutcome::OtherApp => "reported by another app",
                RequiredOutcome::Missing if kind == Checked::Pending => "not reported yet",
                RequiredOutcome::Cancelled => "cancelled, needs a re-run",
                RequiredOutcome::Unknown => "its result is not known to this program",
                _ => "",
            };
            let name = Named {
                shown: &seen.check.context,
                note,
            };
            add(&mut found, evidence, kind, name, of_it);
        }
    }
    for watched in &settings.watched_checks {
        if of_watched(watched, evidence) == kind {
            let name = Named {
                shown: watched,
                note: "",
            };
            add(&mut found, evidence, kind, name, |check| check.name == *watched);
        }
    }
    found.sort();
    // A required check that is watched too is named once, with what is said beside it.
    found.dedup_by(|later, earlier| {
        let is_same = later.shown == earlier.shown;
        if is_same {
            earlier.note = later.note;
        }
        is_same
    });
    found
}

/// Adds the runs of a check that make it what it is; where there are none, the check itself.
fn add<'a>(
    found: &mut Vec<Named<'a>>,
    evidence: &'a Evidence,
    kind: Checked,
    name: Named<'a>,
    of_it: impl Fn(&&CheckSeen) -> bool,
) {
    let before = found.len();
    let runs = evidence
        .checks
        .iter()
        .filter(of_it)
        .filter(|check| of_standing(check.standing) == kind && kind != Checked::Passed);
    found.extend(runs.map(|check| Named {
        shown: &check.shown,
        note: note(check, evidence),
    }));
    if found.len() == before {
        found.push(name);
    }
}

fn note(check: &CheckSeen, evidence: &Evidence) -> &'static str {
    match check.standing {
        Standing::Cancelled => "cancelled, needs a re-run",
        Standing::Stale => "went stale, needs a re-run",
        Standing::NeedsAction => "asks for something on its page",
        Standing::AwaitsApproval => "a maintainer must approve it",
        Standing::Unknown => "its result is not known to this program",
        Standing::Running if is_stuck(check, evidence) => "stuck for more than 24 h",
        Standing::Running | Standing::Passed | Standing::Skipped | Standing::Failed => "",
    }
}

/// How many names a sentence lists before it counts the rest.
const NAMED: usize = 3;

/// The most characters of a name in a sentence.
const LONGEST_NAME: usize = 80;

/// Adds names to a sentence.
fn list(out: &mut String, names: &[Named<'_>]) {
    for (nth, name) in names.iter().take(NAMED).enumerate() {
        if nth > 0 {
            out.push_str(", ");
        }
        push_name(out, name.shown, LONGEST_NAME);
        if !name.note.is_empty() {
            out.push_str(" (");
            out.push_str(name.note);
            out.push(')');
        }
    }
    if let Some(more) = names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        out.push_str(&format!(" and {more} more"));
    }
}

/// Adds a name that others gave to a sentence: one line, of so many characters at most.
pub(super) fn push_name(out: &mut String, name: &str, most: usize) {
    // What is escaped gets longer, so that it is clamped after that.
    let is_shown_as_it_is = name.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match name.len() <= most && is_shown_as_it_is {
        true => escape::push_line(out, name),
        false => out.push_str(&escape::clamp(&escape::line(name), most)),
    }
}
