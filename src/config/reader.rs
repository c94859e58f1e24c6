//! Reads a TOML document key by key, and the variables that go before it. What was asked for is what is known, so a
//! key cannot be read and be missing from the listing, nor be known and read by nobody.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::environment::Environment;
use super::error::ConfigError;
use super::value::{Refusal, Value, kind};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Source {
    /// Nobody said otherwise.
    Default,
    /// The configuration file.
    File {
        /// Which.
        file: PathBuf,
        /// Where in it, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Environment {
        /// Which.
        variable: Cow<'static, str>,
    },
    /// An option of the command line.
    Flag {
        /// Which.
        flag: &'static str,
    },
    /// What another program answered.
    Program {
        /// Its command line.
        command: &'static str,
    },
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line } => write!(f, "{}:{line}", file.display()),
            Self::Environment { variable } => write!(f, "environment {variable}"),
            Self::Flag { flag } => f.write_str(flag),
            Self::Program { command } => write!(f, "`{command}`"),
        }
    }
}

/// One value of the effective configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// The key with the tables it stands in.
    pub key: String,
    /// Its value; null where there is none.
    pub value: serde_json::Value,
    /// Where it comes from.
    pub source: Source,
}

/// A document and what was found in it so far.
pub struct Reader<'t> {
    file: &'t Path,
    text: &'t str,
    environment: Environment<'t>,
    entries: Vec<Entry>,
    known: Vec<String>,
    unknown: Vec<(String, usize)>,
}

/// One table of the document, absent where the document has none of its name.
pub struct Section<'t> {
    path: String,
    at: usize,
    table: Option<DeTable<'t>>,
    asked: Vec<&'static str>,
    /// Whether a variable may give a key of it.
    has_variables: bool,
}

