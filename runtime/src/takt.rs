//! When an actor's own tick is due. Pure.

use std::time::Duration;

use mailbox::Moment;

use crate::status::TaktStatus;

/// One actor's tick: due at its start, then at equal distances from there. One that was missed is run once, late.
#[derive(Clone, Debug)]
pub(crate) struct Takt {
    every: Duration,
    /// The instant of the takt that runs or is next: its key.
    due: Moment,
    /// When it is run: at its instant, or later where it waits.
    not_before: Moment,
    ended: u64,
    last: Option<Result<String, String>>,
}

impl Takt {
    /// The shortest distance: instants are in whole milliseconds, and two takts are never one.
    const SHORTEST: Duration = Duration::from_millis(1);

    pub(crate) fn starting(now: Moment, every: Duration) -> Self {
        Self {
            every: every.max(Self::SHORTEST),
            due: now,
            not_before: now,
            ended: 0,
            last: None,
        }
    }

    pub(crate) fn due(&self) -> Moment {
        self.due
    }

    pub(crate) fn runs_at(&self) -> Moment {
        self.due.max(self.not_before)
    }

    /// The takt has ended, well or not; the next is the first whose instant is still to come.
    pub(crate) fn ended(&mut self, now: Moment, came_to: Result<String, String>) {
        let missed = now.since(self.due).as_millis() / self.every.as_millis();
        let steps = u32::try_from(missed + 1).unwrap_or(u32::MAX);
        self.due = self.due.after(self.every.saturating_mul(steps));
        self.not_before = self.due;
        self.ended += 1;
        self.last = Some(came_to);
    }

    /// The same takt is run again at that moment, unless the next one is due before.
    pub(crate) fn again(&mut self, now: Moment, at: Moment, why: String) {
        if at < self.due.after(self.every) {
            self.not_before = at;
            self.last = Some(Err(why));
        } else {
            self.ended(now, Err(why));
            self.not_before = at;
        }
    }

    pub(crate) fn status(&self) -> TaktStatus {
        TaktStatus {
            every: self.every,
            due: self.due,
            ended: self.ended,
            last: self.last.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Moment {
        Moment::from_millis(seconds * 1000)
    }

    fn after(steps: impl FnOnce(&mut Takt)) -> (Moment, Moment, u64) {
        let mut takt = Takt::starting(at(100), EVERY);
        steps(&mut takt);
        (takt.due(), takt.runs_at(), takt.ended)
    }

    fn ok() -> Result<String, String> {
        Ok("done".into())
    }

    #[test]
    fn the_next_is_the_first_still_to_come() {
        let check = |ended_at, due| assert_eq!(after(|t| t.ended(at(ended_at), ok())), (at(due), at(due), 1));
        check(100, 110);
        check(109, 110);
        check(110, 120);
        // Three were missed: none of them is made up for.
        check(139, 140);
    }

    #[test]
    fn one_that_waits_keeps_its_instant() {
        assert_eq!(
            after(|t| t.again(at(101), at(104), "busy".into())),
            (at(100), at(104), 0)
        );
        assert_eq!(
            after(|t| {
                t.again(at(101), at(104), "busy".into());
                t.ended(at(105), ok())
            }),
            (at(110), at(110), 1)
        );
        // Longer than to the next one: that one takes its place, and waits too.
        assert_eq!(
            after(|t| t.again(at(101), at(125), "limit".into())),
            (at(110), at(125), 1)
        );
    }
}
