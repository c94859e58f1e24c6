//! Supervised actors fed from durable mailboxes.
//!
//! An [`Actor`] is a type with a name, an enum of the messages that it consumes ([`message!`]) and a handler. A
//! [`Host`] feeds it from the mailbox of its name, one message at a time, and builds it anew when it fails. Who
//! gets a message is decided by who declares its intent ([`Registry`]); what a handler does to the world it does
//! through its [`Turn`].
//!
//! **It promises** what OTP's one-for-one supervisor does, over messages that outlive the process:
//!
//! - A panic, an unexplained error or a missed deadline spends the message's attempt, which is written before
//!   anything else happens, and builds the actor anew after a backoff. Beyond its restart intensity
//!   ([`Limits`]) an actor is down; its mailbox keeps filling, and it is tried again. No actor's failure stops
//!   another.
//! - A failure that the handler explains ([`Fault`]) restarts nobody.
//! - What a turn sends is committed in one group with the ack of its message: all of it, or none.
//! - A drain takes no new message, gives the running handlers one grace together, and hands back what is
//!   unfinished with its attempt.
//! - There is one instance of a unit of work at a time: the next is built when the one before is gone.
//! - A mailbox that is full ([`Watermarks`]) gets nothing more from takts, which say so; what belongs to an ack
//!   passes.
//! - An actor need not be a type: [`External`] is a program that is run for each message, or the pull side.
//! - What a person must look at ([`Attention`]) is derived from acks, clocks and supervision.
//!
//! **It does not** make a handler run exactly once: a crash between an effect and its ack runs the turn again,
//! under the same key. It cannot stop a handler that never awaits: such an actor is *stalled* until it ends. With
//! `panic = "abort"` there is no supervision.
//!
//! **It fails** at the start, with a [`StartError`], when a declaration is wrong. Later nothing fails as a whole:
//! mailboxes that do not answer make actors wait, and are asked again.
//!
//! ```
//! use std::sync::Arc;
//! use mailbox::{Clock, Filter, Mailboxes, Message, SystemClock};
//! use runtime::{Actor, Done, Fault, Host, Intent, Turn, message};
//!
//! #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
//! struct Greet {
//!     name: String,
//! }
//! impl Intent for Greet {
//!     const NAME: &'static str = "greet";
//! }
//! message! { pub enum GreeterMessage { Greet(Greet) } }
//!
//! #[derive(Default)]
//! struct Greeter {
//!     greeted: u32,
//! }
//! impl Actor for Greeter {
//!     const NAME: &'static str = "greeter";
//!     type Message = GreeterMessage;
//!     async fn handle(&mut self, message: GreeterMessage, _: &mut Turn) -> Result<Done, Fault> {
//!         let GreeterMessage::Greet(Greet { name }) = message;
//!         self.greeted += 1;
//!         Ok(Done::new(format!("hello {name}, you are number {}", self.greeted)))
//!     }
//! }
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! # let home = tempfile::tempdir()?;
//! # let home = home.path();
//! let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
//! let mailboxes = Mailboxes::open_memory(Arc::clone(&clock));
//! let running = Host::builder(mailboxes.clone(), clock, home)
//!     .actor(|_| Ok(Greeter::default()))
//!     .start()
//!     .await?;
//!
//! let line = br#"{"ts":"2026-05-14T17:45:00Z","from":"me","intent":"greet","msg_id":"1","name":"Ada"}"#;
//! let draft = running.registry().accept(&"greeter".parse()?, Message::parse(line)?)?;
//! mailboxes.append(vec![draft]).await?;
//! running.until_quiet().await?;
//! running.drain(std::time::Duration::from_secs(1)).await;
//!
//! let acks = mailboxes.acks(&"greeter".parse()?, 0, 10).await?;
//! assert_eq!(&*acks[0].outcome, "hello Ada, you are number 1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```

mod actor;
mod ailing;
mod attention;
pub mod control;
mod effects;
mod external;
mod failure;
mod files;
mod home;
mod host;
mod intensity;
mod message;
mod one_shot;
mod panics;
mod pump;
mod registry;
mod roster;
mod status;
mod supervisor;
mod survey;
mod takt;
mod turn;
mod unit;

pub use actor::{Actor, BoxError, Context, Done, Fault, Reason};
pub use attention::{Attention, RefusedByStore, Seen, UNREAD_LIMIT, Watermarks, attention};
pub use effects::{EffectError, Effected, Effects, Real, Recorded, Recording};
pub use external::{External, TRY_AGAIN, VARIABLES};
pub use failure::TurnFailure;
pub use files::{Entry, FileError, KEYS_SEARCHED, KeyedLine, MAX_READ};
pub use home::{HomePath, HomePathError};
pub use host::{Host, HostBuilder, Running, StartError, TaktReport};
pub use intensity::{Decision, Exit, Intensity, Limits};
pub use message::{About, Body, Consumes, DecodeError, Intent, IntentDeclaration, Message};
pub use one_shot::{OneShot, OneShotError, Ran, Rehearsed, Rerun};
pub use panics::log_panics;
pub use registry::{HandledBy, Refused, Registry, RegistryError, Routed};
pub use status::{ActorState, ActorStatus, Overview, TaktStatus};
pub use supervisor::Drained;
pub use turn::{SendError, Stamp, Turn};
pub use unit::{ChildSpec, DEFAULT_DEADLINE};
