//! The second half of a cycle: reading, judging and writing down, a chunk at a time.

use std::collections::BTreeMap;

use github::ReadError;
use ledger::{Batch, Event, LedgerError, TurnOutcome};
use lifecycle::maintain::Evidence;
use pulls::facts::{PullFacts, Time};
use pulls::upkeep::BranchFacts;
use pulls::{PrRef, RepoName};
use runtime::{EffectError, Turn};

use super::agenda::{Agenda, Candidate};
use super::attention;
use super::cycle::{BRANCH_FRESH, BUDGET_EXHAUSTED, CHUNK, Cycle, CycleError, is_of_all};
use super::report::{Moved, Report, SkippedPull, WantedFor};
use super::visit::{Ground, Known, Visited, reviews};

/// How far back the log is looked through for states that go back and forth.
const FLIPS_WITHIN: chrono::TimeDelta = chrono::TimeDelta::hours(24);

impl Cycle<'_> {
    /// Judges and reads everything on the agenda as far as the budget goes. Gives those that wait for the next cycle,
    /// with the time since when.
    pub(super) async fn visit_all(
        &mut self,
        agenda: Agenda,
        turn: &mut Turn,
    ) -> Result<Vec<(PrRef, Time)>, CycleError> {
        let work = agenda.in_order();
        for chunk in work.judge.chunks(CHUNK) {
            self.judge(chunk, turn).await?;
            turn.progress();
        }
        let mut left = Vec::new();
        let mut chunks = work.read.chunks(CHUNK);
        let mut done = 0;
        for chunk in chunks.by_ref() {
            let not_reached = self.read(chunk, turn).await?;
            done += chunk.len() - not_reached.len();
            (self.progress)(github::Progress {
                done,
                of: work.read.len(),
            });
            turn.progress();
            if !not_reached.is_empty() {
                left.extend(waiting(
                    chunk.iter().filter(|one| not_reached.contains(&one.at)),
                    self.now,
                ));
                break;
            }
        }
        left.extend(waiting(chunks.flatten(), self.now));
        Ok(left)
    }

    /// Judges from what is recorded.
    async fn judge(
        &mut self,
        chunk: &[(PrRef, Option<Evidence>)],
        turn: &mut Turn,
    ) -> Result<(), CycleError> {
        let refs = chunk.iter().map(|(at, _)| at.clone()).collect();
        let known = Known::of_all(self.books, refs).await?;
        let mut visited = Vec::new();
        for (at, looked) in chunk {
            let known = &known[at];
            let Some(evidence) = looked.clone().or_else(|| known.evidence.clone()) else {
                continue;
            };
            let reviews = reviews(self.books, at, &evidence.head.sha).await?;
            visited.push(self.ground().judged(evidence, known, &reviews));
        }
        self.write_down(visited, turn).await
    }

    /// Reads in whole. Gives those that the budget did not reach.
    async fn read(&mut self, chunk: &[Candidate], turn: &mut Turn) -> Result<Vec<PrRef>, CycleError> {
        let refs: Vec<PrRef> = chunk.iter().map(|one| one.at.clone()).collect();
        if self.allowance.left() == 0 {
            return Ok(refs);
        }
        let read = self.github.maintained(&refs, &self.allowance, &|_| ()).await;
        if let Some(stopped) = read
            .stopped
            .filter(|_| read.found.is_empty() && read.left.is_empty())
        {
            return Err(stopped.into());
        }
        for skipped in read.skipped {
            let error = skipped.error.to_string();
            match skipped.error {
                // One that is not there any more is not waited for.
                ReadError::NoPull(_) | ReadError::NoRepository(_) => self.report_skipped(&skipped.at, error),
                _ => self.skip(&skipped.at, &error, chunk),
            }
        }
        let found = read.found.iter().map(|pull| pull.at.clone()).collect();
        let known = Known::of_all(self.books, found).await?;
        let mut not_judged = read.left;
        let mut visited = Vec::new();
        for pull in &read.found {
            turn.saw(&pull.at.to_string(), pull.head.sha.as_str().as_bytes());
            let branch = match self.branch(pull).await {
                Err(CycleError::Read(ReadError::Spent { .. })) => {
                    not_judged.push(pull.at.clone());
                    continue;
                }
                branch => branch?,
            };
            let Some(branch) = branch else {
                // Without what its base requires it would be judged by half of the evidence.
                self.skip(&pull.at, "its base branch could not be read", chunk);
                continue;
            };
            let reviews = reviews(self.books, &pull.at, &pull.head.sha).await?;
            visited.push(
                self.ground()
                    .read(pull, Some(&branch), &known[&pull.at], &reviews),
            );
            self.report.visited += 1;
        }
        self.write_down(visited, turn).await?;
        Ok(not_judged)
    }

    /// One that cannot be judged now: it stays where it is, and is tried again.
    fn skip(&mut self, at: &PrRef, why: &str, chunk: &[Candidate]) {
        let since = chunk
            .iter()
            .find(|one| one.at == *at)
            .and_then(|one| one.waiting_since);
        self.again.push((at.clone(), since.unwrap_or(self.now)));
        self.report_skipped(at, why.to_owned());
    }

    fn report_skipped(&mut self, at: &PrRef, error: String) {
        self.report.skipped.push(SkippedPull {
            repo: at.repo.clone(),
            pr: at.number,
            error,
        });
    }

    fn ground(&self) -> Ground<'_> {
        Ground {
            settings: &self.rules.settings,
            routing: &self.routing,
            epoch: self.epoch,
            now: self.now,
        }
    }

    /// Writes down what a chunk came to, in one transaction.
    async fn write_down(&mut self, visited: Vec<Visited>, turn: &mut Turn) -> Result<(), CycleError> {
        let mut batch = Batch::default();
        for one in visited {
            let at = one.visit.at.clone();
            self.report
                .transitions
                .extend(one.visit.transitions.iter().map(Moved::from));
            self.report
                .wanted
                .extend(one.wanted.into_iter().map(|wanted| WantedFor::of(&at, wanted)));
            if one.is_news {
                self.memory.wake(&at);
                batch.visits.push(one.visit);
            }
        }
        if !batch.visits.is_empty() {
            self.record(batch, turn).await?;
        }
        Ok(())
    }

    async fn record(&self, batch: Batch, turn: &mut Turn) -> Result<(), CycleError> {
        let what = format!("write down {} pull requests", batch.visits.len());
        match turn.act(what, self.books.record(batch)).await {
            Ok(written) => Ok(written?),
            // A rehearsal goes on without it.
            Err(EffectError::Withheld { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// What is known of the branch that a pull request goes to, read again where it is old. `None` where it cannot be
    /// read now.
    async fn branch(&mut self, pull: &PullFacts) -> Result<Option<BranchFacts>, CycleError> {
        let key = (pull.at.repo.clone(), pull.base.branch.clone());
        if let Some(known) = self.branches.get(&key) {
            return Ok(known.clone());
        }
        let (repo, name) = key.clone();
        let recorded = self.books.read(move |ledger| ledger.branch(&repo, &name)).await?;
        let fresh = recorded
            .as_ref()
            .is_some_and(|(_, read_at)| self.now - *read_at < BRANCH_FRESH);
        let recorded = recorded.map(|(facts, _)| facts);
        let facts = match fresh {
            true => recorded,
            false => match self.github.branch(&key.0, &key.1, &self.allowance).await {
                Ok(facts) => {
                    self.read_branches.push((key.0.clone(), facts.clone(), self.now));
                    Some(facts)
                }
                Err(error) if is_of_all(&error) => return Err(error.into()),
                Err(spent @ ReadError::Spent { .. }) if recorded.is_none() => return Err(spent.into()),
                // An earlier answer is better than none.
                Err(error) => {
                    tracing::debug!(repo = %key.0, branch = key.1, "the base branch was not read: {error}");
                    recorded
                }
            },
        };
        self.branches.insert(key, facts.clone());
        Ok(facts)
    }

    /// What is recorded of a base branch, whatever its age: for a look that costs nothing.
    pub(super) async fn known_branch(
        &self,
        repo: &RepoName,
        branch: &str,
    ) -> Result<Option<BranchFacts>, LedgerError> {
        let (repo, branch) = (repo.clone(), branch.to_owned());
        let known = self
            .books
            .read(move |ledger| ledger.branch(&repo, &branch))
            .await?;
        Ok(known.map(|(facts, _)| facts))
    }

    /// Writes down what the cycle as a whole came to: last, so that one that was killed begins where it began.
    pub(super) async fn finish(
        mut self,
        left: Vec<(PrRef, Time)>,
        turn: &mut Turn,
    ) -> Result<Report, CycleError> {
        let recorded = self.books.read(|ledger| ledger.waiting()).await?;
        let mut waiting = left.clone();
        waiting.append(&mut self.again);
        waiting.sort_by(|(a, x), (b, y)| (x, a).cmp(&(y, b)));
        let is_cut = self.report.budget.exhausted;
        if is_cut {
            let oldest = left.iter().map(|(_, since)| *since).min();
            self.report
                .attention
                .push(attention::exhausted(&self.report.budget, oldest, self.now));
        }
        let now = self.now;
        let log = self
            .books
            .read(move |ledger| ledger.transitions_since(now.checked_sub_signed(FLIPS_WITHIN).unwrap_or(now)))
            .await?;
        self.report.attention.extend(attention::flipping(&log, now));
        self.report
            .attention
            .extend(attention::nobody_to_page(&self.report));
        let events = is_cut.then(|| Event {
            kind: BUDGET_EXHAUSTED.to_owned(),
            detail: serde_json::json!({ "requests": self.report.budget.requests, "left": left.len() }),
            at: now,
        });
        let turn_outcome = turn.envelope().is_some().then(|| TurnOutcome {
            key: turn.key().to_owned(),
            outcome: serde_json::to_string(&self.report)
                .expect("a report has no map and no failing serializer"),
            at: now,
        });
        let batch = Batch {
            turn: turn_outcome,
            repositories: self.changed_books().await?,
            branches: std::mem::take(&mut self.read_branches),
            // The queue is written in cycles that leave somebody behind, and in the one that empties it.
            waiting: (waiting != recorded).then_some(waiting),
            events: events.into_iter().collect(),
            ..Batch::default()
        };
        if batch != Batch::default() {
            self.record(batch, turn).await?;
        }
        if self.memory.is_time_to_prune(now)
            && let Some(before) = now.checked_sub_signed(self.rules.keep)
        {
            self.books.prune(before).await?;
        }
        Ok(self.report)
    }

    /// The repositories of which something is to be written down.
    async fn changed_books(&self) -> Result<Vec<ledger::RepositoryBook>, LedgerError> {
        let mut changed = Vec::new();
        for book in &self.looked {
            let name = book.facts.repo.clone();
            let known = self.books.read(move |ledger| ledger.repository(&name)).await?;
            if known.as_ref() != Some(book) {
                changed.push(book.clone());
            }
        }
        Ok(changed)
    }
}

fn waiting<'c>(
    candidates: impl Iterator<Item = &'c Candidate>,
    now: Time,
) -> impl Iterator<Item = (PrRef, Time)> {
    candidates.map(move |one| (one.at.clone(), one.waiting_since.unwrap_or(now)))
}

/// Keeps the map's type in one place.
pub(super) type Branches = BTreeMap<(RepoName, String), Option<BranchFacts>>;
