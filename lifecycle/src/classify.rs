//! Which bucket a pull request of the author's goes into, and why (contract, section 4).

use pulls::facts::{PullFacts, PullState, Time};
use pulls::people::People;
use pulls::{Login, PrRef, Sha};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, RuleId};
use crate::evidence::Evidence;
use crate::hints::Hints;
use crate::rules::{RuleCheck, evaluate};
use crate::signals::Signals;

/// What the configuration decides about classification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Who is a bot and who a maintainer beyond what GitHub says.
    pub people: People,
}

/// What became of one pull request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is open and has its bucket.
    Classified(Box<Verdict>),
    /// It is not open any more: the search that named it lags behind (field case B106).
    NotOpen(PullState),
}

impl Outcome {
    /// The verdict, if there is one.
    pub fn verdict(self) -> Option<Verdict> {
        match self {
            Self::Classified(verdict) => Some(*verdict),
            Self::NotOpen(_) => None,
        }
    }
}

/// One open pull request in its bucket, with all that its message needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Which pull request, under the name that GitHub gives now.
    pub at: PrRef,
    /// Its page.
    pub url: String,
    /// Its title as its author wrote it: data, to be escaped where it is shown.
    pub title: String,
    /// The head that was looked at.
    pub head: Sha,
    /// The branch of the head as its author named it: data.
    pub branch: String,
    /// The bucket.
    pub bucket: Bucket,
    /// The first rule that held.
    pub rule: RuleId,
    /// Why, for a person: one line, safe for a terminal; markdown in it is not escaped.
    pub reason: String,
    /// Everything that was looked at.
    pub signals: Signals,
    /// Who waits for an answer, for the bucket `investigate`.
    pub reviewer: Option<Login>,
    /// Where they asked, for the bucket `investigate`.
    pub comment_url: Option<String>,
}

/// Puts an open pull request into its bucket.
///
/// Total and deterministic, and the order of checks, comments, reviews and threads changes nothing.
///
/// ```
/// use lifecycle::{Bucket, Hints, Settings, classify};
/// use pulls::build;
///
/// let pull = build::pull("o/r", 7).approved().check(build::run("windows").failed()).build();
/// let verdict = classify(&pull, &Hints::default(), &Settings::default(), build::now()).verdict().unwrap();
/// assert_eq!(verdict.bucket, Bucket::Qa); // approved, but CI fails
/// assert_eq!(verdict.reason, "CI failure: windows");
/// ```
pub fn classify(pull: &PullFacts, hints: &Hints, settings: &Settings, now: Time) -> Outcome {
    if pull.state != PullState::Open {
        return Outcome::NotOpen(pull.state.clone());
    }
    let evidence = Evidence::gather(pull, hints, settings, now);
    let checks = evaluate(&evidence);
    let decided = checks
        .iter()
        .find(|check| check.held)
        .expect("the default holds where no other rule does");
    let (rule, bucket) = (decided.rule, decided.rule.bucket());
    let waits = (bucket == Bucket::Investigate)
        .then(|| who_waits(&evidence, rule))
        .flatten();
    let (reviewer, comment_url) = waits.unzip();
    let also = checks
        .iter()
        .filter(|check| check.held && check.rule != rule && check.rule != RuleId::WaitDefault)
        .map(|check| check.rule)
        .collect();
    Outcome::Classified(Box::new(Verdict {
        at: pull.at.clone(),
        url: pull.url.clone(),
        title: pull.title.clone(),
        head: pull.head.sha.clone(),
        branch: pull.head.branch.clone(),
        bucket,
        rule,
        reason: reason(decided, &evidence),
        signals: Signals::of(&evidence, also),
        reviewer,
        comment_url,
    }))
}

/// The reason of the rule that decided; where the author has to push, or may have to, and cannot, that too
/// (field case B065). To close or to merge it takes no push, and in an archived repository none is possible.
fn reason(decided: &RuleCheck, evidence: &Evidence<'_>) -> String {
    let may_have_to_push = match decided.rule.bucket() {
        Bucket::Investigate | Bucket::Rebase | Bucket::Qa => true,
        Bucket::Wait => !evidence.pull.is_archived,
        Bucket::Close | Bucket::Ship => false,
    };
    if may_have_to_push && evidence.pull.head.repo.is_none() {
        return format!("{}; author cannot push: fork deleted", decided.because);
    }
    decided.because.clone()
}

/// Who waits for the author, and where they said so.
fn who_waits(evidence: &Evidence<'_>, rule: RuleId) -> Option<(Login, String)> {
    let asked = || {
        evidence
            .questions
            .last()
            .map(|question| (question.by.clone(), question.url.clone()))
    };
    match rule {
        RuleId::InvestigateQuestion => asked(),
        _ => evidence.changes_requested_by().or_else(asked),
    }
}
