//! What can go wrong between a client and GitHub.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::graph::{At, World};
use crate::graphql::{Asked, Failure, Refusal};

/// One thing that goes wrong, for every request that it matches, or for the n-th ones only.
///
/// ```
/// use std::time::Duration;
/// use world::Fault;
///
/// let second_search_fails = Fault::status(502).on_operation("OpenPulls").nth(2);
/// let no_access = Fault::saml("Repository.pullRequest").on_pull(("o/r", 7));
/// let slow = Fault::slow(Duration::from_millis(300)).on_graphql();
/// # let _ = (second_search_fails, no_access, slow);
/// ```
pub struct Fault {
    effect: Effect,
    matching: Matching,
    times: RangeInclusive<u64>,
}

type Edit = Arc<Mutex<dyn FnMut(&mut World) + Send>>;

#[derive(Clone)]
pub(crate) enum Effect {
    /// The request is not carried out; this goes back instead.
    Answer(Canned),
    /// The answer is made and cut off in the middle.
    Truncate,
    /// The answer comes later.
    Slow(Duration),
    /// Nothing ever comes.
    Silence,
    /// The connection ends at once; the request is not carried out.
    Reset,
    /// The request is carried out, then the connection ends.
    Lose,
    /// No page holds more items than this.
    ShortPages(usize),
    /// A field answers with an error.
    Refuse(Refusal),
    /// The world changes before the request is carried out.
    Edit(Edit),
}

/// A whole answer, as it is.
#[derive(Debug, Clone)]
pub struct Canned {
    /// The status.
    pub status: u16,
    /// The headers, besides what HTTP itself asks for.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Canned {
    /// A JSON answer.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::json_bytes(status, body.to_string().into_bytes())
    }

    pub(crate) fn json_bytes(status: u16, body: Vec<u8>) -> Self {
        let content = (
            "content-type".to_owned(),
            "application/json; charset=utf-8".to_owned(),
        );
        Self {
            status,
            headers: vec![content],
            body,
        }
    }

    /// An answer of another type.
    pub fn text(status: u16, content_type: &str, body: &str) -> Self {
        let content = ("content-type".to_owned(), content_type.to_owned());
        Self {
            status,
            headers: vec![content],
            body: body.as_bytes().to_vec(),
        }
    }

    /// One header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }
}

#[derive(Debug, Default)]
struct Matching {
    graphql: Option<bool>,
    path: Option<String>,
    operation: Option<String>,
    pull: Option<At>,
    repo: Option<String>,
    more_than: Option<usize>,
}

/// What is known of a request when it is decided what goes wrong.
pub(crate) struct Met<'a> {
    pub path: &'a str,
    pub is_graphql: bool,
    pub asked: &'a Asked,
    pub world: &'a World,
}

impl Matching {
    fn holds(&self, met: &Met<'_>) -> bool {
        let same_repo = |a: &str, b: &str| {
            a.eq_ignore_ascii_case(b)
                || met
                    .world
                    .repo_number(a)
                    .is_some_and(|n| met.world.repo_number(b) == Some(n))
        };
        let names_pull = |at: &At| {
            met.asked
                .pulls
                .iter()
                .any(|asked| asked.number == at.number && same_repo(&asked.repo, &at.repo))
                || met
                    .path
                    .eq_ignore_ascii_case(&format!("/repos/{}/pulls/{}", at.repo, at.number))
                || met.asked.ids.iter().any(|id| lies_in(met.world, id, at))
        };
        let names_repo = |name: &str| {
            met.asked.repos.iter().any(|asked| same_repo(asked, name))
                || met
                    .path
                    .to_ascii_lowercase()
                    .starts_with(&format!("/repos/{}", name.to_ascii_lowercase()))
        };
        self.graphql.is_none_or(|graphql| graphql == met.is_graphql)
            && self.path.as_ref().is_none_or(|path| path == met.path)
            && self
                .operation
                .as_ref()
                .is_none_or(|name| met.asked.operation.as_ref() == Some(name))
            && self.more_than.is_none_or(|most| met.asked.pulls.len() > most)
            && self.pull.as_ref().is_none_or(names_pull)
            && self.repo.as_deref().is_none_or(names_repo)
    }
}

