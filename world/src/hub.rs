//! What stands behind the port: it logs a request, asks what goes wrong with it, and answers.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::faults::{Canned, Effect, Faults, Met, bad_credentials};
use crate::graph::{At, World};
use crate::graphql::{self, Asked, Budget, Departures, Speaker};
use crate::rest;
use crate::serve::{Closing, TOKEN, Wire};

/// The largest body that is read: GitHub's own limit lies in this region.
const LARGEST_BODY: usize = 2 * 1024 * 1024;
/// GitHub's points or requests an hour for a person's token.
const HOURLY_LIMIT: u64 = 5_000;

/// One request as it arrived, and how it was answered.
#[derive(Debug, Clone)]
pub struct Logged {
    /// When it arrived, by the machine's clock.
    pub at: DateTime<Utc>,
    /// Its method.
    pub method: String,
    /// Its path, without the query.
    pub path: String,
    /// The GraphQL operation's name.
    pub operation: Option<String>,
    /// The GraphQL document.
    pub document: Option<String>,
    /// The GraphQL variables.
    pub variables: Map<String, Value>,
    /// The pull requests that the document asks for.
    pub pulls: Vec<At>,
    /// Whether it asks to change something: a mutation, or a method other than GET and HEAD.
    pub is_write: bool,
    /// The status that went back; `None` until then, and for ever where nothing did.
    pub status: Option<u16>,
    /// The bytes of the body that went back.
    pub answered_bytes: usize,
}

/// Everything that handlers share.
pub(crate) struct Hub {
    pub world: RwLock<World>,
    pub faults: Faults,
    pub base: String,
    speaker: Speaker,
    log: Mutex<Vec<Logged>>,
    used: Mutex<u64>,
    reset_at: DateTime<Utc>,
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
    changes: watch::Sender<()>,
    closing: watch::Sender<bool>,
}

impl Hub {
    pub fn new(world: World, address: SocketAddr) -> Self {
        Self {
            world: RwLock::new(world),
            faults: Faults::default(),
            base: format!("http://{address}"),
            speaker: Speaker::new(),
            log: Mutex::default(),
            used: Mutex::new(0),
            reset_at: Utc::now() + TimeDelta::hours(1),
            in_flight: AtomicUsize::new(0),
            max_in_flight: AtomicUsize::new(0),
            changes: watch::Sender::new(()),
            closing: watch::Sender::new(false),
        }
    }

    pub fn log(&self) -> MutexGuard<'_, Vec<Logged>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub fn closing(&self) -> Closing {
        self.closing.subscribe()
    }

    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    pub fn max_in_flight(&self) -> usize {
        self.max_in_flight.load(Ordering::Acquire)
    }

    pub fn budget(&self) -> Budget {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        Budget {
            limit: HOURLY_LIMIT,
            used,
            reset_at: self.reset_at,
        }
    }

    fn spend(&self, cost: u64) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) += cost;
    }

    fn enter(self: &Arc<Self>) -> InFlight {
        let now = self.in_flight.fetch_add(1, Ordering::AcqRel) + 1;
        self.max_in_flight.fetch_max(now, Ordering::AcqRel);
        InFlight {
            hub: Arc::clone(self),
        }
    }

    fn arrive(&self, logged: Logged) -> usize {
        let mut log = self.log();
        log.push(logged);
        let number = log.len() - 1;
        drop(log);
        self.changes.send_replace(());
        number
    }

    fn leave(&self, number: usize, canned: &Canned) {
        if let Some(logged) = self.log().get_mut(number) {
            logged.status = Some(canned.status);
            logged.answered_bytes = canned.body.len();
        }
        self.changes.send_replace(());
    }
}

/// Counts a request for as long as it is being answered.
struct InFlight {
    hub: Arc<Hub>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.hub.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One request, read and understood.
struct Asking {
    method: Method,
    path: String,
    headers: HeaderMap,
    graphql: Option<Result<(graphql::Request, graphql::Prepared), Canned>>,
    asked: Asked,
    is_write: bool,
}

/// Answers every request there is.
pub(crate) async fn respond(
    State(hub): State<Arc<Hub>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: Request,
) -> Response {
    let in_flight = hub.enter();
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LARGEST_BODY).await else {
        return to_response(
            Canned::json(413, &json!({ "message": "Request Entity Too Large" })),
            Whole::Yes,
        );
    };
    let path = parts
        .uri
        .path()
        .strip_prefix("/api/v3")
        .unwrap_or(parts.uri.path())
        .to_owned();
    let asking = hub.understand(parts.method, path, parts.headers, &body);
    let number = hub.arrive(asking.logged());
    let effects = {
        let world = hub.world.read().unwrap_or_else(PoisonError::into_inner);
        let is_graphql = asking.graphql.is_some();
        hub.faults.met(&Met {
            path: &asking.path,
            is_graphql,
            asked: &asking.asked,
            world: &world,
        })
    };

