//! One cycle of the maintainer's half, for whoever asked for it (contract, section 6: `sweep reconcile --once`).

use chrono::{DateTime, Utc};
use lifecycle::maintain::{Artifact, Owner, State, Switch, Transition, Wanted};
use pulls::{PrNumber, PrRef, RepoName, Sha, escape};
use runtime::Attention;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::{count, moment};

/// What a cycle came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cycle {
    /// The moment as of which it looked.
    pub ts: DateTime<Utc>,
    /// How many pull requests it looked at.
    pub visited: u64,
    /// Those that moved.
    pub transitions: Vec<Moved>,
    /// What they want said or reviewed.
    pub wanted: Vec<Wish>,
    /// What was said on GitHub; nothing in this version.
    pub said: Vec<Wish>,
    /// What is not wanted any more and was taken back; nothing in this version.
    pub withdrawn: Vec<Wish>,
    /// Those that could not be read; they stay where they are.
    pub skipped: Vec<Skipped>,
    /// What a person must look at.
    pub attention: Vec<Noted>,
    /// What it cost.
    pub budget: Budget,
}

/// A pull request that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// Its repository.
    pub repo: RepoName,
    /// Its number.
    pub pr: PrNumber,
    /// The state before; null for one that was first seen.
    pub from: Option<State>,
    /// The state after; the same for a row about an act.
    pub to: State,
    /// Its head.
    pub head: Sha,
    /// Why, for a person.
    pub reason: String,
}

/// A pull request that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Its repository.
    pub repo: RepoName,
    /// Its number.
    pub pr: PrNumber,
    /// Why.
    pub error: String,
}

/// What a pull request wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wish {
    /// Its repository.
    pub repo: RepoName,
    /// Its number.
    pub pr: PrNumber,
    /// What.
    pub artifact: Artifact,
    /// What tells it apart.
    pub key: String,
    /// Whom it speaks to.
    pub to: Vec<Owner>,
    /// The setting that lets it out.
    pub switch: Switch,
    /// Whether that setting is on.
    pub is_on: bool,
    /// Why, for a person.
    pub why: String,
}

/// What a person must look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Noted {
    /// What tells it apart.
    pub key: String,
    /// Since when.
    pub since: DateTime<Utc>,
    /// What.
    pub text: String,
    /// What to do about it.
    pub mend: String,
}

/// What a cycle cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// Requests to GitHub.
    pub requests: u64,
    /// The most that there may be (`PR_STATE_REQUEST_BUDGET`).
    pub request_budget: u64,
    /// What GitHub charged for them, in points of the GraphQL API.
    pub points: u64,
    /// Whether the budget cut the cycle.
    pub exhausted: bool,
    /// Pull requests that it did not reach; they come first in the next cycle.
    pub left_over: u64,
    /// Comments and edits; none in this version.
    pub writes: u64,
}

impl From<&Transition> for Moved {
    fn from(row: &Transition) -> Self {
        Self {
            repo: row.at.repo.clone(),
            pr: row.at.number,
            from: row.from_state,
            to: row.to_state,
            head: row.head_sha.clone(),
            reason: row.reason.clone(),
        }
    }
}

impl From<(&PrRef, &Wanted)> for Wish {
    fn from((at, wanted): (&PrRef, &Wanted)) -> Self {
        Self {
            repo: at.repo.clone(),
            pr: at.number,
            artifact: wanted.artifact,
            key: wanted.key.clone(),
            to: wanted.to.clone(),
            switch: wanted.switch,
            is_on: wanted.is_on,
            why: wanted.why.clone(),
        }
    }
}

impl From<&Attention> for Noted {
    fn from(attention: &Attention) -> Self {
        Self {
            key: attention.key.clone(),
            since: attention.since.into(),
            text: attention.text.clone(),
            mend: attention.mend.clone(),
        }
    }
}

/// Lines of a kind that a person is shown: a first pass moves a thousand.
const SHOWN: usize = 40;

