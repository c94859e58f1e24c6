//! The names and numbers of this crate, each checked where it enters.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// The longest mailbox name, in bytes: it is part of a file name on every platform.
const MAX_NAME: usize = 64;
/// The longest message id, in bytes. Ids are kept longer than their messages.
const MAX_ID: usize = 256;
/// The longest subject, in bytes: a subject names one thing.
const MAX_SUBJECT: usize = 512;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not a mailbox name.
    #[error("{0:?} is not a mailbox name: a lower-case letter, then at most 63 of a-z, 0-9, '_' and '-'")]
    Mailbox(String),
    /// Not a message id.
    #[error("{0:?} is not a message id: 1 to 256 bytes without control characters")]
    MsgId(String),
    /// Not a subject.
    #[error("{0:?} is not a subject: 1 to 512 bytes without control characters")]
    Subject(String),
}

fn printable(text: &str, max: usize) -> bool {
    !text.is_empty() && text.len() <= max && !text.chars().any(char::is_control)
}

/// The name of a mailbox: `[a-z][a-z0-9_-]{0,63}`. Cheap to clone.
///
/// ```
/// use mailbox::MailboxName;
/// let name: MailboxName = "night-sweep".parse().unwrap();
/// assert_eq!(name.as_str(), "night-sweep");
/// assert!("../qa".parse::<MailboxName>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MailboxName(Arc<str>);

impl MailboxName {
    /// Where messages go that nobody declares (contract, section 3, "Routing").
    pub fn dead_letter() -> MailboxName {
        MailboxName("dead-letter".into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for MailboxName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<MailboxName, NameError> {
        let fits = text.len() <= MAX_NAME
            && text.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        if fits {
            Ok(MailboxName(text.into()))
        } else {
            Err(NameError::Mailbox(text.to_owned()))
        }
    }
}

/// The id under which a message enters a mailbox once: 1 to 256 bytes of text without control
/// characters. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MsgId(Arc<str>);

impl MsgId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for MsgId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<MsgId, NameError> {
        if printable(text, MAX_ID) {
            Ok(MsgId(text.into()))
        } else {
            Err(NameError::MsgId(text.to_owned()))
        }
    }
}

/// What a message is about, where its intent declares it: messages of one subject are never in hand
/// together, and of several with the same intent only the newest is handled (contract, section 3,
/// rule 7).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Subject(Arc<str>);

impl Subject {
    /// The subject as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Subject {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Subject, NameError> {
        if printable(text, MAX_SUBJECT) {
            Ok(Subject(text.into()))
        } else {
            Err(NameError::Subject(text.to_owned()))
        }
    }
}

macro_rules! text_name {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.as_str().to_owned()
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }
    };
}
text_name!(MailboxName);

impl std::borrow::Borrow<str> for MailboxName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}
text_name!(MsgId);
text_name!(Subject);

/// The place of a message in its mailbox: from 1, without holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The first number of every mailbox.
    pub const FIRST: Seq = Seq(1);
    /// Greater than every number given out.
    pub const MAX: Seq = Seq(u64::MAX);

    /// The number after this one.
    pub fn next(self) -> Seq {
        Seq(self.0.saturating_add(1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! uuid_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A fresh one, like no other.
            pub fn fresh() -> $name {
                $name(Uuid::new_v4())
            }

            /// One of a fixed value, so that a test or a replay is deterministic.
            pub fn from_u128(value: u128) -> $name {
                $name(Uuid::from_u128(value))
            }

            /// Its 128 bits.
            pub fn as_u128(self) -> u128 {
                self.0.as_u128()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<$name, uuid::Error> {
                text.parse().map($name)
            }
        }
    };
}

uuid_name!(
    /// One life of the process, from opening the mailboxes to closing them or dying. A lease taken
    /// for the process ends with it.
    Incarnation
);
uuid_name!(
    /// The name of one lease. Whoever acknowledges names it, so that a stale right is refused.
    LeaseId
);

/// A SHA-256 digest: of the evidence that a decision saw, or of what a handler read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// A digest that was computed elsewhere.
    pub fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mailbox_names() {
        let check =
            |text: &str, good: bool| assert_eq!(text.parse::<MailboxName>().is_ok(), good, "{text:?}");
        check("qa", true);
        check("a", true);
        check("night-sweep_2", true);
        check(&"a".repeat(64), true);
        check(&"a".repeat(65), false);
        check("", false);
        check("Qa", false);
        check("2qa", false);
        check("-qa", false);
        check("_acks", false);
        check("a/b", false);
        check("a.b", false);
        check("é", false);
    }

    #[test]
    fn message_ids() {
        let check = |text: &str, good: bool| assert_eq!(text.parse::<MsgId>().is_ok(), good, "{text:?}");
        check("pr-state-2026-05-14T17:45:00Z-sharkdp-bat-3734", true);
        check("grüße mit Leerzeichen", true);
        check(&"x".repeat(256), true);
        check(&"x".repeat(257), false);
        check("", false);
        check("a\nb", false);
        check("a\u{0}", false);
        check("\u{85}", false);
    }

    #[test]
    fn digest_shows_as_hex() {
        assert_eq!(
            Digest::of(b"").to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