impl<'t> Reader<'t> {
    /// Parses a document.
    pub fn parse(file: &'t Path, text: &'t str) -> Result<(Self, Section<'t>), ConfigError> {
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            file: file.to_owned(),
            line: line_of(text, error.span().unwrap_or_default()),
            message: error.message().to_owned(),
        })?;
        let root = Section {
            path: String::new(),
            at: 1,
            table: Some(table.into_inner()),
            asked: Vec::new(),
            has_variables: false,
        };
        let reader = Self {
            file,
            text,
            environment: Environment::empty(),
            entries: Vec::new(),
            known: Vec::new(),
            unknown: Vec::new(),
        };
        Ok((reader, root))
    }

    /// The same with an environment beside the document.
    pub fn beside(self, environment: Environment<'t>) -> Self {
        Self { environment, ..self }
    }

    /// Reads a key that has a default.
    pub fn value<T: Value>(
        &mut self,
        section: &mut Section<'t>,
        key: &'static str,
        default: T,
    ) -> Result<T, ConfigError> {
        Ok(self.optional(section, key, Some(&default))?.unwrap_or(default))
    }

    /// Reads a key that has a default and bounds.
    pub fn bounded<T: Value + PartialOrd + std::fmt::Display>(
        &mut self,
        section: &mut Section<'t>,
        key: &'static str,
        default: T,
        bounds: RangeInclusive<T>,
    ) -> Result<T, ConfigError> {
        let outside = |value: &dyn std::fmt::Display| {
            format!("{value} is not between {} and {}", bounds.start(), bounds.end())
        };
        let judge = |read| match read {
            Ok(value) if !bounds.contains(&value) => Err(Refusal::Value(outside(&value))),
            Err(Refusal::Beyond(value)) => Err(Refusal::Value(outside(&value))),
            read => read,
        };
        Ok(self.read(section, key, Some(&default), judge)?.unwrap_or(default))
    }

    /// Reads a key that may be absent, with what to show where it is.
    pub fn optional<T: Value>(
        &mut self,
        section: &mut Section<'t>,
        key: &'static str,
        absent: Option<&T>,
    ) -> Result<Option<T>, ConfigError> {
        self.read(section, key, absent, |read| read)
    }

    /// What a variable says goes before what the document says, which must make sense all the same.
    fn read<T: Value>(
        &mut self,
        section: &mut Section<'t>,
        key: &'static str,
        absent: Option<&T>,
        judge: impl Fn(Result<T, Refusal>) -> Result<T, Refusal>,
    ) -> Result<Option<T>, ConfigError> {
        let path = section.join(key);
        self.known.push(path.clone());
        let in_file = match section.take(key) {
            None => None,
            Some((span, value)) => {
                let line = line_of(self.text, span);
                let read = judge(T::read(&value))
                    .map_err(|refusal| self.refused::<T>(&path, line, &value, refusal))?;
                let file = self.file.to_owned();
                Some((read, Source::File { file, line }))
            }
        };
        let given = match section.has_variables {
            true => self.variable(key, judge)?.or(in_file),
            false => in_file,
        };
        let (value, source) = match &given {
            Some((read, source)) => (read.show(), source.clone()),
            None => (absent.map_or(serde_json::Value::Null, T::show), Source::Default),
        };
        self.entries.push(Entry {
            key: path,
            value,
            source,
        });
        Ok(given.map(|(read, _)| read))
    }

    /// What the variable says that is named like the key, in capitals.
    fn variable<T: Value>(
        &self,
        key: &str,
        judge: impl Fn(Result<T, Refusal>) -> Result<T, Refusal>,
    ) -> Result<Option<(T, Source)>, ConfigError> {
        let variable = key.to_ascii_uppercase();
        let refused = |reason| ConfigError::Variable {
            variable: variable.clone(),
            reason,
        };
        let Some(text) = self.environment.get(&variable).map_err(refused)? else {
            return Ok(None);
        };
        let read = judge(T::of_variable(&text)).map_err(|refusal| match refusal {
            Refusal::Type => refused(format!("{text:?} is not {}", T::WANTED)),
            Refusal::Value(reason) => refused(reason),
            Refusal::Beyond(value) => refused(format!("{value} is out of all bounds")),
        })?;
        let variable = Cow::Owned(variable.clone());
        Ok(Some((read, Source::Environment { variable })))
    }

    fn refused<T: Value>(
        &self,
        path: &str,
        line: usize,
        value: &DeValue<'_>,
        refusal: Refusal,
    ) -> ConfigError {
        let reason = match refusal {
            Refusal::Type => return self.wrong_type(path, line, T::WANTED, value),
            Refusal::Value(reason) => reason,
            Refusal::Beyond(value) => format!("{value} is out of all bounds"),
        };
        ConfigError::Value {
            file: self.file.to_owned(),
            line,
            key: path.to_owned(),
            reason,
        }
    }

    /// A value that is there without having been asked for one by one.
    pub fn note(&mut self, key: String, value: serde_json::Value) {
        let source = Source::Default;
        self.entries.push(Entry { key, value, source });
    }

    /// Why two values that were read cannot both hold, said of the first of them that somebody gave.
    pub fn contradiction(&self, keys: [&str; 2], reason: impl Fn(&str, &str) -> String) -> ConfigError {
        let [own, other] = keys;
        let source = |key: &str| {
            let entry = self.entries.iter().find(|entry| entry.key == key);
            entry.map_or(Source::Default, |entry| entry.source.clone())
        };
        let (own, other) = match source(own) {
            Source::Default => (other, own),
            _ => (own, other),
        };
        let reason = reason(own, other);
        match source(own) {
            Source::Environment { variable } => ConfigError::Variable {
                variable: variable.into_owned(),
                reason,
            },
            Source::File { file, line } => ConfigError::Value {
                file,
                line,
                key: own.to_owned(),
                reason,
            },
            // Two defaults do not contradict each other.
            Source::Default | Source::Flag { .. } | Source::Program { .. } => ConfigError::Value {
                file: self.file.to_owned(),
                line: 1,
                key: own.to_owned(),
                reason,
            },
        }
    }

    /// Reads a key that its table cannot do without.
    pub fn required<T: Value>(
        &mut self,
        section: &mut Section<'t>,
        key: &'static str,
    ) -> Result<T, ConfigError> {
        self.optional(section, key, None)?
            .ok_or_else(|| ConfigError::Missing {
                file: self.file.to_owned(),
                line: section.at,
                key: section.join(key),
            })
    }

    /// Enters a table.
    pub fn section(
        &mut self,
        section: &mut Section<'t>,
        key: &'static str,
    ) -> Result<Section<'t>, ConfigError> {
        let path = section.join(key);
        self.known.push(path.clone());
        let (at, table) = match section.take(key) {
            None => (section.at, None),
            Some((span, value)) => {
                let line = line_of(self.text, span);
                (line, Some(self.table(&path, line, "a table", value)?))
            }
        };
        Ok(Section {
            path,
            at,
            table,
            asked: Vec::new(),
            has_variables: false,
        })
    }

    /// Enters each table of a list of tables.
    pub fn sections(
        &mut self,
        section: &mut Section<'t>,
        key: &'static str,
    ) -> Result<Vec<Section<'t>>, ConfigError> {
        const WANTED: &str = "a list of tables";
        let path = section.join(key);
        self.known.push(path.clone());
        let Some((span, value)) = section.take(key) else {
            return Ok(Vec::new());
        };
        let DeValue::Array(items) = value else {
            let line = line_of(self.text, span);
            return Err(self.wrong_type(&path, line, WANTED, &value));
        };
        items
            .into_iter()
            .enumerate()
            .map(|(nth, item)| {
                let line = line_of(self.text, item.span());
                Ok(Section {
                    path: format!("{path}[{nth}]"),
                    at: line,
                    table: Some(self.table(&path, line, WANTED, item.into_inner())?),
                    asked: Vec::new(),
                    has_variables: false,
                })
            })
            .collect()
    }

    /// Leaves a table: what is left in it is unknown.
    pub fn leave(&mut self, section: Section<'t>) {
        let Section {
            path, table, asked, ..
        } = section;
        for (key, _) in table.into_iter().flatten() {
            debug_assert!(
                !asked.contains(&key.get_ref().as_ref()),
                "read keys are taken out"
            );
            let line = line_of(self.text, key.span());
            self.unknown.push((join(&path, key.get_ref()), line));
        }
    }

    /// Every value that was asked for, unless a key was left that nobody asked for.
    pub fn finish(self) -> Result<Vec<Entry>, ConfigError> {
        match self.unknown.into_iter().min_by_key(|(_, line)| *line) {
            None => Ok(self.entries),
            Some((key, line)) => Err(ConfigError::UnknownKey {
                file: self.file.to_owned(),
                line,
                nearest: nearest(&key, &self.known).to_owned(),
                key,
            }),
        }
    }

    fn table(
        &self,
        path: &str,
        line: usize,
        wanted: &'static str,
        value: DeValue<'t>,
    ) -> Result<DeTable<'t>, ConfigError> {
        match value {
            DeValue::Table(table) => Ok(table),
            other => Err(self.wrong_type(path, line, wanted, &other)),
        }
    }

    fn wrong_type(&self, path: &str, line: usize, wanted: &'static str, found: &DeValue<'_>) -> ConfigError {
        ConfigError::Type {
            file: self.file.to_owned(),
            line,
            key: path.to_owned(),
            wanted,
            found: kind(found),
        }
    }
}

