//! Rebases a branch onto its base in a work tree of its own; pushes it where that is allowed.

use std::fmt::Write as _;

use child::git::{
    Branch, Clean, CommitId, Committer, Conflict, GitError, Keeper, NameError, Next, Person, Pull, Pushed,
    Rebased, Repo, Title,
};
use lifecycle::{Bucket, QueueLine};
use pulls::facts::PullFacts;
use pulls::{escape, people};
use runtime::{Done, Fault, Turn};

use super::decisions::{Todo, list};
use super::pushes::{self, Push};
use super::queue::{self, Rebased as InQueue};
use super::{Drip, Pushing, moot};
use crate::again::{self, Again, Fresh};
use crate::intents::{AboutPull as _, Rebase};
use crate::places;
use crate::trees::{self, NoKeeper};

/// How many files the outcome names; the page names them all.
const NAMED: usize = 5;

/// Who commits where the head commit names nobody that git could write again.
const NOBODY: &str = "sweep";
const NOBODYS_ADDRESS: &str = "sweep@localhost";

/// Why a branch is left to a person.
enum Left {
    /// The message waits, comes again or is set aside.
    Fault(Fault),
    /// A person has to rebase it, for this reason.
    ToAPerson(String),
}

impl From<Fault> for Left {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<NameError> for Left {
    /// Such a name GitHub has and git cannot be given.
    fn from(error: NameError) -> Self {
        Self::ToAPerson(error.to_string())
    }
}

impl Drip {
    pub(super) async fn rebase(&mut self, rebase: Rebase, turn: &mut Turn) -> Result<Done, Fault> {
        let begun = pushes::of_this_turn(turn, &rebase.at()).await?;
        if !begun.is_empty() {
            let pull = again::read(&self.github, &rebase.at(), turn).await?;
            if let Some(done) = begun.iter().find(|push| push.to_sha == pull.head.sha) {
                let reads = (&self.github, &self.rules);
                let hinted = again::hinted(reads, &mut self.renames, &pull, turn).await?;
                return finish(done, hinted.queued.as_ref(), turn).await;
            }
        }
        let fresh = match self.look(&rebase, Bucket::Rebase, turn).await? {
            Again::Holds(fresh) => fresh,
            Again::Moot(why) => return Ok(moot(&why)),
        };
        match self.in_a_work_tree(&rebase, &fresh, &begun, turn).await {
            Ok(done) => Ok(done),
            Err(Left::Fault(fault)) => Err(fault),
            Err(Left::ToAPerson(why)) => {
                list(turn, &Todo::Rebase, &rebase).await?;
                Ok(Done::new(format!("listed for a person: rebase ({why})")))
            }
        }
    }

    async fn in_a_work_tree(
        &self,
        rebase: &Rebase,
        fresh: &Fresh,
        begun: &[Push],
        turn: &mut Turn,
    ) -> Result<Done, Left> {
        let facts = &fresh.pull;
        let pull = trees::pull(facts)?;
        let seen: CommitId = facts.head.sha.as_str().parse()?;
        let what = format!("rebase {} onto {}", facts.at, facts.base.branch);
        let at = turn
            .envelope()
            .map_or_else(|| turn.now(), |envelope| envelope.message.ts());
        let rebased = turn
            .act(
                what,
                self.put_onto_base(&pull, &seen, at.timestamp().unsigned_abs()),
            )
            .await
            .map_err(Fault::from)?;
        turn.progress();
        match rebased.map_err(|error| left(error, turn))? {
            Tried::HeadMoved(now) => match pushed_before(begun, &now) {
                // GitHub told of the head that an earlier run of this turn pushed after it was asked.
                Some(done) => Ok(finish(done, fresh.queued.as_ref(), turn).await?),
                None => Ok(moot(&format!("the head moved to {}", now.short()))),
            },
            Tried::Rebased(Rebased::UpToDate) => Ok(moot("the branch has all of its base already")),
            Tried::Rebased(Rebased::Emptied) => Err(Left::ToAPerson(
                "nothing would be left of it: its base has all that it changes".to_owned(),
            )),
            Tried::Rebased(Rebased::Unrelated) => Err(Left::ToAPerson(
                "head and base have no commit in common".to_owned(),
            )),
            Tried::Rebased(Rebased::Conflict(conflict)) => {
                let page = places::of_pull("rebases", &facts.at, ".md")?;
                turn.write_file(&page, conflict_page(facts, &conflict))
                    .await
                    .map_err(Fault::from)?;
                list(turn, &Todo::Resolve(page), rebase).await?;
                queue::record(turn, fresh.queued.as_ref(), InQueue::Conflict, &facts.head.sha).await?;
                Ok(Done::new(conflict_outcome(&conflict)))
            }
            Tried::Rebased(Rebased::Clean(clean)) => self.publish(rebase, fresh, begun, clean, turn).await,
        }
    }

