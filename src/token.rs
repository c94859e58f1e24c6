//! The token: `GITHUB_TOKEN`, else `GH_TOKEN`, else what `gh auth token` prints (contract, section 1). It
//! is never printed, logged or stored.

use std::time::Duration;

use child::git::{Secret, SecretFuture};
use github::{Token, TokenError, TokenFuture, TokenSource};

use crate::config::Source;

/// The variables that may hold a token, in the order in which they are asked.
pub const VARIABLES: [&str; 2] = ["GITHUB_TOKEN", "GH_TOKEN"];

/// The longest that `gh auth token` may take: it reads a file or asks a keyring.
const GH_DEADLINE: Duration = Duration::from_secs(20);

/// More than any token has, in bytes.
const GH_OUTPUT_CAP: usize = 16 * 1024;

/// What `gh` needs beyond what every child gets: where its configuration is.
const GH_VARIABLES: [&str; 2] = ["GH_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// The user's own credentials, read where they lie each time they are asked for.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The host that `gh` is asked about; `None` for github.com.
    hostname: Option<String>,
}

impl Credentials {
    /// The credentials for the API at this address. A token that `gh` has for github.com is never given to
    /// another host: `gh` is asked for that host's.
    pub fn for_api(address: &str) -> Self {
        let origin = address.split_once("://").map_or(address, |(_, rest)| rest);
        let host = origin.split(['/', ':']).next().unwrap_or(origin);
        let bare = host.strip_prefix("api.").unwrap_or(host);
        Self {
            hostname: (bare != "github.com").then(|| bare.to_owned()),
        }
    }

    async fn read(&self) -> Result<Token, TokenError> {
        Token::new(&self.text().await?)
    }

    /// The token's text, with whatever blanks are around it.
    async fn text(&self) -> Result<String, TokenError> {
        match VARIABLES.iter().find_map(|name| variable(name)) {
            Some(text) => Ok(text),
            None => self.ask_gh().await,
        }
    }

    async fn ask_gh(&self) -> Result<String, TokenError> {
        let failed = |why: String| TokenError::Program {
            program: "`gh auth token`".to_owned(),
            why,
        };
        let mut words = vec!["gh", "auth", "token"];
        if let Some(hostname) = &self.hostname {
            words.extend(["--hostname", hostname]);
        }
        let mut command = child::Command::new(words)
            .map_err(|error| failed(error.to_string()))?
            .deadline(GH_DEADLINE)
            .output_cap(GH_OUTPUT_CAP);
        for name in GH_VARIABLES {
            command = command.pass_on(name);
        }
        let finished = match command.run().await {
            Ok(finished) => finished,
            // Without `gh` there is simply no token, and that is what to say.
            Err(child::CommandError::NotFound { .. }) => return Err(TokenError::Missing),
            Err(error) => return Err(failed(error.to_string())),
        };
        if finished.succeeded() {
            Ok(finished.stdout.text())
        } else {
            Err(TokenError::Missing)
        }
    }
}

impl TokenSource for Credentials {
    fn token<'a>(&'a self, _refused: Option<&'a Token>) -> TokenFuture<'a> {
        Box::pin(self.read())
    }
}

impl child::git::Credentials for Credentials {
    fn secret<'a>(&'a self, _refused: Option<&'a Secret>) -> SecretFuture<'a> {
        Box::pin(async {
            let text = self.text().await?;
            Ok(Secret::token(text.trim()).ok_or(TokenError::Unusable)?)
        })
    }
}

/// Where a token is looked for first, for `sweep config`: a variable that is set, else `gh`, which is not
/// asked for this. The token itself is not read further than to see that it is there.
pub fn source() -> Source {
    VARIABLES
        .into_iter()
        .find(|name| variable(name).is_some())
        .map_or(
            Source::Program {
                command: "gh auth token",
            },
            |variable| Source::Environment {
                variable: variable.into(),
            },
        )
}

/// What `sweep config` shows in a token's place.
pub fn shown() -> &'static str {
    match source() {
        Source::Environment { .. } => "set, and never shown",
        _ => "none in the environment: asked for when needed",
    }
}

/// A variable that is set to more than blanks.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_its_own_token() {
        let hostname = |address: &str| Credentials::for_api(address).hostname;
        assert_eq!(hostname("https://api.github.com"), None);
        assert_eq!(
            hostname("https://ghe.example.org:8443/api/v3").as_deref(),
            Some("ghe.example.org")
        );
        assert_eq!(
            hostname("https://api.octocorp.ghe.com").as_deref(),
            Some("octocorp.ghe.com")
        );
    }
}
