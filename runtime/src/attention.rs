//! What a person must look at, derived from acks, clocks and supervision (contract, section 3, "Backpressure").
//! Pure.

use std::time::Duration;

use mailbox::{MailboxName, MailboxStatus, Moment};
use serde::{Deserialize, Serialize};

use crate::status::{ActorState, ActorStatus};

/// One thing that a person must look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// What tells it apart: `down/qa`. The same key as before is the same thing as before.
    pub key: String,
    /// Since when it is so, or was first seen to be so.
    pub since: Moment,
    /// What is the matter.
    pub text: String,
    /// What to do about it.
    pub mend: String,
}

/// What attention is derived from.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The present moment.
    pub now: Moment,
    /// Every declared actor.
    pub actors: &'a [ActorStatus],
    /// Every mailbox.
    pub mailboxes: &'a [MailboxStatus],
    /// How long a message may be unread, and an actor wait (30 min where nothing else is configured).
    pub unread_limit: Duration,
    /// How full a mailbox may be.
    pub watermarks: Watermarks,
    /// What the mailboxes refuse to do, if anything.
    pub refused: Option<&'a RefusedByStore>,
    /// What actors say of themselves ([`Turn::attend`](crate::Turn::attend)).
    pub told: &'a [Attention],
}

/// The mailboxes do not take, give or settle messages: their disk is full, or fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedByStore {
    /// Since when.
    pub since: Moment,
    /// Why, in their words.
    pub why: String,
}

/// How many messages may be unread in one mailbox, so that an actor that is down or abandoned does not fill the
/// disk.
///
/// Above the soft mark a person must look. From the hard one on takts send it nothing more, and say so; whatever
/// belongs to an ack passes, and so do messages from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// More unread messages than this are attention.
    pub soft: u64,
    /// At this many unread messages a mailbox is full.
    pub hard: u64,
}

impl Default for Watermarks {
    /// 10,000 and 100,000: of the messages that are usual, a few megabytes and a few dozen.
    fn default() -> Self {
        Self {
            soft: 10_000,
            hard: 100_000,
        }
    }
}

/// Whether a mailbox is full, as it was last derived.
pub(crate) fn is_full(attention: &[Attention], mailbox: &MailboxName) -> bool {
    let key = full_key(mailbox);
    attention.iter().any(|one| one.key == key)
}

fn full_key(mailbox: &MailboxName) -> String {
    format!("full/{mailbox}")
}

/// The default of [`Seen::unread_limit`].
pub const UNREAD_LIMIT: Duration = Duration::from_secs(30 * 60);

/// What a person must look at now, by key. What was so before keeps its `since`.
pub fn attention(seen: &Seen<'_>, before: &[Attention]) -> Vec<Attention> {
    let mut found: Vec<_> = seen
        .actors
        .iter()
        .flat_map(|actor| of_actor(seen, actor))
        .collect();
    found.extend(
        seen.mailboxes
            .iter()
            .flat_map(|mailbox| of_mailbox(seen, mailbox)),
    );
    found.extend(seen.refused.map(|RefusedByStore { since, why }| Attention {
        key: "mailboxes".to_owned(),
        since: *since,
        text: format!("the mailboxes do not answer: {why}"),
        mend: "make room on the disk, or mend it; what was acknowledged is safe, and the actors go on by themselves"
            .to_owned(),
    }));
    found.extend_from_slice(seen.told);
    for new in &mut found {
        if let Some(known) = before.iter().find(|known| known.key == new.key) {
            new.since = known.since.min(new.since);
        }
    }
    found.sort_by(|a, b| a.key.cmp(&b.key));
    found
}

