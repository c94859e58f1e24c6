//! A supervised pair: a reader takes texts apart and feeds the words to a counter, which panics at one of them.
//!
//! The words are sent when the reader's turn is done, in one group with the ack of its text: all or none. The
//! counter is restarted, gets the word again, and counts no word twice, for each line has the key of its turn.
#![expect(clippy::print_stdout, reason = "it shows what it did")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use mailbox::{Clock, Mailboxes, Message, SystemClock};
use runtime::{Actor, Done, Fault, HomePath, Host, Intent, Turn, message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Read {
    text: String,
}
impl Intent for Read {
    const NAME: &'static str = "read";
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Count {
    word: String,
}
impl Intent for Count {
    const NAME: &'static str = "count";
}

message! { enum ReaderMessage { Read(Read) } }
message! { enum CounterMessage { Count(Count) } }

struct Reader;
impl Actor for Reader {
    const NAME: &'static str = "reader";
    type Message = ReaderMessage;
    async fn handle(&mut self, message: ReaderMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let ReaderMessage::Read(Read { text }) = message;
        for word in text.split_whitespace() {
            // Sending it a `Read` would not compile: the counter does not consume that.
            turn.tell::<Counter, _>(Count {
                word: word.to_owned(),
            })?;
        }
        Ok(Done::new("taken apart"))
    }
}

struct Counter {
    words: HomePath,
}
impl Actor for Counter {
    const NAME: &'static str = "counter";
    type Message = CounterMessage;
    async fn handle(&mut self, message: CounterMessage, turn: &mut Turn) -> Result<Done, Fault> {
        let CounterMessage::Count(Count { word }) = message;
        let (key, line) = (turn.key().to_owned(), format!("{word} {}", turn.key()));
        let added = turn.append_line(&self.words, key, line).await?;
        assert!(word != "trap" || turn.attempt() > 1, "caught in a trap");
        Ok(Done::new(if added { "counted" } else { "counted before" }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    runtime::log_panics(); // a panic is an event of the log, and no text of its own on stderr
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let home = std::env::temp_dir().join("pair");
    let mailboxes = Mailboxes::open_sled(&home.join("mailbox"), Arc::clone(&clock))?;
    let words: HomePath = "words.txt".parse()?;
    // Whoever is fed is started first, and stopped last.
    let running = Host::builder(mailboxes.clone(), clock, &home)
        .actor(move |_| Ok(Counter { words: words.clone() }))
        .actor(|_| Ok(Reader))
        .start()
        .await?;

    let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"you","intent":"read","msg_id":"1","text":"a trap in a text"}"#;
    let draft = running
        .registry()
        .accept(&"reader".parse()?, Message::parse(line)?)?;
    mailboxes.append(vec![draft]).await?;

    // What rests after a failure is not over: wait until nothing is unread.
    let mut changes = mailboxes.subscribe();
    while mailboxes.status().await?.iter().any(|mailbox| mailbox.unread > 0) {
        let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
    }
    for actor in &running.overview().await?.actors {
        println!("{}: restarted {} times", actor.name, actor.restarts);
    }
    for ack in mailboxes.acks(&"counter".parse()?, 0, 100).await? {
        println!("{}: {}", ack.msg_id, ack.outcome);
    }
    running.drain(Duration::from_secs(1)).await;
    mailboxes.close().await;
    Ok(())
}
