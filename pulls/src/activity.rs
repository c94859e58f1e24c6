//! When a person last did something about a pull request.

use crate::facts::{Account, PullFacts, Time};
use crate::people::People;

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
