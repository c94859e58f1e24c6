//! Reads what lies in the home about the pull requests: the drip queue and the gate attestations. Both are
//! hints: what cannot be read of them is reported and the rest counts.

use std::collections::{BTreeMap, BTreeSet};

use github::{ReadError, Reader};
use lifecycle::{DripQueue, GateFile, GateHint};
use pulls::{PrNumber, PullFacts, RepoName};
use runtime::{EffectError, HomePath, Reason, Turn};

/// The most repositories whose present name is asked for in one dispatch, a request each. Names change
/// rarely and each is asked for once, so this bounds what a queue of made-up names can cost.
const MAX_RENAMES: usize = 5;

/// Which repository has a name now that had another one before, as far as it was asked for: `None` where
/// GitHub knows no repository under the old name.
#[derive(Debug, Default)]
pub(crate) struct Renames {
    known: BTreeMap<RepoName, Option<RepoName>>,
}

impl Renames {
    /// Asks for the present names of the repositories that hints name and no pull request has.
    ///
    /// A hint can only be about a pull request that was found, so a name is worth asking for when the number
    /// beside it is the number of one of them.
    pub(crate) async fn learn(
        &mut self,
        github: &Reader,
        queue: &DripQueue,
        gates: &Gates,
        pulls: &[PullFacts],
    ) -> Result<(), ReadError> {
        let present: BTreeSet<RepoName> = pulls.iter().flat_map(read_as).collect();
        let numbers: BTreeSet<_> = pulls.iter().map(|pull| pull.at.number).collect();
        let queued = queue
            .refs()
            .into_iter()
            .filter(|at| numbers.contains(&at.number))
            .map(|at| at.repo);
        let wanted: BTreeSet<RepoName> = queued
            .chain(gates.files.iter().filter_map(|file| file.repo.clone()))
            .filter(|repo| !present.contains(repo) && !self.known.contains_key(repo))
            .take(MAX_RENAMES)
            .collect();
        for old in wanted {
            self.present(github, &old).await?;
        }
        Ok(())
    }

    /// The name that a repository has now, which is asked for once; `None` where GitHub knows none under this name.
    pub(crate) async fn present(
        &mut self,
        github: &Reader,
        repo: &RepoName,
    ) -> Result<Option<RepoName>, ReadError> {
        if let Some(known) = self.known.get(repo) {
            return Ok(known.clone());
        }
        let now = match github.repository(repo).await {
            Ok(now) => Some(now),
            Err(ReadError::NoRepository(_) | ReadError::NoAccess { .. }) => None,
            Err(error) => return Err(error),
        };
        self.known.insert(repo.clone(), now.clone());
        Ok(now)
    }

    /// Every name under which hints about a pull request may stand: its repository's present one, the one it
    /// was asked for by, and former ones.
    pub(crate) fn names(&self, pull: &PullFacts) -> Vec<RepoName> {
        let mut names = Vec::from(read_as(pull));
        let former = |(old, now): (&RepoName, &Option<RepoName>)| {
            (now.as_ref() == Some(&pull.at.repo)).then(|| old.clone())
        };
        names.extend(self.known.iter().filter_map(former));
        names
    }
}

fn read_as(pull: &PullFacts) -> [RepoName; 2] {
    [pull.at.repo.clone(), pull.asked_as.clone()]
}

/// The gate attestations.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    /// Each with its name in lower case: GitHub folds case, so a file under another capitalisation is the
    /// repository's too.
    names: Vec<String>,
    files: Vec<GateFile>,
}

impl Gates {
    /// What is known of the gate of a pull request's repository under any of its names.
    fn about(&self, names: &[RepoName], gated: &BTreeSet<RepoName>) -> GateHint {
        let wanted: Vec<String> = names
            .iter()
            .flat_map(GateFile::names)
            .map(|name| name.to_ascii_lowercase())
            .collect();
        let files = self
            .names
            .iter()
            .zip(&self.files)
            .filter(|(name, _)| wanted.contains(name));
        GateHint::find(
            files.map(|(_, file)| file),
            names,
            names.iter().any(|name| gated.contains(name)),
        )
    }
}

/// What the hints say of one pull request, under each of these names of its repository.
pub(crate) fn about(
    (queue, gates): (&DripQueue, &Gates),
    names: &[RepoName],
    number: PrNumber,
    gated: &BTreeSet<RepoName>,
) -> lifecycle::Hints {
    lifecycle::Hints {
        queue: queue.entry_under(names, number).cloned(),
        gate: gates.about(names, gated),
    }
}

/// Reads every file of the drip queue.
pub(crate) async fn read_queue(
    turn: &mut Turn,
    problems: &mut Vec<String>,
) -> Result<DripQueue, EffectError> {
    let folder = HomePath::fixed("drip-queue");
    let mut files = Vec::new();
    for entry in turn.list_dir(&folder).await? {
        if entry.is_dir || !entry.name.ends_with(".jsonl") {
            continue;
        }
        if let Some(text) = read(turn, &folder, &entry.name, problems).await {
            files.push((entry.name, text));
        }
    }
    let (queue, malformed) = DripQueue::read(files);
    problems.extend(
        malformed
            .iter()
            .map(|bad| format!("drip-queue/{}:{}: skipped, {}", bad.file, bad.line, bad.why)),
    );
    Ok(queue)
}

/// Reads the gate attestations.
pub(crate) async fn read_gates(turn: &mut Turn, problems: &mut Vec<String>) -> Result<Gates, EffectError> {
    let folder = HomePath::fixed("gates");
    let mut gates = Gates::default();
    for entry in turn.list_dir(&folder).await? {
        if entry.is_dir || !entry.name.ends_with(".gate") {
            continue;
        }
        if let Some(text) = read(turn, &folder, &entry.name, problems).await {
            gates.names.push(entry.name.to_ascii_lowercase());
            gates.files.push(GateFile::parse(&text, entry.modified));
        }
    }
    Ok(gates)
}

/// One file of hints; one that cannot be read is reported and left out.
async fn read(turn: &mut Turn, folder: &HomePath, name: &str, problems: &mut Vec<String>) -> Option<String> {
    let path = match folder.join(name) {
        Ok(path) => path,
        Err(why) => {
            problems.push(format!("{folder}/{}: skipped, {why}", pulls::escape::line(name)));
            return None;
        }
    };
    match turn.read_file(&path).await {
        // Bytes that are no UTF-8 make their own line malformed and no other.
        Ok(bytes) => bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => {
            problems.push(format!("{path}: {}", Reason::because("skipped", error)));
            None
        }
    }
}
