//! Valid evidence for tests: say only what a test is about.

use chrono::TimeDelta;
use pulls::activity::{Activity, ActivityKind};
use pulls::build;
use pulls::checks::{Ci, Standing};
use pulls::facts::{Account, AccountKind, Base, MergeState, Mergeable, PullState, Time};
use pulls::upkeep::RequiredCheck;
use pulls::{Login, PrRef};

use super::evidence::{
    Assignment, CheckSeen, Evidence, FindingCounts, HeadReview, HeadSeen, Mergeability, Owner, Required,
    RequiredOutcome, RequiredSeen, Reviews, VERSION,
};

/// Evidence under construction.
#[derive(Debug, Clone)]
pub struct EvidenceBuilder(Evidence);

/// An open pull request on a green head that nobody has reviewed, with an owner; a person did something an hour ago.
///
/// # Panics
/// Where `at` names no pull request.
pub fn evidence(at: &str) -> EvidenceBuilder {
    let at: PrRef = at.parse().expect("a test names a pull request");
    let now = build::now();
    let head = format!("{:040x}", at.number.get()).parse().expect("forty digits");
    EvidenceBuilder(Evidence {
        version: VERSION,
        now,
        state: PullState::Open,
        closing: None,
        is_draft: false,
        is_archived: false,
        is_locked: false,
        author: Some(Account {
            login: login("author"),
            kind: AccountKind::User,
        }),
        created_at: now - TimeDelta::hours(48),
        head: HeadSeen {
            sha: head,
            first_seen_at: now - TimeDelta::hours(40),
        },
        base: Base {
            branch: "main".to_owned(),
            sha: "b".repeat(40).parse().expect("forty digits"),
        },
        labels: Vec::new(),
        activity: Activity {
            at: now - TimeDelta::hours(1),
            what: ActivityKind::Comment,
            by: Some(login("grace")),
        },
        mergeability: Mergeability {
            mergeable: Mergeable::Mergeable,
            merge_state: MergeState::Clean,
            seen_on: None,
            seen_against: None,
            is_stale: false,
        },
        merge_queue_position: None,
        review_decision: None,
        unresolved_threads: Some(0),
        ci: Ci::Green,
        checks: Vec::new(),
        required: Required::Known(Vec::new()),
        base_red: Vec::new(),
        assignment: Some(Assignment {
            owner: Some(Owner::User(login("olive"))),
            reason: "CODEOWNERS line 3".to_owned(),
            digest: "d1".to_owned(),
        }),
        reviews: Reviews::default(),
        findings: FindingCounts::default(),
        is_legacy: false,
        partial: Vec::new(),
        at,
    })
    .check("build", Standing::Passed)
}

/// The same, reviewed without a finding: the ready gate passes.
pub fn ready(at: &str) -> EvidenceBuilder {
    evidence(at).reviewed()
}

/// A login.
///
/// # Panics
/// Where it is none.
pub fn login(name: &str) -> Login {
    name.parse().expect("a test names an account")
}

impl EvidenceBuilder {
    /// The evidence.
    pub fn done(mut self) -> Evidence {
        let known = &mut self.0.mergeability;
        known.seen_on.get_or_insert_with(|| self.0.head.sha.clone());
        known.seen_against.get_or_insert_with(|| self.0.base.sha.clone());
        self.0
    }

    /// Any other change.
    pub fn with(mut self, change: impl FnOnce(&mut Evidence)) -> Self {
        change(&mut self.0);
        self
    }

    /// Looked at so much later.
    pub fn later(self, by: TimeDelta) -> Self {
        self.with(|evidence| evidence.now += by)
    }

    /// No person did anything for so many days.
    pub fn idle_days(self, days: i64) -> Self {
        self.with(|evidence| evidence.activity.at = evidence.now - TimeDelta::days(days))
    }

    /// Its head was reviewed.
    pub fn reviewed(self) -> Self {
        self.with(|evidence| {
            evidence.reviews = Reviews {
                attempts: 1,
                is_claimed: true,
                of_head: HeadReview::Completed {
                    at: evidence.now - TimeDelta::hours(2),
                    quality: Some("ready".to_owned()),
                },
            };
        })
    }

    /// So many open and so many disputed findings.
    pub fn findings(self, open: u32, disputed: u32) -> Self {
        self.with(|evidence| evidence.findings = FindingCounts { open, disputed })
    }

    /// A required check and what it comes to.
    pub fn check(self, name: &str, standing: Standing) -> Self {
        let outcome = match standing {
            Standing::Passed | Standing::Skipped => RequiredOutcome::Passed,
            Standing::Failed => RequiredOutcome::Failed,
            Standing::Cancelled => RequiredOutcome::Cancelled,
            Standing::Unknown => RequiredOutcome::Unknown,
            _ => RequiredOutcome::Pending,
        };
        let ci = match standing {
            Standing::Passed | Standing::Skipped => Ci::Green,
            Standing::Failed | Standing::Cancelled => Ci::Failing,
            Standing::Unknown => Ci::Unknown,
            _ => Ci::Pending,
        };
        self.required(name, outcome).with(|evidence| {
            evidence.ci = ci;
            evidence.checks.retain(|check| check.name != name);
            evidence.checks.push(CheckSeen {
                name: name.to_owned(),
                shown: name.to_owned(),
                app: Some(15_368),
                suite: Some(1),
                standing,
                word: format!("{standing:?}").to_uppercase(),
                since: Some(evidence.now - TimeDelta::hours(3)),
                url: None,
            });
        })
    }

    /// A required check of which only the outcome is said.
    pub fn required(self, name: &str, outcome: RequiredOutcome) -> Self {
        self.with(|evidence| {
            if let Required::Known(required) = &mut evidence.required {
                required.retain(|seen| seen.check.context != name);
                required.push(RequiredSeen {
                    check: RequiredCheck {
                        context: name.to_owned(),
                        app: None,
                    },
                    outcome,
                });
            }
        })
    }

    /// In conflict with its base.
    pub fn conflicting(self) -> Self {
        self.with(|evidence| {
            evidence.mergeability.mergeable = Mergeable::Conflicting;
            evidence.mergeability.merge_state = MergeState::Dirty;
        })
    }

    /// Its owner was not looked for yet.
    pub fn unrouted(self) -> Self {
        self.with(|evidence| evidence.assignment = None)
    }

    /// Nobody owns what it changes.
    pub fn ownerless(self) -> Self {
        self.with(|evidence| {
            evidence.assignment = Some(Assignment {
                owner: None,
                reason: "no rule matches its files".to_owned(),
                digest: "none".to_owned(),
            });
        })
    }

    /// Ended by a person.
    pub fn ended(self, state: PullState, at: Time) -> Self {
        self.with(|evidence| {
            evidence.state = state;
            evidence.closing = Some(pulls::upkeep::Closing {
                at,
                by: Some(Account {
                    login: login("grace"),
                    kind: AccountKind::User,
                }),
            });
        })
    }
}
