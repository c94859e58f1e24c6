//! Which pull requests a cycle looks at, and in which order. Pure.

use std::collections::BTreeMap;

use lifecycle::maintain::Evidence;
use pulls::PrRef;
use pulls::facts::Time;

/// Why a pull request is to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// It is judged anew from what is recorded: nothing of it is read.
    Recorded,
    /// A look at its head found other checks: it is judged with them, and nothing more is read.
    Looked,
    /// Its turn in the full pass.
    FullPass,
    /// A deadline of its row passed.
    Due,
    /// The list of updates, or the look at its head, says that it changed.
    Changed,
    /// It was never read.
    Unseen,
}

/// One that is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) at: PrRef,
    pub(super) why: Why,
    /// Since when it waits for a budget to reach it.
    pub(super) waiting_since: Option<Time>,
    /// When it was last read in whole.
    pub(super) last_read: Option<Time>,
}

/// Those to look at, each once, in the order in which a budget is spent on them: who waits longest comes first, then
/// who was read longest ago, so that a budget that is too small reaches everybody in turn (field case B078).
#[derive(Debug, Default)]
pub(super) struct Agenda {
    candidates: BTreeMap<PrRef, Candidate>,
    looked: BTreeMap<PrRef, Evidence>,
}

/// What is to be done, in order.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Those that are judged without reading them, with their evidence where a look at the head gave it.
    pub(super) judge: Vec<(PrRef, Option<Evidence>)>,
    /// Those that are read in whole.
    pub(super) read: Vec<Candidate>,
}

impl Agenda {
    /// Adds one. Of several reasons for the same pull request the strongest counts.
    pub(super) fn add(&mut self, new: Candidate) {
        match self.candidates.entry(new.at.clone()) {
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(new);
            }
            std::collections::btree_map::Entry::Occupied(mut taken) => {
                let known = taken.get_mut();
                known.why = known.why.max(new.why);
                known.waiting_since = match (known.waiting_since, new.waiting_since) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                known.last_read = known.last_read.max(new.last_read);
            }
        }
    }

    pub(super) fn has(&self, at: &PrRef) -> bool {
        self.candidates.contains_key(at)
    }

    /// Adds one whose head was looked at, with the evidence that this gave.
    pub(super) fn judge(&mut self, at: Candidate, evidence: Evidence) {
        self.looked.insert(at.at.clone(), evidence);
        self.add(Candidate {
            why: Why::Looked,
            ..at
        });
    }

    /// All of them in order. What the full pass alone asks for comes last: it costs nobody anything but time.
    pub(super) fn in_order(mut self) -> Work {
        let mut work = Work::default();
        for (at, candidate) in self.candidates {
            match candidate.why {
                Why::Recorded => work.judge.push((at, None)),
                Why::Looked => {
                    let evidence = self.looked.remove(&at);
                    work.judge.push((at, evidence));
                }
                Why::FullPass | Why::Due | Why::Changed | Why::Unseen => work.read.push(candidate),
            }
        }
        work.read.sort_by_key(|one| {
            (
                one.waiting_since.is_none(),
                one.waiting_since,
                one.why == Why::FullPass,
                one.last_read,
                one.at.clone(),
            )
        });
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    fn candidate(number: u32, why: Why, waiting: Option<i64>, read: Option<i64>) -> Candidate {
        let at = |minutes: i64| Time::UNIX_EPOCH + TimeDelta::minutes(minutes);
        Candidate {
            at: format!("o/r#{number}").parse().unwrap(),
            why,
            waiting_since: waiting.map(at),
            last_read: read.map(at),
        }
    }

    fn order(candidates: impl IntoIterator<Item = Candidate>) -> Vec<u32> {
        let mut agenda = Agenda::default();
        for one in candidates {
            agenda.add(one);
        }
        let numbers = |one: &Candidate| one.at.number.get();
        agenda.in_order().read.iter().map(numbers).collect()
    }

    #[test]
    fn b078_who_waits_longest_comes_first_then_who_was_read_longest_ago() {
        let said = order([
            candidate(1, Why::FullPass, None, Some(1)),
            candidate(2, Why::Changed, None, Some(50)),
            candidate(3, Why::Unseen, None, None),
            candidate(4, Why::Due, Some(20), Some(60)),
            candidate(5, Why::FullPass, Some(10), Some(60)),
        ]);
        assert_eq!(said, [5, 4, 3, 2, 1]);
    }

    #[test]
    fn one_pull_request_is_looked_at_once_for_its_strongest_reason() {
        let mut agenda = Agenda::default();
        agenda.add(candidate(1, Why::FullPass, None, Some(5)));
        agenda.add(candidate(1, Why::Changed, Some(9), Some(5)));
        agenda.add(candidate(1, Why::Due, Some(7), Some(5)));
        assert_eq!(
            agenda.in_order().read,
            [candidate(1, Why::Changed, Some(7), Some(5))]
        );
    }

    #[test]
    fn what_is_judged_from_the_record_costs_no_request_unless_it_changed_too() {
        let mut agenda = Agenda::default();
        agenda.add(candidate(1, Why::Recorded, None, Some(5)));
        agenda.add(candidate(2, Why::Recorded, None, Some(5)));
        agenda.add(candidate(2, Why::Changed, None, Some(5)));
        let seen = lifecycle::maintain::build::evidence("o/r#3").done();
        agenda.judge(candidate(3, Why::Looked, None, Some(5)), seen.clone());
        let work = agenda.in_order();
        let at = |number: u32| candidate(number, Why::Due, None, None).at;
        assert_eq!(work.judge, [(at(1), None), (at(3), Some(seen))]);
        assert_eq!(work.read, [candidate(2, Why::Changed, None, Some(5))]);
    }

    #[test]
    fn b078_a_budget_for_two_reaches_all_five_in_three_cycles() {
        let mut waiting: BTreeMap<u32, i64> = BTreeMap::new();
        let mut visits: BTreeMap<u32, usize> = BTreeMap::new();
        for cycle in 0..3 {
            // Number 1 changes in every cycle.
            let changed = (1..=5).filter(|n| *n == 1 || !visits.contains_key(n));
            let all = changed.map(|n| candidate(n, Why::Changed, waiting.get(&n).copied(), None));
            let order = order(all);
            for n in &order[..2.min(order.len())] {
                *visits.entry(*n).or_default() += 1;
                waiting.remove(n);
            }
            for n in order.iter().skip(2) {
                waiting.entry(*n).or_insert(cycle);
            }
        }
        assert_eq!(visits.len(), 5, "{visits:?}");
    }
}
