//! What the receiving actors may do: `[work]`, `[[qa.gates]]`, `[drip]`, `[investigate]`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use actors::drip::Pushing;
use actors::investigate::Answering;
use actors::qa::{Gate, Gates};
use pulls::RepoName;
use serde_json::json;
use toml::de::DeValue;

use super::error::ConfigError;
use super::reader::{Reader, Section};
use super::size::Size;
use super::value::{Command, Refusal, Value};
use super::{LONGEST, SHORTEST};
use crate::duration::Span;
use crate::token;

/// What the receiving actors may do.
#[derive(Debug)]
pub struct Work {
    /// The most room on the disk for mirrors of repositories and work trees together.
    pub disk: Size,
    /// The gates of each repository.
    pub gates: Gates,
    /// Whether rebased branches are pushed.
    pub pushing: Pushing,
    /// The program that drafts answers.
    pub answering: Option<Answering>,
}

impl Work {
    pub(super) fn read<'t>(reader: &mut Reader<'t>, root: &mut Section<'t>) -> Result<Self, ConfigError> {
        Ok(Self {
            disk: read_disk(reader, root)?,
            gates: read_gates(reader, root)?,
            pushing: read_drip(reader, root)?,
            answering: read_investigate(reader, root)?,
        })
    }
}

fn read_disk<'t>(reader: &mut Reader<'t>, root: &mut Section<'t>) -> Result<Size, ConfigError> {
    let mut section = reader.section(root, "work")?;
    let bounds = Size::mib(16)..=Size::mib(1024 * 1024 * 1024);
    let disk = reader.bounded(&mut section, "disk", Size::mib(20 * 1024), bounds)?;
    reader.leave(section);
    Ok(disk)
}

/// `[[qa.gates]]`. A repository may stand in several tables: its gates are then those of all of them, in order.
fn read_gates<'t>(reader: &mut Reader<'t>, root: &mut Section<'t>) -> Result<Gates, ConfigError> {
    let mut qa = reader.section(root, "qa")?;
    let mut gates = Gates::default();
    for mut section in reader.sections(&mut qa, "gates")? {
        let repo: RepoName = reader.required(&mut section, "repo")?;
        let commands: Vec<Command> = reader.required(&mut section, "commands")?;
        let timeout = reader.bounded(&mut section, "timeout", Span::minutes(30), SHORTEST..=LONGEST)?;
        let environment: Vec<Variable> = reader.value(&mut section, "env", Vec::new())?;
        reader.leave(section);
        let environment: BTreeMap<String, String> = environment.iter().filter_map(Variable::value).collect();
        for command in commands {
            let gate = Gate {
                name: command.to_string(),
                argv: command.argv(),
                timeout: timeout.get(),
                environment: environment.clone(),
            };
            gates.add(repo.clone(), gate);
        }
    }
    reader.leave(qa);
    Ok(gates)
}

/// `[drip]`. `ping` is read and nothing goes by it in this version.
fn read_drip<'t>(reader: &mut Reader<'t>, root: &mut Section<'t>) -> Result<Pushing, ConfigError> {
    let mut section = reader.section(root, "drip")?;
    let push = reader.value(&mut section, "push", false)?;
    reader.value(&mut section, "ping", false)?;
    reader.leave(section);
    Ok(match push {
        true => Pushing::Allowed,
        false => Pushing::Withheld,
    })
}

fn read_investigate<'t>(
    reader: &mut Reader<'t>,
    root: &mut Section<'t>,
) -> Result<Option<Answering>, ConfigError> {
    let mut section = reader.section(root, "investigate")?;
    let command = reader.optional::<Command>(&mut section, "command", None)?;
    let timeout = reader.bounded(&mut section, "timeout", Span::minutes(10), SHORTEST..=LONGEST)?;
    reader.leave(section);
    Ok(command.map(|command| Answering {
        argv: command.argv(),
        timeout: timeout.get(),
    }))
}

impl Command {
    /// The program and its arguments.
    fn argv(&self) -> Vec<String> {
        match self {
            Self::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
            Self::Words(words) => words.clone(),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Words(words) => f.write_str(&words.join(" ")),
        }
    }
}

/// A variable of a gate's environment: `NAME=value`, or `NAME` for what it is in our own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    value: Option<String>,
}

impl Variable {
    fn value(&self) -> Option<(String, String)> {
        let value = self.value.clone().or_else(|| std::env::var(&self.name).ok());
        value.map(|value| (self.name.clone(), value))
    }
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(plain) || name.as_bytes()[0].is_ascii_digit() {
            return Err(format!("{text:?} is no variable; write NAME=value, or NAME"));
        }
        if token::VARIABLES.contains(&name) {
            return Err(format!(
                "{name} is a secret, and a gate runs code of a pull request"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            value,
        })
    }
}

impl Value for Vec<Variable> {
    const WANTED: &'static str = "a list of variables, each \"NAME=value\" or \"NAME\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let DeValue::Array(items) = value else {
            return Err(Refusal::Type);
        };
        let read = |item: &DeValue<'_>| match item {
            DeValue::String(text) => text.parse().map_err(Refusal::Value),
            _ => Err(Refusal::Type),
        };
        items.iter().map(|item| read(item.get_ref())).collect()
    }

    /// Names alone: a value may be a secret of the user's.
    fn show(&self) -> serde_json::Value {
        self.iter()
            .map(|variable| match &variable.value {
                Some(_) => json!(format!("{}=…", variable.name)),
                None => json!(variable.name),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_a_name_and_perhaps_a_value() {
        let parsed = |text: &str| {
            text.parse::<Variable>()
                .map(|variable| (variable.name, variable.value))
        };
        assert_eq!(parsed("A=b=c"), Ok(("A".to_owned(), Some("b=c".to_owned()))));
        assert_eq!(parsed("A_1"), Ok(("A_1".to_owned(), None)));
        assert!(parsed("1A=x").is_err() && parsed("=x").is_err() && parsed("a b=c").is_err());
        assert!(parsed("GITHUB_TOKEN").unwrap_err().contains("secret"));
        assert!(parsed("GH_TOKEN=x").is_err());
    }
}
