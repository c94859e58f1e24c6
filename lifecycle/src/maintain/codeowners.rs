//! `CODEOWNERS`, by GitHub's own rules.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use pulls::upkeep::CodeownersFile;

use super::evidence::Owner;

/// A `CODEOWNERS` file of more than 3 MB is not read by GitHub.
pub const MAX_BYTES: usize = 3 * 1024 * 1024;

/// A line that says nothing, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// A compiled `CODEOWNERS` file.
///
/// All patterns are matched in one pass: a repository with a thousand lines and a change of thousands of files costs
/// milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Codeowners {
    rules: Vec<OwnedPath>,
    globs: GlobSet,
    /// The rule of each glob.
    rule_of: Vec<usize>,
}

#[derive(Debug, Clone)]
struct OwnedPath {
    line: usize,
    owners: Vec<Owner>,
}

impl Codeowners {
    /// Reads a file. A line that GitHub does not understand is left out and reported; the rest holds.
    pub fn parse(file: &CodeownersFile) -> (Self, Vec<BadLine>) {
        let mut bad = Vec::new();
        if file.text.len() > MAX_BYTES {
            let why = "the file is larger than 3 MB, which GitHub does not read".to_owned();
            return (Self::default(), vec![BadLine { line: 1, why }]);
        }
        let mut all = Self::default();
        let mut set = GlobSetBuilder::new();
        let text = file.text.trim_start_matches('\u{feff}');
        for (at, text) in text.lines().enumerate() {
            let line = at + 1;
            match rule(text, line) {
                Ok(Some((rule, globs))) => {
                    all.rule_of
                        .extend(std::iter::repeat_n(all.rules.len(), globs.len()));
                    for glob in globs {
                        set.add(glob);
                    }
                    all.rules.push(rule);
                }
                Ok(None) => {}
                Err(why) => bad.push(BadLine { line, why }),
            }
        }
        match set.build() {
            Ok(globs) => all.globs = globs,
            Err(error) => {
                let why = format!("the patterns together are too much: {error}");
                return (Self::default(), vec![BadLine { line: 1, why }]);
            }
        }
        (all, bad)
    }

    /// The owners of a path and the line that names them: the last line that matches counts, whole, also where it
    /// names nobody. `None` where no line matches.
    pub fn of(&self, path: &str) -> Option<(usize, &[Owner])> {
        let path = path.trim_start_matches('/');
        let matching = self.globs.matches(path).into_iter();
        let last = matching.filter_map(|glob| self.rule_of.get(glob)).max()?;
        let rule = self.rules.get(*last)?;
        Some((rule.line, rule.owners.as_slice()))
    }
}

/// One line with its globs; `None` for a comment or an empty one.
fn rule(text: &str, line: usize) -> Result<Option<(OwnedPath, Vec<Glob>)>, String> {
    if text.trim_start().starts_with("\\#") {
        return Err("a pattern cannot begin with #, not even after a backslash".to_owned());
    }
    let mut words = words(text).into_iter();
    let Some(pattern) = words.next() else {
        return Ok(None);
    };
    if pattern.starts_with('!') {
        return Err("a pattern cannot be negated".to_owned());
    }
    if pattern.contains(['[', ']']) {
        return Err("a pattern has no character ranges".to_owned());
    }
    let owners = words.map(|word| owner(&word)).collect::<Result<Vec<_>, _>>()?;
    // A mail address is an owner whose account nobody here knows.
    let owners = owners.into_iter().flatten().collect();
    Ok(Some((OwnedPath { line, owners }, globs(&pattern)?)))
}

/// The words of a line, up to a comment. A space or `#` after a backslash belongs to its word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' if signs.peek().is_some_and(|next| matches!(next, ' ' | '#' | '\\')) => {
                word.extend(signs.next());
            }
            '#' if word.is_empty() => break,
            sign if sign.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            sign => word.push(sign),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn owner(word: &str) -> Result<Option<Owner>, String> {
    let refuse = || Err(format!("{word:?} is no owner"));
    let Some(name) = word.strip_prefix('@') else {
        return match word.contains('@') {
            true => Ok(None),
            false => refuse(),
        };
    };
    match name.split_once('/') {
        Some((organisation, team)) if !organisation.is_empty() && !team.is_empty() && !team.contains('/') => {
            // GitHub looks owners up without regard to case.
            Ok(Some(Owner::Team(name.to_lowercase())))
        }
        Some(_) => refuse(),
        None => match name.parse() {
            Ok(login) => Ok(Some(Owner::User(login))),
            Err(_) => refuse(),
        },
    }
}

/// What matches a pattern: the path itself, and for one that can be a folder everything below it.
///
/// A pattern with a slash anywhere but at its end is anchored at the root; without one it matches at any depth. `*`
/// stays within a segment, and a last segment of `*` takes files alone.
fn globs(pattern: &str) -> Result<Vec<Glob>, String> {
    let is_folder = pattern.ends_with('/');
    let trimmed = pattern.trim_end_matches('/');
    let is_anchored = trimmed.contains('/');
    let path = trimmed.trim_start_matches('/');
    if path.is_empty() {
        return match pattern.is_empty() {
            true => Err("an empty pattern".to_owned()),
            // `/` alone names the root as a folder.
            false => Ok(vec![compile("**")?]),
        };
    }
    // Braces are letters in CODEOWNERS.
    let escaped = path.replace('{', "[{]").replace('}', "[}]").replace(',', "[,]");
    let anchored = match is_anchored {
        true => escaped,
        false => format!("**/{escaped}"),
    };
    let below = compile(&format!("{anchored}/**"))?;
    if is_folder {
        return Ok(vec![below]);
    }
    let whole = compile(&anchored)?;
    // `docs/*` is the files in it, and not what lies deeper; so is `/*`.
    let takes_files_alone = is_anchored && (path == "*" || path.ends_with("/*"));
    Ok(match takes_files_alone || path.ends_with("**") {
        true => vec![whole],
        false => vec![whole, below],
    })
}

fn compile(glob: &str) -> Result<Glob, String> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .backslash_escape(false)
        .build()
        .map_err(|error| error.to_string())
}
