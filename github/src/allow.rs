//! What may leave: a list of (API, path, operation), and the question whether a request is on it.

use std::borrow::Cow;

use http::{Method, Uri};
use serde::{Deserialize, Serialize};

use crate::document;
use crate::endpoints::{Endpoints, Origin};
use crate::error::ReadError;

/// Which of the two addresses a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Rest,
    Graphql,
}

/// What a request may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A GET, without a body.
    Get,
    /// A POST of a GraphQL document whose every operation is a query.
    Query,
}

/// One kind of request that may leave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    pub(crate) api: Api,
    /// The path after the base; `{}` stands for one segment, and `{branch}` for one that is the name of a branch.
    pub(crate) path: &'static str,
    pub(crate) operation: Operation,
}

/// Everything that can leave this program for GitHub. Nothing in it writes (contract, section 6).
pub(crate) const ALLOWED: &[Allowed] = &[
    Allowed {
        api: Api::Graphql,
        path: "",
        operation: Operation::Query,
    },
    Allowed {
        api: Api::Rest,
        path: "/rate_limit",
        operation: Operation::Get,
    },
    get("/repos/{}/{}/branches/{branch}"),
    get("/repos/{}/{}/branches/{branch}/protection/required_status_checks"),
    get("/repos/{}/{}/rules/branches/{branch}"),
    // Where a repository that was renamed answers.
    get("/repositories/{}/branches/{branch}"),
    get("/repositories/{}/branches/{branch}/protection/required_status_checks"),
    get("/repositories/{}/rules/branches/{branch}"),
];

const fn get(path: &'static str) -> Allowed {
    Allowed {
        api: Api::Rest,
        path,
        operation: Operation::Get,
    }
}

/// A text as one segment of a path: everything but plain letters, digits and a few marks is escaped, once.
pub(crate) fn escaped(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                segment.push(char::from(byte))
            }
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}

/// What a segment stands for, where it is escaped as [`escaped`] does it.
fn unescaped(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(bytes)
        .ok()
        .filter(|text| escaped(text) == segment)
}

/// Whether a segment is the name of a branch, which a server that takes an escape for what it stands for
/// still takes for no other path: no part of a name is empty or begins with a dot.
fn is_branch(segment: &str) -> bool {
    unescaped(segment).is_some_and(|name| {
        name.split('/')
            .all(|part| !part.is_empty() && !part.starts_with('.'))
    })
}

/// Whether a request may leave: its origin, method, path and, for GraphQL, its operation.
pub(crate) fn permit(
    endpoints: &Endpoints,
    allowed: &[Allowed],
    method: &Method,
    uri: &Uri,
    body: &[u8],
) -> Result<(), ReadError> {
    let refuse = || ReadError::NotAllowed {
        what: format!("{method} {}", uri.path()),
    };
    let origin = Origin::of(uri).ok_or_else(refuse)?;
    let rule = allowed.iter().find(|rule| {
        let base = match rule.api {
            Api::Rest => &endpoints.rest,
            Api::Graphql => &endpoints.graphql,
        };
        let wanted = match rule.operation {
            Operation::Get => Method::GET,
            Operation::Query => Method::POST,
        };
        base.origin == origin
            && *method == wanted
            && uri
                .path()
                .strip_prefix(&base.path)
                .is_some_and(|path| is_of(path, rule.path))
    });
    match rule.ok_or_else(refuse)?.operation {
        Operation::Get if body.is_empty() => Ok(()),
        Operation::Get => Err(refuse()),
        Operation::Query if uri.query().is_some() => Err(refuse()),
        Operation::Query => permit_document(body),
    }
}

