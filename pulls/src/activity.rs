//! When a person last did something about a pull request.

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::{Account, Check, PullFacts, Time};
use crate::ids::Login;
use crate::people::People;
use crate::upkeep::EventKind;

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

/// What is known of a head beside its facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenHead {
    /// When it was first seen.
    pub first_seen_at: Time,
    /// When the head that it replaced was first seen; `None` where it is the first that was ever seen.
    pub replaced: Option<Time>,
}

/// So long after its cause GitHub may move `updated_at`, and so far apart the clocks of its parts may be.
const BUMP_SLACK: TimeDelta = TimeDelta::minutes(5);

/// The clock of a maintained pull request: the last thing that a person did about it, as of a moment (contract,
/// section 6, "The clock"; field cases B068 to B075).
///
/// A commit counts at its committer date, but no later than its head was first seen; one dated in the future counts
/// when GitHub learned of it: at the last force push, else with the newest commit that is not from the future, else
/// at the opening. A head that replaced a recorded one counts when it was first seen, or at its force push, whatever
/// its commits say; not where a program forced it. A bump of `updated_at` counts as activity only where labels, events
/// and edits were read and none of it explains it.
///
/// ```
/// use pulls::activity::{ActivityKind, SeenHead, last_activity};
/// use pulls::{build, people::People};
/// let pull = build::pull("o/r", 7)
///     .comment(build::comment("grace", "Thanks!").at(build::hours_ago(3)))
///     .updated_at(build::hours_ago(3))
///     .build();
/// let seen = SeenHead { first_seen_at: build::hours_ago(9), replaced: None };
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
    for event in pull.upkeep.iter().flat_map(|upkeep| &upkeep.events) {
        let what = match event.kind {
            EventKind::Reopened => ActivityKind::Reopened,
            EventKind::ReadyForReview => ActivityKind::ReadyForReview,
            EventKind::ForcePushed => ActivityKind::Push,
            _ => continue,
        };
        found.by(what, event.at, event.by.as_ref());
    }
    for (at, by) in commits(pull) {
        found.by(ActivityKind::Commit, made_at(pull, at, seen, now), by);
    }
    // Who pushed is told of a force push alone: else, where the newest commit is a program's, so was the push.
    let forced = pull.head.last_force_push_at.filter(|at| *at <= now);
    let forced_by_program = forced.is_some_and(|forced| {
        let events = pull.upkeep.iter().flat_map(|upkeep| &upkeep.events);
        let mut at_once = events.filter(|event| event.kind == EventKind::ForcePushed && event.at == forced);
        at_once.any(|event| found.is_program(event.by.as_ref()))
    });
    let is_newest_by_program = commits(pull)
        .max_by_key(|(at, by)| (*at, !found.is_program(*by)))
        .is_some_and(|(_, by)| found.is_program(by));
    let is_forced_anew = forced.is_some_and(|at| seen.replaced.is_none_or(|before| at > before));
    let pushed_by_program = is_newest_by_program || (forced_by_program && is_forced_anew);
    if !pushed_by_program {
        if let Some(before) = seen.replaced {
            let forced = forced.filter(|at| *at > before);
            found.add(ActivityKind::Push, forced.unwrap_or(seen.first_seen_at), None);
        } else if let Some(at) = forced {
            found.add(ActivityKind::Push, at, None);
        }
    }
    // What was not read explains nothing, and nothing follows from that.
    if pull.upkeep.is_some() && !is_explained(pull, seen) {
        found.add(ActivityKind::Unexplained, pull.updated_at, None);
    }
    found.last
}

struct Found<'a> {
    people: &'a People,
    now: Time,
    last: Activity,
}

