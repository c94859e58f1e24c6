//! What to send next, and what an answer changes: the reading of many pull requests as a pure state
//! machine. The reader asks [`Plan::next`], sends, and tells [`Plan::took`].
//!
//! - Pull requests go in batches of 25, further pages in documents of many.
//! - A request that fails in passing is halved until it is about one pull request or one page; that
//!   one is read once more after everything else, then skipped.
//! - After a rate limit there is one request at a time, and nothing before the limit ends; a request
//!   that meets the limit again after that wait ends the reading.
//! - Whoever is refused, or reaches nobody, stops.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use pulls::facts::Time;
use pulls::{PrRef, RepoName};

use crate::answer::Answer;
use crate::assembly::{Reads, Want};
use crate::batch::{self, Document, Page, Profile};
use crate::error::{ErrorClass, ReadError};
use crate::limits::Limits;

mod sizes;
mod sorted;

pub(crate) use sizes::Sizes;
use sorted::{Sorted, is_no_comparison, worst};

/// Connections in a row that may fail before nobody is there.
const MAX_CONNECTS: u32 = 3;

/// Single pull requests that may fail in passing before anything has succeeded: GitHub is down then,
/// and not one of the pull requests too heavy.
const MAX_SINGLES: u32 = 3;

/// The pause after a connection that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// One request.
#[derive(Debug)]
pub(crate) struct Job {
    what: What,
    /// Whether it has waited for a rate limit to end.
    has_waited: bool,
}

#[derive(Debug)]
enum What {
    Pulls(Vec<usize>),
    Pages(Vec<Page>),
}

/// What the reader does next.
#[derive(Debug)]
pub(crate) enum Next {
    Send(Job),
    /// Nothing may be sent before that long.
    Wait(Duration),
    /// An answer must come first.
    Idle,
    Done,
}

#[derive(Debug)]
struct Slot<R: Reads> {
    asked: PrRef,
    state: State<R>,
    has_failed: bool,
}

#[derive(Debug)]
enum State<R: Reads> {
    Waiting,
    Reading(Box<R>),
    Found(Box<R::Facts>),
    Failed(ReadError),
}

/// The reading of many pull requests.
#[derive(Debug)]
pub(crate) struct Plan<R: Reads> {
    profile: Profile,
    limits: Limits,
    slots: Vec<Slot<R>>,
    queue: VecDeque<Job>,
    /// Pages that wait for a document to be filled.
    pages: Vec<Page>,
    /// What failed alone, to be read once more at the end.
    again: Vec<Job>,
    in_flight: usize,
    is_limited: bool,
    not_before: Option<Time>,
    successes: u32,
    connects_failed: u32,
    singles_failed: u32,
    stopped: Option<ReadError>,
    /// Whether no more requests are allowed.
    is_spent: bool,
    /// Whether further pages go before new batches.
    is_frugal: bool,
    /// Of each repository: the most of a batch that was answered, and whether a batch failed.
    experience: HashMap<RepoName, (usize, bool)>,
}

/// What a plan came to.
#[derive(Debug)]
pub(crate) struct Outcome<F> {
    pub(crate) found: Vec<F>,
    pub(crate) skipped: Vec<(PrRef, ReadError)>,
    /// Those that no request was left for.
    pub(crate) left: Vec<PrRef>,
    pub(crate) stopped: Option<ReadError>,
}

/// How long to wait for a rate limit that ends at `until`, or `None` where that is too long.
pub(crate) fn limit_wait(until: Option<Time>, now: Time, limits: &Limits) -> Option<Duration> {
    let left = until
        .and_then(|until| (until - now).to_std().ok())
        .unwrap_or_default();
    let wait = left.max(limits.retry_wait);
    (wait <= limits.longest_wait.max(limits.retry_wait)).then_some(wait)
}

impl<R: Reads> Plan<R> {
    /// Each of `refs` is read once, however often it is named. The sizes say what is read of it, too.
    pub(crate) fn new(refs: &[PrRef], limits: &Limits, sizes: &Sizes) -> Self {
        let mut seen = std::collections::HashSet::new();
        let slots: Vec<Slot<R>> = refs
            .iter()
            .filter(|at| seen.insert(*at))
            .map(|at| Slot {
                asked: at.clone(),
                state: State::Waiting,
                has_failed: false,
            })
            .collect();
        let batches = sizes.cut(slots.iter().map(|slot| &slot.asked));
        let queue = batches
            .into_iter()
            .map(|places| Job::new(What::Pulls(places)))
            .collect();
        Self {
            profile: sizes.profile(),
            limits: limits.clone(),
            slots,
            queue,
            pages: Vec::new(),
            again: Vec::new(),
            in_flight: 0,
            is_limited: false,
            not_before: None,
            successes: 0,
            connects_failed: 0,
            singles_failed: 0,
            stopped: None,
            is_spent: false,
            is_frugal: false,
            experience: HashMap::new(),
        }
    }

