//! Names that came from outside, checked where they enter: none of them can be an option of git, leave a folder or
//! be read as two words.

use std::fmt;
use std::str::FromStr;

/// The longest branch name, in bytes: git keeps a ref as a file and file names end at 255, `.lock` included.
const LONGEST_BRANCH: usize = 244;

/// The longest path within a repository, in bytes: what systems allow.
const LONGEST_PATH: usize = 4096;

/// The longest base of addresses, in bytes; nobody types a longer one.
const LONGEST_BASE: usize = 1024;

/// Why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Not `owner/name` of the characters that a forge allows.
    #[error("{0:?} is not a repository name; write it as owner/name")]
    Repo(String),
    /// Not the name of a branch that git could hold.
    #[error("{0:?} cannot be the name of a branch")]
    Branch(String),
    /// Not 40 or 64 hexadecimal digits.
    #[error("{0:?} is not a commit id of 40 or 64 hexadecimal digits")]
    Commit(String),
    /// Not a path within a repository.
    #[error("{0:?} is not a path within a repository")]
    Path(String),
    /// Not an address under which repositories can be found.
    #[error("{base:?} cannot be the base of clone addresses: {why}")]
    Base {
        /// What was given.
        base: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Not a name and a mail address that git could write into a commit.
    #[error("{0:?} cannot stand in a commit as a person's name or address")]
    Person(String),
}

/// A repository, `owner/name`. Forges fold case, so equality does too.
///
/// ```
/// use child::git::Repo;
/// let bat: Repo = "sharkdp/bat".parse()?;
/// assert_eq!(bat, "Sharkdp/BAT".parse()?);
/// assert!("--upload-pack=x/y".parse::<Repo>().is_err());
/// # Ok::<(), child::git::NameError>(())
/// ```
#[derive(Clone)]
pub struct Repo {
    full: String,
    slash: usize,
}

impl Repo {
    /// `owner/name` as it was given.
    pub fn as_str(&self) -> &str {
        &self.full
    }

    /// The name without its owner.
    pub fn name(&self) -> &str {
        &self.full[self.slash + 1..]
    }

    /// One file name for it, the same for every spelling: `+` stands in no name.
    pub(super) fn key(&self) -> String {
        self.full.to_ascii_lowercase().replace('/', "+")
    }
}

impl FromStr for Repo {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let refuse = || NameError::Repo(text.to_owned());
        let (owner, name) = text.split_once('/').ok_or_else(refuse)?;
        let allowed = |part: &str, longest: usize| {
            (1..=longest).contains(&part.len())
                && !part.starts_with('-')
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        };
        // A folder of one of these names would be the parent, or a git directory.
        let special = |part: &str| matches!(part.to_ascii_lowercase().as_str(), "." | ".." | ".git");
        if !allowed(owner, 64) || !allowed(name, 100) || special(owner) || special(name) {
            return Err(refuse());
        }
        Ok(Self {
            full: text.to_owned(),
            slash: owner.len(),
        })
    }
}

impl PartialEq for Repo {
    fn eq(&self, other: &Self) -> bool {
        self.full.eq_ignore_ascii_case(&other.full)
    }
}

impl Eq for Repo {}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full)
    }
}

impl fmt::Debug for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Repo({})", self.full)
    }
}

/// A branch, without `refs/heads/`: a name that `git check-ref-format` takes.
///
/// A leading dash, quotes and any script are allowed, since git allows them and a branch is only ever named in
/// full, `refs/heads/…`. Spaces, `..` and what else git forbids are refused here, before git is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch(String);

