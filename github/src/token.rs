//! Where the credentials come from. A token is shown nowhere: not in `Debug`, logs or errors.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use http::HeaderValue;

/// A secret that stands for an account or an installation.
///
/// ```
/// let token = github::Token::new("ghp_secret\n").unwrap();
/// assert_eq!(format!("{token:?}"), "Token(…)");
/// assert!(github::Token::new("two words").is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes the text without the blanks around it.
    ///
    /// # Errors
    /// [`TokenError::Unusable`] when nothing is left, or when it holds what a header cannot.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(TokenError::Unusable)
        }
    }

    pub(crate) fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.0))
            .expect("Token::new accepts visible ASCII only, which is valid in a header");
        value.set_sensitive(true);
        value
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// None of the places has one.
    #[error("no token: set GITHUB_TOKEN or GH_TOKEN, or sign in with `gh auth login`")]
    Missing,
    /// It is empty or holds blanks or control characters.
    #[error("the token is empty or holds characters that a token cannot")]
    Unusable,
    /// The program that was asked for it failed.
    #[error("{program} gave no token: {why}")]
    Program {
        /// Which program.
        program: String,
        /// What it said.
        why: String,
    },
}

/// The future of [`TokenSource::token`].
pub type TokenFuture<'a> = Pin<Box<dyn Future<Output = Result<Token, TokenError>> + Send + 'a>>;

/// Gives the token. It is asked at the first request and again when GitHub answers 401, once for
/// each refusal, so that a token that was renewed meanwhile is found.
pub trait TokenSource: Send + Sync + 'static {
    /// The token as it stands now. `refused` is the one that GitHub has just refused; a source that
    /// can make a new one does so, any other reads its place again.
    fn token<'a>(&'a self, refused: Option<&'a Token>) -> TokenFuture<'a>;
}

/// One token that never changes.
#[derive(Debug, Clone)]
pub struct FixedToken(pub Token);

impl TokenSource for FixedToken {
    fn token<'a>(&'a self, _refused: Option<&'a Token>) -> TokenFuture<'a> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}
