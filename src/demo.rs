//! `sweep run --demo`: an embedded GitHub on a loopback port, reached by the same client over real HTTP, and a
//! home of its own with the hints that belong to it.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actors::reconciler::{Books, Reconciler, Rules};
use chrono::{DateTime, TimeDelta, Utc};
use github::{Endpoints, FixedToken, Reader, Token};
use ledger::{AttemptState, Finding, ReviewAttempt};
use pulls::{PrRef, RepoName, Sha};
use runtime::OneShot;
use serde_json::json;
use world::{At, DEMO_MAINTAINED, DEMO_NOW, DemoReview, EditError, Served, World, minutes_ago};

use crate::commands::{Context, reconcile};
use crate::config::Source;
use crate::failure::{Exit, Failure};
use crate::home::Home;
use crate::print;
use crate::wiring::{self, Opened};

/// Marks a home as a demo's, so that no real one is filled with made-up messages.
const MARK: &str = "demo";

/// The wait before the retry after a rate limit: the demo's GitHub has none.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// An embedded GitHub that is served, and the home that goes with it.
#[derive(Debug)]
pub struct Demo {
    served: Served,
    home: Home,
    now: DateTime<Utc>,
}

impl Demo {
    /// Makes the home, lays the hints into it and serves the world.
    pub async fn start(context: &Context) -> Result<Self, Failure> {
        let home = home_for(context);
        refuse_a_real_one(&home)?;
        home.make()?;
        let stands_still = DEMO_NOW.parse().expect("the demo's time is a constant");
        let now = context.now.unwrap_or(stands_still);
        lay_hints(&home.path, stands_still).map_err(|error| {
            Failure::new(Exit::Other, format!("cannot write in {}", home.path.display())).because(error)
        })?;
        let served = serve(World::demo()).await?;
        Ok(Self { served, home, now })
    }

    /// Where the demo's things lie.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The moment as of which the demo is evaluated: the one at which its world stands still, or `--now`.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// The same client that reads the real GitHub.
    pub fn reader(&self) -> Result<Reader, Failure> {
        reader(&self.served)
    }

    /// The repositories that the demo maintains.
    pub fn maintained() -> RepoName {
        DEMO_MAINTAINED.parse().expect("the demo's names are constants")
    }

    /// Gives a new ledger a past: the reviews that the demo's states rest on, and the two cycles before this one, in
    /// which the pull request that is new now was not there yet and the one that is closed was open.
    pub async fn remember(&self, books: &Books, rules: Rules, opened: &Opened) -> Result<(), Failure> {
        if !books.is_new().await? {
            return Ok(());
        }
        let stands_still: DateTime<Utc> = DEMO_NOW.parse().expect("the demo's time is a constant");
        for review in world::demo_reviews() {
            remember_review(books, &review, stands_still)?;
        }
        let mut earlier = World::demo();
        for state in world::demo_states() {
            let changed = match state.state {
                "new" => earlier.remove_pull(state.at),
                "closed" => reopen(&mut earlier, state.at),
                _ => Ok(()),
            };
            changed.map_err(|error| slip(&error))?;
        }
        let served = serve(earlier).await?;
        let mut reconciler = Reconciler::new(reader(&served)?, books.clone(), rules);
        for minutes in [4, 2] {
            let turn = OneShot::new(
                Arc::clone(&opened.registry),
                Arc::clone(&opened.clock),
                &self.home.path,
            )
            .evaluate_at(stands_still - TimeDelta::minutes(minutes));
            turn.takt(&mut reconciler, &opened.mailboxes)
                .await
                .map_err(reconcile::explain)?;
        }
        // It ended since: without that no list of updates would show it.
        for state in world::demo_states()
            .into_iter()
            .filter(|state| state.state == "closed")
        {
            let ended = self
                .served
                .edit(|world| world.bump(state.at.clone(), minutes_ago(1)));
            ended.map_err(|error| slip(&error))?;
        }
        Ok(())
    }

    /// What this is.
    pub fn banner(&self) -> String {
        format!(
            "demo: an embedded GitHub at {}, as of {}\n",
            self.served.api_url(),
            print::moment(self.now)
        )
    }

