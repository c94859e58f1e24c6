//! A new actor: a payload, an enum of messages, a handler, one line to host it.
use mailbox::{Clock, Mailboxes, Message, SystemClock};
use runtime::{Actor, Done, Fault, HomePath, Host, Intent, Turn, message};
use std::{error::Error, sync::Arc, time::Duration};
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Greet {
    name: String,
}
impl Intent for Greet {
    const NAME: &'static str = "greet";
}
message! { enum GreeterMessage { Greet(Greet) } }
struct Greeter;
impl Actor for Greeter {
    const NAME: &'static str = "greeter";
    type Message = GreeterMessage;
    async fn handle(&mut self, message: GreeterMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let GreeterMessage::Greet(Greet { name }) = message;
        let file = HomePath::fixed("greetings.txt");
        turn.append_line(&file, &name, &name).await?;
        Ok(Done::new(format!("greeted {name}")))
    }
}
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let home = std::env::temp_dir().join("greeter");
    let mailboxes = Mailboxes::open_sled(&home.join("mailbox"), Arc::clone(&clock))?;
    let host = Host::builder(mailboxes.clone(), clock, &home);
    let running = host.actor(|_| Ok(Greeter)).start().await?;
    let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"you","intent":"greet","msg_id":"1","name":"Ada"}"#;
    let greeter = "greeter".parse()?;
    let draft = running.registry().accept(&greeter, Message::parse(line)?)?;
    mailboxes.append(vec![draft]).await?; // durable from here on, and taken in once
    running.until_quiet().await?;
    running.drain(Duration::from_secs(1)).await;
    mailboxes.close().await;
    Ok(())
}
