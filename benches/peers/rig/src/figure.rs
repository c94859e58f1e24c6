use serde::{Deserialize, Serialize};

/// One measured figure. Programs exchange these as JSON lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured: `append`, `consume`.
    pub scenario: String,
    /// Under which circumstances: `64 senders`.
    pub case: String,
    /// Of whom.
    pub engine: String,
    pub value: f64,
    /// `messages/s`, `s`, `MB`.
    pub unit: String,
    /// How it stands to the limit, where there is one: the median of the rounds.
    pub ratio: Option<f64>,
    /// The lowest and the highest ratio of all rounds.
    pub range: Option<(f64, f64)>,
    /// What the reader must know beside it.
    pub note: Option<String>,
}

impl Figure {
    pub fn new(scenario: &str, case: &str, engine: &str, value: f64, unit: &str) -> Self {
        Self {
            scenario: scenario.to_owned(),
            case: case.to_owned(),
            engine: engine.to_owned(),
            value,
            unit: unit.to_owned(),
            ratio: None,
            range: None,
            note: None,
        }
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Prints it for whoever collects them.
    pub fn tell(&self) {
        println!("{}", serde_json::to_string(self).expect("plain data serializes"));
    }
}
