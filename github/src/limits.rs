//! The bounds of a reader.

use std::time::Duration;

/// What a [`Reader`](crate::Reader) allows itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Requests on their way at one time, 5 by default (contract, section 4). One, after a rate limit.
    pub in_flight: usize,
    /// The least wait before the one retry after a rate limit, 30 s by default.
    pub retry_wait: Duration,
    /// The longest wait for a rate limit to end, 2 min by default. One that lasts longer ends the
    /// reading at once: whoever asked can wait better than a request can.
    pub longest_wait: Duration,
    /// The time for one request with its whole answer, 30 s by default; GitHub gives up after 10 s.
    pub request_timeout: Duration,
    /// The largest answer, in bytes, 64 MiB by default: 25 pull requests with 300 texts of 8 KiB each.
    pub answer_size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 5,
            retry_wait: Duration::from_secs(30),
            longest_wait: Duration::from_secs(120),
            request_timeout: Duration::from_secs(30),
            answer_size: 64 << 20,
        }
    }
}
