//! Who owns what a pull request changes (contract, section 6, "Owner routing").

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use pulls::Login;
use pulls::upkeep::{ChangedFile, CodeownersFile};

use super::codeowners::{BadLine, Codeowners};
use super::evidence::{Assignment, Owner};
use super::projection::owner as by_name;
use super::settings::{LabelRule, OwnerRule, Signal};

/// A glob that is none, and which.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{glob:?} is no glob: {why}")]
pub struct BadGlob {
    /// The glob.
    pub glob: String,
    /// What is wrong with it.
    pub why: String,
}

/// Everything that owners are found by, compiled.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    codeowners: Option<(String, Codeowners)>,
    rules: Vec<(GlobSet, OwnerRule)>,
}

impl Routes {
    /// Compiles them. Lines of `CODEOWNERS` that GitHub would not understand are reported and left out.
    ///
    /// # Errors
    /// Where a rule of the configuration holds what is no glob.
    pub fn compile(
        codeowners: Option<&CodeownersFile>,
        rules: &[OwnerRule],
    ) -> Result<(Self, Vec<BadLine>), BadGlob> {
        let mut bad = Vec::new();
        let codeowners = codeowners.map(|file| {
            let (parsed, lines) = Codeowners::parse(file);
            bad = lines;
            (file.path.clone(), parsed)
        });
        let rules = rules
            .iter()
            .map(|rule| Ok((globs(&rule.globs)?, folded(rule))))
            .collect::<Result<_, BadGlob>>()?;
        Ok((Self { codeowners, rules }, bad))
    }

    /// The owner of what these files are, weighted by changed lines: from `CODEOWNERS`, else from the rules of the
    /// configuration, a module before a model. The first who is not the author and is a person; a team only where
    /// there is no person.
    ///
    /// The digest tells one routing from another. It is made of the owner and of the way to them (`CODEOWNERS`, a
    /// module or a model), not of the line or the glob: a push that shifts weight between two rules of one owner,
    /// or an edit further up in `CODEOWNERS`, mentions nobody again.
    pub fn assign(&self, author: Option<&Login>, files: &[ChangedFile]) -> Assignment {
        let ways = [
            ("CODEOWNERS", self.by_codeowners(files)),
            ("module", self.by_rules(files, Signal::Module)),
            ("model", self.by_rules(files, Signal::Model)),
        ];
        for (name, way) in &ways {
            if let Some((owner, reason)) = way.choose(author) {
                let digest = digest(&format!("{}\n{name}", by_name(Some(&owner)).to_lowercase()));
                return Assignment {
                    owner: Some(owner),
                    reason,
                    digest,
                };
            }
        }
        let reason = match ways.iter().any(|(_, way)| !way.weights.is_empty()) {
            true => "only its author owns what it changes",
            false => "nobody owns what it changes",
        };
        Assignment {
            owner: None,
            reason: reason.to_owned(),
            digest: digest(reason),
        }
    }

    fn by_codeowners(&self, files: &[ChangedFile]) -> Way {
        let mut way = Way::default();
        let Some((path, codeowners)) = &self.codeowners else {
            return way;
        };
        for file in files {
            if let Some((line, owners)) = codeowners.of(&file.path) {
                way.add(owners.iter(), weight(file), || format!("{path} line {line}"));
            }
        }
        way
    }

    fn by_rules(&self, files: &[ChangedFile], signal: Signal) -> Way {
        let mut way = Way::default();
        let word = match signal {
            Signal::Module => "module",
            Signal::Model => "model",
        };
        for file in files {
            let matching: Vec<&OwnerRule> = self
                .rules
                .iter()
                .filter(|(globs, rule)| rule.signal == signal && globs.is_match(&file.path))
                .map(|(_, rule)| rule)
                .collect();
            for (at, rule) in matching.iter().enumerate() {
                // A file speaks for an owner once, however many rules lead to them.
                let is_counted =
                    |owner: &Owner| matching[..at].iter().any(|rule| rule.owners.contains(owner));
                let new = rule.owners.iter().filter(|owner| !is_counted(owner));
                way.add(new, weight(file), || format!("{word} {}", rule.globs.join(", ")));
            }
        }
        way
    }
}

/// The rule with its teams in one form: GitHub looks them up without regard to case.
fn folded(rule: &OwnerRule) -> OwnerRule {
    let mut rule = rule.clone();
    for owner in &mut rule.owners {
        if let Owner::Team(team) = owner {
            *team = team.to_lowercase();
        }
    }
    rule
}

/// A file without changed lines, such as one that was only renamed, counts as one line.
fn weight(file: &ChangedFile) -> u64 {
    (file.additions + file.deletions).max(1)
}

