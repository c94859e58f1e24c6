//! One cycle: find what changed, read it, decide, write it down.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::TimeDelta;
use github::{Allowance, ErrorClass, Progress, ReadError, Reader};
use ledger::{Card, LedgerError, RepositoryBook};
use lifecycle::maintain::{self, Deadline, DeadlineKind, Epoch, Looked};
use pulls::PrRef;
use pulls::RepoName;
use pulls::facts::{PullState, Time};
use pulls::upkeep::BranchFacts;
use runtime::{EffectError, Turn};

use super::agenda::{Agenda, Candidate, Why};
use super::attention;
use super::books::Books;
use super::report::{Report, Spent};
use super::visit::{Known, Routing};
use super::visits::Branches;
use super::{FULL_PASS_EVERY, Rules};

/// Pull requests that are read and written down together: what five requests at a time bring. A cycle that is
/// killed loses no more than one of these.
pub(super) const CHUNK: usize = 125;

/// Pull requests that one cycle reads again for the full pass alone: so many that 10,000 are through within six
/// hours, and few beside what did change.
const FULL_PASS_CHUNK: usize = 100;

/// How old what is known of a base branch may be when a pull request onto it is judged.
pub(super) const BRANCH_FRESH: TimeDelta = TimeDelta::minutes(15);

/// How old what is known of a repository may be: its `CODEOWNERS`, its name, whether it is archived.
const REPOSITORY_FRESH: TimeDelta = TimeDelta::hours(1);

/// How far the list of updates reaches back before the newest change that was seen: GitHub writes times in whole
/// seconds, and its replicas lag behind one another.
const FEED_OVERLAP: TimeDelta = TimeDelta::minutes(2);

/// A head whose checks are pending is looked at each takt, and the longer nothing comes of it the seldomer: after a
/// twentieth of the time that it has been so, at most this.
const SELDOMEST_LOOK: TimeDelta = TimeDelta::hours(1);

/// How often the ledger is pruned.
const PRUNE_EVERY: TimeDelta = TimeDelta::hours(24);

/// The event that says that the budget cut a cycle.
pub(super) const BUDGET_EXHAUSTED: &str = "PR_STATE_BUDGET_EXHAUSTED";

/// Why a cycle came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CycleError {
    /// GitHub could not be read at all.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The ledger could not be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// An effect did not come about.
    #[error(transparent)]
    Effect(#[from] EffectError),
    /// A glob of the configuration is none.
    #[error(transparent)]
    Glob(#[from] maintain::BadGlob),
}

/// What an actor remembers from one cycle to the next. After a restart all of it is found out once more.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// When heads were last looked at.
    polls: HashMap<PrRef, Time>,
    /// Rows whose deadline has passed and that wait for nothing but a look at their head, with the moment at which
    /// there is more to do; forgotten when something of them is written.
    resting: HashMap<PrRef, Option<Time>>,
    /// When the ledger was last pruned.
    pruned_at: Option<Time>,
}

impl Memory {
    /// Something of a pull request was written.
    pub(super) fn wake(&mut self, at: &PrRef) {
        self.resting.remove(at);
    }

    /// Whether the ledger is to be pruned; then it counts as done.
    pub(super) fn is_time_to_prune(&mut self, now: Time) -> bool {
        let is_time = self.pruned_at.is_none_or(|at| now - at >= PRUNE_EVERY);
        if is_time {
            self.pruned_at = Some(now);
        }
        is_time
    }

    fn rests(&self, at: &PrRef, now: Time) -> bool {
        self.resting
            .get(at)
            .is_some_and(|until| until.is_none_or(|until| until > now))
    }
}

/// One cycle on its way.
pub(super) struct Cycle<'a> {
    pub(super) github: &'a Reader,
    pub(super) books: &'a Books,
    pub(super) rules: &'a Rules,
    pub(super) progress: &'a (dyn Fn(Progress) + Send + Sync),
    pub(super) memory: &'a mut Memory,
    pub(super) now: Time,
    pub(super) allowance: Allowance,
    pub(super) routing: Routing,
    pub(super) branches: Branches,
    /// Branches that were read, as they are written down at the end.
    pub(super) read_branches: Vec<(RepoName, BranchFacts, Time)>,
    /// Repositories that were looked at, as they are written down at the end.
    pub(super) looked: Vec<RepositoryBook>,
    /// Pull requests that could not be read, which are tried again.
    pub(super) again: Vec<(PrRef, Time)>,
    pub(super) epoch: Epoch,
    pub(super) report: Report,
}

