//! What an answer of GitHub means, before anybody looks at what was asked.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, DATE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use pulls::facts::Time;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::ReadError;

/// A response, whole.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// When its last byte arrived.
    pub(crate) at: Time,
}

/// The fields of `data`, each still as text: one that is out of shape spoils itself alone.
pub(crate) type Data = BTreeMap<String, Box<RawValue>>;

/// A GraphQL answer. `data` and `errors` stand side by side (field case B099).
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) data: Data,
    pub(crate) errors: Vec<GraphqlError>,
    pub(crate) headers: HeaderMap,
    pub(crate) at: Time,
}

impl Answer {
    /// A field of `data` in its own shape; `None` where it is null or absent.
    pub(crate) fn field<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Result<Option<T>, ReadError> {
        let Some(raw) = self.data.get(name) else {
            return Ok(None);
        };
        serde_json::from_str(raw.get()).map_err(|error| ReadError::Malformed {
            what: format!("{name}: {error}"),
        })
    }
}

impl Answer {
    /// The first error that takes away anything of what was asked: in a document about one thing, any.
    pub(crate) fn spoiling(&self) -> Option<ReadError> {
        self.errors
            .iter()
            .find(|error| error.fields().first() != Some(&"rateLimit"))
            .map(GraphqlError::meaning)
    }
}

/// One entry of `errors`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct GraphqlError {
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    path: Option<Vec<PathStep>>,
    #[serde(default)]
    extensions: Option<Extensions>,
}

/// One step of an error's path: a field's alias or the place in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum PathStep {
    Field(String),
    At(u64),
}

#[derive(Debug, Clone, Deserialize)]
struct Extensions {
    #[serde(default)]
    saml_failure: Option<bool>,
    #[serde(default)]
    code: Option<String>,
}

impl GraphqlError {
    /// The fields that the path names, list places left out.
    pub(crate) fn fields(&self) -> Vec<&str> {
        let steps = self.path.as_deref().unwrap_or_default();
        steps
            .iter()
            .filter_map(|step| match step {
                PathStep::Field(name) => Some(name.as_str()),
                PathStep::At(_) => None,
            })
            .collect()
    }

    pub(crate) fn path_text(&self) -> String {
        let steps = self.path.as_deref().unwrap_or_default();
        let texts: Vec<String> = steps
            .iter()
            .map(|step| match step {
                PathStep::Field(name) => name.clone(),
                PathStep::At(place) => place.to_string(),
            })
            .collect();
        texts.join(".")
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.kind.as_deref() == Some("NOT_FOUND")
    }

    fn is_rate_limit(&self) -> bool {
        // GitHub writes RATE_LIMIT or RATE_LIMITED, and a secondary limit at times without a type.
        matches!(self.kind.as_deref(), Some("RATE_LIMIT" | "RATE_LIMITED"))
            || self.code.as_deref() == Some("graphql_rate_limit")
            || (self.kind.is_none() && speaks_of_a_limit(&self.message))
    }

    /// What it means for whatever lies at its path.
    pub(crate) fn meaning(&self) -> ReadError {
        let path = self.path_text();
        let message = first_words(&self.message);
        let extensions = self.extensions.as_ref();
        let sso = extensions.is_some_and(|extensions| extensions.saml_failure == Some(true));
        // The token itself lacks what every such question asks for: the credentials, not the thing.
        if self.kind.as_deref() == Some("INSUFFICIENT_SCOPES") {
            return ReadError::Refused { message };
        }
        if sso || self.kind.as_deref() == Some("FORBIDDEN") {
            return ReadError::NoAccess { path, message, sso };
        }
        // What fails validation has a code and no type, and fails again however often it is sent.
        let code = extensions.and_then(|extensions| extensions.code.clone());
        ReadError::Partial {
            path,
            message,
            kind: self.kind.clone().or(code),
        }
    }
}

/// How many characters of a foreign text an error holds: enough to know a sign-in page by.
const FIRST_WORDS: usize = 160;

/// The beginning of a text on one line, without control characters.
pub(crate) fn first_words(text: &str) -> String {
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut start: String = words
        .chars()
        .filter(|c| !c.is_control())
        .take(FIRST_WORDS)
        .collect();
    if start.len() < words.len() {
        start.push('…');
    }
    start
}

