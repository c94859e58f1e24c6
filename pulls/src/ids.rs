//! Newtypes for the names that GitHub gives things.
//!
//! Every one of them is checked where it enters the program, so that nothing later has to ask
//! whether a repository name could climb out of a folder or a SHA could be an option of git.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not `owner/name` of the characters that GitHub allows.
    #[error("{0:?} is not a repository name; write it as owner/name")]
    Repo(String),
    /// Not 40 or 64 hexadecimal digits.
    #[error("{0:?} is not a commit id of 40 or 64 hexadecimal digits")]
    Sha(String),
    /// Not an account name.
    #[error("{0:?} is not an account name")]
    Login(String),
    /// Not `owner/name#number`.
    #[error("{0:?} does not name a pull request; write it as owner/name#number")]
    PrRef(String),
    /// Zero, negative or too large.
    #[error("{0:?} is not the number of a pull request, which is a whole number from 1 on")]
    Number(String),
}

/// A repository, `owner/name`. GitHub folds case, so equality, order and hash do too; the case that
/// was given is kept for display.
///
/// ```
/// use pulls::RepoName;
/// let a: RepoName = "Hyperium/hyper".parse().unwrap();
/// let b: RepoName = "hyperium/Hyper".parse().unwrap();
/// assert_eq!(a, b);
/// assert_eq!(a.to_string(), "Hyperium/hyper");
/// assert_eq!(a.slug(), "Hyperium-hyper");
/// assert!("../etc/passwd".parse::<RepoName>().is_err());
/// ```
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct RepoName {
    full: String,
    slash: usize,
}

impl RepoName {
    /// The account that owns the repository.
    pub fn owner(&self) -> &str {
        &self.full[..self.slash]
    }

    /// The name within the account.
    pub fn name(&self) -> &str {
        &self.full[self.slash + 1..]
    }

    /// `owner/name` as it was given.
    pub fn as_str(&self) -> &str {
        &self.full
    }

    /// `owner-name`, as it stands in message ids and file names (contract, section 4). Two
    /// repositories can share one slug.
    pub fn slug(&self) -> String {
        format!("{}-{}", self.owner(), self.name())
    }

    fn folded(&self) -> String {
        self.full.to_ascii_lowercase()
    }
}

impl FromStr for RepoName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let refuse = || NameError::Repo(text.to_owned());
        let (owner, name) = text.split_once('/').ok_or_else(refuse)?;
        // Owners: letters, digits, hyphens (and underscores in managed-user names), at most 39.
        let owner_ok = !owner.is_empty()
            && owner.len() <= 64
            && owner
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            && !owner.starts_with('-');
        // Names: letters, digits, `-`, `_` and `.`, at most 100, and never a path of dots.
        let name_ok = !name.is_empty()
            && name.len() <= 100
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
            && name != "."
            && name != "..";
        if owner_ok && name_ok {
            Ok(Self {
                slash: owner.len(),
                full: text.to_owned(),
            })
        } else {
            Err(refuse())
        }
    }
}

impl TryFrom<String> for RepoName {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<RepoName> for String {
    fn from(repo: RepoName) -> Self {
        repo.full
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full)
    }
}

impl fmt::Debug for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoName({})", self.full)
    }
}

impl PartialEq for RepoName {
    fn eq(&self, other: &Self) -> bool {
        self.full.eq_ignore_ascii_case(&other.full)
    }
}

impl Eq for RepoName {}

impl std::hash::Hash for RepoName {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.folded().hash(state);
    }
}

impl PartialOrd for RepoName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RepoName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.folded().cmp(&other.folded())
    }
}

/// The number of a pull request within its repository, 1 or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u64", into = "u64")]
#[schemars(with = "u64")]
pub struct PrNumber(u32);

impl PrNumber {
    /// The number itself.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u64> for PrNumber {
    type Error = NameError;

    fn try_from(number: u64) -> Result<Self, NameError> {
        // GraphQL's Int is 32 bits with a sign, so GitHub has no larger number either.
        match u32::try_from(number) {
            Ok(number) if number > 0 && number <= i32::MAX as u32 => Ok(Self(number)),
            _ => Err(NameError::Number(number.to_string())),
        }
    }
}

impl FromStr for PrNumber {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        text.parse::<u64>()
            .map_err(|_| NameError::Number(text.to_owned()))?
            .try_into()
    }
}

impl From<PrNumber> for u64 {
    fn from(number: PrNumber) -> Self {
        u64::from(number.0)
    }
}

impl fmt::Display for PrNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One pull request, `owner/name#number`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PrRef {
    /// The repository that it would be merged into.
    pub repo: RepoName,
    /// Its number there.
    pub number: PrNumber,
}

impl fmt::Display for PrRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repo, self.number)
    }
}

impl FromStr for PrRef {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let refuse = || NameError::PrRef(text.to_owned());
        let (repo, number) = text.rsplit_once('#').ok_or_else(refuse)?;
        Ok(Self {
            repo: repo.parse().map_err(|_| refuse())?,
            number: number.parse().map_err(|_| refuse())?,
        })
    }
}

