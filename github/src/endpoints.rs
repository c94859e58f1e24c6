//! Where GitHub is.

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use http::uri::Authority;

/// GitHub's public API.
pub const PUBLIC_API: &str = "https://api.github.com";

/// Why an address was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not `https://host[:port][/path]` or `http://` on this machine.
    #[error("{0:?} is not the address of an API; write it like {PUBLIC_API}")]
    NotAnAddress(String),
    /// The token would cross a network in the clear.
    #[error("{0:?} is not encrypted; plain http is for loopback addresses only")]
    Plain(String),
}

/// Scheme, host and port: the only place a token is sent to.
#[derive(Clone, PartialEq, Eq)]
pub struct Origin {
    pub(crate) is_tls: bool,
    pub(crate) authority: Authority,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}://{}",
            if self.is_tls { "https" } else { "http" },
            self.authority
        )
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({self})")
    }
}

impl Origin {
    pub(crate) fn of(uri: &Uri) -> Option<Self> {
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return None,
        };
        let authority = uri.authority()?.clone();
        // A user name in an address would be a second credential, and one that is logged.
        let has_no_user = !authority.as_str().contains('@');
        // A number that no port has is taken for none by whoever asks for the port.
        let has_a_port = authority.as_str() == authority.host() || authority.port_u16().is_some();
        (has_no_user && has_a_port).then_some(Self { is_tls, authority })
    }

    fn is_loopback(&self) -> bool {
        let host = self.authority.host();
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// One of the two addresses: an origin and the path that ours begin with, without a final slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) origin: Origin,
    pub(crate) path: String,
}

impl Base {
    fn parse(text: &str) -> Result<Self, EndpointError> {
        let refuse = || EndpointError::NotAnAddress(text.to_owned());
        let uri: Uri = text.trim().parse().map_err(|_| refuse())?;
        let origin = Origin::of(&uri).ok_or_else(refuse)?;
        if uri.query().is_some() {
            return Err(refuse());
        }
        if !origin.is_tls && !origin.is_loopback() {
            return Err(EndpointError::Plain(text.to_owned()));
        }
        Ok(Self {
            origin,
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    pub(crate) fn uri(&self, path: &str) -> Option<Uri> {
        format!("{}{}{path}", self.origin, self.path).parse().ok()
    }
}

/// Where the REST API and the GraphQL API are.
///
/// ```
/// use github::Endpoints;
/// let public = Endpoints::new(None, None)?;
/// assert_eq!(public.graphql(), "https://api.github.com/graphql");
/// let server = Endpoints::new(Some("https://github.example.org/api/v3/"), None)?;
/// assert_eq!(server.graphql(), "https://github.example.org/api/graphql");
/// assert!(Endpoints::new(Some("http://github.example.org"), None).is_err());
/// # Ok::<(), github::EndpointError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    pub(crate) rest: Base,
    pub(crate) graphql: Base,
}

impl Endpoints {
    /// From the values of `GITHUB_API_URL` and `GITHUB_GRAPHQL_URL` (contract, section 1). An empty
    /// one counts as not set.
    ///
    /// # Errors
    /// [`EndpointError`] when one is no address, or is plain http and not on this machine.
    pub fn new(api: Option<&str>, graphql: Option<&str>) -> Result<Self, EndpointError> {
        let set = |text: Option<&str>| {
            text.map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let rest = Base::parse(&set(api).unwrap_or_else(|| PUBLIC_API.to_owned()))?;
        let graphql = match set(graphql) {
            Some(text) => Base::parse(&text)?,
            None => {
                // A GitHub Enterprise Server has REST under /api/v3 and GraphQL beside it.
                let parent = rest
                    .path
                    .strip_suffix("/v3")
                    .filter(|parent| parent.ends_with("/api"));
                let path = format!("{}/graphql", parent.unwrap_or(&rest.path));
                Base {
                    origin: rest.origin.clone(),
                    path,
                }
            }
        };
        Ok(Self { rest, graphql })
    }

    /// The address of the REST API.
    pub fn rest(&self) -> String {
        format!("{}{}", self.rest.origin, self.rest.path)
    }

    /// The address of the GraphQL API.
    pub fn graphql(&self) -> String {
        format!("{}{}", self.graphql.origin, self.graphql.path)
    }

    pub(crate) fn needs_tls(&self) -> bool {
        self.rest.origin.is_tls || self.graphql.origin.is_tls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphql_follows_rest_unless_it_is_named() {
        let check = |api, graphql, want: &str| {
            let endpoints = Endpoints::new(api, graphql).unwrap();
            assert_eq!(endpoints.graphql(), want, "{api:?} {graphql:?}");
        };
        check(None, None, "https://api.github.com/graphql");
        check(Some(""), Some(" "), "https://api.github.com/graphql");
        check(
            Some("https://ghe.example.org/api/v3"),
            None,
            "https://ghe.example.org/api/graphql",
        );
        check(
            Some("https://ghe.example.org/api/v3/"),
            None,
            "https://ghe.example.org/api/graphql",
        );
        check(Some("https://x.ghe.com/v3"), None, "https://x.ghe.com/v3/graphql");
        check(
            Some("http://127.0.0.1:8080"),
            None,
            "http://127.0.0.1:8080/graphql",
        );
        check(
            Some("http://[::1]:8080/"),
            Some("http://localhost:81/q"),
            "http://localhost:81/q",
        );
    }

    #[test]
    fn a_token_never_crosses_a_network_in_the_clear() {
        for text in [
            "http://github.example.org",
            "http://10.0.0.1",
            "http://127.0.0.1.example.org",
        ] {
            assert_eq!(
                Endpoints::new(Some(text), None),
                Err(EndpointError::Plain(text.to_owned()))
            );
            assert!(Endpoints::new(None, Some(text)).is_err(), "{text}");
        }
        for text in [
            "api.github.com",
            "ftp://x",
            "https://",
            "https://me:pw@x",
            "http://127.0.0.1:99999",
            "https://x:",
            "https://x/?q=1",
            "%",
        ] {
            assert_eq!(
                Endpoints::new(Some(text), None),
                Err(EndpointError::NotAnAddress(text.to_owned()))
            );
        }
    }
}
