//! The one way out: octocrab over a stack of our own.
//!
//! From outside in: `Authorize` puts the token in and reads it again after a 401; `Gate` lets only
//! what is in [`ALLOWED`] pass, counts it, bounds its time and its answer's size; then comes the HTTP
//! client. There is no layer that retries, follows redirects or rewrites a path. octocrab's own
//! stack does all three, to a POST too, which is why it is not used.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use chrono::Utc;
use http::header::{AUTHORIZATION, LOCATION, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use serde::Serialize;
use tower::Service;

use crate::allow::{ALLOWED, Allowed, GraphqlBody, permit};
use crate::allowance::Allowance;
use crate::answer::{self, Answer, Reply};
use crate::endpoints::{Endpoints, Origin};
use crate::error::ReadError;
use crate::limits::Limits;
use crate::token::{Token, TokenSource};

/// A moved repository answers once; more hops than this are a loop.
const MAX_HOPS: usize = 3;

/// Who asks, as GitHub wants to know it.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("sweep/", env!("CARGO_PKG_VERSION")));

type Transport = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;
type Sending = Pin<Box<dyn Future<Output = Result<Response<Full<Bytes>>, ReadError>> + Send>>;

/// How many requests were sent, and how many of them at most at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCount {
    /// Requests sent, every try counted.
    pub total: u64,
    /// The most that were on their way at one time.
    pub most_in_flight: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    total: AtomicU64,
    in_flight: AtomicUsize,
    most: AtomicUsize,
}

impl Counts {
    fn begin(self: &Arc<Self>) -> InFlight {
        self.total.fetch_add(1, Ordering::Relaxed);
        let now = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    pub(crate) fn read(&self) -> RequestCount {
        RequestCount {
            total: self.total.load(Ordering::Relaxed),
            most_in_flight: self.most.load(Ordering::Relaxed),
        }
    }
}

/// Counted down when dropped, so that a cancelled request is too.
struct InFlight(Arc<Counts>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The innermost layer over the HTTP client.
#[derive(Clone)]
struct Gate {
    transport: Transport,
    endpoints: Arc<Endpoints>,
    allowed: &'static [Allowed],
    limits: Limits,
    counts: Arc<Counts>,
}

impl Gate {
    async fn pass(self, request: Request<Bytes>) -> Result<Response<Full<Bytes>>, ReadError> {
        let (parts, body) = request.into_parts();
        permit(&self.endpoints, self.allowed, &parts.method, &parts.uri, &body)?;
        let origin = Origin::of(&parts.uri)
            .map(|origin| origin.to_string())
            .unwrap_or_default();
        let _in_flight = self.counts.begin();
        let exchange = async {
            let response = self
                .transport
                .request(Request::from_parts(parts, Full::new(body)))
                .await
                .map_err(|error| lost(&error, error.is_connect(), origin))?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, self.limits.answer_size)
                .collect()
                .await
                .map_err(|error| {
                    if error.is::<LengthLimitError>() {
                        ReadError::TooLarge {
                            limit: self.limits.answer_size,
                        }
                    } else {
                        ReadError::CutShort {
                            why: innermost(error.as_ref()),
                        }
                    }
                })?;
            Ok(Response::from_parts(head, Full::new(body.to_bytes())))
        };
        let after = self.limits.request_timeout;
        tokio::time::timeout(after, exchange)
            .await
            .unwrap_or(Err(ReadError::TimedOut { after }))
    }
}

fn lost(error: &(dyn std::error::Error + 'static), is_connect: bool, origin: String) -> ReadError {
    let why = innermost(error);
    if is_connect {
        ReadError::Unreachable { origin, why }
    } else {
        ReadError::CutShort { why }
    }
}

/// The words of the first cause, which name the matter: "connection refused".
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    answer::first_words(&cause.to_string())
}

/// Puts the token in, and sends once more with a newer one after a 401. Both are reads, so sending
/// twice does nothing twice.
#[derive(Clone)]
struct Authorize {
    inner: Gate,
    source: Arc<dyn TokenSource>,
    /// Held while the source is asked, so that many requests at once ask it once.
    known: Arc<tokio::sync::Mutex<Option<Token>>>,
}

impl Authorize {
    /// The token, where it is not the one that was `refused`; another request may have read a newer one.
    async fn token(&self, refused: Option<&Token>) -> Result<Token, ReadError> {
        let mut known = self.known.lock().await;
        if let Some(token) = known.as_ref().filter(|token| Some(*token) != refused) {
            return Ok(token.clone());
        }
        let token = self.source.token(refused).await?;
        *known = Some(token.clone());
        Ok(token)
    }

