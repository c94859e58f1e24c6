//! What one classification looks at, gathered once.

use chrono::TimeDelta;
use pulls::asked::{self, Asked};
use pulls::checks::{self, ChecksVerdict};
use pulls::facts::{PullFacts, Time};
use pulls::question::{self, Question};
use pulls::superseded::{self, Superseded};
use pulls::threads;

use crate::bucket::Settings;
use crate::hints::Hints;

/// The answers to every question that a rule asks.
pub(crate) struct Evidence<'a> {
    pub pull: &'a PullFacts,
    pub hints: &'a Hints,
    pub checks: ChecksVerdict,
    pub superseded: Option<Superseded>,
    pub asked: Option<Asked>,
    /// Oldest first.
    pub questions: Vec<Question>,
    pub unresolved: usize,
    /// How old the gate attestation is, never below zero; `None` where there is none.
    pub gate_age: Option<TimeDelta>,
    /// Since the last change, never below zero.
    pub quiet_for: TimeDelta,
}

impl<'a> Evidence<'a> {
    pub fn gather(pull: &'a PullFacts, hints: &'a Hints, settings: &Settings, now: Time) -> Self {
        let since = |time: Time| (now - time).max(TimeDelta::zero());
        Self {
            pull,
            hints,
            checks: checks::verdict(&pull.checks, pull.created_at, now),
            superseded: superseded::superseded(pull),
            asked: asked::asked_to_close(pull, &settings.people),
            questions: question::open_questions(pull, &settings.people, now),
            unresolved: threads::unresolved(pull).count(),
            gate_age: hints.gate.attested_at.map(since),
            quiet_for: since(pull.updated_at),
        }
    }
}
