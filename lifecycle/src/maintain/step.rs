//! One visit: what is written down when a pull request is looked at (RFC, "Reconciler contract").

use std::collections::BTreeSet;

use chrono::TimeDelta;
use pulls::facts::Time;

use super::deadline::{Deadline, DeadlineKind, deadlines};
use super::evidence::Evidence;
use super::projection::project;
use super::record::{Artifact, Epoch, StateRow, Transition, Wanted};
use super::settings::Settings;
use super::state::{Projected, State, SubStatus};
use super::wanted::{park_key, wanted};

/// What is known of a pull request before a visit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before<'a> {
    /// Its row; `None` for one that was never recorded.
    pub row: Option<&'a StateRow>,
    /// Its evidence as last recorded.
    pub evidence: Option<&'a Evidence>,
}

/// What a visit comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The row after it; `None` for a pull request that is not recorded, since what was read of it is not whole.
    pub row: Option<StateRow>,
    /// What is added to the log of transitions: at most one row that changes the state, and one about an act.
    pub rows: Vec<Transition>,
    /// What it wants said or reviewed.
    pub wanted: Vec<Wanted>,
    /// Whether the row is the one from before.
    pub is_unchanged: bool,
    /// Whether the evidence is other than what is recorded, time apart, so that it is recorded anew.
    pub is_new_evidence: bool,
    /// Whether nothing follows from this visit, since the evidence could not be read whole. Then an empty
    /// [`wanted`](Self::wanted) is no reason to retract what was said.
    pub is_held: bool,
}

/// Decides everything that is written for one visit.
///
/// The same evidence again changes nothing, as long as no deadline has passed. Evidence that could not be read whole
/// moves nothing (field case B095): see [`Step::is_held`]. That every pull request is `new` first follows from
/// evidence without an assignment, which is what the first visit has.
///
/// `said` holds the keys of what was said on GitHub.
///
/// ```
/// use lifecycle::maintain::{Before, Epoch, Settings, State, build, step};
/// let settings = Settings::default();
/// let evidence = build::ready("o/r#7").done();
/// let first = step(Before::default(), &evidence, &[], &Default::default(), Epoch(1), &settings);
/// let row = first.row.unwrap();
/// assert_eq!((row.state, row.ready_entry_seq), (State::ReadyForMaintainer, 1));
/// let before = Before { row: Some(&row), evidence: Some(&evidence) };
/// assert!(step(before, &evidence, &[], &Default::default(), Epoch(1), &settings).is_unchanged);
/// ```
pub fn step(
    before: Before<'_>,
    evidence: &Evidence,
    content_labels: &[String],
    said: &BTreeSet<String>,
    epoch: Epoch,
    settings: &Settings,
) -> Step {
    if !evidence.partial.is_empty() {
        return Step {
            row: before.row.cloned(),
            rows: Vec::new(),
            wanted: Vec::new(),
            is_unchanged: true,
            is_new_evidence: false,
            is_held: true,
        };
    }
    let known = before.evidence.filter(|known| known.same_but_for_time(evidence));
    let first_seen = known.map_or(evidence.now, |known| known.now);
    let projected = project(evidence, settings);
    let mut row = row(before.row, evidence, &projected, content_labels);
    let mut rows = Vec::new();
    let from = before.row.map(|row| row.state);
    if from != Some(projected.state) {
        rows.push(Transition {
            at: evidence.at.clone(),
            from_state: from,
            to_state: projected.state,
            head_sha: evidence.head.sha.clone(),
            reason: projected.reason.clone(),
            created_at: evidence.now,
        });
        if projected.state == State::ReadyForMaintainer {
            row.ready_entry_seq += 1;
        }
    }
    let page_is_due = row.ready_entry_seq > row.ready_paged_seq;
    if settings.switches.ready_page && page_is_due && projected.state != State::ReadyForMaintainer {
        row.ready_paged_seq = row.ready_entry_seq;
        rows.push(Transition {
            at: evidence.at.clone(),
            from_state: Some(projected.state),
            to_state: projected.state,
            head_sha: evidence.head.sha.clone(),
            reason: "page cancelled: no longer ready".to_owned(),
            created_at: evidence.now,
        });
    }
    let wanted = wanted(evidence, &projected, &row, epoch, settings);
    let action = action(&wanted, said);
    row.sub_status = with_action(projected.sub_status, action);
    if row.parked_at.is_none() && said.contains(&park_key(evidence)) {
        row.parked_at = Some(evidence.now);
    }
    row.next_deadline_at = next(evidence, first_seen, action, settings).map(|next| next.at);
    let is_unchanged = before.row.is_some_and(|before| {
        StateRow {
            updated_at: before.updated_at,
            ..row.clone()
        } == *before
    });
    if is_unchanged {
        row.updated_at = before.row.map_or(row.updated_at, |before| before.updated_at);
    }
    Step {
        row: Some(row),
        rows,
        wanted,
        is_unchanged,
        is_new_evidence: known.is_none(),
        is_held: false,
    }
}

