//! What the configuration decides about maintained pull requests (contract, section 6, "Settings").

use std::collections::BTreeSet;

use chrono::{NaiveTime, TimeDelta};
use chrono_tz::Tz;
use pulls::Login;
use pulls::people::People;

use super::evidence::Owner;

/// What the configuration decides about maintained pull requests. The default is the RFC's, with every feature off.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `STALE_PR_DAYS`: so long without a person, and it is stale.
    pub stale_after: TimeDelta,
    /// `PARK_DAYS`: so long, and it is parked.
    pub park_after: TimeDelta,
    /// `CLOSE_DAYS`: so long, and closing is suggested.
    pub close_after: TimeDelta,
    /// `STALE_EXEMPT_LABELS`, compared without regard to case: the clock states pass over a pull request with one.
    pub exempt_labels: BTreeSet<String>,
    /// `WATCHED_CHECKS`: checks that count as required though the base does not require them.
    pub watched_checks: BTreeSet<String>,
    /// The nightly sweep.
    pub auto_review: AutoReview,
    /// `DISPUTE_SCAN_INTERVAL`: how often unresolved findings are looked at for a dispute.
    pub dispute_scan_every: TimeDelta,
    /// `MERGE_NOTIFY_LOGINS`: who is paged where there is no owner.
    pub merge_notify: Vec<Login>,
    /// `STALE_COORDINATOR_LOGIN`: who is copied on reminders, and paged where there is nobody else.
    pub coordinator: Option<Login>,
    /// What may be said on GitHub.
    pub switches: Switches,
    /// Who is a bot and who a maintainer beyond what GitHub says.
    pub people: People,
    /// `[[lifecycle.owners]]`, in order.
    pub owners: Vec<OwnerRule>,
    /// `[[lifecycle.labels]]`: the content labels that files give.
    pub labels: Vec<LabelRule>,
}

/// The nightly sweep (RFC, "Nightly sweep").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoReview {
    /// `AUTO_REVIEW_ENABLED`.
    pub is_on: bool,
    /// `AUTO_REVIEW_AT`: the time of day.
    pub at: NaiveTime,
    /// The zone that the time of day is in.
    pub zone: Tz,
    /// `AUTO_REVIEW_WINDOW_HOURS`.
    pub window: TimeDelta,
}

/// What may be said on GitHub, each off by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// `OWNER_MENTION_ENABLED`.
    pub owner_mention: bool,
    /// `CI_NOTE_ENABLED`.
    pub ci_note: bool,
    /// `CONFLICT_NOTE_ENABLED`.
    pub conflict_note: bool,
    /// `READY_PAGE_ENABLED`.
    pub ready_page: bool,
    /// `STALE_PR_ENABLED`: the day-7 reminder alone.
    pub stale_reminder: bool,
    /// `IDLE_LADDER_ENABLED`: all three rungs.
    pub idle_ladder: bool,
}

/// Who owns the files that a glob matches, beside `CODEOWNERS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerRule {
    /// Globs of paths.
    pub globs: Vec<String>,
    /// Who owns them, the first that can be asked.
    pub owners: Vec<Owner>,
    /// Whether it is a part of the code or one of the models in it: a module goes before a model.
    pub signal: Signal,
}

/// What a rule of owners is about. A module goes before a model (RFC, "Who is paged").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// A part of the code.
    Module,
    /// A model.
    Model,
}

/// The files that give a pull request one of our own content labels, which stay in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRule {
    /// The label.
    pub label: String,
    /// Globs of paths, one of which suffices.
    pub globs: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stale_after: TimeDelta::days(7),
            park_after: TimeDelta::days(14),
            close_after: TimeDelta::days(30),
            exempt_labels: BTreeSet::new(),
            watched_checks: BTreeSet::new(),
            auto_review: AutoReview::default(),
            dispute_scan_every: TimeDelta::minutes(15),
            merge_notify: Vec::new(),
            coordinator: None,
            switches: Switches::default(),
            people: People::default(),
            owners: Vec::new(),
            labels: LabelRule::defaults(),
        }
    }
}

impl Default for AutoReview {
    fn default() -> Self {
        Self {
            is_on: false,
            at: NaiveTime::from_hms_opt(4, 0, 0).expect("04:00 is a time of day"),
            zone: Tz::Asia__Shanghai,
            window: TimeDelta::hours(6),
        }
    }
}
