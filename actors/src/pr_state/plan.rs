//! From a verdict to its message.

use lifecycle::{Bucket, Verdict, msg_id};
use mailbox::MailboxName;
use pulls::facts::Time;
use runtime::{Intent, SendError, Stamp, Turn};

use crate::intents::{Audit, Close, Reattest, Rebase, Respond, Ship};

/// Sends the message of one verdict; the mailboxes that it goes to, several parted by commas.
pub(super) fn send(turn: &mut Turn, id: &str, now: Time, verdict: &Verdict) -> Result<String, SendError> {
    macro_rules! intent {
        ($type:ident { $($field:ident: $value:expr),* $(,)? }) => {
            post(turn, id, now, $type {
                repo: verdict.at.repo.clone(),
                pr: verdict.at.number,
                head_sha: Some(verdict.head.clone()),
                rule: Some(verdict.rule.as_str().to_owned()),
                reason: verdict.reason.clone(),
                signals: Some(
                    serde_json::to_value(&verdict.signals)
                        .expect("signals have no map with keys other than strings, and no failing serializer"),
                ),
                $($field: $value),*
            })
        };
    }
    let branch = Some(verdict.branch.clone());
    match verdict.bucket {
        Bucket::Close => intent!(Close { branch: branch }),
        Bucket::Investigate => intent!(Respond {
            reviewer: verdict.reviewer.clone(),
            comment_url: verdict.comment_url.clone(),
        }),
        Bucket::Rebase => intent!(Rebase { branch: branch }),
        Bucket::Qa => intent!(Reattest {
            branch: branch,
            check: verdict.signals.check.clone()
        }),
        Bucket::Ship => intent!(Ship { branch: branch }),
        Bucket::Wait => intent!(Audit {
            bucket: Some(Bucket::Wait.as_str().to_owned())
        }),
    }
}

fn post<I: Intent>(turn: &mut Turn, id: &str, now: Time, intent: I) -> Result<String, SendError> {
    let stamp = Stamp {
        msg_id: id
            .parse()
            .expect("names of repositories are short and plain, and so is the rest of the id"),
        // Whoever repeats the dispatch within the minute says the same.
        ts: msg_id::minute(now),
        from: "pr-state".to_owned(),
    };
    let to = turn.send_as(stamp, intent)?;
    Ok(to.iter().map(MailboxName::as_str).collect::<Vec<_>>().join(","))
}