fn of_actor(seen: &Seen<'_>, actor: &ActorStatus) -> Vec<Attention> {
    let name = &actor.name;
    let why = actor
        .last_failure
        .as_deref()
        .map(|why| format!(": {why}"))
        .unwrap_or_default();
    let mut found = Vec::new();
    let mut attend = |kind: &str, since, text: String, mend: String| {
        found.push(Attention {
            key: format!("{kind}/{name}"),
            since,
            text,
            mend,
        });
    };

    match &actor.state {
        ActorState::Down { until } => attend(
            "down",
            seen.now,
            format!("{name} is down, it failed too often{why}"),
            format!(
                "mend what the log says of it; it is tried again {}, or when `sweep run` is started anew",
                in_words(*until, seen.now)
            ),
        ),
        ActorState::Stalled { since } => attend(
            "stalled",
            *since,
            format!("{name} missed its deadline and does not stop{why}"),
            "stop `sweep run` and start it again: nothing else ends a handler that never waits".to_owned(),
        ),
        ActorState::Waiting { until, why } if until.since(seen.now) > seen.unread_limit => attend(
            "waiting",
            seen.now,
            format!("{name} waits: {why}"),
            format!(
                "nothing, if that is expected; it goes on {}",
                in_words(*until, seen.now)
            ),
        ),
        _ => {}
    }

    if let Some(oldest) = actor
        .oldest_unread
        .filter(|oldest| seen.now.since(*oldest) > seen.unread_limit)
    {
        let mend = match actor.state {
            ActorState::Elsewhere => {
                format!("start {name}, or take its messages one by one with `sweep next {name}`")
            }
            ActorState::Stopped => {
                format!("`sweep run` starts {name}; `sweep inbox {name} --unread` lists them")
            }
            _ => format!(
                "`sweep inbox {name} --unread` lists them, `sweep replay {name}` shows what happened to each"
            ),
        };
        let age = duration(seen.now.since(oldest));
        let text = format!(
            "{name} has {} unread, the oldest for {age}",
            messages(actor.unread)
        );
        attend("unread", oldest.after(seen.unread_limit), text, mend);
    }

    let down = matches!(actor.state, ActorState::Down { .. } | ActorState::Stopped);
    if let Some(takt) = actor
        .takt
        .as_ref()
        .filter(|takt| !down && seen.now.since(takt.due) > takt.every)
    {
        let late = duration(seen.now.since(takt.due));
        let text = format!("{name} has not ended its takt, due {late} ago");
        attend(
            "overdue",
            takt.due.after(takt.every),
            text,
            format!("the log says where {name} is; `sweep actors` shows whether it runs or waits"),
        );
    }
    found
}

fn of_mailbox(seen: &Seen<'_>, mailbox: &MailboxStatus) -> Vec<Attention> {
    let name = &mailbox.name;
    let mut found = Vec::new();
    if *name == MailboxName::dead_letter() && mailbox.unread > 0 {
        found.push(Attention {
            key: "dead-letter".to_owned(),
            since: mailbox.oldest_unread.unwrap_or(seen.now),
            text: format!("{} that nobody declares", messages(mailbox.unread)),
            mend: format!(
                "declare an actor for their intents, or take them with `sweep next {name}`; `sweep inbox {name}` lists \
                 them"
            ),
        });
    } else if mailbox.quarantined > 0 {
        found.push(Attention {
            key: format!("quarantine/{name}"),
            since: seen.now,
            text: format!("{} of {name} in quarantine", messages(mailbox.quarantined)),
            mend: format!(
                "`sweep quarantine show {name} MSG_ID` shows each failure, `sweep quarantine retry` and `drop` end it"
            ),
        });
    }
    let Watermarks { soft, hard } = seen.watermarks;
    if mailbox.unread >= hard {
        found.push(Attention {
            key: full_key(name),
            since: seen.now,
            text: format!(
                "{name} is full, with {} unread; takts send it nothing more",
                messages(mailbox.unread)
            ),
            mend: format!("see why {name} does not keep up; it goes on below {hard}"),
        });
    } else if mailbox.unread > soft {
        found.push(Attention {
            key: format!("filling/{name}"),
            since: seen.now,
            text: format!(
                "{name} fills up, with {} unread; at {hard} it is full",
                messages(mailbox.unread)
            ),
            mend: format!("see why {name} does not keep up"),
        });
    }
    found
}

fn messages(count: u64) -> String {
    if count == 1 {
        "1 message".to_owned()
    } else {
        format!("{count} messages")
    }
}

