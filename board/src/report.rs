//! The pipeline's own numbers over a range of time.
//!
//! `docs/report.md` says what each of them means. [`Fold`] takes records one at a time and keeps no more than the
//! numbers, so that a home of any size can be reported on.

mod html;
mod messages;
mod plots;
mod stays;
mod text;

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use lifecycle::Bucket;
use mailbox::{MailboxName, Replayed};
use pulls::{PrNumber, PrRef, RepoName};
use runtime::Overview;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::range::{Range, Samples};
use crate::records::{Audited, StateLine};
use crate::spread::{Spread, Values};
use messages::Messages;
use stays::Stays;

/// The version of the document that `--json` prints. Fields are added under the same version; one that goes or
/// changes its meaning raises it.
pub const VERSION: u32 = 1;

/// How many entries of the audit trail are shown, the newest ones.
pub const NEWEST_AUDITS: usize = 10;

/// How many pull requests that flap are named, the most restless ones.
pub const NAMED_FLAPS: usize = 50;

/// The pipeline's own numbers over a range of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The version of this document, [`VERSION`].
    pub v: u32,
    /// The first moment of the range.
    pub since: DateTime<Utc>,
    /// The first moment after the range. What stands as "now" is as of this moment.
    pub until: DateTime<Utc>,
    /// Every actor with a mailbox, by name.
    pub actors: Vec<ActorNumbers>,
    /// What a person must look at, as of the moment at which the report was made.
    pub attention: Vec<AttentionLine>,
    /// When the dispatcher last left a line before the end of the range.
    pub last_dispatch: Option<DateTime<Utc>>,
    /// Every bucket, in the order in which the rules are tried.
    pub buckets: Vec<BucketNumbers>,
    /// Changes from one bucket to another, the most frequent first.
    pub moves: Vec<Move>,
    /// How many pull requests flap.
    pub flapping_total: u64,
    /// The pull requests that flap, the most restless first.
    pub flapping: Vec<Flapping>,
    /// The audit trail.
    pub audit: Audit,
    /// Each day of the range in UTC, at most the last 400.
    pub days: Vec<Day>,
    /// What stood at moments at equal distances, the last one being the end of the range.
    pub samples: Vec<Sample>,
    /// Files with lines that could not be read, each with their number.
    pub unreadable: BTreeMap<String, u64>,
}

/// One actor's mailbox in numbers. Counts are of what happened within the range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActorNumbers {
    /// Its name.
    pub name: String,
    /// What it is doing, in one word; null where nobody said.
    pub state: Option<String>,
    /// Messages that were put into its mailbox.
    pub appended: u64,
    /// Messages that were handled for good, by the actor or by somebody in its place.
    pub acked: u64,
    /// Messages that gave way to a newer one about the same subject. Kept for 48 hours only.
    pub superseded: u64,
    /// Messages whose evidence had been handled already. Kept for 48 hours only.
    pub unchanged: u64,
    /// Messages that were set aside.
    pub quarantined: u64,
    /// Messages that were given up, out of quarantine.
    pub dropped: u64,
    /// From the append to the ack of what was handled, in milliseconds.
    pub ack_latency_ms: Option<Spread>,
    /// How many attempts each message took that was handled or set aside.
    pub attempts: Option<Spread>,
    /// Attempts that failed, by kind.
    pub failures: Failures,
    /// How often a failed attempt made the actor start anew: after a panic, an error that it did not explain, a
    /// missed deadline or a kill. A start that failed with no message in hand leaves no record.
    pub restarts: u64,
    /// Messages that are neither handled nor set aside, at the end of the range.
    pub unread: u64,
    /// How long the oldest of them has been in the mailbox, in milliseconds.
    pub oldest_unread_ms: Option<u64>,
    /// Messages in quarantine at the end of the range.
    pub in_quarantine: u64,
}

/// Attempts that did not end with an ack, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failures {
    /// The handler said why and asked for a retry.
    pub explained: u64,
    /// The handler panicked.
    pub panic: u64,
    /// The handler ended with an error that it did not explain.
    pub error: u64,
    /// The handler missed its deadline.
    pub deadline: u64,
    /// The handler was killed.
    pub killed: u64,
    /// The handler said that the message can never be handled.
    pub rejected: u64,
    /// A pull lease ran out.
    pub expired: u64,
    /// The process ended with the message in hand.
    pub process_ended: u64,
}

impl Failures {
    /// Each kind with its number.
    pub fn kinds(&self) -> [(&'static str, u64); 8] {
        [
            ("explained", self.explained),
            ("panic", self.panic),
            ("error", self.error),
            ("deadline", self.deadline),
            ("killed", self.killed),
            ("rejected", self.rejected),
            ("lease expired", self.expired),
            ("process ended", self.process_ended),
        ]
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.kinds().iter().map(|(_, number)| number).sum()
    }
}

/// What a person must look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttentionLine {
    /// What tells it apart: `down/qa`.
    pub key: String,
    /// Since when it is so, or was first seen to be so.
    pub since: DateTime<Utc>,
    /// What is the matter.
    pub text: String,
    /// What to do about it.
    pub mend: String,
}

