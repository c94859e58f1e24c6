//! The way from a world to a verdict, and the data that is shared with other projects.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use github::{Endpoints, FixedToken, Limits, PullsRead, Reader, Token};
use lifecycle::{Hints, Outcome, Settings, Verdict, classify};
use pulls::facts::{PullFacts, Time};
use pulls::{PrRef, checks};
use serde_json::Value;
use world::{Canned, CheckSpec, Fault, PullSpec, Served, World, WorldBuilder};

/// The time in a world that does not say otherwise.
pub const NOW: &str = "2026-05-14T17:45:00Z";
/// Where the pull request of a world with one lies that does not say otherwise.
pub const AT: &str = "o/r#7";

/// A moment from RFC 3339.
pub fn at(text: &str) -> Time {
    text.parse().unwrap()
}

/// A pull request by its name.
pub fn pr(name: &str) -> PrRef {
    name.parse().unwrap()
}

/// An empty world at [`NOW`].
pub fn world() -> WorldBuilder {
    World::builder(NOW)
}

/// The pull request [`AT`], with nothing said and no checks.
pub fn quiet() -> PullSpec {
    PullSpec::new("o/r", 7)
}

/// The same, approved: one green check away from being shipped.
pub fn approved() -> PullSpec {
    quiet().decision("APPROVED")
}

/// Approved and green, so that whatever is added shows.
pub fn ready() -> PullSpec {
    approved().check(CheckSpec::run("test"))
}

/// Serves a world.
pub async fn serve(world: WorldBuilder) -> Served {
    world.build().serve().await.unwrap()
}

/// Serves a world with one pull request.
pub async fn serve_one(pull: PullSpec) -> Served {
    serve(world().pull(pull)).await
}

/// A reader of a served world, its bounds as in earnest but for the waits.
pub fn reader(served: &Served) -> Reader {
    let limits = Limits {
        retry_wait: Duration::from_millis(20),
        longest_wait: Duration::from_secs(5),
        request_timeout: Duration::from_secs(20),
        ..Limits::default()
    };
    let endpoints = Endpoints::new(Some(&served.api_url()), Some(&served.graphql_url())).unwrap();
    let token = Arc::new(FixedToken(Token::new(served.token()).unwrap()));
    Reader::connect(endpoints, token, limits).unwrap()
}

/// Reads pull requests with a reader.
pub async fn read(reader: &Reader, refs: &[PrRef]) -> PullsRead {
    reader.pulls(refs, &|_| ()).await
}

/// Reads one pull request, which must be there.
pub async fn read_one(served: &Served, name: &str) -> PullFacts {
    let mut got = read(&reader(served), &[pr(name)]).await;
    assert!(served.writes().is_empty(), "a reader wrote");
    match got.found.pop() {
        Some(facts) => facts,
        None => panic!("{name} was not read: {:?}", got.skipped),
    }
}

/// The pull requests that could not be read, and why.
pub fn skipped(read: &PullsRead) -> Vec<(u32, String)> {
    let reason = |skipped: &github::Skipped| (skipped.at.number.get(), skipped.error.to_string());
    read.skipped.iter().map(reason).collect()
}

/// What was read and what came of it.
#[derive(Debug)]
pub struct Judged {
    /// What was read.
    pub facts: PullFacts,
    /// What came of it.
    pub verdict: Verdict,
}

/// Classifies what was read, without any hint; it must be open.
pub fn judge(facts: PullFacts, now: Time) -> Judged {
    judge_with(facts, &Hints::default(), &Settings::default(), now)
}

/// Classifies what was read; it must be open.
pub fn judge_with(facts: PullFacts, hints: &Hints, settings: &Settings, now: Time) -> Judged {
    match classify(&facts, hints, settings, now) {
        Outcome::Classified(verdict) => Judged {
            verdict: *verdict,
            facts,
        },
        Outcome::NotOpen(state) => panic!("{} is {}", facts.at, state.as_str()),
    }
}

/// Serves, reads and classifies [`AT`] at [`NOW`].
pub async fn judged(pull: PullSpec) -> Judged {
    let served = serve_one(pull).await;
    judge(read_one(&served, AT).await, at(NOW))
}

impl Judged {
    /// Asserts the bucket, the rule and the reason.
    #[track_caller]
    pub fn is(&self, bucket: &str, rule: &str, reason: &str) -> &Self {
        let verdict = &self.verdict;
        let got = (
            verdict.bucket.as_str(),
            verdict.rule.as_str(),
            verdict.reason.as_str(),
        );
        assert_eq!(got, (bucket, rule, reason), "{}", self.facts.at);
        self
    }

    /// Asserts that it is approved, green and in nobody's way.
    #[track_caller]
    pub fn ships(&self) -> &Self {
        self.is("ship", "ship.ready", "approved + green CI")
    }

    /// Asserts that it waits, and for what.
    #[track_caller]
    pub fn waits(&self, reason: &str) -> &Self {
        self.is("wait", "wait.default", reason)
    }

    /// The word for the checks.
    pub fn ci(&self) -> &'static str {
        self.verdict.signals.ci.as_str()
    }

    /// How many runs a newer one of the same check replaced.
    pub fn superseded_runs(&self, now: &str) -> usize {
        checks::verdict(&self.facts.checks, self.facts.created_at, at(now)).superseded
    }

    /// Whether a maintainer waits for an answer.
    pub fn is_asked(&self) -> bool {
        self.verdict.signals.maintainer_question
    }

    /// Who waits for the author, and where.
    pub fn who_waits(&self) -> (Option<&str>, Option<&str>) {
        let verdict = &self.verdict;
        (
            verdict.reviewer.as_ref().map(pulls::Login::as_str),
            verdict.comment_url.as_deref(),
        )
    }

    /// The other rules that held.
    pub fn also(&self) -> Vec<&'static str> {
        self.verdict
            .signals
            .also
            .iter()
            .map(|rule| rule.as_str())
            .collect()
    }
}

/// From now on the world answers for its pull requests what it would, changed: for shapes that a graph of
/// typed objects cannot hold.
pub async fn rewrite(served: &Served, name: &str, change: impl FnOnce(&mut Value)) {
    read_one(served, name).await;
    let log = served.log();
    let asked = log
        .iter()
        .find(|logged| logged.operation.as_deref() == Some("Pulls"));
    let asked = asked.expect("the reader asks for pull requests with this operation");
    let document = asked.document.as_deref().unwrap();
    let mut answer = served.look(|world| world.ask_operation(document, "Pulls", asked.variables.clone()));
    change(&mut answer);
    served
        .faults()
        .add(Fault::answer(Canned::json(200, &answer)).on_operation("Pulls"));
}

/// Calls `change` with every object within a JSON value.
pub fn every_object(value: &mut Value, change: &mut impl FnMut(&mut serde_json::Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            change(map);
            map.values_mut().for_each(|inner| every_object(inner, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| every_object(inner, change)),
        _ => {}
    }
}

/// The folder with the data that is shared with other projects, where there is one.
pub fn shared() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let folder = std::env::var_os("SWEEP_SHARED").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// A file of the shared data. Says so where it is not there.
#[expect(clippy::print_stdout, reason = "whoever runs the test sees that it did not")]
pub fn shared_text(path: &str) -> Option<String> {
    let text = shared().and_then(|folder| std::fs::read_to_string(folder.join(path)).ok());
    if text.is_none() {
        println!("skipped: no {path} in the shared data");
    }
    text
}
