//! A pull request is read again before anything is done about it: what a message says was true when it was
//! sent (contract, section 5).

use std::time::Duration;

use github::{ErrorClass, ReadError, Reader};
use lifecycle::{Bucket, Outcome, QueueLine, Verdict, classify};
use pulls::facts::{PullState, Time};
use pulls::{PrRef, PullFacts};
use runtime::{Fault, Reason, Turn};

use crate::hints::{self, Renames};
use crate::intents::AboutPull;
use crate::pr_state::Rules;

/// How long an actor rests when GitHub is not there and names no time itself.
const UNAVAILABLE_REST: Duration = Duration::from_secs(60);

/// What became of a message's claim about a pull request.
pub(crate) enum Again {
    /// It holds.
    Holds(Box<Fresh>),
    /// It does not, for this reason, which is the outcome's rest.
    Moot(String),
}

/// A pull request as it is now.
pub(crate) struct Fresh {
    pub(crate) pull: PullFacts,
    /// What the drip queue says of it, as the line stands there.
    pub(crate) queued: Option<QueueLine>,
}

/// Reads the pull request of a message again and judges it as the dispatcher does. The message holds when the
/// pull request is open, its head is the one that the message names, and it is in the bucket that the message
/// is sent for. One that a person sent by hand may name no head and no rule: then nothing is compared.
pub(crate) async fn look(
    (github, rules): (&Reader, &Rules),
    renames: &mut Renames,
    asked: &impl AboutPull,
    bucket: Bucket,
    turn: &mut Turn,
) -> Result<Again, Fault> {
    let pull = read(github, &asked.at(), turn).await?;
    if let Some(why) = closed(&pull) {
        return Ok(Again::Moot(why));
    }
    let hinted = hinted((github, rules), renames, &pull, turn).await?;
    let verdict = match classify(&pull, &hinted.about, &rules.settings, turn.now()) {
        Outcome::Classified(verdict) => *verdict,
        Outcome::NotOpen(state) => return Ok(Again::Moot(is(&state))),
    };
    Ok(match moved(asked, bucket, &verdict) {
        Some(why) => Again::Moot(why),
        None => Again::Holds(Box::new(Fresh {
            queued: hinted.queued,
            pull,
        })),
    })
}

/// What lies in the home about a pull request.
pub(crate) struct Hinted {
    about: lifecycle::Hints,
    /// What the drip queue says of it, as the line stands there.
    pub(crate) queued: Option<QueueLine>,
}

/// Reads what lies in the home about a pull request, under each name that its repository has or had.
pub(crate) async fn hinted(
    (github, rules): (&Reader, &Rules),
    renames: &mut Renames,
    pull: &PullFacts,
    turn: &mut Turn,
) -> Result<Hinted, Fault> {
    // The dispatcher reports what is wrong with a hint; here it is only left out.
    let mut problems = Vec::new();
    let queue = hints::read_queue(turn, &mut problems).await?;
    let gates = hints::read_gates(turn, &mut problems).await?;
    if let Err(error) = renames
        .learn(github, &queue, &gates, std::slice::from_ref(pull))
        .await
    {
        tracing::warn!("former names of repositories are not known: {error}");
    }
    let names = renames.names(pull);
    Ok(Hinted {
        about: hints::about((&queue, &gates), &names, pull.at.number, &rules.gated),
        queued: queue.line_under(&names, pull.at.number).cloned(),
    })
}

/// Why a message about a pull request that is not open any more is moot.
pub(crate) fn closed(pull: &PullFacts) -> Option<String> {
    (pull.state != PullState::Open).then(|| is(&pull.state))
}

fn is(state: &PullState) -> String {
    format!("the pull request is {}", state.as_str().to_lowercase())
}

/// What moved since the message was sent.
fn moved(asked: &impl AboutPull, bucket: Bucket, now: &Verdict) -> Option<String> {
    if asked.head().is_some_and(|head| *head != now.head) {
        return Some(format!("the head moved to {}", now.head.short()));
    }
    if asked.rule().is_some() && now.bucket != bucket {
        return Some(format!("it is in {} now: {}", now.bucket, now.reason));
    }
    None
}

/// What of a pull request is digested, so that a replay can say whether the world moved.
pub(crate) fn evidence_of(pull: &PullFacts) -> Vec<u8> {
    // The moment of reading is no part of what was read.
    let seen = PullFacts {
        read_at: Time::UNIX_EPOCH,
        ..pull.clone()
    };
    serde_json::to_vec(&seen)
        .expect("facts have no map with keys other than strings, and no failing serializer")
}

/// Reads one pull request as it is now; what that fails with says what becomes of the message.
pub(crate) async fn read(github: &Reader, at: &PrRef, turn: &mut Turn) -> Result<PullFacts, Fault> {
    let mut read = github.pulls(std::slice::from_ref(at), &|_| ()).await;
    turn.progress();
    if let Some(pull) = read.found.pop() {
        turn.saw(&pull.at.to_string(), &evidence_of(&pull));
        return Ok(pull);
    }
    let skipped = read.skipped.pop().map(|skipped| skipped.error);
    let error = read
        .stopped
        .or(skipped)
        .unwrap_or_else(|| ReadError::NoPull(at.clone()));
    Err(fault(format!("cannot read {at}"), error, turn))
}

/// What becomes of a message when GitHub did not answer.
pub(crate) fn fault(text: String, error: ReadError, turn: &Turn) -> Fault {
    match (&error, error.class()) {
        (ReadError::NoPull(_) | ReadError::NoRepository(_), _) => Fault::reject(Reason::because(text, error)),
        (_, ErrorClass::Credentials | ErrorClass::Unavailable) => Fault::wait(
            turn.moment().after(UNAVAILABLE_REST),
            Reason::because(text, error),
        ),
        (_, ErrorClass::Other) => Fault::retry(Reason::because(text, error)),
    }
}
