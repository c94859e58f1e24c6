//! What of reconciling a person must look at. Pure.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use github::ReadError;
use lifecycle::maintain::{Artifact, FLIPS, Transition, flips};
use mailbox::Moment;
use pulls::facts::Time;
use pulls::{PrRef, RepoName};
use runtime::Attention;

use super::report::{Noted, Report, Spent};

/// A repository that could not be read.
pub(super) fn unreadable(repo: &RepoName, error: &ReadError, now: Time) -> Noted {
    Noted {
        key: format!("repository/{repo}"),
        since: now,
        text: format!("{repo} cannot be read: {error}"),
        mend: "look whether LIFECYCLE_REPOS names it rightly and the token may see it".to_owned(),
    }
}

/// The budget does not reach everybody.
pub(super) fn exhausted(spent: &Spent, oldest: Option<Time>, now: Time) -> Noted {
    let since = oldest.unwrap_or(now);
    let waits = in_words(now - since);
    Noted {
        key: "budget/PR_STATE_BUDGET_EXHAUSTED".to_owned(),
        since,
        text: match spent.left {
            0 => format!(
                "PR_STATE_BUDGET_EXHAUSTED: the {} requests of a cycle were spent before all was asked",
                spent.of
            ),
            1 => format!(
                "PR_STATE_BUDGET_EXHAUSTED: the {} requests of a cycle were spent; 1 pull request waits, for {waits}",
                spent.of
            ),
            left => format!(
                "PR_STATE_BUDGET_EXHAUSTED: the {} requests of a cycle were spent; {left} pull requests wait, the longest \
                 for {waits}",
                spent.of
            ),
        },
        mend: "raise PR_STATE_REQUEST_BUDGET where it lasts; those that wait longest are read first"
            .to_owned(),
    }
}

/// Pull requests whose state goes back and forth without a push (field case B095).
pub(super) fn flipping(log: &[Transition], now: Time) -> Vec<Noted> {
    let mut by_pull: BTreeMap<&PrRef, Vec<Transition>> = BTreeMap::new();
    for row in log {
        by_pull.entry(&row.at).or_default().push(row.clone());
    }
    by_pull
        .into_iter()
        .filter_map(|(at, rows)| {
            let count = flips(&rows, now);
            (count > FLIPS).then(|| Noted {
                key: format!("flips/{at}"),
                since: rows.last().map_or(now, |row| row.created_at),
                text: format!("{at} changed its state {count} times within a day without a push"),
                mend: format!("`sweep why {at}` shows what it depends on"),
            })
        })
        .collect()
}

/// Pages that nobody is configured to get.
pub(super) fn nobody_to_page(report: &Report) -> Option<Noted> {
    let pages = report.wanted.iter().filter(|one| {
        one.artifact.artifact == Artifact::ReadyPage && one.artifact.to.is_empty() && one.artifact.is_on
    });
    let count = pages.count();
    (count > 0).then(|| Noted {
        key: "page/nobody".to_owned(),
        since: report.ts,
        text: format!("{count} ready pull requests have nobody to be paged"),
        mend: "set MERGE_NOTIFY_LOGINS or STALE_COORDINATOR_LOGIN".to_owned(),
    })
}

/// What the supervisor shows.
pub(super) fn shown(noted: &Noted) -> Attention {
    Attention {
        key: noted.key.clone(),
        since: Moment::from(noted.since),
        text: noted.text.clone(),
        mend: noted.mend.clone(),
    }
}

fn in_words(span: TimeDelta) -> String {
    match (span.num_hours(), span.num_minutes()) {
        (0, 0) => "less than a minute".to_owned(),
        (0, 1) => "1 minute".to_owned(),
        (0, minutes) => format!("{minutes} minutes"),
        (1, _) => "1 hour".to_owned(),
        (hours, _) => format!("{hours} hours"),
    }
}