    /// How many were found or failed, and how many there are.
    pub(crate) fn progress(&self) -> (usize, usize) {
        let done = self.slots.iter().filter(|slot| slot.is_done()).count();
        (done, self.slots.len())
    }

    pub(crate) fn next(&mut self, now: Time) -> Next {
        let idle_or_done = if self.in_flight == 0 {
            Next::Done
        } else {
            Next::Idle
        };
        if self.stopped.is_some() || self.is_spent {
            return idle_or_done;
        }
        let allowed = if self.is_limited {
            1
        } else {
            self.limits.in_flight.max(1)
        };
        if self.in_flight >= allowed {
            return Next::Idle;
        }
        if let Some(wait) = self
            .not_before
            .and_then(|at| (at - now).to_std().ok())
            .filter(|wait| !wait.is_zero())
        {
            return if self.in_flight == 0 {
                Next::Wait(wait)
            } else {
                Next::Idle
            };
        }
        self.not_before = None;
        // What was begun is finished before something else is, where not all can be.
        let begins = !self.is_frugal || self.pages.is_empty();
        if let Some(job) = begins.then(|| self.queue.pop_front()).flatten() {
            return self.send(job);
        }
        self.pages.retain(|page| !self.slots[page.slot].is_done());
        if !self.pages.is_empty() {
            let fitting = batch::fitting(&self.pages);
            // Answers on their way may bring pages that fit into the same document.
            if fitting == self.pages.len() && self.in_flight > 0 {
                return Next::Idle;
            }
            let job = Job::new(What::Pages(self.pages.drain(..fitting.max(1)).collect()));
            return self.send(job);
        }
        if let Some(job) = self.queue.pop_front() {
            return self.send(job);
        }
        if self.in_flight > 0 {
            return Next::Idle;
        }
        self.queue.extend(self.again.drain(..));
        match self.queue.pop_front() {
            Some(job) => self.send(job),
            None => Next::Done,
        }
    }

    fn send(&mut self, job: Job) -> Next {
        self.in_flight += 1;
        Next::Send(job)
    }

    /// No request is left for this job, nor for another one. What is on its way may still come in.
    pub(crate) fn spent(&mut self, _: Job) {
        self.in_flight -= 1;
        self.is_spent = true;
    }

    /// Few requests are left.
    pub(crate) fn save(&mut self, is_frugal: bool) {
        self.is_frugal = is_frugal;
    }

    /// The document of a job.
    pub(crate) fn document(&self, job: &Job) -> Document {
        match &job.what {
            What::Pulls(slots) => {
                batch::pulls(self.profile, slots.iter().map(|slot| &self.slots[*slot].asked))
            }
            What::Pages(pages) => batch::pages(self.profile, pages),
        }
    }

    /// Takes in how a job went.
    pub(crate) fn took(&mut self, job: Job, result: Result<Answer, ReadError>, now: Time) {
        self.in_flight -= 1;
        match result {
            Ok(answer) => {
                self.connects_failed = 0;
                self.note(&job, |(answered, _), size| *answered = size.max(*answered));
                match job.what {
                    What::Pulls(slots) => self.took_pulls(&slots, &answer),
                    What::Pages(pages) => self.took_pages(pages, &answer),
                }
            }
            Err(ReadError::RateLimited { until }) => self.met_limit(job, until, now),
            Err(error @ ReadError::Unreachable { .. }) => {
                // Those that failed together with another one count once.
                if self.not_before.is_none_or(|at| at <= now) {
                    self.connects_failed += 1;
                    self.pause(now, PAUSE.min(self.limits.retry_wait));
                }
                self.queue.push_front(job);
                if self.connects_failed >= MAX_CONNECTS {
                    self.stop(error);
                }
            }
            Err(error) if error.is_passing() => {
                self.note(&job, |(_, has_failed), size| *has_failed |= size > 1);
                self.failed(job, error);
            }
            Err(error @ ReadError::Malformed { .. }) => {
                for slot in job.slots() {
                    self.fail(slot, error.clone());
                }
            }
            Err(error) => self.stop(error),
        }
    }

    /// What was found, in the order asked; two names of one pull request give it once.
    pub(crate) fn finish(mut self) -> Outcome<R::Facts> {
        let mut outcome = Outcome {
            found: Vec::new(),
            skipped: Vec::new(),
            left: Vec::new(),
            stopped: self.stopped.take(),
        };
        let mut seen = std::collections::HashSet::new();
        for slot in self.slots {
            match slot.state {
                State::Found(facts) => {
                    if seen.insert(R::place(&facts).clone()) {
                        outcome.found.push(*facts);
                    }
                }
                State::Failed(error) => outcome.skipped.push((slot.asked, error)),
                State::Waiting | State::Reading(_) if self.is_spent && outcome.stopped.is_none() => {
                    outcome.left.push(slot.asked);
                }
                State::Waiting | State::Reading(_) => {
                    let error = outcome.stopped.clone().unwrap_or_else(|| ReadError::Malformed {
                        what: "an answer that asks for nothing and ends nothing".to_owned(),
                    });
                    outcome.skipped.push((slot.asked, error));
                }
            }
        }
        outcome
    }

