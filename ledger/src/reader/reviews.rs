//! Reading the program's own reviews and their findings.

use lifecycle::maintain::{FindingCounts, HeadReview, Reviews};
use pulls::{PrRef, Sha};
use rusqlite::params;

use super::Reader;
use crate::columns::{count, parsed, time};
use crate::error::{Fault, LedgerError};
use crate::records::AttemptState;

impl Reader {
    /// What a pull request's reviews come to while `head` is its head. A complete review of a head stays complete,
    /// whatever is tried after it.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn reviews(&self, of: &PrRef, head: &Sha) -> Result<Reviews, LedgerError> {
        let key = params![of.repo.as_str(), of.number.get()];
        let sql = "SELECT head_sha, state, quality, at FROM review_attempts \
                   WHERE repo = ?1 AND pr_number = ?2 ORDER BY id";
        let attempts = self.all("reading reviews", sql, key, |row| {
            let word = row.get_ref(1)?.as_str().unwrap_or_default();
            let state = AttemptState::of(word)
                .ok_or_else(|| Fault::strange("review_attempts.state", word, "no such word"))?;
            let review = match state {
                AttemptState::Queued => HeadReview::Queued,
                AttemptState::Running => HeadReview::Running,
                AttemptState::Failed => HeadReview::Failed,
                AttemptState::Completed => HeadReview::Completed {
                    at: time(row, 3, "review_attempts.at")?,
                    quality: row.get(2)?,
                },
            };
            Ok((parsed::<Sha>(row, 0, "review_attempts.head_sha")?, review))
        })?;
        let count = u32::try_from(attempts.len()).unwrap_or(u32::MAX);
        let mut of_head: Vec<HeadReview> = attempts
            .into_iter()
            .filter(|(on, _)| on == head)
            .map(|(_, review)| review)
            .collect();
        let is_complete = |review: &HeadReview| matches!(review, HeadReview::Completed { .. });
        let best = of_head
            .iter()
            .rposition(is_complete)
            .or(of_head.len().checked_sub(1));
        Ok(Reviews {
            attempts: count,
            is_claimed: best.is_some(),
            of_head: best.map_or(HeadReview::None, |best| of_head.swap_remove(best)),
        })
    }

    /// The unresolved blockers and majors of a pull request, on whatever head they were found.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn findings(&self, of: &PrRef) -> Result<FindingCounts, LedgerError> {
        let key = params![of.repo.as_str(), of.number.get()];
        let sql = "SELECT count(*) FILTER (WHERE NOT is_disputed), count(*) FILTER (WHERE is_disputed) \
                   FROM findings WHERE repo = ?1 AND pr_number = ?2 AND NOT is_fixed \
                   AND severity IN ('blocker', 'major')";
        let counts = self.one("reading findings", sql, key, |row| {
            Ok(FindingCounts {
                open: count(row, 0, "count")?,
                disputed: count(row, 1, "count")?,
            })
        })?;
        Ok(counts.unwrap_or_default())
    }
}