/// The owners that one way leads to, with the lines that speak for each.
#[derive(Debug, Default)]
struct Way {
    weights: BTreeMap<Owner, Claimed>,
}

#[derive(Debug, Default)]
struct Claimed {
    weight: u64,
    /// Their smallest place on any line: who is named first is asked first.
    place: usize,
    /// The ways to them with the lines that speak for each.
    reasons: BTreeMap<String, u64>,
}

impl Way {
    fn add<'a>(&mut self, owners: impl Iterator<Item = &'a Owner>, weight: u64, reason: impl Fn() -> String) {
        let mut counted: Vec<&Owner> = Vec::new();
        for (place, owner) in owners.enumerate() {
            if counted.contains(&owner) {
                continue;
            }
            counted.push(owner);
            let is_new = !self.weights.contains_key(owner);
            let claimed = self.weights.entry(owner.clone()).or_default();
            claimed.place = if is_new { place } else { claimed.place.min(place) };
            claimed.weight += weight;
            *claimed.reasons.entry(reason()).or_default() += weight;
        }
    }

    fn choose(&self, author: Option<&Login>) -> Option<(Owner, String)> {
        let is_author =
            |owner: &Owner| matches!((owner, author), (Owner::User(login), Some(author)) if login == author);
        let mut all: Vec<(&Owner, &Claimed)> = self
            .weights
            .iter()
            .filter(|(owner, _)| !is_author(owner))
            .collect();
        // The most lines first; of equals who stands first on their line, then by name.
        all.sort_by(|(a, x), (b, y)| (y.weight, x.place, *a).cmp(&(x.weight, y.place, *b)));
        let person = all.iter().find(|(owner, _)| matches!(owner, Owner::User(_)));
        let (owner, claimed) = person.or(all.first())?;
        let reason = claimed
            .reasons
            .iter()
            .max_by(|(a, x), (b, y)| x.cmp(y).then_with(|| b.cmp(a)))
            .map(|(reason, _)| reason.clone())?;
        Some(((*owner).clone(), reason))
    }
}

/// A short, stable name of a text: FNV-1a, which no later version of anything changes. It keeps honest routings apart
/// and guards against nobody.
fn digest(text: &str) -> String {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = text
        .bytes()
        .fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
}

/// The content labels of files, compiled.
#[derive(Debug, Clone, Default)]
pub struct Taxonomy {
    rules: Vec<(GlobSet, String)>,
}

impl Taxonomy {
    /// Compiles the rules.
    ///
    /// # Errors
    /// Where one holds what is no glob.
    pub fn compile(rules: &[LabelRule]) -> Result<Self, BadGlob> {
        let rules = rules
            .iter()
            .map(|rule| Ok((globs(&rule.globs)?, rule.label.clone())))
            .collect::<Result<_, BadGlob>>()?;
        Ok(Self { rules })
    }

    /// The labels that the files give, in the order of the alphabet, each once.
    pub fn infer(&self, files: &[ChangedFile]) -> Vec<String> {
        let matching = self
            .rules
            .iter()
            .filter(|(globs, _)| files.iter().any(|file| globs.is_match(&file.path)));
        let mut labels: Vec<String> = matching.map(|(_, label)| label.clone()).collect();
        labels.sort();
        labels.dedup();
        labels
    }
}

impl LabelRule {
    /// The taxonomy of the RFC's repository: new model, diffusion, tts, omni, VLA.
    pub fn defaults() -> Vec<Self> {
        let rule = |label: &str, globs: &[&str]| Self {
            label: label.to_owned(),
            globs: globs.iter().map(|glob| (*glob).to_owned()).collect(),
        };
        vec![
            rule("VLA", &["**/vla/**", "**/*_vla*", "**/*vla_*"]),
            rule("diffusion", &["**/diffusion/**", "**/*diffusion*"]),
            rule(
                "new model",
                &[
                    "**/models/*/__init__.py",
                    "**/models/registry*",
                    "**/model_executor/models/*",
                ],
            ),
            rule("omni", &["**/omni/**", "**/*_omni*", "**/*omni_*"]),
            rule("tts", &["**/tts/**", "**/*_tts*", "**/*tts_*"]),
        ]
    }
}

fn globs(globs: &[String]) -> Result<GlobSet, BadGlob> {
    let refuse = |glob: &str, error: &globset::Error| BadGlob {
        glob: glob.to_owned(),
        why: error.to_string(),
    };
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        // A star stays within its folder, as everywhere else.
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        set.add(built.map_err(|error| refuse(glob, &error))?);
    }
    set.build().map_err(|error| refuse(&globs.join(", "), &error))
}
