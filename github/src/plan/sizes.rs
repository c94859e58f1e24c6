//! How many pull requests of a repository go into one document, as experience has it (field case B096).

use std::collections::HashMap;

use pulls::{PrRef, RepoName};

use crate::batch::Profile;

/// The room of a batch, in parts so small that what a division drops is none.
const WHOLE: usize = 1 << 30;

/// The working size of each repository whose batches were once too much; of every other,
/// a whole [batch](Profile::batch).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    profile: Profile,
    known: HashMap<RepoName, usize>,
}

impl Sizes {
    pub(crate) fn new(profile: Profile) -> Self {
        Self {
            profile,
            known: HashMap::new(),
        }
    }

    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    fn of(&self, repo: &RepoName) -> usize {
        self.known.get(repo).copied().unwrap_or(self.profile.batch())
    }

    /// Cuts pull requests into batches, in their order. One of a repository with a working size of 5
    /// takes a fifth of a batch, so that a batch of several repositories is no heavier than one of one.
    pub(crate) fn cut<'a>(&self, refs: impl IntoIterator<Item = &'a PrRef>) -> Vec<Vec<usize>> {
        let batch = self.profile.batch();
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let mut room = 0;
        for (place, at) in refs.into_iter().enumerate() {
            let takes = WHOLE / self.of(&at.repo).clamp(1, batch);
            match batches.last_mut().filter(|_| takes <= room) {
                Some(last) => last.push(place),
                None => {
                    batches.push(vec![place]);
                    room = WHOLE;
                }
            }
            room -= takes;
        }
        batches
    }

    /// What a run has shown of a repository: the most of a batch that was answered, 1 or more, and whether a
    /// larger one failed. After a run without a failure twice as many are tried.
    pub(crate) fn learn(&mut self, repo: &RepoName, answered: usize, has_failed: bool) {
        let size = if has_failed { answered } else { self.of(repo) * 2 };
        if size >= self.profile.batch() {
            self.known.remove(repo);
        } else {
            self.known.insert(repo.clone(), size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(refs: &[PrRef], sizes: &Sizes) -> Vec<usize> {
        sizes.cut(refs).iter().map(Vec::len).collect()
    }

    #[test]
    fn a_repository_is_read_in_the_size_that_works() {
        let heavy: RepoName = "o/heavy".parse().unwrap();
        let refs = |repo: &str, count: usize| -> Vec<PrRef> {
            (1..=count)
                .map(|n| format!("{repo}#{n}").parse().unwrap())
                .collect()
        };
        let mut known = Sizes::default();
        assert_eq!(sizes(&refs("o/heavy", 60), &known), [25, 25, 10]);
        assert_eq!(sizes(&[], &known), [0; 0]);
        known.learn(&heavy, 6, true);
        assert_eq!(sizes(&refs("o/heavy", 14), &known), [6, 6, 2]);
        assert_eq!(sizes(&refs("o/light", 26), &known), [25, 1]);
        let mixed: Vec<PrRef> = [refs("o/heavy", 3), refs("o/light", 14)].concat();
        assert_eq!(
            sizes(&mixed, &known),
            [15, 2],
            "three sixths and twelve twenty-fifths"
        );
        known.learn(&heavy, 6, false);
        assert_eq!(sizes(&refs("o/heavy", 13), &known), [12, 1]);
        known.learn(&heavy, 12, false);
        known.learn(&heavy, 24, false);
        assert_eq!(known, Sizes::default());
        for size in 1..25 {
            known.learn(&heavy, size, true);
            let cut = sizes(&refs("o/heavy", 2 * size), &known);
            assert_eq!(cut, [size, size], "what worked, and not one more");
        }
        known.learn(&heavy, 1, true);
        assert_eq!(sizes(&refs("o/heavy", 2), &known), [1, 1]);
    }
}
