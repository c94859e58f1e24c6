//! What the dispatcher's lines say of pull requests: in which bucket each was, since when, and how it moved.

use std::collections::{BTreeMap, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};
use lifecycle::Bucket;
use pulls::PrRef;

use super::{BucketNumbers, Flapping, Move, NAMED_FLAPS, Series, Stay, milliseconds};
use crate::range::Range;
use crate::records::StateLine;
use crate::spread::Values;

/// A pull request that this many later runs did not name has gone: merged, closed, or no longer looked for. One
/// run may leave it out for another reason, being about another repository or unable to read it.
const MISSED_RUNS: u64 = 2;

/// And not before this long, since several runs by hand can follow each other within a minute.
const MISSED_FOR: TimeDelta = TimeDelta::hours(1);

/// Where nobody has looked for longer than this, nobody knows how a stay went on.
const LOOKED_WITHIN: TimeDelta = TimeDelta::days(1);

/// Within this long, changes and returns count as going back and forth.
const FLAP_WINDOW: TimeDelta = TimeDelta::days(7);

/// So many changes within [`FLAP_WINDOW`] are flapping.
const FLAP_CHANGES: usize = 3;

/// How many buckets of a path are kept, the latest ones.
const PATH: usize = 12;

/// The dispatcher's lines, as they come.
#[derive(Debug, Default)]
pub(super) struct Stays {
    pulls: BTreeMap<PrRef, Pull>,
    buckets: [BucketValues; 6],
    moves: BTreeMap<(Bucket, Bucket), u64>,
    run: u64,
    /// The time of the run as it stands in its lines.
    run_ts: Option<DateTime<Utc>>,
    /// The latest time of any run: where the clock went back, time stands still here.
    latest: Option<DateTime<Utc>>,
}

#[derive(Debug, Default)]
struct BucketValues {
    entered: u64,
    now: u64,
    times: Values,
    longest: Option<Stay>,
}

/// What is known of one pull request.
#[derive(Debug)]
struct Pull {
    bucket: Bucket,
    since: DateTime<Utc>,
    seen: DateTime<Utc>,
    seen_in_run: u64,
    /// When it left each bucket last.
    left: [Option<DateTime<Utc>>; 6],
    /// Its changes within the last [`FLAP_WINDOW`].
    recent: VecDeque<DateTime<Utc>>,
    changes: u64,
    returns: u64,
    flaps: bool,
    path: VecDeque<Bucket>,
}

/// What the lines came to.
pub(super) struct Stayed {
    pub last_dispatch: Option<DateTime<Utc>>,
    pub buckets: Vec<BucketNumbers>,
    pub moves: Vec<Move>,
    pub flapping_total: u64,
    pub flapping: Vec<Flapping>,
}

impl Stays {
    pub(super) fn take(&mut self, line: &StateLine, range: &Range, series: &mut Series) {
        let ts = match line {
            StateLine::Classified(line) => line.ts,
            StateLine::Nothing { ts } => *ts,
        };
        if ts >= range.until() {
            return;
        }
        if self.run_ts != Some(ts) {
            self.run += 1;
            self.run_ts = Some(ts);
        }
        let now = self.latest.map_or(ts, |latest| latest.max(ts));
        self.latest = Some(now);
        let StateLine::Classified(line) = line else {
            return;
        };
        let run = self.run;
        let at = line.at();
        let Some(pull) = self.pulls.get_mut(&at) else {
            self.buckets[place(line.bucket)].enter(now, range);
            self.pulls.insert(at, Pull::first(line.bucket, now, run));
            return;
        };
        let gone = pull.is_gone(run - 1, now);
        if gone || pull.bucket != line.bucket {
            let end = if gone { pull.seen } else { now };
            self.buckets[place(pull.bucket)].leave(&at, pull, end, range);
            let bucket = place(pull.bucket);
            series.each_between(pull.since, Some(end), |here| here.buckets[bucket] += 1);
            self.buckets[place(line.bucket)].enter(now, range);
        }
        if pull.bucket != line.bucket {
            if range.has(now) {
                *self.moves.entry((pull.bucket, line.bucket)).or_default() += 1;
                pull.changed(line.bucket, now);
            }
            pull.left[place(pull.bucket)] = Some(now);
            pull.bucket = line.bucket;
            pull.since = now;
        } else if gone {
            pull.since = now;
        }
        pull.seen = now;
        pull.seen_in_run = run;
    }

