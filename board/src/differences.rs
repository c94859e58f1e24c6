//! Today's projection over recorded evidence, beside what was decided then (contract, section 2: `sweep replay
//! --projection`).

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use lifecycle::maintain::{Evidence, Projected, Settings, State, SubStatus, project};
use pulls::{PrNumber, RepoName, escape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::{count, moment};

/// The version of the document that `--json` prints.
pub const VERSION: u32 = 1;

/// How many differences are shown. They are counted all.
pub const MAX_SHOWN: usize = 10_000;

/// Which recorded decisions today's projection would make otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Differences {
    /// The version of this document, [`VERSION`].
    pub v: u32,
    /// When it was looked.
    pub ts: DateTime<Utc>,
    /// From when on recorded decisions were looked at; null for the present state of every pull request alone.
    pub since: Option<DateTime<Utc>>,
    /// How many pull requests were projected again.
    pub pulls: u64,
    /// Those that would be in another state now.
    pub now: Vec<Difference>,
    /// How many of them, by the state that is recorded and the one that it would be.
    pub counts: Vec<Count>,
    /// How many recorded decisions since then were projected again.
    pub decisions: u64,
    /// Those that would have been made otherwise, in the order in which they were made.
    pub then: Vec<Difference>,
    /// How many differences are not listed, beyond [`MAX_SHOWN`].
    pub left_out: u64,
}

/// One decision that would be another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The repository.
    pub repo: RepoName,
    /// The number.
    pub pr: PrNumber,
    /// The moment as of which the evidence is projected.
    pub at: DateTime<Utc>,
    /// The state that is recorded.
    pub recorded: State,
    /// What is recorded beside it; null for a decision of the past, of which only the state is kept.
    pub recorded_sub_status: Option<SubStatus>,
    /// The reason that is recorded.
    pub recorded_reason: String,
    /// What the evidence is projected to today.
    pub projected: Projected,
}

/// How many pull requests would go from one state to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// The state that is recorded.
    pub recorded: State,
    /// The state that it would be.
    pub projected: State,
    /// How many.
    pub count: u64,
}

/// A decision as it is recorded.
#[derive(Debug, Clone, Copy)]
pub struct Decided<'a> {
    /// The state.
    pub state: State,
    /// What is said beside it.
    pub sub_status: Option<SubStatus>,
    /// Why.
    pub reason: &'a str,
    /// The moment that it holds for.
    pub at: DateTime<Utc>,
}

/// Decisions compared, one after the other.
#[derive(Debug)]
pub struct Comparing<'s> {
    settings: &'s Settings,
    found: Differences,
}

impl<'s> Comparing<'s> {
    /// Nothing compared yet.
    pub fn new(settings: &'s Settings, now: DateTime<Utc>, since: Option<DateTime<Utc>>) -> Self {
        Self {
            settings,
            found: Differences {
                v: VERSION,
                ts: now,
                since,
                pulls: 0,
                now: Vec::new(),
                counts: Vec::new(),
                decisions: 0,
                then: Vec::new(),
                left_out: 0,
            },
        }
    }

    /// The present state of a pull request.
    pub fn present(&mut self, decided: Decided<'_>, evidence: &Evidence) {
        self.found.pulls += 1;
        if let Some(difference) = self.difference(decided, evidence) {
            let (recorded, projected) = (difference.recorded, difference.projected.state);
            let counted = self
                .found
                .counts
                .iter_mut()
                .find(|count| (count.recorded, count.projected) == (recorded, projected));
            match counted {
                Some(counted) => counted.count += 1,
                None => self.found.counts.push(Count {
                    recorded,
                    projected,
                    count: 1,
                }),
            }
            match self.found.now.len() < MAX_SHOWN {
                true => self.found.now.push(difference),
                false => self.found.left_out += 1,
            }
        }
    }

    /// A decision of the past.
    pub fn past(&mut self, decided: Decided<'_>, evidence: &Evidence) {
        self.found.decisions += 1;
        if let Some(difference) = self.difference(decided, evidence) {
            match self.found.then.len() < MAX_SHOWN {
                true => self.found.then.push(difference),
                false => self.found.left_out += 1,
            }
        }
    }

    fn difference(&self, decided: Decided<'_>, evidence: &Evidence) -> Option<Difference> {
        let evidence = Evidence {
            now: decided.at,
            ..evidence.clone()
        };
        let projected = project(&evidence, self.settings);
        (projected.state != decided.state).then(|| Difference {
            repo: evidence.at.repo.clone(),
            pr: evidence.at.number,
            at: decided.at,
            recorded: decided.state,
            recorded_sub_status: decided.sub_status,
            recorded_reason: decided.reason.to_owned(),
            projected,
        })
    }

