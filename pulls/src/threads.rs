//! Review threads that are still open.

use crate::facts::{PullFacts, Thread};

/// The review threads that nobody resolved. One whose code has changed since still counts: outdated is not
/// answered. The facts hold every thread, so their number is exact (field case B061).
pub fn unresolved(pull: &PullFacts) -> impl Iterator<Item = &Thread> {
    pull.threads.iter().filter(|thread| !thread.is_resolved)
}