fn lies_in(world: &World, id: &str, at: &At) -> bool {
    let key = world.pull_key(at).ok();
    let pull = key.and_then(|key| world.node(&key));
    world
        .by_id(id)
        .is_some_and(|(_, root)| pull.is_some_and(|pull| std::ptr::eq(pull, root)))
}

impl Fault {
    fn new(effect: Effect) -> Self {
        Self {
            effect,
            matching: Matching::default(),
            times: 1..=u64::MAX,
        }
    }

    /// The hour's requests are spent (403): `x-ratelimit-remaining` is 0 and `x-ratelimit-reset` says when
    /// there are more, in whole seconds of the machine's clock.
    pub fn primary_limit(reset_in: Duration) -> Self {
        Self::spent(403, reset_in)
    }

    /// The same with 429, which GitHub also uses.
    pub fn primary_limit_429(reset_in: Duration) -> Self {
        Self::spent(429, reset_in)
    }

    fn spent(status: u16, reset_in: Duration) -> Self {
        let reset = chrono::Utc::now()
            .timestamp()
            .saturating_add_unsigned(reset_in.as_secs());
        let body = json!({
            "message": "API rate limit exceeded for user ID 1001.",
            "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api",
        });
        let canned = Canned::json(status, &body)
            .header("x-ratelimit-limit", 5_000)
            .header("x-ratelimit-remaining", 0)
            .header("x-ratelimit-used", 5_000)
            .header("x-ratelimit-reset", reset);
        Self::answer(canned)
    }

    /// Too many requests at once (403): `retry-after`, in seconds.
    pub fn secondary_limit(retry_after: Duration) -> Self {
        let body = json!({
            "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
            "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api",
        });
        Self::answer(Canned::json(403, &body).header("retry-after", retry_after.as_secs()))
    }

    /// GraphQL's own way to say that the hour's requests are spent: 200, one error, no `data`.
    pub fn graphql_rate_limit() -> Self {
        let error = json!({
            "type": "RATE_LIMIT", "code": "graphql_rate_limit",
            "message": "API rate limit already exceeded for user ID 1001.",
        });
        Self::answer(Canned::json(200, &json!({ "errors": [error] }))).on_graphql()
    }

    /// This status and a body as a proxy writes it.
    pub fn status(status: u16) -> Self {
        Self::answer(Canned::json(status, &json!({ "message": "Server Error" })))
    }

    /// A page of HTML with status 200 where JSON should be.
    pub fn html() -> Self {
        let page = "<!DOCTYPE html>\n<html><head><title>Unicorn!</title></head><body>Sign in</body></html>";
        Self::answer(Canned::text(200, "text/html; charset=utf-8", page))
    }

    /// The token is refused (401).
    pub fn token_refused() -> Self {
        Self::answer(bad_credentials())
    }

    /// Exactly this answer.
    pub fn answer(answer: Canned) -> Self {
        Self::new(Effect::Answer(answer))
    }

    /// The body ends in the middle.
    pub fn truncated() -> Self {
        Self::new(Effect::Truncate)
    }

    /// The answer comes only after so long.
    pub fn slow(by: Duration) -> Self {
        Self::new(Effect::Slow(by))
    }

    /// No answer ever comes, and the connection stays.
    pub fn never_answers() -> Self {
        Self::new(Effect::Silence)
    }

    /// The connection ends before anything was done.
    pub fn reset() -> Self {
        Self::new(Effect::Reset)
    }

    /// What was asked is done, and the connection ends before the answer.
    pub fn answer_lost() -> Self {
        Self::new(Effect::Lose)
    }

    /// No page holds more than so many items, whatever was asked for: the rest is on the next one.
    pub fn short_pages(most: usize) -> Self {
        Self::new(Effect::ShortPages(most)).on_graphql()
    }