impl<'a> Cycle<'a> {
    pub(super) fn new(
        github: &'a Reader,
        books: &'a Books,
        rules: &'a Rules,
        progress: &'a (dyn Fn(Progress) + Send + Sync),
        memory: &'a mut Memory,
        now: Time,
    ) -> Self {
        Self {
            github,
            books,
            rules,
            progress,
            memory,
            now,
            allowance: Allowance::of(rules.request_budget),
            routing: Routing::default(),
            branches: Branches::new(),
            read_branches: Vec::new(),
            looked: Vec::new(),
            again: Vec::new(),
            epoch: Epoch::default(),
            report: Report::at(now, rules.request_budget),
        }
    }

    /// The whole cycle. What fails for one repository or one pull request is in the report.
    pub(super) async fn run(mut self, turn: &mut Turn) -> Result<Report, CycleError> {
        let points = self.github.budget().map_or(0, |budget| budget.spent);
        self.epoch = self.books.read(|ledger| ledger.epoch()).await?;
        self.routing = Routing::compile_labels(&self.rules.settings)?;
        let mut agenda = self.left_over().await?;
        for repo in &self.rules.repos {
            match self.look(repo, &mut agenda).await {
                // What is not asked now is asked in the next cycle: nothing was written down of having asked.
                Ok(()) | Err(CycleError::Read(ReadError::Spent { .. })) => {}
                Err(CycleError::Read(error)) if !is_of_all(&error) => {
                    self.report
                        .attention
                        .push(attention::unreadable(repo, &error, self.now));
                }
                Err(error) => return Err(error),
            }
            turn.progress();
        }
        let left = self.visit_all(agenda, turn).await?;
        let after = self.github.budget().map_or(0, |budget| budget.spent);
        self.report.budget = Spent {
            requests: self.allowance.spent(),
            of: self.rules.request_budget,
            points: after.saturating_sub(points),
            exhausted: self.allowance.is_exhausted() || !left.is_empty(),
            left: left.len(),
        };
        self.finish(left, turn).await
    }

    /// Who waits since an earlier cycle that the budget cut.
    async fn left_over(&self) -> Result<Agenda, CycleError> {
        let waiting = self.books.read(|ledger| ledger.waiting()).await?;
        let mut agenda = Agenda::default();
        for (at, since) in waiting {
            let read_at = self.read_at(&at).await?;
            // One that was read since is not waited for any more.
            if read_at.is_none_or(|read_at| read_at < since) {
                agenda.add(Candidate {
                    at,
                    why: Why::Changed,
                    waiting_since: Some(since),
                    last_read: read_at,
                });
            }
        }
        Ok(agenda)
    }

    async fn read_at(&self, at: &PrRef) -> Result<Option<Time>, LedgerError> {
        let at = at.clone();
        let card = self.books.read(move |ledger| ledger.card(&at)).await?;
        Ok(card.map(|card| card.read_at))
    }

    /// Finds what of a repository is to be looked at.
    async fn look(&mut self, asked: &RepoName, agenda: &mut Agenda) -> Result<(), CycleError> {
        let mut book = self.repository(asked).await?;
        let repo = book.facts.repo.clone();
        self.routing.add(&book.facts, &self.rules.settings)?;
        let pass_is_due = book
            .full_pass_at
            .is_none_or(|at| self.now - at >= FULL_PASS_EVERY);
        let mut newest = book.feed_cursor;
        if pass_is_due {
            newest = newest.max(self.full_pass(&repo, agenda).await?);
            book.full_pass_at = Some(self.now);
        }
        if let Some(cursor) = book.feed_cursor {
            newest = newest.max(self.feed(&repo, cursor, agenda).await?);
        }
        book.feed_cursor = newest.or(Some(self.now));
        self.read_long_ago(&repo, agenda).await?;
        self.due(&repo, agenda).await?;
        self.poll(&repo, agenda).await?;
        self.looked.push(book);
        Ok(())
    }
}

