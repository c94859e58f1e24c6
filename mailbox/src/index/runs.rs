//! A set of numbers that mostly follow one another, kept as runs: a million unread messages in a row
//! take as much memory as one. Pure.

use std::collections::BTreeMap;

use crate::names::Seq;

/// A set of numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs {
    /// The last number of each run, by its first. No two of them touch.
    runs: BTreeMap<u64, u64>,
    len: u64,
}

impl Runs {
    /// How many numbers are in it.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The lowest number.
    pub(crate) fn first(&self) -> Option<Seq> {
        self.runs.first_key_value().map(|(first, _)| Seq(*first))
    }

    /// The run that begins with this number or before it, nearest to it.
    fn before(&self, number: u64) -> Option<(u64, u64)> {
        let run = self.runs.range(..=number).next_back();
        run.map(|(first, last)| (*first, *last))
    }

    /// Puts a number in; `false` when it was there.
    pub(crate) fn insert(&mut self, Seq(number): Seq) -> bool {
        let before = self.before(number);
        if before.is_some_and(|(_, last)| number <= last) {
            return false;
        }
        let first = match before {
            Some((first, last)) if last + 1 == number => first,
            _ => number,
        };
        let after = number.checked_add(1).and_then(|next| self.runs.remove(&next));
        self.runs.insert(first, after.unwrap_or(number));
        self.len += 1;
        true
    }

    /// Takes a number out; `false` when it was not there.
    pub(crate) fn remove(&mut self, Seq(number): Seq) -> bool {
        let Some((first, last)) = self.before(number).filter(|(_, last)| number <= *last) else {
            return false;
        };
        if first < number {
            self.runs.insert(first, number - 1);
        } else {
            self.runs.remove(&first);
        }
        if number < last {
            self.runs.insert(number + 1, last);
        }
        self.len -= 1;
        true
    }

    /// The numbers from this one on, in order.
    pub(crate) fn from(&self, Seq(number): Seq) -> impl Iterator<Item = Seq> {
        let within = self.before(number).filter(|(_, last)| number <= *last);
        let within = within.map(|(_, last)| (number, last));
        let after = number.checked_add(1).map(|next| self.runs.range(next..));
        let after = after.into_iter().flatten().map(|(first, last)| (*first, *last));
        within
            .into_iter()
            .chain(after)
            .flat_map(|(first, last)| (first..=last).map(Seq))
    }
}

impl Extend<Seq> for Runs {
    fn extend<T: IntoIterator<Item = Seq>>(&mut self, numbers: T) {
        for number in numbers {
            self.insert(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_are_one_run() {
        let mut runs = Runs::default();
        runs.extend([Seq(1), Seq(2), Seq(5), Seq(4), Seq(3), Seq(9)]);
        assert_eq!(runs.runs, BTreeMap::from([(1, 5), (9, 9)]));
        assert!(runs.remove(Seq(3)));
        assert_eq!(runs.runs, BTreeMap::from([(1, 2), (4, 5), (9, 9)]));
        assert_eq!(runs.len(), 5);
    }

    #[test]
    fn the_ends_of_the_numbers_are_numbers() {
        let mut runs = Runs::default();
        runs.extend([Seq(0), Seq::MAX, Seq(u64::MAX - 1)]);
        assert_eq!(
            runs.from(Seq(1)).collect::<Vec<_>>(),
            [Seq(u64::MAX - 1), Seq::MAX]
        );
        assert!(runs.remove(Seq::MAX) && runs.remove(Seq(0)));
        assert_eq!(runs.first(), Some(Seq(u64::MAX - 1)));
    }

    proptest! {
        #[test]
        fn it_is_a_set(steps in proptest::collection::vec((any::<bool>(), 0..24_u64), 0..200), from in 0..24_u64) {
            let (mut runs, mut set) = (Runs::default(), BTreeSet::new());
            for (put, number) in steps {
                let number = Seq(number);
                if put {
                    prop_assert_eq!(runs.insert(number), set.insert(number));
                } else {
                    prop_assert_eq!(runs.remove(number), set.remove(&number));
                }
                prop_assert_eq!(runs.len(), set.len() as u64);
                prop_assert_eq!(runs.first(), set.first().copied());
            }
            let expected: Vec<Seq> = set.range(Seq(from)..).copied().collect();
            prop_assert_eq!(runs.from(Seq(from)).collect::<Vec<_>>(), expected);
            prop_assert!(runs.runs.iter().zip(runs.runs.keys().skip(1)).all(|((_, last), next)| last + 1 < *next));
        }
    }
}