    /// A field (`Type.field`) answers with an error: null, or, where it may not be null, what holds it is.
    /// With [`Fault::on_pull`], only within that pull request. `kind` is the error's `type`.
    pub fn field_error(field: &str, kind: Option<&str>, message: &str) -> Self {
        let failure = Failure {
            kind: kind.map(str::to_owned),
            message: message.to_owned(),
            extensions: Map::new(),
        };
        Self::new(Effect::Refuse(Refusal {
            field: field.to_owned(),
            pull: None,
            failure,
        }))
        .on_graphql()
    }

    /// An organisation wants single sign-on before this field (`Type.field`) is shown.
    pub fn saml(field: &str) -> Self {
        let failure = Failure {
            kind: Some("FORBIDDEN".to_owned()),
            message:
                "Resource protected by organization SAML enforcement. You must grant your Personal Access \
                      token access to this organization."
                    .to_owned(),
            extensions: [("saml_failure".to_owned(), json!(true))].into_iter().collect(),
        };
        Self::new(Effect::Refuse(Refusal {
            field: field.to_owned(),
            pull: None,
            failure,
        }))
        .on_graphql()
    }

    /// The world changes just before the request is carried out: a pull request vanishes between two
    /// pages, a head moves while it is read.
    pub fn meanwhile(edit: impl FnMut(&mut World) + Send + 'static) -> Self {
        Self::new(Effect::Edit(Arc::new(Mutex::new(edit))))
    }

    /// Only GraphQL requests.
    #[must_use]
    pub fn on_graphql(mut self) -> Self {
        self.matching.graphql = Some(true);
        self
    }

    /// Only REST requests.
    #[must_use]
    pub fn on_rest(mut self) -> Self {
        self.matching.graphql = Some(false);
        self
    }

    /// Only requests for this path.
    #[must_use]
    pub fn on_path(mut self, path: &str) -> Self {
        self.matching.path = Some(path.to_owned());
        self
    }

    /// Only GraphQL operations of this name.
    #[must_use]
    pub fn on_operation(mut self, name: &str) -> Self {
        self.matching.operation = Some(name.to_owned());
        self
    }

    /// Only requests that ask for this pull request, or for the pages of something in it by its id.
    #[must_use]
    pub fn on_pull(mut self, at: impl Into<At>) -> Self {
        let at = at.into();
        if let Effect::Refuse(refusal) = &mut self.effect {
            refusal.pull = Some(at.clone());
        }
        self.matching.pull = Some(at);
        self
    }

    /// Only requests that ask for this repository or anything in it.
    #[must_use]
    pub fn on_repo(mut self, name: &str) -> Self {
        self.matching.repo = Some(name.to_owned());
        self
    }

    /// Only documents that ask for more than so many pull requests.
    #[must_use]
    pub fn on_batches_over(mut self, pulls: usize) -> Self {
        self.matching.more_than = Some(pulls);
        self
    }

    /// Only the n-th request that matches, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: u64) -> Self {
        self.times = n..=n;
        self
    }

    /// Only the first `n` requests that match.
    #[must_use]
    pub fn first(mut self, n: u64) -> Self {
        self.times = 1..=n;
        self
    }
}

/// What GitHub says to a token that it does not know.
pub(crate) fn bad_credentials() -> Canned {
    let body = json!({
        "message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401",
    });
    Canned::json(401, &body)
}

/// The faults that are switched on.
#[derive(Default)]
pub struct Faults {
    switched_on: Mutex<Vec<(Fault, u64)>>,
}

impl Faults {
    /// Switches a fault on. Where several give an answer, the one that was added first does.
    pub fn add(&self, fault: Fault) {
        self.lock().push((fault, 0));
    }

    /// Switches all faults off.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Fault, u64)>> {
        self.switched_on.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What goes wrong with this request. Every fault that matches counts it.
    pub(crate) fn met(&self, met: &Met<'_>) -> Vec<Effect> {
        let mut effects = Vec::new();
        for (fault, count) in self
            .lock()
            .iter_mut()
            .filter(|(fault, _)| fault.matching.holds(met))
        {
            *count += 1;
            if fault.times.contains(count) {
                effects.push(fault.effect.clone());
            }
        }
        effects
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Faults({})", self.lock().len())
    }
}