impl Branch {
    /// The name, without `refs/heads/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in full.
    pub(super) fn full(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    /// Where the mirror keeps it. Not under its own name: `a` and, once that is gone, `a/b` would be in each
    /// other's way. Two names with one number would only share a ref that is read right after it was written.
    pub(super) fn kept_at(&self) -> String {
        // FNV-1a, 64 bits.
        let number = self.0.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |number, byte| {
            (number ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        format!("refs/base/{number:016x}")
    }
}

impl FromStr for Branch {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let part_ok = |part: &str| {
            !part.is_empty() && !part.starts_with('.') && !part.to_ascii_lowercase().ends_with(".lock")
        };
        let ok = text.len() <= LONGEST_BRANCH
            && text.split('/').all(part_ok)
            && !text.ends_with('.')
            && !text.contains("..")
            && !text.contains("@{")
            && text != "@"
            && !text
                .bytes()
                .any(|byte| byte.is_ascii_control() || b" ~^:?*[\\".contains(&byte));
        if ok {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError::Branch(text.to_owned()))
        }
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A commit id: 40 or 64 hexadecimal digits, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    /// All its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first seven of them, for people.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl FromStr for CommitId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(NameError::Commit(text.to_owned()))
        }
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file's path within a repository, `/` between its parts. It is given to git as it is, never as a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePath(String);

impl FilePath {
    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FilePath {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let ok = text.len() <= LONGEST_PATH
            && !text.contains('\0')
            && text.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if ok {
            Ok(Self(text.to_owned()))
        } else {
            Err(NameError::Path(text.to_owned()))
        }
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a remote is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Https,
    Http,
    File,
}

impl Scheme {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::File => "file",
        }
    }
}

/// Where repositories are: one base address, below which each has its `owner/name.git`.
///
/// ```
/// use child::git::Remote;
/// let github = Remote::parse("https://github.com")?;
/// assert!(Remote::parse("https://me:secret@github.com").is_err()); // a secret is no part of an address
/// # Ok::<(), child::git::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    base: String,
    scheme: Scheme,
}

impl Remote {
    /// A base of `https`, `http` or `file`.
    ///
    /// # Errors
    ///
    /// [`NameError::Base`] for another scheme, and for an address with a user, a password, a query or a fragment.
    pub fn parse(base: &str) -> Result<Self, NameError> {
        let refuse = |why| NameError::Base {
            // An address with a secret in it is not repeated.
            base: match base.contains('@') {
                true => "…@…".to_owned(),
                false => base.chars().take(LONGEST_BASE).collect(),
            },
            why,
        };
        let (scheme, rest) = base.split_once("://").ok_or_else(|| refuse("it has no scheme"))?;
        let scheme = match scheme {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            "file" => Scheme::File,
            _ => return Err(refuse("only https, http and file are spoken")),
        };
        if base.len() > LONGEST_BASE {
            return Err(refuse("it is too long"));
        }
        if base.chars().any(char::is_control) {
            return Err(refuse("it holds a control character"));
        }
        match scheme {
            Scheme::File if !rest.starts_with('/') => {
                return Err(refuse("the path of a file address begins with /"));
            }
            Scheme::File => {}
            Scheme::Https | Scheme::Http => {
                let host = rest.split('/').next().unwrap_or_default();
                if host.is_empty() || host.starts_with([':', '-']) {
                    return Err(refuse("it names no host"));
                }
                if rest.contains('@') {
                    return Err(refuse("a user or a password is no part of it"));
                }
                if rest.contains(['?', '#', '=', '\\', '"', ' ']) {
                    return Err(refuse(
                        "it is a plain address, without query, fragment, quotes or spaces",
                    ));
                }
            }
        }
        Ok(Self {
            base: base.trim_end_matches('/').to_owned(),
            scheme,
        })
    }

    pub(super) fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The base address.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The address of one repository.
    pub(super) fn address(&self, repo: &Repo) -> String {
        format!("{}/{repo}.git", self.base)
    }

    /// Host and port, as a credential helper is asked about them.
    pub(super) fn host(&self) -> &str {
        let rest = self.base.split_once("://").map_or("", |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default()
    }

    /// Whether a secret may be sent there: over TLS, or to this very machine.
    pub(super) fn may_have_secrets(&self) -> bool {
        let host = self.host();
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        match self.scheme {
            Scheme::Https => true,
            Scheme::Http => matches!(name, "127.0.0.1" | "localhost" | "::1"),
            Scheme::File => false,
        }
    }
}

impl Default for Remote {
    /// GitHub over HTTPS.
    fn default() -> Self {
        Self {
            base: "https://github.com".to_owned(),
            scheme: Scheme::Https,
        }
    }
}

/// Somebody as a commit names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    name: String,
    address: String,
}

