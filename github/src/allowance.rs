//! How many requests a whole undertaking may send.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::error::ReadError;

/// Requests that are left to several calls together. Clones share the count.
///
/// A call that meets its end sends nothing more, lets come in what is on its way, and says what it
/// has [left](crate::PullsRead::left); one that is about one thing fails with [`ReadError::Spent`].
///
/// ```
/// use github::Allowance;
/// let allowance = Allowance::of(200);
/// assert_eq!((allowance.left(), allowance.spent()), (200, 0));
/// assert!(!allowance.is_exhausted());
/// ```
#[derive(Debug, Clone)]
pub struct Allowance(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    most: u32,
    spent: AtomicU32,
    is_exhausted: AtomicBool,
}

impl Allowance {
    /// So many requests.
    pub fn of(requests: u32) -> Self {
        Self(Arc::new(Counts {
            most: requests,
            spent: AtomicU32::new(0),
            is_exhausted: AtomicBool::new(false),
        }))
    }

    /// As many as are asked for.
    pub fn unlimited() -> Self {
        Self::of(u32::MAX)
    }

    /// Requests that are left.
    pub fn left(&self) -> u32 {
        self.0.most.saturating_sub(self.spent())
    }

    /// Requests that were sent, every try and every hop of a redirect counted. What is sent again with a newer
    /// token, after the one before was refused, is one.
    pub fn spent(&self) -> u32 {
        self.0.spent.load(Ordering::Relaxed)
    }

    /// Whether something was not sent because none was left.
    pub fn is_exhausted(&self) -> bool {
        self.0.is_exhausted.load(Ordering::Relaxed)
    }

    /// Takes one request out, where one is left.
    pub(crate) fn spend(&self) -> Result<(), ReadError> {
        let more = |spent: u32| (spent < self.0.most).then(|| spent + 1);
        let spent = &self.0.spent;
        if spent
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
        {
            return Ok(());
        }
        self.0.is_exhausted.store(true, Ordering::Relaxed);
        Err(ReadError::Spent { of: self.0.most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_spent_for_all_clones() {
        let allowance = Allowance::of(2);
        let other = allowance.clone();
        assert!(allowance.spend().is_ok() && other.spend().is_ok());
        assert_eq!((allowance.left(), other.spent()), (0, 2));
        assert!(!allowance.is_exhausted(), "nothing was refused yet");
        assert_eq!(allowance.spend(), Err(ReadError::Spent { of: 2 }));
        assert!(other.is_exhausted());
        assert_eq!(other.spent(), 2);
        assert_eq!(Allowance::of(0).left(), 0);
    }
}