    /// Fetches and rebases, where the head is still the one that was seen.
    async fn put_onto_base(&self, pull: &Pull, seen: &CommitId, at: u64) -> Result<Tried, NoKeeper> {
        let keeper: &Keeper = self.trees.keeper().await?;
        let fetched = keeper.fetch(pull).await?;
        if fetched.head() != seen {
            return Ok(Tried::HeadMoved(fetched.head().clone()));
        }
        // The branch stays its writer's: the new commits carry the name that stands on its head, and the time of
        // the message, so that a second run after a crash makes the same ones.
        let person = match fetched.author().await? {
            Some(person) => person,
            None => Person::new(NOBODY, NOBODYS_ADDRESS).map_err(GitError::from)?,
        };
        Ok(Tried::Rebased(fetched.rebase(&Committer { person, at }).await?))
    }

    /// Pushes what was rebased, or leaves that to a person.
    async fn publish(
        &self,
        rebase: &Rebase,
        fresh: &Fresh,
        begun: &[Push],
        clean: Clean,
        turn: &mut Turn,
    ) -> Result<Done, Left> {
        let facts = &fresh.pull;
        let new = trees::sha(clean.head())?;
        if self.pushing == Pushing::Withheld {
            list(turn, &Todo::Push, rebase).await?;
            queue::record(turn, fresh.queued.as_ref(), InQueue::Clean, &facts.head.sha).await?;
            return Ok(Done::new(
                "rebases cleanly; not pushed, since `[drip] push` is off: listed for a person",
            ));
        }
        let Some(to) = &facts.head.repo else {
            return Err(Left::ToAPerson("the fork of its branch is deleted".to_owned()));
        };
        let viewer = self.github.viewer().await.map_err(|error| {
            Fault::retry(runtime::Reason::because("cannot ask whose token this is", error))
        })?;
        if !people::is_author(facts, Some(&viewer)) {
            return Err(Left::ToAPerson(
                "somebody else wrote it, and only one's own branches are pushed".to_owned(),
            ));
        }
        let (remote, branch): (Repo, Branch) = (to.as_str().parse()?, facts.head.branch.parse()?);
        let push = Push {
            repo: facts.at.repo.to_string(),
            pr: facts.at.number.get(),
            to: to.to_string(),
            branch: facts.head.branch.clone(),
            from_sha: facts.head.sha.clone(),
            to_sha: new.clone(),
            commits: clean.commits(),
        };
        push.note(turn).await.map_err(Fault::from)?;
        let what = format!("push {} to {to}", escape::line(&facts.head.branch));
        let pushed = turn
            .act(what, clean.push(&remote, &branch))
            .await
            .map_err(Fault::from)?;
        turn.progress();
        match pushed.map_err(|error| left(NoKeeper::Git(error), turn))? {
            Pushed::Done => Ok(finish(&push, fresh.queued.as_ref(), turn).await?),
            Pushed::Moved { now: Some(now) } => match pushed_before(begun, &now) {
                // An earlier run of this very turn pushed, onto a base that has moved since.
                Some(done) => Ok(finish(done, fresh.queued.as_ref(), turn).await?),
                None => Ok(moot(&format!(
                    "not pushed, the branch moved to {} meanwhile",
                    now.short()
                ))),
            },
            Pushed::Moved { now: None } => Ok(moot("not pushed, the branch is gone")),
            Pushed::Refused { said } => Err(Left::ToAPerson(format!(
                "the push was refused: {}",
                escape::line(&said)
            ))),
        }
    }
}

/// What is left to do when a push is through, be it of this run or of an earlier one of its turn.
async fn finish(push: &Push, queued: Option<&QueueLine>, turn: &mut Turn) -> Result<Done, Fault> {
    queue::record(turn, queued, InQueue::Pushed, &push.to_sha).await?;
    Ok(Done::new(push.outcome()))
}

/// The push of an earlier run that brought a branch to this commit.
fn pushed_before<'p>(begun: &'p [Push], now: &CommitId) -> Option<&'p Push> {
    begun.iter().find(|push| push.to_sha.as_str() == now.as_str())
}

