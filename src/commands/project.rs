//! `sweep project`: the pure projection, evidence in, state out (contract, section 2).

use std::collections::BTreeSet;
use std::io::{self, BufReader};

use lifecycle::maintain::{Before, Epoch, Evidence, Projected, Settings, VERSION, Wanted, project, step};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};
use crate::print;

/// What is printed for one evidence document.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    projected: Projected,
    /// What a pull request that was never recorded would want with it.
    artifacts: Vec<Wanted>,
}

/// Prints the projection of each document on standard input, one line each. Nothing else is read but the configuration.
pub fn run(context: &Context, choice: &cli::Project) -> Result<(), Failure> {
    if choice.schema {
        return print::json(&schemars::schema_for!(Evidence));
    }
    let settings = context.config()?.lifecycle.settings;
    let documents = serde_json::Deserializer::from_reader(BufReader::new(io::stdin().lock()))
        .into_iter::<Box<RawValue>>();
    let mut number = 0;
    for document in documents {
        number += 1;
        let document = document.map_err(|error| match error.classify() {
            serde_json::error::Category::Io => {
                Failure::new(Exit::Other, "cannot read standard input").because(io::Error::from(error))
            }
            _ => refused(number, &error.to_string()),
        })?;
        let mut evidence = read(document.get()).map_err(|why| refused(number, &why))?;
        evidence.now = context.now.unwrap_or(evidence.now);
        print::json(&shown(&evidence, &settings))?;
    }
    match number {
        0 => Err(refused(0, "there is none")),
        _ => Ok(()),
    }
}

/// Which document of several it is, is said from the second on.
fn refused(number: usize, why: &str) -> Failure {
    let which = match number {
        0 | 1 => String::new(),
        number => format!(", document {number}"),
    };
    Failure::new(
        Exit::Usage,
        format!("the evidence on standard input{which}: {why}"),
    )
    .mend("`sweep project --schema` says how it is written.")
}

/// Reads a document. A field that nobody knows is a slip, and would be passed over in silence.
fn read(text: &str) -> Result<Evidence, String> {
    let evidence: Evidence = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if evidence.version != VERSION {
        return Err(format!(
            "it is of version {}, and this program knows version {VERSION}",
            evidence.version
        ));
    }
    let given: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let known = serde_json::to_value(&evidence).map_err(|error| error.to_string())?;
    match unknown(&given, &known, "") {
        Some(field) => Err(format!("unknown field `{field}`")),
        None => Ok(evidence),
    }
}

/// The first field of a document that its own reading does not have.
fn unknown(given: &Value, known: &Value, path: &str) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => given.iter().find_map(|(field, value)| {
            let path = match path {
                "" => field.clone(),
                path => format!("{path}.{field}"),
            };
            match known.get(field) {
                Some(known) => unknown(value, known, &path),
                None => Some(path),
            }
        }),
        (Value::Array(given), Value::Array(known)) => given
            .iter()
            .zip(known)
            .enumerate()
            .find_map(|(nth, (given, known))| unknown(given, known, &format!("{path}[{nth}]"))),
        _ => None,
    }
}

fn shown(evidence: &Evidence, settings: &Settings) -> Shown {
    let first = step(
        Before::default(),
        evidence,
        &[],
        &BTreeSet::new(),
        Epoch(1),
        settings,
    );
    Shown {
        projected: project(evidence, settings),
        artifacts: first.wanted,
    }
}

#[cfg(test)]
mod tests {
    use lifecycle::maintain::build;

    use super::*;

    fn text(change: impl FnOnce(&mut Value)) -> String {
        let mut value = serde_json::to_value(build::ready("o/r#7").done()).unwrap();
        change(&mut value);
        value.to_string()
    }

    #[test]
    fn a_document_is_read_whole_or_refused_by_its_field() {
        assert!(read(&text(|_| {})).is_ok());
        for (change, said) in [
            (
                (|value| value["hed"] = 1.into()) as fn(&mut Value),
                "unknown field `hed`",
            ),
            (
                |value| value["head"]["shaa"] = 1.into(),
                "unknown field `head.shaa`",
            ),
            (
                |value| value["checks"][0]["nmae"] = "x".into(),
                "unknown field `checks[0].nmae`",
            ),
            (|value| value["version"] = 2.into(), "version 2"),
            (
                |value| drop(value.as_object_mut().unwrap().remove("base")),
                "missing field `base`",
            ),
            (|value| value["is_draft"] = "no".into(), "expected a boolean"),
        ] {
            let refused = read(&text(change)).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }

    #[test]
    fn a_ready_pull_request_wants_its_owner_and_its_page() {
        let shown = shown(&build::ready("o/r#7").done(), &Settings::default());
        let value = serde_json::to_value(&shown).unwrap();
        assert_eq!(value["state"], "ready_for_maintainer");
        let wanted: Vec<&str> = shown.artifacts.iter().map(|wanted| wanted.key.as_str()).collect();
        assert_eq!(wanted, ["o/r#7/1/1/ready", "o/r#7/d1/owner"]);
    }
}
