//! The token: read again after a 401, sent to one place, shown nowhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use github::{ErrorClass, FixedToken, ReadError, Reader, Token, TokenError, TokenFuture, TokenSource};
use world::PullSpec;

use crate::{endpoints, limits, read, refs, world};

/// Gives one token after the other, the last one for ever.
#[derive(Default)]
struct Renewed {
    tokens: Vec<&'static str>,
    asked: AtomicUsize,
}

impl TokenSource for Renewed {
    fn token<'a>(&'a self, _refused: Option<&'a Token>) -> TokenFuture<'a> {
        let turn = self.asked.fetch_add(1, Ordering::Relaxed);
        let token = self
            .tokens
            .get(turn)
            .or(self.tokens.last())
            .ok_or(TokenError::Missing);
        Box::pin(std::future::ready(token.and_then(|token| Token::new(token))))
    }
}

#[tokio::test]
async fn a_refused_token_is_read_again_once() {
    let served = world()
        .pulls((1..=60).map(|n| PullSpec::new("o/r", n)))
        .build()
        .serve()
        .await
        .unwrap();
    let with = |tokens: &[&'static str]| {
        let source = Arc::new(Renewed {
            tokens: tokens.to_vec(),
            ..Renewed::default()
        });
        (
            Reader::connect(endpoints(&served), Arc::clone(&source) as _, limits()).unwrap(),
            source,
        )
    };

    let (reader, source) = with(&["expired-secret", world::TOKEN]);
    let got = read(&reader, &refs("o/r", 1..=60)).await;
    assert_eq!(got.found.len(), 60);
    assert_eq!(
        source.asked.load(Ordering::Relaxed),
        2,
        "once, and once for the three refused together"
    );
    let before = reader.requests().total;
    reader.viewer().await.unwrap();
    assert_eq!(reader.requests().total, before + 1, "the newer token is kept");

    for tokens in [
        &["expired-secret"][..],
        &["expired-secret", "also-expired-secret"],
    ] {
        let (reader, _) = with(tokens);
        let error = reader.viewer().await.unwrap_err();
        assert_eq!(
            error,
            ReadError::Refused {
                message: "Bad credentials".to_owned()
            }
        );
        assert_eq!(error.class(), ErrorClass::Credentials);
        let got = read(&reader, &refs("o/r", 1..=60)).await;
        assert_eq!(got.stopped, Some(error));
        assert!(!format!("{reader:?} {got:?}").contains("secret"));
    }

    let (reader, _) = with(&[]);
    let before = served.log().len();
    assert_eq!(
        reader.viewer().await.unwrap_err(),
        ReadError::Token(TokenError::Missing)
    );
    assert_eq!(served.log().len(), before, "nothing is asked without a token");
}

#[tokio::test]
async fn a_token_is_shown_nowhere() {
    let token = Token::new("ghp_secret").unwrap();
    assert_eq!(
        format!("{token:?} {:?}", FixedToken(token.clone())),
        "Token(…) FixedToken(Token(…))"
    );
}
