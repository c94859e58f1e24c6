//! Advances an open pull request's status (contract, section 5, `drip`). Before it does anything it reads the
//! pull request again, and a message that does not hold any more is moot. What a person must decide or do is
//! listed in `<home>/DECISIONS.md`; this actor closes nothing and merges nothing. A branch is rebased in a work
//! tree of its own, and pushed only where that is allowed and only over the head that was seen.

mod decisions;
mod pushes;
mod queue;
mod rebase;

use chrono::TimeDelta;
use github::Reader;
use lifecycle::Bucket;
use pulls::activity;
use pulls::facts::Time;
use runtime::{Actor, Done, Fault, Turn, message};

use crate::again::{self, Again, Fresh};
use crate::hints::Renames;
use crate::intents::{AboutPull, Close, Rebase, Ship};
use crate::pr_state::Rules;
use crate::trees::Trees;
use decisions::{Todo, list};

/// How long nobody says anything before a maintainer may be reminded (`pr-state.md`, bucket `ship`), in hours.
const QUIET_BEFORE_PING: i64 = 48;

message! {
    /// What the drip consumes.
    pub enum DripMessage {
        /// This pull request should be closed, and a person decides it.
        Close(Close),
        /// The branch must be rebased.
        Rebase(Rebase),
        /// A maintainer can merge.
        Ship(Ship),
    }
}

/// Whether rebased branches may be pushed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pushing {
    /// A person pushes.
    #[default]
    Withheld,
    /// This program pushes, over the head that it has seen.
    Allowed,
}

/// The drip.
pub struct Drip {
    github: Reader,
    rules: Rules,
    trees: Trees,
    pushing: Pushing,
    renames: Renames,
}

impl Drip {
    /// A drip that reads with `github`, judges by the dispatcher's rules and rebases in `trees`.
    pub fn new(github: Reader, rules: Rules, trees: Trees, pushing: Pushing) -> Self {
        Self {
            github,
            rules,
            trees,
            pushing,
            renames: Renames::default(),
        }
    }

    async fn look(
        &mut self,
        asked: &impl AboutPull,
        bucket: Bucket,
        turn: &mut Turn,
    ) -> Result<Again, Fault> {
        again::look(
            (&self.github, &self.rules),
            &mut self.renames,
            asked,
            bucket,
            turn,
        )
        .await
    }

    async fn close(&mut self, close: Close, turn: &mut Turn) -> Result<Done, Fault> {
        if let Again::Moot(why) = self.look(&close, Bucket::Close, turn).await? {
            return Ok(moot(&why));
        }
        list(turn, &Todo::Close, &close).await?;
        Ok(Done::new("listed for a decision: close"))
    }

    /// Nothing is said here: a ping is the publisher's. What is recorded is when one would be due.
    async fn ship(&mut self, ship: Ship, turn: &mut Turn) -> Result<Done, Fault> {
        let fresh = match self.look(&ship, Bucket::Ship, turn).await? {
            Again::Holds(fresh) => fresh,
            Again::Moot(why) => return Ok(moot(&why)),
        };
        Ok(Done::new(self.ready(&fresh, turn.now())))
    }

    fn ready(&self, fresh: &Fresh, now: Time) -> String {
        let spoken = activity::last_by_people(&fresh.pull, &self.rules.settings.people, now);
        let due = spoken + TimeDelta::hours(QUIET_BEFORE_PING);
        let when = due.format("%Y-%m-%d %H:%M UTC");
        match due <= now {
            true => format!("ready: a maintainer can merge it; quiet for 48 h, a ping is due since {when}"),
            false => format!("ready: a maintainer can merge it; a ping is due {when} if it stays quiet"),
        }
    }
}

fn moot(why: &str) -> Done {
    Done::new(format!("moot: {why}"))
}

impl Actor for Drip {
    const NAME: &'static str = "drip";
    type Message = DripMessage;

    async fn handle(&mut self, message: DripMessage, turn: &mut Turn) -> Result<Done, Fault> {
        match message {
            DripMessage::Close(close) => self.close(close, turn).await,
            DripMessage::Rebase(rebase) => self.rebase(rebase, turn).await,
            DripMessage::Ship(ship) => self.ship(ship, turn).await,
        }
    }
}
