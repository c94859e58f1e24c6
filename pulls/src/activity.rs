//! When a person last did something about a pull request.

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::{Account, Check, PullFacts, Time};
use crate::ids::Login;
use crate::people::People;
use crate::upkeep::{Event, EventKind};

/// The last moment at which a person did something that everybody can see: opened it, pushed, commented, reviewed
/// or replied in a thread (contract, section 6, "the clock moves for people only"). What a bot does moves
/// nothing, and neither does a label, a check or an edit (field cases B068 to B071).
///
/// A commit counts at its committer date, which its author chooses: one that is dated after `now` counts for
/// nothing (field case B073); a force push counts when GitHub learned of it. A deleted account counts as a
/// person, since nothing says that it was a program.
///
/// ```
/// use chrono::Duration;
/// use pulls::{activity, build, people::People};
/// let pull = build::pull("o/r", 7)
///     .comment(build::comment("maintainer", "Thanks!").at(build::hours_ago(3)))
///     .build();
/// let last = activity::last_by_people(&pull, &People::default(), build::now());
/// assert_eq!(build::now() - last, Duration::hours(3));
/// ```
pub fn last_by_people(pull: &PullFacts, people: &People, now: Time) -> Time {
    let by_a_person = |account: Option<&Account>| account.is_none_or(|account| !people.is_bot(account));
    let comments = pull
        .comments
        .iter()
        .chain(
            pull.threads
                .iter()
                .flat_map(|thread| thread.comments.iter().map(|reply| &reply.comment)),
        )
        .filter(|comment| by_a_person(comment.author.as_ref()))
        .map(|comment| comment.created_at);
    let reviews = pull
        .reviews
        .iter()
        .filter(|review| by_a_person(review.author.as_ref()))
        .filter_map(|review| review.submitted_at);
    let pushes = pull
        .head
        .commit_dates
        .iter()
        .copied()
        .chain([pull.head.committed_at])
        .chain(pull.head.last_force_push_at);
    comments
        .chain(reviews)
        .chain(pushes)
        .filter(|at| *at <= now)
        .fold(pull.created_at, Time::max)
}

/// The last thing that a person did (contract, section 6, "The clock").
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// When.
    pub at: Time,
    /// What.
    pub what: ActivityKind,
    /// Who, where it is known.
    pub by: Option<Login>,
}

/// What a person can do that moves the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// Opened it.
    Opened,
    /// Committed.
    Commit,
    /// Pushed a head that replaced a recorded one.
    Push,
    /// Commented.
    Comment,
    /// Reviewed.
    Review,
    /// Replied in a review thread.
    Reply,
    /// Reopened it.
    Reopened,
    /// Marked it ready for review.
    ReadyForReview,
    /// Something that nothing fetched explains.
    Unexplained,
}

/// What is remembered of a pull request and its head, beside the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenHead {
    /// When the head was first seen.
    pub first_seen_at: Time,
    /// When the head that it replaced was first seen; `None` where it is the first that was ever seen, and once it has
    /// been looked at.
    pub replaced: Option<Time>,
    /// When the pull request was last read in whole before now: a bump of `updated_at` until then was judged then.
    pub read_at: Option<Time>,
}

/// So far apart a cause and the moment of `updated_at` may lie, and the clocks of two machines: GitHub writes the two
/// one after the other, in queues of its own, and whoever commits has a clock of their own.
pub const SLACK: TimeDelta = TimeDelta::minutes(5);