    async fn pass(self, request: Request<OctoBody>) -> Result<Response<Full<Bytes>>, ReadError> {
        let (mut parts, body) = request.into_parts();
        let body = body
            .collect()
            .await
            .map_err(|error| ReadError::CutShort {
                why: innermost(&error),
            })?
            .to_bytes();
        parts.headers.insert(USER_AGENT, AGENT);
        let with = |token: &Token| {
            let mut parts = parts.clone();
            parts.headers.insert(AUTHORIZATION, token.header());
            Request::from_parts(parts, body.clone())
        };
        let token = self.token(None).await?;
        let response = self.inner.clone().pass(with(&token)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let newer = self.token(Some(&token)).await?;
        if newer == token {
            return Ok(response);
        }
        self.inner.clone().pass(with(&newer)).await
    }
}

impl Service<Request<OctoBody>> for Authorize {
    type Response = Response<Full<Bytes>>;
    type Error = ReadError;
    type Future = Sending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ReadError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<OctoBody>) -> Sending {
        Box::pin(self.clone().pass(request))
    }
}

/// The client that everything in this crate goes through.
pub(crate) struct Wire {
    octocrab: Octocrab,
    endpoints: Arc<Endpoints>,
    counts: Arc<Counts>,
}

impl Wire {
    /// Must be called within a tokio runtime. Sends nothing.
    pub(crate) fn connect(
        endpoints: Endpoints,
        source: Arc<dyn TokenSource>,
        limits: &Limits,
    ) -> Result<Self, ReadError> {
        Self::with_allowed(endpoints, source, limits, ALLOWED)
    }

    fn with_allowed(
        endpoints: Endpoints,
        source: Arc<dyn TokenSource>,
        limits: &Limits,
        allowed: &'static [Allowed],
    ) -> Result<Self, ReadError> {
        // It sends again by itself only what it took back from a connection that had closed before a
        // byte of it was written.
        let transport = Client::builder(TokioExecutor::new()).build(connector(&endpoints)?);
        let endpoints = Arc::new(endpoints);
        let counts = Arc::new(Counts::default());
        let gate = Gate {
            transport,
            endpoints: Arc::clone(&endpoints),
            allowed,
            limits: limits.clone(),
            counts: Arc::clone(&counts),
        };
        let service = Authorize {
            inner: gate,
            source,
            known: Arc::default(),
        };
        let octocrab = OctocrabBuilder::new_empty()
            .with_service(service)
            .with_auth(AuthState::None)
            .build()
            .unwrap_or_else(|never| match never {});
        Ok(Self {
            octocrab,
            endpoints,
            counts,
        })
    }

    pub(crate) fn requests(&self) -> RequestCount {
        self.counts.read()
    }

    pub(crate) fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Sends a GraphQL document. Data, errors and headers come back side by side; what is no GraphQL
    /// answer at all is the error.
    pub(crate) async fn post_graphql(
        &self,
        document: &str,
        variables: serde_json::Map<String, serde_json::Value>,
    ) -> Result<Answer, ReadError> {
        let body = GraphqlBody {
            query: document.into(),
            variables,
        };
        let uri = self.endpoints.graphql.uri("");
        answer::graphql(self.send(Method::POST, uri, Some(&body)).await?)
    }