impl<'t> Section<'t> {
    /// From now on a key of it may be given by a variable too, which has the key's name in capitals.
    pub fn has_variables(&mut self) {
        self.has_variables = true;
    }

    fn join(&self, key: &str) -> String {
        join(&self.path, key)
    }

    fn take(&mut self, key: &'static str) -> Option<(Range<usize>, DeValue<'t>)> {
        self.asked.push(key);
        let value: Spanned<DeValue<'t>> = self.table.as_mut()?.remove(key)?;
        Some((value.span(), value.into_inner()))
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// The line on which a span begins, from 1.
fn line_of(text: &str, span: Range<usize>) -> usize {
    let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// The known key that is most like `key`, by its whole path or by its own name.
fn nearest<'k>(key: &str, known: &'k [String]) -> &'k str {
    let likeness = |candidate: &str| {
        let whole = strsim::normalized_damerau_levenshtein(key, candidate);
        let own = strsim::normalized_damerau_levenshtein(own_name(key), own_name(candidate));
        // The same name in another table beats any slip of the pen; at equal likeness the same table wins.
        own.max(whole) + whole / 100.0
    };
    known
        .iter()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .map_or("", String::as_str)
}

fn own_name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_found_by_path_or_by_name() {
        let known = [
            "pr_state",
            "pr_state.every",
            "pr_state.limit",
            "drip",
            "drip.push",
            "actors.keep",
        ]
        .map(str::to_owned);
        for (key, expected) in [
            ("pr-state", "pr_state"),
            ("pr_state.limt", "pr_state.limit"),
            ("drip.limit", "pr_state.limit"),
            ("evry", "pr_state.every"),
            ("drip.pusch", "drip.push"),
            ("keep", "actors.keep"),
        ] {
            assert_eq!(nearest(key, &known), expected, "{key}");
        }
    }

    #[test]
    fn lines_count_from_one() {
        let text = "a = 1\n\nb = 2\n";
        assert_eq!(line_of(text, 0..1), 1);
        assert_eq!(line_of(text, 7..8), 3);
        assert_eq!(line_of(text, 900..901), 4);
    }
}