/// One bucket in numbers. A stay is the time that a pull request is in one bucket without a break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BucketNumbers {
    /// Which.
    pub bucket: Bucket,
    /// Pull requests in it, as the last dispatch before the end of the range saw them.
    pub now: u64,
    /// Stays that began within the range.
    pub entered: u64,
    /// How long the stays lasted that reach into the range, in milliseconds. One that has not ended counts up to the
    /// end of the range, or to the last dispatch where that is more than a day earlier.
    pub time_in_bucket_ms: Option<Spread>,
    /// The longest of them.
    pub longest: Option<Stay>,
}

/// A pull request's time in one bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stay {
    /// The repository.
    pub repo: RepoName,
    /// The number.
    pub pr: PrNumber,
    /// When it was first seen there.
    pub since: DateTime<Utc>,
    /// How long it was there, in milliseconds.
    pub ms: u64,
}

/// How often pull requests went from one bucket to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    /// From here.
    pub from: Bucket,
    /// To here.
    pub to: Bucket,
    /// So often.
    pub count: u64,
}

/// A pull request that goes back and forth: within seven days it changed its bucket at least three times, or came
/// back to a bucket that it had left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flapping {
    /// The repository.
    pub repo: RepoName,
    /// The number.
    pub pr: PrNumber,
    /// How often it changed its bucket in the range.
    pub changes: u64,
    /// How often it came back to a bucket within seven days of leaving it.
    pub returns: u64,
    /// The buckets that it was in, in order, the last one being the latest; at most twelve.
    pub path: Vec<Bucket>,
}

impl Flapping {
    /// The pull request.
    pub fn at(&self) -> PrRef {
        PrRef {
            repo: self.repo.clone(),
            number: self.pr,
        }
    }
}

/// The audit trail: what `retro` keeps of pull requests that needed nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// How many entries the range has.
    pub total: u64,
    /// The newest of them, newest first.
    pub newest: Vec<AuditEntry>,
}

/// An entry of the audit trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// When the dispatcher saw it so.
    pub ts: DateTime<Utc>,
    /// The repository.
    pub repo: RepoName,
    /// The number.
    pub pr: PrNumber,
    /// The rule that decided.
    pub rule: String,
    /// Why, for people.
    pub reason: String,
}

/// One day in UTC, all actors together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Day {
    /// Which.
    pub day: NaiveDate,
    /// Messages that were appended.
    pub appended: u64,
    /// Messages that were handled for good.
    pub acked: u64,
    /// Attempts that failed, of whichever kind.
    pub failed: u64,
    /// From the append to the ack of what was handled that day, in milliseconds.
    pub ack_latency_ms: Option<Spread>,
    /// Entries of the audit trail.
    pub audited: u64,
}

/// What stood at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// When.
    pub at: DateTime<Utc>,
    /// Messages that were neither handled nor set aside, of all actors.
    pub unread: u64,
    /// How long, at most, a message had been unread during the step that ends at this moment, in milliseconds; null
    /// where none was.
    pub longest_wait_ms: Option<u64>,
    /// Pull requests in each bucket, in the order of [`Report::buckets`]; none after the last dispatch where nobody
    /// has looked for more than a day.
    pub buckets: [u64; 6],
}

/// Records as they come, folded into numbers.
///
/// Any order of the three kinds of record will do; lines of one file come in the file's order, older files first.
///
/// ```
/// use board::{Fold, Range};
/// use board::records::StateLine;
/// use lifecycle::Bucket;
///
/// let week = Range::new("2026-05-08T00:00:00Z".parse()?, "2026-05-15T00:00:00Z".parse()?)?;
/// let mut fold = Fold::over(week);
/// for ts in ["2026-05-14T17:00:00Z", "2026-05-14T17:10:00Z"] {
///     let line = format!(r#"{{"ts":"{ts}","repo":"o/r","pr":7,"bucket":"qa"}}"#);
///     fold.state(&StateLine::parse(&line).expect("a line"));
/// }
/// let report = fold.finish(&Default::default());
/// assert_eq!(report.buckets[3].bucket, Bucket::Qa);
/// assert_eq!(report.buckets[3].now, 1);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Fold {
    range: Range,
    messages: Messages,
    stays: Stays,
    audit: Audit,
    series: Series,
    unreadable: BTreeMap<String, u64>,
}

/// The days and samples of a range, as they fill.
#[derive(Debug)]
struct Series {
    days: BTreeMap<NaiveDate, DayValues>,
    samples: Samples,
    at: Vec<At>,
}

#[derive(Debug, Clone, Default)]
struct DayValues {
    appended: u64,
    acked: u64,
    failed: u64,
    ack_latency: Values,
    audited: u64,
}

