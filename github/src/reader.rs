//! Reading: who the token is, which pull requests there are, what they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::Utc;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use pulls::facts::{Account, PullFacts, Time};
use pulls::{Login, PrRef, RepoName};
use serde::Deserialize;

use crate::allowance::Allowance;
use crate::answer::{self, Answer, GraphqlError, Reply};
use crate::assembly::{Assembly, Reads};
use crate::batch::{self, Document, Profile};
use crate::endpoints::Endpoints;
use crate::error::ReadError;
use crate::limits::Limits;
use crate::plan::{self, Next, Outcome, Plan, Sizes};
use crate::shape;
use crate::token::TokenSource;
use crate::wire::{RequestCount, Wire};

/// Hits on one page of a search, GitHub's own bound.
const SEARCH_PAGE: usize = 100;

/// GitHub's search ends after 1,000 hits.
const MAX_SEARCH_PAGES: usize = 10;

/// Tries of a request that is about one thing, before GitHub counts as unreachable.
const MAX_TRIES: u32 = 3;

/// The pause between two of them.
const PAUSE: Duration = Duration::from_secs(1);

/// Requests below which what was begun goes before what was not.
const FEW_REQUESTS: u32 = 6;

/// Where to look for pull requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// In every repository that the token can see.
    Everywhere,
    /// In one repository, which must be there.
    Repo(RepoName),
}

/// Which pull requests a search found. The index behind it lags: what each one is must be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Newest first, each once.
    pub refs: Vec<PrRef>,
    /// How many GitHub counts, beyond the limit too.
    pub total: u64,
    /// What of the answer could not be read, each once: a repository behind single sign-on, say.
    pub partial: Vec<ReadError>,
}

/// A pull request that could not be read, or not in whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Skipped {
    /// Which, as it was asked for.
    pub at: PrRef,
    /// Why.
    pub error: ReadError,
}

/// What came of reading many pull requests.
#[derive(Debug, Clone, PartialEq)]
pub struct PullsRead {
    /// Those that were read in whole, in the order asked, each once. Closed and merged ones too: it is
    /// for the caller to say what becomes of one that is no longer open.
    pub found: Vec<PullFacts>,
    /// Those that were not.
    pub skipped: Vec<Skipped>,
    /// Those that no request was left for, in the order asked (see [`Allowance`]).
    pub left: Vec<PrRef>,
    /// Why the reading ended early or found nothing at all: refused, unreachable, a rate limit.
    pub stopped: Option<ReadError>,
}

impl From<(PrRef, ReadError)> for Skipped {
    fn from((at, error): (PrRef, ReadError)) -> Self {
        Self { at, error }
    }
}

impl From<Outcome<PullFacts>> for PullsRead {
    fn from(outcome: Outcome<PullFacts>) -> Self {
        Self {
            found: outcome.found,
            skipped: outcome.skipped.into_iter().map(Into::into).collect(),
            left: outcome.left,
            stopped: outcome.stopped,
        }
    }
}

/// How far the reading of many pull requests has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Read or given up.
    pub done: usize,
    /// All that were asked for.
    pub of: usize,
}

/// What the GraphQL API charged and what is left of the hour, as the newest answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Points spent by this reader.
    pub spent: u64,
    /// Points left to the token.
    pub remaining: u64,
    /// When they are full again.
    pub resets_at: Time,
}

/// One of GitHub's rate limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Requests, or points, in an hour (in a minute for the search).
    pub limit: u64,
    /// What is left of them.
    pub remaining: u64,
    /// When they are full again.
    pub resets_at: Time,
}

/// What GitHub says of the token, without charging for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkup {
    /// The REST API.
    pub core: Window,
    /// The GraphQL API.
    pub graphql: Window,
    /// The search, which has a limit of its own.
    pub search: Window,
    /// The scopes of a classic token; other kinds of token have none to tell.
    pub scopes: Option<Vec<String>>,
    /// GitHub's clock, to tell this machine's by, whole seconds.
    pub server_time: Option<Time>,
}

/// A narrow client of GitHub that reads. Cloning it is cheap and shares its counts and connections.
#[derive(Clone)]
pub struct Reader {
    inner: Arc<Inner>,
}

