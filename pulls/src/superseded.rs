//! Whether another pull request did what this one set out to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::{PullFacts, Time};
use crate::ids::PrRef;

/// Another pull request was merged and closed an issue that this one would close.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Superseded {
    /// When the other was merged.
    pub merged_at: Time,
    /// The other.
    pub by: PrRef,
    /// The issue.
    pub issue: PrRef,
}

/// The pull request that superseded this one: an issue that this one would close is closed now, and the
/// last event that closed it names another, merged pull request as its closer (contract, section 4). A
/// number that is merely mentioned says nothing (field case B067). Of several, the first merged.
pub fn superseded(pull: &PullFacts) -> Option<Superseded> {
    let is_other =
        |by: &PrRef| by.number != pull.at.number || by.repo != pull.at.repo && by.repo != pull.asked_as;
    pull.closes
        .iter()
        .filter(|issue| issue.is_closed)
        .filter_map(|issue| {
            let closer = issue.closed_by.as_ref()?;
            Some(Superseded {
                merged_at: closer.merged_at?,
                by: closer.at.clone(),
                issue: PrRef {
                    repo: issue.repo.clone(),
                    number: issue.number,
                },
            })
        })
        .filter(|superseded| is_other(&superseded.by))
        .min()
}
