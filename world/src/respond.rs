//! From a request to its answer: understood, logged, asked what goes wrong with it, carried out.

use std::sync::{Arc, PoisonError};

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use chrono::Utc;
use serde_json::{Value, json};

use crate::faults::{Canned, Effect, Met, bad_credentials};
use crate::graphql::{self, Asked, Departures, Prepared};
use crate::hub::{Hub, Logged};
use crate::rest;
use crate::serve::{TOKEN, Wire};

/// The largest body that is read: GitHub's own limit lies in this region.
const LARGEST_BODY: usize = 2 * 1024 * 1024;

/// Answers every request there is.
pub(crate) async fn respond(
    State(hub): State<Arc<Hub>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: Request,
) -> Response {
    let _in_flight = hub.enter();
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LARGEST_BODY).await else {
        let too_large = Canned::json(413, &json!({ "message": "Request Entity Too Large" }));
        return to_response(too_large, Body::from);
    };
    let path = parts.uri.path();
    let path = path.strip_prefix("/api/v3").unwrap_or(path).to_owned();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let mut asking = Asking::understand(&hub, parts.method, path, parts.headers, &body);
    asking.query = query;
    let number = hub.arrive(asking.logged());
    let fate = Fate::of(&hub, &asking).await;
    let answer = match fate.instead {
        Some(canned) => canned,
        None => {
            // The answer is reckoned off the connection's thread, so that others are let in meanwhile.
            let hub = Arc::clone(&hub);
            let done = tokio::task::spawn_blocking(move || asking.carry_out(&hub, &fate.departures)).await;
            done.unwrap_or_else(|_| Canned::json(500, &json!({ "message": "the world panicked" })))
        }
    };
    match fate.ending {
        Ending::Whole => {
            hub.leave(number, &answer);
            to_response(answer, Body::from)
        }
        Ending::Half => {
            hub.leave(number, &answer);
            to_response(answer, half)
        }
        Ending::Nothing => {
            wire.cut();
            to_response(answer, Body::from)
        }
    }
}

/// One request, read and understood.
struct Asking {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    request: Option<graphql::Request>,
    kind: Kind,
    asked: Asked,
    is_write: bool,
}

enum Kind {
    Rest,
    /// A document that may run.
    Document(Box<Prepared>),
    /// One that may not, with the answer that says so.
    Unfit(Canned),
}

impl Asking {
    fn understand(hub: &Hub, method: Method, path: String, headers: HeaderMap, body: &[u8]) -> Self {
        let mut asking = Self {
            is_write: method != Method::GET && method != Method::HEAD,
            method,
            path,
            query: String::new(),
            headers,
            request: None,
            kind: Kind::Rest,
            asked: Asked::default(),
        };
        if asking.method != Method::POST || !matches!(asking.path.as_str(), "/graphql" | "/api/graphql") {
            return asking;
        }
        asking.is_write = false;
        let Ok(request) = serde_json::from_slice::<graphql::Request>(body) else {
            asking.kind = Kind::Unfit(Canned::json(400, &json!({ "message": "Problems parsing JSON" })));
            return asking;
        };
        match hub.speaker.prepare(&request) {
            Ok(prepared) => {
                asking.asked = prepared.asked().clone();
                asking.kind = Kind::Document(Box::new(prepared));
            }
            Err(unfit) => {
                asking.is_write = unfit.is_mutation;
                asking.kind = Kind::Unfit(Canned::json_bytes(200, unfit.answer.body));
            }
        }
        asking.request = Some(request);
        asking
    }

    fn logged(&self) -> Logged {
        Logged {
            at: Utc::now(),
            method: self.method.to_string(),
            path: self.path.clone(),
            operation: self.asked.operation.clone(),
            document: self.request.as_ref().map(|request| request.query.clone()),
            variables: self
                .request
                .as_ref()
                .and_then(|request| request.variables.clone())
                .unwrap_or_default(),
            pulls: self.asked.pulls.clone(),
            is_write: self.is_write,
            status: None,
            answered_bytes: 0,
        }
    }

    fn carry_out(self, hub: &Hub, departures: &Departures) -> Canned {
        if let Err(refused) = admitted(&self.headers) {
            return refused;
        }
        let world = hub.world.read().unwrap_or_else(PoisonError::into_inner);
        let (answer, resource) = match (self.kind, self.request) {
            (Kind::Document(prepared), Some(request)) => {
                hub.spend(prepared.cost());
                let answered = hub
                    .speaker
                    .answer(&world, &request, *prepared, hub.budget(), departures);
                (Canned::json_bytes(200, answered.body), "graphql")
            }
            (Kind::Unfit(unfit), _) => (unfit, "graphql"),
            _ => {
                hub.spend(1);
                let admitted = rest::Admitted {
                    method: &self.method,
                    path: &self.path,
                    query: &self.query,
                };
                (rest::answer(&world, &hub.base, &admitted, hub.budget()), "core")
            }
        };
        let budget = hub.budget();
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
        let text = "Request forbidden by administrative rules. Please make sure your request has a \
                    User-Agent header.";
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

/// What goes wrong with one request.
struct Fate {
    /// What goes back without the request being carried out.
    instead: Option<Canned>,
    departures: Departures,
    ending: Ending,
}

enum Ending {
    Whole,
    Half,
    Nothing,
}

impl Fate {
    /// Gathers the effects of the faults that the request meets. Those that take time have passed, and
    /// those that change the world have, when this is done.
    async fn of(hub: &Hub, asking: &Asking) -> Self {
        let effects = {
            let world = hub.world.read().unwrap_or_else(PoisonError::into_inner);
            let is_graphql = !matches!(asking.kind, Kind::Rest);
            hub.faults.met(&Met {
                path: &asking.path,
                is_graphql,
                asked: &asking.asked,
                world: &world,
            })
        };
        let mut fate = Self {
            instead: None,
            departures: Departures::default(),
            ending: Ending::Whole,
        };
        let nothing = || Canned::json(500, &Value::Null);
        for effect in effects {
            match effect {
                Effect::Answer(answer) => drop(fate.instead.get_or_insert(answer)),
                Effect::Truncate => fate.ending = Ending::Half,
                Effect::Refuse(refusal) => fate.departures.refusals.push(refusal),
                Effect::ShortPages(most) => fate.departures.page_cap = Some(most),
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
                    // Only the world's end ends this; that its sender is gone is the end as well.
                    let _ = hub.closing().wait_for(|closing| *closing).await;
                    fate.instead.get_or_insert_with(nothing);
                    fate.ending = Ending::Nothing;
                }
                Effect::Reset => {
                    fate.instead.get_or_insert_with(nothing);
                    fate.ending = Ending::Nothing;
                }
                Effect::Lose => fate.ending = Ending::Nothing,
            }
        }
        fate
    }
}

/// The first half of a body, then the connection's end.
fn half(body: Vec<u8>) -> Body {
    let half = body.len() / 2;
    let sent = bytes::Bytes::from(body).slice(..half);
    let cut = Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
    Body::from_stream(futures_util::stream::iter([Ok(sent), cut]))
}

fn to_response(canned: Canned, body: impl FnOnce(Vec<u8>) -> Body) -> Response {
    let length = canned.body.len();
    let mut response = Response::new(body(canned.body));
    *response.status_mut() = StatusCode::from_u16(canned.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert("content-length", HeaderValue::from(length));
    for (name, value) in &canned.headers {
        if let (Ok(name), Ok(value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(value),
        ) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
