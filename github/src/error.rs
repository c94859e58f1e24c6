//! Why something could not be read.

use std::time::Duration;

use pulls::facts::Time;
use pulls::{PrRef, RepoName};

use crate::token::TokenError;

/// What a caller can do about a [`ReadError`]; the exit codes 3, 4 and 1 of the contract, section 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// GitHub refused the credentials, or there are none. No retry helps before a person acts.
    Credentials,
    /// GitHub is unreachable, fails by itself or limits the rate. The same request may pass later.
    Unavailable,
    /// Anything else: a repository that is not there, an answer that says something else than asked.
    Other,
}

/// Why something could not be read from GitHub. The text never holds the token.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReadError {
    /// There is no token to be had.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// GitHub refused the token, also after it was read again.
    #[error("GitHub refused the credentials: {message}")]
    Refused {
        /// GitHub's own words.
        message: String,
    },
    /// A primary or a secondary rate limit holds, beyond the one retry.
    #[error("rate limit of GitHub{}", until.map(|at| format!(" until {}", at.format("%Y-%m-%d %H:%M:%S UTC"))).unwrap_or_default())]
    RateLimited {
        /// When GitHub said that it ends.
        until: Option<Time>,
    },
    /// No connection, or GitHub failed at every try.
    #[error("cannot reach {origin}: {why}")]
    Unreachable {
        /// Scheme, host and port.
        origin: String,
        /// The cause, in the words of the layer that saw it.
        why: String,
    },
    /// GitHub answered 5xx.
    #[error("GitHub failed with {status}")]
    Server {
        /// The status, as a number.
        status: u16,
    },
    /// No whole answer within the time for one request.
    #[error("no answer within {} s", after.as_secs_f64())]
    TimedOut {
        /// The time for one request.
        after: Duration,
    },
    /// The connection or the body ended before the answer did.
    #[error("the answer was cut short: {why}")]
    CutShort {
        /// Where it ended.
        why: String,
    },
    /// The answer is larger than this program reads.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The bound, in bytes.
        limit: usize,
    },
    /// The answer is not JSON: a proxy, a sign-in page or a wrong address.
    #[error("the answer is not JSON but {content_type} ({status}), beginning {start:?}")]
    NotJson {
        /// The status, as a number.
        status: u16,
        /// Its content type, or "of no content type".
        content_type: String,
        /// Its first words.
        start: String,
    },
    /// A status that none of the other cases explains.
    #[error("unexpected status {status}: {message}")]
    Status {
        /// The status, as a number.
        status: u16,
        /// GitHub's own words, or the request's path.
        message: String,
    },
    /// The repository is not there, or the token may not see it, which GitHub does not tell apart.
    #[error("no repository {0}, or the token may not see it")]
    NoRepository(RepoName),
    /// The pull request is not there.
    #[error("no pull request {0}")]
    NoPull(PrRef),
    /// The token may not read it.
    #[error("no access: {}", if *sso { "SSO" } else { message.as_str() })]
    NoAccess {
        /// Where in the answer.
        path: String,
        /// GitHub's own words.
        message: String,
        /// Whether the organisation asks for single sign-on, which a person can authorise the token for.
        sso: bool,
    },
    /// A part of the answer is an error.
    #[error("{}{message}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
    Partial {
        /// Where in the answer; empty where GitHub did not say.
        path: String,
        /// GitHub's own words.
        message: String,
        /// The type that GitHub gave the error. One without a type may pass at the next try.
        kind: Option<String>,
    },
    /// The answer is not of the shape that the schema promises.
    #[error("an answer of another shape than GitHub documents: {what}")]
    Malformed {
        /// What is wrong, and where.
        what: String,
    },
    /// A list ended before all of it was read, twice.
    #[error("{got} of {of} {list} could be read")]
    Incomplete {
        /// Which list.
        list: &'static str,
        /// Entries read.
        got: u64,
        /// Entries that GitHub counts.
        of: u64,
    },
    /// A list has more pages than this program reads.
    #[error("more than {pages} pages of {list}")]
    TooManyPages {
        /// Which list.
        list: &'static str,
        /// The bound.
        pages: u32,
    },
    /// A redirect to another origin, to a path that is not allowed, or one too many.
    #[error("not following a redirect to {to}")]
    Redirect {
        /// Where it led.
        to: String,
    },
    /// Nothing was sent, for the caller allowed no more.
    #[error("all {of} requests that were allowed are spent")]
    Spent {
        /// How many there were.
        of: u32,
    },
    /// The request is not on the list of what may leave. A mistake of the program.
    #[error("{what} may not be sent")]
    NotAllowed {
        /// Method and path, or the operation.
        what: String,
    },
}

impl ReadError {
    /// What a caller can do about it.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Token(_) | Self::Refused { .. } => ErrorClass::Credentials,
            Self::RateLimited { .. }
            | Self::Unreachable { .. }
            | Self::Server { .. }
            | Self::TimedOut { .. }
            | Self::CutShort { .. }
            | Self::Spent { .. } => ErrorClass::Unavailable,
            Self::TooLarge { .. }
            | Self::NotJson { .. }
            | Self::Status { .. }
            | Self::NoRepository(_)
            | Self::NoPull(_)
            | Self::NoAccess { .. }
            | Self::Partial { .. }
            | Self::Malformed { .. }
            | Self::Incomplete { .. }
            | Self::TooManyPages { .. }
            | Self::Redirect { .. }
            | Self::NotAllowed { .. } => ErrorClass::Other,
        }
    }

    /// Whether asking for less, or once more, may help: the batch was too much, or GitHub stumbled.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Server { .. }
            | Self::TimedOut { .. }
            | Self::CutShort { .. }
            | Self::TooLarge { .. }
            | Self::NotJson { .. }
            | Self::Unreachable { .. } => true,
            // Errors without a type are GitHub's "something went wrong" (field case B100).
            Self::Partial { kind, .. } => kind.is_none(),
            Self::Token(_)
            | Self::Refused { .. }
            | Self::RateLimited { .. }
            | Self::Status { .. }
            | Self::NoRepository(_)
            | Self::NoPull(_)
            | Self::NoAccess { .. }
            | Self::Malformed { .. }
            | Self::Incomplete { .. }
            | Self::TooManyPages { .. }
            | Self::Redirect { .. }
            | Self::Spent { .. }
            | Self::NotAllowed { .. } => false,
        }
    }
}
