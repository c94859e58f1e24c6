//! Which checks a branch requires (contract, section 6, "Ready gate").

use std::collections::BTreeMap;

use crate::upkeep::{RequiredCheck, RequiredChecks};

/// Joins what the three places say where a branch can require checks: branch protection, rulesets, and the branch's own
/// summary. `None` is a place that does not answer; one that answers may require nothing.
///
/// A check that one place asks of any app and another of one app is asked of that app. Where none answers, the set is
/// unknown, and nothing counts as passed.
///
/// ```
/// use pulls::required::merge;
/// use pulls::upkeep::{RequiredCheck, RequiredChecks};
/// let build = |app| RequiredCheck { context: "build".to_owned(), app };
/// let merged = merge(None, Some(vec![build(Some(15_368))]), Some(vec![build(None)]));
/// assert_eq!(merged, RequiredChecks::Known(vec![build(Some(15_368))]));
/// assert!(matches!(merge(None, None, None), RequiredChecks::Unknown { .. }));
/// ```
pub fn merge(
    protection: Option<Vec<RequiredCheck>>,
    rulesets: Option<Vec<RequiredCheck>>,
    summary: Option<Vec<RequiredCheck>>,
) -> RequiredChecks {
    if protection.is_none() && rulesets.is_none() && summary.is_none() {
        return RequiredChecks::Unknown {
            why: "neither branch protection nor rulesets nor the branch itself says which they are"
                .to_owned(),
        };
    }
    let mut apps: BTreeMap<String, Vec<Option<u64>>> = BTreeMap::new();
    for check in [protection, rulesets, summary].into_iter().flatten().flatten() {
        apps.entry(check.context).or_default().push(check.app);
    }
    let checks = apps.into_iter().flat_map(|(context, mut apps)| {
        apps.sort();
        apps.dedup();
        if apps.iter().any(Option::is_some) {
            apps.retain(Option::is_some);
        }
        apps.into_iter().map(move |app| RequiredCheck {
            context: context.clone(),
            app,
        })
    });
    RequiredChecks::Known(checks.collect())
}

/// The app that a required check names. GitHub writes `-1` or nothing where any app will do (field case B024).
pub fn app(id: Option<i64>) -> Option<u64> {
    id.and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(context: &str, app: Option<u64>) -> RequiredCheck {
        RequiredCheck {
            context: context.to_owned(),
            app,
        }
    }

    #[test]
    fn b024_b025_an_app_that_is_named_anywhere_is_asked_for() {
        let merged = merge(
            Some(vec![check("test", None), check("lint", Some(7))]),
            None,
            Some(vec![
                check("lint", None),
                check("test", None),
                check("docs", Some(9)),
            ]),
        );
        let known = RequiredChecks::Known(vec![
            check("docs", Some(9)),
            check("lint", Some(7)),
            check("test", None),
        ]);
        assert_eq!(merged, known);
    }

    #[test]
    fn two_apps_that_are_named_are_both_asked_for() {
        let merged = merge(
            Some(vec![check("lint", Some(8))]),
            Some(vec![check("lint", Some(7))]),
            None,
        );
        assert_eq!(
            merged,
            RequiredChecks::Known(vec![check("lint", Some(7)), check("lint", Some(8))])
        );
    }

    #[test]
    fn one_that_answers_with_nothing_makes_the_set_known() {
        assert_eq!(
            merge(None, Some(Vec::new()), None),
            RequiredChecks::Known(Vec::new())
        );
        assert!(matches!(merge(None, None, None), RequiredChecks::Unknown { .. }));
    }

    #[test]
    fn b024_minus_one_is_any_app() {
        assert_eq!(
            [app(None), app(Some(-1)), app(Some(0)), app(Some(8329))],
            [None, None, None, Some(8329)]
        );
    }

    #[test]
    fn b014_every_place_that_answers_is_asked_and_names_are_exact() {
        let merged = merge(
            Some(vec![check("build", None)]),
            Some(vec![check("Build", None)]),
            Some(vec![check("build ", None)]),
        );
        let known = RequiredChecks::Known(vec![
            check("Build", None),
            check("build", None),
            check("build ", None),
        ]);
        assert_eq!(merged, known);
    }

    proptest::proptest! {
        #[test]
        fn neither_order_nor_repetition_nor_place_changes_the_set(
            (all, shuffled) in checks(),
            cuts in (0_usize..9, 0_usize..9),
        ) {
            let split = |all: &[RequiredCheck]| {
                let (low, high) = (cuts.0.min(cuts.1).min(all.len()), cuts.0.max(cuts.1).min(all.len()));
                let part = |part: &[RequiredCheck]| Some(part.to_vec());
                merge(part(&all[..low]), part(&all[low..high]), part(&all[high..]))
            };
            let one = merge(Some(all.clone()), None, None);
            proptest::prop_assert_eq!(&one, &split(&shuffled));
            proptest::prop_assert_eq!(&one, &merge(Some(all.clone()), Some(shuffled), Some(Vec::new())));
        }
    }

    fn checks() -> impl proptest::strategy::Strategy<Value = (Vec<RequiredCheck>, Vec<RequiredCheck>)> {
        use proptest::prelude::*;
        let one = (
            proptest::sample::select(vec!["build", "lint", "test"]),
            proptest::option::of(7_u64..9),
        );
        let one = one.prop_map(|(context, app)| check(context, app));
        proptest::collection::vec(one, 0..8)
            .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle()))
    }
}
