//! Attests heads again (contract, section 5, `qa`): fetches the pull request's head into a work tree of its own,
//! runs the repository's gates there, and writes `<home>/gates/<owner>-<repo>.gate` when all of them pass and
//! the head has not moved meanwhile.
//!
//! A gate is a program of the user's on code of the pull request's. It gets no secret, its process group
//! ends at its time limit, and its output is kept in a log below `<home>/gates/logs/`.

mod attestation;
mod gates;

use child::git::{Fetched, WorkTree};
use github::Reader;
use lifecycle::GateFile;
use pulls::facts::Time;
use pulls::{PullFacts, RepoName};
use runtime::{Actor, Done, EffectError, Fault, HomePath, Reason, Turn, message};

use crate::again;
use crate::hints::Renames;
use crate::intents::{AboutPull as _, Reattest};
use crate::places;
use crate::trees::{self, NoKeeper, Trees};
use attestation::{About, Ran, Verdict};
pub use gates::{Gate, Gates};

message! {
    /// What the gate keeper consumes.
    pub enum QaMessage {
        /// The gates are stale or a check failed: attest the head again.
        Reattest(Reattest),
    }
}

/// The gate keeper.
pub struct Qa(Option<Means>);

/// What gates are run with.
struct Means {
    github: Reader,
    trees: Trees,
    gates: Gates,
    renames: Renames,
}

impl Qa {
    /// A gate keeper that runs these gates in these work trees.
    pub fn new(github: Reader, trees: Trees, gates: Gates) -> Self {
        Self(Some(Means {
            github,
            trees,
            gates,
            renames: Renames::default(),
        }))
    }

    /// A gate keeper where no repository has gates. It needs neither credentials nor git.
    pub fn without_gates() -> Self {
        Self(None)
    }
}

impl Actor for Qa {
    const NAME: &'static str = "qa";
    type Message = QaMessage;

    async fn handle(&mut self, message: QaMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let QaMessage::Reattest(asked) = message;
        let Some(means) = &mut self.0 else {
            return Ok(Done::new("no gate configured"));
        };
        let gates = means.gates_of(&asked.repo, turn).await?;
        if gates.is_empty() {
            return Ok(Done::new("no gate configured"));
        }
        means.attest(&asked, &gates, turn).await
    }
}

impl Means {
    /// The gates of a repository. It may have been renamed since they were configured, or since the message was sent;
    /// what each is called now is asked for once.
    async fn gates_of(&mut self, repo: &RepoName, turn: &mut Turn) -> Result<Vec<Gate>, Fault> {
        let gates = self.gates.of(repo);
        if !gates.is_empty() {
            return Ok(gates.to_vec());
        }
        let Some(now) = self.present(repo, turn).await? else {
            return Ok(Vec::new());
        };
        let configured: Vec<RepoName> = self.gates.repositories().cloned().collect();
        for name in configured {
            if self.present(&name, turn).await?.as_ref() == Some(&now) {
                return Ok(self.gates.of(&name).to_vec());
            }
        }
        Ok(Vec::new())
    }

    async fn present(&mut self, repo: &RepoName, turn: &mut Turn) -> Result<Option<RepoName>, Fault> {
        let now = self.renames.present(&self.github, repo).await;
        now.map_err(|error| again::fault(format!("cannot read {repo}"), error, turn))
    }

    async fn attest(&self, asked: &Reattest, gates: &[Gate], turn: &mut Turn) -> Result<Done, Fault> {
        let facts = again::read(&self.github, &asked.at(), turn).await?;
        if let Some(why) = again::closed(&facts) {
            return Ok(Done::new(format!("moot: {why}")));
        }
        let (fetched, tree) = self.check_out(&facts, turn).await?;
        let head = trees::sha(fetched.head())?;
        let about = About {
            repo: &facts.at.repo,
            pr: facts.at.number,
            head: &head,
        };
        let mut ran = Vec::new();
        for (number, gate) in gates.iter().enumerate() {
            let log = places::of_pull("gates/logs", &facts.at, &format!("-{}.log", number + 1))?;
            let command = gate
                .command(tree.path())
                .map_err(|error| Fault::reject(error.to_string()))?;
            let ended = match turn.run(command).await {
                Ok(finished) => Ok(finished),
                Err(EffectError::Command(error)) => Err(error),
                Err(other) => return Err(other.into()),
            };
            turn.progress();
            let one = Ran::of(&gate.name, log.as_str().to_owned(), ended)
                .map_err(|error| Fault::retry(Reason::because("a gate could not be run", error)))?;
            turn.write_file(&log, one.log_text(&about)).await?;
            if one.verdict != Verdict::Passed {
                return Ok(Done::new(format!("{} (log: {log})", one.failure())));
            }
            ran.push(one);
        }
        self.say_passed(&about, &fetched, &ran, turn).await
    }

    async fn check_out(&self, facts: &PullFacts, turn: &mut Turn) -> Result<(Fetched, WorkTree), Fault> {
        let pull =
            trees::pull(facts).map_err(|error| Fault::reject(Reason::because("git refused", error)))?;
        let what = format!("check out {}", facts.at);
        let made = turn
            .act(what, async {
                let fetched = self.trees.keeper().await?.fetch(&pull).await?;
                let tree = fetched.work_tree().await?;
                Ok::<_, NoKeeper>((fetched, tree))
            })
            .await?;
        turn.progress();
        made.map_err(|error| fault(error, turn))
    }

    /// Success is said of a head that is still the pull request's.
    async fn say_passed(
        &self,
        about: &About<'_>,
        fetched: &Fetched,
        ran: &[Ran],
        turn: &mut Turn,
    ) -> Result<Done, Fault> {
        let asked = turn
            .act(format!("ask where {}#{} stands", about.repo, about.pr), async {
                let keeper = self.trees.keeper().await?;
                Ok::<_, NoKeeper>(keeper.head_now(fetched.pull()).await?)
            })
            .await?;
        match asked.map_err(|error| fault(error, turn))? {
            Some(now) if now == *fetched.head() => {}
            Some(now) => {
                return Ok(Done::new(format!(
                    "moot: the head moved to {} while the gates ran",
                    now.short()
                )));
            }
            None => return Ok(Done::new("moot: the pull request's head is gone")),
        }
        let path = gate_path(turn, about.repo).await?;
        let text = attestation::text(about, ran, turn.now());
        turn.write_file(&path, text).await?;
        Ok(Done::new("passed"))
    }
}

/// What becomes of a message whose gates cannot be run.
fn fault(error: NoKeeper, turn: &Turn) -> Fault {
    match error {
        NoKeeper::Git(error) => trees::fault(error, turn),
        NoKeeper::Nowhere(why) => Fault::reject(format!("gates are configured and cannot be run: {why}")),
    }
}

/// Where the gate file of a repository lies. Another repository's file of the same name is left alone; the dispatcher
/// looks under the second name too.
async fn gate_path(turn: &mut Turn, repo: &RepoName) -> Result<HomePath, Fault> {
    places::told_apart(turn, "gates", GateFile::names(repo), |bytes| {
        let file = GateFile::parse(&String::from_utf8_lossy(bytes), Time::UNIX_EPOCH);
        file.is_about(std::slice::from_ref(repo))
    })
    .await
}