/// What came of trying.
enum Tried {
    HeadMoved(CommitId),
    Rebased(Rebased),
}

/// What git cannot do is a person's; what it cannot do now comes again.
fn left(error: NoKeeper, turn: &Turn) -> Left {
    match error {
        NoKeeper::Nowhere(why) => Left::ToAPerson(why.to_owned()),
        NoKeeper::Git(error @ (GitError::NoGit | GitError::TooOld { .. })) => {
            Left::ToAPerson(error.to_string())
        }
        NoKeeper::Git(error) if error.next() == Next::Reject => {
            Left::ToAPerson(escape::line(&error.to_string()))
        }
        NoKeeper::Git(error) => Left::Fault(trees::fault(error, turn)),
    }
}

/// `conflict: <files>` (contract, section 5).
fn conflict_outcome(conflict: &Conflict) -> String {
    let mut named: Vec<String> = conflict
        .files
        .iter()
        .take(NAMED)
        .map(|file| escape::line(&file.path))
        .collect();
    let more = conflict.files.len() + conflict.more - named.len();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    format!("conflict: {}", named.join(", "))
}

/// The conflicts by file, with the commits of both sides. All of it is shown and nothing acts.
fn conflict_page(facts: &PullFacts, conflict: &Conflict) -> String {
    let mut page = format!(
        "# {}: rebase onto {}\n\n{}\n\n",
        escape::markdown(&facts.at.to_string()),
        escape::markdown(&facts.base.branch),
        escape::address(&facts.url),
    );
    let write = "a string takes every write";
    if let Some(at) = &conflict.at {
        writeln!(
            page,
            "The rebase stopped at {}; nothing of it is kept.\n",
            titled(at)
        )
        .expect(write);
    }
    for file in &conflict.files {
        writeln!(page, "## {}\n", escape::markdown(&file.path)).expect(write);
        side(&mut page, "On the base since the branch left it", &file.base);
        side(&mut page, "On the branch", &file.pull);
    }
    if conflict.more > 0 {
        writeln!(page, "{} more files are in conflict.", conflict.more).expect(write);
    }
    page
}

fn side(page: &mut String, name: &str, titles: &[Title]) {
    let lines: Vec<String> = titles
        .iter()
        .map(|title| format!("- {}\n", titled(title)))
        .collect();
    let lines = match lines.is_empty() {
        true => "- (nothing that git can name)\n".to_owned(),
        false => lines.concat(),
    };
    writeln!(page, "{name}:\n\n{lines}").expect("a string takes every write");
}

fn titled(title: &Title) -> String {
    format!(
        "{} {}",
        title.commit.short(),
        escape::markdown(&escape::clamp(&title.text, 200))
    )
}
