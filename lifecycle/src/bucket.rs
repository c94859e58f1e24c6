//! Which bucket a pull request of the author's goes into, and why (contract, section 4).
//!
//! [`rules`] evaluates every rule in order, with the evidence that made it hold or fail; [`classify`] takes
//! the first that held. Both are functions of their arguments alone.

use std::fmt;

use chrono::TimeDelta;
use pulls::facts::{Mergeable, PullFacts, PullState, ReviewDecision, ReviewState, Time};
use pulls::people::People;
use pulls::{Login, PrRef, Sha, escape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::hints::Hints;
use crate::signals::{Hours, Signals};

/// A pull request with more commits than this on its base since the merge base needs a rebase.
pub const BEHIND_LIMIT: u64 = 50;
/// A gate attestation that is older than this is stale.
pub const GATE_MAX_AGE: TimeDelta = TimeDelta::hours(24);
/// How many characters of a branch name or a login a reason shows.
const SHOWN: usize = 100;

/// What a pull request needs next, in the order of the contract: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// A person must decide whether to close it.
    Close,
    /// A reviewer waits for an answer.
    Investigate,
    /// It must be rebased before anything else can happen.
    Rebase,
    /// A check failed or our own gate is stale.
    Qa,
    /// A maintainer can merge it.
    Ship,
    /// Nothing to do.
    Wait,
}

impl Bucket {
    /// Every bucket in order.
    pub const ALL: [Self; 6] = [
        Self::Close,
        Self::Investigate,
        Self::Rebase,
        Self::Qa,
        Self::Ship,
        Self::Wait,
    ];

    /// The word in a message and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Investigate => "investigate",
            Self::Rebase => "rebase",
            Self::Qa => "qa",
            Self::Ship => "ship",
            Self::Wait => "wait",
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A rule, by the identifier that messages record in `rule`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RuleId {
    /// Another, merged pull request closed an issue that this one would close.
    #[serde(rename = "close.superseded")]
    CloseSuperseded,
    /// A maintainer asked in plain words to close it.
    #[serde(rename = "close.asked")]
    CloseAsked,
    /// The drip queue says that it is superseded.
    #[serde(rename = "close.queue")]
    CloseQueue,
    /// The reviews' verdict is that changes are requested.
    #[serde(rename = "investigate.changes_requested")]
    InvestigateChangesRequested,
    /// A maintainer asked something and has no answer.
    #[serde(rename = "investigate.question")]
    InvestigateQuestion,
    /// It conflicts with its base.
    #[serde(rename = "rebase.conflict")]
    RebaseConflict,
    /// It is more than [`BEHIND_LIMIT`] commits behind its base.
    #[serde(rename = "rebase.behind")]
    RebaseBehind,
    /// A check fails.
    #[serde(rename = "qa.ci")]
    QaCi,
    /// Its gate attestation is missing or older than [`GATE_MAX_AGE`].
    #[serde(rename = "qa.gate")]
    QaGate,
    /// Approved, mergeable, green, no draft, no open thread.
    #[serde(rename = "ship.ready")]
    ShipReady,
    /// None of the others.
    #[serde(rename = "wait.default")]
    WaitDefault,
}

impl RuleId {
    /// Every rule in order.
    pub const ALL: [Self; 11] = [
        Self::CloseSuperseded,
        Self::CloseAsked,
        Self::CloseQueue,
        Self::InvestigateChangesRequested,
        Self::InvestigateQuestion,
        Self::RebaseConflict,
        Self::RebaseBehind,
        Self::QaCi,
        Self::QaGate,
        Self::ShipReady,
        Self::WaitDefault,
    ];

