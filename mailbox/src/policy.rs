//! What a mailbox declares about failure, rest and repetition.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How one mailbox treats failure and repetition. Declared when the program starts, not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Attempts after which a message goes to quarantine. At least 1.
    pub max_attempts: u32,
    /// How many messages may be in hand at once, whoever has them (contract, section 3, rule 4); `None`
    /// where that is for whoever takes them to say. With as many in hand the mailbox gives out nothing.
    pub wip: Option<u32>,
    /// The rest after the first failure; it doubles with each further one.
    pub backoff_base: Duration,
    /// The longest rest.
    pub backoff_cap: Duration,
    /// A message with the evidence of the last one finished for its subject is acked `unchanged`
    /// when that was finished no longer ago than this.
    pub unchanged_for: Duration,
    /// How long a process may hold a message without extending its lease; `None` where the process
    /// itself watches its handlers, as a supervisor does.
    pub process_lease: Option<Duration>,
    /// How long an acked message is kept after its ack, with its history.
    pub keep: Duration,
    /// The same for one that was acked `superseded` or `unchanged`.
    pub keep_brief: Duration,
    /// How long an id is known after its append, also when its message is no longer kept.
    pub dedupe_horizon: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for Policy {
    /// The contract's defaults: 5 attempts, 1 s to 5 min, 24 h, no time on a process's lease; kept for
    /// 90 days, briefly 48 h, ids known for 90 days. A mailbox by itself has no WIP limit.
    fn default() -> Policy {
        Policy {
            max_attempts: 5,
            wip: None,
            backoff_base: Duration::from_secs(1),
            backoff_cap: Duration::from_secs(5 * 60),
            unchanged_for: DAY,
            process_lease: None,
            keep: 90 * DAY,
            keep_brief: 2 * DAY,
            dedupe_horizon: 90 * DAY,
        }
    }
}

impl Policy {
    /// The rest after a failed attempt, the first being 1: `base * 2^(attempt - 1)`, at most the cap;
    /// half of it is fixed, the other half is drawn with `dice`, so that messages that failed
    /// together do not come back together.
    pub fn backoff(&self, attempt: u32, dice: u64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        let full = self
            .backoff_base
            .saturating_mul(1 << doublings)
            .min(self.backoff_cap);
        let millis = u64::try_from(full.as_millis()).unwrap_or(u64::MAX);
        let half = millis / 2;
        Duration::from_millis(millis - half + fastrand::Rng::with_seed(dice).u64(0..=half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_to_its_cap_with_half_of_it_jitter() {
        let policy = Policy::default();
        let check = |attempt: u32, full_ms: u64| {
            for dice in 0..200 {
                let rest = u64::try_from(policy.backoff(attempt, dice).as_millis()).unwrap();
                assert!(
                    rest >= full_ms / 2 && rest <= full_ms,
                    "attempt {attempt}: {rest} ms"
                );
            }
        };
        check(1, 1_000);
        check(2, 2_000);
        check(5, 16_000);
        check(9, 256_000);
        check(10, 300_000);
        check(u32::MAX, 300_000);
        assert_ne!(policy.backoff(5, 1), policy.backoff(5, 2));
        assert_eq!(policy.backoff(5, 7), policy.backoff(5, 7));
    }
}