    pub(super) fn finish(mut self, range: &Range, series: &mut Series) -> Stayed {
        let latest = self.latest.unwrap_or(range.until());
        let looks = range.until() - latest <= LOOKED_WITHIN;
        let mut flapping = Vec::new();
        for (at, pull) in self.pulls {
            let bucket = place(pull.bucket);
            let gone = pull.is_gone(self.run, latest);
            let (end, until) = match (gone, looks) {
                (true, _) => (pull.seen, Some(pull.seen)),
                (false, false) => (latest, Some(latest)),
                (false, true) => (range.until(), None),
            };
            self.buckets[bucket].leave(&at, &pull, end, range);
            self.buckets[bucket].now += u64::from(!gone);
            series.each_between(pull.since, until, |here| here.buckets[bucket] += 1);
            if pull.flaps {
                flapping.push(Flapping {
                    repo: at.repo,
                    pr: at.number,
                    changes: pull.changes,
                    returns: pull.returns,
                    path: pull.path.into(),
                });
            }
        }
        flapping.sort_by_key(|one| (std::cmp::Reverse(one.changes), one.at()));
        let flapping_total = u64::try_from(flapping.len()).unwrap_or(u64::MAX);
        flapping.truncate(NAMED_FLAPS);
        let mut moves: Vec<Move> = self
            .moves
            .into_iter()
            .map(|((from, to), count)| Move { from, to, count })
            .collect();
        moves.sort_by_key(|one| (std::cmp::Reverse(one.count), one.from, one.to));
        let buckets = Bucket::ALL.into_iter().zip(self.buckets);
        Stayed {
            last_dispatch: self.latest,
            buckets: buckets
                .map(|(bucket, values)| BucketNumbers {
                    bucket,
                    now: values.now,
                    entered: values.entered,
                    time_in_bucket_ms: values.times.spread(),
                    longest: values.longest,
                })
                .collect(),
            moves,
            flapping_total,
            flapping,
        }
    }
}

impl BucketValues {
    fn enter(&mut self, at: DateTime<Utc>, range: &Range) {
        self.entered += u64::from(range.has(at));
    }

    /// A stay that ended, or is as long as this so far.
    fn leave(&mut self, at: &PrRef, pull: &Pull, end: DateTime<Utc>, range: &Range) {
        if end < range.since() {
            return;
        }
        let ms = milliseconds(pull.since, end);
        self.times.add(ms);
        if self.longest.as_ref().is_none_or(|longest| ms > longest.ms) {
            self.longest = Some(Stay {
                repo: at.repo.clone(),
                pr: at.number,
                since: pull.since,
                ms,
            });
        }
    }
}

impl Pull {
    fn first(bucket: Bucket, now: DateTime<Utc>, run: u64) -> Self {
        Self {
            bucket,
            since: now,
            seen: now,
            seen_in_run: run,
            left: [None; 6],
            recent: VecDeque::new(),
            changes: 0,
            returns: 0,
            flaps: false,
            path: VecDeque::new(),
        }
    }

    /// Whether it had gone by the end of a run, at that moment.
    fn is_gone(&self, run: u64, now: DateTime<Utc>) -> bool {
        run.saturating_sub(self.seen_in_run) >= MISSED_RUNS && now - self.seen >= MISSED_FOR
    }

    /// It is in another bucket now.
    fn changed(&mut self, to: Bucket, now: DateTime<Utc>) {
        if self.path.is_empty() {
            self.path.push_back(self.bucket);
        }
        self.path.push_back(to);
        if self.path.len() > PATH {
            self.path.pop_front();
        }
        self.changes += 1;
        self.recent.push_back(now);
        while self
            .recent
            .front()
            .is_some_and(|first| now - *first > FLAP_WINDOW)
        {
            self.recent.pop_front();
        }
        let is_back = self.left[place(to)].is_some_and(|left| now - left <= FLAP_WINDOW);
        self.returns += u64::from(is_back);
        self.flaps |= is_back || self.recent.len() >= FLAP_CHANGES;
    }
}

fn place(bucket: Bucket) -> usize {
    match bucket {
        Bucket::Close => 0,
        Bucket::Investigate => 1,
        Bucket::Rebase => 2,
        Bucket::Qa => 3,
        Bucket::Ship => 4,
        Bucket::Wait => 5,
    }
}