/// The clock of a maintained pull request: the last thing that a person did about it, as of a moment (contract,
/// section 6, "The clock"; field cases B068 to B075). Where no person did anything, it is the opening, whoever opened.
///
/// A commit counts at its committer date, but no later than its head was first seen; one dated in the future counts
/// when GitHub learned of it: at the last force push by a person, else with their newest commit that is not from the
/// future, else at the opening. What a program's force push rewrote is the program's. A head that replaced a
/// recorded one counts when it was first seen, or at the force push that made it, whatever its commits say.
///
/// A bump of `updated_at` counts as activity only where labels, events and edits were read and nothing lies within
/// [`SLACK`] of it, and only in the first reading that shows it. A deleted account counts as a person, since nothing says that it was a program.
///
/// ```
/// use pulls::activity::{ActivityKind, SeenHead, last_activity};
/// use pulls::{build, people::People};
/// let pull = build::pull("o/r", 7)
///     .comment(build::comment("grace", "Thanks!").at(build::hours_ago(3)))
///     .updated_at(build::hours_ago(3))
///     .build();
/// let seen = SeenHead { first_seen_at: build::hours_ago(9), replaced: None, read_at: None };
/// let last = last_activity(&pull, &People::default(), seen, build::now());
/// assert_eq!((last.what, last.at), (ActivityKind::Comment, build::hours_ago(3)));
/// assert_eq!(last.by.unwrap().as_str(), "grace");
/// ```
pub fn last_activity(pull: &PullFacts, people: &People, seen: SeenHead, now: Time) -> Activity {
    let mut found = Found {
        people,
        now,
        last: Activity {
            at: pull.created_at.min(now),
            what: ActivityKind::Opened,
            by: pull.author.as_ref().map(|author| author.login.clone()),
        },
    };
    for comment in &pull.comments {
        found.by(ActivityKind::Comment, comment.created_at, comment.author.as_ref());
    }
    for reply in pull.threads.iter().flat_map(|thread| &thread.comments) {
        let comment = &reply.comment;
        found.by(ActivityKind::Reply, comment.created_at, comment.author.as_ref());
    }
    for review in &pull.reviews {
        if let Some(at) = review.submitted_at {
            found.by(ActivityKind::Review, at, review.author.as_ref());
        }
    }
    for event in events(pull) {
        let what = match event.kind {
            EventKind::Reopened => ActivityKind::Reopened,
            EventKind::ReadyForReview => ActivityKind::ReadyForReview,
            EventKind::ForcePushed => ActivityKind::Push,
            _ => continue,
        };
        found.by(what, event.at, event.by.as_ref());
    }
    let pushes = Pushes::of(pull, people, seen, now);
    for (at, by) in pushes.commits_of_people() {
        found.by(ActivityKind::Commit, pushes.made_at(at), by);
    }
    if let Some((at, by)) = pushes.pushed_at() {
        found.add(ActivityKind::Push, at, by);
    }
    // What was not read explains nothing, and nothing follows from that.
    if pull.upkeep.is_some() && !is_explained(pull, seen) {
        found.add(ActivityKind::Unexplained, pull.updated_at, None);
    }
    found.last
}

fn is_program(people: &People, account: Option<&Account>) -> bool {
    account.is_some_and(|account| people.is_bot(account))
}

fn events(pull: &PullFacts) -> impl Iterator<Item = &Event> {
    pull.upkeep.iter().flat_map(|upkeep| &upkeep.events)
}

struct Found<'a> {
    people: &'a People,
    now: Time,
    last: Activity,
}

impl Found<'_> {
    fn by(&mut self, what: ActivityKind, at: Time, account: Option<&Account>) {
        if !is_program(self.people, account) {
            self.add(what, at, account.map(|account| account.login.clone()));
        }
    }

    /// Of two at one moment the one that says more counts, whatever their order.
    fn add(&mut self, what: ActivityKind, at: Time, by: Option<Login>) {
        let rank = |one: &Activity| (one.at, one.what, one.by.clone());
        let new = Activity { at, what, by };
        if at <= self.now && rank(&new) > rank(&self.last) {
            self.last = new;
        }
    }
}

/// What was pushed, when, and by whom as far as that is told.
struct Pushes<'a> {
    pull: &'a PullFacts,
    people: &'a People,
    seen: SeenHead,
    now: Time,
    /// The last force push.
    forced: Option<Time>,
    /// Who made it: `None` where nothing tells, else the accounts that GitHub names for that moment.
    forced_by: Option<Vec<Option<&'a Account>>>,
}

impl<'a> Pushes<'a> {
    fn of(pull: &'a PullFacts, people: &'a People, seen: SeenHead, now: Time) -> Self {
        let forced = pull.head.last_force_push_at.filter(|at| *at <= now);
        let told: Vec<Option<&Account>> = events(pull)
            .filter(|event| event.kind == EventKind::ForcePushed && Some(event.at) == forced)
            .map(|event| event.by.as_ref())
            .collect();
        Self {
            pull,
            people,
            seen,
            now,
            forced,
            forced_by: (!told.is_empty()).then_some(told),
        }
    }

    /// Whether GitHub names programs alone for the last force push.
    fn is_forced_by_program(&self) -> bool {
        let is_program = |by: &Option<&Account>| is_program(self.people, *by);
        self.forced_by
            .as_ref()
            .is_some_and(|by| by.iter().all(is_program))
    }

    /// The commits that count: a program's force push dates all commits anew, whosever they are.
    fn commits_of_people(&self) -> impl Iterator<Item = (Time, Option<&'a Account>)> {
        let rewritten = self.forced.filter(|_| self.is_forced_by_program());
        let is_rewritten =
            move |at: Time| rewritten.is_some_and(|forced| at <= forced && forced - at <= SLACK);
        let people = self.people;
        commits(self.pull).filter(move |(at, by)| !is_rewritten(*at) && !is_program(people, *by))
    }