fn in_words(until: Moment, now: Moment) -> String {
    match until.since(now) {
        left if left.is_zero() => "now".to_owned(),
        left => format!("in {}", duration(left)),
    }
}

/// A length of time in its two largest units: `1 h 5 min`.
fn duration(length: Duration) -> String {
    let seconds = length.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, 0) => format!("{hours} h"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        (_, 0, _) => format!("{days} d"),
        (_, _, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::TaktStatus;

    const NOW: Moment = Moment::from_millis(100_000_000);

    fn ago(minutes: u64) -> Moment {
        Moment::from_millis(NOW.as_millis() - minutes * 60_000)
    }

    fn later(minutes: u64) -> Moment {
        NOW.after(Duration::from_secs(minutes * 60))
    }

    fn actor(state: ActorState) -> ActorStatus {
        ActorStatus {
            name: "qa".parse().unwrap(),
            intents: Vec::new(),
            state,
            restarts: 0,
            last_failure: None,
            unread: 0,
            oldest_unread: None,
            quarantined: 0,
            takt: None,
        }
    }

    fn mailbox(name: &str) -> MailboxStatus {
        MailboxStatus {
            name: name.parse().unwrap(),
            total: 9,
            unread: 0,
            leased: 0,
            pulled: 0,
            backing_off: 0,
            acked: 0,
            pruned: 0,
            quarantined: 0,
            last_ack: 0,
            oldest_unread: None,
            next_deliverable: None,
        }
    }

    fn found(actors: &[ActorStatus], mailboxes: &[MailboxStatus], before: &[Attention]) -> Vec<Attention> {
        attention(
            &Seen {
                now: NOW,
                actors,
                mailboxes,
                unread_limit: UNREAD_LIMIT,
                watermarks: Watermarks { soft: 10, hard: 20 },
                refused: None,
                told: &[],
            },
            before,
        )
    }

    #[test]
    fn each_condition_alone() {
        let check = |actor: ActorStatus, expected: &[(&str, Moment, &str)]| {
            let found = found(&[actor], &[], &[]);
            let found: Vec<_> = found
                .iter()
                .map(|a| (a.key.as_str(), a.since, a.text.as_str()))
                .collect();
            assert_eq!(found, expected);
        };
        check(actor(ActorState::Idle), &[]);
        check(actor(ActorState::BackingOff { until: later(1) }), &[]);
        check(
            ActorStatus {
                last_failure: Some("boom".into()),
                ..actor(ActorState::Down { until: later(10) })
            },
            &[("down/qa", NOW, "qa is down, it failed too often: boom")],
        );
        check(
            actor(ActorState::Stalled { since: ago(3) }),
            &[("stalled/qa", ago(3), "qa missed its deadline and does not stop")],
        );
        check(
            actor(ActorState::Waiting {
                until: later(30),
                why: "rate limit".into(),
            }),
            &[],
        );
        check(
            actor(ActorState::Waiting {
                until: later(31),
                why: "rate limit".into(),
            }),
            &[("waiting/qa", NOW, "qa waits: rate limit")],
        );
        let unread = |minutes| ActorStatus {
            unread: 2,
            oldest_unread: Some(ago(minutes)),
            ..actor(ActorState::Idle)
        };
        check(unread(30), &[]);
        check(
            unread(95),
            &[(
                "unread/qa",
                ago(65),
                "qa has 2 messages unread, the oldest for 1 h 35 min",
            )],
        );
        let takt = |due, state| ActorStatus {
            takt: Some(TaktStatus {
                every: Duration::from_secs(600),
                due,
                ended: 0,
                last: None,
            }),
            ..actor(state)
        };
        check(takt(ago(10), ActorState::Running), &[]);
        check(
            takt(ago(11), ActorState::Running),
            &[("overdue/qa", ago(1), "qa has not ended its takt, due 11 min ago")],
        );
        check(takt(ago(11), ActorState::Stopped), &[]);
    }

    #[test]
    fn quarantine_and_dead_letters_until_they_are_empty() {
        let set_aside = MailboxStatus {
            quarantined: 1,
            ..mailbox("qa")
        };
        let dead = MailboxStatus {
            unread: 3,
            oldest_unread: Some(ago(1)),
            ..mailbox("dead-letter")
        };
        let texts: Vec<_> = found(&[], &[set_aside, dead, mailbox("drip")], &[])
            .into_iter()
            .map(|a| (a.key, a.text))
            .collect();
        let expected = [
            (
                "dead-letter".to_owned(),
                "3 messages that nobody declares".to_owned(),
            ),
            (
                "quarantine/qa".to_owned(),
                "1 message of qa in quarantine".to_owned(),
            ),
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_mailbox_that_fills_up_and_one_that_is_full() {
        let check = |unread, expected: &[(&str, &str)]| {
            let unread = MailboxStatus {
                unread,
                ..mailbox("qa")
            };
            let found = found(&[], &[unread], &[]);
            let found: Vec<_> = found.iter().map(|a| (a.key.as_str(), a.text.as_str())).collect();
            assert_eq!(found, expected);
        };
        check(10, &[]);
        let filling = "qa fills up, with 11 messages unread; at 20 it is full";
        check(11, &[("filling/qa", filling)]);
        let full = "qa is full, with 20 messages unread; takts send it nothing more";
        check(20, &[("full/qa", full)]);
    }

    #[test]
    fn mailboxes_that_do_not_answer() {
        let refused = RefusedByStore {
            since: ago(3),
            why: "no space left".into(),
        };
        let seen = Seen {
            now: NOW,
            actors: &[],
            mailboxes: &[],
            unread_limit: UNREAD_LIMIT,
            watermarks: Watermarks::default(),
            refused: Some(&refused),
            told: &[],
        };
        let found = attention(&seen, &[]);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.key.as_str(), one.since), ("mailboxes", ago(3)));
        assert_eq!(one.text, "the mailboxes do not answer: no space left");
    }

    #[test]
    fn mends_name_commands_that_one_can_run() {
        let set_aside = MailboxStatus {
            quarantined: 1,
            ..mailbox("qa")
        };
        let dead = MailboxStatus {
            unread: 3,
            ..mailbox("dead-letter")
        };
        let unread = |state| ActorStatus {
            unread: 1,
            oldest_unread: Some(ago(31)),
            ..actor(state)
        };
        let mends = |actors: &[ActorStatus], mailboxes: &[MailboxStatus]| -> Vec<String> {
            let found = found(actors, mailboxes, &[]);
            found.into_iter().map(|attention| attention.mend).collect()
        };
        assert_eq!(
            mends(&[], &[set_aside, dead]),
            [
                "declare an actor for their intents, or take them with `sweep next dead-letter`; `sweep inbox \
                 dead-letter` lists them",
                "`sweep quarantine show qa MSG_ID` shows each failure, `sweep quarantine retry` and `drop` end it",
            ]
        );
        assert_eq!(
            mends(&[unread(ActorState::Idle)], &[]),
            ["`sweep inbox qa --unread` lists them, `sweep replay qa` shows what happened to each"]
        );
        assert_eq!(
            mends(&[unread(ActorState::Elsewhere)], &[]),
            ["start qa, or take its messages one by one with `sweep next qa`"]
        );
    }

    #[test]
    fn what_was_so_before_keeps_its_time() {
        let down = [actor(ActorState::Down { until: later(9) })];
        let before = vec![Attention {
            key: "down/qa".into(),
            since: ago(1),
            text: String::new(),
            mend: String::new(),
        }];
        assert_eq!(found(&down, &[], &before)[0].since, ago(1));
    }

    #[test]
    fn lengths_in_words() {
        let check = |seconds, words: &str| assert_eq!(duration(Duration::from_secs(seconds)), words);
        check(0, "0 s");
        check(59, "59 s");
        check(60, "1 min");
        check(3599, "59 min");
        check(3600, "1 h");
        check(3660, "1 h 1 min");
        check(90_000, "1 d 1 h");
        check(86_400, "1 d");
    }
}
