//! The ids of the dispatcher's messages: `pr-state-<minute>-<owner>-<repo>-<pr>` (contract, section 4).

use std::collections::BTreeMap;

use chrono::{DurationRound, SecondsFormat, TimeDelta};
use pulls::facts::Time;
use pulls::{PrRef, RepoName};

/// A moment rounded down to its minute, as it stands in an id and in `ts`.
pub fn minute(now: Time) -> Time {
    // Fails only for moments outside of what nanoseconds in 64 bits can count; those stay as they are.
    now.duration_trunc(TimeDelta::minutes(1)).unwrap_or(now)
}

/// The id of a pull request's message in a minute.
///
/// ```
/// use lifecycle::msg_id;
/// let now = "2026-05-14T17:45:31Z".parse().unwrap();
/// let id = msg_id::plain(now, &"sharkdp/bat#3734".parse().unwrap());
/// assert_eq!(id, "pr-state-2026-05-14T17:45:00Z-sharkdp-bat-3734");
/// ```
pub fn plain(now: Time, at: &PrRef) -> String {
    let minute = minute(now).to_rfc3339_opts(SecondsFormat::Secs, true);
    format!("pr-state-{minute}-{}-{}", at.repo.slug(), at.number)
}

/// The id of a pull request whose [`plain`] one belongs to another repository: `a-b/c` and `a/b-c` share a
/// slug. The suffix is the length of the owner's name, which is all that the slug lost; `~` stands in no
/// name and no number. So the suffix depends on nothing but the repository's own name.
///
/// ```
/// use lifecycle::msg_id;
/// let now = "2026-05-14T17:45:31Z".parse().unwrap();
/// let id = msg_id::told_apart(now, &"a-b/c#7".parse().unwrap());
/// assert_eq!(id, "pr-state-2026-05-14T17:45:00Z-a-b-c-7~3");
/// ```
pub fn told_apart(now: Time, at: &PrRef) -> String {
    format!("{}~{}", plain(now, at), at.repo.owner().len())
}

/// The id of every pull request of a run, all of them different.
///
/// `taken` holds the plain ids that were given earlier in this minute, each with the repository it was
/// given to (a line of `pr-state.jsonl` has both). Who has an id keeps it; else, of the repositories of
/// this run that share one, the one with the shortest owner has it, and the others are told apart. So two
/// runs in one minute give one pull request one id, whichever part of the pull requests each of them read,
/// and no message can be taken for a repeat of another repository's.
pub fn assign<'a>(
    now: Time,
    run: impl IntoIterator<Item = &'a PrRef>,
    taken: &BTreeMap<String, RepoName>,
) -> BTreeMap<PrRef, String> {
    let mut holders = taken.clone();
    let mut refs: Vec<&PrRef> = run.into_iter().collect();
    refs.sort_by_key(|at| (at.repo.owner().len(), *at));
    refs.into_iter()
        .map(|at| {
            let id = plain(now, at);
            let holder = holders.entry(id.clone()).or_insert_with(|| at.repo.clone());
            let id = if *holder == at.repo {
                id
            } else {
                told_apart(now, at)
            };
            (at.clone(), id)
        })
        .collect()
}
