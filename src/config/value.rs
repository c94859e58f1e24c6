//! What a value of the configuration can be, how it is read and how it is shown.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use pulls::{Login, RepoName};
use serde::Serialize;
use serde_json::json;
use toml::de::DeValue;

use super::size::Size;
use crate::duration::{Span, SpanError};

/// Why a value was refused.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is of another type.
    Type,
    /// It is of the right type and makes no sense.
    Value(String),
    /// It is of the right type and more than this program counts, or less; as it is written.
    Beyond(String),
}

/// A type that a key can have.
pub trait Value: Sized {
    /// What is wanted, with an article, for the error.
    const WANTED: &'static str;

    /// Reads the value.
    fn read(value: &DeValue<'_>) -> Result<Self, Refusal>;

    /// Reads what a variable of the environment holds: what would stand between quotes.
    fn of_variable(text: &str) -> Result<Self, Refusal> {
        Self::read(&DeValue::String(text.into()))
    }

    /// The value as JSON. For what the keys hold, JSON is TOML too.
    fn show(&self) -> serde_json::Value;
}

/// What a value is, with an article.
pub fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn text<'v>(value: &'v DeValue<'_>) -> Result<&'v str, Refusal> {
    match value {
        DeValue::String(text) => Ok(text),
        _ => Err(Refusal::Type),
    }
}

impl Value for bool {
    const WANTED: &'static str = "true or false";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(Refusal::Type),
        }
    }

    fn of_variable(text: &str) -> Result<Self, Refusal> {
        text.parse().map_err(|_| Refusal::Type)
    }

    fn show(&self) -> serde_json::Value {
        json!(self)
    }
}

impl Value for u32 {
    const WANTED: &'static str = "a whole number";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::Integer(number) => u32::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| Refusal::Beyond(number.to_string())),
            _ => Err(Refusal::Type),
        }
    }

    fn of_variable(text: &str) -> Result<Self, Refusal> {
        text.parse().map_err(|_| match text.parse::<i128>() {
            Ok(number) => Refusal::Beyond(number.to_string()),
            Err(_) => Refusal::Type,
        })
    }

    fn show(&self) -> serde_json::Value {
        json!(self)
    }
}

impl Value for Span {
    const WANTED: &'static str = "a span of time in quotes, like \"10m\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        text(value)?.parse().map_err(|error| match error {
            SpanError::TooLong(text) => Refusal::Beyond(text),
            SpanError::Malformed(_) => Refusal::Value(error.to_string()),
        })
    }

    fn show(&self) -> serde_json::Value {
        json!(self.to_string())
    }
}

/// What is written in quotes and read from what stands between them.
pub trait Quoted: FromStr<Err: fmt::Display> + Serialize {
    /// What is wanted, with an article.
    const WANTED: &'static str;
}

impl Quoted for RepoName {
    const WANTED: &'static str = "a repository in quotes, like \"owner/name\"";
}

impl Quoted for Login {
    const WANTED: &'static str = "an account name in quotes";
}

impl Quoted for Size {
    const WANTED: &'static str = "a size in quotes, like \"64 MiB\"";
}

impl Quoted for String {
    const WANTED: &'static str = "a string";
}

impl<T: Quoted> Value for T {
    const WANTED: &'static str = T::WANTED;

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        text(value)?
            .parse()
            .map_err(|error: T::Err| Refusal::Value(error.to_string()))
    }

    fn show(&self) -> serde_json::Value {
        json!(self)
    }
}

/// A list whose order says nothing.
impl<T: Value + Ord> Value for BTreeSet<T> {
    const WANTED: &'static str = "a list of strings";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::Array(items) => items.iter().map(|item| T::read(item.get_ref())).collect(),
            _ => Err(Refusal::Type),
        }
    }

    fn of_variable(text: &str) -> Result<Self, Refusal> {
        parts(text).map(T::of_variable).collect()
    }

    fn show(&self) -> serde_json::Value {
        self.iter().map(T::show).collect()
    }
}

/// A list whose order says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T>(pub Vec<T>);

impl<T: Value> Value for List<T> {
    const WANTED: &'static str = "a list of strings";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::Array(items) => {
                let items: Result<_, _> = items.iter().map(|item| T::read(item.get_ref())).collect();
                items.map(Self)
            }
            _ => Err(Refusal::Type),
        }
    }

    fn of_variable(text: &str) -> Result<Self, Refusal> {
        let items: Result<_, _> = parts(text).map(T::of_variable).collect();
        items.map(Self)
    }

    fn show(&self) -> serde_json::Value {
        self.0.iter().map(T::show).collect()
    }
}

/// What stands between the commas of a variable.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// A program and its arguments. One string is a line for the shell; a list is run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A line for `sh -c`.
    Shell(String),
    /// A program, then its arguments.
    Words(Vec<String>),
}

impl Value for Command {
    const WANTED: &'static str = "a command: a string for the shell or a list of words";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        let empty = || Refusal::Value("an empty command".to_owned());
        match value {
            DeValue::String(line) if line.trim().is_empty() => Err(empty()),
            DeValue::String(line) => Ok(Self::Shell(line.clone().into_owned())),
            DeValue::Array(words) => {
                let words: Vec<String> = words
                    .iter()
                    .map(|word| String::read(word.get_ref()))
                    .collect::<Result<_, _>>()?;
                match words.first() {
                    Some(program) if !program.is_empty() => Ok(Self::Words(words)),
                    _ => Err(empty()),
                }
            }
            _ => Err(Refusal::Type),
        }
    }

    fn show(&self) -> serde_json::Value {
        match self {
            Self::Shell(line) => json!(line),
            Self::Words(words) => json!(words),
        }
    }
}

/// Commands, one after the other.
impl Value for Vec<Command> {
    const WANTED: &'static str = "a list of commands, each a string for the shell or a list of words";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match value {
            DeValue::Array(items) if items.is_empty() => Err(Refusal::Value("no command in it".to_owned())),
            DeValue::Array(items) => items.iter().map(|item| Command::read(item.get_ref())).collect(),
            _ => Err(Refusal::Type),
        }
    }

    fn show(&self) -> serde_json::Value {
        self.iter().map(Command::show).collect()
    }
}

/// Where the mailboxes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// In `<home>/mailbox/`.
    Sled,
}

impl Value for Backend {
    const WANTED: &'static str = "\"sled\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Refusal> {
        match text(value)? {
            "sled" => Ok(Self::Sled),
            "nats" => Err(Refusal::Value(
                "\"nats\" is not available in this version; \"sled\" is the only backend".to_owned(),
            )),
            other => Err(Refusal::Value(format!(
                "{other:?} is not a backend; \"sled\" is the only one"
            ))),
        }
    }

    fn show(&self) -> serde_json::Value {
        match self {
            Self::Sled => json!("sled"),
        }
    }
}