struct Inner {
    wire: Wire,
    limits: Limits,
    budget: Mutex<Option<Budget>>,
    sizes: Mutex<HashMap<Profile, Sizes>>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("endpoints", self.inner.wire.endpoints())
            .finish_non_exhaustive()
    }
}

impl Reader {
    /// A reader of the GitHub at `endpoints`. Nothing is sent and no token asked for yet. Must be
    /// called within a tokio runtime with time and I/O.
    ///
    /// # Errors
    /// [`ReadError::Unreachable`] where an address needs TLS and the machine has no certificates.
    pub fn connect(
        endpoints: Endpoints,
        source: Arc<dyn TokenSource>,
        limits: Limits,
    ) -> Result<Self, ReadError> {
        let wire = Wire::connect(endpoints, source, &limits)?;
        Ok(Self {
            inner: Arc::new(Inner {
                wire,
                limits,
                budget: Mutex::new(None),
                sizes: Mutex::default(),
            }),
        })
    }

    /// Whose token it is.
    ///
    /// # Errors
    /// Every [`ReadError`] of one request, after its retries.
    pub async fn viewer(&self) -> Result<Account, ReadError> {
        let answer = self
            .persist(&batch::viewer(), "viewer", &Allowance::unlimited())
            .await?;
        let viewer: Option<shape::Viewer> = answer.field("viewer")?;
        shape::account(viewer).ok_or_else(|| ReadError::Malformed {
            what: "a viewer without a name".to_owned(),
        })
    }

    /// The repository's name as GitHub gives it now, which is another one after a rename.
    ///
    /// # Errors
    /// [`ReadError::NoRepository`] where it is not there, else those of one request.
    pub async fn repository(&self, repo: &RepoName) -> Result<RepoName, ReadError> {
        let answer = self
            .persist_in(&batch::repository(repo), repo, &Allowance::unlimited())
            .await?;
        let repository: Option<shape::Repository> = answer.field("repository")?;
        repository
            .map(|repository| repository.name_with_owner)
            .ok_or_else(|| ReadError::NoRepository(repo.clone()))
    }

    /// The open pull requests that `author` wrote, at most `limit`. Two requests for 200 of them, and
    /// one more where a repository is named.
    ///
    /// # Errors
    /// [`ReadError::NoRepository`] for a repository that is not there, else those of one request.
    pub async fn open_pulls(&self, author: &Login, scope: &Scope, limit: usize) -> Result<Found, ReadError> {
        let mut query = format!("is:pr is:open author:{author} sort:created-desc");
        if let Scope::Repo(repo) = scope {
            // The index knows a repository by its present name only.
            let repo = self.repository(repo).await?;
            query.push_str(&format!(" repo:{repo}"));
        }
        let mut found = Found {
            refs: Vec::new(),
            total: 0,
            partial: Vec::new(),
        };
        let mut seen = std::collections::HashSet::new();
        let mut after: Option<String> = None;
        for _ in 0..MAX_SEARCH_PAGES {
            let first = SEARCH_PAGE.min(limit.saturating_sub(found.refs.len()));
            if first == 0 {
                break;
            }
            let answer = self
                .persist(
                    &batch::search(&query, first, after.as_deref()),
                    "search",
                    &Allowance::unlimited(),
                )
                .await?;
            for error in answer.errors.iter().map(GraphqlError::meaning) {
                // Many hits behind one organisation's single sign-on are one thing to say.
                let says = error.to_string();
                if found.partial.iter().all(|known| known.to_string() != says) {
                    found.partial.push(error);
                }
            }
            let search: shape::Search = answer.field("search")?.ok_or_else(|| ReadError::Malformed {
                what: "a search without an answer".to_owned(),
            })?;
            found.total = search.issue_count;
            // A pull request that moved between two pages comes twice.
            found
                .refs
                .extend(search.refs().filter(|at| seen.insert(at.clone())));
            let next = search
                .page_info
                .end_cursor
                .filter(|_| search.page_info.has_next_page);
            if next.is_none() || next == after {
                break;
            }
            after = next;
        }
        found.refs.truncate(limit);
        Ok(found)
    }