    let mut departures = Departures::default();
    let mut canned = None;
    let (mut whole, mut lost) = (Whole::Yes, false);
    for effect in effects {
        match effect {
            Effect::Answer(answer) => drop(canned.get_or_insert(answer)),
            Effect::Truncate => whole = Whole::No,
            Effect::Refuse(refusal) => departures.refusals.push(refusal),
            Effect::ShortPages(most) => departures.page_cap = Some(most),
            Effect::Edit(edit) => {
                let mut world = hub.world.write().unwrap_or_else(PoisonError::into_inner);
                (edit.lock().unwrap_or_else(PoisonError::into_inner))(&mut world);
            }
            Effect::Slow(by) => {
                let mut closing = hub.closing();
                tokio::select! {
                    () = tokio::time::sleep(by) => {}
                    _ = closing.wait_for(|closing| *closing) => {}
                }
            }
            Effect::Silence => {
                // Only the world's end ends this.
                let _ = hub.closing().wait_for(|closing| *closing).await;
                wire.cut();
            }
            Effect::Reset => {
                wire.cut();
                canned.get_or_insert(Canned::json(500, &Value::Null));
            }
            Effect::Lose => lost = true,
        }
    }
    let answer = match canned {
        Some(canned) => canned,
        None => {
            // The answer is reckoned off the connection's thread, so that others are let in meanwhile.
            let hub = Arc::clone(&hub);
            let done = tokio::task::spawn_blocking(move || hub.carry_out(asking, &departures)).await;
            done.unwrap_or_else(|_| Canned::json(500, &json!({ "message": "the world panicked" })))
        }
    };
    if lost {
        wire.cut();
    } else {
        hub.leave(number, &answer);
    }
    drop(in_flight);
    to_response(answer, whole)
}

impl Asking {
    fn logged(&self) -> Logged {
        let request = match &self.graphql {
            Some(Ok((request, _))) => Some(request),
            _ => None,
        };
        Logged {
            at: Utc::now(),
            method: self.method.to_string(),
            path: self.path.clone(),
            operation: self.asked.operation.clone(),
            document: request.map(|request| request.query.clone()),
            variables: request
                .and_then(|request| request.variables.clone())
                .unwrap_or_default(),
            pulls: self.asked.pulls.clone(),
            is_write: self.is_write,
            status: None,
            answered_bytes: 0,
        }
    }
}

impl Hub {
    fn understand(&self, method: Method, path: String, headers: HeaderMap, body: &[u8]) -> Asking {
        let is_graphql = method == Method::POST && (path == "/graphql" || path == "/api/graphql");
        let mut asked = Asked::default();
        let mut is_write = !is_graphql && method != Method::GET && method != Method::HEAD;
        let graphql = is_graphql.then(|| {
            let request: graphql::Request = serde_json::from_slice(body)
                .map_err(|_| Canned::json(400, &json!({ "message": "Problems parsing JSON" })))?;
            match self.speaker.prepare(&request) {
                Ok(prepared) => {
                    asked = prepared.asked().clone();
                    Ok((request, prepared))
                }
                Err(unfit) => {
                    is_write = unfit.is_mutation;
                    Err(json_answer(200, unfit.answer.body))
                }
            }
        });
        Asking {
            method,
            path,
            headers,
            graphql,
            asked,
            is_write,
        }
    }

    fn carry_out(&self, asking: Asking, departures: &Departures) -> Canned {
        if let Err(refused) = admitted(&asking.headers) {
            return refused;
        }
        let world = self.world.read().unwrap_or_else(PoisonError::into_inner);
        let (answer, resource) = match asking.graphql {
            Some(Ok((request, prepared))) => {
                self.spend(prepared.cost());
                let answered = self
                    .speaker
                    .answer(&world, &request, prepared, self.budget(), departures);
                (json_answer(200, answered.body), "graphql")
            }
            Some(Err(unfit)) => (unfit, "graphql"),
            None => {
                self.spend(1);
                (
                    rest::answer(&world, &self.base, &asking.method, &asking.path, self.budget()),
                    "core",
                )
            }
        };
        let budget = self.budget();
        answer
            .header("x-ratelimit-limit", budget.limit)
            .header("x-ratelimit-remaining", budget.limit.saturating_sub(budget.used))
            .header("x-ratelimit-used", budget.used)
            .header("x-ratelimit-reset", budget.reset_at.timestamp())
            .header("x-ratelimit-resource", resource)
            .header("x-oauth-scopes", "read:org, repo")
            .header("x-github-request-id", format!("0:0:{:x}", budget.used))
    }
}

/// GitHub wants a `User-Agent` and a token of its own.
fn admitted(headers: &HeaderMap) -> Result<(), Canned> {
    if !headers.contains_key("user-agent") {
        let text = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.";
        return Err(Canned::text(403, "text/html", text));
    }
    let header = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let (scheme, token) = header.split_once(' ').unwrap_or_default();
    let known = scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("token");
    if known && token.trim() == TOKEN {
        Ok(())
    } else {
        Err(bad_credentials())
    }
}

fn json_answer(status: u16, body: Vec<u8>) -> Canned {
    let mut canned = Canned::json(status, &Value::Null);
    canned.body = body;
    canned
}

/// Whether the body goes out to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

fn to_response(canned: Canned, whole: Whole) -> Response {
    let length = canned.body.len();
    let body = match whole {
        Whole::Yes => Body::from(canned.body),
        Whole::No => {
            let half = bytes::Bytes::from(canned.body).slice(..length / 2);
            let cut = Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
            Body::from_stream(futures_util::stream::iter([Ok(half), cut]))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(canned.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &canned.headers {
        let name = axum::http::HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    if whole == Whole::No {
        response
            .headers_mut()
            .insert("content-length", HeaderValue::from(length));
    }
    response
}
