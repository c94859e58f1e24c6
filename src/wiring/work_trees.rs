//! Where work trees are kept, and how git asks for a token.

use std::sync::Arc;

use actors::trees::{Keeping, Trees};
use child::git::{Helper, Limits, Remote};

use crate::cli::GIT_CREDENTIAL;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::home::Home;
use crate::token::Credentials;

/// The variable that says where repositories are cloned from.
pub const GIT_VARIABLE: &str = "SWEEP_GIT_BASE";

/// The folder of mirrors and work trees within the home.
const WORK: &str = "work";

/// The work trees of this home, which are opened when one is first needed. The token goes to git through this very
/// program as its credential helper.
pub fn trees(home: &Home, config: &Config) -> Result<Trees, Failure> {
    let remote = git_base()?;
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Other, "cannot tell where this program lies")
            .because(error)
            .mend("git asks it for the token; start it by its path.")
    })?;
    let credentials = Arc::new(Credentials::for_api(remote.base()));
    Ok(Trees::kept(Keeping {
        root: home.path.join(WORK),
        remote,
        credentials: Some((Helper::new(program, [GIT_CREDENTIAL]), credentials)),
        limits: Limits {
            disk: config.work.disk.get(),
            ..Limits::default()
        },
    }))
}

/// Where repositories are cloned from, as the environment says.
pub fn git_base() -> Result<Remote, Failure> {
    match std::env::var(GIT_VARIABLE) {
        Ok(base) if !base.trim().is_empty() => Remote::parse(base.trim()).map_err(|error| {
            Failure::new(Exit::Usage, format!("{GIT_VARIABLE} is no base for repositories"))
                .because(error)
                .mend("Set it to an address like https://github.com or file:///srv/git, or unset it.")
        }),
        _ => Ok(Remote::default()),
    }
}
