//! `sweep report` and `sweep pr`.

use std::path::PathBuf;

use clap::Args;
use pulls::PrRef;

use crate::when::When;

/// `sweep report`.
#[derive(Debug, Args)]
pub struct Report {
    /// From this moment on: a moment, a date, or a span before now [default: seven days before the end]
    #[arg(long, value_name = "SPAN|DATE")]
    pub since: Option<When>,
    /// Up to this moment [default: now]
    #[arg(long, value_name = "SPAN|DATE")]
    pub until: Option<When>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write one HTML page with plots instead, whole or not at all; prints its name
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}

/// `sweep pr`.
#[derive(Debug, Args)]
pub struct Pr {
    /// The pull request: OWNER/NAME#N, or its address
    #[arg(value_name = "PULL REQUEST", value_parser = pull_request)]
    pub at: PrRef,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// A pull request by its name or by the address of any of its pages.
pub fn pull_request(text: &str) -> Result<PrRef, String> {
    let by_name = text.parse::<PrRef>();
    let address = by_name.is_err().then(|| by_address(text)).flatten();
    match address {
        Some(at) => Ok(at),
        None => by_name.map_err(|_| {
            format!(
                "{text:?} does not name a pull request; write it as owner/name#number or \
                 https://github.com/owner/name/pull/number"
            )
        }),
    }
}

/// `https://HOST/OWNER/NAME/pull/N`, with whatever stands behind it; the host is not looked at.
fn by_address(text: &str) -> Option<PrRef> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))?;
    let path = rest.split(['?', '#']).next()?;
    let mut parts = path.split('/').skip(1);
    let (owner, name) = (parts.next()?, parts.next()?);
    let is_pull = parts.next().is_some_and(|part| matches!(part, "pull" | "pulls"));
    let number = parts.next()?;
    is_pull
        .then(|| format!("{owner}/{name}#{number}").parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_is_named_or_addressed() {
        for text in [
            "o/r#7",
            "https://github.com/o/r/pull/7",
            "https://github.com/o/r/pull/7/files?w=1#diff-1",
            "https://ghe.example:8443/o/r/pull/7#issuecomment-1",
            "http://localhost/o/r/pulls/7",
        ] {
            assert_eq!(pull_request(text), Ok("o/r#7".parse().unwrap()), "{text}");
        }
        for text in [
            "o/r",
            "7",
            "https://github.com/o/r/issues/7",
            "https://github.com/o/r/pull/x",
            "https://github.com/o/../pull/7",
            "ftp://github.com/o/r/pull/7",
            "https://",
        ] {
            assert!(
                pull_request(text)
                    .unwrap_err()
                    .contains("does not name a pull request"),
                "{text}"
            );
        }
    }
}
