//! `sweep run`: hosts the actors until it is asked to stop.

use std::collections::BTreeMap;
use std::time::Duration;

use actors::reconciler::Reconciler;
use actors::trees::Trees;
use github::{ErrorClass, Reader};
use mailbox::{Mailboxes, Moment};
use runtime::{Actor as _, Drained, Running, TaktReport};

use super::{Context, pr_state, reconcile};
use crate::cli::Run;
use crate::config::Config;
use crate::demo::Demo;
use crate::failure::{Exit, Failure, say};
use crate::home::Home;
use crate::print::{self, Table};
use crate::signals::Signals;
use crate::wiring::{self, Chosen, Opened, Outside};

/// The wait before the one retry after a rate limit (contract, section 4).
const RETRY_WAIT: Duration = Duration::from_secs(30);

/// How many acks of one mailbox the summary counts; more than a dispatch can lead to.
const COUNTED_ACKS: usize = 10_000;

/// How many kinds of outcome of one actor the summary names.
const NAMED_OUTCOMES: usize = 4;

/// Hosts the actors.
pub async fn run(context: &Context, choice: &Run) -> Result<(), Failure> {
    if context.now.is_some() && !choice.once {
        return Err(
            Failure::new(Exit::Usage, "--now is for commands that end by themselves")
                .mend("Add --once, or leave --now out."),
        );
    }
    let mut signals = Signals::listen()?;
    let demo = if choice.demo {
        Some(Demo::start(context).await?)
    } else {
        None
    };
    let home = demo.as_ref().map_or(&context.home, Demo::home);
    home.is_there()?;
    let mut config = Config::load(&home.path)?;
    if demo.is_some() && config.lifecycle.repos.is_empty() {
        config.lifecycle.repos.insert(Demo::maintained());
    }
    for (entry, said) in config.without_effect() {
        tracing::warn!("{}: `{}` {said}", entry.source, entry.key);
    }
    let chosen = Chosen::enabled(&config)?.only(&choice.actors)?;
    let github = match &demo {
        Some(demo) => Some(demo.reader()?),
        None if chosen.reads_github(&config) => Some(wiring::github(RETRY_WAIT)?),
        None => None,
    };
    if let (Some(github), None) = (&github, &demo) {
        tokio::select! {
            checked = refuse_bad_credentials(github) => checked?,
            () = signals.next() => return if choice.once { Err(interrupted()) } else { Ok(()) },
        }
    }
    let mut opened = Opened::hold(home, &config).await?;
    if let Some(mode) = home.seen_by_others() {
        tracing::warn!(
            "others can look into {} (mode {mode:o}): `chmod 700` it, unless that is meant",
            home.path.display()
        );
    }
    let began = opened.clock.now();
    let books = match chosen.has(Reconciler::NAME) {
        true => Some(wiring::books(home)?),
        false => None,
    };
    if let (Some(demo), Some(books)) = (&demo, &books) {
        demo.remember(books, wiring::reconciling(&config), &opened)
            .await?;
    }
    let outside = Outside {
        github: github.as_ref(),
        books,
        trees: match &demo {
            Some(_) => Trees::none("the demo has no git repositories"),
            None => wiring::trees(home, &config)?,
        },
    };
    if github.is_some()
        && let Err(error) = outside.trees.clean_up().await
    {
        tracing::warn!("what an earlier run left of its work trees stays for now: {error}");
    }
    let mut host = wiring::host(&opened, home, &config, &chosen, &outside)?;
    if let Some(now) = demo.as_ref().map(Demo::now).or(context.now) {
        host = host.evaluate_at(now);
    }
    let running = host.start().await?;
    let mirror = opened.keep_mirror();
    // Without its socket it does its work all the same; others are then told who holds the home.
    let control = running
        .listen(&home.path)
        .inspect_err(|error| tracing::warn!("other commands cannot ask this process: {error}"))
        .ok();
    let scene = Scene {
        mailboxes: &opened.mailboxes,
        home,
        began,
        demo: demo.as_ref(),
    };
    let ended = host_until_done(&running, choice, &scene, &mut signals).await;
    let grace = config.actors.shutdown_grace.get();
    let drained = signals.or_exit(running.drain(grace)).await;
    tell(&drained);
    signals.or_exit(outside.trees.settle()).await;
    if let Some(control) = control {
        signals.or_exit(control.close()).await;
    }
    opened.stop_mirror(mirror).await;
    signals.or_exit(opened.close()).await;
    ended
}

/// What is needed to say how a run went.
struct Scene<'a> {
    mailboxes: &'a Mailboxes,
    home: &'a Home,
    began: Moment,
    demo: Option<&'a Demo>,
}