    /// Where to look.
    pub fn directions(&self) -> String {
        let home = self.home.path.display();
        format!(
            "{home}/PR_STATE.md      what needs doing, by bucket\n\
             {home}/DECISIONS.md     what a person must decide\n\
             {home}/investigations/  a brief for each question\n\
             {home}/inbox/           the mailboxes as JSONL\n\
             \n\
             sweep inbox qa --home {home}\n\
             sweep board --home {home}\n"
        )
    }
}

async fn serve(world: World) -> Result<Served, Failure> {
    world
        .serve()
        .await
        .map_err(|error| Failure::new(Exit::Other, "cannot serve the demo on a loopback port").because(error))
}

/// The client of an embedded GitHub.
fn reader(served: &Served) -> Result<Reader, Failure> {
    let endpoints = Endpoints::new(Some(&served.api_url()), Some(&served.graphql_url()))?;
    let token = Token::new(served.token())?;
    Ok(wiring::reader(endpoints, FixedToken(token), RETRY_WAIT)?)
}

/// A slip in the demo itself.
fn slip(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Other, "the demo is not as it should be").because(error.to_string())
}

/// As it was before a person ended it.
fn reopen(world: &mut World, at: At) -> Result<(), EditError> {
    let pull = world.pull_json(at)?;
    let opened_at = pull.get("createdAt").cloned().unwrap_or_default();
    pull.insert("state".to_owned(), json!("OPEN"));
    pull.insert("closed".to_owned(), json!(false));
    pull.insert("merged".to_owned(), json!(false));
    pull.insert("updatedAt".to_owned(), opened_at);
    Ok(())
}

/// Writes one review down as whoever reviews does, with its findings.
fn remember_review(books: &Books, review: &DemoReview, now: DateTime<Utc>) -> Result<(), Failure> {
    let at: PrRef = format!("{}#{}", review.at.repo, review.at.number)
        .parse()
        .map_err(|error| slip(&error))?;
    let head: Sha = review.head_sha.parse().map_err(|error| slip(&error))?;
    books.put_review(&ReviewAttempt {
        at: at.clone(),
        head: head.clone(),
        state: AttemptState::Completed,
        time: now - review.age,
        quality: Some(review.quality.to_owned()),
    })?;
    for number in 0..review.open + review.disputed {
        books.put_finding(&Finding {
            at: at.clone(),
            finding_id: format!("demo-{number}"),
            severity: "major".to_owned(),
            head: head.clone(),
            is_fixed: false,
            is_disputed: number >= review.open,
        })?;
    }
    Ok(())
}

/// The home of a demo: the one that the user names, else a new one below the directory for temporary files.
/// Never `~/.sweep`.
fn home_for(context: &Context) -> Home {
    if context.home.source != Source::Default {
        return context.home.clone();
    }
    let name = format!("sweep-demo-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]);
    Home {
        path: std::env::temp_dir().join(name),
        source: Source::Default,
    }
}

/// A directory with anything in it that no demo made holds somebody's work.
fn refuse_a_real_one(home: &Home) -> Result<(), Failure> {
    let path = &home.path;
    let is_taken = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    if is_taken && !path.join(MARK).exists() {
        return Err(
            Failure::new(Exit::Other, format!("{} holds what no demo made", path.display()))
                .mend("Name an empty directory with --home, or none at all."),
        );
    }
    Ok(())
}

/// Writes the files that the demo's world goes with, the gates as old as they are to look.
fn lay_hints(home: &Path, now: DateTime<Utc>) -> io::Result<()> {
    fs::write(
        home.join(MARK),
        "Made by `sweep run --demo`. It can be deleted with all that is in it.\n",
    )?;
    let hints = world::demo_hints();
    let queue = home.join("drip-queue");
    fs::create_dir_all(&queue)?;
    for (name, lines) in hints.drip_queue {
        fs::write(queue.join(name), lines.join("\n") + "\n")?;
    }
    let gates = home.join("gates");
    fs::create_dir_all(&gates)?;
    for gate in hints.gates {
        let file = gates.join(gate.file);
        fs::write(&file, gate.text)?;
        let written = SystemTime::from(now) - gate.age;
        fs::File::options()
            .write(true)
            .open(&file)?
            .set_modified(written)?;
    }
    Ok(())
}