fn is_of(path: &str, pattern: &str) -> bool {
    let mut segments = path.split('/');
    let mut wanted = pattern.split('/');
    loop {
        match (segments.next(), wanted.next()) {
            (None, None) => return true,
            (Some(segment), Some("{branch}")) => {
                if !is_branch(segment) {
                    return false;
                }
            }
            (Some(segment), Some("{}")) => {
                // A segment that a server could take for another path is none.
                let is_plain = !segment.contains('%') && !matches!(segment, "" | "." | "..");
                if !is_plain {
                    return false;
                }
            }
            (Some(segment), Some(word)) if segment == word => {}
            _ => return false,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphqlBody<'a> {
    #[serde(borrow)]
    pub(crate) query: Cow<'a, str>,
    pub(crate) variables: serde_json::Map<String, serde_json::Value>,
}

fn permit_document(body: &[u8]) -> Result<(), ReadError> {
    // A field named twice is an error to serde's derive, so there is one document to look at.
    let body: GraphqlBody<'_> = serde_json::from_slice(body).map_err(|_| ReadError::NotAllowed {
        what: "a body that is no GraphQL request".to_owned(),
    })?;
    document::only_queries(&body.query).map_err(|document::NotAQuery(what)| ReadError::NotAllowed { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole surface: whoever adds to it meets this test.
    #[test]
    fn nothing_that_writes_is_on_the_list() {
        let listed: Vec<String> = ALLOWED
            .iter()
            .map(|rule| format!("{:?} {:?} {:?}", rule.operation, rule.api, rule.path))
            .collect();
        assert_eq!(
            listed,
            [
                "Query Graphql \"\"",
                "Get Rest \"/rate_limit\"",
                "Get Rest \"/repos/{}/{}/branches/{branch}\"",
                "Get Rest \"/repos/{}/{}/branches/{branch}/protection/required_status_checks\"",
                "Get Rest \"/repos/{}/{}/rules/branches/{branch}\"",
                "Get Rest \"/repositories/{}/branches/{branch}\"",
                "Get Rest \"/repositories/{}/branches/{branch}/protection/required_status_checks\"",
                "Get Rest \"/repositories/{}/rules/branches/{branch}\"",
            ]
        );
    }

    #[test]
    fn a_branch_is_one_segment_and_leads_nowhere_else() {
        for name in ["main", "release/1.x", "feature/50%", "größe", "a#b?c", "x..y"] {
            assert!(is_branch(&escaped(name)), "{name}");
        }
        assert_eq!(escaped("feature/50%"), "feature%2F50%25");
        for name in ["", ".", "..", "../x", "a/../b", "a//b", "/a", "a/", ".git"] {
            assert!(!is_branch(&escaped(name)), "{name}");
        }
        for segment in ["a%2fb", "%61", "a%", "a%2", "%FF", "a b", "a%252F"] {
            let is_canonical = unescaped(segment).is_some_and(|name| escaped(&name) == segment);
            assert_eq!(is_branch(segment), is_canonical, "{segment}");
        }
        assert!(!is_branch("%2e%2e") && !is_branch("a%2fb"));
    }

    #[test]
    fn only_what_is_listed_leaves() {
        let endpoints = Endpoints::new(Some("https://ghe.example.org/api/v3"), None).unwrap();
        let allowed = [
            ALLOWED[0],
            ALLOWED[1],
            Allowed {
                api: Api::Rest,
                path: "/repos/{}/{}",
                operation: Operation::Get,
            },
        ];
        let check = |method: &str, uri: &str, body: &str| {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            permit(
                &endpoints,
                &allowed,
                &method,
                &uri.parse().unwrap(),
                body.as_bytes(),
            )
        };
        let graphql = "https://ghe.example.org/api/graphql";
        let api = "https://ghe.example.org/api/v3";
        let query = r#"{"query":"query { viewer { login } }","variables":{}}"#;
        assert_eq!(check("POST", graphql, query), Ok(()));
        assert_eq!(check("GET", &format!("{api}/rate_limit"), ""), Ok(()));
        assert_eq!(check("GET", &format!("{api}/repos/o/r?per_page=1"), ""), Ok(()));

        let refused = |method: &str, uri: &str, body: &str| {
            let error = check(method, uri, body).unwrap_err();
            assert!(
                matches!(error, ReadError::NotAllowed { .. }),
                "{method} {uri} {body}"
            );
        };
        for method in ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "X"] {
            refused(method, &format!("{api}/rate_limit"), "");
            refused(method, &format!("{api}/repos/o/r"), "");
        }
        refused("GET", &format!("{api}/rate_limit"), "x");
        refused("GET", &format!("{api}/rate_limit/"), "");
        refused("GET", &format!("{api}/repos/o/r/issues"), "");
        for path in [
            "/repos/o",
            "/repos//r",
            "/repos/../x",
            "/repos/o/%2e%2e",
            "/repos/o/r%2fx",
        ] {
            refused("GET", &format!("{api}{path}"), "");
        }
        refused("GET", "https://ghe.example.org/rate_limit", "");
        refused("GET", "https://other.example.org/api/v3/rate_limit", "");
        refused("GET", "http://ghe.example.org/api/v3/rate_limit", "");
        refused("GET", "https://ghe.example.org:444/api/v3/rate_limit", "");
        refused("GET", "/rate_limit", "");
        refused("GET", graphql, "");
        refused("POST", &format!("{graphql}?query=mutation"), query);
        refused("POST", graphql, "");
        refused("POST", graphql, r#"{"query":"mutation { a }","variables":{}}"#);
        refused(
            "POST",
            graphql,
            r#"{"query":"query { a }","query":"mutation { a }","variables":{}}"#,
        );
        refused(
            "POST",
            graphql,
            r#"{"query":"query A { a } mutation B { b }","variables":{},"operationName":"B"}"#,
        );
        refused("POST", graphql, r#"[{"query":"mutation { a }","variables":{}}]"#);
    }
}