/// Waits for the end of one round with `--once`, and for a signal without.
async fn host_until_done(
    running: &Running,
    choice: &Run,
    scene: &Scene<'_>,
    signals: &mut Signals,
) -> Result<(), Failure> {
    if choice.once || scene.demo.is_some() {
        let reports = tokio::select! {
            reports = running.until_quiet() => reports?,
            () = signals.next() => {
                say(DRAINING);
                return if choice.once { Err(interrupted()) } else { Ok(()) };
            }
        };
        print::raw(&scene.summary(&reports).await?)?;
        if choice.once {
            return first_failure(&reports);
        }
    } else {
        tracing::info!(home = %scene.home.path.display(), "running; Ctrl-C drains and ends it");
    }
    signals.next().await;
    say(DRAINING);
    Ok(())
}

/// Said at the first signal.
const DRAINING: &str = "sweep: draining: no new message is taken; once more ends it at once";

/// Why a round that a signal ended is no success: whoever waits for it takes it as done.
fn interrupted() -> Failure {
    Failure::new(Exit::Other, "interrupted before the round was done")
        .mend("What was not handled is unread; run it again.")
}

/// Fails where GitHub refuses the credentials: no actor could mend that. Where it cannot be reached the actors
/// wait for it.
async fn refuse_bad_credentials(github: &Reader) -> Result<(), Failure> {
    match github.viewer().await {
        Err(error) if error.class() == ErrorClass::Credentials => Err(error.into()),
        Err(error) => {
            tracing::warn!("cannot read from GitHub yet: {error}");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// The first takt that came to nothing.
fn first_failure(reports: &[TaktReport]) -> Result<(), Failure> {
    let failed = |report: &TaktReport| Some((report.actor.clone(), report.result.clone().err()?));
    match reports.iter().find_map(failed) {
        Some((actor, failure)) if actor.as_str() == Reconciler::NAME => Err(reconcile::of_turn(&failure)),
        Some((_, failure)) => Err(pr_state::of_turn(&failure)),
        None => Ok(()),
    }
}

/// Says what a drain left undone.
fn tell(drained: &Drained) {
    for (mailbox, id) in &drained.handed_back {
        tracing::info!("{mailbox}: {id} was not done in time and is unread again");
    }
    for actor in &drained.left_running {
        say(&format!("sweep: {actor} did not stop; it ends with the process"));
    }
}

impl Scene<'_> {
    /// What was dispatched, what the actors did with it, and where to look.
    async fn summary(&self, reports: &[TaktReport]) -> Result<String, Failure> {
        let mut table = Table::new(["actor", "did", "unread"]);
        for report in reports {
            let did = match &report.result {
                Ok(outcome) => outcome.clone(),
                Err(failure) => format!("nothing: {failure}"),
            };
            table.row([report.actor.to_string(), did, "-".to_owned()]);
        }
        for status in self.mailboxes.status().await? {
            let acks = self.mailboxes.acks(&status.name, 0, COUNTED_ACKS).await?;
            let since = acks.iter().filter(|ack| ack.at >= self.began);
            let did = in_kinds(since.map(|ack| ack.outcome.as_ref()));
            table.row([status.name.to_string(), did, status.unread.to_string()]);
        }
        let mut text = table.render();
        if let Some(demo) = self.demo {
            text = format!("{}\n{text}\n{}", demo.banner(), demo.directions());
        }
        Ok(text)
    }
}

/// Outcomes counted by their first words: `briefed 3, moot 1`. What follows a colon tells one from another and
/// is no kind of its own.
fn in_kinds<'o>(outcomes: impl Iterator<Item = &'o str>) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for outcome in outcomes {
        let kind = outcome.split(": ").next().unwrap_or(outcome);
        *kinds.entry(kind).or_default() += 1;
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let left: usize = kinds.iter().skip(NAMED_OUTCOMES).map(|(_, count)| count).sum();
    let mut named: Vec<String> = kinds
        .iter()
        .take(NAMED_OUTCOMES)
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if left > 0 {
        named.push(format!("other {left}"));
    }
    if named.is_empty() {
        "-".to_owned()
    } else {
        named.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_by_kind() {
        for (outcomes, said) in [
            (&[][..], "-"),
            (
                &["briefed: a.md", "moot: merged", "briefed: b.md"],
                "briefed 2, moot 1",
            ),
            (&["a", "b", "c", "d", "e", "f"], "a 1, b 1, c 1, d 1, other 2"),
        ] {
            assert_eq!(in_kinds(outcomes.iter().copied()), said);
        }
    }
}