fn speaks_of_a_limit(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("rate limit") || message.contains("abuse detection")
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// GitHub's own time, to which `x-ratelimit-reset` belongs.
pub(crate) fn server_time(headers: &HeaderMap) -> Option<Time> {
    let text = headers.get(DATE)?.to_str().ok()?;
    chrono::DateTime::parse_from_rfc2822(text)
        .ok()
        .map(|at| at.to_utc())
}

/// When a limit ends, by this machine's clock, as far as the headers say.
fn limit_ends(headers: &HeaderMap, now: Time) -> Option<Time> {
    if let Some(wait) = header(headers, RETRY_AFTER.as_str()).and_then(|text| text.parse::<u32>().ok()) {
        return Some(now + Duration::from_secs(u64::from(wait)));
    }
    if header(headers, "x-ratelimit-remaining") != Some("0") {
        return None;
    }
    let reset = header(headers, "x-ratelimit-reset")?.parse::<i64>().ok()?;
    let reset = Time::from_timestamp(reset, 0)?;
    // The reset is told by GitHub's clock; what this machine's clock is off by cancels out.
    let left = reset - server_time(headers).unwrap_or(now);
    Some(now + left.max(chrono::TimeDelta::zero()))
}

/// GitHub's `message` in an error body, or its first words.
fn message_of(reply: &Reply) -> String {
    #[derive(Deserialize)]
    struct Body {
        message: String,
    }
    match serde_json::from_slice::<Body>(&reply.body) {
        Ok(body) => first_words(&body.message),
        Err(_) => first_words(&String::from_utf8_lossy(&reply.body)),
    }
}

fn not_json(reply: &Reply) -> ReadError {
    ReadError::NotJson {
        status: reply.status.as_u16(),
        content_type: header(&reply.headers, CONTENT_TYPE.as_str())
            .filter(|text| !text.is_empty())
            .map_or_else(|| "of no content type".to_owned(), first_words),
        start: first_words(&String::from_utf8_lossy(&reply.body)),
    }
}

/// Whether the status lets the body be read at all.
pub(crate) fn judge_status(reply: &Reply) -> Result<(), ReadError> {
    let status = reply.status;
    if status.is_success() {
        return Ok(());
    }
    if status == StatusCode::UNAUTHORIZED {
        return Err(ReadError::Refused {
            message: message_of(reply),
        });
    }
    // 403 and 429 alike (field case B103).
    if matches!(status, StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS) {
        let until = limit_ends(&reply.headers, reply.at);
        let message = message_of(reply);
        if until.is_some() || status == StatusCode::TOO_MANY_REQUESTS || speaks_of_a_limit(&message) {
            return Err(ReadError::RateLimited { until });
        }
        return Err(ReadError::Refused { message });
    }
    if status.is_server_error() {
        return Err(ReadError::Server {
            status: status.as_u16(),
        });
    }
    if status.is_redirection() {
        let to = header(&reply.headers, LOCATION.as_str()).unwrap_or("nowhere");
        return Err(ReadError::Redirect { to: first_words(to) });
    }
    let is_json = header(&reply.headers, CONTENT_TYPE.as_str()).is_some_and(|kind| kind.contains("json"));
    if is_json {
        Err(ReadError::Status {
            status: status.as_u16(),
            message: message_of(reply),
        })
    } else {
        Err(not_json(reply))
    }
}

/// Reads a body as JSON, telling a cut one from one that is something else.
pub(crate) fn json<'a, T: Deserialize<'a>>(reply: &'a Reply) -> Result<T, ReadError> {
    serde_json::from_slice(&reply.body).map_err(|error| {
        let first = reply.body.iter().find(|byte| !byte.is_ascii_whitespace());
        let begins_as_json = matches!(first, Some(b'{' | b'['));
        if error.is_data() {
            ReadError::Malformed {
                what: first_words(&error.to_string()),
            }
        } else if begins_as_json && error.is_eof() {
            ReadError::CutShort {
                why: format!("after {} bytes", reply.body.len()),
            }
        } else {
            not_json(reply)
        }
    })
}

/// Reads a reply as a GraphQL answer, whatever its errors; a rate limit is the one that is an error.
pub(crate) fn graphql(reply: Reply) -> Result<Answer, ReadError> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        data: Option<Data>,
        #[serde(default)]
        errors: Option<Vec<GraphqlError>>,
    }
    judge_status(&reply)?;
    let body: Body = json(&reply)?;
    let errors = body.errors.unwrap_or_default();
    if errors.iter().any(GraphqlError::is_rate_limit) {
        return Err(ReadError::RateLimited {
            until: limit_ends(&reply.headers, reply.at),
        });
    }
    if body.data.is_none() && errors.is_empty() {
        return Err(ReadError::Malformed {
            what: "neither data nor errors".to_owned(),
        });
    }
    Ok(Answer {
        data: body.data.unwrap_or_default(),
        errors,
        headers: reply.headers,
        at: reply.at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Time {
        "2026-11-01T12:00:00Z".parse().unwrap()
    }

    fn reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> Reply {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: map,
            body: Bytes::copy_from_slice(body.as_bytes()),
            at: now(),
        }
    }

    #[test]
    fn a_rate_limit_is_known_in_every_dress() {
        let check = |name: &str, reply: Reply, until: Option<&str>| {
            let until = until.map(|text| text.parse().unwrap());
            assert_eq!(
                graphql(reply).unwrap_err(),
                ReadError::RateLimited { until },
                "{name}"
            );
        };
        for status in [403, 429] {
            check(
                "secondary",
                reply(
                    status,
                    &[("retry-after", "60")],
                    r#"{"message":"You have exceeded a secondary rate limit"}"#,
                ),
                Some("2026-11-01T12:01:00Z"),
            );
            check(
                "primary",
                reply(
                    status,
                    &[
                        ("x-ratelimit-remaining", "0"),
                        ("x-ratelimit-reset", "1793534700"),
                    ],
                    "{}",
                ),
                Some("2026-11-01T12:05:00Z"),
            );
            check(
                "by its words alone",
                reply(
                    status,
                    &[],
                    r#"{"message":"API rate limit exceeded for user ID 1."}"#,
                ),
                None,
            );
        }
        check("429 without a word", reply(429, &[], ""), None);
        check(
            "by GitHub's clock, which is four minutes behind",
            reply(
                403,
                &[
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1793534700"),
                    ("date", "Sun, 01 Nov 2026 11:56:00 GMT"),
                ],
                "{}",
            ),
            Some("2026-11-01T12:09:00Z"),
        );
        check(
            "reset already past",
            reply(
                403,
                &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1")],
                "{}",
            ),
            Some("2026-11-01T12:00:00Z"),
        );
        for kind in ["RATE_LIMIT", "RATE_LIMITED"] {
            let body = format!(r#"{{"errors":[{{"type":"{kind}","message":"no"}}]}}"#);
            check("in an answer with 200", reply(200, &[], &body), None);
        }
        check(
            "by its code",
            reply(
                200,
                &[],
                r#"{"errors":[{"code":"graphql_rate_limit","message":"no"}]}"#,
            ),
            None,
        );
    }

    #[test]
    fn what_is_no_answer_says_what_it_is() {
        let check = |reply: Reply, want: &str| {
            assert_eq!(graphql(reply).unwrap_err().to_string(), want);
        };
        let html = ("content-type", "text/html; charset=utf-8");
        let json = ("content-type", "application/json");
        check(
            reply(200, &[html], "<html>\n <title>Sign in</title>"),
            "the answer is not JSON but text/html; charset=utf-8 (200), beginning \"<html> <title>Sign in</title>\"",
        );
        check(
            reply(404, &[], "nope"),
            "the answer is not JSON but of no content type (404), beginning \"nope\"",
        );
        check(
            reply(404, &[json], r#"{"message":"Not Found"}"#),
            "unexpected status 404: Not Found",
        );
        check(reply(502, &[html], "<html>unicorn"), "GitHub failed with 502");
        check(
            reply(401, &[json], r#"{"message":"Bad credentials"}"#),
            "GitHub refused the credentials: Bad credentials",
        );
        check(
            reply(
                403,
                &[json],
                r#"{"message":"Resource protected by organization SAML enforcement."}"#,
            ),
            "GitHub refused the credentials: Resource protected by organization SAML enforcement.",
        );
        check(
            reply(308, &[("location", "https://elsewhere.example/graphql")], ""),
            "not following a redirect to https://elsewhere.example/graphql",
        );
        check(
            reply(200, &[json], r#"{"data":{"pr0":{"#),
            "the answer was cut short: after 16 bytes",
        );
        check(
            reply(200, &[json], r#"{"data":null}"#),
            "an answer of another shape than GitHub documents: neither data nor errors",
        );
        let long = "x".repeat(1_000);
        let ReadError::NotJson { start, .. } = graphql(reply(200, &[html], &long)).unwrap_err() else {
            panic!("not a page");
        };
        assert_eq!(start.chars().count(), FIRST_WORDS + 1);
    }

    #[test]
    fn data_and_errors_stand_side_by_side() {
        let body = r#"{"data":{"pr0":null,"pr1":{"a":1}},"errors":[
            {"type":"FORBIDDEN","path":["pr0"],"extensions":{"saml_failure":true},"message":"Resource protected"},
            {"message":"Something went wrong","path":["pr1","pullRequest","comments","nodes",3]},
            {"message":"Field 'x' doesn't exist","path":["query Pulls","pr1","x"],"extensions":{"code":"undefinedField"}}]}"#;
        let answer = graphql(reply(200, &[], body)).unwrap();
        assert_eq!(answer.field::<serde_json::Value>("pr0").unwrap(), None);
        assert_eq!(
            answer.field::<serde_json::Value>("pr1").unwrap(),
            Some(serde_json::json!({"a": 1}))
        );
        let meanings: Vec<ReadError> = answer.errors.iter().map(GraphqlError::meaning).collect();
        assert_eq!(meanings[0].to_string(), "no access: SSO");
        assert_eq!(
            meanings[1].to_string(),
            "pr1.pullRequest.comments.nodes.3: Something went wrong"
        );
        assert!(meanings[1].is_passing());
        assert!(!meanings[2].is_passing());
        assert_eq!(
            answer.errors[1].fields(),
            ["pr1", "pullRequest", "comments", "nodes"]
        );
    }
}