impl Found<'_> {
    fn is_program(&self, account: Option<&Account>) -> bool {
        account.is_some_and(|account| self.people.is_bot(account))
    }

    fn by(&mut self, what: ActivityKind, at: Time, account: Option<&Account>) {
        if !self.is_program(account) {
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

/// When a commit counts as made.
fn made_at(pull: &PullFacts, dated: Time, seen: SeenHead, now: Time) -> Time {
    if dated <= now {
        return dated.min(seen.first_seen_at);
    }
    let learned = commits(pull).map(|(at, _)| at).filter(|at| *at <= now).max();
    let forced = pull.head.last_force_push_at.filter(|at| *at <= now);
    forced
        .or(learned)
        .unwrap_or(pull.created_at)
        .min(seen.first_seen_at)
}

/// Whether something that was read explains when the pull request was last updated (field case B070).
fn is_explained(pull: &PullFacts, seen: SeenHead) -> bool {
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
    let mut causes = [
        Some(pull.created_at),
        Some(pull.head.committed_at),
        pull.head.last_force_push_at,
    ]
    .into_iter()
    .chain(seen.replaced.map(|_| Some(seen.first_seen_at)))
    .chain(pull.comments.iter().map(|comment| Some(comment.created_at)))
    .chain(replies.map(|reply| Some(reply.comment.created_at)))
    .chain(pull.reviews.iter().map(|review| review.submitted_at))
    .chain(commits(pull).map(|(at, _)| Some(at)))
    .chain(
        upkeep
            .iter()
            .flat_map(|upkeep| &upkeep.events)
            .map(|event| Some(event.at)),
    )
    .chain(
        upkeep
            .iter()
            .flat_map(|upkeep| &upkeep.edits)
            .map(|edit| Some(edit.at)),
    )
    .chain(
        upkeep
            .iter()
            .filter_map(|upkeep| upkeep.closing.as_ref())
            .map(|closing| Some(closing.at)),
    )
    .chain(checks)
    .chain(pull.checks.suites.iter().map(|suite| Some(suite.created_at)))
    .flatten();
    causes.any(|cause| (pull.updated_at - cause).abs() <= BUMP_SLACK)
        // A head that was replaced between two looks was pushed at a moment that nobody saw.
        || seen.replaced.is_some_and(|before| pull.updated_at > before && pull.updated_at <= seen.first_seen_at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{self, PullBuilder};

    /// Hours of silence at the moment of the builders.
    fn silence(pull: PullBuilder) -> i64 {
        let people = People {
            machine_users: ["ci-robot".parse().unwrap()].into(),
            ..People::default()
        };
        (build::now() - last_by_people(&pull.build(), &people, build::now())).num_hours()
    }

    fn quiet() -> PullBuilder {
        build::pull("o/r", 7)
            .opened_at(build::hours_ago(100))
            .committed_at(build::hours_ago(90))
    }

    #[test]
    fn people_move_the_clock() {
        assert_eq!(silence(quiet()), 90);
        let comment = || build::comment("grace", "Nice").at(build::hours_ago(50));
        assert_eq!(silence(quiet().comment(comment())), 50);
        assert_eq!(silence(quiet().thread([comment()])), 50);
        let review = build::review("grace", "APPROVED", "").at(build::hours_ago(40));
        assert_eq!(silence(quiet().review(review)), 40);
        let pushed = quiet().with(|pull| pull.head.last_force_push_at = Some(build::hours_ago(30)));
        assert_eq!(silence(pushed), 30);
        let ghost = comment().with(|comment| comment.author = None);
        assert_eq!(silence(quiet().comment(ghost)), 50);
    }

    #[test]
    fn b068_to_b071_programs_labels_and_edits_do_not() {
        let robot = build::comment("ci-robot", "Coverage: 80 %").at(build::hours_ago(1));
        assert_eq!(silence(quiet().comment(robot)), 90);
        assert_eq!(silence(quiet().updated_at(build::hours_ago(1))), 90);
        let checked = quiet().check(build::run("test").started(build::hours_ago(1)));
        assert_eq!(silence(checked), 90);
    }

    #[test]
    fn b073_a_commit_from_the_future_counts_for_nothing() {
        assert_eq!(silence(quiet().committed_at(build::hours_ago(-5))), 100);
    }
}
