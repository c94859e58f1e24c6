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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{self, at};

    #[test]
    fn b067_only_an_issue_closed_by_another_merged_pull_request() {
        let merged = Some(at("2026-05-13T09:00:00Z"));
        let other = |pull: build::PullBuilder| superseded(&pull.build()).map(|by| by.by.to_string());
        assert_eq!(other(build::pull("o/r", 7)), None);
        assert_eq!(
            other(build::pull("o/r", 7).with(|pull| pull.body = "Like #9, `#9`".into())),
            None
        );
        assert_eq!(other(build::pull("o/r", 7).closes(5)), None, "open");
        assert_eq!(
            other(build::pull("o/r", 7).closed_by_other(5, 9, merged)),
            Some("o/r#9".into())
        );
        assert_eq!(
            other(build::pull("o/r", 7).closed_by_other(5, 9, None)),
            None,
            "closed without a merge"
        );
        assert_eq!(
            other(build::pull("o/r", 7).closed_by_other(5, 7, merged)),
            None,
            "itself"
        );
        let reopened = build::pull("o/r", 7)
            .closed_by_other(5, 9, merged)
            .with(|pull| pull.closes[0].is_closed = false);
        assert_eq!(other(reopened), None, "opened again");
        let by_hand = build::pull("o/r", 7)
            .closed_by_other(5, 9, merged)
            .with(|pull| pull.closes[0].closed_by = None);
        assert_eq!(other(by_hand), None, "closed by a person");
        let elsewhere = build::pull("o/r", 7)
            .closed_by_other(5, 7, merged)
            .with(|pull| pull.closes[0].closed_by.as_mut().unwrap().at.repo = "o/other".parse().unwrap());
        assert_eq!(
            other(elsewhere),
            Some("o/other#7".into()),
            "one number in two repositories"
        );
    }

    #[test]
    fn of_several_the_first_merged_in_any_order() {
        let (early, late) = (Some(at("2026-05-01T00:00:00Z")), Some(at("2026-05-09T00:00:00Z")));
        let one = build::pull("o/r", 7)
            .closed_by_other(5, 9, late)
            .closed_by_other(6, 8, early)
            .build();
        let two = build::pull("o/r", 7)
            .closed_by_other(6, 8, early)
            .closed_by_other(5, 9, late)
            .build();
        assert_eq!(superseded(&one), superseded(&two));
        assert_eq!(superseded(&one).unwrap().by.to_string(), "o/r#8");
    }
}
