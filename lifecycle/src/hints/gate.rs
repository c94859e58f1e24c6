//! Gate attestations: `<home>/gates/<owner>-<repo>.gate`, written when our own gates passed.

use pulls::RepoName;
use pulls::facts::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is known of a repository's gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateHint {
    /// Whether the configuration names gates for the repository; then an attestation must be there.
    pub configured: bool,
    /// When the attestation was written; `None` where there is none.
    pub attested_at: Option<Time>,
}

/// One gate file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFile {
    /// The repository that the file itself names, if it names one.
    pub repo: Option<RepoName>,
    /// When it was last written.
    pub modified_at: Time,
}

impl GateFile {
    /// The name of a repository's file. Two repositories can share one.
    ///
    /// ```
    /// use lifecycle::GateFile;
    /// assert_eq!(GateFile::name(&"sharkdp/bat".parse().unwrap()), "sharkdp-bat.gate");
    /// ```
    pub fn name(repo: &RepoName) -> String {
        format!("{}.gate", repo.slug())
    }

    /// The names under which a repository's file may lie: the usual one, and the one that it has where the usual
    /// one is another repository's (`a-b/c` and `a/b-c`), told apart as in message ids.
    ///
    /// ```
    /// use lifecycle::GateFile;
    /// assert_eq!(GateFile::names(&"a/b-c".parse().unwrap()), ["a-b-c.gate", "a-b-c~1.gate"]);
    /// ```
    pub fn names(repo: &RepoName) -> [String; 2] {
        let second = format!("{}~{}.gate", repo.slug(), repo.owner().len());
        [Self::name(repo), second]
    }

    /// Reads what a file says. Its being there counts, so that a file that is no JSON, or names no
    /// repository, is an attestation of whichever repository has its name.
    pub fn parse(text: &str, modified_at: Time) -> Self {
        let repo = serde_json::from_str::<Value>(text)
            .ok()
            .and_then(|value| value.get("repo")?.as_str()?.parse().ok());
        Self { repo, modified_at }
    }

    /// Whether the file is about a repository of any of these names. Where two repositories share a file
    /// name, the `repo` in the file decides.
    pub fn is_about(&self, names: &[RepoName]) -> bool {
        self.repo.as_ref().is_none_or(|repo| names.contains(repo))
    }
}

impl GateHint {
    /// What the files found under any of the names of one repository, now and before, say about it: the
    /// newest that is about it.
    pub fn find<'a>(
        files: impl IntoIterator<Item = &'a GateFile>,
        names: &[RepoName],
        configured: bool,
    ) -> Self {
        let attested_at = files
            .into_iter()
            .filter(|file| file.is_about(names))
            .map(|file| file.modified_at)
            .max();
        Self {
            configured,
            attested_at,
        }
    }
}
