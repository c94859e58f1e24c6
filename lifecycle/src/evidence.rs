//! What one classification looks at, gathered once.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use pulls::Login;
use pulls::asked::{self, Asked};
use pulls::checks::{self, ChecksVerdict};
use pulls::facts::{Mergeable, PullFacts, ReviewState, Time};
use pulls::question::{self, Question};
use pulls::superseded::{self, Superseded};
use pulls::threads;

use crate::classify::Settings;
use crate::hints::Hints;

/// The answers to every question that a rule asks.
pub(crate) struct Evidence<'a> {
    pub pull: &'a PullFacts,
    /// An empty word, as some clients write it, is no word: not known yet.
    pub mergeable: Mergeable,
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
            mergeable: match &pull.mergeable {
                Mergeable::Other(word) if word.is_empty() => Mergeable::Unknown,
                known => known.clone(),
            },
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

    /// The reviewer whose latest word of weight requests changes, the newest of several, with its page.
    pub fn changes_requested_by(&self) -> Option<(Login, String)> {
        let weighty = |state: &ReviewState| {
            matches!(
                state,
                ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed
            )
        };
        let mut latest = BTreeMap::new();
        for review in self.pull.reviews.iter().filter(|review| weighty(&review.state)) {
            let (Some(author), Some(at)) = (&review.author, review.submitted_at) else {
                continue;
            };
            let said = (at, review.state == ReviewState::ChangesRequested, &review.url);
            let place = latest.entry(&author.login).or_insert(said);
            *place = (*place).max(said);
        }
        latest
            .into_iter()
            .filter(|(_, (_, requests, _))| *requests)
            .max_by_key(|(login, (at, _, url))| (*at, *login, *url))
            .map(|(login, (_, _, url))| (login.clone(), url.clone()))
    }
}
