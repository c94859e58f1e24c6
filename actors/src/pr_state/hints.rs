//! Reads what lies in the home about the pull requests: the drip queue and the gate attestations. Both are
//! hints: what cannot be read of them is reported and the rest counts.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle::{DripQueue, GateFile, GateHint};
use pulls::{PullFacts, RepoName};
use runtime::{EffectError, HomePath, Turn};

/// The gate files that bear the name of a repository in question.
pub(super) struct Gates {
    files: BTreeMap<String, GateFile>,
}

impl Gates {
    /// What is known of the gate of a pull request's repository, under its name now and before.
    pub(super) fn about(&self, pull: &PullFacts, gated: &BTreeSet<RepoName>) -> GateHint {
        let names = names(pull);
        let files = names
            .iter()
            .filter_map(|name| self.files.get(&GateFile::name(name).to_ascii_lowercase()));
        GateHint::find(files, &names, names.iter().any(|name| gated.contains(name)))
    }
}

fn names(pull: &PullFacts) -> [RepoName; 2] {
    [pull.at.repo.clone(), pull.asked_as.clone()]
}

/// Reads every file of the drip queue.
pub(super) async fn read_queue(
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

/// Reads the gate files of the pull requests' repositories.
pub(super) async fn read_gates(
    turn: &mut Turn,
    pulls: &[PullFacts],
    problems: &mut Vec<String>,
) -> Result<Gates, EffectError> {
    let folder = HomePath::fixed("gates");
    // GitHub folds case, so a file under another capitalisation is the repository's too.
    let wanted: BTreeSet<String> = pulls
        .iter()
        .flat_map(names)
        .map(|repo| GateFile::name(&repo).to_ascii_lowercase())
        .collect();
    let mut files = BTreeMap::new();
    for entry in turn.list_dir(&folder).await? {
        let name = entry.name.to_ascii_lowercase();
        if entry.is_dir || !wanted.contains(&name) {
            continue;
        }
        if let Some(text) = read(turn, &folder, &entry.name, problems).await {
            files.insert(name, GateFile::parse(&text, entry.modified));
        }
    }
    Ok(Gates { files })
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
            problems.push(format!("{path}: skipped, {error}"));
            None
        }
    }
}
