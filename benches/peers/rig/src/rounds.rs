use std::collections::BTreeMap;
use std::time::Duration;

use crate::Figure;

/// The engine that every ratio refers to.
pub const LIMIT: &str = "plain file";

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What each engine did in each round of one case.
pub struct Rounds<'a> {
    scenario: &'a str,
    case: String,
    /// How much each engine does a round, in `what`.
    amount: usize,
    what: &'a str,
    /// In the order in which engines were first measured.
    engines: Vec<&'a str>,
    seconds: BTreeMap<(&'a str, usize), f64>,
    notes: BTreeMap<&'a str, String>,
}

impl<'a> Rounds<'a> {
    pub fn new(scenario: &'a str, case: impl Into<String>, amount: usize, what: &'a str) -> Self {
        Self {
            scenario,
            case: case.into(),
            amount,
            what,
            engines: Vec::new(),
            seconds: BTreeMap::new(),
            notes: BTreeMap::new(),
        }
    }

    /// Runs each of these once a round, beginning with another one each round.
    pub fn run(&mut self, rounds: usize, engines: &mut [(&'a str, &mut dyn FnMut() -> Duration)]) {
        let count = engines.len();
        self.engines.extend(engines.iter().map(|(name, _)| *name));
        for round in 0..rounds {
            for turn in 0..count {
                let (name, measure) = &mut engines[(turn + round) % count];
                self.seconds.insert((name, round), measure().as_secs_f64());
            }
            eprintln!(
                "{}, {}: round {} of {rounds}",
                self.scenario,
                self.case,
                round + 1
            );
        }
    }

    /// What the reader must know beside an engine's figure.
    pub fn note(&mut self, engine: &'a str, note: impl Into<String>) {
        self.notes.insert(engine, note.into());
    }

    fn all(&self, engine: &str) -> Vec<(usize, f64)> {
        let of_engine = self.seconds.iter().filter(|((name, _), _)| *name == engine);
        of_engine
            .map(|((_, round), seconds)| (*round, *seconds))
            .collect()
    }

    /// Prints the figures of all engines.
    pub fn tell(&self) {
        for engine in &self.engines {
            let of_engine = self.all(engine);
            let rates = of_engine
                .iter()
                .map(|(_, seconds)| self.amount as f64 / seconds)
                .collect();
            let mut figure = Figure::new(
                self.scenario,
                &self.case,
                engine,
                median(rates),
                &format!("{}/s", self.what),
            );
            let ratios: Vec<f64> = of_engine
                .iter()
                .filter_map(|(round, seconds)| Some(self.seconds.get(&(LIMIT, *round))? / seconds))
                .collect();
            if !ratios.is_empty() {
                figure.range = Some((
                    ratios.iter().copied().fold(f64::INFINITY, f64::min),
                    ratios.iter().copied().fold(0.0, f64::max),
                ));
                figure.ratio = Some(median(ratios));
            }
            figure.note = self.notes.get(engine).cloned();
            figure.tell();
        }
    }
}