    /// When a commit counts as made.
    fn made_at(&self, dated: Time) -> Time {
        if dated <= self.now {
            return dated.min(self.seen.first_seen_at);
        }
        let forced = self.forced.filter(|_| !self.is_forced_by_program());
        let dates = self.commits_of_people().map(|(at, _)| at);
        let learned = || dates.filter(|at| *at <= self.now).max();
        forced
            .or_else(learned)
            .unwrap_or(self.pull.created_at)
            .min(self.seen.first_seen_at)
    }

    /// When a person pushed the head, as far as a push tells more than its commits.
    fn pushed_at(&self) -> Option<(Time, Option<Login>)> {
        let newest = commits(self.pull)
            .map(|(at, _)| at)
            .filter(|at| *at <= self.now)
            .max();
        // Who pushed is not told: where the newest commits are a program's, so was the push.
        let newest_by_program = commits(self.pull)
            .filter(|(at, _)| newest.is_none_or(|newest| *at == newest))
            .all(|(_, by)| is_program(self.people, by));
        let forced_by_program = match self.forced_by {
            Some(_) => self.is_forced_by_program(),
            None => newest_by_program,
        };
        let Some(before) = self.seen.replaced else {
            let forced = self.forced.filter(|_| !forced_by_program)?;
            return Some((forced, self.forced_login()));
        };
        // A force push made this head, unless something was committed after it.
        let made_it = self
            .forced
            .filter(|at| *at > before && newest.is_none_or(|newest| newest - *at <= SLACK));
        match made_it {
            Some(_) if forced_by_program => None,
            Some(at) => Some((at, self.forced_login())),
            None if newest_by_program => None,
            None => Some((self.seen.first_seen_at, None)),
        }
    }

    /// The person who made the last force push, where GitHub names one.
    fn forced_login(&self) -> Option<Login> {
        let by = self.forced_by.iter().flatten().flatten();
        by.filter(|by| !self.people.is_bot(by))
            .map(|by| by.login.clone())
            .max()
    }
}

/// The commits that are known with who made them. Where nothing tells, they are the author's.
fn commits(pull: &PullFacts) -> impl Iterator<Item = (Time, Option<&Account>)> {
    let known = pull.upkeep.as_ref().map_or(&[][..], |upkeep| &upkeep.commits);
    let told = known.iter().map(|commit| (commit.at, commit.by.as_ref()));
    let is_told = !known.is_empty();
    let untold = pull
        .head
        .commit_dates
        .iter()
        .copied()
        .chain([pull.head.committed_at]);
    let untold = untold
        .map(|at| (at, pull.author.as_ref()))
        .filter(move |_| !is_told);
    told.chain(untold)
}

/// Whether something that was read explains when the pull request was last updated (field case B070), or an earlier
/// reading has judged that already.
fn is_explained(pull: &PullFacts, seen: SeenHead) -> bool {
    if seen.read_at.is_some_and(|read| pull.updated_at <= read) {
        return true;
    }
    let upkeep = pull.upkeep.as_ref();
    let replies = pull.threads.iter().flat_map(|thread| &thread.comments);
    let checks = pull
        .checks
        .contexts
        .iter()
        .flatten()
        .flat_map(|check| match check {
            Check::Run(run) => [run.started_at, run.completed_at],
            Check::Status(status) => [Some(status.created_at), None],
            Check::Unknown { .. } => [None, None],
        });
    let edits = upkeep.iter().flat_map(|upkeep| &upkeep.edits);
    let closing = upkeep.iter().filter_map(|upkeep| upkeep.closing.as_ref());
    let mut causes = [
        Some(pull.created_at),
        Some(pull.head.committed_at),
        pull.head.last_force_push_at,
    ]
    .into_iter()
    .chain(pull.comments.iter().map(|comment| Some(comment.created_at)))
    .chain(replies.map(|reply| Some(reply.comment.created_at)))
    .chain(pull.reviews.iter().map(|review| review.submitted_at))
    .chain(commits(pull).map(|(at, _)| Some(at)))
    .chain(events(pull).map(|event| Some(event.at)))
    .chain(edits.map(|edit| Some(edit.at)))
    .chain(closing.map(|closing| Some(closing.at)))
    .chain(checks)
    .chain(pull.checks.suites.iter().map(|suite| Some(suite.created_at)))
    .flatten();
    // A head that was replaced between two looks was pushed at a moment that nobody saw.
    let pushed_unseen = seen
        .replaced
        .is_some_and(|before| pull.updated_at > before && pull.updated_at - seen.first_seen_at <= SLACK);
    pushed_unseen || causes.any(|cause| (pull.updated_at - cause).abs() <= SLACK)
}

#[cfg(test)]
mod tests;