impl Cycle<'_> {
    /// What is known of a repository, read again where it is old. Under a new name its rows are carried over.
    async fn repository(&mut self, asked: &RepoName) -> Result<RepositoryBook, CycleError> {
        let name = asked.clone();
        let known = self.books.read(move |ledger| ledger.repository(&name)).await?;
        if let Some(known) = known.filter(|known| self.now - known.read_at < REPOSITORY_FRESH) {
            return Ok(known);
        }
        let facts = self.github.repository_facts(asked, &self.allowance).await?;
        if facts.repo.as_str() != asked.as_str() {
            self.books.rename(asked.clone(), facts.repo.clone()).await?;
        }
        let name = facts.repo.clone();
        let known = self.books.read(move |ledger| ledger.repository(&name)).await?;
        Ok(RepositoryBook {
            facts,
            read_at: self.now,
            feed_cursor: known.as_ref().and_then(|known| known.feed_cursor),
            full_pass_at: known.and_then(|known| known.full_pass_at),
        })
    }

    /// Lists all open pull requests: those that are not known are read, and those that are known as open and are not
    /// listed are read once more.
    async fn full_pass(&mut self, repo: &RepoName, agenda: &mut Agenda) -> Result<Option<Time>, CycleError> {
        let listed = self.github.open_pulls_of(repo, &self.allowance).await?;
        let name = repo.clone();
        let known = self.books.read(move |ledger| ledger.cards(Some(&name))).await?;
        let known: BTreeMap<PrRef, Card> = known.into_iter().map(|card| (card.at.clone(), card)).collect();
        let open: BTreeSet<&PrRef> = listed.iter().collect();
        for at in listed.iter().filter(|at| !known.contains_key(at)) {
            agenda.add(Candidate {
                at: at.clone(),
                why: Why::Unseen,
                waiting_since: None,
                last_read: None,
            });
        }
        for card in known
            .values()
            .filter(|card| card.is_open && !open.contains(&card.at))
        {
            agenda.add(changed(card));
        }
        Ok(self.now.checked_sub_signed(FEED_OVERLAP))
    }

    /// What was updated since the newest change that was seen.
    async fn feed(
        &mut self,
        repo: &RepoName,
        cursor: Time,
        agenda: &mut Agenda,
    ) -> Result<Option<Time>, CycleError> {
        let since = cursor.checked_sub_signed(FEED_OVERLAP).unwrap_or(cursor);
        let feed = self.github.touched(repo, since, &self.allowance).await?;
        if !feed.is_whole {
            // More changed than a list shows: everything is listed again.
            self.full_pass(repo, agenda).await?;
        }
        let newest = feed.touched.iter().map(|touched| touched.updated_at).max();
        for touched in feed.touched {
            let at = touched.at.clone();
            let card = self.books.read(move |ledger| ledger.card(&at)).await?;
            match card {
                // It was read when it had been updated already.
                Some(card) if card.updated_at >= touched.updated_at => {}
                Some(card) => agenda.add(changed(&card)),
                None if touched.state == PullState::Open => agenda.add(Candidate {
                    at: touched.at,
                    why: Why::Unseen,
                    waiting_since: None,
                    last_read: None,
                }),
                // One that ended before it was ever seen is no concern of anybody's.
                None => {}
            }
        }
        Ok(newest)
    }

    /// Those that were read longest ago, for the full pass.
    async fn read_long_ago(&mut self, repo: &RepoName, agenda: &mut Agenda) -> Result<(), CycleError> {
        let Some(before) = self.now.checked_sub_signed(FULL_PASS_EVERY) else {
            return Ok(());
        };
        let name = repo.clone();
        let old = self
            .books
            .read(move |ledger| ledger.read_before(&name, before, FULL_PASS_CHUNK))
            .await?;
        for card in old {
            agenda.add(Candidate {
                why: Why::FullPass,
                ..changed(&card)
            });
        }
        Ok(())
    }

    /// Rows whose deadline passed. What is only to be looked at again is polled, and what waits for nothing that
    /// GitHub knows is judged from what is recorded.
    async fn due(&mut self, repo: &RepoName, agenda: &mut Agenda) -> Result<(), CycleError> {
        let (name, now) = (repo.clone(), self.now);
        let due = self
            .books
            .read(move |ledger| ledger.due(&name, now, usize::MAX))
            .await?;
        for at in due {
            if self.memory.rests(&at, self.now) {
                continue;
            }
            let known = Known::of(self.books, &at).await?;
            let Some((evidence, card)) = known.evidence.as_ref().zip(known.card.as_ref()) else {
                continue;
            };
            let deadlines = maintain::deadlines(evidence, evidence.now, &self.rules.settings);
            let (passed, to_come): (Vec<&Deadline>, Vec<&Deadline>) =
                deadlines.iter().partition(|deadline| deadline.at <= self.now);
            let why = passed.iter().filter_map(|deadline| match deadline.what {
                DeadlineKind::Route => Some(Why::Recorded),
                DeadlineKind::Stale | DeadlineKind::Park | DeadlineKind::Close => Some(Why::Due),
                DeadlineKind::NeverReported | DeadlineKind::Sweep => Some(Why::Recorded),
                // Looked at by the poll, by the scan of disputes, and by whoever says things.
                DeadlineKind::Reread | DeadlineKind::DisputeScan | DeadlineKind::Retry => None,
            });
            match why.max() {
                Some(why) => agenda.add(Candidate { why, ..changed(card) }),
                None => {
                    let until = to_come.iter().map(|deadline| deadline.at).min();
                    self.memory.resting.insert(at, until);
                }
            }
        }
        Ok(())
    }

    /// Looks at the heads whose checks or mergeability are not final. What changed is judged at once; what must be read
    /// in whole goes on the agenda.
    async fn poll(&mut self, repo: &RepoName, agenda: &mut Agenda) -> Result<(), CycleError> {
        let name = repo.clone();
        let pending = self.books.read(move |ledger| ledger.pending(&name)).await?;
        let due: Vec<PrRef> = pending
            .iter()
            .filter(|pending| {
                !agenda.has(&pending.at)
                    && is_due(self.memory.polls.get(&pending.at), pending.since, self.now)
            })
            .map(|pending| pending.at.clone())
            .collect();
        self.memory
            .polls
            .retain(|at, _| at.repo != *repo || pending.iter().any(|pending| pending.at == *at));
        if due.is_empty() {
            return Ok(());
        }
        let heads = self.github.heads(&due, &self.allowance).await;
        if let Some(error) = heads.stopped.filter(|_| heads.found.is_empty()) {
            return Err(error.into());
        }
        for head in heads.found {
            self.memory.polls.insert(head.at.clone(), self.now);
            let known = Known::of(self.books, &head.at).await?;
            let Some((evidence, card)) = known.evidence.as_ref().zip(known.card.as_ref()) else {
                continue;
            };
            let branch = self.known_branch(repo, &evidence.base.branch).await?;
            match maintain::with_head(evidence, &head, branch.as_ref(), self.now) {
                Looked::Same => {}
                Looked::Changed(looked) => agenda.judge(changed(card), *looked),
                Looked::ReadAgain => agenda.add(changed(card)),
            }
        }
        Ok(())
    }
}

fn changed(card: &Card) -> Candidate {
    Candidate {
        at: card.at.clone(),
        why: Why::Changed,
        waiting_since: None,
        last_read: Some(card.read_at),
    }
}

/// Whether a pending head is looked at in this cycle.
fn is_due(last: Option<&Time>, since: Time, now: Time) -> bool {
    let Some(last) = last else { return true };
    let every = ((now - since) / 20).min(SELDOMEST_LOOK);
    now - *last >= every
}

/// Whether an error is about GitHub as a whole, so that no other repository fares better. That the cycle's own budget
/// is spent is none.
pub(super) fn is_of_all(error: &ReadError) -> bool {
    error.class() != ErrorClass::Other && !matches!(error, ReadError::Spent { .. })
}
