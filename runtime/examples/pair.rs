//! A supervised pair: one actor feeds the other. The second fails now and then; nothing is lost, nothing is
//! counted twice in its file, and the first never notices.
#![expect(clippy::print_stdout, reason = "an example speaks to whoever runs it")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mailbox::{Clock, Mailboxes, Policy, SystemClock};
use runtime::{Actor, ChildSpec, Done, Fault, HomePath, Host, Intent, Turn, message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many numbers are counted.
const NUMBERS: u32 = 20;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Square {
    number: u32,
}
impl Intent for Square {
    const NAME: &'static str = "square";
}

message! {
    enum Nothing {}
}
message! {
    enum SquarerMessage { Square(Square) }
}

/// Has only a takt, in which it sends work.
struct Counter;
impl Actor for Counter {
    const NAME: &'static str = "counter";
    type Message = Nothing;

    async fn handle(&mut self, message: Nothing, _: &mut Turn) -> Result<Done, Fault> {
        match message {}
    }

    async fn takt(&mut self, turn: &mut Turn) -> Result<Done, Fault> {
        for number in 1..=NUMBERS {
            // What the squarer does not declare would not compile here.
            turn.tell::<Squarer, _>(Square { number })?;
        }
        Ok(Done::new(format!("counted to {NUMBERS}")))
    }
}

/// Squares, and fails on the first delivery of every fifth number: after its effect, to make it hard.
struct Squarer;
impl Actor for Squarer {
    const NAME: &'static str = "squarer";
    type Message = SquarerMessage;

    async fn handle(&mut self, message: SquarerMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let SquarerMessage::Square(Square { number }) = message;
        let squares: HomePath = "squares.txt".parse().map_err(Fault::crash)?;
        let line = format!("the square of {number}: {}", number * number);
        turn.append_line(&squares, format!("of {number}"), line).await?;
        if number.is_multiple_of(5) && turn.attempt() == 1 {
            return Err(Fault::crash(format!("{number} is a multiple of five")));
        }
        Ok(Done::new("squared"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    runtime::log_panics();
    let home = std::env::temp_dir().join(format!("pair-{}", std::process::id()));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let mailboxes = Mailboxes::open_sled(&home.join("mailbox"), Arc::clone(&clock))?;
    let soon = Policy {
        backoff_base: Duration::from_millis(50),
        ..Policy::default()
    };
    let running = Host::builder(mailboxes.clone(), clock, &home)
        .child(ChildSpec::default().policy(soon), |_| Ok(Squarer))
        .takt(Duration::from_secs(3600), |_| Ok(Counter))
        .start()
        .await?;

    let mut overview = running.follow();
    // The counter has counted when its takt has ended, and the squarer is done when nothing is unread.
    let counted = |overview: &runtime::Overview| {
        let ended = |actor: &runtime::ActorStatus| actor.takt.as_ref().is_some_and(|takt| takt.ended > 0);
        overview.actor("counter").is_some_and(ended)
            && overview.actor("squarer").is_some_and(|actor| actor.unread == 0)
    };
    overview.wait_for(|overview| counted(overview)).await?;
    let restarts = running
        .overview()
        .await?
        .actor("squarer")
        .map_or(0, |actor| actor.restarts);
    running.drain(Duration::from_secs(1)).await;
    mailboxes.close().await;

    let squares = std::fs::read_to_string(home.join("squares.txt"))?;
    println!(
        "{} lines after {restarts} restarts:\n{squares}",
        squares.lines().count()
    );
    std::fs::remove_dir_all(home)?;
    Ok(())
}