#[derive(Debug, Clone, Default)]
struct At {
    unread: u64,
    longest_wait_ms: Option<u64>,
    buckets: [u64; 6],
}

impl Series {
    fn of(range: &Range) -> Self {
        let samples = range.samples();
        Self {
            days: range
                .days()
                .into_iter()
                .map(|day| (day, DayValues::default()))
                .collect(),
            samples,
            at: vec![At::default(); samples.len()],
        }
    }

    /// The day of a moment, where the series shows it.
    fn day(&mut self, at: DateTime<Utc>) -> Option<&mut DayValues> {
        self.days.get_mut(&at.date_naive())
    }

    /// Every sample from one moment on and before another.
    fn each_between(
        &mut self,
        from: DateTime<Utc>,
        to: Option<DateTime<Utc>>,
        mut each: impl FnMut(&mut At),
    ) {
        let range = self.samples.between(from, to);
        self.at[range].iter_mut().for_each(&mut each);
    }

    /// A message that was unread from one moment on and before another, in its mailbox since `appended`.
    fn unread(&mut self, appended: DateTime<Utc>, from: DateTime<Utc>, to: Option<DateTime<Utc>>) {
        self.each_between(from, to, |here| here.unread += 1);
        for place in self.samples.touched(from, to) {
            let at = self.samples.at(place);
            let waited = milliseconds(appended, to.map_or(at, |to| at.min(to)));
            let longest = self.at[place].longest_wait_ms.get_or_insert(waited);
            *longest = waited.max(*longest);
        }
    }
}

impl Fold {
    /// Nothing yet.
    pub fn over(range: Range) -> Self {
        Self {
            range,
            messages: Messages::default(),
            stays: Stays::default(),
            audit: Audit::default(),
            series: Series::of(&range),
            unreadable: BTreeMap::new(),
        }
    }

    /// An actor that is there, also where its mailbox is empty.
    pub fn actor(&mut self, name: &MailboxName) {
        self.messages.actor(name);
    }

    /// A message with what happened to it.
    pub fn message(&mut self, message: &Replayed) {
        self.messages.take(message, &self.range, &mut self.series);
    }

    /// A line of `pr-state.jsonl`. What is dated at or after the end of the range is left out.
    pub fn state(&mut self, line: &StateLine) {
        self.stays.take(line, &self.range, &mut self.series);
    }

    /// A line of `retro.jsonl`.
    pub fn audited(&mut self, line: &Audited) {
        if !self.range.has(line.ts) {
            return;
        }
        self.audit.total += 1;
        if let Some(day) = self.series.day(line.ts) {
            day.audited += 1;
        }
        let newest = &mut self.audit.newest;
        let place = newest.partition_point(|entry| entry.ts > line.ts);
        if place < NEWEST_AUDITS {
            let entry = AuditEntry {
                ts: line.ts,
                repo: line.repo.clone(),
                pr: line.pr,
                rule: line.rule.clone(),
                reason: line.reason.clone(),
            };
            newest.insert(place, entry);
            newest.truncate(NEWEST_AUDITS);
        }
    }

    /// A line of a file that could not be read.
    pub fn unreadable(&mut self, file: &str) {
        *self.unreadable.entry(file.to_owned()).or_default() += 1;
    }

    /// The report, with how the actors fare at this moment.
    pub fn finish(mut self, present: &Overview) -> Report {
        let stays = self.stays.finish(&self.range, &mut self.series);
        let samples = (0..self.series.at.len())
            .map(|place| {
                let (at, here) = (self.series.samples.at(place), &self.series.at[place]);
                Sample {
                    at,
                    unread: here.unread,
                    longest_wait_ms: here.longest_wait_ms,
                    buckets: here.buckets,
                }
            })
            .collect();
        let days = self.series.days.into_iter().map(|(day, values)| Day {
            day,
            appended: values.appended,
            acked: values.acked,
            failed: values.failed,
            ack_latency_ms: values.ack_latency.spread(),
            audited: values.audited,
        });
        Report {
            v: VERSION,
            since: self.range.since(),
            until: self.range.until(),
            actors: self.messages.finish(&self.range, present),
            attention: present
                .attention
                .iter()
                .map(|attention| AttentionLine {
                    key: attention.key.clone(),
                    since: attention.since.into(),
                    text: attention.text.clone(),
                    mend: attention.mend.clone(),
                })
                .collect(),
            last_dispatch: stays.last_dispatch,
            buckets: stays.buckets,
            moves: stays.moves,
            flapping_total: stays.flapping_total,
            flapping: stays.flapping,
            audit: self.audit,
            days: days.collect(),
            samples,
            unreadable: self.unreadable,
        }
    }
}

/// From one moment to a later one, in milliseconds; nothing where it is not later.
fn milliseconds(from: DateTime<Utc>, to: DateTime<Utc>) -> u64 {
    u64::try_from((to - from).num_milliseconds()).unwrap_or(0)
}