    /// All of it, the most frequent change first.
    pub fn finish(mut self) -> Differences {
        let place: BTreeMap<&str, usize> = State::ALL
            .into_iter()
            .enumerate()
            .map(|(nth, state)| (state.as_str(), nth))
            .collect();
        let place = |state: State| place.get(state.as_str()).copied();
        self.found.counts.sort_by_key(|count| {
            (
                u64::MAX - count.count,
                place(count.recorded),
                place(count.projected),
            )
        });
        self.found
            .now
            .sort_by(|a, b| (&a.repo, a.pr).cmp(&(&b.repo, b.pr)));
        self.found
    }
}

impl Differences {
    /// All of it for a terminal. What others wrote cannot steer it.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{} projected again: {} would be in another state\n",
            count(self.pulls, "pull request"),
            self.counts.iter().map(|count| count.count).sum::<u64>()
        );
        for count in &self.counts {
            out.push_str(&format!(
                "  {:>5}  {} → {}\n",
                count.count, count.recorded, count.projected
            ));
        }
        for difference in &self.now {
            out.push('\n');
            out.push_str(&difference.text());
        }
        if let Some(since) = self.since {
            out.push_str(&format!(
                "\n{} since {} projected again: {} would have been another\n",
                count(self.decisions, "decision"),
                moment(since),
                self.then.len()
            ));
            for difference in &self.then {
                out.push('\n');
                out.push_str(&difference.text());
            }
        }
        if self.left_out > 0 {
            out.push_str(&format!("\n({} left out)\n", count(self.left_out, "difference")));
        }
        out
    }
}

impl Difference {
    fn text(&self) -> String {
        let sub = |sub: Option<SubStatus>| sub.map(|sub| format!(" ({sub})")).unwrap_or_default();
        format!(
            "{}#{}  as of {}\n  recorded  {}{}: {}\n  today     {}{}: {}\n",
            self.repo,
            self.pr,
            moment(self.at),
            self.recorded,
            sub(self.recorded_sub_status),
            escape::line(&self.recorded_reason),
            self.projected.state,
            sub(self.projected.sub_status),
            escape::line(&self.projected.reason),
        )
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use lifecycle::maintain::build;

    use super::*;

    fn decided(evidence: &Evidence, settings: &Settings) -> (Projected, DateTime<Utc>) {
        (project(evidence, settings), evidence.now)
    }

    #[test]
    fn the_same_settings_decide_the_same() {
        let settings = Settings::default();
        let mut comparing = Comparing::new(&settings, build::ready("o/r#7").done().now, None);
        for evidence in [
            build::ready("o/r#7").done(),
            build::ready("o/r#8").idle_days(8).done(),
            build::evidence("o/r#9").done(),
        ] {
            let (projected, at) = decided(&evidence, &settings);
            let decided = Decided {
                state: projected.state,
                sub_status: projected.sub_status,
                reason: &projected.reason,
                at,
            };
            // The clock is that of the decision, whenever the evidence was recorded.
            let earlier = Evidence {
                now: evidence.now - TimeDelta::days(1),
                ..evidence.clone()
            };
            comparing.present(decided, &earlier);
        }
        let found = comparing.finish();
        assert_eq!((found.pulls, found.now.len(), found.counts.len()), (3, 0, 0));
        assert_eq!(
            found.text(),
            "3 pull requests projected again: 0 would be in another state\n"
        );
    }

    #[test]
    fn another_setting_is_judged_before_it_is_used() {
        let (then, today) = (
            Settings::default(),
            Settings {
                stale_after: TimeDelta::days(4),
                ..Settings::default()
            },
        );
        let now = build::ready("o/r#7").done().now;
        let mut comparing = Comparing::new(&today, now, Some(now - TimeDelta::days(1)));
        for evidence in [
            build::ready("o/r#9").idle_days(5).done(),
            build::ready("o/r#8").idle_days(6).done(),
            build::evidence("o/r#7").idle_days(5).done(),
            build::ready("o/r#6").done(),
        ] {
            let (mut projected, at) = decided(&evidence, &then);
            projected.reason = "as it was \u{1b}[31mthen".to_owned();
            let decided = Decided {
                state: projected.state,
                sub_status: projected.sub_status,
                reason: &projected.reason,
                at,
            };
            comparing.present(decided, &evidence);
            comparing.past(decided, &evidence);
        }
        let found = comparing.finish();
        let counts: Vec<(&str, &str, u64)> = found
            .counts
            .iter()
            .map(|count| (count.recorded.as_str(), count.projected.as_str(), count.count))
            .collect();
        assert_eq!(
            counts,
            [("ready_for_maintainer", "stale", 2), ("owner_routed", "stale", 1)]
        );
        let pulls: Vec<u64> = found.now.iter().map(|one| one.pr.get().into()).collect();
        assert_eq!(pulls, [7, 8, 9]);
        assert_eq!((found.decisions, found.then.len()), (4, 3));
        let text = found.text();
        assert!(text.contains("      2  ready_for_maintainer → stale\n"), "{text}");
        assert!(
            text.contains("recorded  ready_for_maintainer: as it was \\u{1b}[31mthen"),
            "{text}"
        );
        assert!(text.contains("today     stale: no person did anything"), "{text}");
    }
}