    /// What the run has shown of the sizes that work. One in which nothing was answered shows nothing.
    pub(crate) fn teach(&self, sizes: &mut Sizes) {
        for (repo, (answered, has_failed)) in &self.experience {
            if *answered > 0 {
                sizes.learn(repo, *answered, *has_failed);
            }
        }
    }

    fn note(&mut self, job: &Job, change: impl Fn(&mut (usize, bool), usize)) {
        if let What::Pulls(slots) = &job.what {
            for slot in slots {
                let repo = self.slots[*slot].asked.repo.clone();
                change(self.experience.entry(repo).or_default(), slots.len());
            }
        }
    }

    /// Nothing more is sent; what is on its way may still come in.
    fn stop(&mut self, error: ReadError) {
        self.stopped.get_or_insert(error);
        self.queue.clear();
        self.pages.clear();
        self.again.clear();
    }

    fn pause(&mut self, now: Time, wait: Duration) {
        self.not_before = self.not_before.max(Some(now + wait));
    }

    fn met_limit(&mut self, mut job: Job, until: Option<Time>, now: Time) {
        self.is_limited = true;
        match limit_wait(until, now, &self.limits) {
            Some(wait) if !job.has_waited => {
                job.has_waited = true;
                self.pause(now, wait);
                self.queue.push_front(job);
            }
            _ => self.stop(ReadError::RateLimited { until }),
        }
    }

    /// A request failed in passing: in two, or once more at the end, or given up.
    fn failed(&mut self, job: Job, error: ReadError) {
        match job.halve() {
            Ok([first, second]) => {
                self.queue.push_front(second);
                self.queue.push_front(first);
            }
            Err(mut single) => {
                if self.successes == 0 {
                    self.singles_failed += 1;
                    if self.singles_failed >= MAX_SINGLES {
                        return self.stop(error);
                    }
                }
                let is_second = match &mut single.what {
                    What::Pulls(slots) => slots
                        .iter()
                        .any(|slot| std::mem::replace(&mut self.slots[*slot].has_failed, true)),
                    What::Pages(pages) => pages
                        .iter_mut()
                        .any(|page| std::mem::replace(&mut page.is_retry, true)),
                };
                if is_second {
                    for slot in single.slots() {
                        self.fail(slot, error.clone());
                    }
                } else {
                    self.again.push(single);
                }
            }
        }
    }

    fn fail(&mut self, slot: usize, error: ReadError) {
        let slot = &mut self.slots[slot];
        if !slot.is_done() {
            slot.state = State::Failed(error);
        }
    }

    fn took_pulls(&mut self, slots: &[usize], answer: &Answer) {
        let aliases: Vec<String> = (0..slots.len()).map(batch::pull_alias).collect();
        let sorted = Sorted::new(&aliases, answer);
        let (mut spoiled, mut again) = (Vec::new(), Vec::new());
        for ((slot, alias), errors) in slots.iter().zip(&aliases).zip(&sorted.by_alias) {
            let asked = self.slots[*slot].asked.clone();
            if let Some(error) = worst(
                errors.iter().filter(|error| !is_no_comparison(error)),
                Some(&asked),
            ) {
                if error.is_passing() && !std::mem::replace(&mut self.slots[*slot].has_failed, true) {
                    again.push(*slot);
                } else {
                    self.fail(*slot, error);
                }
                continue;
            }
            if sorted.spoils(answer, alias) {
                spoiled.push(*slot);
                continue;
            }
            match R::begin(self.profile, &asked, answer, alias) {
                Ok((assembly, wants)) => {
                    let at = assembly.at().clone();
                    self.slots[*slot].state = State::Reading(Box::new(assembly));
                    self.want(*slot, &at, wants);
                }
                Err(error) => self.fail(*slot, error),
            }
        }
        self.successes += u32::from(spoiled.len() < slots.len());
        if !again.is_empty() {
            self.again.push(Job::new(What::Pulls(again)));
        }
        if let Some(error) = sorted.whole.first().filter(|_| !spoiled.is_empty()) {
            self.spoiled(Job::new(What::Pulls(spoiled)), error.meaning());
        }
    }