    /// Gets a path of the REST API.
    pub(crate) async fn get(&self, path: &str) -> Result<Reply, ReadError> {
        let reply = self.follow(path, &Allowance::unlimited()).await?;
        answer::judge_status(&reply)?;
        Ok(reply)
    }

    /// The same, and `None` for a 404 and for a 403 that is no rate limit: there is nothing, or nothing that
    /// this token may see.
    pub(crate) async fn get_if_any(
        &self,
        path: &str,
        allowance: &Allowance,
    ) -> Result<Option<Reply>, ReadError> {
        let reply = self.follow(path, allowance).await?;
        match answer::judge_status(&reply) {
            Ok(()) => Ok(Some(reply)),
            Err(error @ ReadError::RateLimited { .. }) => Err(error),
            Err(_) if matches!(reply.status, StatusCode::NOT_FOUND | StatusCode::FORBIDDEN) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A redirect within the origin is followed, as a renamed repository asks for; each hop passes the
    /// gate again, and is a request of its own.
    async fn follow(&self, path: &str, allowance: &Allowance) -> Result<Reply, ReadError> {
        let mut uri = self.endpoints.rest.uri(path);
        for _ in 0..=MAX_HOPS {
            allowance.spend()?;
            let reply = self.send::<()>(Method::GET, uri, None).await?;
            if !reply.status.is_redirection() {
                return Ok(reply);
            }
            let to = reply
                .headers
                .get(LOCATION)
                .and_then(|to| to.to_str().ok())
                .unwrap_or_default();
            uri = Some(self.hop(path, to).ok_or_else(|| ReadError::Redirect {
                to: answer::first_words(to),
            })?);
        }
        Err(ReadError::Redirect {
            to: "yet another address".to_owned(),
        })
    }

    /// Where a redirect leads that asks the same of the same thing at another place. The query stays: a server
    /// that drops it would be asked for less.
    fn hop(&self, asked: &str, to: &str) -> Option<Uri> {
        let rest = &self.endpoints.rest;
        let origin = &rest.origin;
        // Beginning with one slash, it is a path on the same origin; with two, another origin.
        let is_path = to.starts_with('/') && !to.starts_with("//");
        let uri: Uri = if is_path {
            format!("{origin}{to}").parse().ok()?
        } else {
            to.parse().ok()?
        };
        if Origin::of(&uri).as_ref() != Some(origin) {
            return None;
        }
        let path = uri.path().strip_prefix(&rest.path)?;
        let (asked, query) = asked.split_at(asked.find('?').unwrap_or(asked.len()));
        (question(path) == question(asked))
            .then(|| rest.uri(&format!("{path}{query}")))
            .flatten()
    }

    async fn send<B: Serialize>(
        &self,
        method: Method,
        uri: Option<Uri>,
        body: Option<&B>,
    ) -> Result<Reply, ReadError> {
        let uri = uri.ok_or_else(|| ReadError::NotAllowed {
            what: "a path that is none".to_owned(),
        })?;
        let request = self
            .octocrab
            .build_request(Request::builder().method(method).uri(uri), body)
            .map_err(ours)?;
        let response = self.octocrab.execute(request).await.map_err(ours)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(ours)?.to_bytes();
        Ok(Reply {
            status: head.status,
            headers: head.headers,
            body,
            at: Utc::now(),
        })
    }
}

/// What is asked of a repository, whichever of its addresses stands before it.
fn question(path: &str) -> &str {
    let before = match path.split('/').nth(1) {
        Some("repos") => 4,
        Some("repositories") => 3,
        _ => 0,
    };
    path.splitn(before + 1, '/').last().unwrap_or(path)
}

/// Finds our own error in octocrab's.
fn ours(error: octocrab::Error) -> ReadError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(this) = cause {
        if let Some(ours) = this.downcast_ref::<ReadError>() {
            return ours.clone();
        }
        cause = this.source();
    }
    ReadError::CutShort {
        why: innermost(&error),
    }
}

/// Certificates are read only where an address needs them: a machine without any can still talk to
/// its own loopback.
fn connector(endpoints: &Endpoints) -> Result<HttpsConnector<HttpConnector>, ReadError> {
    let provider = rustls::crypto::ring::default_provider();
    let builder = HttpsConnectorBuilder::new();
    let builder = if endpoints.needs_tls() {
        builder
            .with_provider_and_native_roots(provider)
            .map_err(|error| ReadError::Unreachable {
                origin: endpoints.rest.origin.to_string(),
                why: format!("no certificates to know it by: {error}"),
            })?
    } else {
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .expect("ring has the cipher suites of TLS 1.2 and 1.3")
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder.with_tls_config(config)
    };
    // Plain http is possible here; `Endpoints` lets it be for loopback addresses only.
    Ok(builder.https_or_http().enable_http1().build())
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::token::FixedToken;

    /// A wire to a port that nobody listens on: what passes the gate is unreachable.
    fn wire() -> Wire {
        let endpoints = Endpoints::new(Some("http://127.0.0.1:1"), None).unwrap();
        let source = Arc::new(FixedToken(Token::new("secret").unwrap()));
        Wire::connect(endpoints, source, &Limits::default()).unwrap()
    }

    #[tokio::test]
    async fn a_mutation_is_refused_before_it_leaves() {
        let wire = wire();
        let send = async |document: &str| wire.post_graphql(document, Map::new()).await.unwrap_err();
        assert!(matches!(
            send("query { viewer { login } }").await,
            ReadError::Unreachable { .. }
        ));
        assert_eq!(wire.requests().total, 1);
        for document in [
            "mutation { addComment(input: {}) { clientMutationId } }",
            "query { viewer { login } } mutation { a }",
            "subscription { a }",
        ] {
            assert!(
                matches!(send(document).await, ReadError::NotAllowed { .. }),
                "{document}"
            );
        }
        assert!(matches!(
            wire.get("/user").await,
            Err(ReadError::NotAllowed { .. })
        ));
        assert_eq!(wire.requests().total, 1, "nothing more was sent");
    }

    #[tokio::test]
    async fn an_address_with_tls_needs_certificates_and_one_without_does_not() {
        let source = || Arc::new(FixedToken(Token::new("secret").unwrap()));
        let public = Endpoints::new(None, None).unwrap();
        match Wire::connect(public, source(), &Limits::default()) {
            Ok(wire) => assert_eq!(wire.requests().total, 0),
            // A machine without certificates is told so, and can still run the demo.
            Err(error) => assert!(error.to_string().contains("no certificates"), "{error}"),
        }
        wire();
    }

    #[tokio::test]
    async fn octocrabs_own_methods_cannot_write_either() {
        let wire = wire();
        let octocrab = &wire.octocrab;
        let body = json!({"body": "hello"});
        let results = [
            octocrab
                ._post("http://127.0.0.1:1/repos/o/r/issues/1/comments", Some(&body))
                .await
                .map(drop),
            octocrab
                ._post("/repos/o/r/issues/1/comments", Some(&body))
                .await
                .map(drop),
            octocrab
                ._put("http://127.0.0.1:1/repos/o/r/pulls/1/merge", Some(&body))
                .await
                .map(drop),
            octocrab
                ._patch("http://127.0.0.1:1/repos/o/r/pulls/1", Some(&body))
                .await
                .map(drop),
            octocrab
                ._delete("http://127.0.0.1:1/rate_limit", None::<&()>)
                .await
                .map(drop),
            octocrab._get("http://127.0.0.1:1/repos/o/r").await.map(drop),
        ];
        for result in results {
            let error = ours(result.unwrap_err());
            assert!(matches!(error, ReadError::NotAllowed { .. }), "{error}");
        }
        assert_eq!(wire.requests().total, 0);
    }
}
