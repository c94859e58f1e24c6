//! A test of one's own actor: the mailboxes in memory, a clock that the test moves, a scratch home. No sleep, and no
//! waiting for the wall clock. `cargo test --example own_test` runs it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mailbox::{Clock, Mailboxes, SystemClock};
use runtime::{Actor, Context, Done, Fault, HomePath, Host, Intent, Turn, message};

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Brew {
    cup: String,
}
impl Intent for Brew {
    const NAME: &'static str = "brew";
}
message! { enum KettleMessage { Brew(Brew) } }

/// Brews tea where there is water.
struct Kettle {
    water: HomePath,
    served: HomePath,
}
impl Actor for Kettle {
    const NAME: &'static str = "kettle";
    type Message = KettleMessage;
    async fn handle(&mut self, message: KettleMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let KettleMessage::Brew(Brew { cup }) = message;
        if turn.read_file(&self.water).await?.is_none() {
            return Err(Fault::retry("there is no water"));
        }
        let line = format!("{cup} {}", turn.key());
        turn.append_line(&self.served, turn.key().to_owned(), line)
            .await?;
        Ok(Done::new(format!("served {cup}")))
    }
}

/// Builds a kettle, at its start and after each failure.
fn kettle(_: &Context) -> Result<Kettle, runtime::BoxError> {
    Ok(Kettle {
        water: "water".parse()?,
        served: "served.txt".parse()?,
    })
}

/// Hosts a kettle that nobody asks for anything: what it does is in the tests below.
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let mailboxes = Mailboxes::open_memory(Arc::clone(&clock));
    let host = Host::builder(mailboxes, clock, std::env::temp_dir());
    let running = host.actor(kettle).start().await?;
    running.drain(Duration::from_secs(1)).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use mailbox::{ManualClock, Message, Moment};
    use runtime::Running;

    use super::*;

    struct Kitchen {
        home: tempfile::TempDir,
        clock: Arc<ManualClock>,
        mailboxes: Mailboxes,
        running: Running,
    }

    impl Kitchen {
        async fn open() -> Self {
            let home = tempfile::tempdir().unwrap();
            let clock = Arc::new(ManualClock::at(Moment::from_millis(1_000_000)));
            let mailboxes = Mailboxes::open_memory(Arc::clone(&clock) as Arc<dyn Clock>);
            let host = Host::builder(
                mailboxes.clone(),
                Arc::clone(&clock) as Arc<dyn Clock>,
                home.path(),
            );
            let running = host.actor(kettle).start().await.unwrap();
            Self {
                home,
                clock,
                mailboxes,
                running,
            }
        }

        async fn ask(&self, line: &str) {
            let kettle = "kettle".parse().unwrap();
            let message = Message::parse(line.as_bytes()).unwrap();
            let draft = self.running.registry().accept(&kettle, message).unwrap();
            self.mailboxes.append(vec![draft]).await.unwrap();
            // Returns when the actor could do nothing more at this moment of its clock.
            self.running.until_quiet().await.unwrap();
        }

        async fn outcomes(&self) -> Vec<String> {
            let acks = self.mailboxes.acks(&"kettle".parse().unwrap(), 0, 10).await;
            acks.unwrap().iter().map(|ack| ack.outcome.to_string()).collect()
        }
    }

    const BREW: &str =
        r#"{"ts":"2026-05-14T17:45:00Z","from":"me","intent":"brew","msg_id":"1","cup":"green"}"#;

    #[tokio::test]
    async fn where_there_is_water_tea_is_served_once() {
        let kitchen = Kitchen::open().await;
        std::fs::write(kitchen.home.path().join("water"), "").unwrap();
        kitchen.ask(BREW).await;
        kitchen.ask(BREW).await; // the same id again is the same message
        assert_eq!(kitchen.outcomes().await, ["served green"]);
        let served = std::fs::read_to_string(kitchen.home.path().join("served.txt")).unwrap();
        assert_eq!(served, "green kettle/1\n");
    }

    #[tokio::test]
    async fn without_water_it_is_tried_again_when_the_message_has_rested() {
        let kitchen = Kitchen::open().await;
        kitchen.ask(BREW).await;
        assert_eq!(kitchen.outcomes().await, [""; 0]);
        std::fs::write(kitchen.home.path().join("water"), "").unwrap();
        kitchen.running.until_quiet().await.unwrap();
        assert_eq!(kitchen.outcomes().await, [""; 0], "it rests");
        kitchen.clock.advance(Duration::from_secs(1)); // the longest first rest
        kitchen.running.until_quiet().await.unwrap();
        assert_eq!(kitchen.outcomes().await, ["served green"]);
    }
}