    /// The identifier.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CloseSuperseded => "close.superseded",
            Self::CloseAsked => "close.asked",
            Self::CloseQueue => "close.queue",
            Self::InvestigateChangesRequested => "investigate.changes_requested",
            Self::InvestigateQuestion => "investigate.question",
            Self::RebaseConflict => "rebase.conflict",
            Self::RebaseBehind => "rebase.behind",
            Self::QaCi => "qa.ci",
            Self::QaGate => "qa.gate",
            Self::ShipReady => "ship.ready",
            Self::WaitDefault => "wait.default",
        }
    }

    /// The bucket that the rule puts a pull request into.
    pub fn bucket(self) -> Bucket {
        match self {
            Self::CloseSuperseded | Self::CloseAsked | Self::CloseQueue => Bucket::Close,
            Self::InvestigateChangesRequested | Self::InvestigateQuestion => Bucket::Investigate,
            Self::RebaseConflict | Self::RebaseBehind => Bucket::Rebase,
            Self::QaCi | Self::QaGate => Bucket::Qa,
            Self::ShipReady => Bucket::Ship,
            Self::WaitDefault => Bucket::Wait,
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What the configuration decides about classification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Who is a bot and who a maintainer beyond what GitHub says.
    pub people: People,
}

/// One rule and whether it held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleCheck {
    /// Which.
    pub rule: RuleId,
    /// Whether it held. The first that did decides.
    pub held: bool,
    /// The evidence that made it hold or fail, for a person. One line, safe for a terminal; markdown in it
    /// is not escaped.
    pub because: String,
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
        .expect("the last rule always holds");
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

/// Every rule in order with the evidence that made it hold or fail, also those after the one that decides.
/// In an archived repository `wait.default` comes first and holds.
pub fn rules(pull: &PullFacts, hints: &Hints, settings: &Settings, now: Time) -> Vec<RuleCheck> {
    evaluate(&Evidence::gather(pull, hints, settings, now))
}

fn evaluate(evidence: &Evidence<'_>) -> Vec<RuleCheck> {
    let wait = RuleCheck {
        rule: RuleId::WaitDefault,
        held: true,
        because: why_wait(evidence),
    };
    let mut rules: Vec<RuleCheck> = RuleId::ALL
        .into_iter()
        .filter_map(|rule| {
            let (held, because) = look(rule, evidence)?;
            Some(RuleCheck { rule, held, because })
        })
        .collect();
    if evidence.pull.is_archived {
        rules.insert(0, wait);
    } else {
        rules.push(wait);
    }
    rules
}

/// One rule; `None` for the default, which has its own place.
fn look(rule: RuleId, evidence: &Evidence<'_>) -> Option<(bool, String)> {
    let pull = evidence.pull;
    Some(match rule {
        RuleId::CloseSuperseded => match &evidence.superseded {
            Some(by) => {
                let other = named(&by.by, &pull.at);
                (
                    true,
                    format!(
                        "superseded by {other} (merged {})",
                        by.merged_at.format("%Y-%m-%d")
                    ),
                )
            }
            None => (
                false,
                "no other merged pull request closed an issue that this one closes".to_owned(),
            ),
        },
        RuleId::CloseAsked => match &evidence.asked {
            Some(asked) => (true, format!("{} asked to close it: {}", asked.by, asked.words)),
            None => (
                false,
                "the latest review that says anything does not ask to close it".to_owned(),
            ),
        },
        RuleId::CloseQueue => match &evidence.hints.queue {
            Some(entry) if entry.is_superseded() => (true, "superseded, says the drip queue".to_owned()),
            Some(entry) => {
                let status =
                    escape::clamp(&escape::line(entry.status.as_deref().unwrap_or("nothing")), SHOWN);
                (false, format!("the drip queue says {status}"))
            }
            None => (false, "not in the drip queue".to_owned()),
        },
        RuleId::InvestigateChangesRequested => match &pull.review_decision {
            Some(ReviewDecision::ChangesRequested) => {
                let by = evidence
                    .changes_requested_by()
                    .map(|(login, _)| format!(" by {login}"));
                (true, format!("changes requested{}", by.unwrap_or_default()))
            }
            decision => (
                false,
                format!("review decision: {}", evidence.decision_word(decision.as_ref())),
            ),
        },
        RuleId::InvestigateQuestion => match evidence.questions.last() {
            Some(question) => (
                true,
                format!("{} asked a question: {}", question.by, question.excerpt),
            ),
            None => (false, "no maintainer waits for an answer".to_owned()),
        },
        RuleId::RebaseConflict => {
            let base = escape::clamp(&escape::line(&pull.base.branch), SHOWN);
            match &pull.mergeable {
                Mergeable::Conflicting => (true, format!("conflicts with {base}")),
                Mergeable::Mergeable => (false, format!("merges into {base} without a conflict")),
                Mergeable::Unknown => (
                    false,
                    "GitHub has not computed yet whether it can be merged".to_owned(),
                ),
                Mergeable::Other(word) => (
                    false,
                    format!("mergeable says {}, unknown here", escape::line(word)),
                ),
            }
        }
        RuleId::RebaseBehind => match pull.behind_by {
            Some(commits) => {
                let base = escape::clamp(&escape::line(&pull.base.branch), SHOWN);
                let because = format!("{base} has {commits} commits that it lacks (limit {BEHIND_LIMIT})");
                (commits > BEHIND_LIMIT, because)
            }
            None => (
                false,
                "GitHub gives no number of commits that it is behind".to_owned(),
            ),
        },
        RuleId::QaCi => (
            evidence.checks.ci == pulls::checks::Ci::Failing,
            evidence.checks.why.clone(),
        ),
        RuleId::QaGate => look_at_gate(evidence),
        RuleId::ShipReady => look_at_ship(evidence),
        RuleId::WaitDefault => return None,
    })
}

fn look_at_gate(evidence: &Evidence<'_>) -> (bool, String) {
    match (evidence.gate_age, evidence.hints.gate.configured) {
        (Some(age), _) => {
            let hours = Hours::from(age);
            (
                age > GATE_MAX_AGE,
                format!("the gate attestation is {hours} h old"),
            )
        }
        (None, true) => (true, "no gate attestation".to_owned()),
        (None, false) => (false, "no gate is configured and none was attested".to_owned()),
    }
}

fn look_at_ship(evidence: &Evidence<'_>) -> (bool, String) {
    let pull = evidence.pull;
    let mut missing = Vec::new();
    if pull.review_decision != Some(ReviewDecision::Approved) {
        missing.push(evidence.decision_word(pull.review_decision.as_ref()));
    }
    if pull.is_draft {
        missing.push("draft".to_owned());
    }
    match &pull.mergeable {
        // Not computed yet counts as mergeable (RFC of the author's half, "Failure modes").
        Mergeable::Mergeable | Mergeable::Unknown => {}
        Mergeable::Conflicting => missing.push("in conflict".to_owned()),
        Mergeable::Other(word) => missing.push(format!("mergeable says {}", escape::line(word))),
    }
    match evidence.unresolved {
        0 => {}
        1 => missing.push("1 unresolved review thread".to_owned()),
        threads => missing.push(format!("{threads} unresolved review threads")),
    }
    if !evidence.checks.counts_as_green() {
        missing.push(evidence.checks.why.clone());
    }
    if !missing.is_empty() {
        return (false, missing.join("; "));
    }
    let ci = if evidence.checks.checks.is_empty() {
        "no checks"
    } else {
        "green CI"
    };
    let queued = pull.merge_queue_position.map(|_| ", in the merge queue");
    let computed = (pull.mergeable == Mergeable::Unknown).then_some(", mergeability not computed yet");
    let because = format!(
        "approved + {ci}{}{}",
        queued.unwrap_or_default(),
        computed.unwrap_or_default()
    );
    (true, because)
}

fn why_wait(evidence: &Evidence<'_>) -> String {
    let pull = evidence.pull;
    if pull.is_archived {
        return "the repository is archived: nothing can be done".to_owned();
    }
    // What stands between it and `ship` is what it waits for.
    match look_at_ship(evidence) {
        (false, missing) => missing,
        (true, ready) => ready,
    }
}

/// The reason of the rule that decided; where the author must push and cannot, that too (field case B065).
fn reason(decided: &RuleCheck, evidence: &Evidence<'_>) -> String {
    let must_push = matches!(
        decided.rule.bucket(),
        Bucket::Investigate | Bucket::Rebase | Bucket::Qa
    );
    if must_push && evidence.pull.head.repo.is_none() {
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

/// A pull request as it is named beside another: `#12` within one repository.
fn named(other: &PrRef, own: &PrRef) -> String {
    if other.repo == own.repo {
        format!("#{}", other.number)
    } else {
        other.to_string()
    }
}

impl Evidence<'_> {
    /// The reviewer whose latest word of weight requests changes, the newest of several, with its page.
    fn changes_requested_by(&self) -> Option<(Login, String)> {
        let weighty = |state: &ReviewState| {
            matches!(
                state,
                ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed
            )
        };
        let mut latest = std::collections::BTreeMap::new();
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

    fn decision_word(&self, decision: Option<&ReviewDecision>) -> String {
        match decision {
            Some(ReviewDecision::Approved) => "approved".to_owned(),
            Some(ReviewDecision::ChangesRequested) => "changes requested".to_owned(),
            Some(ReviewDecision::ReviewRequired) => "review required".to_owned(),
            Some(ReviewDecision::Other(word)) if !word.is_empty() => {
                format!("review decision {}, unknown here", escape::line(word))
            }
            Some(ReviewDecision::Other(_)) | None => "no review required and none given".to_owned(),
        }
    }
}
