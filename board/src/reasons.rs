//! Why a pull request is where it is: every rule of both halves, for a terminal and for programs (contract,
//! section 2: `sweep why`).

use chrono::{DateTime, Utc};
use lifecycle::maintain::{Deadline, GateCondition, Projected, RuleLine, State, SubStatus, Wanted, Why};
use lifecycle::{Bucket, Recalled};
use pulls::{PrNumber, RepoName, Sha, escape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cycle::{name, owner};
use crate::kanban::when;
use crate::words::moment;

/// The version of the document that `--json` prints.
pub const VERSION: u32 = 1;

/// Why a pull request is where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reasons {
    /// The version of this document, [`VERSION`].
    pub v: u32,
    /// The moment as of which it is told.
    pub ts: DateTime<Utc>,
    /// Its repository.
    pub repo: RepoName,
    /// Its number.
    pub pr: PrNumber,
    /// Its title, where it is known.
    pub title: Option<String>,
    /// The maintainer's half; null where it is not maintained.
    pub maintainer: Option<Maintained>,
    /// The author's half; null where the dispatcher never saw it.
    pub author: Option<Authored>,
}

/// The maintainer's half: the recorded evidence, projected as of now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Maintained {
    /// What is recorded; null where it was seen and not recorded yet.
    pub recorded: Option<Standing>,
    /// When the evidence was first recorded.
    pub evidence_at: DateTime<Utc>,
    /// What the evidence is projected to.
    pub projected: Projected,
    /// Every rule in order.
    pub rules: Vec<RuleLine>,
    /// Every condition of the ready gate.
    pub gate: Vec<GateCondition>,
    /// When it is looked at again though nothing changed, the earliest first.
    pub deadlines: Vec<Deadline>,
    /// What it wants said or reviewed, whether or not a switch lets it out.
    pub wanted: Vec<Wanted>,
}

/// What the ledger says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// The state.
    pub state: State,
    /// What is said beside it.
    pub sub_status: Option<SubStatus>,
    /// Why, for a person.
    pub reason: String,
    /// Since when.
    pub since_at: DateTime<Utc>,
    /// The head.
    pub head: Sha,
}

/// The author's half, as the dispatcher last found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Authored {
    /// When it was looked at.
    pub seen: DateTime<Utc>,
    /// What it needs next.
    pub bucket: Bucket,
    /// The rule that decided.
    pub rule: String,
    /// Why, for a person.
    pub reason: String,
    /// Every rule in order; none where the line is of a version that did not record what they saw.
    pub rules: Vec<Recalled>,
}

impl Maintained {
    /// The half of a pull request whose evidence was explained.
    pub fn new(
        recorded: Option<Standing>,
        evidence_at: DateTime<Utc>,
        why: Why,
        wanted: Vec<Wanted>,
    ) -> Self {
        Self {
            recorded,
            evidence_at,
            projected: why.projected,
            rules: why.rules,
            gate: why.gate,
            deadlines: why.deadlines,
            wanted,
        }
    }
}

impl Reasons {
    /// All of it for a terminal. What others wrote cannot steer it.
    pub fn text(&self) -> String {
        let mut out = format!("{}#{}", self.repo, self.pr);
        if let Some(title) = &self.title {
            out.push_str(&format!("  {}", escape::line(title)));
        }
        out.push('\n');
        if let Some(half) = &self.maintainer {
            self.maintained(half, &mut out);
        }
        if let Some(half) = &self.author {
            authored(half, &mut out);
        }
        out
    }

    fn maintained(&self, half: &Maintained, out: &mut String) {
        let mut line = |text: String| {
            out.push_str(text.trim_end());
            out.push('\n');
        };
        line(format!(
            "\nmaintainer's half, as of {}, on evidence of {}",
            moment(self.ts),
            moment(half.evidence_at)
        ));
        let now = &half.projected;
        line(format!(
            "  {}",
            stands(now.state.as_str(), now.sub_status, &now.reason)
        ));
        match &half.recorded {
            Some(known) if known.state == now.state => {
                line(format!("  so since {}", moment(known.since_at)));
            }
            Some(known) => {
                let known_now = stands(known.state.as_str(), known.sub_status, &known.reason);
                line(format!("  recorded as {known_now}; the next cycle moves it"));
            }
            None => line("  not recorded yet; the next cycle does".to_owned()),
        }
        line("\n  rules, the first that holds decides (*)".to_owned());
        for rule in &half.rules {
            let rule = Rule {
                decides: rule.decides,
                held: rule.held,
                name: &name(&rule.rule),
                because: &rule.because,
                would_change: &rule.would_change,
            };
            line(rule.lines());
        }
        line("\n  ready gate, all must hold".to_owned());
        for condition in &half.gate {
            let name = name(&condition.id);
            line(format!(
                "    {:<6} {name:<30} {}",
                held(condition.held),
                escape::line(&condition.because)
            ));
        }
        line("\n  what happens next by itself".to_owned());
        if half.deadlines.is_empty() {
            line("    nothing".to_owned());
        }
        for deadline in &half.deadlines {
            let when = when(deadline.at, self.ts);
            line(format!(
                "    {when}: {} ({})",
                deadline.what.says(),
                moment(deadline.at)
            ));
        }
        if !half.wanted.is_empty() {
            line("\n  what it wants said; nothing is said in this version".to_owned());
        }
        for wanted in &half.wanted {
            let to: Vec<String> = wanted.to.iter().map(owner).collect();
            let to = match to.is_empty() {
                true => String::new(),
                false => format!(" to {}", to.join(", ")),
            };
            let switch = name(&wanted.switch);
            let is = if wanted.is_on { "on" } else { "off" };
            line(format!(
                "    {}{to}: {} ({switch} is {is}; {})",
                wanted.artifact,
                escape::line(&wanted.why),
                escape::line(&wanted.key)
            ));
        }
    }
}