impl Cycle {
    /// All of it for a terminal. What others wrote cannot steer it.
    pub fn text(&self) -> String {
        let moved = |row: &&Moved| row.from != Some(row.to);
        let mut out = format!(
            "{} looked at as of {}; {} moved\n",
            count(self.visited, "pull request"),
            moment(self.ts),
            self.transitions.iter().filter(moved).count(),
        );
        let budget = &self.budget;
        out.push_str(&format!(
            "{} of {}",
            count(budget.requests, "request"),
            budget.request_budget
        ));
        if budget.points > 0 {
            out.push_str(&format!(", {}", count(budget.points, "point")));
        }
        if budget.left_over > 0 {
            out.push_str(&format!(
                "; {} left for the next cycle",
                count(budget.left_over, "pull request")
            ));
        }
        out.push('\n');
        let mut block = |title: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                out.push_str(&format!("\n{title}\n"));
            }
            for line in lines.iter().take(SHOWN) {
                out.push_str(&format!("  {}\n", escape::line(line)));
            }
            if let Some(more) = lines.len().checked_sub(SHOWN).filter(|more| *more > 0) {
                out.push_str(&format!("  and {more} more; --json has them all\n"));
            }
        };
        block("moved", self.transitions.iter().map(Moved::text).collect());
        block(
            "wanted; nothing is said in this version",
            self.wanted.iter().map(Wish::text).collect(),
        );
        block("said", self.said.iter().map(Wish::text).collect());
        block("withdrawn", self.withdrawn.iter().map(Wish::text).collect());
        let skipped = self.skipped.iter();
        block(
            "skipped",
            skipped
                .map(|one| format!("{}#{}  {}", one.repo, one.pr, one.error))
                .collect(),
        );
        block(
            "attention",
            self.attention
                .iter()
                .map(|noted| format!("{}; {}", noted.text, noted.mend))
                .collect(),
        );
        out
    }
}

impl Moved {
    fn text(&self) -> String {
        let moved = match self.from {
            Some(from) if from == self.to => self.to.to_string(),
            Some(from) => format!("{from} → {}", self.to),
            None => format!("first seen, {}", self.to),
        };
        format!("{}#{}  {moved}: {}", self.repo, self.pr, self.reason)
    }
}

impl Wish {
    fn text(&self) -> String {
        let to: Vec<String> = self.to.iter().map(owner).collect();
        let to = match to.is_empty() {
            true => String::new(),
            false => format!(" to {}", to.join(", ")),
        };
        format!(
            "{}#{}  {}{to}: {}",
            self.repo,
            self.pr,
            self.artifact,
            self.let_out()
        )
    }

    fn let_out(&self) -> String {
        let switch = name(&self.switch);
        let is = if self.is_on { "on" } else { "off" };
        format!("{} ({switch} is {is}; {})", self.why, self.key)
    }
}

/// An owner as GitHub mentions it.
pub(crate) fn owner(owner: &Owner) -> String {
    match owner {
        Owner::User(login) => format!("@{login}"),
        Owner::Team(team) => format!("@{team}"),
    }
}

/// The word that stands for a value in JSON.
pub(crate) fn name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use lifecycle::maintain::{Before, Epoch, Settings, build, step};

    use super::*;

    #[test]
    fn a_cycle_is_told_with_what_moved_and_what_is_wanted() {
        let evidence = build::ready("o/r#7").done();
        let first = step(
            Before::default(),
            &evidence,
            &[],
            &Default::default(),
            Epoch(1),
            &Settings::default(),
        );
        let mut moved = Moved::from(&first.rows[0]);
        moved.reason = "because \u{1b}[31m".to_owned();
        let wanted = first.wanted.iter().map(|wanted| {
            let mut wish = Wish::from((&evidence.at, wanted));
            wish.why = "because".to_owned();
            wish
        });
        let cycle = Cycle {
            ts: evidence.now,
            visited: 12,
            transitions: vec![
                moved.clone(),
                Moved {
                    from: Some(State::New),
                    ..moved.clone()
                },
                Moved {
                    from: Some(moved.to),
                    reason: "page cancelled: no longer ready".to_owned(),
                    ..moved
                },
            ],
            wanted: wanted.collect(),
            said: Vec::new(),
            withdrawn: Vec::new(),
            skipped: Vec::new(),
            attention: vec![Noted {
                key: "pr_state_budget".to_owned(),
                since: evidence.now,
                text: "the request budget is spent".to_owned(),
                mend: "Raise PR_STATE_REQUEST_BUDGET.".to_owned(),
            }],
            budget: Budget {
                requests: 34,
                request_budget: 200,
                points: 0,
                exhausted: true,
                left_over: 1,
                writes: 0,
            },
        };
        insta::assert_snapshot!(cycle.text());
        let document = serde_json::to_value(&cycle).unwrap();
        let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "attention",
                "budget",
                "said",
                "skipped",
                "transitions",
                "ts",
                "visited",
                "wanted",
                "withdrawn"
            ]
        );
    }
}
