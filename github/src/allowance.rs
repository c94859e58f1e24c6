//! How many requests a whole undertaking may send.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests that are left to several calls together. Clones share the count.
///
/// A call that meets its end sends nothing more, lets come in what is on its way, and says what it
/// has [left](crate::PullsRead::left).
///
/// ```
/// use github::Allowance;
/// let allowance = Allowance::of(2);
/// assert!(allowance.spend(1));
/// assert!(!allowance.clone().spend(2), "all of them or none");
/// assert_eq!(allowance.left(), 1);
/// ```
#[derive(Debug, Clone)]
pub struct Allowance(Arc<AtomicU64>);

impl Allowance {
    /// So many requests.
    pub fn of(requests: u64) -> Self {
        Self(Arc::new(AtomicU64::new(requests)))
    }

    /// As many as are asked for.
    pub fn unlimited() -> Self {
        Self::of(u64::MAX)
    }

    /// Requests that are left.
    pub fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes `requests` out, all of them or, where fewer are left, none; then it says `false`.
    pub fn spend(&self, requests: u64) -> bool {
        let less = |left: u64| left.checked_sub(requests);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }
}