    /// Reads pull requests, each in whole or not at all. For 200 of them with lists of at most 100
    /// that is 8 requests, and up to 13 more for further pages. `progress` is told of each answer.
    ///
    /// There is no error: what fails for one pull request is in `skipped`, what ends the reading in
    /// `stopped`. Dropping the future cancels what is on its way.
    pub async fn pulls(&self, refs: &[PrRef], progress: &(dyn Fn(Progress) + Send + Sync)) -> PullsRead {
        let outcome = self
            .read::<Assembly>(Profile::Author, refs, &Allowance::unlimited(), progress)
            .await;
        PullsRead::from(outcome)
    }

    /// Reads pull requests as a profile has it, until all are read or no request is left.
    pub(crate) async fn read<R: Reads>(
        &self,
        profile: Profile,
        refs: &[PrRef],
        allowance: &Allowance,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Outcome<R::Facts> {
        let sizes = self.sizes().get(&profile).cloned();
        let sizes = sizes.unwrap_or_else(|| Sizes::new(profile));
        let mut plan: Plan<R> = Plan::new(refs, &self.inner.limits, &sizes);
        let mut on_their_way = FuturesUnordered::new();
        loop {
            plan.save(allowance.left() <= FEW_REQUESTS);
            match plan.next(Utc::now()) {
                Next::Send(job) if allowance.spend().is_err() => plan.spent(job),
                Next::Send(job) => {
                    let document = plan.document(&job);
                    on_their_way.push(async move { (job, self.ask(&document).await) });
                }
                Next::Wait(wait) => {
                    tracing::info!(seconds = wait.as_secs_f64(), "waiting for GitHub");
                    tokio::time::sleep(wait).await;
                }
                Next::Idle => {
                    let Some((job, result)) = on_their_way.next().await else {
                        break;
                    };
                    plan.took(job, result, Utc::now());
                    let (done, of) = plan.progress();
                    progress(Progress { done, of });
                }
                Next::Done => break,
            }
        }
        plan.teach(self.sizes().entry(profile).or_insert_with(|| Sizes::new(profile)));
        let mut outcome = plan.finish();
        outcome.settle(&self.origin());
        outcome
    }

    /// What GitHub says of the token and its limits.
    ///
    /// # Errors
    /// Every [`ReadError`] of one request. A server without rate limits answers 404.
    pub async fn checkup(&self) -> Result<Checkup, ReadError> {
        let reply = self.inner.wire.get("/rate_limit").await?;
        let limits: RateLimits = answer::json(&reply)?;
        let scopes = reply
            .headers
            .get("x-oauth-scopes")
            .and_then(|text| text.to_str().ok())
            .map(|text| {
                text.split(',')
                    .map(|scope| scope.trim().to_owned())
                    .filter(|scope| !scope.is_empty())
                    .collect()
            });
        Ok(Checkup {
            core: limits.resources.core.window()?,
            graphql: limits.resources.graphql.window()?,
            search: limits.resources.search.window()?,
            scopes,
            server_time: answer::server_time(&reply.headers),
        })
    }

    /// Requests sent so far.
    pub fn requests(&self) -> RequestCount {
        self.inner.wire.requests()
    }

    /// What the GraphQL API charged; `None` before the first answer, and on a server without limits.
    pub fn budget(&self) -> Option<Budget> {
        *self.inner.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sizes(&self) -> std::sync::MutexGuard<'_, HashMap<Profile, Sizes>> {
        self.inner.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn origin(&self) -> String {
        self.inner.wire.endpoints().graphql.origin.to_string()
    }

    /// Sends one document once.
    async fn ask(&self, document: &Document) -> Result<Answer, ReadError> {
        let result = self
            .inner
            .wire
            .post_graphql(&document.text, document.variables.clone())
            .await;
        match &result {
            Ok(answer) => {
                let cost = self.note_budget(answer);
                let id = answer
                    .headers
                    .get("x-github-request-id")
                    .and_then(|id| id.to_str().ok());
                tracing::debug!(cost, errors = answer.errors.len(), id, "GitHub answered");
            }
            Err(error) => tracing::debug!(%error, "a request to GitHub failed"),
        }
        result
    }

    /// Notes what an answer cost, and returns it.
    fn note_budget(&self, answer: &Answer) -> u64 {
        let Ok(Some(shape)) = answer.field::<shape::BudgetShape>("rateLimit") else {
            return 0;
        };
        let mut budget = self.inner.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = budget.map_or(0, |budget| budget.spent) + shape.cost;
        // Answers overtake each other: within an hour the least is the newest, and an answer from the hour
        // before tells nothing.
        let (resets_at, remaining) = match *budget {
            Some(known) if known.resets_at == shape.reset_at => {
                (known.resets_at, known.remaining.min(shape.remaining))
            }
            Some(known) if known.resets_at > shape.reset_at => (known.resets_at, known.remaining),
            _ => (shape.reset_at, shape.remaining),
        };
        *budget = Some(Budget {
            spent,
            remaining,
            resets_at,
        });
        shape.cost
    }

    /// Sends a document that is about one repository.
    pub(crate) async fn persist_in(
        &self,
        document: &Document,
        repo: &RepoName,
        allowance: &Allowance,
    ) -> Result<Answer, ReadError> {
        match self.persist(document, "repository", allowance).await {
            Err(ReadError::Partial { kind: Some(kind), .. }) if kind == "NOT_FOUND" => {
                Err(ReadError::NoRepository(repo.clone()))
            }
            answer => answer,
        }
    }

    /// Sends a document that is about one field until that field is there or it is certain that it
    /// will not be.
    pub(crate) async fn persist(
        &self,
        document: &Document,
        field: &str,
        allowance: &Allowance,
    ) -> Result<Answer, ReadError> {
        let mut patience = Patience::default();
        loop {
            allowance.spend()?;
            let answer = self.ask(document).await;
            match answer.and_then(|answer| with_field(answer, field)) {
                Ok(answer) => return Ok(answer),
                Err(error) => self.bear(&mut patience, error).await?,
            }
        }
    }

    /// Gets a path of the REST API; `None` where GitHub says that there is nothing, or not for this token.
    pub(crate) async fn persist_get(
        &self,
        path: &str,
        allowance: &Allowance,
    ) -> Result<Option<Reply>, ReadError> {
        let mut patience = Patience::default();
        loop {
            match self.inner.wire.get_if_any(path, allowance).await {
                Ok(reply) => return Ok(reply),
                Err(error) => self.bear(&mut patience, error).await?,
            }
        }
    }

    /// Waits before what may pass is asked again: three tries in all, and one wait for a rate limit.
    async fn bear(&self, patience: &mut Patience, error: ReadError) -> Result<(), ReadError> {
        let limits = &self.inner.limits;
        let wait = match &error {
            ReadError::RateLimited { until } if !patience.has_waited => {
                patience.has_waited = true;
                plan::limit_wait(*until, Utc::now(), limits)
            }
            error if error.is_passing() => {
                patience.tries += 1;
                (patience.tries < MAX_TRIES).then_some(PAUSE.min(limits.retry_wait))
            }
            _ => None,
        };
        match wait {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return Err(plan::unreachable(error, &self.origin())),
        }
        Ok(())
    }
}

/// What was borne with already.
#[derive(Default)]
struct Patience {
    tries: u32,
    has_waited: bool,
}

/// The answer, unless an error took the field away.
fn with_field(answer: Answer, field: &str) -> Result<Answer, ReadError> {
    let is_there = answer.data.get(field).is_some_and(|raw| raw.get() != "null");
    match answer.errors.first() {
        Some(error) if !is_there => Err(error.meaning()),
        _ => Ok(answer),
    }
}

#[derive(Deserialize)]
struct RateLimits {
    resources: Resources,
}

#[derive(Deserialize)]
struct Resources {
    core: WindowShape,
    graphql: WindowShape,
    search: WindowShape,
}

#[derive(Deserialize)]
struct WindowShape {
    limit: u64,
    remaining: u64,
    reset: i64,
}

impl WindowShape {
    fn window(&self) -> Result<Window, ReadError> {
        let resets_at = Time::from_timestamp(self.reset, 0).ok_or_else(|| ReadError::Malformed {
            what: format!("a reset at {}", self.reset),
        })?;
        Ok(Window {
            limit: self.limit,
            remaining: self.remaining,
            resets_at,
        })
    }
}