impl Person {
    /// A name and a mail address.
    ///
    /// # Errors
    ///
    /// [`NameError::Person`] for what git cannot write: an empty name, angle brackets, control characters.
    pub fn new(name: &str, address: &str) -> Result<Self, NameError> {
        let writable = |text: &str| !text.chars().any(|c| c.is_control() || matches!(c, '<' | '>'));
        // git drops punctuation at both ends of a name, and wants something to be left.
        if !name.chars().any(char::is_alphanumeric) || !writable(name) {
            return Err(NameError::Person(name.to_owned()));
        }
        if address.is_empty() || !writable(address) {
            return Err(NameError::Person(address.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            address: address.to_owned(),
        })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mail address.
    pub fn address(&self) -> &str {
        &self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories() {
        for good in ["a/b", "sharkdp/bat", "o/.github", "o/x.js", "o-o/a_b"] {
            assert!(good.parse::<Repo>().is_ok(), "{good}");
        }
        for bad in [
            "", "a", "a/", "/b", "a/b/c", "a/..", "../b", "-a/b", "a/-b", "a/.git", "a/.GIT", "a b/c",
            "a/b\n", "a/b;c", "a/b+c",
        ] {
            assert!(bad.parse::<Repo>().is_err(), "{bad}");
        }
        assert_eq!("Hyperium/Hyper".parse::<Repo>().unwrap().key(), "hyperium+hyper");
    }

    #[test]
    fn branches_as_git_has_them() {
        for good in [
            "main",
            "-x",
            "--force",
            "a/b",
            "it's",
            "\"q\"",
            "$(id)",
            "ünïcode/日本",
            "a;b",
            "a|b",
            "a@b",
            "v1.0",
            "%s",
        ] {
            assert!(good.parse::<Branch>().is_ok(), "{good}");
        }
        for bad in [
            "", "a b", "a..b", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "a~1", "a^",
            "a:b", "a?", "a*", "a[b", "a\\b", "@", "a@{b", "a\nb", "a\u{7f}b",
        ] {
            assert!(bad.parse::<Branch>().is_err(), "{bad}");
        }
        assert!("x".repeat(245).parse::<Branch>().is_err());
    }

    #[test]
    fn paths() {
        for good in ["src/main.rs", "-x", ":(glob)*", "a b", "日本/ü"] {
            assert!(good.parse::<FilePath>().is_ok(), "{good}");
        }
        for bad in ["", "/etc/passwd", "../x", "a/../b", "a//b", "a\0b", "./a", "a/"] {
            assert!(bad.parse::<FilePath>().is_err(), "{bad}");
        }
    }

    #[test]
    fn commits() {
        assert_eq!(
            "ABCDEF0123".repeat(4).parse::<CommitId>().unwrap().as_str(),
            "abcdef0123".repeat(4)
        );
        for bad in ["", "HEAD", "-n", "abc123", &"g".repeat(40)] {
            assert!(bad.parse::<CommitId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn bases() {
        let good = Remote::parse("http://127.0.0.1:8080/git/").unwrap();
        assert_eq!(
            good.address(&"o/r".parse().unwrap()),
            "http://127.0.0.1:8080/git/o/r.git"
        );
        assert_eq!(good.host(), "127.0.0.1:8080");
        for bad in [
            "github.com",
            "ssh://github.com",
            "ext::sh",
            "https://",
            "https://a@b",
            "file://x",
            "https://h/?q",
            "https://-h",
            "https://h/\n",
            "https://h/a=b",
        ] {
            assert!(Remote::parse(bad).is_err(), "{bad}");
        }
        let hidden = Remote::parse("https://me:s3cret@github.com")
            .unwrap_err()
            .to_string();
        assert!(!hidden.contains("s3cret"), "{hidden}");
    }

    #[test]
    fn a_secret_goes_over_tls_or_nowhere_but_here() {
        let may = |base| Remote::parse(base).unwrap().may_have_secrets();
        assert!(may("https://github.com") && may("http://127.0.0.1:80") && may("http://[::1]:80"));
        assert!(!may("http://github.com") && !may("http://127.0.0.1.evil.example") && !may("file:///srv"));
    }

    #[test]
    fn people() {
        assert!(Person::new("Ada Löve", "ada@example.org").is_ok());
        for (name, address) in [
            ("", "a@b"),
            (".", "a@b"),
            ("a\nb", "a@b"),
            ("a", ""),
            ("a", "<a@b>"),
        ] {
            assert!(Person::new(name, address).is_err(), "{name} {address}");
        }
    }
}