fn authored(half: &Authored, out: &mut String) {
    let mut line = |text: String| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(format!("\nauthor's half, as seen at {}", moment(half.seen)));
    let (rule, reason) = (escape::line(&half.rule), escape::line(&half.reason));
    line(format!("  {} ({rule}): {reason}", half.bucket));
    if !half.rules.is_empty() {
        line("\n  rules, the first that holds decides (*)".to_owned());
    }
    for rule in &half.rules {
        let rule = Rule {
            decides: rule.decides,
            held: rule.held,
            name: rule.rule.as_str(),
            because: &rule.because,
            would_change: &rule.would_change,
        };
        line(rule.lines());
    }
}

/// A rule of either half.
struct Rule<'a> {
    decides: bool,
    held: bool,
    name: &'a str,
    because: &'a str,
    would_change: &'a str,
}

impl Rule<'_> {
    /// Two lines: whether it holds with its evidence, and what would make it otherwise.
    fn lines(&self) -> String {
        let mark = if self.decides { "*" } else { " " };
        let (because, otherwise) = (escape::line(self.because), escape::line(self.would_change));
        format!(
            "  {mark} {:<6} {:<30} {because}\n{:42}changes if: {otherwise}",
            held(self.held),
            self.name,
            ""
        )
    }
}

fn held(held: bool) -> &'static str {
    if held { "holds" } else { "no" }
}

fn stands(state: &str, sub: Option<SubStatus>, reason: &str) -> String {
    let sub = sub.map(|sub| format!(" ({sub})")).unwrap_or_default();
    format!("{state}{sub}: {}", escape::line(reason))
}

#[cfg(test)]
mod tests {
    use lifecycle::maintain::{Before, Epoch, Settings, build, step, why};

    use super::*;

    fn reasons() -> Reasons {
        let settings = Settings::default();
        let evidence = build::ready("o/r#7").findings(1, 0).done();
        let first = step(
            Before::default(),
            &evidence,
            &[],
            &Default::default(),
            Epoch(1),
            &settings,
        );
        let row = first.row.unwrap();
        let recorded = Standing {
            state: row.state,
            sub_status: row.sub_status,
            reason: row.reason,
            since_at: row.since_at,
            head: row.head_sha,
        };
        let mut why = why(&evidence, evidence.now, &settings);
        // Their words are the projection's own, and tested there.
        why.projected.reason = "the evidence in words".to_owned();
        for rule in &mut why.rules {
            rule.because = "the evidence in words".to_owned();
            rule.would_change = "something else".to_owned();
        }
        for condition in &mut why.gate {
            condition.because = "the evidence in words".to_owned();
        }
        let mut wanted = first.wanted;
        for wanted in &mut wanted {
            wanted.why = "the evidence in words".to_owned();
        }
        Reasons {
            v: VERSION,
            ts: evidence.now,
            repo: evidence.at.repo.clone(),
            pr: evidence.at.number,
            title: Some("Mend \u{1b}it".to_owned()),
            maintainer: Some(Maintained::new(Some(recorded), evidence.now, why, wanted)),
            author: Some(Authored {
                seen: evidence.now,
                bucket: Bucket::Wait,
                rule: "wait.default".to_owned(),
                reason: "review required".to_owned(),
                rules: vec![Recalled {
                    rule: lifecycle::RuleId::WaitDefault,
                    held: true,
                    decides: true,
                    because: "review required".to_owned(),
                    would_change: "any other rule holds".to_owned(),
                }],
            }),
        }
    }

    #[test]
    fn every_rule_is_told_with_its_evidence() {
        insta::assert_snapshot!(reasons().text());
    }

    #[test]
    fn a_state_that_time_has_overtaken_is_said_to_be() {
        let mut reasons = reasons();
        let half = reasons.maintainer.as_mut().unwrap();
        half.projected.state = State::Stale;
        assert!(
            reasons.text().contains("recorded as changes_requested"),
            "{}",
            reasons.text()
        );
        assert!(reasons.text().contains("the next cycle moves it"));
    }
}