/// A commit id: 40 (SHA-1) or 64 (SHA-256) hexadecimal digits, kept in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Sha(String);

impl Sha {
    /// All its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first seven digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl FromStr for Sha {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let ok = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
        if ok {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(NameError::Sha(text.to_owned()))
        }
    }
}

impl TryFrom<String> for Sha {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> Self {
        sha.0
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An account name in GraphQL's form: REST's `coderabbitai[bot]` and GraphQL's `coderabbitai` are one
/// login (field case B057). Case is folded for equality, kept for display.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Login(String);

impl Login {
    /// The name, without `@` and without `[bot]`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Login {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let bare = text.strip_prefix('@').unwrap_or(text);
        let bare = bare.strip_suffix("[bot]").unwrap_or(bare);
        let ok = !bare.is_empty()
            && bare.len() <= 100
            && bare
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if ok {
            Ok(Self(bare.to_owned()))
        } else {
            Err(NameError::Login(text.to_owned()))
        }
    }
}

impl TryFrom<String> for Login {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<Login> for String {
    fn from(login: Login) -> Self {
        login.0
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq for Login {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Login {}

impl std::hash::Hash for Login {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_ascii_lowercase().hash(state);
    }
}

impl PartialOrd for Login {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Login {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.to_ascii_lowercase().cmp(&other.0.to_ascii_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashSet};

    #[test]
    fn b082_repository_names() {
        for good in [
            "o/r",
            "a-b/c",
            "o/r.js",
            "o/.github",
            "o/-r",
            "o/_",
            "enterprise_user/r",
            "o/a..b",
        ] {
            assert!(good.parse::<RepoName>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "/",
            "o",
            "o/",
            "/r",
            "o/r/x",
            "../r",
            "o/..",
            "o/.",
            "./r",
            "-o/r",
            "o/r b",
            "o/r#1",
            "o/r?x",
            "o/%2e",
            "o\\r",
            "o/r\n",
            "o/\u{0}",
            "ö/r",
            "o/ r",
            "https://github.com/o/r",
        ] {
            assert!(bad.parse::<RepoName>().is_err(), "{bad:?}");
        }
        assert!(format!("o/{}", "r".repeat(101)).parse::<RepoName>().is_err());
        assert!(serde_json::from_str::<RepoName>("\"../x\"").is_err());
    }

    #[test]
    fn b108_names_are_folded_for_case() {
        let (a, b): (RepoName, RepoName) = ("A-b/C".parse().unwrap(), "a-B/c".parse().unwrap());
        assert_eq!(a, b);
        assert_eq!(a.cmp(&b), std::cmp::Ordering::Equal);
        assert_eq!(HashSet::from([a.clone(), b.clone()]).len(), 1);
        assert_eq!(BTreeSet::from([a.clone(), b]).len(), 1);
        assert_eq!(
            (a.owner(), a.name(), a.to_string()),
            ("A-b", "C", "A-b/C".to_owned())
        );
        let (a, b): (Login, Login) = ("Some-One".parse().unwrap(), "some-one".parse().unwrap());
        assert_eq!(a, b);
        assert_eq!(HashSet::from([a, b]).len(), 1);
    }

    #[test]
    fn b057_logins_have_one_form() {
        for form in [
            "coderabbitai",
            "coderabbitai[bot]",
            "@coderabbitai",
            "@CodeRabbitAI[bot]",
        ] {
            assert_eq!(
                form.parse::<Login>().unwrap(),
                "coderabbitai".parse().unwrap(),
                "{form}"
            );
        }
        for bad in ["", "@", "[bot]", "a b", "a/b", "a\n", "../x", "ö"] {
            assert!(bad.parse::<Login>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn pull_requests_and_their_numbers() {
        let at: PrRef = "o/r#12".parse().unwrap();
        assert_eq!((at.number.get(), at.to_string()), (12, "o/r#12".to_owned()));
        for bad in [
            "o/r",
            "o/r#",
            "o/r#0",
            "o/r#-1",
            "o/r#1.5",
            "o/r#2147483648",
            "#1",
            "o#1",
            "o/r#1#2",
            "o/r#one",
        ] {
            assert!(bad.parse::<PrRef>().is_err(), "{bad:?}");
        }
        assert!(serde_json::from_str::<PrNumber>("0").is_err());
        assert!(serde_json::from_str::<PrNumber>("-1").is_err());
    }

    #[test]
    fn commit_ids() {
        let sha: Sha = "ABCDEF0123456789abcdef0123456789abcdef01".parse().unwrap();
        assert_eq!((sha.short(), sha.as_str().len()), ("abcdef0", 40));
        assert!("a".repeat(64).parse::<Sha>().is_ok());
        for bad in [
            "",
            "abc",
            "--upload-pack=x",
            "g123456789012345678901234567890123456789",
        ] {
            assert!(bad.parse::<Sha>().is_err(), "{bad:?}");
        }
        assert!("é".repeat(20).parse::<Sha>().is_err());
    }
}