/// The row that a projection gives, but for what depends on what is wanted.
fn row(
    before: Option<&StateRow>,
    evidence: &Evidence,
    projected: &Projected,
    content_labels: &[String],
) -> StateRow {
    let stays = before.filter(|before| before.state == projected.state);
    StateRow {
        at: evidence.at.clone(),
        state: projected.state,
        sub_status: projected.sub_status,
        head_sha: evidence.head.sha.clone(),
        since_at: stays.map_or(evidence.now, |before| before.since_at),
        reason: projected.reason.clone(),
        pager_login: before.and_then(|before| before.pager_login.clone()),
        last_human_activity_at: Some(evidence.activity.at),
        next_deadline_at: None,
        parked_at: before
            .filter(|before| before.last_human_activity_at == Some(evidence.activity.at))
            .and_then(|before| before.parked_at),
        state_label: projected.state.label().map(str::to_owned),
        content_labels: content_labels.to_vec(),
        open_findings: evidence.findings.open,
        disputed_findings: evidence.findings.disputed,
        ready_entry_seq: before.map_or(0, |before| before.ready_entry_seq),
        ready_paged_seq: before.map_or(0, |before| before.ready_paged_seq),
        updated_at: evidence.now,
    }
}

/// How what is wanted and let out stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Something is not said yet.
    Pending,
    /// All of it is said.
    Done,
    /// Nothing is wanted, or no switch lets it out.
    None,
}

fn action(wanted: &[Wanted], said: &BTreeSet<String>) -> Action {
    // A review is scheduled, not said.
    let out = wanted
        .iter()
        .filter(|one| one.is_on && one.artifact != Artifact::Review && !one.to.is_empty());
    let (said, unsaid): (Vec<_>, Vec<_>) = out.partition(|one| said.contains(&one.key));
    match (said.is_empty(), unsaid.is_empty()) {
        (_, false) => Action::Pending,
        (false, true) => Action::Done,
        (true, true) => Action::None,
    }
}

/// Where two apply, what is still to be said comes before `unrouted`, and that before the rest.
fn with_action(projected: Option<SubStatus>, action: Action) -> Option<SubStatus> {
    match (action, projected) {
        (Action::Pending, _) => Some(SubStatus::ActionPending),
        (Action::Done, None) => Some(SubStatus::ActionDone),
        (Action::Done | Action::None, projected) => projected,
    }
}

fn next(evidence: &Evidence, first_seen: Time, action: Action, settings: &Settings) -> Option<Deadline> {
    let retry = (action == Action::Pending).then_some(Deadline {
        at: first_seen,
        what: DeadlineKind::Retry,
    });
    deadlines(evidence, first_seen, settings)
        .into_iter()
        .chain(retry)
        .min()
}

/// More changes of state than this on one head within a day are attention (field case B095).
pub const FLIPS: usize = 2;

/// How often a pull request changed its state within the last 24 hours on the head that it has now, and not by a
/// person's act or in the usual course: its first row, its routing, its first review, a draft and an end are no flips
/// (field case B095).
///
/// ```
/// use lifecycle::maintain::flips;
/// assert_eq!(flips(&[], "2026-05-14T17:45:00Z".parse().unwrap()), 0);
/// ```
pub fn flips(log: &[Transition], now: Time) -> usize {
    let Some(last) = log.last() else { return 0 };
    log.iter()
        .filter(|row| row.head_sha == last.head_sha && now - row.created_at < TimeDelta::hours(24))
        .filter(|row| row.from_state.is_some_and(|from| is_flip(from, row.to_state)))
        .count()
}

fn is_flip(from: State, to: State) -> bool {
    let is_discovery = |state| matches!(state, State::NeedsOwner | State::OwnerRouted);
    match (from, to) {
        (State::Draft | State::Closed, _) | (_, State::Draft | State::Closed) => false,
        (State::New, _) => false,
        // A review begins.
        (from, to) if is_discovery(from) && !is_discovery(to) => matches!(to, State::Stale | State::Parked),
        (from, to) => from != to,
    }
}
