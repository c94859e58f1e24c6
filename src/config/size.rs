//! Sizes as people write them: `64 MiB`, `512KiB`, `1 GiB`, `4096 B`.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The units, largest first, in bytes.
const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

/// Why a size was refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a size; write it like \"64 MiB\", \"512 KiB\" or \"1 GiB\"")]
pub struct SizeError(String);

impl Size {
    /// So many kibibytes.
    pub const fn kib(kib: u64) -> Self {
        Self(kib << 10)
    }

    /// So many mebibytes.
    pub const fn mib(mib: u64) -> Self {
        Self(mib << 20)
    }

    /// In bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let refuse = || SizeError(text.to_owned());
        let (name, unit) = UNITS
            .iter()
            .find(|(name, _)| text.ends_with(name))
            .ok_or_else(refuse)?;
        let number = text.strip_suffix(name).unwrap_or(text).trim();
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refuse());
        }
        let number: u64 = number.parse().map_err(|_| refuse())?;
        number.checked_mul(*unit).map(Self).ok_or_else(refuse)
    }
}

/// In the largest unit that it is a whole number of.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) = UNITS
            .iter()
            .find(|(_, unit)| self.0 >= *unit && self.0.is_multiple_of(*unit))
            .unwrap_or(&("B", 1));
        write!(f, "{} {name}", self.0 / unit)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        let check = |text: &str, bytes: u64, shown: &str| {
            let size: Size = text.parse().unwrap();
            assert_eq!(
                (size.get(), size.to_string()),
                (bytes, shown.to_owned()),
                "{text}"
            );
        };
        check("64 MiB", 64 << 20, "64 MiB");
        check("64MiB", 64 << 20, "64 MiB");
        check("1024 KiB", 1 << 20, "1 MiB");
        check("1500 B", 1500, "1500 B");
        check("0 B", 0, "0 B");
        for text in [
            "",
            "64",
            "MiB",
            "64 MB",
            "-1 MiB",
            "1.5 GiB",
            "+1 GiB",
            "99999999999999999999 GiB",
            "9999999999999 GiB",
        ] {
            assert_eq!(text.parse::<Size>(), Err(SizeError(text.to_owned())), "{text}");
        }
    }
}