    fn took_pages(&mut self, pages: Vec<Page>, answer: &Answer) {
        let aliases: Vec<String> = (0..pages.len()).map(batch::page_alias).collect();
        let sorted = Sorted::new(&aliases, answer);
        let asked = pages.len();
        let (mut spoiled, mut again) = (Vec::new(), Vec::new());
        for ((mut page, alias), errors) in pages.into_iter().zip(&aliases).zip(&sorted.by_alias) {
            if let Some(error) = worst(errors.iter(), None) {
                if error.is_passing() && !std::mem::replace(&mut page.is_retry, true) {
                    again.push(page);
                } else {
                    self.fail(page.slot, error);
                }
                continue;
            }
            if sorted.spoils(answer, alias) {
                spoiled.push(page);
                continue;
            }
            let State::Reading(assembly) = &mut self.slots[page.slot].state else {
                continue;
            };
            let text = answer.data.get(alias).map_or("null", |raw| raw.get());
            match assembly.absorb(&page.of, text) {
                Ok(wants) => self.want(page.slot, &page.at, wants),
                Err(error) => self.fail(page.slot, error),
            }
        }
        self.successes += u32::from(spoiled.len() < asked);
        if !again.is_empty() {
            self.again.push(Job::new(What::Pages(again)));
        }
        if let Some(error) = sorted.whole.first().filter(|_| !spoiled.is_empty()) {
            self.spoiled(Job::new(What::Pages(spoiled)), error.meaning());
        }
    }

    /// An error that names no place has taken these with it.
    fn spoiled(&mut self, job: Job, error: ReadError) {
        if error.is_passing() {
            self.failed(job, error);
        } else {
            for slot in job.slots() {
                self.fail(slot, error.clone());
            }
        }
    }

    /// Notes what a pull request still wants, or that it was read whole.
    fn want(&mut self, slot: usize, at: &PrRef, wants: Vec<Want>) {
        self.pages.extend(wants.into_iter().map(|(of, after)| Page {
            slot,
            at: at.clone(),
            of,
            after,
            is_retry: false,
        }));
        let state = &mut self.slots[slot].state;
        *state = match std::mem::replace(state, State::Waiting) {
            State::Reading(assembly) if assembly.is_whole() => State::Found(Box::new(assembly.finish())),
            other => other,
        };
    }
}

impl<R: Reads> Slot<R> {
    fn is_done(&self) -> bool {
        matches!(self.state, State::Found(_) | State::Failed(_))
    }
}

impl Job {
    fn new(what: What) -> Self {
        Self {
            what,
            has_waited: false,
        }
    }

    fn slots(&self) -> Vec<usize> {
        match &self.what {
            What::Pulls(slots) => slots.clone(),
            What::Pages(pages) => pages.iter().map(|page| page.slot).collect(),
        }
    }

    /// The two halves, or the job itself where it is about one thing.
    fn halve(self) -> Result<[Self; 2], Self> {
        fn split<T>(mut all: Vec<T>) -> (Vec<T>, Vec<T>) {
            let second = all.split_off(all.len().div_ceil(2));
            (all, second)
        }
        let (first, second) = match self.what {
            What::Pulls(slots) if slots.len() > 1 => {
                let (first, second) = split(slots);
                (What::Pulls(first), What::Pulls(second))
            }
            What::Pages(pages) if pages.len() > 1 => {
                let (first, second) = split(pages);
                (What::Pages(first), What::Pages(second))
            }
            single => {
                return Err(Self {
                    what: single,
                    has_waited: self.has_waited,
                });
            }
        };
        let half = |what| Self {
            what,
            has_waited: self.has_waited,
        };
        Ok([half(first), half(second)])
    }
}

/// What stands behind an outcome with nothing in it: GitHub was not there, whatever the last words.
pub(crate) fn unreachable(error: ReadError, origin: &str) -> ReadError {
    match error {
        ReadError::Server { .. } | ReadError::TimedOut { .. } | ReadError::CutShort { .. } => {
            ReadError::Unreachable {
                origin: origin.to_owned(),
                why: error.to_string(),
            }
        }
        other => other,
    }
}

impl<F> Outcome<F> {
    /// Where nothing at all was found because GitHub failed, limited or refused, that is why the
    /// reading stopped, also when it went on to the end.
    pub(crate) fn settle(&mut self, origin: &str) {
        if self.stopped.is_none() && self.found.is_empty() && self.left.is_empty() {
            let grave = |error: &ReadError| {
                error.class() != ErrorClass::Other || matches!(error, ReadError::NotJson { .. })
            };
            if !self.skipped.is_empty() && self.skipped.iter().all(|(_, error)| grave(error)) {
                self.stopped = self.skipped.first().map(|(_, error)| error.clone());
            }
        }
        self.stopped = self.stopped.take().map(|error| unreachable(error, origin));
    }
}

#[cfg(test)]
mod tests;
