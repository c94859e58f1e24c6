//! Review threads that are still open.

use crate::facts::{PullFacts, Thread};

/// The review threads that nobody resolved. One whose code has changed since still counts: outdated is not
/// answered. The facts hold every thread, so their number is exact (field case B061).
pub fn unresolved(pull: &PullFacts) -> impl Iterator<Item = &Thread> {
    pull.threads.iter().filter(|thread| !thread.is_resolved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{self, comment};

    #[test]
    fn b061_every_thread_counts_outdated_ones_too() {
        let mut pull = build::pull("o/r", 7).resolved_thread([comment("m", "Nit.")]);
        for _ in 0..130 {
            pull = pull.thread([comment("m", "Nit.")]);
        }
        let pull = pull.with(|pull| pull.threads[3].is_outdated = true).build();
        assert_eq!(unresolved(&pull).count(), 130);
    }
}
